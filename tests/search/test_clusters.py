"""Clusters of features and the subsets drawn from them: algorithm 1 of Blanquero et al. (2021)."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.stats import chisquare

from bayesieve.counts import CodedTable
from bayesieve.counts.pairs import PairInformation
from bayesieve.criteria import Accuracy, Recall
from bayesieve.search import ClusterSearch, FeatureClusters, Objective, ScoredRows, SubsetProblem
from bayesieve.search.problem import Constraint
from tests.cases import mostly_slow
from tests.criteria.coded_tables import coded_table
from tests.limits import Limits


def matrix(seed: int, n: int) -> np.ndarray:
    half = np.random.default_rng(seed).random((n, n))
    return (half + half.T) / 2


def held_out(coded: CodedTable) -> tuple[CodedTable, CodedTable]:
    rows = np.arange(coded.n_rows)
    return coded.take(rows[rows % 3 > 0]), coded.take(rows[rows % 3 == 0])


def problem_of(coded: CodedTable, criterion: Any = None, bound: float | None = None) -> SubsetProblem:
    fit, rest = held_out(coded)
    rows = ScoredRows.training(rest, fit.counts, 1.0)
    criterion = Accuracy() if criterion is None else criterion
    criterion.check(coded.classes)
    recall = Recall(1)
    recall.check(coded.classes)
    constraints = () if bound is None else (Constraint("recall:1", recall, bound),)
    return SubsetProblem.on(Objective(criterion, rows, constraints), coded, learnt=fit)


@pytest.fixture(scope="module", params=[2, 3])
def coded(request: pytest.FixtureRequest) -> CodedTable:
    return coded_table(3, n_rows=240, n_features=11, n_classes=request.param, strength=0.7)


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("method", ["complete", "average"])
def test_the_tree_is_that_of_scipy(method: str, diagonal: bool) -> None:
    dependence = matrix(0, 9)
    np.fill_diagonal(dependence, 2.0)
    features = np.array([0, 1, 3, 4, 7, 8])
    of_features = dependence[np.ix_(features, features)]
    off = of_features[np.triu_indices(6, 1)]
    largest = 2.0 if diagonal else off.max()
    clusters = FeatureClusters.of(dependence, features, method, diagonal=diagonal)
    np.testing.assert_array_equal(clusters.linkage, linkage((largest - off) / largest, method))
    assert sorted(clusters.order.tolist()) == features.tolist()
    cuts = clusters.cuts()
    assert [len(parts) for _, parts in cuts] == [5, 4, 3, 2, 1]
    for height, parts in cuts:
        labels = fcluster(clusters.linkage, height, "distance")
        expected = {tuple(features[labels == label].tolist()) for label in labels}
        assert {tuple(part.tolist()) for part in parts} == expected


def test_cuts_are_spread_evenly_over_the_merges() -> None:
    clusters = FeatureClusters.of(matrix(1, 301), np.arange(301))
    assert len(clusters.cuts()) == 100
    sizes = [301 - len(parts) for _, parts in clusters.cuts(n_cuts=11)]
    assert sizes == np.rint(np.linspace(1, 300, 11)).tolist()
    assert FeatureClusters.of(matrix(1, 1), np.arange(1)).cuts() == []
    constant = FeatureClusters.of(np.zeros((4, 4)), np.arange(4))
    assert constant.linkage[:, 2].tolist() == [1.0, 1.0, 1.0]


def test_q_follows_the_share_of_strong_dependences() -> None:
    dependence = np.zeros((10, 10))
    np.fill_diagonal(dependence, 1.0)  # 10 % of the entries
    assert FeatureClusters.of(dependence, np.arange(10)).q == 0.6
    dependence[:5, 5:] = dependence[5:, :5] = np.where(np.eye(5), 0.11, 0.0)  # 20 %
    assert FeatureClusters.of(dependence, np.arange(10)).q == 0.4
    assert FeatureClusters.of(np.pad(dependence, (0, 1)), np.arange(10)).q == 0.6  # 20 / 121
    dependence[0, 5] = dependence[5, 0] = 0.1
    assert FeatureClusters.of(dependence, np.arange(10)).q == 0.6


def probabilities(clusters: list[list[int]], q: float) -> dict[tuple[int, ...], float]:
    """Of every subset, when each cluster gives one of its features, at random, with probability q."""
    found: Counter[tuple[int, ...]] = Counter()
    options = [[((), 1 - q), *(((feature,), q / len(cluster)) for feature in cluster)] for cluster in clusters]
    for choice in product(*options):
        found[tuple(sorted(sum((part for part, _ in choice), ())))] += float(np.prod([p for _, p in choice]))
    return dict(found)


@pytest.mark.parametrize(("most", "q"), mostly_slow([(25, 0.4), (25, 0.6), (2, 0.6), (1, 0.4)], [(2, 0.6)]))
def test_every_combination_is_as_frequent_as_algorithm_1_says(most: int, q: float) -> None:
    dependence = np.eye(4)
    dependence[0, 2] = dependence[2, 0] = 0.9
    dependence[1, 3] = dependence[3, 1] = 0.8
    tree = FeatureClusters.of(dependence, np.arange(4))
    subsets, cut = tree.draw(None, 4, 1.0, np.random.default_rng(0))
    of_second = [np.flatnonzero(subset).tolist() for subset in subsets[cut == tree.linkage[1, 2]]]
    assert of_second == [[0, 1], [0, 3], [1, 2], [2, 3]]  # in a fixed order, each once
    partitions = [[[0, 2], [1], [3]], [[0, 2], [1, 3]], [[0, 1, 2, 3]]]
    n_draws = [min(2, most), min(4, most), min(4, most)]
    met: list[Counter[tuple[int, ...]]] = [Counter() for _ in partitions]
    seeds = 3000
    for seed in range(seeds):
        subsets, cut = tree.draw(None, most, q, np.random.default_rng(seed))
        assert np.isnan(cut[0])
        assert subsets[0].all()
        for number, height in enumerate(tree.linkage[:, 2]):
            for subset in subsets[cut == height]:
                met[number][tuple(np.flatnonzero(subset).tolist())] += 1
    for clusters, counted, draws in zip(partitions, met, n_draws, strict=True):
        expected = probabilities(clusters, q)
        n = seeds * draws
        assert not counted[()]  # skipped
        assert set(counted) - {()} == set(expected) - {()}
        counted[()] = n - sum(counted.values())
        keys = sorted(expected)
        observed = np.array([counted[key] for key in keys])
        assert chisquare(observed, np.array([expected[key] * n for key in keys])).pvalue > 1e-4


def test_all_features_are_a_candidate_that_has_to_satisfy_the_constraints(coded: CodedTable) -> None:
    free = ClusterSearch(n_cuts=1, n_combinations=1, q=0.4).explore(problem_of(coded))
    assert free.subsets[0].tolist() == (coded.n_levels > 1).tolist()
    assert free.values.best == 0
    of_all = ClusterSearch().explore(problem_of(coded, bound=0.0)).values.measures["recall:1"]
    on_it, below = (
        ClusterSearch().explore(problem_of(coded, bound=bound)) for bound in (float(of_all[0]), of_all[0] - 1e-6)
    )
    assert not on_it.values.feasible[0]
    assert below.values.feasible[0]
    assert np.array_equal(on_it.values.feasible, of_all > of_all[0])
    beyond = ClusterSearch().explore(problem_of(coded, bound=1.0))
    assert not beyond.values.feasible.any()
    chosen = (beyond.subsets == beyond.trace.chosen).all(axis=1)
    assert beyond.values.violations[chosen] == beyond.values.violations.min() == max(1.0 - of_all.max(), 1e-12)


def test_threads_do_not_change_the_answer(coded: CodedTable, limits: Limits) -> None:
    limits(values_at_once=7, parallel_values=0)
    alone, several = (ClusterSearch(n_jobs=n, dependence="spearman").explore(problem_of(coded)) for n in (1, 3))
    np.testing.assert_array_equal(several.values.values, alone.values.values)


def test_the_matrix_is_the_largest_information_within_a_class(coded: CodedTable) -> None:
    found = ClusterSearch().explore(problem_of(coded))
    fit, _ = held_out(coded)
    within = [
        PairInformation(fit.take(np.asarray(fit.class_codes) == c)).mutual_information() for c in range(fit.n_classes)
    ]
    np.testing.assert_allclose(found.clusters.dependence, np.max(within, axis=0), atol=1e-14)
    again = ClusterSearch(matrix=found.clusters.dependence).explore(problem_of(coded))
    np.testing.assert_array_equal(again.subsets, found.subsets)
    drawn, cut = found.clusters.draw(None, 25, found.q, np.random.default_rng(0))
    first_cut = {subset.tobytes(): height for subset, height in zip(drawn[::-1], cut[::-1], strict=True)}
    np.testing.assert_array_equal(found.cut, [first_cut[subset.tobytes()] for subset in found.subsets])


def test_problems_that_cannot_be_searched(coded: CodedTable) -> None:
    objective = problem_of(coded).objective
    bare = SubsetProblem(objective, coded.names, np.arange(coded.n_features))
    with pytest.raises(ValueError, match="no coded rows to measure dependence on"):
        ClusterSearch().run(bare)
    assert ClusterSearch(matrix=np.eye(coded.n_features)).run(bare).n_models > 1
    with pytest.raises(ValueError, match="matrix must be a symmetric array of 11 x 11 finite numbers"):
        ClusterSearch(matrix=np.triu(np.ones((11, 11)))).run(bare)
