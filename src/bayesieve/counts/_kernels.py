"""Compiled counting of codes by class."""

from __future__ import annotations

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
