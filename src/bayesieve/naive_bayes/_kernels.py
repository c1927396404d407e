"""Compiled sums of log probabilities over the features of coded rows."""

from __future__ import annotations

import math

from bayesieve.compiling import jit

_ROWS = 2048  # rows summed at a time, so that their sums stay in the first-level cache


@jit
def add_log_probabilities(codes, n_levels, starts, table, classes, joint):
    """joint[i, j] += table[starts[k] + code * J + j] over the features k in order; codes of no level add nothing.

    ``classes``: of the rows, whose own class j = classes[i] alone is added to, or None for all classes.
    """
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
                    if classes is None:
                        for j in range(n_classes):
                            joint[i, j] += table[at + j]
                    else:
                        joint[i, classes[i]] += table[at + classes[i]]


@jit
def sum_by_level(codes, n_levels, starts, values, classes, sums):
    """sums[starts[k] + code * J + j] += values[i, j] over the rows with each code of each feature k.

    ``classes``: of the rows, whose own class j = classes[i] alone is summed, or None for all classes.
    """
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
                    if classes is None:
                        for j in range(n_classes):
                            sums[at + j] += values[i, j]
                    else:
                        sums[at + classes[i]] += values[i, classes[i]]


@jit
def residuals(joint, classes, weights):
    """Turn log joint probabilities (rows, classes) into P(class) - 1[own class], times the weight of the row; returns
    the sum of weight * -log P(own class). Of a single class, the log odds of the second of two.
    """
    n_rows, n_classes = joint.shape
    loss = 0.0
    if n_classes == 1:
        for i in range(n_rows):
            sign = 1.0 if classes[i] == 1 else -1.0
            odds = sign * joint[i, 0]  # of the own class
            small = math.exp(-abs(odds))
            loss += weights[i] * (math.log1p(small) + max(-odds, 0.0))
            joint[i, 0] = -sign * weights[i] * (small if odds > 0.0 else 1.0) / (1.0 + small)
        return loss
    for i in range(n_rows):
        largest = joint[i, 0]
        for j in range(1, n_classes):
            largest = max(largest, joint[i, j])
        own = joint[i, classes[i]] - largest
        total = 0.0
        for j in range(n_classes):
            joint[i, j] = math.exp(joint[i, j] - largest)
            total += joint[i, j]
        scale = weights[i] / total
        for j in range(n_classes):
            joint[i, j] *= scale
        joint[i, classes[i]] -= weights[i]
        loss += weights[i] * (math.log(total) - own)
    return loss


@jit
def loss_by_factor(evidence, log_prior, factor, classes, weights):
    """Sum of weight * -log P(own class) where the log joint is prior + factor * evidence, with its first and second
    derivative by the factor: mean of the evidence under P less that of the own class, and variance of it.
    """
    n_rows, n_classes = evidence.shape
    loss, slope, curvature = 0.0, 0.0, 0.0
    for i in range(n_rows):
        largest = -math.inf
        for j in range(n_classes):
            largest = max(largest, log_prior[j] + factor * evidence[i, j])
        total, first, second = 0.0, 0.0, 0.0
        reference = evidence[i, classes[i]]  # differences to it, so that squares do not cancel
        for j in range(n_classes):
            share = math.exp(log_prior[j] + factor * evidence[i, j] - largest)
            away = evidence[i, j] - reference
            total += share
            first += share * away
            second += share * away * away
        mean = first / total
        loss += weights[i] * (math.log(total) + largest - log_prior[classes[i]] - factor * reference)
        slope += weights[i] * mean
        curvature += weights[i] * (second / total - mean * mean)
    return loss, slope, curvature
