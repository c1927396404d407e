"""Compiled sums over rows of the probability of the true class, and of squared errors, for all candidates."""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit
from bayesieve.criteria._kernels import BLOCK, spread, sum_products

_QUARTER = BLOCK // 4


@jit
def _pair(a, b, c, d):
    """1/a + 1/b + 1/c + 1/d by one division: divisions are what bounds these loops."""
    ab = a * b
    cd = c * d
    return ((a + b) * cd + (c + d) * ab) / (ab * cd)


@jit
def _two_way_1(lane, code, low, quarter, r, l0, l1):
    for i in range(quarter):
        a = 1.0 + r[i] * (l0 if code[i] <= low else l1)
        b = 1.0 + r[quarter + i] * (l0 if code[quarter + i] <= low else l1)
        c = 1.0 + r[2 * quarter + i] * (l0 if code[2 * quarter + i] <= low else l1)
        d = 1.0 + r[3 * quarter + i] * (l0 if code[3 * quarter + i] <= low else l1)
        lane[i] += _pair(a, b, c, d)


@jit
def _two_way_2(lane, code, low, quarter, r, s, l0, l1, m0, m1):
    for i in range(quarter):
        j = quarter + i
        k = 2 * quarter + i
        n = 3 * quarter + i
        a = 1.0 + r[i] * (l0 if code[i] <= low else l1) + s[i] * (m0 if code[i] <= low else m1)
        b = 1.0 + r[j] * (l0 if code[j] <= low else l1) + s[j] * (m0 if code[j] <= low else m1)
        c = 1.0 + r[k] * (l0 if code[k] <= low else l1) + s[k] * (m0 if code[k] <= low else m1)
        d = 1.0 + r[n] * (l0 if code[n] <= low else l1) + s[n] * (m0 if code[n] <= low else m1)
        lane[i] += _pair(a, b, c, d)


@jit
def _two_way_3(lane, code, low, quarter, r, s, t, l0, l1, m0, m1, n0, n1):
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
        lane[i] += _pair(a, b, c, d)


@jit
def probability_sums(ratios, codes, offsets, weights, columns, lows, highs, kinds, starts, n_codes, table, sums):
    """sums[c] += sum over rows of P(true class) with candidate c multiplied in.

    Two levels and up to three other classes, the case of hundreds of binary indicators, run in one fused loop.
    """
    n_others = ratios.shape[0]
    n_rows = codes.shape[1]
    lanes = np.zeros((columns.size, _QUARTER))
    base = np.empty(0)
    near = np.zeros((n_others, BLOCK))  # the ratios of a block, zero beyond its end
    factor = np.empty(BLOCK)
    total = np.ones(BLOCK)
    padding = 0
    fused = n_others <= 3 and weights.size == 0
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], BLOCK):
            n = min(BLOCK, offsets[segment + 1] - begin)
            # Rows beyond the end of the segment have ratio 0 and add exactly 1 each, whatever their codes.
            padded = min(BLOCK, (n + 31) // 32 * 32)
            padding += padded - n
            quarter = padded // 4
            for other in range(n_others):
                near[other, :n] = ratios[other, begin : begin + n]
                near[other, n:padded] = 0.0
            for c in range(columns.size):
                if fused and kinds[c] == 0 and begin + padded <= n_rows:
                    code = codes[columns[c], begin : begin + padded]
                    step = n_codes[c]
                    at = starts[c] + segment * n_others * step
                    if n_others == 1:
                        _two_way_1(lanes[c], code, lows[c], quarter, near[0], table[at], table[at + 1])
                    elif n_others == 2:
                        _two_way_2(
                            lanes[c], code, lows[c], quarter, near[0], near[1],
                            table[at], table[at + 1], table[at + step], table[at + step + 1],
                        )  # fmt: skip
                    elif n_others == 3:
                        _two_way_3(
                            lanes[c], code, lows[c], quarter, near[0], near[1], near[2],
                            table[at], table[at + 1], table[at + step], table[at + step + 1],
                            table[at + 2 * step], table[at + 2 * step + 1],
                        )  # fmt: skip
                    continue
                code = codes[columns[c], begin : begin + n]
                sum_products(
                    total, base, ratios, begin, code, segment,
                    starts[c], n_codes[c], table, lows[c], highs[c], kinds[c], factor,
                )  # fmt: skip
                if weights.size > 0:
                    loss = 0.0
                    for i in range(n):
                        loss += weights[begin + i] / total[i]
                    sums[c] += loss
                else:
                    total[n:padded] = 1.0
                    lane = lanes[c]
                    for i in range(quarter):
                        lane[i] += _pair(total[i], total[quarter + i], total[2 * quarter + i], total[3 * quarter + i])
    for c in range(columns.size):
        loss = 0.0
        for k in range(_QUARTER):
            loss += lanes[c, k]
        if weights.size == 0:
            loss -= padding
        sums[c] += loss


@jit
def squared_error_sums(ratios, codes, offsets, weights, columns, lows, highs, kinds, starts, n_codes, table, sums):
    """sums[c] += sum over rows and classes of (T - P)^2 with candidate c multiplied in."""
    n_others = ratios.shape[0]
    factor = np.empty(BLOCK)
    odds = np.empty(BLOCK)
    squares = np.empty(BLOCK)
    lane = np.empty(BLOCK)
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
                for i in range(n):
                    inverse = 1.0 / (1.0 + odds[i])
                    lane[i] = (odds[i] * odds[i] + squares[i]) * (inverse * inverse)
                loss = 0.0
                if weights.size > 0:
                    for i in range(n):
                        loss += weights[begin + i] * lane[i]
                else:
                    half = n >> 1
                    while half >= 16:  # halves are added element by element, which vectorises
                        for i in range(half):
                            lane[i] += lane[n - half + i]
                        n -= half
                        half = n >> 1
                    for i in range(n):
                        loss += lane[i]
                    n = min(BLOCK, offsets[segment + 1] - begin)
                sums[c] += loss
