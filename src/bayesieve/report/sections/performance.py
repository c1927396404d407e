"""Measured quality: figures, reliability, ROC, confusion."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.data import Performance, ReportData
from bayesieve.report.figures.scale import Box, Point, Scale, Tick, thinned
from bayesieve.statistics.metrics import Bin
from bayesieve.words import plural

MAX_CLASSES = 30
MAX_CONFUSION_CLASSES = 26
N_CONFUSIONS = 12
MAX_POINTS = 400
UNIT_TICKS = tuple(Tick(100 * v, f"{v:g}") for v in (0.0, 0.25, 0.5, 0.75, 1.0))
_RIGHT, _UP = Scale(0, 1), Scale(0, 1, 100, 0)


@dataclass(frozen=True)
class ReliabilityChart:
    """Observed share against predicted probability, with confidence intervals, and below it how many rows were
    predicted so.
    """

    points: tuple[Point, ...]
    bins: tuple[Bin, ...]
    bars: tuple[Box, ...]
    error: float
    intervals: tuple[tuple[Point, Point], ...]


@dataclass(frozen=True)
class ClassCharts:
    """Reliability and ROC of one class against the others."""

    label: str
    reliability: ReliabilityChart | None
    roc: tuple[Point, ...]
    area: float


@dataclass(frozen=True)
class PerformanceSection:
    """The charts of the classes, and the confusion matrix. If that is too wide, its most frequent confusions instead:
    true class, predicted class, rows and their share of the true class.
    """

    charts: tuple[ClassCharts, ...]
    charts_cap: str | None
    confusion: tuple[tuple[int, ...], ...]
    confusions: tuple[tuple[str, str, int, float], ...]


def performance_section(data: ReportData) -> PerformanceSection | None:
    """The section, or None if nothing was measured."""
    performance = data.performance
    if performance is None:
        return None
    charts = _class_charts(data, performance)
    cap = f"The {MAX_CLASSES} most frequent of {len(charts):,} classes." if len(charts) > MAX_CLASSES else None
    matrix = performance.confusion or ()
    if len(matrix) > MAX_CONFUSION_CLASSES:
        return PerformanceSection(charts[:MAX_CLASSES], cap, (), _frequent_confusions(matrix, data.classes))
    return PerformanceSection(charts[:MAX_CLASSES], cap, matrix, ())


def _class_charts(data: ReportData, performance: Performance) -> tuple[ClassCharts, ...]:
    """One entry a class, most frequent first; of two classes only the second, since the first mirrors it."""
    reliability, roc = dict(performance.reliability), dict(performance.roc)
    counts = dict(zip(data.classes, data.class_counts, strict=False))
    labels = sorted(dict.fromkeys([*reliability, *roc]), key=lambda label: -counts.get(label, 0.0))
    if len(data.classes) == 2 and data.classes[1] in labels:
        labels = [data.classes[1]]
    charts = []
    for label in labels:
        diagram, curve = reliability_chart(reliability.get(label, ())), roc.get(label, ())
        if diagram is not None or len(curve) > 1:
            # Points are thinned for drawing, so the area of all rows is used if known.
            area = performance.auc if len(data.classes) == 2 else roc_area(curve)
            charts.append(ClassCharts(label, diagram, roc_points(curve), area))
    return tuple(charts)


def _frequent_confusions(
    matrix: Sequence[Sequence[int]], classes: Sequence[str]
) -> tuple[tuple[str, str, int, float], ...]:
    wrong = [(n, i, j) for i, row in enumerate(matrix) for j, n in enumerate(row) if i != j and n > 0]
    wrong.sort(key=lambda cell: (-cell[0], cell[1], cell[2]))
    return tuple((classes[i], classes[j], n, n / sum(matrix[i])) for n, i, j in wrong[:N_CONFUSIONS])


def calibration_error(bins: Sequence[Bin]) -> float:
    """Mean distance between predicted and observed, weighted by rows (expected calibration error)."""
    n_rows = sum(b.rows for b in bins)
    return sum(b.rows * abs(b.predicted - b.observed) for b in bins) / n_rows if n_rows else math.nan


def reliability_chart(bins: Sequence[Bin]) -> ReliabilityChart | None:
    """Positions of the diagram; empty bins are left out, None if all are empty."""
    filled = sorted(
        (b for b in bins if b.rows > 0 and math.isfinite(b.predicted + b.observed)), key=lambda b: b.predicted
    )
    if not filled:
        return None
    xs = [_RIGHT(b.predicted) for b in filled]
    gaps = [right - left for left, right in itertools.pairwise(xs)]
    width = round(max(0.8, min([6.0, *(0.8 * gap for gap in gaps)])), 2)
    most = max(b.rows for b in filled)
    lefts = [round(min(max(x - width / 2, 0.0), 100 - width), 2) for x in xs]
    heights = [round(100 * b.rows / most, 2) for b in filled]
    bars = tuple(
        Box(left, 100 - height, width, height, plural(b.rows, "row"))
        for left, height, b in zip(lefts, heights, filled, strict=True)
    )
    points = tuple(Point(x, _UP(b.observed)) for x, b in zip(xs, filled, strict=True))
    intervals = tuple((Point(x, _UP(b.low)), Point(x, _UP(b.high))) for x, b in zip(xs, filled, strict=True))
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
