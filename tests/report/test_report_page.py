"""Parts of a report that need no model: sizes of pages, lines of tables, curves, and values that stand for levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB
from bayesieve.evaluation.rule_effects import RuleEffect
from bayesieve.report import ReportData, render_card, render_report
from bayesieve.report.changes import change_data
from bayesieve.report.feature_data import by_chance, cell_lines
from bayesieve.report.features import curve_ends, density_frame
from bayesieve.report.report import column_lines, page_data, search_parts
from bayesieve.report.tables import shared_tables
from bayesieve.table import as_table
from tests.report.markup import read, texts
from tests.report.sample import synthetic


def size(data: ReportData) -> int:
    return len(render_report(data).encode())


@pytest.mark.parametrize(("shape", "most"), [((2, 300, 12), 2_500_000), ((26, 16, 6), 1_200_000)])
def test_pages_stay_small(shape: Sequence[int], most: int) -> None:
    n_classes, n_features, n_levels = shape
    assert size(synthetic(n_classes=n_classes, n_features=n_features, n_levels=n_levels)) < most


def test_confusions_of_many_classes_and_the_card() -> None:
    data = synthetic(n_classes=30)
    assert "Most frequent confusions" in render_report(data)
    card = read(render_card(data))
    assert "feature_00000" in card[0].text
    assert texts(read(render_report(data)), "h1") == ["A synthetic table"]


@pytest.mark.parametrize(
    ("log_bayes", "text"),
    [(-1.0, "under 2"), (math.log(318.0), "320"), (math.log(2.4e5), "240,000"), (1e4, "over 1,000,000")],
)
def test_odds_against_chance_are_rounded(log_bayes: float, text: str) -> None:
    assert by_chance(log_bayes) == text


def test_densities_of_very_narrow_and_very_wide_intervals() -> None:
    assert curve_ends([(-1.7e308, 1.7e308, 3.0)]) is None
    narrow = [(None, 1e-300, 3.0), (1e-300, 1.1e-300, 2.0), (1.1e-300, 1e300, 4.0), (1e300, None, 1.0)]
    with np.errstate(over="raise"):
        for end in (1e307, np.finfo(float).max / 2.0):
            assert sum(density_frame(narrow, -end, end)["rows"]) == pytest.approx(10.0, rel=1e-3)


def test_values_of_a_page_stand_for_their_parts() -> None:
    rng = np.random.default_rng(3)
    z = rng.normal(size=900)
    moments = pl.Series((z * 1e12).astype(np.int64))
    table = pl.DataFrame(
        {
            "number": np.where(rng.random(900) < 0.3, np.nan, z * 1e-7),
            "day": pl.Series((z * 500).astype(int)).cast(pl.Date),
            "moment": moments.cast(pl.Datetime("us")),
            "length": moments.cast(pl.Duration("us")),
            "text": np.where(z > 0.5, "a|b", np.where(z > 0, "", "{x}")),
        }
    )
    y = np.where(z + rng.normal(size=900) > 0, "p", "q")
    for name in table.columns:
        card = SelectiveNB("all", calibrate=False).fit(table.select(name), y).scorecard_
        (column,), labels = change_data(card), list(card[name].levels.labels)
        explained = card.explain(pl.DataFrame({name: pl.Series(column["values"], dtype=pl.String)}))
        assert explained.levels[:, 0].tolist() == labels[len(labels) - len(column["values"]) :]
        assert len(column["values"]) > 1
        assert name != "day" or all(value.startswith("19") for value in column["values"])


@pytest.mark.parametrize(
    ("cuts", "values"), [([10, 40], ["9", "20", "44"]), ([0], ["-1", "1"]), ([0.25, 0.26], ["0.2", "0.26", "0.3"])]
)
def test_values_of_intervals_are_short_and_near_them(cuts: list[float], values: list[str]) -> None:
    X = pl.DataFrame({"x": np.append(np.linspace(-1, 90, 400), np.linspace(0.25, 0.26, 9))})
    card = SelectiveNB("all", levels={"x": {"cuts": cuts}}, calibrate=False).fit(X, X["x"] > cuts[-1]).scorecard_
    (column,) = change_data(card)
    assert column["values"] == values
    assert list(column["labels"]) == list(card["x"].levels.labels)
    assert (column["ordered"], column["fixed"], column["usual"]) == (True, False, len(cuts))


@pytest.mark.parametrize("unit", [1, "D", "us"])
def test_columns_of_a_single_interval_have_a_value(unit: Any) -> None:
    value = 7 if unit == 1 else np.datetime64(7, unit).item()
    X = pl.DataFrame({"x": [None] * 20 + [value] * 20})
    (column,) = change_data(SelectiveNB("all", calibrate=False).fit(X, ["p"] * 15 + ["q"] * 25).scorecard_)
    assert column["values"] in (["0"], ["1970-01-01"], ["1970-01-01T00:00:00"])


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([9, 9, 9, 9], [[0], [1], [2], [3]]),
        ([3, 9, 9, 9], [[0, 1], [2], [3]]),
        ([9, 2, 2, 9], [[0], [1, 2, 3]]),
        ([9, 9, 9, 2], [[0], [1], [2, 3]]),  # the last interval has no neighbour above
        ([2, 1, 1, 2], [[0, 1, 2, 3]]),
    ],
)
def test_intervals_of_few_rows_join_their_neighbours(rows: list[float], lines: list[list[int]]) -> None:
    cells = SimpleNamespace(groups=None, n_special_levels=0)
    feature: Any = SimpleNamespace(counts=np.array(rows)[:, None], cells=cells, level_of_cell=np.zeros(4, dtype=int))
    assert cell_lines(feature, 5) == lines


def test_columns_share_the_importance_of_their_pairs() -> None:
    columns = [("a", "b"), ("a",), ("c",), ("a",), ("d",)]
    amounts, selected = [0.5, 0.25, 0.125, 0.125, math.nan], [True, True, False, True, False]
    features = [
        feature | {"name": f"f{i}", "columns": columns[i], "importance": amounts[i], "selected": selected[i]}
        for i, feature in enumerate(synthetic(n_features=5).features)
    ]
    lines = column_lines(replace(synthetic(), features=features, stability={"b": 0.75}))
    assert [line["name"] for line in lines] == ["a", "b", "c", "d"]
    assert [line["importance"] for line in lines] == [0.625, 0.25, 0.125, 0.0]
    assert [line["stability"] for line in lines] == [None, 0.75, None, None]
    assert [line["n_own"] for line in lines] == [2, 0, 1, 1]
    assert [line["own"] and line["own"]["name"] for line in lines] == [None, None, "f2", "f4"]
    assert [line["features"] for line in lines] == [[(0, "f0"), (1, "f1"), (2, "f3")], [(0, "f0")], [], []]


def test_tables_of_two_classes_count_the_positive_one() -> None:
    data = synthetic(classes=("bad", "good"))
    tables = [shared_tables(replace(data, positive=positive)) for positive in (0, 1)]
    counts = data.performance.class_rows
    for positive, (table, label, other) in enumerate(zip(tables, ("bad", "good"), ("good", "bad"), strict=True)):
        assert table["measures"].rows[1][:2] == [f"Rows of {label}", f"{counts[positive]:,.0f}"]
        assert table["strategy"].heads[:4] == (
            f"Probability of {label}",
            "Rows",
            f"Rows of {other}",
            f"Rate of {other}",
        )
    three = shared_tables(synthetic(n_classes=3))
    assert not any(line[0].startswith("Rows of") for line in three["measures"].rows)
    assert three["strategy"] is None
    assert [line[1:] for line in three["classes"].rows] == [
        (f"{n:.0f}", f"{n / 1173:.1%}") for n in synthetic(n_classes=3).class_counts
    ]


def test_an_averaging_search_is_described_by_its_starts() -> None:
    sentence, figures = search_parts(synthetic())
    assert "1 distinct model evaluated from 4 starts in 500 ms." in sentence
    assert list(figures) == ["search"]
    assert search_parts(replace(synthetic(), search=None)) == ("", {})


def test_rules_whose_effect_is_unknown_have_empty_cells_for_it() -> None:
    data = synthetic(classes=("bad", "good"))
    effects = {"feature_00000": RuleEffect(0.3, 0.4, 7), "feature_00001": None}
    features = [
        feature | {"by_hand": "cuts: 1" if feature["name"] in effects else None, "effect": effects.get(feature["name"])}
        for feature in data.features
    ]
    table = shared_tables(replace(data, features=features))["rules"]
    assert table is not None
    lines = {line[0]: dict(zip(table.heads, line, strict=True)) for line in table.rows}
    learnt = [[lines[name][head] for head in ("Learnt levels", "By hand", "Learnt")] for name in effects]
    assert learnt == [["7", "0.3000", "0.4000"], ["", "", ""]]
    assert "Held-out gain" not in table.heads
    measured = shared_tables(replace(data, features=[feature | {"gain": 0.1} for feature in features]))["rules"]
    assert "Held-out gain" in measured.heads
    assert shared_tables(data)["rules"] is None


def test_bars_of_columns_are_shares_of_the_longest() -> None:
    data = synthetic(n_features=5)
    widths = [float(e.attributes["data-width"]) for e in read(render_report(data)) if "data-width" in e.attributes]
    amounts = [line["importance"] for line in column_lines(data)]
    assert widths[0] == 100.0
    np.testing.assert_allclose(widths[: len(amounts)], [100 * amount / amounts[0] for amount in amounts], atol=0.05)


def test_the_only_complete_row_is_the_usual_one() -> None:
    X = pl.DataFrame({"x": np.arange(90.0), "word": ["u", "v", "w"] * 30})
    rules: dict[str, Any] = {"x": {"cuts": [29.5, 59.5], "include": True}, "word": {"include": True}}
    model = SelectiveNB("all", levels=rules, calibrate=False, pairs=0).fit(X, (X["x"] > 45) | (X["word"] == "u"))
    rows = pl.DataFrame({"x": [None, 80.0, None, 45.0], "word": ["u", "w", "v", None]})
    columns = change_data(model.scorecard_, as_table(rows))
    usual = {column["name"]: column["values"][column["usual"]] for column in columns}
    assert usual == {"x": "70", "word": "v"}  # texts that stand for values above 59.5, and for v and w


def test_only_figures_of_several_models_are_coloured_by_model() -> None:
    reliability = page_data(synthetic(classes=("bad", "good")))["templates"]["reliability"]
    assert not any("color" in layer["encoding"] for layer in reliability["layer"])
