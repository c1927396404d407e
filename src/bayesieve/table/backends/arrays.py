"""One column of a NumPy array."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.table.backends import objects
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


def column_type(column: np.ndarray) -> str | None:
    """See `bayesieve.table.backends`."""
    if column.dtype.kind == "M":
        return "date" if np.datetime_data(column.dtype)[0] in ("Y", "M", "W", "D") else "datetime"
    return None if column.dtype == object else _TYPE_OF_KIND.get(column.dtype.kind, "mixed")


def plain(column: np.ndarray, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
    """See `bayesieve.table.backends`."""
    if column.dtype == object:
        return objects.plain(column, type_)
    if column.dtype.kind not in "mM":
        return column, None
    missing = np.isnat(column)
    return count_moments(column, "D" if type_ == "date" else "us"), missing if missing.any() else None


def rounds(column: np.ndarray) -> bool:
    """See `bayesieve.table.backends`."""
    return objects.rounds(column) if column.dtype == object else column.dtype.kind == "f" and column.itemsize > 8


def encoded(column: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    """See `bayesieve.table.backends`."""
    if column.dtype.kind == "S":
        distinct, codes = np.unique(column, return_inverse=True)
        return codes.astype(np.int32), [text_of_bytes(value) for value in distinct.tolist()]
    return objects.encoded(column.astype(object, copy=False))


def take(column: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """See `bayesieve.table.backends`."""
    return column[rows]


def value(column: np.ndarray, row: int) -> Any:
    """See `bayesieve.table.backends`."""
    found = column[row]
    if not isinstance(found, np.generic):
        return found
    plain_value = found.item()
    # A moment that Python's types cannot hold comes out as a bare count.
    return found if found.dtype.kind in "mM" and isinstance(plain_value, int) else plain_value


def numbers_of(matrix: np.ndarray, first: int, stop: int) -> np.ndarray:
    """Columns ``first`` to ``stop - 1`` of an array of numbers as float64, shape (stop - first, n_rows)."""
    return np.array(matrix[:, first:stop].T, dtype=np.float64, order="C")
