"""Compiled sums of log probabilities over the features of coded rows."""

from __future__ import annotations

from bayesieve.compiling import jit

_ROWS = 2048  # rows summed at a time, so that their sums stay in the first-level cache


@jit
def add_log_probabilities(codes, n_levels, starts, table, joint):
    """joint[i, j] += table[starts[k] + code * J + j] over the features k in order; codes of no level add nothing."""
    n_features, n_rows = codes.shape
    n_classes = joint.shape[1]
    for begin in range(0, n_rows, _ROWS):
        stop = min(begin + _ROWS, n_rows)
        for k in range(n_features):
            first, levels = starts[k], n_levels[k]
            for i in range(begin, stop):
                code = codes[k, i]
                if code < levels:
                    at = first + code * n_classes
                    for j in range(n_classes):
                        joint[i, j] += table[at + j]


@jit
def sum_by_level(codes, n_levels, starts, values, sums):
    """sums[starts[k] + code * J + j] += values[i, j] over the rows with each code of each feature k."""
    n_features, n_rows = codes.shape
    n_classes = values.shape[1]
    for begin in range(0, n_rows, _ROWS):
        stop = min(begin + _ROWS, n_rows)
        for k in range(n_features):
            first, levels = starts[k], n_levels[k]
            for i in range(begin, stop):
                code = codes[k, i]
                if code < levels:
                    at = first + code * n_classes
                    for j in range(n_classes):
                        sums[at + j] += values[i, j]


@jit
def add_to_own_class(codes, n_levels, starts, table, classes, joint):
    """joint[i, c] += table[starts[k] + code * J + c] over the features k, c = classes[i] only."""
    n_features, n_rows = codes.shape
    n_classes = joint.shape[1]
    for begin in range(0, n_rows, _ROWS):
        stop = min(begin + _ROWS, n_rows)
        for k in range(n_features):
            first, levels = starts[k], n_levels[k]
            for i in range(begin, stop):
                code = codes[k, i]
                if code < levels:
                    joint[i, classes[i]] += table[first + code * n_classes + classes[i]]


@jit
def sum_by_level_and_class(codes, n_levels, starts, values, classes, n_classes, sums):
    """sums[starts[k] + code * J + classes[i]] += values[i] over the rows i with each code of each feature k."""
    n_features, n_rows = codes.shape
    for begin in range(0, n_rows, _ROWS):
        stop = min(begin + _ROWS, n_rows)
        for k in range(n_features):
            first, levels = starts[k], n_levels[k]
            for i in range(begin, stop):
                code = codes[k, i]
                if code < levels:
                    sums[first + code * n_classes + classes[i]] += values[i]
