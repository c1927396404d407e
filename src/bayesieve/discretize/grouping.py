"""MODL grouping of the values of one categorical column (Boulle 2005, as restated in Boulle 2007, section 2.3).

With the prior by sizes, the order of class ratios does not decide: rare values with extreme ratios belong in a group
that catches all of them. The search joins the values of at most t rows, for t = 0, 1, 2, 4, ..., merges, moves single
values, and keeps the best.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from bayesieve.discretize.criterion import (
    Groups,
    Prior,
    group_prior,
    log_factorials,
    most_parts,
    part_cost,
    pays,
    total_costs,
)
from bayesieve.discretize.intervals import Method, TooManyBlocks, search_bounds

MAX_OPTIMAL_VALUES = 16
"""Values (with the published prior: those pure in one class joined) up to which ``method="optimal"`` tries all."""

_FEW_VALUES = 8  # with the prior by sizes, up to which all partitions are tried anyway
_MAX_UNITS = 128  # with the prior by sizes, the same as the next: single values move afterwards
_SOME_GROUPS = (2, 3, 4, 5, 6, 8, 11, 16, 24, 40, 64)
_MAX_PAIRED = 512  # values up to which all pairs are compared; rarer ones are joined first
_MAX_ORDERED = 2048  # two classes: distinct class ratios up to which every value keeps its own place


def group_values(
    counts: np.ndarray,
    *,
    method: Method = "greedy",
    prior: Prior = "published",
    apart: int | None = None,
    price: float = 0.0,
) -> Groups:
    """Best MODL groups of the values of one column.

    Parameters
    ----------
    counts : (n_values, n_classes) class counts of each value.
    method : ``"greedy"`` merges pairs and then moves single values, ``"optimal"`` tries all partitions. With two
        classes and the published prior both methods take the values in order of their class ratio, ``"optimal"``
        always by dynamic programming.
    prior : how the cost announces groups.
    apart : a value, if any, that always is a group of its own (unless all values end in one group).
    price : nats that each group beyond the first costs more by sizes.
    """
    present = np.flatnonzero(counts.sum(axis=1) > 0)
    n_values = present.size
    null_counts = counts.sum(axis=0, dtype=float)[None, :]
    fixed = present[present == (apart if n_values > 1 else None)]
    free = np.setdiff1d(present, fixed)
    if prior == "sizes":
        most = min(n_values, most_parts(null_counts.sum()))
        announced = np.append(group_prior(n_values, most, prior, price), np.full(n_values - most, np.inf))
    else:
        announced = group_prior(n_values, min(n_values, 1 + max(_MAX_PAIRED, _MAX_ORDERED)))
    null_cost = float(np.log(n_values) + part_cost(null_counts)[0])
    if n_values > 1:
        label = _search(counts[free], np.append(announced[:1], announced[1 + fixed.size :]), method, prior)
        ordered, sums = _ordered(counts[free], label)
        groups = [free[members] for members in ordered]
        if fixed.size:
            groups, sums = [*groups, fixed], np.vstack([sums, counts[fixed]])
        cost = total_costs(sums, np.array([len(groups)]), announced[[len(groups)]])
        if prior == "sizes":
            cost -= gammaln([group.size + 1.0 for group in groups]).sum()
        if len(groups) > 1 and pays(cost, null_cost):
            return Groups(tuple(groups), sums, float(cost[0]), null_cost)
    return Groups((present,), null_counts, null_cost, null_cost)


def _search(counts: np.ndarray, announced: np.ndarray, method: Method, prior: Prior) -> np.ndarray:
    """The group of every value."""
    if prior == "sizes":
        return _by_sizes(counts, announced, method)
    search = _two_classes if counts.shape[1] == 2 else _more_classes
    return search(counts, _join_pure(counts), announced, method)


def _ordered(counts: np.ndarray, label: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Groups as arrays of value numbers, ordered by their share of the last class, then by their lowest value, and
    their class counts.
    """
    _, lowest, group = np.unique(label, return_index=True, return_inverse=True)
    sums = np.zeros((lowest.size, counts.shape[1]))
    np.add.at(sums, group, counts)
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
    """Counts summed per label, and the row of each value in them."""
    _, row = np.unique(label, return_inverse=True)
    table = np.zeros((row.max() + 1, counts.shape[1]), dtype=counts.dtype)
    np.add.at(table, row, counts)
    return table, row


def _table_for(counts: np.ndarray) -> np.ndarray | None:
    return None if counts.dtype == np.float64 else log_factorials(int(counts.sum()) + counts.shape[1])


def _two_classes(counts: np.ndarray, label: np.ndarray, prior: np.ndarray, method: Method) -> np.ndarray:
    """Two classes: the best groups are runs of values in the order of their class ratio, so the interval search
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
    from bayesieve.discretize import _group_kernels as kernels
    from bayesieve.discretize._interval_kernels import EPSILON

    counts = np.column_stack([counts, np.zeros_like(counts[:, 0])])
    table, row = _sums(counts, label)
    log_table = _table_for(counts)
    if method == "optimal":
        _refuse_many(table, "values (those of one class joined)")
        return kernels.optimal_groups(table, prior, log_table)[row]
    if len(table) > _MAX_PAIRED:
        label = _join_rare(table)[row]
        table, row = _sums(counts, label)
    states, totals = kernels.merge_pairs(table, log_table)
    best, at = np.inf, 0
    for step, cost in enumerate((totals + prior[len(table) : 0 : -1]).tolist()):
        if cost <= best + EPSILON:  # fewest groups on ties
            best, at = cost, step
    return kernels.move_values(table, states[at], prior, log_table)[row]


def _refuse_many(table: np.ndarray, what: str) -> None:
    if len(table) > MAX_OPTIMAL_VALUES:
        raise TooManyBlocks(
            f"{len(table)} {what} are too many for method='optimal' with {table.shape[1] - 1} classes, which takes at "
            f"most {MAX_OPTIMAL_VALUES}; use method='greedy'"
        )


def _join_rare(table: np.ndarray) -> np.ndarray:
    """Labels that keep the most frequent values and join the others by majority class, ``_MAX_PAIRED`` labels in
    all.
    """
    n_classes = table.shape[1] - 1
    label = n_classes + np.arange(len(table))
    frequency = table[:, :-1].sum(axis=1, dtype=float)
    rare = np.argsort(-frequency, kind="stable")[max(1, _MAX_PAIRED - n_classes) :]
    label[rare] = table[rare, :-1].argmax(axis=1)
    return label


def _by_sizes(counts: np.ndarray, prior: np.ndarray, method: Method) -> np.ndarray:
    """The prior by sizes: many values with the same counts stay together, as they are interchangeable."""
    from bayesieve.discretize import _group_kernels as kernels

    log_table = _table_for(counts)
    if method == "optimal" or len(counts) <= _FEW_VALUES:
        table = np.column_stack([counts, np.ones_like(counts[:, 0])])
        _refuse_many(table, "values")
        return kernels.optimal_groups(table, prior, log_table)
    table, row = _distinct_counts(counts)
    frequency = table[:, :-1].sum(axis=1, dtype=float) / table[:, -1]
    most_frequent = frequency.max()
    threshold, best, label = 0, np.inf, np.zeros(len(table), dtype=int)
    while threshold < most_frequent:
        units, place = _sums(table, _coarse(table, frequency, threshold))
        for start in _starts(units, prior, log_table):
            group = kernels.settle_values(units, start, prior, log_table)
            cost = kernels.costs_of_groups(units, group[None], prior, log_table)[0]
            if cost < best:
                best, label = cost, group[place]
        # The next threshold that joins more values.
        rarer = frequency[frequency > threshold].min()
        threshold = max(1, 2 * threshold)
        while threshold < rarer:
            threshold *= 2
    label = kernels.settle_values(table, label, prior, log_table)
    together = kernels.costs_of_groups(table, label[None], prior, log_table)[0]
    alone = np.arange(len(counts))
    every = np.column_stack([counts, np.ones_like(counts[:, 0])])
    return alone if kernels.costs_of_groups(every, alone[None], prior, log_table)[0] < together else label[row]


def _starts(units: np.ndarray, prior: np.ndarray, log_table: np.ndarray | None) -> np.ndarray:
    """The best groups met by merging what costs least, and by merging what is most alike whatever the sizes."""
    from bayesieve.discretize import _group_kernels as kernels

    n = len(units)
    states, totals = kernels.merge_pairs(units, log_table)
    first = states[np.argmin(totals + prior[n:0:-1])]
    without = units.copy()
    without[:, -1] = 0
    states, _ = kernels.merge_pairs(without, log_table)
    some = states[[n - k for k in _SOME_GROUPS if k <= n]]
    costs = kernels.costs_of_groups(units, some, prior, log_table)
    return np.concatenate([first[None], some[np.argsort(costs)[:2]]])


def _distinct_counts(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct class counts of values, with the number of values that have them, and the row of each value."""
    if counts.dtype == np.float64 or len(counts) <= _MAX_UNITS // 2:
        return np.column_stack([counts, np.ones_like(counts[:, 0])]), np.arange(len(counts))
    factors = np.random.default_rng(0).integers(1, 1 << 62, counts.shape[1]) | 1
    _, first, row, many = np.unique(
        counts.astype(np.int64) @ factors, return_index=True, return_inverse=True, return_counts=True
    )
    return np.column_stack([counts[first] * many[:, None], many]).astype(counts.dtype), row


def _coarse(table: np.ndarray, frequency: np.ndarray, threshold: float) -> np.ndarray:
    """Labels that join the values of at most ``threshold`` rows, and others that are much alike, ``_MAX_UNITS`` labels
    at most.
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
