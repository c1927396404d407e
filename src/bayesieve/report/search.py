"""Descriptions of searches in words: the measure that guided a search, the subsets it visited, and how it ended.

A search consists of walks. Each begins at a start, a subset of the features, and adds or drops one feature with each
move. A step, a line of `SearchTrace.path`, is a start or a move: a dict with ``start`` (number of the walk), ``step``,
``move``, ``feature``, ``n_features``, ``criterion`` and ``validation``.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

from bayesieve.criteria import CRITERIA, Criterion
from bayesieve.parts import Score
from bayesieve.report.charts import drawable
from bayesieve.report.page import fill
from bayesieve.selection import SELECTORS, CodedSelector
from bayesieve.words import format_number

Step = Mapping[str, Any]
_MANY = 60  # number of features from which the axis may be logarithmic


class Measure:
    """A criterion or performance measure with its texts for captions and axes.

    Attributes
    ----------
    name : str
        Name of the criterion or score.
    lower_is_better : bool
        Whether lower values are better.
    on_validation : bool
        Whether it is measured on validation rows, rather than the criterion that guides the search.
    title, capitalised : str
        Title for the middle of a sentence, and for its start.
    heading : str
        Title of a column or an axis, with the rows it is measured on and its unit, such as "nats".
    evaluated : str
        Object that a search evaluates by the measure, such as "subset", in words.
    is_of_features : bool
        Whether the value at a step describes the added feature, as in filters and boosting, rather than the subset.
    digits : int
        Number of decimals that distinguish its values.
    n_rows : float or None
        Number (or weight) of validation rows, for the standard error of an error rate; None for other measures.
    """

    def __init__(
        self,
        name: str,
        lower_is_better: bool = True,
        digits: int = 4,
        on_validation: bool = False,
        n_rows: float | None = None,
    ) -> None:
        # A user's criterion that derives from a built-in one inherits its title, which is wrong under another name.
        facts = vars(_described(name))
        self.name, self.lower_is_better, self.digits, self.on_validation = name, lower_is_better, digits, on_validation
        self.higher_is_better, self.n_rows = not lower_is_better, n_rows
        self.title = facts.get("title") or name.replace("_", " ").strip() or "criterion"
        self.capitalised = self.title if self.title[1:2].isupper() else self.title[:1].upper() + self.title[1:]
        self.evaluated = str(facts.get("of", "model"))
        self.is_of_features = self.evaluated in ("feature", "round")
        unit = f", {facts['unit']}" if facts.get("unit") else ""
        self.heading = f"Validation: {self.title}" if on_validation else f"{self.capitalised}{unit}"

    def of(self, step: Step) -> float | None:
        """Return the value of the measure at a step of a search, which is a line of `SearchTrace.path`; None if there
        is none.
        """
        if self.on_validation:
            return step["validation"]
        return None if self.is_of_features and step["feature"] is None else step["criterion"]

    def text(self, value: float | None) -> str:
        """Return a value of the measure as text, with its number of decimals; a dash for None."""
        return format_number(value, self.digits)

    def in_words(self, value: float) -> str:
        """Return the title and a value as text, with the standard error of an error rate."""
        error = f" ± {self.text(self.standard_error(value, self.n_rows))}" if self.n_rows else ""
        return f"{self.title} {self.text(value)}{error}"

    @staticmethod
    def standard_error(value: float, n_rows: float) -> float:
        """Return sqrt(e (1 - e) / n) of an error rate on n rows.

        Examples
        --------
        >>> round(Measure("error").standard_error(0.1, 900), 6)
        0.01
        """
        return math.sqrt(max(value * (1.0 - value), 0.0) / n_rows) if math.isfinite(value) else math.nan


def measures_of(steps: Iterable[Step], trace: Any) -> tuple[Measure, ...]:
    """Return the measures of a search: the criterion that guided it and, if there were validation rows, the measure on
    them.

    Their numbers of decimals suit the values at the given steps. ``trace`` is the `SearchTrace`.
    """
    steps = list(steps)
    guide = measure(trace.criterion_name, [step["criterion"] for step in steps], trace.lower_is_better)
    name, n_rows = trace.validation_name, trace.validation_total
    if name is None:
        return (guide,)
    values = [step["validation"] for step in steps]
    n_rows = n_rows if name == "error" else None
    return guide, measure(name, values, trace.validation_lower_is_better, on_validation=True, n_rows=n_rows)


def measure(name: str, values: Iterable[float | None], lower_is_better: bool = True, **more: Any) -> Measure:
    """Return a `Measure` with as many decimals as suit ``values``: one for costs in nats, four for shares.
    ``lower_is_better`` and ``more`` are its other attributes.

    Examples
    --------
    >>> measure("error", [0.1063]).text(0.1063), measure("map", [557.25]).text(557.25)
    ('0.1063', '557.2')
    """
    largest = max((abs(value) for value in values if value is not None and math.isfinite(value)), default=0.0)
    digits = 1 if name == "map" or largest >= 1000 else 2 if largest >= 100 else 3 if largest >= 10 else 4
    return Measure(name, lower_is_better, digits, **more)


def _described(name: str) -> Any:
    """Return the class or `Score` that describes the criterion with the given name.

    The criterion may be defined in bayesieve, by the user, or in another package.
    """
    # All direct and indirect subclasses, the latest first, of criteria and of selectors.
    defined: list[list[Any]] = []
    for base in (Criterion, CodedSelector):
        classes: list[Any] = [base]
        for one in classes:
            classes += one.__subclasses__()
        defined.append(classes[:0:-1])
    for criteria, selectors in (
        (CRITERIA.own.values(), SELECTORS.own.values()),
        defined,
        (CRITERIA.values(), SELECTORS.values()),
    ):
        scores = (score for selector in selectors for score in selector.scores)
        for described in chain(criteria, scores):
            if vars(described).get("name") == name:
                return described
    return Score(name)


def steps_of(trace: Any, most: int | None = None) -> list[Step]:
    """Return the steps of the path of a search as dicts.

    If there are more than ``most``, only the steps of the first starts are returned, as many starts as fit completely.
    None means no limit.
    """
    path = trace.path()
    steps: list[Step] = [dict(zip(path, values, strict=True)) for values in zip(*path.values(), strict=True)]
    if most is None or len(steps) <= most:
        return steps
    last_whole = max(1, steps[most]["start"])
    return [step for step in steps if step["start"] < last_whole][:most]


def chosen_subset(trace: Any, selector: Any = None) -> Iterable[bool] | None:
    """Return the chosen subset as one boolean per feature: the support of a fitted selector or, without one, the best
    subset on the path.

    Return None if the model averages over many subsets, or the best subset is not on the path.
    """
    if selector is not None:
        weights = getattr(selector, "weights_", getattr(selector, "feature_weights_", ()))
        return None if any(0 < weight < 1 for weight in weights) else getattr(selector, "support_", None)
    by_map = trace.criterion_name == "map" and trace.validation_name is None
    return None if by_map and trace.best_criterion not in trace.path()["criterion"] else trace.best_on_path()


def chosen_step(trace: Any, steps: Sequence[Step], support: Iterable[bool] | None) -> Step | None:
    """Return the first of ``steps`` after which the current subset is ``support``, one boolean per feature; None if
    there is none, or ``support`` is None.
    """
    if support is None:
        return None
    chosen = {feature for feature, is_in in enumerate(support) if is_in}
    for start in range(trace.n_starts):
        # Track the features in which the current subset differs from the chosen one, until there are none.
        differing, moves = chosen ^ set(trace.starts[start].features.tolist()), trace.walk_moves(start)
        changed = [
            {feature} if sign else set()
            for feature, sign in zip(moves.feature.tolist(), moves.sign.tolist(), strict=True)
        ]
        for number, change in enumerate([set(), *changed]):
            differing ^= change
            if not differing:
                return next((step for step in steps if (step["start"], step["step"]) == (start, number)), None)
    return None


def in_words(trace: Any, steps: Sequence[Step], chosen: Step | None, *, by_starts: bool = False) -> str:
    """Return a description of a search in words: its path, and the chosen subset or, if ``by_starts`` is True, the
    starts over whose subsets weights are averaged.

    ``steps`` are those of `steps_of`, and ``chosen`` is the step after which the subset is the chosen one, or None.
    """
    guide, *others = measures_of(steps, trace)
    added = [step for step in steps if step["feature"] is not None]
    validated = ""
    if others and chosen is not None and chosen["validation"] is not None:
        validated = f"{others[0].in_words(chosen['validation'])} on the validation rows"
    walks = steps_by_start(steps)
    text = fill(
        "search.txt",
        search=trace,
        n_steps=len(steps),
        by_starts=by_starts,
        guide=guide,
        chosen=chosen,
        validated=validated,
        scores=[step["criterion"] for step in added],
        n_features=len({step["feature"] for step in added}),
        n_walks=len(walks),
        walk="phase" if alternates(walks) else "start",
    )
    return text.strip()


def steps_by_start(steps: Sequence[Step]) -> list[list[Step]]:
    """Return the steps of each walk of a search as a list of lists, without steps whose criterion cannot be drawn."""
    starts: dict[int, list[Step]] = {}
    for step in steps:
        if drawable(step["criterion"]):
            starts.setdefault(step["start"], []).append(step)
    return list(starts.values())


def alternates(walks: Sequence[Sequence[Step]]) -> bool:
    """Return whether the walks of a search alternate between adding and dropping features, each walk moving in one
    direction.

    A walk is the list of steps of one start.
    """
    directions = [{step["move"] for step in walk[1:]} for walk in walks]
    return all(len(d) <= 1 for d in directions) and all(not a or a != b for a, b in pairwise(directions))


def by_size(steps: Sequence[Step], *, lower_is_better: bool = True) -> list[Step]:
    """Return the step with the best criterion for each number of features, in ascending order of that number.
    ``lower_is_better`` states which criterion is best.
    """
    sign, best = 1 if lower_is_better else -1, dict[int, Step]()
    drawn = (step for step in steps if drawable(step["criterion"]))
    for step in sorted(drawn, key=lambda step: sign * step["criterion"]):
        best.setdefault(step["n_features"], step)
    return [best[size] for size in sorted(best)]


def value_at(steps: Sequence[Step], size: int, *, on_validation: bool) -> float | None:
    """Return the criterion (or, if ``on_validation`` is True, the validation measure) at ``size`` features or, if the
    search skipped this number, at the next smaller one.

    Return None outside the visited range, or if the value cannot be drawn. ``steps`` are in ascending order of the
    number of features.
    """
    place = bisect_right(steps, size, key=lambda step: step["n_features"]) - 1
    if place < 0 or size > steps[-1]["n_features"]:
        return None
    value: float | None = steps[place]["validation" if on_validation else "criterion"]
    return value if drawable(value) else None


def needs_logarithm(sizes: Sequence[float], chosen: Sequence[float]) -> bool:
    """Return whether an axis over numbers of features needs a logarithmic scale, because the ``chosen`` numbers are
    small compared with the largest of all ``sizes`` on the axis.
    """
    largest = max(sizes, default=0)
    return largest > _MANY and bool(chosen) and max(chosen) < largest / 4
