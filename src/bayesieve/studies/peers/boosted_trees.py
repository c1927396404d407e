"""scikit-learn's gradient boosting on raw tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.studies.peers.peer import Peer
from bayesieve.studies.peers.values import known_values, value_codes
from bayesieve.table import Table

_MOST_VALUES = 254  # limit of scikit-learn's trees for a categorical column, next to missing values


class BoostedTrees(Peer):
    """scikit-learn's ``HistGradientBoostingClassifier`` with its defaults, on raw and mixed tables.

    Numbers are unchanged; the 254 most frequent values of a categorical column are its categories. Rarer and unseen
    values count as missing, which the trees support.

    Parameters
    ----------
    kinds : dict or None, default=None
        Kinds of columns by name, ``"numeric"`` or ``"categorical"``, see `TableEncoder`.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
    model_ : HistGradientBoostingClassifier, or None for a single class

    Examples
    --------
    >>> from bayesieve import RepeatedFolds, SelectiveNB, compare
    >>> from bayesieve.studies.peers import BoostedTrees
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> comparison = compare({"ours": SelectiveNB(), "trees": BoostedTrees()}, X, y, RepeatedFolds(n_folds=3))
    >>> bool((comparison.matrix("accuracy") > 0.9).all())
    True
    """

    def _learn(self, table: Table, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        self.categories_ = [
            known_values(table.column(position), most=_MOST_VALUES) if type_ is None else None
            for position, type_ in enumerate(self.types_)
        ]
        model = HistGradientBoostingClassifier(
            categorical_features=[known is not None for known in self.categories_], random_state=self.random_state
        )
        self.empty_ = np.zeros(table.n_columns, dtype=bool)
        matrix = self._matrix(table)
        self.empty_ = np.isnan(matrix).all(axis=0)  # the trees refuse columns without known values
        matrix[:, self.empty_] = 0.0
        return model.fit(matrix, codes, sample_weight=weights)

    def _proba(self, table: Table) -> np.ndarray:
        return self.model_.predict_proba(self._matrix(table))

    def _matrix(self, table: Table) -> np.ndarray:
        matrix = np.empty((table.n_rows, table.n_columns))
        for position, known in enumerate(self.categories_):
            if known is None:
                matrix[:, position] = self._numbers(table, position)
            else:
                codes = value_codes(table.column(position), known, unknown=-1, missing=-1)
                matrix[:, position] = np.where(codes < 0, np.nan, codes)
        matrix[:, self.empty_] = 0.0
        return matrix
