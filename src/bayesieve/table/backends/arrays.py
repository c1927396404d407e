"""NumPy arrays, and lists of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from bayesieve.table.backends import objects
from bayesieve.table.backends.base import Backend
from bayesieve.table.temporal import count_moments
from bayesieve.table.values import text_of_bytes

_TYPE_OF_KIND = {
    "b": "boolean",
    "i": "number",
    "u": "number",
    "f": "number",
    "U": "text",
    "S": "text",
    "T": "text",
    "m": "duration",
}


class ArraysBackend(Backend):
    """NumPy arrays, and lists of rows."""

    name = "arrays"

    def reads(self, X: Any) -> bool:
        return isinstance(X, (np.ndarray, list, tuple))

    def columns(self, X: Any) -> tuple[None, Any]:
        array = as_array(X)
        return None, array if array.dtype.kind in "biuf" else list(array.T)

    def select(self, X: Any, positions: np.ndarray) -> np.ndarray:
        return as_array(X)[:, positions]

    def take_rows(self, X: Any, rows: np.ndarray) -> np.ndarray:
        return (X if isinstance(X, np.ndarray) else as_array(X))[rows]

    def column_type(self, column: np.ndarray) -> str | None:
        if column.dtype.kind == "M":
            return "date" if np.datetime_data(column.dtype)[0] in ("Y", "M", "W", "D") else "datetime"
        return None if column.dtype == object else _TYPE_OF_KIND.get(column.dtype.kind, "mixed")

    def plain(self, column: np.ndarray, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
        if column.dtype == object:
            return objects.plain(column, type_)
        if column.dtype.kind not in "mM":
            return column, None
        missing = np.isnat(column)
        return count_moments(column, "D" if type_ == "date" else "us"), missing if missing.any() else None

    def rounds(self, column: np.ndarray) -> bool:
        return objects.rounds(column) if column.dtype == object else column.dtype.kind == "f" and column.itemsize > 8

    def encoded(self, column: np.ndarray) -> tuple[np.ndarray, list[Any]]:
        if column.dtype.kind == "S":
            distinct, codes = np.unique(column, return_inverse=True)
            return codes.astype(np.int32), [text_of_bytes(value) for value in distinct.tolist()]
        return objects.encoded(column.astype(object, copy=False))

    def take(self, column: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return column[rows]


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


def unmasked(X: Any) -> np.ndarray:
    """An array-like as an array; masked values become missing ones: NaN or NaT, or None among objects."""
    if not isinstance(X, np.ma.MaskedArray):
        return np.asarray(X)
    if X.dtype.names is not None or not np.any(X.mask):
        return np.asarray(X.data)
    array = X.data.copy() if X.dtype.kind in "fmM" else X.data.astype(object)
    if X.dtype.kind == "S":
        array[:] = np.vectorize(text_of_bytes, otypes=[object])(array)
    array[X.mask] = {"f": np.nan, "m": "NaT", "M": "NaT"}.get(X.dtype.kind)
    return array


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
