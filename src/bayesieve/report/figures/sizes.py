"""The horizontal axis of a search: numbers of features, or moves, phase after phase."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.figures.scale import Scale, Tick, tick_values
from bayesieve.words import format_count

_GAP = 3.0  # between phases, in percent of the width
_NARROWEST = 0.1  # share of the width that the shortest phase has at least
_CLOSEST = 4.5  # between two numbers, in percent of the width
_MANY = 60  # features from which on the axis may be logarithmic


@dataclass(frozen=True)
class Facet:
    """Part of the axis from the size that a phase begins with (left) to the one it ends with (right)."""

    first: float
    last: float
    start: float = 0.0
    stop: float = 100.0
    logarithmic: bool = False

    def __call__(self, size: float) -> float:
        low, high = sorted((_shown(self.first, self.logarithmic), _shown(self.last, self.logarithmic)))
        ends = (self.start, self.stop) if self.last >= self.first else (self.stop, self.start)
        return Scale(low, high, *ends)(_shown(size, self.logarithmic))

    @property
    def width(self) -> float:
        return self.stop - self.start

    def ticks(self, *, per_width: float = 9.0) -> tuple[Tick, ...]:
        """Round sizes, no closer to each other than ``per_width`` percent."""
        low, high = sorted((self.first, self.last))
        if low == high:
            sizes = [low]
        elif self.logarithmic:
            sizes = _round_sizes(low, high)
        else:
            n_ticks = max(2, int(self.width / per_width))
            sizes = [v for v in tick_values(low, high, n_ticks) if float(v).is_integer()] or [low, high]
        ticks: list[Tick] = []
        for size in sorted(sizes, key=self):
            position = self(size)
            if not ticks or position - ticks[-1].position >= 0.55 * per_width:
                ticks.append(Tick(position, format_count(size)))
        return tuple(ticks)


def facets_in_turn(spans: Sequence[tuple[float, float]], *, logarithmic: bool) -> list[Facet]:
    """Phases side by side, each as wide as it is long, within reason; ``spans`` are their first and last sizes."""
    lengths = [abs(_shown(last, logarithmic) - _shown(first, logarithmic)) for first, last in spans]
    total = sum(lengths) or 1.0
    shares = [max(length / total, _NARROWEST) if len(spans) > 1 else 1.0 for length in lengths]
    gap = min(_GAP, 30.0 / len(spans))
    room = 100.0 - gap * (len(spans) - 1)
    facets, position = [], 0.0
    for (first, last), share in zip(spans, shares, strict=True):
        stop = position + room * share / sum(shares)
        facets.append(Facet(first, last, round(position, 3), round(min(stop, 100.0), 3), logarithmic))
        position = stop + gap
    return facets


def ticks_of(facets: Sequence[Facet]) -> tuple[Tick, ...]:
    """Ticks of all phases; where one phase ends and the next begins there is room for a single number."""
    ticks: list[Tick] = []
    for tick in (tick for facet in facets for tick in facet.ticks()):
        if not ticks or tick.position - ticks[-1].position >= _CLOSEST:
            ticks.append(tick)
    return tuple(ticks)


def size_label(facet: Facet) -> str:
    return "number of features (logarithmic)" if facet.logarithmic else "number of features"


def needs_logarithm(sizes: Sequence[float], chosen: Sequence[float]) -> bool:
    """Whether the interesting sizes would be crowded at the low end of a plain axis."""
    largest = max(sizes, default=0)
    return largest > _MANY and bool(chosen) and max(chosen) < largest / 4


def _shown(size: float, logarithmic: bool) -> float:
    return math.log1p(size) if logarithmic else float(size)


def _round_sizes(low: float, high: float) -> list[float]:
    powers = range(1 + math.ceil(math.log10(max(high, 1.0))))
    sizes = [0.0, *(factor * 10.0**power for power in powers for factor in (1, 2, 5))]
    return [size for size in sizes if low <= size <= high] or [low, high]
