"""Calibration: averaged weights are refitted to leave-one-out predictions, which makes them less overconfident."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.counts.contingency import (
    Shrinkage,
    class_log_prior,
    log_probabilities,
    smoothed_logs,
)
from bayesieve.counts.row_content import mixed
from bayesieve.engine.base import map_in_threads, one_blas_thread, row_slices
from bayesieve.engine.progress import Clock
from bayesieve.evidence.neutral import mean_line
from bayesieve.table import FeatureLevels
from bayesieve.table.levels import TableLevels, smallest_unsigned

PRIOR_DEVIATION = 0.2
"""Standard deviation of the prior on each weight around its averaged value, given `ROWS_PER_WEIGHT` rows or more."""
ROWS_PER_WEIGHT = 5
"""Rows per fitted weight below which `PRIOR_DEVIATION` shrinks in proportion."""
SMOOTHINGS = (Shrinkage(1.0, fades=True), *(Shrinkage(rows, fades=False) for rows in (1.0, 2.0, 4.0, 8.0, 16.0)))
"""Smoothings that calibration chooses from: frequent levels may be next to pure in large tables, and hardly ever are in
small ones or ones of many classes."""

_SMOOTHING_OF_GAPS = Shrinkage(4.0, fades=False)  # patterns of gaps are many, most of them with few rows

LEAST_ROWS_PER_VALUE = 100
"""Groups of values with fewer rows on average, of two classes of equal size, describe the rows they were learnt from:
they are learnt again, for the rows of each of `FOLDS` folds from the other folds. It takes eight times as many rows
where one class has 3 % of them."""
OFFSET = "offset"
"""Column of `Rows` with a log joint that is known beforehand, (n_rows, n_classes); all evidence is added to it."""
FOLDS = 5
"""Number of folds for levels with few rows; see `LEAST_ROWS_PER_VALUE`."""
_ROWS_PER_DISTINCT = 3  # of every class, from which rows are alike because there is little that they can be

_MOST_ROWS = 50_000  # larger tables are sampled
_MOST_TERMS = 40_000_000  # rows x features x classes of one evaluation
_MOST_LAST_ROWS = 2_000_000  # that evidence is fitted to in the end
_LEAST_FACTOR, _SAME_FACTOR = 1e-3, 1e-4
_DIGITS = 7  # of an intercept beside offsets
_MOST_STEPS = 50  # halving alone gets there in 14


@dataclass(frozen=True)
class CalibratedWeights:
    """Weights (n_features,) in [0, 1], the common factor that their prior is centred on, and the smoothing of the
    probabilities that they belong to; ``complete`` is False if the user or the end of the time ended the fit early.

    If complete: ``loss`` is what they minimise, over a sample of rows with the features of positive weight; ``every``
    holds all rows of the last fit, which the sample is part of.
    """

    weights: np.ndarray
    factor: float
    smoothing: Smoothing
    complete: bool = True
    loss: LeaveOneOutLoss | None = None
    every: CalibrationRows | None = None


class _TimeUp(Exception):
    pass


def calibrate(
    coded: CodedTable, averaged: np.ndarray, smoothing: Smoothing, clock: Clock | None = None, n_jobs: int | None = None
) -> CalibratedWeights:
    """Refit the weights to leave-one-out predictions of the rows.

    The m-estimate is replaced by the smoothing of `SMOOTHINGS` that predicts the rows best with the averaged weights
    times a common factor; any other smoothing is kept.

    Parameters
    ----------
    coded : rows with classes.
    averaged : (n_features,) weights in [0, 1]; weights of 0 stay 0.
    smoothing : smoothing of the probabilities.
    clock : time limit; when it is over, as after Ctrl-C, the best weights so far are returned: the averaged ones,
        possibly times a common factor.
    n_jobs : threads.
    """
    clock = Clock(None) if clock is None else clock
    choices = SMOOTHINGS if smoothing == "m-estimate" else (smoothing,)
    best, free = CalibratedWeights(averaged, 1.0, choices[0], complete=False), np.flatnonzero(averaged)
    if clock.is_up or not averaged.size:
        return replace(best, complete=not free.size)
    free = free if free.size else np.array([0])  # one of weight 0 stands for none
    try:
        with one_blas_thread():
            every = CalibrationRows(coded, free, n_jobs)
            rows, least, log_prior = every.few, np.nan, class_log_prior(coded.counts.class_counts)
            kept = [coded.counts.feature(k) for k in free.tolist()]
            for choice in choices:
                candidate = LeaveOneOutLoss(rows, kept, log_prior, choice)
                value, by = candidate.least_by_factor(averaged[free])
                if not value >= least:
                    least, loss, factor, smoothing = value, candidate, by, choice
                best = CalibratedWeights(factor * averaged, factor, smoothing, complete=False)
                if clock.is_up:
                    return best
            weights = np.zeros_like(averaged)
            weights[free] = fit_weights(loss, averaged[free], factor, prior_deviation(rows), clock)
            return CalibratedWeights(weights, factor, smoothing, loss=loss, every=every)
    except (KeyboardInterrupt, _TimeUp):
        return best


class CalibrationRows:
    """Codes of some features, classes and weights of coded rows, or of a sample of them.

    Of more than `most_last_rows` rows, a sample stands for all. A row of it counts once in a fit, and
    ``n_stood_for`` times in counts that are shown.

    Raises
    ------
    ValueError
        If the rows have no classes.
    """

    def __init__(self, coded: CodedTable, features: np.ndarray, n_jobs: int | None = None) -> None:
        if coded.class_codes is None:
            raise ValueError("Weights are fitted to rows with known classes; code the table together with its target.")
        n_columns = coded.levels.n_columns if isinstance(coded.levels, TableLevels) else coded.n_features
        self._most_few = min(_MOST_ROWS, max(1000, _MOST_TERMS // max(1, features.size * coded.n_classes)))
        rows = coded.drawn(max(self._most_few, most_last_rows(n_columns, coded.n_classes)))
        self._coded, self.n_jobs, self.positions = coded, n_jobs, rows
        self.features, self.n_classes = features, coded.n_classes
        self.classes = coded.class_codes[rows].astype(np.int64)
        self.weights = np.ones(rows.size) if coded.weights is None else coded.weights[rows]
        self.total = float(coded.n_rows if coded.weights is None else coded.weights.sum())
        given, of_gaps = coded.rows.columns.get(OFFSET), _evidence_of_gaps(coded, features, rows)
        offsets = [own for own in (None if given is None else given[rows], of_gaps) if own is not None]
        self.offset = sum(offsets[1:], offsets[0]) if offsets else None
        self._measure()
        self.counts_of_folds: dict[int, list[np.ndarray]] = {}  # of the features at these positions in ``codes``
        self._learnt_again: dict[int, np.ndarray] = {}  # codes of all rows of these
        rare = _rare_values(coded, features)
        if rare.size:
            self._learn_again(coded, features, rare)

    def _measure(self) -> None:
        # What leaving a row out takes from the counts: one of the rows that a weight of several stands for, so that a
        # weight of 2 equals the row repeated; all of it if weights are below 1.
        self.left_out = min(1.0, float(self.weights.mean()))
        self.n_stood_for = 1.0 if self.positions.size == self._coded.n_rows else self.total / float(self.weights.sum())

    @cached_property
    def codes(self) -> np.ndarray:
        """(n_features, n_rows) codes, those of levels learnt again included."""
        codes = self._coded.codes_at(self.features, self.positions)
        highest = max((int(own.max()) for own in self._learnt_again.values()), default=0)
        codes = codes.astype(max(codes.dtype, smallest_unsigned(highest)), copy=False)
        for k, own in self._learnt_again.items():
            codes[k] = own[self.positions]
        return codes

    @cached_property
    def few(self) -> CalibrationRows:
        """A sample of these rows, enough to choose features by: 50,000, or fewer of many features."""
        few = copy(self)
        vars(few).pop("codes", None)
        drawn = self.drawn(self._most_few)
        few.positions, few.classes, few.weights = self.positions[drawn], self.classes[drawn], self.weights[drawn]
        few.offset = None if self.offset is None else self.offset[drawn]
        few._measure()
        return few

    def drawn(self, most: int) -> np.ndarray:
        """Positions among these of at most ``most`` rows, by what they contain."""
        return np.searchsorted(self.positions, self._coded.drawn(min(most, self.positions.size)))

    def count_classes(self, codes: np.ndarray, n_cells: int) -> np.ndarray:
        """Return the weight of all rows by cell and class, (n_cells, n_classes), estimated from these rows, which may
        lack a class.
        """
        at = np.minimum(codes, n_cells).astype(np.int64) * self.n_classes + self.classes
        counts = np.bincount(at, self.weights * self.n_stood_for, (n_cells + 1) * self.n_classes)
        return counts.reshape(n_cells + 1, self.n_classes)[:-1]

    def codes_by(self, cells: Mapping[int, FeatureLevels | None]) -> dict[int, np.ndarray]:
        """Codes (n_rows,) of features of the table by these cells, or by their levels if None."""
        whole = sorted(k for k, own in cells.items() if own is None)
        fine = {k: own for k, own in sorted(cells.items()) if own is not None}
        codes = dict(zip(whole, self._coded.codes_at(whole, self.positions), strict=True))
        if fine:
            assert self._coded.recoder is not None
            recoder = self._coded.recoder.select(np.array(list(fine))).take(self.positions)
            codes |= dict(zip(fine, recoder.code(list(fine.values())).codes, strict=True))
        return codes

    def of_features(self, kept: np.ndarray) -> CalibrationRows:
        """Return a copy with some of the features only, at these ascending positions."""
        other, at = copy(self), {k: i for i, k in enumerate(kept.tolist())}
        for derived in ("codes", "few", "codes_of_classes"):
            vars(other).pop(derived, None)
        other.features = self.features[kept]
        other.counts_of_folds = {at[k]: own for k, own in self.counts_of_folds.items() if k in at}
        other._learnt_again = {at[k]: own for k, own in self._learnt_again.items() if k in at}
        return other

    @cached_property
    def codes_of_classes(self) -> np.ndarray:
        """(n_features, n_rows) codes of the level and the class of each row together, level by level."""
        kind = smallest_unsigned((int(self.codes.max(initial=0)) + 1) * self.n_classes)
        return self.codes.astype(kind) * kind.type(self.n_classes) + self.classes.astype(kind)

    def _learn_again(self, coded: CodedTable, features: np.ndarray, rare: np.ndarray) -> None:
        """Code features for each fold by the levels of the other folds, those of one fold after those of another."""
        assert coded.recoder is not None
        fold = _folds(coded, features)
        if fold is None:
            return
        recoder = coded.recoder.select(features[rare])
        codes = np.empty((rare.size, coded.n_rows), dtype=np.int64)
        first = np.zeros((rare.size, 1), dtype=np.int64)
        self.counts_of_folds = {k: [] for k in rare.tolist()}
        for number in range(FOLDS):
            own = np.flatnonzero(fold == number)
            fit, rest = recoder.learn(np.flatnonzero((fold != number) & (fold >= 0)), own)
            counts = fit.counts
            for at, tables in enumerate(self.counts_of_folds.values()):
                tables.append(counts.feature(at))
            known = rest.codes < fit.n_levels[:, None]
            codes[:, own] = np.where(known, first + rest.codes, -1)
            first = first + fit.n_levels[:, None]
        codes = np.where(codes < 0, first, codes)  # the code of no level
        self._learnt_again = dict(zip(rare.tolist(), codes.astype(smallest_unsigned(int(first.max()))), strict=True))


class LeaveOneOutLoss:
    """Log loss of a naive Bayes model as a function of its feature weights, every row predicted from all others.

    Taking a row out changes only the counts of its own class: P(level | class) of that class is read from a second
    table, (N_ij - 1) smoothed over (N_j - 1) smoothed. Class priors are those of all rows. Features whose values have
    few rows each take levels and counts from the other folds instead: their levels would know the row, too.

    Parameters
    ----------
    rows : rows over which the loss is summed.
    counts : per feature of the rows, (n_levels, n_classes).
    log_prior : (n_classes,).
    smoothing : smoothing of the counts.
    """

    def __init__(
        self, rows: CalibrationRows, counts: Sequence[np.ndarray], log_prior: np.ndarray, smoothing: Smoothing
    ) -> None:
        self.rows, self.log_prior = rows, log_prior
        self._codes, self._codes_of_classes = rows.codes, rows.codes_of_classes  # before several threads ask for them
        self._slices = row_slices(rows.classes.size, log_prior.size)
        self._counts, self._smoothing = counts, smoothing
        whole = [_of_other_classes(table, rows.left_out, rows.total, smoothing) for table in counts]
        without = [_without_a_row(table, rows.left_out, rows.total, smoothing) for table in counts]
        n_rows = [table.sum(axis=1) for table in counts]
        for k, tables in rows.counts_of_folds.items():
            whole[k] = without[k] = np.concatenate([log_probabilities(t, rows.total, smoothing) for t in tables])
            n_rows[k] = np.concatenate([table.sum(axis=1) for table in tables])
        # Rows whose value is in no level: the feature adds its mean over all others.
        for k in np.flatnonzero(self._codes.max(axis=1, initial=0) >= [len(table) for table in whole]).tolist():
            mean = mean_line(whole[k], n_rows[k])[None]
            whole[k], without[k] = np.concatenate([whole[k], mean]), np.concatenate([without[k], mean])
        self._n_levels = np.array([len(table) for table in whole], dtype=np.int64)
        sizes = [table.size for table in whole]
        self._starts = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
        self._feature = np.repeat(np.arange(len(counts)), sizes)
        # Differences for the own class of a row, at the same positions.
        self._table, self._own = np.concatenate(whole), np.concatenate(without) - np.concatenate(whole)
        if log_prior.size == 2:  # one number is enough: what the second class has more than the first
            self._own = np.diff(self._table, axis=1) + self._own * [-1.0, 1.0]
        self._table, self._own = self._table.ravel(), self._own.ravel()

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Sum over rows of -log P(true class) in nats, and its gradient, at these weights."""
        from bayesieve.evidence._kernels import residuals, sum_by_level

        rows, n_classes, lines = self.rows, self.log_prior.size, self._lines(weights)
        prior = np.diff(self.prior, axis=-1) if n_classes == 2 else self.prior

        def of_slice(own: slice) -> tuple[float, np.ndarray]:
            classes = rows.classes[own]
            residual = self._evidence(lines, own) + (prior if prior.ndim == 1 else prior[own])
            loss = residuals(residual, classes, rows.weights[own])
            of_class, parts = residual, np.zeros(self._own.size)
            if n_classes > 2:
                of_class, sums = residual[np.arange(classes.size), classes, None], np.zeros(self._own.size + n_classes)
                sum_by_level(self._codes, own.start, self._n_levels, self._starts, residual, sums)
                parts = self._table * sums[:-n_classes]
            sums = np.zeros(self._own.size + 1)
            sum_by_level(self._codes_of_classes, own.start, self._n_levels * n_classes, self._starts, of_class, sums)
            return loss, parts + self._own * sums[:-1]

        losses, parts = zip(*map_in_threads(of_slice, self._slices, self.rows.n_jobs), strict=True)
        return sum(losses), np.bincount(self._feature, weights=reduce(np.add, parts), minlength=weights.size)

    @property
    def prior(self) -> np.ndarray:
        """(n_classes,) what evidence is added to; (n_rows, n_classes) with an offset."""
        return self.log_prior if self.rows.offset is None else self.log_prior + self.rows.offset

    def evidence(self, weights: np.ndarray) -> np.ndarray:
        """(n_rows, n_classes) weighted log probabilities of the levels, summed over the features; of two classes, those
        of the second less those of the first, after zeros.
        """
        of_slice = partial(self._evidence, self._lines(weights))
        evidence = np.concatenate(map_in_threads(of_slice, self._slices, self.rows.n_jobs))
        return np.pad(evidence, ((0, 0), (1, 0))) if self.log_prior.size == 2 else evidence

    def _lines(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weighted log probabilities, and differences for the own class of a row, with zeros at their ends."""
        of_entries = np.append(weights[self._feature] * self._table, np.zeros(self.log_prior.size))
        return of_entries, np.append(weights[self._feature] * self._own, 0.0)

    def _evidence(self, lines: tuple[np.ndarray, np.ndarray], rows: slice) -> np.ndarray:
        """(n_rows, n_numbers) sums of ``lines`` over the features."""
        from bayesieve.evidence._kernels import add_log_probabilities

        classes, n_classes = self.rows.classes[rows], self.log_prior.size
        sums, (table, own) = np.zeros((classes.size, 1)), lines
        add_log_probabilities(self._codes_of_classes, rows.start, self._n_levels * n_classes, self._starts, own, sums)
        if n_classes == 2:
            return sums
        evidence = np.zeros((classes.size, n_classes))
        add_log_probabilities(self._codes, rows.start, self._n_levels, self._starts, table, evidence)
        evidence[np.arange(classes.size), classes] += sums[:, 0]
        return evidence

    def joint(self, weights: np.ndarray) -> np.ndarray:
        """(n_rows, n_classes) log joint with these weights of all features of the table."""
        return self.evidence(weights[self.rows.features]) + self.prior

    def evidence_of(self, k: int, some: np.ndarray) -> np.ndarray:
        """(some rows, n_classes) as `evidence`, unweighted, of the feature at ``k`` among those of the rows."""
        first, n_classes = int(self._starts[k]), self.log_prior.size
        codes, classes = self._codes[k, some].astype(np.int64), self.rows.classes[some]
        known = np.flatnonzero(codes < self._n_levels[k])
        result = np.zeros((some.size, n_classes))
        at = first + codes[known] * n_classes
        if n_classes == 2:
            result[known, 1] = self._own[at + classes[known]]
        else:
            result[known] = self._table[at[:, None] + np.arange(n_classes)]
            result[known, classes[known]] += self._own[at + classes[known]]
        return result

    def over(self, rows: CalibrationRows, kept: np.ndarray) -> LeaveOneOutLoss:
        """Return the loss over other rows, with some of the features only, at these ascending positions."""
        counts = [self._counts[k] for k in kept.tolist()]
        return LeaveOneOutLoss(rows.of_features(kept), counts, self.log_prior, self._smoothing)

    def refitted(self, averaged: np.ndarray) -> tuple[np.ndarray, float]:
        """Weights of all features of the table from these averaged ones, and the common factor on them."""
        free, weights = self.rows.features, np.zeros_like(averaged)
        _, factor = self.least_by_factor(averaged[free])
        weights[free] = fit_weights(self, averaged[free], factor, prior_deviation(self.rows))
        return weights, factor

    def least_by_factor(self, weights: np.ndarray) -> tuple[float, float]:
        """Minimum of the loss over a common factor in (0, 1] on all ``weights``, and that factor.

        The loss is convex in the factor: Newton steps, kept between factors known to be too small and too large.
        """
        from bayesieve.evidence._kernels import loss_by_factor

        rows, evidence, prior = self.rows, self.evidence(weights), np.atleast_2d(self.prior)
        low, high, factor = _LEAST_FACTOR, 1.0, 1.0
        for _ in range(_MOST_STEPS):
            loss, slope, curvature = loss_by_factor(evidence, prior, factor, rows.classes, rows.weights)
            if factor == 1.0 and slope <= 0.0:
                break  # the optimum is above 1
            low, high = (low, factor) if slope > 0.0 else (factor, high)
            following = factor - slope / curvature if curvature > 0.0 else low
            if not low < following < high:
                following = (low + high) / 2
            if abs(following - factor) < _SAME_FACTOR:
                break
            factor = following
        return float(loss), float(factor)


def loss_of(joint: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Log loss of rows by their log joint (n_rows, n_classes), in nats, and its gradient by numbers that are added to
    that of each class, (n_classes,).
    """
    logs = log_softmax(joint, axis=1)
    rows = np.bincount(classes, weights, joint.shape[1])
    return float(-(weights @ logs[np.arange(classes.size), classes])), weights @ np.exp(logs) - rows


def intercept_for(offset: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the intercept that gives the classes their shares of the rows beside ``offset`` (n_rows, n_classes)."""
    shares = np.bincount(classes, weights, offset.shape[1]) / weights.sum()
    there = np.flatnonzero(shares)
    codes, own = np.searchsorted(there, classes), offset[:, there] + np.log(shares[there])
    keep = weights > 0
    codes, own, weights = codes[keep], own[keep], weights[keep] / weights.sum()
    best = minimize(lambda by: loss_of(own + by, codes, weights), np.zeros(there.size), jac=True, method="BFGS")
    result = np.zeros(offset.shape[1])
    result[there] = best.x - best.x.mean()
    return np.round(result, _DIGITS)  # the order of rows must not be seen


def prior_deviation(rows: CalibrationRows) -> float:
    """Standard deviation of the prior on the weights of the features of these rows."""
    return PRIOR_DEVIATION * min(1.0, rows.total / (ROWS_PER_WEIGHT * max(1, rows.features.size)))


def fit_weights(
    loss: LeaveOneOutLoss,
    averaged: np.ndarray,
    factor: float,
    deviation: float = PRIOR_DEVIATION,
    clock: Clock | None = None,
) -> np.ndarray:
    """Weights in [0, 1] with the highest posterior probability.

    Naive Bayes counts evidence that features share several times, even after averaging. A factor g on all averaged
    weights corrects for this on the whole; then individual weights minimise the log loss plus
    sum_k (w_k - g a_k)^2 / (2 s^2). Both problems are convex.

    Parameters
    ----------
    averaged : (n_features,) weights a_k in [0, 1]; weights of 0 stay 0.
    factor : g, from `LeaveOneOutLoss.least_by_factor`.
    deviation : s, the standard deviation of the prior.
    clock : time limit, which ends the fit with an exception.
    """
    centre = factor * averaged

    def posterior(weights: np.ndarray) -> tuple[float, np.ndarray]:
        if clock is not None and clock.is_up:
            raise _TimeUp
        value, gradient = loss(weights)
        away = (weights - centre) / deviation
        return value + 0.5 * float(away @ away), gradient + away / deviation

    options = {"maxiter": 100, "ftol": 1e-7, "gtol": 1e-2}
    bounds = [(0.0, float(weight > 0)) for weight in centre.tolist()]
    best = minimize(posterior, centre, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.clip(best.x, 0.0, 1.0)


def _without_a_row(counts: np.ndarray, left_out: float, total: float, smoothing: Smoothing) -> np.ndarray:
    """log P(level | class) estimated without one row of that level and class."""
    n_levels, n_classes = counts.shape
    others = np.maximum(counts - left_out, 0.0)
    of_class = np.maximum(counts.sum(axis=0) - left_out, 0.0)
    if isinstance(smoothing, Shrinkage):
        n_rows, total = _rows_without_one(counts, left_out)
        return smoothing.logs(others, of_class, n_rows, n_levels, total)
    return smoothed_logs(others, of_class, n_levels, n_classes, total, smoothing)


def _of_other_classes(counts: np.ndarray, left_out: float, total: float, smoothing: Smoothing) -> np.ndarray:
    """log P(level | class) estimated without one row of that level and another class."""
    if not isinstance(smoothing, Shrinkage):
        return log_probabilities(counts, total, smoothing)
    n_rows, total = _rows_without_one(counts, left_out)
    return smoothing.logs(counts, counts.sum(axis=0), n_rows, len(counts), total)


def _rows_without_one(counts: np.ndarray, left_out: float) -> tuple[np.ndarray, float]:
    """Rows of the levels, (n_levels, 1), and of all, without one row."""
    n_rows = counts.sum(axis=1, keepdims=True)
    return np.maximum(n_rows - left_out, 0.0), max(float(n_rows.sum()) - left_out, 0.0)


def _evidence_of_gaps(coded: CodedTable, features: np.ndarray, rows: np.ndarray) -> np.ndarray | None:
    """(n_rows, n_classes) what the columns in which a row has a value of no level say about its class; None if all rows
    have a level in every column.

    Such values shall say nothing. With this offset in the fit, and not afterwards, neither they nor their absence move
    the intercept and other features.
    """
    counts, total = coded.counts, float(coded.counts.class_counts.sum())
    some = [k for k in features.tolist() if counts.feature(k).sum() < total * (1.0 - 1e-9)]
    if not some:
        return None
    gaps = coded.codes_at(some, rows) >= coded.n_levels[some][:, None]
    _, pattern = np.unique(np.packbits(gaps, axis=0), axis=1, return_inverse=True)
    weights = None if coded.weights is None else coded.weights[rows]
    at = pattern.ravel() * coded.n_classes + coded.class_codes[rows].astype(np.int64)  # type: ignore[index]
    table = np.bincount(at, weights, (int(pattern.max()) + 1) * coded.n_classes).reshape(-1, coded.n_classes)
    logs = log_probabilities(table, float(table.sum()), _SMOOTHING_OF_GAPS)
    offset: np.ndarray = (logs - logs.mean(axis=1, keepdims=True))[pattern.ravel()]
    return offset


def _rare_values(coded: CodedTable, features: np.ndarray) -> np.ndarray:
    """Positions in ``features`` of groups of values with few rows each, if they can be learnt again."""
    if coded.recoder is None or coded.levels is None:
        return np.zeros(0, dtype=np.int64)
    shares = coded.counts.class_counts / coded.counts.class_counts.sum()
    n_classes = np.count_nonzero(shares)
    # A weight of 2 is two rows; of a rare class, few rows tell values apart.
    n_rows = coded.counts.class_counts.sum() * (1.0 - shares @ shares) * n_classes / max(1, n_classes - 1)
    types = coded.levels.types if isinstance(coded.levels, TableLevels) else None
    rare = []
    for k in features.tolist():
        numeric = types is not None and types[k] == "number"  # levels are not made just to be looked at
        n_values = 0 if numeric or coded.n_levels[k] == 1 else coded.levels[k].n_values
        rare.append(n_values > coded.n_levels[k] and n_values * LEAST_ROWS_PER_VALUE > n_rows)
    return np.flatnonzero(np.array(rare, dtype=bool))


def _folds(coded: CodedTable, features: np.ndarray) -> np.ndarray | None:
    """(n_rows,) fold of every row, -1 without weight: the distinct rows of each class are dealt out in turn. None if
    these are few: a fold would hold all rows of a value, and the others would say the contrary of it.

    They are listed by what the columns of these features tell of them, so that columns that say nothing, units, names
    and orders of columns, classes and rows, and writing a weight as repeated rows make no difference. What these
    columns cannot tell apart is listed by all columns.
    """
    assert coded.recoder is not None
    fold = np.full(coded.n_rows, -1)
    counted = np.arange(coded.n_rows) if coded.weights is None else np.flatnonzero(coded.weights)
    recoder, classes = coded.recoder.take(counted), np.asarray(coded.class_codes)[counted]
    prints = recoder.fingerprints()
    _, first, distinct = np.unique(prints ^ mixed(classes.astype(np.uint64)), return_index=True, return_inverse=True)
    prints, classes, recoder = prints[first], classes[first], recoder.take(first)
    n_rows = np.asarray(coded.counts.class_counts)
    if np.all(n_rows >= _ROWS_PER_DISTINCT * np.bincount(classes, minlength=n_rows.size)):
        return None
    content = recoder.select(features).content(classes)
    keys = [content.of_rows, classes, content.of_classes[classes]]
    if np.unique(content.of_rows).size < first.size:
        keys = [prints, recoder.content(classes).of_rows, *keys]
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.lexsort(keys)] = np.arange(first.size)
    fold[counted] = rank[distinct] % FOLDS
    return fold


def most_last_rows(n_columns: int, n_classes: int) -> int:
    """How many rows of a table the evidence is fitted to in the end: fewer if they are wide."""
    return min(_MOST_LAST_ROWS, max(1000, _MOST_TERMS // max(1, n_columns * n_classes)))


def rows_to_keep(n_columns: int, n_classes: int) -> int:
    """How many rows of a table with these columns are looked at again after the search."""
    return max(_MOST_ROWS, most_last_rows(n_columns, n_classes))
