"""Levels learnt again from some rows of a table, so that the others have no say in what measures them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.discretize.class_order import ClassOrder
from bayesieve.discretize.column_blocks import code_columns, fit_columns
from bayesieve.table import Table

if TYPE_CHECKING:
    from bayesieve.discretize.column_coder import ColumnCoder


@dataclass(frozen=True)
class TableRecoder:
    """The `Recoder` of a table that was coded column by column.

    Parameters
    ----------
    table : the raw values.
    coders : what codes each column.
    missing : as `TableEncoder` has it.
    class_codes, classes, weights : of the rows of ``table``, as `CodedTable` has them.
    n_jobs : threads.
    rows : the rows of ``table`` that count, in this order; None for all.
    """

    table: Table
    coders: Sequence[ColumnCoder]
    missing: str
    class_codes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray | None
    n_jobs: int | None
    rows: np.ndarray | None = None

    @property
    def uses_classes(self) -> bool:
        return any(coder.supervised for coder in self.coders)

    def take(self, rows: np.ndarray) -> TableRecoder:
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def learn(self, fit: np.ndarray, rows: np.ndarray | None = None) -> tuple[CodedTable, CodedTable]:
        every = np.arange(self.table.n_rows) if self.rows is None else self.rows
        learnt = self.table.take(every[fit])
        # As if the other rows did not exist: a class that these rows do not show is none of theirs.
        present, classes = np.unique(self.class_codes[every[fit]], return_inverse=True)
        weights = None if self.weights is None else self.weights[every[fit]]
        order = ClassOrder.of(classes, present.size, weights)
        if order.rows.size == 0:  # no row has weight
            order = ClassOrder.of(classes, present.size, None)
        fitted = fit_columns(learnt, self.coders, order, self.missing, self.n_jobs)
        others = every if rows is None else every[rows]
        codes, _ = code_columns(self.table.take(others), fitted.levels, self.n_jobs)
        return (
            self._coded(fitted.codes, fitted.levels.n_levels, every[fit]),
            self._coded(codes, fitted.levels.n_levels, others),
        )

    def _coded(self, codes: np.ndarray, n_levels: np.ndarray, rows: np.ndarray) -> CodedTable:
        return CodedTable(
            codes=codes,
            n_levels=n_levels,
            names=self.table.names,
            class_codes=self.class_codes[rows],
            classes=self.classes,
            weights=None if self.weights is None else self.weights[rows],
        )
