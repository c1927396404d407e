"""Conversion of any dataframe or 2-D array to a `Table`, with scikit-learn's rules on feature names and numbers."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from sklearn.utils.validation import _get_feature_names

from bayesieve.forking import refuse_fork
from bayesieve.table.arrays import as_array, as_csc
from bayesieve.table.column_values import to_arrow
from bayesieve.table.columns import KINDS, Column, MatrixTable, SpecialValues, Table, duplicate_error
from bayesieve.table.scanned import ScannedTable, scanned_rows
from bayesieve.table.scans import Scan
from bayesieve.table.target import Target, as_sample_weight, as_target
from bayesieve.table.values import spelt_out
from bayesieve.words import did_you_mean

WIDE = 256
"""Smallest number of columns of one type for which a frame is read as one matrix."""
_LAZY = ("polars_lazyframe", "duckdb_relation", "dask_dataframe", "pyspark_dataframe", "pyspark_connect_dataframe")


def as_table(X: Any, *, kinds: Mapping[str, Any] | None = None, feature_names: Sequence[str] | None = None) -> Table:
    """Read a dataframe, a 2-D array or a sparse matrix, without copying it if its memory can be read by columns.

    Parameters
    ----------
    X : dataframe, array-like or sparse matrix, shape (n_rows, n_columns)
        Anything narwhals reads eagerly (pandas, polars, pyarrow, modin ...), a 2-D NumPy array of numbers, text or
        objects, a list of rows, or a SciPy sparse matrix or array of numbers or booleans, whose absent cells are zeros.
    kinds : mapping from column name to "numeric" or "categorical", optional
        Kinds as which to read some columns; the kinds of the others follow from their types.
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
    table = X if isinstance(X, Table) else ScannedTable(X) if isinstance(X, Scan) else _read(X)
    if table.n_columns == 0 or table.n_rows == 0:
        _refuse_empty(table, X)
    names = list(table.names) if feature_names is None else _given_names(feature_names, table.n_columns)
    if len(set(names)) < len(names):
        raise duplicate_error(names)
    if kinds is not None:
        _check_kinds(kinds, names)
    return table if feature_names is None and not kinds else table.read_as(names, kinds or {})


def whole_frame(X: Any) -> Any:
    """Convert a batch or a stream of Arrow data to a pyarrow table; return anything else unchanged.

    Raises TypeError for frames that are not in memory.
    """
    X, dependencies = nw.to_native(X, pass_through=True), nw.dependencies
    if dependencies.is_polars_lazyframe(X) or dependencies.is_dask_dataframe(X) or dependencies.is_ibis_table(X):
        raise TypeError(f"{type(X)} is not in memory yet; call its collect(), compute() or execute() first.")
    if dependencies.is_into_dataframe(X) or not hasattr(X, "__arrow_c_stream__"):
        return X
    if "pyarrow" in sys.modules:  # it holds every type that Arrow has
        return sys.modules["pyarrow"].table(X)
    import polars as pl

    return pl.DataFrame(X)


def is_scan(X: Any, y: Any) -> bool:
    """Return whether ``X`` is a scan, or will be read as one: a path, list of paths or query if ``y`` names the target.

    `scan` may still raise an error for a path or query that it cannot read.
    """
    if isinstance(X, Scan) or not isinstance(y, str):
        return isinstance(X, Scan)
    if isinstance(X, np.ndarray) or nw.dependencies.is_pandas_dataframe(X) or nw.dependencies.is_polars_dataframe(X):
        return False
    paths = X if isinstance(X, (list, tuple)) and len(X) else [X]
    if all(isinstance(path, (str, os.PathLike)) for path in paths) or type(X).__module__.startswith("pyarrow._dataset"):
        return True
    return any(getattr(nw.dependencies, f"is_{kind}")(X) for kind in _LAZY)


def refuse_scan(X: Any, y: Any, what: str, remedy: str) -> None:
    """Raise ValueError if ``X`` is a scan, or would be read as one because ``y`` names its target.

    The message says that ``what``, such as the name of a function, needs rows in memory, and ends with ``remedy``.
    """
    if is_scan(X, y):
        raise ValueError(f"{what} needs the rows in memory, not a scanned table; {remedy}.")


class LabelledRows(NamedTuple):
    """Classes and weights of the rows of a table that have a label.

    Attributes
    ----------
    target : class of each labelled row.
    weights : (n_labelled,) row weights, or None.
    row_mask : (n_rows,) mask of the labelled rows of a scan; None if all rows have a label.
    """

    target: Target
    weights: np.ndarray | None
    row_mask: np.ndarray | None = None

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any) -> LabelledRows:
        """Read the labels and weights of the rows of ``X``.

        ``y`` and ``sample_weight`` have shape (n_rows,); ``sample_weight`` may be None. If ``X`` is a scan (files, a
        query or a lazy frame, read block by block), they are names of its columns, and rows without a label are
        skipped.
        """
        if is_scan(X, y):
            rows = scanned_rows(X, y, sample_weight)
            return cls(rows.target, rows.weights, rows.table.row_mask)
        target = as_target(y)
        return cls(target, as_sample_weight(sample_weight, target.codes.size))

    def among(self, values: np.ndarray) -> np.ndarray:
        """Return the entries of ``values``, an array (n_rows, ...), that belong to labelled rows.

        Raise ValueError if the number of values is not the number of rows of the table.
        """
        n_rows = self.target.codes.size if self.row_mask is None else self.row_mask.size
        if len(values) != n_rows:
            raise ValueError(f"X has {len(values):,} rows but y has {n_rows:,} labels; pass one label for each row.")
        return values if self.row_mask is None else values[self.row_mask]


def split_columns(X: Any, y: Any, *others: Any) -> tuple[Any, ...]:
    """Separate the columns named by ``y`` and ``others`` from the other columns of a dataframe in memory.

    Returns
    -------
    tuple
        Frame without the named columns, then the column for ``y`` and for each of ``others`` (an argument that is not a
        name is returned as it is). If ``y`` is not a name, or ``X`` is not a dataframe in memory, all arguments as they
        are.

    Raises
    ------
    ValueError
        If a column does not exist; the message names it.
    """
    if not isinstance(y, str) or not nw.dependencies.is_into_dataframe(X):
        return X, y, *others
    try:
        frame = nw.from_native(X, eager_only=True)
    except nw.exceptions.DuplicateError:
        as_table(X)  # names the column
        raise
    roles = [y, *others]
    names = [role for role in roles if isinstance(role, str)]
    for name in names:
        if name not in frame.columns:
            hint = did_you_mean(name, frame.columns) or f"the columns are {', '.join(map(repr, frame.columns))}."
            raise ValueError(f"There is no column {name!r}; {hint}")
    rest = frame[:, [name for name in frame.columns if name not in names]]  # `drop` takes some names for patterns
    return rest.to_native(), *(frame[role].to_native() if isinstance(role, str) else role for role in roles)


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return the rows at some positions of a dataframe, array or sparse matrix, as the same kind of table."""
    X = whole_frame(X)
    if nw.dependencies.is_into_dataframe(X):
        try:
            return nw.from_native(X, eager_only=True)[rows].to_native()
        except NotImplementedError:  # Arrow takes no rows of some layouts
            return nw.from_native(_in_arrow_layout(X), eager_only=True)[rows].to_native()
    if hasattr(X, "tocsc"):  # a sparse matrix of SciPy, which is not loaded to find out
        return (X if X.format in ("csr", "csc") else X.tocsr())[rows]
    return (X if isinstance(X, np.ndarray) else as_array(X))[rows]


def _in_arrow_layout(X: Any) -> Any:
    """Return a frame of pyarrow or pandas with Arrow columns in layouts that all Arrow functions accept."""
    import pyarrow as pa

    if isinstance(X, pa.Table):
        return pa.table([to_arrow(column) for column in X.columns], names=X.column_names)
    import pandas as pd

    frame = X.copy(deep=False)
    for i, dtype in enumerate(frame.dtypes):
        if isinstance(dtype, pd.ArrowDtype):
            column = to_arrow(frame.iloc[:, i])
            frame.isetitem(i, pd.Series(column, dtype=pd.ArrowDtype(column.type), index=frame.index))
    return frame


def select_columns(X: Any, positions: np.ndarray) -> Any:
    """Return the columns at some positions of a dataframe, array or sparse matrix, as the same kind of table."""
    if nw.dependencies.is_into_dataframe(X):
        return nw.from_native(X, eager_only=True)[:, positions.tolist()].to_native()
    if hasattr(X, "tocsc"):  # a sparse matrix of SciPy, which is not loaded to find out
        return X.tocsc()[:, positions].asformat(X.format)
    return as_array(X)[:, positions]


def _read(X: Any, library: str | None = None) -> Table:
    """Convert a dataframe or array to a `Table`; to a `MatrixTable` if it has many columns, all of one numeric type.

    ``library`` is the dataframe library of results for the caller; by default that of ``X``.
    """
    X = nw.to_native(X, pass_through=True)
    names: list[str] | None = None
    # Test common types first: narwhals is slow to recognise that an object is not a frame.
    if isinstance(X, np.ndarray) or hasattr(X, "tocsc"):  # a sparse matrix
        matrix = as_array(X) if isinstance(X, np.ndarray) else as_csc(X)
        columns = []
        if matrix.dtype.kind not in "biuf":
            columns, matrix = list(matrix.T), None
    elif nw.dependencies.is_polars_dataframe(X):
        names, columns, dtypes = X.columns, X.get_columns(), X.dtypes
        is_wide = len(dtypes) >= WIDE and all(dtype == dtypes[0] for dtype in dtypes)
        matrix = _matrix_of_polars(X) if is_wide else None
    elif nw.dependencies.is_pyarrow_table(X):
        names, columns, matrix, library = X.column_names, X.columns, None, library or "pyarrow"
    elif nw.dependencies.is_pandas_dataframe(X):
        names, columns, dtypes, library = list(X.columns), [], list(X.dtypes), library or "pandas"
        if len(set(names)) < len(names):
            raise duplicate_error(names)
        names = None if _get_feature_names(X) is None else names  # an error if only some are strings
        is_wide = len(dtypes) >= WIDE and all(dtype == dtypes[0] for dtype in dtypes)
        matrix = _matrix_of_pandas(X) if is_wide else None
        if matrix is None:
            columns = [column for _, column in X.items()]
    else:
        return _read_other(X)
    width = len(columns) if matrix is None else int(matrix.shape[1])
    labels = [f"x{i}" for i in range(width)] if names is None else names
    if matrix is not None:
        return MatrixTable(matrix, labels, names is not None)
    read = [Column(name, column) for name, column in zip(labels, columns, strict=True)]
    return Table(read, len(columns[0]) if columns else 0, names is not None, library or "polars")


def _read_other(X: Any) -> Table:
    """Read a list of rows, or a frame of an uncommon library that converts to a common one."""
    if nw.dependencies.is_into_series(X):
        raise ValueError(
            f"Expected a 2-dimensional container but got {type(X)} instead. Pass a DataFrame containing a single row "
            "(i.e. single sample) or a single column (i.e. single feature) instead. Reshape your data."
        )
    if nw.dependencies.is_into_dataframe(X):
        return _read(nw.from_native(X, eager_only=True).to_pandas(), "polars")
    frame = whole_frame(X)
    return _read(as_array(X) if frame is X else frame, "polars")


def _matrix_of_polars(frame: Any) -> np.ndarray | None:
    """Return a polars frame whose columns have one data type as an array, (n_rows, n_columns).

    Return None if the type is not numeric, or if integers have nulls.
    """
    dtype = frame.dtypes[0]
    if not (dtype.is_float() or dtype.is_integer()) or dtype.to_python() not in (int, float):
        return None
    array = frame.to_numpy(order="fortran")
    is_exact = dtype.is_float() or array.dtype.kind in "iu"  # nulls make floats of whole numbers
    return array if is_exact and array.dtype.kind in "iuf" else None


def _matrix_of_pandas(frame: Any) -> Any:
    """Return a pandas frame whose columns have one data type as an array or a sparse matrix, (n_rows, n_columns).

    Return None if the type is not a NumPy type of numbers or booleans.
    """
    import pandas as pd

    dtype = frame.dtypes.iloc[0]
    if isinstance(dtype, pd.SparseDtype) and dtype.subtype.kind in "biuf" and dtype.fill_value == 0:
        return as_csc(frame.sparse.to_coo())
    return frame.to_numpy() if isinstance(dtype, np.dtype) and dtype.kind in "biuf" else None


def _refuse_empty(table: Table, X: Any) -> None:
    """Raise ValueError, in scikit-learn's words, for a table without columns or without rows."""
    if table.n_columns:
        n_columns = table.n_columns
        raise ValueError(
            f"Found array with 0 sample(s) (shape=(0, {n_columns})) while a minimum of 1 is required. X has no rows; "
            "pass at least one."
        )
    shape = getattr(X, "shape", None)
    n_rows = int(shape[0]) if shape else len(X)
    raise ValueError(
        f"0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required. X has no columns; pass at least one."
    )


def _given_names(feature_names: Sequence[str], n_columns: int) -> list[str]:
    """Return ``feature_names`` as a list; raise TypeError or ValueError unless they are ``n_columns`` strings."""
    names = list(feature_names)
    if len(names) != n_columns:
        raise ValueError(
            f"feature_names has {len(names)} names but X has {n_columns} columns; give one name for each column."
        )
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"feature_names must be strings, got {name!r}.")
    return [str(name) for name in names]


def _check_kinds(kinds: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise ValueError unless ``kinds`` maps names of columns to "numeric" or "categorical", or to special values."""
    if not isinstance(kinds, Mapping):
        raise ValueError(f"kinds must map names of columns to 'numeric' or 'categorical', got {kinds!r:.80}.")
    for name, kind in kinds.items():
        if name not in names:
            hint = did_you_mean(str(name), names) or "name its columns only."
            raise ValueError(f"kinds names column {name!r}, which X does not have; {hint}")
        if not isinstance(kind, SpecialValues) and (not isinstance(kind, str) or kind not in KINDS):
            raise ValueError(f"kinds[{name!r}] is {kind!r}; it must be 'numeric' or 'categorical'.")


def results_frame(data: Any, library: str = "polars", **options: Any) -> Any:
    """Return ``data``, as `polars.DataFrame` accepts it, as a dataframe of ``library``, for results.

    ``options`` are passed to `polars.DataFrame`. Lone surrogates (halves of characters) in texts that come from data
    are written as escapes, because polars cannot hold them.
    """
    import polars as pl

    try:
        return in_library(pl.DataFrame(data, **options), library)
    except UnicodeEncodeError:
        return in_library(pl.DataFrame(spelt_out(data), **options), library)


def frame_of_columns(columns: Mapping[str, Any], texts: Collection[str]) -> Any:
    """Return a polars dataframe of results from a mapping of column names to values, which is faster than from rows.

    ``texts`` are the names of the text columns. Lone surrogates (halves of characters) in texts are written as escapes.
    """
    import polars as pl

    def frame_from(columns: Mapping[str, Any]) -> Any:
        """Return the dataframe of columns whose texts polars can hold."""
        of_text = {name: pl.String if name in texts else None for name in columns}
        return pl.DataFrame([pl.Series(name, values, dtype=of_text[name]) for name, values in columns.items()])

    try:
        return frame_from(columns)
    except UnicodeEncodeError:
        return frame_from(spelt_out(columns))


def library_of(X: Any) -> str:
    """Return the dataframe library for results about ``X``: "pandas" or "pyarrow" if ``X`` is theirs, otherwise
    "polars".
    """
    X = nw.to_native(X, pass_through=True)
    return next((name for name, is_of_library in _LIBRARIES.items() if is_of_library(X)), "polars")


_LIBRARIES = {"pandas": nw.dependencies.is_pandas_dataframe, "pyarrow": nw.dependencies.is_pyarrow_table}


def in_library(frame: Any, library: str) -> Any:
    """Convert a polars dataframe of results to one of ``library``: "pandas", "pyarrow" or "polars"."""
    if library == "pandas":
        import pandas as pd

        columns = {each.name: each.to_list() if each.dtype.is_nested() else _array_of(each) for each in frame}
        return pd.DataFrame(columns)
    return frame.to_arrow() if library == "pyarrow" else frame


def _array_of(column: Any) -> np.ndarray:
    """Return a polars column as an array. Equal texts share one object, because texts of results often repeat."""
    import polars as pl

    if column.dtype != pl.String:
        return np.asarray(column.to_numpy())
    texts = column.drop_nulls().unique()
    codes = column.cast(pl.Enum(texts)).to_physical().fill_null(texts.len()).to_numpy()
    return np.array([*texts.to_list(), None], dtype=object)[codes]


def in_library_of(X: Any, frame: Any, lists: Mapping[str, Sequence[list[str] | None]] | None = None) -> Any:
    """Convert a polars dataframe of results about rows of ``X`` to the dataframe library of ``X``.

    Each key of ``lists`` is a column of ``frame`` that holds positions in the value of the key, a sequence of lists of
    texts (or None); the column is replaced by the lists at these positions, which are shared objects in pandas. If
    ``X`` is of pandas, the index of the result has the labels of ``X`` at the row positions in the column ``row``.
    """
    import polars as pl

    library, lists = library_of(X), lists or {}
    if library != "pandas":
        columns = [pl.Series(name, lists[name], dtype=pl.List(pl.String)).gather(frame[name]) for name in lists]
        return in_library(frame.with_columns(columns), library)
    results = in_library(frame, library)
    for name in lists:
        results[name] = [lists[name][at] for at in frame[name].to_list()]
    return results.set_axis(nw.to_native(X, pass_through=True).index[results["row"].to_numpy()], axis=0)


def fit_table(estimator: Any, X: Any, *, kinds: Mapping[str, Any] | None = None) -> Table:
    """Read the training table, and set attributes of ``estimator``: column names and dataframe library.

    ``kinds`` maps names of columns to "numeric" or "categorical", if the kind does not follow from their type. The
    estimator returns results as dataframes of the library of ``X``.
    """
    refuse_fork()
    require_table(estimator, X)
    table = as_table(X, kinds=kinds)
    estimator.n_features_in_, estimator.library_ = table.n_columns, table.library
    if table.named:
        estimator.feature_names_in_ = np.asarray(table.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return table


def new_table(estimator: Any, X: Any) -> Table:
    """Read rows for a fitted estimator, such as rows to be predicted.

    Raise ValueError unless the columns of ``X`` are those that ``estimator`` was fitted to, in the same order.
    """
    fitted_names = getattr(estimator, "feature_names_in_", None)
    table = as_table(X)
    owner = type(estimator).__name__
    if fitted_names is not None and table.named:
        if list(fitted_names) != list(table.names):
            raise ValueError(_other_names(list(fitted_names), list(table.names), owner))
    elif fitted_names is not None:
        warnings.warn(
            f"X does not have valid feature names, but {owner} was fitted with feature names", UserWarning, stacklevel=3
        )
    elif table.named:
        warnings.warn(f"X has feature names, but {owner} was fitted without feature names", UserWarning, stacklevel=3)
    if table.n_columns != estimator.n_features_in_:
        raise ValueError(
            f"X has {table.n_columns} features, but {owner} is expecting {estimator.n_features_in_} features as input. "
            "Pass the columns of the training rows, in their order."
        )
    return table


def require_table(estimator: Any, X: Any) -> None:
    """Raise TypeError, which names the class of ``estimator``, if ``X`` is a dict or a list of dicts."""
    has_dicts = isinstance(X, (list, tuple)) and len(X) > 0 and isinstance(X[0], Mapping)
    if has_dicts or (isinstance(X, Mapping) and not hasattr(X, "shape")):
        raise TypeError(
            f"{type(estimator).__name__} expects a dataframe or a 2-D array, got "
            f"{'a list of dicts' if has_dicts else 'a dict'}; pass a dataframe, such as pandas.DataFrame(X) or "
            "polars.DataFrame(X)."
        )


def _other_names(fitted: list[str], given: list[str], owner: str) -> str:
    """Return the error message for the case that the columns of a table are not those of the fit.

    ``fitted`` are the names of the fit, ``given`` those of the table, and ``owner`` is the name of the estimator's
    class.
    """
    message = "The feature names should match those that were passed during fit.\n"
    unexpected = sorted(set(given) - set(fitted))
    missing = sorted(set(fitted) - set(given))
    if unexpected:
        message += "Feature names unseen at fit time:\n" + _names_in_lines(unexpected)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _names_in_lines(missing)
    if not unexpected and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    if not missing:
        message += f"{owner} takes the columns of the training rows in their order: X[list(feature_names_in_)].\n"
    return message


def _names_in_lines(names: list[str]) -> str:
    """Return up to five names as lines "- name" of a list, and a line "- ..." if there are more."""
    lines = [f"- {name}\n" for name in names[:5]]
    return "".join(lines) + ("- ...\n" if len(names) > 5 else "")
