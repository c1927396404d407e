"""Rows on which a criterion is measured, and tables of the factors by which features change their class probabilities.

Rows are stored in *segments* of one class (and fold). A *level* is an interval or group of values of a feature. For
every level, a table holds the factors by which it multiplies the ratios P(other class) / P(true class).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable, ContingencyCounts, Smoothing
from bayesieve.counts.contingency import left_over, log_probabilities_of_all, smoothed_logs
from bayesieve.counts.row_hashes import hash_codes
from bayesieve.discretize.refitting import LevelRefitter
from bayesieve.engine import IN_MEMORY, Engine
from bayesieve.table.target import Rows, count_classes

VERY_MANY_CLASSES = 500
"""Number of classes from which work is cut into pieces, so that Python receives signals in between."""

_MAX_RATIOS = 1 << 22  # ratios per piece of work, if there are very many classes

# Methods by which a kernel finds the factor of a row's code, the fastest first.
TWO_WAY, THREE_WAY, FOUR_CODES, LOOK_UP = range(4)

MANY_CLASSES = 24
"""Number of classes from which rows that share their tables are scored by tables of classes, not of pairs of classes.
Both take about as long for 20 to 30 classes of 20 rows or more.
"""

IMPOSSIBLE = 1e300
"""The ratio of a class to the true one if the true one has no rows to learn from; times the share of that class."""

_MAX_SEGMENTS = 4096  # largest number of segments for leave-one-out: one per class and distinct weight

# Limits for the tables of factors.
_PRECOMPUTED_BYTES = 64 << 20  # total size of tables that are stored; larger ones are computed when needed
_MAX_GIBIBYTES = 4  # largest size of the log factors of one feature
_MAX_LOG_FACTOR = 700.0  # nats; its exponential is still a finite double
_MAX_MOVES = 64  # moves after which ratios are recomputed, because of rounding errors
_REACH = 500.0  # largest sum of the log factors of these moves, in nats
_PIECE = 1 << 21  # entries of a table computed at once; Python handles signals in between


@dataclass
class ClassBlock:
    """Coded rows sorted by segment (class and fold); immutable.

    The rows of a segment have the same class and are scored by the same tables. There is one segment per class for
    training rows, and one per fold and class in cross-validation.

    Attributes
    ----------
    codes : unsigned array, shape (n_columns, n_rows)
    offsets : int array, shape (n_segments + 1,)
        Rows of segment s are ``offsets[s]`` to ``offsets[s + 1] - 1``; a segment may be empty.
    classes : int array, shape (n_segments,)
        Class of each segment.
    weights : float array, shape (n_rows,), or empty
        Row weights; empty if all are 1.
    columns, lows, highs : arrays, shape (n_features,)
        Position of each feature in ``codes``: its column and, for a feature of two levels, two bounds. Codes up to
        ``lows`` mean level 0, other codes below ``highs`` level 1, and codes from ``highs`` on unseen (or missing)
        values. For other features, codes are levels.
    kinds : uint8 array, shape (n_features,)
        How a kernel looks up the factors of a feature.
    n_codes : int array, shape (n_features,)
        Number of levels, plus one for unseen values.
    engine : Engine
        Storage of the arrays.
    row_columns : mapping of str to array, each of shape (n_rows, ...)
        Further columns of `Rows`.
    n_rows, n_features, n_segments : int
    is_whole : bool
        Whether all rows fit into one block of the engine.
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
        self.is_whole = self.engine.block_rows is None or self.n_rows <= self.engine.block_rows

    @classmethod
    def of(
        cls,
        coded: CodedTable,
        positions: np.ndarray | None = None,
        offsets: np.ndarray | None = None,
        classes: np.ndarray | None = None,
    ) -> ClassBlock:
        """Return the rows of a coded table sorted by segment.

        Parameters
        ----------
        coded : rows with classes.
        positions : positions of rows, sorted by segment; a row may occur several times. None for all rows, with one
            segment per class; codes are not copied if rows are sorted by class already.
        offsets, classes : first row of each segment, and its class; required if ``positions`` is given.
        """
        if coded.class_codes is None:
            raise ValueError(
                "A search needs the class of every row, but the table was coded without y; code it again with y."
            )
        if positions is None:
            class_codes, classes = np.asarray(coded.class_codes), np.arange(coded.n_classes)
            offsets = np.append(0, np.cumsum(count_classes(class_codes, coded.n_classes)))
            positions = None if coded.rows.is_sorted_by_class else np.argsort(class_codes, kind="stable")
        codes, weights, columns = coded.codes, coded.weights, coded.rows.columns
        if positions is not None:
            codes, weights = coded.engine.take(codes, positions), None if weights is None else weights[positions]
            columns = {name: column[positions] for name, column in columns.items()}
        n_levels, engine, dtype = coded.n_levels, coded.engine, codes.dtype
        if codes.shape[0] == 0:
            codes = np.zeros((1, codes.shape[1]), dtype=np.uint8)  # kernels read a row even if there are no features
        highest = np.zeros(len(codes), dtype=np.int64)
        for bounds in engine.blocks(np.array([0, codes.shape[1]]), len(codes) * dtype.itemsize):
            np.maximum(highest, codes[:, slice(*bounds)].max(axis=1, initial=0), out=highest)
        highest = highest[: coded.n_features]
        if np.any(highest > n_levels):
            # All unseen values share one code, whose factors are 1.
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
        """Yield one array for each block of rows that fits in the cache or memory: the first row of each segment (rows
        of one class) in the block, then its end, (n_segments + 1,).

        Parameters
        ----------
        row_bytes : bytes of further arrays for each row, see `Engine.blocks`.
        n_others, n_moves : number of other classes and of candidates. Blocks are divided further if the work takes
            long, so that Python can handle signals in between.
        """
        blocks = (self.offsets,) if self.is_whole else self.engine.blocks(self.offsets, row_bytes)
        if n_others < VERY_MANY_CLASSES:
            return blocks
        return chain.from_iterable(_divide_segments(bounds, n_others * n_moves) for bounds in blocks)

    def level_codes(self, feature: int, positions: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return the level of each row for one feature, (n_rows,), numbered from 0; unseen values have the highest
        number.

        ``feature`` is the position of the feature; ``positions`` selects some of the rows, by positions or a slice.
        """
        codes = self.codes[self.columns[feature], positions]
        if self.kinds[feature] > THREE_WAY:
            return codes
        return (codes > self.lows[feature]).astype(codes.dtype) + (codes >= self.highs[feature])

    def segments(self, positions: np.ndarray) -> np.ndarray:
        """Return the segment (rows of one class and fold) to which each of the rows at ``positions`` (n,) belongs,
        (n,).
        """
        return np.searchsorted(self.offsets, positions, side="right") - 1

    def class_totals(self, n_classes: int) -> np.ndarray:
        """Return the number (or weight) of the rows of every class, shape (n_classes,)."""
        if self.weights.size:  # add by segment, so that small weights are not lost beside large ones
            sizes = np.array([self.weights[a:b].sum() for a, b in pairwise(self.offsets.tolist())])
        else:
            sizes = np.diff(self.offsets).astype(float)
        return np.bincount(self.classes, weights=sizes, minlength=n_classes)

    def take(self, positions: np.ndarray | slice) -> ClassBlock:
        """Return a block with only some of the rows, given by their positions in ascending order or by a slice."""
        positions = np.arange(*positions.indices(self.n_rows)) if isinstance(positions, slice) else positions
        codes, offsets = self.engine.take(self.codes, positions), np.searchsorted(positions, self.offsets)
        weights = self.weights[positions] if self.weights.size else self.weights
        columns = {name: column[positions] for name, column in self.row_columns.items()}
        return replace(self, codes=codes, offsets=offsets, weights=weights, row_columns=columns)


def _divide_segments(offsets: np.ndarray, n_ratios: int) -> Iterator[np.ndarray]:
    """Divide rows into groups of whole segments (rows of one class) with a few million ratios each; yield one array a
    group.

    The array (n_segments + 1,) holds the first row of each segment and the end of the last one, with segments outside
    the group empty. ``offsets`` (n_segments + 1,) holds these numbers for all rows; each row has ``n_ratios`` ratios.
    """
    n_parts = -(-int(offsets[-1] - offsets[0]) * n_ratios // _MAX_RATIOS)
    ends = offsets[np.linspace(0, offsets.size - 1, max(1, min(offsets.size - 1, n_parts)) + 1).astype(int)]
    return (np.clip(offsets, begin, end) for begin, end in pairwise(ends.tolist()) if begin < end)


class RatioTables:
    """Tables of log factors: log P(level | other class) / P(level | class of the segment) by feature, segment and other
    class.

    Tables of all features are stored if they are small enough; otherwise each is computed when it is needed.

    Parameters
    ----------
    logs : float array, shape (n_learnt, sum of n_codes, n_classes)
        log P(level | class) from each set of training rows, one feature after the other; 0 for the last code of each
        feature, which stands for unseen values.
    n_codes : int array, shape (n_features,)
        Number of levels of each feature, plus one for unseen values.
    source, classes : int arrays, shape (n_segments,)
        Position in ``logs`` of the table that scores a segment, and the class of the segment.
    true_logs : array shaped like ``logs``, optional
        log P(level | class) for the row's class, computed without the row, for leave-one-out.

    Attributes
    ----------
    by_class : ``logs`` if there are many classes and a single set of training rows, otherwise None
        Criteria use it instead of tables by pairs of classes, which are then computed only if needed.
    bounds : float array, shape (n_segments,)
        Largest absolute value of any log factor of the segment's rows, in nats.
    starts : int array, shape (n_features + 1,)
        First entry of each feature in flat tables.
    log_unit : float
        Step, in nats, of which sums of log factors are integer multiples: a power of two, so small that rounding does
        not matter, and so large that sums over all features fit in 64-bit integers.
    log_reach : float
        Upper bound of the absolute value of all sums of log factors, in nats.
    largest_log_factor : float
        Largest of the ``bounds``.
    max_moves : int
        Number of moves after which ratios are recomputed from their logarithms.
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
        # Add up the largest absolute log factor of each feature. No sum of log factors exceeds this bound, so
        # `log_unit` can be chosen such that sums fit 64-bit integers.
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
        if self.by_class is None and not self.store():
            self._refuse_large()

    def _refuse_large(self) -> None:
        """Raise ValueError if the log factors of one feature would fill the memory, as they may with very many
        classes.
        """
        most = int(np.max(self.n_codes, initial=0))
        gibibytes = 8 * self.n_segments * (self.n_classes - 1) * most / 2**30
        if gibibytes > _MAX_GIBIBYTES:
            raise ValueError(
                f"Feature {int(np.argmax(self.n_codes))} (counted from 0) has {most - 1:,} levels, which need "
                f"{gibibytes:,.0f} GiB of tables for {self.n_classes:,} classes; merge rare classes, or give the "
                "feature fewer levels."
            )

    def store(self) -> bool:
        """Compute and store the tables of all features if they are small enough; return whether they are stored."""
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
        """Return the log factors of one feature, shape (n_segments, n_classes - 1, n_codes), in nats."""
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
        """Return the log factors of features as a flat array, in integer steps of ``log_unit`` nats, and the first
        entry of each feature in it, (n,).

        ``features`` (n,) are positions of features. Sums of integers do not accumulate rounding errors over the moves
        of a search.
        """
        if self.store():
            return self._log_steps, self.starts[features]
        tables = [self.log_factors(int(feature)) for feature in features]
        return _concatenated(
            [_apply_in_pieces(lambda logs: np.rint(logs / self.log_unit), t, np.int64) for t in tables]
        )

    def gather(self, features: np.ndarray, adding: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the factors of candidates (the current subset with one feature added or dropped) as a flat array, and
        the first entry of each candidate in it, (n_candidates,).

        ``features`` (n_candidates,) are positions of features; ``adding`` is a mask of those that are added, not
        dropped. The factor for a row is the entry ``start + (segment * n_others + other) * n_codes + code``.
        """
        if self._logs is not None or self.store():
            return self._flat, self.starts[features] + ~adding * self.starts[-1]
        tables = []
        for f, add in zip(features, adding, strict=True):
            factors = _factors_of if add else lambda logs: _factors_of(-logs)
            tables.append(_apply_in_pieces(factors, self.log_factors(int(f)), np.float64))
        return _concatenated(tables)


def _factors_of(logs: np.ndarray) -> np.ndarray:
    """Return the exponentials of log factors ``logs``, clipped to the range of doubles."""
    return np.exp(np.clip(logs, -_MAX_LOG_FACTOR, _MAX_LOG_FACTOR))


def _concatenated(tables: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Concatenate the entries of ``tables`` (n,) to a flat array; return it, and the first entry of each table in it,
    (n,).
    """
    starts = np.concatenate([[0], np.cumsum([table.size for table in tables])]).astype(np.int64)
    return tables[0] if len(tables) == 1 else np.concatenate(tables), starts[:-1]


def _apply_in_pieces(function: Callable[[np.ndarray], np.ndarray], table: np.ndarray, dtype: Any) -> np.ndarray:
    """Apply an element-wise ``function`` to pieces of ``table``, to limit temporary memory; return a flat array of
    ``dtype``.
    """
    flat, result = table.reshape(-1), np.empty(table.size, dtype)
    for at in range(0, flat.size, _PIECE):
        result[at : at + _PIECE] = function(flat[at : at + _PIECE])
    return result


@dataclass(frozen=True)
class ScoredRows:
    """Rows on which a criterion is measured, with the tables and class shares by which they are scored.

    Attributes
    ----------
    block : the rows
    tables : log factors by segment
    prior_ratios : (n_segments, n_classes - 1) ratios P(other class) / P(true class) under the empty subset
    class_totals : (n_classes,) rows (or weight) of each class
    """

    block: ClassBlock
    tables: RatioTables
    prior_ratios: np.ndarray
    class_totals: np.ndarray

    @classmethod
    def training(cls, coded: CodedTable, counts: ContingencyCounts, smoothing: Smoothing) -> ScoredRows:
        """Return rows that are scored by probabilities from the counts of training rows.

        Parameters
        ----------
        coded : the training rows, or other rows with the same levels.
        counts : number (or weight) of training rows by level and class.
        smoothing : smoothing of the probabilities.
        """
        return cls._of(ClassBlock.of(coded), [_TrainingCounts(counts, smoothing)], np.zeros(coded.n_classes, dtype=int))

    @classmethod
    def leave_one_out(cls, coded: CodedTable, counts: ContingencyCounts, smoothing: Smoothing) -> ScoredRows:
        """Return rows for leave-one-out: each row is scored after subtracting it from the counts of its class at its
        levels.

        Parameters
        ----------
        coded : rows with classes.
        counts : number (or weight) of these rows by level and class.
        smoothing : smoothing of the probabilities.
        """
        row_weights, which = _weights_and_classes(coded)
        order, offsets = _by_segment(which, row_weights.size * coded.n_classes)
        block = ClassBlock.of(coded, order, offsets, np.tile(np.arange(coded.n_classes), row_weights.size))
        learnt = [_TrainingCounts(counts, smoothing, weight) for weight in row_weights.tolist()]
        return cls._of(block, learnt, np.repeat(np.arange(row_weights.size), coded.n_classes))

    @classmethod
    def leave_one_out_of_folds(
        cls, coded: CodedTable, refitter: LevelRefitter, n_folds: int, smoothing: Smoothing
    ) -> ScoredRows:
        """Return rows for leave-one-out in which the levels of each row are refitted to the rows of all other folds.

        Parameters
        ----------
        coded : rows with classes.
        refitter : refitter of the levels, with the raw values.
        n_folds : number of folds.
        smoothing : smoothing of the probabilities.
        """
        if coded.weights is not None and not np.all(coded.weights):
            coded = coded.take(coded.weights > 0)  # a fold must not consist of rows of weight 0
        row_weights, which = _weights_and_classes(coded, n_folds)
        fold = folds_by_class(coded, n_folds)
        learnt: list[_TrainingCounts] = []
        tests = []
        for number in range(n_folds):
            _, every = refitter.refit(coded.rows, np.flatnonzero(fold != number))
            counts = every.counts
            learnt += [_TrainingCounts(counts, smoothing, weight) for weight in row_weights.tolist()]
            tests.append(every.take(fold == number))
        per_fold = row_weights.size * coded.n_classes
        positions = np.argsort(fold, kind="stable")
        order, offsets = _by_segment(fold[positions] * per_fold + which[positions], n_folds * per_fold)
        block = ClassBlock.of(_joined(tests), order, offsets, np.tile(np.arange(coded.n_classes), len(learnt)))
        return cls._of(block, learnt, np.repeat(np.arange(len(learnt)), coded.n_classes))

    @classmethod
    def folds(
        cls,
        coded: CodedTable,
        counts: ContingencyCounts,
        splits: Sequence[tuple[np.ndarray, np.ndarray]],
        smoothing: Smoothing,
        refitter: LevelRefitter | None = None,
    ) -> ScoredRows:
        """Return the test rows of every split, scored by probabilities from the counts of the training rows of the
        split.

        Parameters
        ----------
        coded : rows with classes.
        counts : number (or weight) of all rows by level and class.
        splits : positions of the training rows and of the test rows of each split.
        smoothing : smoothing of the probabilities.
        refitter : refits the levels on the training rows of each split; without it, levels are those of ``coded``.
        """
        n_classes, n_segments = coded.n_classes, len(splits) * coded.n_classes
        codes = np.asarray(coded.class_codes).astype(np.min_scalar_type(n_segments))
        which = np.concatenate([codes[test] + codes.dtype.type(f * n_classes) for f, (_, test) in enumerate(splits)])
        order, offsets = _by_segment(which, n_segments)
        classes = np.tile(np.arange(n_classes), len(splits))
        if refitter is None:
            positions = np.concatenate([test for _, test in splits])[order]
            block = ClassBlock.of(coded, positions, offsets, classes)
            learnt = _counts_without(coded, counts, splits, block)
        else:
            learnt, tests = [], []
            for train, test in splits:
                fit, rest = refitter.refit(coded.rows, train, test)
                learnt.append(fit.counts)
                tests.append(rest)
            block = ClassBlock.of(_joined(tests), order, offsets, classes)
        tables = [_TrainingCounts(of_split, smoothing) for of_split in learnt]
        return cls._of(block, tables, np.repeat(np.arange(len(splits)), n_classes))

    @classmethod
    def _of(cls, block: ClassBlock, learnt: Sequence[_TrainingCounts], source: np.ndarray) -> ScoredRows:
        """Return scored rows, with tables computed from counts.

        Parameters
        ----------
        block : rows, sorted by segment.
        learnt : counts of one or more sets of training rows.
        source : (n_segments,) position in ``learnt`` of the counts by which each segment is scored.
        """
        # Class shares by which the rows of each segment are scored; for leave-one-out, the scored row is subtracted.
        classes, n_classes = block.classes, learnt[0].counts.class_counts.size
        shares = np.empty((classes.size, n_classes))
        for segment, (number, true_class) in enumerate(zip(source.tolist(), classes.tolist(), strict=True)):
            class_counts = learnt[number].counts.class_counts.copy()
            class_counts[true_class] = left_over(class_counts, learnt[number].weight)[true_class]
            shares[segment] = class_counts / max(class_counts.sum(), np.finfo(float).tiny)
        # Give a class without training rows a tiny share instead of 0, so that the ratios of other classes to it stay
        # finite.
        true_share = np.maximum(np.take_along_axis(shares, classes[:, None], axis=1), 1.0 / IMPOSSIBLE)
        others = np.array([np.delete(np.arange(n_classes), c) for c in range(n_classes)])
        ratios = np.take_along_axis(shares, others[classes], axis=1) / true_share

        # Log probabilities of the levels. The last code of each feature, unseen values, keeps 0.
        logs = np.zeros((len(learnt), int(block.n_codes.sum()), n_classes))
        true_logs = np.zeros_like(logs) if learnt[-1].weight else None
        starts = np.cumsum(block.n_codes) - block.n_codes
        for number, tables in enumerate(learnt):
            counts, offsets = tables.counts.counts, tables.counts.offsets
            total = max(float(tables.counts.class_counts.sum()) - tables.weight, 1e-12)
            codes = np.arange(len(counts)) + np.repeat(starts - offsets[:-1], np.diff(offsets))
            logs[number, codes] = log_probabilities_of_all(counts, offsets, total, tables.smoothing)
            if true_logs is not None:
                true_logs[number, codes] = tables.true_logs(total)
        ratio_tables = RatioTables(logs, block.n_codes, source, classes, true_logs)
        return cls(block, ratio_tables, ratios, block.class_totals(n_classes))

    def impossible(self) -> int | None:
        """Return the position of a class that occurs in the scored rows but not in the training rows; None if there is
        none.
        """
        segments = np.flatnonzero((np.diff(self.block.offsets) > 0) & self._lacks_training_rows)
        return int(self.block.classes[segments[0]]) if segments.size else None

    def without_impossible(self) -> ScoredRows:
        """Return a copy in which rows of classes without training rows have weight 0."""
        block = self.block
        weights = block.weights.copy() if block.weights.size else np.ones(block.n_rows)
        for segment in np.flatnonzero(self._lacks_training_rows):
            weights[block.offsets[segment] : block.offsets[segment + 1]] = 0.0
        block = replace(block, weights=weights)
        return replace(self, block=block, class_totals=block.class_totals(self.class_totals.size))

    @property
    def _lacks_training_rows(self) -> np.ndarray:
        """Mask (n_segments,) of the segments whose class does not occur in the training rows."""
        return np.any(self.prior_ratios > IMPOSSIBLE * 1e-20, axis=1)


@dataclass(frozen=True)
class _TrainingCounts:
    """Counts of training rows from which class shares and log probabilities are computed.

    Parameters
    ----------
    counts : number (or weight) of rows by level and class.
    smoothing : smoothing of the probabilities.
    weight : for leave-one-out, the weight of the scored row, which is subtracted from the counts of its class;
        otherwise 0.
    """

    counts: ContingencyCounts
    smoothing: Smoothing
    weight: float = 0.0

    def true_logs(self, total: float) -> np.ndarray:
        """Return log P(level | class) for a row of that class and level, without the row itself, (levels of all
        features, n_classes).

        ``total`` is the weight of all rows.
        """
        counts, n_levels = self.counts.counts, np.diff(self.counts.offsets)
        of_feature = np.repeat(np.arange(n_levels.size), n_levels)
        sums = np.array([np.bincount(of_feature, column, n_levels.size) for column in counts.T]).T
        left, class_left = left_over(counts, self.weight), left_over(sums, self.weight)[of_feature]
        return smoothed_logs(left, class_left, n_levels[of_feature, None], counts.shape[1], total, self.smoothing)


def _counts_without(
    coded: CodedTable, counts: ContingencyCounts, splits: Sequence[tuple[np.ndarray, np.ndarray]], block: ClassBlock
) -> list[ContingencyCounts]:
    """Return the counts of the training rows of every split.

    Usually the training rows are all rows except the test rows. Their counts are then the total less those of the test
    rows, which are counted for all splits in one pass.

    Parameters
    ----------
    coded : rows with classes.
    counts : number (or weight) of all rows by level and class.
    splits : positions of the training rows and of the test rows of each split.
    block : test rows of all splits, with one segment for each split and class.
    """
    n_classes = coded.n_classes
    every = _counts_by_segment(block, coded.n_levels, coded.names)
    learnt = []
    for number, (train, test) in enumerate(splits):
        met = np.zeros(coded.n_rows, dtype=bool)
        met[train] = met[test] = True
        if met.all() and train.size + test.size == coded.n_rows:
            of_split = slice(number * n_classes, (number + 1) * n_classes)
            test_counts = ContingencyCounts(every.counts[:, of_split], every.offsets, every.class_counts[of_split])
            learnt.append(counts - test_counts)
        else:
            learnt.append(coded.take(train).counts)
    return learnt


def _counts_by_segment(block: ClassBlock, n_levels: np.ndarray, names: Sequence[str]) -> ContingencyCounts:
    """Return the number (or weight) of rows by level and segment of a block, with segments in place of classes.

    ``n_levels`` (n_features,) and ``names`` are the numbers of levels and the names of the features.
    """
    n_segments = block.n_segments
    classes = np.repeat(np.arange(n_segments, dtype=np.min_scalar_type(n_segments)), np.diff(block.offsets))
    rows = Rows(classes, np.arange(n_segments), block.weights if block.weights.size else None)
    codes = block.codes[: len(n_levels)]  # without the row that stands in for no features
    return CodedTable(codes, n_levels, names, rows=rows, engine=block.engine).counts


def _joined(tables: Sequence[CodedTable]) -> CodedTable:
    """Concatenate the rows of several coded tables, whose levels may differ."""
    first, every = tables[0], [table.rows for table in tables]
    dtype = max(table.codes.dtype for table in tables)
    classes = np.concatenate([np.asarray(table.class_codes) for table in every])
    weights = None if first.weights is None else np.concatenate([np.asarray(table.weights) for table in every])
    columns = {name: np.concatenate([table.columns[name] for table in every]) for name in first.rows.columns}
    codes = np.concatenate([table.codes.astype(dtype, copy=False) for table in tables], axis=1)
    n_levels = np.max([table.n_levels for table in tables], axis=0)
    return CodedTable(codes, n_levels, first.names, rows=Rows(classes, first.classes, weights, columns=columns))


def folds_by_class(coded: CodedTable, n_folds: int) -> np.ndarray:
    """Return the fold of every row, shape (n_rows,), from 0 to ``n_folds`` - 1. The rows of each class are assigned to
    the folds in turn.

    Rows are ordered by hashes of their contents, so folds do not depend on row order.
    """
    fold = np.empty(coded.n_rows, dtype=np.int64)
    classes = np.asarray(coded.class_codes)
    keys = [] if coded.weights is None else [coded.weights]
    order = np.lexsort([*keys, hash_codes([coded.sampler.row_hashes()], classes), classes])
    fold[order] = np.arange(coded.n_rows) % n_folds
    return fold


def _weights_and_classes(coded: CodedTable, n_folds: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct row weights in ascending order, (n,), and for each row the position of its weight among them
    times the number of classes, plus its class, (n_rows,).

    Raise ValueError if there are too many combinations of weight, class and fold (``n_folds`` folds).
    """
    classes = np.asarray(coded.class_codes, dtype=np.int64)
    if coded.weights is None:
        return np.ones(1), classes
    distinct, inverse = np.unique(coded.weights, return_inverse=True)
    if distinct.size * coded.n_classes * n_folds > _MAX_SEGMENTS:
        raise ValueError(
            f"Leave-one-out needs tables for every distinct row weight and class, {distinct.size} x "
            f"{coded.n_classes} here, more than {_MAX_SEGMENTS // n_folds}; use cross-validation, evaluation=10, or "
            "rounded weights."
        )
    return distinct, inverse * coded.n_classes + classes


def _by_segment(which: np.ndarray, n_segments: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of rows sorted by segment (class and fold), (n_rows,), and the first row of each segment,
    (n_segments + 1,).

    ``which`` (n_rows,) is the segment of each row.
    """
    order = np.argsort(which, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(which, minlength=n_segments))])
    return order, offsets
