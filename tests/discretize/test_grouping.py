"""MODL groups of the values of one column against trying every partition."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bayesieve.discretize.modl import Groups, group_values
from bayesieve.discretize.value_counts import ClassOrder, ValueCounts
from bayesieve.table import Categories
from tests.limits import Limits
from tests.reference import modl

COST = 1e-8


@st.composite
def tables(draw: st.DrawFn, max_values: int = 7, max_classes: int = 4) -> np.ndarray:
    """(values, classes) counts; some values pure, some alike."""
    n_values, n_classes = draw(st.integers(1, max_values)), draw(st.integers(2, max_classes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = rng.dirichlet(np.full(n_classes, draw(st.sampled_from([0.2, 1.0]))), size=3)
    sizes = rng.integers(1, draw(st.sampled_from([4, 60])), n_values)
    return np.array([rng.multinomial(n, kinds[rng.integers(3)]) for n in sizes], dtype=np.int32)


def check_consistent(found: Groups, counts: np.ndarray) -> None:
    """Every value stands in one group; counts and costs are those of the groups."""
    present = np.flatnonzero(counts.sum(axis=1))
    np.testing.assert_array_equal(np.sort(np.concatenate(found.groups)), present)
    np.testing.assert_array_equal([counts[group].sum(axis=0) for group in found.groups], found.counts)
    expected = modl.group_cost(found.counts.astype(int).tolist(), present.size)
    assert found.cost == pytest.approx(expected, abs=COST)
    null = modl.group_cost([counts.sum(axis=0).tolist()], present.size)
    assert found.null_cost == pytest.approx(null, abs=COST)
    assert found.cost <= found.null_cost


@given(tables())
def test_against_all_partitions(counts: np.ndarray) -> None:
    best, _ = modl.optimal_groups(counts)
    for method in ("optimal", "greedy"):
        found = group_values(counts, method=method)
        check_consistent(found, counts)
        is_exact = method == "optimal" or counts.shape[1] == 2
        assert best - COST <= found.cost <= best * (1.0 if is_exact else 1.05) + COST


def test_greedy_reaches_the_optimum_nearly_always() -> None:
    rng = np.random.default_rng(8)
    missed = 0
    for _ in range(100):
        kinds = rng.dirichlet(np.ones(3), size=3)
        counts = np.array([rng.multinomial(rng.integers(1, 40), kinds[rng.integers(3)]) for _ in range(9)])
        counts = counts.astype(np.int32)
        missed += group_values(counts).cost > group_values(counts, method="optimal").cost + 1e-6
    assert missed <= 3


@given(tables(max_values=6), st.integers(0, 5), st.sampled_from(["greedy", "optimal"]))
def test_the_missing_value_apart(counts: np.ndarray, missing: int, method: str) -> None:
    missing %= len(counts)
    found = group_values(counts, method=method, apart=missing)
    check_consistent(found, counts)
    assert len(found.groups) == 1 or [missing] in [group.tolist() for group in found.groups]
    # The cheapest of the partitions that keep it apart, or a single group.
    others = [v for v in range(len(counts)) if v != missing]
    allowed = [[*groups, [missing]] for groups in modl.set_partitions(len(others)) if groups]
    allowed = [[[others[v] for v in group] for group in groups[:-1]] + [groups[-1]] for groups in allowed]
    costs = [modl.group_cost(modl.group_table(counts.tolist(), groups), len(counts)) for groups in allowed]
    best = min([*costs, found.null_cost])
    if method == "optimal" or counts.shape[1] == 2:
        assert found.cost == pytest.approx(best, abs=COST)
    else:
        assert best - COST <= found.cost <= best * 1.05 + COST


def test_values_without_rows_are_left_out() -> None:
    counts = np.array([[9, 0], [0, 0], [0, 9], [0, 0]], dtype=np.int32)
    found = group_values(counts, apart=3)
    assert [group.tolist() for group in found.groups] == [[2], [0]]
    assert found.cost == group_values(counts[[0, 2]]).cost  # V counts the values there are


@given(tables(), st.integers(0, 2**32 - 1))
def test_fractional_weights(counts: np.ndarray, seed: int) -> None:
    weights = counts * np.random.default_rng(seed).exponential(size=counts.shape)
    for method in ("greedy", "optimal"):
        found = group_values(weights, method=method)
        assert math.isfinite(found.cost)
        assert found.cost <= found.null_cost
        assert found.cost == found.null_cost or 0.0 < found.cost < found.null_cost
        np.testing.assert_allclose(found.counts.sum(axis=0), weights.sum(axis=0), rtol=1e-12)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_values_are_counted_as_one_by_one(seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 50))
    codes = rng.integers(-1, 4, n_rows).astype(np.int32)
    labels = rng.integers(0, 3, n_rows).astype(np.uint8)
    weights = rng.integers(0, 5, n_rows) / 2 if weighted else None
    if weighted and not weights.any():
        weights[0] = 1.0
    expected = np.zeros((5, 3))
    for row in range(n_rows):
        expected[codes[row], labels[row]] += 1.0 if weights is None else weights[row]
    found = ValueCounts.of_categories(Categories(codes, list("abcd")), ClassOrder.of(labels, 3, weights))
    np.testing.assert_array_equal(np.vstack([found.counts, found.missing]), expected)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_100_000_categories_in_seconds(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    chances = rng.dirichlet(np.full(n_classes, 0.5), size=3)  # each value is of one of three kinds
    counts = rng.multinomial(3, chances[np.arange(100_000) % 3]).astype(np.int32)
    group_values(counts[:50])  # compiled
    start = time.process_time()
    found = group_values(counts)
    assert time.process_time() - start < 20.0
    assert found.cost <= found.null_cost
    np.testing.assert_array_equal(np.sort(np.concatenate(found.groups)), np.arange(100_000))


def test_rare_values_among_frequent_ones_are_joined_sensibly(limits: Limits) -> None:
    # 40 frequent values in three kinds and hundreds of rare ones: the frequent ones must stay apart.
    limits(most_paired=60)
    rng = np.random.default_rng(1)
    kinds = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    frequent = [rng.multinomial(200, kinds[v % 3]) for v in range(40)]
    rare = [rng.multinomial(2, kinds[v % 3]) for v in range(400)]
    found = group_values(np.array([*frequent, *rare], dtype=np.int32))
    assert 1.0 - found.cost / found.null_cost > 0.1
    for group in found.groups:
        assert len({v % 3 for v in group if v < 40}) <= 1


def test_values_of_nearly_equal_ratio_are_joined_first(limits: Limits) -> None:
    rng = np.random.default_rng(2)
    share = np.linspace(0.05, 0.95, 300)
    counts = np.array([rng.multinomial(50, [1 - p, p]) for p in share], dtype=np.int32)
    exact = group_values(counts)
    limits(most_ordered=32)
    found = group_values(counts)
    assert exact.cost - COST <= found.cost <= exact.cost * 1.02
    assert group_values(counts, method="optimal").cost == pytest.approx(exact.cost, abs=COST)
