"""Plain values of a model file, each checked for what it must be."""

from __future__ import annotations

import math
from types import NoneType
from typing import Any

import numpy as np

_WORDS: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    NoneType: "null",
}


class Damaged(ValueError):
    """What is wrong with the content of a model file: half a sentence, without the file's name."""


def member(data: Any, key: str, *types: type) -> Any:
    """A part of an object, of one of these types."""
    if type(data) is not dict:
        raise Damaged(f"what should hold {key!r} is not an object")
    if key not in data:
        raise Damaged(f"{key!r} is missing")
    value = data[key]
    if types and type(value) not in types:
        raise Damaged(f"{key!r} is not {' or '.join(_WORDS[type_] for type_ in types)}")
    return value


def count(data: Any, key: str) -> int:
    """A positive whole number."""
    value = member(data, key)
    if type(value) is not int or not 1 <= value < 2**63:
        raise Damaged(f"{key} is not a positive whole number")
    return value


def table(values: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Numbers of this shape as floats, whatever their size."""
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):  # lines of different lengths
        array = np.zeros(0, dtype=object)
    if array.dtype.kind not in "iuf" or array.shape != shape:
        raise Damaged(f"its {what} are not {' x '.join(map(str, shape)) or 'one'} number(s)")
    return array.astype(float)


def numbers(values: Any, shape: tuple[int, ...], what: str, low: float = -math.inf, high: float = math.inf) -> Any:
    """Numbers of this shape, from ``low`` to ``high``."""
    array = table(values, shape, what)
    if not np.all((array >= low) & (array <= high)):
        raise Damaged(f"its {what} are out of range")
    return array


def shares(values: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Numbers from 0 to 1."""
    return numbers(values, shape, what, 0.0, 1.0)


def half_sentence(error: ValueError) -> str:
    """What a check of this package complains of, without the value that it names at the end."""
    text = str(error).splitlines()[0] if str(error) else ""
    return text.split(", got ")[0].rstrip(".")[:200]
