"""The MODL criteria, which are costs in nats, and the searches for the intervals and groups of least cost.

"published" (intervals: Boulle 2006; groups: Boulle 2005; Boulle 2007, section 2.1, cites both):
    intervals   log N + log C(N+I-1, I-1)                                    + sum_i part_i
    groups      log V + log B(V, G)                                          + sum_g part_g
"sizes", which encodes how many values each interval or group has, and for groups also which ones:
    intervals   log V + log C(V-1, I-1)                                      + sum_i part_i
    groups      log V + log C(V-1, G-1) + log(V! / (G! prod_g v_g!))         + sum_g part_g
part(N_1..N_J) = log C(N+J-1, J-1) + log(N! / prod_j N_j!)

N rows, J classes, I intervals, V distinct values (missing is one), G groups of v_g values; B(V, G) is the number of
partitions of V values into at most G groups. All costs are in nats.

In tables of many columns, each interval or group beyond the first costs `ColumnCoder.price` more nats with the prior
"sizes".

With the prior "published" and two classes, the best groups are runs of values in the order of their class ratios. With
"sizes" they are not: rare values with extreme ratios belong in one group of all rare values. The search therefore
starts with all values of at most t rows in one group, for t = 0, 1, 2, 4, ..., merges groups, moves single values, and
keeps the best result.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, logsumexp, xlogy

Prior = Literal["sizes", "published"]
PRIORS = ("sizes", "published")
Method = Literal["greedy", "optimal"]

_TABLE_LIMIT = 1 << 24  # entries (128 MiB): beyond, counts are treated as real numbers and log n! is computed each time
_MANY_COUNTS = 500  # for more counts, log n! of integers is read from the table
_TOLERANCE = 1e-9  # nats that several intervals or groups must save, more than rounding errors
_EXACT_PARTITIONS = 25  # values up to which the numbers of partitions are summed exactly
ROWS_PER_PART = 2  # least mean number of rows per interval or group with the prior "sizes"

MAX_OPTIMAL_BLOCKS = 20_000
"""Blocks of distinct values up to which ``method="optimal"`` is offered (time grows with their square)."""
_EXACT_WORK = 10_000_000  # blocks^2 x classes up to which columns are solved exactly, in at most about 20 ms
_COARSE_WORK = 1_000_000  # intervals^2 x classes after merges in larger columns: about 2 ms
MOST_INTERVALS = 4097  # largest number of intervals of a search

MAX_OPTIMAL_VALUES = 16
"""Values (with the published prior: those pure in one class joined) up to which ``method="optimal"`` tries all."""
_FEW_VALUES = 8  # with the prior "sizes": number of values up to which all partitions are evaluated
_MAX_UNITS = 128  # like _MAX_PAIRED, but with the prior "sizes", after which single values are moved
_SOME_GROUPS = (2, 3, 4, 5, 6, 8, 11, 16, 24, 40, 64)
_HOPELESS = 20.0  # nats above a useful cost from which the first groups are not improved
_MAX_PAIRED = 512  # values up to which all pairs are compared; rarer ones are joined first
_STRENGTHS = (1e-3, 1e6)  # range of the concentration, in rows, of the prior of the values' class shares
_MAX_ORDERED = 2048  # two classes: number of distinct class ratios beyond which similar ones are joined

_table = np.zeros(0)
_table_lock = threading.Lock()


class TooManyBlocks(ValueError):
    """Error for a column with too many distinct values for the exact search."""


def log_factorials(totals: np.ndarray) -> np.ndarray | None:
    """Return a table of log i! that is long enough for counts up to the sums of ``totals``, shape (n_columns,
    n_classes).

    Returns None for fractional weights and beyond 16 million rows: kernels then compute the values.
    """
    global _table
    if totals.dtype == np.float64 or (n := int(totals.sum(axis=1).max()) + totals.shape[1]) > _TABLE_LIMIT:
        return None
    with _table_lock:
        if _table.size <= n:
            # The table grows by doubling, so that it is rarely rebuilt if it is requested for larger and larger counts.
            size = max(1024, n + 1, min(2 * _table.size, 1 << 17))
            _table = gammaln(np.arange(1.0, size + 1.0))
        return _table


def interval_prior(n: float, max_parts: int, prior: Prior = "published", price: float = 0.0) -> np.ndarray:
    """Return the cost in nats of encoding the bounds of i intervals, for i = 0..max_parts (infinite for 0), shape
    (max_parts + 1,).

    With ``prior`` "published", it is log n + log C(n+i-1, i-1) for bounds among n rows; with "sizes", log n + log
    C(n-1, i-1) for bounds among n distinct values. Each bound costs ``price`` nats more. The binomial coefficient is
    accumulated term by term, so that no digits cancel.
    """
    i = np.arange(1, max_parts)
    costs = np.full(max_parts + 1, np.inf)
    ratios = (n - i) / i if prior == "sizes" else (n + i) / i
    costs[1:] = np.log(n) + np.concatenate([[0.0], np.cumsum(np.log(ratios))])
    costs[2:] += price * i
    return costs


@lru_cache(maxsize=256)  # the grids of many pairs of columns are of few sizes
def log_partitions(n_values: int, max_groups: int) -> np.ndarray:
    """Return the logarithm of the number B(V, g) of partitions of V = ``n_values`` values into at most g groups, for g
    = 0..max_groups.

    It is minus infinity for g = 0.

    B(V, G) = sum_{i=1..G} i^V / i! * sum_{q=0..G-i} (-1)^q / q!. Every term of the outer sum is positive, so the sum of
    exponentials of logarithms has no cancellation for any V. For small V, exact sums of Stirling numbers of the second
    kind are used.
    """
    result = np.full(max_groups + 1, -np.inf)
    if n_values <= _EXACT_PARTITIONS:
        stirling = [1] + [0] * n_values
        for _ in range(n_values):
            stirling = [0] + [stirling[g - 1] + g * stirling[g] for g in range(1, n_values + 1)]
        for g in range(1, max_groups + 1):
            result[g] = np.log(float(sum(stirling[1 : g + 1])))
    else:
        i = np.arange(1, max_groups + 1)
        alternating = np.cumsum((-1.0) ** np.arange(max_groups) * np.exp(-gammaln(np.arange(1.0, max_groups + 1.0))))
        with np.errstate(divide="ignore"):
            log_alternating = np.log(np.maximum(alternating, 0.0))
        terms = n_values * np.log(i) - gammaln(i + 1.0)
        for g in range(1, max_groups + 1):
            result[g] = logsumexp(terms[:g] + log_alternating[:g][::-1])
    result.setflags(write=False)
    return result


def group_prior(n_values: int, max_groups: int, prior: Prior = "published", price: float = 0.0) -> np.ndarray:
    """Return the cost in nats of encoding a partition of V = ``n_values`` values into g groups, for g = 0..max_groups
    (infinite for 0), shape (max_groups + 1,).

    With ``prior`` "published", it is log V + log B(V, g). With "sizes", it is log V + log C(V-1, g-1) + (g-1) price +
    log(V! / g!); the caller then subtracts log v! for each group of v values.
    """
    if prior == "sizes":
        costs = interval_prior(n_values, max_groups, "sizes", price) + gammaln(n_values + 1.0)
        return costs - gammaln(np.arange(1.0, max_groups + 2.0))
    costs = np.log(n_values) + log_partitions(n_values, max_groups)
    costs[0] = np.inf
    return costs


def part_cost(counts: np.ndarray) -> np.ndarray:
    """Return the cost in nats of the class labels in intervals or groups with class counts ``counts``, (...,
    n_classes).

    It is log C(n+J-1, J-1) + log(n! / prod_j n_j!).
    """
    counts = np.asarray(counts, dtype=float)
    n_classes, totals = counts.shape[-1], counts.sum(axis=-1)
    if counts.size > _MANY_COUNTS and np.array_equal(counts, np.floor(counts)):
        whole = counts.astype(np.int64)
        table = log_factorials(whole.reshape(-1, n_classes))
        if table is not None:
            cost: np.ndarray = table[totals.astype(int) + n_classes - 1] - table[n_classes - 1]
            return cost - table[whole].sum(axis=-1)
    return gammaln(totals + n_classes) - gammaln(n_classes) - gammaln(counts + 1.0).sum(axis=-1)


def total_costs(counts: np.ndarray, sizes: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """Return the total MODL cost of each of several columns in nats, shape (n_columns,).

    Parameters
    ----------
    counts : (n_parts, n_classes) class counts of all intervals or groups, column after column.
    sizes : (n_columns,) number of intervals or groups of each column.
    priors : (n_columns,) cost in nats of encoding these partitions.
    """
    column = np.repeat(np.arange(sizes.size), sizes)
    return priors + np.bincount(column, weights=part_cost(counts), minlength=sizes.size)


def interval_costs(
    counts: np.ndarray, sizes: np.ndarray, announced: np.ndarray, prior: Prior = "published", price: float = 0.0
) -> np.ndarray:
    """Return the `total_costs` of intervals, shape (n_columns,).

    ``announced`` (n_columns,) holds the number of positions for bounds in each column: of rows or, with the prior
    "sizes", of distinct values. For ``counts`` and ``sizes``, see `total_costs`; for ``prior`` and ``price``,
    `interval_prior`.
    """
    priors = np.empty(announced.size)
    for n in set(announced.tolist()):
        columns = announced == n
        priors[columns] = interval_prior(n, int(sizes[columns].max()), prior, price)[sizes[columns]]
    return total_costs(counts, sizes, priors)


def pays(costs: np.ndarray, null_costs: Any) -> np.ndarray:
    """Return a mask (n_columns,) of the partitions that cost less than a single interval or group by more than rounding
    errors.

    ``costs`` (n_columns,) are the costs of the partitions, and ``null_costs`` those of a single interval or group, in
    nats.
    """
    return costs < null_costs - _TOLERANCE


def level_scores(costs: np.ndarray, null_costs: np.ndarray) -> np.ndarray:
    """Return 1 - cost / null cost for each column, shape (n_columns,): the share of the null cost that the levels save,
    0 if they save nothing. ``costs`` and ``null_costs`` (n_columns,) are in nats.
    """
    scores = np.zeros_like(costs)
    np.divide(costs, null_costs, out=scores, where=null_costs > 0.0)
    return np.where(null_costs > 0.0, np.maximum(0.0, 1.0 - scores), 0.0)


@dataclass(frozen=True)
class Intervals:
    """Intervals of one or several numeric columns, column after column.

    Attributes
    ----------
    n_levels : int array, shape (n_columns,)
    cut_points : float array, shape (n_levels - 1 of all columns,)
        A first cut point of -inf separates missing values from the rest.
    counts : float array, shape (n_levels of all columns, n_classes)
    missing : int array, shape (n_columns,)
        Level of missing values; -1 if there are none.
    costs, null_costs : float arrays, shape (n_columns,)
        Costs of these intervals, and of a single one, in nats.
    """

    n_levels: np.ndarray
    cut_points: np.ndarray
    counts: np.ndarray
    missing: np.ndarray
    costs: np.ndarray
    null_costs: np.ndarray


@dataclass(frozen=True)
class Groups:
    """Groups of the values of one categorical column.

    Attributes
    ----------
    groups : positions of the values in each group
    counts : (n_groups, n_classes) class counts
    cost, null_cost : cost of these groups, and of a single one, in nats
    values : all values other than missing, if there are more than those that were counted; otherwise None
    """

    groups: tuple[np.ndarray, ...]
    counts: np.ndarray
    cost: float
    null_cost: float
    values: Sequence[Any] | None = None


def summed(values: np.ndarray, line: np.ndarray, n: int | None = None) -> np.ndarray:
    """Sum rows of ``values`` by group; the result has the shape (n, ...).

    ``line`` (n_values,) is the group of each row of ``values``. ``n`` is the number of groups, by default one more than
    the highest in ``line``.
    """
    sums = np.zeros((int(line.max()) + 1 if n is None else n, *values.shape[1:]), dtype=values.dtype)
    np.add.at(sums, line, values)
    return sums


def saved_by_values(counts: np.ndarray) -> float:
    """Return the nats by which separate class shares for each value of a column reduce the cost of the labels.

    ``counts`` are the class counts of the values, shape (n_values, n_classes).
    """
    counts = counts[:, counts.any(axis=0)]  # a class may have no weight
    n_rows, of_class = counts.sum(), counts.sum(axis=0)
    tables = [np.unique(column, return_counts=True) for column in (*counts.T, counts.sum(axis=1))]
    strengths = [*(of_class / n_rows), 1.0]

    def nats(log_strength: float) -> float:
        """Return the negative log likelihood of the labels, in nats up to a constant, if class shares of values have a
        Dirichlet prior whose concentration has the logarithm ``log_strength``.
        """
        terms: Sequence[float] = [
            float(many @ (gammaln(n + share * np.exp(log_strength)) - gammaln(share * np.exp(log_strength))))
            for (n, many), share in zip(tables, strengths, strict=True)
        ]
        return terms[-1] - sum(terms[:-1])

    same = float(xlogy(n_rows, n_rows) - xlogy(of_class, of_class).sum())
    return same - float(minimize_scalar(nats, bounds=np.log(_STRENGTHS), method="bounded").fun)


def search_bounds(cumulated: np.ndarray, prior: np.ndarray, method: Method) -> np.ndarray:
    """Return the positions of the first block of each interval in the best partition of one column, ascending from 0.

    ``cumulated`` (n_blocks + 1, n_classes) are the cumulative class counts of its blocks, and ``prior`` (n_parts + 1,)
    the cost in nats of encoding a partition, by its number of intervals. ``method`` is documented in `search_columns`.
    """
    return search_columns(np.array([0, len(cumulated)]), cumulated, prior, method, np.array([0]), np.array([False]))


def search_columns(
    starts: np.ndarray, cumulated: np.ndarray, prior: np.ndarray, method: Method, columns: np.ndarray, apart: np.ndarray
) -> np.ndarray:
    """Return the positions, in the arrays of `ValueBlocks`, at which the intervals of the best partitions of some
    columns begin. All these columns have the same prior.

    Parameters
    ----------
    starts, cumulated : as in `ValueBlocks`, in which neighbouring values of one class share a block.
    prior : (n_parts + 1,) cost in nats of encoding a partition, by its number of intervals.
    method : ``"greedy"`` (bottom-up merges, then splits and boundary moves until the cost stops falling; small columns
        are solved exactly) or ``"optimal"`` (exact).
    columns : positions of the columns.
    apart : (n_columns,) for each of all columns, whether missing values form a separate interval.
    """
    from bayesieve.discretize._modl_kernels import exact_intervals

    n_blocks = np.diff(starts)[columns] - 1
    if method == "optimal" and n_blocks.max() > MAX_OPTIMAL_BLOCKS:
        raise TooManyBlocks(
            f"{n_blocks.max()} distinct values (neighbours of one class joined) are too many for method='optimal', "
            f"which supports at most {MAX_OPTIMAL_BLOCKS}; use method='greedy'"
        )
    table = log_factorials(cumulated[starts[1:] - 1])
    most_work = np.iinfo(np.int64).max if method == "optimal" else _EXACT_WORK
    first = exact_intervals(columns, starts, apart, cumulated, prior, table, most_work)
    large = columns[np.diff(np.searchsorted(first, starts))[columns] == 0]
    for c in large.tolist():
        start = starts[c] + int(apart[c])
        rest_prior = np.append(prior[:1], prior[2:]) if apart[c] else prior
        bounds = _search_greedily(cumulated[start : starts[c + 1]], rest_prior)
        first = np.concatenate([first, starts[c : c + int(apart[c])], start + bounds])
    return first


def _search_greedily(cumulated: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return the positions of the first block of each interval in a good partition of a column that is too large for
    the exact search.

    ``cumulated`` and ``prior`` are those of `search_bounds`.
    """
    from bayesieve.discretize import _modl_kernels as kernels

    n_blocks, table = len(cumulated) - 1, log_factorials(cumulated[-1:])
    # Greedy merges are accurate enough down to several hundred intervals. The best of the remaining bounds are chosen
    # exactly, and then moved over all blocks.
    target = int((_COARSE_WORK / cumulated.shape[1]) ** 0.5)
    coarse = kernels.join_neighbours(cumulated, table, target)
    chosen = np.append(coarse[search_bounds(cumulated[coarse], prior, "optimal")], n_blocks)
    # Bounds are slightly misplaced if blocks were packed. Moving them a short way first avoids a scan of all blocks for
    # each bound.
    return kernels.improve_bounds(cumulated, chosen, 2 * n_blocks // target, prior, table)[:-1]


def group_values(
    counts: np.ndarray,
    *,
    method: Method = "greedy",
    prior: Prior = "published",
    apart: int | None = None,
    price: float = 0.0,
    least: float = -np.inf,
) -> Groups:
    """Return the best MODL groups of the values of one column.

    Parameters
    ----------
    counts : (n_values, n_classes) class counts of each value.
    method : ``"greedy"`` merges pairs and then moves single values, ``"optimal"`` tries all partitions. With two
        classes and the published prior, both search for runs of values in the order of their class ratio, ``"optimal"``
        always by dynamic programming.
    prior : prior of the MODL criterion; see `group_prior`.
    apart : position of a value that always forms a separate group (unless there is a single group in the end), or None.
    price : additional cost in nats of each group beyond the first, with the prior "sizes".
    least : nats that groups must save to be useful. With "sizes", the search ends early if the first groups save far
        less.
    """
    present = np.flatnonzero(counts.sum(axis=1) > 0)
    n_values = max(1, present.size)  # without rows, there is one empty group
    null_counts = counts.sum(axis=0, dtype=float)[None, :]
    fixed = present[present == (apart if n_values > 1 else None)]
    free = np.setdiff1d(present, fixed)
    if prior == "sizes":
        most = min(n_values, max(2, int(null_counts.sum() / ROWS_PER_PART)))
        announced = np.append(group_prior(n_values, most, prior, price), np.full(n_values - most, np.inf))
    else:
        announced = group_prior(n_values, min(n_values, 1 + max(_MAX_PAIRED, _MAX_ORDERED)))
    null_cost = float(np.log(n_values) + part_cost(null_counts)[0])
    if n_values > 1:
        free_prior = np.append(announced[:1], announced[1 + fixed.size :])
        if prior == "sizes":
            label = _by_sizes(counts[free], free_prior, method, null_cost - least)
        else:
            search = _two_classes if counts.shape[1] == 2 else _more_classes
            label = search(counts[free], _join_pure(counts[free]), free_prior, method)
        # Order the groups by their share of the last class, then by their first value.
        _, lowest, group = np.unique(label, return_index=True, return_inverse=True)
        sums = summed(counts[free].astype(float), group)
        order = np.lexsort((lowest, -sums[:, -1] / sums.sum(axis=1)))
        members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
        groups, sums = [free[members[g]] for g in order], sums[order]
        if fixed.size:
            groups, sums = [*groups, fixed], np.vstack([sums, counts[fixed]])
        cost = total_costs(sums, np.array([len(groups)]), announced[[len(groups)]])
        if prior == "sizes":
            cost -= gammaln([group.size + 1.0 for group in groups]).sum()
        if len(groups) > 1 and pays(cost, null_cost)[0]:
            return Groups(tuple(groups), sums, float(cost[0]), null_cost)
    return Groups((present,), null_counts, null_cost, null_cost)


def _join_pure(counts: np.ndarray) -> np.ndarray:
    """Return initial group numbers of the values, shape (n_values,): values whose rows all have the same class share a
    group. Optimal groups never separate such values.

    ``counts`` (n_values, n_classes) are the class counts of the values.
    """
    label = np.arange(counts.shape[0])
    pure = (counts > 0).sum(axis=1) == 1
    only = counts.argmax(axis=1)
    for j in range(counts.shape[1]):
        members = np.flatnonzero(pure & (only == j))
        if members.size:
            label[members] = members[0]
    return label


def _two_classes(counts: np.ndarray, label: np.ndarray, prior: np.ndarray, method: Method) -> np.ndarray:
    """Return the group number of each value, shape (n_values,), for two classes and the prior "published".

    ``counts`` (n_values, 2) are class counts, ``prior`` is the cost in nats by number of groups, and ``method`` that of
    `group_values`. Groups are runs of values in the order of their class ratio. Values with equal numbers in ``label``
    (n_values,) stay together.
    """
    row = np.unique(label, return_inverse=True)[1]
    table = summed(counts, row)
    ratio = table[:, 1] / table.sum(axis=1, dtype=float)
    if method != "optimal" and len(table) > _MAX_ORDERED:
        # Values with equal class ratios are neighbours and hardly ever separated, so they are joined. If there are too
        # many distinct ratios, runs of neighbouring ratios of about equal frequency are joined.
        _, same = np.unique(ratio, return_inverse=True)
        place = _equal_runs(np.bincount(same, weights=table.sum(axis=1, dtype=float)), _MAX_ORDERED)
        return _two_classes(counts, place[same][row], prior, method)
    ranked = np.argsort(ratio, kind="stable")
    cumulated = np.zeros((len(table) + 1, 2), dtype=table.dtype)
    np.cumsum(table[ranked], axis=0, out=cumulated[1:])
    first = search_bounds(cumulated, prior, "optimal" if len(table) <= _MAX_ORDERED else method)
    group = np.empty(len(table), dtype=int)
    group[ranked] = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(table))))
    return group[row]


def _equal_runs(frequency: np.ndarray, n_runs: int) -> np.ndarray:
    """Cut ordered items into at most ``n_runs`` runs of about equal total frequency. Return the run number of each
    item, shape (n_items,), given their ``frequency`` (n_items,).
    """
    if frequency.size <= n_runs:
        return np.arange(frequency.size)
    middle = np.cumsum(frequency) - frequency / 2
    return np.minimum((middle / frequency.sum() * n_runs).astype(int), n_runs - 1)


def _more_classes(counts: np.ndarray, label: np.ndarray, prior: np.ndarray, method: Method) -> np.ndarray:
    """Return the group number of each value, shape (n_values,), for more than two classes and the prior "published".

    ``counts`` (n_values, n_classes) are class counts, ``prior`` is the cost in nats by number of groups, and ``method``
    that of `group_values`. Values with equal numbers in ``label`` (n_values,) stay together.
    """
    from bayesieve.discretize import _modl_kernels as kernels
    from bayesieve.discretize._modl_kernels import EPSILON

    counts = np.column_stack([counts, np.zeros_like(counts[:, 0])])
    row = np.unique(label, return_inverse=True)[1]
    table = summed(counts, row)
    log_table = log_factorials(counts.sum(axis=0)[None])
    if method == "optimal":
        return _optimal_groups(table, prior, "values (those of one class joined)")[row]
    if len(table) > _MAX_PAIRED:
        label = _join_rare(table)[row]
        row = np.unique(label, return_inverse=True)[1]
        table = summed(counts, row)
    states, totals = kernels.merge_pairs(table.copy(), np.zeros_like(table[:, -1]), log_table)
    best, at = np.inf, 0
    for step, cost in enumerate((totals + prior[len(table) : 0 : -1]).tolist()):
        if cost <= best + EPSILON:  # prefer fewer groups on ties
            best, at = cost, step
    group = states[at].copy()
    kernels.settle_values(table, group, prior, log_table)
    return group[row]


def _join_rare(table: np.ndarray) -> np.ndarray:
    """Return initial numbers of `_MAX_PAIRED` groups, shape (n_values,): frequent values are single, and all others are
    joined by majority class.

    ``table`` (n_values, n_classes + 1) holds the class counts of the values; the last column is not used.
    """
    n_classes = table.shape[1] - 1
    label = n_classes + np.arange(len(table))
    frequency = table[:, :-1].sum(axis=1, dtype=float)
    rare = np.argsort(-frequency, kind="stable")[max(1, _MAX_PAIRED - n_classes) :]
    label[rare] = table[rare, :-1].argmax(axis=1)
    return label


def _by_sizes(counts: np.ndarray, prior: np.ndarray, method: Method, useful: float) -> np.ndarray:
    """Return the group number of each value, shape (n_values,), with the prior "sizes". Values with equal class counts
    stay together.

    ``counts`` (n_values, n_classes) are class counts, ``prior`` is the cost in nats by number of groups, and ``method``
    that of `group_values`. If the first groups cost `_HOPELESS` nats more than ``useful``, the highest cost of useful
    groups, the search ends with a single group. For 3,430 pairs of columns of 32 tables, further search reduced the
    cost by at most 9 nats.
    """
    from bayesieve.discretize._modl_kernels import merge_pairs, settle_values

    if method == "optimal" or len(counts) <= _FEW_VALUES:
        return _optimal_groups(np.column_stack([counts, np.ones_like(counts[:, 0])]), prior, "values")
    log_table = log_factorials(counts.sum(axis=0)[None])
    # Values with equal class counts are interchangeable, so the search works on distinct class counts with
    # multiplicities.
    table, row = np.column_stack([counts, np.ones_like(counts[:, 0])]), np.arange(len(counts))
    if counts.dtype != np.float64 and len(counts) > _MAX_UNITS // 2:
        factors = np.random.default_rng(0).integers(1, 1 << 62, counts.shape[1]) | 1
        products = counts.astype(np.int64) @ factors
        _, first, row, many = np.unique(products, return_index=True, return_inverse=True, return_counts=True)
        table = np.column_stack([counts[first] * many[:, None], many]).astype(counts.dtype)
    frequency = table[:, :-1].sum(axis=1, dtype=float) / table[:, -1]
    alone, hopeless = part_cost(counts).sum() + prior[len(counts)], useful + _HOPELESS
    most_frequent = frequency.max()
    threshold, best, label = 0, np.inf, np.zeros(len(table), dtype=int)
    while threshold < most_frequent:
        # In the first round no value counts as rare; later rounds begin with all values of at most ``threshold`` rows
        # joined.
        place = np.unique(_coarse(table, frequency, threshold), return_inverse=True)[1]
        units = summed(table, place)
        states, totals = merge_pairs(units.copy(), np.zeros_like(units[:, -1]), log_table)
        cheapest = states[np.argmin(totals + prior[len(units) : 0 : -1])]
        is_hard = threshold == 0 and alone > hopeless
        if is_hard and settle_values(table, cheapest[place], prior, log_table) > hopeless:
            return np.zeros(len(counts), dtype=int)
        # Two more starting points: the best partitions found by merging the most similar values regardless of their
        # frequencies.
        unsized = units.copy()
        unsized[:, -1] = 0
        states, totals = merge_pairs(unsized, units[:, -1].copy(), log_table)
        sizes = np.array([k for k in _SOME_GROUPS if k <= len(units)], dtype=np.int64)
        fewer = len(units) - sizes
        for start in (cheapest, *states[fewer[np.argsort(totals[fewer] + prior[sizes])[:2]]]):
            cost = settle_values(units, start, prior, log_table)
            if cost < best:
                best, label = cost, start[place]
        # Double the threshold until it joins further values: smaller steps would repeat the same partition.
        rarer = frequency[frequency > threshold].min()
        threshold = max(1, 2 * threshold)
        while threshold < rarer:
            threshold *= 2
    together = settle_values(table, label, prior, log_table)
    return np.arange(len(counts)) if alone < together else label[row]


def _optimal_groups(counts: np.ndarray, prior: np.ndarray, noun: str) -> np.ndarray:
    """Return the group number of each value, shape (n_values,), in the best of all partitions.

    ``counts`` (n_values, n_classes + 1) are class counts, then the number of values if the prior depends on it,
    otherwise 0. ``prior`` is the cost in nats by number of groups. If there are too many values, the error calls them
    ``noun``.
    """
    from bayesieve.discretize._modl_kernels import optimal_groups

    if len(counts) > MAX_OPTIMAL_VALUES:
        raise TooManyBlocks(
            f"{len(counts)} {noun} are too many for method='optimal' with {counts.shape[1] - 1} classes, which "
            f"supports at most {MAX_OPTIMAL_VALUES}; use method='greedy'"
        )
    table = np.zeros((1 << len(counts), counts.shape[1]), counts.dtype)
    return optimal_groups(counts, table, prior, log_factorials(counts.sum(axis=0)[None]))


def _coarse(table: np.ndarray, frequency: np.ndarray, threshold: float) -> np.ndarray:
    """Return initial group numbers of the values, shape (n_values,): all values of at most ``threshold`` rows share the
    number -1.

    ``table`` (n_values, n_classes + 1) holds class counts and the number of values, ``frequency`` (n_values,) the rows
    per value. Similar values are also joined, until there are at most `_MAX_UNITS` groups.
    """
    label = np.full(len(table), -1)
    frequent = np.flatnonzero(frequency > threshold)
    label[frequent] = np.arange(frequent.size)
    if frequent.size < _MAX_UNITS:
        return label
    # The `_MAX_UNITS // 2` most frequent groups stay separate; others are joined by majority class and its share.
    half = _MAX_UNITS // 2
    rest = frequent[np.argsort(-frequency[frequent], kind="stable")[half:]]
    of_class = table[rest, :-1].astype(float)
    total = of_class.sum(axis=1)
    majority = of_class.argmax(axis=1)
    share = of_class.max(axis=1) / total
    ranked = np.lexsort((np.where(majority == 0, -share, share), majority))
    label[rest[ranked]] = len(table) + _equal_runs(total[ranked], half - 1)
    return label
