"""The base class of peers: raw tables and labels of any type in, probabilities out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from bayesieve.table import Table, as_sample_weight, as_target
from bayesieve.table.estimator_input import fit_table, new_table


class Peer(ClassifierMixin, BaseEstimator):
    """Another classifier, wrapped for raw and mixed tables.

    A peer implements `_learn`, which fits the table, class codes (n_rows,) and row weights or None, and `_proba`, or
    also `_log_proba` if that is more precise. Rows of weight 0 are left out; a single remaining class is predicted with
    certainty, without the peer.
    """

    takes_weights = True
    model_: Any

    def __init__(self, *, kinds: Mapping[str, str] | None = None, random_state: Any = 0) -> None:
        self.kinds = kinds
        self.random_state = random_state

    @classmethod
    def check_installed(cls) -> None:
        """Check that the package of the peer is installed.

        Raises
        ------
        ValueError
            If it is not; the message names the remedy.
        """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a raw table (n_rows, n_features), class labels (n_rows,) and row weights, if any."""
        self.check_installed()
        table = fit_table(self, X, kinds=self.kinds)
        target = as_target(y)
        check_consistent_length(table, target.codes)
        weights = as_sample_weight(sample_weight, table.n_rows)
        if weights is not None and not self.takes_weights:
            raise ValueError(f"{type(self).__name__} takes no row weights; leave out the weights, or this classifier.")
        codes = target.codes.astype(np.int64)
        if weights is not None and not weights.all():
            rows = np.flatnonzero(weights)
            table, codes, weights = table.take(rows), codes[rows], weights[rows]
        present, codes = np.unique(codes, return_inverse=True)
        self.classes_ = target.classes[present]
        columns = [table.column(position) for position in range(table.n_columns)]
        self.types_ = [column.type if column.kind == "numeric" else None for column in columns]
        self.model_ = self._learn(table, codes, weights) if len(present) > 1 else None
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        check_is_fitted(self, "model_")
        table = new_table(self, X, kinds=self.kinds)
        return np.ones((table.n_rows, 1)) if self.model_ is None else self._proba(table)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities, shape (n_rows, n_classes)."""
        check_is_fitted(self, "model_")
        table = new_table(self, X, kinds=self.kinds)
        return np.zeros((table.n_rows, 1)) if self.model_ is None else self._log_proba(table)

    def predict(self, X: Any) -> np.ndarray:
        """Most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    @abstractmethod
    def _learn(self, table: Table, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        """The fitted model, for `model_`."""

    @abstractmethod
    def _proba(self, table: Table) -> np.ndarray:
        """Probabilities of the classes by `model_`."""

    def _log_proba(self, table: Table) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self._proba(table))

    def _numbers(self, table: Table, position: int) -> np.ndarray:
        """A numeric column, read as in training; NaN = missing."""
        type_ = self.types_[position]
        assert type_ is not None
        return table.column(position).numbers_as(type_)
