"""What is done for all features at once is what is done for each; searches that end early end with the same subset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayesieve import AccuracySelector, AllFeatures, AUCSelector, DiscreteNB, WrapperSelector
from bayesieve.counts import CodedTable, log_probabilities
from bayesieve.counts.contingency import log_probabilities_of_all
from bayesieve.search import SearchState, SubsetProblem


def coded_table(n_features: int, n_classes: int = 2, weighted: bool = False, seed: int = 0) -> CodedTable:
    """Codes of one to six levels, most of them noise, more features than rows."""
    rng = np.random.default_rng(seed)
    n_rows = 70
    classes = np.sort(rng.integers(0, n_classes, n_rows)).astype(np.uint8)
    n_levels = rng.integers(1, 7, n_features)
    codes = rng.integers(0, n_levels[:, None] + (n_levels[:, None] > 4), (n_features, n_rows))
    told = rng.random((n_features, n_rows)) < 0.3
    codes = np.where(told, np.minimum(classes, n_levels[:, None] - 1), codes).astype(np.uint8)
    weights = rng.integers(1, 4, n_rows) / 3 if weighted else None
    names = tuple(f"f{k}" for k in range(n_features))
    return CodedTable(codes, n_levels, names, classes, np.arange(n_classes), weights)


@pytest.mark.parametrize(("selector", "criterion"), [(AccuracySelector, "error"), (AUCSelector, "auc")])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_perfect_subset_ends_the_search(selector: Any, criterion: str, n_classes: int) -> None:
    table = coded_table(120, n_classes)
    found = selector().fit_coded(table)
    full = WrapperSelector(criterion, direction="forward", evaluation="train").fit_coded(table)
    assert found.support_.tolist() == full.support_.tolist()
    path, longer = (one.trace_.to_frame().drop("seconds") for one in (found, full))
    assert path.height == found.support_.sum() + 1 < longer.height
    assert path.equals(longer.head(path.height))
    assert path["criterion"][-1] == pytest.approx(0.0 if criterion == "error" else 1.0, abs=1e-12)
    assert found.trace_.complete


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("smoothing", ["m-estimate", 1e-9, 2.0])
def test_all_features_walk_as_one_by_one(n_classes: int, weighted: bool, smoothing: Any) -> None:
    table = coded_table(300, n_classes, weighted)
    trace = AllFeatures(smoothing=smoothing).fit_coded(table).trace_.to_frame()
    problem = SubsetProblem.of(table, smoothing)
    state, costs = SearchState(problem), []
    for feature in problem.candidates.tolist():
        costs.append(float(state.candidates(np.array([feature]))[0]))
        state.flip(feature, costs[-1])
    assert trace["criterion"][1:].to_list() == costs
    assert trace["feature"][1:].to_list() == [table.names[k] for k in problem.candidates]
    assert trace["n_features"].to_list() == list(range(len(costs) + 1))


@pytest.mark.parametrize("smoothing", ["m-estimate", 0.5])
def test_log_probabilities_of_all_are_those_of_each(smoothing: Any) -> None:
    counts = coded_table(40, 3, weighted=True).counts
    together = log_probabilities_of_all(counts.counts, counts.offsets, counts.total, smoothing)
    each = [log_probabilities(counts.feature(k), counts.total, smoothing) for k in range(counts.n_features)]
    assert together.tolist() == np.concatenate(each).tolist()
    model = DiscreteNB(smoothing=smoothing).fit(coded_table(40, 3, weighted=True))
    assert all(np.array_equal(found, one) for found, one in zip(model.feature_log_prob_, each, strict=True))


def test_a_coded_table_is_sorted_and_counted_once() -> None:
    table = coded_table(5)
    assert table.by_class is table
    mixed = table.take(np.arange(table.n_rows)[::-1])
    assert mixed.by_class is mixed.by_class
    assert mixed.by_class.rows.is_sorted_by_class
    assert not mixed.rows.is_sorted_by_class
    assert mixed.counts is mixed.counts
    assert mixed.counts.counts.tolist() == table.counts.counts.tolist()
