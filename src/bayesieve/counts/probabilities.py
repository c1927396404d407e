"""Counts -> log probabilities, the one place where smoothing happens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Real
from typing import Literal

import numpy as np

_LEAST_ALPHA, _LARGEST_ALPHA = 1e-280, 1e100  # beyond, ratios of probabilities leave the range of floats

Smoothing = Literal["m-estimate"] | float


def check_smoothing(smoothing: object) -> None:
    """Raise ValueError unless ``smoothing`` is ``"m-estimate"`` or a positive number whose logarithm is safe to use."""
    if isinstance(smoothing, str) and smoothing == "m-estimate":
        return
    if (
        isinstance(smoothing, Real)
        and not isinstance(smoothing, bool)
        and _LEAST_ALPHA <= float(smoothing) <= _LARGEST_ALPHA
    ):
        return
    raise ValueError(
        f"smoothing must be 'm-estimate' or a positive number (Laplace's alpha, "
        f"from {_LEAST_ALPHA} to {_LARGEST_ALPHA}), got {smoothing!r}."
    )


def log_probabilities(counts: np.ndarray, total: float, smoothing: Smoothing) -> np.ndarray:
    """log P(level | class) of one feature.

    Parameters
    ----------
    counts : (n_levels, n_classes) rows (or weight) of each level and class.
    total : number of rows N (or sum of the weights) of the table.
    smoothing : ``"m-estimate"``: (N_ij + 1/N) / (N_j + J/N), m = J/N and p = 1/J of Boulle (2007), section 3.1;
        a number: Laplace's (N_ij + alpha) / (N_j + alpha * levels), as scikit-learn's ``CategoricalNB``.

    Returns
    -------
    (n_levels, n_classes) natural logarithms.
    """
    return log_probabilities_of_all(counts, np.array([0, len(counts)]), total, smoothing)


def smoothed_logs(
    counts: np.ndarray, class_counts: np.ndarray, n_levels: int, n_classes: int, total: float, smoothing: Smoothing
) -> np.ndarray:
    """log P(level | class) from counts of a level and class and the counts of the class over all levels."""
    if smoothing == "m-estimate":
        return np.log(counts + 1.0 / total) - np.log(class_counts + n_classes / total)
    alpha = float(smoothing)
    return np.log(counts + alpha) - np.log(class_counts + alpha * n_levels)


def log_probabilities_of_all(counts: np.ndarray, offsets: np.ndarray, total: float, smoothing: Smoothing) -> np.ndarray:
    """`log_probabilities` of every feature, one after another: (levels of all features, n_classes) counts, where
    feature k has the lines ``offsets[k]`` to ``offsets[k + 1] - 1``.
    """
    n_levels, n_classes = np.diff(offsets), counts.shape[1]
    feature = np.repeat(np.arange(n_levels.size) * n_classes, n_levels)
    # Added up in their order, as `log_probabilities` does.
    sums = np.bincount((feature[:, None] + np.arange(n_classes)).ravel(), counts.ravel(), n_levels.size * n_classes)
    class_counts = sums.reshape(-1, n_classes)
    if smoothing == "m-estimate":
        logs = np.log(class_counts + n_classes / total)
        return np.log(counts + 1.0 / total) - np.repeat(logs, n_levels, axis=0)
    alpha = float(smoothing)
    return np.log(counts + alpha) - np.repeat(np.log(class_counts + alpha * n_levels[:, None]), n_levels, axis=0)


def log_probabilities_of_tables(tables: Sequence[np.ndarray], total: float, smoothing: Smoothing) -> list[np.ndarray]:
    """`log_probabilities` of each of the ``tables`` of counts, (n_levels, n_classes); they share one array."""
    offsets = np.cumsum([0, *map(len, tables)])
    logs = log_probabilities_of_all(np.concatenate(tables), offsets, total, smoothing)
    return [logs[start:stop] for start, stop in pairwise(offsets.tolist())]


def class_log_prior(class_counts: np.ndarray) -> np.ndarray:
    """(n_classes,) logarithm of the shares of the classes; -inf for a class without rows."""
    with np.errstate(divide="ignore"):
        prior: np.ndarray = np.log(class_counts) - np.log(class_counts.sum())
    return prior
