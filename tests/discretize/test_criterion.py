"""The terms of the MODL criteria against exact integers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bayesieve.discretize import modl as criteria
from bayesieve.discretize.modl import (
    group_prior,
    interval_costs,
    interval_prior,
    log_factorials,
    log_partitions,
    part_cost,
)
from tests.reference import modl


@pytest.mark.parametrize("n_values", [1, 2, 3, 7, 24, 25, 26, 27, 40, 100])
def test_numbers_of_partitions_against_exact_integers(n_values: int) -> None:
    found = log_partitions(n_values, n_values)
    assert found[0] == -math.inf
    stirling = [1] + [0] * n_values
    for _ in range(n_values):
        stirling = [0] + [stirling[g - 1] + g * stirling[g] for g in range(1, n_values + 1)]
    at_most, expected = 0, []
    for count in stirling[1:]:
        at_most += count
        expected.append(math.log(at_most))
    np.testing.assert_allclose(found[1:], expected, rtol=1e-12, atol=1e-12)


def test_partitions_of_very_many_values_into_few_groups() -> None:
    # Into at most 2 groups there are 2^(V-1) ways, into at most 3 (3^(V-1) + 1) / 2.
    for n_values in (1000, 100_000):
        found = log_partitions(n_values, 3)
        np.testing.assert_allclose(found[2], (n_values - 1) * math.log(2), rtol=1e-12)
        np.testing.assert_allclose(found[3], (n_values - 1) * math.log(3) - math.log(2), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 5, 150, 10**6])
def test_interval_prior_against_exact_integers(n: int) -> None:
    found = interval_prior(n, 40)
    expected = [math.log(n) + math.log(math.comb(n + i - 1, i - 1)) for i in range(1, 41)]
    np.testing.assert_allclose(found[1:], expected, rtol=1e-13, atol=1e-13)


def test_group_prior() -> None:
    found = group_prior(6, 6)
    assert found[0] == math.inf
    np.testing.assert_allclose(
        found[1:], [math.log(6) + modl.log_bell(6, groups) for groups in range(1, 7)], rtol=1e-13
    )


def test_log_factorials_grow_when_asked_and_stay_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(criteria, "_table", np.zeros(0))
    for n in (0, 10, 1023, 1024, 5000, 100):
        table = log_factorials(np.array([[n]]))
        assert table is not None
        assert table.size > n
        assert table[n] == pytest.approx(math.lgamma(n + 1), rel=1e-14)
    assert log_factorials(np.array([[1 << 24]])) is None  # computed each time instead of a table of 128 MiB


@given(st.lists(st.lists(st.integers(0, 10**6), min_size=3, max_size=3), min_size=1, max_size=20), st.data())
def test_costs_of_several_columns_are_those_of_each(rows: list[list[int]], data: st.DataObject) -> None:
    counts, first = np.array(rows, dtype=float), data.draw(st.integers(1, len(rows)))
    sizes = np.array([first, len(rows) - first][: 1 + (first < len(rows))])
    totals = np.array([part.sum() + 1.0 for part in np.split(counts, np.cumsum(sizes)[:-1])])
    found = interval_costs(counts, sizes, totals)
    at = 0
    for cost, size, total in zip(found.tolist(), sizes.tolist(), totals.tolist(), strict=True):
        parts = 0.0
        for row in counts[at : at + size]:
            parts += float(part_cost(row))
        assert cost == interval_prior(total, size)[-1] + parts
        at += size


@given(st.lists(st.integers(0, 60), min_size=1, max_size=6), st.floats(0.01, 1.0))
def test_part_costs_are_those_of_the_oracle(counts: list[int], scale: float) -> None:
    assert part_cost(np.array(counts)) == pytest.approx(modl.part_cost(tuple(counts)), rel=1e-12, abs=1e-11)
    weights = scale * np.array(counts)
    assert part_cost(weights) == pytest.approx(modl.part_cost_lgamma(weights), rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("n_classes", [1, 2, 9, 130])
def test_many_part_costs_are_those_of_each(n_classes: int) -> None:
    counts = np.random.default_rng(n_classes).integers(0, 10**5, (300, n_classes)) * 1.0
    np.testing.assert_array_equal(part_cost(counts), [part_cost(row) for row in counts])
    np.testing.assert_array_equal(part_cost(counts + 0.5), [part_cost(row) for row in counts + 0.5])
