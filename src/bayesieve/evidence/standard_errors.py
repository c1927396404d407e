"""Standard errors of contributions, from counts, weights and fitted deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from bayesieve.evidence.problem import EvidenceProblem, Metric

N_FACTORS = 4
"""Main directions of the errors of rows; their spread is within some 3 % of that of all directions."""
_POWERS = 4
_DIGITS = 4  # of factors, in nats


@dataclass(frozen=True)
class PosteriorErrors:
    """Posterior of the deviations of a solution, centred over the rows, as far as they follow the rows.

    Parameters
    ----------
    variances : of each feature (n_cells, n_logits).
    left : of each feature (n_cells, n_logits), their shares of the variances of the prior.
    factors : of each feature (n_cells, n_logits, n_factors), the errors that it shares with other features: the errors
        of a row are the sum of the factors of its cells and of ``intercept``, and of the rest of the variances.
    intercept : (n_logits, n_factors).
    """

    variances: Sequence[np.ndarray]
    left: Sequence[np.ndarray]
    factors: Sequence[np.ndarray]
    intercept: np.ndarray


def posterior_errors(
    problem: EvidenceProblem, metric: Metric, parameters: np.ndarray, matrix: np.ndarray
) -> PosteriorErrors:
    """Return the posterior errors of the deviations, those of each feature centred over the rows.

    Parameters
    ----------
    problem : the problem with all groups. Those that do not deviate add nothing.
    metric : the metric of some of the parameters, at the positions ``parameters``.
    matrix : (n_some_rows, n) the basis functions and the intercept among them, of some rows.
    """
    design, n = problem.design, metric.steps.shape[1] - 1
    rows, priors = problem.rows_of_cells(), metric.priors
    single = np.zeros((2, int(design.first_cell[-1]), design.n_logits))  # posterior and prior variances
    at = design.single[parameters[n + 1 :] - design.intercept - 1]
    single[:, at] = np.stack([metric.single**2, np.broadcast_to(priors[n + 1 :, None], metric.single.shape)])
    # Principal components of the errors of rows, by subspace iteration for each logit.
    of_logits = []
    for steps in metric.steps:
        directions = np.random.default_rng(0).normal(size=(n + 1, min(N_FACTORS, n + 1))).astype(steps.dtype)
        for _ in range(_POWERS):
            directions = qr(steps.T @ (matrix.T @ (matrix @ (steps @ directions))), mode="economic")[0]
        of_logits.append(directions)
    main = np.stack(of_logits).astype(float)

    intercept = np.matmul(metric.steps[:, n:], main)[:, 0].astype(float)
    variances, left, factors = [], [], []
    of_function = np.searchsorted(design.first_function, parameters[:n], side="right") - 1
    for k, shape in enumerate(problem.shapes):
        cells = slice(int(design.first_cell[k]), int(design.first_cell[k]) + shape.n_cells)
        functions = np.flatnonzero(of_function == k)
        basis = design.basis[cells, :][:, parameters[functions]].toarray()
        mean = (rows[cells] / max(float(rows[cells].sum()), 1e-300)) @ basis
        basis -= mean
        steps = metric.steps[:, functions].astype(float)
        roots = np.matmul(basis, steps)
        posterior, prior = single[:, cells].copy()
        posterior += (roots**2).sum(axis=2).T
        prior += (basis**2 @ priors[functions])[:, None]
        variances.append(posterior)
        left.append(np.divide(posterior, prior, out=np.ones_like(prior), where=prior > 0).clip(0.0, 1.0))
        factors.append(np.round(np.matmul(roots, main).transpose(1, 0, 2), _DIGITS))
        intercept += np.matmul(np.matmul(mean, steps)[:, None], main)[:, 0]
    return PosteriorErrors(variances, left, factors, np.round(intercept, _DIGITS))


def class_variances(variances: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the variances (n_cells, n_classes) of contributions less their mean over the classes, from the variances
    of logits.
    """
    if variances.shape[1] == 1:  # the second class less the first
        return np.repeat(variances / 4.0, n_classes, axis=1)
    share = 1.0 / n_classes
    return (1.0 - share) ** 2 * variances + share**2 * (variances.sum(axis=1, keepdims=True) - variances)


def counting_variances(counts: np.ndarray) -> np.ndarray:
    """Return the sampling variances (n_levels, n_classes) of log P(level | class) less its mean over the classes."""
    of_logs = 1.0 / np.maximum(counts, 0.5) - 1.0 / np.maximum(counts.sum(axis=0), 1.0)
    return class_variances(np.maximum(of_logs, 0.0), counts.shape[1])


def slope_variances(counts: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Return the variances (n_levels, n_classes) of ``logs`` times a weight fitted to all rows."""
    rows, total = counts.sum(axis=1), float(counts.sum())
    if total <= 0.0 or not np.isfinite(logs).all():
        return np.zeros_like(logs)
    shares = counts.sum(axis=0) / total
    centred = logs - rows @ logs / total
    curvature = float(rows @ ((centred - (centred @ shares)[:, None]) ** 2 @ shares))
    squares: np.ndarray = (centred - centred.mean(axis=1, keepdims=True)) ** 2
    return squares / curvature if curvature > 0.0 else np.zeros_like(logs)


def errors_of_deviations(errors: PosteriorErrors, i: int, counting: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return standard errors (n_cells, n_classes) and factors (n_cells, n_logits, n_factors) of one feature.

    A contribution is counted + deviation. The deviation follows the rows by a share of 1 - left and the counted part
    by the rest, and both err in the same direction, as they see the same rows: beyond the posterior variance, the error
    of counting enters with left^2 + 2 left (1 - left).

    Parameters
    ----------
    errors : of all features.
    i : position of the feature.
    counting : (n_cells, n_classes) variances of the counted contributions.
    """
    posterior, left = class_variances(errors.variances[i], counting.shape[1]), errors.left[i]
    return np.sqrt(posterior + left * (2.0 - left) * counting), errors.factors[i]
