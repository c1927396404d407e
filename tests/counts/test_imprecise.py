"""Imprecise Dirichlet model: golden values, numerical optimisation, and what must hold whatever the counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import linprog

from bayesieve.counts import ContingencyCounts
from bayesieve.counts.information import (
    class_imprecise_information,
    entropy,
    imprecise_information_gain,
    maximum_entropy,
    maximum_entropy_counts,
    minimum_entropy,
    mutual_information,
    non_specificity,
    reachable_intervals,
)
from tests import golden
from tests.reference import imprecise

COUNTS = st.lists(st.integers(0, 40), min_size=2, max_size=6)
MASSES = st.sampled_from([0.25, 0.5, 1.0, 1.5, 2.0, 5.0, 40.0])


def test_golden_distributions_of_maximum_entropy() -> None:
    cases = golden.values("iig", "maxent_cases")["cases"]
    assert len(cases) == 240
    for case in cases:
        q = maximum_entropy_counts(case["counts"], case["s"]) / (sum(case["counts"]) + case["s"])
        np.testing.assert_allclose(q, case["q"], rtol=0, atol=1e-12)
        assert float(maximum_entropy(case["counts"], case["s"])) == pytest.approx(case["S_star"], abs=1e-12)


@given(COUNTS, MASSES)
def test_least_entropy_is_that_of_a_corner(counts: list[int], s: float) -> None:
    """Entropy is concave, and the corners of the model give all of s to one state."""
    corners = [entropy(np.array(counts) + s * unit) for unit in np.eye(len(counts))]
    assert float(minimum_entropy(counts, s)) == pytest.approx(min(corners), abs=1e-12)
    assert non_specificity([counts, counts], s).shape == (2,)
    assert float(non_specificity(counts, s)) == pytest.approx(
        float(maximum_entropy(counts, s)) - min(corners), abs=1e-12
    )


def test_golden_gains_of_made_up_counts() -> None:
    for case in golden.values("iig", "constructed_example")["cases"]:
        counts = case["counts_rows_levels_cols_classes"]
        assert imprecise_information_gain(counts) == pytest.approx(case["IIG"], abs=1e-12)


@given(COUNTS, MASSES)
def test_the_mass_is_shared_among_the_smallest(counts: list[int], s: float) -> None:
    filled = maximum_entropy_counts(counts, s)
    assert filled.sum() == pytest.approx(sum(counts) + s)
    raised = filled > np.array(counts) + 1e-12
    assert np.ptp(filled[raised]) <= 1e-9  # to one level ...
    assert filled[raised].max() <= filled[~raised].min(initial=np.inf) + 1e-9  # ... which no other count is below
    if s <= 1:  # the closed form of whole counts
        smallest = np.array(counts) == min(counts)
        np.testing.assert_allclose(filled, counts + smallest * s / smallest.sum(), rtol=0, atol=1e-12)


@given(st.lists(st.lists(st.integers(0, 20), min_size=3, max_size=3), min_size=1, max_size=5), MASSES)
def test_gains_by_optimisation(counts: list[list[int]], s: float) -> None:
    if np.sum(counts) == 0:
        assert imprecise_information_gain(counts, s) == 0.0
    else:
        expected = imprecise.information_gain(counts, s)
        assert imprecise_information_gain(counts, s) == pytest.approx(expected, abs=1e-7)


def test_little_mass_gives_the_information_gain() -> None:
    counts = [[5, 1, 2], [0, 7, 3], [2, 2, 9]]
    assert imprecise_information_gain(counts, 1e-9) == pytest.approx(mutual_information(counts), abs=1e-6)
    assert float(maximum_entropy([3, 4], 1e-12)) == pytest.approx(float(entropy([3, 4])), abs=1e-9)


def test_a_single_level_gains_nothing_at_all() -> None:
    for counts in ([[7, 3, 1]], [[0, 0], [4, 9]], [[0, 0, 0]]):
        for s in (0.3, 1.0, 7.0):
            assert imprecise_information_gain(counts, s) == 0.0
            assert imprecise_information_gain(counts, s, "maximum-entropy") == 0.0


def test_all_features_at_once_are_as_each_alone() -> None:
    rng = np.random.default_rng(1)
    tables = [rng.integers(0, 12, (n, 4)).astype(float) for n in (3, 1, 8, 2)]
    tables[2][[1, 4]] = 0.0
    tables[3] *= 0.37  # sums of weights
    offsets = np.concatenate([[0], np.cumsum([len(table) for table in tables])])
    counts = ContingencyCounts(np.concatenate(tables), offsets, tables[0].sum(axis=0))
    for s in (0.5, 1.0, 3.0):
        found = class_imprecise_information(counts, s)
        np.testing.assert_allclose(found, [imprecise_information_gain(table, s) for table in tables], atol=1e-14)
        found = class_imprecise_information(counts, s, "maximum-entropy")
        for gain, table in zip(found, tables, strict=True):
            seen = table[table.sum(axis=1) > 0]
            shares = maximum_entropy_counts(seen.sum(axis=1), s)
            left = shares / shares.sum() @ maximum_entropy(seen, s)
            assert gain == pytest.approx(float(maximum_entropy(table.sum(axis=0), s)) - left, abs=1e-12)


def test_states_without_rows_may_come() -> None:
    assert float(maximum_entropy([0, 0, 0])) == pytest.approx(math.log(3))
    assert imprecise_information_gain([[4, 2, 0], [5, 4, 0]]) < imprecise_information_gain([[4, 2], [5, 4]])


@pytest.mark.parametrize("seed", range(5))
def test_reachable_bounds_are_those_that_distributions_attain(seed: int) -> None:
    """Against linear programs: the smallest and the largest probability of each state within all intervals."""
    rng = np.random.default_rng(seed)
    center = rng.dirichlet(np.ones(4))
    lower, upper = np.maximum(0, center - rng.random(4) / 3), np.minimum(1, center + rng.random(4) / 3)
    program = {"A_eq": np.ones((1, 4)), "b_eq": [1.0], "bounds": np.stack([lower, upper], axis=1)}
    ends = [[linprog(sign * unit, **program).x @ unit for unit in np.eye(4)] for sign in (1, -1)]
    np.testing.assert_allclose(reachable_intervals(lower, upper), ends, atol=1e-9)


def test_intervals_of_the_imprecise_dirichlet_model_are_reachable() -> None:
    counts, s = np.array([[4.0, 0, 9, 2], [0, 0, 0, 0]]), 1.5
    total = counts.sum(axis=1, keepdims=True) + s
    lower, upper = counts / total, (counts + s) / total
    np.testing.assert_allclose(reachable_intervals(lower, upper), (lower, upper), atol=1e-12)


@pytest.mark.parametrize(("lower", "upper"), [([0.6, 0.6], [1, 1]), ([0, 0], [0.4, 0.5]), ([0.5, 0.2], [0.4, 1])])
def test_intervals_without_a_distribution_are_refused(lower: list[float], upper: list[float]) -> None:
    with pytest.raises(ValueError, match="No distribution lies within"):
        reachable_intervals(lower, upper)
