"""Panels over one another that share their horizontal axis: positions of lines, bands and labels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.figures.scale import Point, Scale, Tick, drawable

Pair = tuple[float, float]
_LABEL_WIDTH = 0.85  # of a character, in percent of the width; a narrow page only moves labels, it loses none
_LABEL_HEIGHT = 9.0  # in percent of the height


@dataclass(frozen=True)
class Line:
    """A line; `kind` is "best" (in colour) or "start" (faint)."""

    kind: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Mark:
    """A dot; `label` stands to the "left" or "right" of it, and above it or below."""

    point: Point
    label: str = ""
    side: str = "right"
    above: bool = True


@dataclass(frozen=True)
class Panel:
    """One measure along the axis; `reference_y` is the height of a dashed line."""

    heading: str
    note: str
    bands: tuple[tuple[Point, ...], ...]
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...]
    y_ticks: tuple[Tick, ...]
    reference_y: float | None = None


@dataclass(frozen=True)
class Strip:
    """Part of the horizontal axis: a subset with a text to hover over, or a phase of the search with its name."""

    start: float
    width: float
    text: str


@dataclass(frozen=True)
class PathDrawing:
    """Panels over one horizontal axis.

    `names` are features at the moves that bring them in, `chosen_x` is where the selected subset is.
    """

    panels: tuple[Panel, ...]
    x_ticks: tuple[Tick, ...]
    x_label: str
    stretches: tuple[Strip, ...] = ()
    names: tuple[Tick, ...] = ()
    strips: tuple[Strip, ...] = ()
    chosen_x: float | None = None
    n_hidden: int = 0


def value_scale(values: Sequence[float], on_axis: Sequence[float], *, lower_is_better: bool) -> Scale | None:
    """A vertical axis on which the good end of the values can be read.

    The empty subset, and what comes right after it, may be many times worse than all others: the axis then ends at four
    times the distance from the best value to the one that three quarters of the values beat, unless that hides less
    than a third of the range, and never before the values ``on_axis``.
    """
    known = sorted(v for v in values if drawable(v))
    if not known:
        return None
    low, high = known[0], known[-1]
    three_quarters = known[(3 * len(known)) // 4] - low if lower_is_better else high - known[len(known) // 4]
    if 0 < 4 * three_quarters < 2 * (high - low) / 3:
        low, high = (low, low + 4 * three_quarters) if lower_is_better else (high - 4 * three_quarters, high)
    low, high = min([low, *filter(drawable, on_axis)]), max([high, *filter(drawable, on_axis)])
    room = 0.08 * (high - low) or 1e-3 * abs(high) or 0.5  # lines should not run along the frame
    return Scale(low - room, high + room, 100, 0)


def drawn_lines(kind: str, pairs: Sequence[Pair], scale: Scale) -> list[Line]:
    """The line through (position, value) pairs, cut at the ends of the axis."""
    return [Line(kind, part) for part in clipped_lines(pairs, scale)]


def strips_between(places: Sequence[float], texts: Sequence[str]) -> list[Strip]:
    """A strip around each of several ascending positions, which meets the next halfway."""
    edges = [places[0], *((a + b) / 2 for a, b in itertools.pairwise(places)), places[-1]]
    return [
        Strip(round(left, 3), round(right - left, 3), text)
        for text, (left, right) in zip(texts, itertools.pairwise(edges), strict=True)
    ]


def panel_note(note: str, values: Sequence[float], scale: Scale) -> str:
    """The note of a panel, with a warning if values lie outside of its axis."""
    if all(scale.low <= v <= scale.high for v in values if drawable(v)):
        return note
    return "; ".join(part for part in (note, "the worst values lie outside") if part)


def clipped_lines(pairs: Sequence[Pair], scale: Scale) -> list[tuple[Point, ...]]:
    """Parts of the line through (position, value) pairs that lie on the axis; it breaks where a value is missing."""
    parts: list[list[Point]] = []
    for run in _runs(pairs):
        if len(run) == 1 and scale.low <= run[0][1] <= scale.high:
            parts.append([Point(run[0][0], scale(run[0][1]))])
        for left, right in itertools.pairwise(run):
            ends = _clipped(left, right, scale)
            if ends is None:
                continue
            a, b = (Point(round(x, 3), scale(y)) for x, y in ends)
            if parts and parts[-1][-1] == a and ends[0] == left:
                parts[-1].append(b)
            else:
                parts.append([a, b])
    return [tuple(part) for part in parts]


def band(triples: Sequence[tuple[float, float, float]], scale: Scale) -> tuple[tuple[Point, ...], ...]:
    """Polygons between the lower and upper values at (position, lower, upper), cut at the ends of the axis; gaps where
    one is missing.
    """
    polygons = []
    for run in _runs(triples):
        outline = [(x, high) for x, _, high in run] + [(x, low) for x, low, _ in reversed(run)]
        for edge, inside in ((scale.low, 1.0), (scale.high, -1.0)):
            outline = _cut(outline, edge, inside)
        if len(run) > 1 and outline:
            polygons.append(tuple(Point(round(x, 3), scale(y)) for x, y in outline))
    return tuple(polygons)


def labelled_mark(point: Point, label: str, lines: Sequence[Line], *, above: bool) -> Mark:
    """A dot with its label on the side where the fewest of the lines run through it; ``above`` is preferred or not."""
    width, height = _LABEL_WIDTH * len(label), _LABEL_HEIGHT
    crowd = [p for line in lines for p in _densely(line.points)]

    def cost(place: tuple[str, bool]) -> tuple[bool, int]:
        side, up = place
        left = point.x - width - 1 if side == "left" else point.x + 1
        top = point.y - height - 2 if up else point.y + 2
        outside = left < 0 or left + width > 100 or top < -8 or top + height > 100
        return outside, sum(left <= p.x <= left + width and top <= p.y <= top + height for p in crowd)

    places = [(side, up) for up in (above, not above) for side in ("right", "left")]
    side, up = min(places, key=cost)
    return Mark(point, label, side, up)


def _densely(points: Sequence[Point]) -> list[Point]:
    """Points along a line, about one percent of the width apart."""
    dense = []
    for a, b in itertools.pairwise(points):
        n = math.ceil(abs(b.x - a.x)) + 1
        dense += [Point(a.x + (b.x - a.x) * t / n, a.y + (b.y - a.y) * t / n) for t in range(n)]
    return dense


def _runs(rows: Sequence[tuple[float, ...]]) -> list[list[tuple[float, ...]]]:
    grouped = itertools.groupby(rows, key=lambda row: all(map(drawable, row)))
    return [list(run) for whole, run in grouped if whole]


def _cut(outline: list[Pair], edge: float, inside: float) -> list[Pair]:
    """The part of a polygon on one side of a horizontal edge (Sutherland & Hodgman 1974)."""
    part: list[Pair] = []
    for (x0, y0), (x1, y1) in zip(outline[-1:] + outline[:-1], outline, strict=True):
        before, after = inside * (y0 - edge), inside * (y1 - edge)
        if (before < 0) != (after < 0):
            part.append((x0 + (x1 - x0) * before / (before - after), edge))
        if after >= 0:
            part.append((x1, y1))
    return part


def _clipped(left: tuple[float, ...], right: tuple[float, ...], scale: Scale) -> tuple[Pair, Pair] | None:
    """The part of a segment whose values lie within the axis."""
    (x0, y0), (x1, y1) = left, right
    first, last = 0.0, 1.0
    for edge, inside in ((scale.low, 1.0), (scale.high, -1.0)):
        start, end = inside * (y0 - edge), inside * (y1 - edge)
        if start < 0 and end < 0:
            return None
        if start < 0:
            first = max(first, start / (start - end))
        elif end < 0:
            last = min(last, start / (start - end))
    if first > last:
        return None

    def at(t: float) -> Pair:
        return (x0, y0) if t == 0.0 else (x1, y1) if t == 1.0 else (x0 + t * (x1 - x0), y0 + t * (y1 - y0))

    return at(first), at(last)
