"""Which features matter: Bayes factors against chance, and the share of features that matter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.special import expit, logit, logsumexp, softmax

TRIED_VARIANCES = np.array([0.01, 0.03, 0.1, 0.3, 1.0])
"""Variances of deviations, in squared nats of log odds, that a Bayes factor averages over."""
LEAST_PROBABILITY = 0.6
"""Probability from which a feature matters enough to stay (benchmarks/decisions/inclusion.md)."""
_MOST_SHARE = 0.5  # so that no feature stays against its own evidence (benchmarks/decisions/inclusion.md)
_OMITTED_TIMES = 2.0  # of variances of left-out features (benchmarks/decisions/intervals.md)
_MOST_ROUNDS = 200
_SAME_SHARE = 1e-9


class Effects(NamedTuple):
    """Effects of features beside all others, for each of `TRIED_VARIANCES` of their deviations.

    Parameters
    ----------
    log_bayes : (n_features, n_variances) log Bayes factors against no effect.
    squares : (n_features, n_numbers, n_variances) expected squared effects on rows, weighted by the curvature of rows.
    """

    log_bayes: np.ndarray
    squares: np.ndarray


def log_bayes_factors(pulls: np.ndarray, precisions: np.ndarray, variances: np.ndarray | float) -> np.ndarray:
    """Log Bayes factors, in nats, of normal deviations of these variances against no deviation.

    Parameters
    ----------
    pulls, precisions : gradient at no deviation and curvature of the log likelihood along independent axes.
    """
    spread = 1.0 + variances * precisions
    return np.asarray(0.5 * (variances * pulls**2 / spread - np.log(spread)))


def scale_of_numbers(n_numbers: int) -> tuple[np.ndarray, float]:
    """Return the tried variances of the numbers of a row, and the share of the sum of their Bayes factors that counts.

    One number stands for two classes, as the difference between them. Numbers of more classes add up to nothing.
    """
    return (TRIED_VARIANCES / 0.5, 1.0) if n_numbers == 1 else (TRIED_VARIANCES, (n_numbers - 1) / n_numbers)


def log_bayes_by_variance(pulls: np.ndarray, precisions: np.ndarray, square: float) -> np.ndarray:
    """Log Bayes factors of normal deviations of each of `TRIED_VARIANCES` against no deviation, (n_variances,).

    Parameters
    ----------
    pulls, precisions : (n,) gradient at no deviation and curvature of the log likelihood along independent axes.
    square : factor from a squared number to the squared deviations of all classes.
    """
    return np.asarray(log_bayes_factors(pulls[:, None], precisions[:, None], TRIED_VARIANCES / square).sum(axis=0))


def squares_by_variance(pulls: np.ndarray, precisions: np.ndarray, square: float) -> np.ndarray:
    """Expected squared deviations times their precisions, summed over axes, as in `log_bayes_by_variance`."""
    variances, of_axes = TRIED_VARIANCES / square, precisions[:, None]
    posterior = variances / (1.0 + variances * of_axes)
    return np.asarray((of_axes * (posterior + (posterior * pulls[:, None]) ** 2)).sum(axis=0))


def omitted_variances(effects: Effects, probabilities: np.ndarray) -> np.ndarray:
    """Variances of what left-out features may add to a row, (n_numbers,), in squared nats.

    Each feature may have a small effect, of a variance that the left-out features share and tell together, 0 being one
    of the candidates; and it has an effect of its own with its probability to matter.

    Parameters
    ----------
    effects : of the left-out features.
    probabilities : (n_features,) that they matter.
    """
    shared = softmax(np.append(0.0, effects.log_bayes.sum(axis=0)))[1:]
    each = probabilities[:, None] * softmax(effects.log_bayes, axis=1)
    return np.asarray(_OMITTED_TIMES * np.einsum("kjv,kv->j", effects.squares, shared + each))


def averaged_log_bayes(logs: np.ndarray) -> np.ndarray:
    """Log of the mean Bayes factor over the tried variances, (...,), of logarithms (..., n_variances).

    The mean Bayes factor of a feature that does not matter is 1, whatever the number of variances.
    """
    return np.asarray(logsumexp(logs, axis=-1) - np.log(logs.shape[-1]))


def marginal_log_bayes(counts: np.ndarray, basis: np.ndarray | None) -> float:
    """Log Bayes factor of a feature alone against the shares of the classes, by a quadratic approximation.

    Parameters
    ----------
    counts : (n_cells, n_classes) rows (or weight).
    basis : (n_cells, n_directions) in which contributions may change over the cells, or None for cells one by one.
    """
    rows, n_classes = counts.sum(axis=1), counts.shape[1]
    total = float(rows.sum())
    if total <= 0.0:
        return 0.0
    shares = counts.sum(axis=0) / total
    if basis is not None:
        basis = basis - rows @ basis / total
    logs = np.zeros(TRIED_VARIANCES.size)
    for j in (1,) if n_classes == 2 else range(n_classes):
        pulls, precisions = counts[:, j] - shares[j] * rows, shares[j] * (1.0 - shares[j]) * rows
        if basis is not None:
            precisions, axes = eigh((basis * precisions[:, None]).T @ basis)
            pulls, precisions = axes.T @ (basis.T @ pulls), np.maximum(precisions, 0.0)
        logs += log_bayes_by_variance(pulls, precisions, 0.5 if n_classes == 2 else 1.0)
    return float(averaged_log_bayes(logs if n_classes == 2 else logs * (n_classes - 1) / n_classes))


def inclusion_probabilities(log_bayes: np.ndarray, n_features: int) -> np.ndarray:
    """Posterior probabilities that features matter, (n,), in a two-groups model (Efron 2008).

    The share of features that matter is estimated from all of them: where most columns are noise, a column needs more
    evidence than where most columns are informative. The share is at most one half.

    Parameters
    ----------
    log_bayes : (n,) log Bayes factors of the features that were looked at.
    n_features : number of features of the table; those that were not looked at count as noise.
    """
    share, probabilities = 0.5, np.zeros(log_bayes.size)
    for _ in range(_MOST_ROUNDS):
        probabilities = expit(log_bayes + logit(share))
        following = min((probabilities.sum() + 0.5) / (n_features + 1.0), _MOST_SHARE)
        if abs(following - share) < _SAME_SHARE:
            break
        share = following
    return np.asarray(probabilities)
