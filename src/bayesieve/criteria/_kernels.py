"""Compiled loops over the rows of a search: one pass scores all candidates, or moves the state by one feature.

Rows are sorted by class. ``ratios[o, i]`` is P(other class o) / P(true class) of row i under the current subset, so
that P(true class) = 1 / (1 + sum_o ratios[o, i]) and no ``exp`` is needed. Adding or dropping a feature multiplies a
ratio by a factor that depends on the row's code only: ``table[start + (true class * others + o) * n_codes + code]``.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit

LANES = 32
BLOCK = 8 * LANES  # a lane multiplies eight factors before its exponent is set aside: they must not overflow together
_MANTISSA = (1 << 52) - 1
_ONE = 1023 << 52


@jit
def _fold(factor):
    """Multiply the second half of a block into the first until LANES products are left (a loop that vectorises)."""
    half = factor.size >> 1
    while half >= LANES:
        for i in range(half):
            factor[i] *= factor[half + i]
        half >>= 1


@jit
def _multiply_lanes(lane, bits, exponents, factor):
    """lane *= factor, its binary exponent moved to ``exponents``; ``bits`` is the same memory as ``lane``."""
    for k in range(exponents.size):
        lane[k] *= factor[k]
    for k in range(exponents.size):
        exponents[k] += (bits[k] >> 52) - 1023
        bits[k] = (bits[k] & _MANTISSA) | _ONE


@jit
def log_loss_sums(ratios, codes, offsets, weights, features, starts, n_codes, table, sums):
    """sums[c] += sum over rows of -log P(true class) with candidate features[c] multiplied in.

    The sum of logarithms is the logarithm of a running product whose exponent is carried in an integer: one ``log`` per
    lane at the end instead of one per row. The ratios of a block of rows stay in the first-level cache while all
    candidates pass over them.
    """
    n_others = ratios.shape[0]
    n_candidates = features.size
    lanes = np.ones((n_candidates, LANES))
    bits = lanes.view(np.int64)
    exponents = np.zeros((n_candidates, LANES), dtype=np.int64)
    factor = np.empty(BLOCK)
    for true_class in range(offsets.size - 1):
        for begin in range(offsets[true_class], offsets[true_class + 1], BLOCK):
            n = min(BLOCK, offsets[true_class + 1] - begin)
            for c in range(n_candidates):
                code = codes[features[c], begin : begin + n]
                factor[n:] = 1.0
                for other in range(n_others):
                    first = starts[c] + (true_class * n_others + other) * n_codes[c]
                    level = table[first : first + n_codes[c]]
                    ratio = ratios[other, begin : begin + n]
                    if other == 0:
                        for i in range(n):
                            factor[i] = 1.0 + ratio[i] * level[code[i]]
                    else:
                        for i in range(n):
                            factor[i] += ratio[i] * level[code[i]]
                if weights.size > 0:
                    total = 0.0
                    for i in range(n):
                        total += weights[begin + i] * np.log(factor[i])
                    sums[c] += total
                else:
                    _fold(factor)
                    _multiply_lanes(lanes[c], bits[c], exponents[c], factor)
    for c in range(n_candidates):
        exponent = 0
        total = 0.0
        for k in range(LANES):
            total += np.log(lanes[c, k])
            exponent += exponents[c, k]
        sums[c] += total + exponent * np.log(2.0)


@jit
def multiply_ratios(ratios, codes, offsets, feature, start, n_codes, table, low, high, outside):
    """Multiply one feature into the ratios; rows with a ratio that left [low, high] are listed in ``outside``;
    returns how many.
    """
    n_others = ratios.shape[0]
    n_outside = 0
    for true_class in range(offsets.size - 1):
        for begin in range(offsets[true_class], offsets[true_class + 1], BLOCK):
            n = min(BLOCK, offsets[true_class + 1] - begin)
            code = codes[feature, begin : begin + n]
            left = 0
            for other in range(n_others):
                first = start + (true_class * n_others + other) * n_codes
                level = table[first : first + n_codes]
                ratio = ratios[other, begin : begin + n]
                for i in range(n):
                    ratio[i] *= level[code[i]]
                for i in range(n):
                    left += int(ratio[i] > high) + int(ratio[i] < low)
            if left:
                for i in range(n):
                    for other in range(n_others):
                        value = ratios[other, begin + i]
                        # A ratio of exactly 0 belongs to a row that left before: the state keeps it in logarithms.
                        if value > high or 0.0 < value < low:
                            outside[n_outside] = begin + i
                            n_outside += 1
                            break
    return n_outside
