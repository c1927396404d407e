"""Scatter plots of studies: panels with points by series, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bayesieve.report.charts import chart, columns as columns_of, layer, number
from bayesieve.report.page import Figure

_WIDTH, _HEIGHT = 220, 180


class Point(NamedTuple):
    """Point of a panel, in units of its axes."""

    x: float
    y: float


@dataclass(frozen=True)
class Series:
    """Points of one name in a panel.

    Attributes
    ----------
    name, colour : name in the legend, and colour.
    points : the points, joined by a line if ``joined``.
    radius : size of the points; 0 draws none.
    """

    name: str
    colour: str
    points: tuple[Point, ...]
    joined: bool = False
    radius: int = 5


@dataclass(frozen=True)
class Panel:
    """Plot of several series.

    Attributes
    ----------
    title, x_title, y_title : titles of the plot and of its axes.
    series : the series to draw.
    log : whether both axes are logarithmic.
    """

    title: str
    x_title: str
    y_title: str
    series: Sequence[Series]
    log: bool = False


def scatter(title: str, panels: Sequence[Panel], *, columns: int = 3) -> str:
    """Return an SVG with the panels, ``columns`` of them in each row, and a legend."""
    frames: dict[str, dict[str, list[Any]]] = {}
    charts = []
    named = {one.name: one.colour for panel in panels for one in panel.series}
    scale = {"domain": list(named), "range": list(named.values())}
    of_name = {"field": "name", "type": "nominal", "title": None, "scale": scale, "legend": {"columns": 6}}
    for k, panel in enumerate(panels):
        lines = [(s.name, i, at, *point) for i, s in enumerate(panel.series) for at, point in enumerate(s.points)]
        frames[f"panel {k}"] = columns_of(("name", "line", "at", "x", "y"), lines)
        x, y = (number(name, text, padding=8) for name, text in (("x", panel.x_title), ("y", panel.y_title)))
        if panel.log:
            x, y = ({**axis, "scale": {"type": "log"}, "axis": {"format": "~s"}} for axis in (x, y))
        joined = [i for i, one in enumerate(panel.series) if one.joined]
        dotted = [i for i, one in enumerate(panel.series) if one.radius]
        channels: dict[str, Any] = {"data": f"panel {k}", "x": x, "y": y, "color": of_name}
        layers = [
            layer("line", "plain", where=_among(joined), detail={"field": "line"}, order={"field": "at"}, **channels),
            layer("point", "plain", where=_among(dotted), **channels),
        ]
        charts.append(chart(*layers, width=_WIDTH, height=_HEIGHT, title=panel.title))
    return Figure(title, "", {"concat": charts, "columns": columns}, frames).to_svg()


def _among(places: Sequence[int]) -> str:
    """Return a Vega expression that is true for data of the series at the positions ``places`` in their panel."""
    return f"indexof({list(places)}, datum.line) >= 0"
