"""Every path of the wrapper against the oracle, which refits a naive Bayes for every set of rows."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)

from bayesieve import WrapperSelector
from bayesieve.counts import CodedTable
from bayesieve.criteria import ExpectedCost, Precision, Recall
from bayesieve.selection import row_splits
from tests.cases import mostly_slow
from tests.limits import Limits
from tests.reference import wrapper

TOLERANCE = 1e-10
COSTS = np.array([[0.0, 1.0, 2.0, 0.5], [4.0, 0.0, 1.0, 3.0], [2.0, 2.0, 0.0, 1.0], [1.0, 3.0, 1.0, 0.0]])


def small_table(seed: int, n_classes: int, n_rows: int = 40, n_features: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Codes of features that follow the class more or less; the last repeats the second, which ties them."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    rng.shuffle(y)
    codes = np.empty((n_rows, n_features), dtype=np.int64)
    for k in range(n_features):
        n_levels = 2 + k % 3
        follows = rng.random(n_rows) < 0.15 * (1 + k)
        codes[:, k] = np.where(follows, (y + k) % n_levels, rng.integers(0, n_levels, n_rows))
    codes[:, -1] = codes[:, 1]
    return codes, y


def criterion_of(name: str, n_classes: int) -> tuple[Any, wrapper.Criterion]:
    """What the selector takes, and the oracle's function."""
    matrix = COSTS[:n_classes, :n_classes]
    if name == "expected_cost":
        return ExpectedCost(matrix), wrapper.expected_cost(matrix)
    if name == "recall":
        return Recall(1), wrapper.recall(1)
    if name == "precision":
        return Precision(1), wrapper.precision(1)
    return name, wrapper.CRITERIA[name]


CRITERIA = (*wrapper.CRITERIA, "expected_cost", "recall", "precision")
DIRECTIONS = ("forward", "backward", "forward-backward", "backward-forward")


def walked(selector: WrapperSelector) -> list[tuple[str, int | None, float]]:
    """Moves of a path; phases that found no move to make are left out."""
    frame = selector.trace_.to_frame()
    rows = list(zip(frame["start"], frame["move"], frame["feature"], frame["criterion"], strict=True))
    busy = {start for start, move, *_ in rows if move != "start"} | {0}
    columns = {f"x{k}": k for k in range(selector.n_features_in_)} | {None: None}
    return [(move, columns[feature], value) for start, move, feature, value in rows if start in busy]


def check_path(
    selector: WrapperSelector, steps: list[wrapper.Step], name: str, judge: wrapper.Cost | None = None
) -> None:
    """The same moves, the criterion to 1e-10, and the best subset of them all selected."""
    busy = {step.phase for step in steps if step.move != "start"} | {0}
    steps = [step for step in steps if step.phase in busy]
    found = walked(selector)
    assert [row[:2] for row in found] == [(step.move, step.feature) for step in steps]
    expected = [wrapper.value_of(name, step.cost) for step in steps]
    np.testing.assert_allclose([row[2] for row in found], expected, rtol=0, atol=TOLERANCE)
    best = wrapper.best_step(steps, judge)
    assert tuple(np.flatnonzero(selector.support_)) == best.subset


def folds_of(evaluation: Any, codes: np.ndarray, y: np.ndarray, groups: np.ndarray | None = None) -> list[wrapper.Fold]:
    if isinstance(evaluation, str):
        return wrapper.training_rows(len(y)) if evaluation == "train" else wrapper.leave_one_out(len(y))
    if isinstance(evaluation, Iterable):
        return list(evaluation)
    return [(train, test) for train, test in evaluation.split(codes, y, groups)]


def check(
    name: str,
    evaluation: Any,
    n_classes: int,
    *,
    directions: Iterable[str] = ("forward", "backward"),
    seed: int = 0,
    smoothing: float | str = 1.0,
    weights: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> None:
    codes, y = small_table(seed, n_classes)
    criterion, function = criterion_of(name, n_classes)
    rows = wrapper.refit(codes, y, folds_of(evaluation, codes, y, groups), smoothing=smoothing, weights=weights)
    cost = wrapper.as_cost(name, rows, function)
    for direction in directions:
        selector = WrapperSelector(
            criterion=criterion, direction=direction, evaluation=evaluation, smoothing=smoothing, encoder=None
        )
        selector.fit(codes, y, sample_weight=weights, groups=groups)
        check_path(selector, wrapper.search(cost, codes.shape[1], direction), name)


EVALUATIONS = {"train": "train", "loo": "loo", "folds": StratifiedKFold(4, shuffle=True, random_state=3)}


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize(
    ("evaluation", "n_classes"), mostly_slow(product(EVALUATIONS, [2, 4]), [("train", 4), ("loo", 2), ("folds", 4)])
)
def test_greedy_paths(name: str, evaluation: str, n_classes: int) -> None:
    check(
        name,
        EVALUATIONS[evaluation],
        n_classes,
        smoothing="m-estimate" if n_classes == 4 else 1.0,
        directions=DIRECTIONS,
    )


WEIGHTS = {
    "fractions": np.random.default_rng(2).uniform(0.2, 3.0, 40),
    "with zeros": np.where(np.arange(40) % 7 == 0, 0.0, np.random.default_rng(4).uniform(0.2, 3.0, 40)),
}


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize(
    ("evaluation", "weights"),
    mostly_slow(
        product(EVALUATIONS, WEIGHTS), [("train", "with zeros"), ("loo", "fractions"), ("folds", "with zeros")]
    ),
)
def test_row_weights(name: str, evaluation: str, weights: str) -> None:
    smoothing = "m-estimate" if weights == "fractions" else 1.0
    check(
        name,
        StratifiedKFold(4) if evaluation == "folds" else evaluation,
        3,
        weights=WEIGHTS[weights],
        smoothing=smoothing,
        directions=["forward"],
    )


GROUPS = np.repeat(np.arange(8), 5)
SPLITTERS = {
    "leave one out": (LeaveOneOut(), None),
    "unshuffled": (KFold(5), None),
    "groups": (GroupKFold(4), GROUPS),
    "leave a group out": (LeaveOneGroupOut(), GROUPS),
    "rows scored twice": (RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0), None),
    "some rows scored": (ShuffleSplit(3, test_size=0.3, random_state=0), None),
    "a list": ([(np.arange(0, 30), np.arange(30, 40)), (np.arange(10, 40), np.arange(0, 10))], None),
    "a bootstrap": ([(np.random.default_rng(0).integers(0, 30, 30), np.arange(30, 40))], None),
    "overlapping": ([(np.arange(40), np.arange(20)), (np.arange(5, 40), np.arange(40))], None),
}


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize(
    ("name", "n_classes"),
    mostly_slow(product(["error_probability", "log_loss", "auc", "map"], [2, 3]), [("log_loss", 3), ("auc", 2)]),
)
def test_splitters(name: str, splitter: str, n_classes: int) -> None:
    evaluation, groups = SPLITTERS[splitter]
    check(name, evaluation, n_classes, groups=groups, directions=["forward" if n_classes == 2 else "backward"])


def test_a_generator_of_splits_is_read_once() -> None:
    codes, y = small_table(0, 2)
    splits = list(KFold(4).split(codes))
    options = {"criterion": "log_loss", "direction": "backward-forward", "encoder": None, "smoothing": 1.0}
    first = WrapperSelector(**options, evaluation=iter(splits)).fit(codes, y)
    again = WrapperSelector(**options, evaluation=splits).fit(codes, y)
    assert walked(first) == walked(again)


@pytest.mark.parametrize("validation", CRITERIA)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_held_out_rows_choose_the_subset(validation: str, direction: str) -> None:
    weighted = direction in DIRECTIONS[1:3]
    codes, y = small_table(13, 3, n_rows=60)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60) if weighted else None
    guide = "brier" if weighted else "error_probability"
    chosen_by, function = criterion_of(validation, 3)
    selector = WrapperSelector(
        criterion=guide,
        direction=direction,
        evaluation="holdout",
        validation=chosen_by,
        validation_size=0.4,
        smoothing=1.0,
        encoder=None,
        random_state=5,
    ).fit(codes, y, sample_weight=weights)
    fitted, held = halves(y, 0.4, 5)
    cost = wrapper.as_cost(guide, wrapper.refit(codes, y, [(fitted, fitted)], weights=weights))
    judge = wrapper.as_cost(validation, wrapper.refit(codes, y, [(fitted, held)], weights=weights), function)
    steps = wrapper.search(cost, codes.shape[1], direction, judge=judge)
    check_path(selector, steps, guide, judge)
    frame = selector.trace_.to_frame()
    busy = {step.phase for step in steps if step.move != "start"}
    found = [value for start, value in zip(frame["start"], frame["validation"], strict=True) if start in busy]
    expected = [wrapper.value_of(validation, judge(step.subset)) for step in steps if step.phase in busy]
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


def halves(y: np.ndarray, size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows that a selector fits and those that it holds out, told by a column that numbers the rows."""
    coded = CodedTable(
        codes=np.arange(len(y), dtype=np.uint8)[None, :],
        n_levels=np.array([len(y)]),
        names=("row",),
        class_codes=y.astype(np.uint8),
        classes=np.unique(y),
    )
    fitted, held = row_splits.hold_out(coded, size, seed)
    return fitted.codes[0].astype(int), held.codes[0].astype(int)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("tol", [0.0, 0.01])
def test_tolerance(direction: str, tol: float) -> None:
    codes, y = small_table(3, 2)
    rows = wrapper.refit(codes, y, wrapper.leave_one_out(len(y)))
    for name in ("error", "error_probability", "auc"):
        cost = wrapper.as_cost(name, rows)
        selector = WrapperSelector(
            criterion=name, direction=direction, evaluation="loo", tol=tol, smoothing=1.0, encoder=None
        ).fit(codes, y)
        check_path(selector, wrapper.search(cost, codes.shape[1], direction, tol=tol), name)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize(
    ("n_classes", "weighted"), mostly_slow(product([2, 3], [False, True]), [(2, True), (3, False)])
)
def test_rows_that_leave_the_scan_change_nothing(name: str, n_classes: int, weighted: bool, limits: Limits) -> None:
    # Many near copies of one strong feature: nearly all rows are sure, right or wrong, long before the end of the path.
    limits(scanned_codes=0)
    rng = np.random.default_rng(n_classes)
    y = np.arange(80) % n_classes
    strong = np.where(rng.random(80) < 0.9, y, rng.integers(0, n_classes, 80))
    codes = np.where(rng.random((12, 80)) < 0.97, strong, rng.integers(0, n_classes, (12, 80))).T
    weights = rng.uniform(0.5, 2.0, 80) if weighted else None
    criterion, function = criterion_of(name, n_classes)
    rows = wrapper.refit(codes, y, wrapper.training_rows(80), smoothing=0.01, weights=weights)
    cost = wrapper.as_cost(name, rows, function)
    selector = WrapperSelector(
        criterion=criterion, direction="forward", evaluation="train", smoothing=0.01, encoder=None
    ).fit(codes, y, sample_weight=weights)
    check_path(selector, wrapper.search(cost, 12, "forward"), name)


@pytest.mark.parametrize("name", CRITERIA)
def test_a_class_without_training_rows(name: str) -> None:
    codes, y = small_table(0, 3, n_rows=36)
    y[:4] = 3  # the tables of the first part know no row of it
    splits = [(np.arange(18, 36), np.arange(18)), (np.arange(18), np.arange(18, 36))]
    criterion, function = criterion_of(name, 4)
    selector = WrapperSelector(criterion=criterion, direction="forward", evaluation=splits, smoothing=1.0, encoder=None)
    refused = ""
    try:
        selector.fit(codes, y)
    except ValueError as refusal:
        refused = str(refusal)
    if refused:
        # What depends on the true class and the most probable one only is known all the same.
        assert name not in ("error", "error_probability", "balanced_error", "recall")
        assert "class 3" in refused
    else:
        if name == "auc":  # there is no order to put the rows of a class nobody learnt in
            splits = [(train, test[np.isin(y[test], y[train])]) for train, test in splits]
        cost = wrapper.as_cost(name, wrapper.refit(codes, y, splits), function)
        check_path(selector, wrapper.search(cost, codes.shape[1], "forward"), name)
