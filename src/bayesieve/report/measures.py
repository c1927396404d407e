"""Titles of criteria, and the format of their values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from bayesieve.criteria import Criterion
from bayesieve.criteria.registry import CRITERIA
from bayesieve.parts import Score
from bayesieve.report.data import PathStep
from bayesieve.report.formats import format_number
from bayesieve.selection import SELECTORS, CodedSelector


@dataclass(frozen=True)
class Measure:
    """A criterion by its name, and the decimals that distinguish its values."""

    name: str
    lower_is_better: bool = True
    digits: int = 4

    @property
    def title(self) -> str:
        """The title in the middle of a sentence."""
        return self._facts.get("title") or self.name.replace("_", " ").strip() or "criterion"

    @property
    def unit(self) -> str:
        """Such as "nats"; empty without."""
        return str(self._facts.get("unit", ""))

    @property
    def is_of_features(self) -> bool:
        """Whether it scores the feature that a step of a filter adds, rather than a subset."""
        return self._facts.get("of") == "feature"

    @property
    def evaluated(self) -> str:
        """The thing that a search evaluates by it."""
        return str(self._facts.get("of", "model"))

    @property
    def heading(self) -> str:
        """The head of a column or panel, with the unit."""
        return self._beginning + (f", {self.unit}" if self.unit else "")

    def on(self, rows: str) -> str:
        """The head of a panel for the measure on some rows, with the unit."""
        where = "of the feature added" if self.is_of_features else f"on {rows}"
        return f"{self._beginning} {where}" + (f", in {self.unit}" if self.unit else "")

    def of(self, step: PathStep) -> float | None:
        """The value that guides a search at a step; None if features are scored and none is added."""
        return None if self.is_of_features and step.feature is None else step.criterion

    def text(self, value: float | None) -> str:
        """A value as text."""
        return format_number(value, self.digits)

    @cached_property
    def _facts(self) -> Mapping[str, Any]:
        # A criterion under a name of its own does not inherit the title of another.
        return vars(_described(self.name))

    @property
    def _beginning(self) -> str:
        """The title with a capital letter, except for mRMR."""
        return self.title if self.title[1:2].isupper() else self.title[:1].upper() + self.title[1:]

    @property
    def is_rate(self) -> bool:
        """Whether it is a share of the rows, whose standard error follows from their number."""
        return self.name == "error"

    def standard_error(self, value: float, n_rows: float) -> float:
        """sqrt(e (1 - e) / n) of an error rate on n rows.

        Examples
        --------
        >>> round(Measure("error").standard_error(0.1, 900), 6)
        0.01
        """
        return math.sqrt(max(value * (1.0 - value), 0.0) / n_rows) if math.isfinite(value) else math.nan


def measure(name: str, values: Iterable[float | None], lower_is_better: bool = True) -> Measure:
    """A measure with decimals that suit these values: costs in nats get one decimal, shares four.

    Examples
    --------
    >>> measure("error", [0.1063]).text(0.1063), measure("map", [557.25]).text(557.25)
    ('0.1063', '557.2')
    """
    known = [abs(value) for value in values if value is not None and math.isfinite(value)]
    largest = max(known, default=0.0)
    digits = 1 if name == "map" or largest >= 1000 else 2 if largest >= 100 else 3 if largest >= 10 else 4
    return Measure(name, lower_is_better, digits)


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
