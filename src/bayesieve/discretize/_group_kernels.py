"""Compiled loops of the MODL value grouping.

``counts`` has a row per value, or per values that stay together: rows of each class, then the number of values that the
prior counts (0 with the published prior, for which two classes are an interval problem). ``prior[g]`` is the cost of
announcing g groups.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner
from bayesieve.discretize._interval_kernels import EPSILON, log_factorial


@jit_inner
def _part(a, b, sign, log_factorials):
    """Cost of the labels of the group with counts a + sign * b, less log v! of its v values; nothing if it is empty."""
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
def merge_pairs(counts, log_factorials):
    """Merge the cheapest pair of groups down to one: the group of every value after each merge, (n, n), from one value
    a group to a single group, and the costs of the groups, (n,).
    """
    n, width = counts.shape
    table = counts.copy()
    alive = np.ones(n, dtype=np.bool_)
    costs = np.empty(n)
    total = 0.0
    for v in range(n):
        costs[v] = _part(table[v], table[v], 0, log_factorials)
        total += costs[v]
    changes = np.empty((n, n))  # by merging groups of smaller and larger index
    nearest = np.full(n, -1)
    delta = np.full(n, np.inf)  # cheapest merge with a group of larger index
    for v in range(n):
        for w in range(v + 1, n):
            changes[v, w] = _part(table[v], table[w], 1, log_factorials) - costs[v] - costs[w]
            if changes[v, w] < delta[v]:
                delta[v] = changes[v, w]
                nearest[v] = w
    groups, totals = np.empty((n, n), dtype=np.int64), np.empty(n)
    for v in range(n):
        groups[0, v] = v
    totals[0] = total
    for step in range(1, n):
        v = np.argmin(delta)
        w = nearest[v]
        for u in range(n):
            groups[step, u] = groups[step - 1, u] if groups[step - 1, u] != w else v
        total += delta[v]
        totals[step] = total
        costs[v] += costs[w] + delta[v]
        for j in range(width):
            table[v, j] += table[w, j]
        alive[w] = False
        delta[w] = np.inf
        for u in range(n):
            if alive[u] and u != v:
                change = _part(table[u], table[v], 1, log_factorials) - costs[u] - costs[v]
                changes[min(u, v), max(u, v)] = change
        for u in range(n):
            if not alive[u]:
                continue
            if u == v or nearest[u] == v or nearest[u] == w:
                delta[u] = np.inf
                nearest[u] = -1
                for x in range(u + 1, n):
                    if alive[x] and changes[u, x] < delta[u]:
                        delta[u] = changes[u, x]
                        nearest[u] = x
            elif u < v and changes[u, v] < delta[u]:
                delta[u] = changes[u, v]
                nearest[u] = v
    return groups, totals


@jit_inner
def _cheapest_merge(table, units, costs, n, saved, log_factorials):
    """The merge of two of the first ``n`` groups that lowers the cost most, where one group less saves ``-saved``: its
    change of the cost and both groups, -1 if none lowers it.
    """
    best, into, out = -EPSILON, -1, -1
    for g in range(n):
        if units[g] == 0:
            continue
        for h in range(g + 1, n):
            if units[h] == 0:
                continue
            change = _part(table[g], table[h], 1, log_factorials) - costs[g] - costs[h]
            change += saved
            if change < best:
                best, into, out = change, g, h
    return best, into, out


@jit
def move_values(counts, group, prior, log_factorials):
    """Move single values between groups (or into an empty one), and merge groups, best change first, until nothing
    falls.
    """
    n, width = counts.shape
    table = np.zeros_like(counts)
    size = np.zeros(n, dtype=np.int64)
    costs = np.zeros(n)
    n_groups = 0
    for v in range(n):
        if size[group[v]] == 0:
            n_groups += 1
        size[group[v]] += 1
        for j in range(width):
            table[group[v], j] += counts[v, j]
    for g in range(n):
        costs[g] = _part(table[g], table[g], 0, log_factorials)
    while True:
        saved = prior[n_groups - 1] - prior[n_groups]
        best, best_to, best_from = _cheapest_merge(table, size, costs, n, saved, log_factorials)
        best_value = -1
        for v in range(n):
            g = group[v]
            left = _part(table[g], counts[v], -1, log_factorials) - costs[g]
            tried_empty = size[g] == 1
            for h in range(n):
                if h == g or (size[h] == 0 and tried_empty):
                    continue
                parts = n_groups
                if size[h] == 0:
                    tried_empty = True
                    parts += 1
                if size[g] == 1:
                    parts -= 1
                change = (
                    left + _part(table[h], counts[v], 1, log_factorials) - costs[h] + prior[parts] - prior[n_groups]
                )
                if change < best:
                    best, best_value, best_from, best_to = change, v, g, h
        if best_from < 0:
            return group
        for v in range(n):
            if (best_value < 0 and group[v] == best_from) or v == best_value:
                group[v] = best_to
                size[best_from] -= 1
                if size[best_to] == 0:
                    n_groups += 1
                size[best_to] += 1
                for j in range(width):
                    table[best_from, j] -= counts[v, j]
                    table[best_to, j] += counts[v, j]
        if size[best_from] == 0:
            n_groups -= 1
        costs[best_from] = _part(table[best_from], table[best_from], 0, log_factorials)
        costs[best_to] = _part(table[best_to], table[best_to], 0, log_factorials)


@jit
def costs_of_groups(counts, groups, prior, log_factorials):
    """Cost of each of several groupings, (n_groupings, n_values) group numbers below the number of values."""
    n, width = counts.shape
    result = np.empty(len(groups))
    for i in range(len(groups)):
        table, empty = np.zeros_like(counts), np.ones(n, dtype=np.bool_)
        for v in range(n):
            empty[groups[i, v]] = False
            for j in range(width):
                table[groups[i, v], j] += counts[v, j]
        n_groups, cost = 0, 0.0
        for g in range(n):
            if not empty[g]:
                n_groups += 1
                cost += _part(table[g], table[g], 0, log_factorials)
        result[i] = cost + prior[n_groups]
    return result


@jit_inner
def _merge_groups(group, table, units, costs, n_groups, prior, log_factorials):
    """Merge the cheapest two groups until nothing falls, the last group taking the number of the one that ends; returns
    the number of groups left.
    """
    while True:
        saved = prior[n_groups - 1] - prior[n_groups]
        _, into, out = _cheapest_merge(table, units, costs, n_groups, saved, log_factorials)
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
        costs[into] = _part(table[into], table[into], 0, log_factorials)
        costs[out] = costs[n_groups] if out < n_groups else 0.0
        costs[n_groups] = 0.0


@jit
def settle_values(counts, group, prior, log_factorials):
    """Move values, each to its best group or a new one, and merge groups, until nothing falls.

    Unlike `move_values` it takes the first change that pays, value after value: for many values. Groups are numbered
    again, in the order of their numbers.
    """
    n, width = counts.shape
    number = np.full(n, -1)
    for v in range(n):
        number[group[v]] = 0
    n_groups = 0
    for g in range(n):
        if number[g] == 0:
            number[g] = n_groups
            n_groups += 1
    most = min(n, prior.size - 1)
    table = np.zeros((most + 1, width), dtype=counts.dtype)
    costs, units = np.zeros(most + 1), np.zeros(most + 1, dtype=np.int64)
    for v in range(n):
        group[v] = number[group[v]]
        units[group[v]] += 1
        for j in range(width):
            table[group[v], j] += counts[v, j]
    for g in range(n_groups):
        costs[g] = _part(table[g], table[g], 0, log_factorials)
    moved = True
    while moved:
        before = n_groups
        n_groups = _merge_groups(group, table, units, costs, n_groups, prior, log_factorials)
        moved = n_groups < before
        for v in range(n):
            g = group[v]
            if units[g] == 1:
                continue
            left = _part(table[g], counts[v], -1, log_factorials) - costs[g]
            best, into = -EPSILON, -1
            for h in range(n_groups + 1 if n_groups < most else n_groups):
                if h != g:
                    change = left + _part(table[h], counts[v], 1, log_factorials) - costs[h]
                    if h == n_groups:
                        change += prior[n_groups + 1] - prior[n_groups]
                    if change < best:
                        best, into = change, h
            if into >= 0:
                moved = True
                n_groups = max(n_groups, into + 1)
                group[v] = into
                units[g] -= 1
                units[into] += 1
                for j in range(width):
                    table[g, j] -= counts[v, j]
                    table[into, j] += counts[v, j]
                costs[g] = _part(table[g], table[g], 0, log_factorials)
                costs[into] = _part(table[into], table[into], 0, log_factorials)
    return group


@jit
def optimal_groups(counts, prior, log_factorials):
    """Exact optimum over all partitions of the values by dynamic programming over subsets: O(3^values x groups)."""
    n, width = counts.shape
    n_subsets = 1 << n
    cost = np.zeros(n_subsets)
    row = np.zeros(width, dtype=counts.dtype)
    for subset in range(1, n_subsets):
        row[:] = 0
        for v in range(n):
            if subset >> v & 1:
                for j in range(width):
                    row[j] += counts[v, j]
        cost[subset] = _part(row, row, 0, log_factorials)
    lowest = np.full((n_subsets, n + 1), np.inf)
    origin = np.zeros((n_subsets, n + 1), dtype=np.int32)
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
    group = np.zeros(n, dtype=np.int64)
    subset = n_subsets - 1
    for g in range(groups, 0, -1):
        part = origin[subset, g]
        for v in range(n):
            if part >> v & 1:
                group[v] = g - 1
        subset ^= part
    return group
