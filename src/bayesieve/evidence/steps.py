"""Step interactions: cuts of two columns into rectangles, whose contributions explain effects that the single columns
do not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from bayesieve.evidence.inclusion import TRIED_VARIANCES, averaged_log_bayes, log_bayes_factors
from bayesieve.evidence.problem import logit_scale

# Limits measured in benchmarks/decisions/surfaces.md.
_FIRST_INTERVALS = 8  # intervals of a column while the other column is cut for the first time
_ROUNDS = 3  # rounds of cutting both columns
_DIGITS_OF_GAINS = 9  # decimals of compared gains, in nats


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
        Log Bayes factor of the rectangles against both columns alone, minus the cost of the cuts, in nats; and the
        interval of each cell of both columns, (n_first,) and (n_second,).
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
    """Return the initial interval bounds of a column: each cell is an interval unless the column is cut, then there are
    a few intervals with about equal numbers of cells.
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
        New bounds of both columns.
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
            strips = _Strips(*tables)
            logs = strips.logs(bounds[axis][:-1], bounds[axis][1:])
            for k in range(n_special[axis] + 1, bounds[axis].size - 1):
                lower, upper = bounds[axis][k - 1], bounds[axis][k + 1]
                places, rest = np.arange(lower + 1, upper), logs.sum(axis=1) - logs[:, k - 1 : k + 1].sum(axis=1)
                below, above = (
                    strips.logs(np.full_like(places, lower), places),
                    strips.logs(places, np.full_like(places, upper)),
                )
                # Round the gains: rounding errors depend on the order of rows and must not decide.
                best = int(np.argmax(np.round(strips.gains(rest[:, None] + below + above), _DIGITS_OF_GAINS)))
                bounds[axis][k], logs[:, k - 1], logs[:, k] = places[best], below[:, best], above[:, best]
        if all(np.array_equal(ends, other) for ends, other in zip(bounds, before, strict=True)):
            break
    return bounds


class _Strips:
    """Sums of gradient and curvature over intervals of one column, by interval of the other column and in total.

    The sum over any interval is a difference of two cumulative sums.

    Parameters
    ----------
    gradient, curvature : (n_cells, n_others, n_logits) sums by cell of the column and interval of the other column.
    """

    def __init__(self, gradient: np.ndarray, curvature: np.ndarray) -> None:
        sums = ((gradient, curvature), (gradient.sum(axis=1, keepdims=True), curvature.sum(axis=1, keepdims=True)))
        self._below = [
            [np.append(np.zeros_like(grid[:1]), np.cumsum(grid, axis=0), axis=0) for grid in both] for both in sums
        ]

    def logs(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Return log Bayes factors of the intervals from ``lower`` to ``upper``: for rectangles, and for the column
        alone.

        The result has shape (2, n_intervals, n_variances).
        """
        return np.stack(
            [_log_bayes(pull[upper] - pull[lower], steep[upper] - steep[lower]) for pull, steep in self._below]
        )

    def gains(self, logs: np.ndarray) -> np.ndarray:
        """Return the log Bayes factors of rectangles against the column alone, (...,) in nats, from ``logs`` (2, ...,
        n_variances).
        """
        rectangles, alone = averaged_log_bayes(logs)
        return np.asarray(rectangles - np.maximum(alone, 0.0))


def _cut(gradient: np.ndarray, curvature: np.ndarray, n_special: int) -> tuple[np.ndarray, float]:
    """Cut one column greedily where the gain is largest. Returns the bounds of its intervals, and their cost in nats.

    The gain of a cut is what rectangles gain by it minus what the column alone gains by it.
    """
    n_cells, n_cuts, cost, strips = len(gradient), 0, 0.0, _Strips(gradient, curvature)
    bounds = np.append(np.arange(n_special + 1), n_cells)
    logs = strips.logs(bounds[:-1], bounds[1:]).sum(axis=1)
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
        changes[:, divided] = strips.logs(below, at) + strips.logs(at, above) - strips.logs(below, above)
        gains, next_cost = strips.gains(logs[:, None] + changes), _log_choices(cuts.size, n_cuts + 1)
        gains[is_chosen] = -np.inf
        best = int(np.argmax(gains))
        if gains[best] - next_cost <= strips.gains(logs) - cost:
            break
        logs, cost, n_cuts = logs + changes[:, best], next_cost, n_cuts + 1
        is_chosen[best] = True
        divided = slice(lower[best] - n_special, upper[best] - n_special - 1)
        upper[divided.start : best] = lower[best + 1 : divided.stop] = cuts[best]
    return np.sort(np.append(bounds, cuts[is_chosen])), cost


def _log_bayes(gradient: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """Return log Bayes factors of contributions by rectangle, (n_intervals, n_variances), summed over the other column.

    ``gradient`` and ``curvature`` (n_intervals, n_others, n_logits) are sums by interval of both columns.
    """
    square, share = logit_scale(gradient.shape[-1])
    variances = TRIED_VARIANCES / square
    return share * log_bayes_factors(gradient[..., None], curvature[..., None], variances).sum(axis=(1, 2))


def _log_bayes_of_rectangles(gradient: np.ndarray, curvature: np.ndarray, bounds: Sequence[np.ndarray]) -> float:
    """Return the log Bayes factor of contributions by rectangle against contributions of both columns alone, in
    nats.
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
