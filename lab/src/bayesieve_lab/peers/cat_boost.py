"""CatBoost on raw tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesieve.table import Table
from bayesieve_lab.peers.installed import require
from bayesieve_lab.peers.peer import Peer


class OrderedBoosting(Peer):
    """``CatBoostClassifier`` with its defaults, on raw and mixed tables, with categorical columns declared.

    Missing numbers are handled by CatBoost; missing categories form a category.

    Parameters
    ----------
    kinds, random_state : see `Peer`.
    n_jobs : int or None, default=-1
        Threads; -1 or None means all cores, the default of CatBoost.

    Attributes
    ----------
    classes_, columns_, model_ : see `Peer`.
    n_features_selected_ : int
        Columns with an importance other than zero.
    """

    def __init__(
        self, *, kinds: Mapping[str, str] | None = None, random_state: Any = 0, n_jobs: int | None = -1
    ) -> None:
        super().__init__(kinds=kinds, random_state=random_state)
        self.n_jobs = n_jobs

    @classmethod
    def check_installed(cls) -> None:
        """Raise ValueError unless CatBoost is installed."""
        require("catboost", "CatBoost")

    def _learn(self, table: Table, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        """Fit CatBoost to the rows of a table, and return the fitted classifier.

        ``codes`` (n_rows,) are class codes, and ``weights`` (n_rows,) row weights, or None.
        """
        from catboost import CatBoostClassifier

        self._learn_columns(table)
        model = CatBoostClassifier(
            cat_features=[position for position, column in enumerate(self.columns_) if column is not None],
            random_seed=self.random_state,
            thread_count=-1 if self.n_jobs is None else self.n_jobs,
            allow_writing_files=False,
            verbose=False,
        )
        return model.fit(self._rows(table), codes, sample_weight=weights)

    def _n_features(self) -> int:
        """Return the number of columns with an importance other than zero."""
        return int(np.count_nonzero(self.model_.get_feature_importance()))

    def _rows(self, table: Table) -> Any:
        """Return the rows of a table as a pandas frame, in which missing categories are a category."""
        return self._frame(table, missing="missing")
