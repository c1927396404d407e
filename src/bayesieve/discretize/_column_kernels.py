"""Compiled loops over many columns at once: what tables of very many columns and few rows spend their time on.

They do for every column what `discretize_column` and the bins of equal frequency do for one, with the same results to
the last bit, for rows that count once each. A column that asks for more (over 255 levels, or an interval search that is
not exact) is left to those, and marked by ``n_levels`` 0.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner
from bayesieve.discretize._block_kernels import merge_classes
from bayesieve.discretize._interval_kernels import (
    greedy_merge,
    improve_bounds,
    lowest_parts_cost,
    optimal_bounds,
)

_MOST_LEVELS = 255  # whose codes, that of unseen values included, are bytes
_TOLERANCE = 1e-9  # of `partition.is_better`


@jit_inner
def sum_like_numpy(values):
    """The sum of a few numbers, added in the order in which NumPy adds them."""
    n = values.size
    if n < 8 or n > 128:
        total = 0.0
        for i in range(n):
            total += values[i]
        return total
    lane = np.empty(8)
    for k in range(8):
        lane[k] = values[k]
    i = 8
    while i + 8 <= n:
        for k in range(8):
            lane[k] += values[i + k]
        i += 8
    total = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]))
    while i < n:
        total += values[i]
        i += 1
    return total


@jit_inner
def _levels_cost(counts, prior, log_factorials, scratch):
    """`partition.total_cost` of levels with these whole (levels, classes) counts."""
    n_classes = counts.shape[1]
    total = 0.0
    for i in range(counts.shape[0]):
        rows = 0
        for j in range(n_classes):
            count = int(counts[i, j])
            rows += count
            scratch[j] = log_factorials[count]
        total += log_factorials[rows + n_classes - 1] - log_factorials[n_classes - 1] - sum_like_numpy(scratch)
    return prior + total


@jit_inner
def _exact_bounds(cumulated, prior, log_factorials, scratch):
    """`intervals.search_bounds` of columns small enough to be solved exactly."""
    n_blocks = cumulated.shape[0] - 1
    bounds = np.empty(n_blocks + 1, dtype=np.int64)
    for i in range(n_blocks + 1):
        bounds[i] = i
    if n_blocks <= 1:
        return bounds
    vanished, step = greedy_merge(cumulated, bounds, prior, log_factorials)
    n = 0
    for i in range(n_blocks + 1):
        if vanished[i] > step:
            bounds[n] = i
            n += 1
    start = improve_bounds(cumulated, bounds[:n], prior, log_factorials)
    parts = np.empty((start.size - 1, cumulated.shape[1]))
    for i in range(start.size - 1):
        for j in range(cumulated.shape[1]):
            parts[i, j] = cumulated[start[i + 1], j] - cumulated[start[i], j]
    reached = _levels_cost(parts, prior[start.size - 1], log_factorials, scratch)
    lowest = lowest_parts_cost(cumulated, log_factorials)
    max_parts = 0
    while max_parts < n_blocks and prior[1 + max_parts] + lowest < reached + 1e-6:
        max_parts += 1
    if max_parts <= 1:
        bounds[0], bounds[1] = 0, n_blocks
        return bounds[:2]
    return optimal_bounds(cumulated, prior, log_factorials, max_parts)


@jit_inner
def code_row(values, cuts, missing_code, codes):
    """codes[i] = number of cuts below values[i]; ``missing_code`` for NaN."""
    if cuts.size <= 16:
        codes[:] = 0
        for cut in cuts:
            for i in range(values.size):
                codes[i] += np.uint8(cut < values[i])
        for i in range(values.size):
            if values[i] != values[i]:
                codes[i] = missing_code
        return
    for i in range(values.size):
        value = values[i]
        low, high = 0, cuts.size
        while low < high:
            middle = (low + high) >> 1
            if cuts[middle] < value:
                low = middle + 1
            else:
                high = middle
        codes[i] = low if value == value else missing_code


@jit_inner
def _midpoint(low, high, careful):
    middle = low / 2 + high / 2 if careful else (low + high) / 2
    return low if middle >= high else middle


@jit_inner
def _write_cuts(lower, upper, bounds, cuts):
    """Cut points between neighbouring values, as `ValueBlocks.cut_points`."""
    careful = False
    for b in bounds:
        careful = careful or abs(lower[b]) > 1e307
    for i in range(bounds.size):
        cuts[i] = _midpoint(upper[bounds[i] - 1], lower[bounds[i]], careful)


@jit
def modl_columns(
    values, by_class, offsets, priors, log_factorials, null_cost, apart, most_work, n_levels, missing, cuts, counts,
    costs, codes,
):  # fmt: skip
    """MODL intervals of every column, and the codes of its rows.

    values : (columns, rows) as they come; by_class : the same with the rows listed class after class, each class
    sorted; missing : (columns,) code of missing values, -1 where there are none; cuts : (columns * rows,) and counts :
    (columns * (rows + 1), classes), written one column after another; returns how much of them is.
    """
    n_columns, n_rows = values.shape
    n_classes = offsets.size - 1
    no_weights = np.zeros(0)
    known = np.empty(n_rows)
    starts = np.zeros(n_classes + 1, dtype=np.int64)
    lost = np.zeros(n_classes, dtype=np.int64)
    cumulated = np.empty((n_rows + 3, n_classes), dtype=np.int32)
    lower, upper = np.empty(n_rows + 2), np.empty(n_rows + 2)
    scratch = np.empty(n_classes)
    n_cuts, n_counts = 0, 0
    for c in range(n_columns):
        n_missing = 0
        for j in range(n_classes):
            at = starts[j]
            for i in range(offsets[j], offsets[j + 1]):
                if by_class[c, i] == by_class[c, i]:
                    known[at] = by_class[c, i]
                    at += 1
            lost[j] = offsets[j + 1] - offsets[j] - (at - starts[j])
            starts[j + 1] = at
            n_missing += lost[j]
        cumulated[0] = 0
        first = 0
        if n_missing > 0:
            first = 1
            for j in range(n_classes):
                cumulated[1, j] = lost[j]
            lower[0] = upper[0] = -np.inf
        n_blocks = merge_classes(known, starts, no_weights, cumulated, lower, upper, first, apart)
        if n_blocks * n_blocks * n_classes > most_work:
            n_levels[c] = 0
            continue
        if apart and n_missing > 0 and n_blocks > 1:
            shifted = np.empty(n_blocks + 1)
            shifted[0] = priors[0]
            for i in range(1, n_blocks + 1):
                shifted[i] = priors[i + 1]
            inner = _exact_bounds(cumulated[1 : n_blocks + 1], shifted, log_factorials, scratch)
            bounds = np.empty(inner.size + 1, dtype=np.int64)
            bounds[0] = 0
            for i in range(inner.size):
                bounds[i + 1] = inner[i] + 1
        else:
            bounds = _exact_bounds(cumulated[: n_blocks + 1], priors[: n_blocks + 2], log_factorials, scratch)
        levels = bounds.size - 1
        if levels > _MOST_LEVELS:
            n_levels[c] = 0
            continue
        part = counts[n_counts : n_counts + max(1, levels)]
        for i in range(levels):
            for j in range(n_classes):
                part[i, j] = cumulated[bounds[i + 1], j] - cumulated[bounds[i], j]
        cost = _levels_cost(part, priors[levels], log_factorials, scratch) if levels > 1 else null_cost
        if levels <= 1 or not cost < null_cost - _TOLERANCE:
            levels, cost = 1, null_cost
            for j in range(n_classes):
                counts[n_counts, j] = offsets[j + 1] - offsets[j]
        _write_cuts(lower, upper, bounds[1:levels], cuts[n_cuts : n_cuts + levels - 1])
        missing[c] = 0 if n_missing > 0 else -1
        code_row(values[c], cuts[n_cuts : n_cuts + levels - 1], max(0, missing[c]), codes[c])
        n_levels[c], costs[c] = levels, cost
        n_cuts += levels - 1
        n_counts += levels
    return n_cuts, n_counts


@jit
def frequency_columns(
    values, ascending, class_codes, n_classes, n_bins, priors, log_factorials, n_levels, missing, cuts, counts, costs,
    codes,
):  # fmt: skip
    """Bins of equal frequency of every column, and the codes of its rows; ``ascending`` holds each column sorted."""
    n_columns, n_rows = values.shape
    distinct = np.empty(n_rows)
    cumulated = np.empty(n_rows)
    scratch = np.empty(n_classes)
    n_cuts, n_counts = 0, 0
    for c in range(n_columns):
        n, rows = 0, 0
        while rows < n_rows and ascending[c, rows] == ascending[c, rows]:
            if n == 0 or ascending[c, rows] != distinct[n - 1]:
                distinct[n] = ascending[c, rows]
                n += 1
            rows += 1
            cumulated[n - 1] = rows
        here = n_cuts
        if rows < n_rows and n > 0:
            cuts[n_cuts] = -np.inf
            n_cuts += 1
        if n > 1:
            careful = abs(distinct[0]) > 1e307 or abs(distinct[n - 1]) > 1e307
            last, after = -1, 0
            for i in range(1, n_bins):
                target = cumulated[n - 1] * i / n_bins
                while after < n - 2 and cumulated[after] < target:
                    after += 1
                before = max(after - 1, 0)
                nearest = before if target - cumulated[before] <= cumulated[after] - target else after
                if nearest > last:
                    cuts[n_cuts] = _midpoint(distinct[nearest], distinct[nearest + 1], careful)
                    n_cuts += 1
                    last = nearest
        levels = n_cuts - here + 1
        missing[c] = 0 if rows < n_rows else -1
        code_row(values[c], cuts[here:n_cuts], max(0, missing[c]), codes[c])
        part = counts[n_counts : n_counts + levels]
        part[:] = 0.0
        for i in range(n_rows):
            part[codes[c, i], class_codes[i]] += 1.0
        costs[c] = _levels_cost(part, priors[levels], log_factorials, scratch)
        n_levels[c] = levels
        n_counts += levels
    return n_cuts, n_counts


@jit
def code_columns(values, cuts, starts, missing, codes):
    """codes[c, i] = number of cut points of column c below values[c, i]; ``missing[c]`` for NaN."""
    for c in range(values.shape[0]):
        code_row(values[c], cuts[starts[c] : starts[c + 1]], missing[c], codes[c])
