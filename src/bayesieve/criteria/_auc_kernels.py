"""Compiled keys that order the rows, or cells of equal rows, as the scores of a class do with a candidate moved.

Two classes: the key is the log odds of class 1 in whole log units; a level adds a constant. Several classes: the odds
of the class against the rest, as the bits of a double, which are ordered as the number is; a few bits of the fraction
are given up for odds beyond the range of doubles, which rows far from every other class reach.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayesieve.compiling import jit_inner
from bayesieve.criteria.class_block import THREE_WAY

BLOCK = 1024  # rows whose work memory stays in the first-level cache

SPARE_BITS = 6  # of the bits of a double, given up for a wider range of exponents
_FRACTION_BITS = 52 - SPARE_BITS
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
    """The current subset as a pass over candidates needs it: logs and, with several classes, ratios (n_others, n_rows)
    and which rows have ratios beyond the range of doubles, (1, n_rows), or (0, n_rows) where none has; the groups of
    equal rows.
    """

    logs: np.ndarray
    ratios: np.ndarray | None
    is_wide: np.ndarray | None
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


class Work(NamedTuple):
    """Memory that every candidate overwrites: whole numbers of 64 bits, the same memory as doubles, whole numbers of 32
    bits and levels, (5, n), (5, n), (4, n) and (2, n).
    """

    longs: np.ndarray
    doubles: np.ndarray
    ints: np.ndarray
    levels: np.ndarray

    @classmethod
    def of(cls, n_rows: int) -> Work:
        longs = np.empty((5, 2 * n_rows + 8), dtype=np.int64)
        shorter = (np.empty((n, 2 * n_rows + 8), dtype) for n, dtype in ((4, np.int32), (2, np.uint16)))
        return cls(longs, longs.view(np.float64), *shorter)


@jit_inner
def fill_levels(layout, feature, levels):
    """Levels of a feature as 16-bit numbers, all 0 of no feature; returns how many codes there are."""
    if feature < 0:
        levels[:] = 0
        return 1
    codes, kind = layout.codes[layout.columns[feature]], layout.kinds[feature]
    low, high = layout.lows[feature], layout.highs[feature]
    if kind <= THREE_WAY:
        for i in range(codes.size):
            levels[i] = np.uint16(codes[i] > low) + np.uint16(codes[i] >= high)
    else:
        for i in range(codes.size):
            levels[i] = codes[i]
    return layout.n_codes[feature]


@jit_inner
def _fill_many(ratios, offsets, classes, levels, factors, n_codes, wanted, keys, bits, odds):
    """Keys of class ``wanted``, one of several: its odds, from the ratios of the other classes to the true one."""
    n_others = ratios.shape[0]
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


@jit_inner
def _fill_wide(is_wide, logs, unit, offsets, classes, levels, steps, n_codes, sign, wanted, keys, bits, odds):
    """Keys of the rows with ratios beyond the range of doubles, from logarithms."""
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
def fill_keys(
    layout, moves, candidate, n_codes, wanted, logs, ratios, is_wide, unit, offsets, levels, keys, bits, odds
):
    """Keys of rows, or of cells, with a ``candidate`` moved; two classes have no ``ratios``. ``bits`` and ``odds`` are
    the same memory.
    """
    sign = moves.signs[candidate]
    steps = moves.steps[moves.step_starts[candidate] :]
    if ratios is None:  # scores plus the steps of the levels
        last = n_codes - 1
        for s in range(offsets.size - 1):
            rows = slice(offsets[s], offsets[s + 1])
            score, level, key = logs[0, rows], levels[rows], keys[rows]
            step = steps[s * n_codes : (s + 1) * n_codes]
            if last > 7:
                for i in range(score.size):
                    key[i] = score[i] + sign * step[level[i]]
                continue
            # One of eight steps, chosen bit by bit of the level: reading a table takes longer.
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
        factors = moves.factors[moves.factor_starts[candidate] :]
        _fill_many(ratios, offsets, layout.classes, levels, factors, n_codes, wanted, keys, bits, odds)
        if is_wide.shape[0] > 0:
            _fill_wide(
                is_wide[0], logs, unit, offsets, layout.classes, levels, steps, n_codes, sign, wanted, keys, bits, odds
            )


@jit_inner
def bucket_range(keys, n, n_buckets):
    """Lowest and highest of ``n`` keys, and how many bits to drop so that their distances fall into ``n_buckets``."""
    low = keys[0]
    high = keys[0]
    for i in range(n):
        low = min(low, keys[i])
        high = max(high, keys[i])
    shift = 0
    while (high - low) >> shift >= n_buckets:
        shift += 1
    return low, high, shift
