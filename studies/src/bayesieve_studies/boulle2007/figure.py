"""Figures 9, 10 and 12 of Boulle (2007): means of each criterion by method, in the paper and here; training times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bayesieve.report.drawing import Point
from bayesieve.report.render import fill
from bayesieve_studies.boulle2007.data import METHODS, OURS, SHORT, Cell
from bayesieve_studies.boulle2007.results import FLOORED, Group
from bayesieve_studies.figures.scatter import Series, panel, scatter

_COLOURS = ("#c8553d", "#2f6db5", "#4c9a52", "#8a5fb0", "#d9a521")
_STEPS = (0.005, *(digit * 10.0**k for k in range(-2, 9) for digit in (1, 2, 5)))


def means_figure(group: Group, paper: Mapping[str, Mapping[str, Cell]], title: str) -> str:
    """SVG with a panel for each criterion and a line for each method, with the paper's mean and ours."""
    panels = []
    for criterion, name in SHORT.items():
        floored = group.means(FLOORED) if criterion == "compression_rate" else {}
        theirs = {method: cell.mean for method, cell in paper[criterion].items()}
        means = {"ours": group.means(criterion), "floored": floored, "paper": theirs}
        panels.append({"name": name, **means, **_axis(value for values in means.values() for value in values.values())})
    return fill("bayesieve_studies:means.svg", title=title, methods=(OURS, *METHODS), panels=panels)


def times_figure(times: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """SVG of figure 12: (values, seconds) of each data set with more and more features."""
    series = [
        Series(name, colour, tuple(Point(*one) for one in sorted(own)), joined=True)
        for (name, own), colour in zip(times.items(), _COLOURS, strict=False)
    ]
    drawn = panel("Training time", "values: training rows times features", "CPU seconds of a fold", series, log=True)
    return scatter("Training time of SNB(CMA) by the number of values", [drawn], step=170)


def _axis(values: Iterable[float]) -> dict[str, Any]:
    """The ends of an axis, and round numbers along it with their decimals."""
    low, high = min(every := list(values)), max(every)
    step = next(step for step in _STEPS if (high - low) / step <= 5)
    low = step * (low / step // 1)
    high = max(low + step, -step * (-high / step // 1))
    ticks = [low + tick * step for tick in range(round((high - low) / step) + 1)]
    return {"low": low, "high": high, "ticks": ticks, "digits": 3 if step < 0.01 else 2}
