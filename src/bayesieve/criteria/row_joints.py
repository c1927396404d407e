"""Rows of many classes as the log loss sees them: per row, the joint probability of every class."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bayesieve.criteria.class_block import ClassBlock
from bayesieve.criteria.ratio_tables import RatioTables
from bayesieve.criteria.row_steps import IMPOSSIBLE

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
        move, own = self.moves(tables, np.array([feature]), np.array([add]))
        place = [values[0] for values in move]
        rows = self._joint, self.block.codes
        for bounds in self._blocks(1):
            multiply_joint(*rows, bounds, self.block.weights, *place, self._factors, self._lead)
        self._lead[0] -= own[0]

    def scan(self) -> RowJoints:
        """The same, with probabilities of the current subset."""
        if self._left == 0:
            self._start()
        return self

    def sums(self, moves: tuple[tuple[np.ndarray, ...], np.ndarray]) -> np.ndarray:
        """(n_moves, 1) sums of log losses."""
        from bayesieve.criteria._joint_kernels import joint_sums

        places, own = moves
        sums = np.zeros(own.size)
        for bounds in self._blocks(sums.size):
            joint_sums(self._joint, self.block.codes, bounds, self.block.weights, *places, self._factors, sums)
        return (sums + self._lead - own)[:, None]

    def moves(
        self, tables: RatioTables, features: np.ndarray, adding: np.ndarray
    ) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        """What the kernels need to know of each move, and what it adds to the true classes of all rows."""
        *places, starts = self._added(features)
        return (*places, starts + np.where(adding, 0, self._starts[-1])), np.where(adding, 1.0, -1.0) * self._own[
            features
        ]

    def no_move(self) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        """As `moves`, of the one that changes nothing."""
        highest = np.iinfo(self.block.codes.dtype).max
        nothing = np.full(1, highest, dtype=self.block.codes.dtype)
        last = np.array([len(self._factors) - 2])  # for level 0, and 1 of the highest code
        return (np.zeros(1, dtype=np.int64), nothing, nothing, np.zeros(1, dtype=np.uint8), last), np.zeros(1)

    def _start(self) -> None:
        """Probabilities from logarithms."""
        from bayesieve.criteria._joint_kernels import start_joint

        block, features = self.block, np.flatnonzero(self._selected)
        places = self._added(features)
        self._lead, self._left = np.zeros(1), self._most_moves
        for bounds in self._blocks(features.size):
            start_joint(
                *(self._joint, block.codes, bounds, block.weights, block.classes),
                *(*places, self._priors, self._logs, self._lead),
            )

    def _sum_own(self) -> None:
        from bayesieve.criteria._joint_kernels import sum_own

        block, every = self.block, np.arange(self.block.n_features)
        for bounds in block.blocks(block.codes.itemsize * every.size):
            sum_own(block.codes, bounds, block.weights, block.classes, *self._added(every), self._logs, self._own)

    def _added(self, features: np.ndarray) -> tuple[np.ndarray, ...]:
        block = self.block
        places = block.columns[features], block.lows[features], block.highs[features], block.kinds[features]
        return *places, self._starts[features]

    def _blocks(self, n_features: int) -> Iterable[np.ndarray]:
        return self.block.blocks(8 * self._joint.shape[1] + n_features * self.block.codes.itemsize)
