"""Two-sample tests with halves of equal size: from statistic to p-value and from level to critical statistic."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import fdtrc, fdtri, ndtr, ndtri

TESTS = ("U", "KS", "F")
"""Mann-Whitney U, two-sample Kolmogorov-Smirnov and F test; the kernels know them by their place in this list."""


def p_values(test: str, half: int, statistics: np.ndarray) -> np.ndarray:
    """Two-sided p-values of the statistics of the kernels; they fall where the statistic rises, NaN stays NaN.

    "U": normal approximation with corrections for ties and continuity, as ``scipy.stats.mannwhitneyu`` with
    ``method="asymptotic"``. "KS": exact for values without ties (with ties an upper bound), as ``scipy.stats.ks_2samp``
    with ``method="exact"``. "F": exact for Gaussian values, twice the upper tail of the larger over the smaller
    variance.
    """
    if test == "U":
        return np.minimum(2.0 * ndtr(-statistics), 1.0)
    if test == "F":
        return np.minimum(2.0 * fdtrc(half - 1, half - 1, statistics), 1.0)
    missing = np.isnan(statistics)
    tails = _kolmogorov_smirnov(half)[np.where(missing, 0, statistics).astype(np.int64)]
    return np.where(missing, np.nan, tails)


def smallest_p_value(test: str, half: int) -> float:
    """The smallest p-value that halves of this size can give (for "U" and "KS": without ties)."""
    if test == "F":
        return 0.0
    if test == "KS":
        return float(_kolmogorov_smirnov(half)[half])
    largest = (half * half - 1.0) / 2.0 / math.sqrt(half * half * (2 * half + 1) / 12.0)
    return float(p_values("U", half, np.array([largest]))[0])


def critical_statistic(test: str, half: int, level: float) -> float:
    """The smallest statistic whose p-value is at most ``level``."""
    if test == "U":
        return float(-ndtri(level / 2.0))
    if test == "F":
        return float(1.0 / fdtri(half - 1, half - 1, level / 2.0))  # equal sizes: 1 / F is distributed as F
    return float(np.argmax(np.append(_kolmogorov_smirnov(half), 0.0) <= level))


@lru_cache(maxsize=64)
def _kolmogorov_smirnov(half: int) -> np.ndarray:
    """P(D >= k / half) for k = 0 .. half, for two samples of the same size (Gnedenko and Korolyuk 1951).

    By reflection of the paths of n steps up and n down that leave the band of half width k:
    2 sum over j >= 1 of (-1)^(j - 1) C(2 n, n - j k) / C(2 n, n), here in whole numbers and thus without rounding.
    """
    steps = [1] * (half + 1)  # C(2 n, n - i), from i = n down
    for i in range(half - 1, -1, -1):
        steps[i] = steps[i + 1] * (half + i + 1) // (half - i)
    tails = [1.0]
    for k in range(1, half + 1):
        outside = sum((-1) ** (j - 1) * steps[j * k] for j in range(1, half // k + 1))
        tails.append(2 * outside / steps[0])
    table = np.array(tails)
    table.flags.writeable = False
    return table
