"""Many subsets at once: each is worth what it is by itself, in any order."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from bayesieve import IndicatorEncoder
from bayesieve.counts import CodedTable
from bayesieve.criteria import CRITERIA, make_criterion
from bayesieve.search import Objective, ScoredRows, SearchState, SubsetProblem, evaluate_subsets
from bayesieve.search.problem import Constraint
from tests.cases import mostly_slow
from tests.criteria.coded_tables import coded_table
from tests.limits import Limits


@pytest.fixture(scope="module", params=[2, 3])
def coded(request: pytest.FixtureRequest) -> CodedTable:
    return coded_table(5, n_rows=150, n_features=12, n_classes=request.param, strength=0.7)


def one_by_one(objective: Objective, coded: CodedTable, subsets: np.ndarray) -> np.ndarray:
    state = SearchState(SubsetProblem.on(objective, coded))
    values = []
    for subset in subsets:
        state.reset(subset)
        values.append(objective.sign * state.cost)
    return np.array(values)


EVERY = list(product((name for name, part in CRITERIA.items() if not part.needs_options), [0.1, 0.5, 0.9]))


@pytest.mark.parametrize(("criterion", "share"), mostly_slow(EVERY, EVERY[::2]))
def test_values_are_those_of_each_subset_by_itself(coded: CodedTable, criterion: str, share: float) -> None:
    subsets = np.random.default_rng(1).random((120, 12)) < share
    objective = Objective.of(coded, criterion, 1.0)
    evaluated = evaluate_subsets(objective, subsets)
    np.testing.assert_array_equal(evaluated.values, one_by_one(objective, coded, subsets))
    np.testing.assert_array_equal(evaluated.sizes, subsets.sum(axis=1))
    assert evaluated.feasible.all()
    ends = (objective.sign * evaluated.values).min()
    assert objective.sign * evaluated.values[evaluated.best] == ends


@pytest.mark.parametrize("criterion", ["error", "log_loss", "auc"])
@pytest.mark.parametrize("columns", ["indicators", "unseen levels", "weights"])
def test_rows_of_every_kind(criterion: str, columns: str) -> None:
    rng = np.random.default_rng(0)
    if columns == "indicators":
        X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
        X[:, 0] += y
        X[rng.random(X.shape) < 0.1] = np.nan
        coded = IndicatorEncoder().fit_transform_coded(X, y)
        rows = ScoredRows.training(coded, coded.counts, 1.0)
    else:
        codes, classes = rng.integers(0, 6, (9, 400)).astype(np.uint8), rng.integers(0, 3, 400)
        weights = rng.random(400) if columns == "weights" else None
        n_levels = np.array([2, 3, 6] * 3)
        codes %= n_levels[:, None].astype(np.uint8) + (columns == "unseen levels")
        names = tuple("abcdefghi")
        coded = CodedTable(codes, n_levels, names, class_codes=classes, classes=np.arange(3), weights=weights)
        learnt = coded.take((codes < n_levels[:, None]).all(axis=0))
        rows = ScoredRows.training(coded, learnt.counts, 1.0)
    objective = Objective(make_criterion(criterion, coded.n_features, coded.classes), rows)
    subsets = rng.random((70, coded.n_features)) < 0.4
    np.testing.assert_array_equal(evaluate_subsets(objective, subsets).values, one_by_one(objective, coded, subsets))


def test_leave_one_out_rows_and_the_order_of_the_list(coded: CodedTable) -> None:
    rows = ScoredRows.leave_one_out(coded, coded.counts, 1.0)
    bare = Objective.of(coded, "error", 1.0)
    objective = Objective(bare.criterion, rows, (Constraint("error", bare.criterion, 0.4),))
    subsets = np.random.default_rng(2).random((60, 12)) < 0.4
    first, mixed = evaluate_subsets(objective, subsets), np.random.default_rng(3).permutation(60)
    again = evaluate_subsets(objective, [np.flatnonzero(subset).tolist() for subset in subsets[mixed]])
    np.testing.assert_array_equal(first.values[mixed], again.values)
    np.testing.assert_array_equal(first.measures["error"], first.values)
    np.testing.assert_array_equal(first.feasible, first.values < 0.4 - 1e-12)
    values, times = np.unique(first.values, return_counts=True)
    equals = np.flatnonzero(first.values == values[times.argmax()])
    for listed in (equals[np.argsort(first.sizes[equals])], equals[np.argsort(-first.sizes[equals])]):
        best = evaluate_subsets(objective, subsets[listed])
        assert best.sizes[best.best] == best.sizes.min()


@pytest.mark.parametrize("room", [0, 1, 1_000])
def test_subsets_that_have_room_in_memory_make_no_difference(coded: CodedTable, room: int, limits: Limits) -> None:
    subsets = np.random.default_rng(4).random((50, 12)) < 0.4
    objective = Objective.of(coded, "log_loss", 1.0)
    expected = evaluate_subsets(objective, subsets).values
    limits(most_steps=room)
    np.testing.assert_array_equal(evaluate_subsets(objective, subsets).values, expected)


def test_no_subsets_and_the_empty_subset(coded: CodedTable) -> None:
    objective = Objective.of(coded, "error", 1.0)
    assert evaluate_subsets(objective, []).values.size == 0
    assert evaluate_subsets(objective, [[]]).sizes.tolist() == [0]


@pytest.mark.parametrize(
    ("subsets", "message"),
    [
        ([[12]], r"positions from 0 to 11, got \[12\]"),
        ([[0.5]], "positions from 0 to 11"),
        ([[-1]], "positions from 0 to 11"),
        (np.zeros((2, 3), dtype=bool), r"shape \(n_subsets, 12\), got \(2, 3\)"),
    ],
)
def test_subsets_of_other_features_are_refused(coded: CodedTable, subsets: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate_subsets(Objective.of(coded, "error", 1.0), subsets)
