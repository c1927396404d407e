"""Readers of tables in memory: frames of any library, arrays and sparse matrices."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils.validation import _get_feature_names

from bayesieve.table.arrays import as_array, as_csc, encoded_objects, encoded_one_by_one, objects_round, plain_objects
from bayesieve.table.values import count_moments, drop_unused

WIDE = 256
"""Columns of one type from which a frame is read as one matrix."""


class Backend(ABC):
    """Reader of the tables of one kind, which splits them into columns.

    It imports its library inside its methods, so that nothing is loaded before it is needed.
    """

    @abstractmethod
    def reads(self, X: Any) -> bool:
        """Whether ``X`` is a table of this library."""

    @abstractmethod
    def columns(self, X: Any) -> tuple[list[str] | None, Any]:
        """The names of the columns, or None if they have none, and a list of the columns: NumPy arrays, or series of
        polars, pandas or pyarrow.

        A table of numbers of a single type may be an array or a SciPy CSC matrix instead, shape (n_rows, n_columns).
        """

    @abstractmethod
    def select(self, X: Any, positions: np.ndarray) -> Any:
        """The columns at these positions, as the same kind of table."""

    @abstractmethod
    def take_rows(self, X: Any, rows: np.ndarray) -> Any:
        """The rows at these positions, as the same kind of table."""


def is_wide(dtypes: Sequence[Any]) -> bool:
    """Whether there are very many columns of one type: one matrix spares an object for each of them."""
    return len(dtypes) >= WIDE and all(dtype == dtypes[0] for dtype in dtypes)


def refuse_duplicates(names: Sequence[str]) -> None:
    """ValueError for a name that appears more than once."""
    if len(set(names)) < len(names):
        name = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"Column name {name!r} appears more than once; give every column its own name.")


class ArraysBackend(Backend):
    """NumPy arrays, and lists of rows."""

    def reads(self, X: Any) -> bool:
        return isinstance(X, (np.ndarray, list, tuple))

    def columns(self, X: Any) -> tuple[None, Any]:
        array = as_array(X)
        return None, array if array.dtype.kind in "biuf" else list(array.T)

    def select(self, X: Any, positions: np.ndarray) -> np.ndarray:
        return as_array(X)[:, positions]

    def take_rows(self, X: Any, rows: np.ndarray) -> np.ndarray:
        return (X if isinstance(X, np.ndarray) else as_array(X))[rows]


class SparseBackend(Backend):
    """SciPy sparse matrices and arrays, whose columns are arrays when they are read."""

    def reads(self, X: Any) -> bool:
        sparse = sys.modules.get("scipy.sparse")  # SciPy is not loaded to find out
        return sparse is not None and bool(sparse.issparse(X))

    def columns(self, X: Any) -> tuple[None, Any]:
        return None, as_csc(X)

    def select(self, X: Any, positions: np.ndarray) -> Any:
        return X.tocsc()[:, positions].asformat(X.format)

    def take_rows(self, X: Any, rows: np.ndarray) -> Any:
        return (X if X.format in ("csr", "csc") else X.tocsr())[rows]


class FramesBackend(Backend):
    """Dataframes of polars, pandas and pyarrow, and those that turn into pandas: modin, cuDF."""

    def reads(self, X: Any) -> bool:
        return bool(nw.dependencies.is_into_dataframe(X))

    def columns(self, X: Any) -> tuple[list[str] | None, Any]:
        if nw.dependencies.is_polars_dataframe(X):
            matrix = _matrix(X) if is_wide(X.dtypes) else None
            return X.columns, X.get_columns() if matrix is None else matrix
        if nw.dependencies.is_pyarrow_table(X):
            return X.column_names, X.columns
        import pandas as pd

        frame = X if nw.dependencies.is_pandas_dataframe(X) else nw.from_native(X, eager_only=True).to_pandas()
        names, dtypes = _string_names(frame), list(frame.dtypes)
        dtype = dtypes[0] if is_wide(dtypes) else None
        if isinstance(dtype, pd.SparseDtype) and dtype.subtype.kind in "biuf" and dtype.fill_value == 0:
            return names, as_csc(frame.sparse.to_coo())
        if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
            return names, frame.to_numpy()
        return names, [frame.iloc[:, i] for i in range(frame.shape[1])]

    def select(self, X: Any, positions: np.ndarray) -> Any:
        return nw.from_native(X, eager_only=True)[:, positions.tolist()].to_native()

    def take_rows(self, X: Any, rows: np.ndarray) -> Any:
        try:
            return nw.from_native(X, eager_only=True)[rows].to_native()
        except NotImplementedError:  # Arrow takes no rows of some layouts
            return nw.from_native(_with_kernels(X), eager_only=True)[rows].to_native()


def _matrix(frame: Any) -> np.ndarray | None:
    """A frame of one data type as an array; None unless it holds plain numbers, and no null among whole ones."""
    dtype = frame.dtypes[0]
    if not (dtype.is_float() or dtype.is_integer()) or dtype.to_python() not in (int, float):
        return None
    array = frame.to_numpy(order="fortran")
    known = dtype.is_float() or array.dtype.kind in "iu"  # nulls make floats of whole numbers
    return array if known and array.dtype.kind in "iuf" else None


def _string_names(frame: Any) -> list[str] | None:
    """The names if all are strings, None if none is, an error if only some are."""
    names = list(frame.columns)
    if len(set(names)) < len(names):
        refuse_duplicates([str(name) for name in names])
    return None if _get_feature_names(frame) is None else names


def _with_kernels(X: Any) -> Any:
    """A frame of pyarrow or pandas whose Arrow columns have layouts that all of Arrow's functions take."""
    import pyarrow as pa

    if isinstance(X, pa.Table):
        return pa.table([with_kernels(column) for column in X.columns], names=X.column_names)
    import pandas as pd

    frame = X.copy(deep=False)
    for i, dtype in enumerate(frame.dtypes):
        if isinstance(dtype, pd.ArrowDtype):
            column = _to_arrow(frame.iloc[:, i])
            frame.isetitem(i, pd.Series(column, dtype=pd.ArrowDtype(column.type), index=frame.index))
    return frame


def with_kernels(column: Any) -> Any:
    """Return the values in a layout that all of Arrow's functions accept: no views, no run-end encoding."""
    import pyarrow as pa

    if pa.types.is_null(column.type):
        return column.cast(pa.float64())
    if pa.types.is_run_end_encoded(column.type):
        # Arrow decodes few types of values, and Python has no dates after the year 9999: take each row's run instead.
        chunks = [with_kernels(pa.chunked_array([chunk.values])).take(_runs(chunk)) for chunk in column.chunks]
        parts = [part for chunk in chunks for part in chunk.chunks]
        return pa.chunked_array(parts) if parts else with_kernels(pa.chunked_array([], column.type.value_type))
    if "_view" in str(column.type):
        import polars as pl

        return pa.chunked_array([pl.Series(column).to_arrow(compat_level=pl.CompatLevel.oldest())])
    return column


def _runs(chunk: Any) -> np.ndarray:
    """Return the position of each row's run in a run-end encoded array of Arrow, shape (n_rows,)."""
    rows = np.arange(chunk.offset, chunk.offset + len(chunk))
    return np.searchsorted(chunk.run_ends.to_numpy(), rows, side="right")


def _to_arrow(column: Any) -> Any:
    import pyarrow as pa

    data = pa.array(column)
    return with_kernels(data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data]))


_TYPES: dict[type, str | None] = {
    nw.Boolean: "boolean",
    nw.String: "text",
    nw.Categorical: "category",
    nw.Enum: "category",
    nw.Object: None,
    nw.Date: "date",
    nw.Datetime: "datetime",
    nw.Duration: "duration",
    nw.Time: "time",
}
_TYPES_OF_ARRAYS = {
    **dict.fromkeys("iuf", "number"),
    **dict.fromkeys("UST", "text"),
    "b": "boolean",
    "m": "duration",
    "M": "datetime",
    "O": None,
}


def type_of_dtype(dtype: Any) -> str | None:
    """The `Column.type` of a narwhals data type, or None if it depends on the values."""
    if dtype.is_numeric():
        return "number"
    return _TYPES.get(type(dtype), "mixed")


@dataclass(frozen=True)
class Encoded:
    """A column as codes (int32, -1 = missing) of raw values, all of which occur."""

    codes: np.ndarray
    values: list[Any]


class RawColumn:
    """A column of any library: its declared type, and its values in one of three forms.

    Parameters
    ----------
    column : NumPy array, or series of polars, pandas or pyarrow
    """

    def __init__(self, column: Any) -> None:
        if not isinstance(column, np.ndarray) and nw.dependencies.is_pandas_series(column):
            column = _from_pandas(column)
        if not isinstance(column, np.ndarray) and nw.dependencies.is_polars_series(column):
            column = _nameless(column)
        self._is_arrow = not isinstance(column, np.ndarray) and bool(nw.dependencies.is_pyarrow_chunked_array(column))
        self._native = with_kernels(column) if self._is_arrow else column

    def __len__(self) -> int:
        return len(self._native)

    @cached_property
    def type(self) -> str | None:
        """The type of the column: number, boolean, text, category, date, datetime, duration, time or mixed; None if it
        depends on the values, as in a column of Python objects.
        """
        column = self._native
        if isinstance(column, np.ndarray):
            is_date = column.dtype.kind == "M" and np.datetime_data(column.dtype)[0] in ("Y", "M", "W", "D")
            return "date" if is_date else _TYPES_OF_ARRAYS.get(column.dtype.kind, "mixed")
        if self._is_arrow:
            import pyarrow.types as pt

            if pt.is_floating(column.type) or pt.is_decimal(column.type):  # narwhals does not know all of them
                return "number"
            if pt.is_date(column.type):
                return "date"
        return type_of_dtype(nw.from_native(column, series_only=True).dtype)

    @cached_property
    def values(self) -> Any:
        """A NumPy array, a polars series, or `Encoded` values; made once, when they are asked for."""
        column = self._native
        if isinstance(column, np.ndarray):
            return column
        if self._is_arrow:
            return _of_arrow(column)
        return _of_pandas(column) if nw.dependencies.is_pandas_series(column) else column


def _nameless(column: Any) -> Any:
    """NumPy reads objects. Columns lose their names: ``*`` and ``^...$`` are patterns to polars' own methods."""
    import polars as pl

    if column.dtype == pl.Object:
        return column.to_numpy()
    return (column.cast(pl.Float64) if column.dtype == pl.Null else column).alias("")


def _from_pandas(column: Any) -> Any:
    """The values that a series of pandas holds as NumPy or Arrow does; others as they are."""
    import pandas as pd

    if isinstance(column.dtype, pd.ArrowDtype) or getattr(column.dtype, "storage", None) == "pyarrow":
        return _to_arrow(column)
    if isinstance(column.dtype, pd.SparseDtype):
        return column.array.to_dense()  # never guessed to be text that Arrow would refuse
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column


def _of_pandas(column: Any) -> Any:
    """Categories, moments with a time zone, numbers with a mask, and objects."""
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return Encoded(*drop_unused(column.cat.codes.to_numpy().astype(np.int32), column.cat.categories.tolist()))
    if isinstance(dtype, pd.DatetimeTZDtype):
        return column.dt.tz_convert(None).to_numpy()
    if not hasattr(dtype, "numpy_dtype") or dtype.kind not in "biuf":
        return column.to_numpy(dtype=object)
    if not column.hasnans:
        return column.to_numpy(dtype=dtype.numpy_dtype)
    if dtype.kind == "f":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    import polars as pl

    known = column.fillna(False if dtype.kind == "b" else 0).to_numpy(dtype=dtype.numpy_dtype)
    return pl.Series(known).set(pl.Series(column.isna().to_numpy()), None)


def _of_arrow(column: Any) -> Any:
    """Texts and dictionaries encoded, others as an array of NumPy or a series of polars, the rest as objects."""
    import polars as pl
    import pyarrow.types as pt

    kind = column.type
    if pt.is_dictionary(kind) or pt.is_string(kind) or pt.is_large_string(kind):
        return _encoded_arrow(column)
    is_moment = pt.is_date(kind) or pt.is_timestamp(kind) or pt.is_duration(kind)
    if is_moment or pt.is_floating(kind) or (pt.is_integer(kind) and not column.null_count):
        return column.to_numpy()
    is_plain = pt.is_integer(kind) or pt.is_boolean(kind) or pt.is_time(kind)
    if is_plain or (pt.is_decimal(kind) and not pt.is_decimal256(kind)):
        return pl.Series(column)
    objects = np.empty(len(column), dtype=object)
    objects[:] = column.to_pylist()
    return objects


def _encoded_arrow(column: Any) -> Encoded:
    import pyarrow as pa
    import pyarrow.types as pt

    came_encoded = pt.is_dictionary(column.type)
    if not came_encoded:
        column = column.dictionary_encode()
    elif pt.is_string(column.type.value_type) and not any(chunk.dictionary.null_count for chunk in column.chunks):
        column = column.unify_dictionaries()  # Arrow cannot do so for all types, and garbles half floats
    parts: list[np.ndarray] = []
    values: list[Any] = []
    dictionary, first = None, 0
    for chunk in column.chunks:
        if dictionary is None or not chunk.dictionary.equals(dictionary):
            dictionary, first = chunk.dictionary, len(values)
            values += dictionary.to_pylist()
        codes = chunk.indices.cast(pa.int32()).fill_null(-1).to_numpy()
        parts.append(codes + first * (codes >= 0) if first else codes)
    codes = np.empty(0, dtype=np.int32) if not parts else parts[0] if len(parts) == 1 else np.concatenate(parts)
    return Encoded(*drop_unused(codes, values)) if came_encoded else Encoded(codes, values)


def plain(values: Any, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers, booleans, dates (in days since 1970), datetimes, durations or times (in microseconds) as an array, and
    which of them are missing; None: those that are NaN.
    """
    if not isinstance(values, np.ndarray):
        return _plain_series(values, type_)
    if values.dtype == object:
        return plain_objects(values, type_)
    if values.dtype.kind not in "mM":
        return values, None
    missing = np.isnat(values)
    return count_moments(values, "D" if type_ == "date" else "us"), missing if missing.any() else None


def _plain_series(column: Any, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
    import polars as pl

    if rounds(column):
        column = column.cast(pl.Float64)
    if getattr(column.dtype, "time_unit", None) == "ms":
        column = _milliseconds_as_microseconds(column.to_physical())
    elif type_ in ("datetime", "duration"):
        column = column.dt.cast_time_unit("us")
    column = column.to_physical()
    if type_ == "time":
        column = column // 1000  # polars counts nanoseconds since midnight
    if column.null_count() == 0:
        return column.to_numpy(), None
    if column.dtype.is_float():
        return column.to_numpy(), None  # nulls become NaN
    zero = False if column.dtype == pl.Boolean else 0
    return column.fill_null(zero).to_numpy(), column.is_null().to_numpy()


def _milliseconds_as_microseconds(counts: Any) -> Any:
    """Polars itself panics, with a trace on the error stream, if the result does not fit into 64 bits."""
    lowest, highest = counts.min(), counts.max()
    if lowest is not None and max(-lowest, highest) >= 2**63 // 1000:
        raise OverflowError("a moment or duration does not fit into 64 bits as microseconds")
    return counts * 1000


def rounds(values: Any) -> bool:
    """Whether `plain` may give two different numbers as one: Decimals, whole numbers beyond 64 bits."""
    if isinstance(values, np.ndarray):
        return objects_round(values) if values.dtype == object else values.dtype.kind == "f" and values.itemsize > 8
    import polars as pl

    return isinstance(values, pl.Series) and values.dtype in (pl.Decimal, pl.Int128, pl.UInt128)


def encoded(values: Any) -> tuple[np.ndarray, list[Any]]:
    """Codes (int32, -1 = missing) and the distinct raw values that they stand for, all of which occur."""
    if isinstance(values, Encoded):
        return values.codes, values.values
    if not isinstance(values, np.ndarray):
        return encoded_series(values)
    return encoded_objects(values.astype(object, copy=False))


def encoded_series(column: Any) -> tuple[np.ndarray, list[Any]]:
    """`encoded` of a series of polars."""
    import polars as pl

    if column.dtype == pl.Binary or column.dtype.is_nested() or column.dtype.is_numeric():
        try:
            values = column.to_list()
        except ValueError as error:  # moments in lists, of years that Python's types do not hold
            raise OverflowError from error
        return encoded_one_by_one(values)
    if column.dtype == pl.String:
        # Its own pool of categories: the shared one would hand out codes that grow with every other column.
        pool = pl.Categories.random()
        column = column.cast(pl.Categorical(pool))
        values = pool.to_series().to_list()  # while `column` lives: an unused pool is emptied
        return _physical(column), values
    if column.dtype == pl.Enum:
        return drop_unused(_physical(column), column.dtype.categories.to_list())
    # The pool of categories may be shared with other columns and far larger than what this one uses.
    used = column.drop_nulls().unique()
    position = np.full(int(used.to_physical().max() or 0) + 2, -1, dtype=np.int32)
    position[used.to_physical().to_numpy()] = np.arange(len(used))
    return position[_physical(column)], used.cast(pl.String).to_list()


def _physical(column: Any) -> np.ndarray:
    """The codes of a Categorical or Enum column as int32, -1 for nulls."""
    import polars as pl

    codes = column.to_physical().cast(pl.UInt32)
    if codes.null_count():  # filling them takes longer than all the rest in small tables
        codes = codes.fill_null(2**32 - 1)
    return codes.to_numpy().view(np.int32)


def taken(values: Any, rows: np.ndarray) -> Any:
    """The values at these positions."""
    if isinstance(values, Encoded):
        return Encoded(*drop_unused(values.codes[rows], values.values))
    return values[rows] if isinstance(values, np.ndarray) else values.gather(rows)


_ARRAYS = ArraysBackend()
_BACKENDS = (_ARRAYS, SparseBackend(), FramesBackend())


def reader_of(X: Any) -> Backend:
    """Return the backend of a table in memory; other objects are read as arrays."""
    return next((backend for backend in _BACKENDS if backend.reads(X)), _ARRAYS)
