"""The posterior of the coefficients for given variances of their priors: its mode, and its Laplace approximation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import get_lapack_funcs
from scipy.optimize import minimize

from bayesieve.evidence.problem import Curvature, EvidenceProblem, LossAtPoint, logit_scale

_SETTLING_STEPS = 10


@dataclass(frozen=True)
class Metric:
    """Curvature of the penalised loss, logit by logit, as roots of its inverse: the scale of steps and errors.

    Parameters
    ----------
    steps : (n_logits, n, n), roots of the inverse curvature matrices of the n basis functions and intercept.
    single : (n_single, n_logits), roots of the inverse curvatures of single cells.
    effective : (n_parameters,), how far the rows determine each parameter, summed over the logits.
    """

    steps: np.ndarray
    single: np.ndarray
    effective: np.ndarray

    def move(self, values: np.ndarray, transposed: bool = False) -> np.ndarray:
        """Turn values (n_parameters, n_logits) of unit curvature into parameters, or gradients the other way round."""
        n = self.steps.shape[1]
        steps = self.steps.transpose(0, 2, 1) if transposed else self.steps
        dense = np.matmul(steps, values[:n].T[:, :, None].astype(steps.dtype))[:, :, 0].T
        return np.concatenate([dense, values[n:] * self.single])


def laplace_metric(curvature: Curvature, priors: np.ndarray) -> Metric:
    """Return the metric of the loss with normal priors of these variances, (n_parameters,)."""
    n_logits, n_dense = curvature.dense.shape[:2]
    spread, of_single = np.sqrt(priors[:n_dense]).astype(curvature.dense.dtype), priors[n_dense:, None]
    steps, effective = np.empty_like(curvature.dense), np.zeros(n_dense)
    diagonal = np.diag_indices(n_dense)
    factorized, inverted = get_lapack_funcs(("potrf", "trtri"), (curvature.dense,))
    for logit, of_loss in enumerate(curvature.dense):
        # In units of the prior deviations the matrix has eigenvalues of at least 1.
        scaled = of_loss * spread
        scaled *= spread[:, None]
        scaled[diagonal] += 1.0
        # Invert the lower Cholesky factor. Rounding may have made the matrix indefinite: its diagonal is then raised.
        for share in (0.0, 1e-5, 1e-3):
            stable = scaled.copy()
            stable[diagonal] *= 1.0 + share
            factor, failed = factorized(stable.T, lower=1, clean=1, overwrite_a=1)
            if not failed:
                root = np.asarray(inverted(factor, lower=1, overwrite_c=1)[0])
                break
        else:
            root = np.diag(1.0 / np.sqrt(scaled[diagonal]))
        effective += 1.0 - (root * root).sum(axis=0, dtype=float)
        np.multiply(root.T, spread[:, None], out=steps[logit])
    by_rows = of_single * curvature.single
    effective = np.concatenate([effective, (by_rows / (1.0 + by_rows)).sum(axis=1)])
    return Metric(steps, np.sqrt(of_single / (1.0 + by_rows)), effective * logit_scale(n_logits).share)


class Stop(NamedTuple):
    """When a search for the mode ends.

    Attributes
    ----------
    steps : steps at most.
    slope : distance of every parameter from its optimum, in standard errors, that is close enough.
    settle : whether to go on after the line search has ended.
    """

    steps: int
    slope: float
    settle: bool = False


def find_mode(
    problem: EvidenceProblem,
    start: LossAtPoint,
    priors: np.ndarray,
    metric: Metric,
    stop: Stop,
) -> LossAtPoint:
    """Step from a point towards the optimum of the penalised loss, by L-BFGS in the metric of the curvature.

    Parameters
    ----------
    start : the loss at the point.
    priors : (n_parameters,) variances of the priors.
    """
    point, last = start.point, start

    def penalised(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal last
        at = point + metric.move(flat.reshape(point.shape))
        if not np.array_equal(last.point, at):  # the first point is that of the start
            last = problem.evaluate(at)
        push = at / priors[:, None]
        gradient = metric.move(last.gradient + push, transposed=True).ravel()
        return last.loss + 0.5 * float((push * at).sum()), gradient

    options = {"maxiter": stop.steps, "ftol": 0.0, "gtol": stop.slope}
    best = minimize(penalised, np.zeros(point.size), jac=True, method="L-BFGS-B", options=options)
    flat, gradient, share = best.x, best.jac, 1.0
    # Rounding of the loss hides the last digits from a line search, but not from the gradient.
    for _ in range(_SETTLING_STEPS if stop.settle else 0):
        if np.abs(gradient).max() <= stop.slope:
            break
        following = flat - share * (best.hess_inv @ gradient)
        _, slopes = penalised(following)
        if slopes @ slopes < gradient @ gradient:
            flat, gradient = following, slopes
        else:
            share /= 2.0
    end = point + metric.move(flat.reshape(point.shape))
    return last if np.array_equal(last.point, end) else problem.evaluate(end)
