"""Unsupervised discretization: bins of equal frequency or of equal width."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from bayesieve.discretize.column_coder import IntervalCoder
from bayesieve.discretize.value_counts import NEVER, ValueBlocks

_MOST_BINS = 1_000_000


class _Binner(IntervalCoder):
    supervised = False
    joins = NEVER
    separates_missing = True  # bins are not chosen by cost

    def __init__(self, n_bins: int = 10, *, n_jobs: int | None = -1) -> None:
        self.n_bins = n_bins
        self.n_jobs = n_jobs

    def _check_options(self) -> None:
        whole = isinstance(self.n_bins, Integral) and not isinstance(self.n_bins, bool)
        if not whole or not 1 <= self.n_bins <= _MOST_BINS:
            raise ValueError(f"n_bins must be a positive whole number up to {_MOST_BINS:,}, got {self.n_bins!r}.")


class EqualFrequencyDiscretizer(_Binner):
    """Bins with about the same number of rows; equal values stay together, so there may be fewer than ``n_bins`` bins.

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
        from bayesieve.discretize._value_kernels import equal_parts

        inner = equal_parts(blocks.known_starts(), blocks.starts[1:] - 1, blocks.cumulated, int(self.n_bins))
        return blocks.with_first(inner)


class EqualWidthDiscretizer(_Binner):
    """Bins of the same width between the smallest and the largest value; empty bins are dropped.

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
        inner = []
        for start, stop in zip(blocks.known_starts().tolist(), (blocks.starts[1:] - 1).tolist(), strict=True):
            values = blocks.lower[start:stop]
            bins = np.searchsorted(self._edges(values[0], values[-1]), values)  # values at an edge belong below it
            inner.append(start + 1 + np.flatnonzero(np.diff(bins)))
        return blocks.with_first(np.concatenate(inner))

    def cut_points(self, blocks: ValueBlocks, starts: np.ndarray) -> np.ndarray:
        cuts = np.full(starts.size, -np.inf)
        columns = np.searchsorted(blocks.starts, starts, side="right") - 1
        first = blocks.known_starts()
        for at in np.flatnonzero(starts > first[columns]).tolist():
            c = columns[at]
            edges = self._edges(blocks.lower[first[c]], blocks.upper[blocks.starts[c + 1] - 2])
            cuts[at] = edges[np.searchsorted(edges, blocks.upper[starts[at] - 1])]
        return cuts

    def _edges(self, low: float, high: float) -> np.ndarray:
        """Inner edges of bins between two values."""
        share = np.arange(1, self.n_bins) / self.n_bins
        return low * (1.0 - share) + high * share
