"""Selective naive Bayes of Boullé (2007) against the golden enumerations of all subsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayesieve import BayesianAveraging, CompressionAveraging, MAPSelector
from tests import golden

COST_TOLERANCE = 1e-8
WEIGHT_TOLERANCE = 1e-9


def read(name: str) -> tuple[dict[str, Any], list[str], np.ndarray, np.ndarray]:
    """Golden values (m-estimate on P(level | class), K = all columns), column names, codes and labels."""
    values = golden.values("snb_exact", name)
    return values["variants"]["A_all"], values["variables"], golden.snb_codes(name), golden.target(name)


def options(**more: Any) -> dict[str, Any]:
    return {"encoder": None, "smoothing": "m-estimate", **more}


def check_best_subset(selector: Any, entry: dict[str, Any], columns: list[str]) -> None:
    assert [column for column, chosen in zip(columns, selector.support_, strict=True) if chosen] == entry["map_subset"]
    assert selector.trace_.best_criterion == pytest.approx(entry["map_cost"], rel=0, abs=COST_TOLERANCE)


@pytest.mark.parametrize("name", golden.SNB_TABLES)
def test_best_subset_by_enumeration(name: str) -> None:
    entry, columns, codes, y = read(name)
    selector = MAPSelector(**options(exhaustive=True)).fit(codes, y)
    check_best_subset(selector, entry, columns)
    expected = [1.0 if column in entry["map_subset"] else 0.0 for column in columns]
    np.testing.assert_array_equal(selector.weights_, expected)


@pytest.mark.parametrize("name", golden.SNB_TABLES)
@pytest.mark.parametrize(
    ("averaging", "key"), [(BayesianAveraging, "bma_weights"), (CompressionAveraging, "cma_weights")]
)
def test_average_weights_by_enumeration(name: str, averaging: Any, key: str) -> None:
    entry, columns, codes, y = read(name)
    selector = averaging(**options(exhaustive=True)).fit(codes, y)
    expected = [entry[key].get(column, 0.0) for column in columns]
    np.testing.assert_allclose(selector.weights_, expected, rtol=0, atol=WEIGHT_TOLERANCE)
    assert selector.trace_.best_criterion == pytest.approx(entry["map_cost"], rel=0, abs=COST_TOLERANCE)


@pytest.mark.parametrize("name", golden.SNB_TABLES)
@pytest.mark.parametrize("random_state", [None, 0, 1, 2])
def test_multi_start_search_finds_the_best_subset(name: str, random_state: int | None) -> None:
    entry, columns, codes, y = read(name)
    selector = MAPSelector(**options(exhaustive=False, random_state=random_state)).fit(codes, y)
    check_best_subset(selector, entry, columns)


@pytest.mark.parametrize("name", golden.SNB_TABLES)
def test_averages_over_the_search_find_the_best_subset(name: str) -> None:
    entry, _, codes, y = read(name)
    for averaging in (BayesianAveraging, CompressionAveraging):
        selector = averaging(**options(exhaustive=False)).fit(codes, y)
        assert selector.trace_.best_criterion == pytest.approx(entry["map_cost"], rel=0, abs=COST_TOLERANCE)
        assert np.all((selector.weights_ >= 0) & (selector.weights_ <= 1))


@pytest.mark.parametrize("name", golden.SNB_TABLES)
def test_features_of_one_level_weigh_nothing(name: str) -> None:
    _, _, codes, y = read(name)
    constant = codes.max(axis=0) == 0
    for averaging in (BayesianAveraging, CompressionAveraging):
        for exhaustive in (True, False):
            selector = averaging(**options(exhaustive=exhaustive)).fit(codes, y)
            assert not selector.weights_[constant].any()
            assert not selector.support_[constant].any()
