"""Columns of any type are read as the numbers that they hold, or refused by name."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayesieve.table import Column, as_table


def _column(values: list[Any], kind: str | None = None) -> Column:
    return as_table(pl.DataFrame({"a": values}, strict=False), kinds=None if kind is None else {"a": kind}).column(0)


def test_infinity_is_refused() -> None:
    X = np.array([[1.0, 1.0], [2.0, -np.inf], [3.0, np.inf]])
    assert as_table(X).column(0).numbers().tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match=r"Column 'x1' contains infinity \(first in row 1\); replace"):
        as_table(X).column(1).numbers()
    with pytest.raises(ValueError, match="Column 'a' contains infinity"):
        _column(["1", "inf"], "numeric").numbers()


def test_text_and_booleans_read_as_numbers() -> None:
    column = _column([" 1", "2.5e1", None, "", "nan", "NA"], "numeric")
    np.testing.assert_array_equal(column.numbers(), [1, 25, *[np.nan] * 4])
    np.testing.assert_array_equal(_column([True, None, False], "numeric").numbers(), [1, np.nan, 0])
    for values, words in ((["1", "x"], "row 1 holds 'x'"), (["1_000"], "'1_000'"), (["y" * 100], r"'yyy\S+\.\.\.'")):
        with pytest.raises(ValueError, match=f"Column 'a' is read as a number but .*{words}") as error:
            _column(values, "numeric").numbers()
        assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    ("values", "type_", "numbers"),
    [
        ([dt.datetime(2020, 1, 2, 12), None], "date", [18263.5, np.nan]),
        ([dt.date(2020, 1, 2), None], "datetime", [18263 * 86400e6, np.nan]),
        (["2020-01-02", "2020-01-02T12:00", None], "date", [18263, 18263.5, np.nan]),
        (["2020-01-02", "2020-01-02T12:00", None], "datetime", [18263 * 86400e6, 18263.5 * 86400e6, np.nan]),
        (["1d 00:00:01", "-1d"], "duration", [86401e6, -86400e6]),
        (["00:00:01"], "time", [1e6]),
        ([None, None], "date", [np.nan, np.nan]),
        ([1.0], "date", "Column 'a' holds values of type number where values of type date are expected"),
        ([dt.timedelta(1)], "datetime", "type duration where values of type datetime"),
    ],
)
def test_moments_and_text_stand_for_each_other(values: list[Any], type_: str, numbers: Any) -> None:
    if isinstance(numbers, str):
        with pytest.raises(ValueError, match=numbers):
            _column(values).numbers(type_)
    else:
        np.testing.assert_array_equal(_column(values).numbers(type_), numbers)


LARGE = [2**62, 2**62 + 1, None, -(2**62)]


@pytest.mark.parametrize(
    ("column", "codes", "values"),
    [
        (_column([10, 9, None, 10], "categorical"), [0, 1, -1, 0], [10, 9]),  # by their text
        (_column([1.5, 2.0, -0.0, 0.0]), [1, 2, 0, 0], [0, 1.5, 2]),
        (_column(LARGE), [1, 2, -1, 0], [-(2**62), 2**62, 2**62 + 1]),
        (as_table(np.array(LARGE, dtype=object)[:, None]).column(0), [1, 2, -1, 0], [-(2**62), 2**62, 2**62 + 1]),
        (_column([0, 10**9]), [0, 1], [0, 10**9]),
        (as_table(np.array([[2**64 - 1], [2**64 - 2]], dtype=np.uint64)).column(0), [1, 0], [2**64 - 2, 2**64 - 1]),
        (as_table(np.array([[-128], [127]], dtype=np.int8)).column(0), [0, 1], [-128, 127]),
        (
            as_table(pd.DataFrame({"a": pd.Categorical([2, 1, None], categories=[3, 2, 1])})).column(0),
            [1, 0, -1],
            [1, 2],
        ),
    ],
)
def test_numbers_as_categories(column: Column, codes: list[int], values: list[Any]) -> None:
    for found, expected in ((column, codes), (column.take(np.arange(len(column))[::-1]), codes[::-1])):
        assert found.categories().values == values
        assert found.categories().codes.tolist() == expected


def test_values_that_are_written_alike_are_one_category() -> None:
    values = np.array([3, 3.0, "3", np.int64(3), True, "True", None, np.nan, pd.NA, pd.NaT, {"a": 1}], dtype=object)
    column = as_table(values.reshape(-1, 1)).column(0)
    assert (column.kind, column.type) == ("categorical", "mixed")
    assert column.categories().values == [3, True, "{'a': 1}"]
    assert column.categories().codes.tolist() == [0, 0, 0, 0, 1, 1, -1, -1, -1, -1, 2]
    assert column.value(7) is None


def test_half_characters_that_a_library_cannot_encode_are_named() -> None:
    column = Column("name", lambda: "\ud800".encode())
    with pytest.raises(ValueError, match="Column 'name' holds text with half a character"):
        column.numbers()
