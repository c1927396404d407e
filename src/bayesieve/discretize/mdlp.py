"""Supervised discretization of Fayyad & Irani: entropy splits, stopped by the minimum description length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from bayesieve.discretize.class_order import ClassOrder
from bayesieve.discretize.coded_block import CodedColumn
from bayesieve.discretize.column_coder import ColumnCoder
from bayesieve.discretize.criterion import interval_prior
from bayesieve.discretize.intervals import ValueBlocks
from bayesieve.discretize.partition import level_score, total_cost
from bayesieve.table import Column, FeatureLevels

_TABLE_LIMIT = 1 << 22  # rows up to which n log n is tabulated, 32 MiB; beyond it is computed
_UNITS = 2.0**53  # in the largest sum of n log n: about the rounding errors of its terms
_REAL_TOLERANCE = 4096  # units: sums of weights are rounded before their logarithm is


class MDLPDiscretizer(ColumnCoder):
    """Entropy splits of Fayyad & Irani (1993), stopped by the minimum description length.

    A column is cut where the classes on both sides have least entropy, and both parts are cut again, as long as a cut
    of N rows with k classes into two parts with k1 and k2 classes gains more than its description costs:
    gain > (log2(N - 1) + log2(3^k - 2) - (k H - k1 H1 - k2 H2)) / N, in bits. Cuts are midpoints between neighbouring
    distinct values, of equally good ones the lowest: the cuts of Weka's supervised Discretize filter. A column where no
    cut is worth it is left in one interval. Missing values have no part in the cuts, and a level of their own. In a
    table of mixed columns the numeric ones are coded.

    Parameters
    ----------
    n_jobs : int or None, default=-1
        Threads; -1 means all cores. Results do not depend on it.

    Attributes
    ----------
    cut_points_ : list of float arrays
        Ascending cut points of each numeric column, Weka's; interval i is (cut[i-1], cut[i]]. Missing values have no
        part in them: where there are any, they are level 0 of `levels_`, before the first interval.
    costs_, null_costs_, level_scores_ : float arrays, shape (n_columns,)
        Costs of the intervals by the MODL criterion, as for `MODLDiscretizer`.
    levels_ : sequence of FeatureLevels

    Notes
    -----
    N is the sum of the weights, so that a weight of 2 equals the row repeated; Weka adds weights in the entropies but
    counts rows in log2(N - 1).

    References
    ----------
    Fayyad & Irani (1993), Multi-interval discretization of continuous-valued attributes for classification learning,
    IJCAI 13.

    Examples
    --------
    >>> from bayesieve import MDLPDiscretizer
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MDLPDiscretizer().fit(X, y).cut_points_[2].round(2).tolist()
    [2.45, 4.75]
    """

    kind = "numeric"

    def __init__(self, *, n_jobs: int | None = -1) -> None:
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MDLPDiscretizer:
        super().fit(X, y, sample_weight)
        cuts = [np.asarray(level.cut_points) for level in self.levels_]
        self.cut_points_ = [own[np.isfinite(own)] for own in cuts]
        return self

    fit.__doc__ = ColumnCoder.fit.__doc__

    def fit_column(self, column: Column, order: ClassOrder, *, missing_apart: bool = False) -> CodedColumn:
        values = column.numbers()
        found = entropy_intervals(values, order)
        n_parts = len(found.counts)
        # Cuts chosen by entropy are scored by the MODL criterion, too.
        prior = interval_prior(order.total, max(1, n_parts))
        cost, null_cost = total_cost(found.counts, prior[n_parts]), total_cost(order.class_totals()[None, :], prior[1])
        levels = FeatureLevels(
            name=column.name,
            kind="numeric",
            type=column.type,
            cut_points=found.cut_points,
            missing_code=0 if found.has_missing else None,
            counts=found.counts,
            level_score=level_score(cost, null_cost),
        )
        return CodedColumn(levels, levels.code_numbers(values), cost, null_cost)


@dataclass(frozen=True)
class EntropyIntervals:
    """Ascending cut points, the (levels, classes) counts, and whether level 0 holds missing values."""

    cut_points: np.ndarray
    counts: np.ndarray
    has_missing: bool


def entropy_intervals(values: np.ndarray, order: ClassOrder) -> EntropyIntervals:
    """Intervals of one column.

    Parameters
    ----------
    values : (n_rows,) float array, NaN for missing values.
    order : rows by class, from the same target.
    """
    from bayesieve.discretize._mdlp_kernels import split_bounds

    # Neighbouring values of one class share a block: no best split parts them (Fayyad & Irani 1993, theorem 1).
    blocks = ValueBlocks(values, order, missing_apart=True)
    first = int(blocks.has_missing and blocks.n_blocks > 1)
    whole = blocks.cumulated.dtype != np.float64
    total = float((blocks.cumulated[-1] - blocks.cumulated[first]).sum())
    tabulated = whole and total < _TABLE_LIMIT
    largest = float(1 << int(total).bit_length()) if tabulated else total
    unit = (2.0 * largest * np.log(largest + 2.0) + order.n_classes) / _UNITS
    table = _n_log_n(int(largest), unit) if tabulated else np.zeros(0, dtype=np.int64)
    tolerance = 4 * (order.n_classes + 1) if tabulated else _REAL_TOLERANCE
    inner = split_bounds(blocks.cumulated, first, table, unit, tolerance)
    bounds = np.concatenate([np.arange(first + 1), inner, [blocks.n_blocks]]).astype(np.int64)
    counts = np.diff(blocks.cumulated[bounds].astype(float), axis=0)
    return EntropyIntervals(blocks.cut_points(bounds[1:-1]), counts, blocks.has_missing)


@lru_cache(maxsize=4)
def _n_log_n(largest: int, unit: float) -> np.ndarray:
    """n log n in units for n = 0..largest, rounded to whole numbers."""
    n = np.arange(1.0, largest + 1.0)
    return np.concatenate([[0], np.rint(n * np.log(n) / unit)]).astype(np.int64)
