"""Rows on which a criterion is measured, and the tables that their probabilities are learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayesieve.counts import CodedTable, ContingencyCounts, Smoothing
from bayesieve.counts.contingency import left_over, log_probabilities_of_all, smoothed_logs
from bayesieve.counts.row_hashes import hash_codes
from bayesieve.criteria.row_ratios import IMPOSSIBLE, ClassBlock, RatioTables
from bayesieve.discretize.refitting import LevelRefitter
from bayesieve.table.levels import smallest_unsigned
from bayesieve.table.target import Rows

_MAX_SEGMENTS = 4096  # of leave-one-out: one per class and distinct weight


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
        """Return the rows that the tables are learnt from, or other rows (``coded``) with the same levels."""
        return cls._of(ClassBlock.of(coded), [_Learnt(counts, smoothing)], np.zeros(coded.n_classes, dtype=int))

    @classmethod
    def leave_one_out(cls, coded: CodedTable, counts: ContingencyCounts, smoothing: Smoothing) -> ScoredRows:
        """Score every row by the tables of all others: its count is taken out of its class at its levels."""
        row_weights, which = _weights_and_classes(coded)
        order, offsets = _by_segment(which, row_weights.size * coded.n_classes)
        block = ClassBlock.of(coded, order, offsets, np.tile(np.arange(coded.n_classes), row_weights.size))
        learnt = [_Learnt(counts, smoothing, weight) for weight in row_weights.tolist()]
        return cls._of(block, learnt, np.repeat(np.arange(row_weights.size), coded.n_classes))

    @classmethod
    def leave_one_out_of_folds(
        cls, coded: CodedTable, recoder: LevelRefitter, n_folds: int, smoothing: Smoothing
    ) -> ScoredRows:
        """Score each row without itself, by levels that are learnt from the rows of all other folds."""
        if coded.weights is not None and not np.all(coded.weights):
            coded = coded.take(coded.weights > 0)  # rows of weight 0 may not fill a fold
            recoder = recoder if coded.recoder is None else coded.recoder
        row_weights, which = _weights_and_classes(coded, n_folds)
        fold = folds_by_class(coded, n_folds)
        learnt: list[_Learnt] = []
        tests = []
        for number in range(n_folds):
            _, every = recoder.learn(np.flatnonzero(fold != number))
            counts = every.counts
            learnt += [_Learnt(counts, smoothing, weight) for weight in row_weights.tolist()]
            tests.append(every.take(fold == number))
        per_fold = row_weights.size * coded.n_classes
        rows = np.argsort(fold, kind="stable")
        order, offsets = _by_segment(fold[rows] * per_fold + which[rows], n_folds * per_fold)
        block = ClassBlock.of(_joined(tests), order, offsets, np.tile(np.arange(coded.n_classes), len(learnt)))
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
        """Return the test rows of every split, each scored by the tables of the split's training rows.

        ``recoder`` learns the levels of each split from its training rows; without it they are those of ``coded``.
        """
        n_classes, n_segments = coded.n_classes, len(splits) * coded.n_classes
        codes = np.asarray(coded.class_codes).astype(smallest_unsigned(n_segments))
        which = np.concatenate([codes[test] + codes.dtype.type(f * n_classes) for f, (_, test) in enumerate(splits)])
        order, offsets = _by_segment(which, n_segments)
        classes = np.tile(np.arange(n_classes), len(splits))
        if recoder is None:
            rows = np.concatenate([test for _, test in splits])[order]
            block = ClassBlock.of(coded, rows, offsets, classes)
            learnt = _counts_without(coded, counts, splits, block)
        else:
            learnt, tests = [], []
            for train, test in splits:
                fit, rest = recoder.learn(train, test)
                learnt.append(fit.counts)
                tests.append(rest)
            block = ClassBlock.of(_joined(tests), order, offsets, classes)
        tables = [_Learnt(of_split, smoothing) for of_split in learnt]
        return cls._of(block, tables, np.repeat(np.arange(len(splits)), n_classes))

    @classmethod
    def _of(cls, block: ClassBlock, learnt: Sequence[_Learnt], source: np.ndarray) -> ScoredRows:
        """Return scored rows; ``source`` is the position in ``learnt`` of the tables that score each segment."""
        # Class shares that score the rows of each segment, without the row itself if it was counted.
        classes, n_classes = block.classes, learnt[0].counts.class_counts.size
        shares = np.empty((classes.size, n_classes))
        for segment, (number, true_class) in enumerate(zip(source.tolist(), classes.tolist(), strict=True)):
            class_counts = learnt[number].counts.class_counts.copy()
            class_counts[true_class] = left_over(class_counts, learnt[number].weight)[true_class]
            shares[segment] = class_counts / max(class_counts.sum(), np.finfo(float).tiny)
        # A class without training rows gets a tiny share instead of 0, so that the ratios of the others stay finite.
        true_share = np.maximum(np.take_along_axis(shares, classes[:, None], axis=1), 1.0 / IMPOSSIBLE)
        others = np.array([np.delete(np.arange(n_classes), c) for c in range(n_classes)])
        ratios = np.take_along_axis(shares, others[classes], axis=1) / true_share

        # Log probabilities of the levels; 0 for the last code of each feature, that of unseen values.
        logs = np.zeros((len(learnt), int(block.n_codes.sum()), n_classes))
        logs_of_own = np.zeros_like(logs) if learnt[-1].weight else None
        starts = np.cumsum(block.n_codes) - block.n_codes
        for number, tables in enumerate(learnt):
            counts, offsets = tables.counts.counts, tables.counts.offsets
            total = max(float(tables.counts.class_counts.sum()) - tables.weight, 1e-12)
            codes = np.arange(len(counts)) + np.repeat(starts - offsets[:-1], np.diff(offsets))
            logs[number, codes] = log_probabilities_of_all(counts, offsets, total, tables.smoothing)
            if logs_of_own is not None:
                logs_of_own[number, codes] = tables.logs_of_own(total)
        ratio_tables = RatioTables(logs, block.n_codes, source, classes, logs_of_own)
        return cls(block, ratio_tables, ratios, block.class_totals(n_classes))

    def impossible(self) -> int | None:
        """Return a class that has scored rows but no training rows, or None."""
        segments = np.flatnonzero((np.diff(self.block.offsets) > 0) & self._unlearnt)
        return int(self.block.classes[segments[0]]) if segments.size else None

    def without_impossible(self) -> ScoredRows:
        """Return a copy in which rows of classes without training rows have weight 0."""
        block = self.block
        weights = block.weights.copy() if block.weights.size else np.ones(block.n_rows)
        for segment in np.flatnonzero(self._unlearnt):
            weights[block.offsets[segment] : block.offsets[segment + 1]] = 0.0
        block = replace(block, weights=weights)
        return replace(self, block=block, class_totals=block.class_totals(self.class_totals.size))

    @property
    def _unlearnt(self) -> np.ndarray:
        return np.any(self.priors > IMPOSSIBLE * 1e-20, axis=1)


@dataclass(frozen=True)
class _Learnt:
    """Counts that class shares and log probabilities are learnt from.

    The weight of the row that is scored, if it was counted, is taken out of its class at its own level.
    """

    counts: ContingencyCounts
    smoothing: Smoothing
    weight: float = 0.0

    def logs_of_own(self, total: float) -> np.ndarray:
        """Return (n_levels of all features, n_classes) log P(level | class) for the row's own class, without
        the row.
        """
        counts, n_levels = self.counts.counts, np.diff(self.counts.offsets)
        of_feature = np.repeat(np.arange(n_levels.size), n_levels)
        sums = np.array([np.bincount(of_feature, column, n_levels.size) for column in counts.T]).T
        left, class_left = left_over(counts, self.weight), left_over(sums, self.weight)[of_feature]
        return smoothed_logs(left, class_left, n_levels[of_feature, None], counts.shape[1], total, self.smoothing)


def _counts_without(
    coded: CodedTable, counts: ContingencyCounts, splits: Sequence[tuple[np.ndarray, np.ndarray]], block: ClassBlock
) -> list[ContingencyCounts]:
    """Return counts of the training rows of every split, whose test rows are the segments of ``block``. If the training
    rows are all others, which is usual, one pass counts the test rows of all splits.
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
    n_segments = block.n_segments
    classes = np.repeat(np.arange(n_segments, dtype=smallest_unsigned(n_segments)), np.diff(block.offsets))
    rows = Rows(classes, np.arange(n_segments), block.weights if block.weights.size else None)
    codes = block.codes[: len(n_levels)]  # of a table without features there is a row to read
    return CodedTable(codes, n_levels, names, rows=rows, engine=block.engine).counts


def _joined(tables: Sequence[CodedTable]) -> CodedTable:
    """Return rows of several parts, one part after another; the levels of parts may differ."""
    first, every = tables[0], [table.rows for table in tables]
    dtype = max(table.codes.dtype for table in tables)
    classes = np.concatenate([np.asarray(table.class_codes) for table in every])
    weights = None if first.weights is None else np.concatenate([np.asarray(table.weights) for table in every])
    columns = {name: np.concatenate([table.columns[name] for table in every]) for name in first.rows.columns}
    codes = np.concatenate([table.codes.astype(dtype, copy=False) for table in tables], axis=1)
    n_levels = np.max([table.n_levels for table in tables], axis=0)
    return CodedTable(codes, n_levels, first.names, rows=Rows(classes, first.classes, weights, columns=columns))


def folds_by_class(coded: CodedTable, n_folds: int) -> np.ndarray:
    """Return (n_rows,) fold of every row: the rows of each class are dealt out in turn, in an order by what they
    contain.
    """
    fold = np.empty(coded.n_rows, dtype=np.int64)
    classes = np.asarray(coded.class_codes)
    keys = [] if coded.weights is None else [coded.weights]
    order = np.lexsort([*keys, hash_codes([coded.row_hashes()], classes), classes])
    fold[order] = np.arange(coded.n_rows) % n_folds
    return fold


def _weights_and_classes(coded: CodedTable, n_folds: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct row weights, and for each row the position of its weight and class among all combinations."""
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
    order = np.argsort(which, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(which, minlength=n_segments))])
    return order, offsets
