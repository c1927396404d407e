"""Calibration slopes: each finite one is found and agrees with an unpenalised logistic regression."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from bayesieve.statistics.calibration import calibration_intercept, calibration_slope

NAN = pytest.approx(float("nan"), nan_ok=True)


def log_odds(rng: np.random.Generator, n: int, kind: str) -> np.ndarray:
    """Log-odds of any scale: smooth, rounded, saturated at those of the smallest float, or with one far outlier."""
    z = rng.normal(size=n) * 10 ** rng.uniform(-3, 2) + rng.normal() * 10 ** rng.uniform(-2, 2)
    if kind == "rounded":
        return z.round(1)
    if kind == "saturated":
        return np.where(rng.random(n) < 0.5, 708.4, -708.4)
    if kind == "outlier":
        z[0] = 1e5
    return z


@pytest.mark.parametrize("kind", ["smooth", "rounded", "saturated", "outlier", "nearly separated"])
def test_every_finite_slope_solves_the_equations_of_maximum_likelihood(kind: str) -> None:
    rng, n_finite = np.random.default_rng(len(kind)), 0
    for _ in range(60):
        n = int(rng.integers(4, 300))
        z = log_odds(rng, n, kind)
        scale = np.median(np.abs(z - np.median(z))) or z.std() or 1.0
        standard = (z - np.median(z)) / scale
        hit = rng.random(n) < expit(rng.normal() + standard * 10 ** rng.uniform(-2, 2))
        if kind == "nearly separated":
            hit = z > np.median(z)
            hit[rng.integers(n)] ^= True
        weights = rng.integers(1, 5, n) * 0.7
        slope, error = calibration_slope(z, hit, weights)
        one_class = hit.all() or not hit.any()
        if one_class or z[hit].min() >= z[~hit].max() or z[~hit].min() >= z[hit].max():
            assert (slope, error) == (NAN, NAN)
            continue
        n_finite += 1
        intercept, _ = calibration_intercept(slope * z, hit, weights)
        p = expit(intercept + slope * z)
        assert weights @ (hit - p) == pytest.approx(0.0, abs=1e-6)
        assert (weights @ ((hit - p) * standard)) * error * scale == pytest.approx(0.0, abs=1e-6)
        assert error > 0
    assert n_finite > 20


@pytest.mark.parametrize(("slope", "shift"), [(1.0, 2.0), (0.5, 0.5), (0.37, 0.47), (0.2, 0.5), (-0.3, 0.0)])
def test_slopes_of_poor_calibration_are_those_of_scikit_learn(slope: float, shift: float) -> None:
    rng = np.random.default_rng(0)
    z = -4 + 3 * rng.normal(size=3000)
    hit = rng.random(3000) < expit(shift + slope * z)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(z[:, None], hit)
    found, error = calibration_slope(z, hit, np.ones(3000))
    assert found == pytest.approx(model.coef_[0, 0], rel=1e-6)
    assert abs(found - slope) < 4 * error


def test_no_slope_without_overlap() -> None:
    ones = np.ones(4)
    for z in ([0.0, 1, 2, 3], [3.0, 2, 1, 0], [0.0, 1, 1, 2], [5.0] * 4, [-np.inf, 2, 1, np.inf]):
        assert calibration_slope(np.array(z), np.array([False, False, True, True]), ones) == (NAN, NAN)
    for hit in (ones > 0, ones < 0):
        assert calibration_slope(np.arange(4.0), hit, ones) == (NAN, NAN)
        assert calibration_intercept(np.arange(4.0), hit, ones) == (NAN, NAN)


def test_rows_of_probability_0_or_1_leave_the_slope_of_the_others() -> None:
    rng = np.random.default_rng(3)
    z = rng.normal(size=500)
    hit, certain = rng.random(500) < expit(0.4 * z), np.repeat([np.inf, -np.inf], [30, 20])
    both, is_right, ones = np.append(z, certain), np.append(hit, certain > 0), np.ones(550)
    assert calibration_slope(both, is_right, ones) == calibration_slope(z, hit, ones[:500])
    for wrong in (np.append(hit, certain < 0), ~is_right):  # of the second, the slope of the others is negative, too
        assert calibration_slope(both, wrong, ones) == (NAN, NAN)


def test_intercepts_of_extreme_log_odds() -> None:
    hit, weights = np.array([True, False, False, True, True]), np.array([1.0, 2, 1, 1, 1])
    for z in ([700.0, 700, -700, -700, 1], [1e4, -1e4, 1e4, 0, 0], [0.3] * 5):
        intercept, _ = calibration_intercept(np.array(z), hit, weights)
        assert weights @ expit(np.array(z) + intercept) == pytest.approx(3.0, abs=1e-6)
