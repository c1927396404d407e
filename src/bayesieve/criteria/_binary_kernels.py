"""Compiled counting of ordered pairs for a feature of two levels and one list of rows for each class.

Both lists are sorted by score once per move. A level shifts all its rows by a constant, so that the negatives of a
level below a positive row are a sum over a prefix of the sorted negatives: up to where the shifted score of the
positive row falls among them. A bit map of the negative scores, with a count for every 32 bits, says where: nothing is
merged, no step waits for the one before, and as positives come in order, memory is read in order too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesieve.compiling import jit
from bayesieve.criteria._pair_kernels import count_bits, order_items

_BUCKETS = 64  # of the bit map, per different score
_BLOCK = 4096  # rows whose work memory stays in the first-level cache
_PADDING = 2  # scores beyond all others
_ATTEMPTS = 16  # to keep scores away from the edges of buckets
_BEYOND = np.iinfo(np.int64).max // 2


class Ladder(NamedTuple):
    """Sorted rows of a subset.

    scores : different scores of the negatives, in order, and ``_PADDING`` beyond all
    words : bits of 32 buckets, 2^shift steps wide from ``low`` on, and above them twice the number of scores in the
        words before, plus one where the bits of the word are not a count
    negatives, number : rows in order, and which of the different scores each has
    positives, positive_scores : rows in order
    first, last : how many different scores are below, and not above, each positive; tied : positives where these differ
    """

    scores: np.ndarray
    words: np.ndarray
    low: int
    shift: int
    negatives: np.ndarray
    number: np.ndarray
    positives: np.ndarray
    positive_scores: np.ndarray
    first: np.ndarray
    last: np.ndarray
    tied: np.ndarray


@jit
def _sort(scores, begin, end):
    """Scores of some rows in order, and the rows."""
    n = end - begin
    rows = np.arange(begin, end).astype(np.float64)
    ordered, ordered_rows = np.empty(n, dtype=np.int64), np.empty(n)
    order_items(scores[begin:end], rows, n, ordered, ordered_rows, np.empty(2 * n + 2, dtype=np.int32))
    return ordered, ordered_rows.astype(np.uint32)


@jit
def _number_scores(ordered):
    """Different scores, padded, and which of them every row has."""
    number = np.empty(ordered.size, dtype=np.uint32)
    different = np.empty(ordered.size + _PADDING, dtype=np.int64)
    n = 0
    for i in range(ordered.size):
        if i == 0 or ordered[i] != ordered[i - 1]:
            different[n] = ordered[i]
            n += 1
        number[i] = n - 1
    different[n : n + _PADDING] = _BEYOND
    return different[: n + _PADDING].copy(), number


@jit
def _lowest(scores, shift, tolerance):
    """(whether there is one, a lower end of the buckets such that scores that tie are in the same one)."""
    width = np.int64(1) << shift
    for attempt in range(1, _ATTEMPTS):
        low = scores[0] - attempt * (width // _ATTEMPTS)  # never below the first bucket
        nearest = width
        for k in range(scores.size):
            nearest = min(nearest, (scores[k] - low) & (width - 1))
        if nearest > 2 * tolerance:
            return True, low - width  # the first bucket stays empty
    return False, 0


@jit
def _map_scores(scores, low, shift, words):
    """Fill the bit map, and the counts above the bits."""
    for k in range(scores.size):
        bucket = (scores[k] - low) >> shift
        word = words[bucket >> 5] + (np.int64(1) << 33)
        is_shared = (word >> (bucket & 31)) & 1
        words[bucket >> 5] = word | (np.int64(1) << (bucket & 31)) | (is_shared << 32)
    total = 0
    for w in range(words.size):
        inside = words[w] >> 33
        words[w] += (total - inside) << 33
        total += inside


@jit
def _place(ordered, scores, tolerance):
    """How many of the different scores are below, and not above, each of the ordered ones."""
    first, last = np.empty(ordered.size + 1, dtype=np.int32), np.empty(ordered.size, dtype=np.int32)
    i, k = 0, 0
    while i < ordered.size:  # one step along either list, without a branch
        first[i] = k
        is_below = np.int64(scores[k] < ordered[i] - tolerance)
        k += is_below
        i += 1 - is_below
    above = 0
    for i in range(ordered.size):
        above = max(above, np.int64(first[i]))
        while scores[above] <= ordered[i] + tolerance:
            above += 1
        last[i] = above
    return first[: ordered.size], last


@jit
def climb(scores, negative, positive, tolerance):
    """The `Ladder` of two segments, each given by where it begins and ends; an empty one without negatives, or where
    scores lie too close for buckets to keep ties together.
    """
    none, no_rows, no_counts = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.int32)
    nothing = Ladder(none, none, 0, 0, no_rows, no_rows, no_rows, none, no_counts, no_counts, none)
    if negative[0] == negative[1]:
        return nothing
    ordered, negatives = _sort(scores, negative[0], negative[1])
    different, number = _number_scores(ordered)
    n = different.size - _PADDING
    span = different[n - 1] - different[0]
    shift = 0
    while (span >> shift) >= _BUCKETS * n or (np.int64(1) << shift) < 64 * tolerance:
        shift += 1
    possible, low = _lowest(different[:n], shift, tolerance)
    if not possible:
        return nothing
    words = np.zeros((((different[n - 1] - low) >> shift) + 1 >> 5) + 1, dtype=np.int64)  # the last bucket stays empty
    _map_scores(different[:n], low, shift, words)
    positive_scores, positives = _sort(scores, positive[0], positive[1])
    first, last = _place(positive_scores, different, tolerance)
    tied = np.flatnonzero(first < last)
    return Ladder(different, words, low, shift, negatives, number, positives, positive_scores, first, last, tied)


@jit
def _sum_prefixes(codes, bound, negatives, number, pairs):
    """pairs[k] = negatives among those of the first k different scores, of level 1 from bit 32 on, of level 0 below."""
    steps = np.array([1, 1 << 32])  # looked up, not chosen: a jump that no processor foresees
    total = 0
    pairs[0] = 0
    for i in range(negatives.size):
        total += steps[np.uint32(codes[negatives[i]] > bound)]
        pairs[np.uint64(number[i]) + np.uint64(1)] = total


@jit
def _scan(at, score, scores, tolerance):
    """How many scores are below, and not above, ``score``, from the ``at``-th on."""
    lower, upper = score - tolerance, score + tolerance
    first = at
    last = at
    for k in range(_PADDING):  # nearly always enough, and without a branch
        first += np.int64(scores[np.uint64(at + k)] < lower)
        last += np.int64(scores[np.uint64(at + k)] <= upper)
    if last == at + _PADDING:
        while scores[np.uint64(first)] < lower:
            first += 1
        last = first
        while scores[np.uint64(last)] <= upper:
            last += 1
    return np.uint64(first), np.uint64(last)


@jit
def binary_pairs(ladder, codes, bound, negative_steps, positive_steps, sign, tolerance, pairs):
    """Twice the number of pairs with the positive row above, ties once; a code above ``bound`` is level 1.

    ``negative_steps``, ``positive_steps``: shifts of the two levels in each class, times ``sign``.
    """
    _sum_prefixes(codes, bound, ladder.negatives, ladder.number, pairs)
    prefixes = pairs.view(np.int32)  # two for each score, of level 0 and of level 1
    apart_0 = sign * (positive_steps[0] - negative_steps[0])
    apart_1 = sign * (positive_steps[1] - negative_steps[1])
    cross_0 = sign * (positive_steps[0] - negative_steps[1])
    cross_1 = sign * (positive_steps[1] - negative_steps[0])
    if apart_0 == 0 and apart_1 == 0:
        return _moved_pairs(ladder, codes, bound, cross_0, cross_1, tolerance, prefixes, 1, True)
    twice = _moved_pairs(ladder, codes, bound, cross_0, cross_1, tolerance, prefixes, 1, False)
    return twice + _moved_pairs(ladder, codes, bound, apart_0, apart_1, tolerance, prefixes, 0, False)


@jit
def _fill_levels(codes, bound, rows, levels):
    for i in range(rows.size):
        levels[i] = codes[rows[i]] > bound


@jit
def _fill_buckets(scores, levels, move_0, apart, last, shift, buckets):
    """Buckets of the moved scores: level 0 moves by ``move_0``, level 1 by ``apart`` more."""
    for i in range(scores.size):
        moved = scores[i] + move_0 + apart * np.int64(levels[i])
        buckets[i] = np.int32(min(max(moved >> shift, 0), last))


@jit
def _fill_first(words, found, unsure):
    """Buckets replaced by twice how many negative scores are below, by the bits, plus one where bits do not tell;
    such rows are listed, and counted.
    """
    n = 0
    for i in range(found.size):
        bucket = np.int64(found[i])
        word = words[np.uint64(bucket >> 5)]
        place = bucket & 31
        inside = count_bits(word & ((np.int64(1) << place) - 1))
        is_unsure = (word >> 32 | word >> place) & 1
        found[i] = np.int32(((word >> 32) + 2 * inside) | is_unsure)
        unsure[np.uint64(n)] = i
        n += is_unsure
    return n


@jit
def _sum_found(prefixes, found, levels, other):
    total = 0
    for i in range(found.size):
        total += np.int64(prefixes[np.uint64((found[i] & np.int32(-2)) | (levels[i] ^ other))])
    return total


@jit
def _sum_at(prefixes, places, levels):
    total = 0
    for i in range(places.size):
        total += np.int64(prefixes[np.uint64(2 * np.int64(places[i]) + levels[i])])
    return total


@jit
def _sum_ties(ladder, codes, bound, prefixes):
    """Negatives of its own level with which every positive row ties."""
    total = 0
    for t in range(ladder.tied.size):
        i = np.uint64(ladder.tied[t])
        level = np.int64(codes[ladder.positives[i]] > bound)
        total += np.int64(prefixes[np.uint64(2 * np.int64(ladder.last[i]) + level)])
        total -= np.int64(prefixes[np.uint64(2 * np.int64(ladder.first[i]) + level)])
    return total


@jit
def _compare(scores, different, levels, found, move_0, apart, tolerance, prefixes, other, unsure):
    """What the rows in ``unsure`` add to the pairs told by bits: their scores are compared one by one."""
    twice = 0
    for u in range(unsure.size):
        i = np.uint64(unsure[u])
        told = np.uint64(found[i] >> 1)  # never too many: a bit may stand for several scores
        first, last = _scan(told, scores[i] + move_0 + apart * np.int64(levels[i]), different, tolerance)
        wanted = np.uint64(levels[i] ^ other)
        twice += np.int64(prefixes[2 * first + wanted]) + np.int64(prefixes[2 * last + wanted])
        twice -= 2 * np.int64(prefixes[2 * told + wanted])
    return twice


@jit
def _moved_pairs(ladder, codes, bound, move_0, move_1, tolerance, prefixes, other, with_own):
    """Twice the pairs of a positive row and the negatives of the other level (``other`` = 1) or its own (0).

    ``with_own``: and of its own level in the order of the current subset. Rows that share a bucket with a negative, so
    that the bits do not tell their order, are listed and compared. The loops are apart so that they vectorise: a loop
    that reads words and writes to other arrays does not.
    """
    apart, start = move_1 - move_0, move_0 - tolerance - ladder.low
    last_bucket = np.int64(ladder.words.size * 32 - 1)
    levels, found = np.empty(_BLOCK, dtype=np.int32), np.empty(_BLOCK, dtype=np.int32)
    unsure = np.empty(_BLOCK + 1, dtype=np.int32)
    other = np.int32(other)
    many_tie = 8 * ladder.tied.size > ladder.positives.size
    twice = 0
    for begin in range(0, ladder.positives.size, _BLOCK):
        rows = slice(begin, min(begin + _BLOCK, ladder.positives.size))
        level, place, score = levels[: rows.stop - begin], found[: rows.stop - begin], ladder.positive_scores[rows]
        _fill_levels(codes, bound, ladder.positives[rows], level)
        _fill_buckets(score, level, start, apart, last_bucket, ladder.shift, place)
        n_unsure = _fill_first(ladder.words, place, unsure)
        twice += 2 * _sum_found(prefixes, place, level, other)
        if with_own:
            below = _sum_at(prefixes, ladder.first[rows], level)
            twice += below + (_sum_at(prefixes, ladder.last[rows], level) if many_tie else below)
        twice += _compare(
            score, ladder.scores, level, place, move_0, apart, tolerance, prefixes, other, unsure[:n_unsure]
        )
    if with_own and not many_tie:
        twice += _sum_ties(ladder, codes, bound, prefixes)
    return twice
