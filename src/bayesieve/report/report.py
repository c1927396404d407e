"""The report of a model: its data, the full HTML page, and the short card that notebooks show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bayesieve.report import charts as draw
from bayesieve.report.curves import profit_chart
from bayesieve.report.page import Figure, fill, page
from bayesieve.report.paths import clusters_figure, search_figure
from bayesieve.report.search import chosen_step, in_words, steps_of
from bayesieve.report.tables import shared_tables
from bayesieve.words import ShortRepr

if TYPE_CHECKING:
    from bayesieve.scorecard.edits import Edit

MAX_COLUMNS = 1000
_MAX_STEPS = 5000  # moves drawn of the path of an averaging search; longer paths are cut between two starts
_N_CARD_FEATURES = 8
_TESTED = {"log_loss": "Log loss, nats", "brier": "Brier score", "auc": "AUC"}


@dataclass(frozen=True, eq=False, repr=False)
class ReportData(ShortRepr):
    """Contents of a report as plain data, from which `render_report` and `render_document` draw it.

    Attributes
    ----------
    title : str
    target : name of the target column
    n_rows, n_columns : number of rows and columns of the training table, without the target
    classes : class labels as texts
    class_counts : number of training rows of each class
    headline : summary in one paragraph
    features : dicts of `feature_data`, the most important feature first
    search : `SearchTrace` of the selector, or None
    selector : ``name`` of the selector, and a ``sentence`` about its method
    support : (n_features,) bool, the subset that the search chose; None if weights are averaged over many subsets
    clusters : fitted `DependenceClusterSelector`, or None for other selectors
    performance : `evaluation.performance.Performance` that the page describes, or None
    samples : all performances that the overview compares
    segments : pairs of a name (feature, column or period) and a list of its levels. Each level is a tuple: label, share
        of the rows, share of the training rows (None if unknown), `Bin` with the predicted and observed share of the
        class, and AUC and log loss with their intervals
    periods : dicts of `score_by_period`
    challenged : `evaluation.periods.Challenged` or None
    explained : dicts with the explanations of single rows
    warnings : warnings of the fit, one sentence each
    settings : pairs (name, value)
    left_out : names of the features that are not in the model, grouped by reason
    created : date and time as text
    decisions : `evaluation.deciding.Decisions` or None
    edits : edits made by hand after the fit
    intercept : intercept of each class, in nats
    program : the model as JavaScript, to score rows typed into the page; empty if the model cannot be exported
    changes : dicts of `change_data` for the columns in the model
    positive : position of the positive class, which curves and texts describe; None unless there are two classes
    facts : pairs (name, value) for the head of a validation document
    stability : share of the models refitted on folds that use each column, by name
    dependence : names of columns, and the matrix of their dependences, from 0 to 1
    factors : (n_logits, n_factors) loadings of the intercept's error on shared factors, in nats
    """

    title: str
    target: str
    n_rows: int
    n_columns: int
    classes: Sequence[str]
    class_counts: Sequence[float]
    headline: str = ""
    features: Sequence[Mapping[str, Any]] = ()
    search: Any = None
    selector: Mapping[str, Any] = field(default_factory=dict)
    support: Sequence[bool] | None = None
    clusters: Any = None
    performance: Any = None
    samples: Sequence[Any] = ()
    segments: Sequence[tuple[str, Sequence[tuple[Any, ...]]]] = ()
    periods: Sequence[Mapping[str, Any]] = ()
    challenged: Any = None
    explained: Sequence[Mapping[str, Any]] = ()
    warnings: Sequence[str] = ()
    settings: Sequence[tuple[str, str]] = ()
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)
    created: str = ""
    decisions: Any = None
    edits: Sequence[Edit] = ()
    intercept: Sequence[float] = ()
    positive: int = 1
    program: str = ""
    changes: Sequence[Mapping[str, Any]] = ()
    facts: Sequence[tuple[str, str]] = ()
    stability: Mapping[str, float] = field(default_factory=dict)
    dependence: tuple[Sequence[str], Sequence[Sequence[float]]] | None = None
    factors: Any = ()


def render_report(data: ReportData) -> str:
    """Return a report as one HTML document.

    The document is self-contained: styles, charts and scripts are embedded, and a content security policy forbids any
    request.

    Parameters
    ----------
    data : ReportData
        Contents of the report.

    Returns
    -------
    str
        HTML document, to be written as UTF-8.

    Examples
    --------
    >>> from bayesieve.report import ReportData, render_report
    >>> data = ReportData(
    ...     title="Iris", target="species", n_rows=150, n_columns=4, classes=("a", "b"), class_counts=(50, 100),
    ...     headline="Nothing was searched.", created="2025-11-20",
    ... )
    >>> render_report(data).startswith("<!doctype html>")
    True
    """
    sentence, charts = search_parts(data)
    if data.decisions is not None and data.decisions.curve is not None:
        charts["decisions"] = decision_figure(data.decisions)
    if data.periods:
        charts["periods"] = periods_figure(data.periods)
    if data.challenged is not None:
        charts |= challenge_figures(data.challenged)
    if data.dependence is not None:
        names, matrix = data.dependence
        charts["dependence"] = dependence_figure(names, matrix)
    return page(
        "report.html",
        charts,
        script=("changes.js", "report.js"),
        program=data.program,
        more=page_data(data),
        title=data.title,
        data=data,
        columns=column_lines(data),
        most_columns=MAX_COLUMNS,
        sentence=sentence,
        tables=shared_tables(data),
    )


def render_card(data: ReportData) -> str:
    """Return the short HTML repr of a model: title, key figures and most important features.

    Parameters
    ----------
    data : ReportData
        Contents of the report.

    Returns
    -------
    str
        HTML fragment without scripts. It takes its colours from the surrounding page, so that it fits light and dark
        themes. All styles are inline, so that it does not change the page.
    """
    selected = [feature for feature in data.features if feature["selected"]]
    first = selected[:_N_CARD_FEATURES]
    return fill("card.html", data=data, first=first, n_more=len(selected) - len(first))


def page_data(data: ReportData) -> dict[str, Any]:
    """Return the data for the scripts of a report page as plain JSON values, by name: classes and intercept, features
    with the contributions of their cells, ROC and reliability curves, thresholds, segments, explained rows, and the
    templates of the charts that the scripts draw.
    """
    p = data.performance
    content = {name: getattr(data, name) for name in ("classes", "class_counts", "positive", "intercept", "factors")}
    content |= {name: () if p is None else getattr(p, name) for name in ("reliability", "roc", "thresholds")}
    beside = data.samples[-1].name if any(f["others"] for f in data.features) else None
    titles = {"amounts": "log-odds, nats" if len(data.classes) == 2 else "score, nats"}
    titles["shares of"] = "share of the class" if beside is None else f"share of the class (dot: {beside.lower()})"
    templates = {name: draw.template(name, **titles) for name in _OF_PAGE}
    templates["gains"] = draw.template("two gains")
    templates["reliability"] = draw.template("reliability", several=False, style="main")
    features = [feature for feature in data.features if feature["selected"]]
    content |= {"features": features, "segments": data.segments, "rows": data.explained, "beside": beside}
    content["changes"] = data.changes
    return content | {"templates": templates}


_OF_PAGE = ("all levels", "bars", "lift", "steps", "pair", "fall", "roc", "threshold", "segments", "shares")


def column_lines(data: ReportData) -> list[dict[str, Any]]:
    """Return the lines of the table of columns, the most important column first.

    Each line is a dict: ``name``; ``importance``, including half of that of each pair with the column; ``stability``;
    ``own``, the feature of this column alone if there is exactly one; ``n_own``, the number of such features; and the
    positions and names of all features of the model that use the column.
    """
    lines: dict[str, dict[str, Any]] = {}
    selected = 0
    for feature in data.features:
        columns = feature["columns"] or (feature["name"],)
        for name in columns:
            new = {"name": name, "importance": 0.0, "own": None, "n_own": 0, "features": []}
            line = lines.setdefault(name, new | {"stability": data.stability.get(name)})
            line["importance"] += feature["importance"] / len(columns) if math.isfinite(feature["importance"]) else 0.0
            if len(columns) == 1:
                line["n_own"] += 1
                line["own"] = feature if line["n_own"] == 1 else None
            if feature["selected"]:
                line["features"].append((selected, feature["name"]))
        selected += feature["selected"]
    return sorted(lines.values(), key=lambda line: -line["importance"])


def dependence_figure(names: Sequence[str], matrix: Sequence[Sequence[float]]) -> Figure:
    """Draw the matrix of dependences between columns as a heat map. ``matrix`` (n_columns, n_columns) holds numbers
    from 0 to 1, and ``names`` the names of the columns.
    """
    pairs = [(a, b, matrix[i][j]) for i, a in enumerate(names) for j, b in enumerate(names) if i != j]
    frame = draw.columns(("column", "other", "dependence"), pairs)
    drawing = draw.template("dependence", names=list(names), domain=[0, max(0.1, *frame["dependence"])])
    caption = "0: independent, 1: each determines the other. Alike columns stand side by side."
    return Figure("Dependence of columns", caption, drawing, {"pairs": frame})


def periods_figure(periods: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the population stability index of the score and the AUC, period by period. ``periods`` are the dicts of
    `score_by_period`.
    """
    frame = {name: [period[name] for period in periods] for name in periods[0]}
    heads = {
        "period": "Period",
        "rows": "Rows",
        "psi": "PSI of the score",
        "psi_chance": "by chance below",
        "predicted": "Predicted",
    }
    heads |= {"observed": "Observed", "auc": "AUC", "low": "from", "high": "to"}
    return Figure("Stability of the score", "", draw.template("by period"), {"periods": frame}, heads)


def challenge_figures(challenged: Any) -> dict[str, Figure]:
    """Return figures that compare two models, by name: paired tests, the swap set (rows that only one model selects),
    and both models by period. ``challenged`` is an `evaluation.periods.Challenged`.
    """
    tests = challenged.whole.tests.to_dict(as_series=False)
    tests["measure"] = [_TESTED.get(name, name) for name in tests["measure"]]
    ends = {"low": "from", "high": "to"}
    heads = {"measure": "Measure", "champion": "Champion", "challenger": "Challenger", "difference": "Difference"}
    tables = {"challenge": ("Tests of both models", tests, heads | ends | {"p_value": "p"})}
    if challenged.whole.swaps is not None:
        swaps = challenged.whole.swaps.to_dict(as_series=False)
        swaps["events"] = [int(n) if float(n).is_integer() else n for n in swaps["events"]]
        heads = {"set": "Set", "rows": "Rows", "events": "Events", "event_rate": "Event rate"}
        tables["swaps"] = ("Swap set", swaps, heads | ends)
    if challenged.periods:
        frame = {name: [line.get(name) for line in challenged.periods] for name in challenged.periods[0]}
        heads = {name: f"{name[0].upper()}{name[1:]}" for name in frame}
        tables["challenge-periods"] = ("By period", frame, heads)
    return {key: Figure(title, "", {}, {"rows": frame}, heads) for key, (title, frame, heads) in tables.items()}


def search_parts(data: ReportData) -> tuple[str, dict[str, Figure]]:
    """Return two descriptions of the search: a text in words, and a dict of figures, which holds the path of the search
    as "search" or the tree of clusters as "clusters". Both are empty without a search.
    """
    trace = data.search
    if trace is None:
        return "", {}
    steps = steps_of(trace, _MAX_STEPS if data.support is None else None)
    chosen = chosen_step(trace, steps, data.support)
    is_candidates = trace.n_starts == len(steps) > 1  # candidates are not connected by moves
    is_map = trace.criterion_name == "map"
    sentence = in_words(
        trace, steps, chosen, by_starts=is_map and chosen is None and data.clusters is None and not is_candidates
    )
    if data.clusters is not None:
        return sentence, {"clusters": clusters_figure(data.clusters)}
    if is_candidates and not is_map:
        return sentence, {}
    figure = search_figure(trace, steps, chosen, "Path of the search", "")
    return sentence, {"search": figure} if figure.chart else {}


def decision_figure(decisions: Any) -> Figure:
    """Draw the benefit of taking the second of two decisions, against the share of rows for which it is taken.
    ``decisions`` is an `evaluation.deciding.Decisions` with a curve.
    """
    curve, k, name = decisions.curve, decisions.chosen, decisions.names[1]
    frame = {one: getattr(curve, one).tolist() for one in ("share", "threshold", "profit", "low", "high")}
    frame["threshold"][0] = None  # infinite, because no row is selected
    drawing = profit_chart("benefit", (frame["profit"][0], frame["profit"][-1]), "chosen", f"share of rows: {name}")
    best = {"share": [frame["share"][k]], "profit": [frame["profit"][k]]}
    heads = {"share": f"share of rows: {name}", "threshold": f"{decisions.score} at least", "profit": "benefit"}
    heads |= {"low": "low (95% of resamples)", "high": "high"}
    return Figure("Benefit by threshold", "Dashed: rows at random.", drawing, {"curve": frame, "best": best}, heads)
