"""The table of features, and the levels of the selected ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.data import CurvePart, FeatureSummary, LevelRow, ReportData, ValueRow
from bayesieve.report.figures.bars import (
    Bar,
    Segment,
    bar_width,
    diverging_bar,
    evidence_limit,
    stacked_segments,
)
from bayesieve.report.figures.cells import CellMap, cell_map
from bayesieve.report.formats import format_percent, plural, shorten, visible

MAX_TABLE_ROWS = 1000
MAX_DETAILS = 100
MAX_LEVELS = 50
MAX_LABEL = 64
MAX_FULL_LABEL = 1000
MAX_CURVES = 3
N_OPEN = 5


@dataclass(frozen=True)
class FeatureLine:
    rank: int
    feature: FeatureSummary
    kind: str
    detailed: bool
    weight_width: float
    importance_width: float


@dataclass(frozen=True)
class LevelLine:
    """A level: its label, rows, class probabilities and evidence, which is bars by class; ``counted`` has the bars that
    counting alone gives for the same classes, where the evidence was fitted.
    """

    label: str
    full_label: str | None
    number: int
    level: LevelRow
    share_width: float
    probability: float
    segments: tuple[Segment, ...]
    evidence: tuple[tuple[int, Bar], ...]
    counted: tuple[Bar, ...]


@dataclass(frozen=True)
class Curve:
    """Steps over the ranks of the rows, in a picture of width and height 100: (class, fitted, counted) as path data,
    the height of no evidence, and the evidence at the upper edge.
    """

    steps: tuple[tuple[int, str, str], ...]
    zero: float
    limit: float


@dataclass(frozen=True)
class ValueLine:
    """A value with evidence of its own: labels that fit, and (class, its evidence, that of its group)."""

    label: str
    group: str
    count: float
    amounts: tuple[tuple[int, float, float], ...]


@dataclass(frozen=True)
class FeatureDetail:
    """A selected feature with its levels, and the cells of a pair of columns."""

    line: FeatureLine
    levels: tuple[LevelLine, ...]
    cells: CellMap | None
    is_open: bool
    hidden: str | None
    curve: Curve | None
    values: tuple[ValueLine, ...]


@dataclass(frozen=True)
class FeatureSection:
    """The section on features, with notes on omitted ones."""

    lines: tuple[FeatureLine, ...]
    table_cap: str | None
    details: tuple[FeatureDetail, ...]
    details_cap: str | None
    evidence_limit: float
    any_clipped: bool
    is_fitted: bool


def feature_section(data: ReportData) -> FeatureSection:
    """Heaviest features first, as given; the table and the details are capped."""
    largest = max((f.importance for f in data.features if math.isfinite(f.importance)), default=0.0)
    selected = [i for i, feature in enumerate(data.features) if feature.selected]
    detailed = {i for i in selected[:MAX_DETAILS] if data.features[i].levels}
    shown = data.features[:MAX_TABLE_ROWS]
    lines = tuple(_line(i, f, i in detailed, largest) for i, f in enumerate(shown))
    limit = evidence_limit(
        [
            [value for level in data.features[i].levels for _, value in evidence_amounts(level.evidence)]
            for i in sorted(detailed)
        ]
    )
    details = tuple(
        _detail(_line(i, data.features[i], True, largest), limit, n < N_OPEN) for n, i in enumerate(sorted(detailed))
    )
    clipped = any(bar.clipped for d in details for level in d.levels for _, bar in level.evidence)
    table_cap = details_cap = None
    if len(data.features) > len(shown):
        table_cap = (
            f"The table shows the {len(shown):,} heaviest of {plural(len(data.features), 'feature')}; "
            "features.csv and the model's summary list all of them."
        )
    if len(selected) > MAX_DETAILS:
        details_cap = (
            f"Details are shown for the {MAX_DETAILS} heaviest of {plural(len(selected), 'selected feature')}."
        )
    fitted = any(level.counted for d in details for level in d.levels)
    return FeatureSection(lines, table_cap, details, details_cap, limit, clipped, fitted)


def kind_label(feature: FeatureSummary) -> str:
    """The kind, with the type where the kind does not already say it, and the direction of monotone evidence."""
    usual = {"numeric": {"number"}, "categorical": {"text", "category"}, "pair": {"pair"}}
    kind = feature.kind if feature.type in usual.get(feature.kind, set()) else f"{feature.kind}, {feature.type}"
    if not feature.monotone:
        return kind
    of_class = f" for {shorten(visible(feature.monotone_class), 40)}" if feature.monotone_class else ""
    return f"{kind}, never {'falls' if feature.monotone > 0 else 'rises'}{of_class}"


def _line(index: int, feature: FeatureSummary, detailed: bool, largest: float) -> FeatureLine:
    return FeatureLine(
        rank=index + 1,
        feature=feature,
        kind=kind_label(feature),
        detailed=detailed,
        weight_width=bar_width(feature.weight, 1.0),
        importance_width=bar_width(feature.importance, largest),
    )


def _detail(line: FeatureLine, limit: float, is_open: bool) -> FeatureDetail:
    levels = line.feature.levels
    shown = _shown_levels(levels)
    largest = max((levels[i].share for i in shown), default=0.0)
    hidden = None
    if len(shown) < len(levels):
        rows = sum(levels[i].share for i in set(range(len(levels))) - set(shown))
        hidden = (
            f"The {len(shown)} levels with most rows, of {len(levels):,}; "
            f"the others hold {format_percent(rows)} of the rows."
        )
    grid = line.feature.grid
    amounts = [evidence_amounts(level.evidence) for level in levels]
    cells = None if grid is None else cell_map(grid, amounts, limit)
    lines = tuple(_level_line(levels[i], i + 1, largest, limit) for i in shown)
    values = tuple(_value_line(value) for value in line.feature.values)
    return FeatureDetail(line, lines, cells, is_open, hidden, _curve(line.feature.curve), values)


def _value_line(value: ValueRow) -> ValueLine:
    amounts = tuple((j, own, _of_class(value.of_group, j)) for j, own in evidence_amounts(value.evidence))
    return ValueLine(shortened_label(value.label)[0], shortened_label(value.group)[0], value.count, amounts)


def _curve(parts: Sequence[CurvePart]) -> Curve | None:
    """Two classes: the second against the first. More: the classes whose evidence varies most."""
    if not parts:
        return None
    n_classes = len(parts[0].evidence)
    fitted = {j: [_of_class(part.evidence, j) for part in parts] for j in range(n_classes)}
    varies = sorted(range(n_classes), key=lambda j: (min(fitted[j]) - max(fitted[j]), j))
    shown = [1] if n_classes == 2 else sorted(varies[:MAX_CURVES])
    counted = {j: [_of_class(part.counted, j) for part in parts] for j in shown}
    limit = max(abs(value) for j in shown for value in (*fitted[j], *counted[j])) or 1.0
    shares = [part.share for part in parts]
    return Curve(
        tuple((j, _steps(shares, fitted[j], limit), _steps(shares, counted[j], limit)) for j in shown), 50.0, limit
    )


def _steps(shares: Sequence[float], values: Sequence[float], limit: float) -> str:
    """Path data of horizontal steps as wide as the shares."""
    moves: list[str] = []
    at = 0.0
    for share, value in zip(shares, values, strict=True):
        moves.append(f"{'L' if moves else 'M'}{100 * at:.2f} {50 - 48 * value / limit:.2f}H{100 * (at + share):.2f}")
        at += share
    return "".join(moves)


def _shown_levels(levels: Sequence[LevelRow]) -> list[int]:
    """The most frequent levels in their own order, the missing level always among them."""
    by_count = sorted(range(len(levels)), key=lambda i: (not levels[i].is_missing, -levels[i].count, i))
    return sorted(by_count[:MAX_LEVELS])


def _level_line(level: LevelRow, number: int, largest_share: float, limit: float) -> LevelLine:
    short, full = shortened_label(level.label)
    amounts = evidence_amounts(level.evidence)
    two_classes = len(level.class_probabilities) == 2
    return LevelLine(
        label=short,
        full_label=full,
        number=number,
        level=level,
        share_width=bar_width(level.share, largest_share),
        probability=level.class_probabilities[1] if two_classes else math.nan,
        segments=() if two_classes else tuple(stacked_segments(level.class_probabilities)),
        evidence=tuple((j, diverging_bar(value, limit)) for j, value in amounts),
        counted=tuple(diverging_bar(_of_class(level.counted, j), limit) for j, _ in amounts) if level.counted else (),
    )


def shortened_label(label: str) -> tuple[str, str | None]:
    """A label that fits its column, and the full label (itself capped) if it was cut."""
    if len(label) <= MAX_LABEL:
        return label, None
    full = label
    if len(label) > MAX_FULL_LABEL:
        full = f"{label[:MAX_FULL_LABEL]}… and {len(label) - MAX_FULL_LABEL:,} more characters"
    return label[: MAX_LABEL - 1].rstrip() + "…", full


def _of_class(evidence: Sequence[float], j: int) -> float:
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
