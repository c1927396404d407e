"""Wrapper selection against the golden greedy paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayesieve import WrapperSelector
from bayesieve.counts import CodedTable
from bayesieve.criteria import make_criterion
from bayesieve.search import GreedySearch, SubsetProblem
from tests import golden

CASES = [
    (name, criterion, direction)
    for name in golden.WRAPPER_TABLES
    for criterion in golden.WRAPPER_CRITERIA.values()
    for direction in ("forward", "backward")
]


def fit(name: str, criterion: str, direction: str, **more: Any) -> WrapperSelector:
    columns, codes, y = golden.coded_table(name)
    selector = WrapperSelector(
        criterion=criterion, direction=direction, evaluation="train", smoothing=1.0, encoder=None, **more
    )
    return selector.fit(pd.DataFrame(codes, columns=list(columns)), y)


@pytest.mark.parametrize(("name", "criterion", "direction"), CASES)
def test_order_and_criterion_of_the_whole_path(name: str, criterion: str, direction: str) -> None:
    entry = golden.wrapper_path(name, "frequency_prior", criterion, direction)
    columns = golden.coded_table(name)[0]
    frame = fit(name, criterion, direction, tol=None).trace_.to_frame()
    assert frame["feature"].to_list() == [None, *(columns[k] for k in entry["order"])]
    moves = ["add" if direction == "forward" else "drop"] * len(columns)
    assert frame["move"].to_list() == ["start", *moves]
    sizes = list(range(len(columns) + 1))
    assert frame["n_features"].to_list() == (sizes if direction == "forward" else sizes[::-1])
    np.testing.assert_allclose(frame["criterion"], entry["values"], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "criterion", "direction"), CASES)
def test_smallest_of_the_best_subsets_is_selected(name: str, criterion: str, direction: str) -> None:
    entry = golden.wrapper_path(name, "frequency_prior", criterion, direction)
    n_columns = len(entry["order"])
    costs = np.array(entry["values"]) * (-1 if criterion == "auc" else 1)
    sizes = np.arange(n_columns + 1) if direction == "forward" else n_columns - np.arange(n_columns + 1)
    best = min(np.flatnonzero(costs <= costs.min() + 1e-12), key=lambda k: sizes[k])
    moved = entry["order"][:best]
    expected = moved if direction == "forward" else sorted(set(range(n_columns)) - set(moved))
    selector = fit(name, criterion, direction, tol=None)
    assert np.flatnonzero(selector.support_).tolist() == sorted(expected)
    np.testing.assert_array_equal(selector.weights_, selector.support_.astype(float))


@pytest.mark.parametrize(("name", "criterion", "direction"), CASES)
def test_without_tolerance_a_search_ends_where_it_stops_improving(name: str, criterion: str, direction: str) -> None:
    entry = golden.wrapper_path(name, "frequency_prior", criterion, direction)
    selector = fit(name, criterion, direction, tol=0.0)
    assert np.flatnonzero(selector.support_).tolist() == sorted(entry["selected_at_stop"])


@pytest.mark.parametrize("name", golden.WRAPPER_TABLES)
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_fixed_number_of_features_is_a_piece_of_the_path(name: str, direction: str) -> None:
    entry = golden.wrapper_path(name, "frequency_prior", "brier", direction)
    n_columns = len(entry["order"])
    selector = fit(name, "brier", direction, n_features_to_select=3)
    moved = entry["order"][: 3 if direction == "forward" else n_columns - 3]
    expected = moved if direction == "forward" else set(range(n_columns)) - set(moved)
    assert np.flatnonzero(selector.support_).tolist() == sorted(expected)


@pytest.mark.parametrize("prior", golden.WRAPPER_PRIORS)
@pytest.mark.parametrize(("name", "criterion", "direction"), CASES)
def test_paths_with_either_class_prior(name: str, criterion: str, direction: str, prior: str) -> None:
    entry = golden.wrapper_path(name, prior, criterion, direction)
    columns, codes, y = golden.coded_table(name)
    coded = CodedTable(
        codes=np.ascontiguousarray(codes.T, dtype=np.uint8),
        n_levels=codes.max(axis=0) + 1,
        names=columns,
        class_codes=y.astype(np.uint8),
        classes=np.unique(y),
    )
    problem = SubsetProblem.of(
        coded,
        1.0,
        make_criterion(criterion, len(columns), np.unique(y)),
        class_smoothing=float(prior == "laplace_prior"),
        every_feature=True,
    )
    trace = GreedySearch(direction).run(problem)
    frame = trace.to_frame()
    assert frame["feature"].to_list() == [None, *(columns[k] for k in entry["order"])]
    np.testing.assert_allclose(frame["criterion"], entry["values"], rtol=0, atol=1e-12)
