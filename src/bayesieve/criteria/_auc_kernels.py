"""Compiled passes over the candidates of an AUC step: keys that order the rows as the scores of a class do, for rows or
for cells of equal rows, then the count of ordered pairs.

Two classes: the key is the log odds of class 1 in whole log units; a level adds a constant. Several classes: the odds
of the class against the rest, as the bits of a double, which are ordered as the number is; a few bits of the fraction
are given up for odds beyond the range of doubles, which rows far from every other class reach.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesieve.compiling import jit
from bayesieve.criteria._binary_kernels import binary_pairs
from bayesieve.criteria._cell_kernels import count_cells, list_cells
from bayesieve.criteria._pair_kernels import ranked_pairs, sorted_pairs
from bayesieve.criteria._slot_kernels import slot_pairs
from bayesieve.criteria.class_block import THREE_WAY, TWO_WAY

SPARE_BITS = 6  # of the bits of a double, given up for a wider range of exponents
_FRACTION_BITS = 52 - SPARE_BITS
_MOST_CELLS = 0.5  # per row, for which counting cells is faster than keys of all rows
_LEAST_DISTINCT = 0.75  # scores per row, from which so few rows tie that they may be compared one by one
_LOG2_E = 1.4426950408889634
_LOG_2 = 0.6931471805599453
_WIDEST = 2e4  # nats; odds beyond count as certain


class Layout(NamedTuple):
    """The arrays of a block of rows."""

    codes: np.ndarray
    columns: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    kinds: np.ndarray
    n_codes: np.ndarray
    offsets: np.ndarray
    classes: np.ndarray
    weights: np.ndarray


class Scan(NamedTuple):
    """The current subset as a pass over candidates needs it: logs and ratios (n_others, n_rows), rows with ratios
    beyond the range of doubles, and the groups of equal rows.
    """

    logs: np.ndarray
    ratios: np.ndarray
    is_wide: np.ndarray
    group_of: np.ndarray
    first_of: np.ndarray
    group_offsets: np.ndarray
    unit: float
    tolerance: int


class Moves(NamedTuple):
    """Candidates: features (-1: none), signs (1 added, -1 dropped), and where their steps and factors start."""

    features: np.ndarray
    signs: np.ndarray
    steps: np.ndarray
    step_starts: np.ndarray
    factors: np.ndarray
    factor_starts: np.ndarray


@jit
def fill_levels(codes, low, high, kind, levels):
    """Levels of a feature as 16-bit numbers."""
    if kind <= THREE_WAY:
        for i in range(codes.size):
            levels[i] = np.uint16(codes[i] > low) + np.uint16(codes[i] >= high)
    else:
        for i in range(codes.size):
            levels[i] = codes[i]


@jit
def _add_few(scores, levels, steps, keys):
    """keys = scores plus one of eight steps, chosen bit by bit of the level: reading a table takes longer."""
    s0, s1, s2, s3, s4, s5, s6, s7 = steps[0], steps[1], steps[2], steps[3], steps[4], steps[5], steps[6], steps[7]
    for i in range(scores.size):
        level = levels[i]
        a, b = s1 if level & 1 else s0, s3 if level & 1 else s2
        c, d = s5 if level & 1 else s4, s7 if level & 1 else s6
        low, high = b if level & 2 else a, d if level & 2 else c
        keys[i] = scores[i] + (high if level & 4 else low)


@jit
def _fill_two(scores, offsets, levels, steps, n_codes, sign, keys):
    """Keys of two classes: scores plus the steps of the levels; ``steps`` is (segments, codes), flat."""
    few = np.zeros(8, dtype=np.int64)
    for s in range(offsets.size - 1):
        score = scores[offsets[s] : offsets[s + 1]]
        level = levels[offsets[s] : offsets[s + 1]]
        key = keys[offsets[s] : offsets[s + 1]]
        step = steps[s * n_codes : (s + 1) * n_codes]
        if n_codes <= few.size:
            for k in range(n_codes):
                few[k] = sign * step[k]
            _add_few(score, level, few, key)
        else:
            for i in range(score.size):
                key[i] = score[i] + sign * step[level[i]]


@jit
def _fill_many(ratios, offsets, classes, levels, factors, n_codes, wanted, keys, bits):
    """Keys of class ``wanted``, one of several: its odds, from the ratios of the other classes to the true one."""
    n_others = ratios.shape[0]
    odds = bits.view(np.float64)
    for s in range(offsets.size - 1):
        begin, end = offsets[s], offsets[s + 1]
        own = -1
        if classes[s] != wanted:
            own = wanted - np.int64(wanted > classes[s])
        start = s * n_others * n_codes
        for i in range(begin, end):
            odds[i] = 0.0 if own < 0 else 1.0
        for o in range(n_others):
            factor = factors[start + o * n_codes : start + (o + 1) * n_codes]
            if o != own:
                for i in range(begin, end):
                    odds[i] += ratios[o, i] * factor[levels[i]]
        if own < 0:
            for i in range(begin, end):
                odds[i] = 1.0 / odds[i]
        else:
            factor = factors[start + own * n_codes : start + (own + 1) * n_codes]
            for i in range(begin, end):
                odds[i] = ratios[own, i] * factor[levels[i]] / odds[i]
    for i in range(keys.size):
        keys[i] = bits[i] >> SPARE_BITS


@jit
def _fill_wide(is_wide, logs, unit, offsets, classes, levels, steps, n_codes, sign, wanted, keys):
    """Keys of the rows with ratios beyond the range of doubles, from logarithms."""
    n_others = logs.shape[0]
    total = np.empty(n_others + 1, dtype=np.int64)
    mantissa = np.empty(1)
    bits = mantissa.view(np.int64)
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
            mantissa[0] = np.exp(score - octave * _LOG_2)
            keys[i] = (bits[0] >> SPARE_BITS) + (np.int64(octave) << _FRACTION_BITS)


@jit
def _label(keys, offsets, positive):
    """Shift the keys up by one bit, which tells whether the row is positive."""
    for s in range(positive.size):
        bit = np.int64(positive[s])
        for i in range(offsets[s], offsets[s + 1]):
            keys[i] = 2 * keys[i] + bit


@jit
def _gather(values, item_groups, first_of, gathered):
    for o in range(gathered.shape[0]):
        for k in range(item_groups.size):
            gathered[o, k] = values[o, first_of[item_groups[k]]]


@jit
def _fill_keys(layout, scan, moves, c, n_codes, wanted, logs, ratios, is_wide, offsets, levels, keys, bits):
    """Keys of rows, or of cells, with candidate ``c`` moved."""
    sign = moves.signs[c]
    steps = moves.steps[moves.step_starts[c] :]
    if logs.shape[0] == 1:
        _fill_two(logs[0], offsets, levels, steps, n_codes, sign, keys)
        return
    factors = moves.factors[moves.factor_starts[c] :]
    _fill_many(ratios, offsets, layout.classes, levels, factors, n_codes, wanted, keys, bits)
    if is_wide.size > 0:
        _fill_wide(is_wide, logs, scan.unit, offsets, layout.classes, levels, steps, n_codes, sign, wanted, keys)


@jit
def pair_sums(layout, scan, moves, targets, positive, ladder, lists, sums):
    """sums[c, t] = weight of the pairs that the scores of class targets[t] order rightly, with candidate c moved.

    ``positive[t, s]``: whether the rows of segment s are of that class. ``ladder``: the sorted rows of the two
    segments in ``lists``, or empty where it does not pay. The work memory is a constant number of words
    per row and class, whatever the number of candidates.
    """
    n_rows = scan.group_of.size
    n_groups = scan.first_of.size
    n_others = scan.logs.shape[0]
    levels = np.zeros(n_rows, dtype=np.uint16)
    keys, ordered = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    bits = np.empty(n_rows if n_others > 1 else 0, dtype=np.int64)
    ordered_weights, unit_weights = np.empty(n_rows), np.ones(n_rows)
    count = np.empty(2 * n_rows + 2, dtype=np.int32)
    words, slots = np.empty(2 * n_rows + 8, dtype=np.int64), np.empty(2 * n_rows + 2, dtype=np.int64)
    unsure = np.empty(n_rows + 1, dtype=np.int32)
    item_groups, item_levels = np.empty(n_rows + 1, dtype=np.int32), np.empty(n_rows + 1, dtype=np.uint16)
    item_weights = np.empty(n_rows + 1)
    item_offsets = np.zeros(layout.offsets.size, dtype=np.int64)
    item_logs = np.empty((n_others, n_rows), dtype=np.int64)
    item_ratios = np.empty((scan.ratios.shape[0], n_rows))
    no_wide = np.zeros(0, dtype=np.bool_)
    for c in range(moves.features.size):
        feature = moves.features[c]
        n_codes = 1
        if feature >= 0 and ladder.scores.size > 0 and layout.kinds[feature] == TWO_WAY:
            column, bound = layout.codes[layout.columns[feature]], layout.lows[feature]
            n = layout.n_codes[feature]
            steps = moves.steps[moves.step_starts[c] :]
            below, above = steps[lists[0] * n : lists[0] * n + 2], steps[lists[1] * n : lists[1] * n + 2]
            sums[c, 0] = 0.5 * binary_pairs(
                ladder, column, bound, below, above, moves.signs[c], scan.tolerance, words[: n_rows + 2]
            )
            if layout.classes[lists[1]] == 0:  # looked up among the rows of class 1, being fewer
                sums[c, 0] = np.float64(ladder.positives.size * ladder.negatives.size) - sums[c, 0]
            continue
        if feature >= 0:
            n_codes = layout.n_codes[feature]
            column = layout.codes[layout.columns[feature]]
            fill_levels(column, layout.lows[feature], layout.highs[feature], layout.kinds[feature], levels)
        else:
            levels[:] = 0
        if n_groups * n_codes <= _MOST_CELLS * n_rows:
            cells = ordered_weights[: n_groups * n_codes]
            count_cells(scan.group_of, levels, n_codes, layout.weights, count, cells)
            n = list_cells(cells, scan.group_offsets, n_codes, item_offsets, item_groups, item_levels, item_weights)
            _gather(scan.logs, item_groups[:n], scan.first_of, item_logs)
            _gather(scan.ratios, item_groups[:n], scan.first_of, item_ratios)
            is_wide = no_wide
            if scan.is_wide.size > 0:
                is_wide = scan.is_wide[scan.first_of[item_groups[:n]]]
            for t in range(targets.size):
                _fill_keys(
                    layout, scan, moves, c, n_codes, targets[t],
                    item_logs, item_ratios, is_wide, item_offsets, item_levels, keys[:n], bits,
                )  # fmt: skip
                _label(keys, item_offsets, positive[t])
                twice = sorted_pairs(keys, item_weights, n, scan.tolerance, ordered, ordered_weights, count)
                sums[c, t] = 0.5 * twice
            continue
        for t in range(targets.size):
            _fill_keys(
                layout, scan, moves, c, n_codes, targets[t],
                scan.logs, scan.ratios, scan.is_wide, layout.offsets, levels, keys, bits,
            )  # fmt: skip
            if layout.weights.size == 0:
                if n_groups >= _LEAST_DISTINCT * n_rows:
                    worked, pairs = ranked_pairs(
                        keys, layout.offsets, positive[t], scan.tolerance,
                        words, count[:n_rows], count[n_rows : 2 * n_rows], unsure,
                    )  # fmt: skip
                else:
                    worked, pairs = slot_pairs(
                        keys, layout.offsets, positive[t], scan.tolerance,
                        words, slots, count[:n_rows], count[n_rows : 2 * n_rows + 1], unsure,
                    )  # fmt: skip
                if worked:
                    sums[c, t] = 0.5 * pairs
                    continue
            _label(keys, layout.offsets, positive[t])
            weights = layout.weights if layout.weights.size > 0 else unit_weights
            sums[c, t] = 0.5 * sorted_pairs(keys, weights, n_rows, scan.tolerance, ordered, ordered_weights, count)
