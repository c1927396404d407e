"""Class labels and row weights of any library are read exactly, or refused in one sentence."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from bayesieve.table import Target, as_sample_weight, as_target
from bayesieve.table.target import refuse_identifiers
from tests.table.libraries import LIBRARIES

LABELS: dict[str, list[Any]] = {
    "text": ["no", "yes", "ähm", "no"],
    "whole": [2, -1, 10, 2],
    "floats": [2.0, -1.0, 10.0, 2.0],
    "bool": [True, False, True, True],
}


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_labels_of_all_libraries(library: str, labels: str) -> None:
    y = LABELS[labels]
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        target = as_target(LIBRARIES[library]({"y": y}))
    classes, codes = np.unique(np.array(y), return_inverse=True)
    assert target.classes.tolist() == classes.tolist()
    assert target.codes.tolist() == codes.tolist()
    assert target.codes.dtype == np.uint8
    assert target.n_classes == len(classes)


@pytest.mark.parametrize(
    "make",
    [
        list, tuple, np.array, lambda y: np.array(y, dtype=object), pd.Series, lambda y: pd.Series(y, dtype="category"),
        lambda y: pd.Series(y).convert_dtypes(), pl.Series, pa.array, lambda y: pa.chunked_array([y[:1], y[1:]]),
    ],
    ids=["list", "tuple", "array", "objects", "pandas", "category", "nullable", "polars", "pyarrow", "chunks"],
)  # fmt: skip
@pytest.mark.parametrize(
    "labels", [["a", "a"], ["b", "a", "b"], [3, 1, 3], [3, 20, 3], [True, False, True], [2**40, 0, 2**40]]
)
def test_classes_are_those_of_numpy(make: Any, labels: list[Any]) -> None:
    check_classes(make(labels), labels)


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, np.float64, np.int64, np.bool_, "U1"])
def test_classes_keep_their_type(dtype: Any) -> None:
    y = np.array([1, 0, 1]).astype(dtype)
    assert check_classes(y, y.tolist()).classes.dtype == y.dtype


def check_classes(y: Any, labels: list[Any]) -> Target:
    target = as_target(y)
    classes, codes = np.unique(labels, return_inverse=True)
    assert (target.classes.tolist(), target.codes.tolist()) == (classes.tolist(), codes.tolist())
    assert target.classes[target.codes].tolist() == labels
    return target


@given(y=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5), min_size=1))
def test_any_whole_labels(y: list[int]) -> None:
    array = np.array(y, dtype=np.int64)
    target = as_target(array)
    np.testing.assert_array_equal(target.classes[target.codes], array)
    assert (np.diff(target.classes.astype(object)) > 0).all()


@pytest.mark.parametrize(
    ("n_classes", "dtype"), [(256, np.uint8), (257, np.uint16), (65536, np.uint16), (65537, np.int32)]
)
def test_codes_are_as_small_as_possible(n_classes: int, dtype: type) -> None:
    target = as_target(np.arange(n_classes))
    assert target.codes.dtype == dtype
    np.testing.assert_array_equal(target.codes, np.arange(n_classes))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([], r"Found array with 0 sample\(s\)"),
        ([1.5, 2.0], "Unknown label type: continuous. Maybe you are trying to fit a classifier"),
        (np.array([1.5, 2.0], dtype=object), "Unknown label type: continuous"),
        (pl.Series([1.5, 2.0]), "Unknown label type: continuous"),
        (pd.Series([1.5, 2.0], dtype="category"), "Unknown label type: continuous"),
        (np.array([np.inf, 1.0]), "Input y contains infinity or a value too large for dtype"),
        (np.array([1.0, np.nan]), r"Input y contains NaN or missing labels \(first in row 1\)"),
        (["a", None], "contains NaN or missing labels"),
        (pd.Series([1, None], dtype="Int64"), "contains NaN or missing labels"),
        (pl.Series(["a", None]), "contains NaN or missing labels"),
        (pd.Series(["a", np.nan], dtype="category"), "contains NaN or missing labels"),
        (np.array([None, None], dtype=object), "contains NaN or missing labels"),
        (np.zeros((3, 2)), r"y should be a 1d array, got an array of shape \(3, 2\) instead"),
        (pl.DataFrame({"a": [1], "b": [2]}), "y should be a 1d array"),
        ("abc", r"Expected array-like \(array or non-string sequence\), got 'abc'"),
        (3, r"Expected array-like \(array or non-string sequence\), got 3"),
        (np.array([1j]), "Complex data not supported"),
        (["a", 1], "labels in y mix text with other types"),
        ([1, "1", 2], "labels in y mix text with other types"),
        (np.array(["1", 1], dtype=object), "labels in y mix text with other types"),
        (pd.Series(["2", 2, 3]), "labels in y mix text with other types"),
        (pd.Series(["2", 2, 3], dtype="category"), "labels in y mix text with other types"),
        (np.array([True, 2], dtype=object), "labels in y mix booleans and numbers"),
        (pd.Series(pd.to_datetime(["2020-01-01"])), "Unknown label type: datetime"),
        (pd.Series([(1, 2), (3, 4)]), "Unknown label type: tuple"),
        (pd.cut(pd.Series([1, 2, 3]), 2), "Unknown label type: Interval"),
        ([uuid.UUID(int=1), uuid.UUID(int=2)], r"Unknown label type: UUID.* \[str\(label\) for label in y\]"),
        (pl.Series([[1], [2]]), "Unknown label type: list"),
        (pl.Series([{"a": 1}, {"a": 2}]), "Unknown label type: dict"),
        ([frozenset([1]), frozenset([2])], "Unknown label type: frozenset"),
        ([Decimal("1.5"), Decimal(2)], "Unknown label type: continuous"),
        ([10**25, 10**25 + 1], "whole numbers beyond 64 bits; convert them to text"),
        ([-1, 2**63], "beyond 64 bits"),
        ([[1, 2], [3]], "y should be a 1d array, got rows that differ in length"),
        (dict.fromkeys(range(1000), 1), r"got \{0: 1, .{0,80}; pass y as an array"),
        (pl.Series([10**20, 10**20 + 1], dtype=pl.Int128), "beyond 64 bits"),
        (pd.Categorical([10**25, 10**25 + 1]), "beyond 64 bits"),
        ([True, 1, 0], "mix booleans and numbers"),
        (np.ma.array([0, 1], mask=[1, 0]), r"missing labels \(first in row 0\)"),
        (sparse.csr_matrix(np.eye(2)), "Sparse data was passed for y"),
    ],
    ids=repr,
)
def test_refused_targets(y: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        as_target(y)


def test_weights() -> None:
    for ones in (None, [1, 1, 1], 1):
        assert as_sample_weight(ones, 3) is None
    for make in (list, pd.Series, pl.Series, pa.array, lambda values: np.array(values, "f4")):
        found = as_sample_weight(make([1, 2, 0]), 3)
        assert found is not None
        assert (found.dtype, found.tolist()) == (np.float64, [1, 2, 0])
    original = np.array([1.0, 2.0])
    as_sample_weight(original, 2)
    assert original.tolist() == [1, 2]
    assert (as_sample_weight(2.5, 2) == np.array([2.5, 2.5])).all()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1, 1], r"Negative values in sample_weight \(first in row 1\)"),
        ([1, np.nan, 1], r"sample_weight contains NaN or infinity \(first in row 1\)"),
        ([1, None, 1], "sample_weight contains NaN or infinity"),
        ([1, 1, np.inf], r"infinity \(first in row 2\)"),
        ([1, 1], r"sample_weight.shape == \(2,\), expected \(3,\)!"),
        ([[1, 1, 1]], "Sample weights must be 1D array or scalar"),
        (["a", "b", "c"], "sample_weight must contain one number for each row"),
        ([1j, 1.0, 2.0], "sample_weight must contain one number for each row"),
        (np.array(["2024-05-01"] * 3, dtype="datetime64[D]"), "sample_weight must contain one number for each row"),
        ([0, 0, 0], "at least one non-zero number; all weights are zero"),
        ([1, 1e19, 1], r"add up to 1e\+19; scale them so that their sum is between 1e-100 and 1e\+18"),
        ([1e308, 1e308, 1e308], "add up to inf; scale them"),
        ([0, 5e-324, 0], "scale them so that their sum"),
    ],
)
def test_refused_weights(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_sample_weight(weights, 3)


def test_long_labels_stay_apart() -> None:
    assert as_target([2**63, 2**63 + 1]).classes.tolist() == [2**63, 2**63 + 1]
    assert as_target([2**60 + 1, 2**60, 1.0]).classes.tolist() == [1, 2**60, 2**60 + 1]
    assert as_target(pl.Series([Decimal(2), Decimal(1)])).classes.tolist() == [1, 2]
    assert as_target(np.array([b"\xfe", b"\xff"])).n_classes == 2


def test_one_long_label_among_many_takes_little_memory() -> None:
    y = [f"label {i:04}" for i in range(2000)] + ["x" * 10_000]
    target = as_target(y)
    assert target.classes.dtype == object  # 80 MB as NumPy text
    assert target.classes.tolist() == y
    assert as_target(y[:-1]).classes.dtype.kind == "U"


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "message"),
    [
        (70_000, 70_000, r"70,000 classes in 70,000 rows, fewer than 2 rows each .* an identifier\?"),
        (401, 201, "201 classes in 401 rows, fewer than 2 rows each"),
        (90_000, 30_000, r"30,000 classes in 90,000 rows, .* 20 GiB of memory; is it an identifier\?"),
        (6_000, 3_000, r"3,000 classes in 6,000 rows; is it an identifier\?"),
        *((402, 201, ""), (531, 48, ""), (10_000, 1_000, ""), (100_000_000, 100, "")),
    ],
)
def test_identifiers_as_target_are_refused_before_they_fill_the_memory(
    n_rows: int, n_classes: int, message: str
) -> None:
    target = Target(np.zeros(n_rows, dtype=np.uint8), np.arange(n_classes))
    if not message:
        refuse_identifiers(target)
    elif n_rows == 6_000:
        with pytest.warns(UserWarning, match=message):
            refuse_identifiers(target)
    else:
        with pytest.raises(ValueError, match=message):
            refuse_identifiers(target)
