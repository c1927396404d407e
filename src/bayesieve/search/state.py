"""The current subset of a search: add a feature, drop a feature, or score any number of such moves in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.criteria import ClassBlock, Criterion, MAPCost, RatioTables
from bayesieve.engine import Engine
from bayesieve.search.followed import Followed
from bayesieve.search.objective import Objective
from bayesieve.search.problem import Problem, Search, State
from bayesieve.search.scored_rows import ScoredRows

_MANY_MOVES = 3  # at once: cheaper in the logarithms than in the ratios, which are needed after the last only
_PENALTY = 1e6  # times the cost of the empty subset, for a constraint missed by 1: more than any criterion gains
_MISSED = 1e-3  # added to what subsets miss their constraints by, so that those on a bound lose to all that beat it


@dataclass(frozen=True)
class SubsetProblem(Problem):
    """Subsets of the features of a coded table, by an objective.

    Attributes
    ----------
    objective : guides the search.
    names : of all features; candidates : positions of those with at least two levels, unless said otherwise.
    validation : objective that chooses among the subsets met, on rows of its own, if any.
    evaluation, recoded : what a trace says of the rows.
    learnt : the rows that the probabilities are learnt from, for searches that need more than an objective.
    total : number of rows that guide the search, or the sum of their weights.
    """

    objective: Objective
    names: tuple[str, ...]
    candidates: np.ndarray
    validation: Objective | None = None
    evaluation: str | None = None
    recoded: bool | None = None
    learnt: CodedTable | None = None

    @classmethod
    def of(
        cls,
        coded: CodedTable,
        smoothing: Smoothing = "m-estimate",
        criterion: Criterion | None = None,
        *,
        class_smoothing: float = 0.0,
        every_feature: bool = False,
    ) -> SubsetProblem:
        """Search by a criterion (`MAPCost` unless given) on the rows that the tables are learnt from.

        ``class_smoothing`` is added to the count of every class; ``every_feature`` makes candidates of features of one
        level, too.
        """
        counts = coded.counts
        rows = ScoredRows.training(coded, counts, smoothing, class_smoothing)
        n_varied = coded.n_features - getattr(coded.levels, "n_constant", 0)
        objective = Objective(MAPCost(n_varied) if criterion is None else criterion, rows)
        return cls.on(objective, coded, every_feature=every_feature)

    @classmethod
    def on(
        cls,
        objective: Objective,
        coded: CodedTable,
        *,
        every_feature: bool = False,
        validation: Objective | None = None,
        evaluation: str | None = None,
        recoded: bool | None = None,
        learnt: CodedTable | None = None,
    ) -> SubsetProblem:
        """Search the features of a coded table by an objective on any rows with the same features."""
        return cls(
            objective=objective,
            names=coded.names,
            candidates=np.arange(coded.n_features) if every_feature else np.flatnonzero(coded.n_levels > 1),
            validation=validation,
            evaluation=evaluation,
            recoded=recoded,
            learnt=coded if learnt is None else learnt,
        )

    @classmethod
    def needed_by(cls, search: Search, problem: Problem) -> SubsetProblem:
        """The problem; ValueError if it is not one of models, which ``search`` evaluates."""
        if not isinstance(problem, cls):
            name = type(search).__name__
            raise ValueError(f"{name} evaluates naive Bayes: it needs a SubsetProblem; choose another search.")
        return problem

    @property
    def rows(self) -> ScoredRows:
        return self.objective.rows

    @property
    def criterion(self) -> Criterion:
        return self.objective.criterion

    @property
    def criterion_name(self) -> str:  # type: ignore[override]
        return self.criterion.name

    @property
    def n_varied(self) -> int:
        """Features, without columns that have one value only where the criterion leaves them out."""
        return self.criterion.n_features if isinstance(self.criterion, MAPCost) else self.n_features

    @property
    def best(self) -> float | None:  # type: ignore[override]
        return self.criterion.best

    @property
    def validated(self) -> bool:  # type: ignore[override]
        return self.validation is not None

    @property
    def constrained(self) -> bool:  # type: ignore[override]
        return bool(self.objective.constraints)

    @property
    def blocks(self) -> tuple[ClassBlock, ...]:
        return self.rows.blocks

    @property
    def tables(self) -> RatioTables:
        return self.rows.tables

    @property
    def total(self) -> float:
        return self.objective.total

    @property
    def engine(self) -> Engine:
        """Where the rows live."""
        return self.blocks[0].engine

    @property
    def n_rows(self) -> int:
        return sum(block.n_rows for block in self.blocks)

    @property
    def n_classes(self) -> int:
        return int(self.rows.class_totals.size)

    @property
    def sign(self) -> float:  # type: ignore[override]
        return self.objective.sign

    def state(self, *, leave_out: bool = False, n_jobs: int | None = None) -> SearchState:
        return SearchState(self, leave_out=leave_out, n_jobs=n_jobs)

    def in_words(self) -> dict[str, Any]:
        validation = self.validation
        return {
            "criterion_name": self.criterion.name,
            "lower_is_better": self.criterion.lower_is_better,
            "validation_name": None if validation is None else validation.criterion.name,
            "validation_lower_is_better": validation is None or validation.criterion.lower_is_better,
            "validation_total": None if validation is None else validation.total,
            "evaluation": self.evaluation,
            "recoded": self.recoded,
        }


class SearchState(State):
    """A subset of features with its cost; one pass over the rows scores a batch of moves, another applies one.

    Costs are the values of the criterion, or their negatives where higher is better: lower is always better here.

    Attributes
    ----------
    selected : (n_features,) bool, the current subset; n_selected : its size; cost : its criterion.
    """

    problem: SubsetProblem

    def __init__(self, problem: SubsetProblem, *, leave_out: bool = False, n_jobs: int | None = None) -> None:
        self.problem = problem
        self._guide = Followed(problem.objective, leave_out, n_jobs)
        self._validation = None if problem.validation is None else Followed(problem.validation, False, n_jobs)
        self._constrained = problem.constrained
        self.selected = np.zeros(problem.n_features, dtype=bool)
        self.n_selected = 0
        self.cost = self._guide.criterion.own(0)
        if np.isnan(self.cost):
            raise ValueError(
                f"{problem.criterion_name!r} cannot be measured on these rows: they lack a class that it needs."
            )
        self._penalty = _PENALTY * max(1.0, abs(self.cost))

    def reset(self, selected: np.ndarray | None = None) -> None:
        self._guide.reset()
        if self._validation is not None:
            self._validation.reset()
        self.selected[:] = False if selected is None else selected
        self.n_selected = int(self.selected.sum())
        self._apply(np.flatnonzero(self.selected).tolist(), [True] * self.n_selected)
        self.cost = self._guide.criterion.own(self.n_selected)

    def go_to(self, selected: np.ndarray) -> None:
        changed = np.flatnonzero(selected != self.selected)
        if changed.size > np.count_nonzero(selected):
            self.reset(selected)
        elif changed.size:
            if changed.size >= _MANY_MOVES:
                self._guide.expect_moves()
            self._apply(changed.tolist(), selected[changed].tolist())
            self.selected[:] = selected
            self.n_selected = int(self.selected.sum())
            self.cost = self._guide.criterion.own(self.n_selected)

    def each(self, subsets: np.ndarray) -> Iterator[bool]:
        """Go to one subset (n_subsets, n_features) after another, from the empty one.

        Yields whether one pass over the rows has summed up the logarithms of all: values then do not depend on the way.
        """
        followed = [self._guide] if self._validation is None else [self._guide, self._validation]
        summed = all(objective.sum_subsets(subsets) for objective in followed)
        sizes = subsets.sum(axis=1).tolist()
        for number, selected in enumerate(subsets):
            if not summed:
                self.go_to(selected)
                yield False
                continue
            for objective in followed:
                objective.take_subset(number)
            self.selected[:], self.n_selected = selected, sizes[number]
            self.cost = self._guide.criterion.own(self.n_selected)
            yield True

    def candidates(self, features: np.ndarray) -> np.ndarray:
        return self._guide.criterion.candidates(*self._moves(features))

    def _moves(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        adding = ~self.selected[features]
        return features, adding, self.n_selected + np.where(adding, 1, -1)

    @property
    def rank(self) -> float:
        if not self._constrained:
            return self.cost
        return self.cost + self._penalty * _counted(self._guide.violation(self.n_selected))

    def ranks(self, features: np.ndarray, costs: np.ndarray) -> np.ndarray:
        if not self._constrained:
            return costs
        return costs + self._penalty * _counted(self._guide.violations(*self._moves(features)))

    def validation(self) -> float:
        if self._validation is None:
            return float("nan")
        measured = self._validation.criterion
        return measured.sign * measured.own(self.n_selected)

    def measures(self) -> list[float]:
        """Measures of the current subset that are under constraints, on the rows that guide the search."""
        return self._guide.measures(self.n_selected)

    def violation(self, measures: Sequence[float] | None = None) -> float:
        """As `State.violation`; ``measures`` are those of the rows that guide the search, where known."""
        if not self._constrained:
            return 0.0
        if self._validation is not None:
            return self._validation.violation(self.n_selected)
        return self._guide.violation(self.n_selected, measures)

    def add(self, feature: int, cost: float | None = None) -> None:
        """Add ``feature``; ``cost`` is that of the new subset where it is known already."""
        self._move(feature, True, cost)

    def add_all(self, features: np.ndarray) -> np.ndarray:
        """Add features one after another, by a criterion made of log losses; the costs of the subsets on the way."""
        costs = self._guide.criterion.path(features, self.n_selected + np.arange(1, features.size + 1))
        self.selected[features] = True
        self.n_selected += features.size
        self.cost = float(costs[-1]) if features.size else self.cost
        return costs

    def drop(self, feature: int, cost: float | None = None) -> None:
        """Drop ``feature``; ``cost`` is that of the new subset where it is known already."""
        self._move(feature, False, cost)

    def flip(self, feature: int, cost: float | None = None) -> None:
        self._move(feature, not self.selected[feature], cost)

    def _move(self, feature: int, adding: bool, cost: float | None) -> None:
        self._apply((int(feature),), (adding,))
        self.selected[feature] = adding
        self.n_selected += 1 if adding else -1
        self.cost = self._guide.criterion.own(self.n_selected) if cost is None else cost

    def _apply(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        self._guide.move(features, adding)
        if self._validation is not None:
            self._validation.move(features, adding)


def _counted(violations: Any) -> Any:
    return violations + _MISSED * (violations > 0.0)
