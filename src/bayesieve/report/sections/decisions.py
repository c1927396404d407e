"""What decisions bring: a table of the decisions, and the benefit at every threshold between two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesieve.report.data import DecisionSummary, ReportData, ThresholdStep
from bayesieve.report.figures.panels import Panel, PathDrawing, band, drawn_lines, labelled_mark
from bayesieve.report.figures.scale import Point, Scale, Tick, value_ticks
from bayesieve.words import format_count, format_money, format_number, format_percent

SHARES = tuple(Tick(100 * v, f"{v:.0%}") for v in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
UNIT = Scale(0.0, 1.0)


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
    scale = roomy_scale(np.array([*benefit, *low, *high]))
    chosen = steps[summary.chosen]
    name = summary.lines[1].name
    panel = profit_panel(share, benefit, low, high, scale, (chosen.share, chosen.benefit), "", "Benefit")
    drawing = PathDrawing((panel,), SHARES, f"share of rows: {name}", chosen_x=100 * chosen.share)
    heads = (f"Rows: {name}", f"At least this {summary.score}", "Benefit", "95% of resamples", *data.classes)
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


def profit_panel(
    share: Sequence[float],
    profit: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    scale: Scale,
    marked: tuple[float, float],
    label: str,
    heading: str = "Profit",
) -> Panel:
    """The line of the profit with its band, one of its points marked, and contact at random."""
    with_band = not np.isnan(low).any()
    line = [(100 * x, y) for x, y in zip(share, profit, strict=True)]
    lines = drawn_lines("start", [(0.0, profit[0]), (100.0, profit[-1])], scale) + drawn_lines("best", line, scale)
    return Panel(
        heading=heading,
        note="faint: rows at random" + ("; band: bootstrap of the rows" if with_band else ""),
        bands=band([(100 * x, a, b) for x, a, b in zip(share, low, high, strict=True)], scale) if with_band else (),
        lines=tuple(lines),
        marks=(labelled_mark(Point(UNIT(marked[0]), scale(marked[1])), label, lines, above=True),),
        y_ticks=value_ticks(scale),
    )


def roomy_scale(values: np.ndarray) -> Scale:
    """A vertical axis with some room above and below the values."""
    known = values[np.isfinite(values)]
    low, high = float(known.min()), float(known.max())
    room = 0.08 * (high - low) or 0.5
    return Scale(low - room, high + room, 100.0, 0.0)
