"""Titles of criteria, and the format of their values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from bayesieve.criteria import CRITERIA, Criterion
from bayesieve.parts import Score
from bayesieve.report.data import PathStep, SearchSummary
from bayesieve.selection import SELECTORS, CodedSelector
from bayesieve.words import format_number


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
        # A criterion under a name of its own does not inherit the title of another.
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
