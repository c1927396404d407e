"""The path of a search as a drawing: phase by phase, a line for every start, or the means of several searches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bayesieve.report import drawing as draw
from bayesieve.report.data import PathStep, SearchSummary
from bayesieve.report.search import (
    MAX_MOVES,
    Measure,
    Spread,
    _goal,
    _nearest,
    _sentence,
    alternates,
    best_start,
    by_size,
    chosen_step,
    measures_of,
    moves_table,
    path_sentence,
    sizes_of,
    spread,
    steps_by_start,
    value_at,
)
from bayesieve.words import few_digits, format_count, not_blank, plural, shorten, shorten_middle

MAX_LINES = 60
MAX_POINTS = 300
MAX_PHASES = 12
MAX_NAME = 24
_NARROWEST_NAME = 2.1  # percent of the width that a feature's name needs
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
        return draw.Scale(low, high, *ends)(_shown(size, self.logarithmic))

    @property
    def width(self) -> float:
        return self.stop - self.start

    def ticks(self, *, per_width: float = 9.0) -> tuple[draw.Tick, ...]:
        """Round sizes, no closer to each other than ``per_width`` percent."""
        low, high = sorted((self.first, self.last))
        if low == high:
            sizes = [low]
        elif self.logarithmic:
            sizes = _round_sizes(low, high)
        else:
            n_ticks = max(2, int(self.width / per_width))
            sizes = [v for v in draw.tick_values(low, high, n_ticks) if float(v).is_integer()] or [low, high]
        ticks: list[draw.Tick] = []
        for size in sorted(sizes, key=self):
            position = self(size)
            if not ticks or position - ticks[-1].position >= 0.55 * per_width:
                ticks.append(draw.Tick(position, format_count(size)))
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


def ticks_of(facets: Sequence[Facet]) -> tuple[draw.Tick, ...]:
    """Ticks of all phases; where one phase ends and the next begins there is room for a single number."""
    ticks: list[draw.Tick] = []
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


def path_chart(search: SearchSummary) -> draw.PathDrawing | None:
    """A line for every start over the moves made, and the criterion without features; None without a recorded move."""
    starts = steps_by_start(search.path)
    best = best_start(search)
    if best is None:
        return None
    shown = [s for s in starts if s != best][: MAX_LINES - 1] + [best]  # the best one last, drawn over the others
    values = [step.criterion for s in shown for step in starts[s]]
    values += [v for v in (search.null_criterion, search.best_criterion) if draw.drawable(v)]
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.5 + 1e-3 * abs(high)  # lines should not run along the frame
    x = draw.Scale(0, max(1, max(len(starts[s]) for s in shown) - 1))
    y = draw.Scale(low - room, high + room, 100, 0)
    nearest = _nearest(starts[best], _goal(search))
    panel = draw.Panel(
        heading="",
        note="",
        bands=(),
        lines=tuple(draw.Line("best" if s == best else "start", _places(starts[s], x, y)) for s in shown),
        marks=(draw.Mark(draw.Point(x(nearest), y(starts[best][nearest].criterion))),),
        y_ticks=draw.value_ticks(y),
        reference_y=y(search.null_criterion) if draw.drawable(search.null_criterion) else None,
    )
    x_ticks = tuple(draw.Tick(x(v), format_count(v)) for v in draw.tick_values(x.low, x.high) if float(v).is_integer())
    return draw.PathDrawing((panel,), x_ticks, "moves made", n_hidden=len(starts) - len(shown))


def _places(steps: Sequence[PathStep], x: draw.Scale, y: draw.Scale) -> tuple[draw.Point, ...]:
    return tuple(draw.Point(x(i), y(steps[i].criterion)) for i in draw.thinned(len(steps), MAX_POINTS))


@dataclass(frozen=True)
class _Walk:
    """A walk on its part of the axis: its subsets, where they stand, and whether it is drawn in colour."""

    steps: list[PathStep]
    positions: list[float]
    is_best: bool


def phase_drawing(search: SearchSummary) -> draw.PathDrawing | None:
    """Panels of the criterion and of the validation rows, or None if no value can be drawn."""
    walks = list(steps_by_start(search.path).values())
    if not walks:
        return None
    in_phases = alternates(search) and len(walks) <= MAX_PHASES
    facets, shown = _placed(search, walks, in_phases=in_phases)
    chosen = _chosen(search, shown)
    measures = measures_of(search)
    panels = [_panel(search, one, shown, chosen) for one in measures]
    described = shown if in_phases else [next(walk for walk in shown if walk.is_best)]
    return draw.PathDrawing(
        panels=tuple(panel for panel in panels if panel is not None),
        x_ticks=ticks_of(facets),
        x_label=size_label(facets[0]) if in_phases else "moves made",
        stretches=tuple(_stretches(facets, shown)) if in_phases and len(shown) > 1 else (),
        names=_names(described),
        strips=tuple(strip for walk in described for strip in _strips(walk, measures, search)),
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
    search: SearchSummary, shown: Measure, walks: Sequence[_Walk], chosen: tuple[PathStep, float] | None
) -> draw.Panel | None:
    values = [[_value(step, shown) for step in walk.steps] for walk in walks]
    every_value = [v for own in values for v in own]
    n_rows = shown.n_rows(search)
    on_axis: list[float] = []
    if chosen is not None and draw.drawable(value := _value(chosen[0], shown)):
        reach = 2 * shown.standard_error(value, n_rows) if n_rows else 0.0
        on_axis = [value - reach, value + reach]
    scale = draw.value_scale(every_value, on_axis, lower_is_better=shown.lower_is_better)
    if scale is not None and n_rows:
        inside = [v for v in every_value if scale.low <= v <= scale.high]
        on_axis += [v + side * shown.standard_error(v, n_rows) for v in inside for side in (-1, 1)]
        scale = draw.value_scale(every_value, on_axis, lower_is_better=shown.lower_is_better)
    if scale is None:
        return None
    lines: list[draw.Line] = []
    bands: list[tuple[draw.Point, ...]] = []
    for walk, own in zip(walks, values, strict=True):
        pairs = [(walk.positions[i], own[i]) for i in _drawn_steps(walk, search.chosen)]
        lines += draw.drawn_lines("best" if walk.is_best else "start", pairs, scale)
        if n_rows and walk.is_best:
            errors = [shown.standard_error(v, n_rows) if draw.drawable(v) else v for _, v in pairs]
            bands += draw.band([(x, v - e, v + e) for (x, v), e in zip(pairs, errors, strict=True)], scale)
    return draw.Panel(
        heading=shown.panel_heading,
        note=draw.panel_note(
            f"band: ± one standard error, {plural(n_rows, 'row')}" if n_rows else "", every_value, scale
        ),
        bands=tuple(bands),
        lines=tuple(lines),
        marks=_marks(search, chosen, shown, scale, lines),
        y_ticks=draw.value_ticks(scale),
    )


def _marks(
    search: SearchSummary,
    chosen: tuple[PathStep, float] | None,
    shown: Measure,
    scale: draw.Scale,
    lines: Sequence[draw.Line],
) -> tuple[draw.Mark, ...]:
    if chosen is None or not draw.drawable(value := _value(chosen[0], shown)):
        return ()
    step, x = chosen
    label = shown.text(value)
    if shown.on_validation or search.validation_name is None:  # only one panel says the size, that of the choice
        label = f"{plural(step.n_features, 'feature')}, {label}"
    return (draw.labelled_mark(draw.Point(x, scale(value)), label, lines, above=not shown.lower_is_better),)


def _value(step: PathStep, shown: Measure) -> float:
    value = shown.of(step)
    return float("nan") if value is None else value


def _drawn_steps(walk: _Walk, chosen: tuple[int, int] | None) -> list[int]:
    indices = set(draw.spaced(walk.positions, MAX_POINTS))
    indices |= {i for i, step in enumerate(walk.steps) if (step.start, step.step) == chosen}
    return sorted(indices)


def _stretches(facets: Sequence[Facet], walks: Sequence[_Walk]) -> list[draw.Strip]:
    stretches = []
    for number, (facet, walk) in enumerate(zip(facets, walks, strict=True), start=1):
        verb = {"add": "adding", "drop": "dropping"}.get(walk.steps[-1].move, "no move")
        text = f"{number} {verb}, from {walk.steps[0].n_features:,}"
        stretches.append(draw.Strip(facet.start, round(facet.width, 3), text))
    return stretches


def _names(walks: Sequence[_Walk]) -> tuple[draw.Tick, ...]:
    """Features at the moves that have room for a name: all of a short path, the first of a long one."""
    names: list[draw.Tick] = []
    for walk in walks:
        places = walk.positions
        for i in range(1, len(places)):
            near = min(abs(places[j] - places[i]) for j in (i - 1, i + 1) if j < len(places))
            feature = walk.steps[i].feature
            if near >= _NARROWEST_NAME and feature is not None:
                sign = "" if walk.steps[i].move == "add" else "− "
                names.append(draw.Tick(places[i], sign + shorten_middle(few_digits(not_blank(feature)), MAX_NAME)))
    return tuple(names)


def _strips(walk: _Walk, measures: Sequence[Measure], search: SearchSummary) -> list[draw.Strip]:
    order = sorted(_drawn_steps(walk, search.chosen), key=lambda i: walk.positions[i])
    texts = [_in_words(walk.steps[i], measures, search) for i in order]
    return draw.strips_between([walk.positions[i] for i in order], texts)


def _in_words(step: PathStep, measures: Sequence[Measure], search: SearchSummary) -> str:
    """A subset of the path in one line."""
    verb = {"add": "after adding", "drop": "after dropping"}.get(step.move)
    which = f" {verb} {shorten(not_blank(step.feature), 60)}" if verb and step.feature is not None else " at the start"
    values = [
        f"{'validation ' if one.on_validation else ''}{one.in_words(value, search)}"
        for one in measures
        if (value := one.of(step)) is not None
    ]
    chosen = "; chosen" if (step.start, step.step) == search.chosen else ""
    return f"{plural(step.n_features, 'feature')}{which}{': ' if values else ''}{', '.join(values)}{chosen}"


def spread_drawing(summaries: Sequence[SearchSummary]) -> draw.PathDrawing | None:
    """Panels of the mean with a band of one standard deviation, faint lines for the searches themselves."""
    searches = [by_size(summary) for summary in summaries]
    met = sizes_of(searches)
    if not met:
        return None
    chosen = [step for summary in summaries if (step := chosen_step(summary)) is not None]
    facet = Facet(met[0], met[-1], logarithmic=needs_logarithm(met, [step.n_features for step in chosen]))
    sizes = [met[i] for i in draw.spaced([facet(size) for size in met], MAX_POINTS)]
    panels, drawn = [], []
    for shown in measures_of(*summaries):
        spreads = spread(searches, sizes, on_validation=shown.on_validation)
        panel = _mean_panel(shown, searches, spreads, chosen, facet)
        if panel is not None:
            panels.append(panel)
            drawn.append((shown, spreads))
    texts = [_means_in_words(size, [(shown, spreads[i]) for shown, spreads in drawn]) for i, size in enumerate(sizes)]
    return draw.PathDrawing(
        panels=tuple(panels),
        x_ticks=facet.ticks(),
        x_label=size_label(facet),
        strips=tuple(draw.strips_between([facet(size) for size in sizes], texts)),
        n_hidden=max(0, len(summaries) - MAX_LINES),
    )


def _mean_panel(
    shown: Measure,
    searches: Sequence[Sequence[PathStep]],
    spreads: Sequence[Spread],
    chosen: Sequence[PathStep],
    facet: Facet,
) -> draw.Panel | None:
    means = [s.mean for s in spreads]
    ends = [v for s in spreads if draw.drawable(s.deviation) for v in (s.mean - s.deviation, s.mean + s.deviation)]
    values = [(step.n_features, step.validation if shown.on_validation else step.criterion) for step in chosen]
    marked = [(size, value) for size, value in values if value is not None and draw.drawable(value)]
    scale = draw.value_scale(means + ends, [value for _, value in marked], lower_is_better=shown.lower_is_better)
    if scale is None:
        return None
    lines: list[draw.Line] = []
    for search in searches[:MAX_LINES]:
        own = [(facet(s.size), value_at(search, s.size, on_validation=shown.on_validation)) for s in spreads]
        lines += draw.drawn_lines("start", own, scale)
    lines += draw.drawn_lines("best", [(facet(s.size), s.mean) for s in spreads], scale)
    note = f"line: mean of {plural(len(searches), 'search', 'searches')}; band: ± one standard deviation"
    return draw.Panel(
        heading=shown.panel_heading,
        note=draw.panel_note(note, means, scale),
        bands=draw.band([(facet(s.size), s.mean - s.deviation, s.mean + s.deviation) for s in spreads], scale),
        lines=tuple(lines),
        marks=tuple(draw.Mark(draw.Point(facet(size), scale(value))) for size, value in marked),
        y_ticks=draw.value_ticks(scale),
    )


def _means_in_words(size: int, spreads: Sequence[tuple[Measure, Spread]]) -> str:
    """The means at a size in one line."""
    values = [f"{'validation ' if shown.on_validation else ''}{shown.title} {s.text(shown)}" for shown, s in spreads]
    n_searches = spreads[0][1].n_searches if spreads else 0
    return f"{plural(size, 'feature')}: {', '.join(values)} over {plural(n_searches, 'search', 'searches')}"


@dataclass(frozen=True)
class SearchSection:
    """The search in words, as a chart, and its moves.

    A search that chose one subset of its path has a `drawing` and a `table`; one whose weights come from many starts
    together has a `chart` and the `moves` of its best start.
    """

    search: SearchSummary
    sentence: str
    chart: draw.PathDrawing | None = None
    chart_cap: str | None = None
    moves: tuple[PathStep, ...] = ()
    moves_cap: str | None = None
    drawing: draw.PathDrawing | None = None
    table: draw.Table | None = None


def search_section(search: SearchSummary | None) -> SearchSection | None:
    """None without a search."""
    if search is None:
        return None
    if search.clusters is not None or (search.n_starts == len(search.path) > 1 and search.criterion_name != "map"):
        return SearchSection(search, path_sentence(search))  # candidates, without a path from one to the other
    if search.chosen is not None or search.criterion_name != "map":
        return SearchSection(search, path_sentence(search), drawing=phase_drawing(search), table=moves_table(search))
    chart, start = path_chart(search), best_start(search)
    moves = steps_by_start(search.path)[start] if start is not None else []
    chart_cap = (
        f"{plural(chart.n_hidden, 'further start')} not drawn." if chart is not None and chart.n_hidden else None
    )
    moves_cap = f"The first {MAX_MOVES} of {len(moves):,} moves." if len(moves) > MAX_MOVES else None
    return SearchSection(search, _sentence(search), chart, chart_cap, tuple(moves[:MAX_MOVES]), moves_cap)
