"""Building blocks for charts, which are Vega-Lite specifications over named tables ("frames") of data.

The charts of this package are entries of ``templates/charts.json``, filled in by `template`; the functions below build
other charts. A chart consists of layers over common axes, and charts can be stacked. Each layer names the frame that it
draws, so that one specification can be drawn with any data. Layers name styles instead of colours; the theme turns
styles into colours, so that one specification serves light and dark pages, notebooks and image files.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

Spec = dict[str, Any]

FOLDER = resources.files("bayesieve.report")
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
WIDTH, HEIGHT = 620, 200
ROWS = {"step": 22}
_CLIPPED = ("area", "line", "point")
SHARE = ".0%"
"""Number format of shares on axes."""


@cache
def text(name: str) -> str:
    """Return the content of a file in the folder ``templates`` of this package or, for ``"package:name"``, of another
    package.
    """
    package, _, file = name.rpartition(":")
    folder = resources.files(package) if package else FOLDER
    return folder.joinpath("templates", file).read_text(encoding="utf-8")


@cache
def _entries(package: str) -> dict[str, Any]:
    """Return the chart templates in ``charts.json`` of a package, as parsed JSON by name; those of this package, which
    are the ones for an empty ``package``, are included.
    """
    shared = _entries("") if package else {}
    source = text(f"{package}:charts.json" if package else "charts.json")
    return shared | json.loads(re.sub("^//.*", "", source, flags=re.MULTILINE))


def template(name: str, /, **given: Any) -> Any:
    """Return an entry of ``charts.json``, or ``"package:entry"`` of another package, filled with the given values.

    Examples
    --------
    >>> template("across")
    {'type': 'nominal', 'title': None, 'sort': None, 'axis': {'labelAngle': -90, 'labelLimit': 110}}
    """
    package, _, entry = name.rpartition(":")
    return _filled(f"${entry}", given, _entries(package))


def _filled(node: Any, values: Mapping[str, Any], entries: Mapping[str, Any]) -> Any:
    """Return a node of a chart template filled in: an object, list or value of JSON.

    A text such as ``"$name"`` becomes the entry ``name`` of ``values`` or, filled in turn, of ``entries``. In an
    object, ``"$"`` names the entry that it extends, ``"let"`` defines further values, and ``"if"`` names a value
    without which the object is None. Members that become None are dropped.
    """
    if isinstance(node, str) and node.startswith("$"):
        return values[node[1:]] if node[1:] in values else _filled(entries[node[1:]], values, entries)
    if isinstance(node, list):
        return [filled for one in node if (filled := _filled(one, values, entries)) is not None]
    if not isinstance(node, dict):
        return node
    for name, value in node.get("let", {}).items():
        values = {name: _filled(value, values, entries), **values}
    base = _filled(f"${node['$']}", values, entries) if "$" in node else {}
    if base is None or ("if" in node and (values[node["if"]] is None or values[node["if"]] is False)):
        return None
    filled = {name: _filled(value, values, entries) for name, value in node.items() if name not in ("$", "if", "let")}
    return base | {name: value for name, value in filled.items() if value is not None or node[name] is None}


def number(
    field: str,
    title: str | None,
    *,
    format: str | None = None,
    domain: Sequence[float] | None = None,
    zero: bool = False,
    padding: float = 0,
    **more: Any,
) -> Spec:
    """Return a Vega-Lite encoding of a numeric field.

    Parameters
    ----------
    field, title : name of the field, and title of the axis or None.
    format : number format of the axis, in the syntax of D3.
    domain : ends of the axis; None for those of the data.
    zero : whether the axis includes 0.
    padding : space at the ends of the axis, in pixels.
    **more : further properties of the encoding.

    Examples
    --------
    >>> number("share", "share of rows", format=SHARE)["axis"]
    {'format': '.0%'}
    """
    scale: Spec = {"zero": zero} | ({"padding": padding} if padding else {})
    if domain is not None:
        scale |= {"domain": list(domain), "nice": False}
    channel = {"field": field, "type": "quantitative", "title": title, "scale": scale, **more}
    return channel if format is None else channel | {"axis": {"format": format}}


def names(field: str, title: str | None, **more: Any) -> Spec:
    """Return a Vega-Lite encoding of a field of names, drawn in the order of the data. ``title`` is that of the axis,
    or None, and ``more`` are further properties of the encoding.
    """
    return {"field": field, "type": "nominal", "title": title, "sort": None, **more}


def colour(field: str, title: str | None, domain: Sequence[float], **more: Any) -> Spec:
    """Return a Vega-Lite encoding of a numeric field as colour.

    ``title`` is that of the legend, or None. ``domain`` holds the two ends of the scale, or three numbers for a scale
    with a neutral value in the middle. ``more`` are further properties of the encoding.
    """
    scale = {"range": "heatmap" if len(domain) == 2 else "diverging", "interpolate": "rgb", "domain": list(domain)}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale | {"clamp": True}, **more}


def layer(
    mark: str, style: str = "main", *, data: str | None = None, where: str | None = None, more: Any = None, **on: Any
) -> Spec:
    """Return a Vega-Lite layer: one kind of mark, drawn for the rows of a frame.

    Parameters
    ----------
    mark : kind of mark in Vega-Lite, such as "line".
    style : name of a style of `theme`: "main", "faint", "band", "dashed", "label", or "plain" if the data set the
        colours.
    data : name of the frame; None for the frame of the chart.
    where : expression over ``datum`` that selects the rows to draw; None for all rows.
    more : further properties of the mark.
    on : encodings by channel, such as ``x`` and ``y``.
    """
    drawn: Spec = {"mark": {"type": mark, "style": style, "clip": mark in _CLIPPED, **(more or {})}, "encoding": on}
    if data is not None:
        drawn["data"] = {"name": data}
    if where is not None:
        drawn["transform"] = [{"filter": where}]
    return drawn


def chart(*layers: Spec, width: float = WIDTH, height: float | Spec = HEIGHT, **more: Any) -> Spec:
    """Return a chart of layers over common axes. ``width`` and ``height`` are in pixels; the height ``ROWS`` gives each
    name one line.
    """
    return {"width": width, "height": height, "layer": list(layers), **more}


def below(*charts: Spec) -> Spec:
    """Return a chart that stacks the given charts vertically; an empty specification if there are none."""
    return {"vconcat": list(charts), "spacing": 18} if len(charts) > 1 else charts[0] if charts else {}


def columns(names: Sequence[str], lines: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    """Convert rows of values to a mapping from ``names`` to lists. Each of ``lines`` has a value for every name.

    Examples
    --------
    >>> columns(("x", "y"), [(1, 3), (2, 4)])
    {'x': [1, 2], 'y': [3, 4]}
    """
    lines = list(lines)
    return {name: [line[k] for line in lines] for k, name in enumerate(names)}


def drawable(value: float | None) -> bool:
    """Return whether a number can be drawn: it is not None, finite, and below 1e300, so that sums do not overflow."""
    return value is not None and math.isfinite(value) and abs(value) < 1e300


def good_end(values: Sequence[float], on_axis: Sequence[float], *, lower_is_better: bool) -> list[float] | None:
    """Return the two ends of an axis that shows the better ones of ``values`` clearly, or None if no value can be
    drawn.

    The first subsets of a search may be many times worse than all others and would flatten the rest of the curve. The
    axis therefore ends at four times the distance between the best value and the nearest quartile, unless that would
    hide less than a third of the range. The values ``on_axis`` are always shown.

    Examples
    --------
    >>> good_end([1.0, 1.1, 1.2, 1.3, 9.0], [], lower_is_better=True)
    [0.904, 2.296]
    """
    ordered = sorted(v for v in values if drawable(v))
    if not ordered:
        return None
    low, high = ordered[0], ordered[-1]
    three_quarters = ordered[(3 * len(ordered)) // 4] - low if lower_is_better else high - ordered[len(ordered) // 4]
    if 0 < 4 * three_quarters < 2 * (high - low) / 3:
        low, high = (low, low + 4 * three_quarters) if lower_is_better else (high - 4 * three_quarters, high)
    low, high = min([low, *filter(drawable, on_axis)]), max([high, *filter(drawable, on_axis)])
    room = 0.08 * (high - low) or 1e-3 * abs(high) or 0.5
    digits = 12 + max(0, -math.floor(math.log10(room)))
    return [round(low - room, digits), round(high + room, digits)]


def thinned(n: int, most: int) -> list[int]:
    """Return at most ``most`` evenly spaced positions out of ``n``, including the first and the last.

    Examples
    --------
    >>> thinned(10, 4)
    [0, 3, 6, 9]
    """
    return list(range(n)) if n <= most else sorted({round(i * (n - 1) / (most - 1)) for i in range(most)})


def theme(*, dark: bool = False) -> Spec:
    """Return the Vega-Lite configuration that all charts share: fonts, and the colours of styles for light or dark
    pages.
    """
    looks: Spec = template("theme", **template("dark" if dark else "light"))
    return looks
