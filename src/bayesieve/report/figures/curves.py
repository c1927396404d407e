"""Reliability diagram and ROC curve of one class."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.data import ReliabilityBin
from bayesieve.report.figures.scale import Box, Point, Scale, Tick, thinned
from bayesieve.words import plural

MAX_POINTS = 400
UNIT_TICKS = tuple(Tick(100 * v, f"{v:g}") for v in (0.0, 0.25, 0.5, 0.75, 1.0))
_RIGHT, _UP = Scale(0, 1), Scale(0, 1, 100, 0)


@dataclass(frozen=True)
class ReliabilityChart:
    """Observed share against predicted probability, with confidence intervals, and below it how many rows were
    predicted so.
    """

    points: tuple[Point, ...]
    bins: tuple[ReliabilityBin, ...]
    bars: tuple[Box, ...]
    error: float
    intervals: tuple[tuple[Point, Point], ...] = ()


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Mean distance between predicted and observed, weighted by rows (expected calibration error)."""
    n_rows = sum(b.count for b in bins)
    return sum(b.count * abs(b.predicted - b.observed) for b in bins) / n_rows if n_rows else math.nan


def reliability_chart(bins: Sequence[ReliabilityBin]) -> ReliabilityChart | None:
    """Positions of the diagram; empty bins are left out, None when all are empty."""
    filled = sorted(
        (b for b in bins if b.count > 0 and math.isfinite(b.predicted + b.observed)), key=lambda b: b.predicted
    )
    if not filled:
        return None
    xs = [_RIGHT(b.predicted) for b in filled]
    gaps = [right - left for left, right in itertools.pairwise(xs)]
    width = round(max(0.8, min([6.0, *(0.8 * gap for gap in gaps)])), 2)
    most = max(b.count for b in filled)
    lefts = [round(min(max(x - width / 2, 0.0), 100 - width), 2) for x in xs]
    heights = [round(100 * b.count / most, 2) for b in filled]
    bars = tuple(
        Box(left, 100 - height, width, height, plural(b.count, "row"))
        for left, height, b in zip(lefts, heights, filled, strict=True)
    )
    points = tuple(Point(x, _UP(b.observed)) for x, b in zip(xs, filled, strict=True))
    intervals = tuple(
        (Point(x, _UP(b.low)), Point(x, _UP(b.high)))
        for x, b in zip(xs, filled, strict=True)
        if b.low is not None and b.high is not None
    )
    return ReliabilityChart(points, tuple(filled), bars, calibration_error(filled), intervals)


def roc_points(curve: Sequence[tuple[float, float]]) -> tuple[Point, ...]:
    """Positions of a ROC curve, thinned to at most `MAX_POINTS`."""
    finite = [(fpr, tpr) for fpr, tpr in curve if math.isfinite(fpr + tpr)]
    return tuple(Point(_RIGHT(finite[i][0]), _UP(finite[i][1])) for i in thinned(len(finite), MAX_POINTS))


def roc_area(curve: Sequence[tuple[float, float]]) -> float:
    """Area under a ROC curve by trapezoids, NaN with fewer than two points."""
    if len(curve) < 2:
        return math.nan
    return sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in itertools.pairwise(curve))
