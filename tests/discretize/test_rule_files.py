"""Files of levels: what people write and what `levels_to_yaml` writes means the values of the columns, whatever YAML
takes them for.
"""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from bayesieve import SelectiveNB, TableEncoder
from bayesieve.discretize.rules import TableRules
from bayesieve.table.yaml_files import read_yaml, write_yaml
from tests.cases import mostly_slow

ODD_TEXTS = [
    *("yes", "NO", "on", "n", "null", "Null", "~", "", "true", "007", "010", "0x1F", "1_000", "12:30", "1e3", "1.50"),
    *("2024-01-01", ".inf", "nan", " x ", "a: b", "- c", "#d", "<<", "=", "é", "'", '"', "a\\n", "---", "\U0001f600"),
    *("and so on\x85", "\x07", "\x7f", "\u2028", "\ufeff", "\uffff", "a\tb", "a\r\nb", "\n", f"{'long ' * 40}end"),
]


def table(seed: int = 0, n: int = 600) -> tuple[pl.DataFrame, np.ndarray]:
    """A column of every type, each of which says something about the classes, some of them with missing values."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)

    def drawn(values: list[Any]) -> list[Any]:
        return [values[k] for k in (rng.integers(0, len(values), n) * (1 + y) // 2).tolist()]

    number = rng.normal(size=n) + y
    day = rng.integers(0, 700, n) + 300 * y
    midnight = dt.datetime(2020, 1, 1)
    columns = {
        "yes: #": drawn([True, False, None]),
        "whole": drawn([1, 2, 3, 40, 50]),
        "float": [None if k % 7 == 0 else float(value) for k, value in enumerate(number)],
        "decimal": [decimal.Decimal(f"{value:.3f}") for value in number[::-1]],
        "date": [dt.date(2020, 1, 1) + dt.timedelta(days=int(k)) for k in day],
        "datetime": [midnight + dt.timedelta(microseconds=int(k) * 10_000_001) for k in day],
        "time": [(midnight + dt.timedelta(seconds=int(k) * 61)).time() for k in day],
        "text\x85": drawn([*ODD_TEXTS, None]),
    }
    few = pl.Series("category", drawn(["no", "1", "1.0", "off"]))
    return pl.DataFrame(columns).with_columns(
        few.cast(pl.Categorical), few.alias("enum").cast(pl.Enum(few.unique()))
    ), y


def test_every_text_survives_a_file(tmp_path: Path) -> None:
    content = {"c\x85": {"groups": [ODD_TEXTS, [None, True, 1, 1.5, 1e22, float("inf")]], "special": {}}}
    content["c\x85"]["special"] = {text: [text] for text in ODD_TEXTS}  # type: ignore[call-overload]
    (tmp_path / "levels.yaml").write_text(write_yaml(content), encoding="utf-8")
    groups = [ODD_TEXTS, [None, "true", "1", "1.5", "1e+22", "inf"]]
    read = read_yaml(tmp_path / "levels.yaml", with_null=True)
    assert read == {"c\x85": {"groups": groups, "special": {text: [text] for text in ODD_TEXTS}}}


@pytest.mark.parametrize(
    "kinds", mostly_slow([None, dict.fromkeys(["whole", "decimal", "date", "datetime", "time"], "categorical")], [None])
)
def test_an_unedited_file_gives_the_same_model_of_columns_of_every_type(kinds: Any, tmp_path: Path) -> None:
    frame, y = table()
    encoder = TableEncoder(kinds=kinds, categorical="values")
    model = SelectiveNB(encoder=encoder).fit(frame, y)
    text = model.levels_to_yaml(tmp_path / "levels.yaml")
    again = SelectiveNB(encoder=TableEncoder(kinds=kinds, categorical="values", levels=tmp_path / "levels.yaml"))
    assert again.fit(frame, y).levels_to_yaml() == text
    assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


@pytest.mark.parametrize(
    ("values", "written", "groups"),
    [
        (["yes", "NO", "maybe"], "[[yes], [NO], [maybe]]", None),
        (["007", "010", "11"], "[['007'], [010], [11]]", None),
        (["1_000", "12:30", "0x1F"], "[[1_000], [12:30], [0x1F]]", None),
        (["2024-01-01", "1e3", "1.50"], "[[2024-01-01], [1e3], [1.50]]", None),
        (["null", "NULL", None], "[['null'], [NULL], [null]]", None),
        (["", "~", None], "[[''], ['~'], [~]]", None),
        ([True, False, None], "[[yes], [no, false], [~]]", [(True,), (False,), (None,)]),
        ([True, False, None], "[[false, null], [TRUE]]", [(False, None), (True,)]),
        ([7, 10, -1], "[[007], [10.0], ['-1']]", [(7,), (10,), (-1,)]),
        ([1.5, 1000.0, None], "[[1.50, 1e3], [NA]]", [(1.5, 1000), (None,)]),
        (
            [dt.date(2024, 1, 1), dt.date(2024, 1, 2)],
            "[[2024-01-01], ['2024-01-02']]",
            [("2024-01-01",), ("2024-01-02",)],
        ),
        ([dt.time(12, 30), dt.time(9)], "[[12:30:00], ['09:00']]", [("12:30:00",), ("09:00:00",)]),
        ([7, 10, -1], "[[007], [7]]", "'7' in two groups"),
    ],
)
def test_values_are_those_of_the_column_however_yaml_reads_them(
    values: list[Any], written: str, groups: Any, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    frame, y = pl.DataFrame({"c": pl.Series([values[k] for k in rng.integers(0, len(values), 90)])}), [0, 1] * 45
    (tmp_path / "levels.yaml").write_text(f"c: {{groups: {written}}}", encoding="utf-8")
    encoder = TableEncoder(levels=tmp_path / "levels.yaml")
    if isinstance(groups, str):
        with pytest.raises(ValueError, match=groups):
            encoder.fit(frame, y)
        return
    level = encoder.fit(frame, y).levels_[0]
    assert list(level.groups or ()) == ([(value,) for value in values] if groups is None else groups)
    assert np.asarray(level.counts).sum() == 90
    assert (np.asarray(level.counts).sum(axis=1) > 0).all()


@pytest.mark.parametrize(
    ("values", "written", "labels"),
    [
        ([dt.time(h) for h in range(6, 18)], "cuts: [12:30]", ("<= 12:30:00", "> 12:30:00")),
        ([dt.date(2020, 1, d) for d in range(1, 20)], "cuts: [2020-01-09]", ("<= 2020-01-09", "> 2020-01-09")),
        ([dt.date(2020, 1, d) for d in range(1, 20)], "cuts: [20200109]", ("<= 2020-01-09", "> 2020-01-09")),
        ([dt.date(2020, 1, d) for d in range(1, 20)], "cuts: [18270.0]", ("<= 2020-01-09", "> 2020-01-09")),
        ([dt.date(2020, 1, d) for d in range(1, 20)], "cuts: [2020]", "it has the cut '2020', which is no date"),
        ([*range(20)], "cuts: [010, 1.2e1]", ("<= 10", "10 < .. <= 12", "> 12")),
        ([*range(20)], "cuts: [1_0]", "it has the cut '1_0', which is no number"),
        ([*range(20)], "{cuts: [5], special: {none: [-1, 019]}, missing: none}", ("none or missing", "<= 5", "> 5")),
        ([*range(20)], "{cuts: [5], missing: 07}", ("<= 5", "> 5 or missing")),
        ([*range(20)], "include: maybe", "needs true or false as 'include', got 'maybe'"),
        ([*range(20)], "include: yes", "needs true or false as 'include', got 'yes'"),
        ([*range(20)], "min_rows: many", "needs a number of rows, or a share below 1, as 'min_rows', got 'many'"),
        ([*range(20)], "max_levels: 2.5", "needs a whole number above 0 as 'max_levels', got 2.5"),
        ([*range(20)], "monotone: up", "needs 1, -1 or 'auto' as 'monotone', got 'up'"),
        ([*range(20)], "", "takes a dict of cuts"),
    ],
)
def test_options_of_numbers_are_read_by_the_type_of_the_column(
    values: list[Any], written: str, labels: Any, tmp_path: Path
) -> None:
    frame = pl.DataFrame({"c": [*values, None] * 10})
    (tmp_path / "levels.yaml").write_text(f"c: {written if '{' in written or not written else f'{{{written}}}'}\n")
    encoder = TableEncoder(levels=tmp_path / "levels.yaml")
    if isinstance(labels, str):
        with pytest.raises(ValueError, match=labels):
            encoder.fit(frame, np.arange(len(frame)) % 2)
        return
    found = encoder.fit(frame, np.arange(len(frame)) % 2).levels_[0].labels
    assert found[-len(labels) :] == labels


def test_switches_and_numbers_of_a_file_are_such(tmp_path: Path) -> None:
    text = "a: {include: true, min_rows: 30, monotone: -1, max_levels: 4, special: [-999, 1.50, none]}\n"
    (tmp_path / "levels.yaml").write_text(text + "b: {exclude: TRUE, coarsen: False}\nc: {min_rows: 0.05}")
    rules = TableRules.of(tmp_path / "levels.yaml").rules
    assert (rules["a"].include, rules["a"].min_rows, rules["a"].monotone, rules["a"].max_levels) == (True, 30, -1, 4)
    assert rules["a"].special == (("-999", (-999,)), ("1.50", ("1.50",)), ("none", ("none",)))
    assert (rules["b"].exclude, rules["c"].min_rows) == (True, 0.05)


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        (["a", "b", "c"], {"groups": [["a"], ["b", "x"]], "coarsen": True}),
        (["a", "b", "c"], {"groups": [["a"], ["b"]], "max_levels": 2}),
        (["a", "b", "", None], {"groups": [["a"], [""]]}),
        (["a", "b", None], {"missing": "b"}),
        ([True, False, None], {"max_levels": 2}),
        ([None, None, None], {"groups": [["x"], [None]], "coarsen": True}),
        ([1.0, 2.0, 3.0], {"cuts": [1, 2], "coarsen": True, "special": [1, 2, 3]}),
        ([1.0, 2.0, 3.0, 4.0], {"max_rows": 0.3, "special": ["1.0"]}),
        ([1.0, 2.0, 3.0, 1e300], {"cuts": [1.5], "cells": True, "max_levels": 3}),
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 2)], {"cuts": [18262], "coarsen": True}),
    ],
)
def test_an_unedited_file_gives_the_same_model_whatever_a_rule_asks(
    values: list[Any], rule: Any, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    at = np.minimum(rng.integers(0, len(values), 200) + y, len(values) - 1)
    frame = pl.DataFrame({"c": [values[k] for k in at.tolist()], "x": rng.normal(size=200) + y})
    model = SelectiveNB(levels={"c": rule}, pairs=0, n_jobs=1).fit(frame, y)
    text = model.levels_to_yaml(tmp_path / "levels.yaml")
    again = SelectiveNB(levels=tmp_path / "levels.yaml", pairs=0, n_jobs=1).fit(frame, y)
    assert again.levels_to_yaml() == text
    assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_an_unedited_file_holds_beside_a_column_named_like_the_others(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"*": rng.normal(size=200), "noise": rng.choice(list("ab"), 200), "one": ["a"] * 200})
    y = frame["*"] > 0
    model = SelectiveNB(pairs=0, n_jobs=1).fit(frame, y)
    text = model.levels_to_yaml(tmp_path / "levels.yaml")
    again = SelectiveNB(levels=tmp_path / "levels.yaml", pairs=0, n_jobs=1).fit(frame, y)
    assert again.levels_to_yaml() == text
    assert (again.predict_proba(frame) == model.predict_proba(frame)).all()
