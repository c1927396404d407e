"""All subsets of the features, in Gray-code order: each differs from the one before by a single feature."""

from __future__ import annotations

import numpy as np

from bayesieve.engine.progress import Progress
from bayesieve.search.state import SearchState, SubsetProblem
from bayesieve.search.trace import Clock, SearchTrace, TraceRecorder

MAX_FEATURES = 25
"""Features beyond which enumeration is refused: 2^25 subsets fill a trace of some gigabytes."""

_MOVES_AT_ONCE = 1024  # between two looks at the clock


def search_exhaustively(
    problem: SubsetProblem,
    names: tuple[str, ...],
    *,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> SearchTrace:
    """Evaluate every subset of the candidate features.

    The walk flips one of all features but the last; from each of its 2^(k-1) subsets one pass over the rows scores both
    the next flip and the last feature added.

    Raises
    ------
    ValueError
        Beyond 25 candidate features.
    """
    clock = Clock(max_seconds)
    candidates = problem.candidates
    k = candidates.size
    if k > MAX_FEATURES:
        raise ValueError(
            f"{k} features have 2^{k} subsets, too many to enumerate (at most {MAX_FEATURES} features); "
            "use exhaustive=False."
        )
    state = SearchState(problem)
    recorder = TraceRecorder(state.cost)
    complete = True
    if k:
        bit = np.uint64(1) << np.arange(k, dtype=np.uint64)
        key = np.uint64(0)
        last = k - 1
        n_steps = 1 << last
        best = state.cost
        try:
            for step in range(1, n_steps + 1):
                moves = [last]
                if step < n_steps:
                    moves.append((step & -step).bit_length() - 1)  # the bit that the reflected Gray code flips
                features = candidates[moves]
                adding = ~state.selected[features]
                costs = state.candidates(features)
                accepted = np.arange(len(moves)) > 0
                recorder.record(features, adding, costs, accepted, key ^ bit[moves], clock.seconds)
                best = min(best, float(costs.min()))
                if step < n_steps:
                    state.flip(int(features[1]), float(costs[1]))
                    key ^= bit[moves[1]]
                if step % _MOVES_AT_ONCE == 0:
                    if progress is not None:
                        progress(step, n_steps, best)
                    if clock.is_up:
                        complete = step == n_steps
                        break
        except KeyboardInterrupt:
            complete = False
    return SearchTrace.of(names, [recorder], complete=complete, seconds=clock.seconds)
