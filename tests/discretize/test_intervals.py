"""MODL intervals of one column against the provably best ones."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from bayesieve.discretize import value_counts
from bayesieve.discretize.modl import interval_prior
from tests.discretize.columns import Found, columns, counts_of, intervals_of, table_of
from tests.limits import Limits
from tests.reference import modl

Column = tuple[np.ndarray, np.ndarray, int]
COST = 1e-8


@pytest.fixture
def only_greedy(limits: Limits) -> None:
    """Small columns go through the greedy search too."""
    limits(exact_work=0)
    limits(coarse_work=400)  # some 14 intervals of two classes


def check_consistent(found: Found, values: np.ndarray, codes: np.ndarray, n_classes: int) -> None:
    """Counts and costs are those of the intervals between the cut points; cuts are midpoints of neighbouring values."""
    np.testing.assert_array_equal(table_of(found, values, codes, n_classes), found.counts)
    assert found.cost == pytest.approx(modl.interval_cost(found.counts.astype(int).tolist()), abs=COST)
    assert found.null_cost == pytest.approx(
        modl.interval_cost([np.bincount(codes, minlength=n_classes).tolist()]), abs=COST
    )
    assert np.all(np.diff(found.cut_points) > 0)
    known = np.unique(values[~np.isnan(values)])
    for cut in found.cut_points:
        if cut == -np.inf:
            assert np.isnan(values).any()
        else:
            above = np.searchsorted(known, cut)
            assert cut == (known[above - 1] + known[above]) / 2
    assert found.missing_code == (0 if np.isnan(values).any() else None)


@given(columns())
def test_exact_against_the_oracle(column: Column) -> None:
    values, codes, n_classes = column
    best, _ = modl.optimal_intervals(counts_of(values, codes, n_classes))
    for method in ("optimal", "greedy"):  # small columns are solved exactly by both
        found = intervals_of(values, codes, n_classes, method=method)
        check_consistent(found, values, codes, n_classes)
        assert found.cost == pytest.approx(best, abs=COST)


@given(data=st.data())
@pytest.mark.usefixtures("only_greedy")
def test_greedy_is_consistent_and_hardly_ever_misses(data: st.DataObject) -> None:
    values, codes, n_classes = data.draw(columns())
    best, _ = modl.optimal_intervals(counts_of(values, codes, n_classes))
    found = intervals_of(values, codes, n_classes)
    check_consistent(found, values, codes, n_classes)
    assert best - COST <= found.cost <= min(found.null_cost, best * 1.05) + COST


@pytest.mark.usefixtures("only_greedy")
def test_greedy_reaches_the_optimum_on_nearly_all_columns() -> None:
    rng = np.random.default_rng(5)
    missed = 0
    for _ in range(200):
        which = rng.integers(0, 30, 60)
        codes = np.where(rng.random(60) < 0.3, rng.integers(0, 3, 60), which * 3 // 30)
        best, _ = modl.optimal_intervals(counts_of(which.astype(float), codes, 3))
        missed += intervals_of(which, codes, 3).cost > best + 1e-6
    assert missed <= 4


@given(columns(), st.integers(0, 2**32 - 1))
def test_integer_weights_equal_repeated_rows_exactly(column: Column, seed: int) -> None:
    values, codes, n_classes = column
    times = np.random.default_rng(seed).integers(0, 4, values.size)
    if not times.any():
        times[0] = 1
    for apart in (False, True):
        weighted = intervals_of(values, codes, n_classes, times.astype(float), missing_apart=apart)
        repeated = intervals_of(np.repeat(values, times), np.repeat(codes, times), n_classes, missing_apart=apart)
        np.testing.assert_array_equal(weighted.cut_points, repeated.cut_points)
        np.testing.assert_array_equal(weighted.counts, repeated.counts)
        assert (weighted.cost, weighted.null_cost) == (repeated.cost, repeated.null_cost)
        assert weighted.missing_code == repeated.missing_code


@given(columns(), st.floats(0.01, 7.0), st.integers(0, 2**32 - 1))
def test_fractional_weights(column: Column, scale: float, seed: int) -> None:
    values, codes, n_classes = column
    weights = scale * np.random.default_rng(seed).exponential(size=values.size)
    found = intervals_of(values, codes, n_classes, weights)
    assert math.isfinite(found.cost)
    assert found.cost <= found.null_cost + 1e-9
    assert 0.0 <= found.level_score < 1.0
    np.testing.assert_allclose(found.counts.sum(axis=0), np.bincount(codes, weights, n_classes), rtol=1e-12)
    cost = interval_prior(weights.sum(), len(found.counts))[-1] + sum(map(modl.part_cost_lgamma, found.counts))
    assert found.cost == pytest.approx(cost, abs=1e-8)


@given(
    columns(missing=False),
    st.sampled_from([np.exp, lambda v: v**3, lambda v: 1e-3 * v + 7.0, lambda v: np.unique(v, return_inverse=True)[1]]),
)
def test_only_ranks_and_classes_matter(column: Column, transform: Callable[[np.ndarray], np.ndarray]) -> None:
    values, codes, n_classes = column
    moved = transform(values).astype(float)
    shuffle = np.random.default_rng(values.size).permutation(values.size)
    nearly = intervals_of(values, codes, n_classes, np.full(values.size, 1.0 + 1e-13))
    for method in ("greedy", "optimal"):
        one = intervals_of(values, codes, n_classes, method=method)
        other = intervals_of(moved, codes, n_classes, method=method)
        np.testing.assert_array_equal(one.counts, other.counts)
        assert one.cost == other.cost
        other = intervals_of(values[shuffle], codes[shuffle], n_classes, method=method)
        np.testing.assert_array_equal(one.cut_points, other.cut_points)
        assert nearly.cost == pytest.approx(one.cost, abs=1e-8)


@given(columns())
def test_missing_values_apart(column: Column) -> None:
    values, codes, n_classes = column
    found = intervals_of(values, codes, n_classes, missing_apart=True)
    check_consistent(found, values, codes, n_classes)
    missing = np.isnan(values)
    if len(found.counts) > 1 and missing.any():
        assert found.cut_points[0] == -np.inf
        np.testing.assert_array_equal(found.counts[0], np.bincount(codes[missing], minlength=n_classes))
    # The best intervals among those that keep missing values apart, or a single one.
    if missing.any() and not missing.all():
        known = counts_of(values[~missing], codes[~missing], n_classes).astype(int)
        first = tuple(np.bincount(codes[missing], minlength=n_classes).tolist())
        best = modl.interval_cost([np.bincount(codes, minlength=n_classes).tolist()])
        if len(known) <= 8:
            for cuts in range(2 ** (len(known) - 1)):
                inner = [b for b in range(1, len(known)) if cuts >> (b - 1) & 1]
                parts = [tuple(part.sum(axis=0).tolist()) for part in np.split(known, inner)]
                best = min(best, modl.interval_cost([first, *parts]))
            assert found.cost == pytest.approx(best, abs=COST)


def test_negative_zero_is_zero_whether_values_are_sorted_or_hashed() -> None:
    assert len(intervals_of(np.repeat([-0.0, 0.0], 30), np.repeat([0, 1], 30), 2).counts) == 1
    values, codes = np.tile([-0.0, 0.0, 1.0, 1.0], 5000), np.tile([0, 1, 1, 1], 5000)
    np.testing.assert_array_equal(intervals_of(values, codes, 2).counts, [[5000, 5000], [0, 10000]])


def noisy(n_rows: int, n_classes: int, seed: int = 0) -> Column:
    """Several thousand distinct values, classes that depend on them with noise."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n_rows)
    wave = (np.floor(3 * values) % n_classes).astype(int)
    return values, np.where(rng.random(n_rows) < 0.5, rng.integers(0, n_classes, n_rows), wave), n_classes


@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_values_joined_in_rounds(limits: Limits, n_classes: int) -> None:
    values, codes, _ = noisy(2000, n_classes)
    best = intervals_of(values, codes, n_classes, method="optimal")
    assert len(best.counts) > 3
    limits(exact_work=0)
    for joined in (300, 500):
        limits(coarse_work=n_classes * joined**2)
        found = intervals_of(values, codes, n_classes)
        check_consistent(found, values, codes, n_classes)
        assert best.cost - COST <= found.cost <= best.cost * 1.001


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n_distinct", [1, 2, 40, 700])
def test_counting_distinct_values_equals_sorting(
    monkeypatch: pytest.MonkeyPatch, n_distinct: int, n_classes: int
) -> None:
    rng = np.random.default_rng(n_distinct)
    which = rng.integers(0, n_distinct, 20_000)
    values = np.sort(rng.normal(size=n_distinct))[which]
    values[rng.random(values.size) < 0.02] = np.nan
    codes = np.where(
        rng.random(values.size) < 0.7, rng.integers(0, n_classes, values.size), which * n_classes // n_distinct
    )
    counted = intervals_of(values, codes, n_classes)
    monkeypatch.setattr(value_counts, "_count_few", lambda *_: None)
    ranked = intervals_of(values, codes, n_classes)
    np.testing.assert_array_equal(counted.cut_points, ranked.cut_points)
    np.testing.assert_array_equal(counted.counts, ranked.counts)
    assert counted.cost == ranked.cost


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(100, 3000))
def test_the_sort_takes_over_when_there_are_too_many_distinct_values(seed: int, n_distinct: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, n_distinct, 6000) / 7.0
    codes = (values > np.median(values)).astype(int) ^ (rng.random(6000) < 0.1)
    check_consistent(intervals_of(values, codes, 2), values, codes, 2)
