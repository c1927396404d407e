"""One common factor on all weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesieve.naive_bayes import calibration
from bayesieve.naive_bayes.calibration import sampled_rows, shrinkage


def loss(factor: float, evidence: np.ndarray, prior: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> float:
    joint = prior + factor * evidence
    joint = joint - joint.max(axis=1, keepdims=True)
    log_proba = joint - np.log(np.exp(joint).sum(axis=1, keepdims=True))
    return float(np.average(-log_proba[np.arange(len(y)), y], weights=weights))


@given(
    st.integers(0, 2**32 - 1), st.integers(2, 4), st.sampled_from([0.1, 1.0, 30.0]), st.booleans(), st.floats(0.0, 1.0)
)
def test_the_loss_is_lowest_there(seed: int, n_classes: int, scale: float, weighted: bool, noise: float) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, 50)
    evidence = scale * (np.eye(n_classes)[y] * (rng.random((50, 1)) > noise) + rng.normal(size=(50, n_classes)))
    prior = np.log(rng.dirichlet(np.ones(n_classes)))
    weights = rng.exponential(size=50) if weighted else None
    found = shrinkage(evidence, prior, y, weights)
    assert 0.0 < found <= 1.0
    lowest = min(loss(factor, evidence, prior, y, weights) for factor in np.linspace(0.001, 1.0, 400))
    assert loss(found, evidence, prior, y, weights) <= lowest + 1e-7


def test_evidence_counted_twice_is_halved() -> None:
    rng = np.random.default_rng(0)
    share = rng.uniform(0.05, 0.95, 20_000)
    y = (rng.random(20_000) < share).astype(int)
    evidence = np.column_stack([np.log(1 - share), np.log(share)])
    assert shrinkage(2 * evidence, np.log([0.5, 0.5]), y, None) == pytest.approx(0.5, abs=0.03)
    assert shrinkage(0.5 * evidence, np.log([0.5, 0.5]), y, None) == 1.0  # never more than 1


def test_no_evidence() -> None:
    assert 0.0 < shrinkage(np.zeros((4, 2)), np.log([0.5, 0.5]), np.array([0, 1, 0, 1]), None) <= 1.0


def test_a_class_without_weight() -> None:
    with np.errstate(divide="ignore"):
        prior = np.log([0.5, 0.5, 0.0])
    evidence = np.random.default_rng(0).normal(size=(6, 3))
    found = shrinkage(evidence, prior, np.array([0, 1, 0, 1, 0, 1]), None)
    assert 0.0 < found <= 1.0


def test_many_rows_are_sampled_at_equal_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "_MOST_ROWS", 10)
    for n_rows, expected in ((1, 1), (10, 1), (11, 2), (20, 2), (95, 10)):
        rows = np.arange(n_rows)[sampled_rows(n_rows)]
        assert len(rows) <= 10
        assert set(np.diff(rows)) <= {expected}
