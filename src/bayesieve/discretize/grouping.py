"""MODL grouping of the values of one categorical column (Boulle 2005, as restated in Boulle 2007, section 2.3)."""

from __future__ import annotations

import numpy as np

from bayesieve.discretize.criterion import group_prior, log_factorials, part_cost, pays, total_costs
from bayesieve.discretize.intervals import Method, TooManyBlocks, search_bounds
from bayesieve.discretize.partition import Groups

MAX_OPTIMAL_VALUES = 16
"""Values (those pure in one class joined) up to which ``method="optimal"`` is offered with three classes and more."""

_MAX_PAIRED = 512  # values up to which all pairs are compared; rarer ones are joined first
_MAX_ORDERED = 2048  # two classes: distinct class ratios up to which every value keeps its own place


def group_values(counts: np.ndarray, *, method: Method = "greedy", apart: int | None = None) -> Groups:
    """Best MODL groups of the values of one column.

    Parameters
    ----------
    counts : (n_values, n_classes) class counts of each value.
    method : with two classes both methods take the values in order of their class ratio, ``"optimal"`` always by
        dynamic programming; with more classes ``"greedy"`` merges pairs and then moves single values, ``"optimal"``
        tries all partitions.
    apart : a value, if any, that always is a group of its own (unless all values end in one group).
    """
    present = np.flatnonzero(counts.sum(axis=1) > 0)
    n_values = present.size
    null_counts = counts.sum(axis=0, dtype=float)[None, :]
    fixed = present[present == (apart if n_values > 1 else None)]
    free = np.setdiff1d(present, fixed)
    prior = group_prior(n_values, min(n_values, 1 + max(_MAX_PAIRED, _MAX_ORDERED)))
    null_cost = float(prior[1] + part_cost(null_counts)[0])
    if n_values > 1:
        shifted = np.append(prior[:1], prior[1 + fixed.size :])
        groups = [free[members] for members in _search(counts[free], shifted, method)] + ([fixed] if fixed.size else [])
        sums = np.array([counts[group].sum(axis=0, dtype=float) for group in groups])
        cost = total_costs(sums, np.array([len(groups)]), prior[[len(groups)]])
        if len(groups) > 1 and pays(cost, null_cost):
            return Groups(tuple(groups), sums, float(cost[0]), null_cost)
    return Groups((present,), null_counts, null_cost, null_cost)


def _search(counts: np.ndarray, prior: np.ndarray, method: Method) -> list[np.ndarray]:
    """Groups as arrays of value numbers, ordered by their share of the last class, then by their lowest value."""
    n_classes = counts.shape[1]
    label = _join_pure(counts)
    if n_classes == 2:
        label = _two_classes(counts, label, prior, method)
    else:
        label = _more_classes(counts, label, prior, method)
    groups = [np.flatnonzero(label == g) for g in np.unique(label)]

    def rank(group: np.ndarray) -> tuple[float, int]:
        total = counts[group].sum(axis=0, dtype=float)
        return -total[-1] / total.sum(), int(group[0])

    return sorted(groups, key=rank)


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

    table, row = _sums(counts, label)
    log_table = _table_for(counts)
    if method == "optimal":
        if len(table) > MAX_OPTIMAL_VALUES:
            raise TooManyBlocks(
                f"{len(table)} values (those of one class joined) are too many for method='optimal' "
                f"with {counts.shape[1]} classes, which takes at most {MAX_OPTIMAL_VALUES}; use method='greedy'"
            )
        return kernels.optimal_groups(table, prior, log_table)[row]
    if len(table) > _MAX_PAIRED:
        label = _join_rare(table)[row]
        table, row = _sums(counts, label)
    group = kernels.merge_pairs(table, prior, log_table)
    return kernels.move_values(table, group, prior, log_table)[row]


def _join_rare(table: np.ndarray) -> np.ndarray:
    """Labels that keep the most frequent values and join the others by majority class, ``_MAX_PAIRED`` labels in
    all.
    """
    n_classes = table.shape[1]
    label = n_classes + np.arange(len(table))
    frequency = table.sum(axis=1, dtype=float)
    rare = np.argsort(-frequency, kind="stable")[max(1, _MAX_PAIRED - n_classes) :]
    label[rare] = table[rare].argmax(axis=1)
    return label
