"""Compiled loops that turn a numeric column into blocks: class counts of neighbouring distinct values, pure neighbours
joined.

Blocks are written as cumulated class counts and lowest and highest value. Equal values are never separated; neighbours
pure in one class never are either in an optimal partition, so they share a block from the start.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads neighbouring bit patterns over the table


@jit_inner
def _only_class(cumulated, block):
    """The class of block ``block - 1`` if it is pure, -2 if it is not, -1 if there is none."""
    found = -1
    if block > 0:
        for j in range(cumulated.shape[1]):
            if cumulated[block, j] > cumulated[block - 1, j]:
                found = j if found == -1 else -2
    return found


@jit
def merge_classes(values, offsets, weights, cumulated, lower, upper, first, apart):
    """Merge the sorted values of each class into blocks and return their number.

    ``values[offsets[j]:offsets[j+1]]`` holds class j in ascending order. Blocks are written from index ``first`` on;
    those before are there already, and keep to themselves if ``apart``.
    """
    n_classes = offsets.size - 1
    heads = offsets[:-1].copy()
    block = first
    previous = -1 if apart else _only_class(cumulated, first)
    while True:
        value = np.inf
        for j in range(n_classes):
            if heads[j] < offsets[j + 1] and values[heads[j]] < value:
                value = values[heads[j]]
        if value == np.inf:
            break
        pure = -1
        for j in range(n_classes):
            if heads[j] < offsets[j + 1] and values[heads[j]] == value:
                pure = j if pure == -1 else -2
        if pure < 0 or pure != previous:
            lower[block] = value
            for j in range(n_classes):
                cumulated[block + 1, j] = cumulated[block, j]
            block += 1
        previous = pure
        upper[block - 1] = value
        for j in range(n_classes):
            head, stop = heads[j], offsets[j + 1]
            if weights.size == 0:
                start = head
                while head < stop and values[head] == value:
                    head += 1
                cumulated[block, j] += head - start
            else:
                while head < stop and values[head] == value:
                    cumulated[block, j] += weights[head]
                    head += 1
            heads[j] = head
    return block


@jit
def join_counted(values, counts, cumulated, lower, upper, first, apart):
    """As ``merge_classes``, from ascending distinct values with their (values, classes) counts."""
    n_classes = counts.shape[1]
    block = first
    previous = -1 if apart else _only_class(cumulated, first)
    for v in range(values.size):
        pure = -1
        for j in range(n_classes):
            if counts[v, j] > 0:
                pure = j if pure == -1 else -2
        if pure < 0 or pure != previous:
            lower[block] = values[v]
            for j in range(n_classes):
                cumulated[block + 1, j] = cumulated[block, j]
            block += 1
        previous = pure
        upper[block - 1] = values[v]
        for j in range(n_classes):
            cumulated[block, j] += counts[v, j]
    return block


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
    missing = np.zeros(n_classes, dtype=np.int64)
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
                counts[at, class_codes[i]] += 1
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
