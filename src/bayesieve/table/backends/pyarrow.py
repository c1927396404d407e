"""Tables of pyarrow, whose columns are ChunkedArrays."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from bayesieve.table.backends import objects
from bayesieve.table.backends.base import Backend, type_of_dtype
from bayesieve.table.values import drop_unused


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
            return objects.encoded_one_by_one(column.to_pylist())
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
