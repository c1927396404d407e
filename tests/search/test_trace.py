"""Traces give the best subset, averages, paths and JSON that follow from their recorded moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

from bayesieve.engine.progress import Clock
from bayesieve.search import ExhaustiveSearch, MultiStart, SearchTrace, SubsetProblem, TraceRecorder, WalkStart
from bayesieve.search.trace import Point
from tests.criteria.coded_tables import coded_table
from tests.search.test_contract import models_of

Subset = frozenset[int]


def slow_average(models: list[tuple[Subset, float]], n_features: int) -> list[float]:
    """Of subsets with their weights, as often as they are listed."""
    total = sum(weight for _, weight in models)
    return [sum(weight for subset, weight in models if k in subset) / total for k in range(n_features)]


def random_weights(seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """A weight for each cost, the same for costs that differ by rounding only."""
    first, second = np.random.default_rng(seed).uniform(0.1, 5.0, size=2)
    return lambda costs: first + np.sin(second * costs) ** 2


@st.composite
def traces(draw: st.DrawFn) -> SearchTrace:
    """Traces of real searches, some cut short."""
    n_features = draw(st.integers(1, 8))
    coded = coded_table(draw(st.integers(0, 2**32 - 1)), draw(st.integers(5, 80)), n_features, draw(st.integers(2, 3)))
    problem = SubsetProblem.of(coded)
    if draw(st.booleans()):
        return ExhaustiveSearch().run(problem)
    search = MultiStart(
        n_starts=draw(st.integers(1, 6)), max_iter=draw(st.integers(1, 3)), seed=draw(st.integers(0, 99))
    )
    return search.run(problem)


@given(traces(), st.integers(0, 2**32 - 1))
def test_averages_count_every_distinct_model_or_every_evaluation(trace: SearchTrace, seed: int) -> None:
    models = {frozenset(): trace.null_criterion, **dict(reversed([*models_of(trace)]))}
    assert trace.n_models == len(models)
    costs = trace.moves.cost[trace.distinct]
    np.testing.assert_array_equal(np.sort(costs), np.sort([models[m] for m in models if m]))
    best = frozenset(np.flatnonzero(trace.best_subset()).tolist())
    # A subset reached by several walks may cost a last bit more in one of them.
    assert min(models.values()) == pytest.approx(trace.best_criterion, rel=1e-12) == models[best]
    weigh = random_weights(seed)
    expected = slow_average([(m, float(weigh(np.array([cost]))[0])) for m, cost in models.items()], trace.n_features)
    np.testing.assert_allclose(trace.average(weigh), expected, atol=1e-12)
    met = [(subset, float(weigh(np.array([cost]))[0])) for subset, cost in models_of(trace)]
    expected = slow_average(met, trace.n_features)
    np.testing.assert_allclose(trace.average(weigh, distinct=False), expected, atol=1e-12)


@given(traces(), st.booleans())
def test_the_path_is_consistent(trace: SearchTrace, evaluated: bool) -> None:
    frame = trace.to_frame(evaluated=evaluated)
    expected = ["start", "step", "move", "feature", "n_features", "criterion", "validation", "seconds"]
    assert frame.columns == expected + ["accepted"] * evaluated
    assert frame["validation"].null_count() == frame.height
    assert frame["start"].unique().sort().to_list() == list(range(trace.n_starts))
    assert (frame["seconds"].to_numpy() >= 0).all()
    for part in frame.partition_by("start", maintain_order=True):
        rows = part.rows(named=True)
        first = {name: rows[0][name] for name in ("step", "move", "feature", "n_features", "criterion")}
        assert tuple(first.values()) == (0, "start", None, 0, trace.null_criterion)
        size, step, subset = 0, 0, set()
        for row in rows[1:]:
            change = {"add": 1, "drop": -1}[row["move"]]
            assert (row["feature"] in subset) == (row["move"] == "drop")
            assert row["n_features"] == size + change
            assert row["step"] == step + 1
            if not evaluated or row["accepted"]:
                size, step, subset = size + change, step + 1, subset ^ {row["feature"]}
    if evaluated:
        kept = frame.filter("accepted").drop("accepted")
        assert kept.drop("seconds").equals(trace.to_frame().drop("seconds"))


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (Point(1.0, 3), Point(2.0, 1)),
        (Point(1.0, 2), Point(1.0, 3)),
        (Point(1.0 + 1e-14, 2), Point(1.0, 3)),  # rounding errors
        (Point(9.0, 3, 0.1), Point(1.0, 1, 0.2)),
        (Point(9.0, 3), Point(1.0, 1, 1e-13)),  # exactly on a bound
        (Point(1.0, 3, 0.5), Point(2.0, 1, 0.5)),
        (Point(1.0, 1, 0.5), Point(1.0, 2, 0.5)),
    ],
)
def test_subsets_are_compared_by_violation_value_and_size(better: Point, worse: Point) -> None:
    assert better.beats(worse)
    assert not worse.beats(better)
    assert not better.beats(better)


def test_types_of_a_frame_without_moves() -> None:
    trace = SearchTrace.of(("a", "b"), [TraceRecorder(WalkStart.empty(3.0))], complete=False, seconds=0.5)
    frame = trace.to_frame()
    assert frame.rows() == [(0, 0, "start", None, 0, 3.0, None, 0.0)]
    assert frame.schema["validation"] == pl.Float64
    assert frame.schema["feature"] == pl.String
    assert (trace.n_models, trace.n_starts, trace.best_criterion) == (1, 1, 3.0)
    assert not trace.best_subset().any()
    assert trace.average(np.ones_like).tolist() == [0.0, 0.0]
    assert trace.average(np.zeros_like).tolist() == [0.0, 0.0]  # nothing to share out


def small() -> SearchTrace:
    coded = coded_table(1, n_features=4)
    return MultiStart(n_starts=2).run(SubsetProblem.of(coded))


@pytest.mark.parametrize(
    "damage",
    [
        {"feature": [9]},
        {"feature": [-1]},
        {"start": [5]},
        {"cost": []},
        {"adding": [[True]]},
        {"start": "x"},
        {"feature": ["x"]},
        {"n_models": "many"},
        {"cost": [float("nan")]},
        {"cost": [float("inf")]},
        {"null_criterion": float("inf")},
        {"best_criterion": float("nan")},
        {"n_starts": 10**15},
        {"n_models": -1},
        {"feature": [0.5]},
        {"feature": ["0"]},
        {"feature": [4]},
        {"adding": [False]},
        {"adding": ["yes"]},
        {"start": [0, 0], "feature": [0, 0], "adding": [True, True], "cost": [1.0, 2.0], "move_seconds": [0.0, 0.0]},
        {"start": [1, 0], "feature": [0, 0], "adding": [True, True], "cost": [1.0, 2.0], "move_seconds": [0.0, 0.0]},
        {"seconds": float("inf")},
        {"move_seconds": [float("inf")]},
        {"chosen": [0, 4]},
        {"chosen": [0, 0]},
        {"again": [1]},
        {"again": [0]},  # of a feature that is absent
    ],
)
def test_damaged_json_is_refused(damage: dict[str, object]) -> None:
    one_move = {"start": [0], "feature": [0], "adding": [True], "cost": [1.0], "move_seconds": [0.0]}
    data = small().to_json() | one_move
    assert SearchTrace.from_json(data, ("a", "b", "c", "d")).to_frame().height == 3
    with pytest.raises((KeyError, TypeError, ValueError)):
        SearchTrace.from_json(data | damage, ("a", "b", "c", "d"))


@pytest.mark.parametrize("key", sorted(set(small().to_json()) - {"chosen"}))
def test_nothing_may_be_missing_from_the_json(key: str) -> None:
    data = small().to_json()
    del data[key]
    with pytest.raises(ValueError, match=f"its search: Object missing required field {key}"):
        SearchTrace.from_json(data, ("a", "b", "c", "d"))


@pytest.mark.parametrize(
    ("evaluation", "recoded", "words"),
    [
        (None, None, None),
        ("train", None, "on training rows"),
        ("holdout", False, "on fitted and held-out rows, levels learnt from these rows"),
        ("holdout", True, "on fitted and held-out rows, levels learnt from the fitted rows only"),
        ("validation", True, "on held-out rows, levels learnt from the fitted rows only"),
        ("10 folds", True, "on 10 folds, levels learnt from the rows of the other folds"),
    ],
)
def test_measures_say_on_which_rows(evaluation: str | None, recoded: bool | None, words: str | None) -> None:
    assert replace(small(), evaluation=evaluation, recoded=recoded).measured == words


def test_a_search_of_one_feature_survives() -> None:
    trace = MultiStart(n_starts=2).run(SubsetProblem.of(coded_table(1, n_features=1)))
    assert SearchTrace.from_json(trace.to_json(), trace.names).to_frame().equals(trace.to_frame())


def test_a_criterion_without_a_value_survives() -> None:
    names = ("a", "b", "c", "d")
    move = {"start": [0], "feature": [0], "adding": [True], "move_seconds": [0.0]}
    data = small().to_json() | move | {"cost": ["-inf"], "null_criterion": None, "best_criterion": "inf"}
    again = SearchTrace.from_json(data, names)
    assert np.isnan(again.null_criterion)
    assert again.best_criterion == np.inf
    assert -np.inf in again.to_frame()["criterion"].to_list()
    written = again.to_json()
    assert {key: written[key] for key in data if key in ("cost", "null_criterion", "best_criterion")} == {
        "cost": ["-inf"],
        "null_criterion": None,
        "best_criterion": "inf",
    }


def test_clock() -> None:
    assert not Clock(None).is_up
    assert Clock(0).is_up
    assert not Clock(1000.0).is_up
    assert Clock(None).seconds >= 0
