"""What a column of text holds: numbers, booleans, dates, or really text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_SAMPLE_ROWS = 100
# What other programs write for a missing number. In a column of text these stay what they are.
_MISSING_NUMBERS = (
    *("", "?", ".", "-", "NA", "N/A", "n/a", "na", "#N/A", "#NA", "<NA>", "NaN", "nan", "NAN", "-nan", "-NaN"),
    *("null", "NULL", "Null", "None", "none", "NONE"),
)


def typed_text(column: pl.Series, *, decimal_comma: bool = False) -> pl.Series:
    """A text column as what all its values are, apart from missing ones; text loses surrounding blanks only.

    Parameters
    ----------
    column : polars.Series of String
    decimal_comma : bool
        Whether ``1,5`` may be a number.
    """
    import polars as pl

    trimmed = column.str.strip_chars()
    trimmed = trimmed.set(trimmed == "", None)
    if trimmed.null_count() == len(trimmed):
        return trimmed
    marked = trimmed.is_in(pl.Series(_MISSING_NUMBERS, dtype=pl.String).implode())
    cleaned = trimmed.set(marked, None) if marked.any() else trimmed
    if cleaned.null_count() == len(cleaned):
        return cleaned.cast(pl.Float64)
    readers = [_integers, _floats, *([_decimal_commas] if decimal_comma else []), _booleans, _dates, _datetimes, _times]
    for reader in readers:
        found = _read_all(cleaned, reader)
        if found is not None:
            return found
    return trimmed


def _read_all(column: pl.Series, reader: Callable[[pl.Series], pl.Series]) -> pl.Series | None:
    """The column read one way, None if some value does not fit; a few values tell most misfits."""
    if reader(column.drop_nulls().head(_SAMPLE_ROWS)).null_count():
        return None
    found = reader(column)
    return found if found.null_count() == column.null_count() else None


def _integers(column: pl.Series) -> pl.Series:
    import polars as pl

    return column.cast(pl.Int64, strict=False)


def _floats(column: pl.Series) -> pl.Series:
    import polars as pl

    return column.cast(pl.Float64, strict=False)


def _decimal_commas(column: pl.Series) -> pl.Series:
    return _floats(column.str.replace(r"^([+-]?\d*),(\d+)$", "${1}.${2}"))


def _booleans(column: pl.Series) -> pl.Series:
    import polars as pl

    # The spellings that the reader of files takes for booleans.
    texts = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
    return column.replace_strict(texts, default=None, return_dtype=pl.Boolean)


def _dates(column: pl.Series) -> pl.Series:
    return column.str.to_date("%Y-%m-%d", strict=False)


def _datetimes(column: pl.Series) -> pl.Series:
    utc = column.str.replace(r"(Z|\+00:?00)$", "")
    plain = utc.str.replace("T", " ", literal=True)
    moments = plain.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")
    minutes = plain.str.to_datetime("%Y-%m-%d %H:%M", strict=False, time_unit="us")
    return moments.fill_null(minutes)


def _times(column: pl.Series) -> pl.Series:
    return column.str.to_time("%H:%M:%S%.f", strict=False)
