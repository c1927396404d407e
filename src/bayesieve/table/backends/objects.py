"""Arrays of Python objects: their types and their codes."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from contextlib import suppress
from numbers import Number
from types import NoneType
from typing import Any

import numpy as np

from bayesieve.table.temporal import COUNT, TYPES_OF_MOMENTS
from bayesieve.table.values import canonical_value, is_missing

_FEW_ROWS = 20_000


def missing_objects(column: np.ndarray) -> np.ndarray:
    """Which entries of an object array are None, NaN, NaT or ``pandas.NA``."""
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        try:
            return np.asarray(pandas.isna(column))
        except ArithmeticError:  # a signalling NaN among Decimals
            pass
    return np.fromiter((is_missing(value) for value in column), dtype=bool, count=len(column))


def encoded(column: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    """Codes (-1 = missing) and distinct raw values of an object array."""
    by_identity = _encoded_by_identity(column)
    if by_identity is not None:
        return by_identity
    by_text = _encoded_text(column)
    return encoded_one_by_one(column.tolist()) if by_text is None else by_text


def _encoded_by_identity(column: np.ndarray) -> tuple[np.ndarray, list[Any]] | None:
    """Encode by the addresses of the objects: the same few objects usually stand in all rows. None if there are many.

    The loop neither touches the objects nor needs the GIL. Equal values at different addresses are merged later, as
    different spellings of one value are.
    """
    if len(column) < _FEW_ROWS:
        return None
    from bayesieve.table._kernels import code_addresses

    column = np.ascontiguousarray(column)
    memory = (ctypes.c_char * column.nbytes).from_address(column.ctypes.data)
    addresses: np.ndarray = np.frombuffer(memory, dtype=np.int64)  # type: ignore[call-overload]
    codes = np.empty(len(column), dtype=np.int32)
    rows = code_addresses(addresses, codes)
    if not len(rows):
        return None
    values = column[rows].tolist()
    known = np.array([not is_missing(value) for value in values])
    place = np.where(known, np.cumsum(known) - 1, -1).astype(np.int32)
    return place[codes], [value for value, there in zip(values, known, strict=True) if there]


def _encoded_text(column: np.ndarray) -> tuple[np.ndarray, list[Any]] | None:
    """Encode an array of text and missing values; None if there is anything else in it."""
    import polars as pl

    from bayesieve.table.backends.polars import PolarsBackend

    if _is_text_to_pandas(column):
        codes, raw = sys.modules["pandas"].factorize(column)
        return codes.astype(np.int32), raw.tolist()
    values = column.tolist()
    if all(issubclass(kind, (str, NoneType)) for kind in set(map(type, values))):  # polars panics at some Decimals
        with suppress(UnicodeEncodeError):  # half characters
            return PolarsBackend().encoded(pl.Series(values, dtype=pl.String, strict=True))
    return None


def _is_text_to_pandas(column: np.ndarray) -> bool:
    """Whether an object array is text and missing values only, if pandas is loaded."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and pandas.api.types.infer_dtype(column, skipna=True) == "string"


def encoded_one_by_one(values: Iterable[Any]) -> tuple[np.ndarray, list[Any]]:
    """Encode any Python objects: True, 1 and 1.0 stay apart, what cannot be hashed goes by its text."""
    index: dict[Any, int] = {}
    raw: list[Any] = []
    codes: list[int] = []
    for value in values:
        key: Any = (value.__class__, value)
        try:
            code = index.get(key)
        except Exception:  # hashing or comparing any object may fail in any way
            key = (object, None if is_missing(value) else canonical_value(value))
            code = index.get(key)
        if code is None:
            code = -1 if is_missing(value) else len(raw)
            if code >= 0:
                raw.append(value)
            index[key] = code
        codes.append(code)
    return np.array(codes, dtype=np.int32), raw


def objects_type(column: np.ndarray) -> str:
    """The `Column.type` of an object array: what all its values are, or "mixed"."""
    by_identity = _encoded_by_identity(column)
    if by_identity is not None:
        column = np.empty(len(by_identity[1]), dtype=object)
        column[:] = by_identity[1]
    if _is_text_to_pandas(column):
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


def plain(column: np.ndarray, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
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


def rounds(column: np.ndarray) -> bool:
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
