"""Indicators are numeric features with one given cut, named by their column and the cut."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from bayesieve import FeatureLevels, IndicatorEncoder, SelectiveNB
from bayesieve.discretize.indicators import indicator_name, number_text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.05, "0.05"), (3, "3"), (-0.0, "0"), (1e-9, "1e-09"), (0.1 + 0.2, "0.30000000000000004"), (1e300, "1e+300")],
)
def test_names_are_exact(number: float, text: str) -> None:
    assert number_text(number) == text
    assert float(text) == number
    assert indicator_name("u", number) == f"u<={text}"


def test_levels_of_indicators_survive_in_json() -> None:
    X = np.array([[0.25], [0.2500001], [np.nan], [0.9]])
    for level in IndicatorEncoder([0.25, 0.5]).fit(X, [0, 1, 0, 1]).levels_:
        again = FeatureLevels.from_json(json.loads(json.dumps(level.to_json())))
        assert (again.name, again.column, again.missing_code, again.labels) == (level.name, "x0", 0, level.labels)
        np.testing.assert_array_equal(again.counts, level.counts)
        np.testing.assert_array_equal(again.cut_points, level.cut_points)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"column": 3}, "column"),
        ({"cut_points": ["0.5"]}, "cut_points"),
        ({"counts": [[1, 2], [3, 4], [5, 6]]}, "counts must have one row per level"),
        ({"score": "u"}, "unknown field score"),
    ],
)
def test_damaged_levels_are_refused(change: dict[str, Any], message: str) -> None:
    (level,) = IndicatorEncoder([0.5]).fit(np.arange(4.0)[:, None] / 4, [0, 1, 0, 1]).levels_
    with pytest.raises(ValueError, match=message):
        FeatureLevels.from_json({**level.to_json(), **change})


def test_rules_for_levels_do_not_hold_indicators() -> None:
    X = np.arange(40.0)[:, None]
    y = X[:, 0] > 12
    model = SelectiveNB(encoder=IndicatorEncoder([12.0, 20.0])).fit(X, y)
    refused = r"cannot be a model with indicators .*; .* pass encoder=IndicatorEncoder\(thresholds="
    with pytest.raises(ValueError, match=refused):
        model.levels_to_yaml()
    with pytest.raises(ValueError, match=refused):
        SelectiveNB(levels=model.scorecard_).fit(X, y)
    again = SelectiveNB(encoder=IndicatorEncoder(model.encoder_.thresholds_)).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
