"""Each raw value has one canonical text, which is exact and decides what is one category."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from bayesieve.table.values import canonical_text, canonical_value, format_temporal, is_missing, parse_number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (3.0, "3"),
        ("3", "3"),
        (np.int64(3), "3"),
        (np.float32(3), "3"),
        (decimal.Decimal("3.00"), "3"),
        (decimal.Decimal("3.10"), "3.1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (np.float32(0.1), "0.1"),
        (1e300, "1e+300"),
        (True, "True"),
        (np.bool_(False), "False"),
        ("", ""),
        (b"x", "x"),
        (dt.date(2020, 1, 2), "2020-01-02"),
        (dt.datetime(2020, 1, 2), "2020-01-02"),
        (dt.datetime(2020, 1, 2, 3, 4, 5, 600), "2020-01-02T03:04:05.0006"),
        (np.datetime64("2020-01-02T03:04:05"), "2020-01-02T03:04:05"),
        (pd.Timestamp("2020-01-02"), "2020-01-02"),
        (pd.Timestamp(np.datetime64("-295547-01-01", "s")), "-295547-01-01 00:00:00"),
        (pd.Timedelta(np.timedelta64(2**60, "ms")), "13343998895 days 21:54:06.976000"),
        (dt.time(1, 2, 3), "01:02:03"),
        ([1], "[1]"),
    ],
)
def test_canonical_text(value: Any, text: str) -> None:
    assert canonical_text(value) == text
    assert type(canonical_value(value)) in (bool, int, float, str)


@pytest.mark.parametrize(
    "value", [None, np.nan, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), decimal.Decimal("NaN")]
)
def test_missing(value: Any) -> None:
    assert is_missing(value)


@pytest.mark.parametrize("value", [0, "", False, "nan", np.array([1, 2]), [np.nan], np.int8(0), np.inf])
def test_not_missing(value: Any) -> None:
    assert not is_missing(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_float_is_exact(number: float) -> None:
    assert float(canonical_text(number)) == number


@given(st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)))
def test_datetimes_round_trip(moment: dt.datetime) -> None:
    number = float((moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1))
    text = format_temporal(number, "datetime")
    assert parse_number(text, "datetime") == pytest.approx(number, rel=0, abs=64)  # a double holds 53 bits
    if abs(number) < 2**53:
        assert parse_number(text, "datetime") == number
        assert canonical_text(moment) == text


@pytest.mark.parametrize("type_", ["duration", "time", "date", "datetime"])
@given(number=st.integers(0, 86_399_999_999))
def test_temporal_numbers_round_trip(type_: str, number: int) -> None:
    if type_ == "date":
        number //= 10**6
    assert parse_number(format_temporal(number, type_), type_) == number
    if type_ == "duration":
        assert parse_number(format_temporal(-number * 100, type_), type_) == -number * 100


def test_fractions_of_days() -> None:
    assert format_temporal(0.5, "date") == "1970-01-01T12:00:00"
    assert format_temporal(-1.0, "date") == "1969-12-31"
    assert format_temporal(10.0**12, "time") == "11 days, 13:46:40"
