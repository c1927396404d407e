"""Columns of dataframe libraries and arrays, each read once: as a NumPy array, a polars series, or codes of values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from bayesieve.table.arrays import objects_round, plain_objects, type_of_objects
from bayesieve.table.encoding import drop_unused, encoded_objects, encoded_series
from bayesieve.table.values import count_moments

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
    """Values of one column of any library, in the form of the library until they are read, and read once.

    Parameters
    ----------
    column : NumPy array, or series of polars, pandas or pyarrow
    """

    def __init__(self, column: Any) -> None:
        self._is_arrow = False
        if not isinstance(column, np.ndarray):
            if nw.dependencies.is_polars_series(column):
                column = _without_name(column)
            elif nw.dependencies.is_pandas_series(column):
                import pandas as pd

                dtype = column.dtype
                if isinstance(dtype, np.dtype):
                    column = column.to_numpy()
                elif isinstance(dtype, pd.ArrowDtype) or getattr(dtype, "storage", None) == "pyarrow":
                    column, self._is_arrow = to_arrow(column), True
                elif isinstance(dtype, pd.SparseDtype):
                    column = column.array.to_dense()  # never guessed to be text that Arrow would refuse
            elif nw.dependencies.is_pyarrow_chunked_array(column):
                column, self._is_arrow = to_arrow(column), True
        self._native = column
        self.n_rows = len(column)

    @cached_property
    def declared_type(self) -> str | None:
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
    def type(self) -> str:
        """The declared type, or the type that the values of all rows have."""
        declared = self.declared_type
        return type_of_objects(self.values) if declared is None else declared

    @cached_property
    def values(self) -> Any:
        """A NumPy array, a polars series, or `Encoded` values."""
        if isinstance(self._native, np.ndarray):
            return self._native
        if self._is_arrow:
            return _read_arrow(self._native)
        return _read_pandas(self._native) if nw.dependencies.is_pandas_series(self._native) else self._native

    @cached_property
    def rounds(self) -> bool:
        """Whether `plain` may give two different numbers as one: Decimals, whole numbers beyond 64 bits."""
        values = self.values
        if isinstance(values, np.ndarray):
            return objects_round(values) if values.dtype == object else values.dtype.kind == "f" and values.itemsize > 8
        import polars as pl

        return isinstance(values, pl.Series) and values.dtype in (pl.Decimal, pl.Int128, pl.UInt128)

    def of_rows(self, rows: np.ndarray) -> Any:
        """The values at these positions, in one of the three forms."""
        values = self.values
        if isinstance(values, Encoded):
            return Encoded(*drop_unused(values.codes[rows], values.values))
        return values[rows] if isinstance(values, np.ndarray) else values.gather(rows)

    def encoded(self, rows: np.ndarray | None) -> tuple[np.ndarray, list[Any]]:
        """Codes (int32, -1 = missing) and the distinct raw values that they stand for, all of which occur."""
        values = self.values if rows is None else self.of_rows(rows)
        if isinstance(values, Encoded):
            return values.codes, values.values
        return encoded_objects(values) if isinstance(values, np.ndarray) else encoded_series(values)

    def plain(self, rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Numbers, booleans, dates (in days since 1970), datetimes, durations or times (in microseconds) as an array,
        and which of them are missing; None: those that are NaN.
        """
        values = self.values if rows is None else self.of_rows(rows)
        if not isinstance(values, np.ndarray):
            return _plain_series(values, self.type, rounds=self.rounds)
        if values.dtype == object:
            return plain_objects(values, self.type)
        if values.dtype.kind not in "mM":
            return values, None
        missing = np.isnat(values)
        return count_moments(values, "D" if self.type == "date" else "us"), missing if missing.any() else None


def _without_name(column: Any) -> Any:
    """NumPy reads objects. Columns lose their names: ``*`` and ``^...$`` are patterns to polars' own methods."""
    import polars as pl

    if column.dtype == pl.Object:
        return column.to_numpy()
    return (column.cast(pl.Float64) if column.dtype == pl.Null else column).alias("")


def to_arrow(column: Any) -> Any:
    """Return a column of pandas or pyarrow as chunks of Arrow in a layout that all of its functions accept: no views,
    no run-end encoding.
    """
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        column = column if isinstance(column, pa.Array) else pa.array(column)
        column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if pa.types.is_null(column.type):
        return column.cast(pa.float64())
    if pa.types.is_run_end_encoded(column.type):
        # Arrow decodes few types of values, and Python has no dates after the year 9999: take each row's run instead.
        chunks = [to_arrow(chunk.values).take(_runs(chunk)) for chunk in column.chunks]
        parts = [part for chunk in chunks for part in chunk.chunks]
        return pa.chunked_array(parts) if parts else to_arrow(pa.chunked_array([], column.type.value_type))
    if "_view" in str(column.type):
        import polars as pl

        return pa.chunked_array([pl.Series(column).to_arrow(compat_level=pl.CompatLevel.oldest())])
    return column


def _runs(chunk: Any) -> np.ndarray:
    """Return the position of each row's run in a run-end encoded array of Arrow, shape (n_rows,)."""
    rows = np.arange(chunk.offset, chunk.offset + len(chunk))
    return np.searchsorted(chunk.run_ends.to_numpy(), rows, side="right")


def _read_pandas(column: Any) -> Any:
    """Read categories, moments with a time zone, numbers with a mask, and other extension types as objects."""
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


def _read_arrow(column: Any) -> Any:
    """Read texts and dictionaries as codes, plain types as an array or a polars series, and the rest as objects."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.types as pt

    kind = column.type
    is_dictionary = pt.is_dictionary(kind)
    if not (is_dictionary or pt.is_string(kind) or pt.is_large_string(kind)):
        is_moment = pt.is_date(kind) or pt.is_timestamp(kind) or pt.is_duration(kind)
        if is_moment or pt.is_floating(kind) or (pt.is_integer(kind) and not column.null_count):
            return column.to_numpy()
        is_plain = pt.is_integer(kind) or pt.is_boolean(kind) or pt.is_time(kind)
        if is_plain or (pt.is_decimal(kind) and not pt.is_decimal256(kind)):
            return pl.Series(column)
        objects = np.empty(len(column), dtype=object)
        objects[:] = column.to_pylist()
        return objects
    if not is_dictionary:
        column = column.dictionary_encode()
    elif pt.is_string(kind.value_type) and not any(chunk.dictionary.null_count for chunk in column.chunks):
        column = column.unify_dictionaries()  # Arrow cannot do so for all types, and garbles half floats
    # Chunks may have dictionaries of their own: the codes of each begin after the values of those before it.
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
    return Encoded(*drop_unused(codes, values)) if is_dictionary else Encoded(codes, values)


def _plain_series(column: Any, type_: str, *, rounds: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Return `RawColumn.plain` of a polars series."""
    import polars as pl

    if rounds:
        column = column.cast(pl.Float64)
    if getattr(column.dtype, "time_unit", None) == "ms":
        # Polars itself panics, with a trace on the error stream, if the result does not fit into 64 bits.
        column = column.to_physical()
        lowest, highest = column.min(), column.max()
        if lowest is not None and max(-lowest, highest) >= 2**63 // 1000:
            raise OverflowError("a moment or duration does not fit into 64 bits as microseconds")
        column = column * 1000
    elif type_ in ("datetime", "duration"):
        column = column.dt.cast_time_unit("us")
    column = column.to_physical()
    if type_ == "time":
        column = column // 1000  # polars counts nanoseconds since midnight
    if column.null_count() == 0 or column.dtype.is_float():
        return column.to_numpy(), None  # nulls become NaN
    zero = False if column.dtype == pl.Boolean else 0
    return column.fill_null(zero).to_numpy(), column.is_null().to_numpy()
