"""What every search promises: values that are real, bounds that are kept, early ends, the same for any threads."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bayesieve import WrapperSelector
from bayesieve.counts import CodedTable
from bayesieve.criteria import AUC, Error, Recall
from bayesieve.search import (
    BestFirst,
    ClusterSearch,
    ExhaustiveSearch,
    GreedySearch,
    MultiStart,
    Objective,
    RankedPath,
    ScoredRows,
    Search,
    SearchState,
    SearchTrace,
    SubsetProblem,
    evaluate_subsets,
    greedy,
)
from bayesieve.search.trace import Point
from tests.cases import mostly_slow
from tests.criteria.coded_tables import coded_table, slow_cost
from tests.limits import Limits, interrupted

SEARCHES: tuple[Any, ...] = (
    *map(GreedySearch, greedy.DIRECTIONS),
    GreedySearch("forward", tol=0.0, every_move=True),
    BestFirst(),
    MultiStart(n_starts=9, n_jobs=1),
    MultiStart(n_starts=9, n_jobs=2),
    ExhaustiveSearch(),
    ClusterSearch(),
    RankedPath(),
)
each = pytest.mark.parametrize("search", SEARCHES, ids=repr)
SUBSETS = np.array(list(itertools.product([False, True], repeat=7)))


@pytest.fixture(scope="module")
def coded() -> CodedTable:
    return coded_table(3, n_rows=160, n_features=7, n_classes=2, strength=0.5)


@pytest.fixture
def small_pieces(limits: Limits) -> None:
    """Searches look at the clock, and start threads, in small problems, too."""
    limits(moves_at_once=8, piece_work=320, pieces_at_once=2, quick_work=0, values_at_once=7)


def problem_by(coded: CodedTable, bounds: dict[Any, float], criterion: str = "log_loss") -> SubsetProblem:
    return SubsetProblem.on(Objective.of(coded, criterion, 1.0, bounds), coded)


def halves(coded: CodedTable, bounds: dict[Any, float]) -> SubsetProblem:
    fit, rest = coded.take(slice(0, None, 2)), coded.take(slice(1, None, 2))
    guide = Objective.of(fit, "error_probability", 1.0, bounds)
    validation = Objective(Error(), ScoredRows.training(rest, fit.counts, 1.0), guide.constraints)
    return SubsetProblem.on(guide, coded, validation=validation)


def problem_of(kind: str) -> SubsetProblem:
    weights = np.random.default_rng(0).integers(1, 7, 160) / 2 if kind == "weights" else None
    coded = coded_table(5, n_rows=160, n_features=8, n_classes=3, strength=0.4, weights=weights)  # not all are best
    if kind == "halves":
        return halves(coded, {"recall:1": 0.4})
    return SubsetProblem.of(coded) if kind in ("map", "weights") else problem_by(coded, {"recall:1": 0.4}, kind)


def models_of(trace: SearchTrace) -> Iterator[tuple[frozenset[int], float]]:
    """Every subset in a trace with its cost, followed move by move."""
    for number, start in enumerate(trace.starts):
        moves, current = trace.moves.at(trace.walk(number)), frozenset(start.features.tolist())
        yield current, start.criterion
        for feature, cost, accepted in zip(moves.feature.tolist(), moves.cost.tolist(), moves.accepted, strict=True):
            tried = current ^ {feature}
            yield tried, cost
            current = tried if accepted else current


def check_values(problem: SubsetProblem, trace: SearchTrace) -> None:
    """Everything recorded is what a fresh state finds for the same subset."""
    state = SearchState(problem)

    def now() -> tuple[float, float, float]:
        return problem.objective.sign * state.cost, *state.validate()

    for number, first in enumerate(trace.starts):
        selected = np.zeros(len(problem.names), dtype=bool)
        selected[first.features] = True
        state.reset(selected)
        assert now() == pytest.approx((first.criterion, first.validation, first.violation), abs=1e-9, nan_ok=True)
        moves = trace.moves.at(trace.walk(number))
        columns = (moves.feature, moves.adding, moves.cost, moves.accepted, moves.validation, moves.violation)
        for feature, adding, cost, accepted, validation, violation in zip(*columns, strict=True):
            assert state.selected[feature] != adding
            state.flip(int(feature))
            assert now()[0] == pytest.approx(cost, rel=1e-11, abs=1e-12)
            if accepted:
                assert now()[1:] == pytest.approx((validation, violation), abs=1e-9, nan_ok=True)
            else:
                state.flip(int(feature))
    costs = [cost for _, cost in models_of(trace)] + [trace.null_criterion]
    assert trace.best_criterion == (min(costs) if trace.lower_is_better else max(costs))
    chosen, best = [trace.best_on_path()], frozenset(np.flatnonzero(trace.best_subset()).tolist())
    if not (problem.validation or problem.objective.constraints):
        assert dict(models_of(trace))[best] == pytest.approx(trace.best_criterion, rel=1e-9, abs=1e-9)
        chosen.append(trace.best_subset())
    assert any(np.array_equal(trace.chosen, one) for one in chosen)


@each
@pytest.mark.parametrize(
    "kind", mostly_slow(["map", "weights", "halves", "log_loss", "auc"], ["weights", "halves", "auc"])
)
def test_a_trace_holds_the_values_of_its_subsets(search: Search, kind: str, small_pieces: None) -> None:
    problem = problem_of(kind)
    told: list[tuple[int, int, float]] = []
    trace = search.run(problem, lambda *now: told.append(now))
    check_values(problem, trace)
    assert trace.complete
    assert told
    assert all(done <= total for done, total, _ in told)
    if kind in ("map", "weights"):
        for subset, cost in dict(models_of(trace)).items():
            assert cost == pytest.approx(slow_cost(problem.learnt, subset), rel=1e-11, abs=1e-9)
    if isinstance(search, (MultiStart, ExhaustiveSearch, BestFirst, ClusterSearch)):
        empty = frozenset[int]()
        assert trace.n_models == len({*(subset for subset, _ in models_of(trace))} | {empty}) - (
            isinstance(search, ClusterSearch) and empty not in dict(models_of(trace))
        )
    if isinstance(search, ExhaustiveSearch):
        assert trace.n_models == 2**7  # the last feature has one level
    again = SearchTrace.from_json(json.loads(json.dumps(trace.to_json())), trace.names)
    assert again.to_frame().equals(trace.to_frame())
    np.testing.assert_array_equal(again.chosen, trace.chosen)
    assert again.to_json() == trace.to_json()


@each
@pytest.mark.parametrize(
    ("end", "kind"),
    mostly_slow(
        itertools.product(["time", "progress", "Ctrl-C"], ["map", "weights", "halves"]),
        [("time", "map"), ("progress", "halves"), ("Ctrl-C", "weights")],
    ),
)
def test_an_early_end_keeps_the_best_so_far(search: Any, end: str, kind: str, small_pieces: None) -> None:
    problem = problem_of(kind)

    def stop(*_: Any) -> bool:
        if end == "Ctrl-C":
            raise KeyboardInterrupt
        return True

    whole = search.run(problem)
    trace = replace(search, max_seconds=0.0).run(problem) if end == "time" else search.run(problem, stop)
    assert not trace.complete
    check_values(problem, trace)
    if getattr(search, "direction", "") != "fast":  # it tells of one start, at its end
        assert 1 <= trace.n_models < whole.n_models
    if trace.moves.cost.size and end != "time":
        np.testing.assert_array_equal(trace.moves.cost, whole.moves.cost[: trace.moves.cost.size])
    ample = replace(search, max_seconds=1000.0).run(problem)
    assert ample.to_frame().drop("seconds").equals(whole.to_frame().drop("seconds"))


@each
@pytest.mark.parametrize("at", [0, 1, 6, 40])
def test_ctrl_c_in_a_scan(search: Search, at: int, small_pieces: None, limits: Limits) -> None:
    # One candidate at a time: many places to be interrupted.
    limits(ahead_work=1)
    problem = problem_of("weights")
    with interrupted(SearchState, "candidates", at) as calls:
        trace = search.run(problem)
    assert trace.complete == (len(calls) <= at)
    check_values(problem, trace)


@each
def test_other_errors_come_through(search: Search, small_pieces: None) -> None:
    problem, error = problem_of("weights"), MemoryError("no room")
    with ExitStack() as stack:
        for owner, method in ((SearchState, "candidates"), (SearchState, "flip"), (Objective, "of_subsets")):
            stack.enter_context(interrupted(owner, method, error=error))
        stack.enter_context(pytest.raises(MemoryError, match="no room"))
        search.run(problem)


@each
@pytest.mark.parametrize("kind", mostly_slow(["log_loss", "auc", "halves"], ["auc", "halves"]))
def test_neither_threads_nor_rows_left_out_change_anything(
    search: Any, kind: str, small_pieces: None, limits: Limits
) -> None:
    problem = problem_of(kind)
    alone = {"leave_out": False} if isinstance(search, GreedySearch) else {}
    plain = replace(search, n_jobs=1, **alone).run(problem)
    limits(parallel_work=1, candidates_at_once=2, scanned_codes=0, parallel_values=0)
    threads = replace(search, n_jobs=3).run(problem)
    left, right = (trace.to_frame(evaluated=True).drop("seconds") for trace in (plain, threads))
    assert left.drop("criterion").equals(right.drop("criterion"))
    np.testing.assert_allclose(left["criterion"], right["criterion"], rtol=0, atol=1e-13)
    np.testing.assert_array_equal(plain.chosen, threads.chosen)


@each
@pytest.mark.parametrize("weights", [None, np.full(60, 0.5)])
def test_nothing_to_choose_from(search: Search, weights: Any) -> None:
    coded = coded_table(1, n_features=3, weights=weights)
    coded.codes[:], coded.n_levels[:] = 0, 1
    trace = search.run(SubsetProblem.of(coded))
    assert (trace.n_models, trace.complete, trace.chosen.sum()) == (1, True, 0)
    assert trace.best_criterion == trace.null_criterion == pytest.approx(slow_cost(coded, ()))
    assert trace.to_frame()["move"].unique().to_list() == ["start"]


@each
def test_a_measure_that_lacks_its_class(search: Search) -> None:
    coded = coded_table(1, n_classes=2)
    coded.class_codes[:] = 0
    recall = Recall("yes")
    recall.check(np.array(["no", "yes"]))
    for criterion in (AUC(), recall):
        with pytest.raises(ValueError, match=f"'{criterion.name}' cannot be measured on these rows"):
            search.run(SubsetProblem.of(coded, 1.0, criterion))


@each
@pytest.mark.parametrize(
    ("label", "bound"), mostly_slow([(0, 0.3), (0, 0.75), (1, 0.6), (1, 0.79)], [(0, 0.75), (1, 0.6)])
)
def test_the_subset_chosen_keeps_the_bound(coded: CodedTable, search: Search, label: int, bound: float) -> None:
    problem = problem_by(coded, {f"recall:{label}": bound})
    whole = evaluate_subsets(problem.objective, SUBSETS)
    assert whole.feasible.any()
    assert not whole.feasible.all()
    chosen = evaluate_subsets(problem.objective, search.run(problem).chosen[None])
    assert chosen.feasible.all() or isinstance(search, ClusterSearch)  # it draws few
    assert not chosen.feasible.all() or chosen.values[0] >= whole.values[whole.best] - 1e-12
    if isinstance(search, ExhaustiveSearch):
        assert chosen.values[0] == pytest.approx(whole.values[whole.feasible].min(), abs=1e-12)
        assert not (label == 1 and bound > 0.7 and chosen.values[0] == whole.values.min())  # it costs something


@each
def test_a_bound_that_all_subsets_beat_changes_nothing(coded: CodedTable, search: Search) -> None:
    free, bound = (search.run(problem_by(coded, bounds, "brier")) for bounds in ({}, {"recall:0": -0.1}))
    np.testing.assert_array_equal(free.chosen, bound.chosen)


@each
@pytest.mark.parametrize(
    ("bounds", "others_choose"),
    mostly_slow(itertools.product([0.7, 0.99], [True, False]), [(0.7, True), (0.99, False)]),
)
def test_of_subsets_that_miss_the_bounds_the_nearest_is_chosen(
    coded: CodedTable, search: Search, bounds: float, others_choose: bool
) -> None:
    both = {"recall:0": bounds, "recall:1": bounds}
    problem = halves(coded, both) if others_choose else problem_by(coded, both)
    judge = problem.validation or problem.objective
    whole = evaluate_subsets(judge, SUBSETS)
    clipped = sum(np.maximum(0.0, bounds - measures) for measures in whole.measures.values())
    np.testing.assert_allclose(whole.violations, clipped, atol=3e-12)
    assert whole.feasible.any() == (bounds == 0.7)
    trace = search.run(problem)
    chosen = evaluate_subsets(judge, trace.chosen[None])
    nearest = min(point.violation for start in range(trace.n_starts) for point in trace.points(start))
    assert chosen.violations[0] == pytest.approx(nearest, abs=1e-12)
    assert chosen.feasible.all() == (nearest == 0.0)
    if isinstance(search, ExhaustiveSearch):
        assert chosen.violations[0] == whole.violations.min()
        assert chosen.values[0] == whole.values[whole.best]


@each
@pytest.mark.parametrize("measure", mostly_slow(["recall:1", "error"], ["error"]))
def test_a_measure_on_its_bound_misses_it(coded: CodedTable, search: Search, measure: str) -> None:
    criterion, sign = ("auc", -1.0) if measure == "error" else ("log_loss", 1.0)
    measures = evaluate_subsets(problem_by(coded, {measure: 0.0}, criterion).objective, SUBSETS).measures[measure]
    bound = sign * float(np.unique(sign * measures)[-2])
    problem = problem_by(coded, {measure: bound}, criterion)
    bounded = evaluate_subsets(problem.objective, SUBSETS)
    assert set(bounded.violations[measures == bound].tolist()) == {1e-12}
    np.testing.assert_array_equal(bounded.feasible, sign * (measures - bound) > 0)
    assert bounded.feasible[bounded.best]
    chosen = evaluate_subsets(problem.objective, search.run(problem).chosen[None])
    if isinstance(search, (ExhaustiveSearch, MultiStart)):  # others may never meet one
        assert chosen.feasible.all()
    else:
        assert chosen.violations[0] < bounded.violations.max()


def test_a_subset_on_the_bound_loses_to_every_subset_beyond_it(coded: CodedTable) -> None:
    problem = problem_by(coded, {"error": 0.3, Recall(0): 0.5}, "auc")
    constraint = problem.objective.constraints[0]
    assert str(constraint) == "error < 0.3"
    values = np.array([0.3, 0.3 - 1e-13, 0.3 + 1e-13, 0.3 - 1e-9, 0.4, np.nan])
    np.testing.assert_allclose(constraint.violation(values), [1e-12, 1e-12, 1e-12, 0.0, 0.1, np.inf], rtol=1e-9)
    assert Point(9.0, 7, 0.0).beats(Point(0.0, 1, 1e-12))
    assert not Point(0.0, 1, 1e-12).beats(Point(9.0, 7, 0.0))
    whole = evaluate_subsets(problem.objective, SUBSETS)
    below, above = whole.measures.values()
    np.testing.assert_array_equal(whole.feasible, (below < 0.3 - 1e-12) & (above > 0.5 + 1e-12))
    state = problem_by(coded, {"error": float(below[whole.sizes == 1].min())}).state()
    features = np.arange(7)
    ranks = state.ranks(features, state.candidates(features))
    assert ranks.min() > state.cost + 100.0  # on the bound at best
    kept = problem_by(coded, {"error": 1.1}).state()
    costs = kept.candidates(features)
    np.testing.assert_array_equal(kept.ranks(features, costs), costs)


@pytest.mark.parametrize("search", [*SEARCHES[:5], MultiStart(n_starts=3)], ids=repr)
def test_the_selector_warns_if_no_subset_keeps_the_bounds(coded: CodedTable, search: Search) -> None:
    bounds = {"recall:0": 0.99, "recall:1": 0.99}
    selector = WrapperSelector(evaluation="train", constraints=bounds, smoothing=1.0, search=search)
    with pytest.warns(
        UserWarning, match=r"No evaluated subset .* nearest one violates recall:\w+ > 0.99 \(got 0\.\d+\)"
    ):
        selector.fit_coded(coded)
    assert selector.feasible_ is False


@each
@pytest.mark.parametrize("evaluation", ["train", "holdout", "loo", 3])
@pytest.mark.filterwarnings("error")
def test_selectors_take_searches_and_bounds_on_any_rows(coded: CodedTable, search: Search, evaluation: Any) -> None:
    selector = WrapperSelector(search=search, evaluation=evaluation, constraints={"recall:1": 0.3}).fit_coded(coded)
    np.testing.assert_array_equal(selector.support_, selector.trace_.chosen)
    assert selector.support_.any()


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ({"recal:0": 0.5}, "recal:0"),
        ({"recall": 0.5}, "'recall'"),
        ({"recall:0": "high"}, "recall:0"),
        ({"recall:0": float("nan")}, "finite"),
        ({3: 0.5}, "3 must be one of"),
        ([("recall:0", 0.5)], "map"),
        ({"recall:maybe": 0.5}, "'recall:maybe' .* classes 0, 1"),
    ],
)
def test_constraints_that_cannot_be_used(constraints: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WrapperSelector(constraints=constraints, encoder=None).fit([[0], [1], [1]], [0, 1, 1])
