"""The HTML page of `bayesieve.drift`: stability and shifts by period, performance measures, and the levels that changed
most.
"""

from __future__ import annotations

from typing import Any

from bayesieve.report.charts import template
from bayesieve.report.page import Figure, page
from bayesieve.words import format_count, plural

_MOST_FEATURES, _MOST_PERIODS = 60, 60


def render_drift(drift: Any) -> str:
    """Return the page of a `Drift`, the result of `bayesieve.drift`, as one self-contained HTML document."""
    features = list(dict.fromkeys(drift.features["feature"]))
    rows = drift.features.filter(drift.features["feature"].is_in(features[:_MOST_FEATURES])).to_dict(as_series=False)
    rows["by"] = list(map(_period, rows["by"]))
    figures = [_stability(rows), _shifts(rows, drift.periods)]
    figures.append(Figure("Measures by period", "", {}, {"rows": drift.periods.to_dict(as_series=False)}))
    if "p_adjusted" in drift.levels.columns:
        changed = drift.levels.filter(drift.levels["p_adjusted"] <= 0.05).sort("p_adjusted", maintain_order=True)
        title = f"{plural(len(changed), 'level')} whose class shares differ from those predicted"
        figures.append(Figure(title, "Corrected p below 0.05.", {}, {"rows": changed.to_dict(as_series=False)}))
    n_rows, n_training = format_count(drift.periods["rows"].sum()), format_count(drift.n_training)
    caption = f"{n_rows} rows in {plural(len(drift.periods), 'period')} against {n_training} training rows."
    named = {f"drift-{k}": figure for k, figure in enumerate(figures)}
    return page("drift.html", named, title="Drift", caption=caption, n_hidden=max(0, len(features) - _MOST_FEATURES))


def _stability(rows: dict[str, list[Any]]) -> Figure:
    """Draw the population stability index (PSI) of each feature by period, in pale colour if chance alone may explain
    it. ``rows`` are the columns of `Drift.features`.
    """
    shown = ("by", "feature", "psi", "psi_low", "psi_high", "psi_chance", "unseen", "missing")
    frame = {name: rows[name] for name in shown}
    pairs = zip(frame["psi"], frame["psi_chance"], strict=True)
    frame["beyond"] = [psi if psi is not None and psi > (chance or 0.0) else 0.0 for psi, chance in pairs]
    caption = (
        "PSI of each feature on the levels of the model; values in no level count as one more. The colour is full from "
        "0.25 on, and pale if chance alone may give as much."
    )
    drawing = template("drift") if len(set(frame["by"])) <= _MOST_PERIODS else {}
    heads = {name: name.replace("_", " ") for name in shown}
    return Figure("Population stability", caption, drawing, {"psi": frame}, heads)


def _shifts(rows: dict[str, list[Any]], periods: Any) -> Figure:
    """Draw the change of each feature's mean contribution since training, in nats, by period. ``rows`` are the columns
    of `Drift.features`, and ``periods`` is `Drift.periods`.
    """
    whole = {"by": list(map(_period, periods["by"])), "feature": ["Whole score"] * len(periods)}
    whole["shift"] = periods["shift"].to_list()
    frame = {name: [*column, *rows[name]] for name, column in whole.items()}
    limit = max((abs(value or 0.0) for value in frame["shift"]), default=0.0) or 1.0
    is_sum = not any(name.startswith("shift_") for name in periods.columns)
    caption = (
        "What each feature adds to the mean log odds, in nats, less what it added in training; "
        f"{'features add up to the whole' if is_sum else 'of several classes the largest shift'}."
    )
    tiles = template("shift", domain=[-limit, 0, limit])
    return Figure("Shift of the mean score", caption, tiles, {"shifts": frame})


def _period(by: Any) -> str:
    """Return the name of a group of rows as text; "missing" for None."""
    return "missing" if by is None else str(by)
