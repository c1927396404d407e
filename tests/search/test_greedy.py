"""Greedy and best-first searches: what they record, how they end, and how they go on."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from bayesieve import CFSSelector, WrapperSelector
from bayesieve.counts import CodedTable
from bayesieve.criteria import AUC, Brier, Error, ErrorProbability, LogLoss, MAPCost, Recall, class_block, ratio_tables
from bayesieve.search import (
    BestFirst,
    GreedySearch,
    MultiStart,
    Objective,
    ScoredRows,
    SearchState,
    SearchTrace,
    SubsetProblem,
    greedy as module,
    objective,
    scored_rows,
)
from tests.criteria.coded_tables import coded_table, slow_cost


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


@pytest.mark.parametrize("direction", ["forward", "backward", "forward-backward", "backward-forward"])
@pytest.mark.parametrize("halves", [False, True])
def test_every_recorded_value_is_that_of_its_subset(coded: CodedTable, direction: str, halves: bool) -> None:
    problem = problem_of(coded, halves=halves)
    trace = GreedySearch(direction).run(problem)
    chosen = trace.chosen
    state = SearchState(problem)
    for start in range(trace.n_starts):
        selected = np.zeros(coded.n_features, dtype=bool)
        selected[trace.starts[start].features] = True
        state.reset(selected)
        assert state.cost == pytest.approx(trace.starts[start].criterion, abs=1e-13)
        moves = trace.walk_moves(start)
        for feature, adding, cost, validation in zip(
            moves.feature, moves.adding, moves.cost, moves.validation, strict=True
        ):
            assert state.selected[feature] != adding
            state.flip(int(feature))
            assert state.cost == pytest.approx(cost, abs=1e-13)
            if halves:
                assert state.validation() == pytest.approx(validation, abs=1e-13)
            else:
                assert np.isnan(validation)
    np.testing.assert_array_equal(trace.best_on_path(), chosen)
    assert trace.complete


def test_phases_take_turns_until_one_finds_nothing_better(coded: CodedTable) -> None:
    trace = GreedySearch("backward-forward").run(problem_of(coded, halves=True))
    best = None
    for start in range(trace.n_starts):
        moves = trace.walk_moves(start)
        assert np.all(moves.adding == (start % 2 == 1))  # backward first
        points = trace.points(start)
        found = points[0]
        for point in points[1:]:
            found = point if point.beats(found) else found
        if best is not None:
            # A phase starts from the best subset so far; only the last one finds no better.
            assert (points[0].value, points[0].size) == (best.value, best.size)
            assert found.beats(best) == (start < trace.n_starts - 1)
        best = found if best is None or found.beats(best) else best


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


@pytest.mark.parametrize("direction", ["forward", "backward-forward", "fast"])
@pytest.mark.parametrize("criterion", [Error(), LogLoss(), AUC()])
def test_neither_threads_nor_rows_left_out_change_anything(
    coded: CodedTable, direction: str, criterion: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = problem_of(coded, criterion)
    plain = GreedySearch(direction, n_jobs=1, leave_out=False).run(problem)
    chosen = plain.chosen
    monkeypatch.setattr("bayesieve.search.objective._PARALLEL_WORK", 1)
    monkeypatch.setattr("bayesieve.search.objective._CANDIDATES_AT_ONCE", 2)
    monkeypatch.setattr("bayesieve.criteria.row_ratios._SCANNED_CODES", 0)
    threads = GreedySearch(direction, n_jobs=3).run(problem)
    same = threads.chosen
    assert plain.to_frame()["feature"].to_list() == threads.to_frame()["feature"].to_list()
    np.testing.assert_allclose(plain.to_frame()["criterion"], threads.to_frame()["criterion"], rtol=0, atol=1e-13)
    np.testing.assert_array_equal(chosen, same)


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


def test_resuming_scans_only_what_is_new(coded: CodedTable, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(coded)
    part = GreedySearch("forward", n_features=5).run(problem)
    calls = []
    scan = SearchState.candidates
    monkeypatch.setattr(SearchState, "candidates", lambda *a: calls.append(1) or scan(*a))
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


@pytest.mark.parametrize("at", [1, 4, 8])
def test_an_interrupt_keeps_the_best_so_far(coded: CodedTable, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of(coded)
    calls = iter(range(1, 10**6))
    scan = SearchState.candidates

    def interrupted(state: SearchState, features: np.ndarray) -> np.ndarray:
        if next(calls) == at:
            raise KeyboardInterrupt
        return scan(state, features)

    monkeypatch.setattr(SearchState, "candidates", interrupted)
    trace = GreedySearch("backward-forward").run(problem)
    chosen = trace.chosen
    assert not trace.complete
    np.testing.assert_array_equal(chosen, trace.best_on_path())


def test_ties_go_to_the_lowest_column() -> None:
    base = coded_table(3, n_rows=80, n_features=4)
    codes = base.codes[[0, 1, 1, 0]]
    twins = CodedTable(
        codes=codes,
        n_levels=np.full(4, 3),
        names=tuple("abcd"),
        class_codes=base.class_codes,
        classes=base.classes,
    )
    problem = SubsetProblem.of(twins, 1.0, ErrorProbability())
    forward = GreedySearch("forward").run(problem)
    order = forward.walk_moves(0).feature.tolist()
    assert order.index(0) < order.index(3)
    assert order.index(1) < order.index(2)
    backward = GreedySearch("backward").run(problem)
    order = backward.walk_moves(0).feature.tolist()
    assert order.index(0) < order.index(3)
    assert order.index(1) < order.index(2)


def test_nothing_to_choose_from() -> None:
    coded = coded_table(1, n_features=1)
    coded.codes[:], coded.n_levels[:] = 0, 1
    for direction in module.DIRECTIONS:
        trace = GreedySearch(direction).run(problem_of(coded))
        chosen = trace.chosen
        assert not chosen.any()
        assert trace.to_frame()["move"].unique().to_list() == ["start"]
    trace = GreedySearch("forward").run(SubsetProblem.of(coded, 1.0, Error(), every_feature=True))
    chosen = trace.chosen
    assert (chosen.sum(), trace.walk_moves(0).feature.tolist()) == (0, [0])  # added, but no better


@pytest.mark.parametrize("direction", ["forward", "backward", "fast"])
def test_one_class_has_no_auc(direction: str) -> None:
    coded = coded_table(1, n_classes=2)
    coded.class_codes[:] = 0
    with pytest.raises(ValueError, match="'auc' cannot be measured on these rows"):
        GreedySearch(direction).run(SubsetProblem.of(coded, 1.0, AUC()))
    recall = Recall("yes")
    recall.check(np.array(["no", "yes"]))
    with pytest.raises(ValueError, match="'recall' cannot be measured on these rows: they lack a class"):
        GreedySearch(direction).run(SubsetProblem.of(coded, 1.0, recall))


@pytest.mark.parametrize("criterion", [LogLoss(), Error(), ErrorProbability(), Brier()])
def test_work_cut_into_parts_for_many_classes_is_the_same(monkeypatch: pytest.MonkeyPatch, criterion: object) -> None:
    coded = coded_table(5, n_rows=200, n_features=6, n_classes=4, strength=0.9)
    whole = GreedySearch("forward-backward").run(problem_of(coded, criterion))
    for module_of, name, value in (
        *((class_block, "MANY_CLASSES", 2), (objective, "MANY_CLASSES", 2), (class_block, "_MOST_RATIOS", 100)),
        *((ratio_tables, "_PIECE", 7), (scored_rows, "keeps", lambda *_: False), (ratio_tables, "keeps", lambda *_: 0)),
    ):
        monkeypatch.setattr(module_of, name, value)
    assert len(list(class_block._short_parts(np.arange(5) * 50, 3))) == 4
    parts = GreedySearch("forward-backward").run(problem_of(coded, criterion))
    left, right = whole.to_frame(), parts.to_frame()
    assert left.drop("seconds", "criterion").equals(right.drop("seconds", "criterion"))
    np.testing.assert_allclose(left["criterion"], right["criterion"], rtol=1e-12)


def test_tables_of_many_classes_and_levels_are_refused_before_they_fill_the_memory(coded: CodedTable) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scored_rows, "_MOST_GIBIBYTES", 1e-9)
        with pytest.raises(ValueError, match=r"levels and 3 classes take tables of .* GiB; join rare classes"):
            problem_of(coded)


def slow_search(coded: object, n_features: int, n_waiting: int, n_stale: int) -> tuple[list[int], float]:
    """As the documentation says, with costs that are computed from scratch."""

    def cost(subset: frozenset[int]) -> float:
        return float(slow_cost(coded, sorted(subset)))  # type: ignore[arg-type]

    best = frozenset[int]()
    lowest, stale, waiting = cost(best), 0, [(cost(best), best)]
    while stale < n_stale and waiting:
        subset = waiting.pop(0)[1]
        better = False
        for larger in [subset | {k} for k in range(n_features) if k not in subset]:
            value = cost(larger)
            if value < lowest - 1e-5:
                best, lowest, better = larger, value, True
            waiting = sorted([*waiting, (value, larger)], key=lambda pair: pair[0])[:n_waiting]
        stale = 0 if better else stale + 1
    return sorted(best), lowest


@pytest.mark.parametrize("seed", range(4))
def test_the_subset_of_a_slow_search(seed: int) -> None:
    coded = coded_table(seed, n_rows=90, n_features=8, strength=0.8)
    trace = BestFirst(n_waiting=4, n_stale=3).run(SubsetProblem.of(coded))
    chosen, lowest = slow_search(coded, 8, 4, 3)
    assert np.flatnonzero(trace.chosen).tolist() == chosen
    assert trace.best_criterion == pytest.approx(lowest, abs=1e-9)
    np.testing.assert_array_equal(trace.best_subset(), trace.chosen)
    assert trace.complete


def test_it_goes_on_where_a_forward_search_of_improvements_ends() -> None:
    gains = []
    for seed in range(12):
        problem = SubsetProblem.of(coded_table(seed, n_rows=90, n_features=8, strength=0.8))
        best, forward = BestFirst().run(problem), GreedySearch("forward", tol=0.0).run(problem)
        gains.append(forward.best_criterion - best.best_criterion)
    assert min(gains) > -1e-4


def test_time_and_callers_end_it_early() -> None:
    problem = SubsetProblem.of(coded_table(1, n_rows=90, n_features=8))
    assert BestFirst(max_seconds=0.0).run(problem).chosen.sum() == 0
    part = BestFirst().run(problem, lambda *_: True)
    assert not part.complete
    assert part.n_starts == 1


def test_selectors_take_search_objects() -> None:
    coded = coded_table(2, n_rows=120, n_features=8, n_classes=2, strength=0.8)
    named = WrapperSelector(direction="forward", tol=0.0).fit_coded(coded)
    given = WrapperSelector(search=GreedySearch("forward", tol=0.0)).fit_coded(coded)
    assert given.trace_.to_frame().drop("seconds").equals(named.trace_.to_frame().drop("seconds"))
    np.testing.assert_array_equal(given.support_, named.support_)
    for search in (BestFirst(), MultiStart(2)):
        for evaluation in ("train", "holdout", "loo"):
            selector = WrapperSelector(search=search, evaluation=evaluation).fit_coded(coded)
            np.testing.assert_array_equal(selector.support_, selector.trace_.chosen)
    forward, same = CFSSelector("best-first").fit_coded(coded), CFSSelector(BestFirst()).fit_coded(coded)
    assert forward.merit_ == same.merit_


def test_the_best_area_is_found_where_high_is_good() -> None:
    coded = coded_table(2, n_rows=120, n_features=8, n_classes=2, strength=0.8)
    for search in (BestFirst(), MultiStart(2)):
        trace = WrapperSelector("auc", search=search, evaluation="train").fit_coded(coded).trace_
        assert trace.best_criterion > trace.null_criterion
        assert trace.to_frame(evaluated=True)["criterion"].max() == trace.best_criterion


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.1}, "tol is an option of the search object"),
        ({"direction": "fast"}, "direction is an option of the search object"),
        ({"n_features_to_select": 2}, "n_features_to_select is an option of the search object"),
        ({"search": "forward"}, "search must be a search such as BestFirst"),
    ],
)
def test_options_that_belong_to_the_search_object(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WrapperSelector(**{"search": BestFirst(), **options}, encoder=None).fit([[0], [1], [1]], [0, 1, 1])
