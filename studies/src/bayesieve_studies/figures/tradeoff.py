"""Methods by two criteria at a time, with those that no other method beats on all."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from bayesieve.report.critical_difference import WIDTH
from bayesieve.report.drawing import Head, Point, Scale, TextTable, Tick, value_ticks
from bayesieve.report.figure import Figure
from bayesieve.words import format_number

_LEFT, _RIGHT, _GAP = 70, 24, 66
_TOP, _PLOT, _BOTTOM = 36, 330, 56
_LETTER, _LINE = 7.3, 15.0  # size of a label's letters


@dataclass(frozen=True)
class Dot:
    """A method, and where its name stands; `kind` is "dot", "hollow" if another method beats it, or "apart"."""

    x: float
    y: float
    name: str
    label_x: float
    label_y: float
    anchor: str
    kind: str
    text: str


@dataclass(frozen=True)
class Plane:
    """A plot of two criteria in pixels."""

    left: float
    right: float
    top: float
    bottom: float
    x_title: str
    y_title: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    dots: tuple[Dot, ...]
    line: tuple[Point, ...] = ()


@dataclass(frozen=True)
class TradeoffDrawing:
    planes: tuple[Plane, ...]
    height: float


def beaten(values: Mapping[str, Mapping[str, float]]) -> dict[str, str | None]:
    """By method, another one that dominates it (Pareto, higher is better), or None."""
    dominating: dict[str, str | None] = {}
    for name, mine in values.items():
        dominating[name] = next(
            (
                other
                for other, theirs in values.items()
                if all(theirs[c] >= mine[c] for c in mine) and any(theirs[c] > mine[c] for c in mine)
            ),
            None,
        )
    return dominating


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
    apart : methods that are shown, as squares, but beat nobody and are beaten by nobody.
    joined : settings of one method, which a line joins in this order, likewise.
    title, caption : str, optional

    Returns
    -------
    Figure
        Methods that another one beats, see `beaten`, have hollow dots.

    Raises
    ------
    ValueError
        If there is nothing to draw, or a criterion is missing.

    Examples
    --------
    >>> from bayesieve_studies.figures.tradeoff import tradeoff_figure
    >>> values = {"NB": {"ACC": 0.8, "CR": 0.4}, "MAP": {"ACC": 0.79, "CR": 0.5}, "CMA": {"ACC": 0.82, "CR": 0.6}}
    >>> [dot.kind for dot in tradeoff_figure(values, [("ACC", "CR")]).drawing.planes[0].dots]
    ['hollow', 'hollow', 'dot']
    """
    criteria = {criterion for plane in planes for criterion in plane}
    if not values or not planes:
        raise ValueError("A figure needs at least one method and one pair of criteria.")
    for name, mine in values.items():
        if missing := sorted(criteria - mine.keys()):
            raise ValueError(f"{name!r} has no value of {missing[0]!r}; every method needs all criteria.")
    better = beaten({name: mine for name, mine in values.items() if name not in (*apart, *joined)})
    width = (WIDTH - _LEFT - _RIGHT - (len(planes) - 1) * _GAP) / len(planes)
    drawn = tuple(
        _plane(values, better, joined, x, y, _LEFT + at * (width + _GAP), width) for at, (x, y) in enumerate(planes)
    )
    return Figure(
        title=title or "Methods by several criteria",
        caption=caption,
        table=_table(values, better),
        drawing=TradeoffDrawing(drawn, _TOP + _PLOT + _BOTTOM),
        template="picture",
        parts="bayesieve_studies:_tradeoff.svg",
    )


def _plane(
    values: Mapping[str, Mapping[str, float]],
    better: Mapping[str, str | None],
    joined: Sequence[str],
    x_title: str,
    y_title: str,
    left: float,
    width: float,
) -> Plane:
    x = _scale([mine[x_title] for mine in values.values()], left, left + width)
    y = _scale([mine[y_title] for mine in values.values()], _TOP + _PLOT, _TOP)
    places = {name: (x(mine[x_title]), y(mine[y_title])) for name, mine in values.items()}
    dots = []
    boxes = [(px - 6, py - 6, px + 6, py + 6) for px, py in places.values()]
    for name, (px, py) in places.items():
        box, label_x, label_y, anchor = _place(name, px, py, boxes, left, left + width)
        boxes.append(box)
        text = f"{name}: {x_title} {values[name][x_title]:.4f}, {y_title} {values[name][y_title]:.4f}"
        kind = (
            "dot" if name in joined else "apart" if name not in better else "dot" if better[name] is None else "hollow"
        )
        dots.append(Dot(px, py, name, label_x, label_y, anchor, kind, text))
    line = tuple(Point(*places[name]) for name in joined)
    ticks = value_ticks(x), value_ticks(y)
    return Plane(left, round(left + width, 2), _TOP, _TOP + _PLOT, x_title, y_title, *ticks, tuple(dots), line)


def _scale(values: Sequence[float], start: float, stop: float) -> Scale:
    low, high = min(values), max(values)
    room = 0.12 * (high - low) or 0.5
    return Scale(low - room, high + room, start, stop)


_Box = tuple[float, float, float, float]


def _place(
    name: str, x: float, y: float, boxes: Sequence[_Box], left: float, right: float
) -> tuple[_Box, float, float, str]:
    """The place of a name with the least overlap: next to, above or below its dot, near or far."""
    width = _LETTER * len(name)
    options: list[tuple[float, int, _Box, float, float, str]] = []
    for far, (side, rise) in itertools.product((0, 1), itertools.product((1, -1, 0), (0, -1, 1))):
        if side == 0 and rise == 0:
            continue
        away = 9 + 4 * far
        label_y = y + 4 + rise * (12 + 12 * far) * (1.3 if side == 0 else 1.0)
        begin = x + away if side > 0 else x - away - width if side < 0 else x - width / 2
        box = (begin, label_y - _LINE + 3, begin + width, label_y + 4)
        outside = max(0.0, left - box[0]) + max(0.0, box[2] - right)
        anchor = "start" if side > 0 else "end" if side < 0 else "middle"
        label_x = x + away * side
        options.append(
            (
                100 * outside + 30 * far + sum(_overlap(box, other) for other in boxes),
                len(options),
                box,
                label_x,
                label_y,
                anchor,
            )
        )
    _, _, box, label_x, label_y, anchor = min(options, key=lambda option: option[:2])
    return box, round(label_x, 2), round(label_y, 2), anchor


def _overlap(a: _Box, b: _Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _table(values: Mapping[str, Mapping[str, float]], better: Mapping[str, str | None]) -> TextTable:
    criteria = list(next(iter(values.values())))
    return TextTable(
        title="Methods",
        columns=(Head("Method", False), *(Head(c, True) for c in criteria), Head("Beaten by", False)),
        rows=tuple(
            (name, *(format_number(mine[c], 4) for c in criteria), better.get(name) or "")
            for name, mine in values.items()
        ),
    )
