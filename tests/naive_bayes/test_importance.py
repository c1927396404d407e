"""Shares of the evidence."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, strategies as st

from bayesieve.naive_bayes.importance import importances


def slow_importance(table: np.ndarray, class_counts: np.ndarray, weight: float) -> float:
    """Mean over classes and levels of |w (t_ij - mean t_j)|, with Khiops' smoothing e = 1 / (N + 1)."""
    n_levels, n_classes = table.shape
    n, e = class_counts.sum(), 1 / (class_counts.sum() + 1)
    total = 0.0
    for j in range(n_classes):
        inside = table[:, j].sum()
        evidence = []
        for i in range(n_levels):
            of_class = (table[i, j] + e) / (inside + n_levels * e)
            others = table[i].sum() - table[i, j] + (n_classes - 1) * e
            evidence.append(math.log(of_class / (others / (table.sum() - inside + n_levels * (n_classes - 1) * e))))
        share = [table[i].sum() / table.sum() for i in range(n_levels)]
        mean = sum(s * t for s, t in zip(share, evidence, strict=True))
        total += class_counts[j] / n * sum(s * abs(weight * (t - mean)) for s, t in zip(share, evidence, strict=True))
    return total


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(2, 5))
def test_against_the_formula(seed: int, n_classes: int, n_features: int) -> None:
    rng = np.random.default_rng(seed)
    class_counts = rng.integers(5, 40, n_classes).astype(float)
    tables = []
    for _ in range(n_features):
        n_levels = int(rng.integers(2, 6))
        shares = [rng.multinomial(int(n), rng.dirichlet(np.ones(n_levels))) for n in class_counts]
        tables.append(np.array(shares, dtype=float).T)
    weights = rng.choice([0.0, 0.4, 1.0], n_features)
    weights[0] = 1.0
    found = importances(tables, class_counts, weights)
    expected = np.array([slow_importance(t, class_counts, w) for t, w in zip(tables, weights, strict=True)])
    if expected.sum() == 0.0:  # every weighted feature has all its rows in one level
        assert not found.any()
        return
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(found.sum(), 1.0)


def test_nothing_to_share_out() -> None:
    table = np.array([[3.0, 4.0], [5.0, 1.0]])
    one_level = np.array([[8.0, 5.0]])
    assert importances([table, one_level], np.array([8.0, 5.0]), np.array([0.0, 1.0])).tolist() == [0.0, 0.0]
    unknown = np.zeros((2, 2))  # no training row has a level of it
    assert importances([table, unknown], np.array([8.0, 5.0]), np.ones(2)).tolist() == [1.0, 0.0]


def test_a_stronger_feature_and_a_heavier_weight_count_more() -> None:
    weak, strong = np.array([[6.0, 4.0], [4.0, 6.0]]), np.array([[9.0, 1.0], [1.0, 9.0]])
    counts = np.array([10.0, 10.0])
    a, b = importances([weak, strong], counts, np.ones(2))
    assert a < b
    a, b = importances([strong, strong], counts, np.array([1.0, 0.5]))
    assert a == 2 * b
