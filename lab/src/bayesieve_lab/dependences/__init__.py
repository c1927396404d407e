"""Further measures of dependence: Hoeffding's D, distance correlation, and maximal information.

In private functions, ``groups`` (n_rows,) and ``codes`` (n_others, n_rows) number the distinct values of one column and
of several others in ascending order, so that comparing numbers compares values.
"""

from __future__ import annotations

from numbers import Real

import numpy as np

from bayesieve.counts import ValueDependence
from bayesieve.counts.dependence import mean_ranks, standardized

_MOST_GIBIBYTES = 1  # of the costs of the columns of a grid


class HoeffdingD(ValueDependence):
    """30 D of Hoeffding (1948), which detects any kind of dependence; at least 0, and 0 for fewer than five rows.

    The dependence of a column on itself is 1 without ties, and less with ties. Tied values get mean ranks. A row that
    is tied with another one in one column counts one half as lower, and one quarter if it is tied in both, as in
    ``Hmisc::hoeffd`` of R.

    References
    ----------
    Hoeffding (1948), A non-parametric test of independence, Annals of Mathematical Statistics 19 (4); Hollander & Wolfe
    (1973), Nonparametric statistical methods, section 8.7 (ties).
    """

    name = "hoeffding"
    title = "Hoeffding's D"

    def of_columns(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return D of each column of ``left`` (n_left, n_rows) and of ``right`` (n_right, n_rows), shape (n_left,
        n_right).

        ``weights`` are row weights (n_rows,), or None.
        """
        w = np.ones(left.shape[1]) if weights is None else weights
        n = w.sum()
        if n < 5.0:
            return np.zeros((len(left), len(right)))
        others, codes = mean_ranks(right, weights)
        values = np.empty((len(left), len(right)))
        for at, (ranks, groups) in enumerate(zip(*mean_ranks(left, weights), strict=True)):
            both = _below(groups, codes, np.broadcast_to(w, (len(right), 1, w.size)))[:, 0] + 0.75  # less itself, and 1
            lower, upper = (ranks - 1.0) * (others - 1.0), (ranks - 2.0) * (others - 2.0)
            sums = [(part * w).sum(axis=1) for part in ((both - 1) * (both - 2), lower * upper, upper * (both - 1))]
            values[at] = (n - 2) * (n - 3) * sums[0] + sums[1] - 2 * (n - 2) * sums[2]
        return np.clip(30.0 * values / (n * (n - 1) * (n - 2) * (n - 3) * (n - 4)), 0.0, 1.0)


class DistanceCorrelation(ValueDependence):
    """Distance correlation of Szekely et al. (2007), from 0 to 1; in the limit of many rows, 0 only for independent
    columns.

    The time grows with n log n for n rows.

    References
    ----------
    Szekely, Rizzo & Bakirov (2007), Measuring and testing dependence by correlation of distances, Annals of Statistics
    35 (6), definition 5; Huo & Szekely (2016), Fast computing for distance covariance, Technometrics 58 (4).
    """

    name = "distance_correlation"
    title = "distance correlation"

    def of_columns(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return the distance correlation of each column of ``left`` and of ``right``, shape (n_left, n_right).

        ``left`` and ``right`` have one row for each column and n_rows entries in it; ``weights`` are row weights, or
        None.
        """
        share = np.full(left.shape[1], 1.0 / left.shape[1]) if weights is None else weights / weights.sum()
        x, y = (standardized(columns, weights) / np.sqrt(share) for columns in (left, right))
        groups, codes = mean_ranks(left, None)[1], mean_ranks(right, None)[1]
        x_means, y_means = _mean_distances(x, groups, share), _mean_distances(y, codes, share)
        values = np.empty((len(x), len(y)))
        for at, (one, order, means) in enumerate(zip(x, groups, x_means, strict=True)):
            parts = share * np.stack([np.ones_like(y), np.broadcast_to(one, y.shape), y, one * y], axis=1)
            signed = _signed(order, codes, parts)
            products = one * y * signed[:, 0] - y * signed[:, 1] - one * signed[:, 2] + signed[:, 3]
            values[at] = products @ share + (means @ share) * (y_means @ share) - 2.0 * y_means @ (means * share)
        self_distances = [_own_distances(z, z_means, share) for z, z_means in ((x, x_means), (y, y_means))]
        most = np.sqrt(np.outer(*self_distances))
        squares = np.divide(values, most, out=np.zeros_like(values), where=most > 0)
        return np.sqrt(np.clip(squares, 0.0, 1.0))


class MaximalInformation(ValueDependence):
    """Maximal information coefficient of Reshef et al. (2011), from 0 to 1.

    Over all grids of up to n^alpha cells on two columns of n rows, it is the largest mutual information divided by the
    logarithm of the grid's shorter side. One side of a grid is cut into bins of equal size and the other one optimally,
    and vice versa, as in the approximation ApproxMaxMI. The time for a pair grows with n^(3 alpha), 1 ms for 300 rows.
    Row weights are not supported.

    Parameters
    ----------
    alpha : float
        Exponent of the number of cells, above 0 and up to 1.
    clumps : float
        Number of candidate cuts of the optimal side, per bin.

    References
    ----------
    Reshef et al. (2011), Detecting novel associations in large data sets, Science 334 (6062), with its supporting
    material, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve import pair_statistics
    >>> from bayesieve_lab.dependences import MaximalInformation
    >>> angle = np.linspace(0, 6, 200)
    >>> X, y = np.stack([angle, np.sin(angle), np.cos(angle)], axis=1), angle > 3
    >>> pair_statistics(X, y, statistic=MaximalInformation(), features=[0, 1], others=[2]).round(2).tolist()
    [[1.0], [0.62]]
    """

    name = "maximal_information"
    title = "maximal information coefficient"
    weighs_rows = False

    def __init__(self, alpha: float = 0.6, clumps: float = 15.0) -> None:
        for option, value, most in (("alpha", alpha, 1.0), ("clumps", clumps, np.inf)):
            number = isinstance(value, Real) and not isinstance(value, bool)
            if not (number and 0 < float(value) <= most and np.isfinite(float(value))):
                limit = " and up to 1" if most == 1.0 else ""
                raise ValueError(f"{option} must be a number above 0{limit}, got {value!r:.80}.")
        self.alpha = alpha
        self.clumps = clumps

    def of_columns(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return the maximal information coefficient of each column of ``left`` and of ``right``, shape (n_left,
        n_right).

        ``left`` and ``right`` have one row for each column and n_rows entries in it; ``weights`` are ignored.
        """
        from bayesieve_lab.dependences._grid_kernels import grid_information

        n = left.shape[1]
        cells = max(float(n) ** self.alpha, 4.0)
        gibibytes = 8 * min(n, self.clumps * cells / 2) ** 2 / 2**30
        if gibibytes > _MOST_GIBIBYTES:
            raise ValueError(
                f"The maximal information coefficient of {n:,} rows takes {gibibytes:,.1f} GiB for each thread; choose "
                "another measure, such as 'spearman', or MaximalInformation(alpha=0.4)."
            )
        logs = np.arange(n + 1) * np.log(np.maximum(np.arange(n + 1), 1.0))
        unit = 2.0 ** (np.ceil(np.log2(max(logs[-1], 1.0))) - 59)  # sums of four of the logarithms fit an integer
        steps = np.rint(logs / unit).astype(np.int64)
        groups, others = mean_ranks(left, None)[1], mean_ranks(right, None)[1]
        orders = np.argsort(others, axis=1, kind="stable")
        values = np.empty((len(left), len(right)))
        for of_one, line in zip(groups, values, strict=True):
            order = np.argsort(of_one, kind="stable")
            grid_information(order, of_one, orders, others, cells, float(self.clumps), steps, unit, line)
        return np.minimum(values, 1.0)

    def __repr__(self) -> str:
        return f"MaximalInformation(alpha={self.alpha!r}, clumps={self.clumps!r})"


def _below(groups: np.ndarray, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return weighted counts of the rows that are lower than each row in two columns, (n_others, n_values, n_rows).

    The first column is ``groups`` (n_rows,), the second each of ``codes`` (n_others, n_rows). Weights are ``values``,
    in the shape of the result. A tie in one column counts one half, in both a quarter.
    """
    from bayesieve_lab.dependences._value_kernels import sum_below

    order = np.argsort(groups, kind="stable")
    sums = np.empty(values.shape)
    sum_below(order, groups, codes, np.ascontiguousarray(values), sums)
    return sums


def _signed(groups: np.ndarray, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return, for each row i, the sum over all rows j of values[..., j] sign(x_i - x_j) sign(y_i - y_j).

    x is ``groups`` (n_rows,), y each of ``codes`` (n_others, n_rows). ``values`` and the result have the shape
    (n_others, n_values, n_rows).
    """
    left = np.stack([_below_in_one(groups, of_other) for of_other in values])
    right = np.stack([_below_in_one(code, of_other) for code, of_other in zip(codes, values, strict=True)])
    total = values.sum(axis=2, keepdims=True)
    return 4.0 * _below(groups, codes, values) - 2.0 * left - 2.0 * right + total


def _below_in_one(groups: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return, for each row, sums of ``values`` over the rows with a lower number in ``groups``, (n_values, n_rows).

    ``groups`` has shape (n_rows,), ``values`` that of the result. Ties count one half.
    """
    sums = np.stack([np.bincount(groups, part) for part in values])
    return (np.cumsum(sums, axis=1) - sums / 2.0)[:, groups]


def _mean_distances(columns: np.ndarray, groups: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the mean distance of every row from all rows in each column, (n_columns, n_rows).

    ``columns`` and ``groups``, both (n_columns, n_rows), are the values and the numbers of distinct values; ``share``
    (n_rows,) are row weights that sum to 1.
    """
    means = np.empty(columns.shape)
    for column, group, mean in zip(columns, groups, means, strict=True):
        below, sum_below = _below_in_one(group, np.stack([share, share * column]))
        mean[:] = column * (2.0 * below - 1.0) - 2.0 * sum_below + column @ share
    return means


def _own_distances(columns: np.ndarray, means: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the squared distance variance of each column, (n_columns,).

    ``columns`` (n_columns, n_rows) are the values, ``means`` the result of `_mean_distances`, and ``share`` (n_rows,)
    row weights that sum to 1.
    """
    squares = 2.0 * (columns**2 @ share - (columns @ share) ** 2)
    return np.maximum(squares + (means @ share) ** 2 - 2.0 * means**2 @ share, 0.0)
