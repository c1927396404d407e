"""Calibration slope and intercept of predicted log-odds, by logistic regression (Cox 1958)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

_UNKNOWN = float("nan"), float("nan")
_MOST_STEPS, _MOST_HALVINGS = 200, 60
_CLOSE = 1e-9  # largest length of the last Newton step, in standard errors


def calibration_slope(log_odds: np.ndarray, hit: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return the slope of a logistic regression of the outcome on the predicted log-odds, and its standard error.

    The slope is 1 for calibrated predictions, and below 1 if they are too extreme. Both numbers are NaN if the log-odds
    of hits and misses do not overlap. Rows predicted with probability 0 or 1 are ignored if all of these are right and
    the slope of the other rows is positive; otherwise both numbers are NaN.

    Parameters
    ----------
    log_odds : float array of shape (n_rows,), predicted log-odds of the class
    hit : bool array of shape (n_rows,), whether a row is of the class
    weights : float array of shape (n_rows,), positive

    Examples
    --------
    >>> slope, error = calibration_slope(np.array([-2.0, -1, 1, 2]), np.array([False, True, False, True]), np.ones(4))
    >>> round(slope, 3), round(error, 3)
    (0.42, 0.68)
    """
    certain = np.isinf(log_odds)
    if certain.any():
        slope, error = calibration_slope(log_odds[~certain], hit[~certain], weights[~certain])
        is_right = np.array_equal(log_odds[certain] > 0, hit[certain])
        return (slope, error) if is_right and slope > 0 else _UNKNOWN
    hits, misses = log_odds[hit], log_odds[~hit]
    if not (hits.size and misses.size and np.isfinite(log_odds).all()):
        return _UNKNOWN
    if hits.min() >= misses.max() or misses.min() >= hits.max():
        return _UNKNOWN
    # Centre and scale the log-odds by medians, so that Newton's method is well conditioned at any scale, even with
    # outliers.
    middle = float(np.median(log_odds))
    scale = float(np.median(np.abs(log_odds - middle))) or float(log_odds.std())
    columns = np.stack([np.ones(log_odds.size), (log_odds - middle) / scale])
    coefficients = np.array([logit(np.average(hit, weights=weights)), 0.0])
    for _ in range(_MOST_STEPS):
        gradient, information = _derivatives(columns, coefficients, hit, weights)
        if not np.linalg.det(information) > 0:
            return _UNKNOWN
        step = np.linalg.solve(information, gradient)
        # The log-likelihood is concave along the step. Halve the step while its derivative at the end is below minus
        # half of the derivative at the start, that is, far beyond the maximum.
        for _ in range(_MOST_HALVINGS):
            if step @ _derivatives(columns, coefficients + step, hit, weights)[0] >= -0.5 * (step @ gradient):
                break
            step /= 2
        coefficients = coefficients + step
        if step @ gradient <= _CLOSE**2:
            return float(coefficients[1]) / scale, float(np.sqrt(np.linalg.inv(information)[1, 1])) / scale
    return _UNKNOWN


def _derivatives(
    columns: np.ndarray, coefficients: np.ndarray, hit: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient (n_columns,) and the Fisher information (n_columns, n_columns) of the log-likelihood of a
    logistic regression.

    ``columns`` (n_columns, n_rows) are the predictors, ``coefficients`` (n_columns,) their current coefficients,
    ``hit`` (n_rows,) the outcomes, and ``weights`` (n_rows,) the row weights.
    """
    log_odds = coefficients @ columns
    p = expit(log_odds)
    return columns @ (weights * (hit - p)), (columns * (weights * p * expit(-log_odds))) @ columns.T


def calibration_intercept(log_odds: np.ndarray, hit: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return the shift of the log-odds by which the expected number of hits equals the observed one, and its standard
    error.

    Both numbers are NaN if all rows are hits or all are misses, or log-odds are infinite.

    Parameters
    ----------
    log_odds : float array of shape (n_rows,), predicted log-odds of the class
    hit : bool array of shape (n_rows,), whether a row is of the class
    weights : float array of shape (n_rows,), positive

    Examples
    --------
    >>> hit = np.array([True, True, True, False])
    >>> intercept, error = calibration_intercept(np.zeros(4), hit, np.ones(4))
    >>> round(intercept, 3), round(error, 3)
    (1.099, 1.155)
    """
    if hit.all() or not hit.any() or not np.isfinite(log_odds).all():
        return _UNKNOWN
    # These shifts bracket the root: with one, the prediction of every row is at most the observed share; with the
    # other, at least.
    mean = float(logit(np.average(hit, weights=weights)))
    low, high = mean - float(log_odds.max()), mean - float(log_odds.min())

    def excess(intercept: float) -> float:
        """Return the expected minus the observed number (or weight) of hits, with log-odds shifted by ``intercept``."""
        return float(weights @ (expit(log_odds + intercept) - hit))

    intercept = float(brentq(excess, low, high, xtol=1e-12)) if excess(low) < 0 < excess(high) else (low + high) / 2
    information = float(weights @ (expit(log_odds + intercept) * expit(-log_odds - intercept)))
    return intercept, information**-0.5 if information > 0 else float("nan")
