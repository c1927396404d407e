"""What holds of every criterion: its value by the oracle, and all that changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayesieve.counts import CodedTable
from bayesieve.criteria import (
    CRITERIA,
    Benefit,
    Criterion,
    ExpectedCost,
    Precision,
    Recall,
    RowLoss,
    Scorer,
    make_criterion,
)
from bayesieve.engine import Engine, Mapped
from bayesieve.search import Objective, ScoredRows, SearchState, SubsetProblem, evaluate_subsets
from tests.cases import mostly_slow
from tests.criteria.coded_tables import coded_table
from tests.limits import Limits
from tests.reference import wrapper

COSTS = np.array([[0.0, 1.0, 2.0], [4.0, 0.5, 1.0], [2.0, 2.0, -1.0]])


class Spherical(RowLoss):
    name = "spherical"
    lower_is_better = False

    def losses(self, probability: np.ndarray, true_class: int) -> np.ndarray:
        return probability[true_class] / np.sqrt((probability**2).sum(axis=0))


def spherical(scored: wrapper.Scored, subset: wrapper.Subset) -> float:
    posterior = np.exp(scored.log_posterior(subset))
    return scored.mean(posterior[np.arange(scored.y.size), scored.y] / np.linalg.norm(posterior, axis=1))


def of_name(name: str, n_classes: int) -> tuple[str | Criterion, wrapper.Criterion]:
    """A criterion and its oracle."""
    costs = COSTS[:n_classes, :n_classes]
    cost = wrapper.expected_cost(costs)
    special: dict[str, tuple[Criterion, wrapper.Criterion]] = {
        "recall": (Recall(1), wrapper.recall(1)),
        "precision": (Precision(1), wrapper.precision(1)),
        "expected_cost": (ExpectedCost(costs), cost),
        "benefit": (Benefit(-costs.T), lambda rows, subset: -cost(rows, subset) * rows.weights.sum()),
        "scorer": (Scorer("accuracy"), lambda rows, subset: 1.0 - wrapper.error(rows, subset)),
        "spherical": (Spherical(), spherical),
    }
    opposite = {"accuracy": wrapper.error, "balanced_accuracy": wrapper.balanced_error}
    if name in special:
        return special[name]
    if name in opposite:
        return name, lambda rows, subset: 1.0 - opposite[name](rows, subset)
    return name, wrapper.CRITERIA[name]


EVERY = [*CRITERIA.own, "spherical"]
every_criterion = pytest.mark.parametrize("name", EVERY)
two_or_three_classes = pytest.mark.parametrize("n_classes", [2, 3])


def table(n_classes: int, *, weighted: bool = False, n_rows: int = 70, n_levels: int = 3) -> CodedTable:
    """Some rows have the weight 0."""
    weights = np.random.default_rng(1).integers(0, 4, n_rows).astype(float) if weighted else None
    return coded_table(n_classes, n_rows, 5, n_classes, strength=0.9, weights=weights, n_levels=n_levels)


def state_of(
    name: str, coded: CodedTable, rows: ScoredRows | None = None, *, leave_out: bool = False, n_jobs: int | None = 1
) -> SearchState:
    criterion = make_criterion(of_name(name, coded.n_classes)[0], coded.n_features, coded.classes)
    objective = Objective(criterion, ScoredRows.training(coded, coded.counts, 1.0) if rows is None else rows)
    return SubsetProblem.on(objective, coded).state(leave_out=leave_out, n_jobs=n_jobs)


def walk(state: SearchState, moves: tuple[int, ...] = (0, 3, 1, 0, 2)) -> np.ndarray:
    """Own values and those of all candidates on the way, by the sign of the criterion."""
    every, values = np.arange(len(state.problem.names)), []
    for move in (None, *moves):
        if move is not None:
            state.flip(move)
        values += [state.cost, *state.candidates(every)]
    return state.problem.objective.sign * np.array(values)


@every_criterion
@pytest.mark.parametrize(
    ("n_classes", "evaluation", "weighted"),
    mostly_slow(
        [
            (n_classes, *rows)
            for n_classes in (2, 3)
            for rows in (("train", False), ("train", True), ("loo", False), ("folds", False), ("folds", True))
        ],
        [(2, "folds", True), (3, "loo", False)],
    ),
)
def test_subsets_and_candidates_are_worth_what_refitted_models_are(
    name: str, n_classes: int, evaluation: str, weighted: bool
) -> None:
    # Weighted rows are never left out one by one, because the oracle leaves out rows, not weights.
    coded = table(n_classes, weighted=weighted)
    n, numbers = coded.n_rows, np.arange(coded.n_rows)
    splits = [(numbers[numbers % 3 != fold], numbers[numbers % 3 == fold]) for fold in range(3)]
    made = {
        "train": lambda: (ScoredRows.training(coded, coded.counts, 1.0), wrapper.training_rows(n)),
        "loo": lambda: (ScoredRows.leave_one_out(coded, coded.counts, 1.0), wrapper.leave_one_out(n)),
        "folds": lambda: (ScoredRows.folds(coded, coded.counts, splits, 1.0), splits),
    }
    rows, folds = made[evaluation]()
    scored = wrapper.refit(coded.codes.T, np.asarray(coded.class_codes), folds, weights=coded.weights)
    oracle, expected, subset = of_name(name, n_classes)[1], [], set[int]()
    for move in (None, 0, 3, 1, 0, 2):
        subset ^= set() if move is None else {move}
        neighbours = [subset, *(subset ^ {k} for k in range(coded.n_features))]
        expected += [oracle(scored, tuple(sorted(one))) for one in neighbours]
    np.testing.assert_allclose(walk(state_of(name, coded, rows)), expected, rtol=1e-10, atol=1e-10)


@every_criterion
@two_or_three_classes
def test_what_changes_nothing(name: str, n_classes: int, limits: Limits, tmp_path: Any) -> None:
    """The order of rows, threads, rows left out, blocks in memory and in files, subsets at once, and the way back."""
    coded = table(n_classes, weighted=True, n_rows=1500, n_levels=2 + n_classes % 2)
    state = state_of(name, coded)
    expected = walk(state)
    state.reset()
    np.testing.assert_array_equal(walk(state), expected)
    subsets = np.random.default_rng(0).random((9, coded.n_features)) < 0.5
    values = evaluate_subsets(state.problem.objective, subsets).values
    for subset, value in zip(subsets, values, strict=True):
        state.go_to(subset)
        np.testing.assert_allclose(state.problem.objective.sign * state.cost, value, rtol=1e-12, atol=1e-12)
    for engine in (Engine(512), Mapped(tmp_path, block_rows=700)):
        np.testing.assert_array_equal(walk(state_of(name, coded.on(engine))), expected)
    shuffled = coded.take(np.random.default_rng(2).permutation(coded.n_rows))
    np.testing.assert_allclose(walk(state_of(name, shuffled)), expected, rtol=1e-12, atol=1e-12)
    limits(parallel_work=1)
    np.testing.assert_array_equal(walk(state_of(name, coded, n_jobs=3)), expected)
    limits(scanned_codes=0)
    np.testing.assert_allclose(walk(state_of(name, coded, leave_out=True)), expected, rtol=1e-11, atol=1e-12)


@every_criterion
@two_or_three_classes
def test_weights_repeat_rows(name: str, n_classes: int) -> None:
    weighted = table(n_classes, weighted=True)
    times = np.asarray(weighted.weights, dtype=int)
    repeated = weighted.with_rows(weights=None).take(np.repeat(np.arange(times.size), times))
    one, other = (walk(state_of(name, coded)) for coded in (weighted, repeated))
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
