"""Monotone contributions for two classes: over ascending numbers they never fall (or never rise).

A contribution is what a level or cell (a finer piece of a level) adds to the log joint of a class, in nats; the order
applies to the contribution to the second class minus that to the first.
"""

from __future__ import annotations

import numpy as np

from bayesieve.table import FeatureLevels

SIDES = np.array([-0.5, 0.5])  # contributions that add up to 0, so that rounded sums stay monotone


def rising_cells(levels: FeatureLevels, sign: int) -> np.ndarray:
    """Return the cells of a numeric feature in the order in which contributions must not fall, shape (n,): ascending
    for ``sign`` 1, descending for -1. Cells of missing and special values are excluded.
    """
    inside = np.append(levels.number_cuts, np.finfo(float).max)  # one number in each interval
    return levels.code_numbers(inside).astype(np.int64)[::sign]


def pool_violators(log_prob: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return log probabilities of levels, centred over two classes, after pooling neighbouring levels that violate a
    monotone order; shape (n_levels, 2), in nats.

    Afterwards, the contribution to the second class minus that to the first never falls along ``order`` (codes of
    levels, as `rising_cells` returns them). ``log_prob`` (n_levels, 2) is log P(level | class).
    """
    from sklearn.isotonic import isotonic_regression

    contrast, probabilities = log_prob[:, 1] - log_prob[:, 0], np.exp(log_prob[order])
    both = probabilities.sum(axis=1)
    shares = isotonic_regression(probabilities[:, 1] / both, sample_weight=both)
    block = np.cumsum(np.append(False, np.diff(shares) != 0))
    sums = np.log([np.bincount(block, of_class) for of_class in probabilities.T])
    contrast[order] = (sums[1] - sums[0])[block]
    return contrast[:, None] * SIDES


def monotone(contributions: np.ndarray, cells: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the nearest contributions whose difference, second class minus first, never falls over ``cells``.

    Parameters
    ----------
    contributions : (n_cells, 2) contributions, in nats.
    cells : cells in the order of `rising_cells`; all other cells keep their contributions.
    rows : (n_cells,) number (or weight) of the rows of each cell, by which squared distances are weighted. Cells
        without rows do not affect other cells.
    """
    from sklearn.isotonic import isotonic_regression

    contrast, has_rows = contributions[:, 1] - contributions[:, 0], rows[cells] > 0
    ordered = contrast[cells]
    if has_rows.any():
        ordered[has_rows] = isotonic_regression(ordered[has_rows], sample_weight=rows[cells][has_rows])
    if not has_rows.all():
        ordered[~has_rows] = isotonic_regression(ordered[~has_rows])
        low = np.maximum.accumulate(np.where(has_rows, ordered, -np.inf))
        high = np.minimum.accumulate(np.where(has_rows, ordered, np.inf)[::-1])[::-1]
        ordered = np.clip(ordered, low, high)
    contrast[cells] = ordered
    return contrast[:, None] * SIDES
