"""Evaluation of all subsets of up to 25 features."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bayesieve.criteria import ClassBlock, MAPCost
from bayesieve.engine import map_in_threads
from bayesieve.engine.progress import Clock, Progress
from bayesieve.search.problem import Search, SearchState, SubsetProblem, first_record
from bayesieve.search.trace import SearchTrace, TraceRecorder, WalkStart

MAX_FEATURES = 25
"""Largest number of candidate features: a trace of 2^25 subsets takes gigabytes."""

_MOVES_AT_ONCE = 1024  # moves between two calls of the progress function
_FEWEST_PIECES = 5  # the tree is divided into at least 2^5 pieces ...
_PIECE_WORK = 20_000_000  # ... of at most this number of subsets x rows x other classes, which takes about 0.02 s
_AT_ONCE = 32  # pieces between two checks of the time limit
_MAX_BYTES = 1 << 30  # memory of the factors of all rows
_LARGEST_LOG = 470.0  # nats: the kernel multiplies a ratio of this size with products of up to 1e100


@dataclass(frozen=True)
class ExhaustiveSearch(Search):
    """Search that evaluates every subset of the candidate features. It raises ValueError for more than 25.

    For Boulle's cost (2007) on unweighted rows in memory, all costs are computed along a binary tree of subsets,
    several times as fast as other criteria. For other criteria, the search walks through the 2^(k-1) subsets without
    the last of the k candidates, changing one feature at a time. At each of them, one pass over the rows scores both
    the next subset of the walk and the subset with the last feature added. If there are validation rows or constraints,
    it walks through all 2^k subsets.

    Parameters
    ----------
    max_seconds : float or None
        Time limit; after it, or after Ctrl-C, the best subset so far is chosen.
    n_jobs : int or None
        Threads; results do not depend on it.
    """

    max_seconds: float | None = None
    n_jobs: int | None = -1

    def run(self, problem: SubsetProblem, progress: Progress | None = None) -> SearchTrace:
        """Evaluate all subsets, and return the trace with the best one chosen."""
        clock = Clock(self.max_seconds, progress)
        if problem.candidates.size > MAX_FEATURES:
            raise ValueError(f"{_too_many(problem.candidates.size)}; use exhaustive=False.")
        if _is_tree(problem):
            return evaluate_every_subset(problem, n_jobs=self.n_jobs, clock=clock).trace()
        state = problem.state()
        recorder = first_record(state)
        with clock:
            if problem.candidates.size:
                _walk(state, recorder, clock)
        return problem.trace([recorder], complete=clock.complete, seconds=clock.seconds)


def _walk(state: SearchState, recorder: TraceRecorder, clock: Clock) -> None:
    """Walk from the empty subset through all others, changing one feature at a time, and record every subset.

    ``state`` holds the current subset and is changed; ``recorder`` receives the records. The walk ends early at the
    time limit of ``clock`` or after Ctrl-C.
    """
    problem = state.problem
    candidates, sign = problem.candidates, problem.objective.sign
    bit = np.uint64(1) << np.arange(candidates.size, dtype=np.uint64)
    key = np.uint64(0)
    last = candidates.size - 1
    on_path = problem.validation is not None or problem.objective.constraints
    looks = [] if on_path else [last]  # features scored from every subset of the walk
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
        validation, violation = state.validate()
        recorder.record(
            features, adding, sign * costs, accepted, key ^ bit[moves], clock.seconds, validation, violation
        )
        for flip in flips:
            key ^= bit[flip]
        if step % _MOVES_AT_ONCE == 0:
            clock.show(step, n_steps, sign * best)
        if step < n_steps and clock.stops():
            return


@dataclass(frozen=True)
class EverySubset:
    """Costs of all subsets of the candidate features.

    Subset number b contains the candidates at the positions of the set bits of b; number 0 is the empty subset.

    Attributes
    ----------
    problem : the search problem.
    cost : (2^k,) cost of each subset, in nats (Boulle 2007, equation 4).
    sizes : (2^k,) number of features.
    n_evaluated : number of subsets evaluated: all, or the first ones in the order of the Gray code if the walk ended
        early.
    seconds : duration of the walk.
    """

    problem: SubsetProblem
    cost: np.ndarray
    sizes: np.ndarray
    n_evaluated: int
    seconds: float

    def features(self, number: int) -> np.ndarray:
        """Return the ascending positions of the features in subset number ``number``."""
        bits = int(number) >> np.arange(self.problem.candidates.size) & 1
        return self.problem.candidates[bits > 0]

    def trace(self) -> SearchTrace:
        """Return a trace of all subsets, as one walk that changes one feature at a time, for use by selectors."""
        walks = [TraceRecorder(WalkStart.empty(float(self.cost[0])))] if self.n_evaluated else []
        step = np.arange(1, self.n_evaluated, dtype=np.int64)
        if step.size:
            bit = np.log2(step & -step).astype(np.int64)
            number = _gray(step)
            features, adding = self.problem.candidates[bit], (number >> bit & 1).astype(bool)
            accepted, keys = np.ones(step.size, dtype=bool), number.astype(np.uint64)
            walks[0].record(features, adding, self.cost[number], accepted, keys, self.seconds)
        return self.problem.trace(walks, complete=self.n_evaluated == self.cost.size, seconds=self.seconds)


def evaluate_every_subset(
    problem: SubsetProblem, *, n_jobs: int | None = None, clock: Clock | None = None
) -> EverySubset:
    """Compute the cost (`MAPCost`, Boulle 2007) of every subset of the candidate features.

    For 3,500 rows of three classes, 2^19 subsets take 6 seconds on one core. The evaluation ends early after Ctrl-C, at
    the time limit of ``clock``, or when the progress function of ``clock`` returns True; costs of the remaining subsets
    are then NaN.

    Parameters
    ----------
    problem : SubsetProblem
        Problem with the criterion `MAPCost` and unweighted rows.
    n_jobs : int or None
        Number of threads; results do not depend on it.
    clock : Clock, optional
        Time limit and progress function; none by default.

    Returns
    -------
    EverySubset

    Raises
    ------
    ValueError
        For more than 25 candidate features, weighted rows, or likelihood ratios beyond the range of floats.
    """
    k = problem.candidates.size
    obstacle = obstacle_to_walk(problem)
    if obstacle is not None:
        raise ValueError(obstacle)
    clock = Clock(None) if clock is None else clock
    rows, depth = problem.objective.rows, k - _cut(problem)
    factors = row_factors(problem, rows.block)
    start = np.repeat(rows.prior_ratios.T, np.diff(rows.block.offsets), axis=1)
    losses, sizes = np.full(1 << k, np.nan), _bit_counts(k)

    def piece(number: int) -> None:
        """Write the losses of one task's subsets into ``losses``: the bits of ``number`` fix the last features, all
        others vary.
        """
        from bayesieve.search._kernels import walk

        ratios = start.copy()
        for bit in range(k - depth - 1, -1, -1):
            if number >> bit & 1:
                ratios *= factors[depth + bit]
        walk(factors, ratios, number << depth, depth, losses)

    def costs() -> np.ndarray:
        """Return the costs of all subsets, shape (2^k,); NaN for those not yet evaluated."""
        return problem.objective.criterion.values(losses[:, None], sizes, rows.class_totals)

    pieces, done = _gray(np.arange(1 << (k - depth))), 0  # completed pieces are then the beginning of one walk
    with clock:
        while done < pieces.size and not (done and clock.stops()):
            map_in_threads(piece, pieces[done : done + _AT_ONCE].tolist(), n_jobs)
            done = min(done + _AT_ONCE, pieces.size)
            clock.show(done, pieces.size, float(np.nanmin(costs())))
    return EverySubset(problem, costs(), sizes, done << depth, clock.seconds)


def obstacle_to_walk(problem: SubsetProblem) -> str | None:
    """Return the reason why `evaluate_every_subset` cannot solve the problem, as a sentence; None if it can."""
    k = problem.candidates.size
    if k > MAX_FEATURES:
        return f"{_too_many(k)}."
    rows = problem.objective.rows
    if rows.block.weights.size:
        return "Subsets of rows with weights cannot be enumerated at once; use ExhaustiveSearch."
    reach = sum(float(np.abs(rows.tables.log_factors(int(f))).max(initial=0.0)) for f in problem.candidates)
    if reach > _LARGEST_LOG:
        return f"Ratios of probabilities of up to e^{reach:.0f} exceed the range of numbers; use ExhaustiveSearch."
    return None


def _is_tree(problem: SubsetProblem) -> bool:
    """Return whether `evaluate_every_subset` can solve the problem, and its arrays are small enough for memory."""
    objective, rows = problem.objective, problem.objective.rows
    if not isinstance(objective.criterion, MAPCost) or objective.constraints or problem.validation is not None:
        return False
    n_bytes = 8 * problem.candidates.size * rows.block.n_rows * (rows.tables.n_classes - 1)
    return n_bytes <= _MAX_BYTES and obstacle_to_walk(problem) is None


def _too_many(k: int) -> str:
    """Return the start of an error message: ``k`` features have too many subsets."""
    return f"{k} features have 2^{k} subsets, too many to enumerate (at most {MAX_FEATURES} features)"


def _cut(problem: SubsetProblem) -> int:
    """Return the number k of features that each task fixes: 2^k tasks enumerate the subsets of the remaining features.

    It is chosen such that a task is short enough for interrupts, and there are enough tasks for several threads.
    """
    k, rows = problem.candidates.size, problem.objective.rows
    row_work = rows.block.n_rows * (rows.tables.n_classes - 1)
    return min(k, max(_FEWEST_PIECES, k + math.ceil(math.log2(max(1, row_work) / _PIECE_WORK))))


def _gray(numbers: np.ndarray) -> np.ndarray:
    """Return the reflected Gray codes of an array of integers: codes of successive integers differ in one bit."""
    return numbers ^ (numbers >> 1)


def row_factors(problem: SubsetProblem, block: ClassBlock) -> np.ndarray:
    """Return the factors by which each candidate feature multiplies the likelihood ratios of each row.

    The shape is (n_candidates, n_classes - 1, n_rows). A ratio is the probability of another class over that of the
    row's class. ``block`` holds the rows, sorted by class.
    """
    rows = problem.objective.rows
    factors = np.empty((problem.candidates.size, rows.tables.n_classes - 1, block.n_rows))
    for at, feature in enumerate(problem.candidates.tolist()):
        table, levels = np.exp(rows.tables.log_factors(feature)), block.level_codes(feature)
        for segment in range(block.n_segments):
            chosen = slice(block.offsets[segment], block.offsets[segment + 1])
            factors[at, :, chosen] = np.take(table[segment], levels[chosen], axis=1)
    return factors


def _bit_counts(k: int) -> np.ndarray:
    """Return the number of set bits of the integers from 0 to 2^k - 1, shape (2^k,)."""
    counts = np.zeros(1 << k, dtype=np.int64)
    for bit in range(k):
        counts[1 << bit : 2 << bit] = counts[: 1 << bit] + 1
    return counts
