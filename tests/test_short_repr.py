"""Reprs of objects that hold much: short on wide tables, escaped in notebooks."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import bayesieve as b
from bayesieve.classifier.report_data import report_data
from bayesieve.scorecard.explanation import Explanation
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
    second = rng.random(90) < 0.4
    curves = [b.gains_curve(second, rng.random(90)), b.profit_curve(second, rng.random(90), benefit=[[0, 0], [-1, 1]])]
    objects = [
        *(*curves, b.calibration_summary(second, rng.random(90)), model.scorecard_.features[0], b.drift(model, X)),
        *(model, model.trace_, model.encoder_, model.selector_, model.scorecard_, model.encoder_.levels_),
        *(
            model.encoder_.levels_[0],
            model.encoder_.levels_[69],
            model.scorecard_.explain(X),
            coded,
            coded.counts,
        ),
        *(indicators, indicators.levels[0], report, report.performance, report.search),
        *(b.path_figure(model.trace_), as_table(X), as_target(y)),
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
        (np.arange(1000) / 2, "[0, 0.5, 1, ... 997 more]"),
        (np.array(["bad", "good"], dtype=object), "['bad', 'good']"),
        (["a" * 15, "b" * 15, "c" * 15, "d", "e"], f"['{'a' * 15}', '{'b' * 15}', ... 3 more]"),
        ((0.1 + 0.2,), "(0.3,)"),
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


def test_representations_show_content() -> None:
    """Key numbers in one line, and a few rows in notebooks."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = pl.DataFrame({"good one": y + rng.normal(size=200), "noise": rng.normal(size=200)})
    model = b.SelectiveNB("map").fit(X, y)
    score = model.predict_proba(X)[:, 1]
    gains, profit = b.gains_curve(y, score), b.profit_curve(y, score, benefit=[[0, 0], [-1, 1]])
    explanation = model.scorecard_.explain(X)
    chance = model.predict_proba(X[:1]).max()
    wanted: list[tuple[Any, str, str]] = [
        (explanation, f"first_probability={chance:.6g}", "good one "),
        (explanation.against(0), "classes=[1]", "good one "),
        (model.trace_, "chosen=['good one']", "<td>add</td>"),
        (gains, f"gain_of_best_tenth={np.interp(0.1, gains.share, gains.gain):.6g}", "<th>lift</th>"),
        (profit, f"best_profit={profit.profit.max():.6g}", "<th>profit</th>"),
        (b.calibration_summary(y, score), "expected_calibration_error=", "<th>observed</th>"),
        (b.drift(model, X), "largest_psi_feature=", "<iframe"),
        (b.evaluate(model, X, y), "auc=", "<table"),
        (model.scorecard_, "first=['good one']", "<td>good one</td>"),
        (model.encoder_.levels_[0], "name='good one'", "<th>level</th>"),
        (model.scorecard_["good one"], "name='good one'", "<th>contributions</th>"),
    ]
    for value, text, html in wanted:
        assert text in repr(value), repr(value)
        assert html in value._repr_html_(), type(value)
        assert "array" not in repr(value)


def test_representations_of_large_results_cost_little() -> None:
    """Only what is shown is computed."""
    n, k = 100_000, 20
    contributions = np.full((n, k, 2), np.nan)
    contributions[:10] = 0.1
    names = [f"feature {i}" for i in range(k)]
    texts = np.full((n, k), "a", dtype=object)
    large = Explanation(np.arange(n), names, np.array([0, 1]), np.zeros(2), contributions, texts, texts, np.ones(k))
    assert "n_rows=100000" in repr(large)
    assert large._repr_html_().count("<tr>") < 30
    assert "nan" not in large._repr_html_()
