"""How much memory a fit from files may take, and what follows for its engine."""

from __future__ import annotations

import os
import re
from numbers import Integral
from typing import Any

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_LEAST = 512 << 20  # Python, NumPy, polars and compiled code take most of it
_DEFAULT = 4 << 30
_LEAST_READING = 64 << 20


def bytes_of(memory_limit: Any) -> int:
    """``memory_limit`` in bytes: a number, or text such as ``"4GiB"``; None is 4 GiB, or half the memory of the machine
    if that is less.

    ValueError for anything else, and for less than 512 MiB.
    """
    if memory_limit is None:
        has = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2 * _DEFAULT
        return max(_LEAST, min(_DEFAULT, has // 2))
    size = 0
    if isinstance(memory_limit, Integral) and not isinstance(memory_limit, bool):
        size = int(memory_limit)
    elif isinstance(memory_limit, str) and (
        match := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*?)b?\s*", memory_limit.lower())
    ):
        size = int(float(match[1]) * _UNITS.get(match[2], 0))
    if size < _LEAST:
        raise ValueError(
            "memory_limit must be a number of bytes or text such as '4GiB', at least 512 MiB, got "
            f"{memory_limit!r:.60}."
        )
    return size


def mapped_options(memory_limit: Any) -> dict[str, int]:
    """Options of a `Mapped` engine that keeps a fit within the limit."""
    limit = bytes_of(memory_limit)
    free = max(0, limit - _LEAST)
    reading = max(_LEAST_READING, free // 3)  # for values, blocks, and what is left over
    return {"resident_bytes": limit // 8, "memory_bytes": free // 2, "reading_bytes": reading}
