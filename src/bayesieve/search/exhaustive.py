"""All subsets of the features, in Gray-code order: each differs from the one before by a single feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesieve.engine.progress import Progress
from bayesieve.search.problem import Problem, Search, State, first_record
from bayesieve.search.recorder import Clock, TraceRecorder
from bayesieve.search.trace import SearchTrace

MAX_FEATURES = 25
"""Features beyond which enumeration is refused: 2^25 subsets fill a trace of some gigabytes."""

_MOVES_AT_ONCE = 1024  # between two calls of the progress


@dataclass(frozen=True)
class ExhaustiveSearch(Search):
    """Every subset of the candidate features; ValueError beyond 25 of them.

    The walk flips one of all features but the last; from each of its 2^(k-1) subsets one pass over the rows scores both
    the next flip and the last feature added. Where other rows choose, or constraints have to be kept, it goes through
    all 2^k subsets.

    Parameters
    ----------
    max_seconds : float or None
        The search stops after this many seconds and keeps the best so far; so does Ctrl-C.
    """

    max_seconds: float | None = None

    def run(self, problem: Problem, progress: Progress | None = None) -> SearchTrace:
        clock = Clock(self.max_seconds)
        k = problem.candidates.size
        if k > MAX_FEATURES:
            raise ValueError(
                f"{k} features have 2^{k} subsets, too many to enumerate (at most {MAX_FEATURES} features); "
                "use exhaustive=False."
            )
        state = problem.state()
        recorder = first_record(state)
        complete = True
        try:
            if k:
                complete = _walk(state, recorder, clock, progress)
        except KeyboardInterrupt:
            complete = False
        return problem.trace([recorder], complete=complete, seconds=clock.seconds)


def _walk(state: State, recorder: TraceRecorder, clock: Clock, progress: Progress | None) -> bool:
    """Whether the walk came to its end."""
    problem = state.problem
    candidates, sign = problem.candidates, problem.sign
    bit = np.uint64(1) << np.arange(candidates.size, dtype=np.uint64)
    key = np.uint64(0)
    last = candidates.size - 1
    looks = [] if problem.validated or problem.constrained else [last]  # scored from every subset of the walk
    n_steps = 1 << (candidates.size - len(looks))
    best = state.cost
    for step in range(1, n_steps + 1):
        flips = [(step & -step).bit_length() - 1] if step < n_steps else []  # of the reflected Gray code
        moves = looks + flips
        if not moves:
            break
        features = candidates[moves]
        adding = ~state.selected[features]
        costs = state.candidates(features)
        accepted = np.arange(len(moves)) >= len(looks)
        best = min(best, float(costs.min(initial=np.inf)))
        for feature, cost in zip(features[accepted].tolist(), costs[accepted].tolist(), strict=True):
            state.flip(feature, cost)
        values = (state.validation(), state.violation())
        recorder.record(features, adding, sign * costs, accepted, key ^ bit[moves], clock.seconds, *values)
        for flip in flips:
            key ^= bit[flip]
        if progress is not None and step % _MOVES_AT_ONCE == 0:
            progress(step, n_steps, sign * best)
        if clock.is_up:
            return step == n_steps
    return True
