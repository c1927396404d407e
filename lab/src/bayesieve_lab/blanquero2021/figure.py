"""Figures 3 to 5 of Blanquero et al. (2021), with our numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bayesieve_lab.blanquero2021.data import (
    CORRELATIONS,
    SIZES,
    SPARSE,
    PaperSet,
    simulated_name,
    sparse_name,
)
from bayesieve_lab.blanquero2021.results import Results
from bayesieve_lab.figures.scatter import Panel, Point, Series, scatter

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


def short(method: str) -> str:
    """Return the short name of a method, for figures and tables: sparse naive Bayes without its options."""
    if not method.startswith(SPARSE):
        return method
    return f"{SPARSE} (AUC)" if ", auc," in method else f"{SPARSE} (precision)" if ", precision" in method else SPARSE


def time_figure(results: Results) -> str:
    """Return figure 3 as SVG: log10 CPU seconds by correlation, with a line for each number of features."""
    sparse = sparse_name("accuracy", "auto")
    series = []
    for p, colour in zip(SIZES, _SHADES, strict=True):
        rhos = [rho for rho in CORRELATIONS if results.values(simulated_name(p, rho), sparse, "cpu seconds").size]
        points = tuple(Point(rho, math.log10(results.seconds(simulated_name(p, rho), sparse))) for rho in rhos)
        series.append(Series(f"p = {p}", colour, points, joined=True))
    drawn = Panel("Time of sparse NB", "correlation", "log10 CPU seconds of a fold", series)
    return scatter("Time of sparse naive Bayes by correlation and number of features", [drawn])


def balanced_figure(results: Results, sets: Sequence[PaperSet]) -> str:
    """Return figure 4 as SVG: accuracy in percent by number of features, a panel for each of the data sets ``sets``."""
    panels = [
        Panel(one.name, "features", "accuracy, %", _of_methods(results, one, "n_features", "accuracy", by=1.0))
        for one in sets
    ]
    return scatter("Accuracy and number of features by method and data set", panels)


def unbalanced_figure(results: Results, sets: Sequence[PaperSet]) -> str:
    """Return figure 5 as SVG, with two panels for each of the data sets ``sets``.

    The first has AUC by number of features, the second the recalls of both classes; AUC and recalls are in percent.
    """
    panels = []
    for one in sets:
        curves = _of_methods(results, one, "n_features", "auc", by=1.0)
        recalls = _of_methods(results, one, "recall of the first class", "recall of the second class", by=100.0)
        panels.append(Panel(one.name, "features", "AUC, %", curves))
        panels.append(Panel(one.name, "recall of class 1, %", "recall of class 2, %", recalls))
    return scatter("Unbalanced data sets: AUC, number of features and recalls", panels, columns=2)


def _of_methods(results: Results, data_set: PaperSet, x: str, y: str, *, by: float) -> list[Series]:
    """Return a series with a single point for each method on a data set, at means over the folds.

    The point has the mean of the measure ``x`` times ``by``, and the mean of the measure ``y`` in percent.
    """
    series = []
    for method in results.shown(data_set):
        at = Point(by * results.mean(data_set.ours, method, x), 100 * results.mean(data_set.ours, method, y))
        series.append(Series(short(method), _COLOURS[short(method)], (at,)))
    return series
