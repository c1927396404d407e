"""One schema for files whose columns may have different types."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def unified(schemas: Sequence[pl.Schema], paths: Sequence[str | Path]) -> pl.Schema:
    """The columns of the first file with types that hold the values of all files.

    Raises
    ------
    ValueError
        If a file lacks a column or has one more, or a column has types that do not go together; the message names the
        two files.
    """
    import polars as pl

    types = dict(schemas[0])
    homes = dict.fromkeys(types, paths[0])  # of each type
    for schema, path in zip(schemas[1:], paths[1:], strict=True):
        if schema == schemas[0]:
            continue
        for these, those, lacking, having in ((types, schema, path, paths[0]), (schema, types, paths[0], path)):
            for name in these:
                if name not in those:
                    raise ValueError(
                        f"{lacking} has no column {name!r}, which {having} has; give all files the same columns."
                    )
        for name, dtype in schema.items():
            both = common_type(types[name], dtype)
            if both is None:
                raise ValueError(
                    f"Column {name!r} is {_said(types[name])} in {homes[name]} and {_said(dtype)} in {path}; "
                    "give it one type in all files."
                )
            if _said(both) != _said(types[name]):
                homes[name] = path
            types[name] = both
    return pl.Schema(types)


def common_type(one: pl.DataType, other: pl.DataType) -> pl.DataType | None:
    """The type that holds the values of both, None if they do not go together."""
    import polars as pl

    if one == other or other == pl.Null:
        return one
    if one == pl.Null:
        return other
    if one.is_numeric() and other.is_numeric():
        return _common_number(one, other)
    texts = (pl.String, pl.Categorical, pl.Enum)
    if one in texts and other in texts:
        return pl.String() if pl.String in (one, other) else pl.Categorical()
    if {type(one), type(other)} == {pl.Date, pl.Datetime}:
        zone = getattr(one, "time_zone", None) or getattr(other, "time_zone", None)
        return pl.Datetime("us") if zone is None else None
    if isinstance(one, pl.Datetime) and isinstance(other, pl.Datetime):
        if (one.time_zone is None) != (other.time_zone is None):
            return None
        return pl.Datetime("us", one.time_zone if one.time_zone == other.time_zone else "UTC")
    if isinstance(one, pl.Duration) and isinstance(other, pl.Duration):
        return pl.Duration("us")
    return None


def _common_number(one: pl.DataType, other: pl.DataType) -> pl.DataType:
    import polars as pl

    if one.is_integer() and other.is_integer():
        types = (pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64(), pl.Int128(), pl.UInt64())
        lowest, highest = min(map(_lowest, (one, other))), max(map(_highest, (one, other)))
        return next((t for t in types if _lowest(t) <= lowest and highest <= _highest(t)), pl.Float64())
    return pl.Float32() if one == other == pl.Float32 else pl.Float64()


def _lowest(dtype: pl.DataType) -> int:
    return -(1 << _bits(dtype) - 1) if dtype.is_signed_integer() else 0


def _highest(dtype: pl.DataType) -> int:
    return (1 << _bits(dtype) - dtype.is_signed_integer()) - 1


def _bits(dtype: pl.DataType) -> int:
    return int(str(dtype).lstrip("UInt"))


def _said(dtype: pl.DataType) -> str:
    """A type in words."""
    import polars as pl

    if dtype.is_numeric():
        return "a number"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    if isinstance(dtype, pl.Datetime):
        return "a date and time" + (" with a time zone" if dtype.time_zone else "")
    words = {pl.Boolean: "true or false", pl.Date: "a date", pl.Time: "a time of day", pl.Duration: "a duration"}
    return words.get(type(dtype), str(dtype))
