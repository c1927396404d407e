"""Dates, datetimes, durations and times as ordered numbers, and back to text.

Dates are days and datetimes microseconds since 1970-01-01 (UTC where there is a time zone); durations are microseconds,
times of day microseconds since midnight.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from typing import Any

import numpy as np

TEMPORAL = ("date", "datetime", "duration", "time")
MICROSECONDS_PER_DAY = 86_400_000_000
_UNIX_EPOCH = dt.date(1970, 1, 1).toordinal()
_MIDNIGHT = dt.datetime(1970, 1, 1)


def count_moments(moments: np.ndarray, unit: str) -> np.ndarray:
    """Moments (datetime64) since 1970-01-01, or durations (timedelta64), as whole days ("D") or microseconds ("us").

    Returns
    -------
    ndarray of int64, shape (n,)
        The lowest number stands for NaT.

    Raises
    ------
    OverflowError
        If one does not fit into 64 bits: NumPy would wrap it around silently.
    """
    counts = moments.astype(f"{moments.dtype.kind}8[{unit}]", copy=False)
    if np.datetime_data(moments.dtype)[0] in _COARSE and not np.array_equal(
        counts.astype(moments.dtype), moments, equal_nan=True
    ):
        raise OverflowError(f"a moment or duration does not fit into 64 bits as {unit}")
    return np.ascontiguousarray(counts).view(np.int64)


_COARSE = ("Y", "M", "W", "D", "h", "m", "s", "ms")  # more than a microsecond


def time_to_microseconds(time: dt.time) -> int:
    """Microseconds since midnight."""
    return ((time.hour * 60 + time.minute) * 60 + time.second) * 1_000_000 + time.microsecond


def date_to_days(date: dt.date) -> int:
    """Days since 1970-01-01."""
    return date.toordinal() - _UNIX_EPOCH


def datetime_to_microseconds(moment: dt.datetime) -> int:
    """Microseconds since 1970-01-01, in UTC where the datetime has a time zone."""
    # Subtracted as it is: near the years 1 and 9999 a datetime may have no other in UTC.
    midnight = _MIDNIGHT if moment.tzinfo is None else _MIDNIGHT.replace(tzinfo=dt.UTC)
    return (moment - midnight) // dt.timedelta(microseconds=1)


def _moment_to_microseconds(value: Any) -> int:
    value = getattr(value, "asm8", value)  # of pandas, whose own arithmetic has other limits and errors
    if isinstance(value, np.datetime64):
        return int(count_moments(np.array([value]), "us")[0])
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    return datetime_to_microseconds(value)


def _duration_to_microseconds(value: Any) -> int:
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
"""How a moment, duration or time of a type becomes a number; OverflowError beyond 64 bits."""

TYPES_OF_MOMENTS: tuple[tuple[Any, str], ...] = (
    ((np.timedelta64, dt.timedelta), "duration"),
    ((dt.datetime, np.datetime64), "datetime"),
    (dt.date, "date"),
    (dt.time, "time"),
)
"""Python's and NumPy's types, and what a column of them is."""


def text_of_moment(value: Any, type_: str) -> str:
    """A moment, duration or time as `format_temporal` writes its number: the same alone, and among other objects."""
    try:
        return format_temporal(COUNT[type_](value), type_)
    except OverflowError:
        return str(value)


def shorten_iso(text: str) -> str:
    """An ISO date and time without the parts that say nothing: trailing zero fractions, seconds at midnight."""
    date, separator, time = text.partition("T")
    if not separator:
        return text
    if "." in time and "+" not in time:
        time = time.rstrip("0").rstrip(".")
    return date if time in ("00:00:00", "00:00") else f"{date}T{time}"


def format_temporal(number: float, type_: str) -> str:
    """The text of a number of type "date", "datetime", "duration" or "time"; fractions of a day show as a time."""
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
    sign = "-" if microseconds < 0 else ""
    days, rest = divmod(abs(microseconds), MICROSECONDS_PER_DAY)
    clock = (dt.datetime.min + dt.timedelta(microseconds=rest)).time().isoformat() if rest else ""
    return sign + " ".join(part for part in (f"{days}d" if days or not rest else "", clock) if part)


def _parse_duration(text: str) -> float:
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
    return float(datetime_to_microseconds(dt.datetime.fromisoformat(text)))


def _parse_number(text: str) -> float:
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


def parse_number(text: str, type_: str) -> float:
    """Read one text as a number of type "number", "date", "datetime", "duration" or "time"; blank means missing (NaN).

    ValueError if it cannot be read.
    """
    text = text.strip()
    if not text:
        return math.nan
    try:
        return _PARSERS[type_](text)
    except OverflowError as error:
        raise ValueError(text) from error
