"""Words of messages, with the names that the command line gives them."""

from __future__ import annotations

from pathlib import Path

from bayesieve.words import (
    format_count as thousands,
    named as listed,
    plural as counted,
    quoted,
    sentence,
    similar,
    visible,
)

__all__ = ["counted", "listed", "quoted", "sentence", "shown", "similar", "thousands", "visible"]


def shown(path: Path) -> str:
    """The name of a file in messages."""
    return "standard input" if str(path) == "-" else str(path)
