"""Input of every search: a problem with its objective and rows, and the state of the current subset."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.criteria import Criterion, MAPCost, ScoredRows, check_criterion, make_criterion
from bayesieve.criteria.row_ratios import VERY_MANY_CLASSES
from bayesieve.engine import effective_jobs, map_in_threads
from bayesieve.engine.progress import Progress
from bayesieve.search.trace import SearchTrace, TraceRecorder, WalkStart
from bayesieve.table.levels import TableLevels

_TIE = 1e-12  # that rounding may add to a measure, and the distance of one on its bound
_PARALLEL_WORK = 20_000_000  # rows x candidates x other classes below which threads cost more than they bring
_CANDIDATES_AT_ONCE = 1024  # the kernels keep a few cache lines for each
_PENALTY = 1e6  # times the cost of the empty subset, for a constraint missed by 1: more than any criterion gains
_MISSED = 1e-3  # added to what subsets miss their constraints by, so that those on a bound lose to all that beat it


@dataclass(frozen=True)
class Constraint:
    """A bound that a measure must beat: more than ``bound``, or less if lower is better."""

    name: str
    measure: Criterion
    bound: float

    def violation(self, values: np.ndarray) -> np.ndarray:
        """Return (n,) how far values are from beating the bound: 0 if they do, infinity for NaN, 1e-12 for values on
        the bound, to within rounding.
        """
        short = values - self.bound if self.measure.lower_is_better else self.bound - values
        return np.where(np.isnan(short), np.inf, np.where(short >= -_TIE, np.maximum(short, _TIE), 0.0))

    def __str__(self) -> str:
        return f"{self.name} {'<' if self.measure.lower_is_better else '>'} {self.bound:g}"


@dataclass(frozen=True)
class Objective:
    """A criterion, the rows it is measured on, and constraints on other measures of the same rows.

    Attributes
    ----------
    criterion : Criterion
    rows : ScoredRows
    constraints : tuple of Constraint
        A subset that keeps them all beats one that does not; of two that do not, the one that is less far from them
        (the sum over the constraints) is better.

    Examples
    --------
    >>> from bayesieve import TableEncoder
    >>> from bayesieve.search import Objective, evaluate_subsets
    >>> from sklearn.datasets import load_iris
    >>> coded = TableEncoder().fit_transform_coded(*load_iris(return_X_y=True, as_frame=True))
    >>> objective = Objective.of(coded, "log_loss", constraints={"recall:2": 0.95})
    >>> evaluated = evaluate_subsets(objective, [[0], [2], [2, 3], [0, 1, 2, 3]])
    >>> evaluated.values.round(3).tolist(), evaluated.feasible.tolist(), evaluated.best
    ([0.626, 0.159, 0.122, 0.154], [False, True, False, False], 1)
    """

    criterion: Criterion
    rows: ScoredRows
    constraints: tuple[Constraint, ...] = ()

    @classmethod
    def of(
        cls,
        coded: CodedTable,
        criterion: str | Criterion = "map",
        smoothing: Smoothing = "m-estimate",
        constraints: Mapping[str | Criterion, float] | None = None,
    ) -> Objective:
        """Return the criterion on the rows that the probabilities are learnt from.

        Parameters
        ----------
        coded : CodedTable with classes
        criterion : name or Criterion, as `WrapperSelector` takes it
        smoothing : of the probabilities
        constraints : bounds by measures, as `WrapperSelector` takes them
        """
        rows = ScoredRows.training(coded, coded.counts, smoothing)
        measure = make_criterion(criterion, coded.n_features, coded.classes)
        return cls(measure, rows, make_constraints(constraints, coded))

    @property
    def sign(self) -> float:
        """Sign of the criterion: 1 if lower is better, otherwise -1."""
        return 1.0 if self.criterion.lower_is_better else -1.0

    @property
    def total(self) -> float:
        """Rows measured, or the sum of their weights."""
        return float(self.rows.class_totals.sum())

    def follow(self, *, leave_out: bool = False, n_jobs: int | None = None) -> RunningCriterion:
        """Return the criterion of the current subset of a search, the empty one at first.

        ``leave_out``: rows that no move can change may leave the scan.
        """
        return RunningCriterion(self.rows, self.criterion, leave_out, n_jobs)

    @property
    def facts(self) -> dict[str, Any]:
        """Return the validation fields of a trace, for an objective that is measured on separate rows."""
        return {
            "validation_name": self.criterion.name,
            "validation_lower_is_better": self.criterion.lower_is_better,
            "validation_total": self.total,
        }

    def by(self, criterion: Criterion) -> Objective:
        """Return the objective with another criterion on the same rows."""
        return replace(self, criterion=criterion)

    def of_subsets(self, subsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (n_subsets,) values, and (n_subsets, n_constraints) measures under constraints."""
        every = [self, *(self.by(bound.measure) for bound in self.constraints)]
        values, *measures = (each.sign * each.follow().of_subsets(subsets) for each in every)
        return values, np.array(measures).reshape(len(measures), len(subsets)).T


def make_constraints(constraints: Mapping[str | Criterion, float] | None, coded: CodedTable) -> tuple[Constraint, ...]:
    """Return constraints from bounds by measures, as `make_criterion` takes them."""
    bounds = []
    for measure, bound in (constraints or {}).items():
        criterion = make_criterion(measure, coded.n_features, coded.classes, "constraints")
        bounds.append(Constraint(measure if isinstance(measure, str) else repr(measure), criterion, float(bound)))
    return tuple(bounds)


def check_constraints(constraints: object) -> None:
    """Raise ValueError unless ``constraints`` maps measures to numbers."""
    if constraints is None:
        return
    if not isinstance(constraints, Mapping):
        raise ValueError(
            f"constraints must map measures to bounds, such as {{'recall:yes': 0.9}}, got {constraints!r}."
        )
    for measure, bound in constraints.items():
        check_criterion(measure, "constraints")
        if isinstance(bound, bool) or not isinstance(bound, Real) or not np.isfinite(float(bound)):
            raise ValueError(f"constraints: the bound of {measure!r} must be a finite number, got {bound!r}.")


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
        constant_columns: bool = False,
    ) -> SubsetProblem:
        """Search by a criterion on the rows that the tables are learnt from.

        The default criterion is `MAPCost`; ``constant_columns`` are counted among its K features or not.
        """
        n_varied = coded.n_features
        if not constant_columns and isinstance(coded.levels, TableLevels):
            n_varied -= coded.levels.n_constant
        rows = ScoredRows.training(coded, coded.counts, smoothing)
        return cls.on(Objective(MAPCost(n_varied) if criterion is None else criterion, rows), coded)

    @classmethod
    def on(
        cls,
        objective: Objective,
        coded: CodedTable,
        *,
        every_feature: bool = False,
        learnt: CodedTable | None = None,
        **facts: Any,
    ) -> SubsetProblem:
        """Search the features of a coded table by an objective on any rows with the same features.

        ``every_feature`` makes candidates of features of one level, too; ``learnt`` is the table itself by default,
        and ``facts`` are the other fields.
        """
        candidates = np.arange(coded.n_features) if every_feature else np.flatnonzero(coded.n_levels > 1)
        return cls(objective, coded.names, candidates, learnt=coded if learnt is None else learnt, **facts)

    @classmethod
    def bare(cls, objective: Objective) -> SubsetProblem:
        """Return all features that an objective knows, without names."""
        n_features = int(objective.rows.tables.n_codes.size)
        return cls(objective, tuple(map(str, range(n_features))), np.arange(n_features))

    def rows_for(self, search: Search) -> ScoredRows:
        """Return the rows that guide ``search``; ValueError if features are judged without rows, as by CFS."""
        if self.objective.rows is None:
            raise ValueError(f"{type(search).__name__} evaluates naive Bayes; choose another search here.")
        return self.objective.rows

    def state(self, *, leave_out: bool = False, n_jobs: int | None = None) -> SearchState:
        """Return the empty subset; ``leave_out``: rows that no move can change may leave the scan."""
        return SearchState(self, leave_out=leave_out, n_jobs=n_jobs)

    def trace(self, walks: list[TraceRecorder], chosen: np.ndarray | None = None, **facts: Any) -> SearchTrace:
        """Return the trace of a search; ``facts`` as `SearchTrace.of` takes them.

        ``chosen`` (n_features,) bool is the subset that the search chose; unless given, the best one that it met.
        """
        if not walks:  # interrupted before the first step
            walks = [first_record(self.state())]
        criterion, validation = self.objective.criterion, self.validation
        facts |= {"criterion_name": criterion.name, "lower_is_better": criterion.lower_is_better}
        facts |= {} if validation is None else validation.facts
        trace = SearchTrace.of(self.names, walks, evaluation=self.evaluation, recoded=self.recoded, **facts)
        if chosen is None:
            on_path = validation is not None or self.objective.constraints
            chosen = trace.best_on_path() if on_path else trace.best_subset()
        return replace(trace, chosen=chosen)


class Search(ABC):
    """A way through the subsets of a problem; its options are its attributes."""

    @abstractmethod
    def run(self, problem: SubsetProblem, progress: Progress | None = None) -> SearchTrace:
        """Search; the trace names the subset chosen (``trace.chosen``). Ctrl-C keeps the best so far."""


def first_record(state: SearchState) -> TraceRecorder:
    """Return the record of a walk that starts from the current subset."""
    value = state.problem.objective.sign * state.cost
    return TraceRecorder(WalkStart(np.flatnonzero(state.selected), value, *state.validate()))


class SearchState:
    """A subset of features with its cost; one pass over the rows scores a batch of moves, another applies one.

    Costs are the values of the criterion, or their negatives if higher is better: lower is always better here.

    Attributes
    ----------
    selected : (n_features,) bool, the current subset; n_selected : its size; cost : its criterion.
    """

    def __init__(self, problem: SubsetProblem, *, leave_out: bool = False, n_jobs: int | None = None) -> None:
        self.problem = problem
        objective, validation = problem.objective, problem.validation
        options: dict[str, Any] = {"n_jobs": n_jobs}
        self._guide = objective.follow(leave_out=leave_out, n_jobs=n_jobs)
        bounds = [objective.by(one.measure) for one in objective.constraints]
        self._bounds = [bound.follow(leave_out=leave_out, **options) for bound in bounds]
        self._measures = [self._guide, *self._bounds]
        # The rows that choose the subset may be others than those that guide the search.
        self._validation, self._validation_bounds = None, self._bounds
        if validation is not None:
            self._validation = validation.follow(**options)
            self._validation_bounds = [validation.by(one.measure).follow(**options) for one in validation.constraints]
            self._measures += [self._validation, *self._validation_bounds]
        self.selected = np.zeros(len(problem.names), dtype=bool)
        self.n_selected = 0
        self.cost = self._guide.current(0)
        refuse_unmeasurable(objective.criterion, self.cost)
        self._penalty = _PENALTY * max(1.0, abs(self.cost))

    def reset(self, selected: np.ndarray | None = None) -> None:
        """Go back to the empty subset, or start afresh from another one."""
        self.selected[:] = False if selected is None else selected
        self.n_selected = int(self.selected.sum())
        for measure in self._measures:
            measure.reset()
            measure.move(np.flatnonzero(self.selected).tolist(), [True] * self.n_selected)
        self.cost = self._guide.current(self.n_selected)

    def go_to(self, selected: np.ndarray) -> None:
        """Go to another subset, by the features that differ if they are few."""
        changed = np.flatnonzero(selected != self.selected)
        if changed.size > np.count_nonzero(selected):
            self.reset(selected)
        elif changed.size:
            for measure in self._measures:
                measure.move(changed.tolist(), selected[changed].tolist())
            self.selected[:] = selected
            self.n_selected = int(self.selected.sum())
            self.cost = self._guide.current(self.n_selected)

    def candidates(self, features: np.ndarray) -> np.ndarray:
        """Return costs of the subsets that differ from the current one by each of ``features`` (added if absent, else
        dropped).
        """
        adding = ~self.selected[features]
        return self._guide.candidates(features, adding, self.n_selected + np.where(adding, 1, -1))

    @property
    def rank(self) -> float:
        """Return the value that a search minimizes: the cost plus a large multiple of the violation of constraints."""
        if not self._bounds:
            return self.cost
        return self.cost + self._penalty * _counted(self._violation_of(self.problem.objective, self._bounds))

    def ranks(self, features: np.ndarray, costs: np.ndarray) -> np.ndarray:
        """Return ranks of the subsets whose ``costs`` `candidates` returned for ``features``."""
        if not self._bounds:
            return costs
        adding, violations = ~self.selected[features], np.zeros(features.size)
        sizes = self.n_selected + np.where(adding, 1, -1)
        for bound, measure in zip(self.problem.objective.constraints, self._bounds, strict=True):
            violations += bound.violation(measure.sign * measure.candidates(features, adding, sizes))
        return costs + self._penalty * _counted(violations)

    def validate(self) -> tuple[float, float]:
        """Evaluate the current subset on the rows that choose the subset.

        Returns
        -------
        value : on the validation rows; NaN without such rows.
        violation : distance from the constraints; 0 if the subset satisfies them.
        """
        value, validation, bounds = float("nan"), self._validation, self._validation_bounds
        if validation is not None:
            value = validation.sign * validation.current(self.n_selected)
        judge = self.problem.validation or self.problem.objective
        return value, self._violation_of(judge, bounds) if bounds else 0.0

    def _violation_of(self, objective: Objective, bounds: list[RunningCriterion]) -> float:
        values = [measure.sign * measure.current(self.n_selected) for measure in bounds]
        return float(violation(objective.constraints, values))

    def add_all(self, features: np.ndarray) -> np.ndarray:
        """Add features one after another, and return the cost of each subset on the way; for log losses only."""
        costs = self._guide.path(features, self.n_selected + np.arange(1, features.size + 1))
        self.selected[features] = True
        self.n_selected += features.size
        self.cost = float(costs[-1]) if features.size else self.cost
        return costs

    def flip(self, feature: int, cost: float | None = None) -> None:
        """Add ``feature`` if absent, drop it otherwise; ``cost`` is that of the new subset if known."""
        adding = not self.selected[feature]
        for measure in self._measures:
            measure.move((int(feature),), (adding,))
        self.selected[feature] = adding
        self.n_selected += 1 if adding else -1
        self.cost = self._guide.current(self.n_selected) if cost is None else cost


def violation(constraints: Sequence[Constraint], measures: Iterable[Any]) -> Any:
    """Return how far subsets are from their constraints, from a number or an array of each measure."""
    return sum(bound.violation(np.asarray(value)) for bound, value in zip(constraints, measures, strict=True))


def refuse_unmeasurable(criterion: Criterion, costs: Any) -> None:
    """Raise ValueError if the rows lack a class that a criterion needs, which makes its values NaN."""
    if np.isnan(costs).any():
        raise ValueError(f"{criterion.name!r} cannot be measured on these rows: they lack a class that it needs.")


def _counted(violations: Any) -> Any:
    return violations + _MISSED * (violations > 0.0)


class RunningCriterion:
    """A criterion on some rows that follows the moves of a search: costs of the current subset and of candidates."""

    def __init__(self, rows: ScoredRows, criterion: Criterion, leave_out: bool, n_jobs: int | None) -> None:
        effective_jobs(n_jobs)  # refuses other values before anything runs
        self._rows, self._criterion, self._n_jobs = rows, criterion, n_jobs
        self.sign = 1.0 if criterion.lower_is_better else -1.0
        self._move_work = rows.block.n_rows * (rows.tables.n_classes - 1)
        leaves = leave_out and criterion.saturation(rows.tables.n_classes) is not None
        options: dict[str, Any] = {"leave_out": True} if leaves else {}  # criteria of others may not know the option
        self._state: Any = criterion.start(rows.block, rows.tables, rows.priors, **options)

    def reset(self) -> None:
        self._state.reset(self._rows.priors)

    def move(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        self._state.multiply(features, adding)

    def of_subsets(self, subsets: np.ndarray) -> np.ndarray:
        """Return the costs of subsets (n_subsets, n_features); the current subset is then the last of them."""
        # From the logarithms, so that the way from one subset to another makes no difference.
        state, criterion = self._state, self._criterion
        sums = np.array([criterion.sums(state, state.no_move())[0] for _ in state.walk(subsets)])
        return self.sign * criterion.values(sums, subsets.sum(axis=1), self._rows.class_totals)

    def candidates(self, features: np.ndarray, adding: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return the cost of each subset that adds one of ``features`` to the current one, or drops it.

        ``adding`` states for each feature whether it is added, and ``sizes`` how large the subset then is.
        """
        state, criterion, n = self._state, self._criterion, features.size
        very_many = self._rows.tables.n_classes > VERY_MANY_CLASSES
        if n <= _CANDIDATES_AT_ONCE and self._move_work * n < _PARALLEL_WORK and not very_many:
            sums = criterion.sums(state, state.moves(features, adding))
        else:

            def piece(chosen: slice) -> np.ndarray:
                return criterion.sums(state, state.moves(features[chosen], adding[chosen]))

            state.scan()  # what threads share
            # Threads would not end at Ctrl-C before their piece is done.
            sums = np.concatenate(map_in_threads(piece, self._pieces(n), 1 if very_many else self._n_jobs))
        return self.sign * criterion.values(sums, sizes, self._rows.class_totals)

    def path(self, features: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Add features one after another; the costs of the subsets on the way."""
        sums = self._criterion.path_sums(self._state, features)  # type: ignore[attr-defined]
        return self.sign * self._criterion.values(sums, sizes, self._rows.class_totals)

    def current(self, size: int) -> float:
        """Return the cost of the current subset, which has this size."""
        sums = self._criterion.sums(self._state, self._state.no_move())
        return self.sign * float(self._criterion.values(sums, np.array([size]), self._rows.class_totals)[0])

    def _pieces(self, n: int) -> list[slice]:
        """Return the candidates in pieces that are scored together; the result does not depend on the pieces."""
        if self._rows.tables.n_classes > VERY_MANY_CLASSES:
            return [slice(a, a + 1) for a in range(max(1, n))]
        n_pieces = -(-n // _CANDIDATES_AT_ONCE)
        if self._move_work * n >= _PARALLEL_WORK:
            workers = effective_jobs(self._n_jobs)
            n_pieces = min(n, max(workers, -(-n_pieces // workers) * workers))
        ends = np.linspace(0, n, max(1, n_pieces) + 1).astype(int)
        return [slice(a, b) for a, b in pairwise(ends.tolist())]
