"""Exact logarithms of the ratios of rows, under one subset of features after another, or of many subsets at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from bayesieve.criteria.class_block import ClassBlock
from bayesieve.criteria.ratio_tables import RatioTables

IMPOSSIBLE = 1e300
"""The ratio of a class to the true one where the true one has no rows to learn from; times the share of that class."""

_MOST_BYTES = 64 << 20  # of the logarithms of all subsets
_MOST_SUMMED = 1 << 33  # logarithms: Python hears signals in between


def most_subsets(block: ClassBlock, n_classes: int) -> int:
    """Subsets whose logarithms are summed at once; 0 if rows or classes are too many for that."""
    n_ratios = max(1, block.n_rows * (n_classes - 1))
    return min(_MOST_BYTES // (8 * n_ratios), _MOST_SUMMED // (n_ratios * max(1, block.n_features)))


class RowSteps:
    """State of one block of rows under the current subset: for each row and other class, the logarithm of its ratio to
    the true class.

    A logarithm is a sum of whole steps of ``tables.log_unit``, so that moves are exact and undo each other, whatever
    the number of features.
    """

    def __init__(self, block: ClassBlock, tables: RatioTables, priors: np.ndarray) -> None:
        self.block, self.tables = block, tables
        self.n_others = tables.n_classes - 1
        self.n_selected = 0
        self._steps = block.engine.array((self.n_others, block.n_rows), np.int64)
        self._start: np.ndarray | None = None  # steps of the segments, for rows that do not have them yet
        self._pending: list[tuple[int, bool]] = []
        self._subsets = np.zeros((0, 0), dtype=bool)
        self._sums = np.zeros((0, 0, 0), dtype=np.int64)
        self.reset(priors)

    def reset(self, priors: np.ndarray) -> None:
        """Back to the empty subset, where ``priors`` (n_segments, n_classes - 1) are the ratios."""
        with np.errstate(divide="ignore"):
            logs = np.log(priors)
        # What is impossible stays so whatever the features say.
        never = 2.0 * self.tables.log_reach
        logs = np.where(priors > 0.0, logs + np.where(priors > IMPOSSIBLE * 1e-20, never, 0.0), -never)
        self._empty = self._start = np.rint(logs / self.tables.log_unit).astype(np.int64)
        self.n_selected = 0
        self._pending.clear()
        self.forget()

    def forget(self) -> None:
        """Compute what depends on the logarithms again when it is needed next."""

    def multiply(self, tables: RatioTables, feature: int, adding: bool) -> None:
        """Add ``feature`` to the subset, or drop it."""
        self._pending.append((feature, adding))
        self.n_selected += 1 if adding else -1
        self.forget()

    def sum_subsets(self, tables: RatioTables, subsets: np.ndarray) -> bool:
        """Sum up the logarithms of subsets (n_subsets, n_features), which `take_subset` then goes to; False: not here.
        Only the empty subset may come before.
        """
        block = self.block
        too_many = len(subsets) > most_subsets(block, tables.n_classes)
        if too_many or not (block.is_whole and tables.has_all_log_steps):
            return False
        from bayesieve.criteria._kernels import sum_steps

        used = np.flatnonzero(subsets.any(axis=0))
        number, feature = map(np.ascontiguousarray, np.nonzero(subsets[:, used]))  # strided if there are several
        ends = np.cumsum(np.bincount(number, minlength=len(subsets)))
        self._subsets, self._sums = subsets, np.empty((len(subsets), self.n_others, block.n_rows), dtype=np.int64)
        places = (block.columns[used], block.lows[used], block.highs[used], block.kinds[used], block.n_codes[used])
        table = tables.starts[used], tables.all_log_steps()
        sum_steps(block.codes, block.offsets, *places, *table, self._empty, ends, feature, self._sums)
        return True

    def take_subset(self, number: int) -> None:
        """Go to one of the subsets that `sum_subsets` was called with."""
        self._steps, self.n_selected = self._sums[number], int(self._subsets[number].sum())
        self._start = None
        self._pending.clear()
        self.forget()

    def settle(self) -> np.ndarray:
        """(n_classes - 1, n_rows) the logarithms, in steps."""
        if self._start is not None:
            self._fill(self._steps, self._start)
            self._start = None
        together = self.tables.has_all_log_steps
        for moves in [self._pending] if together and self._pending else [[move] for move in self._pending]:
            self._add(moves)
        self._pending.clear()
        return self._steps

    def _fill(self, array: np.ndarray, of_segments: np.ndarray) -> None:
        """Give the rows (n_classes - 1, n_rows) the values of their segments (n_segments, n_classes - 1)."""
        for bounds in self.block.blocks(8 * self.n_others):
            for values, (begin, end) in zip(of_segments, pairwise(bounds.tolist()), strict=True):
                array[:, begin:end] = values[:, None]

    def _add(self, moves: list[tuple[int, bool]]) -> None:
        """Add the steps of features that enter the subset, subtract those of features that leave it."""
        from bayesieve.criteria._kernels import add_steps

        block = self.block
        features, signs = np.array([move[0] for move in moves]), np.array([1 if move[1] else -1 for move in moves])
        steps, starts = self.tables.gather_steps(features)
        places = (block.columns, block.lows, block.highs, block.kinds, block.n_codes)
        for bounds in block.blocks(8 * self.n_others, self.n_others, features.size):
            add_steps(self._steps, block.codes, bounds, signs, *(place[features] for place in places), starts, steps)
