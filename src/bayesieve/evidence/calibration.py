"""Calibration of feature weights against overconfidence: the weights of the search are refitted so that every row is
predicted well from all other rows (leave-one-out).

A feature contributes weight * log P(level | class), the *counted contribution* of a level (an interval of numbers or a
group of categories), to the log joint of a class. Naive Bayes with weights of 1 counts shared information repeatedly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce

import numpy as np
from scipy.optimize import minimize

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.counts.contingency import (
    Shrinkage,
    class_log_prior,
    log_probabilities,
    smoothed_logs,
)
from bayesieve.counts.row_hashes import mixed
from bayesieve.discretize.refitting import LevelRefitter
from bayesieve.engine.base import map_in_threads, one_blas_thread
from bayesieve.engine.progress import Clock
from bayesieve.evidence.neutral import mean_line
from bayesieve.evidence.offset import OFFSET, offset_of_gaps
from bayesieve.table import Column, FeatureLevels

LEAST_ROWS_PER_VALUE = 100
"""Average number of rows per value (of two classes of equal size) below which groups of values overfit the rows: groups
are then refitted for each of `FOLDS` folds on the other folds. If one class has 3 % of the rows, the bound is eight
times as high."""
FOLDS = 5
"""Number of folds for levels with few rows; see `LEAST_ROWS_PER_VALUE`."""
_DIGITS_OF_SHARE = 9  # rounding, so that the result does not depend on the order of rows
_ROWS_PER_DISTINCT = 3  # rows per distinct row of every class, from which repeats are due to columns with few values
_MOST_ROWS = 50_000  # rows of the sample by which features are chosen
_MOST_TERMS = 40_000_000  # rows x features x classes in one evaluation of the loss
_MOST_LAST_ROWS = 2_000_000  # rows of the final fit
_MOST_ROWS_AT_ONCE, _MOST_NUMBERS_AT_ONCE = 1 << 14, 1 << 17  # largest slice, independent of the number of threads

PRIOR_DEVIATION = 0.2
"""Standard deviation of the prior on each weight around its averaged value, given `ROWS_PER_WEIGHT` rows or more."""
ROWS_PER_WEIGHT = 5
"""Rows per fitted weight below which `PRIOR_DEVIATION` shrinks in proportion."""
SMOOTHINGS = (Shrinkage(1.0, fades=True), *(Shrinkage(rows, fades=False) for rows in (1.0, 2.0, 4.0, 8.0, 16.0)))
"""Smoothings from which calibration chooses. In large tables a frequent level may contain almost only one class, which
is rare in small tables or with many classes."""

_LEAST_FACTOR, _SAME_FACTOR = 1e-3, 1e-4
_MOST_STEPS = 50  # bisection alone converges in 14


@dataclass(frozen=True)
class CalibratedWeights:
    """Weights of the features after calibration.

    Parameters
    ----------
    weights : (n_features,) weights in [0, 1].
    factor : common factor on the weights of the search; the product is the prior mean of the weights.
    smoothing : smoothing of the probabilities that the weights multiply.
    loss : leave-one-out loss over a sample of the rows, as a function of the positive weights; None if the
        user or the time limit ended the fit early.
    final_rows : rows of the final fit, from which the sample of ``loss`` was drawn; None without ``loss``.
    """

    weights: np.ndarray
    factor: float
    smoothing: Smoothing
    loss: LeaveOneOutLoss | None = None
    final_rows: CalibrationRows | None = None


class _TimeUp(Exception):
    """Exception that ends the fit of weights when the time limit is over."""


def calibrate(
    coded: CodedTable,
    averaged: np.ndarray,
    smoothing: Smoothing,
    refitter: LevelRefitter | None = None,
    clock: Clock | None = None,
    n_jobs: int | None = None,
) -> CalibratedWeights:
    """Refit the weights of the search so that they predict each row best from all other rows.

    The m-estimate is replaced by the smoothing in `SMOOTHINGS` that predicts the rows best with the averaged weights
    times a common factor. Any other smoothing is kept.

    Parameters
    ----------
    coded : rows with classes.
    averaged : (n_features,) weights of the search, in [0, 1]; weights of 0 stay 0.
    smoothing : smoothing of the probabilities.
    refitter : refitter of the levels; None without raw values.
    clock : time limit, None for no limit. When it is over, or after Ctrl-C, the best weights so far are returned: the
        averaged weights, possibly times a common factor.
    n_jobs : number of threads.
    """
    clock = Clock(None) if clock is None else clock
    choices = SMOOTHINGS if smoothing == "m-estimate" else (smoothing,)
    best, free = CalibratedWeights(averaged, 1.0, choices[0]), np.flatnonzero(averaged)
    if clock.is_up or not averaged.size:
        return best
    free = free if free.size else np.array([0])  # without positive weights, one feature of weight 0
    try:
        with one_blas_thread():
            final_rows = CalibrationRows.of(coded, free, refitter, n_jobs)
            rows, least = final_rows.small_sample(), np.nan
            counts = [coded.counts.feature(k) for k in free.tolist()]
            # Naive Bayes counts information that features share several times, even after averaging. A factor on all
            # weights corrects this on average; it is fitted for each smoothing.
            for choice in choices:
                candidate = LeaveOneOutLoss(rows, counts, choice)
                value, by = candidate.least_by_factor(averaged[free])
                if not value >= least:
                    least, loss, factor, smoothing = value, candidate, by, choice
                best = CalibratedWeights(factor * averaged, factor, smoothing)
                if clock.is_up:
                    return best
            weights = np.zeros_like(averaged)
            weights[free] = fit_weights(loss, averaged[free], factor, clock)
            return CalibratedWeights(weights, factor, smoothing, loss=loss, final_rows=final_rows)
    except (KeyboardInterrupt, _TimeUp):
        return best


def fit_weights(loss: LeaveOneOutLoss, averaged: np.ndarray, factor: float, clock: Clock | None = None) -> np.ndarray:
    """Return the weights in [0, 1] with the highest posterior probability, shape (n_features,).

    They minimise the leave-one-out log loss plus sum_k (w_k - g a_k)^2 / (2 s^2), a convex problem.

    Parameters
    ----------
    loss : leave-one-out log loss as a function of the weights w_k.
    averaged : (n_features,) weights a_k in [0, 1] of the search; weights of 0 stay 0.
    factor : common factor g on these weights, from `LeaveOneOutLoss.least_by_factor`.
    clock : time limit, which ends the fit with an exception; None for no limit.
    """
    centre, n_weights = factor * averaged, max(1, loss.rows.features.size)
    deviation = PRIOR_DEVIATION * min(1.0, loss.rows.total / (ROWS_PER_WEIGHT * n_weights))

    def posterior(weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the negative log posterior of the weights (n_features,), up to a constant, and its gradient."""
        if clock is not None and clock.is_up:
            raise _TimeUp
        value, gradient = loss(weights)
        away = (weights - centre) / deviation
        return value + 0.5 * float(away @ away), gradient + away / deviation

    options = {"maxiter": 100, "ftol": 1e-7, "gtol": 1e-2}
    bounds = [(0.0, float(weight > 0)) for weight in centre.tolist()]
    best = minimize(posterior, centre, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.clip(best.x, 0.0, 1.0)


class LeaveOneOutLoss:
    """Leave-one-out log loss of naive Bayes as a function of its feature weights.

    Leaving a row out changes only the counts of its class. P(level | class) of the true class is therefore read from a
    second table, computed from N_ij - 1 and N_j - 1. Class priors are those of all rows. Features whose values have few
    rows each use levels and counts from the other folds instead, because their levels depend on the row, too.

    Parameters
    ----------
    rows : rows over which the loss is summed.
    counts : for each feature, (n_levels, n_classes) number (or weight) of rows.
    smoothing : smoothing of the counts.

    Attributes
    ----------
    prior : log joint that contributions are added to, (n_classes,), or (n_rows, n_classes) with an offset.
    """

    def __init__(self, rows: CalibrationRows, counts: Sequence[np.ndarray], smoothing: Smoothing) -> None:
        self.rows, self._counts, self._smoothing = rows, counts, smoothing
        self.prior = rows.log_prior if rows.offset is None else rows.log_prior + rows.offset
        n_classes = rows.n_classes
        (self._codes, self._codes_of_classes), self._slices = rows.codes, row_slices(rows.classes.size, n_classes)
        # Weight to leave out for one row: 1 if weights stand for repeated rows (a weight of 2 equals a repeated row);
        # the whole weight if weights are below 1; and the mean weight if weights differ.
        share = rows.effective_share
        left_out = min(1.0, float(rows.weights.mean()) / share) / share
        tables = [leave_one_out_logs(table, left_out, rows.total, smoothing) for table in counts]
        n_rows = [table.sum(axis=1) for table in counts]
        for k, of_folds in rows.counts_of_folds.items():
            logs = np.concatenate([log_probabilities(table, rows.total, smoothing) for table in of_folds])
            tables[k] = logs, logs
            n_rows[k] = np.concatenate([table.sum(axis=1) for table in of_folds])
        # For rows without a level, the feature adds its mean over all other rows.
        sizes = [len(others) for others, _ in tables]
        for k in np.flatnonzero(self._codes.max(axis=1, initial=0) >= sizes).tolist():
            others, same = tables[k]
            mean = mean_line(others, n_rows[k])[None]
            tables[k] = np.concatenate([others, mean]), np.concatenate([same, mean])
        self._n_levels = np.array([len(others) for others, _ in tables], dtype=np.int64)
        self._starts = (np.cumsum(self._n_levels) - self._n_levels) * n_classes
        self._feature = np.repeat(np.arange(len(counts)), self._n_levels * n_classes)
        # `same` is what to add to an entry of `table` (level and class) for rows whose own class is that class.
        table = np.concatenate([others for others, _ in tables])
        same = np.concatenate([same for _, same in tables]) - table
        if n_classes == 2:  # one logit: the second class minus the first
            same = np.diff(table, axis=1) + same * [-1.0, 1.0]
        self._table, self._same = table.ravel(), same.ravel()

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the sum over rows of -log P(true class) in nats, and its gradient (n_features,), for feature
        ``weights`` (n_features,).
        """
        from bayesieve.evidence._kernels import residuals, sum_by_level

        rows, n_classes = self.rows, self.rows.n_classes
        prior = np.diff(self.prior, axis=-1) if n_classes == 2 else self.prior

        def of_slice(batch: slice) -> tuple[float, np.ndarray]:
            """Return the loss of a slice of rows, and its gradient by table entry, (number of entries,)."""
            classes = rows.classes[batch]
            residual = self._logits(weights, batch) + (prior if prior.ndim == 1 else prior[batch])
            loss = residuals(residual, classes, rows.weights[batch])
            of_class, gradient = residual, np.zeros(self._same.size)
            if n_classes > 2:
                of_class, sums = residual[np.arange(classes.size), classes, None], np.zeros(self._same.size + n_classes)
                sum_by_level(self._codes, batch.start, self._n_levels, self._starts, residual, sums)
                gradient = self._table * sums[:-n_classes]
            sums = np.zeros(self._same.size + 1)
            sum_by_level(self._codes_of_classes, batch.start, self._n_levels * n_classes, self._starts, of_class, sums)
            return loss, gradient + self._same * sums[:-1]

        losses, gradients = zip(*map_in_threads(of_slice, self._slices, rows.n_jobs), strict=True)
        return sum(losses), np.bincount(self._feature, weights=reduce(np.add, gradients), minlength=weights.size)

    def _logits(self, weights: np.ndarray, batch: slice) -> np.ndarray:
        """Return the weighted log probabilities of a slice of rows, summed over the features, shape (n_rows, n_logits).

        ``weights`` (n_features,) are feature weights, ``batch`` the slice of rows.
        """
        from bayesieve.evidence._kernels import add_log_probabilities

        classes, n_classes, of_entries = self.rows.classes[batch], self.rows.n_classes, weights[self._feature]
        same, sums = np.append(of_entries * self._same, 0.0), np.zeros((classes.size, 1))
        add_log_probabilities(self._codes_of_classes, batch.start, self._n_levels * n_classes, self._starts, same, sums)
        if n_classes == 2:
            return sums
        table, logits = np.append(of_entries * self._table, np.zeros(n_classes)), np.zeros((classes.size, n_classes))
        add_log_probabilities(self._codes, batch.start, self._n_levels, self._starts, table, logits)
        logits[np.arange(classes.size), classes] += sums[:, 0]
        return logits

    def contributions(self, weights: np.ndarray) -> np.ndarray:
        """Return the counted contributions, weight times log P(level given class), of each row, summed over the
        features, shape (n_rows, n_classes), in nats.

        ``weights`` (n_features,) are the feature weights. Counts exclude the row itself. For two classes, the first
        column is 0 and the second holds the log odds.
        """
        logits = np.concatenate(map_in_threads(partial(self._logits, weights), self._slices, self.rows.n_jobs))
        return np.pad(logits, ((0, 0), (1, 0))) if self.rows.n_classes == 2 else logits

    def contributions_of(self, k: int, positions: np.ndarray) -> np.ndarray:
        """Return the contributions, before weighting, of the ``k``-th feature to the rows at ``positions`` (n,), shape
        (n, n_classes): log P(level | class) in nats, from counts without the row itself.
        """
        first, n_classes = int(self._starts[k]), self.rows.n_classes
        codes, classes = self._codes[k, positions].astype(np.int64), self.rows.classes[positions]
        has_level = np.flatnonzero(codes < self._n_levels[k])
        result = np.zeros((positions.size, n_classes))
        at = first + codes[has_level] * n_classes
        if n_classes == 2:
            result[has_level, 1] = self._same[at + classes[has_level]]
        else:
            result[has_level] = self._table[at[:, None] + np.arange(n_classes)]
            result[has_level, classes[has_level]] += self._same[at + classes[has_level]]
        return result

    def on_rows(self, rows: CalibrationRows, features: np.ndarray) -> LeaveOneOutLoss:
        """Return the loss over other ``rows`` and only some of the features; ``features`` (n,) are their positions
        among the features of this loss, in ascending order.
        """
        counts = [self._counts[k] for k in features.tolist()]
        return LeaveOneOutLoss(rows.of_features(features), counts, self._smoothing)

    def with_row_weights(self, weights: np.ndarray) -> LeaveOneOutLoss:
        """Return the loss with other row weights, shape (n_rows,). The counts remain those of all rows."""
        other = copy(self)
        other.rows = replace(self.rows, weights=weights)
        return other

    def refit_weights(self, averaged: np.ndarray) -> tuple[np.ndarray, float]:
        """Refit the weights of all features; return them, shape (n_features,), and the common factor of their prior.

        ``averaged`` (n_features,) are the weights of the search; the factor times ``averaged`` is the prior mean of the
        weights.
        """
        free, weights = self.rows.features, np.zeros_like(averaged)
        _, factor = self.least_by_factor(averaged[free])
        weights[free] = fit_weights(self, averaged[free], factor)
        return weights, factor

    def least_by_factor(self, weights: np.ndarray) -> tuple[float, float]:
        """Return the lowest loss over a common factor in (0, 1] on ``weights``, in nats, and that factor.

        The loss is convex in the factor. Newton steps stay within an interval that contains the optimum.
        """
        from bayesieve.evidence._kernels import loss_by_factor

        rows, evidence, prior = self.rows, self.contributions(weights), np.atleast_2d(self.prior)
        low, high, factor = _LEAST_FACTOR, 1.0, 1.0
        for _ in range(_MOST_STEPS):
            loss, slope, curvature = loss_by_factor(evidence, prior, factor, rows.classes, rows.weights)
            if factor == 1.0 and slope <= 0.0:
                break  # the unconstrained optimum is above 1
            low, high = (low, factor) if slope > 0.0 else (factor, high)
            following = factor - slope / curvature if curvature > 0.0 else low
            if not low < following < high:
                following = (low + high) / 2
            if abs(following - factor) < _SAME_FACTOR:
                break
            factor = following
        return float(loss), float(factor)


def leave_one_out_logs(
    counts: np.ndarray, left_out: float, total: float, smoothing: Smoothing
) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays of log P(level | class), (n_levels, n_classes), for a row that is left out of the counts: for
    classes other than the row's class, and for its own class.

    Parameters
    ----------
    counts : (n_levels, n_classes) number (or weight) of rows, with the row.
    left_out : weight of the row.
    total : weight of all rows.
    smoothing : smoothing of the probabilities.
    """
    n_levels, n_classes = counts.shape
    without, of_class = np.maximum(counts - left_out, 0.0), np.maximum(counts.sum(axis=0) - left_out, 0.0)
    if not isinstance(smoothing, Shrinkage):
        others = log_probabilities(counts, total, smoothing)
        return others, smoothed_logs(without, of_class, n_levels, n_classes, total, smoothing)
    n_rows = counts.sum(axis=1, keepdims=True)
    total, n_rows = max(float(n_rows.sum()) - left_out, 0.0), np.maximum(n_rows - left_out, 0.0)
    others = smoothing.logs(counts, counts.sum(axis=0), n_rows, n_levels, total)
    return others, smoothing.logs(without, of_class, n_rows, n_levels, total)


@dataclass(frozen=True, eq=False)
class CalibrationRows:
    """Codes, classes and weights of the training rows, or of a sample of them, for a subset of the features.

    A sample has larger shares of rare classes than the table, see `log_prior`. In fits, a sampled row counts once. In
    displayed counts, it counts as many times as the rows of its class that it represents.

    Parameters
    ----------
    coded, n_classes : the coded table, and its number of classes.
    refitter : refitter of its levels; None without raw values.
    features : (n_features,) positions of the features in the table.
    positions, classes, weights : (n_rows,) positions of the rows in the table, their classes, and their weights times
        ``effective_share``.
    effective_share : effective number of rows as a share of their number, see `share_of_effective_rows`.
    offset : (n_rows, n_classes) log joint to which all contributions are added, or None if there is none.
    total : weight of all rows of the table.
    codes_of_folds : codes (n_rows of the table,) of the features whose levels are refitted for each fold, by position
        in ``features``. Each row is coded by the levels of its fold; codes are numbered on from fold to fold.
    counts_of_folds : for these features, by position in ``features``: for each fold, (n_levels, n_classes) counts of
        its levels in the rows of the other folds.
    most_few : largest number of rows in `small_sample`.
    is_sample : whether these rows are a sample of the table's rows of positive weight.
    n_jobs : number of threads.
    """

    coded: CodedTable
    refitter: LevelRefitter | None
    n_classes: int
    features: np.ndarray
    positions: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    effective_share: float
    offset: np.ndarray | None
    total: float
    codes_of_folds: Mapping[int, np.ndarray]
    counts_of_folds: Mapping[int, Sequence[np.ndarray]]
    most_few: int
    is_sample: bool
    n_jobs: int | None

    @classmethod
    def of(
        cls,
        coded: CodedTable,
        features: np.ndarray,
        refitter: LevelRefitter | None = None,
        n_jobs: int | None = None,
    ) -> CalibrationRows:
        """Return the rows of a coded table for the fit of weights: all rows, or a sample if there are more than
        `most_last_rows` allows.

        Parameters
        ----------
        coded : rows with classes.
        features : positions of the features whose weights are fitted.
        refitter : refitter of the levels; None without raw values.
        n_jobs : number of threads.

        Raises
        ------
        ValueError
            If the rows have no classes.
        """
        if coded.class_codes is None:
            raise ValueError(
                "Fitting weights needs the class of every row, but the table was coded without y; code it again with y."
            )
        n_columns = coded.n_features if coded.levels is None else coded.levels.n_columns
        most_few = min(_MOST_ROWS, max(1000, _MOST_TERMS // max(1, features.size * coded.n_classes)))
        most = max(most_few, most_last_rows(n_columns, coded.n_classes))
        rows = coded.sampler.draw_by_class(most)
        offsets = [coded.rows.columns[OFFSET][rows]] if OFFSET in coded.rows.columns else []
        least_weight = coded.counts.class_counts.sum() * (1.0 - 1e-9)
        with_gaps = [k for k in features.tolist() if coded.counts.feature(k).sum() < least_weight]
        if with_gaps:
            offsets.append(offset_of_gaps(coded, with_gaps, rows))
        codes_of_folds, counts_of_folds = _refit_rare_values(coded, features, refitter)
        effective_share = 1.0 if coded.weights is None else share_of_effective_rows(coded.weights)
        return cls(
            coded=coded,
            refitter=refitter,
            n_classes=coded.n_classes,
            features=features,
            positions=rows,
            classes=coded.class_codes[rows].astype(np.int64),
            weights=np.ones(rows.size) if coded.weights is None else effective_share * coded.weights[rows],
            effective_share=effective_share,
            offset=sum(offsets[1:], offsets[0]) if offsets else None,
            total=float(coded.n_rows if coded.weights is None else coded.weights.sum()),
            codes_of_folds=codes_of_folds,
            counts_of_folds=counts_of_folds,
            most_few=most_few,
            is_sample=rows.size < (coded.n_rows if coded.weights is None else int(np.count_nonzero(coded.weights))),
            n_jobs=n_jobs,
        )

    @cached_property
    def codes(self) -> tuple[np.ndarray, np.ndarray]:
        """Level of each row, and the combination level * n_classes + class, two arrays of shape (n_features, n_rows).

        For features whose levels are refitted for each fold, levels are numbered on from fold to fold.
        """
        codes = self.coded.codes_at(self.features, self.positions)
        highest = max((int(of_table.max()) for of_table in self.codes_of_folds.values()), default=0)
        codes = codes.astype(max(codes.dtype, np.min_scalar_type(highest)), copy=False)
        for k, of_table in self.codes_of_folds.items():
            codes[k] = of_table[self.positions]
        kind = np.min_scalar_type((int(codes.max(initial=0)) + 1) * self.n_classes)
        return codes, codes.astype(kind) * kind.type(self.n_classes) + self.classes.astype(kind)

    def small_sample(self) -> CalibrationRows:
        """Return a sample of these rows that is large enough to choose features: 50,000 rows, or fewer for many
        features.

        `RowSamples.draw_by_class` documents how rows are drawn.
        """
        drawn = np.searchsorted(self.positions, self.coded.sampler.draw_by_class(self.most_few))
        offset = None if self.offset is None else self.offset[drawn]
        is_sample = self.is_sample or drawn.size < self.positions.size
        sampled = {name: getattr(self, name)[drawn] for name in ("positions", "classes", "weights")}
        return replace(self, **sampled, offset=offset, is_sample=is_sample)

    def draw(self, most: int) -> np.ndarray:
        """Return the positions, among these rows, of a random sample of at most ``most`` rows, which has about the same
        class shares.

        Rows are drawn by hashes of their contents.
        """
        of_classes = np.maximum(1, self.n_of_classes * most // max(1, self.positions.size))
        drawn = self.coded.sampler.draw_by_class(np.minimum(self.n_of_classes, of_classes))
        return np.searchsorted(self.positions, drawn)

    def effective_counts(self, codes: np.ndarray, n_cells: int) -> np.ndarray:
        """Return the effective number of these rows by cell and class, shape (n_cells, n_classes).

        ``codes`` (n_rows,) are the cells of the rows; codes of ``n_cells`` or more (no cell) are not counted.
        """
        at = np.minimum(codes, n_cells).astype(np.int64) * self.n_classes + self.classes
        counts = np.bincount(at, self.weights, (n_cells + 1) * self.n_classes)
        return counts.reshape(n_cells + 1, self.n_classes)[:-1]

    def count_classes(self, codes: np.ndarray, n_cells: int) -> np.ndarray:
        """Return the weight of the table's rows by cell and class, shape (n_cells, n_classes), estimated from these
        rows.

        ``codes`` (n_rows,) are the cells of the rows; codes of ``n_cells`` or more (no cell) are not counted.
        """
        counts = self.effective_counts(codes, n_cells)
        if not self.is_sample:
            return counts / self.effective_share
        return counts * (self.coded.counts.class_counts / np.maximum(self.weights_of_classes, 1e-300))

    @cached_property
    def n_of_classes(self) -> np.ndarray:
        """Number of rows of each class, without weights, shape (n_classes,)."""
        return np.bincount(self.classes, minlength=self.n_classes)

    @cached_property
    def weights_of_classes(self) -> np.ndarray:
        """Sum of the row weights of each class, shape (n_classes,)."""
        return np.bincount(self.classes, self.weights, self.n_classes)

    @cached_property
    def log_prior(self) -> np.ndarray:
        """Logarithms of the class shares of these rows, shape (n_classes,). In a sample, they differ from those of the
        table.

        Contributions that are fitted with this prior also hold for the table (Prentice and Pyke 1979).
        """
        if not self.is_sample:
            return class_log_prior(self.coded.counts.class_counts)
        return class_log_prior(self.weights_of_classes)

    def codes_by(self, cells: Mapping[int, FeatureLevels | None]) -> dict[int, np.ndarray]:
        """Return the cell of each row, (n_rows,), for each feature in ``cells``, by its position in the table.

        ``cells`` maps these positions to the cells of the feature; if they are None, its levels are used.
        """
        whole = sorted(k for k, of_feature in cells.items() if of_feature is None)
        fine = {k: of_feature for k, of_feature in sorted(cells.items()) if of_feature is not None}
        codes = dict(zip(whole, self.coded.codes_at(whole, self.positions), strict=True))
        if fine:
            assert self.refitter is not None
            rows = self.coded.rows.in_table(self.positions)
            fine_codes = self.refitter.select(np.array(list(fine))).code(list(fine.values()), rows)
            codes |= dict(zip(fine, fine_codes, strict=True))
        return codes

    def raw_columns(self, features: Sequence[int]) -> list[list[Column]]:
        """Return the raw values of these rows in the columns of each of ``features`` (positions): two columns for a
        pair, otherwise one.
        """
        assert self.refitter is not None
        return self.refitter.raw_columns(features, self.coded.rows.in_table(self.positions))

    def of_features(self, features: np.ndarray) -> CalibrationRows:
        """Return a copy with only some of the features; ``features`` (n,) are their positions among the features of
        this object, in ascending order.
        """
        at = {k: i for i, k in enumerate(features.tolist())}
        counts = {at[k]: tables for k, tables in self.counts_of_folds.items() if k in at}
        codes_of_folds = {at[k]: codes for k, codes in self.codes_of_folds.items() if k in at}
        return replace(self, features=self.features[features], counts_of_folds=counts, codes_of_folds=codes_of_folds)


def share_of_effective_rows(weights: np.ndarray) -> float:
    """Return the effective number of rows (Kish 1965) divided by the larger of their number and their total weight.

    ``weights`` (n_rows,) are row weights. The share is 1 for equal weights. It is also 1 for whole weights, which stand
    for repeated rows.
    """
    positive = weights[weights > 0]
    if not positive.size or np.ptp(positive) == 0.0 or np.array_equal(positive, np.rint(positive)):
        return 1.0
    mean = float(positive.mean())
    share = 1.0 / (max(mean, 1.0) * float(((positive / mean) ** 2).mean()))
    return float(f"{share:.{_DIGITS_OF_SHARE}g}")


def row_slices(n_rows: int, n_values: int) -> list[slice]:
    """Divide ``n_rows`` rows into slices for work in threads; ``n_values`` is the number of values computed per row.

    The slices depend on the sizes only, not on the number of threads, so sums over them are reproducible.
    """
    size = max(1, min(_MOST_ROWS_AT_ONCE, _MOST_NUMBERS_AT_ONCE // n_values))
    return [slice(at, min(at + size, n_rows)) for at in range(0, max(1, n_rows), size)]


def informative_rows(class_counts: np.ndarray) -> float:
    """Return how many rows of a table with classes of equal size would be as informative as the rows of this table.

    A weight of 2 counts as two rows. If a class is rare, only few rows are informative.

    Parameters
    ----------
    class_counts : (n_classes,) number (or weight) of the rows of each class.
    """
    shares = class_counts / class_counts.sum()
    n_classes = np.count_nonzero(shares)
    return float(class_counts.sum() * (1.0 - shares @ shares) * n_classes / max(1, n_classes - 1))


def numbers_of_grouped_values(coded: CodedTable, features: np.ndarray) -> np.ndarray:
    """Return the number of categories of each feature, shape (n_features,); 0 if its levels are not groups of
    categories.

    Parameters
    ----------
    coded : table with levels.
    features : (n_features,) positions of the features in the table.
    """
    assert coded.levels is not None
    numbers = np.zeros(features.size, dtype=np.int64)
    for i, k in enumerate(features.tolist()):
        if coded.levels.types[k] != "number" and coded.n_levels[k] > 1:  # levels of numbers need not be created
            n_values = coded.levels[k].n_values
            numbers[i] = n_values if n_values > coded.n_levels[k] else 0
    return numbers


def _refit_rare_values(
    coded: CodedTable, features: np.ndarray, refitter: LevelRefitter | None
) -> tuple[dict[int, np.ndarray], dict[int, list[np.ndarray]]]:
    """Refit the groups of categorical features whose values have few rows, for each fold on the rows of the other
    folds.

    A group of rare values depends on every single row, so that removing the row from the counts is not enough; see
    `LEAST_ROWS_PER_VALUE`.

    Parameters
    ----------
    coded : rows with classes.
    features : positions of the features of the fit.
    refitter : refitter of the levels; None without raw values.

    Returns
    -------
    tuple
        Codes (n_rows,) of all rows by the levels of their folds, and for each fold the counts (n_levels, n_classes) of
        these levels, by position in ``features``. Both are empty if there are no such features, or if the levels cannot
        be refitted.
    """
    if refitter is None or coded.levels is None:
        return {}, {}
    n_rows = informative_rows(coded.counts.class_counts)
    rare = np.flatnonzero(numbers_of_grouped_values(coded, features) * LEAST_ROWS_PER_VALUE > n_rows).tolist()
    fold = _folds(coded, features, refitter) if rare else None
    if fold is None:
        return {}, {}

    refitter = refitter.select(features[rare])
    codes = np.empty((len(rare), coded.n_rows), dtype=np.int64)
    first = np.zeros((len(rare), 1), dtype=np.int64)
    counts_of_folds: dict[int, list[np.ndarray]] = {k: [] for k in rare}
    for number in range(FOLDS):
        inside = np.flatnonzero(fold == number)
        fit, rest = refitter.refit(coded.rows, np.flatnonzero((fold != number) & (fold >= 0)), inside)
        counts = fit.counts
        for at, tables in enumerate(counts_of_folds.values()):
            tables.append(counts.feature(at))
        has_level = rest.codes < fit.n_levels[:, None]
        codes[:, inside] = np.where(has_level, first + rest.codes, -1)
        first = first + fit.n_levels[:, None]
    codes = np.where(codes < 0, first, codes)  # the code of values without a level
    return dict(zip(rare, codes.astype(np.min_scalar_type(int(first.max()))), strict=True)), counts_of_folds


def _folds(coded: CodedTable, features: np.ndarray, refitter: LevelRefitter) -> np.ndarray | None:
    """Distribute the distinct rows of each class over the folds in turn; return the fold of every row, (n_rows,), -1
    for rows without weight.

    Rows are ordered by their values in the columns of ``features`` (positions in the table), then in all columns.
    Constant columns, units, names, and the orders of columns, classes and rows therefore make no difference, nor do
    weights in place of repeated rows. Return None if there are so few distinct rows that one fold would hold all rows
    of a value.
    """
    fold = np.full(coded.n_rows, -1)
    counted = np.arange(coded.n_rows) if coded.weights is None else np.flatnonzero(coded.weights)
    hashes, classes = coded.sampler.row_hashes()[counted], np.asarray(coded.class_codes)[counted]
    _, first, distinct = np.unique(hashes ^ mixed(classes.astype(np.uint64)), return_index=True, return_inverse=True)
    hashes, classes, rows = hashes[first], classes[first], coded.rows.in_table(counted[first])
    n_rows = np.asarray(coded.counts.class_counts)
    if np.all(n_rows >= _ROWS_PER_DISTINCT * np.bincount(classes, minlength=n_rows.size)):
        return None
    content = refitter.select(features).content(rows, classes)
    keys = [content.of_rows, classes, content.of_classes[classes]]
    if np.unique(content.of_rows).size < first.size:
        keys = [hashes, refitter.content(rows, classes).of_rows, *keys]
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.lexsort(keys)] = np.arange(first.size)
    fold[counted] = rank[distinct] % FOLDS
    return fold


def most_last_rows(n_columns: int, n_classes: int) -> int:
    """Return the largest number of rows for the final fit of a table with ``n_columns`` columns; smaller for wide
    tables, to limit the time.
    """
    return min(_MOST_LAST_ROWS, max(1000, _MOST_TERMS // max(1, n_columns * n_classes)))


def rows_to_keep(n_columns: int, n_classes: int) -> int:
    """Return how many rows of a table to keep in memory for the fit that follows the search.

    ``n_columns`` and ``n_classes`` are the numbers of columns and classes of the table.
    """
    return max(_MOST_ROWS, most_last_rows(n_columns, n_classes))
