"""Compiled walk through all subsets of a few features: what every one of them is worth on the same rows.

A tree over the features, the first level of which decides on the last feature: a subset's ratios are those of its
parent times the factors of one more feature, so that a leaf costs little more than one multiplication a row, and every
product is made in the same order however the tree is cut into pieces.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner
from bayesieve.criteria._decision_kernels import TIE

LARGEST_PRODUCT = 1e100  # of several rows, before its logarithm is taken
MANTISSA_BITS = 6  # of the odds, by which rows are told apart: 64 buckets for each doubling
LOWEST_EXPONENT, HIGHEST_EXPONENT = -48, 48  # of the odds that have buckets of their own
N_BUCKETS = (HIGHEST_EXPONENT - LOWEST_EXPONENT) << MANTISSA_BITS
_LOWEST = (1023 + LOWEST_EXPONENT) << MANTISSA_BITS  # leading bits of the double 2^LOWEST_EXPONENT


@jit
def walk(factors, start, first_key, depth, offsets, classes, with_areas, losses, wrong, lower, upper):
    """Figures of the 2^depth subsets ``first_key`` + 0, 1, ...: ``losses`` (nats), ``wrong`` (rows), and bounds on the
    AUC of each, if asked for.

    ``factors`` (n_features, n_others, n_rows), ``start`` (n_others, n_rows): ratios of the subset ``first_key``.
    """
    n_others, n_rows = start.shape
    stack = np.empty((depth + 1, n_others, n_rows))
    for other in range(n_others):
        for i in range(n_rows):
            stack[0, other, i] = start[other, i]
    at = np.zeros(depth + 1, dtype=np.int64)
    total, worst, odds = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows)
    buckets = np.zeros((2, N_BUCKETS if with_areas else 0), dtype=np.int32)
    for leaf in range(1 << depth):
        level = 1
        changed = leaf ^ (leaf - 1) if leaf else 0
        while leaf and not changed >> (depth - level):
            level += 1
        for d in range(level, depth + 1):
            feature = depth - d
            if leaf >> feature & 1:
                parent = at[d - 1]
                for other in range(n_others):
                    for i in range(n_rows):
                        stack[d, other, i] = stack[parent, other, i] * factors[feature, other, i]
                at[d] = d
            else:
                at[d] = at[d - 1]
        key = first_key + leaf
        ratios = stack[at[depth]]
        count = 0  # rows whose most probable class is another one; the lowest class wins a tie
        for segment in range(offsets.size - 1):
            begin, end = offsets[segment], offsets[segment + 1]
            total[begin:end] = 1.0  # plus the ratios of a row
            worst[begin:end] = 0.0
            for other in range(n_others):
                scale = 1.0 / (1.0 - TIE) if other < classes[segment] else 1.0 / (1.0 + TIE)
                for i in range(begin, end):
                    total[i] += ratios[other, i]
                    worst[i] = max(worst[i], ratios[other, i] * scale)
            for i in range(begin, end):
                count += int(worst[i] > 1.0)
        wrong[key] = count
        losses[key] = sum_of_logs(total)
        if with_areas:
            lower[key], upper[key] = bound_area(ratios, offsets, classes, total, odds, buckets)


@jit_inner
def sum_of_logs(values):
    """Sum of the logarithms of numbers from 1 on: one logarithm for a product of many."""
    total = 0.0
    whole = values.size - values.size % 4
    a, b, c, d = 1.0, 1.0, 1.0, 1.0
    for i in range(0, whole, 4):
        a *= values[i]
        b *= values[i + 1]
        c *= values[i + 2]
        d *= values[i + 3]
        if max(max(a, b), max(c, d)) > LARGEST_PRODUCT:
            total += np.log(a) + np.log(b) + np.log(c) + np.log(d)
            a, b, c, d = 1.0, 1.0, 1.0, 1.0
    for i in range(whole, values.size):
        total += np.log(values[i])
    return total + (np.log(a) + np.log(b) + np.log(c) + np.log(d))


@jit_inner
def bound_area(ratios, offsets, classes, total, odds, buckets):
    """Two numbers that the AUC of the subset lies between: the areas of every class against the rest, weighted by class
    share; the order of rows in one bucket of odds is not looked at.
    """
    n_rows = total.size
    bits = odds.view(np.int64)
    least, most = 0.0, 0.0
    for label in range(ratios.shape[0] + 1):
        n_positive = 0
        buckets[:] = 0
        for segment in range(offsets.size - 1):
            begin, end, true_class = offsets[segment], offsets[segment + 1], classes[segment]
            mine = int(true_class == label)
            if mine:
                n_positive += end - begin
                for i in range(begin, end):
                    odds[i] = 1.0 / (total[i] - 1.0)
            else:
                other = label - int(label > true_class)
                for i in range(begin, end):
                    odds[i] = ratios[other, i] / (total[i] - ratios[other, i])
            for i in range(begin, end):
                bucket = (bits[i] >> (52 - MANTISSA_BITS)) - _LOWEST
                buckets[mine, min(max(bucket, 0), N_BUCKETS - 1)] += 1
        n_negative = n_rows - n_positive
        if n_positive == 0 or n_negative == 0:
            continue
        below, sure, open_pairs = 0, 0, 0
        for bucket in range(N_BUCKETS):
            sure += buckets[1, bucket] * below
            open_pairs += buckets[1, bucket] * buckets[0, bucket]
            below += buckets[0, bucket]
        least += sure / n_negative / n_rows
        most += (sure + open_pairs) / n_negative / n_rows
    return least, most
