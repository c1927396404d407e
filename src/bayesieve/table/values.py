"""The canonical text of a category value: what makes two raw values the same category."""

from __future__ import annotations

import decimal
import fractions
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesieve.table.temporal import TYPES_OF_MOMENTS, text_of_moment

Scalar = str | int | float | bool

# Beyond the integer types of any table a whole float is printed as a float.
_LARGEST_INTEGER = 2.0**64
_MERGE_ORDER = {bool: 0, int: 1, float: 2, str: 3}


def is_missing(value: object) -> bool:
    """Whether a scalar stands for a missing value: None, NaN, NaT or ``pandas.NA``."""
    if value is None:
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):  # NumPy counts durations among the integers
        return bool(np.isnat(value))
    if isinstance(value, (str, bool, int, np.integer, np.bool_)):
        return False
    if type(value).__name__ == "NAType":
        return True
    if isinstance(value, decimal.Decimal):
        return value.is_nan()  # a signalling NaN may not even be compared
    try:
        return bool(value != value)  # NaN and NaT are the values that differ from themselves
    except Exception:  # comparing any other object may fail in any way
        return False


def canonical_value(value: Any) -> Scalar:
    """The plain Python scalar that stands for a raw value: bool, int, float or str (everything else as text)."""
    if type(value) is str:  # nearly all categories are
        return value
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, np.timedelta64):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return _canonical_float(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (decimal.Decimal, fractions.Fraction)):
        return _canonical_number(value)
    return _text_of_object(value)


def canonical_text(value: Any) -> str:
    """The text through which category values are compared.

    ``3``, ``3.0``, ``np.int64(3)`` and ``"3"`` are all ``"3"``; True is ``"True"``; dates are written as in ISO 8601
    (a datetime at midnight as its date); anything else is ``str(value)``.

    Examples
    --------
    >>> [canonical_text(v) for v in (3, 3.0, "3", True, -0.0)]
    ['3', '3', '3', 'True', '0']
    """
    value = canonical_value(value)
    return value if isinstance(value, str) else str(value)


def _canonical_float(value: float | np.floating[Any]) -> Scalar:
    number = float(value)
    if isinstance(value, np.floating) and value.itemsize > 8 and number != value:
        return str(value)  # more digits than a float has
    if number.is_integer() and abs(number) < _LARGEST_INTEGER:
        return int(number)
    if isinstance(value, np.floating) and value.itemsize < 8 and math.isfinite(number):
        # The shortest text in the value's own precision: float32(0.1) is "0.1", as in the CSV file it came from.
        return float(str(value))
    return number


def _text_of_object(value: Any) -> str:
    for types, type_ in TYPES_OF_MOMENTS:
        if isinstance(value, types):
            return text_of_moment(value, type_)
    if isinstance(value, bytes):
        return text_of_bytes(value)
    try:
        return str(value)
    except Exception as error:  # the text of any other object may fail in any way
        raise ValueError(f"a value of type {type(value).__name__} cannot be written as text") from error


def text_of_bytes(value: bytes) -> str:
    """Bytes read as UTF-8; bytes that are not UTF-8 show as ``\\xff``, and different bytes never get the same text."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        if not _ESCAPED_BYTE.search(text):
            return text
    return value.replace(b"\\", b"\\\\").decode("utf-8", errors="backslashreplace")


_ESCAPED_BYTE = re.compile(r"\\x[89a-f][0-9a-f]")


def _canonical_number(value: Any) -> Scalar:
    """A Decimal or Fraction as the int or float equal to it, else as text."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if math.isinf(number) and isinstance(value, decimal.Decimal) and (value.is_infinite() or value.adjusted() > 1000):
        return _text_of_decimal(value)
    if value == int(value):
        return int(value)
    if type(value)(repr(number)) == value:
        return _canonical_float(number)
    return _text_of_decimal(value) if isinstance(value, decimal.Decimal) else str(value)


def _text_of_decimal(value: decimal.Decimal) -> str:
    """All digits except trailing zeros."""
    if not value.is_finite():
        return str(float(value))
    context = decimal.Context(prec=len(value.as_tuple().digits), Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    return str(value.normalize(context))


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


def spelt_out(data: Any) -> Any:
    """Texts, also within lists and mappings, with half characters (lone surrogates) as escapes."""
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(data, Mapping):
        return {spelt_out(name): spelt_out(value) for name, value in data.items()}
    return [spelt_out(value) for value in data] if isinstance(data, (list, tuple)) else data
