"""Frames of polars."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from bayesieve.table.backends import objects
from bayesieve.table.backends.base import Backend, is_wide, type_of_dtype
from bayesieve.table.values import drop_unused


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

        if column.dtype == pl.Decimal or column.dtype in (pl.Int128, pl.UInt128):
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
            return objects.encoded_one_by_one(values)
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
