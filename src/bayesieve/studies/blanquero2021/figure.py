"""Figures 3 to 5 of Blanquero et al. (2021), with our numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayesieve.report.figures.scale import Point, Scale, Tick, polyline, value_ticks
from bayesieve.report.render import fill
from bayesieve.studies.blanquero2021.data import (
    CORRELATIONS,
    SIZES,
    SPARSE,
    PaperSet,
    simulated_name,
    sparse_name,
)
from bayesieve.studies.blanquero2021.results import Results

_WIDTH, _HEIGHT = 220.0, 180.0
_COLOURS = {
    "Classic NB": "#777777",
    SPARSE: "#c8553d",
    "Sparse NB (AUC)": "#c8553d",
    "Sparse NB (precision)": "#2f6db5",
    "CFS": "#4c9a52",
    "Boruta": "#8a5fb0",
    "SNB(MAP)": "#d9a521",
    "Lasso": "#1f8a9b",
}
_SHADES = ("#f0b49e", "#e08a6d", "#c8553d", "#8f3623", "#571c0f")


@dataclass(frozen=True)
class Series:
    """Points of one name in a panel, joined by a line if they are in a row."""

    name: str
    colour: str
    points: tuple[Point, ...]
    joined: bool = False


def short(method: str) -> str:
    """The name of a method in figures and tables."""
    if not method.startswith(SPARSE):
        return method
    return f"{SPARSE} (AUC)" if ", auc," in method else f"{SPARSE} (precision)" if ", precision" in method else SPARSE


def time_figure(results: Results) -> str:
    """Figure 3: seconds by correlation, a line for each number of features."""
    sparse = sparse_name("accuracy", "auto")
    series = []
    for p, colour in zip(SIZES, _SHADES, strict=True):
        known = [rho for rho in CORRELATIONS if results.values(simulated_name(p, rho), sparse, "cpu seconds").size]
        points = tuple(Point(rho, math.log10(results.seconds(simulated_name(p, rho), sparse))) for rho in known)
        series.append(Series(f"p = {p}", colour, points, joined=True))
    panel = _panel("Time of sparse NB", "correlation", "log10 CPU seconds of a fold", series)
    return _drawn("Time of sparse naive Bayes by correlation and number of features", [panel], step=80)


def balanced_figure(results: Results, sets: Sequence[PaperSet]) -> str:
    """Figure 4: accuracy by number of features."""
    panels = [
        _panel(one.name, "features", "accuracy, %", _of_methods(results, one, "n_features", "accuracy", by=1.0))
        for one in sets
    ]
    return _drawn("Accuracy and number of features by method and data set", panels, step=110)


def unbalanced_figure(results: Results, sets: Sequence[PaperSet]) -> str:
    """Figure 5: AUC by number of features, and the recalls of both classes."""
    panels = []
    for one in sets:
        curves = _of_methods(results, one, "n_features", "auc", by=1.0)
        recalls = _of_methods(results, one, "recall of the first class", "recall of the second class", by=100.0)
        panels.append(_panel(one.name, "features", "AUC, %", curves))
        panels.append(_panel(one.name, "recall of class 1, %", "recall of class 2, %", recalls))
    return _drawn("Unbalanced data sets: AUC, number of features and recalls", panels, step=150, columns=2)


def _of_methods(results: Results, one: PaperSet, x: str, y: str, *, by: float) -> list[Series]:
    series = []
    for method in results.shown(one):
        at = Point(by * results.mean(one.ours, method, x), 100 * results.mean(one.ours, method, y))
        series.append(Series(short(method), _COLOURS[short(method)], (at,)))
    return series


def _panel(title: str, x_title: str, y_title: str, series: Sequence[Series]) -> dict[str, Any]:
    every = [point for one in series for point in one.points]
    across, up = _scale([p.x for p in every], 0.0, _WIDTH), _scale([p.y for p in every], _HEIGHT, 0.0)
    drawn = []
    for one in series:
        places = [Point(across(point.x), up(point.y)) for point in one.points]
        line = polyline(places) if one.joined else ""
        drawn.append({"name": one.name, "colour": one.colour, "places": [(p.x, p.y) for p in places], "line": line})
    return {
        "title": title,
        "x_title": x_title,
        "y_title": y_title,
        "x_ticks": _ticks(across),
        "y_ticks": _ticks(up),
        "points": drawn,
    }


def _scale(values: Sequence[float], start: float, stop: float) -> Scale:
    low, high = min(values), max(values)
    room = 0.08 * (high - low) or 0.5
    return Scale(low - room, high + room, start, stop)


def _ticks(scale: Scale) -> tuple[Tick, ...]:
    return tuple(value_ticks(scale))


def _drawn(title: str, panels: Sequence[Mapping[str, Any]], *, step: int, columns: int = 3) -> str:
    named = {one["name"]: one for panel in panels for one in panel["points"]}
    columns = min(columns, len(panels)) if len(panels) > 1 else 2
    return fill(
        "scatter.svg",
        title=title,
        panels=panels,
        series=list(named.values()),
        step=step,
        columns=columns,
        rows=-(-len(panels) // columns),
    )
