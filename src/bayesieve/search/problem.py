"""What every search works with: a problem, the state of the current subset, and the record of the moves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.criteria import Criterion, MAPCost
from bayesieve.engine.progress import Progress
from bayesieve.search.objective import Constraint, Measured, Objective
from bayesieve.search.scored_rows import ScoredRows
from bayesieve.search.trace import SearchTrace, TraceRecorder

_MANY_MOVES = 3  # at once: cheaper in the logarithms than in the ratios, which are needed after the last only
_PENALTY = 1e6  # times the cost of the empty subset, for a constraint missed by 1: more than any criterion gains
_MISSED = 1e-3  # added to what subsets miss their constraints by, so that those on a bound lose to all that beat it


@dataclass(frozen=True)
class SubsetProblem:
    """Subsets of the features of a coded table, by an objective.

    Attributes
    ----------
    objective : guides the search.
    names : of all features; candidates : positions of those with at least two levels, unless said otherwise.
    validation : objective that chooses among the subsets met, on other rows, if any.
    evaluation, recoded : of the rows, as in `SearchTrace`.
    learnt : the rows that the probabilities are learnt from, for searches that need more than an objective.

    Searches read ``sign``, what turns costs into values of the criterion, 1 or -1; ``validated``, whether other rows
    choose among the subsets met; ``constrained``, whether these have to keep bounds.
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
    ) -> SubsetProblem:
        """Search by a criterion (`MAPCost` unless given) on the rows that the tables are learnt from."""
        n_varied = coded.n_features - getattr(coded.levels, "n_constant", 0)
        rows = ScoredRows.training(coded, coded.counts, smoothing)
        return cls.on(Objective(MAPCost(n_varied) if criterion is None else criterion, rows), coded)

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
        """Search the features of a coded table by an objective on any rows with the same features.

        ``every_feature`` makes candidates of features of one level, too.
        """
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
    def bare(cls, objective: Objective) -> SubsetProblem:
        """All features that an objective knows, without names."""
        n_features = int(objective.rows.tables.n_codes.size)
        return cls(objective, tuple(map(str, range(n_features))), np.arange(n_features))

    @property
    def rows(self) -> ScoredRows:
        """The rows that guide the search."""
        return self.objective.rows

    def rows_for(self, search: Search) -> ScoredRows:
        """The same; ValueError if there are none, which ``search`` needs to evaluate models."""
        if self.rows is None:
            raise ValueError(f"{type(search).__name__} evaluates naive Bayes; choose another search here.")
        return self.rows

    @property
    def criterion(self) -> Criterion:
        return self.objective.criterion

    @property
    def n_features(self) -> int:
        """Features in all, candidates or not."""
        return len(self.names)

    @property
    def n_varied(self) -> int:
        """Features, without columns of one value if the criterion leaves them out."""
        return self.criterion.n_features if isinstance(self.criterion, MAPCost) else self.n_features

    @property
    def sign(self) -> float:
        return self.objective.sign

    @property
    def validated(self) -> bool:
        return self.validation is not None

    @property
    def constrained(self) -> bool:
        return bool(self.objective.constraints)

    def state(self, *, leave_out: bool = False, n_jobs: int | None = None) -> SearchState:
        """The empty subset; ``leave_out``: rows that no move can change may leave the scan."""
        return SearchState(self, leave_out=leave_out, n_jobs=n_jobs)

    def trace(self, walks: list[TraceRecorder], chosen: np.ndarray | None = None, **facts: Any) -> SearchTrace:
        """The trace of a search; ``facts`` as `SearchTrace.of` takes them.

        ``chosen`` (n_features,) bool is the subset that the search chose; unless given, the best one that it met.
        """
        if not walks:  # interrupted before the first step
            walks = [first_record(self.state())]
        validation = self.validation
        trace = SearchTrace.of(
            self.names,
            walks,
            criterion_name=self.criterion.name,
            lower_is_better=self.criterion.lower_is_better,
            validation_name=None if validation is None else validation.criterion.name,
            validation_lower_is_better=validation is None or validation.criterion.lower_is_better,
            validation_total=None if validation is None else validation.total,
            evaluation=self.evaluation,
            recoded=self.recoded,
            **facts,
        )
        if chosen is None:
            chosen = trace.best_on_path() if self.validated or self.constrained else trace.best_subset()
        trace.chosen = chosen
        return trace


class SearchState:
    """A subset of features with its cost; one pass over the rows scores a batch of moves, another applies one.

    Costs are the values of the criterion, or their negatives where higher is better: lower is always better here.

    Attributes
    ----------
    selected : (n_features,) bool, the current subset; n_selected : its size; cost : its criterion.
    """

    def __init__(self, problem: SubsetProblem, *, leave_out: bool = False, n_jobs: int | None = None) -> None:
        self.problem = problem
        self._guide = problem.objective.measured(leave_out=leave_out, n_jobs=n_jobs)
        self._bounds = _bounds(problem.objective, leave_out, n_jobs)
        self._guiding = [self._guide, *(measured for _, measured in self._bounds)]
        self._validation, self._judging = None, list[Measured]()  # on the rows that choose the subset, if others
        self._judged = self._bounds
        if problem.validation is not None:
            self._validation = problem.validation.measured(n_jobs=n_jobs)
            self._judged = _bounds(problem.validation, False, n_jobs)
            self._judging = [self._validation, *(measured for _, measured in self._judged)]
        self.selected = np.zeros(problem.n_features, dtype=bool)
        self.n_selected = 0
        self.cost = self._guide.own(0)
        if np.isnan(self.cost):
            raise ValueError(
                f"{problem.criterion.name!r} cannot be measured on these rows: they lack a class that it needs."
            )
        self._penalty = _PENALTY * max(1.0, abs(self.cost))

    def reset(self, selected: np.ndarray | None = None) -> None:
        """Back to the empty subset, or to any other one."""
        for measured in (*self._guiding, *self._judging):
            measured.reset()
        self.selected[:] = False if selected is None else selected
        self.n_selected = int(self.selected.sum())
        self._apply(np.flatnonzero(self.selected).tolist(), [True] * self.n_selected)
        self.cost = self._guide.own(self.n_selected)

    def go_to(self, selected: np.ndarray) -> None:
        """To another subset, by the features that differ if they are few."""
        changed = np.flatnonzero(selected != self.selected)
        if changed.size > np.count_nonzero(selected):
            self.reset(selected)
        elif changed.size:
            if changed.size >= _MANY_MOVES:
                for measured in self._guiding:
                    measured.expect_moves()
            self._apply(changed.tolist(), selected[changed].tolist())
            self.selected[:] = selected
            self.n_selected = int(self.selected.sum())
            self.cost = self._guide.own(self.n_selected)

    def each(self, subsets: np.ndarray) -> Iterator[bool]:
        """Go to one subset (n_subsets, n_features) after another, from the empty one.

        Yields whether one pass over the rows has summed up the logarithms of all: values then do not depend on the way.
        """
        every = (*self._guiding, *self._judging)
        summed = all(measured.sum_subsets(subsets) for measured in every)
        sizes = subsets.sum(axis=1).tolist()
        for number, selected in enumerate(subsets):
            if not summed:
                self.go_to(selected)
                yield False
                continue
            for measured in every:
                measured.take_subset(number)
            self.selected[:], self.n_selected = selected, sizes[number]
            self.cost = self._guide.own(self.n_selected)
            yield True

    def candidates(self, features: np.ndarray) -> np.ndarray:
        """Costs of the subsets that differ from the current one by each of ``features`` (added if absent, else
        dropped).
        """
        return self._guide.candidates(*self._moves(features))

    def _moves(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        adding = ~self.selected[features]
        return features, adding, self.n_selected + np.where(adding, 1, -1)

    @property
    def rank(self) -> float:
        """What a search compares: the cost, plus a large multiple of how far the subset is from its constraints."""
        if not self._bounds:
            return self.cost
        return self.cost + self._penalty * _counted(_violation(self._bounds, self.measures()))

    def ranks(self, features: np.ndarray, costs: np.ndarray) -> np.ndarray:
        """Ranks of the subsets whose ``costs`` `candidates` returned for ``features``."""
        if not self._bounds:
            return costs
        moves, violations = self._moves(features), np.zeros(features.size)
        for bound, measured in self._bounds:
            violations += bound.violation(measured.sign * measured.candidates(*moves))
        return costs + self._penalty * _counted(violations)

    def validation(self) -> float:
        """The value of the current subset on the validation rows; NaN without such rows."""
        if self._validation is None:
            return float("nan")
        return self._validation.sign * self._validation.own(self.n_selected)

    def measures(self) -> list[float]:
        """Measures of the current subset that are under constraints, on the rows that guide the search."""
        return [measured.sign * measured.own(self.n_selected) for _, measured in self._bounds]

    def violation(self, measures: Sequence[float] | None = None) -> float:
        """How far the current subset is from its constraints, on the rows that choose the subset; 0 if it satisfies
        them. ``measures`` are those of the rows that guide the search, if known.
        """
        if self._judged is not self._bounds or measures is None:
            measures = [measured.sign * measured.own(self.n_selected) for _, measured in self._judged]
        return _violation(self._judged, measures)

    def add_all(self, features: np.ndarray) -> np.ndarray:
        """Add features one after another, by a criterion made of log losses; the costs of the subsets on the way."""
        costs = self._guide.path(features, self.n_selected + np.arange(1, features.size + 1))
        self.selected[features] = True
        self.n_selected += features.size
        self.cost = float(costs[-1]) if features.size else self.cost
        return costs

    def flip(self, feature: int, cost: float | None = None) -> None:
        """Add ``feature`` if absent, drop it otherwise; ``cost`` is that of the new subset if known."""
        adding = not self.selected[feature]
        self._apply((int(feature),), (adding,))
        self.selected[feature] = adding
        self.n_selected += 1 if adding else -1
        self.cost = self._guide.own(self.n_selected) if cost is None else cost

    def _apply(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        for measured in (*self._guiding, *self._judging):
            measured.move(features, adding)


def _bounds(objective: Objective, leave_out: bool, n_jobs: int | None) -> list[tuple[Constraint, Measured]]:
    """The constraints with their measures for the current subset."""
    measures = [objective.by(bound.measure) for bound in objective.constraints]
    measured = [measure.measured(leave_out=leave_out, n_jobs=n_jobs) for measure in measures]
    return list(zip(objective.constraints, measured, strict=True))


def _violation(bounds: list[tuple[Constraint, Measured]], measures: Sequence[float]) -> float:
    values = zip(bounds, measures, strict=True)
    return float(sum(float(bound.violation(np.array(value))) for (bound, _), value in values))


def _counted(violations: Any) -> Any:
    return violations + _MISSED * (violations > 0.0)


class Search(ABC):
    """A way through the subsets of a problem; its options are its attributes."""

    @abstractmethod
    def run(self, problem: SubsetProblem, progress: Progress | None = None) -> SearchTrace:
        """Search; the trace names the subset chosen (``trace.chosen``). Ctrl-C keeps the best so far."""


def first_record(state: SearchState) -> TraceRecorder:
    """The record of a walk that starts from the current subset."""
    start = np.flatnonzero(state.selected)
    return TraceRecorder(state.problem.sign * state.cost, start, state.validation(), state.violation())


class StepRecorder:
    """Records all moves scored from a subset; the one that was made, if any, comes last."""

    def __init__(self, problem: SubsetProblem) -> None:
        self._sign = problem.sign
        self._keys = np.random.default_rng(0).integers(1, 2**63, size=problem.n_features, dtype=np.uint64)

    def record(
        self,
        walk: TraceRecorder,
        subset: np.ndarray,
        moves: np.ndarray,
        costs: np.ndarray,
        at: int,
        seconds: float,
        validation: float = float("nan"),
        violation: float = 0.0,
    ) -> None:
        """``subset`` : before the move; ``at`` : position among ``moves`` of the one made, or -1; ``validation`` and
        ``violation`` : after the move.
        """
        order = np.arange(moves.size)
        accepted = order == at
        if at >= 0:
            order = np.append(np.delete(order, at), at)
        moves = moves[order]
        key = np.bitwise_xor.reduce(self._keys[subset], initial=np.uint64(0)) ^ self._keys[moves]
        walk.record(
            moves, ~subset[moves], self._sign * costs[order], accepted[order], key, seconds, validation, violation
        )
