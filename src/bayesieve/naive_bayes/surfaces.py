"""Surfaces: which features say more together than the sum of what each of them says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesieve.engine.parallel import one_blas_thread
from bayesieve.table.levels import smallest_unsigned

_VARIANCES = (0.003, 0.03, 0.3)
"""Of the priors that are tried for each pair."""
_MOST_PRODUCTS = 1e10  # rows x directions x directions that are looked at


def surface_gains(
    lines: Sequence[np.ndarray], bins: np.ndarray, residuals: np.ndarray, curvature: np.ndarray
) -> np.ndarray:
    """(n, n) nats that a surface of two features would gain: the logarithm of its marginal likelihood, directions by
    themselves, against no surface.

    All products of two directions have a gradient and a curvature of the log loss; a matrix product gives those of all
    pairs at once, without a look at the rows for each.

    Parameters
    ----------
    lines : of each of the n features, (n_bins, n_directions), of mean 0 over the rows.
    bins : (n, n_rows) the bin of every row, n_bins for none.
    residuals, curvature : (n_rows, n_numbers) of the log loss by the joint of each class; see `EvidenceProblem.slopes`.
    """
    starts = np.cumsum([0, *(line.shape[1] for line in lines)])
    n_directions = int(starts[-1])
    rows = _some_rows(n_directions, *residuals.shape)
    largest = max(float(curvature.max()), float(np.abs(residuals).max()), 1e-300)  # single precision holds any weight
    design = np.zeros((rows.size, n_directions), dtype=np.float32)
    for k, line in enumerate(lines):
        design[:, starts[k] : starts[k + 1]] = np.append(line, np.zeros((1, line.shape[1])), axis=0)[bins[k, rows]]
    squares = design * design
    gains = np.zeros((len(_VARIANCES), len(lines), len(lines)))
    with one_blas_thread():  # sums come in one order
        for slope, steep in zip(residuals[rows].T / largest, curvature[rows].T / largest, strict=True):
            gradient = (design.T @ (design * slope[:, None].astype(np.float32))).astype(np.float64) * largest
            steepness = (squares.T @ (squares * steep[:, None].astype(np.float32))).astype(np.float64) * largest
            for gain, variance in zip(gains, _VARIANCES, strict=True):
                nats = _nats(gradient, steepness, variance)
                gain += np.add.reduceat(np.add.reduceat(nats, starts[:-1], axis=0), starts[:-1], axis=1)
    best: np.ndarray = gains.max(axis=0)
    return best


def grid_gains(n_bins: np.ndarray, bins: np.ndarray, residuals: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """As `surface_gains` with a direction for each bin: sums by cell take a look at the rows for each pair, but far
    fewer operations than products with a number for each bin.
    """
    from bayesieve.naive_bayes._kernels import sum_by_level

    n, (n_rows, n_numbers) = len(n_bins), residuals.shape
    rows = _some_rows(int(n_bins.sum()), n_rows, n_numbers)
    slopes = np.concatenate([residuals[rows], curvature[rows]], axis=1)
    own = bins[:, rows].astype(smallest_unsigned(int(n_bins.max()) ** 2))
    known = own < n_bins[:, None]
    gains = np.zeros((n, n))
    for i in range(n - 1):
        n_cells = n_bins[i] * n_bins[i + 1 :]
        codes = own[i] * n_bins[i + 1 :, None].astype(own.dtype) + own[i + 1 :]
        codes = np.where(known[i] & known[i + 1 :], codes, n_cells[:, None].astype(own.dtype))
        starts = np.append(0, np.cumsum(n_cells))
        sums = np.zeros((starts[-1] + 1, 2 * n_numbers))
        sum_by_level(codes, n_cells, starts[:-1] * 2 * n_numbers, slopes, sums.ravel())
        gradient, steepness = sums[:-1, :n_numbers], sums[:-1, n_numbers:]
        nats = [np.add.reduceat(_nats(gradient, steepness, v).sum(axis=1), starts[:-1]) for v in _VARIANCES]
        gains[i, i + 1 :] = np.max(nats, axis=0)
    return gains + gains.T


def _some_rows(n_directions: int, n_rows: int, n_numbers: int) -> np.ndarray:
    """The rows that are looked at, evenly spread."""
    most = max(1000, int(_MOST_PRODUCTS / (n_directions**2 * n_numbers)))
    return np.arange(n_rows) if n_rows <= most else np.arange(most) * n_rows // most


def _nats(gradient: np.ndarray, steepness: np.ndarray, variance: float) -> np.ndarray:
    """Gained by directions with this gradient and curvature of the loss, and a prior of this variance."""
    spread = 1.0 + variance * steepness
    nats: np.ndarray = 0.5 * (variance * gradient**2 / spread - np.log(spread))
    return nats
