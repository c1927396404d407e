"""The same table must be read the same, whatever library holds it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from bayesieve.table import as_table
from tests.table.libraries import LIBRARIES

DATA: dict[str, list[Any]] = {
    "float": [1.5, None, -3.0, 4.25, 1.5],
    "int": [3, 1, 2, 10, 3],
    "int with gaps": [3, None, 2, 10, 3],
    "text": ["b", "ä", None, "b", ""],
    "bool": [True, False, True, True, False],
    "bool with gaps": [True, None, False, None, True],
    "date": [dt.date(2020, 1, 2), None, dt.date(1969, 12, 31), dt.date(2020, 1, 2), dt.date(1970, 1, 1)],
    "moment": [
        dt.datetime(2020, 1, 2),
        None,
        dt.datetime(1970, 1, 1, 0, 0, 1),
        None,
        dt.datetime(2020, 1, 2, 3, 4, 5, 6),
    ],
    "span": [dt.timedelta(days=1), None, dt.timedelta(microseconds=5), dt.timedelta(0), dt.timedelta(days=1)],
    "nothing": [None] * 5,
}
NUMBERS = {
    "float": [1.5, np.nan, -3, 4.25, 1.5],
    "int": [3, 1, 2, 10, 3],
    "int with gaps": [3, np.nan, 2, 10, 3],
    "bool": [1, 0, 1, 1, 0],
    "bool with gaps": [1, np.nan, 0, np.nan, 1],
    "date": [18263, np.nan, -1, 18263, 0],
    "moment": [18263 * 86400e6, np.nan, 1e6, np.nan, 18263 * 86400e6 + 11045e6 + 6],
    "span": [86400e6, np.nan, 5, 0, 86400e6],
    "nothing": [np.nan] * 5,
}
CATEGORIES: dict[str, tuple[list[int], list[Any]]] = {
    "float": ([1, -1, 0, 2, 1], [-3, 1.5, 4.25]),
    "int": ([3, 0, 2, 1, 3], [1, 10, 2, 3]),
    "int with gaps": ([2, -1, 1, 0, 2], [10, 2, 3]),
    "text": ([1, 2, -1, 1, 0], ["", "b", "ä"]),
    "bool": ([1, 0, 1, 1, 0], [False, True]),
    "bool with gaps": ([1, -1, 0, -1, 1], [False, True]),
    "date": ([2, -1, 0, 2, 1], ["1969-12-31", "1970-01-01", "2020-01-02"]),
    "moment": ([1, -1, 0, -1, 2], ["1970-01-01T00:00:01", "2020-01-02", "2020-01-02T03:04:05.000006"]),
    "span": ([2, -1, 0, 1, 2], ["00:00:00.000005", "0d", "1d"]),
    "nothing": ([-1] * 5, []),
}
CATEGORICAL = {"text", "bool", "bool with gaps"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_table_and_its_rows_are_the_same_in_all_libraries(library: str) -> None:
    table = as_table(LIBRARIES[library](DATA))
    assert table.named == (library not in ("numpy objects", "rows"))
    assert table.names == (tuple(DATA) if table.named else tuple(f"x{i}" for i in range(len(DATA))))
    assert (table.n_rows, table.n_columns, len(table)) == (5, len(DATA), 5)
    assert "5 rows" in repr(table)
    assert "n_rows=5" in repr(table.column(0))
    has_categories = library in ("pandas category", "polars categorical", "polars enum", "pyarrow dictionary")
    text = "category" if has_categories else "text"
    types = ["number", "number", "number", text, "boolean", "boolean", "date", "datetime", "duration", "number"]
    for rows in (
        slice(None),
        np.array([4, 0, 2]),
        [4, 0, 2],
        np.array([True, False, True, False, True]),
        slice(0, 5, 2),
    ):
        picked = np.arange(5)[rows]
        taken = table.take(rows)
        assert taken.n_rows == len(picked)
        assert taken.types() == types
        for i, (name, (codes, values)) in enumerate(CATEGORIES.items()):
            column, whole = taken.column(i), [values[code] if code >= 0 else None for code in codes]
            assert column.kind == ("categorical" if name in CATEGORICAL else "numeric")
            found = column.categories()
            assert found.codes.dtype == np.int32
            assert [found.values[code] if code >= 0 else None for code in found.codes] == [whole[r] for r in picked]
            assert found.values == [value for value in values if value in [whole[r] for r in picked]]
            assert {type(value) for value in found.values} <= {type(value) for value in values}
            assert [table.column(i).value(row) for row in range(5)] == whole
            assert taken.take([1]).column(i).value(0) == whole[picked[1]]
            if name in NUMBERS:
                assert column.numbers().dtype == np.float64
                np.testing.assert_array_equal(column.numbers(), np.array(NUMBERS[name])[picked])


def test_no_copy_of_float_columns() -> None:
    values = np.asfortranarray(np.random.default_rng(0).normal(size=(50, 2)))
    frame = pd.DataFrame(values, columns=["a", "b"])
    polars, arrow = pl.DataFrame({"a": values[:, 0]}), pa.table({"a": values[:, 0]})
    memory = {"a": polars["a"].to_numpy(), "b": arrow["a"].chunk(0).to_numpy()}
    for table, own in ((values, values), (frame, frame["a"].to_numpy()), (polars, memory["a"]), (arrow, memory["b"])):
        assert np.shares_memory(as_table(table).column(0).numbers(), own)


def test_the_data_is_never_written_to() -> None:
    values = np.array([[1.0, np.nan], [np.nan, 2.0]])
    values.flags.writeable = False
    table = as_table(values)
    np.testing.assert_array_equal(table.column(0).numbers(), [1, np.nan])
    assert table.column(0).categories().codes.tolist() == [0, -1]
    integers = pd.DataFrame({"a": pd.array([1, None], dtype="Int64")})
    as_table(integers).column(0).numbers()
    assert integers["a"].tolist() == [1, pd.NA]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT], ids=repr)
@pytest.mark.parametrize("shared", [True, False])
def test_long_object_columns_of_text(missing: Any, shared: bool) -> None:
    """Long columns are encoded by the addresses of their objects, or as text where there are too many objects."""
    words = ["b", "a", missing, "cc"]
    values = np.empty(30_000, dtype=object)
    values[:] = [words[i % 4] if shared or i % 4 == 2 else "".join(list(words[i % 4])) for i in range(30_000)]
    for X in (values.reshape(-1, 1), pd.DataFrame({"a": pd.Series(values, dtype=object)})):
        column = as_table(X).column(0)
        assert (column.kind, column.type, column.categories().values) == ("categorical", "text", ["a", "b", "cc"])
        assert column.categories().codes[:5].tolist() == [1, 0, -1, 2, 1]


def test_long_object_columns_of_other_things() -> None:
    many = np.array([f"value {i}" for i in range(30_000)], dtype=object)
    assert as_table(many.reshape(-1, 1)).column(0).categories().values == sorted(many)
    mixed = np.array([[3, 3.0, "3", True, None, dt.date(2020, 1, 1)][i % 6] for i in range(30_000)], dtype=object)
    column = as_table(mixed.reshape(-1, 1)).column(0)
    assert column.type == "mixed"
    assert column.categories().values == ["2020-01-01", 3, True]
    assert column.categories().codes[:6].tolist() == [1, 1, 1, 2, -1, 0]
    numbers = np.array([float(i) for i in range(30_000)], dtype=object)
    assert as_table(numbers.reshape(-1, 1)).column(0).kind == "numeric"


words = st.one_of(st.none(), st.text(max_size=3))
columns = st.integers(1, 12).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "text": st.lists(words, min_size=n, max_size=n),
            "float": st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=n, max_size=n),
            "int": st.lists(st.integers(-(2**53), 2**53), min_size=n, max_size=n),
            "bool": st.lists(st.booleans(), min_size=n, max_size=n),
        }
    )
)


@pytest.mark.slow
@given(data=columns)
def test_libraries_agree_on_any_table(data: dict[str, list[Any]]) -> None:
    tables = {name: as_table(make(data)) for name, make in LIBRARIES.items()}
    reference = tables["polars"]
    for name, table in tables.items():
        for i, column_name in enumerate(data):
            if all(v is None for v in data[column_name]):
                assert set(table.column(i).categories().codes.tolist()) == {-1}
                continue
            expected, found = reference.column(i), table.column(i)
            assert found.kind == expected.kind, name
            assert found.categories().values == expected.categories().values, name
            np.testing.assert_array_equal(found.categories().codes, expected.categories().codes, err_msg=name)
            if found.kind == "numeric":
                np.testing.assert_array_equal(found.numbers(), expected.numbers(), err_msg=name)


NOTHING: dict[str, list[Any]] = {"a": [None, None]}
TIMES = pl.DataFrame({"a": [dt.time(0, 0, 1), None, dt.time(12)]})
DECIMALS = pl.DataFrame({"a": pl.Series(["1.50", "2"]).cast(pl.Decimal(10, 2))})
NESTED = pl.DataFrame({"a": [[1, 2], [3], None]})


@pytest.mark.parametrize(
    ("frames", "numbers", "values"),
    [
        ([DECIMALS, DECIMALS.to_arrow()], [1.5, 2], None),
        ([NESTED, NESTED.to_arrow()], None, ["[1, 2]", "[3]"]),
        (
            [pl.DataFrame(NOTHING), pa.table(NOTHING), pd.DataFrame(NOTHING), [[None], [None]]],
            [np.nan, np.nan],
            [],
        ),
        ([pl.DataFrame({"a": pl.Series([{1}, None], dtype=pl.Object)})], None, ["{1}"]),
        ([pl.DataFrame({"a": [b"x", None]})], None, ["x"]),
        ([pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.5, 0.0])})], [0, 1.5, 0], None),
        ([pd.DataFrame({"a": pd.period_range("2020-01", periods=2, freq="M")})], None, ["2020-01", "2020-02"]),
        ([pd.DataFrame({"a": pd.to_datetime(["2020-01-01T02:00+02:00"])})], [18262 * 86400e6], None),
        (
            [TIMES, TIMES.to_arrow(), [[dt.time(0, 0, 1)], [None], [dt.time(12)]]],
            [1e6, np.nan, 43200e6],
            ["00:00:01", "12:00:00"],
        ),
        ([pa.table({"a": pa.chunked_array([["a", None], ["b"], []], type=pa.string())})], None, ["a", "b"]),
    ],
    ids=["decimals", "lists", "nothing", "objects", "bytes", "sparse", "periods", "zones", "times", "chunks"],
)
def test_unusual_native_columns(frames: list[Any], numbers: list[float] | None, values: list[Any] | None) -> None:
    for frame in frames:
        column = as_table(frame).column(0)
        assert column.kind == ("categorical" if numbers is None else "numeric")
        if numbers is not None:
            np.testing.assert_array_equal(column.numbers(), numbers)
        if values is not None:
            assert column.categories().values == values


@pytest.mark.parametrize(
    "dtype", ["f2", "f4", "f8", "i1", "i8", "u8", "?", "U3", "S3", "M8[D]", "M8[us]", "m8[s]", "O"]
)
def test_arrays_of_any_type(dtype: str) -> None:
    array = np.array([[1, 0], [0, 1]]).astype(dtype)
    column = as_table(array).column(0)
    assert column.kind == ("categorical" if dtype in ("?", "U3", "S3") else "numeric")
    assert column.categories().codes.tolist() in ([1, 0], [0, 1])
    if column.kind == "numeric":
        assert np.isfinite(column.numbers()).all()


def test_small_floats_print_as_in_their_own_precision() -> None:
    column = as_table(np.array([[0.1], [0.25]], dtype=np.float32)).column(0)
    assert column.categories().values == [0.1, 0.25]


@pytest.mark.parametrize(
    "values",
    [
        pa.array(np.array([-0.934, 1.1], dtype=np.float16)),  # Arrow garbles them when it joins dictionaries
        pa.array([[1], [2]]),  # and cannot join these
        pa.array(["a", None]),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array(["a", "a"]),
    ],
    ids=lambda values: str(values.type),
)
def test_chunks_of_any_dictionary(values: Any) -> None:
    whole = pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([None, 0, 1, 0, 1], pa.int32()), values)})
    other = pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int32()), values.take([1, 0]))})
    rows = pa.concat_tables([*(whole.slice(i, 1) for i in range(5)), other])
    found = as_table(rows).column(0).categories()
    expected = as_table(whole).column(0).categories()
    assert found.values == expected.values
    assert found.codes.tolist() == [*expected.codes.tolist(), *expected.codes[1:3].tolist()]
