"""Reprs of objects that hold much: short on wide tables, escaped in notebooks."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import bayesieve as b
from bayesieve.classifier.report_data import report_data
from bayesieve.table import as_table, as_target
from bayesieve.words import shown

HOSTILE = "<script>alert(1)</script>"


@cache
def public_objects() -> dict[str, Any]:
    """One of each public class, of a wide table with long names and many values."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    columns: dict[str, Any] = {f"{HOSTILE} number {i}": y * (i % 3) + rng.normal(size=90) for i in range(60)}
    columns |= {f"{HOSTILE} text {i}": [f"value {v} of many" for v in rng.integers(0, 60, 90)] for i in range(10)}
    X = pl.DataFrame(columns)
    model = b.SelectiveNB("map").fit(X, y)
    coded = b.TableEncoder().fit_transform_coded(X, y)
    indicators = b.IndicatorEncoder(thresholds=3).fit_transform_coded(X[:, :60], y)
    report = report_data(model, X, y, cv=2, rows=1)
    stability = b.selection_stability("map", X[:, :40], y, cv=5)
    methods = {name: b.SelectiveNB(name) for name in ("all", "map", "mrmr")}
    comparison = b.compare(methods, X[:, :5], y, b.RepeatedFolds(10))
    objects = [
        *(model, model.trace_, model.encoder_, model.selector_, model.scorecard_, model.encoder_.levels_),
        *(
            model.encoder_.levels_[0],
            model.encoder_.levels_[69],
            model.explanation(X),
            coded,
            coded.counts,
        ),
        *(indicators, indicators.levels[0], report, report.performance, report.search, report.features[0]),
        *(report.features[0].cells[0], report.explained[0], report.explained[0].contributions[0]),
        *(comparison, comparison.protocol, stability, b.path_figure(model.trace_), b.stability_figure(stability)),
        *(as_table(X), as_target(y)),
    ]
    return {f"{type(value).__name__} {i}": value for i, value in enumerate(objects)}


def test_every_repr_is_short() -> None:
    lengths = {name: len(repr(value)) for name, value in public_objects().items()}
    assert {name: length for name, length in lengths.items() if length >= 500} == {}
    assert all(repr(value).startswith((name.split()[0], "<")) for name, value in public_objects().items())


def test_notebooks_show_them_escaped() -> None:
    for name, value in public_objects().items():
        if not name.startswith(("Table ", "Column ")):
            html = value._repr_html_()
            assert html.lstrip().startswith("<"), name
            assert HOSTILE not in html, name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.arange(3), "[0, 1, 2]"),
        (np.zeros((200, 3)), "<float64 array 200 x 3>"),
        (("a", "b"), "('a', 'b')"),
        (("a" * 100,), "<1 entry>"),
        (np.int64(3), "3"),
        ({"a": 1}, "{'a': 1}"),
        (None, "None"),
    ],
)
def test_values_are_shown_or_counted(value: Any, text: str) -> None:
    assert shown(value) == text
