"""One column of a NumPy array, of numbers or of Python objects."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Iterable
from numbers import Number
from typing import Any

import numpy as np

from bayesieve.table.temporal import date_to_days, datetime_to_microseconds, time_to_microseconds
from bayesieve.table.values import is_missing

_TYPE_OF_KIND = {"b": "boolean", "i": "number", "u": "number", "f": "number", "U": "text", "S": "text", "T": "text",
                 "m": "duration", "O": None}  # fmt: skip
_NOT_ONE_TYPE = "mixed"


def column_type(column: np.ndarray) -> str | None:
    """See `bayesieve.table.backends`."""
    if column.dtype.kind == "M":
        return "date" if np.datetime_data(column.dtype)[0] in ("Y", "M", "W", "D") else "datetime"
    return _TYPE_OF_KIND.get(column.dtype.kind, _NOT_ONE_TYPE)


def plain(column: np.ndarray, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
    """See `bayesieve.table.backends`."""
    if column.dtype == object:
        return _plain_objects(column, type_)
    if column.dtype.kind not in "mM":
        return column, None
    if column.dtype.kind == "M":
        counted = column.astype("datetime64[D]" if type_ == "date" else "datetime64[us]", copy=False)
    else:
        counted = column.astype("timedelta64[us]", copy=False)
    missing = np.isnat(counted)
    return counted.view(np.int64), missing if missing.any() else None


def _plain_objects(column: np.ndarray, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
    missing = missing_objects(column)
    present = column[~missing]
    if type_ in _COUNT:
        found = np.array([_COUNT[type_](value) for value in present], dtype=np.int64)
    else:
        found = present.astype(bool if type_ == "boolean" else _dtype_of_numbers(present))
    values = np.zeros(len(column), dtype=found.dtype)
    values[~missing] = found
    return values, missing if missing.any() else None


def _dtype_of_numbers(present: np.ndarray) -> type:
    """Whole numbers stay whole, so that long identifiers used as categories are not rounded."""
    whole = all(issubclass(t, (int, np.integer)) for t in set(map(type, present)))
    if whole and len(present) and abs(present.max()) < 2**63 and abs(present.min()) < 2**63:
        return np.int64
    return np.float64


def _moment_to_microseconds(value: Any) -> int:
    if isinstance(value, np.datetime64):
        return int(value.astype("datetime64[us]").astype(np.int64))
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    return datetime_to_microseconds(value)


def _duration_to_microseconds(value: Any) -> int:
    if isinstance(value, np.timedelta64):
        return int(value.astype("timedelta64[us]").astype(np.int64))
    return value // dt.timedelta(microseconds=1)


_COUNT: dict[str, Callable[[Any], int]] = {
    "date": date_to_days,
    "datetime": _moment_to_microseconds,
    "duration": _duration_to_microseconds,
    "time": time_to_microseconds,
}


def encoded(column: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    """See `bayesieve.table.backends`."""
    import polars as pl

    from bayesieve.table.backends import polars

    if column.dtype.kind == "S":
        column = np.char.decode(column, "utf-8", errors="replace")
    objects = column.tolist()
    try:
        return polars.encoded(pl.Series(objects, dtype=pl.String, strict=True))
    except (TypeError, pl.exceptions.PolarsError):
        pass  # not only text and None
    missing = missing_objects(column) if column.dtype == object else None
    if missing is not None and missing.any():
        column = column.copy()
        column[missing] = None
        try:
            return polars.encoded(pl.Series(column.tolist(), dtype=pl.String, strict=True))
        except (TypeError, pl.exceptions.PolarsError):
            pass
    return encoded_objects(column.tolist())


def encoded_objects(values: Iterable[Any]) -> tuple[np.ndarray, list[Any]]:
    """Encode any Python objects, one by one: True, 1 and 1.0 stay apart, what cannot be hashed goes by its text."""
    index: dict[Any, int] = {}
    raw: list[Any] = []
    codes: list[int] = []
    for value in values:
        key: Any = (value.__class__, value)
        try:
            code = index.get(key)
        except TypeError:
            value = str(value)
            key = (object, value)
            code = index.get(key)
        if code is None:
            code = -1 if is_missing(value) else len(raw)
            if code >= 0:
                raw.append(value)
            index[key] = code
        codes.append(code)
    return np.array(codes, dtype=np.int32), raw


def missing_objects(column: np.ndarray) -> np.ndarray:
    """Which entries of an object array are None, NaN, NaT or ``pandas.NA``."""
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        return np.asarray(pandas.isna(column))
    return np.fromiter((is_missing(value) for value in column), dtype=bool, count=len(column))


def objects_type(column: np.ndarray) -> str:
    """The `Column.type` of an object array: what all its values are, or "mixed"."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and pandas.api.types.infer_dtype(column, skipna=True) == "string":
        return "text"
    types = {kind for kind in set(map(type, column)) if kind is not type(None)}
    if types - {str, float} == set() and str in types:
        return "text" if float not in types or _all_missing(column, float) else "mixed"
    names = {name for kind in types if (name := _name_of_type(kind, column)) is not None}
    if not names:
        return "number"
    if names == {"date", "datetime"}:
        return "datetime"
    return names.pop() if len(names) == 1 else "mixed"


def _name_of_type(kind: type, column: np.ndarray) -> str | None:
    """The `Column.type` of one Python type, None when its values are all missing."""
    if kind.__name__ in ("NAType", "NaTType") or (issubclass(kind, float) and _all_missing(column, kind)):
        return None
    if issubclass(kind, (bool, np.bool_)):
        return "boolean"
    if issubclass(kind, (complex, np.complexfloating)):
        raise ValueError("Complex data not supported: split it into its real and imaginary parts.")
    for base, name in (
        (np.timedelta64, "duration"),
        (Number, "number"),
        (np.number, "number"),
        (str, "text"),
        (dt.datetime, "datetime"),
        (np.datetime64, "datetime"),
        (dt.date, "date"),
        (dt.timedelta, "duration"),
        (dt.time, "time"),
    ):
        if issubclass(kind, base):
            return name
    return "mixed"


def _all_missing(column: np.ndarray, kind: type) -> bool:
    return all(is_missing(value) for value in column if type(value) is kind)


def take(column: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """See `bayesieve.table.backends`."""
    return column[rows]


def value(column: np.ndarray, row: int) -> Any:
    """See `bayesieve.table.backends`."""
    found = column[row]
    return found.item() if isinstance(found, np.generic) else found
