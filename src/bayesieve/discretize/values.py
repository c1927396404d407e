"""Categories as they are, one level per value: always, or where this says more than groups do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, xlogy

from bayesieve.discretize.column_coder import GroupCoder
from bayesieve.discretize.criterion import log_partitions, total_costs
from bayesieve.discretize.modl import MODLGrouper
from bayesieve.discretize.partition import Groups
from bayesieve.discretize.value_counts import ValueCounts

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
        # The criterion for groups, with every value in a group of its own.
        n_values = present.size
        prior = np.log(n_values) + log_partitions(n_values, min(n_values, _MOST_COUNTED))[-1]
        cost = total_costs(counts, np.array([n_values]), np.array([prior]))
        null_cost = total_costs(counts.sum(axis=0)[None, :], np.array([1]), np.array([np.log(n_values)]))
        return Groups(tuple(present[:, None]), counts, float(cost[0]), float(null_cost[0]))


class GroupsOrValues(MODLGrouper):
    """Groups as `MODLGrouper` finds them, or one level per value where the values of a column differ by degrees.

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
    """Nats of the labels that shares of the classes by value save; ``counts`` (n_values, n_classes)."""
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
