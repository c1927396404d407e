"""Raw values, also missing and unseen ones, get the code of their level."""

from __future__ import annotations

import datetime as dt
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

from bayesieve.table import Column, FeatureLevels, as_table
from bayesieve.table.levels import WithheldLevels
from bayesieve.table.pair_levels import PairLevels


def _column(values: list[Any]) -> Column:
    return as_table(pl.DataFrame({"a": values}, strict=False)).column(0)


def _numeric(cuts: list[float], missing: int | None = None, type_: str = "number") -> FeatureLevels:
    return FeatureLevels("a", "numeric", type_, cut_points=np.array(cuts, dtype=float), missing_code=missing)


def _categorical(groups: list[tuple[object, ...]], missing: int | None = None) -> FeatureLevels:
    return FeatureLevels("a", "categorical", "text", groups=tuple(groups), missing_code=missing)


cut_lists = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=70, unique=True).map(sorted)
numbers = st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30)


@given(cuts=cut_lists, values=numbers, missing_first=st.booleans(), data=st.data())
def test_every_number_lands_in_its_interval(
    cuts: list[float], values: list[float | None], missing_first: bool, data: st.DataObject
) -> None:
    cuts = [-np.inf, *cuts] if missing_first else cuts
    values = [*values, *[c for c in cuts if np.isfinite(c)]]
    levels = _numeric(cuts, data.draw(st.none() | st.integers(0, len(cuts))))
    codes = levels.code(_column(values))
    assert codes.dtype == np.uint8
    edges = [-np.inf, *cuts, np.inf]
    for value, code in zip(values, codes, strict=True):
        if value is None:
            assert code == (levels.unseen_code if levels.missing_code is None else levels.missing_code)
        else:
            assert edges[code] < value <= edges[code + 1]


@pytest.mark.parametrize(
    ("n_cuts", "dtype"), [(0, "u1"), (1, "u1"), (254, "u1"), (255, "u2"), (65534, "u2"), (65535, "u4")]
)
def test_codes_are_as_small_as_possible(n_cuts: int, dtype: str) -> None:
    levels = _numeric(list(range(n_cuts)))
    values = np.array([-1.0, n_cuts / 2 + 0.25, n_cuts + 1, np.nan])
    codes = levels.code_numbers(values)
    assert codes.dtype == np.dtype(dtype)
    expected = np.searchsorted(np.arange(n_cuts), values)
    assert codes.tolist() == [*expected[:3], levels.unseen_code]
    assert levels.n_levels == n_cuts + 1 == levels.unseen_code


def test_numeric_levels_read_other_types() -> None:
    assert _numeric([2.0]).code(_column(["1", " 3.5", None])).tolist() == [0, 1, 2]
    assert _numeric([0.5]).code(_column([True, False])).tolist() == [1, 0]
    days = _numeric([18262.5], type_="date")
    moments = [dt.datetime(2020, 1, 1, 11), dt.datetime(2020, 1, 1, 13), None]
    assert days.code(_column(moments)).tolist() == [0, 1, 2]
    assert days.code(_column([dt.date(2020, 1, 1), dt.date(2020, 1, 2)])).tolist() == [0, 1]
    assert days.code(_column(["2020-01-01", "2020-01-02"])).tolist() == [0, 1]
    texts = ["1d", "1 days 00:00:00.5", "1 day, 0:00:01", "-1 days +23:00:00", "-1d 01:00:00", "23:59:59", "NA"]
    spans = _numeric([-86400.5e6, -1e6, 86400e6], type_="duration").code(_column(texts))
    assert spans.tolist() == [2, 3, 3, 1, 0, 2, 4]
    with pytest.raises(ValueError, match="Column 'a' is read as a number but row 0 holds 'x'"):
        _numeric([2.0]).code(_column(["x"]))
    with pytest.raises(ValueError, match="type number where values of type date"):
        days.code(_column([1.0]))


def test_categorical_levels() -> None:
    levels = _categorical([("a", 3), ("b", None, True)], 1)
    assert levels.code(_column(["a", "3", "b", None, "c", "True"])).tolist() == [0, 0, 1, 1, 2, 1]
    assert levels.code(_column([3, 3.0, None, 4])).tolist() == [0, 0, 1, 2]
    assert levels.code(_column([True, False, None])).tolist() == [1, 2, 1]
    assert _categorical([("a",)]).code(_column(["a", None, "b"])).tolist() == [0, 1, 1]
    assert _categorical([("2020-01-01",)]).code(_column([dt.date(2020, 1, 1)])).tolist() == [0]


@given(values=st.lists(st.none() | st.sampled_from("abcdefgh"), min_size=1), split=st.integers(1, 7))
def test_every_category_lands_in_its_group(values: list[str | None], split: int) -> None:
    groups = [tuple("abcdefg"[:split]), (None, *"abcdefg"[split:])]
    codes = _categorical(groups, 1).code(_column(values))
    for value, code in zip(values, codes, strict=True):
        assert code == 2 if value == "h" else value in groups[code]


@pytest.mark.parametrize(
    ("levels", "labels"),
    [
        (_numeric([3.5, 7]), ("<= 3.5", "3.5 < .. <= 7", "> 7")),
        (_numeric([-np.inf, 3.5], 0), ("missing", "<= 3.5", "> 3.5")),
        (_numeric([3.5], 0), ("<= 3.5 or missing", "> 3.5")),
        (_numeric([3.5], 1), ("<= 3.5", "> 3.5 or missing")),
        (_numeric([]), ("any value",)),
        (_numeric([], 0), ("any value or missing",)),
        (_numeric([-np.inf], 0), ("missing", "any value")),
        (_numeric([5119.5, 12345.678901]), ("<= 5119.5", "5119.5 < .. <= 12345.7", "> 12345.7")),
        (_numeric([1e6, 1234567.5, 1e9]), (
            "<= 1000000", "1000000 < .. <= 1234567.5", "1234567.5 < .. <= 1e9", "> 1e9")),
        (_numeric([0.123456789, 0.1234568]), ("<= 0.123456789", "0.123456789 < .. <= 0.1234568", "> 0.1234568")),
        (_numeric([1 / 3]), ("<= 0.3333", "> 0.3333")),
        (_numeric([-0.0, 1e-7, 1e20]), ("<= 0", "0 < .. <= 1e-07", "1e-07 < .. <= 1e20", "> 1e20")),
        (_numeric([18262.5], type_="date"), ("<= 2020-01-01", "> 2020-01-01")),
        (_numeric([18262.25, 18262.5], type_="date"), (
            "<= 2020-01-01T06:00:00", "2020-01-01T06:00:00 < .. <= 2020-01-01T12:00:00", "> 2020-01-01T12:00:00")),
        (_numeric([18262 * 86400e6 + 5e5], type_="datetime"), ("<= 2020-01-01", "> 2020-01-01")),
        (_numeric([1.5e6, 1.75e6], type_="time"), (
            "<= 00:00:01.500000", "00:00:01.500000 < .. <= 00:00:01.750000", "> 00:00:01.750000")),
        (_numeric([86400e6], type_="duration"), ("<= 1d", "> 1d")),
        (_categorical([("a",), ("b", "c")]), ("a", "{b, c}")),
        (_categorical([("a", None), (3, True)], 0), ("a or missing", "{3, True}")),
        (_categorical([(None,), tuple("abcdefg")], 0), ("missing", "{a, b, c, +4 more}")),
        (_categorical([("x" * 100,)]), ("x" * 39 + "…",)),
    ],
)  # fmt: skip
def test_labels(levels: FeatureLevels, labels: tuple[str, ...]) -> None:
    assert levels.labels == labels
    assert len(levels.all_labels) == levels.n_levels


@given(cut_lists)
def test_labels_tell_cut_points_apart(cuts: list[float]) -> None:
    labels = _numeric(cuts).labels
    assert len(set(labels)) == len(labels) == len(cuts) + 1
    texts = [label.split(" <= ")[-1].removeprefix("<= ") for label in labels[:-1]]
    assert [float(text) for text in texts] == sorted({float(text) for text in texts})


@pytest.mark.parametrize(
    ("kind", "parts", "message"),
    [
        *(("numeric", {"missing_code": code}, "Feature 'a'") for code in (-1, 2, True, 0.0)),
        ("numeric", {"cut_points": np.array([[1.0]])}, "Feature 'a'"),
        ("numeric", {"groups": (("a",),)}, "Feature 'a'"),
        ("categorical", {"cut_points": np.array([1.0])}, "Feature 'a'"),
        ("categorical", {"groups": ((None,), (None,)), "missing_code": 0}, "the one group"),
    ],
)
def test_contradictions_are_refused(kind: Any, parts: dict[str, Any], message: str) -> None:
    """test_levels_json.py has others, which reach the constructor as well."""
    whole: dict[str, Any] = {"cut_points": np.array([1.0])} if kind == "numeric" else {"groups": (("a",), ("b",))}
    FeatureLevels("a", kind, "number", **whole)
    with pytest.raises(ValueError, match=message):
        FeatureLevels("a", kind, "number", **whole | parts)


def test_all_labels_hold_every_value() -> None:
    levels = _categorical([(None, *"abcdefg"), ("y" * 100,)], 0)
    assert levels.all_labels == ("{a, b, c, d, e, f, g} or missing", "y" * 100)


def test_levels_are_kept_safe() -> None:
    cuts = np.array([1.0, 2.0])
    levels = FeatureLevels("a", "numeric", "number", cut_points=cuts)
    cuts[0] = 9
    assert levels.cut_points is not None
    assert levels.cut_points.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        levels.cut_points[0] = 9
    again = pickle.loads(pickle.dumps(levels))
    assert again.code(_column([1.5])).tolist() == [1]


@pytest.mark.parametrize("missing_code", [None, 0])
def test_a_single_level_takes_values_of_any_type(missing_code: int | None) -> None:
    """A column that was empty in training has the type of nothing."""
    levels = FeatureLevels(name="day", kind="numeric", type="number", cut_points=np.zeros(0), missing_code=missing_code)
    values = np.array([dt.date(2000, 1, 1), None], dtype=object)
    column = as_table(values[:, None], kinds={"x0": "numeric"}).column(0)
    assert levels.code(column).tolist() == [0, levels.unseen_code if missing_code is None else 0]


def test_levels_with_other_counts_and_texts_give_the_same_codes() -> None:
    numbers = FeatureLevels("x", "numeric", "number", cut_points=np.array([1.0, 2.0]))
    assert numbers.codes_like(replace(numbers, counts=np.ones((3, 2)), renamed=("low", None, "high")))
    assert not numbers.codes_like(replace(numbers, cut_points=np.array([1.0, 3.0])))
    words = FeatureLevels("x", "categorical", "text", groups=(("a",), ("b", None)), missing_code=1)
    assert words.codes_like(replace(words, level_score=0.5))
    assert not words.codes_like(replace(words, groups=(("b",), ("a", None))))
    mixed = FeatureLevels("x", "categorical", "mixed", groups=((1,), ("a",)))
    assert not mixed.codes_like(replace(mixed, groups=((True,), ("a",))))
    assert not numbers.codes_like(words)
    pair = PairLevels.of([numbers, words], np.array([[0, 1], [1, 0], [1, 1]]), np.ones((3, 2, 2)), 0.1)
    assert pair.codes_like(replace(pair, cells=np.full((3, 2, 2), 5.0)))
    assert not pair.codes_like(replace(pair, grid=1 - pair.grid))
    assert not pair.codes_like(replace(pair, parts=(replace(numbers, cut_points=np.array([1.0, 3.0])), words)))
    assert not pair.codes_like(numbers)
    assert not numbers.codes_like(replace(numbers, name="z"))
    withheld = WithheldLevels.of(words)
    assert withheld.codes_like(WithheldLevels.of(replace(words, level_score=0.5)))
    assert not withheld.codes_like(WithheldLevels.of(replace(words, groups=(("c",), ("b", None)))))
    assert not withheld.codes_like(words)
    assert not words.codes_like(withheld)
