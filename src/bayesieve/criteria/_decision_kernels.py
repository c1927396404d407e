"""Compiled sums of decisions for all candidates: misclassified rows, rows predicted as a class, costs, and benefits.

The predicted class of a row is the most probable one, and of equally probable ones that with the lowest code.
Probabilities whose ratio differs from 1 by less than ``TIE`` count as equal, because the difference may be due to
rounding.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_sum
from bayesieve.criteria._kernels import BLOCK, look_up_factors

TIE = 2e-12


@jit
def wrong_sums(ratios, codes, offsets, classes, weights, columns, lows, highs, kinds, starts, n_codes, table, sums):
    """Add up the weight of the rows of class j that candidate subset c of features misclassifies: sums[c, j].

    Parameters
    ----------
    ratios : (n_others, n_rows) P(other class) / P(true class) of each row under the current subset.
    codes, offsets : (n_columns, n_rows) unsigned codes of the rows, and (n_segments + 1,) first row of each segment of
        rows of one class.
    classes, weights : (n_segments,) class of each segment, and (n_rows,) row weights; empty if all are 1.
    columns, lows, highs, kinds : (n_candidates,) where to find the level of the candidate's feature, see `ClassBlock`.
    starts, n_codes : (n_candidates,) first factor of each candidate in ``table``, and number of codes of its feature.
    table : (n_factors,) factors that turn ratios of the current subset into those of candidate subset c: in a row of
        the level ``level``, the ratio of other class o is multiplied by table[starts[c] + (segment * n_others + o) *
        n_codes[c] + level].
    sums : (n_candidates, n_classes) result, to which weights are added.
    """
    n_others = ratios.shape[0]
    factor = np.empty(BLOCK)
    worst = np.empty(BLOCK)
    for segment in range(offsets.size - 1):
        true_class = classes[segment]
        for begin in range(offsets[segment], offsets[segment + 1], BLOCK):
            n = min(BLOCK, offsets[segment + 1] - begin)
            for c in range(columns.size):
                code = codes[columns[c], begin : begin + n]
                for other in range(n_others):
                    first = starts[c] + (segment * n_others + other) * n_codes[c]
                    look_up_factors(factor, code, table[first : first + n_codes[c]], lows[c], highs[c], kinds[c])
                    ratio = ratios[other, begin : begin + n]
                    # `scale` resolves ties in favour of the lower class.
                    scale = 1.0 / (1.0 - TIE) if other < true_class else 1.0 / (1.0 + TIE)
                    if other == 0:
                        for i in range(n):
                            worst[i] = ratio[i] * factor[i] * scale
                    else:
                        for i in range(n):
                            value = ratio[i] * factor[i] * scale
                            worst[i] = value if value > worst[i] else worst[i]
                if weights.size > 0:
                    total = 0.0
                    for i in range(n):
                        total += weights[begin + i] if worst[i] > 1.0 else 0.0
                    sums[c, true_class] += total
                else:
                    count = 0
                    for i in range(n):
                        count += int(worst[i] > 1.0)
                    sums[c, true_class] += count


@jit
def chosen_sums(
    ratios, codes, offsets, classes, weights, label, columns, lows, highs, kinds, starts, n_codes, table, sums
):
    """Add up the weight of the rows of class j != ``label`` that candidate subset c of features predicts as class
    ``label``: sums[c, j].

    Parameters
    ----------
    ratios : (n_others, n_rows) P(other class) / P(true class) of each row under the current subset.
    codes, offsets : (n_columns, n_rows) unsigned codes of the rows, and (n_segments + 1,) first row of each segment of
        rows of one class.
    classes, weights : (n_segments,) class of each segment, and (n_rows,) row weights; empty if all are 1.
    label : position of the predicted class.
    columns, lows, highs, kinds : (n_candidates,) where to find the level of the candidate's feature, see `ClassBlock`.
    starts, n_codes : (n_candidates,) first factor of each candidate in ``table``, and number of codes of its feature.
    table : (n_factors,) factors that turn ratios of the current subset into those of candidate subset c: in a row of
        the level ``level``, the ratio of other class o is multiplied by table[starts[c] + (segment * n_others + o) *
        n_codes[c] + level].
    sums : (n_candidates, n_classes) result, to which weights are added.
    """
    n_others = ratios.shape[0]
    factor = np.empty(BLOCK)
    mine = np.empty(BLOCK)
    rival = np.empty(BLOCK)
    for segment in range(offsets.size - 1):
        true_class = classes[segment]
        if true_class == label:
            continue
        for begin in range(offsets[segment], offsets[segment + 1], BLOCK):
            n = min(BLOCK, offsets[segment + 1] - begin)
            for c in range(columns.size):
                code = codes[columns[c], begin : begin + n]
                rival[:n] = 1.0 - TIE if label < true_class else 1.0 + TIE
                for other in range(n_others):
                    first = starts[c] + (segment * n_others + other) * n_codes[c]
                    look_up_factors(factor, code, table[first : first + n_codes[c]], lows[c], highs[c], kinds[c])
                    ratio = ratios[other, begin : begin + n]
                    other_class = other + int(other >= true_class)
                    if other_class == label:
                        for i in range(n):
                            mine[i] = ratio[i] * factor[i]
                    else:
                        scale = 1.0 - TIE if label < other_class else 1.0 + TIE
                        for i in range(n):
                            value = ratio[i] * factor[i] * scale
                            rival[i] = value if value > rival[i] else rival[i]
                total = 0.0
                for i in range(n):
                    weight = weights[begin + i] if weights.size > 0 else 1.0
                    total += weight if mine[i] > rival[i] else 0.0
                sums[c, true_class] += total


@jit
def cost_sums(
    ratios, codes, offsets, classes, weights, costs, columns, lows, highs, kinds, starts, n_codes, table, sums
):
    """Add up the costs if every row is given the label with the lowest expected cost under candidate subset c of
    features: sums[c].

    The lowest label wins a tie.

    Parameters
    ----------
    ratios : (n_others, n_rows) P(other class) / P(true class) of each row under the current subset.
    codes, offsets : (n_columns, n_rows) unsigned codes of the rows, and (n_segments + 1,) first row of each segment of
        rows of one class.
    classes, weights : (n_segments,) class of each segment, and (n_rows,) row weights; empty if all are 1.
    costs : (n_classes, n_classes) cost of label d for a row of class j: costs[j, d].
    columns, lows, highs, kinds : (n_candidates,) where to find the level of the candidate's feature, see `ClassBlock`.
    starts, n_codes, table : factors of the candidates; that of row i and other class o is table[starts[c] + (segment *
        n_others + o) * n_codes[c] + level].
    sums : (n_candidates,) result.
    """
    n_others = ratios.shape[0]
    factor = np.empty(BLOCK)
    products = np.empty((n_others, BLOCK))
    odds = np.empty(BLOCK)
    expected = np.empty(BLOCK)
    best = np.empty(BLOCK)
    incurred = np.empty(BLOCK)
    scale = np.abs(costs).max()
    for segment in range(offsets.size - 1):
        true_class = classes[segment]
        for begin in range(offsets[segment], offsets[segment + 1], BLOCK):
            n = min(BLOCK, offsets[segment + 1] - begin)
            for c in range(columns.size):
                code = codes[columns[c], begin : begin + n]
                odds[:n] = 1.0
                for other in range(n_others):
                    first = starts[c] + (segment * n_others + other) * n_codes[c]
                    look_up_factors(factor, code, table[first : first + n_codes[c]], lows[c], highs[c], kinds[c])
                    ratio = ratios[other, begin : begin + n]
                    product = products[other]
                    for i in range(n):
                        product[i] = ratio[i] * factor[i]
                        odds[i] += product[i]
                for label in range(costs.shape[1]):
                    expected[:n] = costs[true_class, label]
                    for other in range(n_others):
                        cost = costs[other + int(other >= true_class), label]
                        product = products[other]
                        for i in range(n):
                            expected[i] += cost * product[i]
                    cost = costs[true_class, label]
                    for i in range(n):
                        if label == 0 or expected[i] < best[i] - TIE * scale * odds[i]:
                            best[i] = expected[i]
                            incurred[i] = cost
                total = 0.0
                for i in range(n):
                    total += incurred[i] * (weights[begin + i] if weights.size > 0 else 1.0)
                sums[c] += total


@jit
def benefit_sums(ratios, codes, offsets, gains, gained, columns, lows, highs, kinds, starts, n_codes, table, sums):
    """Add up the benefits of the decisions with the largest expected benefit under candidate subset c of features:
    sums[c].

    Benefits are differences to that of the first decision, whose sum is therefore 0. Of ties, the first decision is
    taken.

    Parameters
    ----------
    ratios : (n_others, n_rows) P(other class) / P(true class) of each row under the current subset.
    codes, offsets : (n_columns, n_rows) unsigned codes of the rows, and (n_segments + 1,) first row of each segment of
        rows of one class.
    gains : (n_more + 1, n_classes, n_rows) benefit of each further decision minus that of the first, for the row's
        class and then for the other classes; the last entry of the first axis has the differences that may be due to
        rounding.
    gained : (n_more, n_rows) benefit of each further decision for the row's class, minus that of the first decision,
        times the weight of the row.
    columns, lows, highs, kinds : (n_candidates,) where to find the level of the candidate's feature, see `ClassBlock`.
    starts, n_codes, table : factors of the candidates; that of row i and other class o is table[starts[c] + (segment *
        n_others + o) * n_codes[c] + level].
    sums : (n_candidates,) result.
    """
    n_others = ratios.shape[0]
    n_more = gained.shape[0]
    factors = np.empty((n_others, BLOCK))
    terms = np.empty((n_more + 1, n_others, BLOCK))  # terms of the expected gains without the candidate's factor
    least = np.empty(BLOCK)
    best = np.empty(BLOCK)
    slack = np.empty(BLOCK)
    expected = np.empty(BLOCK)
    brings = np.empty(BLOCK)
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], BLOCK):
            n = min(BLOCK, offsets[segment + 1] - begin)
            rows = slice(begin, begin + n)
            for d in range(n_more + 1):
                for other in range(n_others):
                    for i in range(n):  # a loop, because Numba takes seconds to compile an assignment of arrays
                        terms[d, other, i] = gains[d, 1 + other, begin + i] * ratios[other, begin + i]
            if n_more == 1 and n_others == 1:
                for i in range(n):
                    terms[0, 0, i] -= terms[1, 0, i]
                    least[i] = gains[1, 0, begin + i] - gains[0, 0, begin + i]
            for c in range(columns.size):
                code = codes[columns[c], rows]
                for other in range(n_others):
                    first = starts[c] + (segment * n_others + other) * n_codes[c]
                    look_up_factors(
                        factors[other], code, table[first : first + n_codes[c]], lows[c], highs[c], kinds[c]
                    )
                if n_more == 1 and n_others == 1:
                    sums[c] += _sum_where(gained[0, rows], terms[0, 0], factors[0], least)
                    continue
                best[:n] = 0.0
                brings[:n] = 0.0
                for d in range(-1, n_more):  # -1: the last entry, differences due to rounding
                    for i in range(n):
                        expected[i] = gains[d, 0, begin + i]
                    for other in range(n_others):
                        term, factor = terms[d, other], factors[other]
                        for i in range(n):
                            expected[i] += term[i] * factor[i]
                    for i in range(n if d < 0 else 0):
                        slack[i] = expected[i]
                    for i in range(0 if d < 0 else n):
                        better = expected[i] > best[i] + slack[i]
                        best[i] = expected[i] if better else best[i]
                        brings[i] = gained[d, begin + i] if better else brings[i]
                sums[c] += brings[:n].sum()


@jit_sum
def _sum_where(values, terms, factors, least):
    """Return the sum of ``values[i]`` over all rows i for which ``terms[i] * factors[i]`` exceeds ``least[i]``."""
    total = 0.0
    for i in range(values.size):
        total += values[i] if terms[i] * factors[i] > least[i] else 0.0
    return total
