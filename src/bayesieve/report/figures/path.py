"""The path of a search: criterion against step, one line a start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report.data import PathStep, SearchSummary
from bayesieve.report.figures.scale import Point, Scale, Tick, drawable, thinned, tick_values, value_ticks
from bayesieve.words import format_count

MAX_LINES = 60
MAX_POINTS = 300


@dataclass(frozen=True)
class PathChart:
    """Lines by start, the best last; axes and the two references: the model without features and the best model."""

    lines: dict[int, tuple[Point, ...]]
    n_hidden: int
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    null_y: float | None
    best: Point | None


def steps_by_start(path: Sequence[PathStep]) -> dict[int, list[PathStep]]:
    """The moves of each start with a criterion that can be drawn, in order."""
    starts: dict[int, list[PathStep]] = {}
    for step in path:
        if drawable(step.criterion):
            starts.setdefault(step.start, []).append(step)
    return starts


def best_start(search: SearchSummary) -> int | None:
    """The start that came closest to the best criterion; the first of several."""
    starts = steps_by_start(search.path)
    if not starts:
        return None
    goal = _goal(search)
    distance = {s: abs(steps[_nearest(steps, goal)].criterion - goal) for s, steps in starts.items()}
    return min(distance, key=lambda s: (distance[s], s))


def path_chart(search: SearchSummary) -> PathChart | None:
    """Positions of everything in the chart, or None when no move was recorded."""
    starts = steps_by_start(search.path)
    best = best_start(search)
    if best is None:
        return None
    shown = [s for s in starts if s != best][: MAX_LINES - 1] + [best]  # the best one last, drawn over the others
    x, y = _scales(search, [starts[s] for s in shown])
    x_ticks = tuple(Tick(x(v), format_count(v)) for v in tick_values(x.low, x.high) if float(v).is_integer())
    nearest = _nearest(starts[best], _goal(search))
    return PathChart(
        lines={s: _line(starts[s], x, y) for s in shown},
        n_hidden=len(starts) - len(shown),
        x_ticks=x_ticks,
        y_ticks=value_ticks(y),
        null_y=y(search.null_criterion) if drawable(search.null_criterion) else None,
        best=Point(x(nearest), y(starts[best][nearest].criterion)),
    )


def _goal(search: SearchSummary) -> float:
    return search.best_criterion if drawable(search.best_criterion) else 0.0


def _nearest(steps: Sequence[PathStep], goal: float) -> int:
    return min(range(len(steps)), key=lambda i: abs(steps[i].criterion - goal))


def _scales(search: SearchSummary, shown: Sequence[Sequence[PathStep]]) -> tuple[Scale, Scale]:
    values = [step.criterion for steps in shown for step in steps]
    values += [v for v in (search.null_criterion, search.best_criterion) if drawable(v)]
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.5 + 1e-3 * abs(high)  # lines should not run along the frame
    return Scale(0, max(1, max(len(steps) for steps in shown) - 1)), Scale(low - room, high + room, 100, 0)


def _line(steps: Sequence[PathStep], x: Scale, y: Scale) -> tuple[Point, ...]:
    return tuple(Point(x(i), y(steps[i].criterion)) for i in thinned(len(steps), MAX_POINTS))
