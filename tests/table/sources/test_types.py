"""A scanned table is read as the same table in memory."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from polars.testing import assert_frame_equal

import bayesieve
from bayesieve.table import as_table
from bayesieve.table.sources.base import Source
from bayesieve.table.sources.files import common_type

_DAY = dt.datetime(2024, 2, 29, 13, 5, 6, 789_000)
VALUES: dict[str, tuple[Any, list[Any]]] = {
    "small": (pl.Int8, [-128, 0, 127, None]),
    "whole": (pl.Int64, [2**62, -(2**53) - 1, 2**53 + 1, 0, None]),
    "unsigned": (pl.UInt64, [2**64 - 1, 0, 5]),
    "huge": (pl.Int128, [2**100, -(2**100), 3, None]),
    "float": (pl.Float64, [0.1, -0.0, 0.0, float("nan"), 1e300, None]),
    "single": (pl.Float32, [0.1, 3.5, float("nan"), None]),
    "decimal": (pl.Decimal(12, 3), [Decimal("1.125"), Decimal("-7.001"), None]),
    "true": (pl.Boolean, [True, False, None]),
    "text": (pl.String, ["a", "", " b ", "ß", "1", None]),
    "category": (pl.Categorical, ["x", "y", "z", None]),
    "enum": (pl.Enum(["low", "mid", "high"]), ["low", "high", None]),
    "date": (pl.Date, [_DAY.date(), dt.date(1900, 1, 1), None]),
    "milli": (pl.Datetime("ms"), [_DAY, None]),
    "nano": (pl.Datetime("ns"), [_DAY, None]),
    "zone": (pl.Datetime("us", "Europe/Paris"), [_DAY.replace(tzinfo=dt.UTC), None]),
    "duration": (pl.Duration("us"), [dt.timedelta(days=3, microseconds=1), dt.timedelta(-1), None]),
    "time": (pl.Time, [dt.time(1, 2, 3, 4), dt.time(23, 59), None]),
    "null": (pl.Null, [None]),
}


def frames(max_rows: int = 40) -> st.SearchStrategy[pl.DataFrame]:
    def frame(n_rows: int) -> st.SearchStrategy[pl.DataFrame]:
        cells = {
            name: st.lists(st.sampled_from(values), min_size=n_rows, max_size=n_rows)
            for name, (_, values) in VALUES.items()
        }
        schema = {name: dtype for name, (dtype, _) in VALUES.items()}
        return st.fixed_dictionaries(cells).map(lambda data: pl.DataFrame(data, schema=schema))

    return st.integers(1, max_rows).flatmap(frame)


def assert_read_alike(source: Source, whole: pl.DataFrame) -> None:
    """Kinds, types and values of every column in every block."""
    expected = as_table(whole)
    assert source.names == expected.names
    first = 0
    for block in source.blocks(block_rows=7):
        table, part = as_table(block), expected.take(slice(first, first + block.height))
        first += block.height
        assert (table.kinds(), table.types()) == (part.kinds(), part.types())
        for i in range(table.n_columns):
            if table.column(i).kind == "numeric":
                np.testing.assert_array_equal(table.column(i).numbers(), part.column(i).numbers())
            else:
                one, other = table.column(i).categories(), part.column(i).categories()
                assert one.values == other.values
                np.testing.assert_array_equal(one.codes, other.codes)
    assert first == whole.height


@pytest.mark.filterwarnings("ignore:Column .* is read as numbers")
@settings(max_examples=20, deadline=None)
@given(frame=frames(), cuts=st.lists(st.integers(0, 40), max_size=3), arrow=st.booleans(), group=st.integers(1, 30))
def test_files_are_read_as_a_table_in_memory(
    tmp_path_factory: pytest.TempPathFactory, frame: pl.DataFrame, cuts: list[int], arrow: bool, group: int
) -> None:
    folder = tmp_path_factory.mktemp("types")
    for i, (first, stop) in enumerate(pairwise(sorted({0, frame.height, *(min(cut, frame.height) for cut in cuts)}))):
        # Every file has its own dictionary of categories.
        part = frame[first:stop].with_columns(pl.col("category").cast(pl.String).cast(pl.Categorical))
        if arrow:
            part.write_ipc(folder / f"{i}.arrow", record_batch_size=group)
        else:
            part.write_parquet(folder / f"{i}.parquet", row_group_size=group)
    assert_read_alike(bayesieve.scan(folder), frame)


@pytest.mark.filterwarnings("ignore:Column .* is read as numbers")
@settings(max_examples=5, deadline=None)
@given(frame=frames())
def test_copies_are_read_as_a_table_in_memory(frame: pl.DataFrame) -> None:
    source = bayesieve.scan(frame.lazy())
    assert_read_alike(source, frame)
    assert_frame_equal(pl.concat(source.blocks()), frame)


def written(folder: Path, *columns: pl.Series) -> Path:
    for i, column in enumerate(columns):
        pl.DataFrame({"x": column}).write_parquet(folder / f"{i}.parquet")
    return folder


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pl.Series([1, 2]), pl.Series([0.5])),
        (pl.Series([None, None]), pl.Series(["a"])),
        (pl.Series([1], dtype=pl.Int8), pl.Series([2**40])),
        (pl.Series([-1], dtype=pl.Int8), pl.Series([2**64 - 1], dtype=pl.UInt64)),
        (pl.Series([3], dtype=pl.UInt8), pl.Series([-3], dtype=pl.Int8)),
        (pl.Series(["a"], dtype=pl.Categorical), pl.Series(["b"])),
        (pl.Series(["a"], dtype=pl.Enum(["a", "b"])), pl.Series(["c"], dtype=pl.Enum(["c"]))),
        (pl.Series([_DAY.date()]), pl.Series([_DAY])),
        (pl.Series([_DAY], dtype=pl.Datetime("ms")), pl.Series([_DAY], dtype=pl.Datetime("ns"))),
        (pl.Series([Decimal("1.5")]), pl.Series([2])),
        (pl.Series([Decimal("1.5")]), pl.Series([Decimal("1.55")])),
    ],
)
def test_types_of_files_that_go_together(tmp_path: Path, one: pl.Series, other: pl.Series) -> None:
    for columns in ((one, other), (other, one)):
        source = bayesieve.scan(written(tmp_path, *columns))
        rows = pl.concat(source.blocks())["x"]
        assert rows.dtype == source.schema["x"] == common_type(one.dtype, other.dtype)
        texts = [str(value) for column in columns for value in column.to_list()]
        if rows.dtype.is_float():
            assert rows.to_list() == [float(text) for text in texts]
        elif rows.dtype.is_integer() or rows.dtype == pl.String or isinstance(rows.dtype, pl.Categorical):
            assert rows.cast(pl.String).fill_null("None").to_list() == texts
        else:
            assert rows.null_count() == 0
            assert rows.dt.date().unique().to_list() == [_DAY.date()]


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (pl.Series([1]), pl.Series(["a"]), r"a number in .*0\.parquet and text in .*1\.parquet"),
        (pl.Series(["a"]), pl.Series([1.5]), r"text in .*0\.parquet and a number in .*1\.parquet"),
        (pl.Series([True]), pl.Series([1]), r"true or false in .* and a number in "),
        (
            pl.Series([_DAY]),
            pl.Series([_DAY.replace(tzinfo=dt.UTC)]),
            r"a date and time in .* and a .* with a time zone",
        ),
        (pl.Series([[1]]), pl.Series([1]), r"List\(Int64\) in .* and a number in "),
        (pl.Series([_DAY.date()]), pl.Series([1]), r"a date in .* and a number in "),
    ],
)
def test_types_of_files_that_do_not(tmp_path: Path, one: pl.Series, other: pl.Series, words: str) -> None:
    with pytest.raises(ValueError, match=rf"^Column 'x' is {words}.*; give it one type in all files\.$"):
        bayesieve.scan(written(tmp_path, one, other))


def test_nested_columns_are_read_as_in_memory(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [[1, 2], [3], [1, 2]], "y": [{"a": 1}, {"a": 2}, None], "z": [b"a", b"b", b"a"]})
    frame.write_parquet(tmp_path / "rows.parquet")
    source = bayesieve.scan(tmp_path)
    assert_read_alike(source, frame)
