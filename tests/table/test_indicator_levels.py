"""Names, labels and JSON of indicator levels follow from column and threshold."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from bayesieve.table import as_table
from bayesieve.table.derived_levels import IndicatorLevels, indicator_name, number_text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.05, "0.05"), (3, "3"), (-0.0, "0"), (1e-9, "1e-09"), (0.1 + 0.2, "0.30000000000000004"), (1e300, "1e+300")],
)
def test_names_are_exact(number: float, text: str) -> None:
    assert number_text(number) == text
    assert float(text) == number
    assert indicator_name("u", number) == f"u<={text}"


def test_levels_of_an_indicator() -> None:
    plain = IndicatorLevels.of("u", 0.25, missing=False)
    assert (plain.name, plain.labels, plain.n_levels, plain.unseen_code) == ("u<=0.25", ("<= 0.25", "> 0.25"), 2, 2)
    full = IndicatorLevels.of("u", 0.25, missing=True, counts=np.array([[1, 2], [3, 4], [0, 1]]), level_score=0.5)
    assert (full.all_labels, full.missing_code, full.threshold) == (("<= 0.25", "> 0.25", "missing"), 2, 0.25)
    column = as_table(np.array([[0.25], [0.2500001], [np.nan], [-np.inf], [np.inf]])).column(0)
    assert full.code(column).tolist() == plain.code(column).tolist() == [0, 1, 2, 0, 1]
    again = IndicatorLevels.from_json(json.loads(json.dumps(full.to_json())))
    assert (again.name, again.column, again.missing_code, again.level_score) == ("u<=0.25", "u", 2, 0.5)
    np.testing.assert_array_equal(again.counts, full.counts)
    assert [plain.column, again.column] == ["u", "u"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": 3}, "score"),
        ({"missing": 1}, "missing"),
        ({"threshold": "0.5"}, "threshold"),
        ({"threshold": float("inf")}, "threshold"),
        ({"counts": [[1, 2], [3, 4], [5, 6]]}, "counts must have one row per level"),
        ({"level_score": 1.0}, "level_score must be in"),
        ({"other": 1}, "unknown field other"),
    ],
)
def test_damaged_levels_are_refused(change: dict[str, Any], message: str) -> None:
    data = {**IndicatorLevels.of("u", 0.5, missing=False, counts=np.ones((2, 2))).to_json(), **change}
    with pytest.raises(ValueError, match=message):
        IndicatorLevels.from_json(data)
