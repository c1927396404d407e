"""Greedy searches: forward, backward, full floating searches that take turns, and best-first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import ClassVar

import numpy as np

from bayesieve.engine.progress import Clock, Progress
from bayesieve.search.multi_start import MultiStart
from bayesieve.search.problem import Search, StepRecorder, SubsetProblem, first_record
from bayesieve.search.trace import Point, SearchTrace, TraceRecorder

DIRECTIONS = ("forward", "backward", "forward-backward", "backward-forward", "fast")

_TIE = 1e-12
_MOST_PASSES = 50  # of the fast search; it stops by itself when a round changes nothing


@dataclass(frozen=True)
class GreedySearch(Search):
    """At each step the best of all features is added, or dropped; ties (within 1e-12) go to the lowest column.

    Under constraints a move that comes nearer to them is better, and of moves that keep them the criterion decides.

    ``"forward"`` adds from the empty subset on, ``"backward"`` drops from all candidates on. ``"forward-backward"`` and
    ``"backward-forward"`` are full floating searches: a phase runs to its end, the opposite phase starts from the best
    subset met, and so on until a phase finds no better one. Better is a lower value on the validation rows, or where
    there are none a better criterion; or the same with fewer features. ``"fast"`` makes no full scans: it adds every
    feature that improves the criterion, in random order, then drops every one whose absence does, until nothing
    changes.

    Parameters
    ----------
    direction : one of `DIRECTIONS`
    n_features : int or None
        Forward and backward stop there; the other directions look for the best subset of at most that many. None: the
        best subset of the path.
    tol : float or None
        A forward phase stops when the best addition improves the criterion by no more than ``tol``, a backward phase
        when the best removal worsens it by more. None: phases run to their ends.
    max_seconds : float or None
    leave_out : bool
        Rows that no move can change leave the scan; the results are the same without.
    seed : int
        Of the order in which ``"fast"`` tries features.
    n_jobs : int or None
        Threads; the results do not depend on it.
    until_best : bool
        A search forward without validation rows ends once the criterion has its best possible value, which no larger
        subset can beat.
    resume : SearchTrace or None
        A search to go on with: its moves are made again without scanning.
    last_of_ties : bool
        Ties go to the highest column.
    every_move : bool
        The trace holds all moves scored, not only those that were made.

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
    unsaved_options: ClassVar[tuple[str, ...]] = ("resume",)  # a trace is no option

    def run(self, problem: SubsetProblem, progress: Progress | None = None) -> SearchTrace:
        if self.direction == "fast":
            search = MultiStart(1, _MOST_PASSES, self.seed, self.max_seconds, self.n_jobs, tol=self.tol or 0.0)
            trace = search.run(problem, progress)
            trace.chosen = trace.best_on_path(self.n_features)
            return trace
        run = _Run(self, problem, progress)
        with run.clock:
            run.search()
        return run.trace()


class _Run:
    """One greedy search under way."""

    def __init__(self, options: GreedySearch, problem: SubsetProblem, progress: Progress | None) -> None:
        self._options = options
        self._problem = problem
        self.clock = Clock(options.max_seconds, progress)
        self._state = problem.state(leave_out=options.leave_out, n_jobs=options.n_jobs)
        self._steps = StepRecorder(problem) if options.every_move else None
        self._sign = problem.sign
        self._validation_sign = 1.0 if problem.validation is None else problem.validation.sign
        self._null = self._sign * self._state.cost
        self._n_models = 1
        self._walks: list[TraceRecorder] = []
        self._resumed = _Resumed(options.resume, problem.names)
        self._best: tuple[Point, np.ndarray] | None = None

    def search(self) -> None:
        direction = self._options.direction
        adding = direction.startswith("forward")
        subset = np.zeros(self._problem.n_features, dtype=bool)
        if not adding:
            subset[self._problem.candidates] = True
        while True:
            before = self._best
            self._phase(adding, subset)
            if direction in ("forward", "backward") or not self.clock.complete or self._best is None:
                return
            if before is not None and self._best is before:
                return
            subset = self._best[1]
            adding = not adding

    def _phase(self, adding: bool, subset: np.ndarray) -> None:
        """Add, or drop, feature after feature, from ``subset`` to the end."""
        state, options = self._state, self._options
        state.reset(subset)
        recorder = first_record(state)
        self._resumed.begin(recorder)
        self._walks.append(recorder)
        self._look(recorder.start.validation, recorder.start.violation)
        while True:
            features = self._problem.candidates[state.selected[self._problem.candidates] != adding]
            if features.size == 0 or self._at_limit(adding) or self._at_best():
                return
            if self.clock.stops():
                return
            known = self._resumed.next_move()
            if known is None:
                costs = state.candidates(features)
                ranks = state.ranks(features, costs)
                tied = ranks <= ranks.min() + _TIE * max(1.0, abs(ranks.min()))
                best = ranks.size - 1 - int(np.argmax(tied[::-1])) if options.last_of_ties else int(np.argmax(tied))
                feature, cost, rank, validation = int(features[best]), float(costs[best]), float(ranks[best]), None
                self._n_models += features.size
            else:
                feature, cost, validation = known[0], self._sign * known[1], known[2]
                rank = float(state.ranks(np.array([feature]), np.array([cost]))[0])
            if options.tol is not None and not self._worth_it(adding, rank):
                if self._steps is not None and known is None:
                    self._steps.record(recorder, state.selected, features, costs, -1, self.clock.seconds)
                return
            # Recorded only once it is made: an interrupt in between leaves the record as it was.
            before = state.selected.copy() if self._steps is not None else state.selected
            state.flip(feature, cost)
            value = state.validation() if validation is None else validation
            violation = state.violation()
            seconds = self.clock.seconds + self._resumed.seconds
            if self._steps is not None and known is None:
                self._steps.record(recorder, before, features, costs, best, seconds, value, violation)
            else:
                facts = {"validation": value, "violation": violation}
                recorder.record_one(feature, adding, self._sign * cost, seconds, **facts)
            self._look(value, violation)
            self.clock.show(state.n_selected, self._problem.candidates.size, self._sign * state.cost)
            if self.clock.interrupted:
                return

    def _at_limit(self, adding: bool) -> bool:
        limit = self._options.n_features
        if limit is None:
            return False
        if adding:
            return self._state.n_selected >= limit
        return self._options.direction == "backward" and self._state.n_selected <= limit

    def _at_best(self) -> bool:
        """Whether no subset that is still to come can beat the current one."""
        problem, best = self._problem, self._problem.criterion.best
        if best is None or not self._options.until_best or self._options.direction != "forward":
            return False
        return not problem.validated and self._state.rank <= problem.sign * best + _TIE

    def _worth_it(self, adding: bool, rank: float) -> bool:
        tol, current = float(self._options.tol or 0.0), self._state.rank
        tie = _TIE * max(1.0, abs(current))
        if adding:
            return rank < current - tol - tie
        return rank <= current + tol + tie

    def _look(self, validation: float, violation: float) -> None:
        """Keep the current subset if it is the best so far."""
        state, limit = self._state, self._options.n_features
        if limit is not None and self._options.direction in ("forward", "backward"):
            self._best = (Point(0.0, 0), state.selected.copy())  # the size was asked for: where the path ends counts
            return
        if limit is not None and state.n_selected > limit:
            return
        value = self._validation_sign * validation if self._problem.validated else state.cost
        point = Point(value, state.n_selected, violation)
        if self._best is None or point.beats(self._best[0]):
            self._best = (point, state.selected.copy())

    def trace(self) -> SearchTrace:
        return self._problem.trace(
            self._walks,
            self._state.selected.copy() if self._best is None else self._best[1],
            complete=self.clock.complete,
            seconds=self.clock.seconds + self._resumed.seconds,
            null_criterion=self._null,
            n_models=self._n_models + self._resumed.n_models if self._steps is None else None,
        )


class _Resumed:
    """The moves of an earlier search, handed out again in order."""

    def __init__(self, trace: SearchTrace | None, names: tuple[str, ...]) -> None:
        if trace is not None and trace.names != names:
            raise ValueError("resume: the trace is of a table with other features; search again with resume=None.")
        self._trace = trace
        self._walk = -1
        self._moves: Iterator[tuple[int, float, float]] = iter(())
        self.seconds = 0.0 if trace is None else trace.seconds
        self.n_models = 0 if trace is None else trace.n_models - 1

    def begin(self, recorder: TraceRecorder) -> None:
        """The next walk begins; it must begin as it did."""
        self._walk += 1
        self._moves = iter(())
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
        self._moves = iter(
            list(zip(moves.feature.tolist(), moves.cost.tolist(), moves.validation.tolist(), strict=True))
        )

    def next_move(self) -> tuple[int, float, float] | None:
        """Feature, criterion and validation of the next move; None when there is none left."""
        return next(self._moves, None)


@dataclass(frozen=True)
class BestFirst(Search):
    """Extend the best subset that waits by every feature, until several extensions in a row find nothing better.

    Every extension is a start of the trace, which holds all moves scored.

    Parameters
    ----------
    n_waiting : int
        Subsets that wait to be extended.
    n_stale : int
        Extensions in a row without a better subset after which the search ends.
    tol : float
        A better subset improves the best criterion by more than this.
    max_seconds : float or None
    n_jobs : int or None
        Threads; the results do not depend on it.

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
        clock, steps = Clock(self.max_seconds, progress), StepRecorder(problem)
        state = problem.state(n_jobs=self.n_jobs)
        null = problem.sign * state.cost
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
                waiting = sorted(waiting, key=itemgetter(0))[: self.n_waiting]  # the first of equals
                if at >= 0:
                    state.flip(int(moves[at]), float(costs[at]))
                    best, stale = state.selected.copy(), 0
                else:
                    stale += 1
                steps.record(walk, subset, moves, costs, at, clock.seconds, state.validation(), state.violation())
                walks.append(walk)
                clock.show(state.n_selected, problem.candidates.size, problem.sign * state.cost)
        chosen = None if problem.validated else best
        return problem.trace(walks, chosen, complete=clock.complete, seconds=clock.seconds, null_criterion=null)


def flipped(subset: np.ndarray, feature: int) -> np.ndarray:
    """A copy with the feature added if absent, dropped otherwise."""
    moved = subset.copy()
    moved[feature] = not moved[feature]
    return moved
