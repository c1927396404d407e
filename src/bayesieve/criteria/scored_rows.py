"""Rows on which a criterion is measured, and the tables that their probabilities are learnt from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable, ContingencyCounts, Smoothing
from bayesieve.counts.contingency import left_over, log_probabilities_of_all, smoothed_logs
from bayesieve.counts.row_content import keys_of
from bayesieve.criteria.row_ratios import IMPOSSIBLE, ClassBlock
from bayesieve.discretize.refitting import LevelRefitter
from bayesieve.engine import Engine
from bayesieve.table.levels import smallest_unsigned
from bayesieve.table.target import Rows

_MOST_SEGMENTS = 4096  # of leave-one-out: one per class and distinct weight
MANY_CLASSES = 24
"""Number of classes from which rows that share their tables are scored by tables of classes, not of pairs of classes.
Both take about as long for 20 to 30 classes of 20 rows or more.
"""
_MOST_GIBIBYTES = 4  # of the log factors of one feature
_PRECOMPUTED_BYTES = 64 << 20  # tables of all features are stored up to this size, larger ones built when needed
_MOST_LOG_FACTOR = 700.0  # whose exponential is a double still
_REACH = 500.0  # nats that the moves between two looks at the logarithms may cover together
_MOST_MOVES = 64  # and their number, for the sake of rounding
_PIECE = 1 << 21  # entries of a table worked on at once: Python hears signals in between


@dataclass(frozen=True)
class ScoredRows:
    """Rows with the tables and the class ratios that score them.

    block : rows; tables : log factors by segment; priors : (n_segments, n_classes - 1) P(other) / P(true) of the empty
    subset; class_totals : (n_classes,) rows (or weight) scored of each class.
    """

    block: ClassBlock
    tables: RatioTables
    priors: np.ndarray
    class_totals: np.ndarray

    @classmethod
    def training(cls, coded: CodedTable, counts: ContingencyCounts, smoothing: Smoothing) -> ScoredRows:
        """The rows that the tables are learnt from, or other rows (``coded``) with the same levels."""
        return cls._of(ClassBlock.of(coded), [_Learnt(counts, smoothing)], np.zeros(coded.n_classes, dtype=int))

    @classmethod
    def leave_one_out(cls, coded: CodedTable, counts: ContingencyCounts, smoothing: Smoothing) -> ScoredRows:
        """Every row scored by the tables of all others: its own count is taken out of its class at its own levels."""
        own, which = _weights_and_classes(coded)
        order, offsets = _by_segment(which, own.size * coded.n_classes)
        block = ClassBlock.gather(coded, order, offsets, np.tile(np.arange(coded.n_classes), own.size))
        learnt = [_Learnt(counts, smoothing, weight) for weight in own.tolist()]
        return cls._of(block, learnt, np.repeat(np.arange(own.size), coded.n_classes))

    @classmethod
    def leave_one_out_of_folds(
        cls, coded: CodedTable, recoder: LevelRefitter, n_folds: int, smoothing: Smoothing
    ) -> ScoredRows:
        """Score each row without itself, by levels that are learnt from the rows of all other folds."""
        if coded.weights is not None and not np.all(coded.weights):
            coded = coded.take(coded.weights > 0)  # rows of weight 0 may not fill a fold
            recoder = recoder if coded.recoder is None else coded.recoder
        own, which = _weights_and_classes(coded, n_folds)
        fold = folds_by_class(coded, n_folds)
        learnt: list[_Learnt] = []
        tests = []
        for number in range(n_folds):
            _, every = recoder.learn(np.flatnonzero(fold != number))
            counts = every.counts
            learnt += [_Learnt(counts, smoothing, weight) for weight in own.tolist()]
            tests.append(every.take(fold == number))
        per_fold = own.size * coded.n_classes
        rows = np.argsort(fold, kind="stable")
        order, offsets = _by_segment(fold[rows] * per_fold + which[rows], n_folds * per_fold)
        block = ClassBlock.gather(_joined(tests), order, offsets, np.tile(np.arange(coded.n_classes), len(learnt)))
        return cls._of(block, learnt, np.repeat(np.arange(len(learnt)), coded.n_classes))

    @classmethod
    def folds(
        cls,
        coded: CodedTable,
        counts: ContingencyCounts,
        splits: Sequence[tuple[np.ndarray, np.ndarray]],
        smoothing: Smoothing,
        recoder: LevelRefitter | None = None,
    ) -> ScoredRows:
        """The test rows of every split, each scored by the tables of the split's training rows.

        ``recoder`` learns the levels of each split from its training rows; without it they are those of ``coded``.
        """
        n_classes, n_segments = coded.n_classes, len(splits) * coded.n_classes
        codes = np.asarray(coded.class_codes).astype(smallest_unsigned(n_segments))
        which = np.concatenate([codes[test] + codes.dtype.type(f * n_classes) for f, (_, test) in enumerate(splits)])
        order, offsets = _by_segment(which, n_segments)
        classes = np.tile(np.arange(n_classes), len(splits))
        if recoder is None:
            rows = np.concatenate([test for _, test in splits])[order]
            block = ClassBlock.gather(coded, rows, offsets, classes)
            learnt = _counts_without(coded, counts, splits, block)
        else:
            learnt, tests = [], []
            for train, test in splits:
                fit, rest = recoder.learn(train, test)
                learnt.append(fit.counts)
                tests.append(rest)
            block = ClassBlock.gather(_joined(tests), order, offsets, classes)
        tables = [_Learnt(of_split, smoothing) for of_split in learnt]
        return cls._of(block, tables, np.repeat(np.arange(len(splits)), n_classes))

    @classmethod
    def _of(cls, block: ClassBlock, learnt: Sequence[_Learnt], source: np.ndarray) -> ScoredRows:
        """``source``: which of ``learnt`` scores each segment."""
        classes = block.classes
        prior = np.array([learnt[s].prior_of(c) for s, c in zip(source, classes, strict=True)])
        # A class that the tables know no row of is next to impossible, so that the others still compare.
        true_prior = np.maximum(np.take_along_axis(prior, classes[:, None], axis=1), 1.0 / IMPOSSIBLE)
        n_classes = prior.shape[1]
        others = np.array([np.delete(np.arange(n_classes), c) for c in range(n_classes)])
        ratios = np.take_along_axis(prior, others[classes], axis=1) / true_prior
        logs = np.stack([tables.logs(block.n_codes) for tables in learnt])
        own = np.stack([tables.own_logs(block.n_codes) for tables in learnt]) if learnt[-1].weight else None
        tables = RatioTables(logs, block.n_codes, source, classes, own)
        return cls(block, tables, ratios, block.class_totals(n_classes))

    @property
    def engine(self) -> Engine:
        """Engine that stores the rows."""
        return self.block.engine

    @property
    def n_rows(self) -> int:
        return self.block.n_rows

    @property
    def n_classes(self) -> int:
        return int(self.class_totals.size)

    def impossible(self) -> int | None:
        """A class with rows that their tables know no row of, if there is one."""
        found = np.flatnonzero((np.diff(self.block.offsets) > 0) & self._unlearnt)
        return int(self.block.classes[found[0]]) if found.size else None

    def without_impossible(self) -> ScoredRows:
        """Return a copy in which rows of classes without training rows have weight 0."""
        block = self.block
        weights = block.weights.copy() if block.weights.size else np.ones(block.n_rows)
        for segment in np.flatnonzero(self._unlearnt):
            weights[block.offsets[segment] : block.offsets[segment + 1]] = 0.0
        block = replace(block, weights=weights)
        return replace(self, block=block, class_totals=block.class_totals(self.n_classes))

    @property
    def _unlearnt(self) -> np.ndarray:
        return np.any(self.priors > IMPOSSIBLE * 1e-20, axis=1)


@dataclass(frozen=True)
class _Learnt:
    """Tables and class shares learnt from some rows; the weight of the row that is scored, if it is one of them, is
    taken out of its class at its own level.
    """

    counts: ContingencyCounts
    smoothing: Smoothing
    weight: float = 0.0

    def prior_of(self, true_class: int) -> np.ndarray:
        """(n_classes,) class probabilities that score a row of this class."""
        class_counts = self.counts.class_counts.copy()
        class_counts[true_class] = left_over(class_counts, self.weight)[true_class]
        return class_counts / max(class_counts.sum(), np.finfo(float).tiny)

    @property
    def _total(self) -> float:
        return max(self.counts.total - self.weight, 1e-12)

    def logs(self, n_codes: np.ndarray) -> np.ndarray:
        """(sum of ``n_codes``, n_classes) log P(level | class) of all features; 0 for codes that are no levels."""
        counts = self.counts
        logs = log_probabilities_of_all(counts.counts, counts.offsets, self._total, self.smoothing)
        return self._placed(logs, n_codes)

    def own_logs(self, n_codes: np.ndarray) -> np.ndarray:
        """Like `logs`, for the row's own class, with the row left out of the counts."""
        counts, n_levels = self.counts.counts, np.diff(self.counts.offsets)
        n_classes = counts.shape[1]
        of_feature = np.repeat(np.arange(n_levels.size), n_levels)
        sums = np.array([np.bincount(of_feature, column, n_levels.size) for column in counts.T]).T
        left, class_left = left_over(counts, self.weight), left_over(sums, self.weight)[of_feature]
        n_levels = n_levels[of_feature, None]
        return self._placed(smoothed_logs(left, class_left, n_levels, n_classes, self._total, self.smoothing), n_codes)

    def _placed(self, logs: np.ndarray, n_codes: np.ndarray) -> np.ndarray:
        placed = np.zeros((int(n_codes.sum()), logs.shape[1]))
        starts = np.cumsum(n_codes) - n_codes
        placed[np.arange(len(logs)) + np.repeat(starts - self.counts.offsets[:-1], np.diff(self.counts.offsets))] = logs
        return placed


def _counts_without(
    coded: CodedTable, counts: ContingencyCounts, splits: Sequence[tuple[np.ndarray, np.ndarray]], block: ClassBlock
) -> list[ContingencyCounts]:
    """Counts of the training rows of every split, whose test rows are the segments of ``block``. Usually they are all
    others: then the test rows of all splits are counted in one pass.
    """
    n_classes = coded.n_classes
    every = _counts_by_segment(block, coded.n_levels, coded.names)
    learnt = []
    for number, (train, test) in enumerate(splits):
        met = np.zeros(coded.n_rows, dtype=bool)
        met[train] = met[test] = True
        if met.all() and train.size + test.size == coded.n_rows:
            own = slice(number * n_classes, (number + 1) * n_classes)
            part = ContingencyCounts(every.counts[:, own], every.offsets, every.class_counts[own])
            learnt.append(counts - part)
        else:
            learnt.append(coded.take(train).counts)
    return learnt


def _counts_by_segment(block: ClassBlock, n_levels: np.ndarray, names: Sequence[str]) -> ContingencyCounts:
    n_segments = block.n_segments
    classes = np.repeat(np.arange(n_segments, dtype=smallest_unsigned(n_segments)), np.diff(block.offsets))
    rows = Rows(classes, np.arange(n_segments), block.weights if block.weights.size else None)
    codes = block.codes[: len(n_levels)]  # of a table without features there is a row to read
    return CodedTable(codes, n_levels, names, rows=rows, engine=block.engine).counts


def _joined(parts: Sequence[CodedTable]) -> CodedTable:
    """Rows of several parts, one part after another; the levels of parts may differ."""
    first, every = parts[0], [part.rows for part in parts]
    dtype = max(part.codes.dtype for part in parts)
    classes = np.concatenate([np.asarray(part.class_codes) for part in every])
    weights = None if first.weights is None else np.concatenate([np.asarray(part.weights) for part in every])
    columns = {name: np.concatenate([part.columns[name] for part in every]) for name in first.rows.columns}
    codes = np.concatenate([part.codes.astype(dtype, copy=False) for part in parts], axis=1)
    n_levels = np.max([part.n_levels for part in parts], axis=0)
    return CodedTable(codes, n_levels, first.names, rows=Rows(classes, first.classes, weights, columns=columns))


def folds_by_class(coded: CodedTable, n_folds: int) -> np.ndarray:
    """(n_rows,) fold of every row: the rows of each class are dealt out in turn, in an order by what they contain."""
    fold = np.empty(coded.n_rows, dtype=np.int64)
    classes = np.asarray(coded.class_codes)
    keys = [] if coded.weights is None else [coded.weights]
    order = np.lexsort([*keys, keys_of([coded.fingerprints()], classes), classes])
    fold[order] = np.arange(coded.n_rows) % n_folds
    return fold


def _weights_and_classes(coded: CodedTable, n_folds: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Distinct row weights, and for each row which of them and of the classes it has, as one number."""
    classes = np.asarray(coded.class_codes, dtype=np.int64)
    if coded.weights is None:
        return np.ones(1), classes
    own, inverse = np.unique(coded.weights, return_inverse=True)
    if own.size * coded.n_classes * n_folds > _MOST_SEGMENTS:
        raise ValueError(
            f"Leave-one-out needs tables for every distinct row weight and class, {own.size} x "
            f"{coded.n_classes} here, more than {_MOST_SEGMENTS // n_folds}; use cross-validation, evaluation=10, or "
            "rounded weights."
        )
    return own, inverse * coded.n_classes + classes


def _by_segment(which: np.ndarray, n_segments: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(which, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(which, minlength=n_segments))])
    return order, offsets


def keeps(n_codes: np.ndarray, n_segments: int, n_classes: int) -> bool:
    """Whether tables of this size are stored for all features at once."""
    return 16 * int(np.sum(n_codes)) * n_segments * (n_classes - 1) <= _PRECOMPUTED_BYTES


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
    own : as ``logs``, optional
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
    """

    def __init__(
        self,
        logs: np.ndarray,
        n_codes: np.ndarray,
        source: np.ndarray,
        classes: np.ndarray,
        own: np.ndarray | None = None,
    ) -> None:
        self._learnt, self._own, self._own_differs = logs, logs if own is None else own, own is not None
        self._source, self._classes = source.tolist(), classes.tolist()
        self.n_codes = np.asarray(n_codes, dtype=np.int64)
        self.n_segments, self.n_classes = len(classes), logs.shape[2]
        self._code_starts = np.concatenate([[0], np.cumsum(self.n_codes)])
        self.starts = self._code_starts * self.n_segments * (self.n_classes - 1)
        self.by_class = logs[0] if self.n_classes >= MANY_CLASSES and len(logs) == 1 and own is None else None
        self._fits = keeps(self.n_codes, self.n_segments, self.n_classes)
        self._logs: np.ndarray | None = None
        self.bounds = np.zeros(self.n_segments)
        self.log_reach = self._look_over() + 1000.0
        self.log_unit = 2.0 ** -min(52, 59 - int(np.ceil(np.log2(self.log_reach))))
        if self.by_class is None:
            self._refuse_large()
            self.store()

    def _look_over(self) -> float:
        """Set ``bounds``; the sum of every feature's largest log factor."""
        reach = np.zeros(len(self._learnt[0]))
        high, low = self._learnt.max(axis=2), self._learnt.min(axis=2)
        for segment, (source, true_class) in enumerate(zip(self._source, self._classes, strict=True)):
            own, most, least = self._own[source, :, true_class], high[source], low[source]
            if self._own_differs:
                others = np.delete(self._learnt[source], true_class, axis=1)
                most, least = others.max(axis=1, initial=-np.inf), others.min(axis=1, initial=np.inf)
            away = np.maximum(most - own, own - least)
            self.bounds[segment] = away.max(initial=0.0)
            np.maximum(reach, away, out=reach)
        if not reach.size:
            return 0.0
        return float(np.cumsum(np.maximum.reduceat(reach, self._code_starts[:-1]))[-1])

    def _refuse_large(self) -> None:
        """ValueError before the log factors of a feature fill the memory: they grow with the square of the classes."""
        most = int(np.max(self.n_codes, initial=0))
        gibibytes = 8 * self.n_segments * (self.n_classes - 1) * most / 2**30
        if gibibytes > _MOST_GIBIBYTES:
            raise ValueError(
                f"A column of {most - 1:,} levels and {self.n_classes:,} classes take tables of {gibibytes:,.0f} GiB; "
                "join rare classes, or code the columns in fewer levels."
            )

    def store(self) -> bool:
        """Make the tables of all features, if they are to be stored; whether they are there."""
        if self._logs is None and self._fits:
            logs = self._all()
            factors = _factors_of(logs)
            self._flat = np.concatenate([factors, 1.0 / factors])
            self._log_steps = self._steps_of(logs).astype(np.int64)
            self._logs = logs
        return self._fits

    def _all(self) -> np.ndarray:
        """The tables of all features, one after another."""
        flat = np.empty(int(self.starts[-1]))
        starts, sizes = (np.repeat(facts, self.n_codes) for facts in (self._code_starts[:-1], self.n_codes))
        at = np.arange(starts.size) + starts * (self.n_segments * (self.n_classes - 1) - 1)
        for source, true_class in zip(self._source, self._classes, strict=True):
            for other in range(self.n_classes):
                if other != true_class:
                    flat[at] = self._learnt[source, :, other] - self._own[source, :, true_class]
                    at = at + sizes
        return flat

    def log_factors(self, feature: int) -> np.ndarray:
        """(n_segments, n_classes - 1, n_codes) of one feature."""
        if self._logs is not None:
            part = self._logs[self.starts[feature] : self.starts[feature + 1]]
            return part.reshape(self.n_segments, self.n_classes - 1, -1)
        self._refuse_large()
        codes = slice(self._code_starts[feature], self._code_starts[feature + 1])
        factors = np.empty((self.n_segments, self.n_classes - 1, int(self.n_codes[feature])))
        for segment, (source, true_class) in enumerate(zip(self._source, self._classes, strict=True)):
            own = self._own[source, codes, true_class, None]
            factors[segment] = (np.delete(self._learnt[source, codes], true_class, axis=1) - own).T
        return factors

    @property
    def largest_log_factor(self) -> float:
        return float(self.bounds.max(initial=0.0))

    @property
    def most_moves(self) -> int:
        """Moves that ratios may take before they are computed again from their logarithms."""
        return max(1, min(_MOST_MOVES, int(_REACH / max(self.largest_log_factor, 1e-3))))

    def gather_steps(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gather the log factors of added features in whole ``log_unit``s, so that sums over moves never drift."""
        if self.store():
            return self._log_steps, self.starts[features]
        return _end_to_end([_in_pieces(self._steps_of, self.log_factors(int(f)), np.int64) for f in features])

    def gather(self, features: np.ndarray, adding: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Flat table of factors, and where each candidate (a feature, added or dropped) starts in it: entry
        ``start + (segment * n_others + other) * n_codes + code``.
        """
        if self._logs is not None or self.store():
            return self._flat, self.starts[features] + ~adding * self.starts[-1]
        tables = []
        for f, add in zip(features, adding, strict=True):
            factors = _factors_of if add else lambda logs: _factors_of(-logs)
            tables.append(_in_pieces(factors, self.log_factors(int(f)), np.float64))
        return _end_to_end(tables)

    def _steps_of(self, logs: np.ndarray) -> np.ndarray:
        return np.rint(logs / self.log_unit)


def _factors_of(logs: np.ndarray) -> np.ndarray:
    return np.exp(np.clip(logs, -_MOST_LOG_FACTOR, _MOST_LOG_FACTOR))


def _end_to_end(tables: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """One table after another, and where each starts."""
    starts = np.concatenate([[0], np.cumsum([table.size for table in tables])]).astype(np.int64)
    return tables[0] if len(tables) == 1 else np.concatenate(tables), starts[:-1]


def _in_pieces(function: Callable[[np.ndarray], np.ndarray], table: np.ndarray, dtype: Any) -> np.ndarray:
    """Apply a function to a table, piece by piece, and return the flat result."""
    flat, made = table.reshape(-1), np.empty(table.size, dtype)
    for at in range(0, flat.size, _PIECE):
        made[at : at + _PIECE] = function(flat[at : at + _PIECE])
    return made
