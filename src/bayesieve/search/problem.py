"""Search problems (objective, rows, candidates), the state of the current subset, and the default search
`MultiStart`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.counts.row_hashes import listed_by_counts
from bayesieve.criteria import Criterion, MAPCost, ScoredRows, check_criterion, make_criterion
from bayesieve.criteria.base import RunningCriterion
from bayesieve.engine import effective_jobs
from bayesieve.engine.progress import Clock, Progress
from bayesieve.search.trace import SearchTrace, TraceRecorder, WalkStart

TIE = 1e-12  # rounding errors of measures; violation of a measure equal to its bound
_PENALTY = 1e6  # penalty of a violation of 1, times the cost of the empty subset: more than any criterion improves
_MISSED = 1e-3  # added to violations, so that subsets exactly on a bound are worse than all that exceed it

_WAVE = 4  # number of starts in a wave; fixed, so that results do not depend on threads
_QUICK_WORK = 2_000_000  # rows x candidates x other classes below which threads are not worthwhile
_THOROUGH = 4  # factor of the number of starts
_AHEAD_WORK, _MAX_AHEAD = 20_000, 256  # limits on rows, and on moves, that are scored ahead


@dataclass(frozen=True)
class Constraint:
    """Constraint on a subset: ``measure`` must exceed ``bound``, or be below it if lower values are better."""

    name: str
    measure: Criterion
    bound: float

    def violation(self, values: np.ndarray) -> np.ndarray:
        """Return the distance of values of the measure from satisfying the bound, shape (n,).

        It is 0 for values that satisfy it, infinity for NaN, and 1e-12 for values equal to the bound within rounding.
        """
        short = values - self.bound if self.measure.lower_is_better else self.bound - values
        return np.where(np.isnan(short), np.inf, np.where(short >= -TIE, np.maximum(short, TIE), 0.0))

    def __str__(self) -> str:
        return f"{self.name} {'<' if self.measure.lower_is_better else '>'} {self.bound:g}"


@dataclass(frozen=True)
class Objective:
    """Objective of a search: a criterion, the rows on which it is measured, and constraints on other measures of these
    rows.

    Attributes
    ----------
    criterion : Criterion
        Number to optimise, such as the log loss.
    rows : ScoredRows
        Level numbers of the rows and smoothed log probabilities, from which naive Bayes models of subsets are scored.
    constraints : tuple of Constraint
        A subset that satisfies all constraints is better than one that does not. Of two that do not, the one with the
        smaller total violation is better.

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
        """Return the objective of a criterion on the training rows.

        Parameters
        ----------
        coded : training rows with classes
        criterion : name or instance of the criterion; see `WrapperSelector`
        smoothing : smoothing of the probabilities
        constraints : lower or upper bound (if lower values are better) of each constrained measure; see
            `WrapperSelector`
        """
        rows = ScoredRows.training(coded, coded.counts, smoothing)
        measure = make_criterion(criterion, coded.n_features, coded.classes)
        return cls(measure, rows, make_constraints(constraints, coded))

    @property
    def sign(self) -> float:
        """Sign of the criterion: 1 if lower is better, otherwise -1."""
        return 1.0 if self.criterion.lower_is_better else -1.0

    def follow(self, leave_out: bool, n_jobs: int | None) -> RunningCriterion:
        """Return an incremental evaluation of the criterion, which a search updates when its subset changes.

        It starts at the empty subset. With ``leave_out``, passes over the rows may skip those whose prediction no
        further feature can change. ``n_jobs`` is the number of threads.
        """
        return RunningCriterion(self.rows, self.criterion, leave_out, n_jobs)

    @property
    def facts(self) -> dict[str, Any]:
        """Fields of a `SearchTrace` that describe this objective if it is measured on validation rows, by name."""
        return {
            "validation_name": self.criterion.name,
            "validation_lower_is_better": self.criterion.lower_is_better,
            "validation_total": float(self.rows.class_totals.sum()),
        }

    def of_subsets(self, subsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the criterion of subsets, (n_subsets,), and their constrained measures, (n_subsets, n_constraints).

        ``subsets`` (n_subsets, n_features) is a mask of the features of each subset.
        """
        criteria = [self.criterion, *(bound.measure for bound in self.constraints)]
        every = [RunningCriterion(self.rows, criterion, False, None) for criterion in criteria]
        values, *measures = (running.sign * running.of_subsets(subsets) for running in every)
        return values, np.array(measures).reshape(len(measures), len(subsets)).T


def make_constraints(constraints: Mapping[str | Criterion, float] | None, coded: CodedTable) -> tuple[Constraint, ...]:
    """Return a constraint for each item of a mapping from measures to bounds, such as ``{"recall:yes": 0.9}``.

    A bound is a lower one, or an upper one if lower values of the measure are better. ``coded`` gives the classes that
    measures may name. Without a mapping, there are no constraints.
    """
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
    """A search problem: find the best subset of the features of a coded table by an objective.

    Attributes
    ----------
    objective : objective that guides the search.
    names : names of all features.
    candidates : positions of the features that may be chosen, by default those with at least two levels.
    validation : objective on other rows, by which the best of the evaluated subsets is chosen, or None.
    evaluation : rows on which the criterion is measured: "train", "holdout", "loo", or a number of folds such as "10
        folds"; None if these can only be the training rows.
    recoded : whether levels were refitted without the rows that evaluate subsets; None if levels do not depend on the
        classes, or subsets are evaluated on the training rows.
    learnt : coded table from which probabilities are estimated, for searches that need its counts or rows; or None.
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
        """Return the problem of searching the best subset by a criterion on the training rows ``coded``.

        The default criterion is `MAPCost` (Boulle 2007), whose penalty depends on the number K of features.
        ``constant_columns`` says whether columns with a single value count in K; ``smoothing`` is the smoothing of the
        probabilities.
        """
        n_varied = coded.n_features
        if not constant_columns and coded.levels is not None:
            n_varied -= coded.levels.constant.size
        rows = ScoredRows.training(coded, coded.counts, smoothing)
        objective = Objective(MAPCost(n_varied) if criterion is None else criterion, rows)
        return cls(objective, coded.names, np.flatnonzero(coded.n_levels > 1), learnt=coded)

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
        """Return the problem of searching the features of a coded table by an objective, which may be measured on other
        rows.

        With ``every_feature``, features with a single level are candidates, too. The default of ``learnt`` is
        ``coded``; ``facts`` are further fields of the problem.
        """
        candidates = np.arange(coded.n_features) if every_feature else np.flatnonzero(coded.n_levels > 1)
        return cls(objective, coded.names, candidates, learnt=coded if learnt is None else learnt, **facts)

    @classmethod
    def bare(cls, objective: Objective) -> SubsetProblem:
        """Return a problem in which all features of an objective are candidates, named by their positions."""
        n_features = int(objective.rows.tables.n_codes.size)
        return cls(objective, tuple(map(str, range(n_features))), np.arange(n_features))

    def state(self, *, leave_out: bool = False, n_jobs: int | None = None) -> SearchState:
        """Return the state of a search at the empty subset.

        With ``leave_out``, passes over the rows may skip those whose prediction no move can change. ``n_jobs`` is the
        number of threads.
        """
        return SearchState(self, leave_out=leave_out, n_jobs=n_jobs)

    def trace(self, walks: list[TraceRecorder], chosen: np.ndarray | None = None, **facts: Any) -> SearchTrace:
        """Return the trace of a search from the records of its ``walks``, of which there may be none after an
        interrupt.

        ``chosen`` (n_features,) is a mask of the subset that the search chose, by default the best of all evaluated
        ones. ``facts`` are further arguments of `SearchTrace.of`.
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
    """Base class of searches for the best subset of a problem; attributes of a search are its options."""

    @abstractmethod
    def run(self, problem: SubsetProblem, progress: Progress | None = None) -> SearchTrace:
        """Run the search, and return its trace with the chosen subset (``trace.chosen``).

        After Ctrl-C, the best subset so far is chosen. ``progress`` is called with the number of steps done, the number
        of all steps, and the best value of the criterion; it ends the search by returning True.
        """


def no_naive_bayes(search: Search) -> ValueError:
    """Return the error for a search that scores naive Bayes with an objective that has no scored rows, such as that of
    CFS.
    """
    return ValueError(
        f"{type(search).__name__} evaluates naive Bayes, but this objective does not; choose another search."
    )


def first_record(state: SearchState) -> TraceRecorder:
    """Return a recorder for a walk that starts from the current subset of a state."""
    validation, violation = state.validate()
    value = state.problem.objective.sign * state.cost
    return TraceRecorder(WalkStart(np.flatnonzero(state.selected), value, validation, violation))


class SearchState:
    """Current subset of a search, and its cost.

    One pass over the rows scores a batch of moves (features to add or drop); another pass applies a move. Costs are
    values of the criterion, times -1 if higher values are better: lower costs are always better.

    Parameters
    ----------
    problem : the search problem.
    leave_out : whether passes may skip rows whose prediction no move can change.
    n_jobs : number of threads.

    Attributes
    ----------
    selected : (n_features,) bool, the current subset
    n_selected : number of its features
    cost : cost of the current subset
    """

    def __init__(self, problem: SubsetProblem, *, leave_out: bool = False, n_jobs: int | None = None) -> None:
        self.problem = problem
        objective, validation = problem.objective, problem.validation
        rows, bounds = objective.rows, objective.constraints
        self._guide = objective.follow(leave_out, n_jobs)
        self._bounds = [RunningCriterion(rows, bound.measure, leave_out, n_jobs) for bound in bounds]
        self._measures = [self._guide, *self._bounds]
        # The subset may be chosen on other rows (validation) than those that guide the search.
        self._validation, self._validation_bounds = None, self._bounds
        if validation is not None:
            rows, bounds = validation.rows, validation.constraints
            self._validation = RunningCriterion(rows, validation.criterion, False, n_jobs)
            self._validation_bounds = [RunningCriterion(rows, bound.measure, False, n_jobs) for bound in bounds]
            self._measures += [self._validation, *self._validation_bounds]
        self.selected = np.zeros(len(problem.names), dtype=bool)
        self.n_selected = 0
        self.cost = self._guide.current(0)
        refuse_unmeasurable(objective.criterion, self.cost)
        self._penalty = _PENALTY * max(1.0, abs(self.cost))

    def reset(self, selected: np.ndarray | None = None) -> None:
        """Make ``selected``, a mask (n_features,), the current subset, by default the empty one, and recompute its
        cost.
        """
        self.selected[:] = False if selected is None else selected
        self.n_selected = int(self.selected.sum())
        for measure in self._measures:
            measure.reset()
            measure.move(np.flatnonzero(self.selected).tolist(), [True] * self.n_selected)
        self.cost = self._guide.current(self.n_selected)

    def go_to(self, selected: np.ndarray) -> None:
        """Make ``selected``, a mask (n_features,), the current subset.

        If few features differ from the current subset, only these are added or dropped; otherwise the subset is
        evaluated anew.
        """
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
        """Return the cost of each subset that differs from the current one by a single feature, (n,).

        ``features`` (n,) are the positions of these features; a feature is added if it is absent, and dropped
        otherwise.
        """
        adding = ~self.selected[features]
        return self._guide.candidates(features, adding, self.n_selected + np.where(adding, 1, -1))

    @property
    def rank(self) -> float:
        """Cost of the current subset plus a large multiple of its violation of constraints; a search minimises it."""
        if not self._bounds:
            return self.cost
        return self.cost + self._penalty * _counted(self._violation_of(self.problem.objective, self._bounds))

    def ranks(self, features: np.ndarray, costs: np.ndarray) -> np.ndarray:
        """Return the values by which a search compares moves, (n,); lower is better.

        They are the ``costs`` (n,) of the resulting subsets, as returned by `candidates`, plus a large multiple of
        their violation of constraints. ``features`` (n,) are the positions of the features that the moves add or drop.
        """
        if not self._bounds:
            return costs
        adding, violations = ~self.selected[features], np.zeros(features.size)
        sizes = self.n_selected + np.where(adding, 1, -1)
        for bound, measure in zip(self.problem.objective.constraints, self._bounds, strict=True):
            violations += bound.violation(measure.sign * measure.candidates(features, adding, sizes))
        return costs + self._penalty * _counted(violations)

    def validate(self) -> tuple[float, float]:
        """Evaluate the current subset on the validation rows, or its constraints on the guiding rows if there are none.

        Returns
        -------
        value : criterion on the validation rows; NaN without such rows.
        violation : distance from the constraints; 0 if the subset satisfies them.
        """
        value, validation, bounds = float("nan"), self._validation, self._validation_bounds
        if validation is not None:
            value = validation.sign * validation.current(self.n_selected)
        judge = self.problem.validation or self.problem.objective
        return value, self._violation_of(judge, bounds) if bounds else 0.0

    def _violation_of(self, objective: Objective, bounds: list[RunningCriterion]) -> float:
        """Return the current subset's distance from the constraints of an objective; 0 if it satisfies them.

        ``bounds`` are the incremental evaluations of the constrained measures, in the order of the constraints.
        """
        values = [measure.sign * measure.current(self.n_selected) for measure in bounds]
        return float(violation(objective.constraints, values))

    def add_all(self, features: np.ndarray) -> np.ndarray:
        """Add ``features`` (positions, (n,)) one after another; return the cost after each addition, (n,).

        Only criteria that are log losses support this.
        """
        costs = self._guide.path(features, self.n_selected + np.arange(1, features.size + 1))
        self.selected[features] = True
        self.n_selected += features.size
        self.cost = float(costs[-1]) if features.size else self.cost
        return costs

    def flip(self, feature: int, cost: float | None = None) -> None:
        """Add ``feature`` (a position) if it is absent, otherwise drop it.

        ``cost`` is the cost of the new subset, if it has been computed already.
        """
        adding = not self.selected[feature]
        for measure in self._measures:
            measure.move((int(feature),), (adding,))
        self.selected[feature] = adding
        self.n_selected += 1 if adding else -1
        self.cost = self._guide.current(self.n_selected) if cost is None else cost


def violation(constraints: Sequence[Constraint], measures: Iterable[Any]) -> Any:
    """Return the total violation of constraints by one subset, a number, or by several subsets, an array (n_subsets,):
    the sum of `Constraint.violation`.

    ``measures`` has, for each constraint, the value of its measure: a number or an array (n_subsets,).
    """
    return sum(bound.violation(np.asarray(value)) for bound, value in zip(constraints, measures, strict=True))


def refuse_unmeasurable(criterion: Criterion, costs: np.ndarray | float) -> None:
    """Raise ValueError if any of ``costs`` (a number or array) is NaN, because the rows lack a class that the criterion
    needs.
    """
    if np.isnan(costs).any():
        raise ValueError(
            f"{criterion.name!r} cannot be measured on these rows, because some class that it needs has no row with a "
            "weight above 0; add rows of every class, or choose another criterion."
        )


def _counted(violations: Any) -> Any:
    """Return ``violations`` (a number or array) plus a small constant where they are positive, so that a subset exactly
    on a bound violates it, too.
    """
    return violations + _MISSED * (violations > 0.0)


@dataclass(frozen=True)
class MultiStart(Search):
    """Fast forward-backward search from several random orders of the features.

    Each start begins with the empty subset. It shuffles the features and adds every one that lowers the cost, then
    shuffles again and drops every one whose removal lowers it, until nothing changes or after ``max_iter`` rounds.
    ``n_starts=None`` means log2(K N) starts for K features and N rows. With ``thorough``, there are four times as many
    if they are quick, so that the result depends less on ``seed``.

    A move must improve the criterion by more than ``tol``. Costs of subsets that were evaluated before are reused.
    Starts run in waves of four. A start reuses costs of earlier waves only, so that results do not depend on
    ``n_jobs``.
    """

    n_starts: int | None = None
    max_iter: int = 5
    seed: int = 0
    max_seconds: float | None = None
    n_jobs: int | None = -1
    tol: float = 0.0
    thorough: bool = False

    def run(self, problem: SubsetProblem, progress: Progress | None = None) -> SearchTrace:
        """Run the search, and return the trace of all subsets evaluated until its end, Ctrl-C or ``max_seconds``."""
        clock, rng = Clock(self.max_seconds, progress), np.random.default_rng(self.seed)
        criterion, candidates = problem.objective.criterion, problem.candidates
        # The number of starts depends on the K features that the cost counts, which may exclude constant columns.
        n_varied = criterion.n_features if isinstance(criterion, MAPCost) else len(problem.names)

        # Threads are worthwhile only for long work; quick starts run one after another.
        rows = problem.objective.rows
        if rows is None:
            raise no_naive_bayes(self)
        n_ratios = rows.block.n_rows * max(1, rows.tables.n_classes - 1)
        is_quick = n_ratios * max(1, candidates.size) < _QUICK_WORK
        workers = 1
        if not is_quick:
            most_states = rows.block.engine.most_state_bytes // (8 * n_ratios)
            workers = max(1, min(effective_jobs(self.n_jobs), _WAVE, most_states))
        n_starts = int(self.n_starts or 0)
        if not n_starts:
            n_starts = max(1, math.ceil(math.log2(max(2.0, n_varied * float(rows.class_totals.sum())))))
            n_starts *= _THOROUGH if self.thorough and is_quick else 1

        # A subset is identified by the exclusive or of random keys of its features (Zobrist hashing).
        if problem.learnt is not None:  # results do not depend on names and order of columns
            candidates = listed_by_counts(problem.learnt.counts, candidates)
        keys = np.zeros(len(problem.names), dtype=np.uint64)
        keys[candidates] = rng.integers(1, 2**63, size=n_varied, dtype=np.uint64)[: candidates.size]

        walks: list[TraceRecorder] = []
        n_ahead = max(1, min(_MAX_AHEAD, _AHEAD_WORK // max(1, rows.block.n_rows)))
        waves = _Waves(self, problem, candidates, keys, n_ahead, clock)
        for first in range(0, n_starts, _WAVE):
            seeds = rng.integers(0, 2**63, size=min(_WAVE, n_starts - first)).tolist()
            with clock:
                for walk in waves.run(seeds, workers):
                    waves.costs.update(walk.costs)
                    walks.append(walk.recorder)
                clock.show(len(walks), n_starts, problem.objective.sign * min(waves.costs.values(), default=np.inf))
            if clock.is_up or not clock.complete:
                break
        complete = clock.complete and len(walks) == n_starts
        with clock.ended_by_interrupt():  # Ctrl-C must not lose the walks now
            return problem.trace(walks, complete=complete, seconds=clock.seconds)


@dataclass
class _Waves:
    """Starts of one multi-start search, which run in waves: groups of starts that may run at the same time.

    A start reuses the costs of subsets evaluated in earlier waves.

    Attributes
    ----------
    options : the search.
    problem : its problem.
    candidates : (n,) positions of the features to try.
    keys : (n_features,) random 64-bit numbers; the exclusive or of the keys of its features identifies a subset.
    n_ahead : least number of moves that are scored at once.
    clock : time limit and progress of the search.
    costs : cost of each evaluated subset, by the subset's key.
    """

    options: MultiStart
    problem: SubsetProblem
    candidates: np.ndarray
    keys: np.ndarray
    n_ahead: int
    clock: Clock
    costs: dict[int, float] = field(default_factory=dict)
    _spare: list[SearchState] = field(default_factory=list)

    def run(self, seeds: list[int], workers: int) -> list[_Walk]:
        """Run a start for each seed in ``workers`` threads; return their walks in the order of the seeds.

        Ctrl-C or the time limit ends all starts; the walks then end early.
        """
        walks: list[_Walk] = []
        if workers == 1:
            with self.clock:
                for seed in seeds:
                    walks.append(self._walk(seed))
                    if not self.clock.complete:
                        break
            return walks
        with ThreadPoolExecutor(workers) as pool:
            futures = [pool.submit(self._walk, seed) for seed in seeds]
            pending = set(futures)
            while pending:
                with self.clock:  # a wait without limit could not be interrupted on every platform
                    _, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
            return [future.result() for future in futures]

    def _walk(self, seed: int) -> _Walk:
        """Run one start from ``seed`` and return its walk: phases that add and drop features alternate until nothing
        changes.
        """
        try:
            state = self._spare.pop()
            state.reset()
        except IndexError:  # no test beforehand: another thread may take the last state in between
            state = SearchState(self.problem)
        walk = _Walk(
            waves=self,
            state=state,
            rng=np.random.default_rng(seed),
            recorder=first_record(state),
            costs=self.costs.copy(),
        )
        with self.clock:  # all moves recorded so far remain valid
            for _ in range(self.options.max_iter):
                improved = [walk.try_all(adding=adding) for adding in (True, False)]
                if self.clock.stops() or not any(improved):
                    break
        self._spare.append(state)
        return walk


_EMPTY = np.uint64(0)  # key of the empty subset: the exclusive or of no keys


@dataclass
class _Walk:
    """Walk of one start of a multi-start search, from the empty subset through subsets of decreasing cost.

    Attributes
    ----------
    waves : the search.
    state : current subset.
    rng : generator of the order of the moves.
    recorder : record of the walk.
    costs : cost of each subset evaluated in earlier waves or by this walk, by the subset's key.
    key : key of the current subset; 0 for the empty one.
    """

    waves: _Waves
    state: SearchState
    rng: np.random.Generator
    recorder: TraceRecorder
    costs: dict[int, float]
    key: np.uint64 = _EMPTY

    def try_all(self, *, adding: bool) -> bool:
        """Try to add (or drop) every feature once, in random order; return whether a move was accepted."""
        waves, state, clock = self.waves, self.state, self.waves.clock
        sign, tol = waves.problem.objective.sign, waves.options.tol
        order = self.rng.permutation(waves.candidates)
        order = order[state.selected[order] != adding]
        toggles, ways, accepted = waves.keys[order], np.full(order.size, adding), np.zeros(order.size, dtype=bool)
        at, size, improved = 0, 1, False
        while at < order.size and not clock.stops():
            end = at + max(size, waves.n_ahead)
            batch, keys = order[at:end], self.key ^ toggles[at:end]

            # Subsets that were evaluated before are not scored again.
            costs = np.array(list(map(self.costs.get, keys.tolist())), dtype=float)  # NaN if a subset is new
            is_new = np.isnan(costs)
            if is_new.any():
                costs[is_new] = new = state.candidates(batch[is_new])
                self.costs.update(zip(keys[is_new].tolist(), new.tolist(), strict=True))

            rank = state.rank
            better = state.ranks(batch, costs) < rank - max(tol, 1e-10 * (1.0 + abs(rank)))
            first = int(better.argmax())
            validation, violation = float("nan"), 0.0
            if better[first]:
                end = at + first + 1
                batch, keys, costs = batch[: first + 1], keys[: first + 1], costs[: first + 1]
                accepted[end - 1] = improved = True
                state.flip(int(batch[-1]), float(costs[-1]))
                validation, violation = state.validate()
                self.key = keys[-1]
            self.recorder.record(
                features=batch,
                adding=ways[at:end],
                costs=sign * costs,
                accepted=accepted[at:end],
                keys=keys,
                seconds=clock.seconds,
                validation=validation,
                violation=violation,
            )
            # A batch of moves reads the rows' state once, but is valid only up to the first accepted move: batches grow
            # while no move is accepted.
            size = 1 if better[first] else min(2 * size, 16)
            at = end
        return improved
