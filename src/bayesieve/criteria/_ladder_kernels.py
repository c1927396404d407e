"""Sorting of the rows of two segments, once per move, for candidates of two levels: see `_binary_kernels`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesieve.compiling import jit
from bayesieve.criteria._pair_kernels import order_items

_BUCKETS = 64  # of the bit map, per different score
_MOST_GROUPS = 0.4  # different scores a positive row, up to which both levels of a score are looked up
PADDING = 2  # scores beyond all others
_ATTEMPTS = 16  # to keep scores away from the edges of buckets
_BEYOND = np.iinfo(np.int64).max // 2


class Ladder(NamedTuple):
    """Sorted rows of a subset.

    scores : different scores of the negatives, in order, and ``PADDING`` beyond all
    words : bits of 32 buckets, 2^shift steps wide from ``low`` on, and above them twice the number of scores in the
        words before, plus one where the bits of the word are not a count
    negatives, number : rows in order, and which of the different scores each has
    positives, positive_number : rows in order, and which of the different scores each has; no numbers where most
        scores differ
    positive_scores : scores of the positives, the different ones where there are numbers
    first, last : how many scores of negatives are below, and not above, each of these; tied : where they differ
    """

    scores: np.ndarray
    words: np.ndarray
    low: int
    shift: int
    negatives: np.ndarray
    number: np.ndarray
    positives: np.ndarray
    positive_number: np.ndarray
    positive_scores: np.ndarray
    first: np.ndarray
    last: np.ndarray
    tied: np.ndarray


@jit
def _sort(scores, begin, end):
    """Scores of some rows in order, and the rows."""
    n = end - begin
    rows, ordered_rows = np.empty(n), np.empty(n)
    for i in range(n):
        rows[i] = begin + i
    ordered, numbers = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.uint32)
    order_items(scores[begin:end], rows, n, ordered, ordered_rows, np.empty(2 * n + 2, dtype=np.int32))
    for i in range(n):
        numbers[i] = np.uint32(ordered_rows[i])
    return ordered, numbers


@jit
def _number_scores(ordered):
    """Different scores, padded, and which of them every row has."""
    number = np.empty(ordered.size, dtype=np.uint32)
    different = np.empty(ordered.size + PADDING, dtype=np.int64)
    n = 0
    for i in range(ordered.size):
        if i == 0 or ordered[i] != ordered[i - 1]:
            different[n] = ordered[i]
            n += 1
        number[i] = n - 1
    different[n : n + PADDING] = _BEYOND
    return different[: n + PADDING].copy(), number


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


def climb(scores: np.ndarray, negative: tuple[int, int], positive: tuple[int, int], tolerance: int) -> Ladder:
    """The `Ladder` of two segments, each given by where it begins and ends; an empty one without negatives, or where
    scores lie too close for buckets to keep ties together.
    """
    none, no_rows, no_counts = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.int32)
    nothing = Ladder(none, none, 0, 0, no_rows, no_rows, no_rows, no_rows, none, no_counts, no_counts, none)
    if negative[0] == negative[1]:
        return nothing
    ordered, negatives = _sort(scores, negative[0], negative[1])
    different, number = _number_scores(ordered)
    n = different.size - PADDING
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
    grouped, positive_number = _number_scores(positive_scores)
    if grouped.size - PADDING <= _MOST_GROUPS * positives.size:
        positive_scores = grouped[: grouped.size - PADDING]
    else:
        positive_number = no_rows
    first, last = _place(positive_scores, different, tolerance)
    tied = np.flatnonzero(first < last)
    return Ladder(
        different,
        words,
        low,
        shift,
        negatives,
        number,
        positives,
        positive_number,
        positive_scores,
        first,
        last,
        tied,
    )
