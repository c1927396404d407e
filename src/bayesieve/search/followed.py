"""Criteria on some rows, for the subset that a search has come to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from bayesieve.criteria import Criterion, RatioTables
from bayesieve.criteria.row_ratios import MANY_CLASSES
from bayesieve.engine import IN_MEMORY, Parts, effective_jobs, map_in_threads
from bayesieve.search.objective import Objective
from bayesieve.search.scored_rows import ScoredRows

_PARALLEL_WORK = 20_000_000  # rows x candidates x other classes below which threads cost more than they bring
_CANDIDATES_AT_ONCE = 1024  # the kernels keep a few cache lines for each


class Measured:
    """A criterion on some rows, for the subset that both follow."""

    def __init__(self, rows: ScoredRows, criterion: Criterion, leave_out: bool, n_jobs: int | None) -> None:
        if not criterion.additive and len(rows.blocks) > 1:
            raise ValueError(f"The criterion {criterion.name!r} needs all rows in one block, got {len(rows.blocks)}.")
        effective_jobs(n_jobs)  # refuses other values before anything runs
        self._rows, self._criterion, self._n_jobs = rows, criterion, n_jobs
        self.sign = 1.0 if criterion.lower_is_better else -1.0
        self._move_work = sum(block.n_rows for block in rows.blocks) * (rows.tables.n_classes - 1)
        can_leave = leave_out and criterion.saturation(rows.tables.n_classes) is not None
        start = partial(criterion.start, leave_out=True) if can_leave else criterion.start
        engine, blocks = rows.blocks[0].engine, rows.blocks
        if not criterion.additive:
            engine, blocks = IN_MEMORY, tuple(block.here for block in blocks)
        self._is_remote = engine.is_remote
        self._sums = np.zeros((0, 0))  # of subsets that a cluster was asked about together
        self._taken: int | None = None
        self._state: Parts[Any] = engine.parts(start, blocks, rows.tables, rows.priors)

    def reset(self) -> None:
        self._taken = None
        self._state.update(_reset, self._rows.priors)

    def move(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        assert self._taken is None  # workers are at the empty subset
        self._state.update(_multiply, self._rows.tables, features, adding)

    def expect_moves(self) -> None:
        self._state.update(_expect_moves)

    def sum_subsets(self, subsets: np.ndarray) -> bool:
        """Prepare `take_subset` for these subsets (n_subsets, n_features); False where that is not possible."""
        if self._is_remote:  # one question for all, whatever they keep of the rows
            rows = self._rows
            self._sums = self._state.reduce(_own_sums_of, self._criterion, rows.tables, rows.priors, subsets)
            return True
        return int(self._state.reduce(_fail_to_sum, self._rows.tables, subsets)) == 0

    def take_subset(self, number: int) -> None:
        if self._is_remote:
            self._taken = number
        else:
            self._state.update(_take_subset, number)

    def candidates(self, features: np.ndarray, adding: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        def part(chosen: slice) -> np.ndarray:
            return self._state.reduce(self._criterion.sums, self._rows.tables, features[chosen], adding[chosen])

        pieces = self._pieces(features.size)
        if self._is_remote:
            moves = (self._rows.tables, features, adding, pieces)
            sums = self._state.reduce(_sums_of_pieces, self._criterion, *moves)
        elif len(pieces) == 1:
            sums = part(pieces[0])
        else:
            self._state.update(_prepare)
            # Threads would not end at Ctrl-C before their piece is done.
            n_jobs = 1 if self._rows.tables.n_classes > MANY_CLASSES else self._n_jobs
            sums = np.concatenate(map_in_threads(part, pieces, n_jobs))
        return self._costs(sums, sizes)

    def path(self, features: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Add features one after another; the costs of the subsets on the way."""
        sums = self._state.reduce(self._criterion.path_sums, self._rows.tables, features)  # type: ignore[attr-defined]
        return self._costs(sums, sizes)

    def own(self, size: int) -> float:
        if self._taken is not None:
            sums = self._sums[self._taken]
        else:
            sums = self._state.reduce(self._criterion.own_sums, self._rows.tables)
        return float(self._costs(sums[None, :], np.array([size]))[0])

    def _costs(self, sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        values = self._criterion.values(sums, sizes, self._rows.class_totals)
        if self._criterion.of_empty is not None:
            values = np.where((sizes == 0) & ~np.isnan(values), self._criterion.of_empty, values)
        return self.sign * values

    def _pieces(self, n: int) -> list[slice]:
        """Candidates evaluated together: how they are cut decides who computes them, never what comes out."""
        if self._rows.tables.n_classes > MANY_CLASSES:
            return [slice(a, a + 1) for a in range(max(1, n))]
        work = self._move_work * n
        if n <= _CANDIDATES_AT_ONCE and work < _PARALLEL_WORK:
            return [slice(0, n)]
        n_pieces = -(-n // _CANDIDATES_AT_ONCE)
        if work >= _PARALLEL_WORK and not self._is_remote:
            workers = effective_jobs(self._n_jobs)
            n_pieces = min(n, max(workers, -(-n_pieces // workers) * workers))
        ends = np.linspace(0, n, max(1, n_pieces) + 1).astype(int)
        return [slice(a, b) for a, b in pairwise(ends.tolist())]


class Followed:
    """An objective for the current subset: its criterion, and how far the subset is from the constraints."""

    def __init__(self, objective: Objective, leave_out: bool, n_jobs: int | None) -> None:
        self.criterion = Measured(objective.rows, objective.criterion, leave_out, n_jobs)
        self._bounds = [
            (bound, Measured(objective.rows, bound.measure, leave_out, n_jobs)) for bound in objective.constraints
        ]
        self._measured = [self.criterion, *(measured for _, measured in self._bounds)]

    def reset(self) -> None:
        for measured in self._measured:
            measured.reset()

    def expect_moves(self) -> None:
        for measured in self._measured:
            measured.expect_moves()

    def sum_subsets(self, subsets: np.ndarray) -> bool:
        return all(measured.sum_subsets(subsets) for measured in self._measured)

    def take_subset(self, number: int) -> None:
        for measured in self._measured:
            measured.take_subset(number)

    def move(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        for measured in self._measured:
            measured.move(features, adding)

    def measures(self, size: int) -> list[float]:
        return [measured.sign * measured.own(size) for _, measured in self._bounds]

    def violation(self, size: int, measures: Sequence[float] | None = None) -> float:
        values = zip(self._bounds, self.measures(size) if measures is None else measures, strict=True)
        return sum(float(bound.violation(np.array(value))) for (bound, _), value in values)

    def violations(self, features: np.ndarray, adding: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        total = np.zeros(features.size)
        for bound, measured in self._bounds:
            total += bound.violation(measured.sign * measured.candidates(features, adding, sizes))
        return total


def _sums_of_pieces(
    block: Any, criterion: Criterion, tables: RatioTables, features: np.ndarray, adding: np.ndarray, pieces: list[slice]
) -> np.ndarray:
    return np.concatenate([criterion.sums(block, tables, features[piece], adding[piece]) for piece in pieces])


def _own_sums_of(
    block: Any, criterion: Criterion, tables: RatioTables, priors: np.ndarray, subsets: np.ndarray
) -> np.ndarray:
    """(n_subsets, n_sums), each subset from the one before; the empty one is where the state comes from and goes to."""
    sums, current = [], np.zeros(subsets.shape[1], dtype=bool)
    for subset in subsets:
        changed = np.flatnonzero(subset != current)
        _expect_moves(block)
        _multiply(block, tables, changed.tolist(), subset[changed].tolist())
        sums.append(criterion.own_sums(block, tables))
        current = subset
    block.reset(priors)
    return np.array(sums)


def _reset(block: Any, priors: np.ndarray) -> None:
    block.reset(priors)


def _multiply(block: Any, tables: RatioTables, features: Sequence[int], adding: Sequence[bool]) -> None:
    together = getattr(block, "multiply_all", None)
    if together is not None and len(features) > 1:
        together(tables, features, adding)
        return
    for feature, add in zip(features, adding, strict=True):
        block.multiply(tables, feature, add)


def _expect_moves(block: Any) -> None:
    expect = getattr(block, "expect_moves", None)
    if expect is not None:
        expect()


def _fail_to_sum(block: Any, tables: RatioTables, subsets: np.ndarray) -> int:
    sum_subsets = getattr(block, "sum_subsets", None)
    return int(sum_subsets is None or not sum_subsets(tables, subsets))


def _take_subset(block: Any, number: int) -> None:
    block.take_subset(number)


def _prepare(block: Any) -> None:
    """What threads share is computed before they start."""
    prepare = getattr(block, "scan", None)
    if prepare is not None:
        prepare()
