"""Compiled sums over rows of what the chosen class brings, for all candidates: wrong rows, rows given one class, costs.

The chosen class is the most probable one, the lowest class code among those that tie. Probabilities that differ by less
than ``TIE`` of themselves tie: they are the same number reached by different roundings.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit
from bayesieve.criteria._kernels import BLOCK, spread

TIE = 2e-12


@jit
def wrong_sums(ratios, codes, offsets, classes, weights, columns, lows, highs, kinds, starts, n_codes, table, sums):
    """sums[c, j] += rows (or weight) of class j that candidate c gives another class."""
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
                    spread(factor, code, table[first : first + n_codes[c]], lows[c], highs[c], kinds[c])
                    ratio = ratios[other, begin : begin + n]
                    # A lower class wins a tie, a higher one loses it.
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
    """sums[c, j] += rows (or weight) of class j != ``label`` that candidate c gives the class ``label``."""
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
                    spread(factor, code, table[first : first + n_codes[c]], lows[c], highs[c], kinds[c])
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
    """sums[c] += cost of giving every row the label of lowest expected cost, with candidate c multiplied in.

    ``costs[j, d]``: cost of label d for a row of class j. The lowest label wins a tie.
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
                    spread(factor, code, table[first : first + n_codes[c]], lows[c], highs[c], kinds[c])
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
