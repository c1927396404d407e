"""Coded tables and slow costs, shared by the tests of criteria and searches."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from bayesieve.counts import CodedTable, log_probabilities
from tests.reference import selective


def coded_table(
    seed: int,
    n_rows: int = 60,
    n_features: int = 5,
    n_classes: int = 2,
    *,
    strength: float = 0.5,
    weights: np.ndarray | None = None,
    unseen: float = 0.0,
    n_levels: int = 3,
) -> CodedTable:
    """Features that follow the class with probability ``strength``; the last one has a single level."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n_rows)
    labels[: min(n_classes, n_rows)] = np.arange(min(n_classes, n_rows))
    codes = np.empty((n_features, n_rows), dtype=np.uint8)
    for k in range(n_features):
        follows = rng.random(n_rows) < strength * rng.random()
        codes[k] = np.where(follows, (labels + k) % n_levels, rng.integers(0, n_levels, n_rows))
        codes[k, rng.random(n_rows) < unseen] = n_levels + rng.integers(0, 2)
    levels = np.full(n_features, n_levels)
    if n_features > 1:
        codes[-1], levels[-1] = 0, 1
    return CodedTable(
        codes=codes,
        n_levels=levels,
        names=tuple(f"x{k}" for k in range(n_features)),
        class_codes=labels.astype(np.uint8),
        classes=np.arange(n_classes),
        weights=weights,
    )


def log_joint(coded: CodedTable, subset: Collection[int], smoothing: float | str = "m-estimate") -> np.ndarray:
    """(n_rows, n_classes) log P(j) + sum over the subset of log P(x_k | j), row by row in logarithms."""
    counts = coded.counts
    with np.errstate(divide="ignore"):
        joint = np.tile(np.log(counts.class_counts / counts.total), (coded.n_rows, 1))
    for k in subset:
        table = log_probabilities(counts.feature(k), counts.total, smoothing)
        known = coded.codes[k] < len(table)
        joint[known] += table[coded.codes[k][known]]
    return joint


def slow_cost(coded: CodedTable, subset: Collection[int], smoothing: float | str = "m-estimate") -> float:
    """Equation 4 of Boulle (2007), from the log joints of all rows; rows of weight zero do not count."""
    joint = log_joint(coded, subset, smoothing)
    weights = np.ones(coded.n_rows) if coded.weights is None else coded.weights
    rows = np.flatnonzero(weights)
    joint, labels = joint[rows], coded.class_codes[rows]
    top = joint.max(axis=1)
    log_sum = top + np.log(np.exp(joint - top[:, None]).sum(axis=1))
    loss = log_sum - joint[np.arange(rows.size), labels]
    return selective.prior_cost(coded.n_features, len(subset)) + float(weights[rows] @ loss)
