"""What decisions bring: a table of the decisions, and the benefit at every threshold between two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.data import DecisionSummary, ReportData, ThresholdStep
from bayesieve.report.figures.panels import PathDrawing
from bayesieve.report.figures.profit import SHARES, profit_panel, profit_scale
from bayesieve.report.figures.scale import Scale
from bayesieve.words import format_count, format_money, format_number, format_percent


@dataclass(frozen=True)
class DecisionSection:
    """The decisions, and of two of them the thresholds: a place in the drawing, the cells of a row, and a sentence."""

    summary: DecisionSummary
    total: float
    best_always: str
    drawing: PathDrawing | None
    heads: tuple[str, ...]
    steps: tuple[tuple[float, float, tuple[str, ...], str], ...]


def decision_section(data: ReportData) -> DecisionSection | None:
    """None without benefits."""
    summary = data.decisions
    if summary is None:
        return None
    total = sum(line.benefit for line in summary.lines)
    best = max(summary.lines, key=lambda line: line.always)
    best_always = f"the best single decision for all rows, “{best.name}”, would bring {format_money(best.always)}"
    if not summary.steps:
        return DecisionSection(summary, total, best_always, None, (), ())
    steps = summary.steps
    share, benefit = [step.share for step in steps], [step.benefit for step in steps]
    low, high = [step.low for step in steps], [step.high for step in steps]
    chosen = steps[summary.chosen]
    name = summary.lines[1].name
    panel = profit_panel(share, benefit, low, high, (chosen.share, chosen.benefit), "", "Benefit")
    drawing = PathDrawing((panel,), SHARES, f"share of rows: {name}", chosen_x=100 * chosen.share)
    heads = (f"Rows: {name}", f"At least this {summary.score}", "Benefit", "95% of resamples", *data.classes)
    scale = profit_scale(benefit, low, high)
    lines = tuple(_line(step, scale, name, summary.score, data.classes) for step in steps)
    return DecisionSection(summary, total, best_always, drawing, heads, lines)


def _line(
    step: ThresholdStep, scale: Scale, name: str, score: str, classes: Sequence[str]
) -> tuple[float, float, tuple[str, ...], str]:
    share, threshold = format_percent(step.share), format_number(step.threshold)
    benefit, band = format_money(step.benefit), f"{format_money(step.low)} to {format_money(step.high)}"
    counts = tuple(format_count(round(count)) for count in step.class_counts)
    of = ", ".join(f"{count} {label}" for count, label in zip(counts, classes, strict=True))
    where = f" ({score} at least {threshold}; {of})" if step.share > 0 else ""
    text = f"{name} for {share} of the rows{where}: benefit {benefit} ({band})"
    return round(100 * step.share, 3), scale(step.benefit), (share, threshold, benefit, band, *counts), text
