"""Objectives under constraints, and what searches choose by them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from bayesieve import WrapperSelector
from bayesieve.counts import CodedTable
from bayesieve.criteria import Error, Recall
from bayesieve.search import (
    BestFirst,
    ExhaustiveSearch,
    GreedySearch,
    MultiStart,
    Objective,
    ScoredRows,
    Search,
    SubsetProblem,
    evaluate_subsets,
)
from bayesieve.search.objective import check_constraints, make_constraints
from bayesieve.search.trace import Point
from tests.criteria.coded_tables import coded_table

SEARCHES: tuple[Search, ...] = (
    *(GreedySearch(direction) for direction in ("forward", "backward", "forward-backward", "backward-forward", "fast")),
    BestFirst(),
    MultiStart(n_starts=4),
    ExhaustiveSearch(),
)


@pytest.fixture(scope="module")
def coded() -> CodedTable:
    return coded_table(3, n_rows=160, n_features=7, n_classes=2, strength=0.5)


def every_subset(n_features: int) -> np.ndarray:
    return np.array(list(product([False, True], repeat=n_features)))


def recall(coded: CodedTable, label: Any) -> str:
    return f"recall:{np.asarray(coded.classes).tolist()[label]}"


def problem_by(coded: CodedTable, bounds: dict[Any, float], criterion: str = "log_loss") -> SubsetProblem:
    return SubsetProblem.on(Objective.of(coded, criterion, 1.0, bounds), coded)


def halves(coded: CodedTable, bounds: dict[Any, float]) -> SubsetProblem:
    fit, rest = coded.take(slice(0, None, 2)), coded.take(slice(1, None, 2))
    guide = Objective.of(fit, "error_probability", 1.0, bounds)
    validation = Objective(Error(), ScoredRows.training(rest, fit.counts, 1.0), guide.constraints)
    return SubsetProblem.on(guide, coded, validation=validation)


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
@pytest.mark.parametrize(("label", "bound"), [(0, 0.3), (0, 0.75), (1, 0.6), (1, 0.79)])
def test_every_search_chooses_a_subset_that_keeps_the_bound(
    coded: CodedTable, search: Search, label: int, bound: float
) -> None:
    problem = problem_by(coded, {recall(coded, label): bound})
    whole = evaluate_subsets(problem.objective, every_subset(7))
    assert whole.feasible.any()
    assert not whole.feasible.all()
    chosen = evaluate_subsets(problem.objective, search.run(problem).chosen[None])
    assert chosen.feasible.all()
    assert chosen.values[0] >= whole.values[whole.best] - 1e-12
    if isinstance(search, ExhaustiveSearch):
        assert chosen.values[0] == pytest.approx(whole.values[whole.feasible].min(), abs=1e-12)


def test_the_bound_costs_something_and_without_it_the_choice_is_another(coded: CodedTable) -> None:
    free, bound = (ExhaustiveSearch().run(problem_by(coded, bounds)) for bounds in ({}, {recall(coded, 1): 0.79}))
    assert not np.array_equal(free.chosen, bound.chosen)


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
def test_a_bound_that_all_subsets_beat_changes_nothing(coded: CodedTable, search: Search) -> None:
    free, bound = (search.run(problem_by(coded, bounds, "brier")) for bounds in ({}, {recall(coded, 0): -0.1}))
    np.testing.assert_array_equal(free.chosen, bound.chosen)


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
def test_bounds_are_kept_on_the_rows_that_choose(coded: CodedTable, search: Search) -> None:
    problem = halves(coded, {recall(coded, 0): 0.7, recall(coded, 1): 0.7})
    assert problem.validation is not None
    whole = evaluate_subsets(problem.validation, every_subset(7))
    assert whole.feasible.any()
    assert not whole.feasible.all()
    trace = search.run(problem)
    chosen = evaluate_subsets(problem.validation, trace.chosen[None])
    nearest = min(point.violation for start in range(trace.n_starts) for point in trace.points(start))
    assert chosen.violations[0] == nearest
    assert chosen.feasible.all() == (nearest == 0.0)
    if isinstance(search, ExhaustiveSearch):
        assert chosen.values[0] == whole.values[whole.best]


def test_of_subsets_that_miss_the_bounds_the_nearest_is_chosen(coded: CodedTable) -> None:
    problem = problem_by(coded, {recall(coded, 0): 0.99, recall(coded, 1): 0.99})
    whole = evaluate_subsets(problem.objective, every_subset(7))
    assert not whole.feasible.any()
    short = sum(0.99 - measures for measures in whole.measures.values())
    clipped = sum(np.maximum(0.0, 0.99 - measures) for measures in whole.measures.values())
    np.testing.assert_allclose(whole.violations, clipped, atol=3e-12)
    assert not np.allclose(short, clipped)
    chosen = ExhaustiveSearch().run(problem).chosen
    assert evaluate_subsets(problem.objective, chosen[None]).violations[0] == clipped.min()


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
@pytest.mark.parametrize("measure", ["recall", "error"])
def test_a_measure_on_its_bound_misses_it(coded: CodedTable, search: Search, measure: str) -> None:
    name = recall(coded, 1) if measure == "recall" else measure
    criterion = "log_loss" if measure == "recall" else "auc"
    free = evaluate_subsets(problem_by(coded, {name: 0.0}, criterion).objective, every_subset(7))
    sign, measures = 1.0 if measure == "recall" else -1.0, free.measures[name]
    bound = sign * float(np.unique(sign * measures)[-2])
    problem = problem_by(coded, {name: bound}, criterion)
    bounded = evaluate_subsets(problem.objective, every_subset(7))
    assert set(bounded.violations[measures == bound].tolist()) == {1e-12}
    np.testing.assert_array_equal(bounded.feasible, sign * (measures - bound) > 0)
    assert bounded.feasible[bounded.best]
    chosen = evaluate_subsets(problem.objective, search.run(problem).chosen[None])
    if isinstance(search, (ExhaustiveSearch, MultiStart)):  # others may never meet one
        assert chosen.feasible.all()
    else:
        assert chosen.violations[0] < bounded.violations.max()


def test_a_subset_on_the_bound_loses_to_every_subset_beyond_it(coded: CodedTable) -> None:
    problem = problem_by(coded, {"error": 0.3})
    (constraint,) = problem.objective.constraints
    values = np.array([0.3, 0.3 - 1e-13, 0.3 + 1e-13, 0.3 - 1e-9, 0.4, np.nan])
    np.testing.assert_allclose(constraint.violation(values), [1e-12, 1e-12, 1e-12, 0.0, 0.1, np.inf], rtol=1e-9)
    assert Point(9.0, 7, 0.0).beats(Point(0.0, 1, 1e-12))
    assert not Point(0.0, 1, 1e-12).beats(Point(9.0, 7, 0.0))
    whole = evaluate_subsets(problem.objective, every_subset(7))
    bound = float(whole.measures["error"][whole.sizes == 1].min())
    state = problem_by(coded, {"error": bound}).state()
    features = np.arange(7)
    ranks = state.ranks(features, state.candidates(features))
    assert ranks.min() > state.cost + 100.0  # on the bound at best


def test_measures_of_which_low_is_good_have_upper_bounds(coded: CodedTable) -> None:
    objective = Objective.of(coded, "auc", 1.0, {"error": 0.3, Recall(np.asarray(coded.classes)[0].item()): 0.5})
    assert str(objective.constraints[0]) == "error < 0.3"
    whole = evaluate_subsets(objective, every_subset(7))
    below, above = whole.measures.values()
    np.testing.assert_array_equal(whole.feasible, (below < 0.3 - 1e-12) & (above > 0.5 + 1e-12))


def test_the_selector_warns_where_no_subset_keeps_the_bounds(coded: CodedTable) -> None:
    bounds = {recall(coded, 0): 0.99, recall(coded, 1): 0.99}
    for options in ({"direction": "forward"}, {"direction": "forward-backward"}, {"search": MultiStart(n_starts=3)}):
        selector = WrapperSelector(evaluation="train", constraints=bounds, smoothing=1.0, **options)
        with pytest.warns(UserWarning, match=r"No subset .* nearest one misses recall:\w+ > 0.99 \(got 0\.\d+\)"):
            selector.fit_coded(coded)
        assert selector.feasible_ is False
        trace = selector.trace_
        nearest = min(point.violation for start in range(trace.n_starts) for point in trace.points(start))
        missed = evaluate_subsets(problem_by(coded, bounds).objective, selector.support_[None]).violations[0]
        assert missed == pytest.approx(nearest, abs=1e-12)
        assert missed > 0.0


@pytest.mark.parametrize("evaluation", ["train", "holdout", "loo", 3])
@pytest.mark.filterwarnings("error")
def test_selectors_keep_bounds_wherever_they_measure(coded: CodedTable, evaluation: Any) -> None:
    selector = WrapperSelector(evaluation=evaluation, constraints={recall(coded, 1): 0.6}).fit_coded(coded)
    assert selector.support_.any()


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ({"recal:0": 0.5}, "'recal:0' must be one of"),
        ({"recall": 0.5}, "'recall' must be one of"),
        ({"recall:0": "high"}, "bound of 'recall:0' must be a finite number, got 'high'"),
        ({"recall:0": float("nan")}, "must be a finite number"),
        ({3: 0.5}, "3 must be one of"),
        ([("recall:0", 0.5)], "constraints must map measures to bounds"),
    ],
)
def test_constraints_are_checked_before_the_fit(constraints: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_constraints(constraints)
    with pytest.raises(ValueError, match=message):
        WrapperSelector(constraints=constraints, encoder=None).fit([[0], [1], [1]], [0, 1, 1])


def test_a_class_that_the_target_lacks_is_named(coded: CodedTable) -> None:
    with pytest.raises(ValueError, match="'recall:maybe' must be 'recall:' or 'precision:' and one of the classes"):
        make_constraints({"recall:maybe": 0.5}, coded)
