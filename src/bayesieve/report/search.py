"""The search of a model: its measures, walks and means over searches as words and tables, and its path as a drawing,
phase by phase, with a line for every start or the means of several searches.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

from bayesieve.criteria import CRITERIA, Criterion
from bayesieve.parts import Score
from bayesieve.report import drawing as draw
from bayesieve.report.data import PathStep, SearchSummary
from bayesieve.report.drawing import Head, TextTable, drawable, thinned
from bayesieve.selection import SELECTORS, CodedSelector
from bayesieve.words import (
    few_digits,
    format_count,
    format_number,
    format_seconds,
    not_blank,
    plural,
    shorten,
    shorten_middle,
)

_OWN = ("name", "description", "path", "chosen", "clusters")  # fields that are no attributes of a trace, or differ
MAX_MOVES = 200
MAX_SIZES = 100
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
class Measure:
    """A criterion or performance measure by its name, on the rows that guide a search or on validation rows.

    `digits` are the decimals that distinguish its values; `of_methods`: a performance measure, of a comparison.
    """

    name: str
    lower_is_better: bool = True
    digits: int = 4
    on_validation: bool = False
    of_methods: bool = False

    @property
    def higher_is_better(self) -> bool:
        return not self.lower_is_better

    @property
    def title(self) -> str:
        """The title in the middle of a sentence."""
        if self.of_methods and self.name == "brier":  # the criterion of this name sums over both of two classes
            return "Brier score"
        return self._facts.get("title") or self.name.replace("_", " ").strip() or "criterion"

    @property
    def capitalised(self) -> str:
        """The title with a capital letter, except for mRMR."""
        return self.title if self.title[1:2].isupper() else self.title[:1].upper() + self.title[1:]

    @property
    def unit(self) -> str:
        """Such as "nats"; empty without."""
        return str(self._facts.get("unit", ""))

    @property
    def evaluated(self) -> str:
        """The thing that a search evaluates by it."""
        return str(self._facts.get("of", "model"))

    @property
    def is_of_features(self) -> bool:
        """Whether it scores the feature that a step of a filter or of boosting adds, rather than a subset."""
        return self.evaluated in ("feature", "round")

    @property
    def heading(self) -> str:
        """The head of a column, with the unit."""
        if self.on_validation:
            return f"Validation: {self.title}"
        return self.capitalised + (f", {self.unit}" if self.unit else "")

    @property
    def panel_heading(self) -> str:
        """The head of a panel, with the rows and the unit."""
        rows = "the validation rows" if self.on_validation else "the rows that guide the search"
        where = "of the feature added" if self.is_of_features else f"on {rows}"
        return f"{self.capitalised} {where}" + (f", in {self.unit}" if self.unit else "")

    def of(self, step: PathStep) -> float | None:
        """The value at a step of a search, or None."""
        if self.on_validation:
            return step.validation
        return None if self.is_of_features and step.feature is None else step.criterion

    def text(self, value: float | None) -> str:
        return format_number(value, self.digits)

    def in_words(self, value: float, search: SearchSummary) -> str:
        """The measure and its value, with the standard error if it is known."""
        error = self.standard_error(value, n_rows) if (n_rows := self.n_rows(search)) else None
        return f"{self.title} {self.text(value)}" + ("" if error is None else f" ± {self.text(error)}")

    def n_rows(self, search: SearchSummary) -> float | None:
        """Number of validation rows if the measure is a share of them and has a standard error, else None."""
        return search.validation_total if self.on_validation and self.name == "error" else None

    @staticmethod
    def standard_error(value: float, n_rows: float) -> float:
        """sqrt(e (1 - e) / n) of an error rate on n rows.

        Examples
        --------
        >>> round(Measure("error").standard_error(0.1, 900), 6)
        0.01
        """
        return math.sqrt(max(value * (1.0 - value), 0.0) / n_rows) if math.isfinite(value) else math.nan

    @cached_property
    def _facts(self) -> Mapping[str, Any]:
        # A criterion under its own name does not inherit the title of another.
        return vars(_described(self.name))


def measures_of(*searches: SearchSummary) -> tuple[Measure, ...]:
    """The criterion that guides the searches, and the measure on their validation rows, if any."""
    first = searches[0]
    steps = [step for search in searches for step in search.path]
    guide = measure(first.criterion_name, [step.criterion for step in steps], first.lower_is_better)
    if first.validation_name is None:
        return (guide,)
    values = [step.validation for step in steps]
    return guide, measure(first.validation_name, values, first.validation_lower_is_better, on_validation=True)


def measure(
    name: str, values: Iterable[float | None], lower_is_better: bool = True, on_validation: bool = False
) -> Measure:
    """A measure with decimals that suit these values: costs in nats get one decimal, shares four.

    Examples
    --------
    >>> measure("error", [0.1063]).text(0.1063), measure("map", [557.25]).text(557.25)
    ('0.1063', '557.2')
    """
    known = [abs(value) for value in values if value is not None and math.isfinite(value)]
    largest = max(known, default=0.0)
    digits = 1 if name == "map" or largest >= 1000 else 2 if largest >= 100 else 3 if largest >= 10 else 4
    return Measure(name, lower_is_better, digits, on_validation)


def _described(name: str) -> Any:
    """The criterion or the score of a selector of this name, of bayesieve, of the user or of other packages."""
    for criteria, selectors in (
        (CRITERIA.own.values(), SELECTORS.own.values()),
        (_defined(Criterion), _defined(CodedSelector)),
        (CRITERIA.values(), SELECTORS.values()),
    ):
        scores = (score for selector in selectors for score in selector.scores)
        for part in chain(criteria, scores):
            if vars(part).get("name") == name:
                return part
    return Score(name)


def _defined(base: type) -> Iterator[Any]:
    """All classes that are derived from a class, the latest first."""
    part: type
    for part in reversed(base.__subclasses__()):
        yield from _defined(part)
        yield part


def summarise_trace(
    trace: Any, support: Iterable[bool] | None = None, *, name: str = "", description: str = ""
) -> SearchSummary:
    """Data of a `SearchTrace` for figures.

    Parameters
    ----------
    trace : SearchTrace
    support : bools, (n_features,), optional
        The subset that was selected; it is marked where the path first met it.
    name, description : str
        Of the selector.
    """
    path = trace.path()
    steps = tuple(PathStep(*values) for values in zip(*(path[f.name] for f in fields(PathStep)), strict=True))
    chosen = None if support is None else _first_met(trace, support)
    shared = {f.name: getattr(trace, f.name) for f in fields(SearchSummary) if f.name not in _OWN}
    return SearchSummary(name=name, description=description, path=steps, chosen=chosen, **shared)


def chosen_subset(trace: Any, selector: Any = None) -> Iterable[bool] | None:
    """The subset that a fitted selector chose, or without a selector the best of the path.

    None if weights were read from all models together, or the path never met the best subset.
    """
    if selector is not None:
        weights = getattr(selector, "weights_", getattr(selector, "feature_weights_", None))
        fractions = weights is not None and any(0 < w < 1 for w in weights)
        return None if fractions or not hasattr(selector, "support_") else selector.support_
    if trace.criterion_name == "map" and trace.validation_name is None:
        return trace.best_on_path() if trace.best_criterion in trace.path()["criterion"] else None
    return trace.best_on_path()


def _first_met(trace: Any, support: Iterable[bool]) -> tuple[int, int] | None:
    """(start, step) of the subset on the path, or None if the path never meets it."""
    chosen = {feature for feature, is_in in enumerate(support) if is_in}
    for start in range(trace.n_starts):
        # Features in only one of the two subsets; every move adds or removes one such difference.
        differing = chosen ^ set(trace.starts[start].features.tolist())
        if not differing:
            return start, 0
        moves = trace.walk_moves(start)
        for step, (feature, sign) in enumerate(zip(moves.feature.tolist(), moves.sign.tolist(), strict=True), start=1):
            differing ^= {feature} if sign else set()
            if not differing:
                return start, step
    return None


def moves_table(search: SearchSummary) -> TextTable:
    """The moves in order; of more than `MAX_MOVES` those around the chosen subset."""
    measures = measures_of(search)
    steps = [step for walk in steps_by_start(search.path).values() for step in walk]
    several = len({step.start for step in steps}) > 1
    chosen = next((i for i, step in enumerate(steps) if (step.start, step.step) == search.chosen), None)
    first = 0
    if len(steps) > MAX_MOVES:
        first = min(max(0, (chosen or 0) - MAX_MOVES // 2), len(steps) - MAX_MOVES)
    shown = steps[first : first + MAX_MOVES]
    columns = [Head("Step", True), Head("Move", False), Head("Feature", False), Head("Features", True)]
    columns += [Head(measure.heading, True) for measure in measures]
    rows = [_move_row(step, measures) for step in shown]
    if several:
        columns.insert(0, Head("Phase" if alternates(search) else "Start", True))
        rows = [(format_count(step.start + 1), *row) for step, row in zip(shown, rows, strict=True)]
    cap = None
    if len(shown) < len(steps):
        cap = f"{len(shown)} of {len(steps):,} lines" + (", those around the chosen subset." if chosen else ".")
    marked = None if chosen is None else chosen - first
    return TextTable("Moves of the search", tuple(columns), tuple(rows), marked, cap)


def sizes_table(summaries: Sequence[SearchSummary]) -> TextTable:
    """Mean and standard deviation at every size."""
    searches = [by_size(summary) for summary in summaries]
    met = sizes_of(searches)
    sizes = [met[i] for i in thinned(len(met), MAX_SIZES)]
    measures = measures_of(*summaries)
    spreads = [spread(searches, sizes, on_validation=measure.on_validation) for measure in measures]
    columns = [Head(title, True) for title in ("Features", "Searches", *(measure.heading for measure in measures))]
    rows = []
    for i, size in enumerate(sizes):
        cells = [own[i].text(measure) for measure, own in zip(measures, spreads, strict=True)]
        rows.append((format_count(size), format_count(spreads[0][i].n_searches), *cells))
    cap = f"{len(sizes)} of {plural(len(met), 'size')}." if len(sizes) < len(met) else None
    return TextTable("Means by number of features", tuple(columns), tuple(rows), cap=cap)


def _move_row(step: PathStep, measures: Sequence[Measure]) -> tuple[str, ...]:
    feature = "–" if step.feature is None else shorten(not_blank(step.feature), 60)
    values = [measure.text(measure.of(step)) for measure in measures]
    return (format_count(step.step), step.move, feature, format_count(step.n_features), *values)


def path_sentence(search: SearchSummary) -> str:
    """A search along one path, and its chosen subset."""
    measures = measures_of(search)
    guide = measures[0]
    if guide.evaluated == "round":
        return _boosted_sentence(search, guide)
    if guide.is_of_features:
        return _ranking_sentence(search, measures)
    walks = steps_by_start(search.path)
    parts = plural(len(walks), "phase" if alternates(search) else "start")
    text = [
        f"{plural(search.n_models, guide.evaluated)} evaluated in {format_seconds(search.seconds)}"
        f"{f', in {parts}' if 1 < len(walks) < len(search.path) else ''}. {_end(search)}",
        f"On the rows that guide the search, the {guide.title} is {guide.text(search.null_criterion)} without features "
        f"and {guide.text(search.best_criterion)} at best.",
    ]
    if search.measured is not None:
        text.append(f"Measured {search.measured}.")
    step = chosen_step(search)
    if step is not None:
        value = _validated(search, step, measures) or f"{guide.title} {guide.text(step.criterion)}"
        text.append(f"The chosen subset has {plural(step.n_features, 'feature')}: {value}.")
    return " ".join(text)


def _validated(search: SearchSummary, step: PathStep, measures: Sequence[Measure]) -> str:
    """The measure on the validation rows, empty without such rows."""
    if len(measures) < 2 or step.validation is None:
        return ""
    return f"{measures[1].in_words(step.validation, search)} on the validation rows"


def _ranking_sentence(search: SearchSummary, measures: Sequence[Measure]) -> str:
    guide = measures[0]
    scores = [step.criterion for step in search.path if step.feature is not None]
    text = f"{plural(len(scores), 'feature')} ranked by {guide.title} in {format_seconds(search.seconds)}"
    if scores:
        text += f", from {guide.text(scores[0])} down to {guide.text(scores[-1])}"
    step = chosen_step(search)
    if step is not None:
        if not step.n_features:
            text += ". None was chosen"
        elif step.n_features == 1:
            text += ". The first was chosen"
        else:
            text += f". The first {step.n_features} were chosen, the last of them with {guide.text(step.criterion)}"
        validated = _validated(search, step, measures)
        text += f"; {validated}" if validated else ""
    return f"{text}." + (f" Measured {search.measured}." if search.measured is not None else "")


def _sentence(search: SearchSummary) -> str:
    models, starts = plural(search.n_models, "distinct model"), plural(search.n_starts, "start")
    return f"{models} evaluated from {starts} in {format_seconds(search.seconds)}. {_end(search)}"


def _boosted_sentence(search: SearchSummary, guide: Measure) -> str:
    """The rounds of boosting, and how they ended."""
    edges = [step.criterion for step in search.path if step.feature is not None]
    features = {step.feature for step in search.path} - {None}
    rounds = f"{plural(len(edges), 'round')} and {format_seconds(search.seconds)}"
    text = f"{plural(len(features), 'feature')} chosen in {rounds}"
    if edges:
        text += f", by {guide.title} from {guide.text(max(edges))} down to {guide.text(min(edges))}"
    return f"{text}. {_end(search)}"


def _end(search: SearchSummary) -> str:
    if search.ended is not None:
        return f"The search ended {search.ended}."
    if search.complete:
        return "The search ran to its end."
    return "The search was interrupted; it returned the best subset so far."


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


def _goal(search: SearchSummary) -> float:
    return search.best_criterion if drawable(search.best_criterion) else 0.0


def _nearest(steps: Sequence[PathStep], goal: float) -> int:
    return min(range(len(steps)), key=lambda i: abs(steps[i].criterion - goal))


def alternates(search: SearchSummary) -> bool:
    """Whether the walks are phases that take turns: one only adds, the next only drops, and so on."""
    directions = [{step.move for step in steps[1:]} for steps in steps_by_start(search.path).values()]
    return all(len(d) <= 1 for d in directions) and all(not a or a != b for a, b in pairwise(directions))


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


def chosen_step(search: SearchSummary) -> PathStep | None:
    """The move that leads to the chosen subset."""
    return next((step for step in search.path if (step.start, step.step) == search.chosen), None)


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
    if shown.on_validation or search.validation_name is None:  # only one panel shows the size, that of the choice
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
    table: draw.TextTable | None = None


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
