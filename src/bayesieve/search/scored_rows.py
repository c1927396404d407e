"""Where a criterion is measured: rows, and the tables of the rows that their probabilities are learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayesieve.counts import CodedTable, ContingencyCounts, Smoothing, log_probabilities
from bayesieve.counts.coded import Families
from bayesieve.counts.contingency import left_over, log_probabilities_of_all, smoothed_logs
from bayesieve.counts.row_content import keys_of
from bayesieve.criteria import ClassBlock, RatioTables
from bayesieve.criteria.ratio_tables import keeps
from bayesieve.criteria.row_steps import IMPOSSIBLE
from bayesieve.discretize.recoding import TableRecoder
from bayesieve.engine import Engine
from bayesieve.table.levels import smallest_unsigned
from bayesieve.table.rows import Rows

_MOST_SEGMENTS = 4096  # of leave-one-out: one per class and distinct weight
MANY_CLASSES = 24
"""Number of classes from which rows that share their tables are scored by tables of classes, not of pairs of classes.
Both take about as long for 20 to 30 classes of 20 rows or more.
"""
_MOST_GIBIBYTES = 4  # of the log factors of one feature


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
        cls, coded: CodedTable, recoder: TableRecoder, n_folds: int, smoothing: Smoothing
    ) -> ScoredRows:
        """As `leave_one_out`, each row by levels that are learnt from the rows of all other folds."""
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
        recoder: TableRecoder | None = None,
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
        classes, n_codes = block.classes, block.n_codes
        n_classes = learnt[0].counts.class_counts.size
        others = np.array([np.delete(np.arange(n_classes), c) for c in range(n_classes)])

        def log_factors(feature: int) -> np.ndarray:
            _refuse_large_tables(block, n_classes)
            logs = [tables.logs(feature) for tables in learnt]
            factors = np.zeros((classes.size, n_classes - 1, int(n_codes[feature])))
            for segment in range(classes.size):
                true_class = classes[segment]
                every, own = logs[source[segment]]
                # Codes beyond are unseen there: 0.
                factors[segment, :, : len(every)] = (every[:, others[true_class]] - own[:, true_class, None]).T
            return factors

        prior = np.array([learnt[s].prior_of(c) for s, c in zip(source, classes, strict=True)])
        # A class that the tables know no row of is next to impossible, so that the others still compare.
        true_prior = np.maximum(np.take_along_axis(prior, classes[:, None], axis=1), 1.0 / IMPOSSIBLE)
        ratios = np.take_along_axis(prior, others[classes], axis=1) / true_prior
        if n_classes >= MANY_CLASSES and len(learnt) == 1 and not learnt[0].weight:
            offsets = np.concatenate([[0], np.cumsum(n_codes - 1)])
            logs = _in_places(learnt[0], offsets)
            by_class = np.insert(logs, offsets[1:], 0.0, axis=0)  # unseen values
            tables = RatioTables(log_factors, n_codes, classes.size, n_classes, by_class, classes)
            return cls(block, tables, ratios, block.class_totals(n_classes))
        _refuse_large_tables(block, n_classes)
        flat = None
        if keeps(n_codes, classes.size, n_classes):
            flat = _flat_log_factors(learnt, np.asarray(source, dtype=np.int64), classes, n_codes)
        tables = RatioTables(log_factors if flat is None else flat, n_codes, classes.size, n_classes)
        return cls(block, tables, ratios, block.class_totals(n_classes))

    @property
    def engine(self) -> Engine:
        """Where the rows live."""
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
        """The same, rows of classes that their tables know no row of with weight 0."""
        block = self.block.here
        weights = block.weights.copy() if block.weights.size else np.ones(block.n_rows)
        for segment in np.flatnonzero(self._unlearnt):
            weights[block.offsets[segment] : block.offsets[segment + 1]] = 0.0
        block = replace(block, weights=weights)
        return replace(self, block=block, class_totals=block.class_totals(self.n_classes))

    @property
    def _unlearnt(self) -> np.ndarray:
        unlearnt: np.ndarray = np.any(self.priors > IMPOSSIBLE * 1e-20, axis=1)
        return unlearnt


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

    def all_logs(self) -> np.ndarray:
        """(levels of all features, n_classes) log P(level | class)."""
        counts = self.counts
        return log_probabilities_of_all(counts.counts, counts.offsets, max(counts.total, 1e-12), self.smoothing)

    def logs(self, feature: int) -> tuple[np.ndarray, np.ndarray]:
        """(n_levels, n_classes) log P(level | class), and the same of the class of the row that is scored."""
        counts, total = self.counts.feature(feature), max(self.counts.total - self.weight, 1e-12)
        logs = log_probabilities(counts, total, self.smoothing)
        if not self.weight:
            return logs, logs
        n_levels, n_classes = counts.shape
        left, class_left = left_over(counts, self.weight), left_over(counts.sum(axis=0), self.weight)
        return logs, smoothed_logs(left, class_left, n_levels, n_classes, total, self.smoothing)


def _refuse_large_tables(block: ClassBlock, n_classes: int) -> None:
    """ValueError before the log factors of a feature fill the memory: they grow with the square of the classes."""
    most = int(np.max(block.n_codes, initial=0))
    gibibytes = 8 * block.n_segments * (n_classes - 1) * most / 2**30
    if gibibytes > _MOST_GIBIBYTES:
        raise ValueError(
            f"A column of {most - 1:,} levels and {n_classes:,} classes take tables of {gibibytes:,.0f} GiB; join rare "
            "classes, or code the columns in fewer levels."
        )


def _flat_log_factors(
    learnt: Sequence[_Learnt], source: np.ndarray, classes: np.ndarray, n_codes: np.ndarray
) -> np.ndarray | None:
    """log P(level | other class) - log P(level | class of the segment) of all features at once, a number for each code,
    which is 0 for unseen values, of each other class of each segment of each feature; None if rows are left out, which
    needs tables of every class.
    """
    if any(tables.weight for tables in learnt):
        return None
    offsets = np.concatenate([[0], np.cumsum(n_codes - 1)])
    logs = np.stack([_in_places(tables, offsets) for tables in learnt])
    n_classes = logs.shape[2]
    feature, n_tables = np.repeat(np.arange(n_codes.size), n_codes - 1), classes.size * (n_classes - 1)
    flat = np.zeros(int(n_codes.sum()) * n_tables)
    at = np.arange(feature.size) - offsets[feature] + n_tables * (np.cumsum(n_codes) - n_codes)[feature]
    for segment, true_class in zip(source.tolist(), classes.tolist(), strict=True):
        for other in range(n_classes):
            if other != true_class:
                flat[at] = logs[segment, :, other] - logs[segment, :, true_class]
                at = at + n_codes[feature]
    return flat


def _in_places(learnt: _Learnt, offsets: np.ndarray) -> np.ndarray:
    """Logarithms of the levels of all features; ``offsets`` may have room for more levels, which are 0."""
    logs, starts = learnt.all_logs(), learnt.counts.offsets
    if np.array_equal(starts, offsets):
        return logs
    wide = np.zeros((int(offsets[-1]), logs.shape[1]))
    n_levels = np.diff(starts)
    wide[np.arange(len(logs)) + np.repeat(offsets[:-1] - starts[:-1], n_levels)] = logs
    return wide


def _counts_without(
    coded: CodedTable, counts: ContingencyCounts, splits: Sequence[tuple[np.ndarray, np.ndarray]], block: ClassBlock
) -> list[ContingencyCounts]:
    """Counts of the training rows of every split, whose test rows are the segments of ``block``. Usually they are all
    others: then the test rows of all splits are counted in one pass.
    """
    n_classes = coded.n_classes
    every: ContingencyCounts = block.total(_counts_by_segment, coded.n_levels, coded.names, coded.families)
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


def _counts_by_segment(
    block: ClassBlock, n_levels: np.ndarray, names: Sequence[str], families: Families | None
) -> ContingencyCounts:
    n_segments, n_stored = block.n_segments, len(n_levels) if families is None else families.n_families
    return CodedTable(
        block.codes[:n_stored],
        n_levels,
        names,
        class_codes=np.repeat(np.arange(n_segments, dtype=smallest_unsigned(n_segments)), np.diff(block.offsets)),
        classes=np.arange(n_segments),
        weights=block.weights if block.weights.size else None,
        families=families,
        engine=block.engine,
    ).counts


def _joined(parts: Sequence[CodedTable]) -> CodedTable:
    """Rows of several parts, one part after another; the levels of parts may differ."""
    first, every = parts[0], [part.rows for part in parts]
    dtype = max(part.codes.dtype for part in parts)
    rows = Rows(
        np.concatenate([np.asarray(part.class_codes) for part in every]),
        first.classes,
        None if first.weights is None else np.concatenate([np.asarray(part.weights) for part in every]),
        columns={name: np.concatenate([part.columns[name] for part in every]) for name in first.rows.columns},
    )
    return CodedTable(
        codes=np.concatenate([part.codes.astype(dtype, copy=False) for part in parts], axis=1),
        n_levels=np.max([part.n_levels for part in parts], axis=0),
        names=first.names,
        rows=rows,
    )


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
