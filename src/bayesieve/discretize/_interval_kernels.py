"""Compiled loops of the exact MODL interval search, by dynamic programming.

Every loop sees a column as *blocks* (runs of neighbouring distinct values) through ``cumulated``, the (blocks + 1,
classes) table of class counts summed from the left, so that the counts of any interval are one subtraction.
``prior[i]`` is the cost in nats of announcing ``i`` intervals; ``log_factorials[n]`` is log n!, or None when the
counts are fractional weights.
"""

from __future__ import annotations

import math

import numpy as np

from bayesieve.compiling import jit, jit_inner

EPSILON = 1e-9  # nats: smaller changes of cost are rounding noise


@jit_inner
def log_factorial(n, table):
    # Fractional counts (non-integer weights) have no table; x! is then Gamma(x + 1). One of both is compiled.
    if table is None:
        return math.lgamma(n + 1.0)
    else:  # noqa: RET505
        return table[np.int64(n)]


@jit_inner
def part_cost(cumulated, start, stop, log_factorials):
    """Cost of the class labels of blocks start..stop-1 taken as one interval, less the constant log (J - 1)!.

    log C(N_i + J - 1, J - 1) + log(N_i! / prod_j N_ij!) = log (N_i + J - 1)! - log (J - 1)! - sum_j log N_ij!.
    """
    n_classes = cumulated.shape[1]
    total = cumulated[stop, 0] - cumulated[start, 0]
    cost = -log_factorial(total, log_factorials)
    for j in range(1, n_classes):
        count = cumulated[stop, j] - cumulated[start, j]
        cost -= log_factorial(count, log_factorials)
        total += count
    return cost + log_factorial(total + (n_classes - 1), log_factorials)


@jit_inner
def _most_parts(cumulated, prior, log_factorials):
    """A number of intervals that no best partition exceeds.

    With a penalty for every interval in place of the prior, the best partition of any number of intervals is found in
    one pass: a lower bound of the cost of every number of intervals. Steps of the prior, which is concave, are tight
    where the prior makes them. The first one also gives a partition that is nearly the best: an upper bound of the
    cost.
    """
    n = cumulated.shape[0] - 1
    most_announced = min(n, prior.size - 1)
    constant = log_factorial(cumulated.shape[1] - 1, log_factorials)
    penalties, n_penalties, last = np.empty(6), 0, 0
    for k in (1, 16, most_announced // 8, most_announced // 2, 3 * most_announced // 4, most_announced - 1):
        if last < k < most_announced:
            penalties[n_penalties] = prior[k + 1] - prior[k]
            n_penalties += 1
            last = k
    least, parts = np.zeros((n + 1, n_penalties)), np.zeros(n + 1, dtype=np.int64)
    for stop in range(1, n + 1):
        own = least[stop]
        for p in range(n_penalties):
            own[p] = np.inf
        for start in range(stop):
            cost = part_cost(cumulated, start, stop, log_factorials) - constant
            before = least[start]
            if before[0] + cost + penalties[0] < own[0]:
                parts[stop] = parts[start] + 1
            for p in range(n_penalties):
                own[p] = min(own[p], before[p] + cost + penalties[p])
    reached = prior[1] + part_cost(cumulated, 0, n, log_factorials) - constant
    if parts[n] <= most_announced:
        reached = min(reached, least[n, 0] + prior[parts[n]] - parts[n] * penalties[0])
    most = most_announced
    while most > 1:
        bound = -np.inf
        for p in range(n_penalties):
            bound = max(bound, prior[most] - most * penalties[p] + least[n, p])
        if bound < reached + 1e-6:
            break
        most -= 1
    return most


@jit_inner
def _optimal_bounds(cumulated, prior, log_factorials, max_parts):
    """Exact optimum over all partitions into at most ``max_parts`` intervals: D_k(b) = min_a D_{k-1}(a) +
    part(a..b).
    """
    n = cumulated.shape[0] - 1
    constant = log_factorial(cumulated.shape[1] - 1, log_factorials)
    lowest, origin = np.empty((n + 1, max_parts + 1)), np.empty((n + 1, max_parts + 1), dtype=np.int32)
    for stop in range(n + 1):
        row = lowest[stop]
        row_origin = origin[stop]
        for k in range(max_parts + 1):
            row[k], row_origin[k] = 0.0 if stop == k == 0 else np.inf, 0
        for start in range(stop):
            cost = part_cost(cumulated, start, stop, log_factorials) - constant
            previous = lowest[start]
            for k in range(max_parts):
                value = previous[k] + cost
                if value < row[k + 1]:
                    row[k + 1] = value
                    row_origin[k + 1] = start
    best = np.inf
    parts = 1
    for k in range(1, max_parts + 1):
        if lowest[n, k] + prior[k] < best - EPSILON:
            best = lowest[n, k] + prior[k]
            parts = k
    bounds = np.empty(parts, dtype=np.int64)
    stop = n
    for k in range(parts, 0, -1):
        stop = bounds[k - 1] = origin[stop, k]
    return bounds


@jit
def exact_intervals(columns, starts, apart, cumulated, prior, log_factorials, most_work):
    """First blocks of the best intervals of some columns: positions in the rows of ``cumulated``.

    columns : numbers of the columns; starts, cumulated : of `ValueBlocks`; apart : (n_columns,) bool, whether block 0
    always is an interval of its own. A column that would take more than ``most_work`` is left out.
    """
    n_classes = cumulated.shape[1]
    shifted = np.empty(prior.size - 1)  # the interval apart always exists: i intervals of the others make i + 1
    for k in range(shifted.size):
        shifted[k] = prior[k + 1 if k > 0 else 0]
    found = np.empty(cumulated.shape[0], dtype=np.int64)
    n_found = 0
    for c in columns:
        start, own_prior = starts[c], prior
        if apart[c] and starts[c + 1] - start > 2:
            start, own_prior = start + 1, shifted
        own = cumulated[start : starts[c + 1]]
        n_blocks = own.shape[0] - 1
        if n_blocks * n_blocks * n_classes > most_work:
            continue
        if start > starts[c]:
            found[n_found] = starts[c]
            n_found += 1
        found[n_found] = start
        n_found += 1
        most = _most_parts(own, own_prior, log_factorials) if n_blocks > 1 and own_prior.size > 2 else 1
        if most > 1:
            bounds = _optimal_bounds(own, own_prior, log_factorials, most)
            for k in range(1, bounds.size):
                found[n_found] = start + bounds[k]
                n_found += 1
    return found[:n_found]
