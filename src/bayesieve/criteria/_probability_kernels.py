"""Compiled sums over rows of the probability of the true class, and of squared errors, for all candidates."""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner, jit_sum
from bayesieve.criteria._kernels import BLOCK, spread, sum_products

FEWEST = 32  # rows that the fused loops take at once


@jit_sum
def _four(a, b, c, d):
    """1/a + 1/b + 1/c + 1/d by one division: divisions are what would bound these loops."""
    ab = a * b
    cd = c * d
    return ((a + b) * cd + (c + d) * ab) / (ab * cd)


@jit_sum
def _reciprocals(total, quarter):
    """Sum of 1 / total[i] over 4 * quarter entries."""
    found = 0.0
    for i in range(quarter):
        found += _four(total[i], total[quarter + i], total[2 * quarter + i], total[3 * quarter + i])
    return found


@jit_sum
def _ratios(weights, total):
    """Sum of weights[i] / total[i]."""
    found = 0.0
    for i in range(weights.size):
        found += weights[i] / total[i]
    return found


@jit_sum
def _two_way_1(code, low, quarter, r, l0, l1):
    """Sum of P(true class), two levels and one other class; the next two have two and three other classes."""
    found = 0.0
    for i in range(quarter):
        j = quarter + i
        k = 2 * quarter + i
        n = 3 * quarter + i
        a = 1.0 + r[i] * (l0 if code[i] <= low else l1)
        b = 1.0 + r[j] * (l0 if code[j] <= low else l1)
        c = 1.0 + r[k] * (l0 if code[k] <= low else l1)
        d = 1.0 + r[n] * (l0 if code[n] <= low else l1)
        found += _four(a, b, c, d)
    return found


@jit_sum
def _two_way_2(code, low, quarter, r, s, l0, l1, m0, m1):
    found = 0.0
    for i in range(quarter):
        j = quarter + i
        k = 2 * quarter + i
        n = 3 * quarter + i
        at = code[i] <= low
        a = 1.0 + r[i] * (l0 if at else l1) + s[i] * (m0 if at else m1)
        at = code[j] <= low
        b = 1.0 + r[j] * (l0 if at else l1) + s[j] * (m0 if at else m1)
        at = code[k] <= low
        c = 1.0 + r[k] * (l0 if at else l1) + s[k] * (m0 if at else m1)
        at = code[n] <= low
        d = 1.0 + r[n] * (l0 if at else l1) + s[n] * (m0 if at else m1)
        found += _four(a, b, c, d)
    return found


@jit_sum
def _two_way_3(code, low, quarter, r, s, t, l0, l1, m0, m1, n0, n1):
    found = 0.0
    for i in range(quarter):
        j = quarter + i
        k = 2 * quarter + i
        n = 3 * quarter + i
        at = code[i] <= low
        a = 1.0 + r[i] * (l0 if at else l1) + s[i] * (m0 if at else m1) + t[i] * (n0 if at else n1)
        at = code[j] <= low
        b = 1.0 + r[j] * (l0 if at else l1) + s[j] * (m0 if at else m1) + t[j] * (n0 if at else n1)
        at = code[k] <= low
        c = 1.0 + r[k] * (l0 if at else l1) + s[k] * (m0 if at else m1) + t[k] * (n0 if at else n1)
        at = code[n] <= low
        d = 1.0 + r[n] * (l0 if at else l1) + s[n] * (m0 if at else m1) + t[n] * (n0 if at else n1)
        found += _four(a, b, c, d)
    return found


@jit_inner
def _pass_1(sums, codes, first, padded, columns, lows, starts, n_codes, segment, table, r):
    for c in range(columns.size):
        at = starts[c] + segment * n_codes[c]
        code = codes[columns[c], first : first + padded]
        sums[c] += _two_way_1(code, lows[c], padded // 4, r, table[at], table[at + 1])


@jit_inner
def _pass_2(sums, codes, first, padded, columns, lows, starts, n_codes, segment, table, r, s):
    for c in range(columns.size):
        at = starts[c] + 2 * segment * n_codes[c]
        to = at + n_codes[c]
        code = codes[columns[c], first : first + padded]
        sums[c] += _two_way_2(code, lows[c], padded // 4, r, s, table[at], table[at + 1], table[to], table[to + 1])


@jit_inner
def _pass_3(sums, codes, first, padded, columns, lows, starts, n_codes, segment, table, r, s, t):
    for c in range(columns.size):
        at = starts[c] + 3 * segment * n_codes[c]
        to = at + n_codes[c]
        too = to + n_codes[c]
        code = codes[columns[c], first : first + padded]
        sums[c] += _two_way_3(
            *(code, lows[c], padded // 4, r, s, t),
            *(table[at], table[at + 1], table[to], table[to + 1], table[too], table[too + 1]),
        )


@jit
def two_way_sums(ratios, codes, offsets, columns, lows, starts, n_codes, table, sums):
    """As ``probability_sums`` for features of two levels that all rows show, up to three other classes and rows of
    equal weight, of which there are at least FEWEST: the case of hundreds of binary indicators in fused loops.

    Rows are padded to FEWEST at the end of a segment: each row of `padding` adds exactly 1 too much.
    """
    n_others = ratios.shape[0]
    n_rows = codes.shape[1]
    near = np.zeros((3, BLOCK))
    r, s, t = near[0], near[1], near[2]
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], BLOCK):
            n = min(BLOCK, offsets[segment + 1] - begin)
            padded = min(BLOCK, (n + FEWEST - 1) // FEWEST * FEWEST)
            # Rows around the block have ratio 0 and add exactly 1 each, whatever their codes.
            first = min(begin, n_rows - padded)
            ahead = begin - first
            for other in range(n_others):
                near[other, :ahead] = 0.0
                for i in range(n):
                    near[other, ahead + i] = ratios[other, begin + i]
                near[other, ahead + n : padded] = 0.0
            if n_others == 1:
                _pass_1(sums, codes, first, padded, columns, lows, starts, n_codes, segment, table, r)
            elif n_others == 2:
                _pass_2(sums, codes, first, padded, columns, lows, starts, n_codes, segment, table, r, s)
            else:
                _pass_3(sums, codes, first, padded, columns, lows, starts, n_codes, segment, table, r, s, t)


def padding(offsets: np.ndarray) -> int:
    """What `two_way_sums` adds too much for these segments."""
    return int((-np.diff(offsets) % FEWEST).sum())


@jit
def probability_sums(ratios, codes, offsets, weights, columns, lows, highs, kinds, starts, n_codes, table, sums):
    """sums[c] += sum over rows of P(true class) with candidate c multiplied in."""
    base = np.empty(0)
    factor = np.empty(BLOCK)
    total = np.empty(BLOCK)
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], BLOCK):
            n = min(BLOCK, offsets[segment + 1] - begin)
            quarter = (n + 3) // 4
            for c in range(columns.size):
                code = codes[columns[c], begin : begin + n]
                sum_products(
                    *(total, base, ratios, begin, code, segment),
                    *(starts[c], n_codes[c], table, lows[c], highs[c], kinds[c], factor),
                )
                if weights.size > 0:
                    sums[c] += _ratios(weights[begin : begin + n], total)
                else:
                    total[n : 4 * quarter] = 1.0
                    sums[c] += _reciprocals(total, quarter) - (4 * quarter - n)


@jit
def squared_error_sums(ratios, codes, offsets, weights, columns, lows, highs, kinds, starts, n_codes, table, sums):
    """sums[c] += sum over rows and classes of (T - P)^2 with candidate c multiplied in."""
    n_others = ratios.shape[0]
    factor = np.empty(BLOCK)
    odds = np.empty(BLOCK)
    squares = np.empty(BLOCK)
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], BLOCK):
            n = min(BLOCK, offsets[segment + 1] - begin)
            for c in range(columns.size):
                code = codes[columns[c], begin : begin + n]
                for other in range(n_others):
                    first = starts[c] + (segment * n_others + other) * n_codes[c]
                    spread(factor, code, table[first : first + n_codes[c]], lows[c], highs[c], kinds[c])
                    ratio = ratios[other, begin : begin + n]
                    if other == 0:
                        for i in range(n):
                            value = ratio[i] * factor[i]
                            odds[i] = value
                            squares[i] = value * value
                    else:
                        for i in range(n):
                            value = ratio[i] * factor[i]
                            odds[i] += value
                            squares[i] += value * value
                if weights.size > 0:
                    sums[c] += _weighted_squares(weights[begin : begin + n], odds, squares)
                else:
                    sums[c] += _squares(odds[:n], squares)


@jit_sum
def _squares(odds, squares):
    """Sum of the squared errors: odds[i] = sum of the ratios, squares[i] = sum of their squares."""
    found = 0.0
    for i in range(odds.size):
        inverse = 1.0 / (1.0 + odds[i])
        found += (odds[i] * odds[i] + squares[i]) * (inverse * inverse)
    return found


@jit_sum
def _weighted_squares(weights, odds, squares):
    found = 0.0
    for i in range(weights.size):
        inverse = 1.0 / (1.0 + odds[i])
        found += weights[i] * ((odds[i] * odds[i] + squares[i]) * (inverse * inverse))
    return found
