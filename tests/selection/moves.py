"""The path of a search as a table, for comparisons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bayesieve.search import SearchTrace


def moves(trace: SearchTrace) -> Any:
    """One line per accepted move (polars), whatever library the rows were of, without times."""
    return replace(trace, library="polars").to_frame().drop("seconds")
