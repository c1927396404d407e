"""MODL discretization and value grouping as scikit-learn transformers; categories as they are, one level per value."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Literal, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, xlogy

from bayesieve.discretize.column_coder import ColumnCoder, GroupCoder, IntervalCoder
from bayesieve.discretize.criterion import Groups, Prior, check_prior, log_partitions, price_of_cuts, total_costs
from bayesieve.discretize.grouping import group_values
from bayesieve.discretize.intervals import search_intervals
from bayesieve.discretize.value_counts import ValueBlocks, ValueCounts
from bayesieve.parts import is_choice

_LEAST_JOINED = 61
"""Distinct values from which neighbours of one class stay together with the prior by sizes. It falls beyond half as
many intervals as values, so that few values may be worth an interval each.
"""


class _MODLCoder(ColumnCoder):
    """Options of both coders."""

    def __init__(
        self,
        *,
        method: Literal["greedy", "optimal"] = "greedy",
        prior: Prior = "sizes",
        n_jobs: int | None = -1,
    ) -> None:
        self.method = method
        self.prior = prior
        self.n_jobs = n_jobs

    def _check_options(self) -> None:
        if not is_choice(self.method, ("greedy", "optimal")):
            raise ValueError(f"method must be 'greedy' or 'optimal', got {self.method!r}.")
        check_prior(self.prior)

    def in_table(self, n_columns: int, n_rows: float) -> Self:
        coder = copy(self)
        coder.price = price_of_cuts(n_columns, n_rows) if self.prior == "sizes" else 0.0
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
