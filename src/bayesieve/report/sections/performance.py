"""Measured quality: figures, reliability, ROC, confusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.data import Performance, ReportData
from bayesieve.report.figures.curves import ReliabilityChart, reliability_chart, roc_area, roc_points
from bayesieve.report.figures.scale import Point

MAX_CLASSES = 30
MAX_CONFUSION_CLASSES = 26
N_CONFUSIONS = 12


@dataclass(frozen=True)
class ClassCharts:
    """Reliability and ROC of one class against the others."""

    label: str
    reliability: ReliabilityChart | None
    roc: tuple[Point, ...]
    area: float


@dataclass(frozen=True)
class PerformanceSection:
    """The charts of the classes, and the confusion matrix; where it is too wide, its most frequent confusions: true
    class, predicted class, rows and their share of the true class.
    """

    charts: tuple[ClassCharts, ...]
    charts_cap: str | None
    confusion: tuple[tuple[int, ...], ...]
    confusions: tuple[tuple[str, str, int, float], ...]


def performance_section(data: ReportData) -> PerformanceSection | None:
    """None when no quality was measured."""
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
