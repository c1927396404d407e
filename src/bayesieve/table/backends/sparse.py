"""One column of a SciPy sparse matrix: absent cells are zeros, and a column is written out only when needed."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.table.backends.arrays import ArraysBackend
from bayesieve.table.backends.base import Backend

_ARRAYS = ArraysBackend()


class SparseBackend(Backend):
    """SciPy sparse matrices and arrays."""

    name = "sparse"

    def reads(self, X: Any) -> bool:
        return is_sparse(X)

    def columns(self, X: Any) -> tuple[None, Any]:
        return None, as_csc(X)

    def select(self, X: Any, positions: np.ndarray) -> Any:
        return X.tocsc()[:, positions].asformat(X.format)

    def take_rows(self, X: Any, rows: np.ndarray) -> Any:
        return (X if X.format in ("csr", "csc") else X.tocsr())[rows]

    def column_type(self, column: SparseColumn) -> str | None:
        return _ARRAYS.column_type(column.values)

    def plain(self, column: SparseColumn, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
        return _ARRAYS.plain(column.dense(), type_)

    def rounds(self, column: SparseColumn) -> bool:
        return _ARRAYS.rounds(column.values)

    def encoded(self, column: SparseColumn) -> tuple[np.ndarray, list[Any]]:
        return _ARRAYS.encoded(column.dense())

    def take(self, column: SparseColumn, rows: np.ndarray) -> SparseColumn:
        dense = column.dense()[rows]
        rows_stored = np.flatnonzero(dense)  # NaN is not zero
        return SparseColumn(rows_stored, dense[rows_stored], len(dense))

    def value(self, column: SparseColumn, row: int) -> Any:
        at = int(np.searchsorted(column.rows, row))
        stored = at < len(column.rows) and column.rows[at] == row
        return column.values[at].item() if stored else column.values.dtype.type(0).item()


@dataclass(frozen=True)
class SparseColumn:
    """The cells of one column that are stored: their rows, ascending, and their values."""

    rows: np.ndarray
    values: np.ndarray
    n_rows: int

    def __len__(self) -> int:
        return self.n_rows

    def dense(self) -> np.ndarray:
        """All values, shape (n_rows,)."""
        values = np.zeros(self.n_rows, dtype=self.values.dtype)
        values[self.rows] = self.values
        return values


def is_sparse(X: Any) -> bool:
    """Whether ``X`` is a SciPy sparse matrix or array; SciPy is not loaded to find out."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def as_csc(X: Any) -> Any:
    """A sparse matrix or array by columns, rows ascending and each cell once; the caller's is left as it is.

    ValueError if it is not two-dimensional, or holds complex numbers; TypeError if it holds anything but numbers and
    booleans.
    """
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D sparse array instead. Reshape it with X.reshape((-1, 1)) if your data "
            "has a single feature or X.reshape((1, -1)) if it contains a single sample."
        )
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: split it into its real and imaginary parts.")
    if X.dtype.kind not in "biuf":
        raise TypeError(f"A sparse table must hold numbers or booleans, got {X.dtype}; convert it to float first.")
    by_column = X.tocsc()
    if not by_column.has_canonical_format:
        if by_column is X:
            by_column = by_column.copy()
        by_column.sum_duplicates()
    return by_column


def column_of(matrix: Any, i: int) -> SparseColumn:
    """Column ``i`` of the result of `as_csc`."""
    start, stop = matrix.indptr[i], matrix.indptr[i + 1]
    return SparseColumn(matrix.indices[start:stop], matrix.data[start:stop], matrix.shape[0])


def numbers_of(matrix: Any, first: int, stop: int) -> np.ndarray:
    """Columns ``first`` to ``stop - 1`` of the result of `as_csc` as float64, shape (stop - first, n_rows)."""
    numbers = np.zeros((stop - first, matrix.shape[0]))
    starts = matrix.indptr[first : stop + 1]
    cells = slice(starts[0], starts[-1])
    numbers[np.repeat(np.arange(stop - first), np.diff(starts)), matrix.indices[cells]] = matrix.data[cells]
    return numbers
