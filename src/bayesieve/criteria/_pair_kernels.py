"""Compiled sums over ordered pairs: how often a positive row scores above a negative one, ties counted one half.

Unweighted rows are counted by `_slot_kernels`. Weighted ones, cells of equal rows, and keys so unevenly spread that
buckets say nothing, are distributed to buckets and put in order there, which gives the same integers.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner
from bayesieve.criteria._auc_kernels import bucket_range, fill_keys, fill_levels
from bayesieve.criteria._slot_kernels import slot_pairs

_MOST_MOVES = 8  # per item, to put the buckets in order, before a sort of all items is


@jit_inner
def _merge_sort(keys, weights):
    """Put keys in ascending order, equal ones in the order in which they stand, their weights with them."""
    n = keys.size
    merged, merged_weights = np.empty(n, dtype=np.int64), np.empty(n)
    width = 1
    while width < n:
        for begin in range(0, n, 2 * width):
            middle, end = min(begin + width, n), min(begin + 2 * width, n)
            i, j = begin, middle
            for k in range(begin, end):
                if i < middle and (j >= end or keys[i] <= keys[j]):
                    merged[k], merged_weights[k] = keys[i], weights[i]
                    i += 1
                else:
                    merged[k], merged_weights[k] = keys[j], weights[j]
                    j += 1
        for k in range(n):
            keys[k], weights[k] = merged[k], merged_weights[k]
        width *= 2


@jit_inner
def order_items(keys, weights, n, ordered, ordered_weights, count):
    """Put keys in ascending order, their weights with them: buckets first, then insertion inside."""
    low, high, shift = bucket_range(keys, n, min(2 * n, count.size - 1) + 1)
    n_buckets = ((high - low) >> shift) + 1
    count[: n_buckets + 1] = 0
    for i in range(n):
        count[np.uint64(((keys[i] - low) >> shift) + 1)] += 1
    for bucket in range(n_buckets):
        count[bucket + 1] += count[bucket]
    for i in range(n):
        bucket = np.uint64((keys[i] - low) >> shift)
        place = np.uint64(count[bucket])
        count[bucket] += 1
        ordered[place] = keys[i]
        ordered_weights[place] = weights[i]
    moves = 0
    for i in range(1, n):
        key = ordered[i]
        if key < ordered[i - 1]:
            weight = ordered_weights[i]
            j = i
            while j > 0 and ordered[j - 1] > key:
                ordered[j] = ordered[j - 1]
                ordered_weights[j] = ordered_weights[j - 1]
                j -= 1
            ordered[j] = key
            ordered_weights[j] = weight
            moves += i - j
            if moves > _MOST_MOVES * n:
                _merge_sort(ordered[:n], ordered_weights[:n])
                return


@jit_inner
def sorted_pairs(keys, weights, offsets, positive, tolerance, ordered, ordered_weights, count):
    """Twice the weight of pairs with the positive item above, ties once; ``positive[s]`` tells whether the items of
    segment s are positive.

    Items within ``tolerance`` of the next one are ties.
    """
    n = offsets[positive.size]
    if n == 0:
        return 0.0
    for s in range(positive.size):
        bit = np.int64(positive[s])
        for i in range(offsets[s], offsets[s + 1]):
            keys[i] = 2 * keys[i] + bit
    order_items(keys, weights, n, ordered, ordered_weights, count)
    twice = 0.0
    negative, positives = 0.0, 0.0  # weight so far, and where the current group of ties began
    negative_start, positive_start = 0.0, 0.0
    previous = ordered[0] >> 1
    for i in range(n):
        key = ordered[i] >> 1
        if key - previous > tolerance:
            negative_start, positive_start = negative, positives
        previous = key
        weight = ordered_weights[i]
        if ordered[i] & 1:
            twice += weight * (negative_start + negative)
            positives += weight
        else:
            twice += weight * (positives - positive_start)
            negative += weight
    return twice


@jit
def pair_sums(layout, scan, moves, chosen, targets, positive, weights, work, sums):
    """sums[c, t] = weight of the pairs that the scores of class targets[t] order rightly with candidate c, one of
    ``chosen``, moved, unless there is a number already.

    ``positive[t, s]``: whether the rows of segment s are of that class; ``weights``: of the rows, or None for
    `slot_pairs`, which leaves NaN where it gives up.
    """
    n_rows = scan.group_of.size
    levels, keys, bits, odds = work.levels[0][:n_rows], work.longs[0][:n_rows], work.longs[1], work.doubles[1]
    for c in chosen:
        n_codes = fill_levels(layout, moves.features[c], levels)
        for t in range(targets.size):
            if not np.isnan(sums[c, t]):
                continue
            fill_keys(
                layout, moves, c, n_codes, targets[t],
                scan.logs, scan.ratios, scan.is_wide, scan.unit, layout.offsets, levels, keys, bits, odds,
            )  # fmt: skip
            if weights is None:
                worked, pairs = slot_pairs(
                    keys, layout.offsets, positive[t], scan.tolerance, bits, work.longs[2], work.ints
                )
                if worked:
                    sums[c, t] = 0.5 * pairs
            else:
                sums[c, t] = 0.5 * sorted_pairs(
                    *(keys, weights, layout.offsets, positive[t], scan.tolerance),
                    *(work.longs[2], work.doubles[3], work.ints[0]),
                )
