"""Compiled counting of codes by class."""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit


@jit
def count_codes(codes, class_codes, weights, n_levels, offsets, counts):
    """counts[offsets[k] + level, class] += weight for every row of every feature; codes beyond the known levels are
    passed over.
    """
    n_features, n_rows = codes.shape
    for k in range(n_features):
        row_codes = codes[k]
        first = offsets[k]
        levels = n_levels[k]
        if weights.size == 0:
            for i in range(n_rows):
                if row_codes[i] < levels:
                    counts[first + row_codes[i], class_codes[i]] += 1.0
        else:
            for i in range(n_rows):
                if row_codes[i] < levels:
                    counts[first + row_codes[i], class_codes[i]] += weights[i]


@jit
def count_families(family_codes, class_codes, weights, n_thresholds, starts, histogram):
    """histogram[starts[f] + code, class] += weight for every row of every family of indicators.

    Rows are counted in turn into four copies of a family's histogram, added up at the end: rows of one class often
    repeat a code, and each addition would have to wait for the one before.
    """
    n_families, n_rows = family_codes.shape
    n_classes = histogram.shape[1]
    for f in range(n_families):
        row_codes = family_codes[f]
        first = starts[f]
        n_bins = n_thresholds[f] + 2
        if weights.size == 0:
            whole = np.zeros((4, n_bins * n_classes), np.int64)
            for i in range(n_rows):
                whole[i & 3, row_codes[i] * n_classes + class_codes[i]] += 1
            for b in range(n_bins):
                for j in range(n_classes):
                    at = b * n_classes + j
                    histogram[first + b, j] = whole[0, at] + whole[1, at] + whole[2, at] + whole[3, at]
        else:
            for i in range(n_rows):
                histogram[first + row_codes[i], class_codes[i]] += weights[i]


@jit
def cumulate_families(histogram, starts, n_thresholds, family_of, threshold_of, n_levels, offsets, counts):
    """Counts of every indicator from the histogram of its family: up to the threshold, above it, missing.

    Both sides are sums of bins, never differences, so that no rounding of weights leaves a count below zero.
    """
    n_classes = histogram.shape[1]
    n_families = starts.size
    below = histogram.copy()
    above = histogram.copy()
    for f in range(n_families):
        first, last = starts[f], starts[f] + n_thresholds[f]
        for b in range(first + 1, last + 1):
            for j in range(n_classes):
                below[b, j] += below[b - 1, j]
        for b in range(last - 1, first - 1, -1):
            for j in range(n_classes):
                above[b, j] += above[b + 1, j]
    for k in range(family_of.size):
        f = family_of[k]
        at = starts[f] + threshold_of[k]
        for j in range(n_classes):
            counts[offsets[k], j] = below[at, j]
            counts[offsets[k] + 1, j] = above[at + 1, j]
            if n_levels[k] == 3:
                counts[offsets[k] + 2, j] = histogram[starts[f] + n_thresholds[f] + 1, j]


@jit
def sum_levels(counts, offsets, sums):
    """sums[k] = counts of the levels of feature k added up in their order."""
    for k in range(offsets.size - 1):
        for i in range(offsets[k], offsets[k + 1]):
            for j in range(counts.shape[1]):
                sums[k, j] += counts[i, j]
