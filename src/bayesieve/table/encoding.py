"""Codes of the distinct values of a column: of Python objects, polars series, numbers, and canonical texts."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from types import NoneType
from typing import Any

import numpy as np

from bayesieve.table.values import Scalar, canonical_value, is_missing

_MERGE_ORDER = {bool: 0, int: 1, float: 2, str: 3}
_FEW_ROWS = 20_000  # below, encoding by addresses is not worth a compiled loop


def encoded_objects(column: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    """Codes (-1 = missing) and distinct raw values of an array of text or objects."""
    import polars as pl

    column = column.astype(object, copy=False)
    by_identity = encoded_by_identity(column)
    if by_identity is not None:
        return by_identity
    if is_text_to_pandas(column):
        codes, raw = sys.modules["pandas"].factorize(column)
        return codes.astype(np.int32), raw.tolist()
    values = column.tolist()
    if all(issubclass(kind, (str, NoneType)) for kind in set(map(type, values))):  # polars panics at some Decimals
        with suppress(UnicodeEncodeError):  # half characters
            return encoded_series(pl.Series(values, dtype=pl.String, strict=True))
    return _encoded_one_by_one(values)


def encoded_by_identity(column: np.ndarray) -> tuple[np.ndarray, list[Any]] | None:
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


def is_text_to_pandas(column: np.ndarray) -> bool:
    """Whether an object array is text and missing values only, if pandas is loaded."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and pandas.api.types.infer_dtype(column, skipna=True) == "string"


def _encoded_one_by_one(values: Iterable[Any]) -> tuple[np.ndarray, list[Any]]:
    """Encode any Python objects: True, 1 and 1.0 are three values; what cannot be hashed is encoded by its text."""
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


def encoded_series(column: Any) -> tuple[np.ndarray, list[Any]]:
    """Codes (int32, -1 = missing) and distinct raw values of a polars series."""
    import polars as pl

    if column.dtype == pl.Binary or column.dtype.is_nested() or column.dtype.is_numeric():
        try:
            values = column.to_list()
        except ValueError as error:  # moments in lists, of years that Python's types do not hold
            raise OverflowError from error
        return _encoded_one_by_one(values)
    pool = None
    if column.dtype == pl.String:
        # Its own pool of categories: the shared one would hand out codes that grow with every other column.
        pool = pl.Categories.random()
        column = column.cast(pl.Categorical(pool))
    codes = column.to_physical().cast(pl.UInt32)
    if codes.null_count():  # filling them takes longer than all the rest in small tables
        codes = codes.fill_null(2**32 - 1)
    codes = codes.to_numpy().view(np.int32)
    if pool is not None:
        return codes, pool.to_series().to_list()  # while `column` lives: an unused pool is emptied
    if column.dtype == pl.Enum:
        return drop_unused(codes, column.dtype.categories.to_list())
    # The pool of categories may be shared with other columns and far larger than what this one uses.
    used = column.drop_nulls().unique()
    position = np.full(int(used.to_physical().max() or 0) + 2, -1, dtype=np.int32)
    position[used.to_physical().to_numpy()] = np.arange(len(used))
    return position[codes], used.cast(pl.String).to_list()


def encode_plain(values: np.ndarray, missing: np.ndarray | None) -> tuple[np.ndarray, Sequence[Any]]:
    """Distinct values of a number or boolean array; NaN counts as missing."""
    raw: Sequence[Any]
    if values.dtype.kind == "b":
        codes, raw = values.astype(np.int32), [False, True]
    elif (offsets := _whole_offsets(values)) is not None:
        codes, raw = offsets
    else:
        distinct, inverse = np.unique(values, return_inverse=True)
        codes = inverse.astype(np.int32)
        raw = list(distinct) if distinct.dtype.kind == "f" and distinct.itemsize < 8 else distinct.tolist()
    if missing is not None:
        codes[missing] = -1
    return drop_unused(codes, raw)


def _whole_offsets(values: np.ndarray) -> tuple[np.ndarray, range] | None:
    """Integers that span no more numbers than there are rows: distances to the lowest (int32), and the range.

    None for other arrays; this spares the others' sort.
    """
    if values.dtype.kind not in "iu" or not len(values):
        return None
    lowest, highest = int(values.min()), int(values.max())
    if highest - lowest > max(1024, len(values)):
        return None
    wide = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64, copy=False)
    return (wide - wide.dtype.type(lowest)).astype(np.int32), range(lowest, highest + 1)


def merge_values(raw: Iterable[Any]) -> tuple[list[Scalar], np.ndarray]:
    """Merge raw values with the same canonical text and sort them by it.

    Parameters
    ----------
    raw : iterable of scalars
        Distinct raw values; missing ones (None, NaN ...) are allowed.

    Returns
    -------
    values : list of bool, int, float or str
        One representative per canonical text, in ascending order of that text.
    position : int32 array, one entry more than `raw`
        Where each raw value went, -1 for missing ones. The extra last entry is -1, so that indexing this array with
        codes maps the missing code -1 to itself.
    """
    scalars = [None if is_missing(value) else canonical_value(value) for value in raw]
    texts = [value if isinstance(value, str) or value is None else str(value) for value in scalars]
    best: dict[str, Scalar] = {}
    for text, value in zip(texts, scalars, strict=True):
        if text is None or value is None:
            continue
        known = best.get(text)
        if known is None or _MERGE_ORDER[type(value)] < _MERGE_ORDER[type(known)]:
            best[text] = value
    order = sorted(best)
    index: dict[str | None, int] = {text: i for i, text in enumerate(order)}
    index[None] = -1
    position = np.empty(len(texts) + 1, dtype=np.int32)
    position[:-1] = [index[text] for text in texts]
    position[-1] = -1
    return [best[text] for text in order], position


def sort_codes(codes: np.ndarray, raw: Sequence[Any]) -> tuple[np.ndarray, list[Scalar]]:
    """Recode a dictionary encoding (-1 = missing) of values that all occur: merged and sorted by canonical text."""
    values, position = merge_values(raw)
    if np.array_equal(position[:-1], np.arange(len(raw))):
        return codes, values
    return position[codes], values


def drop_unused(codes: np.ndarray, raw: Sequence[Any]) -> tuple[np.ndarray, list[Any]]:
    """A dictionary encoding (-1 = missing) without the values that do not occur."""
    used = np.zeros(len(raw) + 1, dtype=bool)
    used[codes] = True
    rows = np.flatnonzero(used[:-1])  # the last entry stands for the missing code
    if len(rows) == len(raw):
        return codes, list(raw)
    position = np.full(len(raw) + 1, -1, dtype=np.int32)
    position[rows] = np.arange(len(rows))
    return position[codes], [raw[int(i)] for i in rows]
