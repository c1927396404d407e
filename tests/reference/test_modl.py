"""The MODL oracles against hand-made values and the golden optima."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tests import golden
from tests.reference import modl

NUMERIC = [
    (name, column)
    for name in golden.MODL_TABLES
    for column, entry in golden.values("modl_exact", name)["variables"].items()
    if entry["kind"] == "numeric"
]
CATEGORICAL = [
    (name, column)
    for name in golden.MODL_TABLES
    for column, entry in golden.values("modl_exact", name)["variables"].items()
    if entry["kind"] == "categorical"
]


def distinct_value_counts(name: str, column: str) -> np.ndarray:
    """Distinct values in ascending order (missing first) x classes."""
    numbers = np.nan_to_num(golden.numeric_column(name, column), nan=-np.inf)
    ranks = np.unique(numbers, return_inverse=True)[1]
    labels = golden.class_codes(name)
    counts = np.zeros((ranks.max() + 1, labels.max() + 1), dtype=np.int64)
    np.add.at(counts, (ranks, labels), 1)
    return counts


def test_part_cost_by_hand() -> None:
    # 3 rows, 2 classes: 4 class distributions, 3 ways to place the one row of the second class.
    assert modl.part_cost((2, 1)) == pytest.approx(math.log(4) + math.log(3), rel=1e-15)
    assert modl.part_cost((5, 0)) == pytest.approx(math.log(6), rel=1e-15)
    # 4 rows, 3 classes: C(6, 2) = 15 distributions, 4! / 2! = 12 labelings.
    assert modl.part_cost((2, 1, 1)) == pytest.approx(math.log(15) + math.log(12), rel=1e-15)


@pytest.mark.parametrize("part", [(0, 0), (7,), (1, 2, 3), (40, 0, 2), (300, 700)])
def test_both_forms_of_the_part_cost_agree(part: tuple[int, ...]) -> None:
    assert modl.part_cost_lgamma(part) == pytest.approx(modl.part_cost(part), rel=1e-12, abs=1e-12)


def test_interval_cost_by_hand() -> None:
    # N = 4, two pure intervals of two rows: log 4 + log C(5, 1) + 2 log C(3, 1).
    assert modl.interval_cost([(2, 0), (0, 2)]) == pytest.approx(math.log(4 * 5 * 3 * 3), rel=1e-15)
    # One interval: log 4 + log C(5, 1) + log(4! / (2! 2!)).
    assert modl.interval_null_cost((2, 2)) == pytest.approx(math.log(4 * 5 * 6), rel=1e-15)


def test_stirling_numbers_count_the_partitions() -> None:
    for n in range(1, 9):
        sizes = [len(partition) for partition in modl.set_partitions(n)]
        assert [sizes.count(k) for k in range(n + 1)] == [modl.stirling_second(n, k) for k in range(n + 1)]
    assert modl.stirling_second(10, 5) == 42525
    assert math.exp(modl.log_bell(10, 10)) == pytest.approx(115975, rel=1e-12)
    assert modl.log_bell(100, 1) == 0


def test_group_cost_by_hand() -> None:
    # V = 3 values in G = 2 of at most 2 groups: log 3 + log(1 + 3), then two parts.
    expected = math.log(3) + math.log(4) + modl.part_cost((3, 0)) + modl.part_cost((1, 4))
    assert modl.group_cost([(3, 0), (1, 4)], 3) == pytest.approx(expected, rel=1e-15)


def test_optimal_intervals_match_the_enumeration_of_all_cuts() -> None:
    generator = np.random.default_rng(0)
    for _ in range(20):
        counts = generator.integers(0, 5, size=(7, 3))
        counts[counts.sum(axis=1) == 0, 0] = 1
        costs = []
        for size in range(7):
            for cuts in itertools.combinations(range(1, 7), size):
                table = np.add.reduceat(counts, (0, *cuts), axis=0)
                costs.append(modl.interval_cost(table.tolist()))
        assert modl.optimal_intervals(counts)[0] == pytest.approx(min(costs), rel=1e-12)


@pytest.mark.parametrize(("name", "column"), NUMERIC)
def test_golden_interval_costs(name: str, column: str) -> None:
    entry = golden.values("modl_exact", name)["variables"][column]
    assert modl.interval_cost(entry["table"]) == pytest.approx(entry["cost"], abs=1e-9)
    class_counts = golden.values("modl_exact", name)["class_counts"]
    assert modl.interval_null_cost(class_counts) == pytest.approx(entry["null_cost"], abs=1e-9)
    counts = distinct_value_counts(name, column)
    assert counts.sum(axis=0).tolist() == class_counts
    cost, ends = modl.optimal_intervals(counts)
    assert cost == pytest.approx(entry["cost"], abs=1e-9)
    assert np.add.reduceat(counts, [0, *ends[:-1]], axis=0).tolist() == entry["table"]


@pytest.mark.parametrize(("name", "column"), CATEGORICAL)
def test_golden_group_costs(name: str, column: str) -> None:
    entry = golden.values("modl_exact", name)["variables"][column]
    n_values = len(entry["values"])
    assert modl.group_cost(entry["table"], n_values) == pytest.approx(entry["cost"], abs=1e-9)
    class_counts = golden.values("modl_exact", name)["class_counts"]
    assert modl.group_null_cost(class_counts, n_values) == pytest.approx(entry["null_cost"], abs=1e-9)
    cost, groups = modl.optimal_groups(entry["value_table"])
    assert cost == pytest.approx(entry["cost"], abs=1e-9)
    assert sorted(modl.group_table(entry["value_table"], groups)) == sorted(map(tuple, entry["table"]))
