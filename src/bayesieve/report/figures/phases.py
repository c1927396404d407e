"""One search along its path: what it is worth over the number of features, phase by phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bayesieve.report.data import PathStep, SearchSummary
from bayesieve.report.figures.panels import (
    Line,
    Mark,
    Panel,
    PathDrawing,
    Stretch,
    Strip,
    band,
    clipped_lines,
    labelled_mark,
    told_of_outside,
    value_scale,
    value_ticks,
)
from bayesieve.report.figures.path import MAX_LINES, MAX_POINTS, best_start, steps_by_start
from bayesieve.report.figures.scale import Point, Scale, Tick, drawable, spaced
from bayesieve.report.figures.sizes import Facet, facets_in_turn, needs_logarithm, size_label, ticks_of
from bayesieve.report.formats import few_digits, plural, shorten, shorten_middle, visible
from bayesieve.report.measures import Measure, measure

MAX_PHASES = 12
MAX_NAME = 24
_NARROWEST_NAME = 2.1  # percent of the width that a feature's name needs


@dataclass(frozen=True)
class _Walk:
    """A walk on its part of the axis: its subsets, where they stand, and whether it is drawn in colour."""

    steps: list[PathStep]
    positions: list[float]
    is_best: bool


def measures_of(search: SearchSummary) -> tuple[Measure, Measure | None]:
    """The criterion that guides the search, and what is measured on its validation rows."""
    steps = search.path
    guide = measure(search.criterion_name, [s.criterion for s in steps], search.lower_is_better)
    if search.validation_name is None:
        return guide, None
    return guide, measure(search.validation_name, [s.validation for s in steps], search.validation_lower_is_better)


def alternates(search: SearchSummary) -> bool:
    """Whether the walks are phases that take turns: one only adds, the next only drops, and so on."""
    directions = [{step.move for step in steps[1:]} for steps in steps_by_start(search.path).values()]
    return all(len(d) <= 1 for d in directions) and all(not a or a != b for a, b in pairwise(directions))


def phase_drawing(search: SearchSummary) -> PathDrawing | None:
    """Panels of the criterion and of the validation rows, or None when no value can be drawn."""
    walks = list(steps_by_start(search.path).values())
    if not walks:
        return None
    in_phases = alternates(search) and len(walks) <= MAX_PHASES
    facets, shown = _placed(search, walks, in_phases=in_phases)
    chosen = _chosen(search, shown)
    guide, held_out = measures_of(search)
    panels = [_panel(search, guide, shown, chosen, on_validation=False)]
    if held_out is not None:
        panels.append(_panel(search, held_out, shown, chosen, on_validation=True))
    best = next(walk for walk in shown if walk.is_best)
    told = shown if in_phases else [best]
    return PathDrawing(
        panels=tuple(panel for panel in panels if panel is not None),
        x_ticks=ticks_of(facets),
        x_label=size_label(facets[0]) if in_phases else "moves made",
        stretches=tuple(_stretches(facets, shown)) if in_phases and len(shown) > 1 else (),
        names=_names(told),
        strips=tuple(strip for walk in told for strip in _strips(walk, guide, held_out, search)),
        chosen_x=None if chosen is None else chosen[1],
        n_hidden=len(walks) - len(shown),
    )


def _placed(search: SearchSummary, walks: list[list[PathStep]], *, in_phases: bool) -> tuple[list[Facet], list[_Walk]]:
    best = search.chosen[0] if search.chosen is not None else best_start(search)
    if in_phases:
        spans = [(float(steps[0].n_features), float(steps[-1].n_features)) for steps in walks]
        chosen = [s.n_features for steps in walks for s in steps if (s.start, s.step) == search.chosen]
        facets = facets_in_turn(spans, logarithmic=needs_logarithm([max(span) for span in spans], chosen))
        placed = zip(walks, facets, strict=True)
        return facets, [_Walk(steps, [facet(s.n_features) for s in steps], True) for steps, facet in placed]
    # Starts of one search have nothing to do with each other: they lie over one another, the best in front.
    others = [steps for steps in walks if steps[0].start != best][: MAX_LINES - 1]
    shown = [*others, *(steps for steps in walks if steps[0].start == best)]
    facet = Facet(0, max(1, max(len(steps) for steps in shown) - 1))
    return [facet], [
        _Walk(steps, [facet(i) for i in range(len(steps))], steps[0].start == best or len(shown) == 1)
        for steps in shown
    ]


def _chosen(search: SearchSummary, walks: Sequence[_Walk]) -> tuple[PathStep, float] | None:
    for walk in walks:
        for step, x in zip(walk.steps, walk.positions, strict=True):
            if (step.start, step.step) == search.chosen:
                return step, x
    return None


def _panel(
    search: SearchSummary,
    shown: Measure,
    walks: Sequence[_Walk],
    chosen: tuple[PathStep, float] | None,
    *,
    on_validation: bool,
) -> Panel | None:
    values = [[_value(step, shown, on_validation) for step in walk.steps] for walk in walks]
    total = search.validation_total if on_validation and shown.is_rate else None
    wanted = _around(_value(chosen[0], shown, on_validation), shown, total) if chosen is not None else []
    plain = [v for own in values for v in own]
    scale = value_scale(plain, wanted, lower_is_better=shown.lower_is_better)
    if scale is not None and total:
        inside = [v for v in plain if scale.low <= v <= scale.high]
        wanted += [v + side * shown.standard_error(v, total) for v in inside for side in (-1, 1)]
        scale = value_scale(plain, wanted, lower_is_better=shown.lower_is_better)
    if scale is None:
        return None
    lines: list[Line] = []
    bands: list[tuple[Point, ...]] = []
    for walk, theirs in zip(walks, values, strict=True):
        kept = _kept(walk, search.chosen)
        pairs = [(walk.positions[i], theirs[i]) for i in kept]
        kind = "best" if walk.is_best else "start"
        lines += [Line(kind, part) for part in clipped_lines(pairs, scale)]
        if total and walk.is_best:
            errors = [shown.standard_error(v, total) if drawable(v) else v for _, v in pairs]
            bands += band([(x, v - e, v + e) for (x, v), e in zip(pairs, errors, strict=True)], scale)
    return Panel(
        heading=shown.on("the validation rows" if on_validation else "the rows that guide the search"),
        note=told_of_outside(f"band: ± one standard error, {plural(total, 'row')}" if total else "", plain, scale),
        bands=tuple(bands),
        lines=tuple(lines),
        marks=_marks(search, chosen, shown, scale, lines, on_validation=on_validation),
        y_ticks=value_ticks(scale),
    )


def _marks(
    search: SearchSummary,
    chosen: tuple[PathStep, float] | None,
    shown: Measure,
    scale: Scale,
    lines: Sequence[Line],
    *,
    on_validation: bool,
) -> tuple[Mark, ...]:
    if chosen is None:
        return ()
    step, x = chosen
    value = _value(step, shown, on_validation)
    if not drawable(value):
        return ()
    # The size is told once, at the value that chose it.
    tells_size = on_validation or search.validation_name is None
    label = f"{plural(step.n_features, 'feature')}, {shown.text(value)}" if tells_size else shown.text(value)
    return (labelled_mark(Point(x, scale(value)), label, lines, above=not shown.lower_is_better),)


def _around(value: float, shown: Measure, total: float | None) -> list[float]:
    """Values that must be on the axis: two standard errors to either side of the chosen subset."""
    if not drawable(value):
        return []
    reach = 2 * shown.standard_error(value, total) if total else 0.0
    return [value - reach, value + reach]


def _value(step: PathStep, shown: Measure, on_validation: bool) -> float:
    value = step.validation if on_validation else shown.of(step)
    return float("nan") if value is None else value


def _kept(walk: _Walk, chosen: tuple[int, int] | None) -> list[int]:
    kept = set(spaced(walk.positions, MAX_POINTS))
    kept |= {i for i, step in enumerate(walk.steps) if (step.start, step.step) == chosen}
    return sorted(kept)


def _stretches(facets: Sequence[Facet], walks: Sequence[_Walk]) -> list[Stretch]:
    found = []
    for number, (facet, walk) in enumerate(zip(facets, walks, strict=True), start=1):
        move = walk.steps[-1].move
        verb = {"add": "adding", "drop": "dropping"}.get(move, "no move")
        found.append(Stretch(facet.start, round(facet.width, 3), f"{number} {verb}, from {walk.steps[0].n_features:,}"))
    return found


def _names(walks: Sequence[_Walk]) -> tuple[Tick, ...]:
    """Features at the moves that have room for a name: all of a short path, the first of a long one."""
    found: list[Tick] = []
    for walk in walks:
        places = walk.positions
        for i in range(1, len(places)):
            near = min(abs(places[j] - places[i]) for j in (i - 1, i + 1) if 0 < j < len(places) or j == 0)
            feature = walk.steps[i].feature
            if near >= _NARROWEST_NAME and feature is not None:
                sign = "" if walk.steps[i].move == "add" else "− "
                found.append(Tick(places[i], sign + shorten_middle(few_digits(visible(feature)), MAX_NAME)))
    return tuple(found)


def _strips(walk: _Walk, guide: Measure, held_out: Measure | None, search: SearchSummary) -> list[Strip]:
    kept = _kept(walk, search.chosen)
    order = sorted(kept, key=lambda i: walk.positions[i])
    places = [walk.positions[i] for i in order]
    edges = [places[0], *((a + b) / 2 for a, b in pairwise(places)), places[-1]]
    return [
        Strip(round(left, 3), round(right - left, 3), step_in_words(walk.steps[i], guide, held_out, search))
        for i, (left, right) in zip(order, pairwise(edges), strict=True)
    ]


def step_in_words(step: PathStep, guide: Measure, held_out: Measure | None, search: SearchSummary) -> str:
    """A subset of the path in one line."""
    verb = {"add": "after adding", "drop": "after dropping"}.get(step.move)
    which = f" {verb} {shorten(visible(step.feature), 60)}" if verb and step.feature is not None else " at the start"
    guiding = guide.of(step)
    told = [] if guiding is None else [f"{guide.title} {guide.text(guiding)}"]
    if held_out is not None and step.validation is not None:
        value = held_out.text(step.validation)
        if held_out.is_rate and search.validation_total:
            error = held_out.standard_error(step.validation, search.validation_total)
            value += f" ± {held_out.text(error)}"
        told.append(f"validation {held_out.title} {value}")
    chosen = "; chosen" if (step.start, step.step) == search.chosen else ""
    return f"{plural(step.n_features, 'feature')}{which}{': ' if told else ''}{', '.join(told)}{chosen}"
