"""Figures of searches: the path of one search, the mean path of several searches, and clusters of features."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bayesieve.report import charts as draw, search as tracing
from bayesieve.report.page import Figure
from bayesieve.report.search import Step
from bayesieve.words import plural

_MOST_CELLS, _MOST_NAMES = 72, 40  # boxes and names on a side of the matrix; with more features, several share a box
MAX_LINES, MAX_POINTS, _MOST_PHASES = 60, 300, 8
_VALUES = ("criterion", "validation")


def path_figure(trace_or_traces: Any, *, title: str | None = None) -> Figure:
    """Draw the path of a search: criterion and validation measure over the number of features, phase by phase.

    For one search, the band around an error rate on validation rows is plus and minus one standard error, sqrt(e (1 -
    e) / n). For several searches (repetitions or folds), lines are means over the searches at each number of features,
    of the best subset of that size in each search, and the band is plus and minus one standard deviation. If a search
    skipped a size, its value at the next smaller size is used.

    Parameters
    ----------
    trace_or_traces : SearchTrace, fitted selector, or a sequence of either
        Traces to draw. For a selector, its selected subset (``support_``) is marked; for a trace, the best subset of
        its path. A result of `selection_stability` stands for the searches of its folds.
    title : str, optional
        Title of the figure.

    Returns
    -------
    Figure
        Figure shown by notebooks; its ``save(path)`` writes a page, a picture or the specification.

    Raises
    ------
    ValueError
        If there is no trace, or the searches have different criteria.

    Examples
    --------
    >>> from bayesieve import WrapperSelector, path_figure
    >>> from sklearn.datasets import load_iris
    >>> selector = WrapperSelector(direction="forward").fit(*load_iris(return_X_y=True))
    >>> path_figure(selector, title="Iris").data["feature"].to_list()[0]  # nothing is added at the start
    """
    traces, chosen = [], []
    for source in _sources(trace_or_traces):
        traces.append(getattr(source, "trace_", source))
        chosen.append(tracing.chosen_subset(traces[-1], None if traces[-1] is source else source))
    paths = [tracing.steps_of(trace) for trace in traces]
    searches = zip(traces, paths, chosen, strict=True)
    marked = [tracing.chosen_step(trace, steps, subset) for trace, steps, subset in searches]
    if len(traces) == 1:
        caption = tracing.in_words(traces[0], paths[0], marked[0])
        return search_figure(traces[0], paths[0], marked[0], title or "Path of the search", caption)
    kinds = {(s.criterion_name, s.lower_is_better, s.validation_name) for s in traces}
    if len(kinds) > 1:
        drawn = ", ".join(sorted({f"{s.criterion_name} ({s.validation_name or 'no validation'})" for s in traces}))
        raise ValueError(f"Searches by different criteria cannot be drawn together: {drawn}; draw one figure for each.")
    return _means_figure(traces, paths, marked, title or f"Paths of {len(traces)} searches")


def _sources(source: Any) -> list[Any]:
    """Return the traces or fitted selectors that were passed to `path_figure`, as a list. Raise ValueError if there is
    none, or another object is among them.
    """
    if hasattr(source, "traces"):
        source = [trace for trace in source.traces if trace is not None]
    several = isinstance(source, Iterable) and not hasattr(source, "path") and not hasattr(source, "trace_")
    sources = list(source) if several else [source]
    wrong = [type(one).__name__ for one in sources if not hasattr(getattr(one, "trace_", one), "walk_moves")]
    if not sources or wrong:
        raise ValueError(
            "path_figure needs a fitted selector, its trace_, or a sequence of them, got "
            f"{wrong[0] if wrong else 'nothing'}."
        )
    return sources


def search_figure(trace: Any, steps: Sequence[Step], chosen: Step | None, title: str, caption: str) -> Figure:
    """Draw one search: a line for each phase or start, the best one in colour, and the chosen subset marked.

    The lines of alternating phases are named; the lines of many starts lie over one another, the best in front.

    Parameters
    ----------
    trace : `SearchTrace` of the search.
    steps : steps of its path, from `steps_of`.
    chosen : step after which the subset is the chosen one, or None.
    title, caption : texts above the figure.
    """
    walks = tracing.steps_by_start(steps)
    if not walks:
        return Figure(title, caption, {})
    measures = tracing.measures_of(steps, trace)
    in_phases = tracing.alternates(walks) and 1 < len(walks) <= _MOST_PHASES
    goal = trace.best_criterion if draw.drawable(trace.best_criterion) else 0.0
    nearest = min((abs(step["criterion"] - goal), step["start"]) for walk in walks for step in walk)
    best = nearest[1] if chosen is None else chosen["start"]
    if not in_phases:
        others = [walk for walk in walks if walk[0]["start"] != best]
        walks = [*others[: MAX_LINES - 1], *(walk for walk in walks if walk[0]["start"] == best)]
    n_rows, lines = measures[-1].n_rows, []
    for walk in walks:
        start, verb = walk[0]["start"], {"add": " adding", "drop": " dropping"}.get(walk[-1]["move"], " no move")
        name, main = f"{start + 1}{verb if in_phases else ''}", in_phases or start == best or len(walks) == 1
        thinned = {*draw.thinned(len(walk), MAX_POINTS), *(i for i, step in enumerate(walk) if step is chosen)}
        for step in (walk[i] for i in sorted(thinned)):
            line = (name, *(step[key] for key in ("step", "move", "feature", "n_features")), main, step is chosen)
            values = [value if draw.drawable(value := one.of(step)) else None for one in measures]
            value = measures[-1].of(step)
            error = tracing.Measure.standard_error(value, n_rows) if n_rows and value is not None else None
            ends = (None, None) if value is None or error is None else (value - error, value + error)
            lines.append((*line, *values, *ends))
    names = ("walk", "step", "move", "feature", "features", "main", "chosen", *_VALUES[: len(measures)])
    frame = draw.columns((*names, "low", "high") if n_rows else names, lines)
    sizes, marked = [step["n_features"] for step in steps], [] if chosen is None else [chosen["n_features"]]
    x = draw.template("many sizes" if tracing.needs_logarithm(sizes, marked) else "sizes")
    if measures[0].evaluated == "round":
        x = draw.template("rounds")
    panels = [_panel(name, one, x, frame, trace, in_phases) for name, one in zip(_VALUES, measures, strict=False)]
    heads = {"walk": "phase" if in_phases else "start"} if len(walks) > 1 else {}
    heads |= {name: name for name in ("step", "move", "feature", "features")}
    heads |= {name: one.heading for name, one in zip(_VALUES, measures, strict=False)}
    heads |= {"chosen": "chosen"} if chosen is not None else {}
    return Figure(title, caption, draw.below(*filter(None, panels)), {"path": frame}, heads)


def _panel(
    name: str, measure: tracing.Measure, x: draw.Spec, frame: dict[str, list[Any]], trace: Any, in_phases: bool
) -> draw.Spec | None:
    """Return a chart of one measure along the path of a search, or None if none of its values can be drawn.

    Parameters
    ----------
    name : column of ``frame`` with the values of the measure.
    measure : the measure.
    x : Vega-Lite encoding of the horizontal axis.
    frame : points of the path, as columns.
    trace : `SearchTrace` of the search.
    in_phases : whether lines are phases, which are named, rather than starts.
    """
    values, band = frame[name], measure.n_rows is not None
    marked = next((i for i, chosen in enumerate(frame["chosen"]) if chosen and values[i] is not None), None)
    on_axis = [] if marked is None else [frame[column][marked] for column in (name, "low")[: 1 + band]]
    domain = draw.good_end(values, on_axis, lower_is_better=measure.lower_is_better)
    if domain is None:
        return None
    at = null = label = None
    if marked is not None:
        at = frame[x["field"]][marked]
        label = f"{plural(frame['features'][marked], 'feature')}, {measure.text(values[marked])}"
    elif not measure.on_validation and domain[0] <= trace.null_criterion <= domain[1]:
        null = trace.null_criterion
    of_measure = {
        "field": name,
        "title": measure.heading,
        "domain": domain,
        "dy": -10 if measure.higher_is_better else 16,
    }
    panel: draw.Spec = draw.template(
        "path", x=x, **of_measure, band=band, phases=in_phases, at=at, label=label, null=null
    )
    return panel


def _means_figure(
    traces: Sequence[Any], paths: Sequence[Sequence[Step]], marked: Sequence[Step | None], title: str
) -> Figure:
    """Draw the mean path of several searches with a band of one standard deviation, single searches as faint lines, and
    their chosen subsets as dots.

    ``traces`` and ``paths`` are the trace and the steps of each search, and ``marked`` the step of its chosen subset or
    None. There is no mean at a number of features that fewer than half of the searches reach, because the few remaining
    searches would make the line jump.
    """
    import polars as pl

    measures = tracing.measures_of(itertools.chain(*paths), traces[0])
    paths = [tracing.by_size(steps, lower_is_better=measures[0].lower_is_better) for steps in paths]
    met = sorted({step["n_features"] for steps in paths for step in steps})
    chosen = [step for step in marked if step is not None]
    sizes, names = [met[i] for i in draw.thinned(len(met), MAX_POINTS)], _VALUES[: len(measures)]
    lines = [
        (size, k, *(tracing.value_at(steps, size, on_validation=one.on_validation) for one in measures))
        for k, steps in enumerate(paths, start=1)
        for size in sizes
    ]
    frame = draw.columns(("features", "search", *names), lines)
    values = pl.DataFrame(frame, schema_overrides=dict.fromkeys(names, pl.Float64))
    summaries = {"searches": pl.col(names[-1]).count()}
    for name in names:
        reached = pl.when(2 * pl.col(name).count() >= pl.len())
        summaries |= {name: reached.then(pl.col(name).mean()), f"{name}_sd": reached.then(pl.col(name).std())}
    means = values.group_by("features", maintain_order=True).agg(**summaries)
    for end, sign in (("low", -1), ("high", 1)):
        means = means.with_columns((pl.col(n) + sign * pl.col(f"{n}_sd")).alias(f"{n}_{end}") for n in names)
    dots: dict[str, list[Any]] = {"features": [step["n_features"] for step in chosen]}
    dots |= {name: [one.of(step) for step in chosen] for name, one in zip(names, measures, strict=True)}
    x = draw.template("many sizes" if tracing.needs_logarithm(met, dots["features"]) else "sizes")
    panels, heads = [], {"features": "features", "searches": "searches"}
    for name, one in zip(names, measures, strict=True):
        heads |= {name: one.heading, f"{name}_sd": "± standard deviation"}
        ends = [end for column in (name, f"{name}_low", f"{name}_high") for end in means[column].to_list()]
        domain = draw.good_end(ends, dots[name], lower_is_better=one.lower_is_better)
        if domain is not None:
            of_measure = {"field": name, "title": one.heading, "domain": domain}
            panels.append(draw.template("means", x=x, **of_measure, low=f"{name}_low", high=f"{name}_high"))
    shown = values.head(MAX_LINES * len(sizes))
    frames = {"means": means.to_dict(as_series=False), "own": shown.to_dict(as_series=False), "chosen": dots}
    return Figure(title, _means_caption(traces, chosen), draw.below(*panels), frames, heads)


def _means_caption(traces: Sequence[Any], chosen: Sequence[Step]) -> str:
    """Return the caption of the mean path of several searches. ``chosen`` holds the steps of their chosen subsets."""
    measured, stopped = {trace.measured for trace in traces}, sum(not trace.complete for trace in traces)
    text = f"{plural(len(traces), 'search', 'searches')}: mean, and ± one standard deviation."
    if chosen:
        text += f" Dots are the subsets chosen: {_sizes_in_words([step['n_features'] for step in chosen])}."
    if len(measured) == 1 and None not in measured:
        text += f" Measured {traces[0].measured}."
    return text + (f" {plural(stopped, 'search was', 'searches were')} interrupted." if stopped else "")


def _sizes_in_words(sizes: Sequence[int]) -> str:
    """Return numbers of features in words: the only one, or the smallest, the largest and the mean."""
    low, high, mean = min(sizes), max(sizes), sum(sizes) / len(sizes)
    return plural(high, "feature") if low == high else f"{low:,} to {high:,} features, {mean:.1f} on average"


def clusters_figure(selector: Any, *, title: str | None = None) -> Figure:
    """Draw the clusters of features and the candidate subsets of a `DependenceClusterSelector`.

    The figure shows the tree of the features, the matrix of their dependences in the order of the tree, and all
    candidate subsets by size and performance. The features and the cut of the chosen subset are marked.

    Parameters
    ----------
    selector : fitted DependenceClusterSelector
        Selector to draw. It cannot be drawn after loading from a file, because files do not contain the candidates.
    title : str, optional
        Title of the figure.

    Returns
    -------
    Figure
        Figure shown by notebooks; its ``save(path)`` writes a page, a picture or the specification.

    Raises
    ------
    ValueError
        If ``selector`` is any other object.

    Examples
    --------
    >>> from bayesieve import DependenceClusterSelector
    >>> from bayesieve.report import clusters_figure
    >>> from sklearn.datasets import load_iris
    >>> selector = DependenceClusterSelector().fit(*load_iris(return_X_y=True))
    >>> clusters_figure(selector).caption.split(".")[0]
    '1 of 4 features chosen from 5 candidates'
    """
    candidates = getattr(selector, "cluster_candidates_", None)
    if candidates is None:
        raise ValueError(
            "clusters_figure needs a DependenceClusterSelector that was fitted, not loaded from a file; fit it again."
        )
    names, values, evaluated = [*map(str, selector.trace_.names)], candidates.values, candidates.values.evaluated
    chosen = [name for name, is_in in zip(names, selector.support_, strict=True) if is_in]
    of_candidates = [[names[k] for k in np.flatnonzero(subset)] for subset in candidates.subsets[evaluated]]
    at, order, feasible = of_candidates.index(chosen), candidates.clusters.order, values.feasible[evaluated]
    lines = {
        "features": list(map(", ".join, of_candidates)),
        "number": values.sizes[evaluated].tolist(),
        "value": [v if draw.drawable(v) else None for v in values.values[evaluated].tolist()],
        "kind": ["chosen" if k == at else "dot" if ok else "hollow" for k, ok in enumerate(feasible)],
    }
    labels = [(k + 0.5, names[feature], names[feature] in chosen) for k, feature in enumerate(order.tolist())]
    frames = {
        "candidates": lines,
        "tree": _branches(selector.linkage_, selector.clustered_, order),
        "cells": _cells(selector.dependence_[np.ix_(order, order)]),
        "names": draw.columns(("at", "name", "chosen"), labels),
    }
    heading = tracing.Measure(selector.trace_.criterion_name).title
    n, cut = len(labels), candidates.cut[evaluated][at]
    cut = None if np.isnan(cut) else float(cut)
    drawing = draw.template("clusters", heading=heading, n=n, cut=cut, named=n <= _MOST_NAMES)
    heads = {"features": "features", "number": "number", "value": heading}
    return Figure(
        title or "Clusters of dependent features", _clusters_caption(selector, feasible), drawing, frames, heads
    )


def _clusters_caption(selector: Any, feasible: np.ndarray) -> str:
    """Return the caption of the clusters of a `DependenceClusterSelector`. ``feasible`` (n_candidates,) marks the
    candidate subsets that satisfy its constraints.
    """
    n, n_features = int(selector.support_.sum()), selector.support_.size
    text = f"{n} of {n_features} features chosen from {feasible.size:,} candidates"
    if selector.constraints:
        text += f"; {'all' if feasible.all() else f'{feasible.sum():,}'} of them satisfy the constraints"
    return f"{text}. Shades show the strongest dependence within a class."


def _branches(linkage: np.ndarray, features: np.ndarray, order: np.ndarray) -> dict[str, list[Any]]:
    """Return the lines of the tree as columns of a frame: four corners for each merge, which form a bracket around the
    two clusters that it joins.

    ``linkage`` is that of `scipy.cluster.hierarchy`, ``features`` (n_leaves,) the feature of each leaf, and ``order``
    (n_leaves,) the features in the order in which they are drawn.
    """
    place = {int(feature): k + 0.5 for k, feature in enumerate(order)}
    tops, corners = [(place[int(feature)], 0.0) for feature in features], []
    for merge, (first, second, height, _) in enumerate(linkage.tolist()):
        (a, low), (b, lower) = tops[int(first)], tops[int(second)]
        corners += [(merge, 0, a, low), (merge, 1, a, height), (merge, 2, b, height), (merge, 3, b, lower)]
        tops.append(((a + b) / 2, height))
    return draw.columns(("merge", "corner", "x", "y"), corners)


def _cells(matrix: np.ndarray) -> dict[str, list[Any]]:
    """Return a dependence matrix (n_features, n_features) as boxes for a heat map, as columns of a frame.

    A large matrix is reduced to `_MOST_CELLS` boxes per side, each with the largest of its entries. Boxes that hold
    only a diagonal entry are omitted.
    """
    edges = np.unique(np.linspace(0, len(matrix), min(len(matrix), _MOST_CELLS) + 1).astype(int)).tolist()
    boxes = [
        (left, right, top, bottom, float(matrix[top:bottom, left:right].max()))
        for (top, bottom), (left, right) in itertools.product(itertools.pairwise(edges), repeat=2)
        if left != top or bottom - top > 1
    ]
    return draw.columns(("x", "x2", "y", "y2", "dependence"), boxes)
