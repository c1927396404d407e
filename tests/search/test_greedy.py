"""Greedy and best-first searches: what they record, how they end, and how they go on."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from operator import itemgetter

import numpy as np
import pytest

from bayesieve import CFSSelector, WrapperSelector
from bayesieve.counts import CodedTable
from bayesieve.criteria import Brier, Error, ErrorProbability, LogLoss, MAPCost, base, scored_rows
from bayesieve.search import (
    BestFirst,
    GreedySearch,
    Objective,
    ScoredRows,
    SearchState,
    SearchTrace,
    SubsetProblem,
)
from tests.criteria.coded_tables import coded_table, slow_cost
from tests.limits import Watch
from tests.search.test_contract import models_of


def problem_of(coded: CodedTable, criterion: object = None, *, halves: bool = False) -> SubsetProblem:
    criterion = ErrorProbability() if criterion is None else criterion
    if not halves:
        return SubsetProblem.of(coded, 1.0, criterion)
    fit, rest = coded.take(slice(0, None, 2)), coded.take(slice(1, None, 2))
    counts = fit.counts
    return SubsetProblem.on(
        Objective(criterion, ScoredRows.training(fit, counts, 1.0)),
        coded,
        validation=Objective(Error(), ScoredRows.training(rest, counts, 1.0)),
    )


@pytest.fixture
def coded() -> CodedTable:
    return coded_table(11, n_rows=240, n_features=9, n_classes=3, strength=0.9)


def frames_equal(one: SearchTrace, other: SearchTrace) -> None:
    left, right = one.to_frame().drop("seconds"), other.to_frame().drop("seconds")
    assert left.equals(right)


@pytest.mark.parametrize("direction", ["backward-forward", "forward-backward"])
def test_phases_take_turns_until_one_finds_nothing_better(coded: CodedTable, direction: str) -> None:
    trace = GreedySearch(direction).run(problem_of(coded, halves=True))
    best = None
    assert trace.n_starts > 1  # the first phase finds something
    for start in range(trace.n_starts):
        moves = trace.walk_moves(start)
        assert np.all(moves.adding == (start % 2 == (direction == "backward-forward")))
        points = trace.points(start)
        found = points[0]
        for point in points[1:]:
            found = point if point.beats(found) else found
        if best is not None:
            # A phase starts from the best subset so far; only the last one finds no better.
            assert (points[0].value, points[0].size) == (best.value, best.size)
            assert found.beats(best) == (start < trace.n_starts - 1)
        best = found if best is None or found.beats(best) else best


@pytest.mark.parametrize("until_best", [True, False])
def test_a_forward_search_ends_at_the_best_value_there_can_be(until_best: bool) -> None:
    codes = np.array([[0, 1] * 20, [0] * 20 + [1] * 20, [0, 0, 1, 1] * 10], dtype=np.uint8)
    coded = CodedTable(codes, np.full(3, 2), ("a", "b", "c"), class_codes=codes[1], classes=np.arange(2))
    search = GreedySearch("forward", until_best=until_best)
    moves = search.run(SubsetProblem.of(coded, 1.0, Error())).walk_moves(0)
    assert moves.feature.tolist()[0] == 1
    assert moves.feature.size == (1 if until_best else 3)


def test_moves_that_lead_to_the_same_subset_are_one_model(coded: CodedTable) -> None:
    trace = GreedySearch("forward-backward", every_move=True).run(problem_of(coded, halves=True))
    subsets = [subset for subset, _ in models_of(trace)]
    assert trace.n_models == len({*subsets}) < len(subsets)


@pytest.mark.parametrize("direction", ["forward", "backward", "forward-backward", "backward-forward", "fast"])
def test_asked_number_of_features(coded: CodedTable, direction: str) -> None:
    trace = GreedySearch(direction, n_features=3).run(problem_of(coded))
    chosen = trace.chosen
    if direction in ("forward", "backward"):
        assert chosen.sum() == 3
        moves = trace.walk_moves(0)
        assert moves.feature.size == (3 if direction == "forward" else 8 - 3)  # the ninth feature has one level
    else:
        assert 1 <= chosen.sum() <= 3


def test_tolerance_ends_a_phase(coded: CodedTable) -> None:
    problem = problem_of(coded, MAPCost(coded.n_features))
    whole = GreedySearch("forward").run(problem)
    costs = np.concatenate([[whole.null_criterion], whole.walk_moves(0).cost])
    gains = -np.diff(costs)
    tol = float(np.sort(gains)[-2])  # only one addition is worth more
    short = GreedySearch("forward", tol=tol).run(problem)
    chosen = short.chosen
    expected = int(np.argmax(gains <= tol))
    assert short.walk_moves(0).feature.size == expected == chosen.sum()
    none = GreedySearch("forward", tol=1e9).run(problem)
    kept = none.chosen
    assert (none.walk_moves(0).feature.size, kept.sum()) == (0, 0)
    back = GreedySearch("backward", tol=1e9).run(problem)
    assert back.walk_moves(0).feature.size == problem.candidates.size


@pytest.mark.parametrize("direction", ["forward", "backward", "forward-backward", "backward-forward"])
@pytest.mark.parametrize("moves", [0, 1, 5, 11])
def test_a_stopped_search_goes_on_where_it_was(coded: CodedTable, direction: str, moves: int) -> None:
    problem = problem_of(coded, halves=True)
    whole = GreedySearch(direction).run(problem)
    chosen = whole.chosen
    count = iter(range(10**6))

    def stop(done: int, total: int, best: float) -> bool:
        return next(count) >= moves - 1

    part = GreedySearch(direction, max_seconds=0.0 if moves == 0 else None).run(problem, stop)
    made = sum(part.walk_moves(start).feature.size for start in range(part.n_starts))
    assert made == min(moves, whole.to_frame().filter(whole.to_frame()["move"] != "start").height)
    written = SearchTrace.from_json(json.loads(json.dumps(part.to_json())), coded.names)
    scanned = []
    resumed = GreedySearch(direction, resume=written).run(problem, lambda *told: scanned.append(told))
    same = resumed.chosen
    frames_equal(resumed, whole)
    np.testing.assert_array_equal(chosen, same)
    assert resumed.n_models == whole.n_models
    assert resumed.complete


def test_resuming_scans_only_what_is_new(coded: CodedTable, watch: Watch) -> None:
    problem = problem_of(coded)
    part = GreedySearch("forward", n_features=5).run(problem)
    calls: list[object] = []
    watch(SearchState, "candidates", lambda *arguments: calls.append(arguments))
    GreedySearch("forward", resume=part).run(problem)
    assert len(calls) == problem.candidates.size - 5


def test_a_trace_of_something_else_is_refused(coded: CodedTable) -> None:
    trace = GreedySearch("forward").run(problem_of(coded))
    other = coded_table(12, n_rows=240, n_features=9, n_classes=3)
    with pytest.raises(ValueError, match="resume: the trace is of another search"):
        GreedySearch("forward", resume=trace).run(problem_of(other))
    with pytest.raises(ValueError, match="resume: the trace is of another search"):
        GreedySearch("backward", resume=trace).run(problem_of(coded))
    with pytest.raises(ValueError, match="resume: the trace is of a table with other features"):
        GreedySearch("forward", resume=trace).run(replace(problem_of(coded), names=tuple("abcdefghi")))


def test_ties_go_to_the_lowest_column_or_the_highest() -> None:
    base = coded_table(3, n_rows=80, n_features=4)
    twins = CodedTable(base.codes[[0, 1, 1, 0]], np.full(4, 3), tuple("abcd"), base.class_codes, base.classes)
    problem = SubsetProblem.of(twins, 1.0, ErrorProbability())
    for direction, last in product(["forward", "backward"], [False, True]):
        order = GreedySearch(direction, last_of_ties=last).run(problem).walk_moves(0).feature.tolist()
        assert (order.index(0) > order.index(3)) == (order.index(1) > order.index(2)) == last


def test_a_feature_of_one_level_may_be_a_candidate() -> None:
    coded = coded_table(1, n_features=1)
    coded.codes[:], coded.n_levels[:] = 0, 1
    trace = GreedySearch("forward").run(replace(problem_of(coded), candidates=np.arange(1)))
    assert (trace.chosen.sum(), trace.walk_moves(0).feature.tolist()) == (0, [0])  # added, but no better


@pytest.mark.parametrize("criterion", [LogLoss(), Error(), ErrorProbability(), Brier()])
def test_work_cut_into_parts_for_many_classes_is_the_same(monkeypatch: pytest.MonkeyPatch, criterion: object) -> None:
    coded = coded_table(5, n_rows=200, n_features=6, n_classes=4, strength=0.9)
    whole = GreedySearch("forward-backward").run(problem_of(coded, criterion))
    for module_of, name, value in (
        *((module, "VERY_MANY_CLASSES", 2) for module in (scored_rows, base)),
        (scored_rows, "_MAX_RATIOS", 100),
        *((scored_rows, "_PIECE", 7), (scored_rows, "_PRECOMPUTED_BYTES", -1)),
    ):
        monkeypatch.setattr(module_of, name, value)
    assert len(list(scored_rows._divide_segments(np.arange(5) * 50, 3))) == 4
    parts = GreedySearch("forward-backward").run(problem_of(coded, criterion))
    left, right = whole.to_frame(), parts.to_frame()
    assert left.drop("seconds", "criterion").equals(right.drop("seconds", "criterion"))
    np.testing.assert_allclose(left["criterion"], right["criterion"], rtol=1e-12)


def test_tables_of_many_classes_and_levels_are_refused_before_they_fill_the_memory(coded: CodedTable) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scored_rows, "_PRECOMPUTED_BYTES", -1)  # larger tables are not stored
        patch.setattr(scored_rows, "_MAX_GIBIBYTES", 1e-9)
        with pytest.raises(ValueError, match=r"levels, which need .* GiB of tables for 3 classes; merge rare classes"):
            problem_of(coded)


def slow_best_first(coded: CodedTable, n_waiting: int, n_stale: int) -> tuple[frozenset[int], int]:
    """The best subset and the number of extensions, as the documentation says, with costs computed from scratch."""
    best = frozenset[int]()
    lowest, stale, n_extended, waiting = slow_cost(coded, best), 0, 0, [(slow_cost(coded, best), best)]
    while stale < n_stale and waiting:
        subset, n_extended, before = waiting.pop(0)[1], n_extended + 1, lowest
        for larger in (subset | {k} for k in range(coded.n_features - 1) if k not in subset):  # the last has one level
            value = slow_cost(coded, larger)
            best, lowest = (larger, value) if value < lowest - 1e-5 else (best, lowest)
            waiting = sorted([*waiting, (value, larger)], key=itemgetter(0))[:n_waiting]
        stale = 0 if lowest < before else stale + 1
    return best, n_extended


@pytest.mark.parametrize("seed", range(6))
def test_best_first_finds_the_subset_of_a_slow_search(seed: int) -> None:
    coded = coded_table(seed, n_rows=90, n_features=8, strength=0.8)
    for n_waiting, n_stale in ((1, 1), (2, 4), (4, 3)):
        trace = BestFirst(n_waiting=n_waiting, n_stale=n_stale).run(SubsetProblem.of(coded))
        best, n_extended = slow_best_first(coded, n_waiting, n_stale)
        assert (set(np.flatnonzero(trace.chosen).tolist()), trace.n_starts) == (best, n_extended)


def test_a_search_object_is_the_search_that_it_stands_for() -> None:
    coded = coded_table(2, n_rows=120, n_features=8, n_classes=2, strength=0.8)
    named = WrapperSelector(direction="forward", tol=0.0).fit_coded(coded)
    given = WrapperSelector(search=GreedySearch("forward", tol=0.0)).fit_coded(coded)
    assert given.trace_.to_frame().drop("seconds").equals(named.trace_.to_frame().drop("seconds"))
    assert CFSSelector("best-first").fit_coded(coded).merit_ == CFSSelector(BestFirst()).fit_coded(coded).merit_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.1}, "tol has no effect if search is given"),
        ({"direction": "fast"}, "direction has no effect if search is given"),
        ({"n_features_to_select": 2}, "n_features_to_select has no effect if search is given"),
        ({"search": "forward"}, "search must be a search object such as BestFirst"),
    ],
)
def test_options_that_belong_to_the_search_object(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WrapperSelector(**{"search": BestFirst(), **options}, encoder=None).fit([[0], [1], [1]], [0, 1, 1])
