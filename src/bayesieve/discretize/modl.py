"""MODL discretization and value grouping as scikit-learn transformers; categories as they are, one level per value.

Intervals are those of Boulle (2006), groups those of Boulle (2005); Boulle (2007), section 2.1, uses both. With the
prior by sizes, the order of class ratios does not decide which values are grouped: rare values with extreme ratios
belong in a group that catches all of them. The search joins the values of at most t rows, for t = 0, 1, 2, 4, ...,
merges, moves single values, and keeps the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, xlogy

from bayesieve.discretize import criterion
from bayesieve.discretize.column_coder import ColumnCoder, GroupCoder, IntervalCoder
from bayesieve.discretize.criterion import Groups, Prior, TooManyBlocks
from bayesieve.discretize.value_counts import ValueBlocks, ValueCounts

Method = Literal["greedy", "optimal"]

MAX_OPTIMAL_BLOCKS = 20_000
"""Blocks of distinct values up to which ``method="optimal"`` is offered (time grows with their square)."""
_EXACT_WORK = 10_000_000  # blocks^2 x classes up to which every column is solved exactly, in some 20 ms at most
_COARSE_WORK = 1_000_000  # the same for the intervals that merges leave of larger columns: about 2 ms
_MOST_INTERVALS = 4097  # that are looked for

MAX_OPTIMAL_VALUES = 16
"""Values (with the published prior: those pure in one class joined) up to which ``method="optimal"`` tries all."""
_FEW_VALUES = 8  # with the prior by sizes, up to which all partitions are tried anyway
_MAX_UNITS = 128  # with the prior by sizes, the same as the next: single values move afterwards
_SOME_GROUPS = (2, 3, 4, 5, 6, 8, 11, 16, 24, 40, 64)
_HOPELESS = 20.0  # nats beyond a useful cost from which the groups of a first search are not improved
_MAX_PAIRED = 512  # values up to which all pairs are compared; rarer ones are joined first
_MAX_ORDERED = 2048  # two classes: distinct class ratios up to which every value keeps its own place

_LEAST_JOINED = 61
"""Distinct values from which neighbours of one class stay together with the prior by sizes. It falls beyond half as
many intervals as values, so that few values may be worth an interval each.
"""


@dataclass(kw_only=True, eq=False, repr=False)
class _MODLCoder(ColumnCoder):
    """Options of both coders."""

    method: Method = "greedy"
    prior: Prior = "sizes"
    n_jobs: int | None = -1

    def in_table(self, n_columns: int, n_rows: float) -> Self:
        coder = copy(self)
        coder.price = criterion.price_of_cuts(n_columns, n_rows) if self.prior == "sizes" else 0.0
        return coder


class MODLDiscretizer(_MODLCoder, IntervalCoder):
    """Supervised discretization with the MODL criterion.

    Cuts every numeric column into the intervals of lowest cost: that of announcing I intervals, plus
    sum_i [log C(N_i+J-1, J-1) + log(N_i! / prod_j N_ij!)] nats for the labels of J classes in intervals of N_i rows.
    Only the ranks of the values matter, equal values are never separated, and a column without a cut that pays for
    itself is left in one interval. Missing values are the smallest value of all. In a table of mixed columns, only the
    numeric ones are coded.

    Parameters
    ----------
    method : {"greedy", "optimal"}, default="greedy"
        ``"greedy"``: bottom-up merges, then splits and boundary moves until nothing falls; columns small enough to be
        solved exactly in a few milliseconds are (with two classes, up to 2200 distinct values once neighbours of one
        class are joined). ``"optimal"``: exact dynamic programming for up to 20,000 of these.
    prior : {"sizes", "published"}, default="sizes"
        How intervals are announced. ``"published"``: log N + log C(N+I-1, I-1), bounds anywhere between N rows.
        ``"sizes"``: log V + log C(V-1, I-1), bounds between V distinct values, of which missing is one: finer where
        rows are many and values few. It looks for as many intervals as there are pairs of rows at most.

    Attributes
    ----------
    cut_points_ : list of float arrays
        Ascending cut points of each numeric column; level i is (cut[i-1], cut[i]]. A first cut of -inf separates
        missing values.
    costs_, null_costs_ : float arrays, shape (n_columns,)
        Cost of the intervals and of the single interval, in nats.
    level_scores_ : float array, shape (n_columns,)
        1 - cost / null cost: 0 for a column in one level, near 1 for a column that separates the classes.
    levels_ : sequence of FeatureLevels

    References
    ----------
    Boulle (2006), MODL: a Bayes optimal discretization method for continuous attributes, Machine Learning 65.
    Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, JMLR 8, section 2.

    Examples
    --------
    >>> from bayesieve import MODLDiscretizer
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MODLDiscretizer().fit(X, y).cut_points_[0].round(2).tolist()
    [5.45, 6.15]
    """

    must_pay = True

    @property
    def joins(self) -> int:  # type: ignore[override]
        return _LEAST_JOINED if self.prior == "sizes" else 0

    def find_starts(self, blocks: ValueBlocks, apart: bool) -> np.ndarray:
        return search_intervals(blocks, self.method, prior=self.prior, apart=apart, price=self.price)


class MODLGrouper(_MODLCoder, GroupCoder):
    """Supervised grouping of the values of categorical columns with the MODL criterion.

    Puts the V values of every column into the groups that cost least: that of announcing G groups, plus the sum over
    groups of the same terms as `MODLDiscretizer`. A missing value is a value like any other. In a table of mixed
    columns, only the categorical ones are coded; a table without any is read as categorical throughout.

    Parameters
    ----------
    method : {"greedy", "optimal"}, default="greedy"
        ``"greedy"`` merges pairs of groups, then moves single values, and with ``prior="sizes"`` starts again with all
        values of at most 0, 1, 2, 4, ... rows in one group. ``"optimal"`` tries all partitions, for up to 16 values.
        With two classes and the published prior, both use dynamic programming over the values in order of their class
        ratio.
    prior : {"sizes", "published"}, default="sizes"
        How groups are announced. ``"published"``: log V + log B(V, G), B(V, G) the number of partitions of V values
        into at most G groups, which costs nearly V log G. ``"sizes"``: log V + log C(V-1, G-1) +
        log(V! / (G! prod_g v_g!)), first how many values v_g each group has, then which ones: a group that catches all
        rare values costs only the choice of the others. It looks for as many groups as there are pairs of rows at most.

    Attributes
    ----------
    groups_ : list of lists of tuples
        Per column, the values of each group; None stands for missing.
    costs_, null_costs_, level_scores_, levels_
        As for `MODLDiscretizer`.

    References
    ----------
    Boulle (2005), A Bayes optimal approach for partitioning the values of categorical attributes, JMLR 6.

    Examples
    --------
    >>> from bayesieve import MODLGrouper
    >>> X = [["red"], ["red"], ["green"], ["green"], ["blue"], ["blue"]] * 20
    >>> y = [1, 1, 1, 1, 0, 0] * 20
    >>> MODLGrouper().fit(X, y).groups_[0]
    [('green', 'red'), ('blue',)]
    """

    def fit_values(self, table: ValueCounts, *, apart: bool) -> Groups:
        missing = len(table.values) if apart else None
        return group_values(table.with_missing, method=self.method, prior=self.prior, apart=missing, price=self.price)


_MOST_COUNTED = 500  # groups up to which partitions are counted; more cost more than any feature could repay
LEAST_VALUES = 30  # of a column whose values may stay apart
_LEAST_MORE = 0.01  # that values save, as a share of what groups do: those are easier to read
_STRENGTHS = (1e-3, 1e6)  # rows that the shares of the column count for


class ValueCoder(GroupCoder):
    """One level per distinct value, missing values included."""

    supervised = False

    def fit_values(self, table: ValueCounts, *, apart: bool) -> Groups:
        counts = table.with_missing
        present = np.flatnonzero(counts.sum(axis=1) > 0)  # not in rows of weight 0 only
        counts = counts[present].astype(float)
        # The criterion for groups, with every value in its own group.
        n_values = present.size
        prior = np.log(n_values) + criterion.log_partitions(n_values, min(n_values, _MOST_COUNTED))[-1]
        cost = criterion.total_costs(counts, np.array([n_values]), np.array([prior]))
        null_cost = criterion.total_costs(counts.sum(axis=0)[None, :], np.array([1]), np.array([np.log(n_values)]))
        return Groups(tuple(present[:, None]), counts, float(cost[0]), float(null_cost[0]))


class GroupsOrValues(MODLGrouper):
    """Groups as `MODLGrouper` finds them, or one level per value if the values of a column differ by degrees.

    Values win if they save clearly more nats of the labels than groups do. The shares of the classes of a value are
    then drawn around those of the column, from a Dirichlet distribution whose strength is the most probable one
    (empirical Bayes); to announce it costs as much as a number of groups, log V.
    """

    def fit_values(self, table: ValueCounts, *, apart: bool) -> Groups:
        groups = super().fit_values(table, apart=apart)
        counts = table.with_missing
        present = np.flatnonzero(counts.sum(axis=1) > 0)
        if not LEAST_VALUES <= present.size > len(groups.groups):
            return groups
        counts = counts[present].astype(float)
        cost = groups.null_cost + np.log(present.size) - saved_by_values(counts)
        if groups.cost - cost <= _LEAST_MORE * (groups.null_cost - groups.cost):
            return groups
        return Groups(tuple(present[:, None]), counts, float(cost), groups.null_cost)


def saved_by_values(counts: np.ndarray) -> float:
    """Return nats of the labels that shares of the classes by value save; ``counts`` (n_values, n_classes)."""
    counts = counts[:, counts.any(axis=0)]  # a class may have no weight
    n_rows, of_class = counts.sum(), counts.sum(axis=0)
    tables = [np.unique(column, return_counts=True) for column in (*counts.T, counts.sum(axis=1))]
    strengths = [*(of_class / n_rows), 1.0]

    def nats(log_strength: float) -> float:
        terms: Sequence[float] = [
            float(many @ (gammaln(n + share * np.exp(log_strength)) - gammaln(share * np.exp(log_strength))))
            for (n, many), share in zip(tables, strengths, strict=True)
        ]
        return terms[-1] - sum(terms[:-1])

    same = float(xlogy(n_rows, n_rows) - xlogy(of_class, of_class).sum())
    return same - float(minimize_scalar(nats, bounds=np.log(_STRENGTHS), method="bounded").fun)


def search_intervals(
    blocks: ValueBlocks, method: Method, *, prior: Prior = "published", apart: bool = False, price: float = 0.0
) -> np.ndarray:
    """Return rows of ``blocks`` at which the best MODL intervals begin.

    Parameters
    ----------
    blocks : the columns, neighbours of one class joined.
    method : ``"greedy"`` (bottom-up merges, then splits and boundary moves until nothing falls; columns small enough
        are solved exactly) or ``"optimal"`` (exact).
    prior : how the cost announces intervals.
    apart : False: missing is the smallest value and may share the lowest interval. True: missing values, if there
        are any, always are a separate interval.
    price : nats that each bound costs more.
    """
    most = int(np.diff(blocks.starts).max())
    if method != "optimal":
        most = min(most, _MOST_INTERVALS)
    announced, intervals = blocks.announced(prior), []
    for n, total in set(zip(announced.tolist(), blocks.totals.tolist(), strict=True)):
        columns = np.flatnonzero((announced == n) & (blocks.totals == total))
        parts = min(most, int(n), criterion.most_parts(total)) if prior == "sizes" else most
        costs = criterion.interval_prior(n, parts, prior, price)
        apart_here = blocks.has_missing & apart
        intervals.append(_search_columns(blocks.starts, blocks.cumulated, costs, method, columns, apart_here))
    return np.sort(np.concatenate(intervals))


def search_bounds(cumulated: np.ndarray, prior: np.ndarray, method: Method) -> np.ndarray:
    """Return first blocks of the best intervals of one column, given the (blocks + 1, classes) cumulated
    class counts.
    """
    return _search_columns(np.array([0, len(cumulated)]), cumulated, prior, method, np.array([0]), np.array([False]))


def _search_columns(
    starts: np.ndarray, cumulated: np.ndarray, prior: np.ndarray, method: Method, columns: np.ndarray, apart: np.ndarray
) -> np.ndarray:
    from bayesieve.discretize._modl_kernels import exact_intervals

    n_blocks = np.diff(starts)[columns] - 1
    if method == "optimal" and n_blocks.max() > MAX_OPTIMAL_BLOCKS:
        raise TooManyBlocks(
            f"{n_blocks.max()} distinct values (neighbours of one class joined) are too many for method='optimal', "
            f"which takes at most {MAX_OPTIMAL_BLOCKS}; use method='greedy'"
        )
    table = _log_factorials(cumulated[starts[1:] - 1])
    most_work = np.iinfo(np.int64).max if method == "optimal" else _EXACT_WORK
    first = exact_intervals(columns, starts, apart, cumulated, prior, table, most_work)
    large = columns[np.diff(np.searchsorted(first, starts))[columns] == 0]
    for c in large.tolist():
        start = starts[c] + int(apart[c])
        own_prior = np.append(prior[:1], prior[2:]) if apart[c] else prior
        own = _search_greedily(cumulated[start : starts[c + 1]], own_prior)
        first = np.concatenate([first, starts[c : c + int(apart[c])], start + own])
    return first


def _search_greedily(cumulated: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return first blocks of good intervals of a column too large for the exact search."""
    from bayesieve.discretize import _modl_kernels as kernels

    n_blocks, table = len(cumulated) - 1, _log_factorials(cumulated[-1:])
    # Merges are trusted down to several hundred intervals only: the best of their bounds are chosen exactly, then all
    # blocks have their say in the moves.
    target = int((_COARSE_WORK / cumulated.shape[1]) ** 0.5)
    coarse = kernels.join_neighbours(cumulated, table, target)
    chosen = np.append(coarse[search_bounds(cumulated[coarse], prior, "optimal")], n_blocks)
    # Joined blocks leave every bound a little off its place: put right first, this spares a scan of all blocks each.
    return kernels.improve_bounds(cumulated, chosen, 2 * n_blocks // target, prior, table)[:-1]


def _log_factorials(totals: np.ndarray) -> np.ndarray | None:
    """Return a table for whole class totals, (n_columns, n_classes); None for weights."""
    if totals.dtype == np.float64:
        return None
    return criterion.log_factorials(int(totals.sum(axis=1).max()) + totals.shape[1])


def group_values(
    counts: np.ndarray,
    *,
    method: Method = "greedy",
    prior: Prior = "published",
    apart: int | None = None,
    price: float = 0.0,
    least: float = -np.inf,
) -> Groups:
    """Return best MODL groups of the values of one column.

    Parameters
    ----------
    counts : (n_values, n_classes) class counts of each value.
    method : ``"greedy"`` merges pairs and then moves single values, ``"optimal"`` tries all partitions. With two
        classes and the published prior both methods take the values in order of their class ratio, ``"optimal"``
        always by dynamic programming.
    prior : how the cost announces groups.
    apart : a value, if any, that always is a separate group (unless all values end in one group).
    price : nats that each group beyond the first costs more by sizes.
    least : nats that groups have to save to be of use. By sizes, the search ends early if its first groups save far
        less.
    """
    present = np.flatnonzero(counts.sum(axis=1) > 0)
    n_values = present.size
    null_counts = counts.sum(axis=0, dtype=float)[None, :]
    fixed = present[present == (apart if n_values > 1 else None)]
    free = np.setdiff1d(present, fixed)
    if prior == "sizes":
        most = min(n_values, criterion.most_parts(null_counts.sum()))
        announced = np.append(criterion.group_prior(n_values, most, prior, price), np.full(n_values - most, np.inf))
    else:
        announced = criterion.group_prior(n_values, min(n_values, 1 + max(_MAX_PAIRED, _MAX_ORDERED)))
    null_cost = float(np.log(n_values) + criterion.part_cost(null_counts)[0])
    if n_values > 1:
        own = np.append(announced[:1], announced[1 + fixed.size :])
        if prior == "sizes":
            label = _by_sizes(counts[free], own, method, null_cost - least)
        else:
            search = _two_classes if counts.shape[1] == 2 else _more_classes
            label = search(counts[free], _join_pure(counts[free]), own, method)
        ordered, sums = _ordered(counts[free], label)
        groups = [free[members] for members in ordered]
        if fixed.size:
            groups, sums = [*groups, fixed], np.vstack([sums, counts[fixed]])
        cost = criterion.total_costs(sums, np.array([len(groups)]), announced[[len(groups)]])
        if prior == "sizes":
            cost -= gammaln([group.size + 1.0 for group in groups]).sum()
        if len(groups) > 1 and criterion.pays(cost, null_cost):
            return Groups(tuple(groups), sums, float(cost[0]), null_cost)
    return Groups((present,), null_counts, null_cost, null_cost)


def _ordered(counts: np.ndarray, label: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Return groups as arrays of value numbers, ordered by their share of the last class, then by their lowest value,
    and their class counts.
    """
    _, lowest, group = np.unique(label, return_index=True, return_inverse=True)
    sums = criterion.summed(counts.astype(float), group)
    order = np.lexsort((lowest, -sums[:, -1] / sums.sum(axis=1)))
    members = np.argsort(group, kind="stable")
    groups = np.split(members, np.cumsum(np.bincount(group))[:-1])
    return [groups[g] for g in order], sums[order]


def _join_pure(counts: np.ndarray) -> np.ndarray:
    """Start labels: values seen with one and the same class only share a label (an optimal partition never separates
    them).
    """
    label = np.arange(counts.shape[0])
    pure = (counts > 0).sum(axis=1) == 1
    only = counts.argmax(axis=1)
    for j in range(counts.shape[1]):
        members = np.flatnonzero(pure & (only == j))
        if members.size:
            label[members] = members[0]
    return label


def _sums(counts: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return counts summed per label, and the row of each value in them."""
    _, row = np.unique(label, return_inverse=True)
    return criterion.summed(counts, row), row


def _two_classes(counts: np.ndarray, label: np.ndarray, prior: np.ndarray, method: Method) -> np.ndarray:
    """Return two classes: the best groups are runs of values in the order of their class ratio, so the interval search
    applies.
    """
    table, row = _sums(counts, label)
    ratio = table[:, 1] / table.sum(axis=1, dtype=float)
    if method != "optimal" and len(table) > _MAX_ORDERED:
        # Values with the same ratio are neighbours anyway and are hardly ever separated: one place for each distinct
        # ratio, then one for each of as many equally frequent runs as can be compared.
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
    """Run number of each item when items in this order are cut into at most ``n_runs`` runs of about the same
    frequency.
    """
    if frequency.size <= n_runs:
        return np.arange(frequency.size)
    middle = np.cumsum(frequency) - frequency / 2
    return np.minimum((middle / frequency.sum() * n_runs).astype(int), n_runs - 1)


def _more_classes(counts: np.ndarray, label: np.ndarray, prior: np.ndarray, method: Method) -> np.ndarray:
    from bayesieve.discretize import _modl_kernels as kernels
    from bayesieve.discretize._modl_kernels import EPSILON

    counts = np.column_stack([counts, np.zeros_like(counts[:, 0])])
    table, row = _sums(counts, label)
    log_table = _log_factorials(counts.sum(axis=0)[None])
    if method == "optimal":
        return _optimal_groups(table, prior, "values (those of one class joined)")[row]
    if len(table) > _MAX_PAIRED:
        label = _join_rare(table)[row]
        table, row = _sums(counts, label)
    states, totals = kernels.merge_pairs(table.copy(), np.zeros_like(table[:, -1]), log_table)
    best, at = np.inf, 0
    for step, cost in enumerate((totals + prior[len(table) : 0 : -1]).tolist()):
        if cost <= best + EPSILON:  # fewest groups on ties
            best, at = cost, step
    group = states[at].copy()
    _settle(table, group, prior, log_table)
    return group[row]


def _join_rare(table: np.ndarray) -> np.ndarray:
    """Return labels that keep the most frequent values and join the others by majority class, ``_MAX_PAIRED`` labels in
    all.
    """
    n_classes = table.shape[1] - 1
    label = n_classes + np.arange(len(table))
    frequency = table[:, :-1].sum(axis=1, dtype=float)
    rare = np.argsort(-frequency, kind="stable")[max(1, _MAX_PAIRED - n_classes) :]
    label[rare] = table[rare, :-1].argmax(axis=1)
    return label


def _by_sizes(counts: np.ndarray, prior: np.ndarray, method: Method, useful: float) -> np.ndarray:
    """Return the prior by sizes: many values with the same counts stay together, as they are interchangeable.

    Groups of a cost beyond ``useful`` need not be the best: all values are one group if the first groups cost
    `_HOPELESS` nats more. In 3,430 pairs of columns of 32 tables, the rest of the search saved 9 nats at most.
    """
    from bayesieve.discretize._modl_kernels import merge_pairs

    every = np.column_stack([counts, np.ones_like(counts[:, 0])])
    if method == "optimal" or len(counts) <= _FEW_VALUES:
        return _optimal_groups(every, prior, "values")
    log_table = _log_factorials(counts.sum(axis=0)[None])
    table, row = _distinct_counts(counts)
    frequency = table[:, :-1].sum(axis=1, dtype=float) / table[:, -1]
    alone, hopeless = criterion.part_cost(counts).sum() + prior[len(counts)], useful + _HOPELESS
    most_frequent = frequency.max()
    threshold, best, label = 0, np.inf, np.zeros(len(table), dtype=int)
    while threshold < most_frequent:
        units, place = _sums(table, _coarse(table, frequency, threshold))
        states, totals = merge_pairs(units.copy(), np.zeros_like(units[:, -1]), log_table)
        cheapest = states[np.argmin(totals + prior[len(units) : 0 : -1])]
        if threshold == 0 and alone > hopeless and _settle(table, cheapest[place], prior, log_table) > hopeless:
            return np.zeros(len(counts), dtype=int)
        for start in (cheapest, *_groups_alike(units, prior, log_table)):
            cost = _settle(units, start, prior, log_table)
            if cost < best:
                best, label = cost, start[place]
        # The next threshold that joins more values.
        rarer = frequency[frequency > threshold].min()
        threshold = max(1, 2 * threshold)
        while threshold < rarer:
            threshold *= 2
    together = _settle(table, label, prior, log_table)
    return np.arange(len(counts)) if alone < together else label[row]


def _settle(counts: np.ndarray, group: np.ndarray, prior: np.ndarray, log_table: np.ndarray | None) -> float:
    """Improve the groups, which are overwritten; their cost."""
    from bayesieve.discretize._modl_kernels import settle_values

    table = np.zeros((min(len(counts), prior.size - 1) + 1, counts.shape[1]), counts.dtype)
    return settle_values(counts, group, table, prior, log_table)


def _optimal_groups(counts: np.ndarray, prior: np.ndarray, noun: str) -> np.ndarray:
    """Return the best of all partitions; ``noun`` names what is partitioned in the message about too many."""
    from bayesieve.discretize._modl_kernels import optimal_groups

    if len(counts) > MAX_OPTIMAL_VALUES:
        raise TooManyBlocks(
            f"{len(counts)} {noun} are too many for method='optimal' with {counts.shape[1] - 1} classes, which takes "
            f"at most {MAX_OPTIMAL_VALUES}; use method='greedy'"
        )
    table = np.zeros((1 << len(counts), counts.shape[1]), counts.dtype)
    return optimal_groups(counts, table, prior, _log_factorials(counts.sum(axis=0)[None]))


def _groups_alike(units: np.ndarray, prior: np.ndarray, log_table: np.ndarray | None) -> np.ndarray:
    """Return the two best groups met by merging what is most alike, whatever the sizes."""
    from bayesieve.discretize._modl_kernels import merge_pairs

    unsized = units.copy()
    unsized[:, -1] = 0
    states, totals = merge_pairs(unsized, units[:, -1].copy(), log_table)
    kept = np.array([k for k in _SOME_GROUPS if k <= len(units)], dtype=np.int64)
    fewer = len(units) - kept
    return states[fewer[np.argsort(totals[fewer] + prior[kept])[:2]]]


def _distinct_counts(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct class counts of values, with the number of values that have them, and the row of
    each value.
    """
    if counts.dtype == np.float64 or len(counts) <= _MAX_UNITS // 2:
        return np.column_stack([counts, np.ones_like(counts[:, 0])]), np.arange(len(counts))
    factors = np.random.default_rng(0).integers(1, 1 << 62, counts.shape[1]) | 1
    _, first, row, many = np.unique(
        counts.astype(np.int64) @ factors, return_index=True, return_inverse=True, return_counts=True
    )
    return np.column_stack([counts[first] * many[:, None], many]).astype(counts.dtype), row


def _coarse(table: np.ndarray, frequency: np.ndarray, threshold: float) -> np.ndarray:
    """Return labels that join the values of at most ``threshold`` rows, and others that are much alike, ``_MAX_UNITS``
    labels at most.
    """
    label = np.full(len(table), -1)
    kept = np.flatnonzero(frequency > threshold)
    label[kept] = np.arange(kept.size)
    if kept.size < _MAX_UNITS:
        return label
    # The most frequent half of the labels keep their place; the others are joined by majority class and its share.
    half = _MAX_UNITS // 2
    rest = kept[np.argsort(-frequency[kept], kind="stable")[half:]]
    of_class = table[rest, :-1].astype(float)
    total = of_class.sum(axis=1)
    majority = of_class.argmax(axis=1)
    share = of_class.max(axis=1) / total
    ranked = np.lexsort((np.where(majority == 0, -share, share), majority))
    label[rest[ranked]] = len(table) + _equal_runs(total[ranked], half - 1)
    return label
