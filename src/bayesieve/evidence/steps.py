"""Step interactions: cuts of two columns into rectangles, whose contributions explain effects that the single columns
do not.

Inputs are gradients and curvatures (first and second derivatives) of the log loss by the logits of each row, summed
over rows of equal cells. From them, the log Bayes factor of a set of rectangles follows without another fit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from bayesieve.evidence.inclusion import TRIED_VARIANCES, averaged_log_bayes, log_bayes_factors
from bayesieve.evidence.problem import logit_scale

# Both limits were chosen, not measured: enough intervals to show an interaction before the other column is cut well,
# and rounds after which cuts hardly move.
_FIRST_INTERVALS = 8  # intervals of a column while the other column is cut for the first time
_ROUNDS = 3  # rounds of cutting both columns
_DIGITS_OF_GAINS = 9  # decimals of compared gains, in nats, so that rounding errors do not decide


def cut_grid(
    gradient: np.ndarray, curvature: np.ndarray, n_special: Sequence[int], is_cut: Sequence[bool]
) -> tuple[float, list[np.ndarray]]:
    """Cut two columns so that contributions by rectangle explain the gradient of the log loss best.

    The columns are cut in turn, each given the cuts of the other, because a single column does not show the
    interaction. A set of cuts costs the logarithm of the number of possible sets of its size, in nats.

    Parameters
    ----------
    gradient, curvature : (n_first, n_second, n_logits) derivatives of the log loss, summed by the cells of both
        columns.
    n_special : number of leading cells of each column that have no neighbours, such as the cell of missing values.
    is_cut : whether each column is cut; otherwise its cells stay as they are.

    Returns
    -------
    tuple
        Log Bayes factor of the rectangles against both columns alone, minus the cost of the cuts, in nats; and for both
        columns, the interval of each cell, (n_first,) and (n_second,).
    """
    start = [_bounds(gradient.shape[axis], n_special[axis], is_cut[axis]) for axis in (0, 1)]
    best, best_bounds = -np.inf, start
    for first in (0, 1):
        bounds, costs = list(start), [0.0, 0.0]
        others_before = [np.zeros(0, dtype=np.int64)] * 2
        for step in range(2 * _ROUNDS):
            axis = (first + step) % 2
            if is_cut[axis]:
                others = bounds[1 - axis][:-1]
                if np.array_equal(others, others_before[axis]):
                    break  # converged: the cuts of both columns have not changed
                others_before[axis] = others
                sums = [np.add.reduceat(np.moveaxis(table, axis, 0), others, axis=1) for table in (gradient, curvature)]
                bounds[axis], costs[axis] = _cut(sums[0], sums[1], n_special[axis])
            if step > 0:
                log_bayes = _log_bayes_of_rectangles(gradient, curvature, bounds) - sum(costs)
                if log_bayes > best:
                    best, best_bounds = log_bayes, list(bounds)
    return best, [np.repeat(np.arange(ends.size - 1), np.diff(ends)) for ends in best_bounds]


def _bounds(n_cells: int, n_special: int, is_cut: bool) -> np.ndarray:
    """Return the initial interval bounds of a column among its ``n_cells`` cells, in ascending order from 0 to
    ``n_cells``.

    If the column ``is_cut``, its first ``n_special`` cells are intervals, and a few intervals hold about equal numbers
    of the other cells. Otherwise each cell is an interval.
    """
    if not is_cut:
        return np.arange(n_cells + 1)
    few = np.arange(1, _FIRST_INTERVALS + 1) * (n_cells - n_special) // _FIRST_INTERVALS
    return np.unique(np.append(np.arange(n_special + 1), n_special + few))


def move_cuts(
    codes: tuple[np.ndarray, np.ndarray],
    gradient: np.ndarray,
    curvature: np.ndarray,
    bounds: Sequence[np.ndarray],
    n_special: Sequence[int],
) -> list[np.ndarray]:
    """Move each cut of two columns to the position between its neighbouring cuts where it explains the gradient best.

    Parameters
    ----------
    codes : fine cells of the rows by both columns, (n_rows,) each.
    gradient, curvature : (n_rows, n_logits) first and second derivatives of the log loss of each row.
    bounds : for each column, (n_intervals + 1,) bounds of its intervals among the fine cells.
    n_special : number of leading cells of each column that are intervals by themselves.

    Returns
    -------
    list
        For both columns, the moved bounds, (n_intervals + 1,).
    """
    bounds = [ends.copy() for ends in bounds]
    for _ in range(_ROUNDS):
        before = [ends.copy() for ends in bounds]
        for axis in (0, 1):
            if bounds[axis].size < n_special[axis] + 3:
                continue
            n_cells, n_others = int(bounds[axis][-1]), bounds[1 - axis].size - 1
            others = np.searchsorted(bounds[1 - axis], codes[1 - axis], side="right") - 1
            at, shape = codes[axis].astype(np.int64) * n_others + others, (n_cells, n_others)
            tables = [
                np.stack([np.bincount(at, rows, n_cells * n_others).reshape(shape) for rows in of_rows.T], axis=-1)
                for of_rows in (gradient, curvature)
            ]
            intervals = _IntervalSums(*tables)
            logs = intervals.log_bayes(bounds[axis][:-1], bounds[axis][1:])
            for k in range(n_special[axis] + 1, bounds[axis].size - 1):
                lower, upper = bounds[axis][k - 1], bounds[axis][k + 1]
                places, rest = np.arange(lower + 1, upper), logs.sum(axis=1) - logs[:, k - 1 : k + 1].sum(axis=1)
                below, above = (
                    intervals.log_bayes(np.full_like(places, lower), places),
                    intervals.log_bayes(places, np.full_like(places, upper)),
                )
                # Round the gains: rounding errors depend on the order of rows and must not decide.
                best = int(np.argmax(np.round(intervals.gains(rest[:, None] + below + above), _DIGITS_OF_GAINS)))
                bounds[axis][k], logs[:, k - 1], logs[:, k] = places[best], below[:, best], above[:, best]
        if all(np.array_equal(ends, other) for ends, other in zip(bounds, before, strict=True)):
            break
    return bounds


class _IntervalSums:
    """Cumulative sums of gradients and curvatures over the cells of one column, for log Bayes factors of any interval
    of it.

    Sums are kept by interval of the other column, for rectangles, and in total, for the column alone. The sum over an
    interval is a difference of two cumulative sums.

    Parameters
    ----------
    gradient, curvature : (n_cells, n_others, n_logits) sums by cell of the column and interval of the other column.
    """

    def __init__(self, gradient: np.ndarray, curvature: np.ndarray) -> None:
        sums = ((gradient, curvature), (gradient.sum(axis=1, keepdims=True), curvature.sum(axis=1, keepdims=True)))
        self._below = [
            [np.append(np.zeros_like(grid[:1]), np.cumsum(grid, axis=0), axis=0) for grid in both] for both in sums
        ]

    def log_bayes(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Return log Bayes factors of intervals, (2, n_intervals, n_variances): first those of their rectangles with
        the other column, then those of the column alone.

        ``lower`` and ``upper`` (n_intervals,) are the first cells of the intervals and the cells after their last; the
        tried prior variances are `TRIED_VARIANCES`.
        """
        return np.stack(
            [
                _log_bayes(gradient[upper] - gradient[lower], curvature[upper] - curvature[lower])
                for gradient, curvature in self._below
            ]
        )

    def gains(self, logs: np.ndarray) -> np.ndarray:
        """Return the gain of rectangles over contributions of the column alone, in nats: the difference of log Bayes
        factors.

        ``logs`` (2, ..., n_variances) are the results of `log_bayes`. Factors are averaged over the prior variances;
        those of the column alone count as at least 1. The result has shape (...,).
        """
        rectangles, alone = averaged_log_bayes(logs)
        return np.asarray(rectangles - np.maximum(alone, 0.0))


def _cut(gradient: np.ndarray, curvature: np.ndarray, n_special: int) -> tuple[np.ndarray, float]:
    """Cut one column greedily where the gain is largest. Return the ascending bounds of its intervals among the cells,
    (n_intervals + 1,), and their cost in nats.

    The gain of a cut is the log Bayes factor that it adds with contributions by rectangle, minus that which it adds
    with contributions of the column alone.

    Parameters
    ----------
    gradient, curvature : (n_cells, n_others, n_logits) derivatives of the log loss, summed by cell of the column and
        interval of the other column.
    n_special : number of leading cells that are intervals by themselves.
    """
    n_cells, n_cuts, cost, intervals = len(gradient), 0, 0.0, _IntervalSums(gradient, curvature)
    bounds = np.append(np.arange(n_special + 1), n_cells)
    logs = intervals.log_bayes(bounds[:-1], bounds[1:]).sum(axis=1)
    cuts = np.arange(n_special + 1, n_cells)
    lower, upper = (
        np.full(cuts.size, n_special),
        np.full(cuts.size, n_cells),
    )  # ends of the interval that each cut divides
    changes, is_chosen = np.empty((2, cuts.size, TRIED_VARIANCES.size)), np.zeros(cuts.size, dtype=bool)
    divided = slice(0, cuts.size)
    while n_cuts < cuts.size:
        # A cut changes the gains of other cuts only within the interval that it divides.
        below, at, above = lower[divided], cuts[divided], upper[divided]
        changes[:, divided] = (
            intervals.log_bayes(below, at) + intervals.log_bayes(at, above) - intervals.log_bayes(below, above)
        )
        gains, next_cost = intervals.gains(logs[:, None] + changes), _log_choices(cuts.size, n_cuts + 1)
        gains[is_chosen] = -np.inf
        best = int(np.argmax(gains))
        if gains[best] - next_cost <= intervals.gains(logs) - cost:
            break
        logs, cost, n_cuts = logs + changes[:, best], next_cost, n_cuts + 1
        is_chosen[best] = True
        divided = slice(lower[best] - n_special, upper[best] - n_special - 1)
        upper[divided.start : best] = lower[best + 1 : divided.stop] = cuts[best]
    return np.sort(np.append(bounds, cuts[is_chosen])), cost


def _log_bayes(gradient: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """Return log Bayes factors of contributions by rectangle, (n_intervals, n_variances), summed over the intervals of
    the other column.

    ``gradient`` and ``curvature`` (n_intervals, n_others, n_logits) are derivatives of the log loss, summed by interval
    of both columns. The factors are given for each of `TRIED_VARIANCES` as prior variance.
    """
    square, share = logit_scale(gradient.shape[-1])
    variances = TRIED_VARIANCES / square
    return share * log_bayes_factors(gradient[..., None], curvature[..., None], variances).sum(axis=(1, 2))


def _log_bayes_of_rectangles(gradient: np.ndarray, curvature: np.ndarray, bounds: Sequence[np.ndarray]) -> float:
    """Return the log Bayes factor of contributions by rectangle against contributions of both columns alone, in nats.

    Parameters
    ----------
    gradient, curvature : (n_first, n_second, n_logits) derivatives of the log loss, summed by the cells of both
        columns.
    bounds : for each column, (n_intervals + 1,) ascending bounds of its intervals among the cells.
    """
    sums = [np.add.reduceat(np.add.reduceat(t, bounds[0][:-1]), bounds[1][:-1], axis=1) for t in (gradient, curvature)]
    together = float(averaged_log_bayes(_log_bayes(*sums).sum(axis=0)))
    for axis in (0, 1):
        alone = _log_bayes(*(table.sum(axis=axis)[:, None] for table in sums)).sum(axis=0)
        together -= max(0.0, float(averaged_log_bayes(alone)))
    return together


def _log_choices(n: int, k: int) -> float:
    """Return the logarithm of the binomial coefficient, the number of ways to choose k of n."""
    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
