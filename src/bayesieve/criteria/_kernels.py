"""Compiled loops that all criteria share: factors of a block's codes, moves of the state, the sum of log losses.

``ratios[o, i]`` is P(other class o) / P(true class) of row i under the current subset, so that P(true class) =
1 / (1 + sum_o ratios[o, i]) and no ``exp`` is needed. Adding or dropping a feature multiplies a ratio by a factor that
depends on the row's level only: ``table[start + (segment * others + o) * n_codes + level]``. A block of rows stays in
the first-level cache while all candidates pass over it.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner, jit_sum
from bayesieve.criteria.class_block import THREE_WAY

BLOCK = 512
_STEP_ROWS = 128  # whose logarithms by all features stay in the second-level cache
LANES = 32
_GROUP = 8 * LANES  # a lane multiplies eight factors before its exponent is set aside: they must not overflow together
_MANTISSA = (1 << 52) - 1
_ONE = 1023 << 52


@jit_inner
def spread(factor, code, level, low, high, kind):
    """factor[i] = the level's factor of code[i].

    A few levels are told apart by comparisons, which vectorise; reading a table by code does not, but is the faster of
    the two from five codes on.
    """
    n = code.size
    last = level.size - 1
    if kind == 0:  # two levels, all rows seen
        l0, l1 = level[0], level[1]
        for i in range(n):
            factor[i] = l0 if code[i] <= low else l1
    elif kind == 1:  # two levels, and missing or unseen from ``high`` on
        l0, l1, l2 = level[0], level[1], level[2]
        for i in range(n):
            factor[i] = l0 if code[i] <= low else (l1 if code[i] < high else l2)
    elif kind == 2:  # up to four codes
        l0, l1, l2, l3 = level[0], level[min(1, last)], level[min(2, last)], level[last]
        for i in range(n):
            c = code[i]
            factor[i] = l0 if c == np.uint8(0) else (l1 if c == np.uint8(1) else (l2 if c == np.uint8(2) else l3))
    else:
        for i in range(n):
            factor[i] = level[code[i]]


@jit_sum
def sum_products(total, base, ratios, begin, code, segment, start, n_codes, table, low, high, kind, factor):
    """total[i] = base[i] + sum over other classes of ratio times factor; an empty ``base`` is all ones."""
    n = code.size
    n_others = ratios.shape[0]
    if n_others == 0:
        total[:n] = 1.0
    for other in range(n_others):
        first = start + (segment * n_others + other) * n_codes
        level = table[first : first + n_codes]
        ratio = ratios[other, begin : begin + n]
        if other == 0 and base.size == 0:
            if kind < 3:
                spread(total, code, level, low, high, kind)
                for i in range(n):
                    total[i] = 1.0 + ratio[i] * total[i]
            else:
                for i in range(n):
                    total[i] = 1.0 + ratio[i] * level[code[i]]
            continue
        if other == 0:
            for i in range(n):
                total[i] = base[begin + i]
        if kind < 3:
            spread(factor, code, level, low, high, kind)
            for i in range(n):
                total[i] += ratio[i] * factor[i]
        else:
            for i in range(n):
                total[i] += ratio[i] * level[code[i]]


@jit
def log_loss_sums(
    ratios, base, codes, offsets, weights, columns, lows, highs, kinds, starts, n_codes, table, by_row,
    products, is_first, is_last, sums,
):  # fmt: skip
    """sums[c] += sum over rows of log(base + sum_o ratio * factor) with candidate c multiplied in.

    The sum of logarithms is the logarithm of a running product whose exponent is carried in an integer: one ``log`` per
    lane after the last block of rows instead of one per row. From block to block, ``products`` (candidates, 2, lanes)
    holds the products and their exponents. ``by_row``: a ``log`` per row, for factors too large to multiply.
    """
    n_candidates = columns.size
    bits = products.view(np.int64)  # exponents are whole numbers
    for c in range(n_candidates if is_first else 0):
        for k in range(LANES):
            products[c, 0, k] = 1.0
            bits[c, 1, k] = 0
    factor = np.empty(BLOCK)
    total = np.empty(BLOCK)
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], BLOCK):
            n = min(BLOCK, offsets[segment + 1] - begin)
            for c in range(n_candidates):
                code = codes[columns[c], begin : begin + n]
                sum_products(
                    total, base, ratios, begin, code, segment,
                    starts[c], n_codes[c], table, lows[c], highs[c], kinds[c], factor,
                )  # fmt: skip
                if by_row or weights.size > 0:
                    loss = 0.0
                    for i in range(n):
                        loss += np.log(total[i]) * (weights[begin + i] if weights.size > 0 else 1.0)
                    sums[c] += loss
                    continue
                for group in range(0, n, _GROUP):
                    total[n : group + _GROUP] = 1.0
                    factors, lane = total[group : group + _GROUP], products[c, 0]
                    half = _GROUP >> 1
                    while half >= LANES:  # the second half multiplied into the first: loops that vectorise
                        for i in range(half):
                            factors[i] *= factors[half + i]
                        half >>= 1
                    mantissas, exponents = bits[c, 0], bits[c, 1]
                    for k in range(exponents.size):
                        lane[k] *= factors[k]
                    for k in range(exponents.size):  # the exponents of the products are set aside
                        exponents[k] += (mantissas[k] >> 52) - 1023
                        mantissas[k] = (mantissas[k] & _MANTISSA) | _ONE
    for c in range(n_candidates if is_last else 0):
        exponent = 0
        loss = 0.0
        for k in range(LANES):
            loss += np.log(products[c, 0, k])
            exponent += bits[c, 1, k]
        sums[c] += loss + exponent * np.log(2.0)


@jit
def multiply_ratios(ratios, codes, offsets, low, high, kind, start, n_codes, table, highest):
    """ratios[o, i] *= factor of one feature; whether one of them is now beyond ``highest``."""
    n_others = ratios.shape[0]
    factor = np.empty(BLOCK)
    beyond = 0
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], BLOCK):
            n = min(BLOCK, offsets[segment + 1] - begin)
            code = codes[begin : begin + n]
            for other in range(n_others):
                first = start + (segment * n_others + other) * n_codes
                spread(factor, code, table[first : first + n_codes], low, high, kind)
                ratio = ratios[other, begin : begin + n]
                for i in range(n):
                    ratio[i] *= factor[i]
                for i in range(n):
                    beyond += int(ratio[i] > highest)
    return beyond > 0


@jit
def add_steps(steps, codes, offsets, signs, columns, lows, highs, kinds, n_codes, starts, table):
    """steps[o, i] += the logarithm of row i by the level of each of several features added (sign 1) or dropped (-1)."""
    n_others = steps.shape[0]
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], BLOCK):
            end = min(begin + BLOCK, offsets[segment + 1])
            for c in range(columns.size):
                code, low, high, sign = codes[columns[c], begin:end], lows[c], highs[c], signs[c]
                for other in range(n_others):
                    row = steps[other, begin:end]
                    first = starts[c] + (segment * n_others + other) * n_codes[c]
                    level = table[first : first + n_codes[c]]
                    if kinds[c] <= THREE_WAY:
                        l0, l1, l2 = sign * level[0], sign * level[1], sign * level[2]
                        for i in range(row.size):
                            row[i] += l0 if code[i] <= low else (l1 if code[i] < high else l2)
                    elif sign > 0:
                        for i in range(row.size):
                            row[i] += level[code[i]]
                    else:
                        for i in range(row.size):
                            row[i] -= level[code[i]]


@jit
def sum_steps(codes, offsets, columns, lows, highs, kinds, n_codes, starts, table, start, ends, features, steps):
    """steps[s, o, i] = start[segment of i, o] + sum over the features of subset s of the logarithm of row i.

    Subset s has ``features[ends[s - 1] : ends[s]]``.
    """
    of_feature = np.empty((columns.size, _STEP_ROWS), dtype=np.int64)
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], _STEP_ROWS):
            n = min(_STEP_ROWS, offsets[segment + 1] - begin)
            for other in range(steps.shape[1]):
                for k in range(columns.size):
                    first = starts[k] + (segment * steps.shape[1] + other) * n_codes[k]
                    level = table[first : first + n_codes[k]]
                    code, line = codes[columns[k], begin : begin + n], of_feature[k]
                    if kinds[k] > THREE_WAY:
                        for i in range(n):
                            line[i] = level[code[i]]
                    else:
                        low, high, l0, l1, l2 = lows[k], highs[k], level[0], level[1], level[2]
                        for i in range(n):
                            line[i] = l0 if code[i] <= low else (l1 if code[i] < high else l2)
                at = 0
                for s in range(ends.size):
                    total = steps[s, other, begin : begin + n]
                    for i in range(n):
                        total[i] = start[segment, other]
                    while at + 4 <= ends[s]:
                        a, b = of_feature[features[at]], of_feature[features[at + 1]]
                        c, d = of_feature[features[at + 2]], of_feature[features[at + 3]]
                        for i in range(n):
                            total[i] += (a[i] + b[i]) + (c[i] + d[i])
                        at += 4
                    while at < ends[s]:
                        a = of_feature[features[at]]
                        for i in range(n):
                            total[i] += a[i]
                        at += 1


@jit
def classify(steps, offsets, right, wrong, margin, kept, states):
    """Which rows no single move can change: states[i] = 1 (right for sure), 2 (wrong for sure) or 0, plus 4 for rows
    within the ``margin`` of mattering.

    Returns how many rows are within the margin, and whether a row outside ``kept`` matters.
    """
    near = 0
    lost = 0
    for segment in range(offsets.size - 1):
        for i in range(offsets[segment], offsets[segment + 1]):
            top = steps[0, i]
            for other in range(1, steps.shape[0]):
                top = max(top, steps[other, i])
            state = 0
            if top < right[segment]:
                state = 1
            elif top > wrong[segment]:
                state = 2
            is_near = int(top >= right[segment] - margin and top <= wrong[segment] + margin)
            states[i] = state + 4 * is_near
            near += is_near
            lost += int(state == 0 and not kept[i])
    return near, lost > 0


@jit
def walk_path(
    ratios, base, codes, offsets, weights, columns, lows, highs, kinds, starts, n_codes, table, by_row, highest, most,
    sums,
):  # fmt: skip
    """sums[c, 0] = sum of logarithms, as ``log_loss_sums``, of each of several features added one after another.

    The ratios are multiplied by every feature but the one that comes after ``most`` others. Stops after that one, or
    when a ratio is beyond ``highest``; returns how many features were added.
    """
    products = np.empty((1, 2, LANES))
    for c in range(columns.size):
        log_loss_sums(
            ratios, base, codes, offsets, weights, columns[c : c + 1], lows[c : c + 1], highs[c : c + 1],
            kinds[c : c + 1], starts[c : c + 1], n_codes[c : c + 1], table, by_row, products, True, True,
            sums[c],
        )  # fmt: skip
        if c == most:
            return c + 1
        if multiply_ratios(
            ratios, codes[columns[c]], offsets, lows[c], highs[c], kinds[c], starts[c], n_codes[c], table, highest
        ):
            return c + 1
    return columns.size
