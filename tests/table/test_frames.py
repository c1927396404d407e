"""Tables that are refused, and column names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from bayesieve import MAPSelector, SelectiveNB
from bayesieve.table import as_table
from bayesieve.table.frames import polars_frame, take_rows


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (
            np.empty((0, 3)),
            ValueError,
            r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is req",
        ),
        (pl.DataFrame({"a": []}), ValueError, r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (np.empty((5, 0)), ValueError, r"0 feature\(s\) \(shape=\(5, 0\)\) while a minimum of 1 is required\."),
        (pd.DataFrame(index=range(4)), ValueError, r"0 feature\(s\) \(shape=\(4, 0\)\)"),
        ([1.0, 2.0], ValueError, "Expected 2D array, got 1D array instead.*Reshape your data"),
        (np.array(3.0), ValueError, "Expected 2D array, got scalar array instead.*Reshape your data"),
        (np.zeros((2, 2, 2)), ValueError, "Found array with dim 3"),
        (pd.Series([1, 2]), ValueError, "Expected a 2-dimensional container.*Reshape your data"),
        (pl.Series([1, 2]), ValueError, "Expected a 2-dimensional container"),
        (sparse.csr_matrix(1j * np.eye(2)), ValueError, "Complex data not supported"),
        (sparse.coo_array(np.ones(2)), ValueError, "Expected 2D array, got 1D sparse array instead"),
        (sparse.csr_matrix((0, 3)), ValueError, "0 sample\\(s\\) \\(shape=\\(0, 3\\)\\)"),
        (sparse.csr_matrix((3, 0)), ValueError, "0 feature\\(s\\)"),
        (np.array([[1j]]), ValueError, "Complex data not supported"),
        ([[1, 2], [3]], ValueError, "rows of X differ in length"),
        ([["a", 2], ["b"]], ValueError, "rows of X differ in length"),
        ([np.ones(2), np.ones(1)], ValueError, "rows of X differ in length"),
        (None, TypeError, "Expected a dataframe or a 2-D array"),
        ("table.csv", TypeError, "Expected a dataframe or a 2-D array"),
        ({"a": [1]}, TypeError, "Expected a dataframe or a 2-D array"),
        (np.matrix([[1]]), TypeError, "np.matrix is not supported"),
        (np.zeros(2, dtype=[("a", int)]), ValueError, "Structured arrays are not supported"),
        (pl.LazyFrame({"a": [1]}), TypeError, "not in memory yet"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "Column name 'a' appears more than once"),
        (pa.table([[1], [2]], names=["a", "a"]), ValueError, "Column name 'a' appears more than once"),
        (pd.DataFrame([[1, 2]], columns=["a", 0]), TypeError, "Feature names are only supported if all input features"),
    ],
)
def test_refused(X: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match="(?s)" + message):
        as_table(X)


def test_rows_may_hold_values_that_numpy_does_not_mix() -> None:
    rows = [[np.datetime64("NaT"), b"a", 1], [np.datetime64("2020-01-01"), b"b", 2]]
    for some in (rows, rows[:1], rows[1:]):
        table = as_table(some)
        assert (table.n_rows, table.n_columns) == (len(some), 3)
        assert [table.column(1).value(row) for row in range(len(some))] == [row[1].decode() for row in some]


def test_complex_objects_are_refused() -> None:
    with pytest.raises(ValueError, match="Complex data not supported"):
        _ = as_table(np.array([[1j], [2]], dtype=object)).column(0).kind


def test_frames_without_string_names_are_unnamed() -> None:
    table = as_table(pd.DataFrame([[1, 2]]))
    assert (table.names, table.named) == (("x0", "x1"), False)
    frame = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]))
    assert as_table(frame).names == ("x0", "x1")


def test_names_can_be_given() -> None:
    table = as_table(np.zeros((1, 2)), feature_names=["a", "b"])
    assert (table.names, table.named) == (("a", "b"), False)
    assert table.column(1).name == "b"
    with pytest.raises(ValueError, match="feature_names has 1 names but X has 2 columns"):
        as_table(np.zeros((1, 2)), feature_names=["a"])
    with pytest.raises(TypeError, match="feature_names must be strings"):
        as_table(np.zeros((1, 2)), feature_names=["a", 1])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="appears more than once"):
        as_table(np.zeros((1, 2)), feature_names=["a", "a"])


def test_kinds() -> None:
    X = pd.DataFrame({"a": [1, 2], "b": ["1", "2.5"]})
    table = as_table(X, kinds={"a": "categorical", "b": "numeric"})
    assert [table.column(i).kind for i in range(2)] == ["categorical", "numeric"]
    assert table.column(0).categories().values == [1, 2]
    assert table.column(1).numbers().tolist() == [1, 2.5]
    assert table.column(1).type == "number"
    assert table.take([0]).column(0).kind == "categorical"
    with pytest.raises(ValueError, match="kinds names column 'c', which X does not have"):
        as_table(X, kinds={"c": "numeric"})
    with pytest.raises(ValueError, match=r"kinds\['a'\] is 'nominal'; it must be 'numeric' or 'categorical'"):
        as_table(X, kinds={"a": "nominal"})
    with pytest.raises(ValueError, match=r"kinds\['a'\] is \[\]; it must be"):
        as_table(X, kinds={"a": []})  # type: ignore[dict-item]
    for kinds in ("numeric", [1], 5, True):
        with pytest.raises(ValueError, match="kinds must map names of columns to"):
            as_table(X, kinds=kinds)  # type: ignore[arg-type]


def test_a_table_can_be_read_again() -> None:
    table = as_table(pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None]}))
    part = as_table(table.take([2, 1]), kinds={"a": "categorical"})
    assert part.named
    assert part.column(0).kind == "categorical"
    assert part.column(0).categories().values == [2, 3]
    assert part.column(1).categories().codes.tolist() == [-1, 0]


def test_lists_keep_numbers_apart_from_text() -> None:
    table = as_table([[1, "a"], [2, "b"]])
    assert [table.column(i).kind for i in range(2)] == ["numeric", "categorical"]
    assert as_table(((1, 2), (3, 4))).column(1).numbers().tolist() == [2, 4]


class _ArrayLike:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array([[1.0], [2.0]])


class _ArrowStream:
    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._frame.__arrow_c_stream__(requested_schema)


def test_batches_hold_what_pyarrow_holds() -> None:
    batch = pa.record_batch({"a": pa.array([1, 2]), "b": pa.array([b"x", None], pa.binary_view())})
    table = as_table(batch)
    assert (table.names, table.named) == (("a", "b"), True)
    numbers = pa.record_batch({"a": pa.array([0.0, 1.0] * 20), "b": pa.array([0.0] * 40)})
    selector = MAPSelector().fit(numbers, [0, 1] * 20)
    assert selector.transform(numbers).column_names == ["a"]
    assert take_rows(batch, np.array([1])).to_pylist() == [{"a": 2, "b": None}]


def test_half_characters_are_spelt_out() -> None:
    frame = polars_frame({"a\ud800": ["x\udfff", None, "é"], "b": np.arange(3)})
    assert frame.columns == ["a\\ud800", "b"]
    assert frame["a\\ud800"].to_list() == ["x\\udfff", None, "é"]
    model = SelectiveNB("all").fit(np.array([[1.0], [2.0]] * 20), [0, 1] * 20)
    with pytest.warns(UserWarning, match="x0"):
        p = model.predict_proba(np.array([["\ud800"]], dtype=object))
    np.testing.assert_allclose(p, [[0.5, 0.5]])


def test_other_containers() -> None:
    assert as_table(_ArrayLike()).n_rows == 2
    table = as_table(_ArrowStream(pl.DataFrame({"a": [1, 2]})))
    assert (table.names, table.named) == (("a",), True)


def test_unicode_and_odd_names() -> None:
    names = ("größe", "<script>", "a b\n", "")
    assert as_table(pl.DataFrame({name: [1] for name in names})).names == names


def test_a_long_text_in_place_of_a_table_is_cut_in_the_message() -> None:
    with pytest.raises(ValueError, match=r"got scalar array instead") as refusal:
        as_table(np.array("x" * 100_000))
    assert len(str(refusal.value)) < 600
