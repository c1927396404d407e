"""Compiled walk through all subsets of a few features, which counts misclassified rows and bounds the AUC.

The *ratios* of a row are the probabilities of all other classes divided by that of its own class, under the naive Bayes
of a subset. A *segment* is a range of rows of one class.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner
from bayesieve.criteria._decision_kernels import TIE
from bayesieve.search._kernels import descend

MANTISSA_BITS = 6  # of the odds, by which rows are told apart: 64 buckets for each doubling
LOWEST_EXPONENT, HIGHEST_EXPONENT = -48, 48  # of the odds that have buckets of their own
N_BUCKETS = (HIGHEST_EXPONENT - LOWEST_EXPONENT) << MANTISSA_BITS
_LOWEST = (1023 + LOWEST_EXPONENT) << MANTISSA_BITS  # leading bits of the double 2^LOWEST_EXPONENT


@jit
def rate(factors, start, first_key, depth, offsets, classes, wrong, lower, upper):
    """Count the misclassified rows and bound the AUC of 2^depth subsets of features.

    Subsets are visited in the order of `bayesieve.search._kernels.walk`, in which successive subsets differ in few
    features.

    Parameters
    ----------
    factors, start, first_key, depth : see `bayesieve.search._kernels.walk`.
    offsets : (n_segments + 1,) bounds of the segments of rows, which are sorted by class.
    classes : (n_segments,) class of each segment.
    wrong, lower, upper : (2^n_features,) output: number of misclassified rows, and bounds of the AUC, of each subset.
    """
    n_others, n_rows = start.shape
    stack = np.empty((depth + 1, n_others, n_rows))
    stack[0] = start
    at = np.zeros(depth + 1, dtype=np.int64)
    total, worst, odds = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows)
    buckets = np.zeros((2, N_BUCKETS), dtype=np.int32)
    for leaf in range(1 << depth):
        ratios = descend(stack, at, leaf, depth, factors)
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
        key = first_key + leaf
        wrong[key] = count
        lower[key], upper[key] = _bound_area(ratios, offsets, classes, total, odds, buckets)


@jit_inner
def _bound_area(ratios, offsets, classes, total, odds, buckets):
    """Return a lower and an upper bound of the AUC of a subset, weighted over the classes by their shares.

    ``ratios`` (n_classes - 1, n_rows) are those of the subset, and ``total`` (n_rows,) is 1 plus their sums;
    ``offsets`` and ``classes`` are as in `rate`. Odds are sorted into ``buckets`` rather than exactly, which is faster:
    the order of rows within a bucket is unknown, and the bounds assume the worst and the best one. ``odds`` and
    ``buckets`` are work space.
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
