"""Tables of a single type: a 2-D array of numbers or a sparse matrix, whose columns are created on access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesieve.table.backends import arrays, sparse
from bayesieve.table.columns import Column, Kind
from bayesieve.table.raw_table import Table


class MatrixTable(Table):
    """Named columns of one matrix of numbers, or of booleans.

    Parameters
    ----------
    matrix : array of shape (n_rows, n_columns), or the result of `sparse.as_csc`
    names : sequence of str
    named : whether the names came with the data
    kinds : how to read the columns at some positions, where that does not follow from their type
    """

    def __init__(self, matrix: Any, names: Sequence[str], named: bool, kinds: Mapping[int, Kind] | None = None) -> None:
        self._matrix = matrix
        self._library = "arrays" if isinstance(matrix, np.ndarray) else "sparse"
        self._kinds = dict(kinds or {})
        self._natural_kind: Kind = "categorical" if matrix.dtype.kind == "b" else "numeric"
        self.names = tuple(names)
        self.named = named
        self.n_rows = int(matrix.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self._matrix.shape[1])

    def column(self, i: int) -> Column:
        """The column at position `i`."""
        i = range(self.n_columns)[i]
        data = self._matrix[:, i] if self._library == "arrays" else sparse.column_of(self._matrix, i)
        return Column(self.names[i], data, self._library, self._kinds.get(i))

    def kinds(self) -> list[Kind]:
        """How each column is read: "numeric" or "categorical"."""
        kinds = [self._natural_kind] * self.n_columns
        for i, kind in self._kinds.items():
            kinds[i] = kind
        return kinds

    def types(self) -> list[str]:
        """The type of each column; see `Column.type`."""
        if self._natural_kind == "numeric":
            return ["number"] * self.n_columns
        return ["number" if kind == "numeric" else "boolean" for kind in self.kinds()]

    def numbers(self, positions: np.ndarray) -> np.ndarray:
        """The columns at these positions as float64, shape (n, n_rows); see `Column.numbers`."""
        first, stop = int(positions[0]), int(positions[-1]) + 1
        if stop - first != positions.size:
            return super().numbers(positions)
        part = arrays.numbers_of if self._library == "arrays" else sparse.numbers_of
        values = part(self._matrix, first, stop)
        if self._matrix.dtype.kind in "iu" and self._matrix.dtype.itemsize == 8 and np.abs(values).max() >= 2**53:
            for i in range(first, stop):
                self.column(i).numbers()  # warns where different numbers become one
        if not np.isfinite(values).all():
            for at in np.flatnonzero(np.isinf(values).any(axis=1)).tolist():
                self.column(first + at).numbers()  # says which row
        return values

    def numbers_at(self, rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """As `numbers`, of these rows only, shape (n, rows.size)."""
        cells = self._matrix[rows][:, positions]
        dense = cells if self._library == "arrays" else cells.toarray()
        return np.ascontiguousarray(dense.T, dtype=np.float64)

    def read_as(self, names: Sequence[str], kinds: Mapping[str, str]) -> Table:
        """The same columns under other names, or as other kinds."""
        own_kinds = dict(self._kinds)
        if kinds:
            for i, name in enumerate(names):
                if name in kinds:
                    own_kinds[i] = "numeric" if kinds[name] == "numeric" else "categorical"
        return MatrixTable(self._matrix, names, self.named, own_kinds)

    def select(self, positions: Sequence[int]) -> Table:
        """The columns at these positions only."""
        if len(positions) == self.n_columns:
            return self
        return super().select(positions)

    def read_once(self) -> Table:
        """This table: its columns are numbers already."""
        return self

    def take(self, rows: Any) -> Table:
        """The same columns, of these rows only (positions, a slice or a boolean mask)."""
        if self._library == "arrays":
            return super().take(rows)
        picked = np.arange(self.n_rows)[rows if isinstance(rows, slice) else np.asarray(rows)]
        return MatrixTable(sparse.as_csc(self._matrix[picked]), self.names, self.named, self._kinds)
