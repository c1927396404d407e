"""From data to positions in a plot area that is 100 wide and 100 high."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bayesieve.words import format_number

SMALLEST_SPAN = 1e-290  # below it, powers of ten underflow


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
