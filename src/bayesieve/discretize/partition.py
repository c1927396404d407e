"""One column in its best parts: what the interval search and the value grouping return."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesieve.discretize.criterion import part_cost

# A partition has to beat the single part by more than rounding, otherwise it does not pay for itself.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Partition:
    """Parts of one column with their class counts and MODL costs in nats.

    ``cut_points`` (intervals) or ``groups`` (codes of the values of each group) describes the parts; ``missing_code``
    is the part that holds missing values, None when there were none.
    """

    counts: np.ndarray
    cost: float
    null_cost: float
    missing_code: int | None
    cut_points: np.ndarray | None = None
    groups: tuple[np.ndarray, ...] | None = None

    @property
    def level_score(self) -> float:
        """Share of the null cost that the parts save, max(0, 1 - cost / null cost)."""
        return level_score(self.cost, self.null_cost)


def total_cost(counts: np.ndarray, prior: float) -> float:
    """Cost in nats of the parts with these (parts, classes) counts, given the cost of announcing them."""
    total = 0.0
    for row in counts:  # not sum(), whose last digit depends on the version of Python
        total += part_cost(row)
    return prior + total


def level_score(cost: float, null_cost: float) -> float:
    """Share of the null cost that a partition saves; 0 when it saves nothing."""
    return max(0.0, 1.0 - cost / null_cost) if null_cost > 0.0 else 0.0


def is_better(cost: float, null_cost: float) -> bool:
    return cost < null_cost - _TOLERANCE
