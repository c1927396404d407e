"""Several searches together: what they are worth at equal numbers of features, and how far they differ."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bayesieve.report.data import PathStep, SearchSummary
from bayesieve.report.figures.panels import (
    Line,
    Mark,
    Panel,
    PathDrawing,
    Strip,
    band,
    clipped_lines,
    told_of_outside,
    value_scale,
    value_ticks,
)
from bayesieve.report.figures.path import MAX_LINES, MAX_POINTS
from bayesieve.report.figures.scale import Point, drawable, spaced
from bayesieve.report.figures.sizes import Facet, needs_logarithm, size_label
from bayesieve.report.formats import plural
from bayesieve.report.measures import Measure, measure


@dataclass(frozen=True)
class BySize:
    """One search by number of features: of each size the subset that the search itself prefers."""

    sizes: tuple[int, ...]
    criterion: tuple[float, ...]
    validation: tuple[float, ...]

    def at(self, size: int, *, on_validation: bool) -> float:
        """The value at a size, or at the next smaller one that the search met; NaN outside of its sizes."""
        if not self.sizes or not self.sizes[0] <= size <= self.sizes[-1]:
            return math.nan
        values = self.validation if on_validation else self.criterion
        return values[bisect_right(self.sizes, size) - 1]


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over the searches at one size; the deviation is NaN for a single search."""

    size: int
    mean: float
    deviation: float
    n_searches: int


def by_size(search: SearchSummary) -> BySize:
    """Sizes in order; among subsets of one size the best criterion counts, which does not look at validation rows."""
    sign = 1.0 if search.lower_is_better else -1.0
    best: dict[int, tuple[float, float]] = {}
    for step in search.path:
        if not drawable(step.criterion):
            continue
        known = best.get(step.n_features)
        if known is None or sign * step.criterion < sign * known[0]:
            best[step.n_features] = (step.criterion, math.nan if step.validation is None else step.validation)
    sizes = tuple(sorted(best))
    return BySize(sizes, tuple(best[s][0] for s in sizes), tuple(best[s][1] for s in sizes))


def spread(searches: Sequence[BySize], sizes: Sequence[int], *, on_validation: bool) -> list[Spread]:
    """Mean and standard deviation at each size that at least half of the searches reach; NaN at the others, where the
    few that are left would make the mean jump.
    """
    found = []
    for size in sizes:
        values = [v for s in searches if drawable(v := s.at(size, on_validation=on_validation))]
        enough = 2 * len(values) >= len(searches)
        mean = statistics.fmean(values) if enough else math.nan
        found.append(
            Spread(size, mean, statistics.stdev(values) if enough and len(values) > 1 else math.nan, len(values))
        )
    return found


def spread_drawing(searches: Sequence[SearchSummary]) -> PathDrawing | None:
    """Panels of the mean with a band of one standard deviation, faint lines for the searches themselves."""
    known = [by_size(search) for search in searches]
    met = sorted({size for one in known for size in one.sizes})
    if not met:
        return None
    chosen = [chosen_step(search) for search in searches]
    marked = [step for step in chosen if step is not None]
    facet = Facet(met[0], met[-1], logarithmic=needs_logarithm(met, [step.n_features for step in marked]))
    sizes = [met[i] for i in spaced([facet(size) for size in met], MAX_POINTS)]
    first = searches[0]
    all_steps = [step for search in searches for step in search.path]
    measures = [(measure(first.criterion_name, [s.criterion for s in all_steps], first.lower_is_better), False)]
    if first.validation_name is not None:
        held_out = measure(first.validation_name, [s.validation for s in all_steps], first.validation_lower_is_better)
        measures.append((held_out, True))
    panels, told = [], []
    for shown, on_validation in measures:
        spreads = spread(known, sizes, on_validation=on_validation)
        points = [(step.n_features, step.validation if on_validation else step.criterion) for step in marked]
        panel = _panel(shown, known, spreads, points, facet, on_validation=on_validation)
        if panel is not None:
            panels.append(panel)
            told.append((shown, spreads, on_validation))
    return PathDrawing(
        panels=tuple(panels),
        x_ticks=facet.ticks(),
        x_label=size_label(facet),
        stretches=(),
        names=(),
        strips=tuple(_strips(sizes, told, facet)),
        chosen_x=None,
        n_hidden=max(0, len(searches) - MAX_LINES),
    )


def chosen_step(search: SearchSummary) -> PathStep | None:
    """The move that made the subset chosen."""
    return next((step for step in search.path if (step.start, step.step) == search.chosen), None)


def _panel(
    shown: Measure,
    searches: Sequence[BySize],
    spreads: Sequence[Spread],
    chosen: Sequence[tuple[int, float | None]],
    facet: Facet,
    *,
    on_validation: bool,
) -> Panel | None:
    ends = [v for s in spreads if drawable(s.deviation) for v in (s.mean - s.deviation, s.mean + s.deviation)]
    values = [s.mean for s in spreads] + ends
    picked = [(size, value) for size, value in chosen if value is not None and drawable(value)]
    scale = value_scale(values, [value for _, value in picked], lower_is_better=shown.lower_is_better)
    if scale is None:
        return None
    lines: list[Line] = []
    for one in searches[:MAX_LINES]:
        own = [(facet(s.size), one.at(s.size, on_validation=on_validation)) for s in spreads]
        lines += [Line("start", part) for part in clipped_lines(own, scale)]
    mean = [(facet(s.size), s.mean) for s in spreads]
    lines += [Line("best", part) for part in clipped_lines(mean, scale)]
    return Panel(
        heading=shown.on("the validation rows" if on_validation else "the rows that guide the search"),
        note=told_of_outside(
            f"line: mean of {plural(len(searches), 'search', 'searches')}; band: ± one standard deviation",
            [s.mean for s in spreads],
            scale,
        ),
        bands=band([(facet(s.size), s.mean - s.deviation, s.mean + s.deviation) for s in spreads], scale),
        lines=tuple(lines),
        marks=tuple(Mark(Point(facet(size), scale(value))) for size, value in picked),
        y_ticks=value_ticks(scale),
    )


def _strips(sizes: Sequence[int], told: Sequence[tuple[Measure, list[Spread], bool]], facet: Facet) -> list[Strip]:
    places = [facet(size) for size in sizes]
    edges = [places[0], *((a + b) / 2 for a, b in pairwise(places)), places[-1]]
    strips = []
    for i, (left, right) in enumerate(pairwise(edges)):
        parts = []
        for shown, spreads, on_validation in told:
            here = spreads[i]
            about = f" ± {shown.text(here.deviation)}" if drawable(here.deviation) else ""
            parts.append(f"{'validation ' if on_validation else ''}{shown.title} {shown.text(here.mean)}{about}")
        n_searches = told[0][1][i].n_searches if told else 0
        text = f"{plural(sizes[i], 'feature')}: {', '.join(parts)} over {plural(n_searches, 'search', 'searches')}"
        strips.append(Strip(round(left, 3), round(right - left, 3), text))
    return strips
