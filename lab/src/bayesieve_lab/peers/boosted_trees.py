"""scikit-learn's gradient boosting on raw tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.table import Table
from bayesieve_lab.peers.peer import Peer

_MOST_VALUES = 254  # limit of scikit-learn's trees for a categorical column, next to missing values


class BoostedTrees(Peer):
    """scikit-learn's ``HistGradientBoostingClassifier`` with its defaults, on raw and mixed tables.

    Numbers are unchanged; the 254 most frequent values of a categorical column are its categories. Rarer and unseen
    values count as missing, which the trees support.

    Parameters, attributes : see `Peer`.

    Examples
    --------
    >>> from bayesieve_lab import RepeatedFolds, compare
    >>> from bayesieve import SelectiveNB
    >>> from bayesieve_lab.peers import BoostedTrees
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> comparison = compare({"ours": SelectiveNB(), "trees": BoostedTrees()}, X, y, RepeatedFolds(n_folds=3))
    >>> bool((comparison.matrix("accuracy") > 0.9).all())
    True
    """

    def _learn(self, table: Table, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        """Fit the trees to the rows of a table, and return the fitted classifier.

        ``codes`` (n_rows,) are class codes, and ``weights`` (n_rows,) row weights, or None.
        """
        from sklearn.ensemble import HistGradientBoostingClassifier

        self._learn_columns(table, most=_MOST_VALUES)
        model = HistGradientBoostingClassifier(
            categorical_features=[column is not None for column in self.columns_], random_state=self.random_state
        )
        self.empty_ = np.zeros(table.n_columns, dtype=bool)
        self.empty_ = np.isnan(self._rows(table)).all(axis=0)  # the trees refuse columns without known values
        return model.fit(self._rows(table), codes, sample_weight=weights)

    def _cells(self, table: Table, position: int) -> np.ndarray:
        """Return the column of a table at ``position`` as numbers, or as codes of categories, (n_rows,).

        Missing numbers, and missing, rare or unseen categories are NaN.
        """
        if self.empty_[position]:
            return np.zeros(table.n_rows)
        if self.columns_[position] is None:
            return self._numbers(table, position)
        codes = self._codes(table, position, unknown=-1, missing=-1)
        return np.where(codes < 0, np.nan, codes)
