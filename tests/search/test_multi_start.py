"""MS(FFWBW): what is found, by how many threads, and when it is cut short."""

from __future__ import annotations

import itertools
import math
import threading
from typing import Any

import numpy as np
import pytest

from bayesieve.counts import CodedTable
from bayesieve.engine import Engine
from bayesieve.search import ExhaustiveSearch, MultiStart, SearchState, SearchTrace, SubsetProblem, multi_start
from tests.criteria.coded_tables import coded_table, slow_cost
from tests.search.test_trace import models_of


def problem_of(coded: CodedTable) -> SubsetProblem:
    return SubsetProblem.of(coded)


WIDE = coded_table(11, n_rows=150, n_features=30, n_classes=3, strength=0.9)


def records(trace: SearchTrace) -> list[tuple[Any, ...]]:
    """Everything recorded but the seconds."""
    return trace.to_frame(evaluated=True).drop("seconds").rows()


def check_valid(trace: SearchTrace, coded: CodedTable) -> None:
    best = np.flatnonzero(trace.best_subset()).tolist()
    assert trace.best_criterion == pytest.approx(slow_cost(coded, best), abs=1e-9)
    assert trace.best_criterion <= trace.null_criterion
    assert trace.n_models == len(models_of(trace))


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_all_subsets_is_found(seed: int) -> None:
    coded = coded_table(seed, n_rows=100, n_features=9, strength=1.1)
    problem = problem_of(coded)
    found, best = MultiStart().run(problem), ExhaustiveSearch().run(problem)
    assert found.best_criterion == pytest.approx(best.best_criterion, abs=1e-9)
    np.testing.assert_array_equal(found.best_subset(), best.best_subset())
    assert found.complete
    check_valid(found, coded)


def test_every_accepted_move_lowers_the_cost() -> None:
    trace = MultiStart().run(problem_of(WIDE))
    for part in trace.to_frame().partition_by("start"):
        assert (np.diff(part["criterion"].to_numpy()) < 0).all()
    check_valid(trace, WIDE)


def test_a_start_ends_where_no_single_move_lowers_the_cost() -> None:
    problem = problem_of(WIDE)
    trace = MultiStart(n_starts=4, max_iter=50).run(problem)
    for part in trace.to_frame().partition_by("start"):
        state = SearchState(problem)
        for feature in part["feature"].to_list()[1:]:
            state.flip(problem.names.index(feature))
        assert state.candidates(problem.candidates).min() >= state.cost - 1e-6


def test_number_of_starts() -> None:
    problem = problem_of(WIDE)
    trace = MultiStart().run(problem)
    assert trace.n_starts == math.ceil(math.log2(30 * 150))
    assert MultiStart(n_starts=3).run(problem).n_starts == 3


def test_features_of_one_level_are_never_tried() -> None:
    trace = MultiStart().run(problem_of(WIDE))
    assert "x29" not in trace.to_frame(evaluated=True)["feature"].to_list()


def test_same_seed_same_trace_other_seed_another() -> None:
    runs = [MultiStart(seed=seed, n_starts=5).run(problem_of(WIDE)) for seed in (3, 3, 4)]
    assert records(runs[0]) == records(runs[1])
    assert records(runs[0]) != records(runs[2])


def test_walks_are_listed_in_the_order_of_their_starts() -> None:
    one, several = (MultiStart(n_starts=n).run(problem_of(WIDE)) for n in (1, 3))
    assert [row for row in records(several) if row[0] == 0] == records(one)


@pytest.mark.parametrize("weighted", [False, True])
def test_results_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch, weighted: bool) -> None:
    weights = np.random.default_rng(2).exponential(size=150) if weighted else None
    coded = coded_table(12, n_rows=150, n_features=30, n_classes=3, strength=0.9, weights=weights)
    monkeypatch.setattr(multi_start, "_PARALLEL_WORK", 0)
    threads: set[int] = set()
    candidates = SearchState.candidates

    def watched(state: SearchState, features: np.ndarray) -> np.ndarray:
        threads.add(threading.get_ident())
        return candidates(state, features)

    monkeypatch.setattr(SearchState, "candidates", watched)
    one = MultiStart(n_jobs=1).run(problem_of(coded))
    assert threads == {threading.get_ident()}
    threads.clear()
    several = MultiStart(n_jobs=3).run(problem_of(coded))
    assert threading.get_ident() not in threads
    assert records(one) == records(several)
    assert one.n_models == several.n_models


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_time_at_all(monkeypatch: pytest.MonkeyPatch, n_jobs: int) -> None:
    monkeypatch.setattr(multi_start, "_PARALLEL_WORK", 0)
    trace = MultiStart(max_seconds=0, n_jobs=n_jobs).run(problem_of(WIDE))
    assert not trace.complete
    assert trace.n_models >= 1
    check_valid(trace, WIDE)
    assert trace.to_frame().height >= 1


def test_starts_without_end_take_memory_only_when_their_turn_comes() -> None:
    trace = MultiStart(n_starts=2**40, max_seconds=0.05).run(problem_of(WIDE))
    assert not trace.complete
    check_valid(trace, WIDE)


def test_ample_time_changes_nothing() -> None:
    assert records(MultiStart(max_seconds=1000).run(problem_of(WIDE))) == records(MultiStart().run(problem_of(WIDE)))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("after", [0, 1, 60, 200])
def test_an_interrupt_in_a_walk_keeps_the_best_so_far(monkeypatch: pytest.MonkeyPatch, after: int, n_jobs: int) -> None:
    monkeypatch.setattr(multi_start, "_PARALLEL_WORK", 0)
    monkeypatch.setattr(
        "bayesieve.engine.base._AHEAD_WORK", 150
    )  # one candidate at a time: many places to be interrupted
    candidates, calls = SearchState.candidates, itertools.count()

    def interrupted(state: SearchState, features: np.ndarray) -> np.ndarray:
        if next(calls) == after:
            raise KeyboardInterrupt
        return candidates(state, features)

    monkeypatch.setattr(SearchState, "candidates", interrupted)
    trace = MultiStart(n_jobs=n_jobs).run(problem_of(WIDE))
    monkeypatch.undo()
    assert not trace.complete
    check_valid(trace, WIDE)
    whole = MultiStart().run(problem_of(WIDE))
    assert trace.n_models < whole.n_models
    if n_jobs == 1:
        assert (trace.n_models > 1) == (after > 0)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_while_progress_is_told(monkeypatch: pytest.MonkeyPatch, n_jobs: int) -> None:
    monkeypatch.setattr(multi_start, "_PARALLEL_WORK", 0)

    def progress(done: int, total: int, best: float) -> None:
        if done >= 8:
            raise KeyboardInterrupt

    trace = MultiStart(n_jobs=n_jobs).run(problem_of(WIDE), progress)
    assert not trace.complete
    assert trace.n_starts == 8
    check_valid(trace, WIDE)


def test_progress() -> None:
    told: list[tuple[int, int, float]] = []
    trace = MultiStart(n_starts=10).run(problem_of(WIDE), lambda *values: told.append(values))
    assert [entry[:2] for entry in told] == [(4, 10), (8, 10), (10, 10)]
    assert told[-1][2] == trace.best_criterion
    assert told == sorted(told, key=lambda entry: -entry[2])


def test_other_errors_come_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(state: SearchState, features: np.ndarray) -> np.ndarray:
        raise MemoryError("no room")

    monkeypatch.setattr(SearchState, "candidates", broken)
    monkeypatch.setattr(multi_start, "_PARALLEL_WORK", 0)
    for n_jobs in (1, 2):
        with pytest.raises(MemoryError, match="no room"):
            MultiStart(n_jobs=n_jobs).run(problem_of(WIDE))


def test_nothing_to_choose_from() -> None:
    coded = coded_table(1, n_features=3)
    coded.codes[:], coded.n_levels[:] = 0, 1
    trace = MultiStart().run(problem_of(coded))
    assert trace.complete
    assert trace.n_models == 1


def test_the_memory_of_all_threads_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multi_start, "_PARALLEL_WORK", 0)
    problem = problem_of(WIDE)
    assert MultiStart(n_jobs=3)._workers(problem) == 3
    assert MultiStart(n_jobs=99)._workers(problem) == 4  # starts of a wave
    monkeypatch.setattr(Engine, "most_state_bytes", 8 * 150 * 2 * 2)
    assert MultiStart(n_jobs=3)._workers(problem) == 2
    monkeypatch.setattr(Engine, "most_state_bytes", 1)
    assert MultiStart(n_jobs=3)._workers(problem) == 1


def test_progress_may_end_the_search() -> None:
    problem = problem_of(coded_table(3, n_rows=80, n_features=8))
    whole = MultiStart(9, n_jobs=1).run(problem)
    told: list[int] = []

    def progress(done: int, total: int, best: float) -> bool:
        told.append(done)
        return len(told) == 2

    trace = MultiStart(9, n_jobs=1).run(problem, progress)
    assert (told, trace.n_starts, trace.complete) == ([4, 8], 8, False)
    np.testing.assert_array_equal(trace.moves.cost, whole.moves.cost[: trace.moves.cost.size])
