"""Comparisons to draw in tests, of any size."""

from __future__ import annotations

from typing import Any

from bayesieve_lab import Comparison, FixedSplit, RepeatedFolds
from bayesieve_lab.comparison.folds import NUMBERS


def rows_of(scores: dict[str, list[Any]], data: str = "credit", measure: str = "accuracy") -> list[dict[str, Any]]:
    """Lines of a comparison, from the values of every method by fold."""
    return [
        dict.fromkeys((*NUMBERS, "figures", "error"))
        | {"data": data, "method": method, "repeat": 0, "fold": fold, "n_train": 9, "n_test": 1, measure: value}
        for method, own in scores.items()
        for fold, value in enumerate(own)
    ]


def compared(rows: list[dict[str, Any]], seed: int = 0, *, complete: bool = True) -> Comparison:
    """The comparison of these lines."""
    data, methods = (tuple(dict.fromkeys(row[name] for row in rows)) for name in ("data", "method"))
    n_folds = len({row["fold"] for row in rows})
    split = RepeatedFolds(n_folds, seed=seed) if n_folds > 1 else FixedSplit(9, seed)
    return Comparison(data, methods, split, tuple(rows), complete)
