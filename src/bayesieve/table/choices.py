"""Options that are one of a few names."""

from __future__ import annotations

from collections.abc import Container


def is_choice(value: object, names: Container[str]) -> bool:
    """Whether ``value`` is one of the names; arrays, lists and whatever else may be given as an option are not."""
    return isinstance(value, str) and value in names
