"""Conversion of array-likes to 2-D NumPy arrays, and of SciPy sparse matrices to CSC format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from bayesieve.table.values import unmasked


def as_array(X: Any) -> np.ndarray:
    """Return an array-like as a 2-D array of numbers, text or objects. Raise ValueError or TypeError, with
    scikit-learn's wording, for other inputs.
    """
    if isinstance(X, (str, bytes, Mapping)) or X is None:
        raise TypeError(f"Expected a dataframe or a 2-D array, got {type(X)} instead.")
    if isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], Mapping):
        raise TypeError("Expected a dataframe or a 2-D array, got a list of dicts instead.")
    if isinstance(X, np.matrix):
        raise TypeError("np.matrix is not supported. Please convert to a numpy array with np.asarray.")
    array = _array_of_rows(X) if isinstance(X, (list, tuple)) else unmasked(X)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: split complex columns of X into real and imaginary parts.")
    if array.dtype.names is not None:
        raise ValueError("Structured arrays are not supported; pass a dataframe instead, such as pandas.DataFrame(X).")
    _refuse_other_shapes(array)
    return array


def _array_of_rows(rows: Sequence[Any]) -> np.ndarray:
    """Return a list of rows as a 2-D array: of one NumPy type if it represents all values exactly, otherwise of
    objects.

    `numpy.array` by itself would convert numbers beside text to text.
    """
    if any(isinstance(row, np.ma.MaskedArray) for row in rows):
        return unmasked(np.ma.stack(rows))
    if len({len(row) for row in rows if isinstance(row, (list, tuple)) or getattr(row, "ndim", False)}) > 1:
        raise ValueError(
            "The rows of X differ in length; give every row one value per column, with None where one is missing."
        )
    cells = list(chain.from_iterable(row for row in rows if isinstance(row, (list, tuple))))
    if any(isinstance(cell, tuple) for cell in cells) and len(cells) == len(rows) * len(rows[0]):
        # NumPy would read tuples of equal length as another axis.
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
        raise ValueError(
            "The rows of X differ in length; give every row one value per column, with None where one is missing."
        ) from None


def holds_exactly(array: np.ndarray, values: Iterable[Any]) -> bool:
    """Return whether a NumPy array made from Python values represents each of them exactly.

    NumPy converts booleans to numbers if numbers are among the values, and large integers to floats, which may round
    them, if floats are.
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
    """Raise ValueError, in scikit-learn's words, unless an array has two dimensions."""
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


def as_csc(X: Any) -> Any:
    """Return a sparse matrix in CSC format, sorted and without duplicate entries; the caller's matrix is not changed.

    Raises ValueError if it is not two-dimensional, or holds complex numbers, and TypeError if it holds anything but
    numbers and booleans.
    """
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D sparse array instead. Reshape it with X.reshape((-1, 1)) if your data "
            "has a single feature or X.reshape((1, -1)) if it contains a single sample."
        )
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: split complex columns of X into real and imaginary parts.")
    if X.dtype.kind not in "biuf":
        raise TypeError(f"A sparse table must hold numbers or booleans, got {X.dtype}; convert it to float first.")
    by_column = X.tocsc()
    if not by_column.has_canonical_format:
        if by_column is X:
            by_column = by_column.copy()
        by_column.sum_duplicates()
    return by_column


def column_of_csc(matrix: Any, i: int) -> np.ndarray:
    """Return column ``i`` of the result of `as_csc` as a dense array, (n_rows,)."""
    stored = slice(matrix.indptr[i], matrix.indptr[i + 1])
    values = np.zeros(matrix.shape[0], dtype=matrix.dtype)
    values[matrix.indices[stored]] = matrix.data[stored]
    return values
