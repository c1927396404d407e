"""MODL discretization of one numeric column (Boulle 2006, as restated in Boulle 2007, section 2.3)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from bayesieve.discretize.class_order import ClassOrder
from bayesieve.discretize.criterion import interval_prior, log_factorials
from bayesieve.discretize.partition import Partition, is_better, total_cost

Method = Literal["greedy", "optimal"]

MAX_OPTIMAL_BLOCKS = 20_000
"""Blocks of distinct values up to which ``method="optimal"`` is offered (time grows with their square)."""

_MAX_EXACT_BLOCKS = 256  # up to here the exact optimum takes about as long as the greedy search
_MAX_QUEUED_BLOCKS = 4096  # beyond, neighbours are first joined in rounds down to this many


class TooManyBlocks(ValueError):
    """The exact search was asked for a column with too many distinct values."""


def discretize_column(
    values: np.ndarray, order: ClassOrder, *, method: Method = "greedy", missing_apart: bool = False
) -> Partition:
    """Best MODL intervals of one column.

    Parameters
    ----------
    values : (n_rows,) float array, NaN for missing values.
    order : rows by class, from the same target.
    method : ``"greedy"`` (bottom-up merges, then splits and boundary moves until nothing falls) or ``"optimal"`` (exact).
    missing_apart : False: missing is the smallest value and may share the lowest interval. True: missing values, where there are
        any, always are an interval of their own (unless the column is left in one part altogether).

    Returns
    -------
    Partition with cut points; a first cut point of minus infinity separates missing values from the rest.
    """
    blocks = _Blocks(values, order)
    total = order.total
    null_counts = order.class_totals()[None, :]
    most = blocks.n_blocks if method == "optimal" else min(blocks.n_blocks, _MAX_QUEUED_BLOCKS)
    prior = interval_prior(total, most + 1)
    null_cost = total_cost(null_counts, prior[1])
    apart = missing_apart and blocks.has_missing and blocks.n_blocks > 1
    if apart:
        # The missing interval is there whatever happens: i intervals of values make i + 1 in all.
        bounds = np.concatenate([[0], 1 + search_bounds(blocks.cumulated[1:], np.append(prior[:1], prior[2:]), method)])
    else:
        bounds = search_bounds(blocks.cumulated, prior, method)
    counts = np.diff(blocks.cumulated[bounds].astype(float), axis=0)
    cost = total_cost(counts, prior[len(counts)])
    missing_code = 0 if blocks.has_missing else None
    if len(counts) == 1 or not is_better(cost, null_cost):
        return Partition(null_counts, null_cost, null_cost, missing_code, cut_points=np.zeros(0))
    return Partition(counts, cost, null_cost, missing_code, cut_points=blocks.cut_points(bounds[1:-1]))


class _Blocks:
    """A column as cumulated class counts of blocks of neighbouring distinct values; missing values are block 0 where there are any."""

    def __init__(self, values: np.ndarray, order: ClassOrder) -> None:
        from bayesieve.discretize._interval_kernels import merge_classes

        n_classes = order.n_classes
        by_class = values[order.rows]
        weights, kept_weights = order.weights, order.weights
        offsets = np.zeros(n_classes + 1, dtype=np.int64)
        missing = np.zeros(n_classes)
        # The known values of each class move to the front of by_class, sorted; the rest of the buffer is not read again.
        for j in range(n_classes):
            start, stop = order.offsets[j], order.offsets[j + 1]
            segment = by_class[start:stop]
            if weights.size == 0:
                segment.sort()
                known = int(np.searchsorted(segment, np.nan))  # missing values are sorted to the end
                missing[j] = segment.size - known
            else:
                ranks = np.argsort(segment, kind="stable")
                segment, segment_weights = segment[ranks], weights[start:stop][ranks]
                known = int(segment.size - np.isnan(segment).sum())
                missing[j] = segment_weights[known:].sum()
                if j == 0:
                    kept_weights = np.empty_like(weights)
                kept_weights[offsets[j] : offsets[j] + known] = segment_weights[:known]
            by_class[offsets[j] : offsets[j] + known] = segment[:known]
            offsets[j + 1] = offsets[j] + known
        self.has_missing = bool(missing.sum() > 0)
        first = int(self.has_missing)
        # Memory that is never written is never used: the arrays are as long as the worst case, most pages stay untouched.
        capacity = int(offsets[-1]) + 1 + first
        cumulated = np.empty((capacity + 1, n_classes), dtype=order.count_type)
        lower, upper = np.empty(capacity), np.empty(capacity)
        cumulated[0] = 0
        if self.has_missing:
            cumulated[1] = missing
            lower[0] = upper[0] = -np.inf
        n = merge_classes(by_class, offsets, kept_weights, cumulated, lower, upper, first)
        self.n_blocks = n
        self.cumulated, self._lower, self._upper = cumulated[: n + 1], lower[:n], upper[:n]

    def cut_points(self, bounds: np.ndarray) -> np.ndarray:
        """Midpoints between the neighbouring distinct values on both sides of each bound."""
        below, above = self._upper[bounds - 1], self._lower[bounds]
        middle = below / 2 + above / 2 if np.any(np.abs(above) > 1e307) else (below + above) / 2
        # Between two neighbouring floating-point numbers the midpoint rounds to one of them: it must stay below the upper one.
        return np.where(middle >= above, below, middle)


def search_bounds(cumulated: np.ndarray, prior: np.ndarray, method: Method) -> np.ndarray:
    """Bounds (block numbers, both ends included) of the best intervals found."""
    from bayesieve.discretize import _interval_kernels as kernels

    n_blocks = cumulated.shape[0] - 1
    if n_blocks <= 1:
        return np.arange(n_blocks + 1)
    table = log_factorials(int(cumulated[-1].sum()) + cumulated.shape[1]) if cumulated.dtype != np.float64 else np.zeros(0)
    everything = np.arange(n_blocks + 1)
    if method == "optimal":
        if n_blocks > MAX_OPTIMAL_BLOCKS:
            raise TooManyBlocks(
                f"{n_blocks} distinct values (neighbours of one class joined) are too many for method='optimal', "
                f"which takes at most {MAX_OPTIMAL_BLOCKS}; use method='greedy'"
            )
    elif n_blocks > _MAX_EXACT_BLOCKS:
        bounds = everything
        if n_blocks > _MAX_QUEUED_BLOCKS:
            bounds = kernels.join_local_minima(cumulated, everything, table, _MAX_QUEUED_BLOCKS - 1)
        bounds = kernels.greedy_merge(cumulated, bounds, prior, table)
        return kernels.improve_bounds(cumulated, bounds, prior, table)
    # No partition into k intervals can cost less than prior[k] + the cheapest parts of all: that bounds k.
    start = kernels.improve_bounds(cumulated, kernels.greedy_merge(cumulated, everything, prior, table), prior, table)
    reached = total_cost(np.diff(cumulated[start].astype(float), axis=0), prior[len(start) - 1])
    lowest = kernels.lowest_parts_cost(cumulated, table)
    max_parts = int(np.searchsorted(prior[1 : n_blocks + 1] + lowest, reached + 1e-6))
    return kernels.optimal_bounds(cumulated, prior, table, max(1, max_parts))
