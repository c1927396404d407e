"""The report of a model: charts and plain data for its page, and the short card that notebooks show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from bayesieve.report import charts as draw
from bayesieve.report.curves import profit_chart
from bayesieve.report.data import CellRow, DecisionSummary, FeatureSummary, ReportData, SearchSummary
from bayesieve.report.features import curve_ends, density_frame
from bayesieve.report.page import Figure, fill, in_five_digits, page
from bayesieve.report.paths import clusters_figure, search_figure
from bayesieve.report.search import in_words

MAX_COLUMNS = 1000
MAX_CONFUSION_CLASSES, N_CONFUSIONS = 26, 12
_N_CARD_FEATURES = 8


def render_report(data: ReportData) -> str:
    """Draw a report as one HTML document.

    The document needs nothing but itself: styles, charts and scripts are inside, and a content security policy forbids
    any request.

    Parameters
    ----------
    data : ReportData

    Returns
    -------
    str
        The document, to be written as UTF-8.

    Examples
    --------
    >>> from bayesieve.report import ReportData
    >>> from bayesieve.report.report import render_report
    >>> data = ReportData(
    ...     title="Iris", target="species", n_rows=150, n_columns=4, classes=("a", "b"), class_counts=(50, 100),
    ...     headline="Nothing was searched.", version="0.1.0", created="2025-11-20",
    ... )
    >>> render_report(data).startswith("<!doctype html>")
    True
    """
    sentence, charts = ("", {}) if data.search is None else search_parts(data.search)
    if data.decisions is not None and data.decisions.steps:
        charts["decisions"] = decision_figure(data.decisions)
    if data.dependence is not None:
        charts["dependence"] = dependence_figure(*data.dependence)
    return page(
        "report.html",
        charts,
        script="report.js",
        program=data.program,
        more=page_data(data),
        title=data.title,
        data=data,
        columns=column_lines(data),
        most_columns=MAX_COLUMNS,
        sentence=sentence,
        confusions=confusions(data),
    )


def render_card(data: ReportData) -> str:
    """Draw the short HTML repr of a model: title, key figures and most important features.

    Parameters
    ----------
    data : ReportData

    Returns
    -------
    str
        A fragment without scripts. Colours are taken from the page around it, so that it fits light and dark themes;
        all styles are inline, so that it leaves the page as it was.
    """
    selected = [feature for feature in data.features if feature.selected]
    first = selected[:_N_CARD_FEATURES]
    return fill("card.html", data=data, first=first, n_more=len(selected) - len(first))


def page_data(data: ReportData) -> dict[str, Any]:
    """Return the data of the page's scripts: the model by cell, curves by class, thresholds, and rows to explain."""
    p = data.performance
    own = {name: getattr(data, name) for name in ("classes", "class_counts", "positive", "intercept", "factors")}
    measured = {name: () if p is None else getattr(p, name) for name in _OF_ROWS}
    beside = data.samples[-1].name if data.samples and any(f.others for f in data.features) else None
    titles = {"amounts": "log-odds, nats" if len(data.classes) == 2 else "score, nats"}
    titles["shares of"] = "share of the class" if beside is None else f"share of the class (dot: {beside.lower()})"
    return (
        own
        | measured
        | {
            "features": [_columns_of(feature) for feature in data.features if feature.selected],
            "rows": data.explained,
            "beside": beside,
            "templates": {name: draw.template(name, **titles) for name in _OF_PAGE}
            | {"reliability": draw.template("reliability", several=False, style="main")},
        }
    )


_OF_ROWS = ("reliability", "roc", "segments", "thresholds")
_OF_PAGE = ("bars", "steps", "pair", "fall", "roc", "threshold", "segments", "shares")


def _columns_of(feature: FeatureSummary) -> dict[str, Any]:
    """A feature with its cells as columns, which take less room than rows."""
    cells = [replace(c, evidence=in_five_digits(c.evidence), errors=in_five_digits(c.errors)) for c in feature.cells]
    columns = [f.name for f in fields(CellRow) if f.name != "level" or any(c.level != c.label for c in cells)]
    own = {f.name: getattr(feature, f.name) for f in fields(feature)} | {"by_chance": feature.by_chance}
    intervals = [(cell.low, cell.high, cell.rows) for cell in feature.cells]
    ends = curve_ends(intervals) if feature.kind == "numeric" else None
    own |= {} if ends is None else {"ends": ends, "density": density_frame(intervals, *ends)}
    return own | {"cells": {name: [getattr(cell, name) for cell in cells] for name in columns}}


@dataclass
class ColumnLine:
    """A column of the table with the features that it is part of: its own if there is one, and those in the model with
    their positions among these; ``importance`` has an equal part of that of pairs.
    """

    name: str
    importance: float = 0.0
    own: FeatureSummary | None = None
    features: list[tuple[int, str]] = field(default_factory=list)
    n_own: int = 0
    stability: float | None = None


def column_lines(data: ReportData) -> list[ColumnLine]:
    """The columns, the most important first."""
    lines: dict[str, ColumnLine] = {}
    selected = 0
    for feature in data.features:
        columns = feature.columns or (feature.name,)
        for name in columns:
            line = lines.setdefault(name, ColumnLine(name, stability=data.stability.get(name)))
            line.importance += feature.importance / len(columns) if math.isfinite(feature.importance) else 0.0
            if len(columns) == 1:
                line.n_own += 1
                line.own = feature if line.n_own == 1 else None
            if feature.selected:
                line.features.append((selected, feature.name))
        selected += feature.selected
    return sorted(lines.values(), key=lambda line: -line.importance)


def dependence_figure(names: Sequence[str], matrix: Sequence[Sequence[float]]) -> Figure:
    """How much the levels of each two columns tell of each other."""
    pairs = [(a, b, matrix[i][j]) for i, a in enumerate(names) for j, b in enumerate(names) if i != j]
    frame = draw.columns(("column", "other", "dependence"), pairs)
    drawing = draw.template("dependence", names=list(names), domain=[0, max(0.1, *frame["dependence"])])
    caption = "0: independent, 1: each determines the other. Alike columns stand side by side."
    return Figure("Dependence of columns", caption, drawing, {"pairs": frame})


def search_parts(search: SearchSummary) -> tuple[str, dict[str, Figure]]:
    """The search in words, and the chart of its path, or of the tree and the candidates that it chose from."""
    apart = search.n_starts == len(search.path) > 1  # candidates, without a path from one to the other
    by_starts = search.chosen is None and search.criterion_name == "map" and search.clusters is None and not apart
    sentence = in_words(search, by_starts=by_starts)
    if search.clusters is not None:
        return sentence, {"clusters": clusters_figure(search.clusters)}
    if apart and search.criterion_name != "map":
        return sentence, {}
    figure = search_figure(search, title="Path of the search", caption="")
    return sentence, {"search": figure} if figure.chart else {}


def decision_figure(decisions: DecisionSummary) -> Figure:
    """The benefit of the second of two decisions by the share of rows for which it is taken."""
    steps, chosen = decisions.steps, decisions.steps[decisions.chosen]
    frame: dict[str, list[Any]] = {name: [getattr(s, name) for s in steps] for name in ("share", "threshold")}
    frame |= {"profit": [step.benefit for step in steps]}
    frame |= {name: [getattr(step, name) for step in steps] for name in ("low", "high")}
    name = decisions.lines[1].name
    drawing = profit_chart("benefit", (steps[0].benefit, steps[-1].benefit), "chosen", f"share of rows: {name}")
    best = {"share": [chosen.share], "profit": [chosen.benefit]}
    heads = {"share": f"share of rows: {name}", "threshold": f"{decisions.score} at least", "profit": "benefit"}
    heads |= {"low": "low (95% of resamples)", "high": "high"}
    return Figure("Benefit by threshold", "Dashed: rows at random.", drawing, {"curve": frame, "best": best}, heads)


def confusions(data: ReportData) -> list[dict[str, Any]]:
    """The most frequent confusions of more classes than a matrix has room for."""
    matrix = (data.performance.confusion if data.performance is not None else None) or ()
    if len(matrix) <= MAX_CONFUSION_CLASSES:
        return []
    wrong = [(n, i, j) for i, row in enumerate(matrix) for j, n in enumerate(row) if i != j and n > 0]
    return [
        {"true": data.classes[i], "predicted": data.classes[j], "rows": n, "share": n / sum(matrix[i])}
        for n, i, j in sorted(wrong, key=lambda cell: (-cell[0], cell[1], cell[2]))[:N_CONFUSIONS]
    ]
