"""Folds made from a number are the same in every place that takes one, and hold rows from the whole table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from bayesieve import DependenceClusterSelector, SelectiveNB, ThresholdTuner, WrapperSelector
from bayesieve.selection.row_splits import row_splits
from bayesieve_lab import selection_stability

N = 600


def sorted_by_time() -> tuple[pl.DataFrame, np.ndarray]:
    """Rows whose classes, and the evidence for them, drift with time."""
    rng = np.random.default_rng(0)
    time = np.linspace(0, 1, N)
    x = rng.normal(size=(N, 3))
    y = rng.random(N) < 1 / (1 + np.exp(-(2 * x[:, 0] + 2 * x[:, 1] * (time - 0.5) - 4 + 6 * time)))
    return pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "day": (time * 100).round()}), y.astype(int)


FRAME, Y = sorted_by_time()


def walked(trace: Any) -> list[float]:
    return trace.to_frame()["criterion"].to_list()


def report(cv: Any) -> Any:
    from bayesieve.classifier.report_data import report_data

    return report_data(SelectiveNB("map").fit(FRAME, Y), FRAME, Y, cv=cv).performance.log_loss


PLACES: dict[str, Callable[[Any], Any]] = {
    "tuner": lambda cv: ThresholdTuner(SelectiveNB("map"), cv=cv).fit(FRAME, Y).best_threshold_,
    "wrapper": lambda cv: walked(WrapperSelector("log_loss", direction="forward", evaluation=cv).fit(FRAME, Y).trace_),
    "clusters": lambda cv: walked(DependenceClusterSelector(evaluation=cv, scoring="log_loss").fit(FRAME, Y).trace_),
    "stability": lambda cv: selection_stability("compression", FRAME, Y, cv=cv).weights.tolist(),
    "report": report,
}


@pytest.mark.parametrize("place", PLACES)
def test_a_number_of_folds_is_shuffled_everywhere(place: str) -> None:
    found = PLACES[place](5)
    assert found == PLACES[place](5)
    assert found == PLACES[place](StratifiedKFold(5, shuffle=True, random_state=0))
    assert found != PLACES[place](StratifiedKFold(5))  # a splitter is taken as it is


def test_the_threshold_of_a_table_sorted_by_time_serves_other_rows() -> None:
    rng = np.random.default_rng(1)
    time = np.linspace(0, 1, 6000)
    x = rng.normal(size=6000)
    y = (rng.random(6000) < 1 / (1 + np.exp(-(2 * x - 6 + 6 * time)))).astype(int)
    X = np.column_stack([x, (time * 1000).round()])
    learnt, new = np.arange(6000) % 3 > 0, np.arange(6000) % 3 == 0
    tuner = ThresholdTuner(SelectiveNB("map")).fit(X[learnt], y[learnt])
    assert 0 < tuner.best_threshold_ < 0.5
    assert balanced_accuracy_score(y[new], tuner.predict(X[new])) > 0.8


def test_the_seed_of_a_selector_is_that_of_its_folds() -> None:
    def values(seed: Any, cv: Any = 4) -> list[float]:
        selector = WrapperSelector("log_loss", direction="forward", evaluation=cv, random_state=seed)
        return walked(selector.fit(FRAME, Y).trace_)

    assert values(7) == values(7) == values(None, StratifiedKFold(4, shuffle=True, random_state=7))
    assert values(7) != values(8)
    assert values(None) == values(0)
    rows = [row_splits(4, Y, seed=seed)[0][1].tolist() for seed in (7, 7, 8)]
    assert rows[0] == rows[1] != rows[2]


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_every_row_that_counts_is_tested_once(n_classes: int, weighted: bool, grouped: bool) -> None:
    rng = np.random.default_rng(n_classes)
    labels = np.sort(rng.integers(0, n_classes, 300)).astype(str)
    weights = rng.integers(0, 3, 300).astype(float) if weighted else None
    groups = np.repeat([f"g{i}" for i in range(60)], 5)[rng.permutation(300)] if grouped else None
    splits = row_splits(5, labels, groups, seed=3, weights=weights)
    counted = np.arange(300) if weights is None else np.flatnonzero(weights)
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), counted)
    for train, test in splits:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), counted)
        assert groups is None or not set(groups[train]) & set(groups[test])
        assert groups is not None or np.ptp(test) > 200  # from all over the table
    for label in np.unique(labels) if groups is None else ():
        assert np.ptp([np.count_nonzero(labels[test] == label) for _, test in splits]) <= 1


def test_groups_stay_together_in_folds_of_a_number() -> None:
    groups = np.arange(N) // 6
    splitter = StratifiedGroupKFold(4, shuffle=True, random_state=0)
    tuners = [ThresholdTuner(LogisticRegression(), cv=cv).fit(FRAME, Y, groups=groups) for cv in (4, splitter)]
    assert tuners[0].best_threshold_ == tuners[1].best_threshold_
    traces = [
        walked(WrapperSelector("log_loss", direction="forward", evaluation=cv).fit(FRAME, Y, groups=groups).trace_)
        for cv in (4, splitter)
    ]
    assert traces[0] == traces[1] != PLACES["wrapper"](4)
    found = [selection_stability("map", FRAME, Y, cv=cv, groups=groups).weights.tolist() for cv in (4, splitter)]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("cv", "groups", "message"),
    [
        (1, None, "cv must be between 2 and .*, the number of rows of the most frequent class"),
        (N, None, "cv must be between 2 and .*, the number of rows of the most frequent class"),
        (5, np.arange(N) % 4, r"cv must be at most the number of groups \(4\), got 5"),
        (5, np.arange(N - 1), "inconsistent numbers of samples"),
        (True, None, "cv must be a number of folds"),
        ("five", None, "cv must be a number of folds"),
        ([], None, "cv must give at least one pair"),
        ([(np.arange(3), [])], None, "The test rows of cv must be positions from 0 to 599, at least one in every fold"),
    ],
)
def test_one_clear_sentence(cv: Any, groups: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        row_splits(cv, Y, groups)
