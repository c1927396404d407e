"""The page of `bayesieve.drift`: stability and shifts by period, measures, and the levels that changed most."""

from __future__ import annotations

from typing import Any

from bayesieve.report.drawing import Head, TextTable, diverging_bar
from bayesieve.report.render import fill
from bayesieve.words import format_count, format_number, format_percent, p_text, plural, shorten

_STRONG = 0.25  # a PSI drawn in full colour
_MOST_LEVELS, _MOST_FEATURES, _MOST_PERIODS = 20, 60, 60


def render_drift(drift: Any) -> str:
    """The page as one HTML document."""
    last = slice(-_MOST_PERIODS, None)
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in drift.features.iter_rows(named=True):
        rows.setdefault(row["feature"], []).append(row)
    shown = dict(list(rows.items())[:_MOST_FEATURES])
    shifts = {"Whole score": drift.periods["shift"].to_list()}
    shifts |= {name: [row["shift"] for row in own] for name, own in shown.items()}
    limit = max(abs(value or 0.0) for own in shifts.values() for value in own)
    n_rows, n_training = format_count(drift.periods["rows"].sum()), format_count(drift.n_training)
    caption = f"{n_rows} rows in {plural(len(drift.periods), 'period')} against {n_training} training rows."
    tables = [_table("Measures by period", drift.periods, len(drift.periods))]
    if "p_adjusted" in drift.levels.columns:
        changed = drift.levels.filter(drift.levels["p_adjusted"] <= 0.05).sort("p_adjusted", maintain_order=True)
        title = "whose class shares differ from those predicted (corrected p below 0.05)"
        tables.append(_table(f"{plural(len(changed), 'level')} {title}", changed, _MOST_LEVELS))
    figure = {"title": "Drift", "caption": caption, "tables": tables, "n_hidden": len(rows) - len(shown)}
    figure["is_sum"] = not any(name.startswith("shift_") for name in drift.periods.columns)
    figure["periods"] = ["missing" if by is None else str(by) for by in drift.periods["by"]][last]
    figure["cells"] = {name: [_cell(row) for row in own[last]] for name, own in shown.items()}
    figure["shifts"] = {name: [diverging_bar(v or 0.0, limit) for v in own[last]] for name, own in shifts.items()}
    return fill("drift.html", figure=figure)


def _cell(row: dict[str, Any]) -> tuple[str, float, str]:
    """PSI of a feature in a period, how strongly it is drawn, from 0 to 100, and a text to hover over."""
    psi, chance = row["psi"], row["psi_chance"]
    if psi is None:
        return "", 0.0, "no row has a level"
    text = f"unseen {format_percent(row['unseen'])}, missing {format_percent(row['missing'])}"
    if chance is not None:
        low, high = format_number(row["psi_low"]), format_number(row["psi_high"])
        text = f"{low} to {high}; by chance up to {format_number(chance)}; {text}"
    beyond = chance is None or psi > chance
    return format_number(psi), round(100 * min(psi / _STRONG, 1.0), 1) if beyond else 0.0, text


def _table(title: str, frame: Any, most: int) -> TextTable:
    def shown(value: Any, name: str) -> str:
        if isinstance(value, float):
            return p_text(value).removeprefix("p ") if name.startswith("p_") else format_number(value)
        return "" if value is None else shorten(str(value), 60)

    heads = tuple(Head(name.replace("_", " "), frame[name].dtype.is_numeric()) for name in frame.columns)
    rows = tuple(tuple(map(shown, row, frame.columns)) for row in frame.head(most).iter_rows())
    return TextTable(title, heads, rows, cap=f"The first {most} of them." if len(frame) > most else None)
