"""The explainable boosting machine of interpret on raw tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesieve.table import Table
from bayesieve_lab.peers.installed import quiet, require
from bayesieve_lab.peers.peer import Peer


class BoostingMachine(Peer):
    """``ExplainableBoostingClassifier`` of interpret with its defaults, on raw and mixed tables.

    By default it adds three pairs for each column. With more than two classes, pairs are off, because interpret cannot
    explain them there. Missing and unseen values are handled by interpret.

    Parameters
    ----------
    kinds, random_state : see `Peer`.
    n_jobs : int or None, default=-2
        Processes; -2 means all cores but one, the default of interpret.

    Attributes
    ----------
    classes_, columns_, model_ : see `Peer`.
    n_features_selected_ : int
        Columns and pairs with a score other than zero.
    """

    def __init__(
        self, *, kinds: Mapping[str, str] | None = None, random_state: Any = 0, n_jobs: int | None = -2
    ) -> None:
        super().__init__(kinds=kinds, random_state=random_state)
        self.n_jobs = n_jobs

    @classmethod
    def check_installed(cls) -> None:
        """Raise ValueError unless interpret is installed."""
        require("interpret", "The explainable boosting machine (interpret-core)")

    def _learn(self, table: Table, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        """Fit the explainable boosting machine to the rows of a table, and return it.

        ``codes`` (n_rows,) are class codes, and ``weights`` (n_rows,) row weights, or None.
        """
        from interpret.glassbox import ExplainableBoostingClassifier

        self._learn_columns(table)
        options: dict[str, Any] = {} if len(self.classes_) == 2 else {"interactions": 0}
        model = ExplainableBoostingClassifier(
            feature_types=["nominal" if type_ is None else "continuous" for type_ in self.types_],
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            **options,
        )
        with quiet():
            return model.fit(self._rows(table), codes, sample_weight=weights)

    def _n_features(self) -> int:
        """Return the number of columns and pairs with a score other than zero."""
        return sum(bool(np.any(scores)) for scores in self.model_.term_scores_)

    def _proba(self, table: Table) -> np.ndarray:
        """Return the probabilities of the classes, (n_rows, n_classes)."""
        with quiet():
            return np.asarray(super()._proba(table), dtype=float)

    def _rows(self, table: Table) -> Any:
        """Return the rows of a table as a pandas frame: numbers (NaN = missing), and categories as text (None =
        missing).
        """
        return self._frame(table, missing=None)
