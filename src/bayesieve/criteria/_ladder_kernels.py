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
    first, last : twice how many scores of negatives are below, and not above, each of these; tied : where they differ
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
def list_rows(scores, begin, end):
    """Scores of some rows in order, the rows, the different scores, padded, and which of them every row has."""
    n = end - begin
    rows, ordered_rows, ordered = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
    for i in range(n):
        rows[i] = begin + i
    order_items(scores[begin:end], rows, n, ordered, ordered_rows, np.empty(2 * n + 2, dtype=np.int32))
    numbers, number = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    different = np.empty(n + PADDING, dtype=np.int64)
    n_different = 0
    for i in range(n):
        numbers[i] = np.uint32(ordered_rows[i])
        if i == 0 or ordered[i] != ordered[i - 1]:
            different[n_different] = ordered[i]
            n_different += 1
        number[i] = n_different - 1
    for i in range(n_different, n_different + PADDING):
        different[i] = _BEYOND
    return ordered, numbers, different[: n_different + PADDING], number


def bucket_width(scores: np.ndarray, tolerance: int) -> tuple[int, int]:
    """(shift, low) of buckets of 2^shift steps from ``low`` on, the first of them empty, so that scores that tie share
    one; a shift of -1 where there are none.
    """
    shift = 0
    lowest, highest = int(scores[0]), int(scores[-1])
    while (highest - lowest) >> shift >= _BUCKETS * scores.size or 1 << shift < 64 * tolerance:
        shift += 1
    width = 1 << shift
    for attempt in range(1, _ATTEMPTS):
        low = lowest - attempt * (width // _ATTEMPTS)  # never below the first bucket
        if ((scores - low) & (width - 1)).min() > 2 * tolerance:
            return shift, low - width
    return -1, 0


@jit
def place_scores(scores, shift, low, ordered, tolerance, words, first, last):
    """Fill the bit map of the different ``scores``, and the counts above the bits. How many of them are below, and not
    above, each of the ordered ones, doubled.
    """
    for k in range(scores.size - PADDING):
        bucket = (scores[k] - low) >> shift
        word = words[bucket >> 5] + (np.int64(1) << 33)
        is_shared = (word >> (bucket & 31)) & 1
        words[bucket >> 5] = word | (np.int64(1) << (bucket & 31)) | (is_shared << 32)
    total = 0
    for w in range(words.size):
        inside = words[w] >> 33
        words[w] += (total - inside) << 33
        total += inside
    i, k = 0, 0
    while i < ordered.size:  # one step along either list, without a branch
        first[i] = 2 * k
        is_below = np.int64(scores[k] < ordered[i] - tolerance)
        k += is_below
        i += 1 - is_below
    above = 0
    for i in range(ordered.size):
        above = max(above, np.int64(first[i] >> 1))
        while scores[above] <= ordered[i] + tolerance:
            above += 1
        last[i] = 2 * above


def climb(scores: np.ndarray, negative: tuple[int, int], positive: tuple[int, int], tolerance: int) -> Ladder | None:
    """The `Ladder` of two segments, each given by where it begins and ends; None without negatives, or where scores lie
    too close for buckets to keep ties together.
    """
    if negative[0] == negative[1]:
        return None
    _, negatives, different, number = list_rows(scores, *negative)
    shift, low = bucket_width(different[:-PADDING], tolerance)
    if shift < 0:
        return None
    positive_scores, positives, grouped, positive_number = list_rows(scores, *positive)
    if grouped.size - PADDING <= _MOST_GROUPS * positives.size:
        positive_scores = grouped[:-PADDING]
    else:
        positive_number = positive_number[:0]
    words = np.zeros((((different[-1 - PADDING] - low) >> shift) + 1 >> 5) + 1, dtype=np.int64)  # the last stays empty
    first, last = (np.empty(positive_scores.size + 1, dtype=np.int32) for _ in range(2))
    place_scores(different, shift, low, positive_scores, tolerance, words, first, last)
    first, last = first[:-1], last[:-1]
    tied = np.flatnonzero(first < last)
    return Ladder(
        *(different, words, low, shift, negatives, number),
        *(positives, positive_number, positive_scores, first, last, tied),
    )
