"""Bayes factors of features against no effect, and the posterior probability that a feature has an effect (inclusion).

They decide which features stay in the model. Deviations from counted contributions have normal priors with one of
`TRIED_VARIANCES`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.special import digamma, expit, gammaln, logit, polygamma, softmax

from bayesieve.evidence.problem import class_variances, logit_scale, n_logits_of

TRIED_VARIANCES = np.array([0.01, 0.03, 0.1, 0.3, 1.0])
"""Prior variances of deviations, in squared nats of log odds, over which Bayes factors are averaged."""
TRIED_ROWS_PER_CLASS = np.array([0.5, 1.5, 5.0, 15.0, 50.0, 150.0])
"""Rows for each class that Dirichlet priors of cells are worth, which a Bayes factor averages over: log odds of two
classes of equal size have variances of 9.9 to 0.013 (benchmarks/decisions/inclusion.md)."""
LEAST_PROBABILITY = 0.7
"""Posterior probability of an effect from which a feature stays in the model (benchmarks/decisions/inclusion.md)."""
# Largest share of features with an effect, so that each needs evidence (benchmarks/decisions/inclusion.md).
_MOST_SHARE = 0.85
_OMITTED_TIMES = 2.0  # factor on variances of dropped features (benchmarks/decisions/intervals.md)
_MOST_ROUNDS = 200
LEAST_POSTERIOR = 1e-12  # smallest posterior variance, in units of the prior variance
_DIGITS = 4  # decimals of the variances of dropped features
_SAME_SHARE = 1e-9


class Effects(NamedTuple):
    """Effects of each feature given all others, for each of `TRIED_VARIANCES` as the prior variance of its deviations.

    Parameters
    ----------
    log_bayes : (n_features, n_variances) log Bayes factors against no effect, in nats.
    squares : (n_features, n_logits, n_variances) expected squared effects on the logits of a row, averaged over rows
        with the curvature of their loss as weight, in squared nats.
    """

    log_bayes: np.ndarray
    squares: np.ndarray


def log_bayes_factors(gradients: np.ndarray, precisions: np.ndarray, variances: np.ndarray | float) -> np.ndarray:
    """Return log Bayes factors, in nats, of normal deviations against no deviation, for a quadratic log likelihood.

    Parameters
    ----------
    gradients, precisions : gradient (at no deviation) and negative second derivative of the log likelihood along
        independent axes, in arrays that broadcast together.
    variances : prior variances of the deviations, in squared nats.
    """
    spread = 1.0 + variances * precisions
    return np.asarray(0.5 * (variances * gradients**2 / spread - np.log(spread)))


def expected_squares(gradients: np.ndarray, precisions: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return the posterior expectation of the squared deviations times their precision, summed over axes, for each
    prior variance; shape (n_variances,).

    Parameters
    ----------
    gradients, precisions : (n_axes,) gradient (at no deviation) and negative second derivative of the log likelihood
        along independent axes.
    variances : (n_variances,) prior variances of the deviations, in squared nats.
    """
    of_axes = precisions[:, None]
    posterior = variances / (1.0 + variances * of_axes)
    return np.asarray((of_axes * (posterior + (posterior * gradients[:, None]) ** 2)).sum(axis=0))


def log_evidence(roots: np.ndarray, mode: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return the log marginal likelihood of coefficients under changed prior variances, minus that with all
    coefficients 0, shape (n_trials,), in nats.

    Parameters
    ----------
    roots : (n, any) root of the posterior covariance of n coefficients, in units of the prior standard deviations.
    mode : (n,) posterior mode, in the same units.
    factors : (n_trials, n) factors on the prior variances.
    """
    posterior, axes = np.linalg.eigh((roots @ roots.T).astype(float))
    total = 1.0 / np.clip(posterior, LEAST_POSTERIOR, 1.0)
    # Divide the posterior by the prior to get the likelihood. The precision of the prior is 1 in these units.
    likelihood, gradient = (axes * (total - 1.0)) @ axes.T, axes @ (total * (axes.T @ mode))
    spread = np.sqrt(factors)
    precisions = np.eye(mode.size) + likelihood * spread[:, :, None] * spread[:, None]
    gradients = (spread * gradient)[..., None]
    explained = (gradients * np.linalg.solve(precisions, gradients)).sum(axis=(1, 2))
    return np.asarray(0.5 * (explained - np.linalg.slogdet(precisions)[1]))


def omitted_variances(effects: Effects, squares: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return the variances of the total effect of dropped features on the logits of a row, shape (n_logits,), in
    squared nats.

    With its posterior probability, a dropped feature has an effect of its own expected size. Otherwise its effect is
    small, with a variance common to all dropped features, which is estimated from the rows and may be 0.

    Parameters
    ----------
    effects : effects of the dropped features.
    squares : (n_features, n_logits) expected squared effects of features that have an effect, in squared nats.
    probabilities : (n_features,) posterior probability that each feature has an effect.
    """
    shared = softmax(np.append(0.0, effects.log_bayes.sum(axis=0)))[1:]
    variances = probabilities @ squares + (1.0 - probabilities) @ (effects.squares @ shared)
    return np.asarray(np.round(_OMITTED_TIMES * variances, _DIGITS))


def averaged_log_bayes(logs: np.ndarray) -> np.ndarray:
    """Return the logarithm of the mean Bayes factor over the tried prior variances, shape (...,).

    ``logs`` (..., n_variances) are log Bayes factors, in nats.
    """
    largest = logs.max(axis=-1, keepdims=True)
    shares = np.exp(logs - largest).sum(axis=-1)
    return np.asarray(np.log(shares / logs.shape[-1]) + largest[..., 0])


def log_bayes_of_curve(counts: np.ndarray, basis: np.ndarray) -> float:
    """Return the log Bayes factor of a curve against constant class shares, in nats, by a quadratic approximation from
    counts.

    Parameters
    ----------
    counts : (n_cells, n_classes) number (or weight) of rows.
    basis : (n_cells, n_functions) basis functions of the curve.
    """
    rows, n_classes = counts.sum(axis=1), counts.shape[1]
    total, n_logits = float(rows.sum()), n_logits_of(n_classes)
    if total <= 0.0:
        return 0.0
    shares, basis = counts.sum(axis=0) / total, basis - rows @ basis / total
    logs, (square, share) = np.zeros(TRIED_VARIANCES.size), logit_scale(n_logits)
    for j in range(n_classes - n_logits, n_classes):
        precisions, axes = eigh((basis * (shares[j] * (1.0 - shares[j]) * rows)[:, None]).T @ basis)
        gradients, precisions = axes.T @ (basis.T @ (counts[:, j] - shares[j] * rows)), np.maximum(precisions, 0.0)
        logs += log_bayes_factors(gradients[:, None], precisions[:, None], TRIED_VARIANCES / square).sum(axis=0)
    return float(averaged_log_bayes(logs * share))


def log_bayes_of_cells(counts: np.ndarray) -> float:
    """Return the log Bayes factor of class shares that differ between cells against equal shares, in nats.

    The class shares of a cell have a Dirichlet prior around the shares of all rows, so that the factor is exact even
    for rare classes and cells with few rows. It is conditional on the overall class counts: their probability under the
    same priors is divided out. For that, the mean of the shares over the cells is approximated by a narrower Dirichlet
    distribution.

    Parameters
    ----------
    counts : (n_cells, n_classes) number (or weight) of rows.
    """
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    return 0.0 if min(counts.shape) < 2 else float(averaged_log_bayes(_log_bayes_by_size(counts)))


def expected_squares_of_cells(counts: np.ndarray) -> np.ndarray:
    """Return the expected squared effect of a feature's cells on the logits of a row, shape (n_logits,), if class
    shares differ.

    Shares have the Dirichlet priors of `log_bayes_of_cells`; each prior is weighted by its marginal likelihood.

    Parameters
    ----------
    counts : (n_cells, n_classes) number (or weight) of rows.
    """
    n_classes, has_rows = counts.shape[1], counts.sum(axis=0) > 0
    counts = counts[counts.sum(axis=1) > 0][:, has_rows]
    squares = np.zeros(n_classes)
    if min(counts.shape) >= 2:
        rows, shares = counts.sum(axis=1), counts.sum(axis=0) / counts.sum()
        weights = softmax(_log_bayes_by_size(counts))
        for size, weight in zip(TRIED_ROWS_PER_CLASS * shares.size, weights, strict=True):
            posterior = counts + size * shares
            logs = digamma(posterior) - np.log(shares)
            away = logs - logs.mean(axis=1, keepdims=True)
            variances = class_variances(polygamma(1, posterior), shares.size)
            squares[has_rows] += weight * (rows / rows.sum()) @ (away**2 + variances)
    return 4.0 * squares[1:] if n_classes == 2 else squares  # the logit of two classes is twice a centred contribution


def _log_bayes_by_size(counts: np.ndarray) -> np.ndarray:
    """Return the log Bayes factor of `log_bayes_of_cells` for each prior in `TRIED_ROWS_PER_CLASS`, shape (n_priors,),
    in nats.

    ``counts`` (n_cells, n_classes) must have rows in every cell and of every class.
    """
    rows, of_classes = counts.sum(axis=1), counts.sum(axis=0)
    weights, shares = rows / rows.sum(), of_classes / rows.sum()
    sizes = TRIED_ROWS_PER_CLASS * shares.size
    together = (sizes + 1.0) / float(weights @ weights) - 1.0
    logs = np.zeros(sizes.size)
    for table, of_table, sign in ((counts, sizes, 1.0), (of_classes[None], together, -1.0)):
        # Likelihood of the counts with Dirichlet-distributed shares, divided by that with shares fixed at their mean.
        parameters = of_table[:, None] * shares
        totals = parameters.sum(axis=1)
        fixed = gammaln(parameters), np.log(parameters / totals[:, None])
        of_counts = gammaln(table + parameters[:, None]) - fixed[0][:, None] - table * fixed[1][:, None]
        of_rows = gammaln(table.sum(axis=1) + totals[:, None]) - gammaln(totals)[:, None]
        logs += sign * (of_counts.sum(axis=(1, 2)) - of_rows.sum(axis=1))
    return logs


def inclusion_probabilities(log_bayes: np.ndarray, n_features: int) -> np.ndarray:
    """Return the posterior probability that each feature has an effect, shape (n,), in a two-groups model (Efron 2008).

    The share of features with an effect is estimated from all features. Among mostly noisy columns, a column therefore
    needs a larger Bayes factor than among mostly informative ones.

    Parameters
    ----------
    log_bayes : (n,) log Bayes factors of the tested features.
    n_features : number of features of the table; features that were not tested count as noise.
    """
    share, probabilities = 0.5, np.zeros(log_bayes.size)
    for _ in range(_MOST_ROUNDS):
        probabilities = expit(log_bayes + logit(share))
        following = min((probabilities.sum() + 0.5) / (n_features + 1.0), _MOST_SHARE)
        if abs(following - share) < _SAME_SHARE:
            break
        share = following
    return np.asarray(probabilities)
