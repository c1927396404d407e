"""Objects that are no table are refused, and column names stay what they are."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from bayesieve import MAPSelector, SelectiveNB
from bayesieve.table import as_table
from bayesieve.table.frames import in_library, results_frame, take_rows


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.empty((0, 3)), ValueError, r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is"),
        (pl.DataFrame({"a": []}), ValueError, r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (np.empty((5, 0)), ValueError, r"0 feature\(s\) \(shape=\(5, 0\)\) while a minimum of 1 is required\."),
        (pd.DataFrame(index=range(4)), ValueError, r"0 feature\(s\) \(shape=\(4, 0\)\)"),
        ([1.0, 2.0], ValueError, "Expected 2D array, got 1D array instead.*Reshape your data"),
        (np.array(3.0), ValueError, "Expected 2D array, got scalar array instead.*Reshape your data"),
        (np.array("x" * 100_000), ValueError, "got scalar array instead"),
        (np.zeros((2, 2, 2)), ValueError, "Found array with dim 3"),
        (pd.Series([1, 2]), ValueError, "Expected a 2-dimensional container.*Reshape your data"),
        (pl.Series([1, 2]), ValueError, "Expected a 2-dimensional container"),
        (sparse.csr_matrix(1j * np.eye(2)), ValueError, "Complex data not supported"),
        (sparse.coo_array(np.ones(2)), ValueError, "Expected 2D array, got 1D sparse array instead"),
        (sparse.csr_matrix((0, 3)), ValueError, "0 sample\\(s\\) \\(shape=\\(0, 3\\)\\)"),
        (sparse.csr_matrix((3, 0)), ValueError, "0 feature\\(s\\)"),
        (np.array([[1j]]), ValueError, "Complex data not supported"),
        (np.array([[1j], [2]], dtype=object), ValueError, "Complex data not supported"),
        ([[1, 2], [3]], ValueError, "rows of X differ in length"),
        ([["a", 2], ["b"]], ValueError, "rows of X differ in length"),
        ([np.ones(2), np.ones(1)], ValueError, "rows of X differ in length"),
        (None, TypeError, "Expected a dataframe or a 2-D array"),
        ("table.csv", TypeError, "Expected a dataframe or a 2-D array"),
        ({"a": [1]}, TypeError, "Expected a dataframe or a 2-D array"),
        (np.ones((1, 1)).view(np.matrix), TypeError, "np.matrix is not supported"),
        (np.zeros(2, dtype=[("a", int)]), ValueError, "Structured arrays are not supported"),
        (pl.LazyFrame({"a": [1]}), TypeError, "not in memory yet"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "Column name 'a' appears more than once"),
        (pa.table([[1], [2]], names=["a", "a"]), ValueError, "Column name 'a' appears more than once"),
        (pd.DataFrame([[1, 2]], columns=["a", 0]), TypeError, "Feature names are only supported if all input features"),
    ],
)
def test_refused(X: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match="(?s)" + message) as refusal:
        _ = as_table(X).column(0).kind
    assert len(str(refusal.value)) < 600


def test_rows_may_hold_values_that_numpy_does_not_mix() -> None:
    rows = [[np.datetime64("NaT"), b"a", 1], [np.datetime64("2020-01-01"), b"b", 2]]
    for some in (rows, rows[:1], rows[1:]):
        table = as_table(some)
        assert (table.n_rows, table.n_columns) == (len(some), 3)
        assert [table.column(1).value(row) for row in range(len(some))] == [row[1].decode() for row in some]


def _offering(protocol: str, give: Any) -> Any:
    return type("Offering", (), {protocol: lambda self, *_, **options: give})()


@pytest.mark.parametrize(
    ("X", "names", "named"),
    [
        (pd.DataFrame([[1, 2]]), ("x0", "x1"), False),
        (pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])), ("x0", "x1"), False),
        (
            pl.DataFrame({name: [1] for name in ("größe", "<script>", "a b\n", "")}),
            ("größe", "<script>", "a b\n", ""),
            True,
        ),
        (pa.record_batch({"a": [1], "b": pa.array([b"x"], pa.binary_view())}), ("a", "b"), True),
        (_offering("__array__", np.array([[1.0], [2.0]])), ("x0",), False),
        (_offering("__arrow_c_stream__", pl.DataFrame({"a": [1, 2]}).__arrow_c_stream__()), ("a",), True),
    ],
)
def test_names(X: Any, names: tuple[str, ...], named: bool) -> None:
    table = as_table(X)
    assert (table.names, table.named) == (names, named)


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["a"], ValueError, "feature_names has 1 names but X has 2 columns"),
        (["a", 1], TypeError, "feature_names must be strings"),
        (["a", "a"], ValueError, "appears more than once"),
    ],
)
def test_names_can_be_given(names: Any, error: type[Exception], message: str) -> None:
    table = as_table(np.zeros((1, 2)), feature_names=["a", "b"])
    assert (table.names, table.named, table.column(1).name) == (("a", "b"), False, "b")
    with pytest.raises(error, match=message):
        as_table(np.zeros((1, 2)), feature_names=names)


def test_kinds() -> None:
    table = as_table(pd.DataFrame({"a": [1, 2], "b": ["1", "2.5"]}), kinds={"a": "categorical", "b": "numeric"})
    assert table.kinds() == table.take([0]).kinds() == ["categorical", "numeric"]
    assert table.column(0).categories().values == [1, 2]
    assert (table.column(1).type, table.column(1).numbers().tolist()) == ("number", [1, 2.5])
    part = as_table(table.take([1, 0]), kinds={"b": "categorical"})  # a table is read again
    assert (part.named, part.kinds()) == (True, ["categorical", "categorical"])
    mixed = as_table([[1, 2, "a"], [2, 3, 3]]).take([1])
    assert (mixed.kinds(), mixed.types()) == (["numeric", "numeric", "categorical"], ["number", "number", "mixed"])


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"c": "numeric"}, "kinds names column 'c', which X does not have"),
        ({"a": "nominal"}, r"kinds\['a'\] is 'nominal'; it must be 'numeric' or 'categorical'"),
        ({"a": []}, r"kinds\['a'\] is \[\]; it must be"),
        *((kinds, "kinds must map names of columns to") for kinds in ("numeric", [1], 5, True)),
    ],
)
def test_refused_kinds(kinds: Any, message: str) -> None:
    for X in (pd.DataFrame({"a": [1, 2]}), sparse.csr_matrix(np.eye(2))):
        with pytest.raises(ValueError, match=message):
            as_table(X, kinds=kinds, feature_names=["a", "b"] if sparse.issparse(X) else None)


def test_batches_stay_batches() -> None:
    numbers = pa.record_batch({"a": pa.array([0.0, 1.0] * 20), "b": pa.array([0.0] * 40)})
    assert MAPSelector().fit(numbers, [0, 1] * 20).transform(numbers).column_names == ["a"]
    batch = pa.record_batch({"a": pa.array([1, 2]), "b": pa.array([b"x", None], pa.binary_view())})
    assert take_rows(batch, np.array([1])).to_pylist() == [{"a": 2, "b": None}]
    assert as_table(batch).library == "polars"  # results are dataframes


def test_half_characters_are_spelt_out() -> None:
    frame = results_frame({"a\ud800": ["x\udfff", None, "é"], "b": np.arange(3)})
    assert frame.columns == ["a\\ud800", "b"]
    assert frame["a\\ud800"].to_list() == ["x\\udfff", None, "é"]
    model = SelectiveNB("all").fit(np.array([[1.0], [2.0]] * 20), [0, 1] * 20)
    with pytest.warns(UserWarning, match="x0"):
        p = model.predict_proba(np.array([["\ud800"]], dtype=object))
    np.testing.assert_allclose(p, [[0.5, 0.5]])


def test_take_rows_keeps_the_kind_of_table() -> None:
    rows = np.array([2, 0])
    frame = pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    assert take_rows(frame, rows).rows() == [(3, "z"), (1, "x")]
    assert take_rows(frame.to_pandas().set_index(pd.Index(["p", "q", "r"])), rows).index.tolist() == ["r", "p"]
    assert take_rows(frame.to_arrow(), rows).to_pylist() == [{"a": 3, "b": "z"}, {"a": 1, "b": "x"}]
    assert take_rows([[1, "x"], [2, "y"], [3, "z"]], rows).tolist() == [[3, "z"], [1, "x"]]
    assert take_rows(np.arange(3)[:, None], rows).tolist() == [[2], [0]]


@pytest.mark.parametrize("texts", [["a text", None, "b", "a text"], ["", "\x00"], [None, None], []])
def test_texts_of_results_in_pandas(texts: list[str | None]) -> None:
    frame = in_library(pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)}), "pandas")
    assert frame["text"].astype(object).where(frame["text"].notna(), None).tolist() == texts


def test_repeated_texts_of_results_are_one_object() -> None:
    frame = pl.DataFrame({"text": ["a level with a long label", "another level with a long label", None] * 5000})
    in_library(frame[:3], "pandas")
    tracemalloc.start()
    try:
        in_library(frame, "pandas")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 80 * frame.height  # 58 bytes with what pandas needs; 102 if each text is an object of its own
