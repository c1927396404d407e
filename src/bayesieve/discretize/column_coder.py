"""Base classes of all discretizers: they fit one `FeatureLevels` per column and code columns with it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from bayesieve.discretize.class_order import ClassOrder
from bayesieve.discretize.coded_block import CodedBlock, CodedColumn
from bayesieve.discretize.column_blocks import code_columns, fit_columns
from bayesieve.table import Column, Table, Target, as_sample_weight, as_target
from bayesieve.table.cautions import Caution, issue, named
from bayesieve.table.columns import Kind
from bayesieve.table.estimator_input import fit_table, new_table
from bayesieve.table.table_levels import TableLevels
from bayesieve.table.target import refuse_identifiers


class LevelsCoder(TransformerMixin, BaseEstimator):
    """The scikit-learn interface of estimators that learn ``levels_`` and code with them."""

    supervised: ClassVar[bool] = True

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the coded columns."""
        check_is_fitted(self, "levels_")
        return np.asarray([level.name for level in self.levels_], dtype=object)

    @property
    def _n_features_out(self) -> int:
        return len(self.levels_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "levels_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.target_tags.required = self.supervised
        tags.transformer_tags.preserves_dtype = []  # codes come out whatever goes in
        return tags


class ColumnCoder(LevelsCoder):
    """Base of the estimators that code columns of one kind.

    In a table of mixed columns, columns of the other kind are left out with a warning; ``get_feature_names_out``
    returns the names of the coded ones.
    """

    kind: ClassVar[Kind]

    @abstractmethod
    def fit_column(self, column: Column, order: ClassOrder, *, missing_apart: bool = False) -> CodedColumn:
        """Levels and codes of one column; with ``missing_apart``, missing values get a level of their own."""

    def takes_blocks(self, order: ClassOrder) -> bool:
        """Whether columns are fitted fastest many at once, by ``fit_block``."""
        return False

    def fit_block(self, values: np.ndarray, order: ClassOrder, codes: np.ndarray, *, apart: bool) -> CodedBlock:
        """As ``fit_column``, for numeric ``values`` (n_columns, n_rows); writes ``codes``, uint8 of the same shape."""
        raise NotImplementedError(f"{type(self).__name__} fits one column at a time.")

    def fit_known(self, column: Column, order: ClassOrder) -> CodedColumn:
        """As ``fit_column``, from the rows where the column is known: missing values get no level."""
        known = ~np.isnan(column.numbers()) if self.kind == "numeric" else column.categories().codes >= 0
        if known.all() or not known[order.rows].any():
            return self.fit_column(column, order, missing_apart=True)
        return self.fit_column(column, order.only(known))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ColumnCoder:
        """Find the levels of every column.

        Parameters
        ----------
        X : dataframe, 2-D array or sparse matrix, shape (n_rows, n_columns)
        y : array-like, shape (n_rows,)
            Class labels.
        sample_weight : array-like, shape (n_rows,), optional
            Weights multiply counts: a weight of 2 equals the row repeated.

        Returns
        -------
        self
        """
        self._check_options()
        table = fit_table(self, X)
        _, _, order = read_classes(self, table, y, sample_weight)
        self._positions = self._own_columns(table)
        self._warn_of_others(table)
        fitted = fit_columns(
            table.select(self._positions), [self] * len(self._positions), order, "share", getattr(self, "n_jobs", None)
        )
        self.levels_ = fitted.levels
        self.costs_, self.null_costs_ = fitted.costs, fitted.null_costs
        self.level_scores_ = fitted.levels.level_scores
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Codes of the columns.

        Returns
        -------
        array of unsigned integers, shape (n_rows, n_columns)
            Values without a level (not seen in training) get the number of levels as their code.
        """
        check_is_fitted(self, "levels_")
        table = new_table(self, X)
        return code_columns(table.select(self._positions), TableLevels.of(self.levels_), None)[0].T

    def _own_columns(self, table: Table) -> list[int]:
        """Positions of the columns of this coder's kind; without any, all that can be read as categories."""
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

    def _check_options(self) -> None:
        """Raise ValueError if a constructor parameter is invalid."""


def read_classes(
    coder: LevelsCoder, table: Table, y: Any, sample_weight: Any
) -> tuple[Target, np.ndarray | None, ClassOrder]:
    """Classes and weights of the rows, and the rows by class; a single class if the target is optional and missing.

    Raises
    ------
    ValueError
        If a needed target is missing, lengths differ, or all weights are zero.
    """
    weights = as_sample_weight(sample_weight, table.n_rows)
    if y is None and not coder.supervised:
        target = Target(np.zeros(table.n_rows, dtype=np.uint8), np.zeros(1, dtype=int))
    elif y is None:
        raise ValueError(f"{type(coder).__name__} requires y to be passed, but the target y is None.")
    else:
        target = as_target(y)
        refuse_identifiers(target)
        check_consistent_length(target.codes, np.empty(table.n_rows))
        target = target.counted(weights)
    order = ClassOrder.of(target.codes, target.n_classes, weights)
    if order.rows.size == 0:
        raise ValueError("All values of sample_weight are zero: no row is left to learn from.")
    return target, weights, order
