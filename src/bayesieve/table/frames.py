"""Any dataframe or 2-D array as a `Table` of lazily converted columns."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from bayesieve.table.backends import backend
from bayesieve.table.backends.sparse import as_csc, is_sparse
from bayesieve.table.columns import KINDS, Column
from bayesieve.table.matrix import MatrixTable
from bayesieve.table.raw_table import Table
from bayesieve.table.values import spelt_out, text_of_bytes

_WIDE = 256  # columns of one type from which a frame is read as one matrix


def as_table(X: Any, *, kinds: Mapping[str, str] | None = None, feature_names: Sequence[str] | None = None) -> Table:
    """Read a dataframe, a 2-D array or a sparse matrix, without copying it where its memory can be read by columns.

    Parameters
    ----------
    X : dataframe, array-like or sparse matrix, shape (n_rows, n_columns)
        Anything narwhals reads eagerly (pandas, polars, pyarrow, modin ...), a 2-D NumPy array of numbers, text or
        objects, a list of rows, or a SciPy sparse matrix or array of numbers or booleans, whose absent cells are zeros.
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
        If `X` is not a table at all, or has column names of which only some are strings.

    Examples
    --------
    >>> table = as_table([[1.5, "a"], [2.0, "b"]])
    >>> table.names, table.column(0).kind, table.column(1).kind
    (('x0', 'x1'), 'numeric', 'categorical')
    """
    table = X if isinstance(X, Table) else _read(X)
    n_rows = table.n_rows if table.n_columns else _rows_without_columns(X)
    _refuse_empty(n_rows, table.n_columns)
    names = list(table.names) if feature_names is None else _given_names(feature_names, table.n_columns)
    _refuse_duplicates(names)
    _check_kinds(kinds, names)
    return table if feature_names is None and not kinds and isinstance(X, Table) else table.read_as(names, kinds or {})


def whole_frame(X: Any) -> Any:
    """A batch or a stream of Arrow data as a table, which dataframe libraries read; anything else as it is."""
    from narwhals.dependencies import is_into_dataframe

    if is_into_dataframe(X) or not hasattr(X, "__arrow_c_stream__"):
        return X
    if "pyarrow" in sys.modules:  # it holds every type that Arrow has
        return sys.modules["pyarrow"].table(X)
    import polars as pl

    return pl.DataFrame(X)


def _read(X: Any) -> Table:
    import narwhals as nw

    dependencies = nw.dependencies
    if dependencies.is_into_series(X):
        raise ValueError(
            f"Expected a 2-dimensional container but got {type(X)} instead. Pass a DataFrame containing a single row "
            "(i.e. single sample) or a single column (i.e. single feature) instead. Reshape your data."
        )
    if dependencies.is_polars_lazyframe(X) or dependencies.is_dask_dataframe(X) or dependencies.is_ibis_table(X):
        raise TypeError(f"{type(X)} is not in memory yet; call its collect(), compute() or execute() first.")
    X = whole_frame(X)
    if dependencies.is_into_dataframe(X):
        try:
            return _read_frame(nw.from_native(X, eager_only=True))
        except nw.exceptions.DuplicateError:
            _refuse_duplicates([str(name) for name in getattr(X, "column_names", X.columns)])
            raise
    matrix = as_csc(X) if is_sparse(X) else as_array(X)
    names = [f"x{i}" for i in range(matrix.shape[1])]
    if matrix.dtype.kind in "biuf":
        return MatrixTable(matrix, names, named=False)
    columns = [Column(name, matrix[:, i], "arrays") for i, name in enumerate(names)]
    return Table(columns, len(matrix), named=False)


def _read_frame(frame: Any) -> Table:
    library = str(frame.implementation.value)
    native = frame.to_native()
    n_rows = int(frame.shape[0])
    if library == "pyarrow":
        from bayesieve.table.backends.pyarrow import with_kernels

        pairs = zip(native.column_names, native.columns, strict=True)
        return Table([Column(name, with_kernels(column), library) for name, column in pairs], n_rows, named=True)
    if library == "polars":
        from bayesieve.table.backends.polars import nameless

        series = native.get_columns()
        matrix = _wide_matrix(native, [column.dtype for column in series], library)
        if matrix is not None:
            return MatrixTable(matrix, native.columns, named=True)
        return Table([Column(column.name, nameless(column), library) for column in series], n_rows, named=True)
    if library != "pandas":  # modin, cuDF: pandas is what they convert to
        native = frame.to_pandas()
    names = _string_names(list(native.columns))
    labels = [f"x{i}" for i in range(native.shape[1])] if names is None else names
    matrix = _wide_matrix(native, list(native.dtypes), "pandas")
    if matrix is not None:
        return MatrixTable(matrix, labels, names is not None)
    columns = [Column(name, native.iloc[:, i], "pandas") for i, name in enumerate(labels)]
    return Table(columns, n_rows, names is not None)


def _wide_matrix(frame: Any, dtypes: list[Any], library: str) -> Any:
    """Very many columns of one type of number as one matrix, which spares a series for each; None for other frames."""
    if len(dtypes) < _WIDE or any(dtype != dtypes[0] for dtype in dtypes):
        return None
    return backend(library).matrix(frame, dtypes[0])


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
    """An array-like as a 2-D array of numbers, text or objects; errors have scikit-learn's wording."""
    if isinstance(X, (str, bytes, Mapping)) or X is None:
        raise TypeError(f"Expected a dataframe or a 2-D array, got {type(X)} instead.")
    if isinstance(X, np.matrix):
        raise TypeError("np.matrix is not supported. Please convert to a numpy array with np.asarray.")
    array = _array_of_rows(X) if isinstance(X, (list, tuple)) else unmasked(X)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: split it into its real and imaginary parts.")
    if array.dtype.names is not None:
        raise ValueError("Structured arrays are not supported; pass a dataframe instead, such as pandas.DataFrame(X).")
    _refuse_other_shapes(array)
    return array


def _array_of_rows(rows: Sequence[Any]) -> np.ndarray:
    """A list of rows as numbers if it holds only those, else as objects (NumPy would turn numbers into text)."""
    if any(isinstance(row, np.ma.MaskedArray) for row in rows):
        return unmasked(np.ma.stack(rows))
    try:
        array = np.asarray(rows)
    except ValueError:
        raise ValueError("The rows of X differ in length; every row needs one value per column.") from None
    if array.dtype.kind in "biufcmM" and (array.ndim != 2 or holds_exactly(array, chain.from_iterable(rows))):
        return array
    try:
        return np.array(rows, dtype=object)
    except ValueError:
        raise ValueError("The rows of X differ in length; every row needs one value per column.") from None


def holds_exactly(array: np.ndarray, values: Iterable[Any]) -> bool:
    """Whether an array that NumPy made of Python values has them as they were: it makes numbers of booleans, and floats
    of whole numbers that no float holds.
    """
    kinds = set(map(type, values))
    if len(kinds & {bool, np.bool_}) > 0 and array.dtype != bool:
        return False
    return (
        array.dtype.kind != "f"
        or all(issubclass(kind, (float, np.floating)) for kind in kinds)
        or not (np.abs(array) >= 2**53).any()
    )


def unmasked(X: Any) -> np.ndarray:
    """An array-like as an array; masked values become missing ones: NaN or NaT, or None among objects."""
    if not isinstance(X, np.ma.MaskedArray):
        return np.asarray(X)
    if X.dtype.names is not None or not np.any(X.mask):
        return np.asarray(X.data)
    array = X.data.copy() if X.dtype.kind in "fmM" else X.data.astype(object)
    if X.dtype.kind == "S":
        array[:] = np.vectorize(text_of_bytes, otypes=[object])(array)
    array[X.mask] = {"f": np.nan, "m": "NaT", "M": "NaT"}.get(X.dtype.kind)
    return array


def _refuse_other_shapes(array: np.ndarray) -> None:
    if array.ndim < 2:
        content = str(array)
        raise ValueError(
            f"Expected 2D array, got {'1D' if array.ndim else 'scalar'} array instead:\n"
            f"array={content if len(content) <= 200 else content[:197] + '...'}.\nReshape your data either using "
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
    if kinds is not None and not isinstance(kinds, Mapping):
        raise ValueError(f"kinds must map names of columns to 'numeric' or 'categorical', got {kinds!r:.80}.")
    for name, kind in (kinds or {}).items():
        if name not in names:
            raise ValueError(f"kinds names column {name!r}, which X does not have.")
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(f"kinds[{name!r}] is {kind!r}; it must be 'numeric' or 'categorical'.")


def polars_frame(data: Any, **options: Any) -> Any:
    """A polars dataframe of texts that come from data: half characters (lone surrogates), which polars cannot hold, are
    spelt out.
    """
    import polars as pl

    try:
        return pl.DataFrame(data, **options)
    except UnicodeEncodeError:
        return pl.DataFrame(spelt_out(data), **options)
