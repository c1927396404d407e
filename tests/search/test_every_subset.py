"""The walk through all subsets against evaluating each of them alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numba import njit

from bayesieve.criteria import AUC, Error
from bayesieve.search import ExhaustiveSearch, SearchState, SubsetProblem, every_subset
from bayesieve.search._kernels import sum_of_logs
from bayesieve.search.every_subset import EverySubset, evaluate_every_subset
from bayesieve.selection import BayesianAveraging, CompressionAveraging, MAPSelector
from tests.criteria.coded_tables import coded_table, slow_cost
from tests.search.test_trace import models_of


def slow_values(problem: SubsetProblem, criterion: object, subsets: EverySubset) -> np.ndarray:
    """The criterion of every subset, each evaluated from the empty one."""
    state = SearchState(replace(problem, objective=problem.objective.by(criterion)))
    found = []
    for number in range(subsets.cost.size):
        selected = np.zeros(problem.n_features, dtype=bool)
        selected[subsets.features(number)] = True
        state.reset(selected)
        found.append(state.cost)
    return np.array(found)


@pytest.mark.parametrize(("n_features", "n_classes"), [(2, 2), (4, 3), (8, 2), (8, 3), (8, 5)])
def test_every_subset_has_its_own_cost_errors_and_area(n_features: int, n_classes: int) -> None:
    coded = coded_table(n_features, 90, n_features, n_classes, strength=0.8, unseen=0.05)
    problem = SubsetProblem.of(coded)
    subsets = evaluate_every_subset(problem, areas=True)
    assert subsets.cost.size == 2 ** (n_features - 1)  # the last feature has a single level
    for number in range(subsets.cost.size):
        features = subsets.features(number).tolist()
        assert subsets.sizes[number] == len(features)
        assert subsets.number(np.array(features, dtype=int)) == number
        assert subsets.cost[number] == pytest.approx(slow_cost(coded, features), rel=1e-11)
    assert subsets.number(np.array([0, n_features - 1])) is None
    wrong = slow_values(problem, Error(), subsets)
    np.testing.assert_allclose(subsets.wrong, wrong * coded.n_rows, atol=1e-9)
    area = -slow_values(problem, AUC(), subsets)
    assert np.all(subsets.area_bounds[0] <= area + 1e-9)
    assert np.all(area <= subsets.area_bounds[1] + 1e-9)
    number, best = subsets.largest_area()
    assert best == pytest.approx(area.max(), abs=1e-12)
    tied = np.flatnonzero(area >= area.max() - 1e-12)
    assert number in tied
    assert subsets.sizes[number] == subsets.sizes[tied].min()
    fewest = subsets.fewest_wrong()
    assert subsets.wrong[fewest] == subsets.wrong.min()
    assert subsets.sizes[fewest] == subsets.sizes[subsets.wrong == subsets.wrong.min()].min()


def test_bounds_of_areas_are_close_where_scores_differ() -> None:
    coded = coded_table(3, 400, 10, 3, strength=0.6, n_levels=5)
    subsets = evaluate_every_subset(SubsetProblem.of(coded), areas=True)
    gap = subsets.area_bounds[1] - subsets.area_bounds[0]
    assert np.all(gap >= 0)
    assert gap[-1] < 0.01


def test_nothing_depends_on_pieces_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = SubsetProblem.of(coded_table(5, 150, 9, 3, strength=0.7))
    told: list[tuple[int, int]] = []
    threads = evaluate_every_subset(problem, areas=True, n_jobs=2, progress=lambda done, n: told.append((done, n)))
    assert sorted(told) == [(i, 32) for i in range(1, 33)]
    monkeypatch.setattr(every_subset, "_PIECES", 0)
    whole = evaluate_every_subset(problem, areas=True)
    for name in ("cost", "wrong", "area_bounds"):
        np.testing.assert_array_equal(getattr(threads, name), getattr(whole, name))


def test_selectors_read_the_same_weights_as_from_the_walk_step_by_step() -> None:
    coded = coded_table(7, 200, 9, 3, strength=0.6)
    problem = SubsetProblem.of(coded)
    trace = evaluate_every_subset(problem).trace()
    steps = ExhaustiveSearch().run(problem)
    expected = models_of(steps)
    found = models_of(trace)
    assert found.keys() == expected.keys()
    assert all(found[m] == pytest.approx(expected[m], rel=1e-11) for m in found)
    assert (trace.n_models, trace.null_criterion) == (2**8, pytest.approx(steps.null_criterion, rel=1e-12))
    for selector in (MAPSelector, BayesianAveraging, CompressionAveraging):
        fitted = selector(encoder=None, exhaustive=True).fit_coded(coded)
        np.testing.assert_allclose(selector().weigh(trace), fitted.weights_, rtol=1e-7, atol=1e-9)


def test_products_of_rows_stay_in_range() -> None:
    values = np.concatenate([np.full(7, 1e200), np.ones(50), np.full(9, 1e90), [3.0, 5.0, 7.0]])
    called = njit(lambda values: sum_of_logs(values))  # which Python cannot call by itself
    assert called(values) == pytest.approx(np.log(values).sum(), rel=1e-13)
    assert called(np.ones(0)) == 0.0


def test_nothing_to_choose_from() -> None:
    coded = coded_table(1, n_features=3)
    coded.codes[:], coded.n_levels[:] = 0, 1
    subsets = evaluate_every_subset(SubsetProblem.of(coded))
    assert subsets.cost.tolist() == pytest.approx([slow_cost(coded, ())])
    assert not subsets.trace().best_subset().any()


def test_what_is_not_enumerated() -> None:
    with pytest.raises(ValueError, match=r"26 features have 2\^26 subsets, .*at most 25"):
        evaluate_every_subset(SubsetProblem.of(coded_table(1, n_rows=20, n_features=27)))
    weighted = coded_table(1, n_rows=20, weights=np.arange(1.0, 21.0))
    with pytest.raises(ValueError, match=r"weighted rows.*ExhaustiveSearch"):
        evaluate_every_subset(SubsetProblem.of(weighted))
    tiny = coded_table(1, n_rows=40, n_features=20, strength=1.5)
    with pytest.raises(ValueError, match=r"up to e\^\d+ exceed the range of numbers; use ExhaustiveSearch"):
        evaluate_every_subset(SubsetProblem.of(tiny, smoothing=1e-25))
    with pytest.raises(ValueError, match="areas=True"):
        evaluate_every_subset(SubsetProblem.of(coded_table(1))).largest_area()
