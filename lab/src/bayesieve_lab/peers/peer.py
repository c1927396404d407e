"""Base class of peers: other classifiers, wrapped for raw tables and labels of any type.

Each peer converts the columns of a table to the *cells* that its model requires: codes, numbers or indicator columns.
In its methods, ``codes`` (n_rows,) are class codes, ``weights`` (n_rows,) row weights or None, and ``position`` is that
of a column.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from bayesieve.table import Column, Table, as_sample_weight, as_table, as_target
from bayesieve.table.frames import fit_table, new_table

_UNKNOWN = "unknown"  # known values are digits


class Peer(ClassifierMixin, BaseEstimator):
    """Base class of peers: another classifier, wrapped for raw tables of numbers and categories.

    Rows of weight 0 are dropped; if a single class remains, it is predicted with certainty, without the peer.

    Parameters
    ----------
    kinds : dict or None, default=None
        Kinds of columns by name, ``"numeric"`` or ``"categorical"``, see `TableEncoder`.
    random_state : int or None, default=0
        Not used by peers without chance.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
    columns_ : list
        For each categorical column, the codes of its values; for each numeric one, None or statistics of the training
        rows.
    model_ : the fitted classifier, or None for a single class
    n_features_selected_ : int or None
        Features that the classifier uses; None if it does not report them.

    Notes
    -----
    A peer implements `_learn`, and `_cells` or `_rows`, which return rows in the form that its model requires; if
    necessary also `_proba`, `_log_proba` and `_n_features`.
    """

    takes_weights = True
    model_: Any
    columns_: list[Any]

    def __init__(self, *, kinds: Mapping[str, str] | None = None, random_state: Any = 0) -> None:
        self.kinds = kinds
        self.random_state = random_state

    @classmethod
    def check_installed(cls) -> None:
        """Raise an error unless the package of the peer is installed.

        Raises
        ------
        ValueError
            If it is not; the message names the remedy.
        """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to a raw table (n_rows, n_features) with class labels ``y``, (n_rows,).

        ``sample_weight`` (n_rows,) are row weights, or None; a ValueError is raised if the peer does not support them.
        """
        self.check_installed()
        table = fit_table(self, X, kinds=self.kinds)
        target = as_target(y)
        check_consistent_length(table, target.codes)
        weights = as_sample_weight(sample_weight, table.n_rows)
        if weights is not None and not self.takes_weights:
            raise ValueError(f"{type(self).__name__} does not support row weights; omit weights, or this classifier.")
        codes = target.codes.astype(np.int64)
        if weights is not None and not weights.all():
            rows = np.flatnonzero(weights)
            table, codes, weights = table.take(rows), codes[rows], weights[rows]
        present, codes = np.unique(codes, return_inverse=True)
        self.classes_ = target.classes[present]
        columns = [table.column(position) for position in range(table.n_columns)]
        self.types_ = [column.type if column.kind == "numeric" else None for column in columns]
        self.model_ = self._learn(table, codes, weights) if len(present) > 1 else None
        self.n_features_selected_ = 0 if self.model_ is None else self._n_features()
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities of the classes, shape (n_rows, n_classes)."""
        check_is_fitted(self, "model_")
        table = as_table(new_table(self, X), kinds=self.kinds)
        return np.ones((table.n_rows, 1)) if self.model_ is None else self._proba(table)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return logarithms of the probabilities of the classes, shape (n_rows, n_classes)."""
        check_is_fitted(self, "model_")
        table = as_table(new_table(self, X), kinds=self.kinds)
        return np.zeros((table.n_rows, 1)) if self.model_ is None else self._log_proba(table)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row, (n_rows,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    @abstractmethod
    def _learn(self, table: Table, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        """Fit the model to the rows of a table, and return it.

        ``codes`` (n_rows,) are the classes, numbered from 0, and ``weights`` (n_rows,) row weights, or None.
        """

    def _n_features(self) -> int | None:
        """Return the number of features that `model_` uses; None if the peer does not report it."""
        return None

    def _learn_columns(
        self, table: Table, of_numbers: Callable[[np.ndarray], Any] | None = None, **limits: Any
    ) -> None:
        """Set ``columns_`` from a table of training rows.

        For a categorical column it is the result of `known_values` with the options ``limits``. For a numeric column it
        is the result of ``of_numbers`` for its numbers (n_rows,), or None without this function.
        """
        self.columns_ = [
            known_values(table.column(position), **limits)
            if type_ is None
            else of_numbers and of_numbers(self._numbers(table, position))
            for position, type_ in enumerate(self.types_)
        ]

    def _rows(self, table: Table) -> Any:
        """Return the rows of a table in the form that the model requires, by default a matrix (n_rows, n_cells)."""
        return np.column_stack([self._cells(table, position) for position in range(table.n_columns)])

    def _cells(self, table: Table, position: int) -> np.ndarray:
        """Return the column of the table at ``position`` as one or several columns of the matrix of `_rows`.

        The shape is (n_rows,) or (n_rows, n_cells).
        """
        raise NotImplementedError

    def _proba(self, table: Table) -> np.ndarray:
        """Return the probabilities of the classes by `model_`, (n_rows, n_classes)."""
        return self.model_.predict_proba(self._rows(table))

    def _log_proba(self, table: Table) -> np.ndarray:
        """Return logarithms of the probabilities of the classes, (n_rows, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self._proba(table))

    def _codes(self, table: Table, position: int, *, unknown: int, missing: int) -> np.ndarray:
        """Return the codes of the categorical column at ``position``, (n_rows,).

        Values not seen in training get ``unknown``, missing ones ``missing``.
        """
        categories, code_of_value = table.column(position).categories(), self.columns_[position]
        codes = np.array([code_of_value.get(value, unknown) for value in categories.values] + [missing], dtype=np.int64)
        return codes[categories.codes]  # missing is -1, the last

    def _numbers(self, table: Table, position: int) -> np.ndarray:
        """Return the numeric column of a table at ``position``, (n_rows,); NaN if missing.

        Text is converted to numbers as in training.
        """
        type_ = self.types_[position]
        assert type_ is not None
        return table.column(position).numbers(type_)

    def _frame(self, table: Table, *, missing: str | None, unknown: str | None = _UNKNOWN) -> Any:
        """Return the rows of a table as a pandas frame: numbers as floats (NaN = missing), categories as text.

        Texts are codes in digits, and columns are named by position: the packages do not use the original texts, and
        codes need no escapes in files. ``missing`` and ``unknown`` are the texts of missing and unseen categories.
        """
        import pandas as pd

        columns: dict[str, np.ndarray] = {}
        for position, code_of_value in enumerate(self.columns_):
            if code_of_value is None:
                columns[f"x{position}"] = self._numbers(table, position)
            else:
                texts = np.array([*map(str, range(len(code_of_value))), unknown, missing], dtype=object)
                columns[f"x{position}"] = texts[self._codes(table, position, unknown=-2, missing=-1)]
        return pd.DataFrame(columns)


def known_values(column: Column, *, most: int | None = None, least_share: float = 0.0) -> dict[Any, int]:
    """Return a dict from the values of a column, in their order, to their codes.

    Parameters
    ----------
    column : Column
    most : number of most frequent values to keep (of equally frequent ones, the first ones); None keeps all.
    least_share : keep values in at least this share of the rows.
    """
    categories = column.categories()
    counts = np.bincount(categories.codes[categories.codes >= 0], minlength=len(categories.values))
    frequent = np.argsort(-counts, kind="stable")[:most]
    frequent = np.sort(frequent[counts[frequent] >= least_share * len(column)])
    return {categories.values[value]: code for code, value in enumerate(frequent.tolist())}
