"""Checks of options."""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np


def is_choice(value: object, names: Container[str]) -> bool:
    """Whether ``value`` is one of the names; False for arrays, lists and values of any other type."""
    return isinstance(value, str) and value in names


@dataclass(frozen=True)
class Allowed:
    """The values that an option may take.

    must : in words, after "must"; values : names, None, True or False; number : `Real`, `Integral` or None for no
    number; low, high : bounds of numbers, both allowed; types : of other objects. True and False are no numbers.
    """

    must: str
    values: tuple[str | bool | None, ...] = ()
    number: type | None = None
    low: float = -sys.float_info.max
    high: float = sys.float_info.max
    types: tuple[type, ...] = ()

    @classmethod
    def count(cls, *values: str | None, low: int = 1) -> Allowed:
        """A whole number of at least ``low``, or one of the values."""
        names = "".join(f"{value!r} or " for value in values if value is not None)
        or_none = " or None" if None in values else ""
        return cls(f"be {names}a whole number of at least {low}{or_none}", values, Integral, low)

    @classmethod
    def choice(cls, *values: str | bool) -> Allowed:
        """One of the values."""
        *first, last = map(repr, values)
        return cls(f"be {', '.join(first)} or {last}", values)

    def __contains__(self, value: object) -> bool:
        if value is None or isinstance(value, str):
            return value in self.values
        if isinstance(value, (bool, np.bool_)):
            return any(other is bool(value) for other in self.values)
        if self.number is not None and isinstance(value, Real):
            return isinstance(value, self.number) and self.low <= float(value) <= self.high
        return isinstance(value, self.types)


def check_allowed(options: Mapping[str, Any], allowed: Mapping[str, Allowed]) -> None:
    """Raise ValueError, in one sentence, for the first option that may not take its value."""
    for name, values in allowed.items():
        if name in options and options[name] not in values:
            raise ValueError(f"{name} must {values.must}, got {options[name]!r:.200}.")
