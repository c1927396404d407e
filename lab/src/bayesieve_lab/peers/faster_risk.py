"""Risk scores of FasterRisk on raw tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from bayesieve.table import Table
from bayesieve_lab.peers.categorical_nb import LevelsPeer
from bayesieve_lab.peers.installed import quiet, require

_LEAST_SHARE = 0.01  # of the rows; rarer values have no column


class RiskScore(LevelsPeer):
    """FasterRisk, a risk score for two classes: a sum of few whole points, at most 5 each.

    For a number, columns of 0 and 1 show whether it reaches each decile of the training rows; for a category, whether
    it is each value in at least 1 % of them; another column shows that the cell is missing (or the value rare or
    unseen). Of the pool of scores, the one with the lowest training loss is used.

    Parameters
    ----------
    kinds, random_state : see `Peer`.
    n_terms : int, default=10
        Largest number of columns of 0 and 1 with points; FasterRisk itself has no default.

    Attributes
    ----------
    classes_, columns_, model_ : see `Peer`.
    n_features_selected_ : int
        Columns of the table with points.
    """

    takes_weights = False

    def __init__(self, *, kinds: Mapping[str, str] | None = None, random_state: Any = 0, n_terms: int = 10) -> None:
        super().__init__(kinds=kinds, random_state=random_state)
        self.n_terms = n_terms

    @classmethod
    def check_installed(cls) -> None:
        """Raise ValueError unless FasterRisk is installed."""
        for package in ("fasterrisk", "requests"):
            # FasterRisk requires scikit-learn 1.2, which is too old for bayesieve, but runs with later versions.
            require(package, "FasterRisk", then=", then pip install --no-deps fasterrisk")

    def _learn(self, table: Table, codes: np.ndarray, weights: np.ndarray | None) -> Any:
        """Fit risk scores to the rows of a table, and return the one of lowest training loss.

        If no column varies, a classifier that predicts class shares is returned. ``codes`` (n_rows,) are class codes;
        ``weights`` are not used.
        """
        if len(self.classes_) > 2:
            raise ValueError(f"Risk scores need two classes, got {len(self.classes_)}; omit this classifier.")
        with quiet():
            from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer
        from sklearn.dummy import DummyClassifier

        self._learn_levels(table, least_share=_LEAST_SHARE)
        self.varying_: Any = slice(None)
        matrix = self._rows(table)
        self.varying_ = np.flatnonzero(matrix.any(axis=0) & ~matrix.all(axis=0))
        matrix = matrix[:, self.varying_]
        if not self.varying_.size:
            return DummyClassifier(strategy="prior").fit(matrix, codes)
        n_terms = min(self.n_terms, self.varying_.size)
        with quiet():
            search = RiskScoreOptimizer(matrix, 2.0 * codes - 1.0, k=n_terms)
            rays = search.starRaySearchModel_object
            rays.star_ray_search_scale_and_round = partial(_rounded, rays.line_search_scale_and_round)
            search.optimize()
            return RiskScoreClassifier(*search.get_models(model_index=0))

    def _n_features(self) -> int:
        """Return the number of columns of the table with points."""
        if not self.varying_.size:
            return 0
        owners = np.repeat(
            np.arange(len(self.columns_)), [self._width(position) for position in range(len(self.columns_))]
        )
        return np.unique(owners[self.varying_][self.model_.coefficients != 0]).size

    def _proba(self, table: Table) -> np.ndarray:
        """Return the probabilities of the classes, (n_rows, 2)."""
        rows = self._rows(table)
        if not self.varying_.size:
            return self.model_.predict_proba(rows)
        second = self.model_.predict_prob(rows)
        return np.column_stack([1.0 - second, second])

    def _rows(self, table: Table) -> np.ndarray:
        """Return the columns of 0 and 1 that vary in training, (n_rows, n_varying), for the rows of a table."""
        return super()._rows(table)[:, self.varying_]

    def _cells(self, table: Table, position: int) -> np.ndarray:
        """Return the column of a table at ``position`` as columns of 0 and 1, (n_rows, width)."""
        levels, last = super()._cells(table, position)[:, None], self.n_levels_[position] - 1
        if isinstance(self.columns_[position], dict):
            return (levels == np.arange(last + 1)).astype(float)
        reached = (levels >= np.arange(1, last)) & (levels < last)
        return np.hstack([reached, levels == last]).astype(float)

    def _width(self, position: int) -> int:
        """Return the number of columns of 0 and 1 into which the column of a table at ``position`` is converted."""
        n_levels = self.n_levels_[position]
        return n_levels if isinstance(self.columns_[position], dict) else n_levels - 1


def _rounded(
    line_search: Callable[[np.ndarray], tuple[float, np.ndarray]], intercepts: np.ndarray, betas: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Round solutions to points: return multipliers (n_kept,), intercepts (n_kept,) and coefficients (n_kept,
    n_columns).

    ``intercepts`` (n_solutions,) and ``betas`` (n_solutions, n_columns) are real numbers. ``line_search`` maps one
    solution (intercept first) to its multiplier and points. Of solutions with points for equal columns, only the first
    is kept. FasterRisk's own method does this by ``ndarray.tostring``, which NumPy 2.3 lacks.
    """
    solution_of_columns: dict[bytes, tuple[float, np.ndarray]] = {}
    for solution in np.column_stack([intercepts, betas]):
        multiplier, points = line_search(solution)
        solution_of_columns.setdefault((points != 0).tobytes(), (multiplier, points))
    points = np.array([points for _, points in solution_of_columns.values()])
    return np.array([multiplier for multiplier, _ in solution_of_columns.values()]), points[:, 0], points[:, 1:]
