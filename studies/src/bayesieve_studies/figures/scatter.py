"""Scatter plots of studies: panels with points by series, side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayesieve.report.drawing import Point, Scale, Tick, polyline, value_ticks
from bayesieve.report.render import fill

_WIDTH, _HEIGHT = 220.0, 180.0


@dataclass(frozen=True)
class Series:
    """Points of one name in a panel, joined by a line if ``joined``; a radius of 0 draws no points."""

    name: str
    colour: str
    points: tuple[Point, ...]
    joined: bool = False
    radius: int = 5


def panel(title: str, x_title: str, y_title: str, series: Sequence[Series], *, log: bool = False) -> dict[str, Any]:
    """A panel for `scatter`; with ``log`` both axes are logarithmic."""
    placed = [[_logarithm(point) if log else point for point in one.points] for one in series]
    every = [point for points in placed for point in points]
    across, up = _scale([p.x for p in every], 0.0, _WIDTH), _scale([p.y for p in every], _HEIGHT, 0.0)
    drawn = []
    for one, points in zip(series, placed, strict=True):
        places = [Point(across(point.x), up(point.y)) for point in points]
        line = polyline(places) if one.joined else ""
        at = [(place.x, place.y) for place in places]
        drawn.append({"name": one.name, "colour": one.colour, "radius": one.radius, "places": at, "line": line})
    ticks = _powers if log else value_ticks
    return {
        "title": title,
        "x_title": x_title,
        "y_title": y_title,
        "x_ticks": tuple(ticks(across)),
        "y_ticks": tuple(ticks(up)),
        "points": drawn,
    }


def scatter(title: str, panels: Sequence[Mapping[str, Any]], *, step: int, columns: int = 3) -> str:
    """SVG with the panels in rows of ``columns``, and a legend whose names are ``step`` pixels apart."""
    named = {one["name"]: one for panel in panels for one in panel["points"]}
    columns = min(columns, len(panels)) if len(panels) > 1 else 2
    return fill(
        "bayesieve_studies:scatter.svg",
        title=title,
        panels=panels,
        series=list(named.values()),
        step=step,
        columns=columns,
        rows=-(-len(panels) // columns),
    )


def _logarithm(point: Point) -> Point:
    return Point(math.log10(point.x), math.log10(point.y))


def _scale(values: Sequence[float], start: float, stop: float) -> Scale:
    low, high = min(values), max(values)
    room = 0.08 * (high - low) or 0.5
    return Scale(low - room, high + room, start, stop)


def _powers(scale: Scale) -> list[Tick]:
    """Ticks at the powers of ten of a scale of logarithms."""
    powers = range(math.ceil(scale.low), math.floor(scale.high) + 1)
    return [Tick(scale(k), f"{10 ** (k - 6)}M" if k >= 6 else f"{10.0**k:,g}") for k in powers]
