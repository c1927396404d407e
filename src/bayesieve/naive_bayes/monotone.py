"""Monotone evidence: for two classes, evidence that never falls over the ordered cells of a number."""

from __future__ import annotations

import numpy as np

from bayesieve.table import FeatureLevels

_SIDES = np.array([-0.5, 0.5])


def rising_cells(levels: FeatureLevels, sign: int) -> np.ndarray:
    """Codes of the intervals of numbers in the order in which evidence may rise: from the lowest numbers on for a sign
    of 1, from the highest for -1. Missing values have no place in it unless they share an interval.
    """
    assert levels.cut_points is not None
    inside = np.append(levels.cut_points[np.isfinite(levels.cut_points)], np.finfo(float).max)  # a number in each
    return levels.code_numbers(inside).astype(np.int64)[::sign]


def monotone(evidence: np.ndarray, cells: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The nearest evidence that does not fall, for the second class against the first, over ``cells`` in their order.

    Distances weigh as much as counts determine the log odds of a cell, n_0 n_1 / (n_0 + n_1). What both classes have in
    common is left out, so that sums of floats, too, are monotone.

    Parameters
    ----------
    evidence, counts : (n_cells, 2) nats, and rows (or weight).
    cells : from `rising_cells`; other cells keep their evidence.
    """
    from sklearn.isotonic import isotonic_regression

    contrast = evidence[:, 1] - evidence[:, 0]
    some = counts[cells] + 0.5
    contrast[cells] = isotonic_regression(contrast[cells], sample_weight=some[:, 0] * some[:, 1] / some.sum(axis=1))
    return contrast[:, None] * _SIDES
