"""Key figures and the balance of the classes."""

from __future__ import annotations

from dataclasses import dataclass

from bayesieve.report.data import Performance, ReportData
from bayesieve.report.figures.bars import N_CLASS_COLOURS, Segment, stacked_segments
from bayesieve.words import format_count, format_number, format_percent, plural


@dataclass(frozen=True)
class Tile:
    """One key figure: its title, value, unit, comparison and measurement."""

    name: str
    value: str
    unit: str
    comparison: str
    measured: str = ""


@dataclass(frozen=True)
class ClassBalance:
    segments: tuple[Segment, ...]
    shares: tuple[float, ...]
    coloured: bool
    n_named: int


def n_selected(data: ReportData) -> int:
    return sum(feature.selected for feature in data.features)


def key_figures(data: ReportData) -> tuple[Tile, ...]:
    """The tiles under the headline; those of performance only if it was measured."""
    n_features = f"of {format_count(len(data.features))}"
    selected = Tile("Features selected", format_count(n_selected(data)), n_features, "with evidence in predictions")
    if data.performance is not None:
        return (selected, *_performance_tiles(data.performance))
    rows = Tile("Rows", format_count(data.n_rows), "", plural(data.n_columns, "column"))
    classes = Tile("Classes", format_count(len(data.classes)), "", f"of {data.target}")
    if data.search is None:
        return selected, rows, classes
    n_models, starts = format_count(data.search.n_models), plural(data.search.n_starts, "start")
    return selected, rows, classes, Tile("Models evaluated", n_models, "", starts)


def _performance_tiles(performance: Performance) -> tuple[Tile, ...]:
    majority, entropy = format_percent(performance.majority_accuracy), format_number(performance.class_entropy)
    rate = format_percent(performance.compression_rate)
    figures = (
        ("AUC", format_number(performance.auc), "", auc_comparison(performance.auc)),
        ("Accuracy", format_percent(performance.accuracy), "", f"{majority} by always predicting the majority class"),
        ("Log loss", format_number(performance.log_loss), "nats", f"{entropy} without any feature"),
        ("Compression rate", rate, "", "of the uncertainty about the target removed"),
    )
    return tuple(Tile(*figure, performance.measured) for figure in figures)


def auc_comparison(auc: float) -> str:
    """A comparison for an AUC, or why it is undefined."""
    return "0.5 is chance, 1 is perfect" if auc == auc else "not defined: all rows are of one class"


def class_balance(data: ReportData) -> ClassBalance:
    """Base rates, as a stacked bar; zeros when there are no rows."""
    total = sum(data.class_counts)
    shares = tuple(count / total if total > 0 else 0.0 for count in data.class_counts)
    segments = tuple(stacked_segments(shares))
    named = sum(segment.index is not None for segment in segments)
    return ClassBalance(segments, shares, len(data.classes) <= N_CLASS_COLOURS, named)
