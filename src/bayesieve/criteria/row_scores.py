"""Rows as a criterion of order sees them: exact scores of all rows, and groups of rows that are equal so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.criteria.class_block import TWO_WAY, ClassBlock
from bayesieve.criteria.ratio_tables import RatioTables
from bayesieve.criteria.subset_steps import steps_of_subsets

if TYPE_CHECKING:
    from bayesieve.criteria._auc_kernels import Layout, Moves, Scan
    from bayesieve.criteria._ladder_kernels import Ladder

_NEVER = 2**60  # a score, in steps, beyond all finite ones: a class that cannot be
_STEP_ERROR = 64 * np.finfo(float).eps  # nats: bound on the error of a logarithm of two probabilities
_DOUBLE_RANGE = 340.0  # nats: quotients of two ratios of this size are doubles still
_FEW_SCORES = 0.015  # different scores a row, up to which cells of equal rows are faster
_FLAT_BYTES = 64 << 20  # steps of all features are stored up to this size, larger ones built when needed


class RowScores:
    """State of one block of rows under the current subset, for criteria that order rows.

    The score of a row is a sum of logarithms, each rounded to a whole number of ``tables.log_unit``. Integers add up
    exactly, so that moves undo each other and equal products stay equal to within one unit a factor, in whatever order
    they were multiplied: scores closer than ``tolerance`` steps are the same number.

    ``logs`` has shape (1, n_rows) with the log odds of class 1 where there are two classes, else (n_classes - 1,
    n_rows) with the log ratios of the other classes to the true one. All rows stay, however certain their class is.
    """

    def __init__(self, block: ClassBlock, tables: RatioTables, priors: np.ndarray) -> None:
        self.block = block
        self._tables = tables
        self.n_classes = tables.n_classes
        self._signs = np.where(block.classes == 1, -1, 1) if self.n_classes == 2 else np.ones(block.n_segments, int)
        self.logs = np.empty((self.n_classes - 1, block.n_rows), dtype=np.int64)
        self.reset(priors)
        self._flat: tuple[np.ndarray, np.ndarray] | None = None
        self._sums: np.ndarray | None = None
        self._sizes: list[int] = []

    def reset(self, priors: np.ndarray) -> None:
        """Back to the empty subset, where ``priors`` (n_segments, n_classes - 1) are the ratios."""
        with np.errstate(divide="ignore"):
            logs = np.log(priors) / self._tables.log_unit
        self._start = np.clip(np.rint(logs), -_NEVER, _NEVER).astype(np.int64) * self._signs[:, None]
        self.logs[:] = np.repeat(self._start.T, np.diff(self.block.offsets), axis=1)
        self._n_selected = 0
        self._scan: Scan | None = None
        self._ladders: tuple[Ladder | None] | None = None

    def multiply(self, tables: RatioTables, feature: int, adding: bool) -> None:
        """Add ``feature`` to the subset, or drop it."""
        steps = tables.log_steps(feature) * self._signs[:, None, None]
        levels = self.block.level_codes(feature)
        for s in range(self.block.n_segments):
            rows = slice(self.block.offsets[s], self.block.offsets[s + 1])
            moved = np.take(steps[s], levels[rows], axis=1)
            self.logs[:, rows] += moved if adding else -moved
        self._n_selected += 1 if adding else -1
        self._scan = None
        self._ladders = None

    def sum_subsets(self, tables: RatioTables, subsets: np.ndarray) -> bool:
        """Sum up the scores of subsets (n_subsets, n_features), which `take_subset` then goes to; False: not here."""
        start = self._start * self._signs[:, None]
        self._sums = steps_of_subsets(self.block, tables, start, subsets)
        if self._sums is None:
            return False
        for segment in np.flatnonzero(self._signs < 0).tolist():
            self._sums[:, :, self.block.offsets[segment] : self.block.offsets[segment + 1]] *= -1
        self._sizes = subsets.sum(axis=1).tolist()
        return True

    def take_subset(self, number: int) -> None:
        """Go to one of the subsets that `sum_subsets` was called with."""
        assert self._sums is not None
        self.logs, self._n_selected = self._sums[number], self._sizes[number]
        self._scan = self._ladders = None

    @property
    def layout(self) -> Layout:
        """The arrays of the block, for the kernels."""
        from bayesieve.criteria._auc_kernels import Layout

        block = self.block
        return Layout(
            block.codes,
            np.asarray(block.columns, dtype=np.int64),
            block.lows,
            block.highs,
            block.kinds,
            np.asarray(block.n_codes, dtype=np.int64),
            block.offsets,
            block.classes,
            np.asarray(block.weights, dtype=float),
        )

    def scan(self) -> Scan:
        """The arrays that a pass over candidates reads, computed once per move."""
        # Threads may come here together: each computes the same, and the last one stores it.
        scan = self._scan
        if scan is None:
            scan = self._scan = self._prepare()
        return scan

    def ladder(self, features: np.ndarray) -> tuple[Ladder, np.ndarray] | None:
        """Rows sorted for candidates of two levels, and their two segments; None where there are no such candidates, or
        where it does not pay.
        """
        from bayesieve.criteria._ladder_kernels import climb

        block, scan = self.block, self.scan()
        sizes = np.diff(block.offsets)
        filled = np.flatnonzero(sizes > 0)
        if (
            self.n_classes != 2
            or filled.size != 2
            or block.classes[filled[0]] == block.classes[filled[1]]
            or block.weights.size
            or scan.first_of.size <= _FEW_SCORES * block.n_rows
            or not np.any(block.kinds[features[features >= 0]] == TWO_WAY)
        ):
            return None
        # Every row of the second list is looked up in the first one, which takes longer than passing over that.
        lists = filled[np.argsort(-sizes[filled], kind="stable")]
        ladders = self._ladders
        if ladders is None:
            negative, positive = (tuple(block.offsets[segment : segment + 2]) for segment in lists)
            ladders = self._ladders = (climb(scan.logs[0], negative, positive, scan.tolerance),)
        return None if ladders[0] is None else (ladders[0], lists)

    def _prepare(self) -> Scan:
        from bayesieve.criteria._auc_kernels import Scan, group_rows

        n_rows = self.block.n_rows
        slots = np.full(1 << int(np.ceil(np.log2(2 * n_rows + 2))), -1, dtype=np.int32)
        group_of, first_of = np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.int32)
        n_groups = group_rows(self.logs, self.block.offsets, slots, group_of, first_of)
        first_of = first_of[:n_groups].copy()
        ratios, is_wide, tolerance = self._ratios()
        group_offsets = np.searchsorted(first_of, self.block.offsets)
        return Scan(self.logs, ratios, is_wide, group_of, first_of, group_offsets, self._tables.log_unit, tolerance)

    def _ratios(self) -> tuple[np.ndarray | None, np.ndarray | None, int]:
        """Ratios of the rows where there are several classes, which of them exceed the range of doubles, and how far
        apart keys of equal scores may lie.
        """
        from bayesieve.criteria._auc_kernels import SPARE_BITS

        unit = self._tables.log_unit
        error = (self._n_selected + 3) * (unit + _STEP_ERROR)
        if self.n_classes <= 2:
            return None, None, int(np.ceil(error / unit))
        logs = self.logs * unit
        impossible = self.logs <= -_NEVER // 2
        logs[impossible] = -np.inf
        limit = _DOUBLE_RANGE - self._tables.largest_log_factor
        is_wide = np.any((np.abs(logs) > limit) & ~impossible, axis=0, keepdims=True)
        ratios = np.exp(np.clip(logs, None, _DOUBLE_RANGE))
        largest = np.abs(logs[~impossible]).max(initial=0.0)
        # Each score is a quotient of two sums of ratios, every one known to within the error of its logarithm.
        error = 4.0 * error + 8.0 * np.finfo(float).eps * (largest + self.n_classes)
        return ratios, is_wide if is_wide.any() else is_wide[:0], int(np.ceil(error * 2.0 ** (53 - SPARE_BITS))) + 2

    def moves(self, features: np.ndarray, adding: np.ndarray) -> Moves:
        """Candidates, for the kernels."""
        from bayesieve.criteria._auc_kernels import Moves

        tables = self._tables
        features = np.asarray(features, dtype=np.int64)
        steps, starts = self._steps(features)
        factors, factor_starts = np.zeros(1), np.zeros(features.size, dtype=np.int64)
        if self.n_classes > 2 and features.size:
            factors, factor_starts = tables.gather(features, np.asarray(adding, dtype=bool))
        return Moves(features, np.where(adding, 1, -1), steps, starts, factors, factor_starts)

    def nothing(self) -> Moves:
        """The candidate that leaves the subset as it is."""
        from bayesieve.criteria._auc_kernels import Moves

        size = self.block.n_segments * max(self.n_classes - 1, 1)
        one, start = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        return Moves(-one, one, np.zeros(size, dtype=np.int64), start, np.ones(size), start)

    def _steps(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Flat steps of the candidates, (segment, other class, code) each, and where every candidate starts."""
        sizes = self._tables.n_codes * self.block.n_segments * (self.n_classes - 1)
        if 8 * int(sizes.sum()) > _FLAT_BYTES:
            flat = self._flatten(features)
            return flat, _starts(sizes[features])
        of_all = self._flat
        if of_all is None:
            per_segment = np.repeat(sizes // self.block.n_segments, self.block.n_segments)
            signs = np.repeat(np.tile(self._signs, sizes.size), per_segment)
            of_all = self._flat = self._tables.all_log_steps() * signs, _starts(sizes)
        return of_all[0], of_all[1][features]

    def _flatten(self, features: Any) -> np.ndarray:
        signs = self._signs[:, None, None]
        steps = [(self._tables.log_steps(f) * signs).ravel() for f in features]
        return np.concatenate(steps) if steps else np.zeros(0, dtype=np.int64)


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
