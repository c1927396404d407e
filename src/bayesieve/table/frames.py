"""Any dataframe or 2-D array as a `Table` of lazily converted columns."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesieve.table.columns import KINDS, Column


class Table:
    """Named columns over one set of rows. Holds the caller's data, never a copy.

    Attributes
    ----------
    names : tuple of str
        Column names; ``x0``, ``x1`` ... where the data has none.
    named : bool
        Whether the names came with the data.
    n_rows, n_columns : int
    """

    def __init__(self, columns: Sequence[Column], n_rows: int, named: bool) -> None:
        self._columns = tuple(columns)
        self.names: tuple[str, ...] = tuple(column.name for column in self._columns)
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

    def take(self, rows: Any) -> Table:
        """The same columns, of these rows only (positions, a slice or a boolean mask), gathered when converted."""
        picked = np.arange(self.n_rows)[rows if isinstance(rows, slice) else np.asarray(rows)]
        return Table([column.take(picked) for column in self._columns], len(picked), self.named)


def as_table(X: Any, *, kinds: Mapping[str, str] | None = None, feature_names: Sequence[str] | None = None) -> Table:
    """Read a dataframe or a 2-D array without copying it.

    Parameters
    ----------
    X : dataframe or array-like, shape (n_rows, n_columns)
        Anything narwhals reads eagerly (pandas, polars, pyarrow, modin ...), a 2-D NumPy array of numbers, text or
        objects, or a list of rows.
    kinds : mapping from column name to "numeric" or "categorical", optional
        How to read these columns; the others follow from their type.
    feature_names : sequence of str, optional
        Names to use instead of those of `X`.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If `X` is empty, is not two-dimensional, holds complex numbers, has duplicate column names, or `kinds` names an
        unknown column or kind.
    TypeError
        If `X` is sparse, is not a table at all, or has column names of which only some are strings.

    Examples
    --------
    >>> table = as_table([[1.5, "a"], [2.0, "b"]])
    >>> table.names, table.column(0).kind, table.column(1).kind
    (('x0', 'x1'), 'numeric', 'categorical')
    """
    columns, named = (X._columns, X.named) if isinstance(X, Table) else _read(X)
    n_rows = len(columns[0]) if columns else _rows_without_columns(X)
    _refuse_empty(n_rows, len(columns))
    names = [c.name for c in columns] if feature_names is None else _given_names(feature_names, len(columns))
    _refuse_duplicates(names)
    _check_kinds(kinds, names)
    chosen = kinds or {}
    made = [column.read_as(name, chosen.get(name)) for name, column in zip(names, columns, strict=True)]
    return Table(made, n_rows, named)


def _read(X: Any) -> tuple[Sequence[Column], bool]:
    """The columns of `X`, and whether their names came with it."""
    import narwhals as nw

    dependencies = nw.dependencies
    if dependencies.is_into_series(X):
        raise ValueError(
            f"Expected a 2-dimensional container but got {type(X)} instead. Pass a DataFrame containing a single row "
            "(i.e. single sample) or a single column (i.e. single feature) instead. Reshape your data."
        )
    if dependencies.is_polars_lazyframe(X) or dependencies.is_dask_dataframe(X) or dependencies.is_ibis_table(X):
        raise TypeError(f"{type(X)} is not in memory yet; call its collect(), compute() or execute() first.")
    if dependencies.is_into_dataframe(X):
        try:
            return _read_frame(nw.from_native(X, eager_only=True))
        except nw.exceptions.DuplicateError:
            _refuse_duplicates([str(name) for name in getattr(X, "column_names", X.columns)])
            raise
    if hasattr(X, "__arrow_c_stream__"):
        import polars as pl

        return _read_frame(nw.from_native(pl.DataFrame(X), eager_only=True))
    array = as_array(X)
    return [Column(f"x{i}", array[:, i], "arrays") for i in range(array.shape[1])], False


def _read_frame(frame: Any) -> tuple[Sequence[Column], bool]:
    library = str(frame.implementation.value)
    native = frame.to_native()
    if library == "pyarrow":
        return [Column(n, c, library) for n, c in zip(native.column_names, native.columns, strict=True)], True
    if library == "polars":
        return [Column(c.name, c, library) for c in native.get_columns()], True
    if library != "pandas":  # modin, cuDF: pandas is what they convert to
        native = frame.to_pandas()
    names = _string_names(list(native.columns))
    labels = [f"x{i}" for i in range(native.shape[1])] if names is None else names
    return [Column(n, native.iloc[:, i], "pandas") for i, n in enumerate(labels)], names is not None


def _rows_without_columns(X: Any) -> int:
    """The number of rows of something that has no columns, for the message that refuses it."""
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else len(X)


def _string_names(names: list[Any]) -> list[str] | None:
    """The names if all are strings, None if none is, in scikit-learn's words an error if only some are."""
    types = sorted({type(name).__qualname__ for name in names})
    if len(types) > 1 and "str" in types:
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{types} as feature name / column name types. If you want feature names to be stored and validated, you "
            "must convert them all to strings, by using X.columns = X.columns.astype(str) for example. Otherwise you "
            "can remove feature / column names from your input data, or convert them all to a non-string data type."
        )
    return names if types == ["str"] else None


def as_array(X: Any) -> np.ndarray:
    """An array-like as a 2-D array of numbers, text or objects, with scikit-learn's words for what is refused."""
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(X):
        raise TypeError(
            "Sparse data was passed for X, but dense data is required. "
            "Use '.toarray()' to convert to a dense numpy array."
        )
    if isinstance(X, (str, bytes, Mapping)) or X is None:
        raise TypeError(f"Expected a dataframe or a 2-D array, got {type(X)} instead.")
    if isinstance(X, np.matrix):
        raise TypeError("np.matrix is not supported. Please convert to a numpy array with np.asarray.")
    array = _array_of_rows(X) if isinstance(X, (list, tuple)) else np.asarray(X)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: split it into its real and imaginary parts.")
    if array.dtype.names is not None:
        raise ValueError("Structured arrays are not supported; pass a dataframe instead, such as pandas.DataFrame(X).")
    _refuse_other_shapes(array)
    return array


def _array_of_rows(rows: Sequence[Any]) -> np.ndarray:
    """A list of rows as numbers if it holds only those, else as objects (NumPy would turn numbers into text)."""
    try:
        array = np.asarray(rows)
    except ValueError:
        raise ValueError("The rows of X differ in length; every row needs one value per column.") from None
    if array.dtype.kind in "biufcmM":
        return array
    try:
        return np.array(rows, dtype=object)
    except ValueError:
        raise ValueError("The rows of X differ in length; every row needs one value per column.") from None


def _refuse_other_shapes(array: np.ndarray) -> None:
    if array.ndim == 0:
        raise ValueError(
            f"Expected 2D array, got scalar array instead:\narray={array}.\nReshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a single "
            "sample."
        )
    if array.ndim == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array instead:\narray={array}.\nReshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a single "
            "sample."
        )
    if array.ndim > 2:
        raise ValueError(f"Found array with dim {array.ndim}, while dim <= 2 is required.")


def _refuse_empty(n_rows: int, n_columns: int) -> None:
    if n_columns == 0:
        raise ValueError(f"0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required.")
    if n_rows == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape=(0, {n_columns})) while a minimum of 1 is required.")


def _given_names(feature_names: Sequence[str], n_columns: int) -> list[str]:
    names = list(feature_names)
    if len(names) != n_columns:
        raise ValueError(f"feature_names has {len(names)} names but X has {n_columns} columns.")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"feature_names must be strings, got {name!r}.")
    return [str(name) for name in names]


def _refuse_duplicates(names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        seen: set[str] = set()
        name = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"Column name {name!r} appears more than once; give every column its own name.")


def _check_kinds(kinds: Mapping[str, str] | None, names: Sequence[str]) -> None:
    for name, kind in (kinds or {}).items():
        if name not in names:
            raise ValueError(f"kinds names column {name!r}, which X does not have.")
        if kind not in KINDS:
            raise ValueError(f"kinds[{name!r}] is {kind!r}; it must be 'numeric' or 'categorical'.")
