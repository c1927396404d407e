"""Types of columns from narwhals' data types, which are the same for every library."""

from __future__ import annotations

from typing import Any

import narwhals as nw


def type_of_dtype(dtype: Any) -> str | None:
    """The `Column.type` of a narwhals data type, None where it depends on the values."""
    if dtype.is_numeric():
        return "number"
    for kind, name in (
        (nw.Boolean, "boolean"),
        (nw.String, "text"),
        (nw.Categorical, "category"),
        (nw.Enum, "category"),
        (nw.Date, "date"),
        (nw.Datetime, "datetime"),
        (nw.Duration, "duration"),
        (nw.Time, "time"),
        (nw.Object, None),
    ):
        if isinstance(dtype, kind):
            return name
    return "mixed"
