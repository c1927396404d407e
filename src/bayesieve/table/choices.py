"""Checks of options with a few valid names."""

from __future__ import annotations

from collections.abc import Container


def is_choice(value: object, names: Container[str]) -> bool:
    """Whether ``value`` is one of the names; False for arrays, lists and values of any other type."""
    return isinstance(value, str) and value in names
