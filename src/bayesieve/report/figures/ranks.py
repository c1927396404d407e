"""Critical-difference diagram (Demsar 2006, figure 1): average ranks on an axis, and bars that join
methods that do not differ significantly.

Positions are pixels of a drawing of fixed width, since names need room that does not shrink with the plot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.figures.scale import Scale, Tick, tick_values
from bayesieve.words import format_number, not_blank, shorten_middle

WIDTH = 960.0
MARGIN = 24.0
MAX_NAME = 32  # characters that fit next to the axis
_CHARACTER = 8.0  # width of one, on average in names that have many capitals
_RANK = 58.0  # room for "10.17" between the axis and a name
_NARROWEST, _WIDEST = 140.0, 340.0  # room next to the axis
ROW = 22.0  # from one name to the next
LANE = 9.0  # from one bar to the next
_AXIS_Y = 64.0  # with room above for numbers and the critical difference
_OVERHANG = 4.0  # of a bar beyond the ranks it joins
_BAR_GAP = 4.0  # between two bars of one lane


@dataclass(frozen=True)
class RankLabel:
    """A method: down from its rank on the axis at `x` to the height `y` of its name, then out to the side."""

    name: str
    shown: str
    rank: float
    x: float
    y: float
    side: str
    edge: float  # where the line ends and the text begins


@dataclass(frozen=True)
class RankBar:
    """Methods that are not significantly different, by their places in the list given, joined from `x1` to `x2`."""

    x1: float
    x2: float
    y: float
    methods: tuple[int, ...]


@dataclass(frozen=True)
class Span:
    """The critical difference, to scale; `cut` where it is longer than the axis."""

    x1: float
    x2: float
    y: float
    label: str
    cut: bool


@dataclass(frozen=True)
class RankDrawing:
    """Labels from the best rank to the worst, bars from the top down."""

    labels: tuple[RankLabel, ...]
    bars: tuple[RankBar, ...]
    ticks: tuple[Tick, ...]
    span: Span | None
    axis_y: float
    left: float
    right: float
    height: float
    width: float = WIDTH


def rank_drawing(
    names: Sequence[str], ranks: Sequence[float], groups: Sequence[Sequence[int]], difference: float | None
) -> RankDrawing:
    """Lay out a diagram; `groups` are places in `names`, `difference` is in ranks or None where there is none."""
    n = len(names)
    texts = [shorten_middle(not_blank(name), MAX_NAME) for name in names]
    room = MARGIN + _RANK + _CHARACTER * max(map(len, texts), default=0)
    left = min(max(room, _NARROWEST), _WIDEST)
    right = WIDTH - left
    axis = Scale(1.0, float(max(n, 2)), left, right)
    lanes = lanes_of([(axis(min(ranks[i] for i in g)), axis(max(ranks[i] for i in g))) for g in groups])
    bars = tuple(
        RankBar(
            round(axis(min(ranks[i] for i in group)) - _OVERHANG, 3),
            round(axis(max(ranks[i] for i in group)) + _OVERHANG, 3),
            _AXIS_Y + 12 + LANE * lane,
            tuple(group),
        )
        for group, lane in zip(groups, lanes, strict=True)
    )
    first_row = _AXIS_Y + 12 + LANE * (max(lanes, default=-1) + 1) + 16
    order = sorted(range(n), key=lambda i: (ranks[i], i))
    n_left = (n + 1) // 2
    labels = []
    for place, i in enumerate(order):
        # The outermost names are the highest, so that no line crosses another.
        side, row = ("left", place) if place < n_left else ("right", n - 1 - place)
        edge = left - _OVERHANG if side == "left" else right + _OVERHANG
        labels.append(RankLabel(names[i], texts[i], ranks[i], axis(ranks[i]), first_row + ROW * row, side, edge))
    return RankDrawing(
        labels=tuple(labels),
        bars=bars,
        ticks=tuple(Tick(axis(v), format_number(v, 0)) for v in _tick_ranks(n)),
        span=_span(difference, axis),
        axis_y=_AXIS_Y,
        left=left,
        right=right,
        height=first_row + ROW * (n_left - 1) + 20,
    )


def lanes_of(spans: Sequence[tuple[float, float]]) -> list[int]:
    """The highest lane of each span in which it meets no span before it, in the order given."""
    lanes: list[list[tuple[float, float]]] = []
    places = []
    for start, stop in spans:
        start, stop = start - _OVERHANG - _BAR_GAP, stop + _OVERHANG
        place = next((i for i, own in enumerate(lanes) if all(stop < a or b < start for a, b in own)), len(lanes))
        if place == len(lanes):
            lanes.append([])
        lanes[place].append((start, stop))
        places.append(place)
    return places


def _tick_ranks(n: int) -> list[float]:
    """Whole ranks, both ends among them, far enough apart to be read."""
    last = max(n, 2)
    inner = [v for v in tick_values(1.0, float(last), 12 if n <= 12 else 6) if float(v).is_integer() and 1 < v < last]
    step = inner[1] - inner[0] if len(inner) > 1 else 1
    return [1.0, *(v for v in inner if v - 1 >= 0.6 * step and last - v >= 0.6 * step), float(last)]


def _span(difference: float | None, axis: Scale) -> Span | None:
    if difference is None:
        return None
    cut = difference > axis.high - axis.low
    stop = axis.stop if cut else axis(1.0 + difference)
    return Span(axis.start, stop, _AXIS_Y - 36, f"critical difference {format_number(difference, 2)}", cut)
