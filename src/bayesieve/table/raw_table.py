"""`Table`: named columns over one set of rows, each by itself or all in one matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesieve.table.backends import sparse
from bayesieve.table.columns import Categories, Column, Kind
from bayesieve.table.values import drop_unused


class Table:
    """Named columns over one set of rows. Holds the caller's data, never a copy.

    Attributes
    ----------
    names : tuple of str
        Column names; ``x0``, ``x1`` ... where the data has none.
    named : bool
        Whether the names came with the data.
    n_rows, n_columns : int
    sums : int array, shape (n_sums, n_terms)
        The last columns are sums of those at these positions.
    """

    names: tuple[str, ...]
    named: bool
    n_rows: int
    sums: np.ndarray = np.zeros((0, 2), dtype=np.int64)

    def __init__(self, columns: Sequence[Column], n_rows: int, named: bool) -> None:
        self._columns = tuple(columns)
        self.names = tuple(column.name for column in self._columns)
        self.named = named
        self.n_rows = n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self._columns)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"Table({self.n_rows} rows, {self.n_columns} columns)"

    def column(self, i: int) -> Column:
        """The column at position `i`."""
        return self._columns[i]

    def kinds(self) -> list[Kind]:
        """How each column is read: "numeric" or "categorical"."""
        return [self.column(i).kind for i in range(self.n_columns)]

    def types(self) -> list[str]:
        """The type of each column; see `Column.type`."""
        return [self.column(i).type for i in range(self.n_columns)]

    def numbers(self, positions: np.ndarray) -> np.ndarray:
        """The columns at these ascending positions as float64, NaN = missing, (n, n_rows); see `Column.numbers`."""
        values = np.empty((positions.size, self.n_rows))
        for at, i in enumerate(positions.tolist()):
            values[at] = self.column(i).numbers()
        return values

    def numbers_at(self, rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """As `numbers`, of these rows only, shape (n, rows.size)."""
        return self.select(positions.tolist()).take(rows).numbers(np.arange(positions.size))

    def read_as(self, names: Sequence[str], kinds: Mapping[str, str]) -> Table:
        """The same columns under other names, or those that ``kinds`` names as other kinds."""
        columns = [self.column(i).read_as(name, kinds.get(name)) for i, name in enumerate(names)]
        return Table(columns, self.n_rows, self.named)

    def select(self, positions: Sequence[int]) -> Table:
        """The columns at these positions only."""
        return Table([self.column(i) for i in positions], self.n_rows, self.named)

    def take(self, rows: Any) -> Table:
        """The same columns, of these rows only (positions, a slice or a boolean mask), gathered when converted."""
        picked = np.arange(self.n_rows)[rows if isinstance(rows, slice) else np.asarray(rows)]
        return Table([self.column(i).take(picked) for i in range(self.n_columns)], len(picked), self.named)

    def read_once(self) -> Table:
        """The same table, for taking many parts of its rows: the values of a column are converted at most once."""
        return Table([_ReadColumn(self.column(i)) for i in range(self.n_columns)], self.n_rows, self.named)


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
        self._is_dense = isinstance(matrix, np.ndarray)
        self._kinds = dict(kinds or {})
        self._natural_kind: Kind = "categorical" if matrix.dtype.kind == "b" else "numeric"
        self.names = tuple(names)
        self.named = named
        self.n_rows = int(matrix.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self._matrix.shape[1])

    def column(self, i: int) -> Column:
        i = range(self.n_columns)[i]
        data = self._matrix[:, i] if self._is_dense else sparse.column_of(self._matrix, i)
        return Column(self.names[i], data, "arrays", self._kinds.get(i))

    def kinds(self) -> list[Kind]:
        kinds = [self._natural_kind] * self.n_columns
        for i, kind in self._kinds.items():
            kinds[i] = kind
        return kinds

    def types(self) -> list[str]:
        if self._natural_kind == "numeric":
            return ["number"] * self.n_columns
        return ["number" if kind == "numeric" else "boolean" for kind in self.kinds()]

    def numbers(self, positions: np.ndarray) -> np.ndarray:
        first, stop = int(positions[0]), int(positions[-1]) + 1
        if stop - first != positions.size:
            return super().numbers(positions)
        part = self._matrix[:, first:stop].T
        values = np.array(part if self._is_dense else part.toarray(), dtype=np.float64, order="C")
        if self._matrix.dtype.kind in "iu" and self._matrix.dtype.itemsize == 8 and np.abs(values).max() >= 2**53:
            for i in range(first, stop):
                self.column(i).numbers()  # warns where different numbers become one
        if not np.isfinite(values).all():
            for at in np.flatnonzero(np.isinf(values).any(axis=1)).tolist():
                self.column(first + at).numbers()  # says which row
        return values

    def numbers_at(self, rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        cells = self._matrix[rows][:, positions]
        dense = cells if self._is_dense else cells.toarray()
        return np.ascontiguousarray(dense.T, dtype=np.float64)

    def read_as(self, names: Sequence[str], kinds: Mapping[str, str]) -> Table:
        given: dict[int, Any] = {i: kinds[name] for i, name in enumerate(names) if name in kinds}
        return MatrixTable(self._matrix, names, self.named, {**self._kinds, **given})

    def select(self, positions: Sequence[int]) -> Table:
        if len(positions) == self.n_columns:
            return self
        if self._is_dense:
            return super().select(positions)
        kinds = {at: self._kinds[i] for at, i in enumerate(positions) if i in self._kinds}
        return MatrixTable(self._matrix[:, positions], [self.names[i] for i in positions], self.named, kinds)

    def read_once(self) -> Table:
        return self  # its columns are numbers already

    def take(self, rows: Any) -> Table:
        if self._is_dense:
            return super().take(rows)
        picked = np.arange(self.n_rows)[rows if isinstance(rows, slice) else np.asarray(rows)]
        return MatrixTable(sparse.as_csc(self._matrix[picked]), self.names, self.named, self._kinds)


class _ReadColumn(Column):
    """Some rows of a column whose conversions are remembered, for these and for other parts of its rows."""

    def __init__(self, whole: Column, taken: np.ndarray | None = None, read: dict[Any, Any] | None = None) -> None:
        part = whole if taken is None else whole.take(taken)
        super().__init__(part.name, part._data, part._library, part._kind, part._rows)
        self._natural_type = part._natural_type
        self._whole, self._taken = whole, slice(None) if taken is None else taken
        self._read: dict[Any, Any] = {} if read is None else read

    def take(self, rows: np.ndarray) -> Column:
        return _ReadColumn(self._whole, rows if isinstance(self._taken, slice) else self._taken[rows], self._read)

    def numbers_as(self, type_: str) -> np.ndarray:
        return self._once(type_, lambda: self._whole.numbers_as(type_))[self._taken]

    def read_numbers(self, type_: str, complaints: list[str] | None = None) -> tuple[np.ndarray, np.ndarray]:
        values = self.numbers_as(type_)  # that all values are numbers is known since the levels were first learnt
        return values, np.zeros(values.size, dtype=bool)

    def categories(self, *, merged: bool = True) -> Categories:
        whole = self._once("categories", self._whole.categories)
        return Categories(*drop_unused(whole.codes[self._taken], whole.values))

    def _once(self, what: str, convert: Callable[[], Any]) -> Any:
        if what not in self._read:
            self._read[what] = convert()
        return self._read[what]
