"""Scorecard of optbinning on raw tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.table import Table
from bayesieve_lab.peers.installed import quiet, require
from bayesieve_lab.peers.peer import Peer


class Scorecard(Peer):
    """Optimal bins by optbinning and scikit-learn's logistic regression on their weights of evidence, for two classes.

    Both have their default options. Missing cells have their weight of evidence in training; values not seen in
    training have a weight of 0. Columns without values in training are dropped.

    Parameters, attributes : see `Peer`.

    Attributes
    ----------
    n_features_selected_ : int
        Columns with a coefficient other than zero.
    """

    @classmethod
    def check_installed(cls) -> None:
        """Raise ValueError unless optbinning is installed."""
        require("optbinning", "The scorecard (optbinning)")

    def _learn(self, table: Table, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        """Fit bins and logistic regression to the rows of a table, and return the fitted scorecard.

        Without values in any column, a classifier that predicts class shares is returned. ``codes`` (n_rows,) are class
        codes, and ``weights`` (n_rows,) row weights, or None.
        """
        if len(self.classes_) > 2:
            raise ValueError(f"Scorecards need two classes, got {len(self.classes_)}; omit this classifier.")
        with quiet():
            from optbinning import BinningProcess, Scorecard as OptimalScorecard
        from sklearn.dummy import DummyClassifier
        from sklearn.linear_model import LogisticRegression

        self._learn_columns(table)
        rows = self._rows(table)
        names = rows.columns[rows.notna().any()].tolist()
        if not names:
            return DummyClassifier(strategy="prior").fit(rows, codes, sample_weight=weights)
        categorical = [name for name in names if self.columns_[int(name[1:])] is not None]
        bins = BinningProcess(names, categorical_variables=categorical)
        model = OptimalScorecard(bins, LogisticRegression(max_iter=1000))
        with quiet():
            model.fit(rows, codes, sample_weight=weights, metric_missing="empirical")
        return model

    def _n_features(self) -> int:
        """Return the number of columns with a coefficient other than zero."""
        return int(np.count_nonzero(self.model_.estimator_.coef_)) if hasattr(self.model_, "estimator_") else 0

    def _proba(self, table: Table) -> np.ndarray:
        """Return the probabilities of the classes, (n_rows, 2)."""
        with quiet():
            return np.asarray(super()._proba(table), dtype=float)

    def _rows(self, table: Table) -> Any:
        """Return the rows of a table as a pandas frame: numbers (NaN = missing), and categories as text (None =
        missing).
        """
        return self._frame(table, missing=None)
