"""Figures of methods by pairs of criteria, which mark the Pareto-optimal methods."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bayesieve.report.charts import WIDTH, Spec, chart, layer, number
from bayesieve.report.page import Figure


def beaten(values: Mapping[str, Mapping[str, float]]) -> dict[str, str | None]:
    """Return, for each method, another method that dominates it (Pareto); None if there is none.

    ``values`` has values by method and criterion; higher is better.
    """

    def beats(theirs: Mapping[str, float], mine: Mapping[str, float]) -> bool:
        """Return whether ``theirs`` are at least as good as ``mine`` by all criteria, and better by one; values are by
        criterion.
        """
        return all(theirs[c] >= mine[c] for c in mine) and any(theirs[c] > mine[c] for c in mine)

    return {
        name: next((other for other, theirs in values.items() if beats(theirs, mine)), None)
        for name, mine in values.items()
    }


def tradeoff_figure(
    values: Mapping[str, Mapping[str, float]],
    planes: Sequence[tuple[str, str]],
    *,
    apart: Collection[str] = (),
    joined: Sequence[str] = (),
    title: str | None = None,
    caption: str = "",
) -> Figure:
    """Draw methods by pairs of criteria, as in figures 4 and 8 of Boulle (2007).

    Parameters
    ----------
    values : by method, a value for every criterion; higher is better.
    planes : (criterion to the right, criterion upwards) of each plot.
    apart : methods that are shown, as squares, but not compared with others.
    joined : settings of one method, joined by a line in this order and not compared with others.
    title, caption : str, optional

    Returns
    -------
    Figure
        Methods that are dominated by another one (see `beaten`) have hollow dots.

    Raises
    ------
    ValueError
        If there is nothing to draw, or a criterion is missing.

    Examples
    --------
    >>> from bayesieve_lab.figures.tradeoff import tradeoff_figure
    >>> values = {"NB": {"ACC": 0.8, "CR": 0.4}, "MAP": {"ACC": 0.79, "CR": 0.5}, "CMA": {"ACC": 0.82, "CR": 0.6}}
    >>> tradeoff_figure(values, [("ACC", "CR")]).data["kind"].to_list()
    ['hollow', 'hollow', 'dot']
    """
    criteria = {criterion for plane in planes for criterion in plane}
    if not values or not planes:
        raise ValueError("A figure needs at least one method and one pair of criteria.")
    for name, mine in values.items():
        if missing := sorted(criteria - mine.keys()):
            raise ValueError(f"{name!r} has no value of {missing[0]!r}; every method needs all criteria.")
    better = beaten({name: mine for name, mine in values.items() if name not in (*apart, *joined)})
    frame: dict[str, list[Any]] = {"method": list(values)}
    frame |= {criterion: [mine[criterion] for mine in values.values()] for criterion in next(iter(values.values()))}
    frame["beaten by"] = [better.get(name) for name in values]
    frame["kind"] = [
        "apart" if name not in (*better, *joined) else "dot" if better.get(name) is None else "hollow"
        for name in values
    ]
    frame["place"] = [joined.index(name) if name in joined else None for name in values]
    heads = {name: name.capitalize() if name in ("method", "beaten by") else name for name in list(frame)[:-2]}
    drawing = {"hconcat": [_plane(x, y, width=(WIDTH + 120) / len(planes) - 40) for x, y in planes]}
    return Figure(title or "Methods by several criteria", caption, drawing, {"methods": frame}, heads)


def _plane(across: str, up: str, width: float) -> Spec:
    """Return the Vega-Lite specification of a plot of the criteria ``across`` (x axis) and ``up`` (y axis).

    ``width`` is that of the plot in pixels.
    """
    x, y = number(across, across, padding=14), number(up, up, padding=14)
    kinds = {"dot": ("point", "dot"), "hollow": ("point", "hollow"), "apart": ("square", "main")}
    dots = [layer(mark, style, where=f"datum.kind === '{kind}'", x=x, y=y) for kind, (mark, style) in kinds.items()]
    line = layer("line", "faint", where="datum.place !== null", x=x, y=y, order={"field": "place"})
    label = layer("text", "note", more={"dy": -10}, x=x, y=y, text={"field": "method"})
    return chart(line, *dots, label, width=width, height=330)
