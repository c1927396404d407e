"""How each dataframe library gives up its columns, NumPy and SciPy included; other packages add more."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from sklearn.utils.validation import _get_feature_names

from bayesieve.parts import Registry
from bayesieve.table.arrays import as_array, as_csc, encoded_objects, encoded_one_by_one, objects_round, plain_objects
from bayesieve.table.values import count_moments, drop_unused, text_of_bytes

WIDE = 256
"""Columns of one type from which a frame is read as one matrix."""


class Backend(ABC):
    """Reads the frames of one library, and their columns: arrays, series or whatever holds the values of one column.

    A backend is one class in one file. It imports its library inside its methods, so that nothing is loaded before it
    is needed. Conversions run in the library's own compiled code, which releases the GIL wherever no Python objects are
    involved. See `docs/own-backend.md` for an example.

    Attributes
    ----------
    name : str
        Class attribute: the name of the library.
    """

    name: ClassVar[str] = ""

    @abstractmethod
    def reads(self, X: Any) -> bool:
        """Whether ``X`` is a frame of this library."""

    @abstractmethod
    def columns(self, X: Any) -> tuple[list[str] | None, Any]:
        """The names of the columns, None where they have none, and a list of the columns, each with a length.

        A frame of numbers of a single type may be an array or a SciPy CSC matrix instead, shape (n_rows, n_columns).
        """

    @abstractmethod
    def select(self, X: Any, positions: np.ndarray) -> Any:
        """The columns at these positions, as the same kind of frame."""

    @abstractmethod
    def take_rows(self, X: Any, rows: np.ndarray) -> Any:
        """The rows at these positions, as the same kind of frame."""

    def native(self, column: Any) -> tuple[Any, str]:
        """A column in the form that is read, and the name of the backend that reads it; not all are this one's."""
        return column, self.name

    @abstractmethod
    def column_type(self, column: Any) -> str | None:
        """The type of a column: number, boolean, text, category, date, datetime, duration, time or mixed; None if it
        depends on the values, as in a column of Python objects.
        """

    @abstractmethod
    def plain(self, column: Any, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
        """A column of numbers, booleans, dates (in days since 1970), datetimes, durations or times (in microseconds) as
        an array, and which values are missing; None: those that are NaN.
        """

    def rounds(self, column: Any) -> bool:
        """Whether `plain` may give two different numbers as one: Decimals, whole numbers beyond 64 bits."""
        return False

    @abstractmethod
    def encoded(self, column: Any) -> tuple[np.ndarray, list[Any]]:
        """Codes (int32, -1 = missing) and the distinct raw values that they stand for, all of which occur."""

    @abstractmethod
    def take(self, column: Any, rows: np.ndarray) -> Any:
        """The values of a column at these positions, as the same kind of column."""


def is_wide(dtypes: Sequence[Any]) -> bool:
    """Whether there are very many columns of one type: one matrix spares an object for each of them."""
    return len(dtypes) >= WIDE and all(dtype == dtypes[0] for dtype in dtypes)


def refuse_duplicates(names: Sequence[str]) -> None:
    """ValueError for a name that appears more than once."""
    if len(set(names)) < len(names):
        name = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"Column name {name!r} appears more than once; give every column its own name.")


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


def type_of_dtype(dtype: Any) -> str | None:
    """The `Column.type` of a narwhals data type, None where it depends on the values."""
    if dtype.is_numeric():
        return "number"
    return _TYPES.get(type(dtype), "mixed")


class ArraysBackend(Backend):
    """NumPy arrays, and lists of rows."""

    name = "arrays"
    _types: ClassVar[dict[str, str]] = {
        **dict.fromkeys("iuf", "number"),
        **dict.fromkeys("UST", "text"),
        "b": "boolean",
        "m": "duration",
    }

    def reads(self, X: Any) -> bool:
        return isinstance(X, (np.ndarray, list, tuple))

    def columns(self, X: Any) -> tuple[None, Any]:
        array = as_array(X)
        return None, array if array.dtype.kind in "biuf" else list(array.T)

    def select(self, X: Any, positions: np.ndarray) -> np.ndarray:
        return as_array(X)[:, positions]

    def take_rows(self, X: Any, rows: np.ndarray) -> np.ndarray:
        return (X if isinstance(X, np.ndarray) else as_array(X))[rows]

    def column_type(self, column: np.ndarray) -> str | None:
        if column.dtype.kind == "M":
            return "date" if np.datetime_data(column.dtype)[0] in ("Y", "M", "W", "D") else "datetime"
        return None if column.dtype == object else self._types.get(column.dtype.kind, "mixed")

    def plain(self, column: np.ndarray, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
        if column.dtype == object:
            return plain_objects(column, type_)
        if column.dtype.kind not in "mM":
            return column, None
        missing = np.isnat(column)
        return count_moments(column, "D" if type_ == "date" else "us"), missing if missing.any() else None

    def rounds(self, column: np.ndarray) -> bool:
        return objects_round(column) if column.dtype == object else column.dtype.kind == "f" and column.itemsize > 8

    def encoded(self, column: np.ndarray) -> tuple[np.ndarray, list[Any]]:
        if column.dtype.kind == "S":
            distinct, codes = np.unique(column, return_inverse=True)
            return codes.astype(np.int32), [text_of_bytes(value) for value in distinct.tolist()]
        return encoded_objects(column.astype(object, copy=False))

    def take(self, column: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return column[rows]


class SparseBackend(ArraysBackend):
    """SciPy sparse matrices and arrays, whose columns are arrays when they are read."""

    name = "sparse"

    def reads(self, X: Any) -> bool:
        sparse = sys.modules.get("scipy.sparse")  # SciPy is not loaded to find out
        return sparse is not None and bool(sparse.issparse(X))

    def columns(self, X: Any) -> tuple[None, Any]:
        return None, as_csc(X)

    def select(self, X: Any, positions: np.ndarray) -> Any:
        return X.tocsc()[:, positions].asformat(X.format)

    def take_rows(self, X: Any, rows: np.ndarray) -> Any:
        return (X if X.format in ("csr", "csc") else X.tocsr())[rows]


class PolarsBackend(Backend):
    """Polars dataframes."""

    name = "polars"

    def reads(self, X: Any) -> bool:
        return bool(nw.dependencies.is_polars_dataframe(X))

    def columns(self, X: Any) -> tuple[list[str], Any]:
        matrix = _matrix(X) if is_wide(X.dtypes) else None
        return X.columns, X.get_columns() if matrix is None else matrix

    def select(self, X: Any, positions: np.ndarray) -> Any:
        return X[:, positions.tolist()]  # by name, * and ^...$ are patterns

    def take_rows(self, X: Any, rows: np.ndarray) -> Any:
        return X[rows]

    def native(self, column: Any) -> tuple[Any, str]:
        """NumPy reads objects. Columns lose their names: ``*`` and ``^...$`` are patterns to polars' own methods."""
        import polars as pl

        if column.dtype == pl.Object:
            return column.to_numpy(), "arrays"
        return (column.cast(pl.Float64) if column.dtype == pl.Null else column).alias(""), self.name

    def column_type(self, column: Any) -> str | None:
        return type_of_dtype(nw.from_native(column, series_only=True).dtype)

    def plain(self, column: Any, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
        import polars as pl

        if self.rounds(column):
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

    def rounds(self, column: Any) -> bool:
        import polars as pl

        return column.dtype == pl.Decimal or column.dtype in (pl.Int128, pl.UInt128)

    def encoded(self, column: Any) -> tuple[np.ndarray, list[Any]]:
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

    def take(self, column: Any, rows: np.ndarray) -> Any:
        return column.gather(rows)


def _milliseconds_as_microseconds(counts: Any) -> Any:
    """Polars itself panics, with a trace on the error stream, where the result does not fit into 64 bits."""
    lowest, highest = counts.min(), counts.max()
    if lowest is not None and max(-lowest, highest) >= 2**63 // 1000:
        raise OverflowError("a moment or duration does not fit into 64 bits as microseconds")
    return counts * 1000


def _physical(column: Any) -> np.ndarray:
    """The codes of a Categorical or Enum column as int32, -1 for nulls."""
    import polars as pl

    codes = column.to_physical().cast(pl.UInt32)
    if codes.null_count():  # filling them takes longer than all the rest in small tables
        codes = codes.fill_null(2**32 - 1)
    return codes.to_numpy().view(np.int32)


def _matrix(frame: Any) -> np.ndarray | None:
    """A frame of one data type as an array; None unless it holds plain numbers, and no null among whole ones."""
    dtype = frame.dtypes[0]
    if not (dtype.is_float() or dtype.is_integer()) or dtype.to_python() not in (int, float):
        return None
    array = frame.to_numpy(order="fortran")
    known = dtype.is_float() or array.dtype.kind in "iu"  # nulls make floats of whole numbers
    return array if known and array.dtype.kind in "iuf" else None


class ArrowBackend(Backend):
    """Pyarrow tables."""

    name = "pyarrow"

    def reads(self, X: Any) -> bool:
        return bool(nw.dependencies.is_pyarrow_table(X))

    def columns(self, X: Any) -> tuple[list[str], Any]:
        return X.column_names, X.columns

    def select(self, X: Any, positions: np.ndarray) -> Any:
        return X.select(positions.tolist())

    def take_rows(self, X: Any, rows: np.ndarray) -> Any:
        import pyarrow as pa

        return pa.table([with_kernels(column).take(rows) for column in X.columns], names=X.column_names)

    def native(self, column: Any) -> tuple[Any, str]:
        import pyarrow as pa

        return with_kernels(column.cast(pa.float64()) if pa.types.is_null(column.type) else column), self.name

    def column_type(self, column: Any) -> str | None:
        import pyarrow.types as pt

        if pt.is_floating(column.type) or pt.is_decimal(column.type):  # narwhals does not know all of them
            return "number"
        if pt.is_date(column.type):
            return "date"
        return type_of_dtype(nw.from_native(column, series_only=True).dtype)

    def plain(self, column: Any, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.types as pt

        if pt.is_decimal(column.type):
            column = column.cast(pa.float64())
        column = _as_counts(column, type_)
        missing = None
        if column.null_count:
            missing = pc.is_null(column).to_numpy(zero_copy_only=False)
            column = pc.fill_null(column, pa.scalar(False if type_ == "boolean" else 0).cast(column.type))
        if column.num_chunks == 1 and type_ != "boolean":
            return column.chunk(0).to_numpy(zero_copy_only=True), missing
        return column.to_numpy(), missing

    def rounds(self, column: Any) -> bool:
        import pyarrow.types as pt

        return bool(pt.is_decimal(column.type))

    def encoded(self, column: Any) -> tuple[np.ndarray, list[Any]]:
        import pyarrow as pa
        import pyarrow.types as pt

        came_encoded = pt.is_dictionary(column.type)
        if not came_encoded and not _is_text(column.type):
            return encoded_one_by_one(column.to_pylist())
        if not came_encoded:
            column = column.dictionary_encode()
        elif _is_text(column.type.value_type) and not any(chunk.dictionary.null_count for chunk in column.chunks):
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
        return drop_unused(codes, values) if came_encoded else (codes, values)

    def take(self, column: Any, rows: np.ndarray) -> Any:
        return column.take(rows)


def _as_counts(column: Any, type_: str) -> Any:
    """Temporal columns as whole days or microseconds."""
    import pyarrow as pa

    try:
        if type_ == "date":
            return column.cast(pa.date32()).cast(pa.int32())
        # Nanoseconds lose digits, coarser units must not lose their place: Arrow would wrap them around.
        if type_ == "datetime":
            exact = column.type.unit != "ns"
            return column.cast(pa.timestamp("us", tz=column.type.tz), safe=exact).cast(pa.int64())
        if type_ == "duration":
            return column.cast(pa.duration("us"), safe=column.type.unit != "ns").cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise OverflowError("a moment or duration does not fit into 64 bits as microseconds") from error
    if type_ == "time":
        return column.cast(pa.time64("us"), safe=False).cast(pa.int64())
    return column


def with_kernels(column: Any) -> Any:
    """The same values in a layout that all of Arrow's functions take: no views, no run-end encoding."""
    import pyarrow as pa
    import pyarrow.types as pt

    kind = column.type
    if pt.is_run_end_encoded(kind):
        return pa.chunked_array([_run_by_run(chunk) for chunk in column.chunks] or [pa.array([], kind.value_type)])
    if pt.is_string_view(kind):
        return column.cast(pa.large_string())
    if pt.is_binary_view(kind):
        return column.cast(pa.large_binary())
    if pt.is_nested(kind) and any(view in str(kind) for view in ("string_view", "binary_view")):
        import polars as pl

        return pa.chunked_array([pl.Series(column).to_arrow(compat_level=pl.CompatLevel.oldest())])
    return column


def _run_by_run(chunk: Any) -> Any:
    """Arrow itself decodes runs of some types only."""
    import pyarrow as pa

    rows = chunk.offset + np.arange(len(chunk))
    runs = np.searchsorted(chunk.run_ends.to_numpy(), rows, side="right")
    return with_kernels(pa.chunked_array([chunk.values])).take(runs).combine_chunks()


def _is_text(kind: Any) -> bool:
    import pyarrow.types as pt

    return pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)


class PandasBackend(Backend):
    """Pandas dataframes, and those that turn into them: modin, cuDF."""

    name = "pandas"

    def reads(self, X: Any) -> bool:
        return bool(nw.dependencies.is_into_dataframe(X))

    def columns(self, X: Any) -> tuple[list[str] | None, Any]:
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
        return X.iloc[:, positions]

    def take_rows(self, X: Any, rows: np.ndarray) -> Any:
        import pandas as pd

        try:
            return X.iloc[rows]
        except NotImplementedError:  # Arrow columns of a layout that pandas cannot take rows of change to another
            columns = [X.iloc[:, i] for i in range(X.shape[1])]
            parts = {i: _taken(column, rows) for i, column in enumerate(columns)}
            taken = pd.DataFrame(parts, index=X.index[rows])
            taken.columns = X.columns
            return taken

    def native(self, column: Any) -> tuple[Any, str]:
        """Arrow reads columns that it holds, NumPy those of its plain types."""
        import pandas as pd

        if isinstance(column.dtype, pd.ArrowDtype) or getattr(column.dtype, "storage", None) == "pyarrow":
            return _ARROW.native(_to_arrow(column))
        if isinstance(column.dtype, pd.SparseDtype):
            column = column.sparse.to_dense()
        if isinstance(column.dtype, np.dtype) and column.dtype.kind not in "mM":
            return column.to_numpy(), _ARRAYS.name
        return column, self.name

    def column_type(self, column: Any) -> str | None:
        return type_of_dtype(nw.from_native(column, series_only=True).dtype)

    def plain(self, column: Any, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
        if type_ == "datetime" and getattr(column.array, "unit", None) in ("s", "ms"):  # may lie beyond microseconds
            naive = column if isinstance(column.dtype, np.dtype) else column.dt.tz_convert(None)
            return _ARRAYS.plain(naive.to_numpy(), type_)
        if type_ == "datetime":
            return _ARRAYS.plain(column.to_numpy(dtype="datetime64[us]"), type_)  # in UTC where there is a time zone
        if isinstance(column.dtype, np.dtype):
            return _ARRAYS.plain(column.to_numpy(), type_)
        if not column.hasnans:
            return column.to_numpy(dtype=column.dtype.numpy_dtype), None
        if column.dtype.kind == "f":
            return column.to_numpy(dtype=np.float64, na_value=np.nan), None
        fill = False if type_ == "boolean" else 0
        return column.fillna(fill).to_numpy(dtype=column.dtype.numpy_dtype), column.isna().to_numpy()

    def encoded(self, column: Any) -> tuple[np.ndarray, list[Any]]:
        import pandas as pd

        if isinstance(column.dtype, pd.CategoricalDtype):
            return drop_unused(column.cat.codes.to_numpy().astype(np.int32), column.cat.categories.tolist())
        return _ARRAYS.encoded(column.to_numpy(dtype=object))

    def take(self, column: Any, rows: np.ndarray) -> Any:
        return column.iloc[rows]


def _to_arrow(column: Any) -> Any:
    import pyarrow as pa

    data = pa.array(column)
    return with_kernels(data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data]))


def _taken(column: Any, rows: np.ndarray) -> Any:
    import pandas as pd

    if not isinstance(column.dtype, pd.ArrowDtype):
        return column.iloc[rows]
    taken = _to_arrow(column).take(rows)
    return pd.Series(taken, dtype=pd.ArrowDtype(taken.type), index=column.index[rows])


def _string_names(frame: Any) -> list[str] | None:
    """The names if all are strings, None if none is, an error if only some are."""
    names = list(frame.columns)
    if len(set(names)) < len(names):
        refuse_duplicates([str(name) for name in names])
    return None if _get_feature_names(frame) is None else names


_ARRAYS, _ARROW = ArraysBackend(), ArrowBackend()
_OWN = (_ARRAYS, PolarsBackend(), _ARROW, SparseBackend(), PandasBackend())
BACKENDS: Registry[type[Backend]] = Registry("bayesieve.backends", Backend, *map(type, _OWN))


@cache
def backend(name: str) -> Backend:
    """The backend of this name."""
    return BACKENDS[name]()


def reader_of(X: Any) -> Backend:
    """The backend for a frame in memory; what no library claims is read as an array."""
    own = next((library for library in _OWN if library.reads(X)), None)
    # Backends of other packages are looked for only if none of these reads it.
    return own or next((library for library in map(backend, BACKENDS) if library.reads(X)), _ARRAYS)
