"""NumPy arrays, also of Python objects, and SciPy sparse matrices: how they are read."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from numbers import Number
from types import NoneType
from typing import Any

import numpy as np

from bayesieve.table.encoding import encoded_by_identity, is_text_to_pandas
from bayesieve.table.values import COUNT, TYPES_OF_MOMENTS, is_missing, unmasked


def as_array(X: Any) -> np.ndarray:
    """An array-like as a 2-D array of numbers, text or objects; errors have scikit-learn's wording."""
    if isinstance(X, (str, bytes, Mapping)) or X is None:
        raise TypeError(f"Expected a dataframe or a 2-D array, got {type(X)} instead.")
    if isinstance(X, np.matrix):
        raise TypeError("np.matrix is not supported. Please convert to a numpy array with np.asarray.")
    array = _array_of_rows(X) if isinstance(X, (list, tuple)) else unmasked(X)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: split it into its real and imaginary parts.")
    if array.dtype.names is not None:
        raise ValueError("Structured arrays are not supported; pass a dataframe instead, such as pandas.DataFrame(X).")
    _refuse_other_shapes(array)
    return array


def _array_of_rows(rows: Sequence[Any]) -> np.ndarray:
    """A list of rows as numbers if it holds only those, else as objects (NumPy would turn numbers into text)."""
    if any(isinstance(row, np.ma.MaskedArray) for row in rows):
        return unmasked(np.ma.stack(rows))
    if len({len(row) for row in rows if isinstance(row, (list, tuple)) or getattr(row, "ndim", False)}) > 1:
        raise ValueError("The rows of X differ in length; every row needs one value per column.")
    cells = list(chain.from_iterable(row for row in rows if isinstance(row, (list, tuple))))
    if any(isinstance(cell, tuple) for cell in cells) and len(cells) == len(rows) * len(rows[0]):
        # NumPy takes tuples of one length for an axis.
        return np.fromiter(cells, dtype=object).reshape(len(rows), -1)
    try:
        array = np.asarray(rows)
        if array.dtype.kind in "biufcmM" and (array.ndim != 2 or holds_exactly(array, chain.from_iterable(rows))):
            return array
    except ValueError:  # values that NumPy does not mix, such as dates and text
        pass
    try:
        return np.array(rows, dtype=object)
    except ValueError:
        raise ValueError("The rows of X differ in length; every row needs one value per column.") from None


def holds_exactly(array: np.ndarray, values: Iterable[Any]) -> bool:
    """Whether an array that NumPy made of Python values has them as they were: it makes numbers of booleans, and floats
    of whole numbers that no float holds.
    """
    kinds = set(map(type, values))
    if len(kinds & {bool, np.bool_}) > 0 and array.dtype != bool:
        return False
    return (
        array.dtype.kind != "f"
        or all(issubclass(kind, (float, np.floating)) for kind in kinds)
        or not (np.abs(array) >= 2**53).any()
    )


def _refuse_other_shapes(array: np.ndarray) -> None:
    if array.ndim < 2:
        content = str(array)
        raise ValueError(
            f"Expected 2D array, got {'1D' if array.ndim else 'scalar'} array instead:\n"
            f"array={content if len(content) <= 200 else content[:197] + '...'}.\nReshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a single "
            "sample."
        )
    if array.ndim > 2:
        raise ValueError(f"Found array with dim {array.ndim}, while dim <= 2 is required.")


def missing_objects(column: np.ndarray) -> np.ndarray:
    """Which entries of an object array are None, NaN, NaT or ``pandas.NA``."""
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        try:
            return np.asarray(pandas.isna(column))
        except ArithmeticError:  # a signalling NaN among Decimals
            pass
    return np.fromiter((is_missing(value) for value in column), dtype=bool, count=len(column))


def type_of_objects(column: np.ndarray) -> str:
    """The `Column.type` of an object array: what all its values are, or "mixed"."""
    by_identity = encoded_by_identity(column)
    if by_identity is not None:
        column = np.empty(len(by_identity[1]), dtype=object)
        column[:] = by_identity[1]
    if is_text_to_pandas(column):
        return "text"
    kinds = set(map(type, column))
    if not kinds <= {str, NoneType}:
        kinds = set(map(type, column[~missing_objects(column)]))
    names = {_name_of_type(kind) for kind in kinds - {NoneType}}
    if not names:
        return "number"  # all missing
    if names == {"date", "datetime"}:
        return "datetime"
    return names.pop() if len(names) == 1 else "mixed"


def _name_of_type(kind: type) -> str:
    """The `Column.type` of one Python type."""
    if issubclass(kind, (complex, np.complexfloating)):
        raise ValueError("Complex data not supported: split it into its real and imaginary parts.")
    for base, name in (
        ((bool, np.bool_), "boolean"),
        *TYPES_OF_MOMENTS,
        ((Number, np.number), "number"),
        (str, "text"),
    ):
        if issubclass(kind, base):
            return name
    return "mixed"


def plain_objects(column: np.ndarray, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Values and missing mask of an object array of numbers, booleans, dates or times."""
    missing = missing_objects(column)
    present = column[~missing]
    if type_ in COUNT:
        present_values = np.array([COUNT[type_](value) for value in present], dtype=np.int64)
    else:
        present_values = present.astype(bool if type_ == "boolean" else _dtype_of_numbers(present) or np.float64)
    values = np.zeros(len(column), dtype=present_values.dtype)
    values[~missing] = present_values
    return values, missing if missing.any() else None


def objects_round(column: np.ndarray) -> bool:
    """Whether numbers lose digits in `plain`: Decimals, fractions, and whole numbers beyond 64 bits or among floats."""
    return _dtype_of_numbers(column[~missing_objects(column)]) is None


def _dtype_of_numbers(present: np.ndarray) -> type | None:
    """The NumPy type that holds all of these numbers exactly, or None."""
    kinds = set(map(type, present))
    if all(issubclass(kind, float) for kind in kinds):  # shorter floats have other texts
        return np.float64
    if all(issubclass(kind, (int, np.integer)) for kind in kinds):
        lowest, highest = int(present.min()), int(present.max())
        if lowest >= -(2**63) and highest < 2**63:
            return np.int64
        return np.uint64 if lowest >= 0 and highest < 2**64 else None
    return None


def as_csc(X: Any) -> Any:
    """A sparse matrix or array by columns, rows ascending and each cell once; the caller's is left as it is.

    ValueError if it is not two-dimensional, or holds complex numbers; TypeError if it holds anything but numbers and
    booleans.
    """
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D sparse array instead. Reshape it with X.reshape((-1, 1)) if your data "
            "has a single feature or X.reshape((1, -1)) if it contains a single sample."
        )
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: split it into its real and imaginary parts.")
    if X.dtype.kind not in "biuf":
        raise TypeError(f"A sparse table must hold numbers or booleans, got {X.dtype}; convert it to float first.")
    by_column = X.tocsc()
    if not by_column.has_canonical_format:
        if by_column is X:
            by_column = by_column.copy()
        by_column.sum_duplicates()
    return by_column


def column_of_csc(matrix: Any, i: int) -> np.ndarray:
    """Column ``i`` of the result of `as_csc`, with its zeros."""
    stored = slice(matrix.indptr[i], matrix.indptr[i + 1])
    values = np.zeros(matrix.shape[0], dtype=matrix.dtype)
    values[matrix.indices[stored]] = matrix.data[stored]
    return values
