"""Compiled loops over rows that multiply class probabilities by the factors of features and add up losses for
candidates.

A *candidate* is the current subset with one feature added or dropped. ``ratios[o, i]`` is P(other class o) / P(true
class) of row i under the current subset, so that P(true class) = 1 / (1 + sum_o ratios[o, i]) without an ``exp``.
Adding or dropping a feature multiplies a ratio by a factor that depends only on the *segment* (rows of one class and
fold) and the row's *level* (interval or group of values): ``table[start + (segment * others + o) * n_codes + level]``.
All candidates are evaluated on one block of rows while it is in the first-level cache.

For many classes, ``joint[i, j]`` is the joint probability of row i and class j. The classes of a row are contiguous,
and so are the factors of a level: loops over classes vectorise, and tables grow with the number of classes instead of
its square.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner, jit_sum
from bayesieve.criteria.scored_rows import THREE_WAY

BLOCK = 512
_STEP_ROWS = 128  # rows whose log factors of all features stay in the second-level cache
LANES = 32
_GROUP = 8 * LANES  # a lane multiplies eight factors before its exponent is set aside: they must not overflow together
_MANTISSA = (1 << 52) - 1
_ONE = 1023 << 52
FEWEST = 32
"""Rows that `two_way_sums` takes at once."""
_JOINT_ROWS = 64  # rows whose joint probabilities stay in the cache while all candidates are evaluated
_TOGETHER = 4  # rows whose sums are multiplied before a logarithm is taken
_SMALLEST, _LARGEST = 1e-30, 1e30  # sums over the classes of a row that are safe to multiply together
_NOTHING = -600.0  # nats: log probability of impossible classes, which no moves make relevant


@jit_inner
def look_up_factors(factor, code, level, low, high, kind):
    """Look up the factor of each row's code: factor[i] = level[code[i]].

    For few levels, comparisons are used, because they are vectorised; from five codes on, table look-ups are faster.

    Parameters
    ----------
    factor : (n,) or longer, result.
    code : (n,) codes of the rows.
    level : (n_codes,) factor of each level.
    low, high : bounds of the codes of levels 0 and 1, for a feature of two levels; see `ClassBlock`.
    kind : method: 0 and 1 for two levels, 2 for up to four codes, otherwise more.
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
    """Compute total[i] = base[i] + sum over other classes of ratio * factor, the reciprocal of P(true class), for the
    rows of a block under one candidate subset of features.

    Parameters
    ----------
    total : (n,) or longer, result.
    base, ratios : (n_rows,) first summand, empty for 1; and (n_others, n_rows) P(other class) / P(true class).
    begin : position of the first row of the block in ``base`` and ``ratios``.
    code : (n,) codes of the candidate's feature in these rows.
    segment, start, n_codes, table : the factor of other class o is table[start + (segment * n_others + o) * n_codes +
        level].
    low, high, kind : how codes are mapped to levels, see `look_up_factors`.
    factor : scratch memory for n numbers.
    """
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
                look_up_factors(total, code, level, low, high, kind)
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
            look_up_factors(factor, code, level, low, high, kind)
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
    """Add up log losses of each candidate c (a subset of features): sums[c] += sum over rows of log(base + sum_o ratio
    * factor), in nats.

    The sum of logarithms is computed as the logarithm of a running product, whose exponent is moved to an integer
    before it overflows. This takes one ``log`` per lane of a vector at the end instead of one per row.

    Parameters
    ----------
    ratios, base : (n_others, n_rows) P(other class) / P(true class) of each row under the current subset, divided by a
        scale of the row; and (n_rows,) 1 / scale, empty if all scales are 1.
    codes, offsets : (n_columns, n_rows) unsigned codes of the rows, and (n_segments + 1,) first row of each segment of
        rows of one class.
    weights : (n_rows,) row weights; empty if all are 1.
    columns, lows, highs, kinds : (n_candidates,) where to find the level of the candidate's feature, see `ClassBlock`.
    starts, n_codes, table : factors of the candidates; that of row i and other class o is table[starts[c] + (segment *
        n_others + o) * n_codes[c] + level].
    by_row : whether a ``log`` is taken for each row, for factors too large to multiply.
    products : (n_candidates, 2, n_lanes) running products and their exponents, carried from block to block.
    is_first, is_last : whether this is the first or last block of rows.
    sums : (n_candidates,) result.
    """
    n_candidates = columns.size
    bits = products.view(np.int64)  # exponents are stored as integers
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
                    while half >= LANES:  # multiply the second half into the first, in vectorised loops
                        for i in range(half):
                            factors[i] *= factors[half + i]
                        half >>= 1
                    mantissas, exponents = bits[c, 0], bits[c, 1]
                    for k in range(exponents.size):
                        lane[k] *= factors[k]
                    for k in range(exponents.size):  # move the exponents of the products to integers
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
    """Multiply the ratios of all rows by the factors of one feature; return whether a ratio then exceeds ``highest``.

    Parameters
    ----------
    ratios : (n_others, n_rows) P(other class) / P(true class), updated in place.
    codes, offsets : (n_rows,) codes of the feature, and (n_segments + 1,) first row of each segment of rows of one
        class.
    low, high, kind : how codes are mapped to levels, see `look_up_factors`.
    start, n_codes, table : the factor of other class o is table[start + (segment * n_others + o) * n_codes + level].
    highest : limit on the ratios.
    """
    n_others = ratios.shape[0]
    factor = np.empty(BLOCK)
    n_too_large = 0
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], BLOCK):
            n = min(BLOCK, offsets[segment + 1] - begin)
            code = codes[begin : begin + n]
            for other in range(n_others):
                first = start + (segment * n_others + other) * n_codes
                look_up_factors(factor, code, table[first : first + n_codes], low, high, kind)
                ratio = ratios[other, begin : begin + n]
                for i in range(n):
                    ratio[i] *= factor[i]
                for i in range(n):
                    n_too_large += int(ratio[i] > highest)
    return n_too_large > 0


@jit
def add_steps(steps, codes, offsets, signs, columns, lows, highs, kinds, n_codes, starts, table, ends, members):
    """Add the log factors of features to the log ratios of several subsets, in integer steps: steps[s, o, i].

    For subset s, the features ``members[ends[s - 1] : ends[s]]`` are added (sign 1) or dropped (sign -1). The log
    factors of a few rows at a time are looked up once for all subsets and stay in the cache.

    Parameters
    ----------
    steps : (n_subsets, n_others, n_rows) log ratios of other class o to the true class, updated in place.
    codes, offsets : (n_columns, n_rows) unsigned codes of the rows, and (n_segments + 1,) first row of each segment of
        rows of one class.
    signs : (n_features,) 1 for features that are added, -1 for features that are dropped.
    columns, lows, highs, kinds, n_codes : (n_features,) where to find the level of each feature, see `ClassBlock`.
    starts, table : log factors in steps; that of other class o is table[starts[f] + (segment * n_others + o) *
        n_codes[f] + level].
    ends, members : positions, among these features, of the features of each subset.
    """
    n_others = steps.shape[1]
    lines = np.empty((columns.size, _STEP_ROWS), dtype=np.int64)
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], _STEP_ROWS):
            n = min(_STEP_ROWS, offsets[segment + 1] - begin)
            for other in range(n_others):
                for c in range(columns.size):
                    line, code = lines[c], codes[columns[c], begin : begin + n]
                    low, high, sign = lows[c], highs[c], signs[c]
                    first = starts[c] + (segment * n_others + other) * n_codes[c]
                    level = table[first : first + n_codes[c]]
                    if kinds[c] <= THREE_WAY:
                        l0, l1, l2 = sign * level[0], sign * level[1], sign * level[2]
                        for i in range(n):
                            line[i] = l0 if code[i] <= low else (l1 if code[i] < high else l2)
                    else:
                        for i in range(n):
                            line[i] = sign * level[code[i]]
                at = 0
                for s in range(ends.size):
                    total = steps[s, other, begin : begin + n]
                    while at + 4 <= ends[s]:
                        a, b = lines[members[at]], lines[members[at + 1]]
                        d, e = lines[members[at + 2]], lines[members[at + 3]]
                        for i in range(n):
                            total[i] += (a[i] + b[i]) + (d[i] + e[i])
                        at += 4
                    while at < ends[s]:
                        a = lines[members[at]]
                        for i in range(n):
                            total[i] += a[i]
                        at += 1


@jit
def classify(steps, offsets, right, wrong, margin, scanned, states):
    """Find the rows whose loss no single added or dropped feature can change.

    states[i] is 1 if row i is certainly right, 2 if it is certainly wrong, and 0 if its loss can change. 4 is added to
    the state of rows with state 0 or within ``margin`` steps of it. Return the number of these rows, and whether a row
    with state 0 is not in the mask ``scanned``.

    Parameters
    ----------
    steps : (n_others, n_rows) log ratios of the other classes to the true class, in integer steps.
    offsets : (n_segments + 1,) first row of each segment.
    right, wrong : (n_segments,) log ratios, in steps, below which a row is certainly right and above which it is
        certainly wrong.
    margin : number of steps.
    scanned : (n_rows,) mask of the rows that passes read so far.
    states : (n_rows,) result.
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
            lost += int(state == 0 and not scanned[i])
    return near, lost > 0


@jit
def log_losses_of_path(
    ratios, base, codes, offsets, weights, columns, lows, highs, kinds, starts, n_codes, table, by_row, highest, most,
    sums,
):  # fmt: skip
    """Compute the log losses of subsets that grow by one feature after another: sums[c, 0], in nats, after feature c.

    The ratios are multiplied by the factors of up to ``most`` features; the loss of one more feature is computed
    without multiplying. The path ends early if a ratio exceeds ``highest``. Return how many features were added. All
    other parameters are those of `log_loss_sums`, with a feature in place of a candidate.
    """
    products = np.empty((1, 2, LANES))
    for c in range(columns.size):
        log_loss_sums(
            ratios, base, codes, offsets, weights, columns[c : c + 1], lows[c : c + 1], highs[c : c + 1],
            kinds[c : c + 1], starts[c : c + 1], n_codes[c : c + 1], table, by_row, products, True, True, sums[c],
        )  # fmt: skip
        if c == most:
            return c + 1
        if multiply_ratios(
            ratios, codes[columns[c]], offsets, lows[c], highs[c], kinds[c], starts[c], n_codes[c], table, highest
        ):
            return c + 1
    return columns.size


@jit_sum
def _four(a, b, c, d):
    """Return 1/a + 1/b + 1/c + 1/d with a single division, because divisions limit the speed of these loops."""
    ab = a * b
    cd = c * d
    return ((a + b) * cd + (c + d) * ab) / (ab * cd)


@jit_sum
def _reciprocals(weights, total, n):
    """Return the sum of 1 / total[i] over ``n`` rows, each times weights[i] if ``weights`` (n,) is not empty."""
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
    """Return the sum of P(true class) over rows if a candidate feature of two levels is added.

    Codes up to ``low`` are the first level, others the second. ``ratios`` has an array for each other class: P(other
    class) / P(true class) of each row without the candidate. It multiplies them by factors in ``table``: entries ``at``
    and ``at + 1`` for the two levels and the first other class, those of the next class ``n_codes`` entries later. Four
    quarters of ``quarter`` rows are processed side by side, so that `_four` needs one division for four rows.
    """
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
    """Sum the probability of the true class over the rows, sums[c], for each candidate feature of two levels.

    The loops are fused and fast for hundreds of candidates. Features have two levels and no unseen codes, there are up
    to three other classes, and at least FEWEST rows of equal weight. Rows are padded to a multiple of FEWEST at the end
    of a segment; each padded row adds exactly 1, which the caller subtracts.

    Parameters
    ----------
    ratios, near : tuples with one array for each other class, so that loops are compiled for this number of classes:
        P(other class) / P(true class) of each row, and scratch memory for BLOCK rows.
    codes, offsets : (n_columns, n_rows) unsigned codes of the rows, and (n_segments + 1,) first row of each segment of
        rows of one class.
    columns, lows : (n_candidates,) row of ``codes`` with the candidate's feature, and highest code of its first level.
    starts, n_codes, table : factors of the candidates; that of row i and other class o is table[starts[c] + (segment *
        n_others + o) * n_codes[c] + level].
    sums : (n_candidates,) result.
    """
    n_others = len(ratios)
    n_rows = codes.shape[1]
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], BLOCK):
            n = min(BLOCK, offsets[segment + 1] - begin)
            padded = min(BLOCK, (n + FEWEST - 1) // FEWEST * FEWEST)
            # Blocks are padded to whole vectors. With ratios of 0, P(true class) = 1 / (1 + 0) is exactly 1 in each
            # padded row, whatever its code, and these ones are subtracted at the end.
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


@jit
def probability_sums(ratios, codes, offsets, weights, columns, lows, highs, kinds, starts, n_codes, table, sums):
    """Add up the probability of the true class for each candidate c (a subset of features): sums[c] += sum over rows of
    P(true class).

    Parameters
    ----------
    ratios : (n_others, n_rows) P(other class) / P(true class) of each row under the current subset.
    codes, offsets : (n_columns, n_rows) unsigned codes of the rows, and (n_segments + 1,) first row of each segment of
        rows of one class.
    weights : (n_rows,) row weights; empty if all are 1.
    columns, lows, highs, kinds : (n_candidates,) where to find the level of the candidate's feature, see `ClassBlock`.
    starts, n_codes, table : factors of the candidates; that of row i and other class o is table[starts[c] + (segment *
        n_others + o) * n_codes[c] + level].
    sums : (n_candidates,) result.
    """
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
    """Add up squared errors for each candidate c (a subset of features): sums[c] += sum over rows and classes of (T -
    P)^2, with T = 1 for the true class and 0 for others.

    Parameters
    ----------
    ratios : (n_others, n_rows) P(other class) / P(true class) of each row under the current subset.
    codes, offsets : (n_columns, n_rows) unsigned codes of the rows, and (n_segments + 1,) first row of each segment of
        rows of one class.
    weights : (n_rows,) row weights; empty if all are 1.
    columns, lows, highs, kinds : (n_candidates,) where to find the level of the candidate's feature, see `ClassBlock`.
    starts, n_codes, table : factors of the candidates; that of row i and other class o is table[starts[c] + (segment *
        n_others + o) * n_codes[c] + level].
    sums : (n_candidates,) result.
    """
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
                    look_up_factors(factor, code, table[first : first + n_codes[c]], lows[c], highs[c], kinds[c])
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
    """Return the sum of squared errors of ``n`` rows, each times weights[i] if ``weights`` (n,) is not empty.

    odds[i] is the sum of a row's ratios P(other class) / P(true class), squares[i] the sum of their squares.
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


@jit_inner
def _level(code, low, high, kind):
    """Return the level of a code; ``low``, ``high`` and ``kind`` are those of `look_up_factors`."""
    return np.int64(code) if kind > THREE_WAY else np.int64(code > low) + np.int64(code >= high)


@jit_sum
def _dot(row, factor):
    """Return the dot product of a row's class probabilities and the factors of a level."""
    total = 0.0
    for j in range(row.size):
        total += row[j] * factor[j]
    return total


@jit_sum
def _multiplied(row, factor):
    """Multiply the class probabilities of a row by factors in place, and return their sum."""
    total = 0.0
    for j in range(row.size):
        row[j] *= factor[j]
        total += row[j]
    return total


@jit
def joint_sums(joint, codes, offsets, weights, columns, lows, highs, kinds, starts, table, sums):
    """Add up log(sum over classes of joint * factor) over the rows for each candidate c (a subset of features):
    sums[c].

    A few sums are multiplied before the logarithm is taken, because logarithms take most of the time.

    Parameters
    ----------
    joint : (n_rows, n_classes) joint probabilities of row and class under the current subset, each row scaled.
    codes, offsets : (n_columns, n_rows) unsigned codes of the rows, and (n_segments + 1,) first row of each segment of
        rows of one class.
    weights : (n_rows,) row weights; empty if all are 1.
    columns, lows, highs, kinds : (n_candidates,) where to find the level of the candidate's feature, see `ClassBlock`.
    starts, table : row starts[c] + level of ``table`` (n, n_classes) holds the factors of a level.
    sums : (n_candidates,) result.
    """
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], _JOINT_ROWS):
            end = min(begin + _JOINT_ROWS, offsets[segment + 1])
            for c in range(columns.size):
                code, low, high, start = codes[columns[c]], lows[c], highs[c], starts[c]
                product, n, loss = 1.0, 0, 0.0
                for i in range(begin, end):
                    dot = _dot(joint[i], table[start + _level(code[i], low, high, kinds[c])])
                    if weights.size > 0:
                        loss += weights[i] * np.log(dot)
                        continue
                    product *= dot
                    n += 1
                    if n == _TOGETHER:
                        loss += np.log(product)
                        product, n = 1.0, 0
                sums[c] += loss + np.log(product)


@jit
def multiply_joint(joint, codes, offsets, weights, column, low, high, kind, start, table, lead):
    """Multiply the joint probabilities of all rows by the factors of one feature.

    Rows whose sum is out of a safe range are divided by the sum; the logarithms of the divisors, times the row weights,
    are added to lead[0].

    Parameters
    ----------
    joint : (n_rows, n_classes) joint probabilities of row and class, updated in place.
    codes, offsets : (n_columns, n_rows) unsigned codes of the rows, and (n_segments + 1,) first row of each segment.
    weights : (n_rows,) row weights; empty if all are 1.
    column, low, high, kind : where to find the level of the feature, see `ClassBlock`.
    start, table : row start + level of ``table`` (n, n_classes) holds the factors of a level.
    lead : (1,) sum over rows of the logarithm of the row's scale.
    """
    code = codes[column]
    for i in range(offsets[0], offsets[-1]):
        total = _multiplied(joint[i], table[start + _level(code[i], low, high, kind)])
        if total < _SMALLEST or total > _LARGEST:
            for j in range(joint.shape[1]):
                joint[i, j] /= total
            lead[0] += np.log(total) * (weights[i] if weights.size > 0 else 1.0)


@jit
def start_joint(joint, codes, offsets, weights, classes, columns, lows, highs, kinds, starts, priors, logs, lead):
    """Compute joint[i] = exp(prior + log probabilities of the row's levels) for the features of the subset, scaled to a
    largest entry of 1 in each row.

    The logarithm of the largest entry minus that of the true class, times the row weight, is added to lead[0].

    Parameters
    ----------
    joint : (n_rows, n_classes) result.
    codes, offsets : (n_columns, n_rows) unsigned codes of the rows, and (n_segments + 1,) first row of each segment of
        rows of one class.
    classes, weights : (n_segments,) class of each segment, and (n_rows,) row weights; empty if all are 1.
    columns, lows, highs, kinds : (n_features,) where to find the level of each feature of the subset, see `ClassBlock`.
    starts, logs : row starts[f] + level of ``logs`` (n, n_classes) holds log P(level | class).
    priors : (n_segments, n_classes) log prior of each class, relative to the true class.
    lead : (1,) result.
    """
    n_classes = joint.shape[1]
    for segment in range(offsets.size - 1):
        for i in range(offsets[segment], offsets[segment + 1]):
            row = joint[i]
            for j in range(n_classes):  # a loop, because Numba takes seconds to compile an assignment of arrays
                row[j] = priors[segment, j]
            for f in range(columns.size):
                level = starts[f] + _level(codes[columns[f], i], lows[f], highs[f], kinds[f])
                for j in range(n_classes):
                    row[j] += logs[level, j]
            top = row[0]
            for j in range(n_classes):
                top = max(top, row[j])
            lead[0] += (top - row[classes[segment]]) * (weights[i] if weights.size > 0 else 1.0)
            for j in range(n_classes):
                row[j] = np.exp(row[j] - top) if row[j] - top > _NOTHING else 0.0


@jit
def sum_true_logs(codes, offsets, weights, classes, columns, lows, highs, kinds, starts, logs, sums):
    """Add up log P(level | true class), times the row weight, over the rows for each feature f: sums[f].

    Parameters
    ----------
    codes, offsets : (n_columns, n_rows) unsigned codes of the rows, and (n_segments + 1,) first row of each segment of
        rows of one class.
    classes, weights : (n_segments,) class of each segment, and (n_rows,) row weights; empty if all are 1.
    columns, lows, highs, kinds : (n_features,) where to find the level of each feature, see `ClassBlock`.
    starts, logs : row starts[f] + level of ``logs`` (n, n_classes) holds log P(level | class).
    sums : (n_features,) result.
    """
    for f in range(columns.size):
        code = codes[columns[f]]
        for segment in range(offsets.size - 1):
            for i in range(offsets[segment], offsets[segment + 1]):
                level = starts[f] + _level(code[i], lows[f], highs[f], kinds[f])
                sums[f] += logs[level, classes[segment]] * (weights[i] if weights.size > 0 else 1.0)
