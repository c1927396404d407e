"""MODL discretization and value grouping as scikit-learn transformers."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from bayesieve.discretize.class_order import ClassOrder
from bayesieve.discretize.coded_block import CodedBlock, CodedColumn
from bayesieve.discretize.column_coder import ColumnCoder
from bayesieve.discretize.grouping import group_values, read_values
from bayesieve.discretize.intervals import TooManyBlocks, discretize_block, discretize_column, fits_blocks
from bayesieve.discretize.partition import Partition
from bayesieve.table import Column, FeatureLevels
from bayesieve.table.choices import is_choice


class _MODLCoder(ColumnCoder):
    """The option both coders share."""

    def __init__(self, *, method: Literal["greedy", "optimal"] = "greedy", n_jobs: int | None = -1) -> None:
        self.method = method
        self.n_jobs = n_jobs

    def _check_options(self) -> None:
        if not is_choice(self.method, ("greedy", "optimal")):
            raise ValueError(f"method must be 'greedy' or 'optimal', got {self.method!r}.")


class MODLDiscretizer(_MODLCoder):
    """Supervised discretization with the MODL criterion.

    Cuts every numeric column into the intervals of lowest cost:
    log N + log C(N+I-1, I-1) + sum_i [log C(N_i+J-1, J-1) + log(N_i! / prod_j N_ij!)] nats. Only the ranks of the
    values matter, equal values are never separated, and a column of which no cut pays for itself is left in one
    interval. Missing values are the smallest value of all. In a table of mixed columns the numeric ones are coded.

    Parameters
    ----------
    method : {"greedy", "optimal"}, default="greedy"
        ``"greedy"``: bottom-up merges, then splits and boundary moves until nothing falls; columns small enough to be
        solved exactly in a few milliseconds are (with two classes, up to 2200 distinct values once neighbours of one
        class are joined). ``"optimal"``: exact dynamic programming for up to 20,000 of these.
    n_jobs : int or None, default=-1
        Threads; -1 means all cores. Results do not depend on it.

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

    kind = "numeric"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MODLDiscretizer:
        super().fit(X, y, sample_weight)
        self.cut_points_ = [np.array(level.cut_points) for level in self.levels_]
        return self

    fit.__doc__ = ColumnCoder.fit.__doc__

    def fit_column(self, column: Column, order: ClassOrder, *, missing_apart: bool = False) -> CodedColumn:
        values = column.numbers()
        try:
            part = discretize_column(values, order, method=self.method, missing_apart=missing_apart)
        except TooManyBlocks as error:
            raise ValueError(f"Column {column.name!r}: {error}.") from None
        levels = FeatureLevels(
            name=column.name,
            kind="numeric",
            type=column.type,
            cut_points=part.cut_points,
            missing_code=part.missing_code,
            counts=part.counts,
            level_score=part.level_score,
        )
        return CodedColumn(levels, levels.code_numbers(values), part.cost, part.null_cost)

    def takes_blocks(self, order: ClassOrder) -> bool:
        return self.method == "greedy" and fits_blocks(order)

    def fit_block(self, values: np.ndarray, order: ClassOrder, codes: np.ndarray, *, apart: bool) -> CodedBlock:
        return discretize_block(values, order, codes, missing_apart=apart)


class MODLGrouper(_MODLCoder):
    """Supervised grouping of the values of categorical columns with the MODL criterion.

    Puts the values of every column into the groups that cost least: log V + log B(V, G) + sum over groups of the same
    terms as `MODLDiscretizer`. A missing value is a value like any other. In a table of mixed columns the categorical
    ones are coded; a table without any is taken as categorical throughout.

    Parameters
    ----------
    method : {"greedy", "optimal"}, default="greedy"
        Two classes: dynamic programming over the values in order of their class ratio, for both methods (``"greedy"``
        puts values of nearly equal ratio together beyond 2048 distinct ratios). More classes: ``"greedy"`` merges pairs
        of groups, then moves single values (beyond 512 values the rarest are first joined by majority class);
        ``"optimal"`` tries all partitions, for up to 16 values.
    n_jobs : int or None, default=-1
        Threads; -1 means all cores. Results do not depend on it.

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

    kind = "categorical"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MODLGrouper:
        super().fit(X, y, sample_weight)
        self.groups_ = [list(level.groups or ()) for level in self.levels_]
        return self

    fit.__doc__ = ColumnCoder.fit.__doc__

    def fit_column(self, column: Column, order: ClassOrder, *, missing_apart: bool = False) -> CodedColumn:
        categories, values, counts = read_values(column, order)
        missing = len(values) - 1 if values[-1] is None else None
        try:
            part = group_values(counts, method=self.method, missing=missing, apart=missing_apart)
        except TooManyBlocks as error:
            raise ValueError(f"Column {column.name!r}: {error}.") from None
        levels = _grouped_levels(column, values, part)
        return CodedColumn(levels, levels.code_categories(categories), part.cost, part.null_cost)


def _grouped_levels(column: Column, values: list[Any], part: Partition) -> FeatureLevels:
    return FeatureLevels(
        name=column.name,
        kind="categorical",
        type=column.type,
        groups=tuple(tuple(values[v] for v in group) for group in part.groups or ()),
        missing_code=part.missing_code,
        counts=part.counts,
        level_score=part.level_score,
    )
