"""The sections of a report: caps, orders and positions, ready for the templates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesieve.report import drawing as draw
from bayesieve.report.data import (
    CellGrid,
    Contribution,
    CurvePart,
    DecisionSummary,
    ExplainedRow,
    FeatureSummary,
    LevelRow,
    Performance,
    ReportData,
    ThresholdStep,
)
from bayesieve.report.drawing import band, evidence_limit
from bayesieve.statistics.metrics import Bin
from bayesieve.words import format_count, format_money, format_number, format_percent, not_blank, plural, shorten

MAX_TABLE_ROWS = 1000
MAX_DETAILS = 100
MAX_LEVELS = 50
MAX_LABEL = 64
MAX_FULL_LABEL = 1000
MAX_CURVES = 3
MAX_GRID_LEVELS = 24
MAX_CONTRIBUTIONS = 12
MAX_CLASSES = 30
MAX_CONFUSION_CLASSES = 26
N_CONFUSIONS = 12
MAX_POINTS = 400
UNIT_TICKS = tuple(draw.Tick(100 * v, f"{v:g}") for v in (0.0, 0.25, 0.5, 0.75, 1.0))
_RIGHT, _UP = draw.Scale(0, 1), draw.Scale(0, 1, 100, 0)
SHARES = tuple(draw.Tick(100 * v, f"{v:.0%}") for v in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
UNIT = draw.Scale(0.0, 1.0)


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
    segments: tuple[draw.Segment, ...]
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
    later = () if performance.later is None else _performance_tiles(performance.later)
    also = itertools.chain((f"; {tile.value} {tile.measured}" for tile in later), itertools.repeat(""))
    return tuple(Tile(*figure, performance.measured + more) for figure, more in zip(figures, also, strict=False))


def auc_comparison(auc: float) -> str:
    """A comparison for an AUC, or why it is undefined."""
    return "0.5 is chance, 1 is perfect" if auc == auc else "not defined: all rows are of one class"


def class_balance(data: ReportData) -> ClassBalance:
    """Base rates, as a stacked bar; zeros when there are no rows."""
    total = sum(data.class_counts)
    shares = tuple(count / total if total > 0 else 0.0 for count in data.class_counts)
    segments = tuple(draw.stacked_segments(shares))
    named = sum(segment.index is not None for segment in segments)
    return ClassBalance(segments, shares, len(data.classes) <= draw.N_CLASS_COLOURS, named)


@dataclass(frozen=True)
class Curve:
    """Steps over the ranks of the rows in a square of side 100: (class, fitted, counted) as path data, and the evidence
    at the upper edge; half-way up there is none.
    """

    steps: tuple[tuple[int, str, str], ...]
    limit: float


@dataclass(frozen=True)
class Cell:
    """A cell: the number of its group from 1 on (None without rows), its rows, the class it favours, how much (0 to
    100).
    """

    group: int | None
    rows: float
    favoured: int
    strength: float


@dataclass(frozen=True)
class CellMap:
    """Cells by the levels of both columns: the labels across, and a label and cells for each line."""

    names: tuple[str, str]
    across: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Cell, ...]], ...]
    is_cut: bool


@dataclass(frozen=True)
class FeatureDetail:
    """A selected feature with the numbers (from 1 on) and rows of its levels, and the cells of a pair of columns."""

    rank: int
    feature: FeatureSummary
    levels: tuple[tuple[int, LevelRow], ...]
    hidden: str | None
    curve: Curve | None
    cells: CellMap | None


@dataclass(frozen=True)
class FeatureSection:
    """The section on features, with notes on omitted ones; `largest` is the largest importance."""

    shown: tuple[FeatureSummary, ...]
    largest: float
    table_cap: str | None
    details: tuple[FeatureDetail, ...]
    details_cap: str | None
    evidence_limit: float
    any_clipped: bool
    is_fitted: bool

    @property
    def ranks_detailed(self) -> set[int]:
        return {detail.rank for detail in self.details}


def feature_section(data: ReportData) -> FeatureSection:
    """Most important features first, as given; the table and the details are capped."""
    selected = [(rank, feature) for rank, feature in enumerate(data.features, start=1) if feature.selected]
    detailed = [(rank, feature) for rank, feature in selected[:MAX_DETAILS] if feature.levels]
    shown = data.features[:MAX_TABLE_ROWS]
    limit = evidence_limit(
        [[nats for level in feature.levels for _, nats in evidence_amounts(level.evidence)] for _, feature in detailed]
    )
    details = tuple(_detail(rank, feature, limit) for rank, feature in detailed)
    levels = [level for detail in details for _, level in detail.levels]
    table_cap = details_cap = None
    if len(data.features) > len(shown):
        table_cap = (
            f"The table shows the {len(shown):,} most important of {plural(len(data.features), 'feature')}; "
            "features.csv and the model's summary list all of them."
        )
    if len(selected) > MAX_DETAILS:
        details_cap = (
            f"Details are shown for the {MAX_DETAILS} most important of {plural(len(selected), 'selected feature')}."
        )
    return FeatureSection(
        shown=shown,
        largest=max((f.importance for f in data.features if math.isfinite(f.importance)), default=0.0),
        table_cap=table_cap,
        details=details,
        details_cap=details_cap,
        evidence_limit=limit,
        any_clipped=any(
            draw.diverging_bar(nats, limit).clipped for level in levels for _, nats in evidence_amounts(level.evidence)
        ),
        is_fitted=any(level.counted for level in levels),
    )


def kind_label(feature: FeatureSummary) -> str:
    """The kind, with the type if the kind does not already say it, and the direction of monotone evidence."""
    usual = {"numeric": {"number"}, "categorical": {"text", "category"}, "pair": {"pair"}}
    kind = feature.kind if feature.type in usual.get(feature.kind, set()) else f"{feature.kind}, {feature.type}"
    if not feature.monotone:
        return kind
    of_class = f" for {shorten(not_blank(feature.monotone_class), 40)}" if feature.monotone_class else ""
    return f"{kind}, never {'falls' if feature.monotone > 0 else 'rises'}{of_class}"


def _detail(rank: int, feature: FeatureSummary, limit: float) -> FeatureDetail:
    levels = feature.levels
    # The most frequent levels in their own order, the missing level always among them.
    by_count = sorted(range(len(levels)), key=lambda i: (not levels[i].is_missing, -levels[i].count, i))
    shown = sorted(by_count[:MAX_LEVELS])
    hidden = None
    if len(shown) < len(levels):
        rows = sum(levels[i].share for i in set(range(len(levels))) - set(shown))
        hidden = (
            f"The {len(shown)} levels with most rows, of {len(levels):,}; "
            f"the others hold {format_percent(rows)} of the rows."
        )
    amounts = [evidence_amounts(level.evidence) for level in levels]
    return FeatureDetail(
        rank=rank,
        feature=feature,
        levels=tuple((i + 1, levels[i]) for i in shown),
        hidden=hidden,
        curve=_curve(feature.curve),
        cells=None if feature.grid is None else cell_map(feature.grid, amounts, limit),
    )


def _curve(parts: Sequence[CurvePart]) -> Curve | None:
    """Two classes: the second against the first. More: the classes whose evidence varies most."""
    if not parts:
        return None
    n_classes = len(parts[0].evidence)
    fitted = {j: [of_class(part.evidence, j) for part in parts] for j in range(n_classes)}
    varies = sorted(range(n_classes), key=lambda j: (min(fitted[j]) - max(fitted[j]), j))
    shown = [1] if n_classes == 2 else sorted(varies[:MAX_CURVES])
    counted = {j: [of_class(part.counted, j) for part in parts] for j in shown}
    limit = max(abs(value) for j in shown for value in (*fitted[j], *counted[j])) or 1.0
    shares = [part.share for part in parts]
    return Curve(tuple((j, _steps(shares, fitted[j], limit), _steps(shares, counted[j], limit)) for j in shown), limit)


def _steps(shares: Sequence[float], values: Sequence[float], limit: float) -> str:
    """Path data of horizontal steps as wide as the shares."""
    moves: list[str] = []
    at = 0.0
    for share, value in zip(shares, values, strict=True):
        moves.append(f"{'L' if moves else 'M'}{100 * at:.2f} {50 - 48 * value / limit:.2f}H{100 * (at + share):.2f}")
        at += share
    return "".join(moves)


def cell_map(grid: CellGrid, amounts: Sequence[Sequence[tuple[int, float]]], limit: float) -> CellMap:
    """The most frequent levels of both columns, in their own order.

    Parameters
    ----------
    amounts : for each level of the pair (class, nats), see `evidence_amounts`.
    limit : nats of the strongest colour.
    """
    lines = _frequent([sum(line) for line in grid.counts])
    columns = _frequent([sum(column) for column in zip(*grid.counts, strict=True)])

    def cell(i: int, j: int) -> Cell:
        code, rows = grid.levels[i][j], grid.counts[i][j]
        if code is None or not amounts[code]:
            return Cell(None if code is None else code + 1, rows, 0, 0.0)
        favoured, nats = max(amounts[code], key=lambda one: one[1])
        if len(amounts[code]) == 1 and nats < 0:  # of two classes, the first
            favoured = 0
        return Cell(code + 1, rows, favoured, round(100 * min(1.0, abs(nats) / limit), 1) if limit > 0 else 0.0)

    return CellMap(
        names=grid.names,
        across=tuple(grid.labels[1][j] for j in columns),
        lines=tuple((grid.labels[0][i], tuple(cell(i, j) for j in columns)) for i in lines),
        is_cut=len(lines) < len(grid.labels[0]) or len(columns) < len(grid.labels[1]),
    )


def _frequent(counts: Sequence[float]) -> list[int]:
    return sorted(sorted(range(len(counts)), key=lambda i: (-counts[i], i))[:MAX_GRID_LEVELS])


def shortened_label(label: str) -> tuple[str, str | None]:
    """A label that fits its column, and the full label (itself capped) if it was cut."""
    if len(label) <= MAX_LABEL:
        return label, None
    full = label
    if len(label) > MAX_FULL_LABEL:
        full = f"{label[:MAX_FULL_LABEL]}… and {len(label) - MAX_FULL_LABEL:,} more characters"
    return label[: MAX_LABEL - 1].rstrip() + "…", full


def of_class(evidence: Sequence[float], j: int) -> float:
    """The amount of `evidence_amounts` for a class."""
    return evidence[1] - evidence[0] if len(evidence) == 2 else evidence[j]


def evidence_amounts(evidence: Sequence[float]) -> list[tuple[int, float]]:
    """(class, nats) of the bars that sum up a level.

    Two classes: the second against the first, as log-odds. More: the class that the level speaks for most and the one
    it speaks against most, both against the average over the classes.
    """
    if len(evidence) < 2:
        return []
    if len(evidence) == 2:
        return [(1, evidence[1] - evidence[0])]
    against = min(range(len(evidence)), key=lambda j: (evidence[j], j))
    most = max(range(len(evidence)), key=lambda j: (evidence[j], -j))
    return [(against, evidence[against]), (most, evidence[most])]


@dataclass(frozen=True)
class ExplainedSection:
    """One row: the favoured class, the class it is compared with, and the sum from prior to posterior: of each feature
    its name, its part (None for features summed up in one line) and its bar.
    """

    row: ExplainedRow
    favoured: int
    against: int
    lines: tuple[tuple[str, Contribution | None, draw.Bar], ...]
    chart: draw.Waterfall


def explained_sections(data: ReportData) -> tuple[ExplainedSection, ...]:
    """One entry an explained row; none when there are fewer than two classes to weigh against each other."""
    if len(data.classes) < 2:
        return ()
    return tuple(_explained(row, data.classes) for row in data.explained)


def compared_classes(row: ExplainedRow, classes: Sequence[str]) -> tuple[int, int]:
    """(favoured, against): the second class against the first of two, else the predicted one against the runner-up."""
    if len(classes) == 2:
        return 1, 0
    ranked = sorted(range(len(classes)), key=lambda j: (-row.probabilities[j], j))
    predicted = classes.index(row.predicted) if row.predicted in classes else ranked[0]
    return predicted, next(j for j in ranked if j != predicted)


def _explained(row: ExplainedRow, classes: Sequence[str]) -> ExplainedSection:
    favoured, against = compared_classes(row, classes)
    amounts = [(c.contributions[favoured] - c.contributions[against], c) for c in row.contributions]
    amounts = sorted((a for a in amounts if a[0] != 0), key=lambda a: -abs(a[0]))
    named, rest = amounts[:MAX_CONTRIBUTIONS], amounts[MAX_CONTRIBUTIONS:]
    steps = [amount for amount, _ in named] + ([sum(amount for amount, _ in rest)] if rest else [])
    chart = draw.waterfall(row.prior[favoured] - row.prior[against], steps)
    sources: list[tuple[str, Contribution | None]] = [(c.feature, c) for _, c in named]
    sources += [(plural(len(rest), "other feature"), None)] if rest else []
    lines = tuple((name, source, bar) for (name, source), bar in zip(sources, chart.bars[1:-1], strict=True))
    return ExplainedSection(row, favoured, against, lines, chart)


@dataclass(frozen=True)
class ReliabilityChart:
    """Observed share against predicted probability, with confidence intervals, and below it how many rows were
    predicted so.
    """

    points: tuple[draw.Point, ...]
    bins: tuple[Bin, ...]
    bars: tuple[draw.Box, ...]
    error: float
    intervals: tuple[tuple[draw.Point, draw.Point], ...]


@dataclass(frozen=True)
class ClassCharts:
    """Reliability and ROC of one class against the others."""

    label: str
    reliability: ReliabilityChart | None
    roc: tuple[draw.Point, ...]
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
        draw.Box(left, 100 - height, width, height, plural(b.rows, "row"))
        for left, height, b in zip(lefts, heights, filled, strict=True)
    )
    points = tuple(draw.Point(x, _UP(b.observed)) for x, b in zip(xs, filled, strict=True))
    intervals = tuple((draw.Point(x, _UP(b.low)), draw.Point(x, _UP(b.high))) for x, b in zip(xs, filled, strict=True))
    return ReliabilityChart(points, tuple(filled), bars, calibration_error(filled), intervals)


def roc_points(curve: Sequence[tuple[float, float]]) -> tuple[draw.Point, ...]:
    """Positions of a ROC curve, thinned to at most `MAX_POINTS`."""
    finite = [(fpr, tpr) for fpr, tpr in curve if math.isfinite(fpr + tpr)]
    return tuple(draw.Point(_RIGHT(finite[i][0]), _UP(finite[i][1])) for i in draw.thinned(len(finite), MAX_POINTS))


def roc_area(curve: Sequence[tuple[float, float]]) -> float:
    """Area under a ROC curve by trapezoids, NaN with fewer than two points."""
    if len(curve) < 2:
        return math.nan
    return sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in itertools.pairwise(curve))


@dataclass(frozen=True)
class DecisionSection:
    """The decisions, and of two of them the thresholds: a place in the drawing, the cells of a row, and a sentence."""

    summary: DecisionSummary
    total: float
    best_always: str
    drawing: draw.PathDrawing | None
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
    drawing = draw.PathDrawing((panel,), SHARES, f"share of rows: {name}", chosen_x=100 * chosen.share)
    heads = (f"Rows: {name}", f"At least this {summary.score}", "Benefit", "95% of resamples", *data.classes)
    lines = tuple(_line(step, scale, name, summary.score, data.classes) for step in steps)
    return DecisionSection(summary, total, best_always, drawing, heads, lines)


def _line(
    step: ThresholdStep, scale: draw.Scale, name: str, score: str, classes: Sequence[str]
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
    scale: draw.Scale,
    marked: tuple[float, float],
    label: str,
    heading: str = "Profit",
) -> draw.Panel:
    """The line of the profit with its band, one of its points marked, and contact at random."""
    with_band = not np.isnan(low).any()
    line = [(100 * x, y) for x, y in zip(share, profit, strict=True)]
    lines = draw.drawn_lines("start", [(0.0, profit[0]), (100.0, profit[-1])], scale) + draw.drawn_lines(
        "best", line, scale
    )
    return draw.Panel(
        heading=heading,
        note="faint: rows at random" + ("; band: bootstrap of the rows" if with_band else ""),
        bands=band([(100 * x, a, b) for x, a, b in zip(share, low, high, strict=True)], scale) if with_band else (),
        lines=tuple(lines),
        marks=(draw.labelled_mark(draw.Point(UNIT(marked[0]), scale(marked[1])), label, lines, above=True),),
        y_ticks=draw.value_ticks(scale),
    )


def roomy_scale(values: np.ndarray) -> draw.Scale:
    """A vertical axis with some room above and below the values."""
    known = values[np.isfinite(values)]
    low, high = float(known.min()), float(known.max())
    room = 0.08 * (high - low) or 0.5
    return draw.Scale(low - room, high + room, 100.0, 0.0)
