"""Horizontal bars: parts of a whole, amounts for or against, and how these add up to a decision."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.figures.scale import Scale, drawable

# With more classes than colours that a colour-blind reader can tell apart, segments are ranked and named instead.
N_CLASS_COLOURS = 8
N_RANKED_SEGMENTS = 5


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
    the axis ends at four times the median of the largest evidence of a feature, or at the largest of all where that
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
