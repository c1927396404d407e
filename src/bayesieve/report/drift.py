"""The page of `bayesieve.drift`: stability and shifts by period, measures, and the levels that changed most."""

from __future__ import annotations

from typing import Any

from bayesieve.report.charts import ROWS, chart, colour, layer, names, tips
from bayesieve.report.figure import Figure
from bayesieve.report.page import page
from bayesieve.words import format_count, plural

_STRONG = 0.25  # a PSI drawn in full colour
_MOST_FEATURES, _MOST_PERIODS = 60, 60


def render_drift(drift: Any) -> str:
    """The page as one HTML document."""
    features = list(dict.fromkeys(drift.features["feature"]))
    figures = [_stability(drift, features[:_MOST_FEATURES]), _shifts(drift, features[:_MOST_FEATURES])]
    figures.append(Figure("Measures by period", "", {}, {"rows": drift.periods.to_dict(as_series=False)}))
    if "p_adjusted" in drift.levels.columns:
        changed = drift.levels.filter(drift.levels["p_adjusted"] <= 0.05).sort("p_adjusted", maintain_order=True)
        title = f"{plural(len(changed), 'level')} whose class shares differ from those predicted"
        figures.append(Figure(title, "Corrected p below 0.05.", {}, {"rows": changed.to_dict(as_series=False)}))
    n_rows, n_training = format_count(drift.periods["rows"].sum()), format_count(drift.n_training)
    caption = f"{n_rows} rows in {plural(len(drift.periods), 'period')} against {n_training} training rows."
    n_hidden = max(0, len(features) - _MOST_FEATURES)
    named = {f"drift-{k}": figure for k, figure in enumerate(figures)}
    return page("drift.html", named, title="Drift", caption=caption, n_hidden=n_hidden)


def _stability(drift: Any, features: list[str]) -> Figure:
    """PSI of the features by period; pale if chance alone may give as much."""
    columns = ("by", "feature", "psi", "psi_low", "psi_high", "psi_chance", "unseen", "missing")
    rows = [row for row in drift.features.iter_rows(named=True) if row["feature"] in set(features)]
    frame: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in columns}
    frame["by"] = list(map(_period, frame["by"]))
    known = [(row["psi"], row["psi_chance"]) for row in rows]
    frame["beyond"] = [psi if psi is not None and psi > (chance or 0.0) else 0.0 for psi, chance in known]
    caption = (
        "PSI of each feature on the levels of the model; the colour is full from 0.25 on, and pale if chance alone may "
        "give as much."
    )
    shade = colour("beyond", "PSI beyond chance", [0, _STRONG])
    known_of = tips(*columns)
    cells = layer("rect", "tile", x=names("by", None), y=names("feature", None), color=shade, **known_of)
    drawing = chart(cells, height=ROWS) if len(set(frame["by"])) <= _MOST_PERIODS else {}
    heads = {name: name.replace("_", " ") for name in columns}
    return Figure("Population stability", caption, drawing, {"psi": frame}, heads)


def _shifts(drift: Any, features: list[str]) -> Figure:
    """What the features add to the shift of the mean score, by period."""
    is_sum = not any(name.startswith("shift_") for name in drift.periods.columns)
    whole = [(_period(row["by"]), "Whole score", row["shift"]) for row in drift.periods.iter_rows(named=True)]
    rows = [row for row in drift.features.iter_rows(named=True) if row["feature"] in set(features)]
    lines = [*whole, *((_period(row["by"]), row["feature"], row["shift"]) for row in rows)]
    frame: dict[str, list[Any]] = {
        name: [line[k] for line in lines] for k, name in enumerate(("by", "feature", "shift"))
    }
    limit = max((abs(value or 0.0) for value in frame["shift"]), default=0.0) or 1.0
    caption = (
        "What each feature adds to the mean log odds, in nats, less what it added in training; "
        f"{'features add up to the whole' if is_sum else 'of several classes the largest shift'}."
    )
    shade = colour("shift", "shift, nats", [-limit, 0, limit])
    drawing = chart(layer("rect", "tile", x=names("by", None), y=names("feature", None), color=shade), height=ROWS)
    return Figure("Shift of the mean score", caption, drawing, {"shifts": frame})


def _period(by: Any) -> str:
    return "missing" if by is None else str(by)
