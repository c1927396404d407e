"""Rows as a criterion sees them: per row, the ratio of every other class to the true one under the current
subset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from bayesieve.criteria.class_block import THREE_WAY, ClassBlock
from bayesieve.criteria.ratio_tables import RatioTables
from bayesieve.criteria.subset_steps import steps_of_subsets

SURE = 33.0
"""Nats by which a class must lead for its row to be taken as certain: all rows together then change a mean by less than
1e-14."""

IMPOSSIBLE = 1e300
"""The ratio of a class to the true one where the true one has no rows to learn from; times the share of that class."""

MANY_CLASSES = 500
"""From how many on work is cut into parts, so that Python hears signals in between."""

_NEVER = 2**61  # beyond all limits, in steps
_HIGHEST_EXACT = 82.0  # nats: eight factors of this size still multiply safely
_HIGHEST = 165.0  # nats: the reciprocals of four such factors still add up safely
_CERTAIN = 40.0  # nats: what a true class that far behind is worth is lost in rounding
_LOWEST = 60.0  # nats below what moves can make up for: smaller ratios are 0 and do not become denormal numbers
_REACH = 500.0  # nats that the moves between two looks at the logarithms may cover together
_MOST_MOVES = 64  # and their number, for the sake of rounding
_KEPT_SHARE = 0.75  # rows are gathered again when fewer than this share of those scanned matter
_MOST_RATIOS = 1 << 22  # of such a part
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
    (n_rows,) 1 divided by the row's scale, which is 1 but for rows with ratios too large to multiply, or empty where
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

    @property
    def is_short(self) -> bool:
        """Whether classes are so few that kernels end before a signal would have to wait."""
        return len(self.ratios) < MANY_CLASSES

    def parts(self, moves: tuple[Any, ...]) -> Iterator[tuple[Scan, tuple[Any, ...]]]:
        """Some segments after others, so that Python hears signals in between; ``moves`` as of ``candidates``."""
        block, (starts, n_codes) = self.block, moves[4:6]
        parts = _short_parts(block.offsets, len(self.ratios), len(starts))
        if len(parts) == 1:
            yield self, moves
            return
        for a, b in parts:
            segments = replace(block, offsets=block.offsets[a : b + 1], classes=block.classes[a:b])
            part = replace(self, block=segments, log_scale=self.log_scale if a == 0 else 0.0, wrong=self.wrong[a:b])
            yield part, (*moves[:4], starts + a * len(self.ratios) * n_codes, *moves[5:])

    def blocks(self, moves: tuple[Any, ...]) -> Iterable[np.ndarray]:
        """Offsets of the segments of ``block`` cut to one block of rows after another, for kernels that add the sums of
        each to those of the blocks before.
        """
        return self.block.blocks(8 * len(self.ratios) + moves[0].size * self.block.codes.itemsize)

    def candidates(self, tables: RatioTables, features: np.ndarray, adding: np.ndarray) -> tuple[Any, ...]:
        """What the kernels need to know of each move, in the order of their arguments."""
        table, starts = tables.gather(features, adding)
        block = self.block
        return (
            block.columns[features],
            block.lows[features],
            block.highs[features],
            block.kinds[features],
            starts,
            block.n_codes[features],
            table,
        )

    def no_move(self) -> tuple[Any, ...]:
        """As ``candidates``, of the one move that changes nothing."""
        return _no_move(self.block.n_segments * self.ratios.shape[0], self.block.codes.dtype)


@lru_cache(maxsize=2)
def _no_move(n_pairs: int, dtype: np.dtype[Any]) -> tuple[Any, ...]:
    first = np.zeros(1, dtype=np.int64)
    code = np.full(1, np.iinfo(dtype).max, dtype=dtype)
    return first, code, code, np.zeros(1, dtype=np.uint8), first, np.full(1, 3), np.ones(3 * n_pairs)


class RowRatios:
    """State of one block of rows under the current subset of features.

    The logarithm of every ratio is a sum of whole steps of ``tables.log_unit``, so that moves are exact and undo each
    other, whatever the number of features. The ratios themselves are multiplied move by move, and computed again from
    the logarithms before rounding errors, or ratios out of range, could matter.

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
        self.block = block
        self._tables = tables
        self._n_others = tables.n_classes - 1
        self._bounds = tables.bounds
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
        self._steps = block.engine.array((self._n_others, block.n_rows), np.int64)
        self._ratios: np.ndarray | None = None
        self._pending: list[tuple[int, bool]] = []
        self._n_multiplied = 0
        self._clipped = False
        self._start: np.ndarray | None = None
        work = block.n_rows * block.n_features
        self._saturation = saturation if work >= _SCANNED_CODES else None
        self._kept = block.engine.array((block.n_rows if self._saturation else 0,), bool)
        self._kept[:] = True
        self._kept_rows: np.ndarray | None = None
        self._kept_block = block
        self._scan: Scan | None = None
        self._sums: np.ndarray | None = None
        self.reset(priors)

    def reset(self, priors: np.ndarray) -> None:
        """Back to the empty subset, where ``priors`` (n_segments, n_classes - 1) are the ratios."""
        with np.errstate(divide="ignore"):
            logs = np.log(priors)
        # What is impossible stays so whatever the features say.
        never = 2.0 * self._tables.log_reach
        logs = np.where(priors > 0.0, logs + np.where(priors > IMPOSSIBLE * 1e-20, never, 0.0), -never)
        self._start = np.rint(logs / self._tables.log_unit).astype(np.int64)
        self._pending.clear()
        self._scan = None

    def multiply(self, tables: RatioTables, feature: int, adding: bool) -> None:
        """Add ``feature`` to the subset, or drop it."""
        self._pending.append((feature, adding))
        if self._scan is None:
            return
        if self._saturation is not None or self._clipped or self._n_multiplied >= self._most_moves:
            self._scan = None
            return
        from bayesieve.criteria._kernels import multiply_ratios

        scan, block = self._scan, self._scan.block
        move = scan.candidates(tables, np.array([feature]), np.array([adding]))
        self._n_multiplied += 1
        self._scan = None  # until all segments are done
        beyond = False
        for part, of_part in ((scan, move),) if scan.is_short else scan.parts(move):
            column, low, high, kind, start, n_codes = (values[0] for values in of_part[:-1])
            for bounds in part.blocks(move):
                beyond |= multiply_ratios(
                    *(scan.ratios, block.codes[column], bounds, low, high, kind, start, n_codes, move[-1]),
                    np.exp(self._highest),
                )
        self._scan = None if beyond else scan

    def multiply_all(self, tables: RatioTables, features: Sequence[int], adding: Sequence[bool]) -> None:
        """Add features, or drop them, one after another."""
        if self._scan is None:
            self._pending += zip(features, adding, strict=True)
            return
        for feature, add in zip(features, adding, strict=True):
            self.multiply(tables, feature, add)

    def expect_moves(self) -> None:
        """Several moves follow: the ratios are taken from the logarithms once after them, not after each."""
        self._scan = None

    def sum_subsets(self, tables: RatioTables, subsets: np.ndarray) -> bool:
        """Sum up the logarithms of subsets (n_subsets, n_features), which `take_subset` then goes to; False: not here.
        Only the empty subset may come before.
        """
        if self._saturation is not None or self._start is None:
            return False
        self._sums = steps_of_subsets(self.block, tables, self._start, subsets)
        return self._sums is not None

    def take_subset(self, number: int) -> None:
        """Go to one of the subsets that `sum_subsets` was called with."""
        assert self._sums is not None
        self._steps = self._sums[number]
        self._start = self._scan = None
        self._pending.clear()

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
                *scan.candidates(tables, part, np.ones(part.size, dtype=bool)),
                *(by_row, np.exp(self._highest), most, sums[at : at + part.size]),
            )
            sums[at : at + done] += scan.log_scale
            self._pending += [(int(feature), True) for feature in part[:done]]
            self._scan = None
            at += done
        return sums

    def _settle(self) -> None:
        """Bring the logarithms up to date."""
        tables = self._tables
        if self._start is not None:
            self._fill(self._steps, self._start)
            self._start = None
        if len(self._pending) > 1 and tables.has_all_log_steps:
            features = [feature for feature, _ in self._pending]
            self._add(self._pending, tables.starts[features], tables.all_log_steps())
        else:
            for move in self._pending:
                self._add([move], np.zeros(1, dtype=np.int64), tables.log_steps(move[0]).ravel())
        self._pending.clear()

    def _fill(self, array: np.ndarray, of_segments: np.ndarray) -> None:
        """Give the rows (n_classes - 1, n_rows) the values of their segments (n_segments, n_classes - 1)."""
        for bounds in self.block.blocks(8 * self._n_others):
            for segment, values in enumerate(of_segments):
                array[:, bounds[segment] : bounds[segment + 1]] = values[:, None]

    def _add(self, moves: list[tuple[int, bool]], starts: np.ndarray, steps: np.ndarray) -> None:
        """Add the steps of features that enter the subset, subtract those of features that leave it."""
        from bayesieve.criteria._kernels import add_steps

        block = self.block
        features, adding = np.array([move[0] for move in moves]), np.array([move[1] for move in moves])
        n_codes, signs = block.n_codes[features], np.where(adding, 1, -1)
        for bounds in block.blocks(8 * self._n_others + block.codes.itemsize * features.size):
            for a, b in _short_parts(bounds, self._n_others, features.size):
                add_steps(
                    *(self._steps, block.codes, bounds[a : b + 1], signs, block.columns[features]),
                    *(block.lows[features], block.highs[features], block.kinds[features] > THREE_WAY),
                    *(n_codes, starts + a * self._n_others * n_codes, steps),
                )

    def scan(self) -> Scan:
        """The rows that matter to a move, with their ratios."""
        if self._scan is None:
            self._scan = self._empty_subset() if self._saturation is None and not self._pending else None
        if self._scan is None:
            self._settle()
            self._scan = self._scale(self._leave_out())
        return self._scan

    def _empty_subset(self) -> Scan | None:
        """The scan that a search begins with, where all rows of a segment have the same ratios."""
        if self._start is None or self._start.max(initial=0) * self._tables.log_unit > self._highest:
            return None
        block = self.block
        ratios = self._memory(block.n_rows)
        self._fill(ratios, np.exp(self._start * self._tables.log_unit))
        self._n_multiplied, self._clipped = 0, False
        return Scan(block, ratios, np.zeros(0), 0.0, np.zeros(block.n_segments))

    def _memory(self, n_rows: int) -> np.ndarray:
        """Where the ratios of some rows are written, over those of the scan before."""
        if self._ratios is None:
            self._ratios = self.block.engine.array((self._n_others * self.block.n_rows,), np.float64)
        return self._ratios[: self._n_others * n_rows].reshape(self._n_others, n_rows)

    def _scale(self, wrong: np.ndarray) -> Scan:
        block = self._kept_block
        ratios = self._memory(block.n_rows)
        base = np.zeros(0)
        scales = []
        self._n_multiplied, self._clipped = 0, False
        for begin, end in block.row_blocks(24 * self._n_others):
            logs = ratios[:, begin:end]
            rows = slice(begin, end)
            np.multiply(
                self._steps[:, rows if self._kept_rows is None else self._kept_rows[rows]],
                self._tables.log_unit,
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

        # No class may stay further than the bounds say, wherever one move takes it.
        right = (-self._saturation.right - np.log(self._n_others) - self._bounds) / self._tables.log_unit
        wrong = (self._saturation.wrong + self._bounds) / self._tables.log_unit
        limits = [np.clip(limit, -float(_NEVER), float(_NEVER)).astype(np.int64) for limit in (right, wrong)]
        margin = int(2.0 * self._bounds.max(initial=0.0) / self._tables.log_unit)
        states = block.engine.array((block.n_rows,), np.uint8)
        near, lost, row_bytes = 0, False, 8 * self._n_others + 2
        for bounds in block.blocks(row_bytes):
            of_block = classify(self._steps, bounds, *limits, margin, self._kept, states)
            near, lost = near + of_block[0], lost or of_block[1]
        n_kept = self._kept_block.n_rows
        if lost or near < _KEPT_SHARE * n_kept:
            if near < _KEPT_SHARE * block.n_rows:
                for begin, end in block.row_blocks(row_bytes):
                    np.greater_equal(states[begin:end], 4, out=self._kept[begin:end])
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


def _short_parts(offsets: np.ndarray, n_others: int, n_moves: int = 1) -> list[tuple[int, int]]:
    """First and last segments (exclusive) of parts of a few million ratios each; one part unless classes are many."""
    n_segments = offsets.size - 1
    if n_others < MANY_CLASSES:
        return [(0, n_segments)]
    n_parts = max(1, min(n_segments, -(-int(offsets[-1] - offsets[0]) * n_others * n_moves // _MOST_RATIOS)))
    ends = np.linspace(0, n_segments, n_parts + 1).astype(int).tolist()
    return list(pairwise(ends))
