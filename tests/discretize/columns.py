"""Small columns and their counts, shared by the tests of the discretizers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from hypothesis import strategies as st

from bayesieve import MODLDiscretizer
from bayesieve.discretize.column_coders import IntervalCoder
from bayesieve.discretize.modl import Intervals, level_scores
from bayesieve.discretize.value_counts import ClassOrder, ValueBlocks


@dataclass
class Found:
    """The intervals of a single column."""

    cut_points: np.ndarray
    counts: np.ndarray
    cost: float
    null_cost: float
    missing_code: int | None
    level_score: float

    @classmethod
    def each(cls, intervals: Intervals) -> list[Found]:
        """The columns one by one."""
        n_levels = intervals.n_levels
        cuts = np.split(intervals.cut_points, np.cumsum(n_levels - 1)[:-1])
        counts = np.split(intervals.counts, np.cumsum(n_levels)[:-1])
        missing = [None if code < 0 else int(code) for code in intervals.missing]
        scores = level_scores(intervals.costs, intervals.null_costs)
        rest = (intervals.costs.tolist(), intervals.null_costs.tolist(), missing, scores.tolist())
        return [cls(*facts) for facts in zip(cuts, counts, *rest, strict=True)]


def fit_intervals(coder: IntervalCoder, values: np.ndarray, order: ClassOrder, apart: bool) -> Intervals:
    """The intervals of the rows of ``values``."""
    return coder.fit_blocks(ValueBlocks.of_rows(values, order, joined=coder.joins, apart=apart), apart=apart)


def intervals_of(
    values: np.ndarray,
    codes: np.ndarray,
    n_classes: int,
    weights: np.ndarray | None = None,
    *,
    method: Literal["greedy", "optimal"] = "greedy",
    prior: Literal["sizes", "published"] = "published",
    missing_apart: bool = False,
) -> Found:
    """The MODL intervals of one column."""
    order = ClassOrder.of(codes.astype(np.uint8), n_classes, weights)
    values = np.asarray(values, dtype=float)[None, :]
    return Found.each(fit_intervals(MODLDiscretizer(method=method, prior=prior), values, order, missing_apart))[0]


def counts_of(values: np.ndarray, codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None) -> np.ndarray:
    """(distinct values, classes) counts in ascending order, missing values first."""
    ranks = np.where(np.isnan(values), -np.inf, values)
    distinct, which = np.unique(ranks, return_inverse=True)
    counts = np.zeros((distinct.size, n_classes))
    np.add.at(counts, (which, codes), 1.0 if weights is None else weights)
    return counts


def table_of(found: Found, values: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """(intervals, classes) counts between the cut points found, missing values below every number."""
    ranks = np.where(np.isnan(values), -np.inf, values)
    counts = np.zeros((len(found.cut_points) + 1, n_classes))
    np.add.at(counts, (np.searchsorted(found.cut_points, ranks, side="left"), codes), 1.0)
    return counts


@st.composite
def columns(
    draw: st.DrawFn, max_rows: int = 40, max_classes: int = 4, missing: bool = True
) -> tuple[np.ndarray, np.ndarray, int]:
    """Values with ties and gaps, where the classes follow the value more or less; class codes; number of classes."""
    n_classes = draw(st.integers(2, max_classes))
    n_rows = draw(st.integers(1, max_rows))
    n_distinct = draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    which = rng.integers(0, n_distinct, n_rows)
    values = np.cumsum(rng.exponential(size=n_distinct))[which] - 5.0
    noise = draw(st.sampled_from([0.0, 0.2, 0.5, 1.0]))
    codes = np.where(rng.random(n_rows) < noise, rng.integers(0, n_classes, n_rows), which * n_classes // n_distinct)
    if missing and draw(st.booleans()):
        values[rng.random(n_rows) < draw(st.sampled_from([0.1, 0.5, 1.0]))] = np.nan
    return values, codes, n_classes
