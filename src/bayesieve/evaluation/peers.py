"""Other people's classifiers on the same raw tables, to stand beside ours in comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayesieve.table import Column, Table, as_sample_weight, as_target
from bayesieve.table.estimator_input import fit_table, new_table

_MOST_VALUES = 254  # what scikit-learn's trees take of a categorical column, one kept for missing values


class BoostedTrees(ClassifierMixin, BaseEstimator):
    """scikit-learn's ``HistGradientBoostingClassifier`` with its defaults, on raw and mixed tables.

    Numbers stay as they are; the 254 most frequent values of a categorical column are its categories. Rarer values, and
    those never seen in training, are missing, as is what is missing; the trees know all of that.

    Parameters
    ----------
    kinds : dict or None, default=None
        Kinds of columns by name, ``"numeric"`` or ``"categorical"``, as `TableEncoder` takes them.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
    model_ : HistGradientBoostingClassifier

    Examples
    --------
    >>> from bayesieve import Protocol, SelectiveNB, compare
    >>> from bayesieve.evaluation.peers import BoostedTrees
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = compare({"ours": SelectiveNB(), "trees": BoostedTrees()}, X, y, Protocol(n_folds=3))
    >>> bool((found.matrix("accuracy") > 0.9).all())
    True
    """

    def __init__(self, *, kinds: Mapping[str, str] | None = None, random_state: Any = 0) -> None:
        self.kinds = kinds
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BoostedTrees:
        """Learn from a raw table (n_rows, n_features), class labels (n_rows,) and row weights, if any."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        table = fit_table(self, X, kinds=self.kinds)
        target = as_target(y)
        self.classes_ = target.classes
        columns = [table.column(position) for position in range(table.n_columns)]
        self.categories_ = [_categories(column) if column.kind == "categorical" else None for column in columns]
        self.types_ = [column.type for column in columns]
        self.model_ = HistGradientBoostingClassifier(
            categorical_features=[known is not None for known in self.categories_], random_state=self.random_state
        )
        weights = as_sample_weight(sample_weight, table.n_rows)
        self.model_.fit(self._matrix(table), target.codes.astype(np.int64), sample_weight=weights)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        check_is_fitted(self, "model_")
        return self.model_.predict_proba(self._matrix(new_table(self, X, kinds=self.kinds)))

    def predict(self, X: Any) -> np.ndarray:
        """Most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _matrix(self, table: Table) -> np.ndarray:
        matrix = np.empty((table.n_rows, table.n_columns))
        for position, (known, type_) in enumerate(zip(self.categories_, self.types_, strict=True)):
            column = table.column(position)
            matrix[:, position] = column.numbers_as(type_) if known is None else _codes(column, known)
        return matrix


def _categories(column: Column) -> dict[Any, int]:
    """Codes of the most frequent values; of equally frequent ones the first in order."""
    found = column.categories()
    counts = np.bincount(found.codes[found.codes >= 0], minlength=len(found.values))
    kept = np.argsort(-counts, kind="stable")[:_MOST_VALUES]
    return {found.values[value]: code for code, value in enumerate(np.sort(kept).tolist())}


def _codes(column: Column, known: Mapping[Any, int]) -> np.ndarray:
    found = column.categories()
    codes = np.array([known.get(value, np.nan) for value in found.values] + [np.nan])  # the last is of code -1
    return codes[found.codes]


PEERS: dict[str, Callable[..., Any]] = {"hist-gradient-boosting": BoostedTrees}
"""Peers by the names that the command line uses; each takes ``kinds`` and ``random_state``."""
