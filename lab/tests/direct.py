"""Window scores by their definitions, one window after the other, with the tests of scipy.stats."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import stats


def p_value(test: str, before: np.ndarray, after: np.ndarray) -> float:
    """Two-sided p-value of one pair of samples."""
    if test == "U":
        if np.ptp(np.concatenate([before, after])) == 0:
            return 1.0  # some versions of SciPy give NaN for samples of a single value
        return float(stats.mannwhitneyu(before, after, alternative="two-sided", method="asymptotic").pvalue)
    if test == "KS":
        with warnings.catch_warnings():
            # SciPy sums p-values of 1 to slightly more and then gives the asymptotic one, 1 as well.
            warnings.filterwarnings("ignore", message="ks_2samp: Exact calculation unsuccessful")
            return float(stats.ks_2samp(before, after, method="exact").pvalue)
    freedom = before.size - 1
    # Without its first value a constant sample is zeros, whose variance is exactly 0.
    one, other = np.var(before - before[0], ddof=1), np.var(after - after[0], ddof=1)
    if one == other:
        return 1.0
    if min(one, other) == 0:
        return 0.0
    tails = stats.f.cdf(one / other, freedom, freedom), stats.f.sf(one / other, freedom, freedom)
    return float(2 * min(tails))


def p_values(values: np.ndarray, test: str, width: int) -> np.ndarray:
    half = width // 2
    windows = range(values.size - width + 1)
    return np.array([p_value(test, values[b : b + half], values[b + half : b + width]) for b in windows])


def smallest_confirmed(found: np.ndarray, run: int) -> float:
    """Smallest over positions of the largest of ``run`` successive p-values."""
    positions = range(found.size - run + 1)
    return float(min((found[b : b + run].max() for b in positions), default=np.nan))


def share(found: np.ndarray, level: float) -> float:
    return float(np.mean(found <= level)) if found.size else np.nan


def longest(found: np.ndarray, level: float) -> float:
    """Largest number of successive p-values at or below a level: by trying all stretches."""
    if not found.size:
        return np.nan
    low = found <= level
    stretches = [(a, b) for a in range(low.size) for b in range(a + 1, low.size + 1) if low[a:b].all()]
    return float(max((b - a for a, b in stretches), default=0))


def most(found: np.ndarray, level: float, run: int) -> float:
    """Largest number of p-values at or below a level among ``run`` successive ones, or all if there are fewer."""
    starts = range(max(found.size - run + 1, 1))
    return float(max(np.sum(found[b : b + run] <= level) for b in starts)) if found.size else np.nan
