"""A small grammar of charts: functions that return Vega-Lite specifications over named frames.

A chart is layers over a common pair of axes, and several charts may stand below one another. Layers name the frame
that they draw, so that a specification is written once and drawn with any data. Colours come from the theme alone:
layers only name styles, which is why the same specification serves light and dark pages, notebooks and pictures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

Spec = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
WIDTH, HEIGHT = 620, 200
ROWS = {"step": 22}
_CLIPPED = ("area", "line", "point")
SHARE, NATS = ".0%", "+.2~f"
"""Formats of numbers along axes."""
CLASS_COLOURS = ("#dc8f35", "#2a6fa8", "#1b9277", "#b8679b", "#79b9e2", "#bf4d2a", "#c9b93c", "#868c94")
"""Colours that colour-blind readers tell apart; the second is that of the positive of two classes."""
_DARK_COLOURS = ("#e09c4c", "#5a9fd8", "#3fb598", "#cf86b6", "#a5d3f0", "#d9704d", "#d8ca5c", "#9aa1aa")
_INKS = ("#20242a", "#5a616b", "#dedad0", "#1d5f94", "#fcfbf8")  # of text, notes, lines, accents and the page
_DARK_INKS = ("#e5e2db", "#a1a8b2", "#33393f", "#7db8e8", "#15181c")
_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif'


def number(
    field: str,
    title: str | None,
    *,
    format: str | None = None,
    domain: Sequence[float] | None = None,
    log: bool = False,
    zero: bool = False,
    padding: float = 0,
    **more: Any,
) -> Spec:
    """A channel of numbers; ``log`` is logarithmic beyond 1 and linear around 0, ``padding`` is in pixels.

    Examples
    --------
    >>> number("share", "share of rows", format=SHARE)["axis"]
    {'format': '.0%'}
    """
    scale: Spec = {"zero": zero} | ({"padding": padding} if padding else {})
    if domain is not None:
        scale |= {"domain": list(domain), "nice": False}
    if log:
        scale |= {"type": "symlog"}
    axis: Spec = {} if format is None else {"format": format}
    if log:
        axis["values"] = [0, *(factor * 10**power for power in range(6) for factor in (1, 2, 5))]
    channel = {"field": field, "type": "quantitative", "title": title, "scale": scale, **more}
    return channel | {"axis": axis} if axis else channel


def names(field: str, title: str | None, **more: Any) -> Spec:
    """A channel of names, in the order of the frame."""
    return {"field": field, "type": "nominal", "title": title, "sort": None, **more}


def colour(field: str, title: str | None, domain: Sequence[float] | None = None, **more: Any) -> Spec:
    """A channel of numbers as colours; a ``domain`` of three is centred, for amounts that speak for or against."""
    scale: Spec = {"range": "heatmap" if domain is None or len(domain) == 2 else "diverging", "interpolate": "rgb"}
    if domain is not None:
        scale |= {"domain": list(domain), "clamp": True}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, **more}


def tips(*fields: str) -> Spec:
    """What is shown on hovering."""
    return {"tooltip": [{"field": field} for field in fields]}


def layer(
    mark: str, style: str = "main", *, data: str | None = None, where: str | None = None, more: Any = None, **on: Any
) -> Spec:
    """One kind of mark over a frame.

    Parameters
    ----------
    mark : of Vega-Lite, such as "line".
    style : a name of `theme`: "main", "faint", "band", "dashed", "label", or "plain" for colours that data give.
    data : name of the frame; by default that of the chart.
    where : expression over ``datum`` for the rows to draw.
    more : further properties of the mark.
    on : channels.
    """
    drawn: Spec = {"mark": {"type": mark, "style": style, "clip": mark in _CLIPPED, **(more or {})}, "encoding": on}
    if data is not None:
        drawn["data"] = {"name": data}
    if where is not None:
        drawn["transform"] = [{"filter": where}]
    return drawn


def chart(*layers: Spec, width: float = WIDTH, height: float | Spec = HEIGHT, **more: Any) -> Spec:
    """Layers over the same axes, in pixels; a height of ``ROWS`` has one line for each name."""
    return {"width": width, "height": height, "layer": list(layers), **more}


def below(*charts: Spec) -> Spec:
    """Charts one below the other; nothing to draw without any."""
    return {"vconcat": list(charts), "spacing": 18} if len(charts) > 1 else charts[0] if charts else {}


def columns(names: Sequence[str], lines: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    """Lines as the columns of a frame.

    Examples
    --------
    >>> columns(("x", "y"), [(1, 3), (2, 4)])
    {'x': [1, 2], 'y': [3, 4]}
    """
    lines = list(lines)
    return {name: [line[k] for line in lines] for k, name in enumerate(names)}


def line_at(axis: str, value: float | str, style: str = "dashed") -> Spec:
    """A straight line across a chart at a value, or at that of a signal by its name."""
    datum: Any = {"expr": value} if isinstance(value, str) else value
    mark = {"type": "rule", "style": style, "aria": False, "tooltip": None}
    return {"data": {"values": [{}]}, "mark": mark, "encoding": {axis: {"datum": datum, "type": "quantitative"}}}


def diagonal(x: Sequence[float] = (0, 1), y: Sequence[float] = (0, 1)) -> Spec:
    """A dashed line from corner to corner, to compare with."""
    ends = [{"from": a, "to": b} for a, b in zip(x, y, strict=True)]
    mark = {"type": "line", "style": "dashed", "aria": False, "tooltip": None}
    on = {axis: {"field": end, "type": "quantitative"} for axis, end in (("x", "from"), ("y", "to"))}
    return {"data": {"values": ends}, "mark": mark, "encoding": on}


def drawable(value: float | None) -> bool:
    """Whether a number has a place on an axis; sums of those that have one stay finite."""
    return value is not None and math.isfinite(value) and abs(value) < 1e300


def good_end(values: Sequence[float], on_axis: Sequence[float], *, lower_is_better: bool) -> list[float] | None:
    """The ends of an axis on which the good end of the values can be read, or None if no value has a place.

    The empty subset, and what comes right after it, may be many times worse than all others: the axis then ends at four
    times the distance from the best value to the one that three quarters of the values beat, unless that hides less
    than a third of the range, and never before the values ``on_axis``.

    Examples
    --------
    >>> good_end([1.0, 1.1, 1.2, 1.3, 9.0], [], lower_is_better=True)
    [0.904, 2.296]
    """
    known = sorted(v for v in values if drawable(v))
    if not known:
        return None
    low, high = known[0], known[-1]
    three_quarters = known[(3 * len(known)) // 4] - low if lower_is_better else high - known[len(known) // 4]
    if 0 < 4 * three_quarters < 2 * (high - low) / 3:
        low, high = (low, low + 4 * three_quarters) if lower_is_better else (high - 4 * three_quarters, high)
    low, high = min([low, *filter(drawable, on_axis)]), max([high, *filter(drawable, on_axis)])
    room = 0.08 * (high - low) or 1e-3 * abs(high) or 0.5
    digits = 12 + max(0, -math.floor(math.log10(room)))
    return [round(low - room, digits), round(high + room, digits)]


def thinned(n: int, most: int) -> list[int]:
    """At most ``most`` evenly spread positions of ``n``, first and last among them.

    Examples
    --------
    >>> thinned(10, 4)
    [0, 3, 6, 9]
    """
    return list(range(n)) if n <= most else sorted({round(i * (n - 1) / (most - 1)) for i in range(most)})


def theme(*, dark: bool = False) -> Spec:
    """The looks of all charts, as a Vega-Lite configuration."""
    colours, (ink, soft, line, accent, paper) = list(CLASS_COLOURS), _INKS
    if dark:
        colours, (ink, soft, line, accent, paper) = list(_DARK_COLOURS), _DARK_INKS
    style = {
        "main": {"color": accent, "strokeWidth": 2.25},
        "faint": {"color": soft, "opacity": 0.45, "strokeWidth": 1},
        "band": {"color": accent, "opacity": 0.22, "strokeWidth": 0},
        "dashed": {"color": soft, "strokeDash": [5, 4], "strokeWidth": 1.25},
        "error": {"color": ink, "strokeWidth": 1.5},
        "dot": {"color": ink},
        "hollow": {"color": ink, "filled": False, "opacity": 0.7},
        "tile": {"stroke": paper, "strokeWidth": 1},
        "label": {"color": accent, "fontWeight": 600, "fontSize": 12},
        "note": {"color": soft, "fontSize": 11},
        "plain": {"strokeWidth": 2},
        "quiet": {"color": soft, "opacity": 0.5},
    }
    axis: Spec = {"labelColor": soft, "titleColor": soft, "gridColor": line, "tickColor": line, "domainColor": line}
    axis |= {"titleFontWeight": "normal", "labelLimit": 170, "labelFontSize": 11, "titleFontSize": 11.5}
    legend = {"labelLimit": 400, "titleFontWeight": "normal", "orient": "top"}
    return {
        "background": paper,
        "font": _FONT,
        "view": {"stroke": None},
        "axis": axis,
        "legend": {"labelColor": ink, "titleColor": soft} | legend,
        "header": {"labelColor": ink, "titleColor": soft},
        "title": {"color": ink, "subtitleColor": soft, "anchor": "start", "fontSize": 12, "subtitleFontSize": 12},
        "mark": {"tooltip": True},
        "point": {"filled": True, "size": 46},
        "line": {"strokeJoin": "round"},
        "axisX": {"labelAngle": 0, "labelOverlap": True},
        "text": {"color": ink},
        "style": style,
        "range": {
            "category": colours,
            "ramp": [line, accent],
            "heatmap": [line, accent],
            "diverging": [colours[0], "#2a2f36" if dark else "#f4f2ec", colours[1]],
        },
    }
