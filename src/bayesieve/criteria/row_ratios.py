"""Coded rows as criteria read them: segment after segment, each of one class and one set of probability tables, and
per row the ratio of every other class to the true one under the current subset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.engine import IN_MEMORY, Engine
from bayesieve.table.target import count_classes

if TYPE_CHECKING:
    from bayesieve.criteria.scored_rows import RatioTables

VERY_MANY_CLASSES = 500
"""From how many on work is cut into parts, so that Python hears signals in between."""

IMPOSSIBLE = 1e300
"""The ratio of a class to the true one if the true one has no rows to learn from; times the share of that class."""

SURE = 33.0
"""Nats by which a class must lead for its row to be taken as certain: all rows together then change a mean by less than
1e-14."""

_MOST_RATIOS = 1 << 22  # of one of the parts that work of very many classes is cut into
_NEVER = 2**61  # beyond all limits, in steps
_HIGHEST_EXACT = 82.0  # nats: eight factors of this size still multiply safely
_HIGHEST = 165.0  # nats: the reciprocals of four such factors still add up safely
_CERTAIN = 40.0  # nats: what a true class that far behind is worth is lost in rounding
_LOWEST = 60.0  # nats below what moves can make up for: smaller ratios are 0 and do not become denormal numbers
_MOST_STEPS = 1 << 23  # logarithms of many subsets in memory
_MOST_SUMMED = 1 << 33  # of them, before Python hears signals
MANY_MOVES = 3  # at once: cheaper in the logarithms than in the ratios, which are needed after the last only
_KEPT_SHARE = 0.75  # rows are gathered again when fewer than this share of those scanned matter
_SCANNED_CODES = 1 << 18  # codes below which leaving rows out costs more than it saves

# How a kernel finds the factor of a row's code, fastest first.
TWO_WAY, THREE_WAY, FOUR_CODES, LOOK_UP = range(4)


@dataclass(frozen=True)
class ClassBlock:
    """Coded rows listed segment after segment.

    The rows of a segment share their class and the tables that score them: plain training rows have one segment per
    class, cross-validation has one per fold and class.

    Attributes
    ----------
    codes : unsigned array, shape (n_columns, n_rows)
    offsets : int array, shape (n_segments + 1,)
        Rows of segment s are ``offsets[s]`` to ``offsets[s + 1]``; a segment may be empty.
    classes : int array, shape (n_segments,)
        The class of each segment.
    weights : float array, shape (n_rows,), or empty
        Empty: every row counts once.
    columns, lows, highs : arrays, shape (n_features,)
        Where a feature stands in ``codes``. A feature of two levels has level 0 up to ``lows``, level 1 below
        ``highs`` and is unseen (or missing) from there on; the other features take the code as it is.
    kinds : uint8 array, shape (n_features,)
        How its factors are looked up.
    n_codes : int array, shape (n_features,)
        Levels and one more, for unseen values.
    engine : Engine
        Where the rows live.
    row_columns : mapping of str to array, each of shape (n_rows, ...)
        Further columns of the rows, as `Rows` has them.
    """

    codes: np.ndarray
    offsets: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    columns: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    kinds: np.ndarray
    n_codes: np.ndarray
    engine: Engine = IN_MEMORY
    row_columns: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, coded: CodedTable) -> ClassBlock:
        """One segment per class; the codes are not copied if the rows are listed by class already."""
        classes = _classes(coded)
        offsets = np.concatenate([[0], np.cumsum(count_classes(classes, coded.n_classes))])
        if not coded.is_sorted_by_class:
            return cls.gather(coded, np.argsort(classes, kind="stable"), offsets, np.arange(coded.n_classes))
        block = cls._of(coded, coded.codes, coded.weights, offsets, np.arange(coded.n_classes))
        return replace(block, row_columns=coded.rows.columns)

    @classmethod
    def gather(cls, coded: CodedTable, rows: np.ndarray, offsets: np.ndarray, classes: np.ndarray) -> ClassBlock:
        """The given rows, already in the order of the segments; a row may come several times."""
        codes = coded.engine.take(coded.codes, rows)
        weights = None if coded.weights is None else coded.weights[rows]
        block = cls._of(coded, codes, weights, offsets, classes)
        return replace(block, row_columns={name: column[rows] for name, column in coded.rows.columns.items()})

    @classmethod
    def _of(
        cls, coded: CodedTable, codes: np.ndarray, weights: np.ndarray | None, offsets: Any, classes: Any
    ) -> ClassBlock:
        n_levels = coded.n_levels
        if codes.shape[0] == 0:
            codes = np.zeros((1, codes.shape[1]), dtype=np.uint8)  # something to read if there is no feature
        engine, dtype = coded.engine, codes.dtype
        highest = np.zeros(len(codes), dtype=np.int64)
        for bounds in engine.blocks(np.array([0, codes.shape[1]]), len(codes) * dtype.itemsize):
            np.maximum(highest, codes[:, slice(*bounds)].max(axis=1, initial=0), out=highest)
        highest = highest[: coded.n_features]
        if np.any(highest > n_levels):
            # Every level not seen in training shares one code, which changes no ratio.
            clipped = engine.array(codes.shape, dtype)
            for k, highest_code in enumerate(n_levels.tolist()):
                np.minimum(codes[k], min(highest_code, np.iinfo(dtype).max), out=clipped[k])
                engine.visited(2 * codes[k].nbytes)
            codes = clipped
        lows, highs = np.zeros(coded.n_features, dtype=np.int64), np.full(coded.n_features, 2)
        cases = (n_levels == 2) & (highest < 2), n_levels == 2, n_levels < 4
        kinds = np.select(cases, (TWO_WAY, THREE_WAY, FOUR_CODES), LOOK_UP)
        return cls(
            codes=codes,
            offsets=np.asarray(offsets, dtype=np.int64),
            classes=np.asarray(classes, dtype=np.int64),
            weights=np.zeros(0) if weights is None else weights,
            columns=np.arange(coded.n_features),
            lows=lows.astype(dtype),
            highs=highs.astype(dtype),
            kinds=kinds.astype(np.uint8),
            n_codes=n_levels + 1,
            engine=engine,
        )

    @property
    def n_rows(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_features(self) -> int:
        return self.columns.size

    @property
    def n_segments(self) -> int:
        return self.classes.size

    def blocks(self, row_bytes: int = 0, n_others: int = 0, n_moves: int = 1) -> Iterable[np.ndarray]:
        """``offsets`` cut to each block of the engine in turn; ``row_bytes`` of each row are read or written.

        Blocks are cut further if ratios to very many other classes are computed for each row and move, so that Python
        hears signals in between.
        """
        blocks = (self.offsets,) if self.is_whole else self.engine.blocks(self.offsets, row_bytes)
        if n_others < VERY_MANY_CLASSES:
            return blocks
        return chain.from_iterable(_short_parts(bounds, n_others * n_moves) for bounds in blocks)

    @cached_property
    def is_whole(self) -> bool:
        """Whether the engine has all rows in one block."""
        return self.engine.is_one_block(self.n_rows)

    def level_codes(self, feature: int, rows: Any = slice(None)) -> np.ndarray:
        """Levels of one feature, from 0 to ``n_codes - 1`` (unseen)."""
        codes = self.codes[self.columns[feature], rows]
        if self.kinds[feature] > THREE_WAY:
            return codes
        return (codes > self.lows[feature]).astype(codes.dtype) + (codes >= self.highs[feature])

    def segments(self, rows: np.ndarray) -> np.ndarray:
        """The segment of each of these rows."""
        return np.searchsorted(self.offsets, rows, side="right") - 1

    def class_totals(self, n_classes: int) -> np.ndarray:
        """(n_classes,) rows, or weight, of every class."""
        if self.weights.size:  # segment by segment: light rows count next to heavy ones
            sizes = np.array([self.weights[a:b].sum() for a, b in pairwise(self.offsets.tolist())])
        else:
            sizes = np.diff(self.offsets).astype(float)
        return np.bincount(self.classes, weights=sizes, minlength=n_classes)

    def take(self, rows: np.ndarray | slice) -> ClassBlock:
        """Some of the rows, in ascending order."""
        rows = np.arange(*rows.indices(self.n_rows)) if isinstance(rows, slice) else rows
        codes, offsets = self.engine.take(self.codes, rows), np.searchsorted(rows, self.offsets)
        weights = self.weights[rows] if self.weights.size else self.weights
        columns = {name: column[rows] for name, column in self.row_columns.items()}
        return replace(self, codes=codes, offsets=offsets, weights=weights, row_columns=columns)


def _short_parts(offsets: np.ndarray, n_ratios: int) -> Iterator[np.ndarray]:
    """Return the segments in pieces with a few million ratios each; segments are not divided."""
    n_parts = -(-int(offsets[-1] - offsets[0]) * n_ratios // _MOST_RATIOS)
    ends = offsets[np.linspace(0, offsets.size - 1, max(1, min(offsets.size - 1, n_parts)) + 1).astype(int)]
    return (np.clip(offsets, begin, end) for begin, end in pairwise(ends.tolist()) if begin < end)


def _classes(coded: CodedTable) -> np.ndarray:
    if coded.class_codes is None:
        raise ValueError("A search needs the classes of the rows; code the table together with its target.")
    return np.asarray(coded.class_codes)


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
        self.reset(priors)

    def reset(self, priors: np.ndarray) -> None:
        """Back to the empty subset, where ``priors`` (n_segments, n_classes - 1) are the ratios."""
        with np.errstate(divide="ignore"):
            logs = np.log(priors)
        # What is impossible stays so whatever the features say.
        never = 2.0 * self.tables.log_reach
        logs = np.where(priors > 0.0, logs + np.where(priors > IMPOSSIBLE * 1e-20, never, 0.0), -never)
        self._start = np.rint(logs / self.tables.log_unit).astype(np.int64)
        self.n_selected = 0
        self._pending.clear()
        self.forget()

    def forget(self) -> None:
        """Take what a criterion reads from the logarithms when it is needed next."""

    def multiply(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        """Add features to the subset, or drop them."""
        self._pending += zip(features, adding, strict=True)
        self.n_selected += 2 * sum(adding) - len(adding)
        self.forget()

    def settle(self) -> np.ndarray:
        """(n_classes - 1, n_rows) the logarithms, in steps."""
        if self._start is not None:
            self._fill(self._steps, self._start)
            self._start = None
        together = self.tables.store()
        for moves in [self._pending] if together and self._pending else [[move] for move in self._pending]:
            features, adding = np.array([move[0] for move in moves]), np.array([move[1] for move in moves])
            self._add(self._steps[None], features, adding, np.array([features.size]), np.arange(features.size))
        self._pending.clear()
        return self._steps

    def walk(self, subsets: np.ndarray) -> Iterator[None]:
        """Go from the empty subset to each of (n_subsets, n_features) in turn; those of many are summed at once
        if they have room in memory.
        """
        assert self._start is not None
        start, n_ratios = self._start, max(1, self.n_others * self.block.n_rows)
        at_once = 1
        if self.block.is_whole and self.tables.store():
            room = min(_MOST_STEPS // n_ratios, _MOST_SUMMED // (n_ratios * max(1, subsets.shape[1])))
            at_once = max(at_once, room)
        for begin in range(0, len(subsets), at_once):
            part = subsets[begin : begin + at_once]
            summed = self._steps_of(part, start) if at_once > 1 else [None]
            for subset, steps in zip(part, summed, strict=True):
                features = np.flatnonzero(subset)
                if steps is None:
                    self._start, self._pending = start, [(int(feature), True) for feature in features]
                else:
                    self._start, self._pending, self._steps = None, [], steps
                self.n_selected = features.size
                self.forget()
                yield

    def _steps_of(self, subsets: np.ndarray, start: np.ndarray) -> np.ndarray:
        """(n_subsets, n_classes - 1, n_rows) the logarithms of many subsets, in steps."""
        steps = np.empty((len(subsets), self.n_others, self.block.n_rows), dtype=np.int64)
        for of_subset in steps:
            self._fill(of_subset, start)
        used = np.flatnonzero(subsets.any(axis=0))
        number, members = np.nonzero(subsets[:, used])
        ends = np.bincount(number, minlength=len(subsets)).cumsum()
        self._add(steps, used, np.ones(used.size, dtype=bool), ends, np.ascontiguousarray(members))
        return steps

    def _fill(self, array: np.ndarray, of_segments: np.ndarray) -> None:
        """Give the rows (n_classes - 1, n_rows) the values of their segments (n_segments, n_classes - 1)."""
        for bounds in self.block.blocks(8 * self.n_others):
            for values, (begin, end) in zip(of_segments, pairwise(bounds.tolist()), strict=True):
                array[:, begin:end] = values[:, None]

    def _add(
        self, steps: np.ndarray, features: np.ndarray, adding: np.ndarray, ends: np.ndarray, members: np.ndarray
    ) -> None:
        """Add the steps of features that enter each subset, subtract those of features that leave it."""
        from bayesieve.criteria._kernels import add_steps

        block = self.block
        table, starts = self.tables.gather_steps(features)
        places = (block.columns, block.lows, block.highs, block.kinds, block.n_codes)
        moves = (np.where(adding, 1, -1), *(place[features] for place in places), starts, table)
        for bounds in block.blocks(8 * self.n_others, self.n_others, features.size):
            add_steps(steps, block.codes, bounds, *moves, ends, members)


@dataclass(frozen=True)
class Saturation:
    """When a row contributes the same, to within rounding, whatever single move is made.

    right : nats by which the true class must stay ahead; the row then contributes as if it were certain.
    wrong : nats by which it must stay behind; infinite if a wrong row always matters.
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
        """Return the kernel arguments of each move, in their order."""
        table, starts = tables.gather(features, adding)
        block = self.block
        places = block.columns[features], block.lows[features], block.highs[features], block.kinds[features]
        return *places, starts, block.n_codes[features], table

    def no_move(self) -> tuple[Any, ...]:
        """Return the kernel arguments of the move that changes nothing."""
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
        self._most_moves = tables.most_moves
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

    def multiply(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        """Add features to the subset, or drop them."""
        scan = self._scan
        super().multiply(features, adding)  # without a scan until all segments are done
        if scan is None or self._saturation is not None or len(features) >= MANY_MOVES:
            return
        from bayesieve.criteria._kernels import multiply_ratios

        for feature, add in zip(features, adding, strict=True):
            if self._clipped or self._n_multiplied >= self._most_moves:
                return
            move = scan.moves(self.tables, np.array([feature]), np.array([add]))
            column, *place = (values[0] for values in move[:-1])
            self._n_multiplied += 1
            beyond = False
            for bounds in scan.blocks(move):
                code = scan.block.codes[column]
                beyond |= multiply_ratios(scan.ratios, code, bounds, *place, move[-1], np.exp(self._highest))
            if beyond:
                return
        self._scan = scan

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
        """Return the buffer for the ratios of some rows; it overwrites those of the previous scan."""
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
            kept = rows if self._kept_rows is None else self._kept_rows[rows]
            np.multiply(self._steps[:, kept], self.tables.log_unit, out=logs)
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
