"""Canonical texts of category values, by which equal values are recognised, and conversion of dates and times."""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Scalar = str | int | float | bool

HIGHEST_SPECIAL = -1e308
"""Largest of the numbers that special values of a numeric column are read as; it is below all ordinary numbers."""
# Whole floats of this size or larger are printed as floats, because no integer type of dataframes holds them.
_LARGEST_INTEGER = 2.0**64
BLANKS = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""Characters that `str.strip` removes."""


def is_missing(value: object) -> bool:
    """Return whether a scalar stands for a missing value: None, NaN, NaT or ``pandas.NA``."""
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
    """Convert a raw value to a plain Python scalar: bool, int, float or str (any other value as text)."""
    if type(value) is str:  # the common case
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
    """Return the text by which category values are compared.

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
    """Return a float as an equal int if it is whole, otherwise as a float; see `canonical_value`.

    A NumPy float of fewer than 64 bits becomes the float with the shortest text of its precision, such as 0.1. Floats
    of more bits become text if they have more digits.
    """
    number = float(value)
    if isinstance(value, np.floating) and value.itemsize > 8 and number != value:
        return str(value)  # more digits than a float has
    if number.is_integer() and abs(number) < _LARGEST_INTEGER:
        return int(number)
    if isinstance(value, np.floating) and value.itemsize < 8 and math.isfinite(number):
        # Use the shortest text in the precision of the value: float32(0.1) is "0.1", as in the CSV file it came from.
        return float(str(value))
    return number


def _text_of_object(value: Any) -> str:
    """Return the canonical text of a date, time, duration, bytes or any other object; raise ValueError if it
    has none.
    """
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
    r"""Return bytes read as UTF-8; bytes that are not UTF-8 show as ``\xff``.

    Different bytes never get the same text.
    """
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
    """Return a Decimal or Fraction as an equal int or float if there is one, otherwise as text."""
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
    """Return the digits of a decimal without trailing zeros."""
    if not value.is_finite():
        return str(float(value))
    context = decimal.Context(prec=len(value.as_tuple().digits), Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
    return str(value.normalize(context))


def spelt_out(data: Any) -> Any:
    """Return texts, or lists and mappings that contain texts, with each lone surrogate (half of a character) in the
    texts written as an escape.
    """
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(data, Mapping):
        return {spelt_out(name): spelt_out(value) for name, value in data.items()}
    return [spelt_out(value) for value in data] if isinstance(data, (list, tuple)) else data


TEMPORAL = ("date", "datetime", "duration", "time")
MICROSECONDS_PER_DAY = 86_400_000_000
_UNIX_EPOCH = dt.date(1970, 1, 1).toordinal()
_MIDNIGHT = dt.datetime(1970, 1, 1)


def count_moments(moments: np.ndarray, unit: str) -> np.ndarray:
    """Convert moments or durations to whole numbers of days or microseconds.

    ``moments`` (n,) has the type datetime64 (counted from 1970-01-01) or timedelta64; ``unit`` is "D" for days or "us"
    for microseconds.

    Returns
    -------
    ndarray of int64, shape (n,)
        The lowest 64-bit integer stands for NaT.

    Raises
    ------
    OverflowError
        If a result does not fit into 64 bits; NumPy would wrap it around silently.
    """
    counts = moments.astype(f"{moments.dtype.kind}8[{unit}]", copy=False)
    if np.datetime_data(moments.dtype)[0] in _COARSE and not np.array_equal(
        counts.astype(moments.dtype), moments, equal_nan=True
    ):
        raise OverflowError(f"a moment or duration does not fit into 64 bits as {unit}")
    return np.ascontiguousarray(counts).view(np.int64)


_COARSE = ("Y", "M", "W", "D", "h", "m", "s", "ms")  # more than a microsecond


def time_to_microseconds(time: dt.time) -> int:
    """Return microseconds since midnight."""
    return ((time.hour * 60 + time.minute) * 60 + time.second) * 1_000_000 + time.microsecond


def date_to_days(date: dt.date) -> int:
    """Return days since 1970-01-01."""
    return date.toordinal() - _UNIX_EPOCH


def datetime_to_microseconds(moment: dt.datetime) -> int:
    """Return microseconds since 1970-01-01, in UTC if the datetime has a time zone."""
    # Subtract before conversion: near the years 1 and 9999 a datetime may have no equivalent in UTC.
    midnight = _MIDNIGHT if moment.tzinfo is None else _MIDNIGHT.replace(tzinfo=dt.UTC)
    return (moment - midnight) // dt.timedelta(microseconds=1)


def _moment_to_microseconds(value: Any) -> int:
    """Return the microseconds since 1970-01-01 of a date or datetime of Python, NumPy or pandas."""
    value = getattr(value, "asm8", value)  # of pandas, whose own arithmetic has other limits and errors
    if isinstance(value, np.datetime64):
        return int(count_moments(np.array([value]), "us")[0])
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    return datetime_to_microseconds(value)


def _duration_to_microseconds(value: Any) -> int:
    """Return the microseconds of a duration of Python, NumPy or pandas."""
    value = getattr(value, "asm8", value)
    if isinstance(value, np.timedelta64):
        return int(count_moments(np.array([value]), "us")[0])
    return value // dt.timedelta(microseconds=1)


COUNT: dict[str, Callable[[Any], int]] = {
    "date": date_to_days,
    "datetime": _moment_to_microseconds,
    "duration": _duration_to_microseconds,
    "time": time_to_microseconds,
}
"""Function by type that converts a date, datetime, duration or time to a number; OverflowError beyond 64 bits."""

TYPES_OF_MOMENTS: tuple[tuple[Any, str], ...] = (
    ((np.timedelta64, dt.timedelta), "duration"),
    ((dt.datetime, np.datetime64), "datetime"),
    (dt.date, "date"),
    (dt.time, "time"),
)
"""Types of Python and NumPy for dates, times and durations, with the `Column.type` of a column of them."""


def text_of_moment(value: Any, type_: str) -> str:
    """Return the text of a date, time or duration of type ``type_`` (see `Column.type`), equal to that of
    `format_temporal` for its number.
    """
    try:
        return format_temporal(COUNT[type_](value), type_)
    except OverflowError:
        return str(value)


def shorten_iso(text: str) -> str:
    """Return an ISO date and time without redundant parts: trailing zero fractions, and seconds at midnight."""
    date, separator, time = text.partition("T")
    if not separator:
        return text
    if "." in time and "+" not in time:
        time = time.rstrip("0").rstrip(".")
    return date if time in ("00:00:00", "00:00") else f"{date}T{time}"


def format_temporal(number: float, type_: str) -> str:
    """Return the text of a "date", "datetime", "duration" or "time" given as a number.

    The units are those of `Column.numbers`: days for dates, otherwise microseconds. A fraction of a day is shown as
    time.
    """
    if abs(number) * (MICROSECONDS_PER_DAY if type_ == "date" else 1) >= 2**63:
        return f"{number:g}"  # beyond any calendar
    if type_ == "date":
        if float(number).is_integer():
            return str(np.datetime64(int(number), "D"))
        return format_temporal(number * MICROSECONDS_PER_DAY, "datetime")
    microseconds = round(number)
    if type_ == "datetime":
        return shorten_iso(str(np.datetime64(microseconds, "us")))
    if type_ == "time":
        if not 0 <= microseconds < MICROSECONDS_PER_DAY:
            return str(dt.timedelta(microseconds=microseconds))
        return (dt.datetime.min + dt.timedelta(microseconds=microseconds)).time().isoformat()
    return _format_duration(microseconds)


def _format_duration(microseconds: int) -> str:
    """Return the text of a duration, such as "2d 03:00:00"."""
    sign = "-" if microseconds < 0 else ""
    days, rest = divmod(abs(microseconds), MICROSECONDS_PER_DAY)
    clock = (dt.datetime.min + dt.timedelta(microseconds=rest)).time().isoformat() if rest else ""
    return sign + " ".join(part for part in (f"{days}d" if days or not rest else "", clock) if part)


def _parse_duration(text: str) -> float:
    """Return the microseconds of a duration as Python, pandas or `format_temporal` write it; ValueError for other
    texts.
    """
    if "day" in text:  # as Python and pandas write them: "-1 day, 23:00:00" is an hour before zero
        whole, _, clock = text.partition("day")
        clock = clock.lstrip("s, +")
        clock = f"0{clock}" if clock[1:2] == ":" else clock or "00:00"
        return float(int(whole) * MICROSECONDS_PER_DAY + time_to_microseconds(dt.time.fromisoformat(clock)))
    sign, body = (-1, text[1:]) if text.startswith("-") else (1, text)
    days, _, clock = body.rpartition("d") if "d" in body else ("0", "", body)
    microseconds = int(days or 0) * MICROSECONDS_PER_DAY
    if "d" in body and not clock:
        return float(sign * microseconds)
    return float(sign * (microseconds + time_to_microseconds(dt.time.fromisoformat(clock.strip()))))


def _parse_datetime(text: str) -> float:
    """Return the microseconds since 1970-01-01 of a date or datetime in ISO 8601; ValueError for other texts."""
    return float(datetime_to_microseconds(dt.datetime.fromisoformat(text)))


def _parse_number(text: str) -> float:
    """Return the number in a text; ValueError for other texts, and for underscores, which Python allows."""
    if "_" in text:
        raise ValueError(text)
    return float(text)


_PARSERS: dict[str, Callable[[str], float]] = {
    "number": _parse_number,
    "date": lambda text: _parse_datetime(text) / MICROSECONDS_PER_DAY,
    "datetime": _parse_datetime,
    "time": lambda text: float(time_to_microseconds(dt.time.fromisoformat(text))),
    "duration": _parse_duration,
}


def number_type(type_: str) -> str:
    """Return the type of number that a numeric column of type ``type_`` holds: a temporal type, otherwise "number"."""
    return type_ if type_ in TEMPORAL else "number"


def parse_number(text: str, type_: str) -> float:
    """Read one text as a number of type "number", "date", "datetime", "duration" or "time"; blank means missing (NaN).

    The units are those of `Column.numbers`. Raise ValueError if it cannot be read.
    """
    text = text.strip()
    if not text:
        return math.nan
    try:
        return _PARSERS[type_](text)
    except OverflowError as error:
        raise ValueError(text) from error


def unmasked(X: Any) -> np.ndarray:
    """Return an array-like as an array in which masked values are missing: NaN or NaT, or None in an array of
    objects.
    """
    if not isinstance(X, np.ma.MaskedArray):
        return np.asarray(X)
    if X.dtype.names is not None or not np.any(X.mask):
        return np.asarray(X.data)
    array = X.data.copy() if X.dtype.kind in "fmM" else X.data.astype(object)
    if X.dtype.kind == "S":
        array[:] = np.vectorize(text_of_bytes, otypes=[object])(array)
    array[X.mask] = {"f": np.nan, "m": "NaT", "M": "NaT"}.get(X.dtype.kind)
    return array
