"""The report of a model: charts and plain data for its page, and the short card that notebooks show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bayesieve.report import charts as draw
from bayesieve.report.clusters_figure import clusters_figure
from bayesieve.report.curves import profit_chart
from bayesieve.report.data import DecisionSummary, FeatureSummary, Performance, ReportData
from bayesieve.report.figure import Figure, clean, few_digits
from bayesieve.report.page import fill, page
from bayesieve.report.paths import search_figure
from bayesieve.report.search import path_sentence, starts_sentence
from bayesieve.words import format_count, format_number, format_percent, plural

MAX_FEATURES = 1000
MAX_CONFUSION_CLASSES, N_CONFUSIONS = 26, 12
_MOST_POINTS, _N_CARD_FEATURES = 400, 8


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
    ...     headline="Nothing was searched.", features=(), search=None, performance=None, explained=(), warnings=(),
    ...     settings=(), version="0.1.0", created="2025-11-20",
    ... )
    >>> render_report(data).startswith("<!doctype html>")
    True
    """
    charts: dict[str, Figure] = {}
    if data.search is not None:
        charts |= search_charts(data)
    if data.decisions is not None and data.decisions.steps:
        charts["decisions"] = decision_figure(data.decisions)
    if data.dependence is not None:
        charts["dependence"] = dependence_figure(*data.dependence)
    columns = column_lines(data)
    total = sum(data.class_counts)
    return page(
        "report.html",
        charts,
        script="report.js",
        program=data.program,
        more=page_data(data),
        title=data.title,
        data=data,
        tiles=key_figures(data),
        shares=[count / total if total else 0.0 for count in data.class_counts],
        shown=columns[:MAX_FEATURES],
        n_columns=len(columns),
        n_used=sum(line.importance > 0 for line in columns),
        n_selected=n_selected(data),
        largest=max((line.importance for line in columns), default=0.0) or 1.0,
        kind_of=lambda feature: kind_label(feature, data),
        sentence=None if data.search is None else search_sentence(data),
        confusions=confusions(data),
        measures=measure_lines(data),
        always=sum(share == 1 for share in data.stability.values()),
        sometimes=sum(0 < share < 1 for share in data.stability.values()),
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
    return fill("card.html", data=data, tiles=key_figures(data), first=first, n_more=len(selected) - len(first))


def page_data(data: ReportData) -> dict[str, Any]:
    """What the scripts of the page read: the model cell by cell, curves by class, thresholds, and rows to explain."""
    performance = data.performance
    return {
        "target": data.target,
        "classes": list(data.classes),
        "positive": data.positive,
        "shares": list(data.class_counts),
        "intercept": list(data.intercept),
        "features": [_columns_of(feature) for feature in data.features if feature.selected],
        "rows": [asdict(row) for row in data.explained],
        "curves": {} if performance is None else class_curves(data, performance),
        "segments": [] if performance is None else _known(performance.segments),
        "factors": data.factors,
        "beside": data.samples[-1].name if data.samples and any(f.others for f in data.features) else None,
        "thresholds": [] if performance is None else performance.thresholds,
        "templates": {name: draw.template(name) for name in _OF_PAGE}
        | {"reliability": draw.template("reliability", several=False, style="main")},
    }


_OF_PAGE = ("bars", "steps", "pair", "fall", "roc", "threshold", "segments", "shares")


def _columns_of(feature: FeatureSummary) -> dict[str, Any]:
    """The cells of a feature as columns, which take less room than rows."""
    cells = [replace(c, evidence=few_digits(c.evidence), errors=few_digits(c.errors)) for c in feature.cells]
    columns = [name for name in CELL_COLUMNS if name != "level" or any(c.level != c.label for c in cells)]
    return {
        "name": feature.name,
        "kind": feature.kind,
        "note": feature.note,
        "importance": feature.importance,
        "weight": feature.weight,
        "score": feature.level_score,
        "cells": {name: [getattr(cell, name) for cell in cells] for name in columns},
        "unseen": feature.unseen,
        "grid": None if feature.grid is None else asdict(feature.grid),
        "position": feature.position,
        "variances": feature.variances,
        "others": feature.others,
    }


def _known(value: Any) -> Any:
    """Nested tuples with None for numbers that JSON does not know."""
    if isinstance(value, tuple):
        return [_known(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


CELL_COLUMNS = ("label", "level", "low", "high", "is_missing", "rows", "counts", "evidence", "contributions", "errors")


@dataclass
class ColumnLine:
    """A column of the table with the features that it is part of: its own if there is one, and those in the model with
    their positions among these; ``importance`` has an equal part of that of pairs and sums.
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


_NAMES = {
    "auc": "AUC",
    "gini": "Gini coefficient",
    "ks": "Kolmogorov-Smirnov statistic",
    "log_loss": "Log loss, nats",
    "compression_rate": "Compression rate",
    "brier": "Brier score",
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "calibration": "Mean probability less share",
    "calibration_slope": "Calibration slope",
    "calibration_intercept": "Calibration intercept",
}


def measure_lines(data: ReportData) -> list[tuple[str, list[tuple[str, str]], str]]:
    """For each measure its title, its value and interval on each sample, and what to compare it with."""
    p, samples = data.performance, [dict(sample.measures) for sample in data.samples]
    compare = {"gini": "2 AUC − 1; 0 is chance", "brier": "0 is perfect", "balanced_accuracy": "the mean recall"}
    compare |= {"ks": "the largest distance of both classes' distribution functions"}
    compare |= {"calibration_slope": "1: probabilities are as far from each other as they should be"}
    compare |= {"calibration": "0: as many rows as predicted", "calibration_intercept": "0, with slope 1"}
    if p is not None:
        compare["auc"] = auc_comparison(p.auc)
        compare["accuracy"] = f"{format_percent(p.majority_accuracy)} by always predicting the majority class"
        compare["log_loss"] = f"{format_number(p.class_entropy, 4)} by predicting the class frequencies"
        compare["compression_rate"] = "0 by predicting the class frequencies"
    return [
        (title, [_with_interval(own.get(name)) for own in samples], compare.get(name, ""))
        for name, title in _NAMES.items()
        if any(name in own for own in samples)
    ]


def _with_interval(estimate: tuple[float, float, float] | None) -> tuple[str, str]:
    if estimate is None:
        return "–", ""
    value, low, high = (format_number(number, 4) for number in estimate)
    return value, f"{low} to {high}" if math.isfinite(sum(estimate)) else ""


def dependence_figure(names: Sequence[str], matrix: Sequence[Sequence[float]]) -> Figure:
    """How much the levels of each two columns tell of each other."""
    pairs = [(a, b, matrix[i][j]) for i, a in enumerate(names) for j, b in enumerate(names) if i != j]
    frame = draw.columns(("column", "other", "dependence"), pairs)
    drawing = draw.template("dependence", domain=[0, max(0.1, *frame["dependence"])])
    caption = "0: independent, 1: each determines the other. Alike columns stand side by side."
    return Figure("Dependence of columns", caption, drawing, {"pairs": frame})


def feature_figure(data: ReportData, feature: FeatureSummary, j: int) -> Figure:
    """What the cells of a feature add to the log-odds of class ``j`` of two, or to its score, with standard errors."""
    other = 1 - j if len(data.classes) == 2 else None
    lines: list[tuple[Any, ...]] = []
    for cell in feature.cells:
        adds = cell.contributions[j] - (0.0 if other is None else cell.contributions[other])
        error = cell.errors[j] + (0.0 if other is None else cell.errors[other])
        share = cell.counts[j] / cell.rows if cell.rows else None
        lines.append((cell.label, cell.rows, share, adds, adds - error, adds + error, cell.low, cell.high))
    columns = ("label", "rows", "share", "contribution", "low", "high", "from", "to")
    caption = f"Nats that each cell adds for {data.classes[j]}, ± one standard error."
    cuts = [end for line in lines for end in line[6:] if end is not None]
    if feature.kind == "numeric" and cuts:
        room = 0.08 * (max(cuts) - min(cuts)) or 1.0
        ends = (min(cuts) - room, max(cuts) + room)
        inside = [line for line in lines if line[6] is not None or line[7] is not None]
        lines = [(*line[:6], *(a if b is None else b for a, b in zip(ends, line[6:], strict=True))) for line in inside]
    frame = draw.columns(columns, lines)
    drawing = draw.template("steps" if feature.kind == "numeric" and cuts else "bars")
    return Figure(feature.name, caption, drawing if lines else {}, {"rows": frame})


def importance_figure(data: ReportData, most: int = 40) -> Figure:
    """The features in the model by their share of the evidence."""
    shown = [feature for feature in data.features if feature.selected]
    columns = ("name", "importance")
    frame: dict[str, list[Any]] = {name: [getattr(f, name) for f in shown[:most]] for name in columns}
    rest = f", the first {most} drawn." if len(shown) > most else "."
    caption = f"{plural(len(shown), 'feature')} in the model{rest}"
    return Figure("Importance", caption, draw.template("importance") if shown else {}, {"rows": frame})


def class_curves(data: ReportData, performance: Performance) -> dict[str, Any]:
    """Reliability and ROC by class, the most frequent class first; of two classes only the positive."""
    counts = dict(zip(data.classes, data.class_counts, strict=False))
    roc, curves = dict(performance.roc), {}
    bins = dict(performance.reliability)
    for label in sorted(dict.fromkeys([*bins, *roc]), key=lambda label: -counts.get(label, 0.0)):
        filled = [b for b in bins.get(label, ()) if b.rows > 0 and math.isfinite(b.predicted + b.observed)]
        points = [point for point in roc.get(label, ()) if math.isfinite(sum(point))]
        shown = [points[i] for i in draw.thinned(len(points), _MOST_POINTS)]
        frames = {
            "reliability": {
                name: [getattr(b, name) for b in filled] for name in ("predicted", "observed", "low", "high")
            }
            | {"count": [b.rows for b in filled]},
            "roc": {"fpr": [x for x, _ in shown], "tpr": [y for _, y in shown]},
        }
        curves[label] = clean(frames)
    return curves


def search_charts(data: ReportData) -> dict[str, Figure]:
    """The path of the search, or the tree and the candidates that it chose from."""
    search = data.search
    assert search is not None
    if search.clusters is not None:
        return {"clusters": clusters_figure(search.clusters)}
    if search.n_starts == len(search.path) > 1 and search.criterion_name != "map":
        return {}  # candidates, without a path from one to the other
    figure = search_figure(search, title="Path of the search", caption="")
    return {"search": figure} if figure.chart else {}


def search_sentence(data: ReportData) -> str:
    """The search in words."""
    search = data.search
    assert search is not None
    candidates = search.clusters is not None or search.n_starts == len(search.path) > 1
    on_path = search.chosen is not None or search.criterion_name != "map"
    return path_sentence(search) if candidates or on_path else starts_sentence(search)


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


def n_selected(data: ReportData) -> int:
    return sum(feature.selected for feature in data.features)


def key_figures(data: ReportData) -> list[dict[str, str]]:
    """The tiles under the headline; those of performance only if it was measured."""

    def tile(name: str, value: str, comparison: str, unit: str = "", measured: str = "") -> dict[str, str]:
        return {"name": name, "value": value, "comparison": comparison, "unit": unit, "measured": measured}

    n_all, p = f"of {format_count(len(data.features))}", data.performance
    tiles = [tile("Features selected", format_count(n_selected(data)), "with evidence in predictions", n_all)]
    if p is None:
        tiles += [tile("Rows", format_count(data.n_rows), plural(data.n_columns, "column"))]
        tiles += [tile("Classes", format_count(len(data.classes)), f"of {data.target}")]
        return tiles
    figures = [_figures(one) for one in (p, p.later) if one is not None]
    comparisons = (
        auc_comparison(p.auc),
        f"{format_percent(p.majority_accuracy)} by always predicting the majority class",
        f"{format_number(p.class_entropy)} without any feature",
        "of the uncertainty about the target removed",
    )
    for (name, unit), comparison, *values in zip(_MEASURES, comparisons, *figures, strict=True):
        later = "" if p.later is None else f"; {values[1]} {p.later.measured}"
        tiles.append(tile(name, values[0], comparison, unit, p.measured + later))
    return tiles


_MEASURES = (("AUC", ""), ("Accuracy", ""), ("Log loss", "nats"), ("Compression rate", ""))


def _figures(p: Performance) -> Sequence[str]:
    rate = format_percent(p.compression_rate)
    return format_number(p.auc), format_percent(p.accuracy), format_number(p.log_loss), rate


def auc_comparison(auc: float) -> str:
    """A comparison for an AUC, or why it is undefined."""
    return "0.5 is chance, 1 is perfect" if auc == auc else "not defined: all rows are of one class"


def kind_label(feature: FeatureSummary, data: ReportData) -> str:
    """The kind, with the type if the kind does not already say it, and the direction of monotone evidence."""
    usual: Mapping[str, set[str]] = {"numeric": {"number"}, "categorical": {"text", "category"}, "pair": {"pair"}}
    kind = feature.kind if feature.type in usual.get(feature.kind, set()) else f"{feature.kind}, {feature.type}"
    if not feature.monotone:
        return kind
    return f"{kind}, never {'falls' if feature.monotone > 0 else 'rises'} for {data.classes[data.positive]}"


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
