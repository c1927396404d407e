"""Compiled loops that turn numeric columns into blocks: class counts of neighbouring distinct values, pure neighbours
joined.

Equal values are never separated; neighbours pure in one class never are either in an optimal partition, so they share a
block from the start.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads neighbouring bit patterns over the table


@jit
def merge_classes(values, weights, offsets, missing, joined, apart, starts, n_values, cumulated, lower, upper):
    """Merge the sorted values of each class into blocks, column after column.

    values : (columns, rows), ``values[c, offsets[j]:offsets[j+1]]`` holds class j of column c in ascending order, NaN
    last; weights : the same shape, or without columns where every row counts once; missing : (columns, classes) counts,
    which become the first block where there are any; joined : neighbours of one class share a block in columns of at
    least so many distinct values; apart : whether missing values never do. Writes the arrays of `ValueBlocks`,
    ``n_values`` among them, and returns their number of rows.
    """
    n_classes = offsets.size - 1
    row = c = 0
    joining = joined <= 1
    while c < values.shape[0]:
        column = values[c]
        starts[c], n_distinct = row, 0
        heads = offsets[:-1].copy()
        cumulated[row] = 0
        previous = -1  # class of the last block if it is pure, -2 if it is not, -1 without one
        for j in range(n_classes):
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
    """Distinct values in any order, their (values, classes) counts, and the class counts of missing values, by hashing.

    The table grows with the number of distinct values, so that columns of few values stay in the first-level cache.
    Beyond ``most`` distinct values it gives up, and returns no values: sorting is faster then.
    """
    bits = 12
    keys = np.empty(1 << bits)
    counts = np.zeros((1 << bits, n_classes), dtype=np.int32)
    used = np.zeros(1 << bits, dtype=np.bool_)
    missing = np.zeros(n_classes, dtype=np.int32)
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
        while used[at] and keys[at] != value:
            at = (at + 1) & mask
        if not used[at]:
            if n_distinct == most:
                return keys[:0], counts[:0], missing
            used[at] = True
            keys[at] = value
            n_distinct += 1
            if 2 * n_distinct > mask:
                counts[at, class_codes[i]] += 1  # here, too: counted in one place only, arrays are reference-counted
                bits += 2
                shift = np.uint64(64 - bits)
                mask = (1 << bits) - 1
                new_keys = np.empty(1 << bits)
                new_counts = np.zeros((1 << bits, n_classes), dtype=np.int32)
                new_used = np.zeros(1 << bits, dtype=np.bool_)
                key_patterns = keys.view(np.uint64)
                for old in range(used.size):
                    if used[old]:
                        pattern = key_patterns[old] if keys[old] != 0.0 else np.uint64(0)
                        to = np.int64((pattern * _MULTIPLIER) >> shift)
                        while new_used[to]:
                            to = (to + 1) & mask
                        new_used[to] = True
                        new_keys[to] = keys[old]
                        for j in range(n_classes):
                            new_counts[to, j] = counts[old, j]
                keys, counts, used = new_keys, new_counts, new_used
                continue
        counts[at, class_codes[i]] += 1
    return keys[used], counts[used], missing


@jit
def count_in_cells(values, numbers, class_codes, weights, counts, lowest, highest):
    """Add rows, or weight, by numbered cell and class, and let the range of each cell reach to all its values; rows of
    weight 0 do not count.
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
