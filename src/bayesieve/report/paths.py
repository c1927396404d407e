"""Figures of searches: the path of one, the means of several, and the features selected over folds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from bayesieve.report import charts as draw, search as tracing
from bayesieve.report.data import PathStep, SearchSummary
from bayesieve.report.figure import Figure
from bayesieve.words import format_number, plural

MAX_LINES, MAX_POINTS, MAX_FOLDS, MAX_ROWS, _MOST_PHASES = 60, 300, 100, 60, 8
_SIZES = "number of features"
_VALUES = ("criterion", "validation")


def path_figure(trace_or_traces: Any, *, title: str | None = None) -> Figure:
    """Draw the path of a search: criterion and validation over the number of features, phase by phase.

    One search: the band around an error rate on validation rows is plus and minus one standard error,
    sqrt(e (1 - e) / n). Several searches (repetitions, folds): lines are means at equal numbers of features, of each
    search and size the subset that its own criterion prefers, and the band is plus and minus one standard deviation
    over the searches; a size that a search passed over takes its value at the next smaller one.

    Parameters
    ----------
    trace_or_traces : SearchTrace, fitted selector, or a sequence of either
        ``trace_`` of a fitted selector, or the selector itself, whose ``support_`` is then the subset marked; of a bare
        trace the best subset of the path is marked. What `selection_stability` returns is taken as the searches of its
        folds.
    title : str, optional

    Returns
    -------
    Figure
        Its ``save(path)`` writes a page, a picture or the specification; notebooks show it.

    Raises
    ------
    ValueError
        If there is no trace, or searches by different criteria are to be drawn together.

    Examples
    --------
    >>> from bayesieve import WrapperSelector, path_figure
    >>> from sklearn.datasets import load_iris
    >>> selector = WrapperSelector(direction="forward").fit(*load_iris(return_X_y=True))
    >>> path_figure(selector, title="Iris").data["feature"].to_list()[0]  # nothing is added at the start
    """
    searches = [_summary(source) for source in _sources(trace_or_traces)]
    if len(searches) == 1:
        return search_figure(searches[0], title=title or "Path of the search")
    kinds = {(s.criterion_name, s.lower_is_better, s.validation_name) for s in searches}
    if len(kinds) > 1:
        drawn = ", ".join(sorted({f"{s.criterion_name} ({s.validation_name or 'no validation'})" for s in searches}))
        raise ValueError(f"Searches by different criteria cannot be drawn together: {drawn}; draw one figure for each.")
    return _means_figure(searches, title or f"Paths of {len(searches)} searches")


def _sources(source: Any) -> list[Any]:
    if hasattr(source, "traces"):
        source = [trace for trace in source.traces if trace is not None]
    several = isinstance(source, Iterable) and not hasattr(source, "path") and not hasattr(source, "trace_")
    sources = list(source) if several else [source]
    wrong = [type(one).__name__ for one in sources if not hasattr(getattr(one, "trace_", one), "walk_moves")]
    if not sources or wrong:
        raise ValueError(
            "path_figure needs the trace_ of a fitted selector, the selector, or a sequence of them, got "
            f"{wrong[0] if wrong else 'nothing'}."
        )
    return sources


def _summary(source: Any) -> SearchSummary:
    if hasattr(source, "trace_"):
        return tracing.summarise_trace(source.trace_, tracing.chosen_subset(source.trace_, source))
    return tracing.summarise_trace(source, tracing.chosen_subset(source))


def search_figure(search: SearchSummary, *, title: str, caption: str | None = None) -> Figure:
    """One search: a line for every phase or start, the best in colour, and the chosen subset marked.

    Phases that take turns have names; many starts lie over one another, the best in front.
    """
    walks = list(tracing.steps_by_start(search.path).values())
    measures = tracing.measures_of(search)
    caption = tracing.path_sentence(search) if caption is None else caption
    if not walks:
        return Figure(title, caption, {})
    in_phases = tracing.alternates(search) and 1 < len(walks) <= _MOST_PHASES
    best = search.chosen[0] if search.chosen is not None else tracing.best_start(search)
    shown = walks if in_phases else [w for w in walks if w[0].start != best][: MAX_LINES - 1]
    shown = shown if in_phases else [*shown, *(w for w in walks if w[0].start == best)]
    lines = [
        _line(step, walk, measures, search, in_phases or step.start == best or len(shown) == 1, in_phases)
        for walk in shown
        for step in _thinned(walk, search.chosen)
    ]
    chosen = tracing.chosen_step(search)
    across = "step" if measures[0].evaluated == "round" else "features"
    x = draw.number(across, "round" if across == "step" else _SIZES, log=across == "features" and _is_long(search))
    panels = [panel for place, one in enumerate(measures) if (panel := _panel(one, place, x, search, lines, in_phases))]
    heads = {"walk": "phase" if in_phases else "start", "step": "step", "move": "move", "feature": "feature"}
    heads |= {"features": "features"} | {_VALUES[k]: one.heading for k, one in enumerate(measures)}
    if len(shown) == 1:
        del heads["walk"]
    if chosen is not None:
        heads["chosen"] = "chosen"
    frame = {name: [line[name] for line in lines] for name in lines[0]}
    return Figure(title, caption, draw.below(*panels) if panels else {}, {"path": frame}, heads)


def _thinned(walk: Sequence[PathStep], chosen: tuple[int, int] | None) -> list[PathStep]:
    kept = {
        *draw.thinned(len(walk), MAX_POINTS),
        *(i for i, step in enumerate(walk) if (step.start, step.step) == chosen),
    }
    return [walk[i] for i in sorted(kept)]


def _line(
    step: PathStep,
    walk: Sequence[PathStep],
    measures: Sequence[tracing.Measure],
    search: SearchSummary,
    main: bool,
    phase: bool,
) -> dict[str, Any]:
    verb = {"add": "adding", "drop": "dropping"}.get(walk[-1].move, "no move")
    line = {
        "walk": f"{step.start + 1} {verb}" if phase else f"{step.start + 1}",
        "step": step.step,
        "move": step.move,
        "feature": step.feature,
        "features": step.n_features,
        "main": main,
        "chosen": (step.start, step.step) == search.chosen,
    }
    for name, one in zip(_VALUES, measures, strict=False):
        value = one.of(step)
        line[name] = value if draw.drawable(value) else None
        if (n_rows := one.n_rows(search)) and value is not None:
            error = one.standard_error(value, n_rows)
            line |= {"low": value - error, "high": value + error}
    return line


def _is_long(search: SearchSummary) -> bool:
    chosen = tracing.chosen_step(search)
    sizes = [step.n_features for step in search.path]
    return tracing.needs_logarithm(sizes, [] if chosen is None else [chosen.n_features])


def _panel(
    one: tracing.Measure,
    place: int,
    x: draw.Spec,
    search: SearchSummary,
    lines: Sequence[dict[str, Any]],
    in_phases: bool,
) -> draw.Spec | None:
    name = _VALUES[place]
    values = [line[name] for line in lines if line[name] is not None]
    marked = [line for line in lines if line["chosen"] and line[name] is not None]
    on_axis = [end for line in marked for end in (line[name], line.get("low") if place else None) if end is not None]
    domain = draw.good_end(values, on_axis, lower_is_better=one.lower_is_better)
    if domain is None:
        return None
    y = draw.number(name, one.heading, domain=domain)
    order: draw.Spec = {"order": {"field": "step"}, "detail": {"field": "walk"}}
    moved = draw.tips("features", "move", "feature", name)
    phase: draw.Spec = {"color": draw.names("walk", "phase")} if in_phases else {}
    parts = [
        draw.layer("line", "faint", where="!datum.main", x=x, y=y, **order),
        draw.layer("line", where="datum.main", x=x, y=y, **order, **phase),
        draw.layer("point", "plain", where="datum.main", more={"opacity": 0.01, "size": 60}, x=x, y=y, **moved),
        draw.layer("point", where="datum.chosen", more={"size": 70}, x=x, y=y, **moved),
    ]
    if one.n_rows(search):
        ends: draw.Spec = {"y": {**y, "field": "low"}, "y2": {"field": "high"}, "detail": order["detail"]}
        parts.insert(0, draw.layer("area", "band", where="datum.main", x=x, **ends))
    if marked:
        step = marked[0]
        text = f"{plural(step['features'], 'feature')}, {one.text(step[name])}"
        place_of_label = {"align": "left", "dx": 8, "dy": -10 if one.higher_is_better else 16}
        label = draw.layer("text", "label", where="datum.chosen", more=place_of_label, x=x, y=y, text={"value": text})
        parts += [draw.line_at("x", step[x["field"]]), label]
    elif not place and draw.drawable(search.null_criterion) and domain[0] <= search.null_criterion <= domain[1]:
        parts.append(draw.line_at("y", search.null_criterion))
    return draw.chart(*parts, height=190)


def _means_figure(searches: Sequence[SearchSummary], title: str) -> Figure:
    """Means with a band of one standard deviation, faint lines for the searches themselves, dots for their choices."""
    paths = [tracing.by_size(search) for search in searches]
    met = sorted({step.n_features for steps in paths for step in steps})
    if not met:
        return Figure(title, _means_caption(searches), {})
    sizes = [met[i] for i in draw.thinned(len(met), MAX_POINTS)]
    chosen = [step for search in searches if (step := tracing.chosen_step(search)) is not None]
    measures = tracing.measures_of(*searches)
    means: dict[str, list[Any]] = {"features": sizes, "searches": []}
    own: dict[str, list[Any]] = {"features": [], "search": []}
    panels = []
    x = draw.number("features", _SIZES, log=tracing.needs_logarithm(met, [step.n_features for step in chosen]))
    for name, one in zip(_VALUES, measures, strict=False):
        table = [[tracing.value_at(steps, size, on_validation=one.on_validation) for steps in paths] for size in sizes]
        spread = [_spread(values) for values in table]
        means |= {name: [s[0] for s in spread], f"{name}_sd": [s[1] for s in spread]}
        means |= {f"{name}_low": [s[0] - s[1] for s in spread], f"{name}_high": [s[0] + s[1] for s in spread]}
        means["searches"] = [s[2] for s in spread]
        own[name] = [value for k in range(min(len(paths), MAX_LINES)) for value in (line[k] for line in table)]
        marked = [one.of(step) for step in chosen]
        ends = [v for k in ("", "_low", "_high") for v in means[name + k]]
        domain = draw.good_end(ends, [v for v in marked if v is not None], lower_is_better=one.lower_is_better)
        if domain is not None:
            panels.append(_means_panel(name, x, draw.number(name, one.heading, domain=domain)))
    for k in range(min(len(paths), MAX_LINES)):
        own["features"] += sizes
        own["search"] += [k + 1] * len(sizes)
    dots: dict[str, list[Any]] = {"features": [step.n_features for step in chosen]}
    dots |= {name: [one.of(step) for step in chosen] for name, one in zip(_VALUES, measures, strict=False)}
    heads = {"features": "features", "searches": "searches"}
    for name, one in zip(_VALUES, measures, strict=False):
        heads |= {name: one.heading, f"{name}_sd": "± standard deviation"}
    return Figure(
        title, _means_caption(searches), draw.below(*panels), {"means": means, "own": own, "chosen": dots}, heads
    )


def _means_panel(name: str, x: draw.Spec, y: draw.Spec) -> draw.Spec:
    low, high = {**y, "field": f"{name}_low"}, {"field": f"{name}_high"}
    return draw.chart(
        draw.layer("area", "band", x=x, y=low, y2=high),
        draw.layer("line", "faint", data="own", x=x, y=y, detail={"field": "search"}),
        draw.layer("line", x=x, y=y),
        draw.layer("point", data="chosen", more={"size": 24}, x=x, y=y),
        height=190,
    )


def _spread(values: Sequence[float]) -> tuple[float, float, int]:
    """Mean, standard deviation and number of searches at a size that at least half of the searches reach; NaN at the
    others, where the few that are left would make the mean jump.
    """
    known = [value for value in values if draw.drawable(value)]
    enough = 2 * len(known) >= len(values)
    mean = statistics.fmean(known) if enough else math.nan
    return mean, statistics.stdev(known) if enough and len(known) > 1 else math.nan, len(known)


def _means_caption(searches: Sequence[SearchSummary]) -> str:
    sizes = [step.n_features for search in searches if (step := tracing.chosen_step(search)) is not None]
    stopped = sum(not search.complete for search in searches)
    sentences = [f"{plural(len(searches), 'search', 'searches')}: mean, and ± one standard deviation."]
    if sizes:
        sentences.append(f"Dots are the subsets chosen: {_sizes_in_words(sizes)}.")
    measured = {search.measured for search in searches}
    if len(measured) == 1 and None not in measured:
        sentences.append(f"Measured {searches[0].measured}.")
    if stopped:
        sentences.append(f"{plural(stopped, 'search was', 'searches were')} interrupted.")
    return " ".join(sentences)


def _sizes_in_words(sizes: Sequence[int]) -> str:
    low, high, mean = min(sizes), max(sizes), sum(sizes) / len(sizes)
    return plural(high, "feature") if low == high else f"{low:,} to {high:,} features, {mean:.1f} on average"


def stability_figure(stability: Any, *, title: str | None = None) -> Figure:
    """Draw which features were selected in which fold, and how often.

    Parameters
    ----------
    stability : SelectionStability
        From `selection_stability`.
    title : str, optional

    Returns
    -------
    Figure
        Its ``save(path)`` writes a page, a picture or the specification; notebooks show it.

    Examples
    --------
    >>> from bayesieve import selection_stability, stability_figure
    >>> from sklearn.datasets import load_iris
    >>> stability = selection_stability("map", *load_iris(return_X_y=True), cv=5)
    >>> "Stability 0.60" in stability_figure(stability).caption
    True
    """
    every = stability.to_frame()
    met = every.filter(every["frequency"] > 0)
    caption = _stability_caption(stability, len(every) - len(met), max(0, len(met) - MAX_ROWS))
    rows = {name: met[name].to_list() for name in ("feature", "frequency", "mean_weight")}
    drawn = met.head(MAX_ROWS)
    cells = [
        (feature, fold, weight)
        for feature, weights in zip(drawn["feature"], drawn["weights"], strict=True)
        for fold, weight in enumerate(weights.to_list()[:MAX_FOLDS], start=1)
    ]
    folds = {name: [cell[k] for cell in cells] for k, name in enumerate(("feature", "fold", "weight"))}
    y = draw.names("feature", None)
    drawing = draw.chart(
        draw.layer(
            "rect",
            "tile",
            data="folds",
            x={"field": "fold", "type": "ordinal", "title": "fold"},
            y=y,
            color=draw.colour("weight", "weight", [0, 1]),
        ),
        height=draw.ROWS,
    )
    heads = {"feature": "feature", "frequency": "share of folds", "mean_weight": "mean weight"}
    title = title or f"Features selected by {stability.selector}"
    return Figure(title, caption, drawing if cells else {}, {"features": rows, "folds": folds}, heads)


def _stability_caption(stability: Any, n_never: int, n_hidden: int) -> str:
    sentences = [f"{plural(stability.n_folds, 'fold')} of {plural(len(stability.names), 'feature')}."]
    sizes = stability.n_selected.tolist()
    every = " in every fold" if min(sizes) == max(sizes) else ""
    sentences.append(f"Selected: {_sizes_in_words(sizes)}{every}.")
    value = stability.stability
    if value == value:
        low_end, high_end = stability.stability_interval()
        sentences.append(
            f"Stability {format_number(value, 2)}, 95% interval {format_number(low_end, 2)} to "
            f"{format_number(min(high_end, 1.0), 2)} (Nogueira et al. 2018): 1 is the same features in every "
            "fold, 0 is the value expected by chance."
        )
    if n_never:
        sentences.append(f"{plural(n_never, 'feature was', 'features were')} selected in no fold.")
    if n_hidden:
        sentences.append(f"{plural(n_hidden, 'further feature')} not drawn.")
    if not stability.complete:
        sentences.append("The run was interrupted; only finished folds are shown.")
    return " ".join(sentences)
