"""MODL discretization of one numeric column (Boulle 2006, as restated in Boulle 2007, section 2.3)."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np

from bayesieve.discretize.class_order import ClassOrder
from bayesieve.discretize.coded_block import CodedBlock
from bayesieve.discretize.criterion import interval_prior, log_factorials
from bayesieve.discretize.partition import Partition, is_better, total_cost

Method = Literal["greedy", "optimal"]

MAX_OPTIMAL_BLOCKS = 20_000
"""Blocks of distinct values up to which ``method="optimal"`` is offered (time grows with their square)."""

_EXACT_WORK = 10_000_000  # blocks^2 x classes up to which every column is solved exactly, in some 20 ms at most
_COARSE_WORK = 600_000  # the same for the intervals that merges leave of larger columns: about 1 ms
_ROWS_PER_DISTINCT = 12  # counting distinct values in a hash table beats sorting when each comes at least this often
_LEAST_COUNTED = 5000  # rows; below, sorting takes no time either
_MAX_QUEUED_BLOCKS = 4096  # beyond, neighbours are first joined in rounds down to this many


class TooManyBlocks(ValueError):
    """A column has too many distinct values for the exact search."""


def discretize_column(
    values: np.ndarray, order: ClassOrder, *, method: Method = "greedy", missing_apart: bool = False
) -> Partition:
    """Best MODL intervals of one column.

    Parameters
    ----------
    values : (n_rows,) float array, NaN for missing values.
    order : rows by class, from the same target.
    method : ``"greedy"`` (bottom-up merges, then splits and boundary moves until nothing falls) or ``"optimal"``
        (exact).
    missing_apart : False: missing is the smallest value and may share the lowest interval. True: missing values, where
        there are any, always are an interval of their own (unless the column is left in one part altogether).

    Returns
    -------
    Partition with cut points; a first cut point of minus infinity separates missing values from the rest.
    """
    blocks = ValueBlocks(values, order, missing_apart)
    total = order.total
    null_counts = order.class_totals()[None, :]
    most = blocks.n_blocks if method == "optimal" else min(blocks.n_blocks, _MAX_QUEUED_BLOCKS)
    prior = interval_prior(total, most + 1)
    null_cost = total_cost(null_counts, prior[1])
    apart = missing_apart and blocks.has_missing and blocks.n_blocks > 1
    if apart:
        # The missing interval always exists: i intervals of values make i + 1 in all.
        bounds = np.concatenate([[0], 1 + search_bounds(blocks.cumulated[1:], np.append(prior[:1], prior[2:]), method)])
    else:
        bounds = search_bounds(blocks.cumulated, prior, method)
    counts = np.diff(blocks.cumulated[bounds].astype(float), axis=0)
    cost = total_cost(counts, prior[len(counts)])
    missing_code = 0 if blocks.has_missing else None
    if len(counts) == 1 or not is_better(cost, null_cost):
        return Partition(null_counts, null_cost, null_cost, missing_code, cut_points=np.zeros(0))
    return Partition(counts, cost, null_cost, missing_code, cut_points=blocks.cut_points(bounds[1:-1]))


def fits_blocks(order: ClassOrder) -> bool:
    """Whether `discretize_block` takes these rows: few, each counted once; more are worth a column of their own."""
    return order.weights.size == 0 and order.rows.size == order.n_rows < _LEAST_COUNTED


def discretize_block(
    values: np.ndarray, order: ClassOrder, codes: np.ndarray, *, missing_apart: bool = False
) -> CodedBlock:
    """As `discretize_column` by the greedy method, for many columns of few rows at once, and the codes of their rows.

    Parameters
    ----------
    values : (n_columns, n_rows) float array, NaN for missing values.
    order, missing_apart : as for `discretize_column`; see `fits_blocks`.
    codes : (n_columns, n_rows) uint8 array to be written.
    """
    from bayesieve.discretize._column_kernels import modl_columns

    n_columns, n_rows = values.shape
    by_class = np.take(values, order.rows, axis=1)
    for start, stop in pairwise(order.offsets.tolist()):
        by_class[:, start:stop].sort(axis=1)
    priors = interval_prior(order.total, n_rows + 2)
    null_cost = total_cost(order.class_totals()[None, :], priors[1])
    found = CodedBlock.empty(n_columns, n_rows, order.n_classes, null_cost)
    table = log_factorials(n_rows + order.n_classes)
    sizes = modl_columns(
        *(values, by_class, order.offsets, priors, table, null_cost, missing_apart, _EXACT_WORK),
        *(found.n_levels, found.missing, found.cuts, found.counts, found.costs, codes),
    )
    return found.trimmed(*sizes)


class ValueBlocks:
    """A column as cumulated class counts of blocks of neighbouring distinct values; missing values are block 0 where
    there are any.
    """

    def __init__(self, values: np.ndarray, order: ClassOrder, missing_apart: bool = False) -> None:
        self._apart = missing_apart  # else missing values may share a block with the lowest values of the same class
        if not self._count(values, order):
            self._sort(values, order)

    def _count(self, values: np.ndarray, order: ClassOrder) -> bool:
        """Blocks from the distinct values, counted in one pass; False when there are too many of them."""
        from bayesieve.discretize._block_kernels import count_distinct, join_counted

        n_rows, most = order.rows.size, order.rows.size // _ROWS_PER_DISTINCT
        if order.weights.size or n_rows < max(_LEAST_COUNTED, order.n_rows) or _looks_distinct(values, most):
            return False
        distinct, counts, missing = count_distinct(np.ascontiguousarray(values), order.codes, order.n_classes, most)
        if distinct.size == 0:
            return False
        ranked = np.argsort(distinct)
        self._allocate(distinct.size, missing, order)
        blocks = (self.cumulated, self._lower, self._upper, int(self.has_missing))
        self._finish(join_counted(distinct[ranked], counts[ranked], *blocks, self._apart))
        return True

    def _sort(self, values: np.ndarray, order: ClassOrder) -> None:
        """Blocks from the values of each class, sorted and merged."""
        from bayesieve.discretize._block_kernels import merge_classes

        by_class = values[order.rows]
        weights, kept_weights = order.weights, np.empty_like(order.weights)
        offsets = np.zeros(order.n_classes + 1, dtype=np.int64)
        missing = np.zeros(order.n_classes)
        # The known values of each class move to the front of by_class, sorted; the rest of the buffer is not read
        # again.
        for j in range(order.n_classes):
            start, stop = order.offsets[j], order.offsets[j + 1]
            segment = by_class[start:stop]
            if weights.size == 0:
                segment.sort()
            else:
                ranks = np.argsort(segment, kind="stable")
                segment = segment[ranks]
            known = int(np.searchsorted(segment, np.nan))  # missing values are sorted to the end
            missing[j] = segment.size - known
            if weights.size:
                segment_weights = weights[start:stop][ranks]
                missing[j] = segment_weights[known:].sum()
                kept_weights[offsets[j] : offsets[j] + known] = segment_weights[:known]
            by_class[offsets[j] : offsets[j] + known] = segment[:known]
            offsets[j + 1] = offsets[j] + known
        self._allocate(int(offsets[-1]), missing, order)
        blocks = (self.cumulated, self._lower, self._upper, int(self.has_missing))
        self._finish(merge_classes(by_class, offsets, kept_weights, *blocks, self._apart))

    def _allocate(self, n_values: int, missing: np.ndarray, order: ClassOrder) -> None:
        """Room for one block per value, the missing block written; memory that is never written is never used."""
        self.has_missing = bool(missing.sum() > 0)
        capacity = n_values + 1 + int(self.has_missing)
        self.cumulated: np.ndarray = np.empty((capacity + 1, order.n_classes), dtype=order.count_type)
        self._lower, self._upper = np.empty(capacity), np.empty(capacity)
        self.cumulated[0] = 0
        if self.has_missing:
            self.cumulated[1] = missing
            self._lower[0] = self._upper[0] = -np.inf

    def _finish(self, n_blocks: int) -> None:
        self.n_blocks = n_blocks
        self.cumulated = self.cumulated[: n_blocks + 1]
        self._lower, self._upper = self._lower[:n_blocks], self._upper[:n_blocks]

    def cut_points(self, bounds: np.ndarray) -> np.ndarray:
        """Midpoints between the neighbouring distinct values on both sides of each bound."""
        below, above = self._upper[bounds - 1], self._lower[bounds]
        middle = below / 2 + above / 2 if np.any(np.abs(above) > 1e307) else (below + above) / 2
        # Between two neighbouring floating-point numbers the midpoint rounds to one of them: it must stay below the
        # upper one.
        return np.where(middle >= above, below, middle)


def _looks_distinct(values: np.ndarray, most: int, sample_size: int = 2048) -> bool:
    """Whether a sample has as few repeated values as it would with more than ``most`` distinct values."""
    sample = np.sort(values[:: max(1, values.size // sample_size)])
    repeated = np.count_nonzero(sample[1:] == sample[:-1])
    return bool(repeated < sample.size**2 / (4 * most))


def search_bounds(cumulated: np.ndarray, prior: np.ndarray, method: Method) -> np.ndarray:
    """Bounds (block numbers, both ends included) of the best intervals found."""
    from bayesieve.discretize import _interval_kernels as kernels

    n_blocks, n_classes = cumulated.shape[0] - 1, cumulated.shape[1]
    if n_blocks <= 1:
        return np.arange(n_blocks + 1)
    fractional = cumulated.dtype == np.float64
    table = None if fractional else log_factorials(int(cumulated[-1].sum()) + n_classes)
    everything = np.arange(n_blocks + 1)
    if method == "optimal" and n_blocks > MAX_OPTIMAL_BLOCKS:
        raise TooManyBlocks(
            f"{n_blocks} distinct values (neighbours of one class joined) are too many for method='optimal', "
            f"which takes at most {MAX_OPTIMAL_BLOCKS}; use method='greedy'"
        )
    if method == "optimal" or n_blocks**2 * n_classes <= _EXACT_WORK:
        return everything[_exact_bounds(cumulated, everything, prior, table)]
    bounds = everything
    if n_blocks > _MAX_QUEUED_BLOCKS:
        bounds = kernels.join_local_minima(cumulated, everything, table, _MAX_QUEUED_BLOCKS - 1)
    vanished, _ = kernels.greedy_merge(cumulated, bounds, prior, table)
    # The merges are trusted down to a few hundred intervals only: the best of their bounds are chosen exactly, then all
    # blocks have their say in the moves.
    most = int((_COARSE_WORK / n_classes) ** 0.5)
    coarse = bounds[vanished > max(0, bounds.size - 1 - most)]
    chosen = coarse[_exact_bounds(cumulated[coarse], np.arange(coarse.size), prior, table)]
    if n_blocks > _MAX_QUEUED_BLOCKS:
        # Joined blocks leave every bound a little off its place: put right here, this spares a scan of all blocks each.
        chosen = kernels.slide_bounds(cumulated, chosen, 2 * n_blocks // _MAX_QUEUED_BLOCKS, table)
    return kernels.improve_bounds(cumulated, chosen, prior, table)


def _exact_bounds(
    cumulated: np.ndarray, everything: np.ndarray, prior: np.ndarray, table: np.ndarray | None
) -> np.ndarray:
    """Optimal bounds among all blocks."""
    from bayesieve.discretize import _interval_kernels as kernels

    vanished, step = kernels.greedy_merge(cumulated, everything, prior, table)
    start = kernels.improve_bounds(cumulated, everything[vanished > step], prior, table)
    reached = total_cost(np.diff(cumulated[start].astype(float), axis=0), prior[len(start) - 1])
    # No partition into k intervals can cost less than prior[k] + the cheapest parts of all: that bounds k.
    lowest = kernels.lowest_parts_cost(cumulated, table)
    max_parts = int(np.searchsorted(prior[1 : everything.size] + lowest, reached + 1e-6))
    return kernels.optimal_bounds(cumulated, prior, table, max(1, max_parts))
