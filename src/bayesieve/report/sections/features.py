"""The table of features, and the levels of the selected ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.data import CellGrid, CurvePart, FeatureSummary, LevelRow, ReportData
from bayesieve.report.figures.bars import diverging_bar, evidence_limit
from bayesieve.words import format_percent, not_blank, plural, shorten

MAX_TABLE_ROWS = 1000
MAX_DETAILS = 100
MAX_LEVELS = 50
MAX_LABEL = 64
MAX_FULL_LABEL = 1000
MAX_CURVES = 3
MAX_GRID_LEVELS = 24


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
            diverging_bar(nats, limit).clipped for level in levels for _, nats in evidence_amounts(level.evidence)
        ),
        is_fitted=any(level.counted for level in levels),
    )


def kind_label(feature: FeatureSummary) -> str:
    """The kind, with the type where the kind does not already say it, and the direction of monotone evidence."""
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
