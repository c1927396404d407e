"""One column of a NumPy array."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.table.backends import objects

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
    if column.dtype.kind == "M":
        counted = column.astype("datetime64[D]" if type_ == "date" else "datetime64[us]", copy=False)
    else:
        counted = column.astype("timedelta64[us]", copy=False)
    missing = np.isnat(counted)
    return np.ascontiguousarray(counted).view(np.int64), missing if missing.any() else None


def encoded(column: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    """See `bayesieve.table.backends`."""
    if column.dtype.kind == "S":
        column = np.char.decode(column, "utf-8", errors="replace")
    return objects.encoded(column.astype(object, copy=False))


def take(column: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """See `bayesieve.table.backends`."""
    return column[rows]


def value(column: np.ndarray, row: int) -> Any:
    """See `bayesieve.table.backends`."""
    found = column[row]
    return found.item() if isinstance(found, np.generic) else found


def numbers_of(matrix: np.ndarray, first: int, stop: int) -> np.ndarray:
    """Columns ``first`` to ``stop - 1`` of an array of numbers as float64, shape (stop - first, n_rows)."""
    return np.array(matrix[:, first:stop].T, dtype=np.float64, order="C")
