"""Surfaces: which features say more together than the sum of what each of them says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesieve.engine.parallel import one_blas_thread

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
    most = max(1000, int(_MOST_PRODUCTS / (n_directions**2 * residuals.shape[1])))
    rows = np.arange(len(residuals)) if len(residuals) <= most else np.arange(most) * len(residuals) // most
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
                spread = 1.0 + variance * steepness
                nats = 0.5 * (variance * gradient**2 / spread - np.log(spread))
                gain += np.add.reduceat(np.add.reduceat(nats, starts[:-1], axis=0), starts[:-1], axis=1)
    best: np.ndarray = gains.max(axis=0)
    return best
