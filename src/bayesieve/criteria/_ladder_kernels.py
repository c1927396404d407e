"""Compiled AUC sums for candidate features of two levels, from one sorted list of rows for each of two classes.

Both lists are sorted by score once per move of the search. The levels of a candidate shift the scores of their rows by
a constant. The negatives of a level with lower scores than a positive row are therefore a prefix of the sorted
negatives, up to the position of the shifted score of the positive row. A bit map of the negative scores, with a running
count for every 32 bits, gives this position. Nothing is merged, steps do not depend on each other, and memory is read
in order, because the positives are sorted. If many positives have equal scores, each combination of score and level is
looked up once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesieve.compiling import jit, jit_inner
from bayesieve.counts._kernels import count_bits
from bayesieve.criteria._auc_kernels import BLOCK, order_items

_BUCKETS = 64  # buckets of the bit map per distinct score
_MOST_GROUPS = 0.4  # distinct scores per positive row up to which each combination of score and level is looked up
PADDING = 2  # number of sentinels above all scores
_ATTEMPTS = 16  # attempts to place the bucket edges between scores
_BEYOND = np.iinfo(np.int64).max // 2


class Ladder(NamedTuple):
    """Rows of both classes sorted by their scores under the current subset.

    Attributes
    ----------
    scores : distinct scores of the negatives in ascending order, followed by ``PADDING`` numbers beyond all scores
    words : bit map of buckets that begin at ``low`` and are 2^shift steps wide. Low half of a word: bits of 32 buckets;
        high half: twice the number of scores in the words before, plus 1 if a bucket of the word has several scores
    negatives, number : negative rows in ascending order of scores, and the position of each row's score in ``scores``
    positives, positive_number : positive rows in ascending order, and the position of each score among the distinct
        ones; the latter is empty if most scores differ
    positive_scores : scores of the positives, only distinct ones unless ``positive_number`` is empty
    first, last : twice the number of negative scores below each positive score, and of those not above it
    tied : positions at which ``first`` and ``last`` differ
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
    """Sort the rows ``begin`` to ``end`` - 1 by their scores, (n_rows,) integers.

    Return the n sorted scores, the positions of the rows in this order, the distinct scores followed by PADDING numbers
    beyond all scores, and the position of each sorted row's score among the distinct ones.
    """
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
    """Return (shift, low) such that tied scores are in the same bucket, where buckets begin at ``low`` and are 2^shift
    steps wide.

    The first bucket is empty. The shift is -1 if there are no such buckets. ``scores`` are distinct and ascending;
    ``tolerance`` is the largest difference of tied scores, in steps.
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
    """Fill the bit map ``words`` of the distinct ``scores``, with a running count in the high half of each word.

    Parameters
    ----------
    scores : distinct scores in ascending order, followed by PADDING numbers beyond all scores.
    shift, low : the bucket of a score is (score - low) >> shift.
    ordered : (n,) scores of the other class in ascending order.
    tolerance : largest difference of tied scores.
    words : bit map to fill, initially zeros.
    first, last : results: twice the number of scores below each of the ``ordered`` scores, and of those not above it.
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


def build_ladder(
    scores: np.ndarray, negative: tuple[int, int], positive: tuple[int, int], tolerance: int
) -> Ladder | None:
    """Return the sorted rows of a negative and a positive segment; None if there are no negatives, or if scores are too
    close for all ties to share a bucket.

    Parameters
    ----------
    scores : (n_rows,) integer scores of the rows.
    negative, positive : first row and end of each segment.
    tolerance : largest difference of tied scores.
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


@jit_inner
def _sum_prefixes(codes, bound, negatives, number, pairs):
    """Count the negatives among the first k distinct scores into pairs[k], separately for both levels of a feature:
    level 1 in the high half, level 0 in the low half.

    Parameters
    ----------
    codes, bound : (n_rows,) codes of the feature, and the highest code of level 0.
    negatives, number : negative rows in ascending order of scores, and the position of each row's score among the
        distinct ones.
    pairs : (n_scores + 1,) result.
    """
    steps = np.array([1, 1 << 32])  # a look-up avoids a branch, which would be unpredictable
    total = 0
    pairs[0] = 0
    for i in range(negatives.size):
        total += steps[np.uint32(codes[negatives[i]] > bound)]
        pairs[np.uint64(number[i]) + np.uint64(1)] = total


@jit_inner
def binary_pairs(ladder, codes, bound, negative_steps, positive_steps, sign, tolerance, pairs):
    """Return twice the number of pairs in which the positive row has the higher score, plus the number of ties, after
    adding or dropping a feature of two levels.

    Parameters
    ----------
    ladder : rows of both classes, sorted by the score under the current subset.
    codes, bound : (n_rows,) codes of the feature, and the highest code of its first level.
    negative_steps, positive_steps : (2,) shifts of the scores of each class by level, to be multiplied by ``sign``.
    sign : 1 if the feature is added, -1 if it is dropped.
    tolerance : largest difference of tied scores.
    pairs : scratch memory.
    """
    positive_pairs = pairs[ladder.negatives.size + 1 :]
    _sum_prefixes(codes, bound, ladder.negatives, ladder.number, pairs)
    prefixes = pairs.view(np.int32)  # two for each score, of level 0 and of level 1
    if ladder.positive_number.size > 0:
        _sum_prefixes(codes, bound, ladder.positives, ladder.positive_number, positive_pairs)
    rows_up_to = positive_pairs.view(np.int32)
    within_0 = sign * (positive_steps[0] - negative_steps[0])
    within_1 = sign * (positive_steps[1] - negative_steps[1])
    cross_0 = sign * (positive_steps[0] - negative_steps[1])
    cross_1 = sign * (positive_steps[1] - negative_steps[0])
    # Pass variables instead of literals: the loops would be compiled again for each literal.
    adds_same, same, other = within_0 == 0 and within_1 == 0, np.int32(0), np.int32(1)
    twice = _shifted_pairs(ladder, codes, bound, cross_0, cross_1, tolerance, prefixes, rows_up_to, other, adds_same)
    if not adds_same:
        twice += _shifted_pairs(
            ladder, codes, bound, within_0, within_1, tolerance, prefixes, rows_up_to, same, adds_same
        )
    return twice


@jit_inner
def _sum_prefixes_at(prefixes, twice, levels, counts, other):
    """Return the number of pairs of a positive row and a negative row of the counted level with a lower score.

    Parameters
    ----------
    prefixes : numbers of negatives of level 0 and of level 1 among the first k distinct scores, from `_sum_prefixes`.
    twice, levels, counts : for each entry of positive rows, twice the number of negative scores below it, its level,
        and the number of its rows.
    other : 1 to count negatives of the other level, 0 for the same level.
    """
    total = 0
    for i in range(twice.size):
        total += np.int64(counts[i]) * np.int64(prefixes[np.uint64((twice[i] & np.int32(-2)) | (levels[i] ^ other))])
    return total


@jit_inner
def _compare(scores, different, levels, counts, places, move_0, difference, tolerance, prefixes, other, unsure):
    """Return by how much the counts of the entries in ``unsure``, which share a bucket with negatives, must be
    corrected, after comparing scores one by one.

    Parameters
    ----------
    scores, levels, counts : scores, levels and numbers of rows of the entries of positive rows.
    different : distinct scores of the negatives, followed by PADDING numbers beyond all scores.
    places : twice a lower bound of the number of negative scores below each entry.
    move_0, difference : shift of the scores of level 0, and by how much that of level 1 is larger.
    tolerance : largest difference of tied scores.
    prefixes, other : as in `_sum_prefixes_at`.
    unsure : positions of the entries to correct.
    """
    twice = 0
    for u in range(unsure.size):
        i = np.uint64(unsure[u])
        start = np.uint64(places[i] >> 1)  # a lower bound, because a bucket may hold several scores
        shifted = scores[i] + move_0 + difference * np.int64(levels[i])
        lower, upper = shifted - tolerance, shifted + tolerance
        first, last = start, start
        for k in range(PADDING):  # nearly always sufficient, and without a branch
            first += np.uint64(different[start + np.uint64(k)] < lower)
            last += np.uint64(different[start + np.uint64(k)] <= upper)
        if last == start + np.uint64(PADDING):
            while different[first] < lower:
                first += np.uint64(1)
            last = first
            while different[last] <= upper:
                last += np.uint64(1)
        half = np.uint64(levels[i] ^ other)
        more = np.int64(prefixes[2 * first + half]) + np.int64(prefixes[2 * last + half])
        twice += np.int64(counts[i]) * (more - 2 * np.int64(prefixes[2 * start + half]))
    return twice


@jit_inner
def _shifted_pairs(ladder, codes, bound, move_0, move_1, tolerance, prefixes, rows_up_to, other, adds_same):
    """Return twice the number of correctly ordered pairs of a positive and a negative row of different levels, plus
    ties.

    Rows that share a bucket with a negative row, so that the bit map does not give their order, are listed and
    compared. The loops are separate, because a loop that reads words and writes to other arrays is not vectorised.

    Parameters
    ----------
    ladder : rows of both classes, sorted by the score under the current subset.
    codes, bound : (n_rows,) codes of the feature, and the highest code of level 0.
    move_0, move_1 : shifts of the scores of positive rows of level 0 and 1 relative to those of the compared negatives.
    tolerance : largest difference of tied scores.
    prefixes, rows_up_to : numbers of negatives, and of positives, of each level among the first k distinct scores.
    other : 1 for pairs of different levels; 0 to count pairs of the same level instead.
    adds_same : whether pairs of the same level, whose order is that under the current subset, are added.
    """
    difference, start = move_1 - move_0, move_0 - tolerance - ladder.low
    last_bucket = np.int64(ladder.words.size * 32 - 1)
    work = np.empty((4, BLOCK + 1), dtype=np.int32)
    is_grouped = ladder.positive_number.size > 0
    many_tie = is_grouped or 8 * ladder.tied.size > ladder.positives.size
    same = np.int32(0)
    twice = 0
    for group_level in range(2 if is_grouped else 1):
        for begin in range(0, ladder.positive_scores.size, BLOCK):
            rows = slice(begin, min(begin + BLOCK, ladder.positive_scores.size))
            n, score = rows.stop - begin, ladder.positive_scores[rows]
            level, count, place, unsure = work[0, :n], work[1, :n], work[2, :n], work[3]
            if is_grouped:
                for i in range(n):
                    level[i] = group_level
                    at = np.uint64(2 * (begin + i) + group_level)
                    count[i] = rows_up_to[at + np.uint64(2)] - rows_up_to[at]
            else:
                row = ladder.positives[rows]
                for i in range(n):
                    level[i] = codes[row[i]] > bound
                    count[i] = 1
            for i in range(n):
                shifted = score[i] + start + difference * np.int64(level[i])
                place[i] = np.int32(min(max(shifted >> ladder.shift, 0), last_bucket))
            # `place` is twice the number of negative scores below, plus 1 if the bit map does not decide.
            n_unsure = 0
            for i in range(n):
                bucket = np.int64(place[i])
                word, bit = ladder.words[np.uint64(bucket >> 5)], bucket & 31
                is_unsure = (word >> 32 | word >> bit) & 1
                place[i] = np.int32(((word >> 32) + 2 * count_bits(word & ((np.int64(1) << bit) - 1))) | is_unsure)
                unsure[np.uint64(n_unsure)] = i
                n_unsure += is_unsure
            twice += 2 * _sum_prefixes_at(prefixes, place, level, count, other)
            if adds_same:
                below = _sum_prefixes_at(prefixes, ladder.first[rows], level, count, same)
                if many_tie:
                    twice += below + _sum_prefixes_at(prefixes, ladder.last[rows], level, count, same)
                else:
                    twice += 2 * below
            twice += _compare(
                *(score, ladder.scores, level, count, place, move_0, difference, tolerance, prefixes, other),
                unsure[:n_unsure],
            )
    if adds_same and not many_tie:
        for t in range(ladder.tied.size):  # negatives of the same level that are ties of a positive row
            i = np.uint64(ladder.tied[t])
            level_of = np.int64(codes[ladder.positives[i]] > bound)
            twice += np.int64(prefixes[np.uint64(ladder.last[i] + level_of)])
            twice -= np.int64(prefixes[np.uint64(ladder.first[i] + level_of)])
    return twice


@jit
def ladder_sums(scan, moves, chosen, ladder, lists, sums):
    """Compute sums[c, 0], the number of pairs that candidate subset c in ``chosen`` orders correctly; features have two
    levels.

    Parameters
    ----------
    scan, moves : scores of the rows, and the candidates.
    chosen : positions of the candidates to evaluate.
    ladder : sorted rows of both classes.
    lists : segments of its negative and positive rows.
    sums : (n_candidates, 1) result.
    """
    n_negative, n_positive = ladder.negatives.size, ladder.positives.size
    pairs = np.empty(n_negative + n_positive + 2, dtype=np.int64)
    is_class_0 = scan.classes[lists[1]] == 0  # if class 0 is the smaller one, its rows are looked up
    for c in chosen:
        feature = moves.features[c]
        column, bound = scan.codes[scan.columns[feature]], scan.lows[feature]
        n = scan.n_codes[feature]
        steps = moves.steps[moves.step_starts[c] :]
        # Steps are log ratios of the other class to the true one: class 1 to class 0, or the reverse.
        below, above = steps[lists[0] * n : lists[0] * n + 2], -steps[lists[1] * n : lists[1] * n + 2]
        sign = -moves.signs[c] if is_class_0 else moves.signs[c]
        sums[c, 0] = 0.5 * binary_pairs(ladder, column, bound, below, above, sign, scan.tolerance, pairs)
        if is_class_0:
            sums[c, 0] = np.float64(n_positive * n_negative) - sums[c, 0]
