"""Compiled loops that turn numeric columns into blocks of neighbouring distinct values with their class counts, and
that find the cuts of Fayyad & Irani.

Equal values are never separated. Neighbouring values whose rows all have the same class are never separated in an
optimal partition, so they share a block from the start. Entropies are compared as sums of n log n, rounded to integer
multiples of a very small unit: such sums do not depend on the order of addition, so equal splits compare equal, and
they can be updated from one bound to the next.
"""

from __future__ import annotations

import math

import numpy as np

from bayesieve.compiling import jit, jit_inner

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads neighbouring bit patterns over the table


@jit
def merge_classes(values, weights, offsets, missing, joined, apart, starts, n_values, cumulated, lower, upper):
    """Merge the sorted values of each class into blocks, column by column. Writes the arrays of `ValueBlocks`, and
    returns their number of rows.

    values : (columns, rows); ``values[c, offsets[j]:offsets[j+1]]`` holds class j of column c in ascending order, NaN
        last
    weights : array of the shape of ``values``, or of shape (columns, 0) if all rows have weight 1
    missing : (columns, classes) counts of missing values; if there are any, they form the first block
    joined : number of distinct values from which on neighbouring values of one class share a block
    apart : whether missing values never share a block
    """
    n_classes = offsets.size - 1
    row = c = 0
    joining = joined <= 1
    while c < values.shape[0]:
        column = values[c]
        starts[c], n_distinct = row, 0
        heads = np.empty(n_classes, np.int64)
        previous = -1  # class of the last block if it is pure, -2 if it is not, -1 without one
        for j in range(n_classes):
            heads[j], cumulated[row, j] = offsets[j], 0
            if missing[c, j] > 0:
                previous = j if previous == -1 else -2
        if previous != -1:
            lower[row] = upper[row] = -np.inf
            n_distinct, row = 1, row + 1
            for j in range(n_classes):
                cumulated[row, j] = missing[c, j]
        previous = -1 if apart else previous
        while True:
            value, pure = np.inf, -1
            for j in range(n_classes):
                if heads[j] < offsets[j + 1]:
                    lowest = column[heads[j]]
                    if lowest < value:
                        value, pure = lowest, j
                    elif lowest == value:
                        pure = -2
            if pure == -1:
                break
            n_distinct += 1
            if n_distinct >= joined and not joining:
                break
            if not joining or pure < 0 or pure != previous:
                lower[row] = value
                row += 1
                for j in range(n_classes):
                    cumulated[row, j] = cumulated[row - 1, j]
            previous = pure
            upper[row - 1] = value
            for j in range(n_classes):
                head, stop = heads[j], offsets[j + 1]
                if weights.shape[1] == 0:
                    begin = head
                    while head < stop and column[head] == value:
                        head += 1
                    cumulated[row, j] += head - begin
                else:
                    while head < stop and column[head] == value:
                        cumulated[row, j] += weights[c, head]
                        head += 1
                heads[j] = head
        if n_distinct >= joined and not joining:  # this column again
            joining, row = True, starts[c]
            continue
        n_values[c] = n_distinct
        joining = joined <= 1
        row, c = row + 1, c + 1
    starts[c] = row
    return row


@jit
def count_distinct(values, class_codes, n_classes, most):
    """Return the distinct values in any order, their class counts (n_values, n_classes), and the class counts of
    missing values.

    The hash table grows with the number of distinct values, so that it stays in the first-level cache for columns of
    few values. If there are more than ``most`` distinct values, an empty array is returned, because sorting is then
    faster.
    """
    bits = 12
    keys, counts, missing = (
        np.empty(1 << bits),
        np.empty((1 << bits, n_classes), np.int32),
        np.empty(n_classes, np.int32),
    )
    keys[:] = np.nan  # no value yet
    counts[:] = 0
    missing[:] = 0
    shift = np.uint64(64 - bits)
    mask = (1 << bits) - 1
    n_distinct = 0
    patterns = values.view(np.uint64)
    for i in range(values.size):
        value = values[i]
        if value != value:
            missing[class_codes[i]] += 1
            continue
        pattern = patterns[i] if value != 0.0 else np.uint64(0)  # -0.0 equals 0.0
        at = np.int64((pattern * _MULTIPLIER) >> shift)
        while keys[at] == keys[at] and keys[at] != value:
            at = (at + 1) & mask
        if keys[at] != value:
            if n_distinct == most:
                return keys[:0], counts[:0], missing
            keys[at] = value
            n_distinct += 1
            if 2 * n_distinct > mask:
                counts[at, class_codes[i]] += 1  # here, too: counted in one place only, arrays are reference-counted
                bits += 2
                shift = np.uint64(64 - bits)
                mask = (1 << bits) - 1
                new_keys, new_counts = np.empty(1 << bits), np.empty((1 << bits, n_classes), np.int32)
                new_keys[:] = np.nan
                new_counts[:] = 0
                key_patterns = keys.view(np.uint64)
                for old in range(keys.size):
                    if keys[old] == keys[old]:
                        pattern = key_patterns[old] if keys[old] != 0.0 else np.uint64(0)
                        to = np.int64((pattern * _MULTIPLIER) >> shift)
                        while new_keys[to] == new_keys[to]:
                            to = (to + 1) & mask
                        new_keys[to] = keys[old]
                        for j in range(n_classes):
                            new_counts[to, j] = counts[old, j]
                keys, counts = new_keys, new_counts
                continue
        counts[at, class_codes[i]] += 1
    n_distinct = 0
    for at in range(keys.size):
        if keys[at] == keys[at]:
            keys[n_distinct] = keys[at]
            for j in range(n_classes):
                counts[n_distinct, j] = counts[at, j]
            n_distinct += 1
    return keys[:n_distinct], counts[:n_distinct], missing


@jit
def count_in_cells(values, numbers, class_codes, weights, counts, lowest, highest):
    """Add rows (or weights) by cell and class to ``counts`` (n_cells, n_classes), and update the ``lowest`` and
    ``highest`` value of each cell (n_cells,). Rows of weight 0 are ignored.

    values, numbers, class_codes : (n_rows,) value, cell and class of each row
    weights : (n_rows,) row weights, empty if all are 1
    """
    weighted = weights.size > 0
    for i in range(values.size):
        weight = weights[i] if weighted else 1.0
        if weight > 0.0:
            number, value = numbers[i], values[i]
            counts[number, class_codes[i]] += weight
            if value < lowest[number]:
                lowest[number] = value
            if value > highest[number]:
                highest[number] = value


@jit_inner
def n_log_n(n, table, unit):
    """Return n log n as a multiple of ``unit``, from ``table`` unless it is empty; 0 for n = 0."""
    if table.size > 0:
        return table[int(n)]
    return (
        np.int64(n * math.log(n) / unit + 0.5)
        if n > 1.0
        else -np.int64(-n * math.log(n) / unit + 0.5)
        if n > 0.0
        else np.int64(0)
    )


@jit_inner
def part_terms(cumulated, start, stop, table, unit):
    """Return the number of rows n, the entropy term and the number of classes present in blocks ``start`` to ``stop`` -
    1.

    The entropy term is sum_j n_j log n_j - n log n in units, that is, -n times the class entropy.
    """
    n, terms, present = 0.0, np.int64(0), 0
    for j in range(cumulated.shape[1]):
        count = float(cumulated[stop, j] - cumulated[start, j])
        n += count
        terms += n_log_n(count, table, unit)
        present += int(count > 0.0)
    return n, terms - n_log_n(n, table, unit), present


@jit_inner
def is_worth_its_length(cumulated, first, bound, stop, table, unit):
    """Return whether a split at ``bound`` passes the stopping rule of Fayyad & Irani (1993), section 5.

    The rule is gain > (log2(N - 1) + log2(3^k - 2) - (k H - k1 H1 - k2 H2)) / N, with entropies in bits and k classes
    among the N rows.
    """
    bits = unit / math.log(2.0)
    n, terms, k = part_terms(cumulated, first, stop, table, unit)
    n_below, terms_below, k_below = part_terms(cumulated, first, bound, table, unit)
    n_above, terms_above, k_above = part_terms(cumulated, bound, stop, table, unit)
    entropy, entropy_below, entropy_above = -terms * bits, -terms_below * bits, -terms_above * bits  # times the rows
    codes = math.log2(3.0**k - 2.0) if k < 40 else k * math.log2(3.0)
    spread = k * entropy / n - k_below * entropy_below / n_below - k_above * entropy_above / n_above
    gain = entropy - entropy_below - entropy_above
    return gain > max(0.0, math.log2(max(1.0, n - 1.0)) + codes - spread)


@jit
def split_bounds(cumulated, first, table, unit, tolerance):
    """Return the ascending block numbers at which the blocks from ``first`` on are split.

    Parameters
    ----------
    cumulated : (n_blocks + 1, n_classes) cumulated class counts of the blocks
    table : n log n for n = 0, 1, 2 ... in units, or an empty array to compute it when needed
    unit : size of the unit in nats
    tolerance : units by which a split must be better than one at a lower value to be preferred
    """
    n_blocks, n_classes = cumulated.shape[0] - 1, cumulated.shape[1]
    below, above = np.empty(n_classes), np.empty(n_classes)
    is_bound, waiting = np.empty(n_blocks + 1, np.int64), np.empty((n_blocks + 1, 2), np.int64)
    is_bound[:] = 0
    waiting[0, 0], waiting[0, 1] = first, n_blocks
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        start, stop = waiting[n_waiting, 0], waiting[n_waiting, 1]
        if stop - start < 2:
            continue
        # Find the bound with the least entropy on both sides, the lowest of equal ones; there is none if no bound
        # reduces it.
        n_below, bound = 0.0, start
        n_above, best, _ = part_terms(cumulated, start, stop, table, unit)
        for j in range(n_classes):
            below[j], above[j] = 0.0, cumulated[stop, j] - cumulated[start, j]
        classes = best + n_log_n(n_above, table, unit)  # sum of n_j log n_j over the classes on both sides
        for at in range(start + 1, stop):
            for j in range(n_classes):
                change = cumulated[at, j] - cumulated[at - 1, j]
                if change > 0:
                    classes -= n_log_n(below[j], table, unit) + n_log_n(above[j], table, unit)
                    below[j] += change
                    above[j] = max(0.0, cumulated[stop, j] - cumulated[at, j])
                    classes += n_log_n(below[j], table, unit) + n_log_n(above[j], table, unit)
                    n_below += change
                    n_above -= change
            remaining = classes - n_log_n(n_below, table, unit) - n_log_n(max(0.0, n_above), table, unit)
            if remaining > best + tolerance:
                bound, best = at, remaining
        if bound > start and is_worth_its_length(cumulated, start, bound, stop, table, unit):
            is_bound[bound] = 1
            waiting[n_waiting, 0], waiting[n_waiting, 1] = start, bound
            waiting[n_waiting + 1, 0], waiting[n_waiting + 1, 1] = bound, stop
            n_waiting += 2
    n_bounds = 0
    for at in range(n_blocks + 1):
        if is_bound[at]:
            is_bound[n_bounds] = at
            n_bounds += 1
    return is_bound[:n_bounds]
