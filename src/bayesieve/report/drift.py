"""The page of `bayesieve.drift`: stability and shifts by period, measures, and the levels that changed most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayesieve.report.drawing import Bar, Head, TextTable, diverging_bar
from bayesieve.report.render import fill
from bayesieve.words import format_count, format_number, format_percent, p_text, plural, shorten

_STRONG = 0.25  # a PSI drawn in full colour
_MOST_LEVELS, _MOST_FEATURES, _MOST_PERIODS = 20, 60, 60


@dataclass(frozen=True)
class StabilityCell:
    """PSI of a feature in a period: how strongly it is drawn, from 0 to 100, and a text to hover over."""

    psi: float | None
    strength: float
    text: str


@dataclass(frozen=True)
class DriftPage:
    """Periods, for each feature its cells, and bars of its shifts; tables of measures and levels."""

    title: str
    caption: str
    periods: tuple[str, ...]
    cells: tuple[tuple[str, tuple[StabilityCell, ...]], ...]
    shifts: tuple[tuple[str, tuple[Bar, ...]], ...]
    measures: TextTable
    levels: TextTable | None


def render_drift(drift: Any) -> str:
    """The page as one HTML document."""
    names = [_label(by) for by in drift.periods["by"].to_list()]
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in drift.features.iter_rows(named=True):
        rows.setdefault(row["feature"], []).append(row)
    shown = dict(list(rows.items())[:_MOST_FEATURES])
    total = drift.periods["shift"].to_list()
    limit = max((abs(value or 0.0) for value in [*total, *drift.features["shift"].to_list()]), default=0.0)
    last = slice(-_MOST_PERIODS, None)
    shifts = {"Whole score": total, **{name: [row["shift"] for row in own] for name, own in shown.items()}}
    hidden = len(rows) - len(shown)
    page = DriftPage(
        title="Drift",
        caption=f"{format_count(sum(drift.periods['rows']))} rows in {plural(len(names), 'period')} against "
        f"{format_count(drift.n_training)} training rows, {plural(len(rows), 'feature')}"
        + (f", the {len(shown)} most important shown." if hidden else "."),
        periods=tuple(names[last]),
        cells=tuple((name, tuple(map(_cell, own[last]))) for name, own in shown.items()),
        shifts=tuple((name, tuple(diverging_bar(v or 0.0, limit) for v in own[last])) for name, own in shifts.items()),
        measures=_table("Measures", drift.periods, drift.periods.columns, len(names)),
        levels=None,
    )
    if "p_adjusted" in drift.levels.columns:
        changed = drift.levels.filter(drift.levels["p_adjusted"] <= 0.05).sort("p_adjusted", maintain_order=True)
        page = DriftPage(**{**vars(page), "levels": _table(_changed(len(changed)), changed, changed.columns)})
    return fill("drift.html", figure=page)


def _changed(n: int) -> str:
    return f"{plural(n, 'level')} whose class shares differ from those predicted (p below 0.05 after correction)"


def _cell(row: dict[str, Any]) -> StabilityCell:
    psi = row["psi"]
    if psi is None:
        return StabilityCell(None, 0.0, "no row with a level")
    bounds = f", 95 % interval {_text(row['psi_low'])} to {_text(row['psi_high'])}" if row["psi_low"] is not None else ""
    chance = f", by chance up to {_text(row['psi_chance'])}" if row["psi_chance"] is not None else ""
    beyond = row["psi_chance"] is None or psi > row["psi_chance"]
    parts = f"{bounds}{chance}; unseen {format_percent(row['unseen'])}, missing {format_percent(row['missing'])}"
    return StabilityCell(psi, round(100 * min(psi / _STRONG, 1.0), 1) if beyond else 0.0, f"PSI {_text(psi)}{parts}")


def _table(title: str, frame: Any, columns: list[str], most: int = _MOST_LEVELS) -> TextTable:
    heads = tuple(Head(name.replace("_", " "), frame[name].dtype.is_numeric()) for name in columns)
    lines = tuple(tuple(_shown(row[name], name) for name in columns) for row in frame.head(most).iter_rows(named=True))
    return TextTable(title, heads, lines, cap=f"The first {most} of them." if len(frame) > most else None)


def _shown(value: Any, name: str) -> str:
    if isinstance(value, float):
        return p_text(value).removeprefix("p ") if name.startswith("p_") else _text(value)
    return shorten(_label(value), 60) if name in ("by", "level") else "" if value is None else str(value)


def _label(by: Any) -> str:
    return "missing" if by is None else str(by)


def _text(value: float) -> str:
    return format_number(value, 3)
