"""Folds of methods side by side: a dot per fold on one axis, a mark at the mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.figures.scale import Point, Scale, Tick, drawable, value_ticks

MAX_DOTS = 100


@dataclass(frozen=True)
class StripRow:
    """Dots of one method; `mean` is a position, None if no fold has a value; `n_out` have no place on the axis."""

    dots: tuple[Point, ...]
    mean: float | None
    n_out: int


@dataclass(frozen=True)
class StripPlot:
    """Rows in the order given, on one axis; a fold has the same height in every row."""

    rows: tuple[StripRow, ...]
    ticks: tuple[Tick, ...]


def strip_plot(values: Sequence[Sequence[float]]) -> StripPlot | None:
    """Lay out one row per method from its values by fold (NaN if unknown); None if nothing can be drawn.

    Of more than `MAX_DOTS` folds the first are drawn; means are of all.
    """
    known = [v for row in values for v in row if drawable(v)]
    if not known:
        return None
    low, high = min(known), max(known)
    pad = 0.04 * (high - low) if high > low else max(abs(high) * 0.01, 1e-6)
    scale = Scale(low - pad, high + pad)
    return StripPlot(tuple(_row(row, scale) for row in values), value_ticks(scale))


def _row(values: Sequence[float], scale: Scale) -> StripRow:
    shown = list(values)[:MAX_DOTS]
    pitch = 70 / max(len(shown) - 1, 1)
    dots = [Point(scale(v), round(15 + pitch * i, 2)) for i, v in enumerate(shown) if drawable(v)]
    own = [v for v in values if drawable(v)]
    out = sum(math.isinf(v) for v in values)
    return StripRow(tuple(dots), scale(sum(own) / len(own)) if own and not out else None, out)
