"""Compiled sums over rows of the probability of the true class, and of squared errors, for all candidates."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.compiling import jit, jit_sum
from bayesieve.criteria._kernels import BLOCK, spread, sum_products

FEWEST = 32  # rows that the fused loops take at once


@jit_sum
def _four(a, b, c, d):
    """1/a + 1/b + 1/c + 1/d by one division: divisions are what would bound these loops."""
    ab = a * b
    cd = c * d
    return ((a + b) * cd + (c + d) * ab) / (ab * cd)


@jit_sum
def _reciprocals(weights, total, n):
    """Sum of 1 / total[i] over ``n`` rows, times their weights where there are any."""
    result = 0.0
    if weights.size > 0:
        for i in range(n):
            result += weights[i] / total[i]
        return result
    quarter = (n + 3) // 4
    total[n : 4 * quarter] = 1.0
    for i in range(quarter):
        result += _four(total[i], total[quarter + i], total[2 * quarter + i], total[3 * quarter + i])
    return result - (4 * quarter - n)


@jit_sum
def _two_way(code, low, quarter, ratios, table, at, n_codes):
    """Sum of P(true class) by two levels, whose factors stand ``n_codes`` apart for each other class."""
    result = 0.0
    for i in range(quarter):
        j, k, n = quarter + i, 2 * quarter + i, 3 * quarter + i
        a, b, c, d = 1.0, 1.0, 1.0, 1.0
        at_a, at_b, at_c, at_d = code[i] <= low, code[j] <= low, code[k] <= low, code[n] <= low
        for other in range(len(ratios)):
            ratio, l0, l1 = ratios[other], table[at + other * n_codes], table[at + other * n_codes + 1]
            a += ratio[i] * (l0 if at_a else l1)
            b += ratio[j] * (l0 if at_b else l1)
            c += ratio[k] * (l0 if at_c else l1)
            d += ratio[n] * (l0 if at_d else l1)
        result += _four(a, b, c, d)
    return result


@jit
def two_way_sums(ratios, near, codes, offsets, columns, lows, starts, n_codes, table, sums):
    """As ``probability_sums`` for features of two levels that all rows show, up to three other classes and rows of
    equal weight, of which there are at least FEWEST: the case of hundreds of binary indicators in fused loops.

    Rows are padded to FEWEST at the end of a segment: each such row adds exactly 1 too much. ratios, near :
    tuples of an array for each other class, so that the loops are compiled for their number; ``near`` holds BLOCK
    numbers each.
    """
    n_others = len(ratios)
    n_rows = codes.shape[1]
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], BLOCK):
            n = min(BLOCK, offsets[segment + 1] - begin)
            padded = min(BLOCK, (n + FEWEST - 1) // FEWEST * FEWEST)
            # Rows around the block have ratio 0 and add exactly 1 each, whatever their codes.
            first = min(begin, n_rows - padded)
            ahead = begin - first
            for other in range(n_others):
                near[other][:ahead] = 0.0
                for i in range(n):
                    near[other][ahead + i] = ratios[other][begin + i]
                near[other][ahead + n : padded] = 0.0
            for c in range(columns.size):
                at = starts[c] + segment * n_others * n_codes[c]
                code = codes[columns[c], first : first + padded]
                sums[c] += _two_way(code, lows[c], padded // 4, near, table, at, n_codes[c])


def takes_two_way(offsets: np.ndarray, n_rows: int, n_others: int, weights: np.ndarray) -> bool:
    """Whether `two_way_sums` takes these rows: it fills up a class with rows around it."""
    filled_up = min(BLOCK, -(-int(np.diff(offsets).max()) // FEWEST) * FEWEST)
    return not weights.size and n_others in (1, 2, 3) and n_rows >= filled_up


def two_way_right(scan: Any, moves: tuple[Any, ...]) -> np.ndarray:
    """(n_moves,) sums of P(true class) of the rows of a scan, by `two_way_sums`."""
    columns, lows, _, _, starts, n_codes, table = moves
    sums, near = np.zeros(columns.size), np.empty((len(scan.ratios), BLOCK))
    for bounds in scan.blocks(moves):
        rows = tuple(scan.ratios), tuple(near), scan.block.codes, bounds
        two_way_sums(*rows, columns, lows, starts, n_codes, table, sums)
    padding = (-np.diff(scan.block.offsets) % FEWEST).sum()
    return sums - padding


@jit
def probability_sums(ratios, codes, offsets, weights, columns, lows, highs, kinds, starts, n_codes, table, sums):
    """sums[c] += sum over rows of P(true class) with candidate c multiplied in."""
    base = np.empty(0)
    factor = np.empty(BLOCK)
    total = np.empty(BLOCK)
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], BLOCK):
            n = min(BLOCK, offsets[segment + 1] - begin)
            weight = weights[begin : begin + n] if weights.size > 0 else weights
            for c in range(columns.size):
                code = codes[columns[c], begin : begin + n]
                sum_products(
                    *(total, base, ratios, begin, code, segment),
                    *(starts[c], n_codes[c], table, lows[c], highs[c], kinds[c], factor),
                )
                sums[c] += _reciprocals(weight, total, n)


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
            weight = weights[begin : begin + n] if weights.size > 0 else weights
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
                sums[c] += _squares(weight, odds, squares, n)


@jit_sum
def _squares(weights, odds, squares, n):
    """Sum of the squared errors, times the weights where there are any: odds[i] is the sum of the ratios, squares[i] of
    their squares.
    """
    result = 0.0
    if weights.size > 0:
        for i in range(n):
            inverse = 1.0 / (1.0 + odds[i])
            result += weights[i] * ((odds[i] * odds[i] + squares[i]) * (inverse * inverse))
    else:
        for i in range(n):
            inverse = 1.0 / (1.0 + odds[i])
            result += (odds[i] * odds[i] + squares[i]) * (inverse * inverse)
    return result
