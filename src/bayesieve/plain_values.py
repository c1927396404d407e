"""Checked conversion of JSON values in saved models and traces to arrays and records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import numpy as np

Result = TypeVar("Result")

_LARGEST = float(np.finfo(float).max)
Finite = Annotated[float, msgspec.Meta(ge=-_LARGEST, le=_LARGEST)]
Number = Finite | Literal["inf", "-inf"] | None
"""A float as `number_to_json` writes it."""
Count = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Counts = list[list[Annotated[int, msgspec.Meta(le=2**63 - 1)] | Finite]] | None
"""Counts of levels by classes."""
_NOT_FINITE: dict[Any, float] = {"inf": math.inf, "-inf": -math.inf, None: math.nan}


class Damaged(ValueError):
    """Error for invalid content of a model file. Its message is half a sentence, which the caller completes with the
    file name.
    """


def table(values: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Convert nested lists of numbers to a float array of the given shape.

    Raise `Damaged` if they have another shape or other entries; ``what`` names them in the message.
    """
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):  # lines of different lengths
        array = np.zeros(0, dtype=object)
    is_plain = array.dtype.kind in "iuf" and array.shape == shape
    if not is_plain or (array is not values and bool in _types(values, len(shape))):
        expected = f"are not {' x '.join(map(str, shape))} number(s)" if shape else "is not a number"
        raise Damaged(f"its {what} {expected}")
    return array.astype(float)


def numbers(values: Any, shape: tuple[int, ...], what: str, low: float = -math.inf, high: float = math.inf) -> Any:
    """Convert nested lists of numbers from ``low`` to ``high`` (inclusive) to a float array of the given shape.

    Raise `Damaged` if they have another shape, other entries or entries out of range; ``what`` names them in the
    message.
    """
    array = table(values, shape, what)
    if not np.all((array >= low) & (array <= high)):
        raise Damaged(f"its {what} {'are' if shape else 'is'} out of range")
    return array


def converted(data: Any, kind: type[Result], what: str) -> Result:
    """Convert plain values from a file to an instance of ``kind``, a msgspec type.

    Raise `Damaged` if types or ranges are violated; ``what`` names the values in the message.
    """
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        problem, _, place = " ".join(str(error).replace("`", "").split()).partition(" - at ")
        raise Damaged(f"its {what}: {problem[:100]}" + (f" - at {place[:100]}" if place else "")) from None
    except UnicodeEncodeError:
        raise Damaged(f"its {what} holds half a character, which is not text") from None


def number(value: Any) -> float:
    """Return the float that `number_to_json` saved as ``value``: a number, the text of an infinity, or None for NaN."""
    return _NOT_FINITE.get(value, value)


def number_to_json(value: float) -> Any:
    """Return a float in a form that JSON supports: infinity as the text "inf" or "-inf", NaN as None."""
    return value if math.isfinite(value) else None if math.isnan(value) else str(value)


def _half_sentence(error: ValueError) -> str:
    """Return the first line of an error message, without its full stop and without ", got" and the invalid value.

    It is the message of `Damaged`, which the caller completes to a sentence with the file name.
    """
    text = str(error).splitlines()[0] if str(error) else ""
    return text.split(", got ")[0].rstrip(".")[:200]


def read_by(function: Callable[..., Result], *values: Any) -> Result:
    """Return ``function(*values)`` for values from a file, and turn a ValueError into `Damaged` with its message."""
    try:
        return function(*values)
    except ValueError as error:
        raise Damaged(_half_sentence(error)) from None


def _types(values: Any, depth: int) -> set[type]:
    """Return the set of types of the entries of nested lists, ``depth`` levels of lists deep; 0 means a
    single value.
    """
    if depth == 0:
        return {type(values)}
    entries: Iterable[Any] = values
    for _ in range(depth - 1):
        entries = chain.from_iterable(entries)
    return set(map(type, entries))
