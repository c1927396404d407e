"""Tables of codes are used as they are, and values that are no codes are refused."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator

from bayesieve.counts import CodedTable
from bayesieve.discretize.codes import read_codes


class Reader(BaseEstimator):
    """Something that takes codes."""


def test_codes_are_turned_so_that_each_feature_is_one_run() -> None:
    coded = read_codes(Reader(), np.array([[0, 2], [1, 0], [1, 1]]), reset=True)
    assert coded.codes.tolist() == [[0, 1, 1], [2, 0, 1]]
    assert coded.codes.flags.c_contiguous
    assert coded.codes.dtype == np.uint8
    assert coded.n_levels.tolist() == [2, 3]


@pytest.mark.parametrize(("highest", "dtype"), [(254, np.uint8), (255, np.uint16), (70_000, np.uint32)])
def test_codes_take_as_few_bytes_as_they_need(highest: int, dtype: type) -> None:
    assert read_codes(Reader(), [[0], [highest]], reset=True).codes.dtype == dtype


def test_a_coded_table_is_taken_as_it_is() -> None:
    coded = CodedTable(np.zeros((2, 3), dtype=np.uint8), np.array([1, 1]), ("a", "b"))
    reader = Reader()
    assert read_codes(reader, coded, reset=True) is coded
    read_codes(reader, np.zeros((2, 3), dtype=int), reset=True)
    with pytest.raises(ValueError, match="X has 2 features, but Reader is expecting 3 features as input"):
        read_codes(reader, coded, reset=False)


REFUSED = {
    "negative": ([[-1]], "Negative values"),
    "NaN": ([[0.0], [np.nan]], "NaN"),
    "infinite": ([[np.inf]], "infinity"),
    "too large": (
        [[20_000_000]],
        "Column 0 holds the code 20000000 in row 0, .* code raw values with TableEncoder first",
    ),
    "one dimension": ([0, 1], "Expected 2D array"),
    "text": (np.array([[0, "b"]] * 4, dtype=object), "Column 1 holds 'b' in row 0, which is not a code"),
    "beyond integers": (np.full((4, 2), 1e300), r"holds the code 1e\+300"),
    "beyond 64 bits": (np.full((4, 2), 2**70, dtype=object), "holds the code"),
    "unsigned": (np.full((4, 2), 2**63, dtype=np.uint64), "holds the code 9223372036854775808"),
    "dates": (np.full((4, 1), np.datetime64("2020-01-01")), "Column 0 holds a value of type date"),
    "None": (np.array([[0], [None]], dtype=object), "contains NaN"),
    "masked": (np.ma.array([[0], [1]], mask=[[1], [0]]), "contains NaN"),
    "polars text": (pl.DataFrame({"a": ["x"]}), "Column 0 holds 'x' in row 0"),
    "polars lists": (pl.DataFrame({"a": [[1]]}), "Column 0 holds a value of type ndarray"),
    "polars 128 bits": (pl.DataFrame({"a": pl.Series([1, 2], dtype=pl.Int128)}), "Column 'a' is of type Int128; codes"),
    "polars durations": (
        pl.DataFrame({"a": [0.5, 2.0], "b": [timedelta(1), None]}),
        "'b' is of type Duration|value of",
    ),
    "pyarrow text": (pa.table({"a": ["x"]}), "Column 0 holds 'x' in row 0"),
    "pyarrow dates": (pa.table({"a": [True, False], "b": pa.array([1, 2], pa.date32())}), "Column 'b' is of type Date"),
    "pandas durations": (pd.DataFrame({"a": [0.5, 1], "b": pd.to_timedelta([1, 2])}), "Column 'b' is of type Duration"),
    "pandas NA": (pd.DataFrame({"a": pd.Series([1, None], dtype="Int64"), "b": ["1", None]}), "Input X contains NaN"),
    "decimals": (pd.DataFrame({"a": [Decimal("sNaN"), 1]}), "Input X contains NaN"),
    "arrays": (pd.DataFrame({"a": [np.arange(2), np.arange(3)]}), "Column 0 holds a value of type ndarray"),
    "no columns": (pd.DataFrame(index=range(3)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1"),
    "complex": (np.full((4, 2), 1j), "^Complex data not supported; codes are the numbers 0, 1, 2"),
    "ragged": ([[1], [1, 2]], "rows of X differ in length"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_code_is_refused_in_one_sentence(name: str) -> None:
    X, message = REFUSED[name]
    with pytest.raises((ValueError, TypeError), match=message):
        read_codes(Reader(), X, reset=True)


@pytest.mark.parametrize(
    "X",
    [
        *([[0.0], [1.0]], [["0"], ["1"]], [[False], [True]], np.array([[0], [1]], dtype=object)),
        np.array([[0], [1]], dtype=np.float16),
    ],
)
def test_whole_numbers_of_any_type_are_codes(X: object) -> None:
    assert read_codes(Reader(), X, reset=True).codes.tolist() == [[0, 1]]


def test_fractions_are_rounded_down_with_a_warning() -> None:
    with pytest.warns(
        UserWarning, match="Column 1 holds the code 1.7 in row ., which is rounded down to 1; codes are the"
    ) as said:
        codes = read_codes(Reader(), [[0.0, 1.7], [2.0, 0.5]], reset=True).codes
    assert codes.tolist() == [[0, 2], [1, 0]]
    assert said[0].filename == __file__
