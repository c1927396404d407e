"""scikit-learn's categorical naive Bayes on raw tables, with numbers cut at quantiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesieve.table import Table
from bayesieve_lab.peers.peer import Peer

_N_BINS = 10


class LevelsPeer(Peer):
    """Base class of peers that use intervals between deciles of numbers, and values of categories; see `QuantileNB`."""

    def _learn_levels(self, table: Table, **limits: Any) -> None:
        """Set bounds of intervals and codes of categories from training rows, and ``n_levels_``, the levels of each
        column.

        ``limits`` are options of `known_values`.
        """
        self._learn_columns(table, _deciles, **limits)
        # A numeric column has one level more than bounds, and a further one for missing values.
        self.n_levels_ = [len(column) + (1 if isinstance(column, dict) else 2) for column in self.columns_]

    def _cells(self, table: Table, position: int) -> np.ndarray:
        """Return the code of the level of each row in the column of a table at ``position``, (n_rows,).

        The last code is for missing and unseen values.
        """
        column, last = self.columns_[position], self.n_levels_[position] - 1
        if isinstance(column, dict):
            return self._codes(table, position, unknown=last, missing=last)
        numbers = self._numbers(table, position)
        return np.where(np.isnan(numbers), last, np.searchsorted(column, numbers, side="right"))


class QuantileNB(LevelsPeer):
    """scikit-learn's ``CategoricalNB`` on the values of categories, and on numbers cut at their deciles.

    Cut points are the distinct deciles of the training rows, as in ``KBinsDiscretizer``, except that the largest number
    may be a separate level, so that columns of 0 and 1 keep both. Every value of a category is a level. The last
    level of each feature is for missing and unseen values.

    Parameters
    ----------
    kinds, random_state : see `Peer`.
    alpha : float, default=1.0
        Rows added to each level of each class.

    Attributes
    ----------
    classes_, columns_, model_ : see `Peer`; a numeric column has ascending bounds, each the start of the interval above
        it.

    Examples
    --------
    >>> from bayesieve_lab.peers import QuantileNB
    >>> model = QuantileNB().fit([[1.0, "a"], [2.0, "a"], [8.0, "b"], [9.0, "b"]], ["low", "low", "high", "high"])
    >>> model.predict([[1.5, "c"], [None, "b"]]).tolist()
    ['low', 'high']
    """

    def __init__(self, *, kinds: Mapping[str, str] | None = None, random_state: Any = 0, alpha: float = 1.0) -> None:
        super().__init__(kinds=kinds, random_state=random_state)
        self.alpha = alpha

    def _learn(self, table: Table, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        """Fit ``CategoricalNB`` to the rows of a table, coded by levels, and return it.

        ``codes`` (n_rows,) are class codes, and ``weights`` (n_rows,) row weights, or None.
        """
        from sklearn.naive_bayes import CategoricalNB

        self._learn_levels(table)
        model = CategoricalNB(alpha=self.alpha, min_categories=self.n_levels_)
        return model.fit(self._rows(table), codes, sample_weight=weights)

    def _log_proba(self, table: Table) -> np.ndarray:
        """Return logarithms of the probabilities of the classes, (n_rows, n_classes)."""
        return self.model_.predict_log_proba(self._rows(table))


def _deciles(numbers: np.ndarray) -> np.ndarray:
    """Return the bounds between tenths of the known numbers, (n_bounds,), ascending; each starts the interval above it.

    Bounds of intervals without rows are omitted. ``numbers`` (n_rows,) may have NaN.
    """
    present = numbers[~np.isnan(numbers)]
    if not present.size:
        return np.zeros(0)
    bounds = np.quantile(present, np.arange(1, _N_BINS) / _N_BINS)
    parts = np.unique(np.searchsorted(bounds, present, side="right"))
    return bounds[parts[1:] - 1]  # starts of intervals with rows
