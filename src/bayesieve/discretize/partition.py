"""Levels learnt from class counts, with their costs by the MODL criterion in nats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesieve.discretize.criterion import level_scores


@dataclass(frozen=True)
class Intervals:
    """Intervals of one or several numeric columns, one column after another.

    Attributes
    ----------
    n_levels : int array, shape (n_columns,)
    cut_points : float array, shape (n_levels - 1 of all columns,)
        A first cut point of -inf separates missing values from the rest.
    counts : float array, shape (n_levels of all columns, n_classes)
    missing : int array, shape (n_columns,)
        The level of missing values; -1 where there are none.
    costs, null_costs : float arrays, shape (n_columns,)
        Of these intervals, and of a single one.
    """

    n_levels: np.ndarray
    cut_points: np.ndarray
    counts: np.ndarray
    missing: np.ndarray
    costs: np.ndarray
    null_costs: np.ndarray

    @classmethod
    def join(cls, parts: Sequence[Intervals]) -> Intervals:
        """The intervals of all these columns."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__))

    def select(self, columns: np.ndarray) -> Intervals:
        """The intervals of the marked columns, (n_columns,) bool."""
        return Intervals(
            n_levels=self.n_levels[columns],
            cut_points=self.cut_points[np.repeat(columns, self.n_levels - 1)],
            counts=self.counts[np.repeat(columns, self.n_levels)],
            missing=self.missing[columns],
            costs=self.costs[columns],
            null_costs=self.null_costs[columns],
        )

    @property
    def level_scores(self) -> np.ndarray:
        """Share of the null cost that the intervals of each column save, (n_columns,)."""
        return level_scores(self.costs, self.null_costs)


@dataclass(frozen=True)
class Groups:
    """Groups of the values of one categorical column: positions of the values of each, class counts and costs."""

    groups: tuple[np.ndarray, ...]
    counts: np.ndarray
    cost: float
    null_cost: float

    def as_intervals(self) -> Intervals:
        """Number of levels and costs, without cut points and counts."""
        return Intervals(
            n_levels=np.array([len(self.groups)]),
            cut_points=np.zeros(0),
            counts=self.counts[:0],
            missing=np.array([-1]),
            costs=np.array([self.cost]),
            null_costs=np.array([self.null_cost]),
        )

    @property
    def level_score(self) -> float:
        """Share of the null cost that the groups save."""
        return float(self.as_intervals().level_scores[0])
