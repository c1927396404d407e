"""Monotone contributions for two classes: over ascending numbers they never fall (or never rise)."""

from __future__ import annotations

import numpy as np

from bayesieve.table import FeatureLevels

_SIDES = np.array([-0.5, 0.5])  # without a common part, sums of floats are monotone, too


def rising_cells(levels: FeatureLevels, sign: int) -> np.ndarray:
    """Return the positions of the cells of a numeric feature in the order in which contributions may not fall."""
    inside = np.append(levels.number_cuts, np.finfo(float).max)  # a number in each
    return levels.code_numbers(inside).astype(np.int64)[::sign]


def merged_evidence(log_prob: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return counted contributions, (n_levels, 2) in nats, after merging neighbouring levels in the wrong order.

    Afterwards log P(level | class) of the second class less the first does not fall over ``levels`` in their order.
    """
    from sklearn.isotonic import isotonic_regression

    contrast, probabilities = log_prob[:, 1] - log_prob[:, 0], np.exp(log_prob[levels])
    both = probabilities.sum(axis=1)
    shares = isotonic_regression(probabilities[:, 1] / both, sample_weight=both)
    block = np.cumsum(np.append(False, np.diff(shares) != 0))
    sums = np.log([np.bincount(block, of_class) for of_class in probabilities.T])
    contrast[levels] = (sums[1] - sums[0])[block]
    return contrast[:, None] * _SIDES


def monotone(evidence: np.ndarray, cells: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the nearest contributions for which the second class less the first does not fall over ``cells``.

    Parameters
    ----------
    evidence : (n_cells, 2) contributions, in nats.
    cells : from `rising_cells`; other cells keep their contributions.
    rows : (n_cells,) number (or weight) of the rows of each cell, the weights of distances. Cells without rows move no
        others.
    """
    from sklearn.isotonic import isotonic_regression

    contrast, has_rows = evidence[:, 1] - evidence[:, 0], rows[cells] > 0
    ordered = contrast[cells]
    if has_rows.any():
        ordered[has_rows] = isotonic_regression(ordered[has_rows], sample_weight=rows[cells][has_rows])
    if not has_rows.all():
        ordered[~has_rows] = isotonic_regression(ordered[~has_rows])
        low = np.maximum.accumulate(np.where(has_rows, ordered, -np.inf))
        high = np.minimum.accumulate(np.where(has_rows, ordered, np.inf)[::-1])[::-1]
        ordered = np.clip(ordered, low, high)
    contrast[cells] = ordered
    return contrast[:, None] * _SIDES
