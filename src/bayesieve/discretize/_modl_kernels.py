"""Compiled searches for the MODL intervals and groups of least cost.

Intervals are found exactly by dynamic programming or, in columns too large for it, by merging neighbours and then
moving their bounds. Groups of values are found exactly, or by merges and moves of values.

In loops over intervals, a column is a sequence of *blocks* (runs of neighbouring distinct values), given by
``cumulated``, shape (n_blocks + 1, n_classes): class counts summed from the left, so that the counts of any interval
are one subtraction. In loops over groups, ``counts`` has one row per value, or per set of values that stay together:
its number of rows in each class, and then its number of values if the prior depends on it (0 with the published prior).
*Parts* are intervals or groups. ``prior[i]`` is the cost in nats of encoding a partition into ``i`` parts, and
``log_factorials[n]`` is log n!, or None for fractional weights.

All arrays are created in the same few ways and filled by loops, and inner kernels get no literals: Numba compiles code
for every way of creating arrays and for every literal, which takes up to a tenth of a second each.
"""

from __future__ import annotations

import math

import numpy as np

from bayesieve.compiling import jit, jit_inner

ZERO = np.int64(0)
WITH, WITHOUT = np.int64(1), np.int64(-1)
EPSILON = 1e-9  # nats: smaller changes of cost are rounding noise


@jit_inner
def log_factorial(n, table):
    # There is no table for fractional weights: x! is then Gamma(x + 1). Numba compiles only the branch for the type of
    # the table.
    if table is None:
        return math.lgamma(n + 1.0)
    else:  # noqa: RET505
        return table[np.int64(n)]


@jit_inner
def part_cost(cumulated, start, stop, log_factorials):
    """Return the cost in nats of the class labels in the interval of blocks ``start`` to ``stop`` - 1, plus log (J -
    1)!.

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
    """Return an upper bound of the number of intervals in the best partition, to limit the dynamic programming.

    With a constant penalty per interval instead of the prior, one pass finds the best partition of any number of
    intervals. That gives a lower bound of the cost for every number of intervals. Penalties equal to the steps of the
    prior, which is concave, give tight bounds. The partition for the first penalty is nearly optimal, so its cost is an
    upper bound of the least cost.
    """
    n = cumulated.shape[0] - 1
    most_intervals = min(n, prior.size - 1)
    constant = log_factorial(cumulated.shape[1] - 1, log_factorials)
    penalties, n_penalties, last = np.empty(6), 0, 0
    for k in (1, 16, most_intervals // 8, most_intervals // 2, 3 * most_intervals // 4, most_intervals - 1):
        if last < k < most_intervals:
            penalties[n_penalties] = prior[k + 1] - prior[k]
            n_penalties += 1
            last = k
    least, parts = np.empty((n + 1, n_penalties)), np.empty(n + 1, np.int64)
    for p in range(n_penalties):
        least[0, p] = 0.0
    parts[0] = 0
    for stop in range(1, n + 1):
        least_here = least[stop]
        for p in range(n_penalties):
            least_here[p] = np.inf
        for start in range(stop):
            cost = part_cost(cumulated, start, stop, log_factorials) - constant
            before = least[start]
            if before[0] + cost + penalties[0] < least_here[0]:
                parts[stop] = parts[start] + 1
            for p in range(n_penalties):
                least_here[p] = min(least_here[p], before[p] + cost + penalties[p])
    reached = prior[1] + part_cost(cumulated, ZERO, n, log_factorials) - constant
    if parts[n] <= most_intervals:
        reached = min(reached, least[n, 0] + prior[parts[n]] - parts[n] * penalties[0])
    most = most_intervals
    while most > 1:
        bound = -np.inf
        for p in range(n_penalties):
            bound = max(bound, prior[most] - most * penalties[p] + least[n, p])
        if bound < reached + 1e-6:
            break
        most -= 1
    return most


@jit
def exact_intervals(columns, starts, apart, cumulated, prior, log_factorials, most_work):
    """Return the first block of each interval in the best partitions of some columns, as positions in the rows of
    ``cumulated``.

    columns : positions of the columns
    starts, cumulated : arrays of `ValueBlocks`
    apart : (n_columns,) whether block 0 (missing values) always forms a separate interval
    prior : (n_parts + 1,) cost in nats of encoding a partition, by its number of parts
    most_work : columns that would take more operations are skipped
    """
    n_classes = cumulated.shape[1]
    constant = log_factorial(n_classes - 1, log_factorials)
    shifted = np.empty(prior.size - 1)  # with the separate interval, i intervals of the other blocks make i + 1
    for k in range(shifted.size):
        shifted[k] = prior[k + 1 if k > 0 else 0]
    bounds = np.empty(cumulated.shape[0], np.int64)
    n_bounds = 0
    for c in columns:
        start, column_prior = starts[c], prior
        if apart[c] and starts[c + 1] - start > 2:
            start, column_prior = start + 1, shifted
        column_counts = cumulated[start : starts[c + 1]]
        n_blocks = column_counts.shape[0] - 1
        if n_blocks * n_blocks * n_classes > most_work:
            continue
        if start > starts[c]:
            bounds[n_bounds] = starts[c]
            n_bounds += 1
        bounds[n_bounds] = start
        n_bounds += 1
        most = _most_parts(column_counts, column_prior, log_factorials) if n_blocks > 1 and column_prior.size > 2 else 1
        if most == 1:
            continue
        # Dynamic programming over the number of parts k and the end b: D_k(b) = min_a D_{k-1}(a) + part(a..b).
        lowest, origin = np.empty((n_blocks + 1, most + 1)), np.empty((n_blocks + 1, most + 1), np.int32)
        for stop in range(n_blocks + 1):
            row, row_origin = lowest[stop], origin[stop]
            for k in range(most + 1):
                row[k], row_origin[k] = 0.0 if stop == k == 0 else np.inf, 0
            for first in range(stop):
                cost = part_cost(column_counts, first, stop, log_factorials) - constant
                previous = lowest[first]
                for k in range(most):
                    value = previous[k] + cost
                    if value < row[k + 1]:
                        row[k + 1] = value
                        row_origin[k + 1] = first
        best, parts = np.inf, 1
        for k in range(1, most + 1):
            if lowest[n_blocks, k] + column_prior[k] < best - EPSILON:
                best, parts = lowest[n_blocks, k] + column_prior[k], k
        stop = n_blocks
        for k in range(parts, 1, -1):
            stop = origin[stop, k]
            bounds[n_bounds + k - 2] = start + stop
        n_bounds += parts - 1
    return bounds[:n_bounds]


@jit
def join_neighbours(cumulated, log_factorials, target):
    """Return the bounds of about ``target`` intervals, by rounds of merging the cheapest neighbours.

    A round merges every pair of neighbours that is cheaper to merge than both overlapping pairs and among the cheaper
    half of all pairs. It takes one pass over memory, whereas a priority queue takes a cache miss per merge. If there
    are far more blocks than ``target``, blocks of a few rows are packed together first. Later moves of bounds use all
    blocks again, so only the starting point is approximate.
    """
    n_blocks, n_classes = cumulated.shape[0] - 1, cumulated.shape[1]
    most_rows = 0.0
    for j in range(n_classes):
        most_rows += cumulated[-1, j]
    most_rows /= 16 * target
    bounds = np.empty(n_blocks + 1, np.int64)
    n, start, rows, bounds[0] = 0, 0, 0.0, 0
    for i in range(n_blocks):  # pack runs of neighbours with at most this number of rows
        size = 0.0
        for j in range(n_classes):
            size += cumulated[i + 1, j] - cumulated[i, j]
        if i > start and rows + size > most_rows:
            n += 1
            bounds[n] = i
            start, rows = i, 0.0
        rows += size
    n += 1
    bounds[n] = n_blocks
    costs = np.empty(n)
    for i in range(n):
        costs[i] = part_cost(cumulated, bounds[i], bounds[i + 1], log_factorials)
    unions, deltas = np.empty(n), np.empty(n + 1)
    sample = np.empty(1024)
    while n > target:
        deltas[0] = deltas[n] = np.inf
        for i in range(n - 1):
            unions[i] = part_cost(cumulated, bounds[i], bounds[i + 2], log_factorials)
            deltas[i + 1] = unions[i] - costs[i] - costs[i + 1]
        stride = max(1, (n - 1) // sample.size)
        taken = min(sample.size, (n - 2) // stride + 1)
        for k in range(taken):
            sample[k] = deltas[k * stride + 1]
        gap = taken // 2
        while gap > 0:  # sorted here: the median of NumPy takes a second to compile
            for k in range(gap, taken):
                value, i = sample[k], k
                while i >= gap and sample[i - gap] > value:
                    sample[i] = sample[i - gap]
                    i -= gap
                sample[i] = value
            gap //= 2
        middle = taken // 2
        threshold = sample[middle] if taken % 2 else 0.5 * (sample[middle - 1] + sample[middle])
        n_left = i = 0
        while i < n:
            delta = deltas[i + 1]  # of the pair (i, i + 1)
            start, cost = bounds[i], costs[i]
            if i + 1 < n and delta <= threshold and delta <= deltas[i] and delta < deltas[i + 2]:
                cost = unions[i]
                i += 1
            bounds[n_left], costs[n_left] = start, cost
            n_left += 1
            i += 1
        bounds[n_left] = bounds[n]
        if n_left == n:
            break
        n = n_left
    return bounds[: n + 1].copy()


@jit_inner
def _slide_bounds(cumulated, bounds, reach, log_factorials):
    """Move every inner bound to its best place within ``reach`` blocks, in rounds, until none moves.

    ``bounds`` (n_intervals + 1,), the ascending first blocks of the intervals and the number of blocks, is overwritten.
    """
    has_moved = True
    while has_moved:
        has_moved = False
        for i in range(1, bounds.size - 1):
            left, right, here = bounds[i - 1], bounds[i + 1], bounds[i]
            best = part_cost(cumulated, left, here, log_factorials) + part_cost(cumulated, here, right, log_factorials)
            for bound in range(max(left + 1, here - reach), min(right, here + reach + 1)):
                cost = part_cost(cumulated, left, bound, log_factorials)
                cost += part_cost(cumulated, bound, right, log_factorials)
                if cost < best - EPSILON:
                    best = cost
                    bounds[i] = bound
                    has_moved = True


@jit_inner
def _best_bound(cumulated, start, stop, log_factorials):
    """Find the best bound that cuts blocks ``start`` to ``stop`` - 1 in two; return the cost of both parts and the
    bound.

    The cost is infinite if there is a single block.
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
def improve_bounds(cumulated, bounds, reach, prior, log_factorials):
    """Improve the bounds of intervals in place until no step lowers the cost, like the post-optimisation of Khiops
    (Boulle 2006).

    Bounds are moved first; then the best split, merge-split or merge-merge-split is applied until none lowers the cost.
    """
    n_blocks = cumulated.shape[0] - 1
    capacity = min(n_blocks, prior.size - 1) + 2
    constant = log_factorial(cumulated.shape[1] - 1, log_factorials)
    bound = np.empty(capacity + 1, np.int64)
    n = bounds.size - 1
    for i in range(n + 1):
        bound[i] = bounds[i]
    _slide_bounds(cumulated, bound[: n + 1], reach, log_factorials)
    # Row k is for steps that replace k intervals (1 = split, 2 = merge-split, 3 = merge-merge-split), by the first of
    # these: the change of the cost (``gain``) and the new bound (``where``).
    gain = np.empty((4, capacity + 1))
    where = np.empty((4, capacity + 1), np.int64)
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
                # At equal cost, the step that leaves fewer intervals is preferred.
                if value < best or (width == 3 and best_width == 0 and value <= EPSILON):
                    best, best_width, best_at = value, width, i
        if best_width == 0:
            return bound[: n + 1].copy()
        i, at = best_at, where[best_width, best_at]
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


@jit_inner
def _part(a, b, sign, log_factorials):
    """Return the cost in nats of the labels in one group, less log v! for its v values; 0 if it is empty.

    Its counts are a + sign * b, for two rows ``a`` and ``b`` of ``counts`` (see the module).
    """
    n_classes = a.size - 1
    total = a[0] + sign * b[0]
    cost = -log_factorial(total, log_factorials)
    for j in range(1, n_classes):
        count = a[j] + sign * b[j]
        cost -= log_factorial(count, log_factorials)
        total += count
    if total <= 0:
        return 0.0
    constant = log_factorial(n_classes - 1, log_factorials)
    cost -= log_factorial(a[n_classes] + sign * b[n_classes], log_factorials)
    return cost + log_factorial(total + (n_classes - 1), log_factorials) - constant


@jit
def merge_pairs(table, sizes, log_factorials):
    """Merge the cheapest pair of groups repeatedly, from one value per group down to a single group.

    Returns the group of every value after each merge, (n, n), and the total cost of the groups after each merge, (n,).
    A group has the number of its first value.

    table : counts of the values, overwritten
    sizes : numbers of values, which enter the costs but not the choice of pairs; overwritten
    """
    n, width = table.shape
    costs, totals = np.empty(n), np.empty(n)
    total = 0.0
    for v in range(n):
        costs[v] = _part(table[v], table[v], ZERO, log_factorials)
        total += costs[v] - log_factorial(sizes[v], log_factorials)
    changes = np.empty((n, n))  # by merging groups of smaller and larger index
    groups, nearest = np.empty((n, n), np.int64), np.empty(n, np.int64)
    delta = np.empty(n)  # cheapest merge with a group of larger index
    for v in range(n):
        groups[0, v], nearest[v], delta[v] = v, -1, np.inf
        for w in range(v + 1, n):
            changes[v, w] = _part(table[v], table[w], WITH, log_factorials) - costs[v] - costs[w]
            if changes[v, w] < delta[v]:
                delta[v] = changes[v, w]
                nearest[v] = w
    totals[0] = total
    for step in range(1, n):
        v = 0
        for u in range(1, n):
            if delta[u] < delta[v]:
                v = u
        w = nearest[v]
        group = groups[step]
        for u in range(n):
            group[u] = groups[step - 1, u] if groups[step - 1, u] != w else v
        total += delta[v] + log_factorial(sizes[v], log_factorials) + log_factorial(sizes[w], log_factorials)
        sizes[v] += sizes[w]
        total -= log_factorial(sizes[v], log_factorials)
        totals[step] = total
        costs[v] += costs[w] + delta[v]
        for j in range(width):
            table[v, j] += table[w, j]
        delta[w] = np.inf
        for u in range(n):
            if u == v or group[u] != u:
                continue  # the group itself, or one that was merged into another
            change = _part(table[u], table[v], WITH, log_factorials) - costs[u] - costs[v]
            if u < v:
                changes[u, v] = change
            else:
                changes[v, u] = change
        for u in range(n):
            if group[u] != u:
                continue
            if u == v or nearest[u] == v or nearest[u] == w:
                delta[u] = np.inf
                nearest[u] = -1
                for x in range(u + 1, n):
                    if group[x] == x and changes[u, x] < delta[u]:
                        delta[u] = changes[u, x]
                        nearest[u] = x
            elif u < v and changes[u, v] < delta[u]:
                delta[u] = changes[u, v]
                nearest[u] = v
    return groups, totals


@jit_inner
def _cheapest_merge(table, units, costs, n, saved, log_factorials):
    """Return the two of the first ``n`` groups whose merge lowers the cost most, or -1 and -1 if no merge lowers it.

    table : (n_groups, n_counts) counts of the groups
    units, costs : (n_groups,) number of values and cost in nats of each group; groups without values are skipped
    saved : decrease of the prior in nats if there is one group less
    """
    best, into, out = -EPSILON, -1, -1
    for g in range(n):
        if units[g] == 0:
            continue
        for h in range(g + 1, n):
            if units[h] == 0:
                continue
            change = _part(table[g], table[h], WITH, log_factorials) - costs[g] - costs[h]
            change += saved
            if change < best:
                best, into, out = change, g, h
    return into, out


@jit_inner
def _merge_groups(group, table, units, costs, n_groups, prior, log_factorials):
    """Merge the cheapest two groups until no merge lowers the cost; return the number of groups left. The last group
    takes the number of the group that is merged into another one.

    group : (n_values,) group of each value, overwritten
    table, units, costs : as in `_cheapest_merge`, overwritten
    prior : (n_parts + 1,) cost in nats of encoding a partition, by its number of groups
    """
    while True:
        saved = prior[n_groups - 1] - prior[n_groups]
        into, out = _cheapest_merge(table, units, costs, n_groups, saved, log_factorials)
        if into < 0:
            return n_groups
        n_groups -= 1
        units[into] += units[out]
        units[out] = units[n_groups]
        units[n_groups] = 0
        for j in range(table.shape[1]):
            table[into, j] += table[out, j]
            table[out, j] = table[n_groups, j]
            table[n_groups, j] = 0
        for v in range(group.size):
            if group[v] == out:
                group[v] = into
            elif group[v] == n_groups:
                group[v] = out
        costs[into] = _part(table[into], table[into], ZERO, log_factorials)
        costs[out] = costs[n_groups] if out < n_groups else 0.0
        costs[n_groups] = 0.0


@jit
def settle_values(counts, group, prior, log_factorials):
    """Move values to their best group or to a new one, and merge groups, until neither lowers the cost; return the
    cost.

    For one value after the other, the first change that lowers the cost is made. ``group``, the number of the group of
    each value (from 0), is overwritten; groups that become empty are dropped from the numbering.
    """
    n, width = counts.shape
    most = min(n, prior.size - 1)
    table = np.empty((most + 1, width), counts.dtype)  # one more than the largest number of groups
    table[:] = 0
    number = np.empty(n, np.int64)
    number[:] = -1
    for v in range(n):
        number[group[v]] = 0
    n_groups = np.int64(0)
    for g in range(n):
        if number[g] == 0:
            number[g] = n_groups
            n_groups += 1
    costs, units = np.empty(most + 1), np.empty(most + 1, np.int64)
    costs[:] = 0.0
    units[:] = 0
    for v in range(n):
        group[v] = number[group[v]]
        units[group[v]] += 1
        for j in range(width):
            table[group[v], j] += counts[v, j]
    for g in range(n_groups):
        costs[g] = _part(table[g], table[g], ZERO, log_factorials)
    has_changed = True
    while has_changed:
        before = n_groups
        n_groups = _merge_groups(group, table, units, costs, n_groups, prior, log_factorials)
        has_changed = n_groups < before
        for v in range(n):
            g = group[v]
            if units[g] == 1:
                continue
            left = _part(table[g], counts[v], WITHOUT, log_factorials) - costs[g]
            best, into = -EPSILON, -1
            for h in range(n_groups + 1 if n_groups < most else n_groups):
                if h != g:
                    change = left + _part(table[h], counts[v], WITH, log_factorials) - costs[h]
                    if h == n_groups:
                        change += prior[n_groups + 1] - prior[n_groups]
                    if change < best:
                        best, into = change, h
            if into >= 0:
                has_changed = True
                n_groups = max(n_groups, into + 1)
                group[v] = into
                units[g] -= 1
                units[into] += 1
                for j in range(width):
                    table[g, j] -= counts[v, j]
                    table[into, j] += counts[v, j]
                costs[g] = _part(table[g], table[g], ZERO, log_factorials)
                costs[into] = _part(table[into], table[into], ZERO, log_factorials)
    cost = 0.0
    for g in range(n_groups):
        cost += costs[g]
    return cost + prior[n_groups]


@jit
def optimal_groups(counts, table, prior, log_factorials):
    """Return the group of each value in the best partition, by dynamic programming over subsets in O(3^n_values x
    n_groups).

    table : array of zeros, (2^n_values, n_counts), filled with the counts of every subset
    """
    n, width = counts.shape
    n_subsets = 1 << n
    for v in range(n):
        for subset in range(1 << v, 2 << v):
            for j in range(width):
                table[subset, j] = table[subset - (1 << v), j] + counts[v, j]
    cost = np.empty(n_subsets)
    for subset in range(n_subsets):
        cost[subset] = _part(table[subset], table[subset], ZERO, log_factorials)
    lowest, origin = np.empty((n_subsets, n + 1)), np.empty((n_subsets, n + 1), np.int32)
    lowest[:] = np.inf
    lowest[0, 0] = 0.0
    for subset in range(1, n_subsets):
        low = subset & -subset
        rest = subset ^ low
        extra = rest
        while True:  # the group of the lowest value of the subset is low + extra
            part = low | extra
            before = lowest[subset ^ part]
            for g in range(n):
                value = before[g] + cost[part]
                if value < lowest[subset, g + 1]:
                    lowest[subset, g + 1] = value
                    origin[subset, g + 1] = part
            if extra == 0:
                break
            extra = (extra - 1) & rest
    best, groups = np.inf, 1
    for g in range(1, n + 1):
        if lowest[n_subsets - 1, g] + prior[g] < best - EPSILON:
            best = lowest[n_subsets - 1, g] + prior[g]
            groups = g
    group = np.empty(n, np.int64)
    subset = n_subsets - 1
    for g in range(groups, 0, -1):
        part = origin[subset, g]
        for v in range(n):
            if part >> v & 1:
                group[v] = g - 1
        subset ^= part
    return group
