"""Compiled loops of the MODL interval search: joining blocks, greedy merges, boundary moves, exact dynamic programming.

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
def _pack(cumulated, bounds, most_rows):
    """Join neighbouring blocks as long as they hold ``most_rows`` rows together; larger ones stay alone."""
    n_classes = cumulated.shape[1]
    packed = np.empty_like(bounds)
    packed[0] = bounds[0]
    n, start, rows = 0, 0, 0.0
    for i in range(bounds.size - 1):
        size = 0.0
        for j in range(n_classes):
            size += cumulated[bounds[i + 1], j] - cumulated[bounds[i], j]
        if i > start and rows + size > most_rows:
            n += 1
            packed[n] = bounds[i]
            start, rows = i, 0.0
        rows += size
    packed[n + 1] = bounds[bounds.size - 1]
    return packed[: n + 2].copy()


@jit
def join_local_minima(cumulated, bounds, log_factorials, target):
    """Thin ``bounds`` to about ``target`` blocks by rounds of merges of the cheapest neighbours.

    A round merges every pair that is cheaper than both overlapping pairs and among the cheaper half of all pairs. It
    costs one pass, where a priority queue would cost a cache miss per merge. Blocks of a few rows, far more of them
    than are wanted in the end, are packed together before: the moves that follow the search start again from all
    blocks, so only its starting point is approximate.
    """
    rows = 0.0
    for j in range(cumulated.shape[1]):
        rows += cumulated[bounds[bounds.size - 1], j]
    bounds = _pack(cumulated, bounds, rows / (16 * target))
    n = bounds.size - 1
    costs = np.empty(n)
    for i in range(n):
        costs[i] = part_cost(cumulated, bounds[i], bounds[i + 1], log_factorials)
    unions = np.empty(n)
    deltas = np.empty(n + 1)
    sample = np.empty(1024)
    while n > target:
        deltas[0] = np.inf
        deltas[n] = np.inf
        for i in range(n - 1):
            unions[i] = part_cost(cumulated, bounds[i], bounds[i + 2], log_factorials)
            deltas[i + 1] = unions[i] - costs[i] - costs[i + 1]
        stride = max(1, (n - 1) // sample.size)
        taken = 0
        for i in range(0, n - 1, stride):
            if taken < sample.size:
                sample[taken] = deltas[i + 1]
                taken += 1
        threshold = np.median(sample[:taken])
        kept = 0
        i = 0
        while i < n:
            delta = deltas[i + 1]  # of the pair (i, i + 1)
            start, cost = bounds[i], costs[i]
            if i + 1 < n and delta <= threshold and delta <= deltas[i] and delta < deltas[i + 2]:
                cost = unions[i]
                i += 1
            bounds[kept], costs[kept] = start, cost
            kept += 1
            i += 1
        bounds[kept] = bounds[n]
        if kept == n:
            break
        n = kept
    return bounds[: n + 1].copy()


@jit_inner
def _sift_up(heap, position, key, at):
    item = heap[at]
    value = key[item]
    while at > 0:
        parent = (at - 1) >> 1
        other = heap[parent]
        if key[other] < value or (key[other] == value and other < item):
            break
        heap[at] = other
        position[other] = at
        at = parent
    heap[at] = item
    position[item] = at


@jit_inner
def _sift_down(heap, position, key, at, size):
    item = heap[at]
    value = key[item]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        other = heap[child]
        if child + 1 < size:
            right = heap[child + 1]
            if key[right] < key[other] or (key[right] == key[other] and right < other):
                child += 1
                other = right
        if value < key[other] or (value == key[other] and item < other):
            break
        heap[at] = other
        position[other] = at
        at = child
    heap[at] = item
    position[item] = at


@jit
def greedy_merge(cumulated, bounds, prior, log_factorials):
    """Merge the cheapest neighbours down to one interval.

    Returns the step at which each bound vanished (beyond the last step for both ends) and the step after which the
    cost was lowest, with the fewest intervals on ties: ``bounds[vanished > step]`` are the bounds left after a step.
    """
    n = bounds.size - 1
    constant = log_factorial(cumulated.shape[1] - 1, log_factorials)
    costs = np.empty(n)
    total = 0.0
    for i in range(n):
        costs[i] = part_cost(cumulated, bounds[i], bounds[i + 1], log_factorials)
        total += costs[i]
    # Pair i joins the interval starting at bound i with the next living one; bound `after[i]` disappears with it.
    before, after = np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    heap, position = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    vanished, key = np.empty(n + 1, dtype=np.int64), np.empty(n)
    for i in range(n + 1):
        before[i], after[i], vanished[i] = i - 1, i + 1, n + 1
    for i in range(n):
        heap[i] = position[i] = i
    for i in range(n - 1):
        key[i] = part_cost(cumulated, bounds[i], bounds[i + 2], log_factorials) - costs[i] - costs[i + 1]
    size = n - 1
    for at in range((size >> 1) - 1, -1, -1):
        _sift_down(heap, position, key, at, size)
    best = total - n * constant + prior[n] if n < prior.size else np.inf
    best_step = 0
    for step in range(1, n):
        i = heap[0]
        j = after[i]
        total += key[i]
        costs[i] += costs[j] + key[i]
        vanished[j] = step
        # Interval j vanishes: its own pair (if any) leaves the queue, pair i and the pair before it change.
        last = j
        following = after[j]
        after[i] = following
        before[following] = i
        if following >= n:
            last = i
        at = position[last]
        size -= 1
        moved = heap[size]
        if at < size:
            heap[at] = moved
            position[moved] = at
            _sift_up(heap, position, key, at)
            _sift_down(heap, position, key, position[moved], size)
        if following < n:
            key[i] = (
                part_cost(cumulated, bounds[i], bounds[after[following]], log_factorials) - costs[i] - costs[following]
            )
            _sift_up(heap, position, key, position[i])
            _sift_down(heap, position, key, position[i], size)
        p = before[i]
        if p >= 0:
            key[p] = part_cost(cumulated, bounds[p], bounds[following], log_factorials) - costs[p] - costs[i]
            _sift_up(heap, position, key, position[p])
            _sift_down(heap, position, key, position[p], size)
        parts = n - step
        if parts < prior.size:
            cost = total - parts * constant + prior[parts]
            if cost <= best + EPSILON:
                best = cost
                best_step = step
    return vanished, best_step


@jit_inner
def _best_bound(cumulated, start, stop, log_factorials):
    """Cheapest way to cut blocks start..stop-1 in two: (cost of both parts, bound); infinite when there is one block
    only.
    """
    best = np.inf
    where = start
    for bound in range(start + 1, stop):
        cost = part_cost(cumulated, start, bound, log_factorials) + part_cost(cumulated, bound, stop, log_factorials)
        if cost < best:
            best = cost
            where = bound
    return best, where


@jit
def slide_bounds(cumulated, bounds, reach, log_factorials):
    """Move every inner bound to its best place within ``reach`` blocks, in rounds, until none moves any more."""
    bounds = bounds.copy()
    moved = True
    while moved:
        moved = False
        for i in range(1, bounds.size - 1):
            left, right, here = bounds[i - 1], bounds[i + 1], bounds[i]
            best = part_cost(cumulated, left, here, log_factorials) + part_cost(cumulated, here, right, log_factorials)
            for bound in range(max(left + 1, here - reach), min(right, here + reach + 1)):
                cost = part_cost(cumulated, left, bound, log_factorials)
                cost += part_cost(cumulated, bound, right, log_factorials)
                if cost < best - EPSILON:
                    best = cost
                    bounds[i] = bound
                    moved = True
    return bounds


@jit
def improve_bounds(cumulated, bounds, prior, log_factorials):
    """Apply the best split, merge-split or merge-merge-split until none lowers the cost (Boulle 2006; Khiops'
    post-optimisation).
    """
    n_blocks = cumulated.shape[0] - 1
    capacity = min(n_blocks, prior.size - 1) + 2
    constant = log_factorial(cumulated.shape[1] - 1, log_factorials)
    bound = np.empty(capacity + 1, dtype=np.int64)
    n = bounds.size - 1
    for i in range(n + 1):
        bound[i] = bounds[i]
    # Per number of intervals replaced (1 = split, 2 = merge-split, 3 = merge-merge-split): best new cost and bound of
    # each start.
    gain = np.empty((4, capacity + 1))
    where = np.empty((4, capacity + 1), dtype=np.int64)
    cost = np.empty(capacity + 1)
    stale_from, stale_to = 0, n
    for i in range(n):
        cost[i] = part_cost(cumulated, bound[i], bound[i + 1], log_factorials)
    while True:
        for width in range(1, 4):
            for i in range(max(0, stale_from - width + 1), min(stale_to, n - width + 1)):
                new, at = _best_bound(cumulated, bound[i], bound[i + width], log_factorials)
                old = 0.0
                for k in range(i, i + width):
                    old += cost[k]
                gain[width, i] = new - old + (width - 2) * constant
                where[width, i] = at
        best, best_width, best_at = -EPSILON, 0, 0
        for width in (3, 2, 1):
            parts = n + 2 - width
            if parts >= prior.size or parts > n_blocks:
                continue
            change = prior[parts] - prior[n]
            for i in range(n - width + 1):
                value = gain[width, i] + change
                # Fewer intervals at the same cost are preferred, as the criterion's own ties are.
                if value < best or (width == 3 and best_width == 0 and value <= EPSILON):
                    best, best_width, best_at = value, width, i
        if best_width == 0:
            return bound[: n + 1].copy()
        i = best_at
        at = where[best_width, i]
        if best_width == 3:
            n -= 1
            for k in range(i + 2, n + 1):
                bound[k] = bound[k + 1]
            for k in range(i + 2, n):
                cost[k] = cost[k + 1]
                for width in range(1, 4):
                    gain[width, k] = gain[width, k + 1]
                    where[width, k] = where[width, k + 1]
        elif best_width == 1:
            for k in range(n, i, -1):
                bound[k + 1] = bound[k]
            n += 1
            for k in range(n - 1, i + 1, -1):
                cost[k] = cost[k - 1]
                for width in range(1, 4):
                    gain[width, k] = gain[width, k - 1]
                    where[width, k] = where[width, k - 1]
        bound[i + 1] = at
        cost[i] = part_cost(cumulated, bound[i], bound[i + 1], log_factorials)
        cost[i + 1] = part_cost(cumulated, bound[i + 1], bound[i + 2], log_factorials)
        stale_from, stale_to = i, i + 2


@jit
def lowest_parts_cost(cumulated, log_factorials):
    """Lowest sum of part costs over all partitions into intervals, whatever their number (constant included)."""
    n = cumulated.shape[0] - 1
    constant = log_factorial(cumulated.shape[1] - 1, log_factorials)
    best = np.empty(n + 1)
    best[0] = 0.0
    for stop in range(1, n + 1):
        lowest = np.inf
        for start in range(stop):
            cost = best[start] + part_cost(cumulated, start, stop, log_factorials)
            if cost < lowest:
                lowest = cost
        best[stop] = lowest - constant
    return best[n]


@jit
def optimal_bounds(cumulated, prior, log_factorials, max_parts):
    """Exact optimum over all partitions into at most ``max_parts`` intervals: D_k(b) = min_a D_{k-1}(a) +
    part(a..b).
    """
    n = cumulated.shape[0] - 1
    constant = log_factorial(cumulated.shape[1] - 1, log_factorials)
    lowest, origin = np.empty((n + 1, max_parts + 1)), np.empty((n + 1, max_parts + 1), dtype=np.int32)
    lowest[:] = np.inf
    origin[:] = 0
    lowest[0, 0] = 0.0
    for stop in range(1, n + 1):
        row = lowest[stop]
        row_origin = origin[stop]
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
    bounds = np.empty(parts + 1, dtype=np.int64)
    stop = n
    for k in range(parts, -1, -1):
        bounds[k] = stop
        stop = origin[stop, k]
    return bounds
