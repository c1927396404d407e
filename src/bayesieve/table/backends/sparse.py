"""SciPy sparse matrices: absent cells are zeros, and a column is written out only when needed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from bayesieve.table.backends.arrays import ArraysBackend


class SparseBackend(ArraysBackend):
    """SciPy sparse matrices and arrays, whose columns are arrays when they are read."""

    name = "sparse"

    def reads(self, X: Any) -> bool:
        return is_sparse(X)

    def columns(self, X: Any) -> tuple[None, Any]:
        return None, as_csc(X)

    def select(self, X: Any, positions: np.ndarray) -> Any:
        return X.tocsc()[:, positions].asformat(X.format)

    def take_rows(self, X: Any, rows: np.ndarray) -> Any:
        return (X if X.format in ("csr", "csc") else X.tocsr())[rows]


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


def column_of(matrix: Any, i: int) -> np.ndarray:
    """Column ``i`` of the result of `as_csc`, with its zeros."""
    stored = slice(matrix.indptr[i], matrix.indptr[i + 1])
    values = np.zeros(matrix.shape[0], dtype=matrix.dtype)
    values[matrix.indices[stored]] = matrix.data[stored]
    return values
