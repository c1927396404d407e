"""Categories as they are: one level per value."""

from __future__ import annotations

import numpy as np

from bayesieve.discretize.column_coder import GroupCoder
from bayesieve.discretize.criterion import log_partitions, total_costs
from bayesieve.discretize.partition import Groups
from bayesieve.discretize.value_counts import ValueCounts

_MOST_COUNTED = 500  # groups up to which partitions are counted; more cost more than any feature could repay


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
