"""Searches that score every feature before each move: greedy and best-first search, and a path of ranked features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from bayesieve.counts.information import class_information
from bayesieve.engine.progress import Clock, Progress
from bayesieve.search.problem import TIE, MultiStart, Search, SubsetProblem, first_record
from bayesieve.search.trace import Point, SearchTrace, StepRecorder, TraceRecorder

DIRECTIONS = ("forward", "backward", "forward-backward", "backward-forward", "fast")

_MAX_PASSES = 50  # limit of the fast search, which usually ends earlier, when a round changes nothing


@dataclass(frozen=True)
class GreedySearch(Search):
    """Greedy search, which adds or drops the best feature at each step. Of ties (within 1e-12), the first column is
    chosen.

    Under constraints, the move with the smallest violation is best; among moves that satisfy the constraints, the one
    with the best criterion. ``"forward"`` starts from the empty subset, ``"backward"`` from all candidates.
    ``"forward-backward"`` and ``"backward-forward"`` alternate: a phase runs to its end, the opposite phase starts from
    the best subset so far, and so on until a phase finds no better subset. A subset is better if it has a lower value
    on the validation rows (or, without such rows, a better criterion), or the same value with fewer features.
    ``"fast"`` does not compare all moves: in random order, it adds every feature that improves the criterion, then
    drops every feature whose removal improves it, until nothing changes.

    Parameters
    ----------
    direction : one of `DIRECTIONS`
    n_features : int or None
        Size of the subset at which forward and backward searches stop; other directions choose the best subset of at
        most this size. None for the best subset of any size.
    tol : float or None
        A forward phase stops when the best addition improves the criterion by no more than ``tol``, a backward phase
        when the best removal worsens it by more. None: phases run to their ends.
    max_seconds : float or None
        Time limit.
    leave_out : bool
        Whether passes skip rows whose prediction no move can change; results do not depend on it.
    seed : int
        Seed of the order in which ``"fast"`` tries features.
    n_jobs : int or None
        Threads; results do not depend on it.
    until_best : bool
        Whether a forward search without validation rows ends as soon as the criterion has its best possible value.
    resume : SearchTrace or None
        Trace of an earlier search to continue; its moves are repeated without scoring.
    last_of_ties : bool
        Whether the last column of ties is chosen instead of the first.
    every_move : bool
        Whether the trace records all scored moves, or only the accepted ones.

    References
    ----------
    Langley & Sage (1994), Induction of selective Bayesian classifiers; Rabenoro et al. (2015), section 5.3; Boulle
    (2007), algorithm 1, for the fast search.
    """

    direction: str = "forward"
    n_features: int | None = None
    tol: float | None = None
    max_seconds: float | None = None
    leave_out: bool = True
    seed: int = 0
    n_jobs: int | None = -1
    resume: SearchTrace | None = None
    until_best: bool = False
    last_of_ties: bool = False
    every_move: bool = False

    def run(self, problem: SubsetProblem, progress: Progress | None = None) -> SearchTrace:
        """Run the search, and return its trace with the chosen subset."""
        if self.direction == "fast":
            search = MultiStart(1, _MAX_PASSES, self.seed, self.max_seconds, self.n_jobs, tol=self.tol or 0.0)
            trace = search.run(problem, progress)
            return replace(trace, chosen=trace.best_on_path(self.n_features))
        return _GreedyRun(self, problem, progress).search()


class _GreedyRun:
    """Run of one greedy search: its options, current subset, time limit and records.

    ``options`` is the search, ``problem`` its problem, and ``progress`` a function that is called after each move, or
    None.
    """

    def __init__(self, options: GreedySearch, problem: SubsetProblem, progress: Progress | None) -> None:
        self._options = options
        self._problem = problem
        self._clock = Clock(options.max_seconds, progress)
        self._state = problem.state(leave_out=options.leave_out, n_jobs=options.n_jobs)
        self._steps = StepRecorder(problem, options.every_move)
        self._sign = problem.objective.sign
        self._n_models = 1
        self._walks: list[TraceRecorder] = []
        self._resumed = _Resumed(options.resume, problem.names)
        self._best: tuple[Point, np.ndarray] | None = None

    def search(self) -> SearchTrace:
        """Run phases that add or drop features until a phase finds no better subset; return the trace."""
        direction, problem = self._options.direction, self._problem
        empty_subset = self._sign * self._state.cost
        adding = direction.startswith("forward")
        subset = np.zeros(len(problem.names), dtype=bool)
        if not adding:
            subset[problem.candidates] = True
        with self._clock:
            while True:
                before = self._best
                self._phase(adding, subset)
                if direction in ("forward", "backward") or not self._clock.complete or self._best is None:
                    break
                if before is not None and self._best is before:
                    break
                subset = self._best[1]
                adding = not adding
        return problem.trace(
            self._walks,
            self._state.selected.copy() if self._best is None else self._best[1],
            complete=self._clock.complete,
            seconds=self._clock.seconds + self._resumed.seconds,
            null_criterion=empty_subset,
            n_models=None if self._options.every_move else self._n_models + self._resumed.n_models,
        )

    def _phase(self, adding: bool, subset: np.ndarray) -> None:
        """Add (or, if ``adding`` is false, drop) one feature after the other until the phase ends.

        ``subset`` is the mask, (n_features,), from which the phase starts.
        """
        state, options, clock = self._state, self._options, self._clock
        state.reset(subset)
        recorder = first_record(state)
        self._resumed.begin(recorder)
        self._walks.append(recorder)
        self._keep_best(recorder.start.validation, recorder.start.violation)
        while True:
            features = self._problem.candidates[state.selected[self._problem.candidates] != adding]
            if features.size == 0 or self._is_over(adding) or clock.stops():
                return

            # A resumed search first repeats its recorded moves; only then are features scored to find the best move.
            earlier = next(self._resumed.moves, None)
            if earlier is None:
                costs = state.candidates(features)
                ranks = state.ranks(features, costs)
                tied = ranks <= ranks.min() + TIE * max(1.0, abs(ranks.min()))
                best = ranks.size - 1 - int(np.argmax(tied[::-1])) if options.last_of_ties else int(np.argmax(tied))
                self._n_models += features.size
            else:
                features, costs, best = np.array(earlier[:1]), np.array([self._sign * earlier[1]]), 0
                ranks = state.ranks(features, costs)
            feature, before = int(features[best]), state.selected.copy()
            if options.tol is not None and not self._is_worthwhile(adding, float(ranks[best])):
                if earlier is None:
                    self._steps.record(recorder, before, features, costs, -1, clock.seconds)
                return

            # Record the move only after the state has changed, so that an interrupt in between leaves the record
            # consistent.
            state.flip(feature, float(costs[best]))
            value, violation = state.validate()
            value = value if earlier is None else earlier[2]
            seconds = clock.seconds + self._resumed.seconds
            self._steps.record(recorder, before, features, costs, best, seconds, value, violation)
            self._keep_best(value, violation)
            clock.show(state.n_selected, self._problem.candidates.size, self._sign * state.cost)
            if clock.interrupted:
                return

    def _is_over(self, adding: bool) -> bool:
        """Return whether a phase that adds (or drops) features must end.

        It ends at the requested number of features, or when the criterion has its best possible value.
        """
        options, n_selected, limit = self._options, self._state.n_selected, self._options.n_features
        if limit is not None and (n_selected >= limit if adding else n_selected <= limit):
            return adding or options.direction == "backward"
        best = self._problem.objective.criterion.best
        if best is None or not options.until_best or options.direction != "forward":
            return False
        return self._problem.validation is None and self._state.rank <= self._sign * best + TIE

    def _is_worthwhile(self, adding: bool, rank: float) -> bool:
        """Return whether a move satisfies ``tol``. ``rank`` is the cost of the resulting subset, with its violation of
        constraints as a penalty.

        An addition must improve the rank by more than ``tol``, a removal may worsen it by at most ``tol``.
        """
        tol, current = float(self._options.tol or 0.0), self._state.rank
        tie = TIE * max(1.0, abs(current))
        if adding:
            return rank < current - tol - tie
        return rank <= current + tol + tie

    def _keep_best(self, validation: float, violation: float) -> None:
        """Store the current subset if it is the best so far.

        ``validation`` is the subset's criterion on the validation rows (NaN without such rows), ``violation`` its
        distance from the constraints.
        """
        state, limit = self._state, self._options.n_features
        if limit is not None and self._options.direction in ("forward", "backward"):
            self._best = (Point(0.0, 0), state.selected.copy())  # the last subset has the requested size
            return
        if limit is not None and state.n_selected > limit:
            return
        value = state.cost if self._problem.validation is None else self._problem.validation.sign * validation
        point = Point(value, state.n_selected, violation)
        if self._best is None or point.beats(self._best[0]):
            self._best = (point, state.selected.copy())


class _Resumed:
    """Recorded moves of an earlier search, which are repeated in order before the search continues.

    ``trace`` is the trace of that search, or None; ``names`` are the features of the table, which must be the same.
    """

    def __init__(self, trace: SearchTrace | None, names: tuple[str, ...]) -> None:
        if trace is not None and trace.names != names:
            raise ValueError("resume: the trace is of a table with other features; search again with resume=None.")
        self._trace = trace
        self._walk = -1
        self.moves: Iterator[tuple[int, float, float]] = iter(())
        self.seconds = 0.0 if trace is None else trace.seconds
        self.n_models = 0 if trace is None else trace.n_models - 1

    def begin(self, recorder: TraceRecorder) -> None:
        """Start repeating the next recorded walk, and check that it starts from the same subset.

        ``recorder`` holds the start of the new walk.
        """
        self._walk += 1
        self.moves = iter(())
        if self._trace is None or self._walk >= self._trace.n_starts:
            return
        start = self._trace.starts[self._walk]
        same = np.array_equal(np.sort(start.features), recorder.start.features)
        if not same or abs(start.criterion - recorder.start.criterion) > 1e-9 * max(1.0, abs(start.criterion)):
            raise ValueError(
                "resume: the trace is of another search (other rows, criterion, direction or evaluation); search again "
                "with resume=None."
            )
        moves = self._trace.walk_moves(self._walk)
        self.moves = zip(moves.feature.tolist(), moves.cost.tolist(), moves.validation.tolist(), strict=True)


@dataclass(frozen=True)
class BestFirst(Search):
    """Best-first search, which extends the best subset in a queue by every feature, until several extensions find no
    better one.

    In the trace, every extension is a walk ("start"), and all scored moves are recorded.

    Parameters
    ----------
    n_waiting : int
        Largest number of subsets in the queue.
    n_stale : int
        Number of consecutive extensions without a better subset after which the search ends.
    tol : float
        Amount by which the criterion of a better subset must exceed the best one so far.
    max_seconds : float or None
    n_jobs : int or None
        Threads; results do not depend on it.

    References
    ----------
    Hall (1999), chapter 4; Hall et al. (2009), The WEKA data mining software: an update, SIGKDD Explorations 11 (1),
    whose search this is.
    """

    n_waiting: int = 5
    n_stale: int = 5
    tol: float = 1e-5
    max_seconds: float | None = None
    n_jobs: int | None = -1

    def run(self, problem: SubsetProblem, progress: Progress | None = None) -> SearchTrace:
        """Run the search, and return its trace with the best subset found."""
        clock, steps = Clock(self.max_seconds, progress), StepRecorder(problem)
        state, sign = problem.state(n_jobs=self.n_jobs), problem.objective.sign
        null = sign * state.cost
        best, best_rank = state.selected.copy(), state.rank
        waiting = [(best_rank, best)]
        walks: list[TraceRecorder] = []
        stale = 0
        with clock:
            while stale < self.n_stale and waiting and not clock.stops():
                subset = waiting.pop(0)[1]
                state.go_to(subset)
                walk, at = first_record(state), -1
                moves = problem.candidates[~subset[problem.candidates]]
                costs = state.candidates(moves)
                ranks = state.ranks(moves, costs)
                for i in np.flatnonzero(best_rank - ranks > self.tol).tolist():
                    if best_rank - ranks[i] > self.tol:
                        best_rank, at = float(ranks[i]), i
                worst = np.sort(ranks)[: self.n_waiting].max(initial=-np.inf)
                leading = np.flatnonzero(ranks <= worst).tolist()
                waiting += [(float(ranks[i]), flipped(subset, int(moves[i]))) for i in leading]
                waiting = sorted(waiting, key=itemgetter(0))[: self.n_waiting]  # stable: of ties, the first one
                if at >= 0:
                    state.flip(int(moves[at]), float(costs[at]))
                    best, stale = state.selected.copy(), 0
                else:
                    stale += 1
                validation, violation = state.validate()
                steps.record(walk, subset, moves, costs, at, clock.seconds, validation, violation)
                walks.append(walk)
                clock.show(state.n_selected, problem.candidates.size, sign * state.cost)
        chosen = best if problem.validation is None else None
        return problem.trace(walks, chosen, complete=clock.complete, seconds=clock.seconds, null_criterion=null)


@dataclass(frozen=True)
class RankedPath(Search):
    """Search over nested subsets: features are added in descending order of information gain, and the best subset of
    this path is chosen.

    Every subset takes one pass over the rows, even with leave-one-out. Features of equal gain are added in column
    order.

    Parameters
    ----------
    max_seconds : float or None
    n_jobs : int or None
        Threads; the results do not depend on it.

    References
    ----------
    Chen, Webb, Liu & Ma (2020), A novel selective naive Bayes algorithm, Knowledge-Based Systems 192.

    Examples
    --------
    >>> from bayesieve import WrapperSelector
    >>> from bayesieve.search import RankedPath
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = WrapperSelector("error", search=RankedPath(), evaluation="loo", recode=False).fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['petal width (cm)']
    """

    max_seconds: float | None = None
    n_jobs: int | None = -1

    def run(self, problem: SubsetProblem, progress: Progress | None = None) -> SearchTrace:
        """Add the features in descending order of information gain; return the trace with the best subset of
        the path.
        """
        if problem.learnt is None:
            raise ValueError(
                "RankedPath needs the rows to learn probabilities from; make the problem with SubsetProblem.on()."
            )
        clock, steps = Clock(self.max_seconds, progress), StepRecorder(problem)
        state = problem.state(n_jobs=self.n_jobs)
        walk, sign = first_record(state), problem.objective.sign
        null = sign * state.cost
        gains = class_information(problem.learnt.counts)[problem.candidates].round(12)
        with clock:
            for feature in problem.candidates[np.argsort(-gains, kind="stable")].tolist():
                if clock.stops():
                    break
                before = state.selected.copy()
                state.flip(feature)
                move, cost = np.array([feature]), np.array([state.cost])
                validation, violation = state.validate()
                steps.record(walk, before, move, cost, 0, clock.seconds, validation, violation)
                clock.show(state.n_selected, problem.candidates.size, sign * state.cost)
        return problem.trace([walk], complete=clock.complete, seconds=clock.seconds, null_criterion=null)


def flipped(subset: np.ndarray, feature: int) -> np.ndarray:
    """Return a copy of a mask of features, (n_features,), with one feature added if absent, and dropped otherwise."""
    other = subset.copy()
    other[feature] = not other[feature]
    return other
