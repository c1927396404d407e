"""Dependence of two columns of numbers from the definitions: Hoeffding (1948) with ties as in Hollander & Wolfe (1973),
Szekely et al. (2007).
"""

from __future__ import annotations

import numpy as np


def hoeffding(x: np.ndarray, y: np.ndarray) -> float:
    """30 D, row by row, as the Fortran of R's Hmisc."""
    n = x.size

    def below(column: np.ndarray, i: int) -> np.ndarray:
        share = np.where(column < column[i], 1.0, np.where(column == column[i], 0.5, 0.0))
        share[i] = 0.0
        return share

    first = second = third = 0.0
    for i in range(n):
        in_x, in_y = below(x, i), below(y, i)
        r, s, q = (1.0 + part.sum() for part in (in_x, in_y, in_x * in_y))
        first += (r - 1) * (r - 2) * (s - 1) * (s - 2)
        second += (r - 2) * (s - 2) * (q - 1)
        third += (q - 1) * (q - 2)
    return 30 * (first - 2 * (n - 2) * second + (n - 2) * (n - 3) * third) / (n * (n - 1) * (n - 2) * (n - 3) * (n - 4))


def distance_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """From both matrices of distances, centred twice."""

    def centred(column: np.ndarray) -> np.ndarray:
        distances = np.abs(column[:, None] - column)
        return distances - distances.mean(axis=0) - distances.mean(axis=1)[:, None] + distances.mean()

    a, b = centred(x), centred(y)
    variance = (a * a).mean() * (b * b).mean()
    return float(np.sqrt(max((a * b).mean(), 0.0) / np.sqrt(variance))) if variance > 0 else 0.0
