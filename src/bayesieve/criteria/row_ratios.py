"""Rows as a criterion sees them: per row, the ratio of every other class to the true one under the current
subset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from bayesieve.criteria.class_block import ClassBlock
from bayesieve.criteria.ratio_tables import RatioTables
from bayesieve.criteria.row_steps import RowSteps

SURE = 33.0
"""Nats by which a class must lead for its row to be taken as certain: all rows together then change a mean by less than
1e-14."""

_NEVER = 2**61  # beyond all limits, in steps
_HIGHEST_EXACT = 82.0  # nats: eight factors of this size still multiply safely
_HIGHEST = 165.0  # nats: the reciprocals of four such factors still add up safely
_CERTAIN = 40.0  # nats: what a true class that far behind is worth is lost in rounding
_LOWEST = 60.0  # nats below what moves can make up for: smaller ratios are 0 and do not become denormal numbers
_REACH = 500.0  # nats that the moves between two looks at the logarithms may cover together
_MOST_MOVES = 64  # and their number, for the sake of rounding
_KEPT_SHARE = 0.75  # rows are gathered again when fewer than this share of those scanned matter
_SCANNED_CODES = 1 << 18  # codes below which leaving rows out costs more than it saves


@dataclass(frozen=True)
class Saturation:
    """When a row contributes the same, to within rounding, whatever single move is made.

    right : nats by which the true class must stay ahead; the row then contributes as if it were certain.
    wrong : nats by which it must stay behind; infinite where a wrong row always matters.
    """

    right: float
    wrong: float = np.inf


@dataclass(frozen=True)
class Scan:
    """The rows that a move may change, ready for the kernels.

    block : those rows; ratios : (n_classes - 1, n_rows) P(other) / P(true) divided by the row's scale; base :
    (n_rows,) 1 divided by the row's scale, which is 1 but for rows with ratios too large to multiply, or empty if
    all are 1; log_scale : sum over rows of the logarithm of the scale (times the weight); wrong : (n_segments,) rows
    (or weight) left out for being wrong for sure.

    Only sums of log losses need the scale. For the rest too large ratios are lowered until they are safe to multiply
    and the base stays 1: the true class has no probability to speak of either way.
    """

    block: ClassBlock
    ratios: np.ndarray
    base: np.ndarray
    log_scale: float
    wrong: np.ndarray

    def blocks(self, moves: tuple[Any, ...]) -> Iterable[np.ndarray]:
        """Offsets of the segments of ``block`` cut to one block of rows after another, for kernels that add the sums of
        each to those of the blocks before.
        """
        n_others, n_moves = len(self.ratios), moves[0].size
        return self.block.blocks(8 * n_others + n_moves * self.block.codes.itemsize, n_others, n_moves)

    def add(self, kernel: Callable[..., None], moves: tuple[Any, ...], sums: np.ndarray, *facts: Any) -> np.ndarray:
        """Add to ``sums`` what a kernel computes of each move; ``facts`` are what else it reads of the rows."""
        for bounds in self.blocks(moves):
            kernel(self.ratios, self.block.codes, bounds, *facts, *moves, sums)
        return sums

    def wrong_by_class(self) -> np.ndarray:
        """(n_classes,) rows (or weight) left out for being wrong."""
        return np.bincount(self.block.classes, weights=self.wrong, minlength=len(self.ratios) + 1)

    def moves(self, tables: RatioTables, features: np.ndarray, adding: np.ndarray) -> tuple[Any, ...]:
        """What the kernels need to know of each move, in the order of their arguments."""
        table, starts = tables.gather(features, adding)
        block = self.block
        places = block.columns[features], block.lows[features], block.highs[features], block.kinds[features]
        return *places, starts, block.n_codes[features], table

    def no_move(self) -> tuple[Any, ...]:
        """As `moves`, of the one that changes nothing."""
        return _no_move(self.block.n_segments * self.ratios.shape[0], self.block.codes.dtype)


@lru_cache(maxsize=2)
def _no_move(n_pairs: int, dtype: np.dtype[Any]) -> tuple[Any, ...]:
    first = np.zeros(1, dtype=np.int64)
    code = np.full(1, np.iinfo(dtype).max, dtype=dtype)
    return first, code, code, np.zeros(1, dtype=np.uint8), first, np.full(1, 3), np.ones(3 * n_pairs)


class RowRatios(RowSteps):
    """State of one block of rows under the current subset of features, for criteria of the class probabilities.

    The ratios are multiplied move by move, and computed again from their logarithms before rounding errors, or ratios
    out of range, could matter.

    With ``saturation``, rows that no move can change leave the scan until a move could bring them back.
    """

    def __init__(
        self,
        block: ClassBlock,
        tables: RatioTables,
        priors: np.ndarray,
        *,
        exact: bool = False,
        saturation: Saturation | None = None,
    ) -> None:
        self._exact = exact
        largest = tables.largest_log_factor
        self._highest = (_HIGHEST_EXACT if exact else _HIGHEST) - np.log(tables.n_classes) - largest
        if not exact and self._highest < _CERTAIN:
            raise ValueError(
                "The smoothing makes probabilities too extreme to compare; use a larger number, such as 1e-9, or "
                "'m-estimate'."
            )
        # A ratio taken as 0 stays 0 until all are computed again: so many moves must not bring it back.
        self._most_moves = max(1, min(_MOST_MOVES, int(_REACH / max(largest, 1e-3))))
        self._lowest = -min(700.0, _LOWEST + (self._most_moves + 1) * largest)
        self._ratios: np.ndarray | None = None
        self._n_multiplied = 0
        self._clipped = False
        self._saturation = saturation if block.n_rows * block.n_features >= _SCANNED_CODES else None
        self._kept = block.engine.array((block.n_rows if self._saturation else 0,), bool)
        self._kept[:] = True
        self._kept_rows: np.ndarray | None = None
        self._kept_block = block
        self._scan: Scan | None = None
        super().__init__(block, tables, priors)

    def forget(self) -> None:
        self._scan = None

    def expect_moves(self) -> None:
        """Several moves follow: the ratios are taken from the logarithms once after them, not after each."""
        self._scan = None

    def multiply(self, tables: RatioTables, feature: int, adding: bool) -> None:
        """Add ``feature`` to the subset, or drop it."""
        scan = self._scan
        super().multiply(tables, feature, adding)  # without a scan until all segments are done
        if scan is None or self._saturation is not None or self._clipped or self._n_multiplied >= self._most_moves:
            return
        from bayesieve.criteria._kernels import multiply_ratios

        move = scan.moves(tables, np.array([feature]), np.array([adding]))
        column, *place = (values[0] for values in move[:-1])
        self._n_multiplied += 1
        beyond = False
        for bounds in scan.blocks(move):
            code = scan.block.codes[column]
            beyond |= multiply_ratios(scan.ratios, code, bounds, *place, move[-1], np.exp(self._highest))
        self._scan = None if beyond else scan

    def sum_subsets(self, tables: RatioTables, subsets: np.ndarray) -> bool:
        return self._saturation is None and super().sum_subsets(tables, subsets)

    def path(self, tables: RatioTables, features: np.ndarray, by_row: bool) -> np.ndarray:
        """Add features one after another; (n_features, 1) sums over the rows of log(sum over classes of the ratios)."""
        from bayesieve.criteria._kernels import walk_path

        sums = np.zeros((features.size, 1))
        at = 0
        while at < features.size:
            scan, block = self.scan(), self._kept_block
            most = self._most_moves - self._n_multiplied
            part = features[at : at + most + 1]
            done = walk_path(
                *(scan.ratios, scan.base, block.codes, block.offsets, block.weights),
                *scan.moves(tables, part, np.ones(part.size, dtype=bool)),
                *(by_row, np.exp(self._highest), most, sums[at : at + part.size]),
            )
            sums[at : at + done] += scan.log_scale
            self._pending += [(int(feature), True) for feature in part[:done]]
            self._scan = None
            at += done
        return sums

    def scan(self) -> Scan:
        """The rows that matter to a move, with their ratios."""
        if self._scan is None:
            self._scan = self._empty_subset() if self._saturation is None and not self._pending else None
        if self._scan is None:
            self.settle()
            self._scan = self._scale(self._leave_out())
        return self._scan

    def _empty_subset(self) -> Scan | None:
        """The scan that a search begins with, where all rows of a segment have the same ratios."""
        if self._start is None or self._start.max(initial=0) * self.tables.log_unit > self._highest:
            return None
        block = self.block
        ratios = self._memory(block.n_rows)
        self._fill(ratios, np.exp(self._start * self.tables.log_unit))
        self._n_multiplied, self._clipped = 0, False
        return Scan(block, ratios, np.zeros(0), 0.0, np.zeros(block.n_segments))

    def _memory(self, n_rows: int) -> np.ndarray:
        """Where the ratios of some rows are written, over those of the scan before."""
        if self._ratios is None:
            self._ratios = self.block.engine.array((self.n_others * self.block.n_rows,), np.float64)
        return self._ratios[: self.n_others * n_rows].reshape(self.n_others, n_rows)

    def _scale(self, wrong: np.ndarray) -> Scan:
        block = self._kept_block
        ratios = self._memory(block.n_rows)
        base = np.zeros(0)
        scales = []
        self._n_multiplied, self._clipped = 0, False
        for bounds in block.blocks(24 * self.n_others):
            begin, end = bounds[[0, -1]].tolist()
            rows, logs = slice(begin, end), ratios[:, begin:end]
            np.multiply(
                self._steps[:, rows if self._kept_rows is None else self._kept_rows[rows]],
                self.tables.log_unit,
                out=logs,
            )
            if logs.max(initial=-np.inf) > self._highest:
                top = logs.max(axis=0)
                over = np.flatnonzero(top > self._highest)
                if self._exact:
                    logs[:, over] -= top[over]
                    if not base.size:
                        base = block.engine.array((block.n_rows,), np.float64)
                        base[:] = 1.0
                    base[begin + over] = np.exp(-top[over])
                    scales.append(top[over] * (block.weights[begin + over] if block.weights.size else 1.0))
                else:
                    logs[:, over] -= top[over] - self._highest
                    self._clipped = True
            low = logs < self._lowest if logs.min(initial=np.inf) < self._lowest else None
            np.exp(logs, out=logs)
            if low is not None:
                logs[low] = 0.0
        return Scan(block, ratios, base, float(np.concatenate(scales).sum()) if scales else 0.0, wrong)

    def _leave_out(self) -> np.ndarray:
        """Choose the rows to scan; (n_segments,) rows (or weight) left out that are wrong for sure."""
        block = self.block
        if self._saturation is None:
            return np.zeros(block.n_segments)
        from bayesieve.criteria._kernels import classify

        away = self.tables.bounds  # no class may stay further than that, wherever one move takes it
        right = (-self._saturation.right - np.log(self.n_others) - away) / self.tables.log_unit
        wrong = (self._saturation.wrong + away) / self.tables.log_unit
        limits = [np.clip(limit, -float(_NEVER), float(_NEVER)).astype(np.int64) for limit in (right, wrong)]
        margin = int(2.0 * away.max(initial=0.0) / self.tables.log_unit)
        states = block.engine.array((block.n_rows,), np.uint8)
        near, lost, row_bytes = 0, False, 8 * self.n_others + 2
        for bounds in block.blocks(row_bytes):
            of_block = classify(self._steps, bounds, *limits, margin, self._kept, states)
            near, lost = near + of_block[0], lost or of_block[1]
        n_kept = self._kept_block.n_rows
        if lost or near < _KEPT_SHARE * n_kept:
            if near < _KEPT_SHARE * block.n_rows:
                for bounds in block.blocks(row_bytes):
                    rows = slice(*bounds[[0, -1]])
                    np.greater_equal(states[rows], 4, out=self._kept[rows])
                self._kept_rows = np.flatnonzero(self._kept)
                self._kept_block = block.take(self._kept_rows)
            elif self._kept_rows is not None:
                self._kept[:] = True
                self._kept_rows, self._kept_block = None, block
        if self._kept_rows is None:
            return np.zeros(block.n_segments)
        left = np.flatnonzero((states & 3 == 2) & ~self._kept)
        weights = block.weights[left] if block.weights.size else None
        return np.bincount(block.segments(left), weights=weights, minlength=block.n_segments).astype(float)
