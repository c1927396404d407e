"""Compiled computation of AUC sums for candidates: scores as integer keys, and counts of correctly ordered pairs.

A candidate is the current subset with one feature added or dropped.

Keys. With two classes, the key of a row is its log odds of class 1 in integer steps, and the level of a feature adds a
constant. With several classes, it is the odds of a class against the rest, as the bits of a double: positive doubles
have the same order as their bits. A few bits of the fraction are used to extend the range of exponents, for rows with
extreme odds.

Unweighted rows are counted in slots. The range of keys is divided into buckets, and a bit map marks the buckets that
hold a negative row (a row not of class 1, or of the rest). Each marked bucket has a slot, found by counting the bits
below it. It holds the key of one of its rows, the number of rows with this key, and the number of negative rows in all
slots before. For a positive row, one slot is read and one key compared, however many negative rows are equal. Slots
with several keys are rare and store the other keys in a linked list. Nothing is sorted, steps do not depend on each
other, and the time does not depend on the numbers of levels and segments.

Weighted rows, cells of rows with equal scores and levels, and keys that are too unevenly spread for slots are sorted
(by buckets) instead, which gives the same integers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesieve.compiling import jit, jit_inner
from bayesieve.counts._kernels import count_bits
from bayesieve.criteria.scored_rows import THREE_WAY

BLOCK = 1024  # rows whose work memory stays in the first-level cache

SPARE_BITS = 6  # bits of the fraction of a double that are used for exponents
_FRACTION_BITS = 52 - SPARE_BITS
_LOG2_E = 1.4426950408889634
_LOG_2 = 0.6931471805599453
_WIDEST = 2e4  # nats; larger log odds count as certain
_BUCKETS_PER_ROW = 32  # largest number of buckets of the bit map per row; at least half of it
_LOW = (1 << 32) - 1
_MAX_STEPS = 2  # steps per row along linked lists beyond which sorting is faster
_BEYOND = np.iinfo(np.int64).max // 2
_MAX_MOVES = 8  # moves per item to sort the buckets beyond which merging is faster
_MOST_COPIED = 2048  # cells up to which adding up several tables is worthwhile


class Scores(NamedTuple):
    """Arrays that a pass over candidates reads: those of a `ClassBlock`, and the scores of the rows under the current
    subset.

    Attributes
    ----------
    logs : log odds of class 1 in steps or, with several classes, log ratios of each other class to the true one
    ratios : (n_others, n_rows) ratios of the other classes to the true one with several classes, otherwise None
    is_wide : (1, n_rows) mask of the rows with ratios beyond the range of doubles, or (0, n_rows) if there are none
    group_of, first_of, group_offsets : group of each row, first row of each group, and first group of each segment; a
        group is of rows with equal scores
    unit : nats per step
    tolerance : largest difference of tied scores, in steps, which may be due to rounding
    """

    codes: np.ndarray
    columns: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    kinds: np.ndarray
    n_codes: np.ndarray
    offsets: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    logs: np.ndarray
    ratios: np.ndarray | None
    is_wide: np.ndarray | None
    group_of: np.ndarray
    first_of: np.ndarray
    group_offsets: np.ndarray
    unit: float
    tolerance: int


class AreaMoves(NamedTuple):
    """Candidate subsets as arrays for the kernels; each adds or drops one feature.

    Attributes
    ----------
    features : (n_candidates,) position of the feature that is added or dropped, -1 for none
    signs : (n_candidates,) 1 if the feature is added, -1 if it is dropped
    steps, factors : flat tables of the log factors of the features in steps, and of the factors of the ratios
    step_starts, factor_starts : (n_candidates,) first entry of each candidate in these tables
    """

    features: np.ndarray
    signs: np.ndarray
    steps: np.ndarray
    step_starts: np.ndarray
    factors: np.ndarray
    factor_starts: np.ndarray


class Work(NamedTuple):
    """Scratch memory, which is overwritten for every candidate.

    Attributes
    ----------
    longs : (5, n) int64
    doubles : (5, n), a view of the memory of ``longs``
    ints : (4, n) int32
    levels : (2, n) uint16
    """

    longs: np.ndarray
    doubles: np.ndarray
    ints: np.ndarray
    levels: np.ndarray

    @classmethod
    def of(cls, n_rows: int) -> Work:
        """Allocate memory for up to ``n_rows`` rows, or cells of rows."""
        longs = np.empty((5, 2 * n_rows + 8), dtype=np.int64)
        shorter = (np.empty((n, 2 * n_rows + 8), dtype) for n, dtype in ((4, np.int32), (2, np.uint16)))
        return cls(longs, longs.view(np.float64), *shorter)


@jit_inner
def fill_levels(scan, feature, levels):
    """Write the level of each row for a feature as 16-bit integers into ``levels`` (n_rows,), and return the number of
    codes.

    ``scan`` holds the rows. If ``feature`` is -1 (no feature is added or dropped), all levels are 0.
    """
    if feature < 0:
        levels[:] = 0
        return 1
    codes, kind = scan.codes[scan.columns[feature]], scan.kinds[feature]
    low, high = scan.lows[feature], scan.highs[feature]
    if kind <= THREE_WAY:
        for i in range(codes.size):
            levels[i] = np.uint16(codes[i] > low) + np.uint16(codes[i] >= high)
    else:
        for i in range(codes.size):
            levels[i] = codes[i]
    return scan.n_codes[feature]


@jit_inner
def _fill_wide(is_wide, logs, unit, offsets, classes, levels, steps, n_codes, sign, wanted, keys, bits, odds):
    """Write the keys of rows whose ratios exceed the range of doubles, computed from logarithms by log-sum-exp.

    The key of a row is the odds of class ``wanted`` against the rest under a candidate, as an integer.

    Parameters
    ----------
    is_wide : (n_rows,) mask of these rows.
    logs : (n_others, n_rows) log ratios of each other class to the true one, in steps of ``unit`` nats.
    offsets, classes : first row of each segment, and its class.
    levels : (n_rows,) levels of the candidate's feature.
    steps, n_codes, sign : log factors of the levels in steps, number of codes, and 1 (added) or -1 (dropped).
    keys : (n_rows,) result.
    bits, odds : scratch memory, two views of the same bytes as int64 and double.
    """
    n_others = logs.shape[0]
    total = np.empty(n_others + 1, dtype=np.int64)
    for s in range(classes.size):
        for i in range(offsets[s], offsets[s + 1]):
            if not is_wide[i]:
                continue
            start = s * n_others * n_codes + np.int64(levels[i])
            total[classes[s]] = 0
            for o in range(n_others):
                total[o + np.int64(o >= classes[s])] = logs[o, i] + sign * steps[start + o * n_codes]
            largest = np.int64(-(1 << 62))
            for j in range(n_others + 1):
                if j != wanted:
                    largest = max(largest, total[j])
            rest = 0.0
            for j in range(n_others + 1):
                if j != wanted:
                    rest += np.exp((total[j] - largest) * unit)
            score = min(max((total[wanted] - largest) * unit - np.log(rest), -_WIDEST), _WIDEST)
            octave = np.floor(score * _LOG2_E)
            odds[i] = np.exp(score - octave * _LOG_2)
            keys[i] = (bits[i] >> SPARE_BITS) + (np.int64(octave) << _FRACTION_BITS)


@jit_inner
def fill_keys(scan, moves, candidate, n_codes, wanted, logs, ratios, is_wide, offsets, levels, keys, bits, odds):
    """Write the keys of rows, or of cells of equal rows, under the subset of a candidate into ``keys``.

    A key is an integer in the order of the scores: the log odds of class 1 in steps for two classes, otherwise the bits
    of the odds of class ``wanted`` against the rest.

    Parameters
    ----------
    scan, moves, candidate : rows, candidates, and the position of the candidate.
    n_codes : number of codes of its feature.
    logs, ratios, is_wide : arrays of `Scores` for these rows or cells; ``ratios`` is None for two classes.
    offsets, levels : first row of each segment, and (n_rows,) levels of the candidate's feature.
    keys : (n_rows,) result.
    bits, odds : scratch memory, two views of the same bytes as int64 and double.
    """
    steps = moves.steps[moves.step_starts[candidate] :]
    if ratios is None:  # scores plus the steps of the levels
        last = n_codes - 1
        for s in range(offsets.size - 1):
            sign = moves.signs[candidate] * (1 - 2 * scan.classes[s])  # of class 1 to class 0, for rows of both classes
            rows = slice(offsets[s], offsets[s + 1])
            score, level, key = logs[0, rows], levels[rows], keys[rows]
            step = steps[s * n_codes : (s + 1) * n_codes]
            if last > 7:
                for i in range(score.size):
                    key[i] = score[i] + sign * step[level[i]]
                continue
            # Select one of eight steps by the bits of the level: unlike table look-ups, this is vectorised.
            s0, s1 = sign * step[0], sign * step[min(1, last)]
            s2, s3 = sign * step[min(2, last)], sign * step[min(3, last)]
            s4, s5 = sign * step[min(4, last)], sign * step[min(5, last)]
            s6, s7 = sign * step[min(6, last)], sign * step[last]
            for i in range(score.size):
                a, b = s1 if level[i] & 1 else s0, s3 if level[i] & 1 else s2
                c, d = s5 if level[i] & 1 else s4, s7 if level[i] & 1 else s6
                low, high = b if level[i] & 2 else a, d if level[i] & 2 else c
                key[i] = score[i] + (high if level[i] & 4 else low)
    else:
        factors, n_others = moves.factors[moves.factor_starts[candidate] :], ratios.shape[0]
        for s in range(offsets.size - 1):  # the odds of the class, from the ratios of the other classes to the true one
            begin, end = offsets[s], offsets[s + 1]
            position = wanted - np.int64(wanted > scan.classes[s]) if scan.classes[s] != wanted else -1
            start = s * n_others * n_codes
            for i in range(begin, end):
                odds[i] = 0.0 if position < 0 else 1.0
            for o in range(n_others):
                factor = factors[start + o * n_codes : start + (o + 1) * n_codes]
                if o != position:
                    for i in range(begin, end):
                        odds[i] += ratios[o, i] * factor[levels[i]]
            if position < 0:
                for i in range(begin, end):
                    odds[i] = 1.0 / odds[i]
            else:
                factor = factors[start + position * n_codes : start + (position + 1) * n_codes]
                for i in range(begin, end):
                    odds[i] = ratios[position, i] * factor[levels[i]] / odds[i]
        for i in range(keys.size):
            keys[i] = bits[i] >> SPARE_BITS
        if is_wide.shape[0] > 0:
            _fill_wide(
                *(is_wide[0], logs, scan.unit, offsets, scan.classes, levels, steps, n_codes),
                *(moves.signs[candidate], wanted, keys, bits, odds),
            )


@jit_inner
def bucket_range(keys, n, n_buckets):
    """Return the lowest and highest of the first ``n`` keys, and by how many bits keys are shifted to give at most
    ``n_buckets`` buckets.
    """
    low = keys[0]
    high = keys[0]
    for i in range(n):
        low = min(low, keys[i])
        high = max(high, keys[i])
    shift = 0
    while (high - low) >> shift >= n_buckets:
        shift += 1
    return low, high, shift


@jit_inner
def _slot(bucket, words):
    """Return the number of marked buckets below ``bucket``, which is the number of its slot if it is marked.

    ``words`` is the bit map of marked buckets, see `_fill_slots`.
    """
    place = np.int64(bucket)
    word = words[np.uint64(place >> 5)]
    return np.uint64((word >> 32) + count_bits(word & ((np.int64(1) << (place & 31)) - 1)))


@jit_inner
def _fill_slots(keys, buckets, offsets, positive, tolerance, words, places, slots, extras):
    """Fill the bit map ``words`` and the table ``slots`` with the negative rows; return the number of rows in
    ``extras``.

    The key of a slot is that of its last row. Rows with another key are listed in ``extras``.

    Parameters
    ----------
    keys, buckets : (n_rows,) keys of the rows, and their buckets.
    offsets, positive : first row of each segment, and whether its rows are positive.
    tolerance : largest difference of tied keys.
    words : the low half of a word has the bits of 32 buckets, the high half the number of marked buckets in earlier
        words.
    places : (n_rows,) scratch memory for the slot of each row.
    slots : two numbers for slot k. The high half of slots[2 k] is the number of rows in earlier slots, the low half
        twice the number of rows with the slot's key, plus 1 if the slot has other keys. slots[2 k + 1] is the key.
    extras : (n_rows,) result.
    """
    for s in range(positive.size):
        if not positive[s]:
            for i in range(offsets[s], offsets[s + 1]):
                bucket = np.int64(buckets[i])
                words[np.uint64(bucket >> 5)] |= np.int64(1) << (bucket & 31)
    n_slots = 0
    for w in range(words.size):
        inside = count_bits(words[w])
        words[w] |= n_slots << 32
        n_slots += inside
    slots[: 2 * n_slots] = 0
    for s in range(positive.size):
        if not positive[s]:
            rows = slice(offsets[s], offsets[s + 1])
            key, bucket, place = keys[rows], buckets[rows], places[rows]
            for i in range(key.size):
                place[i] = np.int32(_slot(bucket[i], words))
            for i in range(key.size):
                slots[(np.uint64(place[i]) << np.uint64(1)) | np.uint64(1)] = key[i]
    within, n_extras = np.uint64(2 * tolerance), 0
    for s in range(positive.size):
        if not positive[s]:
            first, rows = offsets[s], slice(offsets[s], offsets[s + 1])
            key, place = keys[rows], places[rows]
            for i in range(key.size):
                at = np.uint64(place[i]) << np.uint64(1)
                same = np.int64(np.uint64(key[i] - slots[at | np.uint64(1)] + tolerance) <= within)
                slots[at] += (1 << 32) + 2 * same
                extras[np.uint64(n_extras)] = first + i
                n_extras += 1 - same
    total = 0
    for k in range(n_slots):
        entry = slots[2 * k]
        of_slot, twice_same = entry >> 32, entry & _LOW
        slots[2 * k] = (total << 32) | twice_same | np.int64(2 * of_slot != twice_same)
        total += of_slot
    slots[2 * n_slots], slots[2 * n_slots + 1] = total << 32, _BEYOND
    return n_extras


@jit_inner
def _chain_extras(keys, buckets, words, extras, tolerance, heads, nodes, left):
    """Store keys that differ from the key of their slot in linked lists of nodes (key, number of rows, next node),
    which begin at heads[slot].

    Return how many of the ``left`` allowed steps remain. If it is negative, lists are too long, and the caller sorts
    instead.

    Parameters
    ----------
    keys, buckets : (n_rows,) keys of the rows, and their buckets.
    words : bit map of marked buckets, see `_fill_slots`.
    extras : rows whose keys are stored.
    tolerance : largest difference of tied keys.
    heads, nodes : results.
    left : number of steps along the lists that are allowed.
    """
    for x in range(extras.size):
        heads[_slot(buckets[np.uint64(extras[x])], words)] = -1
    n = 0
    for x in range(extras.size):
        row = np.uint64(extras[x])
        key = keys[row]
        at = _slot(buckets[row], words)
        k = np.int64(heads[at])
        while k >= 0 and abs(nodes[k, 0] - key) > tolerance:
            k = nodes[k, 2]
            left -= 1
        if k >= 0:
            nodes[k, 1] += 1
        else:
            nodes[n, 0], nodes[n, 1], nodes[n, 2] = key, 1, heads[at]
            heads[at] = n
            n += 1
        if left < 0:
            break
    return left


@jit_inner
def slot_pairs(keys, offsets, positive, tolerance, words, slots, ints):
    """Count correctly ordered pairs of unweighted rows by slots.

    Return whether the method succeeded, and twice the number of pairs in which the positive row has the higher score,
    plus the number of ties. The method fails if too many keys share buckets, or tied keys might be in different
    buckets.

    Parameters
    ----------
    keys : (n_rows,) keys in the order of the scores.
    offsets, positive : first row of each segment, and whether its rows are positive.
    tolerance : largest difference of tied keys.
    words, slots, ints : scratch memory; ``ints`` has shape (4, n).
    """
    buckets, places, heads, unsure = ints[0], ints[1], ints[2], ints[3]
    n_negative = 0
    for s in range(positive.size):
        if not positive[s]:
            n_negative += offsets[s + 1] - offsets[s]
    low, high, shift = bucket_range(keys, keys.size, _BUCKETS_PER_ROW * n_negative + 1)
    if (np.int64(1) << shift) <= 64 * tolerance:
        return False, 0
    low -= np.int64(1) << (shift - 1)
    inside = (np.int64(1) << shift) - 1
    n_near = 0
    for i in range(keys.size):
        key = keys[i] - low
        buckets[i] = np.int32(key >> shift)
        n_near += np.int64(((key + tolerance) & inside) <= 2 * tolerance)
    if n_near > 0:  # rows so near to the edge of a bucket that a tie may be in the next bucket
        return False, 0
    words = words[: ((high - low) >> shift >> 5) + 1]
    words[:] = 0
    n_extras = _fill_slots(keys, buckets, offsets, positive, tolerance, words, places, slots, unsure)
    nodes = np.empty((n_extras, 3), dtype=np.int64)
    left = _MAX_STEPS * keys.size
    left = _chain_extras(keys, buckets, words, unsure[:n_extras], tolerance, heads, nodes, left)
    if left < 0:
        return False, 0
    twice, n_unsure = 0, 0
    for s in range(positive.size):
        if positive[s]:
            first, rows = offsets[s], slice(offsets[s], offsets[s + 1])
            key, bucket, place = keys[rows], buckets[rows], places[rows]
            for i in range(key.size):
                place[i] = np.int32(_slot(bucket[i], words))
            for i in range(key.size):
                at = np.uint64(place[i]) << np.uint64(1)
                entry = slots[at]
                above = key[i] - slots[at | np.uint64(1)]
                ties = (entry & _LOW) >> 1
                twice += 2 * (entry >> 32) + ties * (np.int64(above > tolerance) + np.int64(above >= -tolerance))
                unsure[np.uint64(n_unsure)] = first + i
                n_unsure += entry & 1
    for u in range(n_unsure):  # rows in slots with several keys: look up the other keys
        row = np.uint64(unsure[np.uint64(u)])
        k = np.int64(heads[_slot(buckets[row], words)])
        while k >= 0:
            above = keys[row] - nodes[k, 0]
            twice += nodes[k, 1] * (np.int64(above > tolerance) + np.int64(above >= -tolerance))
            k = nodes[k, 2]
            left -= 1
        if left < 0:
            return False, 0
    return True, twice


@jit_inner
def order_items(keys, weights, n, ordered, ordered_weights, count):
    """Sort keys in ascending order, stably, together with their weights.

    Keys are distributed to buckets and then sorted by insertion; if that takes too many steps, by merging.

    Parameters
    ----------
    keys, weights : arrays of at least ``n`` numbers, of which the first ``n`` are sorted.
    ordered, ordered_weights : results.
    count : scratch memory for the numbers of keys in each bucket.
    """
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
            if moves > _MAX_MOVES * n:
                break
    if moves <= _MAX_MOVES * n:
        return
    merged, merged_weights, width = np.empty(n, dtype=np.int64), np.empty(n), 1
    while width < n:  # a merge sort of all
        for begin in range(0, n, 2 * width):
            middle, end = min(begin + width, n), min(begin + 2 * width, n)
            i, j = begin, middle
            for k in range(begin, end):
                if i < middle and (j >= end or ordered[i] <= ordered[j]):
                    merged[k], merged_weights[k] = ordered[i], ordered_weights[i]
                    i += 1
                else:
                    merged[k], merged_weights[k] = ordered[j], ordered_weights[j]
                    j += 1
        for k in range(n):
            ordered[k], ordered_weights[k] = merged[k], merged_weights[k]
        width *= 2


@jit_inner
def sorted_pairs(keys, weights, offsets, positive, tolerance, ordered, ordered_weights, count):
    """Count correctly ordered pairs of weighted rows or cells ("items") by sorting.

    Return twice the weight of the pairs in which the positive item has the higher score, plus the weight of ties.
    Neighbouring keys that differ by at most ``tolerance`` are ties.

    Parameters
    ----------
    keys, weights : (n_items,) keys in the order of the scores, which are overwritten, and weights of the items.
    offsets, positive : first item of each segment, and whether its items are positive.
    tolerance : largest difference of tied keys.
    ordered, ordered_weights, count : scratch memory.
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
    negative, positives = 0.0, 0.0  # weight of negatives so far, and of positives in the current group of ties
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
def pair_sums(scan, moves, chosen, targets, positive, weights, work, sums):
    """Compute the weight of the pairs that each candidate subset of features orders correctly, for each class against
    the rest.

    sums[c, t] is set for candidate c in ``chosen`` and class targets[t], if it is NaN.

    Parameters
    ----------
    scan, moves : scores of the rows, and the candidates.
    chosen : positions of the candidates to evaluate.
    targets : classes that are compared with the rest.
    positive : (n_targets, n_segments) whether the rows of a segment are of that class.
    weights : (n_rows,) row weights, for sorting by `sorted_pairs`; None to count by `slot_pairs`, after whose failures
        sums stay NaN.
    work : scratch memory.
    sums : (n_candidates, n_targets) result.
    """
    n_rows = scan.group_of.size
    levels, keys, bits, odds = work.levels[0][:n_rows], work.longs[0][:n_rows], work.longs[1], work.doubles[1]
    for c in chosen:
        n_codes = fill_levels(scan, moves.features[c], levels)
        for t in range(targets.size):
            if not np.isnan(sums[c, t]):
                continue
            fill_keys(
                *(scan, moves, c, n_codes, targets[t], scan.logs, scan.ratios, scan.is_wide),
                *(scan.offsets, levels, keys, bits, odds),
            )
            if weights is None:
                worked, pairs = slot_pairs(
                    keys, scan.offsets, positive[t], scan.tolerance, bits, work.longs[2], work.ints
                )
                if worked:
                    sums[c, t] = 0.5 * pairs
            else:
                sums[c, t] = 0.5 * sorted_pairs(
                    *(keys, weights, scan.offsets, positive[t], scan.tolerance),
                    *(work.longs[2], work.doubles[3], work.ints[0]),
                )


@jit
def group_rows(logs, offsets, slots, group_of, first_of):
    """Group rows with equal scores in the same segment, numbered as they first appear; return the number of groups.

    Parameters
    ----------
    logs : (n_others, n_rows) scores or log ratios of the rows, in integer steps.
    offsets : first row of each segment.
    slots : memory for a hash table, filled with -1.
    group_of : (n_rows,) result: the group of each row.
    first_of : (n_rows,) result: the first row of each group.
    """
    n_others = logs.shape[0]
    mask = np.uint64(slots.size - 1)
    n_groups = 0
    for s in range(offsets.size - 1):
        begin = offsets[s]
        for i in range(begin, offsets[s + 1]):
            mixed = np.uint64(s + 1)
            for o in range(n_others):
                mixed = (mixed ^ np.uint64(logs[o, i])) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(29)
            place = (mixed * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(20) & mask
            while True:
                group = slots[place]
                if group < 0:
                    slots[place] = n_groups
                    first_of[n_groups] = i
                    group_of[i] = n_groups
                    n_groups += 1
                    break
                first = first_of[group]
                same = first >= begin
                for o in range(n_others):
                    same = same and logs[o, first] == logs[o, i]
                if same:
                    group_of[i] = group
                    break
                place = (place + np.uint64(1)) & mask
    return n_groups


@jit_inner
def _of_cells(values, first_of, item_groups, n):
    """Return the values of each cell of rows with equal scores and levels, (n_others, n); None if ``values`` is None.

    Parameters
    ----------
    values : (n_others, n_rows) values of the rows, equal within a group.
    first_of, item_groups : first row of each group, and group of each of the ``n`` cells.
    """
    if values is None:
        return None
    else:  # noqa: RET505 - compiled to one of both, by the type of the argument
        columns = np.empty((values.shape[0], n), dtype=values.dtype)
        for o in range(values.shape[0]):
            for k in range(n):
                columns[o, k] = values[o, first_of[item_groups[k]]]
        return columns


@jit
def cell_sums(scan, moves, chosen, targets, positive, work, sums):
    """Compute the weight of the pairs that each candidate subset of features orders correctly from cells of rows with
    equal scores and levels, so that fewer items are sorted. Parameters are those of `pair_sums`.
    """
    levels, item_levels = work.levels[0][: scan.group_of.size], work.levels[1]
    keys, bits, odds, ordered = work.longs[0], work.longs[1], work.doubles[1], work.longs[2]
    cells, item_weights = work.doubles[3], work.doubles[4]
    count, item_groups = work.ints[0], work.ints[1]
    offsets = np.zeros(scan.offsets.size, dtype=np.int64)
    for c in chosen:
        n_codes = fill_levels(scan, moves.features[c], levels)
        cell = cells[: scan.first_of.size * n_codes]
        if scan.weights.size > 0:
            cell[:] = 0.0
            for i in range(scan.group_of.size):
                cell[np.uint64(np.int64(scan.group_of[i]) * n_codes + levels[i])] += scan.weights[i]
        else:  # rows take turns among four tables, so that increments of one cell need not wait
            n_tables = 4 if cell.size <= _MOST_COPIED and 4 * cell.size <= count.size else 1
            count[: n_tables * cell.size] = 0
            last = levels.size - levels.size % 4
            for i in range(0, last, 4):
                for k in range(4):
                    at = np.int64(scan.group_of[np.uint64(i + k)]) * n_codes + levels[np.uint64(i + k)]
                    count[np.uint64(at + (k * cell.size if n_tables == 4 else 0))] += 1
            for i in range(last, levels.size):
                count[np.uint64(np.int64(scan.group_of[i]) * n_codes + levels[i])] += 1
            for k in range(cell.size):
                cell[k] = count[k]
            for t in range(1, n_tables):
                for k in range(cell.size):
                    cell[k] += count[t * cell.size + k]
        n = 0
        for s in range(offsets.size - 1):
            for g in range(scan.group_offsets[s], scan.group_offsets[s + 1]):
                for level in range(n_codes):
                    item_groups[n], item_levels[n], item_weights[n] = g, level, cell[g * n_codes + level]
                    n += np.int64(item_weights[n] > 0.0)
            offsets[s + 1] = n
        logs = _of_cells(scan.logs, scan.first_of, item_groups, n)
        ratios = _of_cells(scan.ratios, scan.first_of, item_groups, n)
        is_wide = _of_cells(scan.is_wide, scan.first_of, item_groups, n)
        for t in range(targets.size):
            fill_keys(
                *(scan, moves, c, n_codes, targets[t], logs, ratios, is_wide),
                *(offsets, item_levels, keys[:n], bits, odds),
            )
            sums[c, t] = 0.5 * sorted_pairs(
                keys, item_weights, offsets, positive[t], scan.tolerance, ordered, cells, count
            )
