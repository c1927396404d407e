"""Compiled counting of ordered pairs: how often a positive row scores above a negative one, ties counted one half.

Keys are 64-bit integers that order rows as their scores do. Two ways, which give the same integers:

``ranked_pairs``
    One bit per bucket of the range of keys, set where a negative row falls; with the number of negatives up to every
    64th bucket, the rank of a positive row is one addition and one population count. Nothing is sorted, no step waits
    for the one before, and neither the levels of a feature nor the number of segments matter. Only rows that share a
    bucket are compared with each other, exactly.
``sorted_pairs``
    Keys with weights, distributed to buckets and put in order there; for weighted rows, for cells of equal rows, and
    where keys are so unevenly spread that buckets say nothing. Rows of which many tie: see `_slot_kernels`.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner
from bayesieve.counts._pair_kernels import count_bits
from bayesieve.criteria._auc_kernels import fill_keys, fill_levels, label_keys

_BUCKETS_PER_ROW = 64  # of the bit map, at most; half of it at least
_MOST_COMPARISONS = 2  # per row, between rows of one bucket, before sorting is the faster way
_MOST_EDGES = 32  # rows so near to the edge of a bucket that they are compared with all rows
_BLOCK = 1024  # rows whose work memory stays in the first-level cache
_LOW = (1 << 32) - 1
_MOST_MOVES = 8  # per item, to put the buckets in order, before a sort of all items is


@jit_inner
def key_range(keys, n):
    low = keys[0]
    high = keys[0]
    for i in range(n):
        low = min(low, keys[i])
        high = max(high, keys[i])
    return low, high


@jit_inner
def shift_for(span, n_buckets):
    """Bits to drop from a key between 0 and ``span`` so that at most ``n_buckets`` remain."""
    shift = 0
    while (span >> shift) >= n_buckets:
        shift += 1
    return shift


@jit_inner
def _compare_all(key, keys, begin, end, tolerance):
    """Twice the number of keys above ``key`` (ties: once)."""
    twice = 0
    for i in range(begin, end):
        twice += np.int64(keys[i] > key + tolerance) + np.int64(keys[i] >= key - tolerance)
    return twice


@jit_inner
def fill_buckets(keys, low, shift, tolerance, buckets):
    """Bucket of every key; returns how many lie so near to the edge of a bucket that a tie may be in the next one."""
    inside = (np.int64(1) << shift) - 1
    n_near = 0
    for i in range(keys.size):
        key = keys[i] - low
        buckets[i] = np.int32(key >> shift)
        n_near += np.int64(((key + tolerance) & inside) <= 2 * tolerance)
    return n_near


@jit_inner
def _list_edges(keys, begin, end, low, shift, tolerance, buckets, edges, n_edges):
    """Move the rows near the edge of a bucket to a list, and their bucket out of the way."""
    inside = (np.int64(1) << shift) - 1
    for i in range(begin, end):
        if ((keys[i] - low + tolerance) & inside) <= 2 * tolerance:
            edges[n_edges] = keys[i]
            n_edges += 1
            buckets[i] = -1
    return n_edges


@jit_inner
def _mark_negatives(buckets, first, words, following):
    """Enter the negative rows of one segment, which starts at row ``first``, into their words.

    words[2 w] has a bit for every bucket of word w, words[2 w + 1] the last row entered and, below bit 32, how many;
    ``following`` chains the rows of a word. Word 0 takes the rows without a bucket.
    """
    for i in range(buckets.size):
        bucket = np.int64(buckets[i])
        at = np.uint64((bucket >> 6) + 1) << np.uint64(1)
        words[at] |= np.int64(1) << (bucket & 63)
        entry = words[at | np.uint64(1)]
        following[i] = np.int32(entry >> 32)
        words[at | np.uint64(1)] = (entry & _LOW) + ((np.int64(first + i + 1) << 32) + 1)


@jit_inner
def _number_words(words):
    """Below bit 32 of words[2 w + 1]: twice the number of negatives in the words before, plus one where a bit of the
    word stands for several rows.
    """
    total = 0
    for w in range(1, words.size >> 1):
        entry = words[2 * w + 1]
        n = entry & _LOW
        words[2 * w + 1] = (entry ^ n) | (2 * total + np.int64(n > count_bits(words[2 * w])))
        total += n


@jit_inner
def _fill_ranks(buckets, words, ranks):
    """Twice the negatives below every positive row, by the bits, plus one where bits do not tell."""
    for i in range(buckets.size):
        bucket = np.int64(buckets[i])
        at = np.uint64((bucket >> 6) + 1) << np.uint64(1)
        place = bucket & 63
        marks = words[at]
        entry = words[at | np.uint64(1)] & _LOW
        inside = count_bits(marks & ((np.int64(1) << place) - 1))
        ranks[i] = (((entry >> 1) + inside) << 1) | (((marks >> place) | entry) & 1)


@jit_inner
def _rank_positives(buckets, first, words, ranks, unsure, n_unsure):
    """Twice the negatives below the positive rows of one segment; rows that share a bucket with a negative are
    listed. Loops apart, and by block, so that the first vectorises.
    """
    twice = 0
    for begin in range(0, buckets.size, ranks.size):
        n = min(ranks.size, buckets.size - begin)
        _fill_ranks(buckets[begin : begin + n], words, ranks[:n])
        for i in range(n):
            twice += ranks[i] & -2
        for i in range(n):
            unsure[np.uint64(n_unsure)] = first + begin + i
            n_unsure += ranks[i] & 1
    return twice, n_unsure


@jit_inner
def _resolve(keys, buckets, tolerance, words, following, unsure, n_unsure):
    """(whether it is worth it, twice what the rows in ``unsure`` add to their count of bits) by comparing them with
    the negative rows of their words.
    """
    left = _MOST_COMPARISONS * keys.size
    twice = 0
    for u in range(n_unsure):
        row = np.uint64(unsure[u])
        key = keys[row]
        bucket = np.int64(buckets[row])
        at = np.uint64((bucket >> 6) + 1) << np.uint64(1)
        entry = words[at | np.uint64(1)]
        twice -= 2 * count_bits(words[at] & ((np.int64(1) << (bucket & 63)) - 1))
        i = entry >> 32
        while i > 0:
            other = keys[np.uint64(i - 1)]
            i = np.int64(following[np.uint64(i - 1)])
            twice += np.int64(other < key - tolerance) + np.int64(other <= key + tolerance)
            left -= 1
        if left < 0:
            return False, 0
    return True, twice


@jit_inner
def ranked_pairs(keys, offsets, positive, tolerance, words, buckets, following, unsure):
    """(whether it worked, twice the number of pairs with the positive row above, ties once) of unweighted rows.

    ``positive[s]`` tells whether the rows of segment s are positive. It gives up where too many rows share buckets.
    """
    n_negative = 0
    for s in range(positive.size):
        if not positive[s]:
            n_negative += offsets[s + 1] - offsets[s]
    low, high = key_range(keys, keys.size)
    shift = shift_for(high - low, min(_BUCKETS_PER_ROW * n_negative, 32 * words.size - 128) + 1)
    if (np.int64(1) << shift) <= 64 * tolerance:
        return False, 0
    words = words[: 2 * (((high - low) >> shift >> 6) + 2)]
    words[:] = 0
    edges = np.empty(0, dtype=np.int64)
    n_near = fill_buckets(keys, low, shift, tolerance, buckets)
    if n_near > _MOST_EDGES:
        return False, 0
    if n_near > 0:
        edges = np.empty(n_near, dtype=np.int64)
    ranks = np.empty(_BLOCK, dtype=np.int64)
    n_edges, n_unsure, twice = 0, 0, 0
    for s in range(positive.size):
        if not positive[s]:
            rows = slice(offsets[s], offsets[s + 1])
            if n_near > 0:
                n_edges = _list_edges(keys, offsets[s], offsets[s + 1], low, shift, tolerance, buckets, edges, n_edges)
            _mark_negatives(buckets[rows], offsets[s], words, following[rows])
    _number_words(words)
    for s in range(positive.size):
        if positive[s]:
            rows = slice(offsets[s], offsets[s + 1])
            below, n_unsure = _rank_positives(buckets[rows], offsets[s], words, ranks, unsure, n_unsure)
            twice += below
            for e in range(n_edges):
                twice += _compare_all(edges[e], keys, offsets[s], offsets[s + 1], tolerance)
    worked, more = _resolve(keys, buckets, tolerance, words, following, unsure, n_unsure)
    return worked, twice + more


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
    low, high = key_range(keys, n)
    shift = shift_for(high - low, min(2 * n, count.size - 1) + 1)
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
def sorted_pairs(keys, weights, n, tolerance, ordered, ordered_weights, count):
    """Twice the weight of pairs with the positive item above, ties once; the lowest bit of a key tells a positive.

    Items within ``tolerance`` of the next one are ties.
    """
    if n == 0:
        return 0.0
    order_items(keys, weights, n, ordered, ordered_weights, count)
    twice = 0.0
    negative, positive = 0.0, 0.0  # weight so far, and where the current group of ties began
    negative_start, positive_start = 0.0, 0.0
    previous = ordered[0] >> 1
    for i in range(n):
        key = ordered[i] >> 1
        if key - previous > tolerance:
            negative_start, positive_start = negative, positive
        previous = key
        weight = ordered_weights[i]
        if ordered[i] & 1:
            twice += weight * (negative_start + negative)
            positive += weight
        else:
            twice += weight * (positive - positive_start)
            negative += weight
    return twice


@jit
def ranked_sums(layout, scan, moves, chosen, targets, positive, sums):
    """sums[c, t] = weight of the pairs that the scores of class targets[t] order rightly with candidate c, one of
    ``chosen``, moved, by `ranked_pairs`; left as it is where that gives up, or where there is a number already.

    ``positive[t, s]``: whether the rows of segment s are of that class. The work memory is a constant number of words
    a row, whatever the number of candidates.
    """
    n_rows = scan.group_of.size
    levels, keys = np.empty(n_rows, dtype=np.uint16), np.empty(n_rows, dtype=np.int64)
    bits, words = np.empty(n_rows, dtype=np.int64), np.empty(2 * n_rows + 8, dtype=np.int64)
    buckets, following = np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.int32)
    unsure = np.empty(n_rows + 1, dtype=np.int32)
    for c in chosen:
        n_codes = fill_levels(layout, moves.features[c], levels)
        for t in range(targets.size):
            if not np.isnan(sums[c, t]):
                continue
            fill_keys(
                layout, moves, c, n_codes, targets[t],
                scan.logs, scan.ratios, scan.is_wide, scan.unit, layout.offsets, levels, keys, bits,
            )  # fmt: skip
            worked, pairs = ranked_pairs(
                keys, layout.offsets, positive[t], scan.tolerance, words, buckets, following, unsure
            )
            if worked:
                sums[c, t] = 0.5 * pairs


@jit
def sorted_sums(layout, scan, moves, chosen, targets, positive, sums):
    """As `ranked_sums`, by `sorted_pairs`, which never gives up and takes weighted rows."""
    n_rows = scan.group_of.size
    levels, keys = np.empty(n_rows, dtype=np.uint16), np.empty(n_rows, dtype=np.int64)
    bits, ordered = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    ordered_weights, count = np.empty(n_rows), np.empty(2 * n_rows + 2, dtype=np.int32)
    weights = layout.weights if layout.weights.size > 0 else np.ones(n_rows)
    for c in chosen:
        n_codes = fill_levels(layout, moves.features[c], levels)
        for t in range(targets.size):
            if not np.isnan(sums[c, t]):
                continue
            fill_keys(
                layout, moves, c, n_codes, targets[t],
                scan.logs, scan.ratios, scan.is_wide, scan.unit, layout.offsets, levels, keys, bits,
            )  # fmt: skip
            label_keys(keys, layout.offsets, positive[t])
            sums[c, t] = 0.5 * sorted_pairs(keys, weights, n_rows, scan.tolerance, ordered, ordered_weights, count)
