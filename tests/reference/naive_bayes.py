"""Naive Bayes on integer codes, row by row: Boullé (2007), JMLR 8, section 2 and eq. 3."""

from __future__ import annotations

import math
from collections.abc import Sequence


def class_counts(y: Sequence[int], n_classes: int, sample_weight: Sequence[float] | None = None) -> list[float]:
    """The weight of the rows of each class."""
    sample_weight = [1.0] * len(y) if sample_weight is None else sample_weight
    counts = [0.0] * n_classes
    for label, weight in zip(y, sample_weight, strict=True):
        counts[label] += weight
    return counts


def level_counts(
    codes: Sequence[int], y: Sequence[int], n_levels: int, n_classes: int, sample_weight: Sequence[float] | None = None
) -> list[list[float]]:
    """N_ij: the weight of the rows of level i and class j."""
    sample_weight = [1.0] * len(y) if sample_weight is None else sample_weight
    counts = [[0.0] * n_classes for _ in range(n_levels)]
    for code, label, weight in zip(codes, y, sample_weight, strict=True):
        if code < n_levels:  # an unseen value is counted nowhere
            counts[code][label] += weight
    return counts


def log_conditionals(
    counts: Sequence[Sequence[float]], smoothing: float | str, classes: Sequence[float]
) -> list[list[float]]:
    """log P(level i | class j).

    `smoothing` is "m-estimate", (N_ij + 1/N) / (N_j + J/N), or Laplace's alpha, (N_ij + alpha) / (N_j + alpha I).
    With the m-estimate N_j is the weight of all rows of the class (`classes`); with Laplace's alpha it is that of the
    rows whose level is known, so that the levels of a class sum to 1.
    """
    n, n_classes, n_levels = sum(classes), len(classes), len(counts)
    log_probabilities = []
    for level in counts:
        row = []
        for j, count in enumerate(level):
            if smoothing == "m-estimate":
                row.append(math.log((count + 1 / n) / (classes[j] + n_classes / n)))
            else:
                alpha = float(smoothing)
                known = sum(other[j] for other in counts)
                row.append(math.log((count + alpha) / (known + alpha * n_levels)))
        log_probabilities.append(row)
    return log_probabilities


def log_priors(classes: Sequence[float]) -> list[float]:
    """log P(class j) = log N_j / N."""
    return [math.log(count / sum(classes)) for count in classes]


def log_joint(
    row: Sequence[int],
    priors: Sequence[float],
    conditionals: Sequence[Sequence[Sequence[float]]],
    feature_weights: Sequence[float] | None = None,
) -> list[float]:
    """log P(j) + sum_k w_k log P(x_k | j) of each class; a code beyond the levels is unseen and adds nothing."""
    feature_weights = [1.0] * len(row) if feature_weights is None else feature_weights
    joint = list(priors)
    for code, weight, levels in zip(row, feature_weights, conditionals, strict=True):
        if code < len(levels):
            for j in range(len(joint)):
                joint[j] += weight * levels[code][j]
    return joint


def log_posterior(joint: Sequence[float]) -> list[float]:
    """log P(j | x), from the log joint of each class."""
    top = max(joint)
    log_sum = top + math.log(math.fsum(math.exp(value - top) for value in joint))
    return [value - log_sum for value in joint]
