"""Coders of columns: base classes, MODL intervals and groups, and the fit of all columns of a table."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from bayesieve.discretize.modl import (
    MOST_INTERVALS,
    PRIORS,
    ROWS_PER_PART,
    Groups,
    Intervals,
    Method,
    Prior,
    TooManyBlocks,
    group_values,
    interval_costs,
    interval_prior,
    level_scores,
    log_partitions,
    part_cost,
    pays,
    saved_by_values,
    search_columns,
    total_costs,
)
from bayesieve.discretize.value_counts import LEAST_HASHED, ClassOrder, ValueBlocks, ValueCounts
from bayesieve.engine import IN_MEMORY, Engine, map_in_threads
from bayesieve.parts import Allowed, check_allowed, with_shared_docs
from bayesieve.table import FeatureLevels, Table, Target, as_sample_weight, as_target
from bayesieve.table.cautions import Caution, issue, warn_caller
from bayesieve.table.columns import Kind
from bayesieve.table.frames import fit_table, new_table, split_columns
from bayesieve.table.levels import TableLevels
from bayesieve.table.target import refuse_identifiers, require_target
from bayesieve.words import named

_BLOCK_CELLS = 1 << 18  # numbers in a block, 2 MiB: it stays in the cache
PARALLEL_ROWS = 20_000  # number of rows from which threads are worthwhile
_PARALLEL_CELLS = 2_000_000  # or number of values, in tables of fewer rows
_FREE_CUTS = 5.0  # accepted number of uninformative columns that are cut by chance
_SAME_COST = 1e-9  # nats
_MOST_BLOCK_ROWS = 20_000  # with more rows, processing one column at a time is as fast

CODER_OPTIONS = {
    "method": Allowed.choice("greedy", "optimal"),
    "prior": Allowed.choice(*PRIORS),
    "missing": Allowed.choice("level", "ignore"),
    "unseen": Allowed("be 'ignore'", ("ignore",)),
    "n_bins": Allowed("be a positive whole number up to 1,000,000", (), Integral, 1, 1e6),
    "n_quantiles": Allowed("be a whole number of 2 or more", (), Integral, 2),
}
"""Rules for the constructor parameters of all coders."""


class LevelsCoder(TransformerMixin, BaseEstimator):
    """Base class of estimators that fit levels (``levels_``) and code columns by them."""

    supervised: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        with_shared_docs(cls)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the coded columns, shape (n_features,). ``input_features`` is ignored; scikit-learn
        passes it.
        """
        check_is_fitted(self, "levels_")
        return np.asarray([level.name for level in self.levels_], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "levels_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        every_kind = {"allow_nan": True, "string": True, "sparse": True, "categorical": True}
        return replace(
            tags,
            input_tags=replace(tags.input_tags, **every_kind),
            target_tags=replace(tags.target_tags, required=self.supervised),
            transformer_tags=replace(tags.transformer_tags, preserves_dtype=[]),  # codes come out whatever goes in
        )


class TableCoder(LevelsCoder):
    """Base class of encoders of whole tables."""

    levels_: TableLevels
    unseen_counts_: np.ndarray
    classes_: np.ndarray
    rules_: Any  # the `TableRules` of the last fit
    marks_: dict[str, Any]
    library_: str

    def to_frame(self) -> Any:
        """Return a dataframe with one row per feature and level: label, number of rows, and number of rows of each
        class.

        The dataframe library is that of the training rows.
        """
        from bayesieve.table.frames import results_frame

        check_is_fitted(self, "levels_")
        rows = []
        for level in self.levels_:
            for code, counts in enumerate(np.asarray(level.counts, dtype=float)):
                of_classes = {f"count_{c}": count for c, count in zip(self.classes_, counts, strict=True)}
                rows.append({**self._describe_level(level, code), "count": counts.sum(), **of_classes})
        return results_frame(rows, self.library_, infer_schema_length=None)

    @abstractmethod
    def _describe_level(self, level: FeatureLevels, code: int) -> dict[str, Any]:
        """Return the columns of `to_frame` before the counts as a dict, for the level of a feature with the code
        ``code``.
        """

    def _add_unseen(self, unseen: np.ndarray) -> None:
        """Add ``unseen`` (n_features,), numbers of values without a level, to ``unseen_counts_``."""
        if not self.unseen_counts_.flags.writeable:  # read-only in a model that joblib has mapped from a file
            self.unseen_counts_ = self.unseen_counts_.copy()
        # Without a lock, concurrent calls may lose counts, but never codes.
        self.unseen_counts_ += unseen


class ColumnCoder(LevelsCoder):
    """Base class of estimators that code columns of one kind, numeric or categorical.

    In a table of mixed columns, columns of the other kind are skipped with a warning, and ``get_feature_names_out``
    returns only the names of the coded columns.
    """

    kind: ClassVar[Kind]
    is_alone: ClassVar[bool] = False
    """Whether it codes one column only."""
    price: float = 0.0
    """Nats that each level beyond the first costs."""

    def in_table(self, n_columns: int, n_rows: float) -> Self:
        """Return a copy of the coder for a table with these numbers of columns and rows. MODL coders raise the cost of
        levels in wide tables.
        """
        return self

    @with_shared_docs
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the levels of every column.

        Returns
        -------
        self
        """
        check_allowed(self.get_params(deep=False), CODER_OPTIONS)
        X, y, sample_weight = split_columns(X, y, sample_weight)
        table = fit_table(self, X)
        _, _, order = read_classes(self, table, y, sample_weight)
        self._positions = self._coded_columns(table)
        self._warn_of_others(table)
        columns, n_jobs = table.select(self._positions), getattr(self, "n_jobs", None)
        fitted, _ = fit_columns(columns, [self] * columns.n_columns, order, "share", n_jobs)
        self.levels_ = fitted.levels
        self.costs_, self.null_costs_ = fitted.costs, fitted.null_costs
        self.level_scores_ = fitted.levels.level_scores
        self._set_attributes()
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the codes of the columns.

        Returns
        -------
        array of unsigned integers, shape (n_rows, n_columns)
            Values not seen in training, which have no level, get the number of levels as their code.
        """
        check_is_fitted(self, "levels_")
        table = new_table(self, X)
        return code_columns(table.select(self._positions), self.levels_, None)[0].T

    def _coded_columns(self, table: Table) -> list[int]:
        """Return the positions of the columns of this coder's kind. A grouper reads all columns as categorical if there
        are none.
        """
        positions = [i for i, kind in enumerate(table.kinds()) if kind == self.kind]
        if not positions and self.kind == "numeric":
            raise ValueError(
                f"{type(self).__name__} found no numeric column among the columns of X; use MODLGrouper for categories "
                "or TableEncoder for mixed tables."
            )
        return positions or list(range(table.n_columns))

    def _warn_of_others(self, table: Table) -> None:
        """Issue a caution that names the columns of the table that are not coded."""
        others = [table.names[i] for i in np.setdiff1d(np.arange(table.n_columns), self._positions).tolist()]
        if others:
            columns = "column is" if len(others) == 1 else "columns are"
            sentence = (
                f"{type(self).__name__} codes only {self.kind} columns; {len(others):,} {columns} skipped: "
                f"{named(others)}. TableEncoder codes both kinds."
            )
            issue([Caution("left out", tuple(others), sentence)])

    @abstractmethod
    def _set_attributes(self) -> None:
        """Set the fitted attributes that follow from ``levels_``."""


class IntervalCoder(ColumnCoder):
    """Base class of discretizers. A subclass chooses the rows of `ValueBlocks` at which intervals begin."""

    kind = "numeric"
    joins: int = 0
    """Fewest distinct values of a column for which neighbouring values of one class are taken together."""
    prior: Prior = "published"
    """How the costs of intervals announce them."""
    special: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    """Special values, which have separate levels; see `FeatureLevels`."""
    separates_missing: ClassVar[bool] = False
    """Whether missing values never share a block with others."""
    must_pay: ClassVar[bool] = False
    """Whether a column whose intervals cost no less than a single one gets a single one."""

    @abstractmethod
    def find_starts(self, blocks: ValueBlocks, apart: bool) -> np.ndarray:
        """Return the ascending positions, in the arrays of ``blocks``, at which intervals begin. The first position of
        each column may be omitted.

        Parameters
        ----------
        blocks : values of the columns.
        apart : whether missing values have a separate interval.
        """

    def fit_blocks(self, blocks: ValueBlocks, *, apart: bool) -> Intervals:
        """Return the intervals of all columns with their costs. If ``apart`` is True, missing values get a separate
        interval.

        If the class attribute ``must_pay`` is True, a column gets a single interval unless several cost less.
        """
        starts = np.union1d(self.find_starts(blocks, apart), blocks.starts[:-1])
        announced = blocks.n_values.astype(float) if self.prior == "sizes" else blocks.totals
        null_costs = interval_costs(blocks.class_totals, np.ones_like(blocks.n_values), announced, self.prior)
        while True:
            n_levels, counts = blocks.level_counts(starts)
            costs = interval_costs(counts, n_levels, announced, self.prior, self.price)
            useless = (n_levels > 1) & ~pays(costs, null_costs)
            if not self.must_pay or not useless.any():
                break
            # Columns whose intervals do not cost less than a single interval get a single one.
            starts = np.union1d(starts[~np.repeat(useless, n_levels)], blocks.starts[:-1])
        inner = np.ones(starts.size, dtype=bool)
        inner[np.cumsum(n_levels) - n_levels] = False
        missing = np.where(blocks.has_missing, 0, -1)
        return Intervals(n_levels, blocks.midpoints(starts[inner]), counts, missing, costs, null_costs)

    def _set_attributes(self) -> None:
        self.cut_points_ = [np.array(levels.cut_points) for levels in self.levels_]


class GroupCoder(ColumnCoder):
    """Base class of coders of categorical columns; a subclass groups their values."""

    kind = "categorical"

    @abstractmethod
    def fit_values(self, values: Sequence[Any], counts: np.ndarray, *, apart: bool) -> Groups:
        """Return groups of the values of a column.

        Parameters
        ----------
        values : distinct values that occur in rows, without missing values. Groups may also contain values that only a
            user's rule names; `Groups.values` then lists all values.
        counts : (n_values + 1, n_classes) class counts of the values; the last row is that of missing values.
        apart : whether missing values form a separate group.
        """

    def _set_attributes(self) -> None:
        self.groups_ = [list(levels.groups or ()) for levels in self.levels_]


_LEAST_JOINED = 61
"""Distinct values from which neighbours of one class stay together with the prior by sizes. It falls beyond half as
many intervals as values, so that few values may be worth an interval each.
"""


@dataclass(kw_only=True, eq=False, repr=False)
class _MODLCoder(ColumnCoder):
    """Base class of `MODLDiscretizer` and `MODLGrouper` with their common options."""

    method: Method = "greedy"
    prior: Prior = "sizes"
    n_jobs: int | None = -1

    def in_table(self, n_columns: int, n_rows: float) -> Self:
        """Return the coder for a table of K columns and N rows: with the prior "sizes", each interval or group beyond
        the first costs 2 log(min(K, N) / (5 sqrt(N))) nats more, or 0 if that is negative.

        Two levels of a column with two values cost no more to encode than one. An uninformative column is then cut with
        a probability of about 1 / sqrt(N), because the cost of the labels grows by log(N) / 2 with a further level.
        Chance thus cuts about min(K, N) / sqrt(N) columns (N rows cannot distinguish more than N columns). Up to five
        such columns are accepted; beyond that, an extra cost c leaves a share exp(-c) of them. The constants 5 and 2
        were chosen by cross-validation (benchmarks/results/priors.md).
        """
        coder = copy(self)
        by_chance = min(n_columns, n_rows) / (_FREE_CUTS * math.sqrt(n_rows))
        coder.price = max(0.0, 2.0 * math.log(by_chance)) if self.prior == "sizes" else 0.0
        return coder


class MODLDiscretizer(_MODLCoder, IntervalCoder):
    """Supervised discretization with the MODL criterion (minimum description length).

    Every numeric column is cut into the intervals of lowest cost: the cost of encoding the bounds of I intervals, plus
    sum_i [log C(N_i+J-1, J-1) + log(N_i! / prod_j N_ij!)] nats for the labels of J classes in intervals of N_i rows.
    Only the ranks of the values matter, equal values are never separated, and a column in which no cut lowers the cost
    stays in one interval. A missing value counts as the smallest value. In a table of mixed columns, only the numeric
    ones are coded.

    Parameters
    ----------
    method : {"greedy", "optimal"}, default="greedy"
        ``"greedy"``: bottom-up merges, then splits and boundary moves until the cost stops falling; columns that take a
        few milliseconds are solved exactly (with two classes, up to 2200 distinct values after joining neighbours of
        one class). ``"optimal"``: exact dynamic programming for up to 20,000 such values.
    prior : {"sizes", "published"}, default="sizes"
        Cost of the bounds of I intervals. ``"published"``: log N + log C(N+I-1, I-1), for bounds anywhere between N
        rows. ``"sizes"``: log V + log C(V-1, I-1), for bounds between V distinct values (missing is one); it gives
        finer intervals if there are many rows and few values. There are at most N/2 intervals.

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
    Boulle (2007), Compression-based averaging of selective naive Bayes classifiers, JMLR 8, section 2.1.

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
        """Fewest distinct values from which neighbouring values of one class stay together."""
        return _LEAST_JOINED if self.prior == "sizes" else 0

    def find_starts(self, blocks: ValueBlocks, apart: bool) -> np.ndarray:
        most = int(np.diff(blocks.starts).max())
        most = most if self.method == "optimal" else min(most, MOST_INTERVALS)
        announced = blocks.n_values.astype(float) if self.prior == "sizes" else blocks.totals
        starts = []
        for n, total in set(zip(announced.tolist(), blocks.totals.tolist(), strict=True)):
            columns = np.flatnonzero((announced == n) & (blocks.totals == total))
            # With the prior "sizes", intervals of one value each cost nothing to encode. For columns of distinct
            # numbers, such as identifiers, they would cost as little as a single interval with balanced classes, but be
            # useless for new rows. Their number is therefore limited.
            parts = min(most, int(n), max(2, int(total / ROWS_PER_PART))) if self.prior == "sizes" else most
            costs = interval_prior(n, parts, self.prior, self.price)
            is_apart = blocks.has_missing & apart
            starts.append(search_columns(blocks.starts, blocks.cumulated, costs, self.method, columns, is_apart))
        return np.concatenate(starts)


class MODLGrouper(_MODLCoder, GroupCoder):
    """Supervised grouping of the values of categorical columns with the MODL criterion (minimum description length).

    The V values of every column are put into the groups of lowest cost: the cost of announcing G groups, plus the sum
    over groups of the same terms as in `MODLDiscretizer`. A missing value is a value like any other. In a table of
    mixed columns, only the categorical ones are coded; in a table without any, all columns are read as categorical.

    Parameters
    ----------
    method : {"greedy", "optimal"}, default="greedy"
        ``"greedy"`` merges pairs of groups, then moves single values, and with ``prior="sizes"`` starts again with all
        values of at most 0, 1, 2, 4, ... rows in one group. ``"optimal"`` tries all partitions, for up to 16 values.
        With two classes and the published prior, both use dynamic programming over the values in order of their class
        ratio.
    prior : {"sizes", "published"}, default="sizes"
        Cost of a partition into G groups. ``"published"``: log V + log B(V, G), with B(V, G) the number of partitions
        of V values into at most G groups, about V log G nats. ``"sizes"``: log V + log C(V-1, G-1) + log(V! / (G!
        prod_g v_g!)), for the number of values v_g of each group, and then the values; with one large group of rare
        values, only the choice of the other values costs nats. There are at most N/2 groups.

    Attributes
    ----------
    groups_ : list of lists of tuples
        Per column, the values of each group; None stands for missing.
    costs_, null_costs_, level_scores_, levels_
        See `MODLDiscretizer`.

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

    def fit_values(self, values: Sequence[Any], counts: np.ndarray, *, apart: bool) -> Groups:
        missing = len(values) if apart else None
        return group_values(counts, method=self.method, prior=self.prior, apart=missing, price=self.price)


_MOST_COUNTED = 500  # number of groups up to which partitions are counted; more groups never save their cost
LEAST_VALUES = 30  # least number of values of a column for one level per value
_LEAST_MORE = 0.01  # share by which values must save more than groups, which are easier to read


class ValueCoder(GroupCoder):
    """Coder that gives every distinct value a separate level, missing values included."""

    supervised = False

    def fit_values(self, values: Sequence[Any], counts: np.ndarray, *, apart: bool) -> Groups:
        present = np.flatnonzero(counts.sum(axis=1) > 0)  # not in rows of weight 0 only
        counts = counts[present].astype(float)
        # The criterion is only evaluated, with each value in a separate group; there is no search.
        n_values = present.size
        prior = np.log(n_values) + log_partitions(n_values, min(n_values, _MOST_COUNTED))[-1]
        cost = total_costs(counts, np.array([n_values]), np.array([prior]))
        null_cost = total_costs(counts.sum(axis=0)[None, :], np.array([1]), np.array([np.log(n_values)]))
        return Groups(tuple(present[:, None]), counts, float(cost[0]), float(null_cost[0]))


class GroupsOrValues(MODLGrouper):
    """Coder that groups values like `MODLGrouper`, or gives every value a level if that encodes the labels in fewer
    nats.

    Single values must save clearly more nats than groups. Their class shares are assumed to come from a Dirichlet
    distribution around the class shares of the column, whose concentration is estimated (empirical Bayes). The estimate
    costs log V nats for a column of V values, as the number of groups does.
    """

    def fit_values(self, values: Sequence[Any], counts: np.ndarray, *, apart: bool) -> Groups:
        groups = super().fit_values(values, counts, apart=apart)
        present = np.flatnonzero(counts.sum(axis=1) > 0)
        if not LEAST_VALUES <= present.size > len(groups.groups):
            return groups
        counts = counts[present].astype(float)
        cost = groups.null_cost + np.log(present.size) - saved_by_values(counts)
        if groups.cost - cost <= _LEAST_MORE * (groups.null_cost - groups.cost):
            return groups
        return Groups(tuple(present[:, None]), counts, float(cost), groups.null_cost)


def read_classes(
    coder: LevelsCoder, table: Table, y: Any, sample_weight: Any
) -> tuple[Target, np.ndarray | None, ClassOrder]:
    """Return the target, the row weights, shape (n_rows,) or None if all are 1, and the order of rows by class.

    If the target is optional for ``coder`` and missing, all rows have one class.

    Raises
    ------
    ValueError
        If a needed target is missing, lengths differ, or all weights are zero.
    """
    weights = as_sample_weight(sample_weight, table.n_rows)
    if y is None and not coder.supervised:
        target = Target(np.zeros(table.n_rows, dtype=np.uint8), np.zeros(1, dtype=int))
    else:
        require_target(coder, y)
        target = as_target(y)
        refuse_identifiers(target)
        check_consistent_length(target.codes, np.empty(table.n_rows))
        target = target if weights is None else target.counted(weights)
    order = ClassOrder.of(target.codes, len(target.classes), weights)
    if order.total == 0:
        raise ValueError("All values of sample_weight are zero; give some rows a weight above 0.")
    return target, weights, order


@dataclass(frozen=True)
class FittedColumns:
    """Fitted levels of all columns, with their MODL costs in nats, ``costs``, and the costs of a single level,
    ``null_costs``; both have the shape (n_columns,).
    """

    levels: TableLevels
    costs: np.ndarray
    null_costs: np.ndarray


def fit_columns(
    table: Table,
    coders: Sequence[ColumnCoder],
    order: ClassOrder,
    missing: str,
    n_jobs: int | None,
    engine: Engine = IN_MEMORY,
) -> tuple[FittedColumns, np.ndarray]:
    """Fit the levels of every column of a table in memory, and return them with the codes, (n_columns, n_rows).

    Parameters
    ----------
    table : columns of the training rows.
    coders : coder of each column.
    order : order of the rows by class.
    missing : see `TableEncoder`; "share" lets missing values share a level with the lowest values.
    n_jobs : threads.
    engine : storage of the codes.
    """
    from bayesieve.table._kernels import code_numbers

    # Threads write the codes of a column before the levels of all columns are fitted, so codes are bytes at first.
    # Columns with over 255 levels are kept apart and need a wider array.
    codes = engine.array((table.n_columns, table.n_rows), np.uint8)
    wide: dict[int, np.ndarray] = {}

    def fit(run: range) -> tuple[Intervals, FeatureLevels | None]:
        """Fit the levels of one column, or of a run of numeric columns."""
        coder, column = coders[run.start], table.column(run.start)
        if isinstance(coder, GroupCoder):
            categories = column.categories()
            counts = ValueCounts.of_categories(categories, order)
            summary, levels = _fit_groups(coder, column.name, column.type, counts, missing)
            of_column = levels.code_categories(categories)
            if of_column.dtype == np.uint8:
                codes[run.start] = of_column
            else:
                wide[run.start] = of_column
            engine.release(of_column.nbytes)
            return summary, levels
        assert isinstance(coder, IntervalCoder)
        values = table.numbers(np.array(run)) if len(run) > 1 else column.numbers()[None, :]
        apart, ignore = missing != "share" or coder.separates_missing, missing == "ignore"
        blocks = ValueBlocks.of_rows(values, order, joined=coder.joins, apart=apart, ignore=ignore)
        intervals, special = _fit_intervals(coder, column.name, column.type, blocks, missing)
        dtype = np.min_scalar_type(int(intervals.n_levels.max()))
        into = codes[run.start : run.stop] if dtype == np.uint8 else np.empty(values.shape, dtype)
        code_numbers(values, intervals.cut_points, intervals.n_levels, intervals.missing, into)
        if dtype != np.uint8:
            wide.update(zip(run, into, strict=True))
        return intervals, special

    together = np.zeros(table.n_columns, dtype=bool)
    if table.n_rows < LEAST_HASHED:
        together = np.array([isinstance(coder, IntervalCoder) and not coder.is_alone for coder in coders])
    parts = map_in_threads(fit, _runs(together, table.n_rows), n_jobs)
    fitted = _join(table.names, table.types(), parts)
    if not wide:
        return fitted, codes
    matrix = engine.array(codes.shape, max(of_column.dtype for of_column in wide.values()))
    for i, of_column in enumerate(codes):
        matrix[i] = wide.get(i, of_column)
        engine.release(matrix[i].nbytes)
    return fitted, matrix


def fit_counts(
    names: Sequence[str],
    types: Sequence[str],
    counts: Sequence[ValueCounts],
    coders: Sequence[ColumnCoder],
    missing: str,
    n_jobs: int | None,
) -> FittedColumns:
    """Fit the levels of columns from the class counts of their values.

    Parameters
    ----------
    names, types : name and `Column.type` of each column.
    counts : class counts of the values of each column.
    coders : coder of each column.
    missing : see `fit_columns`.
    n_jobs : number of threads.
    """

    def fit(i: int) -> tuple[Intervals, FeatureLevels | None]:
        """Fit the levels of one column, or of a run of numeric columns."""
        coder = coders[i]
        if isinstance(coder, GroupCoder):
            return _fit_groups(coder, names[i], types[i], counts[i], missing)
        assert isinstance(coder, IntervalCoder)
        apart, ignore = missing != "share" or coder.separates_missing, missing == "ignore"
        blocks = ValueBlocks.of_counts(counts[i], joined=coder.joins, apart=apart, ignore=ignore)
        return _fit_intervals(coder, names[i], types[i], blocks, missing)

    return _join(names, list(types), map_in_threads(fit, range(len(names)), n_jobs))


def _fit_groups(
    coder: GroupCoder, name: str, type_: str, counts: ValueCounts, missing: str
) -> tuple[Intervals, FeatureLevels]:
    """Fit a categorical column. Return its costs and number of levels, as `Intervals` without cuts, and its levels.

    ``name`` and ``type_`` are its name and `Column.type`, ``counts`` the class counts of its values; ``missing`` is
    documented in `fit_columns`.
    """
    ignores = missing == "ignore" and counts.counts.any()  # values may be those of rows of weight 0
    with_missing = np.vstack([counts.counts, np.zeros_like(counts.missing) if ignores else counts.missing])
    try:
        grouping = coder.fit_values(counts.values, with_missing, apart=missing != "share")
    except TooManyBlocks as error:
        raise ValueError(f"Column {name!r}: {error}.") from None
    values = [*(counts.values if grouping.values is None else grouping.values), None]
    groups = tuple(tuple(values[v] for v in group) for group in grouping.groups)
    missing_code = next((code for code, group in enumerate(groups) if None in group), None)
    cost, null_cost = np.array([grouping.cost]), np.array([grouping.null_cost])
    score = float(level_scores(cost, null_cost)[0])
    levels = FeatureLevels(name, "categorical", type_, None, groups, missing_code, grouping.counts, score)
    return Intervals(np.array([len(groups)]), np.zeros(0), grouping.counts, np.array([-1]), cost, null_cost), levels


def _fit_intervals(
    coder: IntervalCoder, name: str, type_: str, blocks: ValueBlocks, missing: str
) -> tuple[Intervals, FeatureLevels | None]:
    """Fit numeric columns. Return their intervals and, if it is a single column with special values, its levels;
    otherwise None.

    ``name`` and ``type_`` are the name and `Column.type` of the first column, ``blocks`` the values of all columns;
    ``missing`` is documented in `fit_columns`.
    """
    try:
        intervals = coder.fit_blocks(blocks, apart=missing != "share")
    except TooManyBlocks as error:
        raise ValueError(f"Column {name!r}: {error}.") from None
    if not coder.special:
        return intervals, None
    code, score = int(intervals.missing[0]), float(level_scores(intervals.costs, intervals.null_costs)[0])
    missing_code = None if code < 0 else code
    levels = FeatureLevels(
        name, "numeric", type_, intervals.cut_points, None, missing_code, intervals.counts, score, coder.special
    )
    return intervals, levels


def _join(
    names: Sequence[str], types: list[str], parts: Sequence[tuple[Intervals, FeatureLevels | None]]
) -> FittedColumns:
    """Join the fitted levels of consecutive pieces of a table.

    A piece is several neighbouring numeric columns, or a single column. ``parts`` holds for each piece its intervals,
    and the levels of a single column with groups or special values, otherwise None. ``names`` and ``types`` are the
    names and `Column.type` of all columns.
    """
    n_levels, missing, costs, null_costs = (
        np.concatenate([getattr(intervals, name) for intervals, _ in parts])
        for name in ("n_levels", "missing", "costs", "null_costs")
    )
    numeric = [intervals for intervals, levels in parts if levels is None]
    cuts = np.concatenate([np.zeros(0), *(intervals.cut_points for intervals in numeric)])
    counts = np.concatenate([parts[0][0].counts[:0], *(intervals.counts for intervals in numeric)])
    # With the prior "sizes", encoding the levels of a column with one value costs nothing: its cost is that of its
    # labels.
    constant, first = list[int](), 0
    by_column: dict[int, FeatureLevels] = {}
    for intervals, levels in parts:
        if levels is not None:
            by_column[first] = levels
            constant += [first] if levels.groups is not None and levels.n_values <= 1 else []
        else:
            single = np.flatnonzero(intervals.n_levels == 1)
            of_labels = part_cost(intervals.counts[np.repeat(intervals.n_levels == 1, intervals.n_levels)])
            constant += (first + single[intervals.null_costs[single] - of_labels < _SAME_COST]).tolist()
        first += intervals.n_levels.size
    levels_of_table = TableLevels(
        names=names,
        types=types,
        n_levels=n_levels,
        level_scores=level_scores(costs, null_costs),
        missing=missing,
        cuts=cuts,
        counts=counts,
        others=by_column,
        constant=constant,
    )
    return FittedColumns(levels_of_table, costs, null_costs)


def code_columns(
    table: Table, levels: TableLevels, n_jobs: int | None, columns: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of all features, shape (n_features, n_rows), and the number of rows without a level for each
    feature, shape (n_features,).

    Parameters
    ----------
    table : columns of the features.
    levels : levels of the features; pairs come last.
    n_jobs : threads.
    columns : position in the table of the column of each feature other than pairs; None if feature i is column i.
    """
    from bayesieve.table._kernels import code_numbers

    positions = np.arange(table.n_columns) if columns is None else columns
    codes = np.empty((len(levels), table.n_rows), np.min_scalar_type(int(levels.n_levels.max())))
    unseen, of_unseen = np.zeros(len(levels), dtype=np.int64), levels.n_levels[:, None].astype(codes.dtype)
    complaints: list[str] = []

    def code(run: range) -> None:
        """Write the codes of a run of neighbouring features, and count values without a level."""
        here = slice(run.start, run.stop)
        if together[run.start]:
            distinct, of_feature = np.unique(positions[here], return_inverse=True)
            values, cuts = table.numbers(distinct), levels.cut_points(run.start, run.stop)
            code_numbers(values, cuts, levels.n_levels[here], levels.missing[here], codes[here], of_feature)
        else:
            codes[here] = levels[run.start].code(table.column(int(positions[run.start])), complaints)
        unseen[here] = np.count_nonzero(codes[here] == of_unseen[here], axis=1)

    # In a large table, numeric columns are read one by one. A column with several features is read once for all of
    # them.
    shared = np.bincount(positions, minlength=table.n_columns)[positions] > 1
    has_numbers = np.array([type_ == "number" for type_ in table.types()], dtype=bool)[positions]
    together = levels.is_numeric[: positions.size] & has_numbers & (shared | (table.n_rows <= _MOST_BLOCK_ROWS))
    is_large = table.n_rows >= PARALLEL_ROWS or table.n_rows * positions.size >= _PARALLEL_CELLS
    map_in_threads(code, _runs(together, table.n_rows, positions), n_jobs if is_large else None)
    if complaints:
        warn_caller(*sorted(set(complaints)))  # sorted, because threads collect them in any order
    if levels.pairs:
        levels.code_pairs(codes.__getitem__, lambda i: table.column(int(positions[i])), codes.__setitem__)
        pairs = slice(positions.size, None)
        unseen[pairs] = np.count_nonzero(codes[pairs] == of_unseen[pairs], axis=1)
    return codes, unseen


def code_in_blocks(
    table: Table, levels: TableLevels, blocks: Sequence[slice], n_jobs: int | None, engine: Engine
) -> np.ndarray:
    """Return the codes of the columns, (n_features, n_rows), in an array of the engine.

    Rows are coded block by block, to limit the memory for their values.
    """
    codes = engine.array((len(levels), table.n_rows), np.min_scalar_type(int(levels.n_levels.max())))
    for rows in blocks:
        codes[:, rows] = code_columns(table.take(rows), levels, n_jobs)[0]
        engine.release(codes[:, rows].nbytes)
    return codes


def _runs(together: np.ndarray, n_rows: int, columns: np.ndarray | None = None) -> list[range]:
    """Split the features into runs of neighbours that are processed at once.

    Features in the mask ``together`` are joined into runs whose columns fit in the cache; each other feature is a
    separate run. ``columns`` is the column of each feature; None if feature i is column i.
    """
    most = max(1, _BLOCK_CELLS // max(1, n_rows))
    numbers = np.arange(together.size) if columns is None else np.cumsum(np.diff(columns, prepend=-1) != 0)
    ends = np.flatnonzero(np.diff(together.astype(np.int8))) + 1
    runs = []
    for first, stop in pairwise([0, *ends.tolist(), together.size]):
        blocks = (numbers[first:stop] - numbers[first]) // most if together[first] else np.arange(stop - first)
        starts = first + 1 + np.flatnonzero(np.diff(blocks))
        runs += [range(*run) for run in pairwise([first, *starts.tolist(), stop])]
    return runs
