"""Best-first search: the most promising subset met so far is extended by every feature."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from bayesieve.engine.progress import Progress
from bayesieve.search.problem import Problem, Search, StepRecorder, first_record
from bayesieve.search.recorder import Clock, TraceRecorder
from bayesieve.search.trace import SearchTrace


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

    def run(self, problem: Problem, progress: Progress | None = None) -> SearchTrace:
        clock, steps = Clock(self.max_seconds), StepRecorder(problem)
        state = problem.state(n_jobs=self.n_jobs)
        null = problem.sign * state.cost
        best, best_rank = state.selected.copy(), state.rank
        waiting = [(best_rank, best)]
        walks: list[TraceRecorder] = []
        stale, complete = 0, True
        try:
            while stale < self.n_stale and waiting:
                if clock.is_up:
                    complete = False
                    break
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
                criterion = problem.sign * state.cost
                if progress is not None and progress(state.n_selected, problem.candidates.size, criterion):
                    complete = False
                    break
        except KeyboardInterrupt:
            complete = False
        chosen = None if problem.validated else best
        return problem.trace(walks, chosen, complete=complete, seconds=clock.seconds, null_criterion=null)


def flipped(subset: np.ndarray, feature: int) -> np.ndarray:
    """A copy with the feature added if absent, dropped otherwise."""
    moved = subset.copy()
    moved[feature] = not moved[feature]
    return moved
