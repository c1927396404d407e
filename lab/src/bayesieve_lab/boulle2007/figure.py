"""Figures 9, 10 and 12 of Boulle (2007): means of each criterion by method, in the paper and here; training times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from bayesieve.report.charts import ROWS, Spec, chart, columns, layer, names, number
from bayesieve.report.page import Figure
from bayesieve_lab.boulle2007.data import METHODS, OURS, SHORT, Cell
from bayesieve_lab.boulle2007.results import FLOORED, Group
from bayesieve_lab.figures.scatter import Panel, Point, Series, scatter

_COLOURS = ("#c8553d", "#2f6db5", "#4c9a52", "#8a5fb0", "#d9a521")


def means_figure(group: Group, paper: Mapping[str, Mapping[str, Cell]], title: str) -> str:
    """Return an SVG with a panel for each criterion and a line for each method, with the paper's mean and ours.

    ``paper`` has the paper's numbers by criterion and method. ``group`` has our results.
    """
    lacking = any(math.isnan(group.means(criterion)[OURS]) for criterion in SHORT)
    methods = [*METHODS] if lacking else [OURS, *METHODS]
    lines, panels = [], []
    for criterion, name in SHORT.items():
        floored = group.means(FLOORED) if criterion == "compression_rate" else {}
        theirs = {method: cell.mean for method, cell in paper[criterion].items()}
        means = {
            "paper": theirs,
            "ours, probabilities of at least 1 / test rows": floored,
            "ours": group.means(criterion),
        }
        lines += [
            (name, whose, method, values[method])
            for whose, values in means.items()
            for method in values
            if method in methods
        ]
        on: Spec = {"x": number("mean", name, padding=8), "y": names("method", None, scale={"domain": methods})}
        on |= {"color": names("whose", None), "shape": names("whose", None)}
        dots = layer("point", "plain", where=f"datum.criterion === {name!r}", **on)
        panels.append(chart(dots, width=200, height=ROWS))
    frame = columns(("criterion", "whose", "method", "mean"), lines)
    return Figure(title, "", {"hconcat": panels}, {"means": frame}).to_svg()


def times_figure(times: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Return an SVG of figure 12: training time by number of values, with a line per data set.

    ``times`` has pairs (number of values, seconds) by name of the data set.
    """
    series = [
        Series(name, colour, tuple(Point(n_values, seconds) for n_values, seconds in sorted(points)), joined=True)
        for (name, points), colour in zip(times.items(), _COLOURS, strict=False)
    ]
    drawn = Panel("Training time", "values: training rows times features", "CPU seconds of a fold", series, log=True)
    return scatter("Training time of SNB(CMA) by the number of values", [drawn])
