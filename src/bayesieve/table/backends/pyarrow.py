"""One column of a pyarrow table (a ChunkedArray)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.table.backends import objects
from bayesieve.table.values import drop_unused


def column_type(column: Any) -> str | None:
    """See `bayesieve.table.backends`."""
    import pyarrow.types as pt

    kind = column.type
    for test, name in (
        (pt.is_null, "number"),
        (pt.is_boolean, "boolean"),
        (pt.is_integer, "number"),
        (pt.is_floating, "number"),
        (pt.is_decimal, "number"),
        (_is_text, "text"),
        (pt.is_dictionary, "category"),
        (pt.is_date, "date"),
        (pt.is_timestamp, "datetime"),
        (pt.is_duration, "duration"),
        (pt.is_time, "time"),
    ):
        if test(kind):
            return name
    return "mixed"


def plain(column: Any, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
    """See `bayesieve.table.backends`."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as pt

    if pt.is_null(column.type):
        return np.full(len(column), np.nan), None
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


def _as_counts(column: Any, type_: str) -> Any:
    """Temporal columns as whole days or microseconds."""
    import pyarrow as pa

    if type_ == "date":
        return column.cast(pa.date32()).cast(pa.int32())
    if type_ == "datetime":
        return column.cast(pa.timestamp("us", tz=column.type.tz), safe=False).cast(pa.int64())
    if type_ == "duration":
        return column.cast(pa.duration("us"), safe=False).cast(pa.int64())
    if type_ == "time":
        return column.cast(pa.time64("us"), safe=False).cast(pa.int64())
    return column


def encoded(column: Any) -> tuple[np.ndarray, list[Any]]:
    """See `bayesieve.table.backends`."""
    import pyarrow as pa
    import pyarrow.types as pt

    came_encoded = pt.is_dictionary(column.type)
    if not came_encoded and not _is_text(column.type):
        return objects.encoded_one_by_one(column.to_pylist())
    column = column.unify_dictionaries() if came_encoded else column.dictionary_encode()
    if column.num_chunks == 0:
        return np.empty(0, dtype=np.int32), []
    # The chunks share one dictionary now, so their indices can simply be joined.
    parts = [chunk.indices.cast(pa.int32()).fill_null(-1).to_numpy() for chunk in column.chunks]
    codes = parts[0] if len(parts) == 1 else np.concatenate(parts)
    values = column.chunk(0).dictionary.to_pylist()
    return drop_unused(codes, values) if came_encoded else (codes, values)


def _is_text(kind: Any) -> bool:
    import pyarrow.types as pt

    return pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)


def take(column: Any, rows: np.ndarray) -> Any:
    """See `bayesieve.table.backends`."""
    return column.take(rows)


def value(column: Any, row: int) -> Any:
    """See `bayesieve.table.backends`."""
    return column[row].as_py()
