"""From data to positions: scales, bars, and panels over one another, and the tables next to them.

Positions are percentages of the plot area, x to the right and y downwards, so that every chart fits any width. Nothing
here knows HTML.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bayesieve.words import format_number

SMALLEST_SPAN = 1e-290  # below it, powers of ten underflow
# With more classes than colours that a colour-blind reader can tell apart, segments are ranked and named instead.
N_CLASS_COLOURS = 8
N_RANKED_SEGMENTS = 5
_LABEL_WIDTH = 0.85  # of a character, in percent of the width; a narrow page only moves labels, it loses none
_LABEL_HEIGHT = 9.0  # in percent of the height


@dataclass(frozen=True)
class Scale:
    """Linear map of [low, high] to [start, stop]; values outside are drawn at the border."""

    low: float
    high: float
    start: float = 0.0
    stop: float = 100.0

    def __call__(self, value: float) -> float:
        if math.isnan(value) or self.high <= self.low:
            return round((self.start + self.stop) / 2, 3)
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.stop - self.start), 3)


@dataclass(frozen=True)
class Tick:
    position: float
    label: str


@dataclass(frozen=True)
class Point:
    x: float
    y: float


@dataclass(frozen=True)
class Box:
    """A rectangle from its upper left corner, with a text to hover over."""

    x: float
    y: float
    width: float
    height: float
    label: str = ""


def polyline(points: Iterable[Point]) -> str:
    """The `points` attribute of an SVG polyline.

    Examples
    --------
    >>> polyline([Point(0, 100), Point(33.333, 0.5)])
    '0,100 33.33,0.5'
    """
    return " ".join(f"{round(p.x, 2):g},{round(p.y, 2):g}" for p in points)


def drawable(value: float) -> bool:
    """Whether a number has a place on an axis; sums of those that have one stay finite."""
    return math.isfinite(value) and abs(value) < 1e300


def tick_step(low: float, high: float, n_ticks: int = 5) -> float:
    """A step of 1, 2 or 5 times a power of ten that gives about `n_ticks` ticks between `low` and `high`."""
    span = high - low
    if not math.isfinite(span) or span <= SMALLEST_SPAN:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / n_ticks))
    for factor in (1.0, 2.0, 5.0, 10.0):
        if span / (factor * power) <= n_ticks:
            return factor * power
    return 10.0 * power


def tick_values(low: float, high: float, n_ticks: int = 5) -> list[float]:
    """Round numbers within [low, high].

    Examples
    --------
    >>> tick_values(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high - low > max(SMALLEST_SPAN, 1e-12 * max(abs(low), abs(high))):
        return [low]  # no round numbers left between two neighbouring floats
    step = tick_step(low, high, n_ticks)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step)))
    return [round(i * step, digits) for i in range(first, last + 1)]


def decimals_of(step: float) -> int:
    return max(0, -math.floor(math.log10(step) + 1e-9))


def value_ticks(scale: Scale) -> tuple[Tick, ...]:
    """Round numbers along an axis."""
    decimals = decimals_of(tick_step(scale.low, scale.high))
    return tuple(Tick(scale(v), format_number(v, decimals)) for v in tick_values(scale.low, scale.high))


def thinned(indices: int, limit: int) -> list[int]:
    """At most `limit` evenly spread indices of range(indices), first and last among them.

    Examples
    --------
    >>> thinned(10, 4)
    [0, 3, 6, 9]
    """
    if indices <= limit:
        return list(range(indices))
    return sorted({round(i * (indices - 1) / (limit - 1)) for i in range(limit)})


def spaced(positions: Sequence[float], limit: int) -> list[int]:
    """Indices of positions along an axis of length 100, about `limit` at most and no two too close to
    distinguish; first and last among them.

    Examples
    --------
    >>> spaced([0, 10, 20, 30, 50, 100], 5)
    [0, 2, 4, 5]
    """
    if len(positions) <= limit:
        return list(range(len(positions)))
    indices = [0]
    for i in range(1, len(positions) - 1):
        if abs(positions[i] - positions[indices[-1]]) >= 100 / limit - 1e-9:
            indices.append(i)
    return [*indices, len(positions) - 1]


@dataclass(frozen=True)
class Segment:
    """Part of a stacked bar; `index` is the class, None for all classes not named."""

    index: int | None
    start: float
    width: float
    share: float
    n_classes: int = 1


@dataclass(frozen=True)
class Bar:
    """A bar for an amount; `clipped` if it is longer than its axis."""

    start: float
    width: float
    value: float
    clipped: bool = False


@dataclass(frozen=True)
class Waterfall:
    """Bars for the prior, each amount and the total; `zero` is where the log-odds are even."""

    bars: tuple[Bar, ...]
    zero: float
    total: float


def bar_width(value: float, whole: float) -> float:
    """Width of a bar, in percent of the longest possible one."""
    if not (math.isfinite(value) and math.isfinite(whole)) or whole <= 0:
        return 0.0
    return round(100 * min(max(value / whole, 0.0), 1.0), 2)


def stacked_segments(shares: Sequence[float], *, n_named: int = N_RANKED_SEGMENTS) -> list[Segment]:
    """Segments of a bar of width 100.

    Up to `N_CLASS_COLOURS` classes keep their order, so that bars compare from one level to the next. Of more
    classes, the `n_named` largest come first, then one segment for all the others.
    """
    cleaned = [share if math.isfinite(share) and share > 0 else 0.0 for share in shares]
    total = sum(cleaned)
    if total <= 0:
        return []
    order = list(range(len(cleaned)))
    if len(order) > N_CLASS_COLOURS:
        order.sort(key=lambda j: (-cleaned[j], j))
        order = order[:n_named]
    segments: list[Segment] = []
    position = 0.0
    for j in order:
        share = cleaned[j] / total
        if share > 0:
            segments.append(Segment(j, round(position, 3), round(100 * share, 3), share))
            position += 100 * share
    n_others = len(cleaned) - len(order)
    if n_others and 100 - position > 1e-6:
        segments.append(Segment(None, round(position, 3), round(100 - position, 3), 1 - position / 100, n_others))
    return segments


def diverging_bar(value: float, limit: float) -> Bar:
    """A bar on an axis from -limit to limit: from the middle (50) to the right, or if negative to the left."""
    if math.isnan(value) or limit <= 0:
        return Bar(50.0, 0.0, value)
    half = 50 * min(abs(value) / limit, 1.0)
    start = 50.0 if value >= 0 else 50 - half
    return Bar(round(start, 3), round(half, 3), value, abs(value) > limit * (1 + 1e-9))


def evidence_limit(per_feature: Sequence[Sequence[float]]) -> float:
    """End of the evidence axis that all features share.

    A level without a single row of some class has an evidence of about log N, which would flatten every other bar:
    the axis ends at four times the median of the largest evidence of a feature, or at the largest of all if that
    is less.
    """
    peaks = [
        max(abs(v) for v in values if math.isfinite(v)) for values in per_feature if any(map(math.isfinite, values))
    ]
    peaks = [peak for peak in peaks if peak > 0]
    if not peaks:
        return 1.0
    return min(max(peaks), 4 * statistics.median(peaks))


def waterfall(prior: float, amounts: Sequence[float]) -> Waterfall:
    """Lay out prior, amounts and their sum on one axis.

    Infinite or missing amounts are drawn as nothing, so that one impossible class does not hide the other bars.
    """
    prior, amounts = _drawable(prior), [_drawable(a) for a in amounts]
    totals = [prior]
    for amount in amounts:
        totals.append(totals[-1] + amount)
    low, high = min(0.0, *totals), max(0.0, *totals)
    x = Scale(low, high, 2, 98) if high > low else Scale(-1.0, 1.0, 2, 98)
    spans = [(0.0, prior), *itertools.pairwise(totals), (0.0, totals[-1])]
    bars = tuple(Bar(min(x(a), x(b)), round(abs(x(b) - x(a)), 3), b - a) for a, b in spans)
    return Waterfall(bars, x(0.0), totals[-1])


def _drawable(amount: float) -> float:
    return amount if drawable(amount) else 0.0


Pair = tuple[float, float]


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


@dataclass(frozen=True)
class Head:
    """Head of a column; numbers stand to the right."""

    title: str
    is_number: bool


@dataclass(frozen=True)
class TextTable:
    """Cells as texts; `marked` is the row that stands out, `cap` mentions lines left out."""

    title: str
    columns: tuple[Head, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: int | None = None
    cap: str | None = None


def strength(weight: float) -> float:
    """How strongly a fold is drawn, from 0 (not selected) to 100 (weight 1)."""
    # A small weight is still a selection: it must not fade into the paper.
    return round(25 + 75 * min(weight, 1.0), 1) if weight > 0 else 0.0
