"""MS(FFWBW): fast forward-backward passes from several shuffles (Boulle 2007, algorithm 1)."""

from __future__ import annotations

import hashlib
import math
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from bayesieve.counts.row_content import listed_by_counts
from bayesieve.criteria import MAPCost
from bayesieve.engine import IN_MEMORY, effective_jobs
from bayesieve.engine.progress import Clock, Progress
from bayesieve.search.problem import Search, SearchState, SubsetProblem, first_record
from bayesieve.search.trace import SearchTrace, walks_from_bytes, walks_to_bytes

_WAVE = 4  # starts that run without knowing of each other: fixed, so that threads do not change results
_PARALLEL_WORK = 2_000_000  # rows x candidates below which threads cost more than they bring


@dataclass(frozen=True)
class MultiStart(Search):
    """Multi-start fast forward-backward search.

    Each start shuffles the features and adds every one that lowers the cost, shuffles again and drops every one whose
    absence lowers it, until nothing changes or ``max_iter`` rounds are over. ``n_starts=None`` means log2(K N) starts.

    A move must improve the criterion by more than ``tol``. Costs of subsets met before are looked up. Starts run in
    waves of four; a wave sees the costs found by earlier waves, which makes the result independent of ``n_jobs``.
    """

    n_starts: int | None = None
    max_iter: int = 5
    seed: int = 0
    max_seconds: float | None = None
    n_jobs: int | None = -1
    tol: float = 0.0

    def run(self, problem: SubsetProblem, progress: Progress | None = None) -> SearchTrace:
        """Search, and return all evaluated subsets; Ctrl-C or the end of ``max_seconds`` keeps those so far."""
        rows, clock = problem.rows_for(self), Clock(self.max_seconds, progress)
        size = problem.n_varied * problem.objective.total
        n_starts = int(self.n_starts or 0) or max(1, math.ceil(math.log2(max(2.0, size))))
        rng = np.random.default_rng(self.seed)
        candidates = problem.candidates
        if problem.learnt is not None:  # names and orders of columns make no difference
            candidates = listed_by_counts(problem.learnt.counts, candidates)
        zobrist = np.zeros(problem.n_features, dtype=np.uint64)
        zobrist[candidates] = rng.integers(1, 2**63, size=problem.n_varied, dtype=np.uint64)[: candidates.size]
        key = self._key(problem, n_starts)
        plain = isinstance(problem.criterion, MAPCost) and not (problem.constrained or problem.validated)
        notes = rows.engine if plain else IN_MEMORY
        note = notes.noted(key)
        walks, known = ([], {}) if note is None else walks_from_bytes(note)
        waves = _Waves(self, problem, candidates, zobrist, known, clock)
        for first in range(0, n_starts, _WAVE):
            seeds = rng.integers(0, 2**63, size=min(_WAVE, n_starts - first)).tolist()
            if first + len(seeds) <= len(walks):
                continue  # of a process that was ended
            with clock:
                for walk in waves.run(seeds, self._workers(problem)):
                    known.update(walk.known)
                    walks.append(walk.recorder)
                clock.show(len(walks), n_starts, problem.sign * min(known.values(), default=np.inf))
            if clock.is_up or not clock.complete:
                break
            if notes.keeps_notes and candidates.size:  # there is nothing to note without
                notes.note(key, walks_to_bytes(walks, known))
        complete = clock.complete and len(walks) == n_starts
        with clock.ended_by_interrupt():  # the walks are not lost while they are put together
            return problem.trace(walks, complete=complete, seconds=clock.seconds)

    def _key(self, problem: SubsetProblem, n_starts: int) -> str:
        """A digest of all that decides what a search of the same rows finds."""
        options = ("walks", n_starts, self.max_iter, self.seed, self.tol, problem.criterion.name, problem.evaluation)
        digest = hashlib.sha256(repr((options, problem.names, problem.objective.total)).encode())
        for array in (problem.candidates, problem.rows.priors, problem.rows.tables.bounds, problem.rows.class_totals):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def _workers(self, problem: SubsetProblem) -> int:
        rows = problem.rows
        if rows.engine.is_remote:
            return _WAVE  # threads that wait together
        if rows.n_rows * max(1, problem.candidates.size) < _PARALLEL_WORK:
            return 1
        state_bytes = 8 * rows.n_rows * max(1, rows.n_classes - 1)
        most = rows.engine.most_state_bytes // state_bytes
        return max(1, min(effective_jobs(self.n_jobs), _WAVE, most))


class _Waves:
    """The starts of one search, some at a time; a start knows the costs that were known when its wave began."""

    def __init__(
        self,
        options: MultiStart,
        problem: SubsetProblem,
        candidates: np.ndarray,
        zobrist: np.ndarray,
        known: dict[int, float],
        clock: Clock,
    ) -> None:
        self.options, self.problem, self.clock = options, problem, clock
        self.candidates, self.zobrist, self.known = candidates, zobrist, known
        self._spare: list[SearchState] = []

    def run(self, seeds: list[int], workers: int) -> list[_Walk]:
        """Walks by their seeds, in order; Ctrl-C, or the end of the time, ends them all."""
        finished: list[_Walk] = []
        if workers == 1:
            with self.clock:
                for seed in seeds:
                    finished.append(self._walk(seed))
                    if not self.clock.complete:
                        break
            return finished
        with self.problem.rows.engine.together(len(seeds)) as leave, ThreadPoolExecutor(workers) as pool:

            def walk_along(seed: int) -> _Walk:
                try:
                    return self._walk(seed)
                finally:
                    leave()

            futures = [pool.submit(walk_along, seed) for seed in seeds]
            pending = set(futures)
            while pending:
                with self.clock:  # a wait without limit could not be interrupted on every platform
                    _, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
            return [future.result() for future in futures]

    def _walk(self, seed: int) -> _Walk:
        try:
            state = self._spare.pop()
            state.reset()
        except IndexError:  # asked for, not tested before: another thread may take the last one in between
            state = SearchState(self.problem)
        walk = _Walk(self, state, np.random.default_rng(seed))
        with self.clock:  # everything recorded so far stands; the move under way was not recorded yet
            walk.run(self.options.max_iter)
        self._spare.append(state)
        return walk


class _Walk:
    """One start: a walk through subsets that only ever goes to cheaper ones."""

    def __init__(self, waves: _Waves, state: SearchState, rng: np.random.Generator) -> None:
        self._state, self._rng, self._clock = state, rng, waves.clock
        self._candidates, self._zobrist = waves.candidates, waves.zobrist
        self._tol, self._sign = waves.options.tol, waves.problem.sign
        self._key = np.uint64(0)
        rows = waves.problem.rows
        self._batch = rows.engine.ahead(rows.n_rows)
        self.known = waves.known.copy()
        self.recorder = first_record(state)

    def run(self, max_iter: int) -> None:
        for _ in range(max_iter):
            added = self._pass(adding=True)
            dropped = self._pass(adding=False)
            if self._clock.stops() or not (added or dropped):
                return

    def _pass(self, *, adding: bool) -> bool:
        """Try every feature once, in random order; whether any move was made."""
        state = self._state
        order = self._rng.permutation(self._candidates)
        order = order[state.selected[order] != adding]
        toggles, ways, accepted = self._zobrist[order], np.full(order.size, adding), np.zeros(order.size, dtype=bool)
        at, size, improved = 0, 1, False
        while at < order.size and not self._clock.stops():
            end = at + max(size, self._batch)
            batch, keys = order[at:end], self._key ^ toggles[at:end]
            costs = self._costs(batch, keys)
            rank = state.rank
            better = state.ranks(batch, costs) < rank - max(self._tol, 1e-10 * (1.0 + abs(rank)))
            first = int(better.argmax())
            validation, violation = float("nan"), 0.0
            if better[first]:
                end = at + first + 1
                batch, keys, costs = batch[: first + 1], keys[: first + 1], costs[: first + 1]
                accepted[end - 1] = improved = True
                state.flip(int(batch[-1]), float(costs[-1]))
                validation, violation = state.validation(), state.violation()
                self._key = keys[-1]
            self.recorder.record(
                *(batch, ways[at:end], self._sign * costs, accepted[at:end], keys),
                *(self._clock.seconds, validation, violation),
            )
            # Evaluating ahead pays while nothing is accepted: the rows' state is read once for the whole batch.
            size = 1 if better[first] else min(2 * size, 16)
            at = end
        return improved

    def _costs(self, features: np.ndarray, keys: np.ndarray) -> np.ndarray:
        costs = np.array(list(map(self.known.get, keys.tolist())), dtype=float)  # NaN where not known
        unknown = np.isnan(costs)
        if unknown.any():
            costs[unknown] = new = self._state.candidates(features[unknown])
            self.known.update(zip(keys[unknown].tolist(), new.tolist(), strict=True))
        return costs
