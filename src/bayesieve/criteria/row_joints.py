"""Rows of many classes as the log loss sees them: per row, the joint probability of every class."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bayesieve.criteria.class_block import THREE_WAY, ClassBlock
from bayesieve.criteria.ratio_tables import RatioTables
from bayesieve.criteria.row_ratios import IMPOSSIBLE

_MOST_MULTIPLIED = 80.0  # nats: larger factors do not multiply safely
_REACH = 500.0  # nats that the moves between two looks at the logarithms may cover together
_MOST_MOVES = 64  # and their number, for the sake of rounding


class RowJoints:
    """State of one block of rows under the current subset of features, as `RowRatios`, for log losses of many classes.

    A row takes as many operations as there are classes, all next to each other, and the tables of a feature one number
    for each level and class; those of `RowRatios` have one for each two classes.
    """

    @staticmethod
    def can_hold(tables: RatioTables, priors: np.ndarray) -> bool:
        """Whether these tables are of classes, and no class is next to impossible."""
        possible = not np.any(priors > IMPOSSIBLE * 1e-20)
        return tables.by_class is not None and possible and tables.largest_log_factor <= _MOST_MULTIPLIED

    def __init__(self, block: ClassBlock, tables: RatioTables, priors: np.ndarray) -> None:
        assert tables.by_class is not None
        self.block, self._logs = block, tables.by_class
        n_classes = self._logs.shape[1]
        self._as_they_are = block.kinds > THREE_WAY
        self._starts = np.concatenate([[0], np.cumsum(block.n_codes)]).astype(np.int64)
        factors = np.exp(self._logs)
        # Factors of features added, of features dropped, and of no move.
        self._factors = np.concatenate([factors, 1.0 / factors, np.ones((2, n_classes))])
        self._most_moves = max(1, min(_MOST_MOVES, int(_REACH / max(tables.largest_log_factor, 1e-3))))
        self._joint = block.engine.array((block.n_rows, n_classes), np.float64)
        self._own = np.zeros(block.n_features)
        self._sum_own()
        self.reset(priors)

    def reset(self, priors: np.ndarray) -> None:
        """Back to the empty subset, where ``priors`` (n_segments, n_classes - 1) are the ratios to the true class."""
        with np.errstate(divide="ignore"):
            logs = np.log(priors)
        own = self.block.classes
        self._priors = np.zeros((own.size, priors.shape[1] + 1))
        others = np.arange(priors.shape[1]) + (np.arange(priors.shape[1]) >= own[:, None])
        np.put_along_axis(self._priors, others, logs, axis=1)
        self._selected = np.zeros(self.block.n_features, dtype=bool)
        self.expect_moves()

    def expect_moves(self) -> None:
        """Several moves follow: probabilities are taken from the logarithms once after them, not after each."""
        self._left = 0

    def multiply(self, tables: RatioTables, feature: int, add: bool) -> None:
        """Add a feature to the subset, or drop it."""
        from bayesieve.criteria._joint_kernels import multiply_joint

        self._selected[feature] = add
        if self._left == 0:
            return
        self._left -= 1
        column, low, high, as_it_is, start = (values[0] for values in self._moves(np.array([feature]), np.array([add])))
        for bounds in self._blocks(1):
            multiply_joint(
                *(self._joint, self.block.codes, bounds, self.block.weights),
                *(column, low, high, as_it_is, start, self._factors, self._lead),
            )
        self._lead[0] -= self._own[feature] if add else -self._own[feature]

    def scan(self) -> RowJoints:
        """The same, with probabilities of the current subset."""
        if self._left == 0:
            self._start()
        return self

    def sums(self, features: np.ndarray, adding: np.ndarray) -> np.ndarray:
        """(n_candidates, 1) sums of log losses, one line per feature added, or else dropped."""
        of_rows = self.scan()._sums(self._moves(features, adding))
        return (of_rows + self._lead - np.where(adding, 1.0, -1.0) * self._own[features])[:, None]

    def own_sums(self) -> np.ndarray:
        """(1,) the sum of log losses of the current subset."""
        highest = np.iinfo(self.block.codes.dtype).max
        nothing = np.full(1, highest, dtype=self.block.codes.dtype)
        last = np.array([len(self._factors) - 2])  # for level 0, and 1 of the highest code
        moves = (np.zeros(1, dtype=np.int64), nothing, nothing, np.zeros(1, dtype=bool), last)
        return self.scan()._sums(moves) + self._lead

    def _moves(self, features: np.ndarray, adding: np.ndarray) -> tuple[np.ndarray, ...]:
        block, starts = self.block, self._starts[features] + np.where(adding, 0, self._starts[-1])
        return block.columns[features], block.lows[features], block.highs[features], self._as_they_are[features], starts

    def _sums(self, moves: tuple[np.ndarray, ...]) -> np.ndarray:
        from bayesieve.criteria._joint_kernels import joint_sums

        sums = np.zeros(moves[0].size)
        for bounds in self._blocks(sums.size):
            joint_sums(self._joint, self.block.codes, bounds, self.block.weights, *moves, self._factors, sums)
        return sums

    def _start(self) -> None:
        """Probabilities from logarithms."""
        from bayesieve.criteria._joint_kernels import start_joint

        block, features = self.block, np.flatnonzero(self._selected)
        moves = self._moves(features, np.ones(features.size, dtype=bool))
        self._lead, self._left = np.zeros(1), self._most_moves
        for bounds in self._blocks(features.size):
            start_joint(
                *(self._joint, block.codes, bounds, block.weights, block.classes),
                *(*moves, self._priors, self._logs, self._lead),
            )

    def _sum_own(self) -> None:
        from bayesieve.criteria._joint_kernels import sum_own

        block, every = self.block, np.arange(self.block.n_features)
        moves = self._moves(every, np.ones(every.size, dtype=bool))
        for bounds in block.blocks(block.codes.itemsize * every.size):
            sum_own(block.codes, bounds, block.weights, block.classes, *moves, self._logs, self._own)

    def _blocks(self, n_features: int) -> Iterable[np.ndarray]:
        return self.block.blocks(8 * self._joint.shape[1] + n_features * self.block.codes.itemsize)
