"""How uncertain fitted evidence is: a low-rank factor of the covariance of the deviations of all cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_RANK = 24


@dataclass(frozen=True)
class Spread:
    """Covariance of the deviations of cells, class by class: factor @ factor.T plus a diagonal.

    Parameters
    ----------
    factors : per feature (n_cells, n_numbers, rank)
    residuals : per feature (n_cells, n_numbers) variances beyond the factors.
    intercept : (n_numbers, rank)
    """

    factors: list[np.ndarray]
    residuals: list[np.ndarray]
    intercept: np.ndarray


def spread_of(
    basis: np.ndarray, steps: np.ndarray, own: np.ndarray, rows: np.ndarray, first_cell: np.ndarray
) -> Spread:
    """The spread of deviations ``basis @ parameters``.

    Parameters
    ----------
    basis : sparse, (n_cells, n) deviation of each cell by each parameter, without the intercept.
    steps : (n_numbers, n + 1, n + 1) roots of the covariance of parameters and intercept.
    own : (n_cells, n_numbers) variance of cells that deviate on their own, too; 0 for the others.
    rows : (n_cells,) rows (or weight), by which the largest directions are chosen.
    first_cell : (n_features + 1,) where the cells of each feature begin.
    """
    n_numbers, size = len(steps), steps.shape[1]
    rank = min(_RANK, size)
    factors = np.zeros((basis.shape[0], n_numbers, rank))
    residuals, intercept = own.copy(), np.zeros((n_numbers, rank))
    for j, root in enumerate(steps.astype(float)):
        whole = basis @ root[:-1]  # (n_cells, n + 1)
        weighted = whole * rows[:, None]
        values, directions = np.linalg.eigh(whole.T @ weighted + rows.sum() * np.outer(root[-1], root[-1]))
        largest = directions[:, np.argsort(-values)[:rank]]
        factors[:, j] = whole @ largest
        intercept[j] = root[-1] @ largest
        residuals[:, j] += np.maximum((whole**2).sum(axis=1) - (factors[:, j] ** 2).sum(axis=1), 0.0)
    cuts = first_cell[1:-1]
    return Spread(np.split(factors, cuts), np.split(residuals, cuts), intercept)
