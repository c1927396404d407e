"""Fitted evidence from its definition, row by row, with a slow and sure optimiser."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize


def penalised_loss(
    designs: list[np.ndarray],
    deviations: list[np.ndarray],
    intercept: np.ndarray,
    precisions: list[np.ndarray],
    offset: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
) -> float:
    """Log loss of the rows plus the penalties, in nats.

    ``designs``: of each feature, (n_rows, n_directions); ``deviations``: (n_directions, n_classes);
    ``precisions``: (n_directions,).
    """
    loss = 0.5 * float((intercept**2).sum())
    for deviation, precision in zip(deviations, precisions, strict=True):
        loss += 0.5 * float((precision[:, None] * deviation**2).sum())
    for row in range(classes.size):
        joint = offset[row] + intercept
        for design, deviation in zip(designs, deviations, strict=True):
            joint = joint + design[row] @ deviation
        largest = joint.max()
        loss += weights[row] * (largest + np.log(np.exp(joint - largest).sum()) - joint[classes[row]])
    return loss


def optimum(
    designs: list[np.ndarray],
    precisions: list[np.ndarray],
    offset: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    rising: Sequence[tuple[int, np.ndarray, np.ndarray]] = (),
) -> tuple[float, np.ndarray]:
    """The least penalised loss and the fitted log joint (n_rows, n_classes).

    ``rising``: of two classes, (feature, lines of its basis, evidence of the second class against the first that
    deviations are added to) for cells over which the sum must not fall.
    """
    n_classes = offset.shape[1]
    sizes = [design.shape[1] for design in designs]

    def parts(flat: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        lines = flat.reshape(-1, n_classes)
        return np.split(lines[:-1], np.cumsum(sizes)[:-1]), lines[-1]

    def objective(flat: np.ndarray) -> float:
        deviations, intercept = parts(flat)
        return penalised_loss(designs, deviations, intercept, precisions, offset, classes, weights)

    def rises(flat: np.ndarray) -> np.ndarray:
        deviations, _ = parts(flat)
        return np.concatenate([np.diff(counted + lines @ deviations[k] @ [-1, 1]) for k, lines, counted in rising])

    start = np.zeros((sum(sizes) + 1) * n_classes)
    if rising:
        bounds = {"type": "ineq", "fun": rises}
        best = minimize(objective, start, method="SLSQP", constraints=bounds, options={"ftol": 1e-10, "maxiter": 500})
    else:
        best = minimize(objective, start, method="BFGS", options={"gtol": 1e-6, "maxiter": 2000})
    deviations, intercept = parts(best.x)
    fitted = offset + intercept
    for design, deviation in zip(designs, deviations, strict=True):
        fitted = fitted + design @ deviation
    return float(best.fun), fitted
