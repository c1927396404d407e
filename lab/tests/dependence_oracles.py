"""Dependence of two columns of numbers from the definitions: Hoeffding (1948) with ties as in Hollander & Wolfe (1973),
Szekely et al. (2007), Reshef et al. (2011).
"""

from __future__ import annotations

from itertools import chain, combinations

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


def maximal_information(x: np.ndarray, y: np.ndarray, alpha: float = 0.6, clumps: float = 15.0) -> float:
    """ApproxMaxMI of Reshef et al. (2011): every choice of cuts between clumps is tried."""
    cells = max(x.size**alpha, 4.0)
    scores = [0.0]
    for first, second in ((x, y), (y, x)):
        for n_bins in range(2, int(cells / 2) + 1):
            values, sizes = np.unique(second, return_counts=True)
            bins = equal_bins(sizes.tolist(), n_bins)[np.searchsorted(values, second)]
            runs = clumps_of(first, bins)
            most = int(cells / n_bins)
            places = max(1, int(clumps * most))
            if len(runs) > places:
                joined = equal_bins([len(run) for run in runs], places).tolist()
                parts = [
                    [run for run, part in zip(runs, joined, strict=True) if part == j] for j in sorted(set(joined))
                ]
                runs = [list(chain.from_iterable(part)) for part in parts]
            if bins.max() == 0:
                continue
            tables = np.array([np.bincount(run, minlength=bins.max() + 1) for run in runs])
            for n_columns in range(2, min(most, len(runs)) + 1):
                for cuts in combinations(range(1, len(runs)), n_columns - 1):
                    table = np.add.reduceat(tables, [0, *cuts])
                    information = entropy(table.sum(axis=0)) + entropy(table.sum(axis=1)) - entropy(table.ravel())
                    scores.append(information / np.log(min(n_columns, bins.max() + 1)))
    return max(scores)


def equal_bins(sizes: list[int], n_bins: int) -> np.ndarray:
    """The bin of each group; a group goes to the next bin where that brings the bin before nearer to its fair share."""
    bins, at, size, share = [], 0, 0, sum(sizes) / n_bins
    for group, own in enumerate(sizes):
        if size and abs(size + own - share) >= abs(size - share):
            at, size = at + 1, 0
            share = sum(sizes[group:]) / (n_bins - at)
        size += own
        bins.append(at)
    return np.array(bins)


def clumps_of(column: np.ndarray, bins: np.ndarray) -> list[list[int]]:
    """Bins of the rows of each run of one bin; ties of different bins are a run of their own."""
    runs: list[list[int]] = []
    for value in np.unique(column):
        ties = bins[column == value].tolist()
        alike = len(set(ties)) == 1
        if alike and runs and set(runs[-1]) == set(ties):
            runs[-1] += ties
        else:
            runs.append(ties)
    return runs


def entropy(counts: np.ndarray) -> float:
    """Nats."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())
