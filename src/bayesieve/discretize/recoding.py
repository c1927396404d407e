"""Levels learnt again from some rows of a table, so that the other rows can be used to measure them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.discretize.class_order import ClassOrder
from bayesieve.discretize.column_blocks import code_columns, fit_columns
from bayesieve.table import Table
from bayesieve.table.values import canonical_text

if TYPE_CHECKING:
    from bayesieve.discretize.column_coder import ColumnCoder

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: every bit of a value has a say in the high bits


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

    def select(self, features: np.ndarray) -> TableRecoder:
        positions = features.tolist()
        return replace(self, table=self.table.select(positions), coders=[self.coders[k] for k in positions])

    def fingerprints(self) -> np.ndarray:
        table = self.table if self.rows is None else self.table.take(self.rows)
        prints = np.zeros(table.n_rows, dtype=np.uint64)
        for i, kind in enumerate(table.kinds()):
            column = table.column(i)
            if kind == "numeric":
                numbers = column.numbers() + 0.0  # one zero
                numbers[np.isnan(numbers)] = np.nan  # and one NaN
                own = numbers.view(np.uint64)
            else:
                categories = column.categories()
                texts = [crc32(canonical_text(value).encode("utf-8", "surrogatepass")) for value in categories.values]
                own = np.array([*texts, 1 << 32], dtype=np.uint64)[categories.codes]
            prints = (prints ^ own) * _MULTIPLIER
            prints ^= prints >> np.uint64(29)
        return prints

    def numbers(self) -> list[np.ndarray | None]:
        table = self.table if self.rows is None else self.table.take(self.rows)
        return [table.column(i).numbers() if kind == "numeric" else None for i, kind in enumerate(table.kinds())]

    def learn(self, fit: np.ndarray, rows: np.ndarray | None = None) -> tuple[CodedTable, CodedTable]:
        every = np.arange(self.table.n_rows) if self.rows is None else self.rows
        learnt = self.table.take(every[fit])
        # As if the other rows did not exist: classes that these rows lack are left out.
        present, classes = np.unique(self.class_codes[every[fit]], return_inverse=True)
        weights = None if self.weights is None else self.weights[every[fit]]
        order = ClassOrder.of(classes, present.size, weights)
        if order.rows.size == 0:  # no row has weight
            order = ClassOrder.of(classes, present.size, None)
        fitted, own = fit_columns(learnt, self.coders, order, self.missing, self.n_jobs)
        others = every if rows is None else every[rows]
        codes, _ = code_columns(self.table.take(others), fitted.levels, self.n_jobs)
        return (
            self._coded(own, fitted.levels.n_levels, every[fit]),
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
            recoder=replace(self, rows=rows),
        )
