"""Base classes of all discretizers: they fit one `FeatureLevels` per column and code columns with it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from bayesieve.discretize.criterion import PRIORS, Groups, Intervals, Prior, interval_costs, pays
from bayesieve.discretize.level_fitting import code_columns, fit_columns
from bayesieve.discretize.value_counts import ClassOrder, ValueBlocks, ValueCounts
from bayesieve.parts import Allowed, check_allowed, with_shared_docs
from bayesieve.table import FeatureLevels, Table, Target, as_sample_weight, as_target
from bayesieve.table.cautions import Caution, issue
from bayesieve.table.columns import Kind
from bayesieve.table.frames import fit_table, new_table, split_columns
from bayesieve.table.levels import TableLevels
from bayesieve.table.target import refuse_identifiers, require_target
from bayesieve.words import named

_ALLOWED = {
    "method": Allowed.choice("greedy", "optimal"),
    "prior": Allowed.choice(*PRIORS),
    "missing": Allowed.choice("level", "ignore"),
    "unseen": Allowed("be 'ignore'", ("ignore",)),
    "n_bins": Allowed("be a positive whole number up to 1,000,000", (), Integral, 1, 1e6),
    "n_quantiles": Allowed("be a whole number of 2 or more", (), Integral, 2),
}


class LevelsCoder(TransformerMixin, BaseEstimator):
    """The scikit-learn interface of estimators that learn ``levels_`` and code with them."""

    supervised: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        with_shared_docs(cls)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return names of the coded columns."""
        check_is_fitted(self, "levels_")
        return np.asarray([level.name for level in self.levels_], dtype=object)

    def _check_options(self) -> None:
        """Raise ValueError if a constructor parameter is invalid."""
        check_allowed(self.get_params(deep=False), _ALLOWED)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "levels_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return replace(
            tags,
            input_tags=replace(tags.input_tags, allow_nan=True, string=True, sparse=True, categorical=True),
            target_tags=replace(tags.target_tags, required=self.supervised),
            transformer_tags=replace(tags.transformer_tags, preserves_dtype=[]),  # codes come out whatever goes in
        )


class TableCoder(LevelsCoder):
    """Base of the encoders of whole tables."""

    levels_: Sequence[FeatureLevels]
    unseen_counts_: np.ndarray
    classes_: np.ndarray
    rules_: Any  # the `TableRules` of the last fit
    _library = "polars"

    def to_frame(self) -> Any:
        """Return one row per feature and level: label, count, and the count of every class; a dataframe of the library
        of the training rows.
        """
        from bayesieve.table.frames import results_frame

        check_is_fitted(self, "levels_")
        rows = []
        for level in self.levels_:
            for code, counts in enumerate(np.asarray(level.counts, dtype=float)):
                of_classes = {f"count_{c}": count for c, count in zip(self.classes_, counts, strict=True)}
                rows.append({**self._describe_level(level, code), "count": counts.sum(), **of_classes})
        return results_frame(rows, self._library, infer_schema_length=None)

    @abstractmethod
    def _describe_level(self, level: FeatureLevels, code: int) -> dict[str, Any]:
        """Return the columns of `to_frame` before the counts."""

    def _add_unseen(self, unseen: np.ndarray) -> None:
        """Count values without a level, of each feature."""
        if not self.unseen_counts_.flags.writeable:  # as in a model that joblib mapped from a file
            self.unseen_counts_ = self.unseen_counts_.copy()
        # Counted under no lock: two concurrent calls may lose counts, never codes.
        self.unseen_counts_ += unseen


class ColumnCoder(LevelsCoder):
    """Base of the estimators that code columns of one kind.

    In a table of mixed columns, columns of the other kind are left out with a warning; ``get_feature_names_out``
    returns the names of the coded ones.
    """

    kind: ClassVar[Kind]
    is_alone: ClassVar[bool] = False
    """Whether it codes one column only."""
    price: float = 0.0
    """Nats that each level beyond the first costs."""

    def in_table(self, n_columns: int, n_rows: float) -> Self:
        """Return the coder of a column in a table of ``n_columns`` columns and ``n_rows`` rows."""
        return self

    @with_shared_docs
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the levels of every column.

        Returns
        -------
        self
        """
        self._check_options()
        X, y, sample_weight = split_columns(X, y, sample_weight)
        table = fit_table(self, X)
        _, _, order = read_classes(self, table, y, sample_weight)
        self._positions = self._own_columns(table)
        self._warn_of_others(table)
        own, n_jobs = table.select(self._positions), getattr(self, "n_jobs", None)
        fitted, _ = fit_columns(own, [self] * own.n_columns, order, "share", n_jobs)
        self.levels_ = fitted.levels
        self.costs_, self.null_costs_ = fitted.costs, fitted.null_costs
        self.level_scores_ = fitted.levels.level_scores
        self._set_attributes()
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return codes of the columns.

        Returns
        -------
        array of unsigned integers, shape (n_rows, n_columns)
            Values without a level (not seen in training) get the number of levels as their code.
        """
        check_is_fitted(self, "levels_")
        table = new_table(self, X)
        return code_columns(table.select(self._positions), TableLevels.of(self.levels_), None)[0].T

    def _own_columns(self, table: Table) -> list[int]:
        """Return positions of the columns of this coder's kind; without any, all that can be read as categories."""
        own = [i for i, kind in enumerate(table.kinds()) if kind == self.kind]
        if not own and self.kind == "numeric":
            raise ValueError(
                f"{type(self).__name__} found no numeric column among the columns of X; use MODLGrouper for categories "
                "or TableEncoder for mixed tables."
            )
        return own or list(range(table.n_columns))

    def _warn_of_others(self, table: Table) -> None:
        others = [table.names[i] for i in np.setdiff1d(np.arange(table.n_columns), self._positions).tolist()]
        if others:
            columns = "column is" if len(others) == 1 else "columns are"
            sentence = (
                f"{type(self).__name__} codes {self.kind} columns only; {len(others):,} {columns} left out: "
                f"{named(others)}. TableEncoder codes both kinds."
            )
            issue([Caution("left out", tuple(others), sentence)])

    @abstractmethod
    def _set_attributes(self) -> None:
        """Set the fitted attributes that follow from ``levels_``."""


class IntervalCoder(ColumnCoder):
    """Base of the discretizers: they choose rows of `ValueBlocks` at which intervals begin."""

    kind = "numeric"
    joins: int = 0
    """Fewest distinct values of a column for which neighbouring values of one class are taken together."""
    prior: Prior = "published"
    """How the costs of intervals announce them."""
    separates_missing: ClassVar[bool] = False
    """Whether missing values never share a block with others."""
    must_pay: ClassVar[bool] = False
    """Whether a column whose intervals cost no less than a single one gets a single one."""

    @abstractmethod
    def find_starts(self, blocks: ValueBlocks, apart: bool) -> np.ndarray:
        """Return ascending rows at which the intervals of all columns begin.

        Parameters
        ----------
        blocks : the columns.
        apart : whether missing values have their own interval.
        """

    def cut_points(self, blocks: ValueBlocks, starts: np.ndarray) -> np.ndarray:
        """Cut points below the intervals that begin at these rows, none of them the first of its column."""
        return blocks.midpoints(starts)

    @property
    def special(self) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """Special values, with levels of their own; see `FeatureLevels`."""
        return ()

    def fit_blocks(self, blocks: ValueBlocks, *, apart: bool) -> Intervals:
        """Return intervals of the columns; with ``apart``, missing values have their own."""
        starts = self.find_starts(blocks, apart)
        intervals = self._intervals(blocks, starts)
        useless = (intervals.n_levels > 1) & ~pays(intervals.costs, intervals.null_costs)
        if not self.must_pay or not useless.any():
            return intervals
        useful = ~np.repeat(useless, intervals.n_levels)
        return self._intervals(blocks, np.union1d(starts[useful], blocks.starts[:-1]))

    def _intervals(self, blocks: ValueBlocks, starts: np.ndarray) -> Intervals:
        n_levels, counts = blocks.n_levels(starts), blocks.level_counts(starts)
        announced = blocks.announced(self.prior)
        inner = np.ones(starts.size, dtype=bool)
        inner[np.cumsum(n_levels) - n_levels] = False
        return Intervals(
            n_levels=n_levels,
            cut_points=self.cut_points(blocks, starts[inner]),
            counts=counts,
            missing=np.where(blocks.has_missing, 0, -1),
            costs=interval_costs(counts, n_levels, announced, self.prior, self.price),
            null_costs=interval_costs(blocks.class_totals, np.ones_like(n_levels), announced, self.prior),
        )

    def _set_attributes(self) -> None:
        self.cut_points_ = [np.array(levels.cut_points) for levels in self.levels_]


class GroupCoder(ColumnCoder):
    """Base of the coders of categories: they group values."""

    kind = "categorical"

    def with_values(self, table: ValueCounts) -> ValueCounts:
        """Return the counts, with values that groups hold although no row has them."""
        return table

    @abstractmethod
    def fit_values(self, table: ValueCounts, *, apart: bool) -> Groups:
        """Return groups of the values of a column, the last of them missing values; with ``apart``, these have a group
        of their own.
        """

    def _set_attributes(self) -> None:
        self.groups_ = [list(levels.groups or ()) for levels in self.levels_]


def read_classes(
    coder: LevelsCoder, table: Table, y: Any, sample_weight: Any
) -> tuple[Target, np.ndarray | None, ClassOrder]:
    """Return classes and weights of the rows, and the rows by class; a single class if the target is optional and
    missing.

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
        raise ValueError("All values of sample_weight are zero: no row is left to learn from.")
    return target, weights, order
