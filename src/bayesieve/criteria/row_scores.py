"""Rows as a criterion of order sees them: exact scores of all rows, and groups of rows that are equal so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesieve.criteria.class_block import TWO_WAY
from bayesieve.criteria.row_steps import RowSteps

if TYPE_CHECKING:
    from bayesieve.criteria._auc_kernels import Moves, Scores
    from bayesieve.criteria._ladder_kernels import Ladder

_STEP_ERROR = 64 * np.finfo(float).eps  # nats: bound on the error of a logarithm of two probabilities
_DOUBLE_RANGE = 340.0  # nats: quotients of two ratios of this size are doubles still
_FEW_SCORES = 0.015  # different scores a row, up to which cells of equal rows are faster


class RowScores(RowSteps):
    """State of one block of rows under the current subset, for criteria that order rows.

    The score of a row is the log odds of class 1 if there are two classes, else it follows from the log ratios of the
    other classes to the true one. Integers add up exactly, so that moves undo each other and equal products stay equal
    to within one unit a factor, in whatever order they were multiplied: scores closer than ``tolerance`` steps are the
    same number. All rows stay, however certain their class is.
    """

    _scores: Scores | None
    _ladders: tuple[Ladder | None] | None

    def forget(self) -> None:
        self._scores = self._ladders = None

    def scan(self) -> Scores:
        """The arrays that a pass over candidates reads, computed once per move."""
        # Threads may come here together: each computes the same, and the last one stores it.
        scores = self._scores
        if scores is None:
            scores = self._scores = self._prepare()
        return scores

    def ladder(self, features: np.ndarray) -> tuple[Ladder, np.ndarray] | None:
        """Rows sorted for candidates of two levels, and their two segments; None if there are no such candidates, or if
        it does not pay.
        """
        from bayesieve.criteria._ladder_kernels import climb

        block, scan = self.block, self.scan()
        sizes = np.diff(block.offsets)
        filled = np.flatnonzero(sizes > 0)
        if (
            self.n_others != 1
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

    def _prepare(self) -> Scores:
        from bayesieve.criteria._auc_kernels import Scores, group_rows

        block, logs = self.block, self.settle()
        if self.n_others == 1:
            logs = logs * np.repeat(np.where(block.classes == 1, -1, 1), np.diff(block.offsets))
        n_rows = block.n_rows
        slots = np.full(1 << int(np.ceil(np.log2(2 * n_rows + 2))), -1, dtype=np.int32)
        group_of, first_of = np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.int32)
        first_of = first_of[: group_rows(logs, block.offsets, slots, group_of, first_of)].copy()
        ratios, is_wide, tolerance = self._ratios(logs)
        arrays = (
            *(block.codes, block.columns.astype(np.int64), block.lows, block.highs, block.kinds),
            *(block.n_codes.astype(np.int64), block.offsets, block.classes, block.weights.astype(float)),
        )
        groups = group_of, first_of, np.searchsorted(first_of, block.offsets)
        return Scores(*arrays, logs, ratios, is_wide, *groups, self.tables.log_unit, tolerance)

    def _ratios(self, steps: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None, int]:
        """Ratios of the rows if there are several classes, which of them exceed the range of doubles, and how far
        apart keys of equal scores may lie.
        """
        from bayesieve.criteria._auc_kernels import SPARE_BITS

        unit = self.tables.log_unit
        error = (self.n_selected + 3) * (unit + _STEP_ERROR)
        if self.n_others <= 1:
            return None, None, int(np.ceil(error / unit))
        logs = steps * unit
        largest = np.abs(logs[np.abs(logs) <= self.tables.log_reach]).max(initial=0.0)
        logs[logs < -self.tables.log_reach] = -np.inf  # impossible
        limit = _DOUBLE_RANGE - self.tables.largest_log_factor
        is_wide = np.any((np.abs(logs) > limit) & (logs > -np.inf), axis=0, keepdims=True)
        ratios = np.exp(np.clip(logs, None, _DOUBLE_RANGE))
        # Each score is a quotient of two sums of ratios, every one known to within the error of its logarithm.
        error = 4.0 * error + 8.0 * np.finfo(float).eps * (largest + self.n_others + 1)
        return ratios, is_wide if is_wide.any() else is_wide[:0], int(np.ceil(error * 2.0 ** (53 - SPARE_BITS))) + 2

    def moves(self, features: np.ndarray, adding: np.ndarray) -> Moves:
        """Candidates, for the kernels."""
        from bayesieve.criteria._auc_kernels import Moves

        features = np.asarray(features, dtype=np.int64)
        steps, starts = self.tables.gather_steps(features)
        factors, factor_starts = np.zeros(1), np.zeros(features.size, dtype=np.int64)
        if self.n_others > 1 and features.size:
            factors, factor_starts = self.tables.gather(features, np.asarray(adding, dtype=bool))
        return Moves(features, np.where(adding, 1, -1), steps, starts, factors, factor_starts)

    def no_move(self) -> Moves:
        """The candidate that leaves the subset as it is."""
        from bayesieve.criteria._auc_kernels import Moves

        size = self.block.n_segments * max(self.n_others, 1)
        one, start = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        return Moves(-one, one, np.zeros(size, dtype=np.int64), start, np.ones(size), start)
