"""Where a criterion is measured: rows, and the tables of the rows that their probabilities are learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayesieve.counts import CodedTable, ContingencyCounts, Smoothing, log_probabilities
from bayesieve.counts.contingency import left_over
from bayesieve.counts.probabilities import log_probabilities_of_all, smoothed_logs
from bayesieve.criteria import ClassBlock, RatioTables
from bayesieve.criteria.ratio_tables import keeps
from bayesieve.criteria.row_ratios import IMPOSSIBLE

_MOST_SEGMENTS = 4096  # of leave-one-out: one per class and distinct weight


@dataclass(frozen=True)
class ScoredRows:
    """Rows with the tables and the class ratios that score them.

    blocks : rows; tables : log factors by segment; priors : (n_segments, n_classes - 1) P(other) / P(true) of the empty
    subset; class_totals : (n_classes,) rows (or weight) scored of each class.
    """

    blocks: tuple[ClassBlock, ...]
    tables: RatioTables
    priors: np.ndarray
    class_totals: np.ndarray

    @classmethod
    def training(
        cls, coded: CodedTable, counts: ContingencyCounts, smoothing: Smoothing, prior: float = 0.0
    ) -> ScoredRows:
        """The rows that the tables are learnt from, or other rows (``coded``) with the same levels."""
        learnt = _Learnt(counts, smoothing, prior)
        return cls._of(ClassBlock.of(coded), [learnt], np.zeros(coded.n_classes, dtype=int))

    @classmethod
    def leave_one_out(
        cls, coded: CodedTable, counts: ContingencyCounts, smoothing: Smoothing, prior: float = 0.0
    ) -> ScoredRows:
        """Every row scored by the tables of all others: its own count is taken out of its class at its own levels."""
        classes = np.asarray(coded.class_codes, dtype=np.int64)
        if coded.weights is None:
            own = np.ones(1)
            which = classes
        else:
            own, inverse = np.unique(coded.weights, return_inverse=True)
            if own.size * coded.n_classes > _MOST_SEGMENTS:
                raise ValueError(
                    f"Leave-one-out needs tables for every distinct row weight and class, {own.size} x "
                    f"{coded.n_classes} here, more than {_MOST_SEGMENTS}; use cross-validation, evaluation=10, or "
                    "rounded weights."
                )
            which = inverse * coded.n_classes + classes
        order, offsets = _by_segment(which, own.size * coded.n_classes)
        block = ClassBlock.gather(coded, order, offsets, np.tile(np.arange(coded.n_classes), own.size))
        learnt = [_LeftOut(counts, smoothing, prior, weight) for weight in own.tolist()]
        return cls._of(block, learnt, np.repeat(np.arange(own.size), coded.n_classes))

    @classmethod
    def folds(
        cls,
        coded: CodedTable,
        counts: ContingencyCounts,
        splits: Sequence[tuple[np.ndarray, np.ndarray]],
        smoothing: Smoothing,
        prior: float = 0.0,
    ) -> ScoredRows:
        """The test rows of every split, each scored by the tables of the split's training rows."""
        learnt, rows, which = [], [], []
        for number, (train, test) in enumerate(splits):
            met = np.bincount(train, minlength=coded.n_rows) + np.bincount(test, minlength=coded.n_rows)
            complement = bool(np.all(met == 1))
            # Usually the training rows are all but the test rows: counting the few is enough.
            part = coded.take(test if complement else train).counts
            learnt.append(_Learnt(counts - part if complement else part, smoothing, prior))
            rows.append(test)
            which.append(number * coded.n_classes + np.asarray(coded.class_codes)[test].astype(np.int64))
        n_segments = len(splits) * coded.n_classes
        order, offsets = _by_segment(np.concatenate(which), n_segments)
        classes = np.tile(np.arange(coded.n_classes), len(splits))
        block = ClassBlock.gather(coded, np.concatenate(rows)[order], offsets, classes)
        return cls._of(block, learnt, np.repeat(np.arange(len(splits)), coded.n_classes))

    @classmethod
    def _of(cls, block: ClassBlock, learnt: Sequence[_Learnt], source: np.ndarray) -> ScoredRows:
        """``source``: which of ``learnt`` scores each segment."""
        classes = block.classes
        n_classes = learnt[0].class_prior.size
        others = np.array([np.delete(np.arange(n_classes), c) for c in range(n_classes)])

        def log_factors(feature: int) -> np.ndarray:
            logs = [tables.log_ratios(feature) for tables in learnt]
            factors = np.zeros((classes.size, n_classes - 1, int(block.n_codes[feature])))
            for segment in range(classes.size):
                true_class = classes[segment]
                factors[segment, :, :-1] = logs[source[segment]][true_class][others[true_class]]
            return factors

        prior = np.array([learnt[s].prior_of(c) for s, c in zip(source, classes, strict=True)])
        # A class that the tables know no row of is next to impossible, so that the others still compare.
        true_prior = np.maximum(np.take_along_axis(prior, classes[:, None], axis=1), 1.0 / IMPOSSIBLE)
        ratios = np.take_along_axis(prior, others[classes], axis=1) / true_prior
        flat = None
        if keeps(block.n_codes, classes.size, n_classes):
            flat = _flat_log_factors(learnt, np.asarray(source, dtype=np.int64), classes, block.n_codes)
        tables = RatioTables(log_factors if flat is None else flat, block.n_codes, classes.size, n_classes)
        return cls((block,), tables, ratios, block.class_totals(n_classes))

    def impossible(self) -> int | None:
        """A class with rows that their tables know no row of, if there is one."""
        for block in self.blocks:
            found = np.flatnonzero((np.diff(block.offsets) > 0) & self._unlearnt)
            if found.size:
                return int(block.classes[found[0]])
        return None

    def without_impossible(self) -> ScoredRows:
        """The same, rows of classes that their tables know no row of with weight 0."""
        blocks = []
        for block in self.blocks:
            weights = block.weights.copy() if block.weights.size else np.ones(block.n_rows)
            for segment in np.flatnonzero(self._unlearnt):
                weights[block.offsets[segment] : block.offsets[segment + 1]] = 0.0
            blocks.append(replace(block, weights=weights))
        totals = np.sum([block.class_totals(self.class_totals.size) for block in blocks], axis=0)
        return replace(self, blocks=tuple(blocks), class_totals=totals)

    @property
    def _unlearnt(self) -> np.ndarray:
        unlearnt: np.ndarray = np.any(self.priors > IMPOSSIBLE * 1e-20, axis=1)
        return unlearnt


class _Learnt:
    """Tables and class shares learnt from some rows."""

    def __init__(self, counts: ContingencyCounts, smoothing: Smoothing, prior: float) -> None:
        self._counts = counts
        self._smoothing = smoothing
        self._prior = prior
        self.class_prior = self._shares(counts.class_counts)

    def _shares(self, class_counts: np.ndarray) -> np.ndarray:
        smoothed = class_counts + self._prior
        return smoothed / max(smoothed.sum(), np.finfo(float).tiny)

    def prior_of(self, true_class: int) -> np.ndarray:
        """(n_classes,) class probabilities that score a row of this class."""
        return self.class_prior

    def all_logs(self) -> np.ndarray:
        """(levels of all features, n_classes) log P(level | class)."""
        counts = self._counts
        return log_probabilities_of_all(counts.counts, counts.offsets, max(counts.total, 1e-12), self._smoothing)

    def log_ratios(self, feature: int) -> np.ndarray:
        """(n_classes true, n_classes, n_levels) log P(level | class) - log P(level | true class)."""
        counts = self._counts
        logs = log_probabilities(counts.feature(feature), max(counts.total, 1e-12), self._smoothing).T
        return logs[None, :, :] - logs[:, None, :]


class _LeftOut(_Learnt):
    """What all rows but the one scored say: its own weight is taken out of its class, at its own level."""

    def __init__(self, counts: ContingencyCounts, smoothing: Smoothing, prior: float, weight: float) -> None:
        super().__init__(counts, smoothing, prior)
        self._weight = weight

    def prior_of(self, true_class: int) -> np.ndarray:
        class_counts = self._counts.class_counts.copy()
        class_counts[true_class] = left_over(class_counts, self._weight)[true_class]
        return self._shares(class_counts)

    def log_ratios(self, feature: int) -> np.ndarray:
        counts = self._counts.feature(feature)
        total = max(self._counts.total - self._weight, 1e-12)
        n_levels, n_classes = counts.shape
        left = left_over(counts, self._weight)
        class_left = left_over(counts.sum(axis=0), self._weight)
        own = smoothed_logs(left, class_left, n_levels, n_classes, total, self._smoothing)
        return (log_probabilities(counts, total, self._smoothing)[None] - own.T[:, :, None]).transpose(0, 2, 1)


def _flat_log_factors(
    learnt: Sequence[_Learnt], source: np.ndarray, classes: np.ndarray, n_codes: np.ndarray
) -> np.ndarray | None:
    """The log factors of all features at once; None where rows are left out, which asks for tables of every class."""
    from bayesieve.criteria._kernels import write_log_factors

    if any(type(tables) is not _Learnt for tables in learnt):
        return None
    logs = np.stack([tables.all_logs() for tables in learnt])
    n_classes = logs.shape[2]
    flat = np.empty(int(n_codes.sum()) * classes.size * (n_classes - 1))
    offsets = np.concatenate([[0], np.cumsum(n_codes - 1)])
    write_log_factors(logs, offsets, classes, source, flat)
    return flat


def _by_segment(which: np.ndarray, n_segments: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(which, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(which, minlength=n_segments))])
    return order, offsets
