"""Several searches in one figure: means and standard deviations at equal numbers of features."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.data import PathStep, SearchSummary
from bayesieve.report.figures.panels import (
    Line,
    Mark,
    Panel,
    PathDrawing,
    band,
    drawn_lines,
    panel_note,
    strips_between,
    value_scale,
)
from bayesieve.report.figures.path import MAX_LINES, MAX_POINTS, Facet, needs_logarithm, size_label
from bayesieve.report.figures.scale import Point, drawable, spaced, value_ticks
from bayesieve.report.measures import Measure, measures_of
from bayesieve.words import plural


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over the searches at one size; the deviation is NaN for a single search."""

    size: int
    mean: float
    deviation: float
    n_searches: int

    def text(self, shown: Measure) -> str:
        return shown.text(self.mean) + (f" ± {shown.text(self.deviation)}" if drawable(self.deviation) else "")


def by_size(search: SearchSummary) -> list[PathStep]:
    """Of every size the subset with the best criterion, in the order of the sizes; validation rows are not asked."""
    sign = 1.0 if search.lower_is_better else -1.0
    best: dict[int, PathStep] = {}
    for step in search.path:
        known = best.get(step.n_features)
        if drawable(step.criterion) and (known is None or sign * step.criterion < sign * known.criterion):
            best[step.n_features] = step
    return [best[size] for size in sorted(best)]


def value_at(steps: Sequence[PathStep], size: int, *, on_validation: bool) -> float:
    """The value at a size, or at the next smaller one that the search met; NaN outside of its sizes."""
    place = bisect_right(steps, size, key=lambda step: step.n_features) - 1
    if place < 0 or size > steps[-1].n_features:
        return math.nan
    value = steps[place].validation if on_validation else steps[place].criterion
    return math.nan if value is None else value


def sizes_of(searches: Sequence[Sequence[PathStep]]) -> list[int]:
    return sorted({step.n_features for steps in searches for step in steps})


def spread(searches: Sequence[Sequence[PathStep]], sizes: Sequence[int], *, on_validation: bool) -> list[Spread]:
    """Mean and standard deviation at each size that at least half of the searches reach; NaN at the others, where the
    few that are left would make the mean jump.
    """
    spreads = []
    for size in sizes:
        values = [v for s in searches if drawable(v := value_at(s, size, on_validation=on_validation))]
        enough = 2 * len(values) >= len(searches)
        mean = statistics.fmean(values) if enough else math.nan
        deviation = statistics.stdev(values) if enough and len(values) > 1 else math.nan
        spreads.append(Spread(size, mean, deviation, len(values)))
    return spreads


def spread_drawing(summaries: Sequence[SearchSummary]) -> PathDrawing | None:
    """Panels of the mean with a band of one standard deviation, faint lines for the searches themselves."""
    searches = [by_size(summary) for summary in summaries]
    met = sizes_of(searches)
    if not met:
        return None
    chosen = [step for summary in summaries if (step := chosen_step(summary)) is not None]
    facet = Facet(met[0], met[-1], logarithmic=needs_logarithm(met, [step.n_features for step in chosen]))
    sizes = [met[i] for i in spaced([facet(size) for size in met], MAX_POINTS)]
    panels, drawn = [], []
    for shown in measures_of(*summaries):
        spreads = spread(searches, sizes, on_validation=shown.on_validation)
        panel = _panel(shown, searches, spreads, chosen, facet)
        if panel is not None:
            panels.append(panel)
            drawn.append((shown, spreads))
    texts = [_in_words(size, [(shown, spreads[i]) for shown, spreads in drawn]) for i, size in enumerate(sizes)]
    return PathDrawing(
        panels=tuple(panels),
        x_ticks=facet.ticks(),
        x_label=size_label(facet),
        strips=tuple(strips_between([facet(size) for size in sizes], texts)),
        n_hidden=max(0, len(summaries) - MAX_LINES),
    )


def chosen_step(search: SearchSummary) -> PathStep | None:
    """The move that leads to the chosen subset."""
    return next((step for step in search.path if (step.start, step.step) == search.chosen), None)


def _panel(
    shown: Measure,
    searches: Sequence[Sequence[PathStep]],
    spreads: Sequence[Spread],
    chosen: Sequence[PathStep],
    facet: Facet,
) -> Panel | None:
    means = [s.mean for s in spreads]
    ends = [v for s in spreads if drawable(s.deviation) for v in (s.mean - s.deviation, s.mean + s.deviation)]
    values = [(step.n_features, step.validation if shown.on_validation else step.criterion) for step in chosen]
    marked = [(size, value) for size, value in values if value is not None and drawable(value)]
    scale = value_scale(means + ends, [value for _, value in marked], lower_is_better=shown.lower_is_better)
    if scale is None:
        return None
    lines: list[Line] = []
    for search in searches[:MAX_LINES]:
        own = [(facet(s.size), value_at(search, s.size, on_validation=shown.on_validation)) for s in spreads]
        lines += drawn_lines("start", own, scale)
    lines += drawn_lines("best", [(facet(s.size), s.mean) for s in spreads], scale)
    note = f"line: mean of {plural(len(searches), 'search', 'searches')}; band: ± one standard deviation"
    return Panel(
        heading=shown.panel_heading,
        note=panel_note(note, means, scale),
        bands=band([(facet(s.size), s.mean - s.deviation, s.mean + s.deviation) for s in spreads], scale),
        lines=tuple(lines),
        marks=tuple(Mark(Point(facet(size), scale(value))) for size, value in marked),
        y_ticks=value_ticks(scale),
    )


def _in_words(size: int, spreads: Sequence[tuple[Measure, Spread]]) -> str:
    """The means at a size in one line."""
    values = [f"{'validation ' if shown.on_validation else ''}{shown.title} {s.text(shown)}" for shown, s in spreads]
    n_searches = spreads[0][1].n_searches if spreads else 0
    return f"{plural(size, 'feature')}: {', '.join(values)} over {plural(n_searches, 'search', 'searches')}"
