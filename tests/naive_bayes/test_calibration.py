"""Averaged weights fitted once more to the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesieve.naive_bayes import DiscreteNB, calibration
from bayesieve.naive_bayes.calibration import PRIOR_DEVIATION, WeightedLoss, fit_weights
from bayesieve.table import CodedTable


def table(seed: int, n_rows: int, n_features: int, n_classes: int, weights: np.ndarray | None = None) -> CodedTable:
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)]).astype(np.uint8)
    noise = rng.integers(0, 4, (n_features, n_rows))
    codes = np.where(rng.random((n_features, n_rows)) < 0.5, y, noise).astype(np.uint8)
    return CodedTable(
        codes=codes,
        n_levels=codes.max(axis=1) + 1,
        names=tuple(f"x{k}" for k in range(n_features)),
        class_codes=y,
        classes=np.arange(n_classes),
        weights=weights,
    )


def loss_of(coded: CodedTable) -> tuple[WeightedLoss, DiscreteNB]:
    model = DiscreteNB().fit(coded)
    features = np.arange(coded.n_features)
    return WeightedLoss(coded, model.feature_log_prob_, model.class_log_prior_, features), model


def slow_loss(coded: CodedTable, weights: np.ndarray) -> float:
    model = DiscreteNB(feature_weights=weights).fit(coded)
    log_proba = model.predict_log_proba(coded)
    losses = -log_proba[np.arange(coded.n_rows), coded.class_codes]
    return float(losses.sum() if coded.weights is None else (losses * coded.weights).sum())


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(1, 6), st.booleans())
def test_loss_and_gradient(seed: int, n_classes: int, n_features: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    coded = table(seed, 60, n_features, n_classes, rng.exponential(size=60) if weighted else None)
    loss, _ = loss_of(coded)
    at = rng.random(n_features)
    value, gradient = loss(at)
    assert value == pytest.approx(slow_loss(coded, at), rel=1e-10)
    step = 1e-5
    for k in range(n_features):
        shift = step * (np.arange(n_features) == k)
        slope = (slow_loss(coded, at + shift) - slow_loss(coded, np.maximum(at - shift, 0.0))) / (
            step + min(step, at[k])
        )
        assert gradient[k] == pytest.approx(slope, rel=1e-3, abs=1e-2)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(1, 6))
def test_no_other_weights_are_more_probable(seed: int, n_classes: int, n_features: int) -> None:
    rng = np.random.default_rng(seed)
    coded = table(seed, 80, n_features, n_classes)
    loss, _ = loss_of(coded)
    averaged = rng.uniform(0.1, 1.0, n_features)
    found, factor = fit_weights(loss, averaged)
    assert np.all((found >= 0.0) & (found <= 1.0))
    assert 0.0 < factor <= 1.0

    def cost(weights: np.ndarray) -> float:
        return slow_loss(coded, weights) + float((((weights - factor * averaged) / PRIOR_DEVIATION) ** 2).sum()) / 2

    best = cost(found)
    for _ in range(20):
        other = np.clip(found + rng.normal(scale=rng.choice([0.01, 0.1, 0.5]), size=n_features), 0.0, 1.0)
        assert best <= cost(other) + 1e-2


def test_a_feature_given_twice_counts_once() -> None:
    single = table(0, 4000, 1, 2)
    double = CodedTable(
        codes=np.repeat(single.codes, 2, axis=0),
        n_levels=np.repeat(single.n_levels, 2),
        names=("x", "copy"),
        class_codes=single.class_codes,
        classes=single.classes,
    )
    found, factor = fit_weights(loss_of(double)[0], np.ones(2))
    assert factor == pytest.approx(0.5, abs=0.02)
    np.testing.assert_allclose(found, 0.5, atol=0.02)
    found, factor = fit_weights(loss_of(single)[0], np.array([0.4]))
    assert factor == 1.0  # the factor never exceeds 1; the weight itself may grow
    assert 0.4 < found[0] <= 1.0


@pytest.mark.filterwarnings("error")
def test_rows_of_weight_zero_do_not_count() -> None:
    coded = table(1, 200, 3, 3)
    weights = (coded.class_codes != 1).astype(float)
    weighted = CodedTable(
        codes=coded.codes,
        n_levels=coded.n_levels,
        names=coded.names,
        class_codes=coded.class_codes,
        classes=coded.classes,
        weights=weights,
    )
    found, _ = fit_weights(loss_of(weighted)[0], np.full(3, 0.5))
    assert np.all(np.isfinite(found))
    kept = weighted.take(np.flatnonzero(weights))
    model = DiscreteNB().fit(weighted)
    same = WeightedLoss(kept, model.feature_log_prob_, model.class_log_prior_, np.arange(3))
    np.testing.assert_allclose(fit_weights(same, np.full(3, 0.5))[0], found, atol=1e-6)


def test_of_many_rows_a_sample_stands_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    coded = table(2, 6000, 4, 2)
    everything = loss_of(coded)[0](np.full(4, 0.5))[0]
    whole, _ = fit_weights(loss_of(coded)[0], np.full(4, 0.5))
    monkeypatch.setattr(calibration, "_MOST_ROWS", 2000)
    sampled, _ = loss_of(coded)
    assert sampled(np.full(4, 0.5))[0] == pytest.approx(everything, rel=0.1)
    np.testing.assert_allclose(fit_weights(sampled, np.full(4, 0.5))[0], whole, atol=0.1)
    again, _ = loss_of(coded)
    assert again(np.full(4, 0.5))[0] == sampled(np.full(4, 0.5))[0]
