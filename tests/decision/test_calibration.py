"""Calibration against hand values, and scikit-learn's recalibration around our classifier."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import brier_score_loss

from bayesieve import SelectiveNB, calibration_summary

RNG = np.random.default_rng(4)


def test_by_hand() -> None:
    # Bins of width 1/2: (0.1, 0.3) with one hit of two, (0.6, 0.8, 1.0) with two of three.
    summary = calibration_summary([0, 1, 1, 0, 1], [0.1, 0.3, 0.6, 0.8, 1.0], n_bins=2)
    np.testing.assert_allclose(summary.predicted, [0.2, 0.8])
    np.testing.assert_allclose(summary.observed, [0.5, 2 / 3])
    assert summary.count.tolist() == [2, 3]
    assert summary.brier == pytest.approx((0.01 + 0.49 + 0.16 + 0.64 + 0) / 5)
    assert summary.calibration == pytest.approx((2 * 0.09 + 3 * (0.8 - 2 / 3) ** 2) / 5)
    assert summary.refinement == pytest.approx((2 * 0.25 + 3 * 2 / 9) / 5)
    assert summary.expected_calibration_error == pytest.approx((2 * 0.3 + 3 * (0.8 - 2 / 3)) / 5)
    # Wilson's interval of two in three at 95 %.
    z, n, share = 1.959964, 3, 2 / 3
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    np.testing.assert_allclose([summary.low[1], summary.high[1]], [middle - half, middle + half], rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_brier_score_splits_without_rest_by_distinct_probabilities(weighted: bool) -> None:
    probability = RNG.choice([0.05, 0.2, 0.55, 0.9], 300)
    y = (RNG.random(300) < probability**2).astype(int)
    weights = RNG.integers(0, 4, 300).astype(float) if weighted else None
    summary = calibration_summary(y, probability, n_bins=None, sample_weight=weights)
    assert summary.brier == pytest.approx(summary.calibration + summary.refinement, abs=1e-14)
    assert summary.brier == pytest.approx(brier_score_loss(y, probability, sample_weight=weights))


def test_bins_are_those_of_scikit_learn_and_weights_are_repetitions() -> None:
    probability = RNG.random(200)
    y = np.where(RNG.random(200) < probability, "yes", "no")
    summary = calibration_summary(y, probability, pos_label="yes")
    observed, predicted = calibration_curve(y, probability, n_bins=10, pos_label="yes")
    np.testing.assert_allclose(summary.observed, observed)
    np.testing.assert_allclose(summary.predicted, predicted)
    weights = RNG.integers(0, 3, 200)
    weighted = calibration_summary(y, probability, sample_weight=weights)
    repeated = calibration_summary(np.repeat(y, weights), np.repeat(probability, weights))
    for name in ("predicted", "observed", "brier", "calibration", "refinement", "expected_calibration_error"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name))


def test_intervals_hold_the_true_share_as_often_as_they_say() -> None:
    inside = []
    for _ in range(400):
        hit = (RNG.random(80) < 0.3).astype(int)
        hit[:2] = 0, 1
        summary = calibration_summary(hit, np.full(80, 0.3))
        inside.append(summary.low[0] <= 0.3 <= summary.high[0])
    assert 0.92 < np.mean(inside) < 0.98


@pytest.mark.parametrize("method", ["isotonic", "sigmoid"])
def test_scikit_learn_recalibrates_our_classifier(method: Any) -> None:
    # Copies of a feature: naive Bayes on all of them is far too sure of itself.
    feature = RNG.normal(size=(1500, 1))
    X = np.repeat(feature, 8, axis=1) + 0.1 * RNG.normal(size=(1500, 8))
    y = (feature[:, 0] + RNG.normal(size=1500) > 0).astype(int)
    plain = SelectiveNB("all", pairs=0, calibrate=False).fit(X[:900], y[:900])
    again = CalibratedClassifierCV(FrozenEstimator(plain), method=method).fit(X[900:1200], y[900:1200])
    before, after = (calibration_summary(y[1200:], model.predict_proba(X[1200:])[:, 1]) for model in (plain, again))
    assert after.expected_calibration_error < 0.7 * before.expected_calibration_error
    assert after.calibration < before.calibration
    assert after.brier < before.brier


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"probability": [0.1, 1.2, 0.3]}, "probability is 1.2 in row 1; it must lie in [0, 1]"),
        ({"probability": [0.1, np.nan, 0.3]}, "probability is nan in row 1"),
        ({"probability": [0.1]}, "probability has 1 values, but there are 3 rows"),
        ({"n_bins": 0}, "n_bins must be a whole number, at least 1, or None"),
        ({"confidence": 95}, "confidence must lie between 0 and 1"),
        ({"pos_label": "x"}, "pos_label is 'x', which no row of y has"),
    ],
)
def test_one_clear_sentence(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"probability": [0.1, 0.2, 0.3]} | options
    with pytest.raises(ValueError, match=re.escape(message)):
        calibration_summary([0, 1, 1], **arguments)
