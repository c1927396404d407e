"""Levels and codes of a column, or of a block of numeric columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayesieve.table import FeatureLevels


@dataclass(frozen=True)
class CodedColumn:
    """A column with its levels, the MODL costs in nats (NaN where no criterion was used), and the codes of its rows."""

    levels: FeatureLevels
    codes: np.ndarray
    cost: float = float("nan")
    null_cost: float = float("nan")


@dataclass
class CodedBlock:
    """Levels of adjacent numeric columns; the codes are already in the code matrix.

    n_levels : (n,) 0 for a column that is still to be fitted alone; missing : (n,) code of missing values, -1 where
    there are none; costs : (n,) and null_cost in nats; cuts : cut points, and counts : (levels, n_classes), of all
    columns one after another.
    """

    n_levels: np.ndarray
    missing: np.ndarray
    costs: np.ndarray
    null_cost: float
    cuts: np.ndarray
    counts: np.ndarray

    @classmethod
    def empty(cls, n_columns: int, n_rows: int, n_classes: int, null_cost: float) -> CodedBlock:
        """Arrays for the largest possible number of levels; memory that is never written is never used."""
        return cls(
            n_levels=np.zeros(n_columns, dtype=np.int64),
            missing=np.full(n_columns, -1),
            costs=np.full(n_columns, np.nan),
            null_cost=null_cost,
            cuts=np.empty(n_columns * (n_rows + 1)),
            counts=np.empty((n_columns * (n_rows + 2), n_classes)),
        )

    def trimmed(self, n_cuts: int, n_counts: int) -> CodedBlock:
        """The same without unused entries."""
        return replace(self, cuts=self.cuts[:n_cuts].copy(), counts=self.counts[:n_counts].copy())

    @property
    def level_scores(self) -> np.ndarray:
        """As `partition.level_score`, (n,)."""
        if self.null_cost <= 0.0:
            return np.zeros(self.costs.size)
        return np.maximum(0.0, 1.0 - self.costs / self.null_cost)

    def leave_out(self, columns: np.ndarray) -> None:
        """Mark these columns, (n,) bool, to be fitted individually."""
        kept = ~columns
        cuts = np.repeat(kept, np.maximum(self.n_levels - 1, 0))
        self.cuts, self.counts = self.cuts[cuts], self.counts[np.repeat(kept, self.n_levels)]
        self.n_levels = np.where(kept, self.n_levels, 0)
