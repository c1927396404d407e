"""Rows of a search in segments of one class, and their class probabilities under the current subset.

The probabilities are kept as the ratio of every other class to the true one; tables of factors change it when a feature
is added or dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.engine import IN_MEMORY, Engine
from bayesieve.table.target import count_classes

VERY_MANY_CLASSES = 500
"""Number of classes from which work is cut into pieces, so that Python receives signals in between."""

_MAX_RATIOS = 1 << 22  # in one of the pieces that work of very many classes is cut into

# How a kernel finds the factor of a row's code, fastest first.
TWO_WAY, THREE_WAY, FOUR_CODES, LOOK_UP = range(4)

MANY_CLASSES = 24
"""Number of classes from which rows that share their tables are scored by tables of classes, not of pairs of classes.
Both take about as long for 20 to 30 classes of 20 rows or more.
"""

IMPOSSIBLE = 1e300
"""The ratio of a class to the true one if the true one has no rows to learn from; times the share of that class."""

SURE = 33.0
"""Nats by which a class must lead for its row to be taken as certain: all rows together then change a mean by less than
1e-14."""

# Tables of factors.
_PRECOMPUTED_BYTES = 64 << 20  # tables of all features are stored up to this size, larger ones built when needed
_MAX_GIBIBYTES = 4  # of the log factors of one feature
_MAX_LOG_FACTOR = 700.0  # whose exponential is a double still
_MAX_MOVES = 64  # between two looks at the logarithms, for the sake of rounding
_REACH = 500.0  # nats that these moves may cover together
_PIECE = 1 << 21  # entries of a table worked on at once: Python receives signals in between

# Logarithms and ratios of rows.
MANY_MOVES = 3  # at once: cheaper in the logarithms than in the ratios, which are needed after the last only
_NEVER = 2**61  # beyond all limits, in steps
_HIGHEST_EXACT = 82.0  # nats: eight factors of this size still multiply safely
_HIGHEST = 165.0  # nats: the reciprocals of four such factors still add up safely
_CERTAIN = 40.0  # nats: what a true class that far behind is worth is lost in rounding
_LOWEST = 60.0  # nats below what moves can make up for: smaller ratios are 0 and do not become denormal numbers
_MAX_STEPS = 1 << 23  # logarithms of many subsets in memory
_MAX_SUMMED = 1 << 33  # of them, before Python receives signals
_KEPT_SHARE = 0.75  # rows are gathered again when fewer than this share of those scanned matter
_SCANNED_CODES = 1 << 18  # codes below which leaving rows out costs more than it saves


@dataclass
class ClassBlock:
    """Coded rows listed segment after segment; not to be changed.

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
    n_rows, n_features, n_segments : int
    is_whole : bool
        Whether the engine has all rows in one block.
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
    n_rows: int = field(init=False)
    n_features: int = field(init=False)
    n_segments: int = field(init=False)
    is_whole: bool = field(init=False)

    def __post_init__(self) -> None:
        self.n_rows, self.n_features, self.n_segments = int(self.offsets[-1]), self.columns.size, self.classes.size
        self.is_whole = self.engine.is_one_block(self.n_rows)

    @classmethod
    def of(
        cls,
        coded: CodedTable,
        rows: np.ndarray | None = None,
        offsets: np.ndarray | None = None,
        classes: np.ndarray | None = None,
    ) -> ClassBlock:
        """Return rows of a coded table in segments.

        Parameters
        ----------
        rows : positions in the order of the segments; a row may come several times. None: all rows, one segment per
            class; the codes are not copied if the rows are listed by class already.
        offsets, classes : where each segment begins, and its class; needed with ``rows`` only.
        """
        if coded.class_codes is None:
            raise ValueError("A search needs the classes of the rows; code the table together with its target.")
        if rows is None:
            class_codes, classes = np.asarray(coded.class_codes), np.arange(coded.n_classes)
            offsets = np.append(0, np.cumsum(count_classes(class_codes, coded.n_classes)))
            rows = None if coded.rows.is_sorted_by_class else np.argsort(class_codes, kind="stable")
        codes, weights, columns = coded.codes, coded.weights, coded.rows.columns
        if rows is not None:
            codes, weights = coded.engine.take(codes, rows), None if weights is None else weights[rows]
            columns = {name: column[rows] for name, column in columns.items()}
        n_levels, engine, dtype = coded.n_levels, coded.engine, codes.dtype
        if codes.shape[0] == 0:
            codes = np.zeros((1, codes.shape[1]), dtype=np.uint8)  # something to read if there is no feature
        highest = np.zeros(len(codes), dtype=np.int64)
        for bounds in engine.blocks(np.array([0, codes.shape[1]]), len(codes) * dtype.itemsize):
            np.maximum(highest, codes[:, slice(*bounds)].max(axis=1, initial=0), out=highest)
        highest = highest[: coded.n_features]
        if np.any(highest > n_levels):
            # Every level not seen in training shares one code, which changes no ratio.
            clipped = engine.array(codes.shape, dtype)
            for k, highest_code in enumerate(n_levels.tolist()):
                np.minimum(codes[k], min(highest_code, np.iinfo(dtype).max), out=clipped[k])
                engine.release(2 * codes[k].nbytes)
            codes = clipped
        cases = (n_levels == 2) & (highest < 2), n_levels == 2, n_levels < 4
        kinds = np.select(cases, (TWO_WAY, THREE_WAY, FOUR_CODES), LOOK_UP)
        return cls(
            codes=codes,
            offsets=np.asarray(offsets, dtype=np.int64),
            classes=np.asarray(classes, dtype=np.int64),
            weights=np.zeros(0) if weights is None else weights,
            columns=np.arange(coded.n_features),
            lows=np.zeros(coded.n_features, dtype=dtype),
            highs=np.full(coded.n_features, 2, dtype=dtype),
            kinds=kinds.astype(np.uint8),
            n_codes=n_levels + 1,
            engine=engine,
            row_columns=columns,
        )

    def blocks(self, row_bytes: int = 0, n_others: int = 0, n_moves: int = 1) -> Iterable[np.ndarray]:
        """Yield ``offsets`` cut to each block of the engine in turn; ``row_bytes`` of each row are read or written.

        Blocks are cut further if ratios to very many other classes are computed for each row and move, so that Python
        hears signals in between.
        """
        blocks = (self.offsets,) if self.is_whole else self.engine.blocks(self.offsets, row_bytes)
        if n_others < VERY_MANY_CLASSES:
            return blocks
        return chain.from_iterable(_short_parts(bounds, n_others * n_moves) for bounds in blocks)

    def level_codes(self, feature: int, rows: Any = slice(None)) -> np.ndarray:
        """Return levels of one feature, from 0 to ``n_codes - 1`` (unseen)."""
        codes = self.codes[self.columns[feature], rows]
        if self.kinds[feature] > THREE_WAY:
            return codes
        return (codes > self.lows[feature]).astype(codes.dtype) + (codes >= self.highs[feature])

    def segments(self, rows: np.ndarray) -> np.ndarray:
        """Return the segment of each of these rows."""
        return np.searchsorted(self.offsets, rows, side="right") - 1

    def class_totals(self, n_classes: int) -> np.ndarray:
        """Return (n_classes,) rows, or weight, of every class."""
        if self.weights.size:  # segment by segment: light rows count next to heavy ones
            sizes = np.array([self.weights[a:b].sum() for a, b in pairwise(self.offsets.tolist())])
        else:
            sizes = np.diff(self.offsets).astype(float)
        return np.bincount(self.classes, weights=sizes, minlength=n_classes)

    def take(self, rows: np.ndarray | slice) -> ClassBlock:
        """Return some of the rows, in ascending order."""
        rows = np.arange(*rows.indices(self.n_rows)) if isinstance(rows, slice) else rows
        codes, offsets = self.engine.take(self.codes, rows), np.searchsorted(rows, self.offsets)
        weights = self.weights[rows] if self.weights.size else self.weights
        columns = {name: column[rows] for name, column in self.row_columns.items()}
        return replace(self, codes=codes, offsets=offsets, weights=weights, row_columns=columns)


def _short_parts(offsets: np.ndarray, n_ratios: int) -> Iterator[np.ndarray]:
    """Return the segments in pieces with a few million ratios each; segments are not divided."""
    n_parts = -(-int(offsets[-1] - offsets[0]) * n_ratios // _MAX_RATIOS)
    ends = offsets[np.linspace(0, offsets.size - 1, max(1, min(offsets.size - 1, n_parts)) + 1).astype(int)]
    return (np.clip(offsets, begin, end) for begin, end in pairwise(ends.tolist()) if begin < end)


class RatioTables:
    """Per feature, segment and other class: log of P(level | other class) / P(level | class of the segment).

    Tables of all features are stored if they are not too large, else each is made when it is needed.

    Parameters
    ----------
    logs : float array, shape (n_learnt, sum of n_codes, n_classes)
        log P(level | class) as learnt from one set of rows or several, all features one after another; 0 for the last
        code of each, which stands for unseen values.
    n_codes : int array, shape (n_features,)
    source, classes : int arrays, shape (n_segments,)
        Which of the ``logs`` scores a segment, and the class of the segment.
    true_logs : as ``logs``, optional
        The same of the class of a row, if that is learnt without the row.

    Attributes
    ----------
    by_class : ``logs`` of the only set of rows if there are many classes, or None
        Many classes that share their tables are scored by them; tables of pairs of classes wait until they are needed.
    bounds : float array, shape (n_segments,)
        Largest absolute value of any log factor of the segment's rows, in nats.
    starts : int array, shape (n_features + 1,)
        Where each feature starts in flat tables.
    log_unit : float
        The step, in nats, in which sums of log factors are counted: a power of two so small that rounding does not
        matter, and so large that the sum over all features fits a 64-bit integer.
    log_reach : float
        What no sum of log factors exceeds, in nats.
    largest_log_factor : float
        Largest of the ``bounds``.
    max_moves : int
        Moves that ratios may take before they are computed again from their logarithms.
    """

    def __init__(
        self,
        logs: np.ndarray,
        n_codes: np.ndarray,
        source: np.ndarray,
        classes: np.ndarray,
        true_logs: np.ndarray | None = None,
    ) -> None:
        self._learnt, self._leaves_out = logs, true_logs is not None
        self._true_logs = logs if true_logs is None else true_logs
        self._source, self._classes = source.tolist(), classes.tolist()
        self.n_codes = np.asarray(n_codes, dtype=np.int64)
        self.n_segments, self.n_classes = len(classes), logs.shape[2]
        self._code_starts = np.concatenate([[0], np.cumsum(self.n_codes)])
        self.starts = self._code_starts * self.n_segments * (self.n_classes - 1)
        self.by_class = logs[0] if self.n_classes >= MANY_CLASSES and len(logs) == 1 and true_logs is None else None
        self._fits = 16 * int(self._code_starts[-1]) * self.n_segments * (self.n_classes - 1) <= _PRECOMPUTED_BYTES
        self._logs: np.ndarray | None = None
        # The largest log factor of each segment, and the sum of every feature's largest one.
        self.bounds, most_by_code = np.zeros(self.n_segments), np.zeros(len(logs[0]))
        high, low = logs.max(axis=2), logs.min(axis=2)
        for segment, (number, true_class) in enumerate(zip(self._source, self._classes, strict=True)):
            of_true, most, least = self._true_logs[number, :, true_class], high[number], low[number]
            if self._leaves_out:
                others = np.delete(logs[number], true_class, axis=1)
                most, least = others.max(axis=1, initial=-np.inf), others.min(axis=1, initial=np.inf)
            largest = np.maximum(most - of_true, of_true - least)
            self.bounds[segment] = largest.max(initial=0.0)
            np.maximum(most_by_code, largest, out=most_by_code)
        by_feature = np.maximum.reduceat(most_by_code, self._code_starts[:-1]) if most_by_code.size else np.zeros(1)
        reach = float(np.cumsum(by_feature)[-1])
        self.largest_log_factor = float(self.bounds.max(initial=0.0))
        self.max_moves = max(1, min(_MAX_MOVES, int(_REACH / max(self.largest_log_factor, 1e-3))))
        self.log_reach = reach + 1000.0
        self.log_unit = 2.0 ** -min(52, 59 - int(np.ceil(np.log2(self.log_reach))))
        if self.by_class is None:
            self._refuse_large()
            self.store()

    def _refuse_large(self) -> None:
        """Refuse log factors of a feature that would fill the memory: they grow with the square of the classes."""
        most = int(np.max(self.n_codes, initial=0))
        gibibytes = 8 * self.n_segments * (self.n_classes - 1) * most / 2**30
        if gibibytes > _MAX_GIBIBYTES:
            raise ValueError(
                f"A column of {most - 1:,} levels and {self.n_classes:,} classes take tables of {gibibytes:,.0f} GiB; "
                "join rare classes, or code the columns in fewer levels."
            )

    def store(self) -> bool:
        """Compute the tables of all features, one after another, if they are to be stored; return whether they are."""
        if self._logs is None and self._fits:
            logs = np.empty(int(self.starts[-1]))
            starts, sizes = (np.repeat(facts, self.n_codes) for facts in (self._code_starts[:-1], self.n_codes))
            at = np.arange(starts.size) + starts * (self.n_segments * (self.n_classes - 1) - 1)
            for source, true_class in zip(self._source, self._classes, strict=True):
                for other in range(self.n_classes):
                    if other != true_class:
                        logs[at] = self._learnt[source, :, other] - self._true_logs[source, :, true_class]
                        at = at + sizes
            factors = _factors_of(logs)
            self._flat = np.concatenate([factors, 1.0 / factors])
            self._log_steps = np.rint(logs / self.log_unit).astype(np.int64)
            self._logs = logs
        return self._fits

    def log_factors(self, feature: int) -> np.ndarray:
        """Return the log factors of one feature, (n_segments, n_classes - 1, n_codes)."""
        if self._logs is not None:
            stored = self._logs[self.starts[feature] : self.starts[feature + 1]]
            return stored.reshape(self.n_segments, self.n_classes - 1, -1)
        self._refuse_large()
        codes = slice(self._code_starts[feature], self._code_starts[feature + 1])
        factors = np.empty((self.n_segments, self.n_classes - 1, int(self.n_codes[feature])))
        for segment, (source, true_class) in enumerate(zip(self._source, self._classes, strict=True)):
            of_true = self._true_logs[source, codes, true_class, None]
            factors[segment] = (np.delete(self._learnt[source, codes], true_class, axis=1) - of_true).T
        return factors

    def gather_steps(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gather the log factors of added features in whole ``log_unit``s, so that sums over moves never drift."""
        if self.store():
            return self._log_steps, self.starts[features]
        tables = [self.log_factors(int(feature)) for feature in features]
        return _end_to_end([_in_pieces(lambda logs: np.rint(logs / self.log_unit), t, np.int64) for t in tables])

    def gather(self, features: np.ndarray, adding: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a flat table of factors, and where each candidate (a feature, added or dropped) starts in it: entry
        ``start + (segment * n_others + other) * n_codes + code``.
        """
        if self._logs is not None or self.store():
            return self._flat, self.starts[features] + ~adding * self.starts[-1]
        tables = []
        for f, add in zip(features, adding, strict=True):
            factors = _factors_of if add else lambda logs: _factors_of(-logs)
            tables.append(_in_pieces(factors, self.log_factors(int(f)), np.float64))
        return _end_to_end(tables)


def _factors_of(logs: np.ndarray) -> np.ndarray:
    return np.exp(np.clip(logs, -_MAX_LOG_FACTOR, _MAX_LOG_FACTOR))


def _end_to_end(tables: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return one table after another, and where each starts."""
    starts = np.concatenate([[0], np.cumsum([table.size for table in tables])]).astype(np.int64)
    return tables[0] if len(tables) == 1 else np.concatenate(tables), starts[:-1]


def _in_pieces(function: Callable[[np.ndarray], np.ndarray], table: np.ndarray, dtype: Any) -> np.ndarray:
    """Apply a function to a table, piece by piece, and return the flat result."""
    flat, result = table.reshape(-1), np.empty(table.size, dtype)
    for at in range(0, flat.size, _PIECE):
        result[at : at + _PIECE] = function(flat[at : at + _PIECE])
    return result


class LogRatios:
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
        """Return to the empty subset, where ``priors`` (n_segments, n_classes - 1) are the ratios."""
        with np.errstate(divide="ignore"):
            logs = np.log(priors)
        # A class of prior 0 stays impossible, however large the contributions of features for it are.
        never = 2.0 * self.tables.log_reach
        logs = np.where(priors > 0.0, logs + np.where(priors > IMPOSSIBLE * 1e-20, never, 0.0), -never)
        self._start = np.rint(logs / self.tables.log_unit).astype(np.int64)
        self.n_selected = 0
        self._pending.clear()
        self.forget()

    def forget(self) -> None:
        """Discard what a criterion reads; it is computed from the logarithms when needed."""

    def multiply(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        """Add features to the subset, or drop them."""
        self._pending += zip(features, adding, strict=True)
        self.n_selected += 2 * sum(adding) - len(adding)
        self.forget()

    def settle(self) -> np.ndarray:
        """Return (n_classes - 1, n_rows) the logarithms, in steps."""
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
        """Go from the empty subset to each of (n_subsets, n_features) in turn. Many subsets are summed at once if
        memory allows.
        """
        assert self._start is not None
        start, n_ratios = self._start, max(1, self.n_others * self.block.n_rows)
        at_once = 1
        if self.block.is_whole and self.tables.store():
            room = min(_MAX_STEPS // n_ratios, _MAX_SUMMED // (n_ratios * max(1, subsets.shape[1])))
            at_once = max(at_once, room)
        for begin in range(0, len(subsets), at_once):
            some_subsets = subsets[begin : begin + at_once]
            summed = self._steps_of(some_subsets, start) if at_once > 1 else [None]
            for subset, steps in zip(some_subsets, summed, strict=True):
                features = np.flatnonzero(subset)
                if steps is None:
                    self._start, self._pending = start, [(int(feature), True) for feature in features]
                else:
                    self._start, self._pending, self._steps = None, [], steps
                self.n_selected = features.size
                self.forget()
                yield

    def _steps_of(self, subsets: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return (n_subsets, n_classes - 1, n_rows) the logarithms of many subsets, in steps."""
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
    """Condition under which a row contributes the same, up to rounding, after any single move.

    right : nats by which the true class must stay ahead; the row then contributes as if it were certain.
    wrong : nats by which it must stay behind; infinite if a wrong row always matters.
    """

    right: float
    wrong: float = np.inf


@dataclass(frozen=True)
class RatioScan:
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
        """Return offsets of the segments of ``block`` cut to one block of rows after another, for kernels that add the
        sums of each to those of the blocks before.
        """
        n_others, n_moves = len(self.ratios), moves[0].size
        if self.block.is_whole and n_others < VERY_MANY_CLASSES:
            return (self.block.offsets,)
        return self.block.blocks(8 * n_others + n_moves * self.block.codes.itemsize, n_others, n_moves)

    def add(self, kernel: Callable[..., None], moves: tuple[Any, ...], sums: np.ndarray, *facts: Any) -> np.ndarray:
        """Add the kernel's sums for each move to ``sums``; ``facts`` are further arguments of the kernel."""
        for bounds in self.blocks(moves):
            kernel(self.ratios, self.block.codes, bounds, *facts, *moves, sums)
        return sums

    def wrong_by_class(self) -> np.ndarray:
        """Rows (or weight) that were left out because they are wrong for sure, (n_classes,)."""
        return np.bincount(self.block.classes, weights=self.wrong, minlength=len(self.ratios) + 1)


class RowRatios(LogRatios):
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
        # A ratio rounded to 0 stays 0 until all are recomputed: the limit leaves room for all moves in between.
        self._max_moves = tables.max_moves
        self._lowest = -min(700.0, _LOWEST + (self._max_moves + 1) * largest)
        self._ratios: np.ndarray | None = None
        self._n_multiplied = 0
        self._clipped = False
        self._saturation = saturation if block.n_rows * block.n_features >= _SCANNED_CODES else None
        self._kept = block.engine.array((block.n_rows if self._saturation else 0,), bool)
        self._kept[:] = True
        self._kept_rows: np.ndarray | None = None
        self._kept_block = block
        self._scan: RatioScan | None = None
        self._no_move: tuple[Any, ...] | None = None
        super().__init__(block, tables, priors)

    def forget(self) -> None:
        self._scan = None

    def moves(self, features: np.ndarray, adding: np.ndarray) -> tuple[Any, ...]:
        """Return the kernel arguments of each move: features to be added, or else dropped."""
        table, starts = self.tables.gather(features, adding)
        block = self.block
        places = block.columns[features], block.lows[features], block.highs[features], block.kinds[features]
        return *places, starts, block.n_codes[features], table

    def no_move(self) -> tuple[Any, ...]:
        """Return the kernel arguments of the move that changes nothing."""
        if self._no_move is None:
            dtype = self.block.codes.dtype
            first, code = np.zeros(1, dtype=np.int64), np.full(1, np.iinfo(dtype).max, dtype=dtype)
            ones = np.ones(3 * self.block.n_segments * self.n_others)
            self._no_move = first, code, code, np.zeros(1, dtype=np.uint8), first, np.full(1, 3), ones
        return self._no_move

    def multiply(self, features: Sequence[int], adding: Sequence[bool]) -> None:
        """Add features to the subset, or drop them."""
        scan = self._scan
        super().multiply(features, adding)  # without a scan until all segments are done
        if scan is None or self._saturation is not None or len(features) >= MANY_MOVES:
            return
        from bayesieve.criteria._kernels import multiply_ratios

        for feature, add in zip(features, adding, strict=True):
            if self._clipped or self._n_multiplied >= self._max_moves:
                return
            move = RowRatios.moves(self, np.array([feature]), np.array([add]))
            column, *place = (values[0] for values in move[:-1])
            self._n_multiplied += 1
            is_too_large = False
            for bounds in scan.blocks(move):
                code = scan.block.codes[column]
                is_too_large |= multiply_ratios(scan.ratios, code, bounds, *place, move[-1], np.exp(self._highest))
            if is_too_large:
                return
        self._scan = scan

    def path(self, features: np.ndarray, by_row: bool) -> np.ndarray:
        """Add features one after another; (n_features, 1) sums over the rows of log(sum over classes of the ratios)."""
        from bayesieve.criteria._kernels import walk_path

        sums = np.zeros((features.size, 1))
        at = 0
        while at < features.size:
            scan, block = self.scan(), self._kept_block
            most = self._max_moves - self._n_multiplied
            some_features = features[at : at + most + 1]
            done = walk_path(
                *(scan.ratios, scan.base, block.codes, block.offsets, block.weights),
                *self.moves(some_features, np.ones(some_features.size, dtype=bool)),
                *(by_row, np.exp(self._highest), most, sums[at : at + some_features.size]),
            )
            sums[at : at + done] += scan.log_scale
            self._pending += [(int(feature), True) for feature in some_features[:done]]
            self._scan = None
            at += done
        return sums

    def scan(self) -> RatioScan:
        """Return the rows that matter to a move, with their ratios."""
        if self._scan is None:
            start, unit = self._start, self.tables.log_unit
            is_empty = self._saturation is None and not self._pending and start is not None
            if is_empty and start is not None and start.max(initial=0) * unit <= self._highest:
                # A search begins with the empty subset, for which all rows of a segment have the same ratios.
                ratios = self._memory(self.block.n_rows)
                self._fill(ratios, np.exp(start * unit))
                self._n_multiplied, self._clipped = 0, False
                self._scan = RatioScan(self.block, ratios, np.zeros(0), 0.0, np.zeros(self.block.n_segments))
            else:
                self.settle()
                self._scan = self._scale(self._leave_out())
        return self._scan

    def _memory(self, n_rows: int) -> np.ndarray:
        """Return the buffer for the ratios of some rows; it overwrites those of the previous scan."""
        if self._ratios is None:
            self._ratios = self.block.engine.array((self.n_others * self.block.n_rows,), np.float64)
        return self._ratios[: self.n_others * n_rows].reshape(self.n_others, n_rows)

    def _scale(self, wrong: np.ndarray) -> RatioScan:
        block = self._kept_block
        ratios = self._memory(block.n_rows)
        base = np.zeros(0)
        scales = []
        self._n_multiplied, self._clipped = 0, False
        for bounds in block.blocks(24 * self.n_others):
            begin, end = bounds[[0, -1]].tolist()
            rows, logs = slice(begin, end), ratios[:, begin:end]
            scanned = rows if self._kept_rows is None else self._kept_rows[rows]
            np.multiply(self._steps[:, scanned], self.tables.log_unit, out=logs)
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
        return RatioScan(block, ratios, base, float(np.concatenate(scales).sum()) if scales else 0.0, wrong)

    def _leave_out(self) -> np.ndarray:
        """Choose the rows to scan. Return the rows (or weight) of each segment that were left out because they are
        wrong for sure.
        """
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
        wrong_rows = np.flatnonzero((states & 3 == 2) & ~self._kept)
        weights = block.weights[wrong_rows] if block.weights.size else None
        return np.bincount(block.segments(wrong_rows), weights=weights, minlength=block.n_segments).astype(float)
