"""Curvature of the log loss of fitted evidence: the way to the optimum, and how far the rows determine deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import get_lapack_funcs


@dataclass(frozen=True)
class Curvature:
    """Curvature of the loss at a point, class by class: (n_numbers, n, n) of the n directions and intercept, and
    (n_own_cells, n_numbers) of cells that deviate on their own.
    """

    dense: np.ndarray
    apart: np.ndarray

    def narrowed(self, kept: np.ndarray) -> Curvature:
        """Of some parameters, (n_parameters,) bool, only."""
        if kept.all():
            return self
        n = self.dense.shape[1]
        dense = np.flatnonzero(kept[:n])
        return Curvature(self.dense[:, dense[:, None], dense], self.apart[kept[n:]])

    def metric(self, variances: np.ndarray, share: float) -> Metric:
        """With normal priors of these variances, (n_parameters,). ``share`` of the effective numbers are free: numbers
        of all classes add up to nothing.
        """
        n_dense = self.dense.shape[1]
        spread, of_apart = np.sqrt(variances[:n_dense]).astype(self.dense.dtype), variances[n_dense:, None]
        steps = np.empty_like(self.dense)
        effective = np.zeros(n_dense)
        for j, of_loss in enumerate(self.dense):
            block = of_loss * spread
            block *= spread[:, None]
            block[np.diag_indices(n_dense)] += 1.0
            root = _inverse_root(block)
            effective += 1.0 - (root * root).sum(axis=0, dtype=float)
            np.multiply(root.T, spread[:, None], out=steps[j])
        by_rows = of_apart * self.apart
        effective = np.concatenate([effective, (by_rows / (1.0 + by_rows)).sum(axis=1)])
        return Metric(steps, np.sqrt(of_apart / (1.0 + by_rows)), effective * share)


@dataclass(frozen=True)
class Metric:
    """Curvature of the penalised loss, class by class.

    Parameters
    ----------
    steps : (n_numbers, n, n), roots of the inverse curvature of the n directions and intercept.
    apart : (n_own_cells, n_numbers), the same of cells that deviate on their own.
    effective : (n_parameters,), how far the rows determine each parameter, summed over the numbers.
    """

    steps: np.ndarray
    apart: np.ndarray
    effective: np.ndarray

    def move(self, values: np.ndarray, transposed: bool = False) -> np.ndarray:
        """Parameters (n_parameters, n_numbers) of unit curvature as parameters, or a gradient the other way round."""
        n = self.steps.shape[1]
        steps = self.steps.transpose(0, 2, 1) if transposed else self.steps
        dense = np.matmul(steps, values[:n].T[:, :, None].astype(steps.dtype))[:, :, 0].T
        return np.concatenate([dense, values[n:] * self.apart])


def _inverse_root(matrix: np.ndarray) -> np.ndarray:
    """Inverse of the lower triangular factor of a positive definite matrix that rounding may have made indefinite."""
    diagonal = np.diag_indices_from(matrix)
    factorized, inverted = get_lapack_funcs(("potrf", "trtri"), (matrix,))
    for share in (0.0, 1e-5, 1e-3):
        stable = matrix.copy()
        stable[diagonal] *= 1.0 + share
        factor, failed = factorized(stable.T, lower=1, clean=1, overwrite_a=1)
        if not failed:
            inverse, _ = inverted(factor, lower=1, overwrite_c=1)
            return np.asarray(inverse)
    return np.diag(1.0 / np.sqrt(matrix[diagonal]))
