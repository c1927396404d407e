"""`IndicatorLevels`: the two or three levels of an indicator "score <= threshold"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from bayesieve.plain_values import Counts, Finite, converted
from bayesieve.table.columns import Column
from bayesieve.table.levels import FeatureLevels, counts_of, saved_levels

MISSING_LEVEL = 2
"""The code of a missing score in every indicator."""


@dataclass(frozen=True, eq=False, repr=False)
class IndicatorLevels(FeatureLevels):
    """Levels of one indicator: 0 "score <= threshold", 1 above, and 2 for missing scores where training had them.

    Unlike the intervals of other numeric features, missing scores come last, so that the levels 0 and 1 mean the same
    in every indicator; and infinite scores are compared like any other.

    Parameters
    ----------
    score : str
        Name of the score, which groups the indicators of a family.
    """

    score: str = ""

    @classmethod
    def of(
        cls,
        score: str,
        threshold: float,
        *,
        missing: bool,
        counts: np.ndarray | None = None,
        level_score: float = 0.0,
    ) -> IndicatorLevels:
        """The levels of ``score <= threshold``; ``missing``: whether missing scores are a level."""
        return cls(
            name=indicator_name(score, threshold),
            kind="numeric",
            type="number",
            cut_points=np.array([threshold], dtype=np.float64),
            missing_code=MISSING_LEVEL if missing else None,
            counts=counts,
            level_score=level_score,
            score=score,
        )

    @property
    def threshold(self) -> float:
        """The number that the score is compared with."""
        assert self.cut_points is not None
        return float(self.cut_points[0])

    @property
    def n_levels(self) -> int:
        """2; 3 where missing scores are a level of their own."""
        return MISSING_LEVEL if self.missing_code is None else MISSING_LEVEL + 1

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """``"<= 0.05"``, ``"> 0.05"`` and, where it is a level, ``"missing"``."""
        text = number_text(self.threshold)
        return (f"<= {text}", f"> {text}", *(() if self.missing_code is None else ("missing",)))

    def code(self, column: Column, complaints: list[str] | None = None) -> np.ndarray:
        """The level of every row; see `FeatureLevels.code`."""
        return self.code_numbers(column.read_numbers("number")[0])

    def to_json(self) -> dict[str, Any]:
        """A dictionary of plain values for JSON."""
        return {
            "score": self.score,
            "threshold": self.threshold,
            "missing": self.missing_code is not None,
            "counts": None if self.counts is None else self.counts.tolist(),
            "level_score": self.level_score,
        }

    @classmethod
    def from_json(cls, data: Any) -> IndicatorLevels:
        """The levels written by `to_json`; ValueError with one sentence for anything else."""
        with saved_levels(data, "indicator"):
            saved = converted(data, _Saved, "content")
            counts = counts_of(saved.counts)
        return cls.of(saved.score, saved.threshold, missing=saved.missing, counts=counts, level_score=saved.level_score)


class _Saved(msgspec.Struct, forbid_unknown_fields=True):
    """What `IndicatorLevels.to_json` writes."""

    score: str
    threshold: Finite
    missing: bool
    counts: Counts
    level_score: Finite


def indicator_name(score: str, threshold: float) -> str:
    """Such as ``"u_test(w=30)<=0.05"``."""
    return f"{score}<={number_text(threshold)}"


def number_text(number: float) -> str:
    """The shortest decimal that is exactly this float: 0.05 is "0.05" and 3.0 is "3".

    Examples
    --------
    >>> [number_text(number) for number in (0.05, 3.0, 1e-9, -0.0)]
    ['0.05', '3', '1e-09', '0']
    """
    number = float(number)
    if number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    return repr(number)


def score_values(column: Column) -> np.ndarray:
    """A score column as float64, NaN where it is missing; infinite scores stay, as comparing them makes sense.

    ValueError if the column holds text that is not a number, or values of another type; the message names the column.
    """
    if column.type != "number":
        return column.numbers_as("number")
    values, missing = column.plain()
    numbers = np.ascontiguousarray(values, dtype=np.float64)
    if missing is not None:
        numbers = np.where(missing, math.nan, numbers)
    return numbers


def scores_of(levels: Sequence[FeatureLevels]) -> list[str]:
    """The name of the score behind each feature; a feature that is no indicator is its own."""
    return [level.score if isinstance(level, IndicatorLevels) else level.name for level in levels]
