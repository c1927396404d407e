"""The oracles of costs and probabilities against values computed by hand: what the golden values do not reach."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tests.reference import modl, naive_bayes, selective


@pytest.mark.parametrize(
    ("cost", "ways"),
    [
        # 3 rows, 2 classes: 4 class distributions, 3 ways to place the one row of the second class.
        (modl.part_cost((2, 1)), 4 * 3),
        (modl.part_cost((5, 0)), 6),
        # 4 rows, 3 classes: C(6, 2) distributions, 4! / 2! labelings.
        (modl.part_cost((2, 1, 1)), 15 * 12),
        # N = 4, two pure intervals of two rows: 4, C(5, 1), and C(3, 1) for each.
        (modl.interval_cost([(2, 0), (0, 2)]), 4 * 5 * 3 * 3),
        (modl.interval_cost([(2, 2)]), 4 * 5 * 6),
        # V = 3 values in G = 2 of at most 2 groups: 3, 1 + 3, then two parts.
        (modl.group_cost([(3, 0), (1, 4)], 3), 3 * 4 * 4 * (6 * 5)),
        (modl.log_bell(10, 10), 115975),
        (modl.log_bell(100, 1), 1),
        # V = 4 values, the first of them apart: 4, C(3, 1), 4 ways to choose it, and the two parts.
        (modl.sizes_cost([(2, 0), (0, 3)], [1, 3], ordered=True), 4 * 3 * 3 * 4),
        (modl.sizes_cost([(2, 0), (0, 3)], [1, 3], ordered=False), 4 * 3 * 4 / 2 * 3 * 4),
        (selective.prior_cost(4, 0), 5),
        (selective.prior_cost(4, 2), 5 * 10),  # C(5, 2)
    ],
)
def test_costs_are_logarithms_of_numbers_of_ways(cost: float, ways: float) -> None:
    assert cost == pytest.approx(math.log(ways), rel=1e-12)


@pytest.mark.parametrize("part", [(0, 0), (7,), (1, 2, 3), (40, 0, 2), (300, 700)])
def test_both_forms_of_the_part_cost_agree(part: tuple[int, ...]) -> None:
    assert modl.part_cost_lgamma(part) == pytest.approx(modl.part_cost(part), rel=1e-12, abs=1e-12)


def test_stirling_numbers_count_the_partitions() -> None:
    for n in range(1, 9):
        sizes = [len(partition) for partition in modl.set_partitions(n)]
        assert [sizes.count(k) for k in range(n + 1)] == [modl.stirling_second(n, k) for k in range(n + 1)]


@pytest.mark.parametrize("prior", ["published", "sizes"])
def test_optimal_intervals_match_the_enumeration_of_all_cuts(prior: str) -> None:
    generator = np.random.default_rng(0)
    for _ in range(20):
        counts = generator.integers(0, 5, size=(7, 3))
        counts[counts.sum(axis=1) == 0, 0] = 1
        costs = []
        for cuts in itertools.chain.from_iterable(itertools.combinations(range(1, 7), size) for size in range(7)):
            table = np.add.reduceat(counts, (0, *cuts), axis=0).tolist()
            sizes = np.diff((0, *cuts, 7)).tolist()
            published = prior == "published"
            costs.append(modl.interval_cost(table) if published else modl.sizes_cost(table, sizes, ordered=True))
        assert modl.optimal_intervals(counts, prior)[0] == pytest.approx(min(costs), rel=1e-12)


def test_probabilities_of_levels() -> None:
    # 4 rows, 2 classes of 3 and 1 rows: (N_ij + 1/4) / (N_j + 2/4), or with Laplace's alpha (N_ij + a) / (N_j + 2 a).
    counts = naive_bayes.level_counts([0, 0, 1, 1], [0, 0, 0, 1], n_levels=2, n_classes=2)
    assert counts == [[2, 0], [1, 1]]
    logs = naive_bayes.log_conditionals(counts, "m-estimate", [3, 1])
    np.testing.assert_allclose(np.exp(logs), [[2.25 / 3.5, 0.25 / 1.5], [1.25 / 3.5, 1.25 / 1.5]], rtol=1e-14)
    logs = naive_bayes.log_conditionals(counts, 0.5, [3, 1])
    np.testing.assert_allclose(np.exp(logs), [[2.5 / 4, 0.5 / 2], [1.5 / 4, 1.5 / 2]], rtol=1e-14)


def test_joint_probabilities_of_weighted_features_and_unseen_levels() -> None:
    priors = [math.log(0.75), math.log(0.25)]
    conditionals = [[[math.log(0.5), math.log(0.1)], [math.log(0.5), math.log(0.9)]]]
    joint = naive_bayes.log_joint([1], priors, conditionals, [0.5])
    assert joint == pytest.approx([math.log(0.75 * 0.5**0.5), math.log(0.25 * 0.9**0.5)], rel=1e-14)
    assert naive_bayes.log_joint([2], priors, conditionals) == priors


def test_averages_of_subsets() -> None:
    costs = {(): 10.0, (0,): 5.0, (1,): 8.0, (0, 1): 12.0}
    # Compressions 0, 0.5, 0.2 and -0.2; the empty subset and the one that does not compress are left out.
    assert selective.compression_weights(costs, 2) == pytest.approx([0.5 / 0.7, 0.2 / 0.7])
    weights = {subset: math.exp(-value) for subset, value in costs.items()}
    expected = [(weights[0,] + weights[0, 1]), (weights[1,] + weights[0, 1])]
    assert selective.bayesian_weights(costs, 2) == pytest.approx(np.array(expected) / sum(weights.values()))
    assert selective.best_subset(costs) == (0,)
    assert selective.compression_weights({(): 1.0, (0,): 2.0}, 1) == [0.0]
