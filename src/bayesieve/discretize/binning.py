"""Discretizers by bins of equal frequency or equal width, and by the entropy splits of Fayyad & Irani."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from bayesieve.discretize.column_coders import IntervalCoder
from bayesieve.discretize.modl import Intervals
from bayesieve.discretize.value_counts import NEVER, ValueBlocks


class _Binner(IntervalCoder):
    """Base class of discretizers into a number of bins, which do not use the classes."""

    supervised = False
    joins = NEVER

    def __init__(self, n_bins: int = 10, *, n_jobs: int | None = -1) -> None:
        self.n_bins = n_bins
        self.n_jobs = n_jobs


class EqualFrequencyDiscretizer(_Binner):
    """Discretizer by bins with about equal numbers of rows.

    Equal values stay together, so there may be fewer than ``n_bins`` bins.

    Parameters
    ----------
    n_bins : int, default=10

    Attributes
    ----------
    cut_points_ : list of float arrays
        Ascending cut points (midpoints between neighbouring distinct values); a first cut of -inf separates missing
        values.
    levels_ : sequence of FeatureLevels

    Examples
    --------
    >>> from bayesieve import EqualFrequencyDiscretizer
    >>> EqualFrequencyDiscretizer(n_bins=2).fit([[1.0], [2.0], [3.0], [40.0]]).cut_points_[0].tolist()
    [2.5]
    """

    def find_starts(self, blocks: ValueBlocks, apart: bool) -> np.ndarray:
        starts = [blocks.starts_of_numbers]
        for first, stop in zip(blocks.starts_of_numbers.tolist(), blocks.starts[1:].tolist(), strict=True):
            above = (blocks.cumulated[first:stop] - blocks.cumulated[first]).sum(axis=1, dtype=float)
            starts.append(first + equal_parts(above, int(self.n_bins)))
        return np.concatenate(starts)


def equal_parts(above: np.ndarray, n_parts: int) -> np.ndarray:
    """Return the positions of the values at which ``n_parts`` bins of about equal weight begin, except for the first
    bin.

    ``above`` is the cumulative weight before each value. A bin begins where it is nearest to a multiple of the weight
    of a bin, at the lower value on ties.
    """
    n_values = above.size - 1
    if n_values < 2:
        return np.zeros(0, dtype=np.int64)
    targets = above[-1] * np.arange(1, n_parts) / n_parts
    after = np.clip(np.searchsorted(above, targets), 1, n_values - 1)
    before = np.maximum(after - 1, 1)
    return np.unique(np.where(targets - above[before] <= above[after] - targets, before, after))


class EqualWidthDiscretizer(_Binner):
    """Discretizer by bins of equal width between the smallest and the largest value; empty bins are dropped.

    Parameters
    ----------
    n_bins : int, default=10

    Attributes
    ----------
    cut_points_ : list of float arrays
        Ascending cut points; a first cut of -inf separates missing values.
    levels_ : sequence of FeatureLevels

    Examples
    --------
    >>> from bayesieve import EqualWidthDiscretizer
    >>> EqualWidthDiscretizer(n_bins=3).fit([[0.0], [3.0], [5.0], [9.0]]).cut_points_[0].tolist()
    [3.0, 6.0]
    """

    def find_starts(self, blocks: ValueBlocks, apart: bool) -> np.ndarray:
        starts = [blocks.starts_of_numbers]
        for start, stop in zip(blocks.starts_of_numbers.tolist(), (blocks.starts[1:] - 1).tolist(), strict=True):
            values = blocks.lower[start:stop]
            bins = np.searchsorted(self._edges(values[0], values[-1]), values)  # values at an edge belong below it
            starts.append(start + 1 + np.flatnonzero(np.diff(bins)))
        return np.concatenate(starts)

    def fit_blocks(self, blocks: ValueBlocks, *, apart: bool) -> Intervals:
        # Cut points are edges of bins instead of midpoints between values.
        starts = np.setdiff1d(self.find_starts(blocks, apart), blocks.starts[:-1])
        cuts = np.full(starts.size, -np.inf)
        columns = np.searchsorted(blocks.starts, starts, side="right") - 1
        first = blocks.starts_of_numbers
        for at in np.flatnonzero(starts > first[columns]).tolist():
            c = columns[at]
            edges = self._edges(blocks.lower[first[c]], blocks.upper[blocks.starts[c + 1] - 2])
            cuts[at] = edges[np.searchsorted(edges, blocks.upper[starts[at] - 1])]
        return replace(super().fit_blocks(blocks, apart=apart), cut_points=cuts)

    def _edges(self, low: float, high: float) -> np.ndarray:
        """Return the inner edges of ``n_bins`` bins of equal width between ``low`` and ``high``, ascending, shape
        (n_bins - 1,).
        """
        share = np.arange(1, self.n_bins) / self.n_bins
        # Rounding may put edges out of range or out of order if ``low`` and ``high`` are nearly adjacent floating-point
        # numbers.
        return np.maximum.accumulate(np.clip(low * (1.0 - share) + high * share, low, high))


_TABLE_LIMIT = 1 << 22  # rows up to which n log n is tabulated, 32 MiB; beyond it is computed
_UNITS = 2.0**53  # number of units in the largest sum of n log n; a unit is about the rounding error of a term
_REAL_TOLERANCE = 4096  # units, for sums of weights, which are already rounded


class MDLPDiscretizer(IntervalCoder):
    """Discretizer by the entropy-based splits of Fayyad & Irani (1993), stopped by the minimum description length.

    A column is cut where the class entropy on both sides is least, and both parts are cut again. A cut of N rows with k
    classes into two parts with k1 and k2 classes is accepted if it gains more than its description costs: gain >
    (log2(N - 1) + log2(3^k - 2) - (k H - k1 H1 - k2 H2)) / N, in bits. Cuts are midpoints between neighbouring distinct
    values, and the lowest of equally good ones is chosen. Weka's supervised Discretize filter gives the same cuts. A
    column without an accepted cut is one interval. Missing values do not affect the cuts and have a separate level. In
    a table of mixed columns, only the numeric ones are coded.

    Attributes
    ----------
    cut_points_ : list of float arrays
        Ascending cut points of each numeric column; interval i is (cut[i-1], cut[i]]. Missing values are level 0 of
        `levels_`, before the first interval.
    costs_, null_costs_, level_scores_ : float arrays, shape (n_columns,)
        Costs of the intervals by the MODL criterion, as for `MODLDiscretizer`.
    levels_ : sequence of FeatureLevels

    Notes
    -----
    N is the sum of the weights, so that a row of weight 2 counts like two equal rows. Weka adds weights in the
    entropies but counts rows in log2(N - 1).

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

    separates_missing = True

    def __init__(self, *, n_jobs: int | None = -1) -> None:
        self.n_jobs = n_jobs

    def find_starts(self, blocks: ValueBlocks, apart: bool) -> np.ndarray:
        first = (blocks.starts_of_numbers - blocks.starts[:-1]).tolist()
        inner = [blocks.starts[c] + split_bounds(blocks.column(c), start) for c, start in enumerate(first)]
        return np.concatenate([blocks.starts_of_numbers, *inner])

    def _set_attributes(self) -> None:
        """Set ``cut_points_`` from ``levels_``, without the cut that separates missing values."""
        super()._set_attributes()
        self.cut_points_ = [cuts[np.isfinite(cuts)] for cuts in self.cut_points_]


def split_bounds(cumulated: np.ndarray, first: int) -> np.ndarray:
    """Return the ascending block numbers at which the blocks from ``first`` on are split.

    ``cumulated`` has the cumulative class counts of the blocks, shape (n_blocks + 1, n_classes).
    """
    from bayesieve.discretize import _value_kernels as kernels

    n_classes = cumulated.shape[1]
    total = float((cumulated[-1] - cumulated[first]).sum())
    tabulated = cumulated.dtype != np.float64 and total < _TABLE_LIMIT
    largest = float(1 << int(total).bit_length()) if tabulated else total
    unit = (2.0 * largest * np.log(largest + 2.0) + n_classes) / _UNITS
    table = _n_log_n(int(largest), unit) if tabulated else np.zeros(0, dtype=np.int64)
    tolerance = 4 * (n_classes + 1) if tabulated else _REAL_TOLERANCE
    return kernels.split_bounds(cumulated, first, table, unit, tolerance)


@lru_cache(maxsize=4)
def _n_log_n(largest: int, unit: float) -> np.ndarray:
    """Return n log n for n = 0..largest, shape (largest + 1,), rounded to whole multiples of ``unit``."""
    n = np.arange(1.0, largest + 1.0)
    return np.concatenate([[0], np.rint(n * np.log(n) / unit)]).astype(np.int64)
