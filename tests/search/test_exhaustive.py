"""All subsets, in a tree of products and step by step, against evaluating each of them alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from bayesieve.search import ExhaustiveSearch, SubsetProblem, exhaustive
from bayesieve.search._kernels import sum_of_logs
from bayesieve.search.exhaustive import evaluate_every_subset
from tests.criteria.coded_tables import coded_table, slow_cost
from tests.limits import Limits, interrupted
from tests.search.test_contract import models_of

HALVES = {"weights": np.full(80, 0.5)}  # rows with weights are walked step by step


@pytest.mark.parametrize("weights", [{}, HALVES])
def test_rounding_errors_do_not_add_up(weights: dict[str, Any]) -> None:
    coded = coded_table(3, 80, 12, strength=1.3, **weights)
    models = dict(models_of(ExhaustiveSearch().run(SubsetProblem.of(coded))))
    assert len(models) == 2**11
    for subset, cost in list(models.items())[-50:]:
        assert cost == pytest.approx(slow_cost(coded, subset), rel=1e-12)


@pytest.mark.parametrize(
    ("weights", "pieces"), [({}, [(32, 64), (64, 64)]), (HALVES, [(8, 64), (16, 64), (24, 64), (32, 64)])]
)
def test_progress_is_told(limits: Limits, weights: dict[str, Any], pieces: list[tuple[int, int]]) -> None:
    limits(moves_at_once=8, piece_work=2 * 80)
    told: list[tuple[int, int, float]] = []
    coded = coded_table(4, 80, n_features=8, **weights)
    trace = ExhaustiveSearch().run(SubsetProblem.of(coded), lambda *now: told.append(now))
    assert [entry[:2] for entry in told][: len(pieces)] == pieces
    assert told[-1][2] == pytest.approx(trace.best_criterion)


def test_an_interrupt_before_the_first_piece_leaves_the_empty_subset() -> None:
    coded = coded_table(4, 80, n_features=8)
    with interrupted(exhaustive, "map_in_threads"):
        trace = ExhaustiveSearch().run(SubsetProblem.of(coded))
    assert (trace.n_models, trace.complete) == (1, False)
    assert trace.null_criterion == pytest.approx(slow_cost(coded, ()))


@pytest.mark.parametrize(("n_features", "n_classes"), [(2, 2), (4, 3), (8, 2), (8, 3), (8, 5)])
def test_every_subset_has_its_own_cost(n_features: int, n_classes: int) -> None:
    coded = coded_table(n_features, 90, n_features, n_classes, strength=0.8, unseen=0.05)
    subsets = evaluate_every_subset(SubsetProblem.of(coded))
    assert subsets.cost.size == 2 ** (n_features - 1)  # the last feature has a single level
    for number in range(subsets.cost.size):
        features = subsets.features(number).tolist()
        assert subsets.sizes[number] == len(features)
        assert subsets.cost[number] == pytest.approx(slow_cost(coded, features), rel=1e-11)


def test_nothing_depends_on_pieces_and_threads(limits: Limits) -> None:
    problem = SubsetProblem.of(coded_table(5, 150, 9, 3, strength=0.7))
    limits(piece_work=2 * 2 * 150)
    threads = evaluate_every_subset(problem, n_jobs=2)
    limits(fewest_pieces=0, piece_work=10**9)
    whole = evaluate_every_subset(problem)
    np.testing.assert_array_equal(threads.cost, whole.cost)


def test_products_of_rows_stay_in_range() -> None:
    values = np.concatenate([np.full(7, 1e200), np.ones(50), np.full(9, 1e90), [3.0, 5.0, 7.0]])
    called = njit(lambda values: sum_of_logs(values))  # which Python cannot call by itself
    assert called(values) == pytest.approx(np.log(values).sum(), rel=1e-13)
    assert called(np.ones(0)) == 0.0


def test_what_is_not_enumerated() -> None:
    with pytest.raises(ValueError, match=r"26 features have 2\^26 subsets, .*at most 25"):
        evaluate_every_subset(SubsetProblem.of(coded_table(1, n_rows=20, n_features=27)))
    weighted = coded_table(1, n_rows=20, weights=np.arange(1.0, 21.0))
    with pytest.raises(ValueError, match=r"rows with weights.*ExhaustiveSearch"):
        evaluate_every_subset(SubsetProblem.of(weighted))
    tiny = coded_table(1, n_rows=40, n_features=20, strength=1.5)
    with pytest.raises(ValueError, match=r"up to e\^\d+ exceed the range of numbers; use ExhaustiveSearch"):
        evaluate_every_subset(SubsetProblem.of(tiny, smoothing=1e-25))
    with pytest.raises(ValueError, match=r"26 features .* use exhaustive=False"):
        ExhaustiveSearch().run(SubsetProblem.of(coded_table(1, n_rows=20, n_features=27)))
