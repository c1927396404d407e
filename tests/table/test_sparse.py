"""Sparse matrices: the same columns as the dense array, whatever the format."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from bayesieve.table import as_table
from bayesieve.table.columns import MatrixTable
from bayesieve.table.frames import WIDE as _WIDE, take_rows
from tests.cases import mostly_slow

FORMATS = ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")
TYPES = (np.float64, np.float32, np.int64, np.int8, np.uint16, np.bool_)


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    """Arrays of mostly zeros, some of them with missing values."""
    shape = (draw(st.integers(1, 8)), draw(st.integers(1, 5)))
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    values = [0, 0, 0, 1, 2, 7]
    if dtype.kind == "f":
        values += [float("nan"), -0.25, -1e30]
    return draw(arrays(dtype, shape, elements=st.sampled_from(values).map(dtype.type)))


def facts_of(column: Any) -> tuple[Any, ...]:
    values, categories = [column.value(row) for row in range(len(column))], column.categories()
    read = column.numbers().tobytes(), categories.values, categories.codes.tolist()
    return column.name, column.kind, column.type, *read, values, [type(value) for value in values]


def same_columns(sparse_table: Any, dense_table: Any) -> None:
    assert sparse_table.names == dense_table.names
    assert (sparse_table.n_rows, sparse_table.n_columns) == (dense_table.n_rows, dense_table.n_columns)
    assert (sparse_table.kinds(), sparse_table.types()) == (dense_table.kinds(), dense_table.types())
    for i in range(dense_table.n_columns):
        assert facts_of(sparse_table.column(i)) == facts_of(dense_table.column(i))


@given(tables(), st.sampled_from(FORMATS), st.booleans())
def test_same_as_dense(dense: np.ndarray, form: str, as_sparse_array: bool) -> None:
    make = sparse.csr_array if as_sparse_array else sparse.csr_matrix
    found, expected = as_table(make(dense).asformat(form)), as_table(dense)
    same_columns(found, expected)
    every = np.arange(dense.shape[1])
    assert np.array_equal(found.numbers(every), expected.numbers(every), equal_nan=True)


@given(tables(), st.data())
def test_same_rows_as_dense(dense: np.ndarray, data: st.DataObject) -> None:
    rows = np.array(data.draw(st.lists(st.integers(0, len(dense) - 1), min_size=1, max_size=6)))
    table = as_table(sparse.csc_array(dense))
    same_columns(table.take(rows), as_table(dense[rows]))
    same_columns(table.select([0]), as_table(dense[:, :1]))


@pytest.mark.parametrize("form", FORMATS)
def test_rows_of_every_format(form: str) -> None:
    dense = np.array([[0, 1], [2, 0], [0, 0]])
    taken = take_rows(sparse.csr_matrix(dense).asformat(form), np.array([2, 0]))
    assert sparse.issparse(taken)
    assert taken.toarray().tolist() == [[0, 0], [0, 1]]


def test_cells_given_twice_are_added_and_the_matrix_is_left_alone() -> None:
    matrix = sparse.csc_matrix((np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(3, 1))
    assert as_table(matrix).column(0).numbers().tolist() == [5.0, 3.0, 0.0]
    assert matrix.indices.tolist() == [1, 1, 0]


def test_stored_zeros_and_columns_without_cells() -> None:
    matrix = sparse.csr_matrix((np.zeros(1), np.array([0]), np.array([0, 1, 1])), shape=(2, 2))
    table = as_table(matrix)
    assert table.numbers(np.arange(2)).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert table.column(0).value(0) == 0.0


@pytest.mark.parametrize("dtype", mostly_slow([np.float32, np.int16, np.bool_], [np.float32]))
def test_wide_frames_are_read_as_one_matrix(dtype: Any) -> None:
    values = (np.arange(3 * _WIDE).reshape(3, _WIDE) % 5 == 0).astype(dtype)
    names = [f"c{i}" for i in range(_WIDE)]
    expected = as_table(values, feature_names=names)
    frame = pd.DataFrame(values, columns=names)
    for wide in (frame, frame.astype(pd.SparseDtype(dtype, dtype(0)))):
        assert isinstance(as_table(wide), MatrixTable)
        same_columns(as_table(wide), expected)
    same_columns(as_table(pl.from_pandas(frame)), expected)


def test_wide_frames_keep_whole_numbers_with_nulls_apart() -> None:
    whole = {f"c{i}": [2**60 + 1, None] for i in range(_WIDE)}
    floats = {name: [0.5, None] for name in whole}
    for columns, value in ((whole, 2**60 + 1), (floats, 0.5), (whole | {"last": ["a", "b"]}, 2**60 + 1)):
        table = as_table(pl.DataFrame(columns))
        assert isinstance(table, MatrixTable) == (columns is floats)
        assert [table.column(3).value(row) for row in (0, 1)] == [value, None]
    assert table.column(_WIDE).kind == "categorical"


def test_infinity_is_refused_with_its_column_and_row() -> None:
    table = as_table(sparse.csr_matrix(np.array([[0.0, 1.0], [0.0, np.inf]])))
    for read in (table.column(1).numbers, lambda: table.numbers(np.arange(2))):
        with pytest.raises(ValueError, match=r"Column 'x1' contains infinity \(first in row 1\)"):
            read()
