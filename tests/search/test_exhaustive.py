"""All subsets in Gray-code order against evaluating each of them alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bayesieve.search import ExhaustiveSearch, SearchState, SubsetProblem, exhaustive
from tests.criteria.coded_tables import coded_table, slow_cost
from tests.search.test_trace import models_of


@pytest.mark.parametrize(
    ("n_features", "n_classes", "weighted"), [(2, 2, False), (7, 2, True), (7, 3, False), (6, 4, True)]
)
def test_every_subset_is_met_once_at_its_own_cost(n_features: int, n_classes: int, weighted: bool) -> None:
    weights = np.random.default_rng(0).integers(1, 7, 60) / 2 if weighted else None
    coded = coded_table(n_features, 60, n_features, n_classes, strength=1.0, weights=weights)
    problem = SubsetProblem.of(coded)
    trace = ExhaustiveSearch().run(problem)
    informative = range(n_features - 1)  # the last feature has a single level
    models = models_of(trace)
    assert set(models) == {
        frozenset(subset) for size in range(n_features) for subset in itertools.combinations(informative, size)
    }
    assert trace.n_models == 2 ** (n_features - 1)
    assert trace.complete
    for subset, cost in models.items():
        assert cost == pytest.approx(slow_cost(coded, subset), rel=1e-11, abs=1e-9)
    assert trace.best_criterion == min(models.values())


def test_rounding_errors_do_not_add_up() -> None:
    coded = coded_table(3, 80, 12, strength=1.3)
    problem = SubsetProblem.of(coded)
    models = models_of(ExhaustiveSearch().run(problem))
    assert len(models) == 2**11
    last = list(models.items())[-50:]
    for subset, cost in last:
        assert cost == pytest.approx(slow_cost(coded, subset), rel=1e-12)


def test_nothing_to_choose_from() -> None:
    coded = coded_table(1, n_features=3)
    coded.codes[:], coded.n_levels[:] = 0, 1
    trace = ExhaustiveSearch().run(SubsetProblem.of(coded))
    assert (trace.n_models, trace.complete) == (1, True)
    assert trace.best_criterion == trace.null_criterion


def test_too_many_features() -> None:
    coded = coded_table(1, n_rows=20, n_features=27)
    with pytest.raises(ValueError, match=r"26 features have 2\^26 subsets, .*at most 25 .* use exhaustive=False"):
        ExhaustiveSearch().run(SubsetProblem.of(coded))


def test_time_is_up() -> None:
    coded = coded_table(4, n_features=10)
    trace = ExhaustiveSearch(max_seconds=0).run(SubsetProblem.of(coded))
    assert not trace.complete
    assert trace.n_models == 1 + 2  # the clock is looked at after every step
    check_valid(trace)
    whole = ExhaustiveSearch(max_seconds=1000).run(SubsetProblem.of(coded))
    assert (whole.complete, whole.n_models) == (True, 2**9)


def check_valid(trace: exhaustive.SearchTrace) -> None:
    best = frozenset(np.flatnonzero(trace.best_subset()).tolist())
    assert models_of(trace)[best] == pytest.approx(trace.best_criterion, rel=1e-12)
    assert trace.best_criterion <= trace.null_criterion


def test_an_interrupt_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    coded = coded_table(4, n_features=10)
    problem = SubsetProblem.of(coded)
    candidates, calls = SearchState.candidates, itertools.count()

    def interrupted(state: SearchState, features: np.ndarray) -> np.ndarray:
        if next(calls) == 40:
            raise KeyboardInterrupt
        return candidates(state, features)

    monkeypatch.setattr(SearchState, "candidates", interrupted)
    trace = ExhaustiveSearch().run(problem)
    assert not trace.complete
    assert trace.n_models == 1 + 2 * 40
    check_valid(trace)


def test_progress_is_told_and_may_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhaustive, "_MOVES_AT_ONCE", 8)
    coded = coded_table(4, n_features=8)
    told: list[tuple[int, int, float]] = []

    def progress(done: int, total: int, best: float) -> None:
        told.append((done, total, best))
        if len(told) == 3:
            raise KeyboardInterrupt

    trace = ExhaustiveSearch().run(SubsetProblem.of(coded), progress)
    assert [entry[:2] for entry in told] == [(8, 64), (16, 64), (24, 64)]
    assert not trace.complete
    assert told[-1][2] == trace.best_criterion
