"""Critical-difference diagrams (Demsar 2006, figure 1): average ranks of methods on an axis, and bars that join methods
that do not differ significantly.

Positions are pixels of a drawing of fixed width, since names need room that does not shrink with the plot.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve import words
from bayesieve.report.drawing import Head, Scale, TextTable, Tick, tick_values
from bayesieve.report.figure import Figure
from bayesieve.statistics import cliques, groups_not_apart

_MOST_PAIRS = 6  # pairs that a caption names
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
    """The critical difference, to scale; `cut` if it is longer than the axis."""

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


def critical_difference_figure(
    names: Sequence[str],
    ranks: Sequence[float],
    difference: float | None,
    *,
    n_data: int | None = None,
    alpha: float = 0.05,
    title: str | None = None,
) -> Figure:
    """Draw a critical-difference diagram (Demsar 2006, figure 1): the best rank on the left, and a bar over methods
    that are not significantly different.

    Parameters
    ----------
    names : (n_methods,)
    ranks : (n_methods,) average ranks over data sets, 1 is best, from `average_ranks`.
    difference : float or None
        From `critical_difference`; None if no test is possible; then there are no bars.
    n_data : number of data sets, for the caption.
    alpha : level that `difference` belongs to, for the caption.
    title : str, optional

    Returns
    -------
    Figure

    Raises
    ------
    ValueError
        If names and ranks differ in number, or a rank is not between 1 and their number.

    Examples
    --------
    >>> from bayesieve.statistics import critical_difference
    >>> from bayesieve.report.critical_difference import critical_difference_figure
    >>> names, ranks = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"], [3.143, 2.000, 2.893, 1.964]
    >>> critical_difference_figure(names, ranks, critical_difference(4, 14), n_data=14).caption
    'Average ranks of 4 methods over 14 data sets, 1 is best. No two methods differ significantly (Nemenyi, 5%).'
    """
    values = [float(rank) for rank in ranks]
    if len(names) != len(values):
        raise ValueError(f"{len(values)} ranks cannot be drawn for {len(names)} names; each method needs one.")
    wrong = next((i for i, v in enumerate(values) if not 1 - 1e-9 <= v <= len(values) + 1e-9), None)
    if wrong is not None:
        raise ValueError(f"The average rank of {names[wrong]!r} must be from 1 to {len(values)}, got {values[wrong]}.")
    if difference is not None and not (math.isfinite(difference) and difference > 0):
        raise ValueError(f"The critical difference is a positive number of ranks or None, got {difference}.")
    groups = [] if difference is None else cliques(values, difference)
    over = "" if n_data is None else f" over {words.plural(n_data, 'data set')}"
    text = f"Average ranks of {words.plural(len(values), 'method')}{over}, 1 is best."
    caption = f"{text} {_finding(values, groups, difference, alpha)}".strip()
    return _figure(names, values, groups, difference, title or "Average ranks", caption)


def fold_rank_figure(
    names: Sequence[str],
    ranks: Sequence[float],
    apart: Sequence[tuple[int, int]],
    *,
    n_folds: int,
    alpha: float = 0.05,
    title: str,
) -> Figure:
    """Draw average ranks over the folds of one data set, as `critical_difference_figure` does over data sets.

    Folds share their rows, so tests of ranks do not apply; bars join neighbours by rank of which no two are ``apart``.

    Parameters
    ----------
    names : (n_methods,)
    ranks : (n_methods,) average ranks over folds, 1 is best.
    apart : pairs of places that differ significantly by a test of the folds.
    n_folds, alpha : for the caption.
    title : str

    Returns
    -------
    Figure

    Examples
    --------
    >>> from bayesieve.report.critical_difference import fold_rank_figure
    >>> fold_rank_figure(["A", "B", "C"], [1.2, 2.1, 2.7], [(0, 2)], n_folds=10, title="AUC").drawing.bars[0].methods
    (0, 1)
    """
    values = [float(rank) for rank in ranks]
    groups = groups_not_apart(values, apart) if n_folds > 1 else []
    unjoined = _not_apart_without_bar(len(values), groups, apart) if n_folds > 1 else []
    test = f"corrected resampled t-test of the folds, {words.format_percent(alpha, 0)} each"
    if n_folds < 2:
        finding = "A single fold cannot be tested, so no methods are joined."
    elif unjoined and not groups:
        finding = f"No neighbours by rank are joined by a bar ({test})."
    else:
        finding = _bars_in_words(len(values), groups, test)
    if unjoined:
        pairs = [f"{names[i]} and {names[j]}" for i, j in unjoined[:_MOST_PAIRS]]
        more = f"; and {len(unjoined) - _MOST_PAIRS} more pairs" if len(unjoined) > _MOST_PAIRS else ""
        finding += f" Without a bar, but not significantly different either: {'; '.join(pairs)}{more}."
    text = f"Average ranks of {words.plural(len(values), 'method')} over {words.plural(n_folds, 'fold')}, 1 is best."
    return _figure(names, values, groups, None, title, f"{text} {finding}", tested=n_folds > 1)


def _not_apart_without_bar(
    n_methods: int, groups: Sequence[tuple[int, ...]], apart: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Pairs that do not differ significantly, though a method ranked between them differs from one of them."""
    distinct = {frozenset(pair) for pair in apart}
    return [
        pair
        for pair in itertools.combinations(range(n_methods), 2)
        if frozenset(pair) not in distinct and not any(set(pair) <= set(group) for group in groups)
    ]


def _figure(
    names: Sequence[str],
    ranks: Sequence[float],
    groups: Sequence[tuple[int, ...]],
    difference: float | None,
    title: str,
    caption: str,
    tested: bool = False,
) -> Figure:
    drawing = rank_drawing(names, ranks, groups, difference) if ranks else None
    table = _table(names, ranks, groups, tested or difference is not None)
    return Figure(title, caption, drawing, table, template="critical_difference")


def _finding(ranks: Sequence[float], groups: Sequence[Sequence[int]], difference: float | None, alpha: float) -> str:
    test = f"Nemenyi, {words.format_percent(alpha, 0 if math.isclose(100 * alpha, round(100 * alpha)) else 1)}"
    if len(ranks) < 2:
        return ""
    if difference is None:
        return "No test is possible, so no methods are joined."
    if difference > len(ranks) - 1:
        return (
            f"The critical difference, {words.format_number(difference, 2)}, is more than ranks can differ: with so "
            f"few data sets the test ({test}) can show nothing."
        )
    return _bars_in_words(len(ranks), groups, test)


def _bars_in_words(n_methods: int, groups: Sequence[Sequence[int]], test: str) -> str:
    if any(len(group) == n_methods for group in groups):
        return f"No two methods differ significantly ({test})."
    if not groups:
        return f"All methods differ significantly ({test})."
    return f"Bars join methods that do not differ significantly ({test})."


def _table(names: Sequence[str], ranks: Sequence[float], groups: Sequence[Sequence[int]], tested: bool) -> TextTable:
    order = sorted(range(len(names)), key=lambda i: (ranks[i], i))
    columns = [Head("Method", False), Head("Average rank", True)]
    if tested:
        columns.append(Head("Not significantly different from", False))
    rows = []
    for i in order:
        cells = [words.shorten(words.not_blank(names[i]), 80), words.format_number(ranks[i], 2)]
        if tested:
            alike = [j for j in order if j != i and any(i in group and j in group for group in groups)]
            all_others = len(alike) == len(names) - 1 and len(alike) > 2
            listed = ", ".join(words.shorten(words.not_blank(names[j]), 40) for j in alike)
            cells.append("every other method" if all_others else listed or "none")
        rows.append(tuple(cells))
    return TextTable("Average ranks", tuple(columns), tuple(rows))


def rank_drawing(
    names: Sequence[str], ranks: Sequence[float], groups: Sequence[Sequence[int]], difference: float | None
) -> RankDrawing:
    """Lay out a diagram; `groups` are places in `names`, `difference` is in ranks, or None."""
    n = len(names)
    texts = [words.shorten_middle(words.not_blank(name), MAX_NAME) for name in names]
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
        ticks=tuple(Tick(axis(v), words.format_number(v, 0)) for v in _tick_ranks(n)),
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
    return Span(axis.start, stop, _AXIS_Y - 36, f"critical difference {words.format_number(difference, 2)}", cut)
