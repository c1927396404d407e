"""Entropies and informations of counts against their definitions, row by row."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

from bayesieve.counts import ContingencyCounts
from bayesieve.counts.information import (
    class_information,
    class_symmetrical_uncertainty,
    entropy,
    mutual_information,
    symmetrical_uncertainty,
)
from tests.counts.test_contingency import random_table
from tests.reference import information

TABLES = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=st.integers(0, 60).map(float)
)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 60),
    n_levels=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    n_classes=st.integers(2, 4),
    weighted=st.booleans(),
)
def test_against_definitions(seed: int, n_rows: int, n_levels: list[int], n_classes: int, weighted: bool) -> None:
    coded = random_table(seed, n_rows, n_levels, n_classes, weighted=weighted)
    counts = coded.counts
    entropies = [entropy(counts.feature(k).sum(axis=1)) for k in range(counts.n_features)]
    found = class_information(counts), class_symmetrical_uncertainty(counts), entropies
    for k, levels in enumerate(n_levels):
        known = coded.codes[k] < levels
        x, y = coded.codes[k][known].tolist(), np.asarray(coded.class_codes)[known].tolist()
        weights = None if coded.weights is None else coded.weights[known].tolist()
        expected = [0.0, 0.0, 0.0]
        if counts.feature(k).sum() > 0:
            expected = [
                information.mutual_information(x, y, weights),
                information.symmetrical_uncertainty(x, y, weights),
                information.entropy(x, sample_weight=weights),
            ]
        np.testing.assert_allclose([values[k] for values in found], expected, atol=2e-15)


@given(TABLES)
def test_bounds_hold_exactly(table: np.ndarray) -> None:
    found = mutual_information(table)
    assert 0.0 <= found <= min(entropy(table.sum(axis=0)), entropy(table.sum(axis=1)))
    assert 0.0 <= symmetrical_uncertainty(table) <= 1.0
    assert found == pytest.approx(mutual_information(table.T), abs=1e-15)
    assert mutual_information(table * 2.0**-1000) == found  # weights may be as small as they like


@given(st.lists(st.integers(0, 50), min_size=1, max_size=5), st.lists(st.integers(0, 50), min_size=1, max_size=5))
def test_independent_counts_have_no_information(rows: list[int], columns: list[int]) -> None:
    assert mutual_information(np.outer(rows, columns)) == 0.0
    assert symmetrical_uncertainty(np.outer(rows, columns)) == 0.0


def test_by_hand() -> None:
    assert entropy([3, 0, 0]) == 0.0
    assert math.copysign(1.0, entropy([3, 0, 0])) == 1.0
    np.testing.assert_allclose(entropy([[1, 1], [1, 3]]), [math.log(2), 2 * math.log(2) - 0.75 * math.log(3)])
    # A level of one class only, and one of both: I = H(class) - 1/2 H(1/2).
    expected = information.entropy([0, 0, 0, 1]) - 0.5 * math.log(2)
    assert mutual_information([[2, 0], [1, 1]]) == pytest.approx(expected, abs=1e-15)
    assert symmetrical_uncertainty([[5, 0], [0, 1]]) == 1.0


def test_nothing_counted() -> None:
    assert entropy([0, 0]) == 0.0
    assert mutual_information(np.zeros((2, 2))) == 0.0
    empty = ContingencyCounts(np.array([[2.0, 0.0], [0.0, 2.0]]), np.array([0, 0, 2, 2]), np.array([2.0, 2.0]))
    np.testing.assert_allclose(class_information(empty), [0.0, math.log(2), 0.0])
    no_features = ContingencyCounts(np.zeros((0, 2)), np.array([0]), np.array([2.0, 2.0]))
    assert class_information(no_features).shape == (0,)


def test_not_a_table() -> None:
    with pytest.raises(ValueError, match="levels by classes, got an array of 1 dimensions"):
        mutual_information([1, 2])
