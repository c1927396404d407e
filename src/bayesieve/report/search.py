"""The search of a model in words: its measures, its walks, and how it ended."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, Literal

from bayesieve.criteria import CRITERIA, Criterion
from bayesieve.parts import Score
from bayesieve.report.charts import drawable
from bayesieve.report.page import fill
from bayesieve.selection import SELECTORS, CodedSelector
from bayesieve.words import ShortRepr, format_number

_OWN = ("name", "description", "path", "chosen", "clusters")  # fields that are no attributes of a trace, or differ
_MANY = 60  # features from which on the axis may be logarithmic


@dataclass(frozen=True)
class PathStep:
    """One recorded move of the search: the subset after `move`, its size, its criterion on the rows that guide the
    search and its value on the validation rows (None without).
    """

    start: int
    step: int
    move: Literal["start", "add", "drop", "again"]
    feature: str | None
    n_features: int
    criterion: float
    validation: float | None = None


@dataclass(frozen=True, repr=False)
class SearchSummary(ShortRepr):
    """The search for the weights.

    Attributes
    ----------
    name : the selector, for example ``"compression"``
    description : one sentence on the method, with capital letter and full stop
    n_models : distinct models evaluated
    n_starts : int
    seconds : float
    null_criterion : criterion of the model without features
    best_criterion : float
    complete : false when the search was interrupted or ran out of time
    path : tuple of PathStep
    criterion_name : the criterion that guides the search, for example ``"error_probability"``
    lower_is_better : bool
    validation_name : the measure on the validation rows; None without such rows
    validation_lower_is_better : bool
    validation_total : number (or weight) of the validation rows
    chosen : start and step at which the path met the selected subset; None if weights are read from all models
    measured : where the criterion was measured, and which rows the levels were learnt from, for example ``"on 10
        folds, levels learnt from the rows of the other folds"``
    clusters : the selector, if the search began with the tree of dependent features
    ended : the reason for which the search ended, for example ``"after 20 rounds"``, or None
    """

    name: str
    description: str
    n_models: int
    n_starts: int
    seconds: float
    null_criterion: float
    best_criterion: float
    complete: bool
    path: tuple[PathStep, ...]
    criterion_name: str = "map"
    lower_is_better: bool = True
    validation_name: str | None = None
    validation_lower_is_better: bool = True
    validation_total: float | None = None
    chosen: tuple[int, int] | None = None
    measured: str | None = None
    clusters: Any = None
    ended: str | None = None


@dataclass(frozen=True)
class Measure:
    """A criterion or performance measure by its name, on the rows that guide a search or on validation rows.

    `digits` are the decimals that distinguish its values.
    """

    name: str
    lower_is_better: bool = True
    digits: int = 4
    on_validation: bool = False

    @property
    def higher_is_better(self) -> bool:
        return not self.lower_is_better

    @property
    def title(self) -> str:
        """The title in the middle of a sentence."""
        return self._facts.get("title") or self.name.replace("_", " ").strip() or "criterion"

    @property
    def capitalised(self) -> str:
        """The title with a capital letter, except for mRMR."""
        return self.title if self.title[1:2].isupper() else self.title[:1].upper() + self.title[1:]

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
        """The head of a column or an axis, with the rows and the unit, such as "nats"."""
        if self.on_validation:
            return f"Validation: {self.title}"
        unit = self._facts.get("unit")
        return f"{self.capitalised}, {unit}" if unit else self.capitalised

    def of(self, step: PathStep) -> float | None:
        """Return the value at a step of a search, or None."""
        if self.on_validation:
            return step.validation
        return None if self.is_of_features and step.feature is None else step.criterion

    def text(self, value: float | None) -> str:
        return format_number(value, self.digits)

    def in_words(self, value: float, search: SearchSummary) -> str:
        """Return the measure and its value, with the standard error if it is known."""
        error = self.standard_error(value, n_rows) if (n_rows := self.n_rows(search)) else None
        return f"{self.title} {self.text(value)}" + ("" if error is None else f" ± {self.text(error)}")

    def n_rows(self, search: SearchSummary) -> float | None:
        """Return the number of validation rows if the measure is the share of errors among them; otherwise None."""
        return search.validation_total if self.on_validation and self.name == "error" else None

    @staticmethod
    def standard_error(value: float, n_rows: float) -> float:
        """Return sqrt(e (1 - e) / n) of an error rate on n rows.

        Examples
        --------
        >>> round(Measure("error").standard_error(0.1, 900), 6)
        0.01
        """
        return math.sqrt(max(value * (1.0 - value), 0.0) / n_rows) if math.isfinite(value) else math.nan

    def bounds(self, step: PathStep, search: SearchSummary) -> tuple[float | None, float | None]:
        """Return the value at a step less and plus its standard error, or None twice."""
        value, n_rows = self.of(step), self.n_rows(search)
        if value is None or not n_rows:
            return None, None
        error = self.standard_error(value, n_rows)
        return value - error, value + error

    @cached_property
    def _facts(self) -> Mapping[str, Any]:
        # The title of a built-in criterion does not describe a derived one that has another name.
        return vars(_described(self.name))


def measures_of(*searches: SearchSummary) -> tuple[Measure, ...]:
    """Return the criterion that guides the searches, and the measure on their validation rows, if any."""
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
    """Return a measure with decimals that suit these values: costs in nats get one decimal, shares four.

    Examples
    --------
    >>> measure("error", [0.1063]).text(0.1063), measure("map", [557.25]).text(557.25)
    ('0.1063', '557.2')
    """
    largest = max((abs(value) for value in values if value is not None and math.isfinite(value)), default=0.0)
    digits = 1 if name == "map" or largest >= 1000 else 2 if largest >= 100 else 3 if largest >= 10 else 4
    return Measure(name, lower_is_better, digits, on_validation)


def _described(name: str) -> Any:
    """Return the criterion or the score of a selector of this name, of bayesieve, of the user or of other packages."""
    for criteria, selectors in (
        (CRITERIA.own.values(), SELECTORS.own.values()),
        (_defined(Criterion), _defined(CodedSelector)),
        (CRITERIA.values(), SELECTORS.values()),
    ):
        scores = (score for selector in selectors for score in selector.scores)
        for described in chain(criteria, scores):
            if vars(described).get("name") == name:
                return described
    return Score(name)


def _defined(base: type) -> Iterator[Any]:
    """Yield all classes that are derived from a class, the latest first."""
    subclass: type
    for subclass in reversed(base.__subclasses__()):
        yield from _defined(subclass)
        yield subclass


def summarise_trace(
    trace: Any, support: Iterable[bool] | None = None, *, name: str = "", description: str = ""
) -> SearchSummary:
    """Return data of a `SearchTrace` for figures.

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
    """Return the subset that a fitted selector chose, or without a selector the best of the path.

    None if weights were read from all models together, or the path never met the best subset.
    """
    if selector is not None:
        weights = getattr(selector, "weights_", getattr(selector, "feature_weights_", ()))
        return None if any(0 < weight < 1 for weight in weights) else getattr(selector, "support_", None)
    by_map = trace.criterion_name == "map" and trace.validation_name is None
    return None if by_map and trace.best_criterion not in trace.path()["criterion"] else trace.best_on_path()


def _first_met(trace: Any, support: Iterable[bool]) -> tuple[int, int] | None:
    """Return (start, step) of the subset on the path, or None if the path never meets it."""
    chosen = {feature for feature, is_in in enumerate(support) if is_in}
    for start in range(trace.n_starts):
        # Features in only one of the two subsets; every move adds or removes one such difference.
        differing, moves = chosen ^ set(trace.starts[start].features.tolist()), trace.walk_moves(start)
        changed = [
            {feature} if sign else set()
            for feature, sign in zip(moves.feature.tolist(), moves.sign.tolist(), strict=True)
        ]
        for step, change in enumerate([set(), *changed]):
            differing ^= change
            if not differing:
                return start, step
    return None


def in_words(search: SearchSummary, *, by_starts: bool = False) -> str:
    """Describe a search in words: its path and the chosen subset or, if ``by_starts`` is True, its starts, over which
    weights are averaged.
    """
    guide, *others = measures_of(search)
    chosen, added = chosen_step(search), [step for step in search.path if step.feature is not None]
    validated = ""
    if others and chosen is not None and chosen.validation is not None:
        validated = f"{others[0].in_words(chosen.validation, search)} on the validation rows"
    text = fill(
        "search.txt",
        search=search,
        by_starts=by_starts,
        guide=guide,
        chosen=chosen,
        validated=validated,
        scores=[step.criterion for step in added],
        n_features=len({step.feature for step in added}),
        n_walks=len(steps_by_start(search.path)),
        walk="phase" if alternates(search) else "start",
    )
    return text.strip()


def steps_by_start(path: Sequence[PathStep]) -> dict[int, list[PathStep]]:
    """Return the moves of each start with a criterion that can be drawn, in order."""
    starts: dict[int, list[PathStep]] = {}
    for step in path:
        if drawable(step.criterion):
            starts.setdefault(step.start, []).append(step)
    return starts


def best_start(search: SearchSummary) -> int | None:
    """Return the start that came closest to the best criterion; the first of several."""
    goal = search.best_criterion if drawable(search.best_criterion) else 0.0
    distances = [(abs(step.criterion - goal), step.start) for step in search.path if drawable(step.criterion)]
    return min(distances)[1] if distances else None


def alternates(search: SearchSummary) -> bool:
    """Return whether the walks are phases that take turns: one only adds, the next only drops, and so on."""
    directions = [{step.move for step in steps[1:]} for steps in steps_by_start(search.path).values()]
    return all(len(d) <= 1 for d in directions) and all(not a or a != b for a, b in pairwise(directions))


def by_size(search: SearchSummary) -> list[PathStep]:
    """Return the subset of best criterion of every size, in the order of the sizes; validation rows are ignored."""
    steps = (step for step in search.path if drawable(step.criterion))
    best: dict[int, PathStep] = {}
    for step in sorted(steps, key=lambda step: step.criterion if search.lower_is_better else -step.criterion):
        best.setdefault(step.n_features, step)
    return [best[size] for size in sorted(best)]


def value_at(steps: Sequence[PathStep], size: int, *, on_validation: bool) -> float | None:
    """Return the value at a size, or at the next smaller one that the search met; None outside of its sizes."""
    place = bisect_right(steps, size, key=lambda step: step.n_features) - 1
    if place < 0 or size > steps[-1].n_features:
        return None
    value = steps[place].validation if on_validation else steps[place].criterion
    return value if drawable(value) else None


def chosen_step(search: SearchSummary) -> PathStep | None:
    """Return the move that leads to the chosen subset."""
    return next((step for step in search.path if (step.start, step.step) == search.chosen), None)


def needs_logarithm(sizes: Sequence[float], chosen: Sequence[float]) -> bool:
    """Return whether the interesting sizes would be crowded at the low end of a plain axis."""
    largest = max(sizes, default=0)
    return largest > _MANY and bool(chosen) and max(chosen) < largest / 4
