"""Measured quality: figures, reliability, ROC, confusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.data import Performance, ReportData
from bayesieve.report.figures.curves import ReliabilityChart, reliability_chart, roc_area, roc_points
from bayesieve.report.figures.scale import Point
from bayesieve.report.formats import format_number, format_percent
from bayesieve.report.sections.overview import auc_comparison

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
class ConfusionCell:
    """Rows of one true class with one predicted class; `strength` (0 to 100) shades the cell."""

    count: int
    strength: int
    is_right: bool


@dataclass(frozen=True)
class PerformanceSection:
    """The section on performance; `figures` are measures with their values and something to compare them with,
    `confusions` are true class, predicted class, rows and their share of the true class.
    """

    protocol: str
    measured: str
    n_rows: int
    figures: tuple[tuple[str, str, str], ...]
    charts: tuple[ClassCharts, ...]
    charts_cap: str | None
    confusion: tuple[tuple[ConfusionCell, ...], ...]
    confusions: tuple[tuple[str, str, int, float], ...]


def performance_section(data: ReportData) -> PerformanceSection | None:
    """None when no quality was measured."""
    performance = data.performance
    if performance is None:
        return None
    charts = _class_charts(data, performance)
    cap = f"The {MAX_CLASSES} most frequent of {len(charts):,} classes." if len(charts) > MAX_CLASSES else None
    matrix = performance.confusion or ()
    wide = len(matrix) > MAX_CONFUSION_CLASSES
    return PerformanceSection(
        protocol=performance.protocol,
        measured=performance.measured,
        n_rows=performance.n_rows,
        figures=_figures(performance),
        charts=charts[:MAX_CLASSES],
        charts_cap=cap,
        confusion=() if wide else confusion_cells(matrix),
        confusions=_frequent_confusions(matrix, data.classes) if wide else (),
    )


def _figures(performance: Performance) -> tuple[tuple[str, str, str], ...]:
    majority, entropy = format_percent(performance.majority_accuracy), format_number(performance.class_entropy, 4)
    loss, rate = format_number(performance.log_loss, 4), format_percent(performance.compression_rate, 2)
    return (
        ("Accuracy", format_percent(performance.accuracy, 2), f"{majority} by always predicting the majority class"),
        ("AUC", format_number(performance.auc, 4), auc_comparison(performance.auc)),
        ("Log loss", f"{loss} nats", f"{entropy} nats by predicting the class frequencies"),
        ("Compression rate", rate, "0% by predicting the class frequencies"),
        ("Brier score", format_number(performance.brier, 4), "0 is perfect; lower is better"),
    )


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


def confusion_cells(matrix: Sequence[Sequence[int]]) -> tuple[tuple[ConfusionCell, ...], ...]:
    """Cells shaded by their share of the rows of the true class."""
    table = []
    for i, row in enumerate(matrix):
        total = sum(row)
        cells = (ConfusionCell(n, round(100 * n / total) if total else 0, i == j) for j, n in enumerate(row))
        table.append(tuple(cells))
    return tuple(table)


def _frequent_confusions(
    matrix: Sequence[Sequence[int]], classes: Sequence[str]
) -> tuple[tuple[str, str, int, float], ...]:
    wrong = [(n, i, j) for i, row in enumerate(matrix) for j, n in enumerate(row) if i != j and n > 0]
    wrong.sort(key=lambda cell: (-cell[0], cell[1], cell[2]))
    return tuple((classes[i], classes[j], n, n / sum(matrix[i])) for n, i, j in wrong[:N_CONFUSIONS])
