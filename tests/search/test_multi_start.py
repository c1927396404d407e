"""Multi-start searches find the same subsets with any number of threads, within the memory allowed."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bayesieve.engine import Engine
from bayesieve.search import (
    ExhaustiveSearch,
    GreedySearch,
    MultiStart,
    SearchState,
    SearchTrace,
    SubsetProblem,
)
from bayesieve.search.problem import _Waves
from tests.criteria.coded_tables import coded_table
from tests.limits import Limits, Watch

PROBLEM = SubsetProblem.of(coded_table(11, n_rows=150, n_features=30, n_classes=3, strength=0.9))
WIDE_KEYS = np.array([3, 2**64 - 1], dtype=np.uint64)


def records(trace: SearchTrace) -> list[tuple[Any, ...]]:
    """Everything recorded but the seconds."""
    return trace.to_frame(evaluated=True).drop("seconds").rows()


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_all_subsets_is_found(seed: int) -> None:
    problem = SubsetProblem.of(coded_table(seed, n_rows=100, n_features=9, strength=1.1))
    found, best = MultiStart().run(problem), ExhaustiveSearch().run(problem)
    assert found.best_criterion == pytest.approx(best.best_criterion, abs=1e-9)
    np.testing.assert_array_equal(found.best_subset(), best.best_subset())


@pytest.mark.parametrize("tol", [0.0, 0.5])
@pytest.mark.parametrize("search", [MultiStart(n_starts=4, max_iter=50), GreedySearch("fast")], ids=repr)
def test_moves_lower_the_cost_until_none_is_left(search: Any, tol: float) -> None:
    trace = replace(search, tol=tol).run(PROBLEM)
    assert "x29" not in trace.to_frame(evaluated=True)["feature"].to_list()  # it has one level
    for part in trace.to_frame().partition_by("start"):
        assert (np.diff(part["criterion"].to_numpy()) < -tol).all()
        state = SearchState(PROBLEM)
        for feature in part["feature"].to_list()[1:]:
            state.flip(PROBLEM.names.index(feature))
        assert state.candidates(PROBLEM.candidates).min() >= state.cost - tol - 1e-6


def test_number_of_starts_and_progress() -> None:
    assert MultiStart().run(PROBLEM).n_starts == math.ceil(math.log2(30 * 150))
    told: list[tuple[int, int, float]] = []
    trace = MultiStart(n_starts=10).run(PROBLEM, lambda *values: told.append(values))
    assert [entry[:2] for entry in told] == [(4, 10), (8, 10), (10, 10)]
    assert told[-1][2] == trace.best_criterion
    assert told == sorted(told, key=lambda entry: -entry[2])


def test_a_quick_search_can_be_thorough(limits: Limits) -> None:
    plain, thorough = MultiStart().run(PROBLEM), MultiStart(thorough=True).run(PROBLEM)
    assert thorough.n_starts == 4 * plain.n_starts
    assert records(thorough)[: len(records(plain))] == records(plain)
    assert MultiStart(n_starts=3, thorough=True).run(PROBLEM).n_starts == 3
    work = PROBLEM.candidates.size * 150 * (PROBLEM.objective.rows.tables.n_classes - 1)
    for most, n_starts in ((0, plain.n_starts), (work, plain.n_starts), (work + 1, thorough.n_starts)):
        limits(quick_work=most)
        assert MultiStart(thorough=True).run(PROBLEM).n_starts == n_starts


def test_seeds_and_the_order_of_walks() -> None:
    runs = [MultiStart(seed=seed, n_starts=5).run(PROBLEM) for seed in (3, 3, 4)]
    assert records(runs[0]) == records(runs[1]) != records(runs[2])
    walks = {tuple(run.moves.at(run.walk(k)).feature.tolist()) for run in runs[1:] for k in range(5)}
    many = MultiStart(n_starts=50).run(PROBLEM)
    walks |= {tuple(many.moves.at(many.walk(k)).feature.tolist()) for k in range(50)}
    assert len(walks) == 60
    one = MultiStart(seed=3, n_starts=1).run(PROBLEM)
    assert [row for row in records(runs[0]) if row[0] == 0] == records(one)


@pytest.mark.parametrize("weighted", [False, True])
def test_results_do_not_depend_on_threads(watch: Watch, limits: Limits, weighted: bool) -> None:
    weights = np.random.default_rng(2).exponential(size=150) if weighted else None
    coded = coded_table(12, n_rows=150, n_features=30, n_classes=3, strength=0.9, weights=weights)
    limits(quick_work=0)
    threads: set[int] = set()
    watch(SearchState, "candidates", lambda *_: threads.add(threading.get_ident()))
    one = MultiStart(n_jobs=1).run(SubsetProblem.of(coded))
    assert threads == {threading.get_ident()}
    threads.clear()
    several = MultiStart(n_jobs=3).run(SubsetProblem.of(coded))
    assert threading.get_ident() not in threads
    assert records(one) == records(several)


def test_starts_without_end_take_memory_only_when_their_turn_comes() -> None:
    trace = MultiStart(n_starts=2**40, max_seconds=0.05).run(PROBLEM)
    assert not trace.complete
    assert trace.best_criterion <= trace.null_criterion


@pytest.mark.parametrize(
    ("n_jobs", "most_bytes", "workers"),
    [(3, None, 3), (99, None, 4), (3, 8 * 150 * 2 * 2, 2), (3, 1, 1)],  # a wave has four starts
)
def test_the_memory_of_all_threads_is_bounded(
    n_jobs: int, most_bytes: int | None, workers: int, monkeypatch: pytest.MonkeyPatch, limits: Limits
) -> None:
    limits(quick_work=0)
    if most_bytes is not None:
        monkeypatch.setattr(Engine, "most_state_bytes", most_bytes)
    threads = set[int]()
    run, at_once = _Waves.run, list[int]()

    def watched(waves: _Waves, seeds: list[int], n_workers: int) -> list[Any]:
        at_once.append(n_workers)
        walks = run(waves, seeds, n_workers)
        threads.update(id(state) for state in waves._spare)
        return walks

    monkeypatch.setattr(_Waves, "run", watched)
    MultiStart(n_jobs=n_jobs).run(PROBLEM)
    assert set(at_once) == {workers}
    assert len(threads) <= workers
