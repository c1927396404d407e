"""Figures of merit against scikit-learn and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn import metrics as reference

from bayesieve.statistics import metrics

RNG = np.random.default_rng(3)


def random_rows(n_classes: int, n_rows: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    codes = RNG.integers(0, n_classes, n_rows)
    joint = RNG.normal(size=(n_rows, n_classes)) + 1.5 * np.eye(n_classes)[codes]
    return joint - np.log(np.exp(joint).sum(axis=1, keepdims=True)), codes, RNG.exponential(size=n_rows)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_against_scikit_learn(n_classes: int, weighted: bool) -> None:
    log_proba, codes, weights = random_rows(n_classes)
    weights = weights if weighted else None
    proba = np.exp(log_proba)
    predicted = proba.argmax(axis=1)
    expected = reference.accuracy_score(codes, predicted, sample_weight=weights)
    assert metrics.accuracy(log_proba, codes, weights) == pytest.approx(expected)
    assert metrics.log_loss(log_proba, codes, weights) == pytest.approx(
        reference.log_loss(codes, proba, sample_weight=weights)
    )
    assert metrics.brier_score(log_proba, codes, weights) == pytest.approx(
        reference.brier_score_loss(codes, proba, sample_weight=weights, labels=np.arange(n_classes))
    )
    if n_classes == 2:
        area = reference.roc_auc_score(codes, proba[:, 1], sample_weight=weights)
    else:
        area = reference.roc_auc_score(codes, proba, multi_class="ovr", average="weighted", sample_weight=weights)
    assert metrics.auc(log_proba, codes, weights) == pytest.approx(area, abs=1e-12)


def test_scores_order_rows_where_probabilities_saturate() -> None:
    # Both rows have P = 1.0 in floating point, yet one is far surer than the other.
    log_proba = np.array([[-40.0, 0.0], [-80.0, 0.0], [0.0, -50.0]])
    scores = metrics.class_scores(log_proba)
    assert scores[1, 1] > scores[0, 1] > scores[2, 1]
    assert metrics.auc(np.array([[-40.0, 0.0], [-80.0, 0.0]]), np.array([0, 1])) == 1.0


def test_entropy_and_compression() -> None:
    codes = np.array([0, 0, 0, 1])
    entropy = metrics.class_entropy(codes, 3)
    assert entropy == pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))
    assert metrics.class_entropy(codes, 2, np.array([1.0, 0.0, 0.0, 1.0])) == pytest.approx(math.log(2))
    assert metrics.compression_rate(entropy, entropy) == 0.0
    assert metrics.compression_rate(0.0, entropy) == 1.0
    assert metrics.compression_rate(0.0, 0.0) == 0.0


def test_auc_without_a_pair_to_order() -> None:
    log_proba = np.log(np.full((4, 2), 0.5))
    assert math.isnan(metrics.auc(log_proba, np.zeros(4, dtype=int)))
    three = np.log(np.full((4, 3), 1 / 3))
    assert metrics.auc(three, np.array([0, 0, 1, 1])) == 0.5  # the class without rows is left out


def test_auc_takes_rows_without_weight_for_none() -> None:
    log_proba, codes, _ = random_rows(3)
    weights = (codes != 1).astype(float)
    kept = codes != 1
    assert metrics.auc(log_proba, codes, weights) == metrics.auc(log_proba[kept], codes[kept])
    assert math.isnan(metrics.auc(log_proba, codes, (codes == 1).astype(float)))


def test_reliability() -> None:
    probability = np.array([0.0, 0.04, 0.55, 0.58, 1.0, 0.95])
    hit = np.array([False, True, True, False, True, True])
    found = metrics.reliability(probability, hit)
    assert [bin_[2] for bin_ in found] == [2, 2, 2]
    np.testing.assert_allclose([bin_[:2] for bin_ in found], [(0.02, 0.5), (0.565, 0.5), (0.975, 1.0)])


def test_roc_points_are_thinned_but_keep_both_ends() -> None:
    score, hit = RNG.normal(size=5000), RNG.random(5000) < 0.5
    points = metrics.roc_points(score, hit, most=50)
    assert len(points) <= 50
    assert points[0] == (0.0, 0.0)
    assert points[-1] == (1.0, 1.0)
    assert points == sorted(points)


def test_delong_with_weights_is_that_of_repeats() -> None:
    score = np.random.default_rng(4).random(60)
    hit = score + np.random.default_rng(5).random(60) > 1
    weights = np.random.default_rng(0).integers(1, 4, 60)
    at = np.repeat(np.arange(60), weights)
    assert metrics.area_with_errors(score, hit, weights.astype(float))[0] == pytest.approx(
        metrics.area_with_errors(score[at], hit[at])[0]
    )
    even = [metrics.area_with_errors(score, hit, own) for own in (None, np.full(60, 3.0))]
    assert (even[0][1] ** 2).sum() == pytest.approx((even[1][1] ** 2).sum())


def test_an_area_of_few_rows_is_uncertain() -> None:
    hit = np.array([True, True, False, False])
    auc, errors = metrics.area_with_errors(np.array([4.0, 3, 2, 1]), hit)
    assert auc == 1.0
    assert metrics.area_interval(auc, errors, hit, None, 0.95)[0] < 0.5
    assert np.isnan(metrics.area_with_errors(np.ones(3), np.ones(3, dtype=bool))[0])
