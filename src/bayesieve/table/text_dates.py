"""Dates and times in text: ISO 8601 and other common forms, whose order of day and month follows from their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_TIME = r"(?:[T ,]\s*(?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2}(?:\.\d{1,9})?))?\s*(?<half>[AaPp][Mm])?)?$"
_NUMBERS = r"(?<first_number>\d{1,2})(?<mark>[./-])(?<second_number>\d{1,2})"
_YEAR_LAST = rf"^{_NUMBERS}(?<mark_again>[./-])(?<year>\d{{4}}){_TIME}"
_YEAR_FIRST = rf"^(?<year>\d{{4}})(?<mark_again>[./-]){_NUMBERS}{_TIME}"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    "(?<month>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    "oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))"
)
_DAY_AND_NAME = rf"^(?<day>\d{{1,2}})\.?[ -]?{_MONTH}\.?,?[ -](?<year>\d{{4}}){_TIME}"
_NAME_AND_DAY = rf"^{_MONTH}\.? (?<day>\d{{1,2}}),? (?<year>\d{{4}}){_TIME}"
_OTHER_FORM = (
    r"^(\d{1,2}[./-]\d{1,2}[./-]\d{4}|\d{4}([./]\d{1,2}[./]\d{1,2}|-\d-\d{1,2}|-\d{2}-\d)|"
    r"\d{1,2}\.?[ -]?[A-Za-z]{3,9}\.?,?[ -]\d{4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4})([T ,]|$)"
)


class DayMonthOrder:
    """Order of day and month in the dates of a text column, inferred from values such as 31/12/2024, which prove it.

    A number above 12 is a day: each value that has one proves the order for all values with the same separator. The
    year comes first or last; if it comes first, the month follows. In dates with points such as 31.12.2024 the day
    comes first. English names of months need no proof.

    Parameters
    ----------
    day_first : bool, optional
        Whether the day comes first in the training table. Values with two possible readings are then read in this
        order.
    """

    def __init__(self, day_first: bool | None = None) -> None:
        self._training_order = day_first
        self._proofs: dict[str, set[bool]] = {}  # by separator: whether the day comes first

    def add(self, texts: pl.Series) -> None:
        """Examine more values of the column: take note of those that prove the order."""
        import polars as pl

        parts = _parts(texts.filter(texts.str.contains(_OTHER_FORM)), _YEAR_LAST)
        parts = parts.filter(pl.col("mark") == pl.col("mark_again"))
        large = parts.group_by("mark").agg((pl.col("first_number") > 12).any(), (pl.col("second_number") > 12).any())
        for mark, day_first, month_first in large.select("mark", "first_number", "second_number").rows():
            proofs = self._proofs.setdefault(mark, set())
            proofs.update([True] * day_first + [False] * month_first)

    @property
    def is_clear(self) -> bool:
        """Whether the order is proved for each separator that occurs in dates."""
        return all(proofs == {True} if mark == "." else len(proofs) == 1 for mark, proofs in self._proofs.items())

    @property
    def day_first(self) -> bool | None:
        """Whether the day comes first; None if the values prove neither order, or both."""
        proofs = {proof for mark, proofs in self._proofs.items() if mark != "." for proof in proofs}
        return proofs.pop() if len(proofs) == 1 else None

    def contradiction(self, texts: pl.Series) -> str | None:
        """Return the first of ``texts`` that proves another order than that of training; None if there is none, or the
        order of training is unknown.
        """
        import polars as pl

        dated = texts.filter(texts.str.contains(_OTHER_FORM))
        if self._training_order is None or not len(dated):
            return None
        day, month = ("second_number", "first_number") if self._training_order else ("first_number", "second_number")
        is_other = (pl.col("mark") == pl.col("mark_again")) & (pl.col("mark") != ".")
        is_other &= (pl.col(day) > 12) & (pl.col(month) <= 12)
        others = dated.filter(_parts(dated, _YEAR_LAST).select(is_other.fill_null(False)).to_series())
        return others[0] if len(others) else None

    def to_iso(self, texts: pl.Series, *, default: bool | None = None) -> pl.Series:
        """Rewrite dates as ISO 8601, with the time if there is one; other texts stay as they are.

        Parameters
        ----------
        texts : polars.Series of String
        default : bool, optional
            Whether the day comes first if no value proves the order; None leaves such values unchanged.
        """
        import polars as pl

        rows = texts.str.contains(_OTHER_FORM).arg_true()
        if not len(rows):
            return texts
        others = texts.gather(rows)
        last = _parts(others, _YEAR_LAST)
        proved = {mark: next(iter(proofs)) for mark, proofs in self._proofs.items() if len(proofs) == 1}
        if self._training_order is not None:
            proved, default = {}, self._training_order
        day_first = (
            pl.when(pl.col("mark") == ".")
            .then(True)
            .when(pl.col("first_number") > 12)
            .then(True)
            .when(pl.col("second_number") > 12)
            .then(False)
            .otherwise(pl.col("mark").replace_strict(proved, default=default, return_dtype=pl.Boolean))
        )
        day, month = (
            pl.when(day_first).then(pl.col(one)).when(~day_first).then(pl.col(other))
            for one, other in (("first_number", "second_number"), ("second_number", "first_number"))
        )
        iso = last.select(_iso(month, day)).to_series()
        iso = iso.fill_null(
            _parts(others, _YEAR_FIRST).select(_iso(pl.col("first_number"), pl.col("second_number"))).to_series()
        )
        if iso.has_nulls():
            iso = iso.fill_null(_named_iso(others, _DAY_AND_NAME)).fill_null(_named_iso(others, _NAME_AND_DAY))
        return texts.clone().scatter(rows, iso.fill_null(others))


def _parts(texts: pl.Series, pattern: str) -> pl.DataFrame:
    """Return the parts of each text that the groups of ``pattern`` match, one column per group; null for other texts.

    The columns are named after the groups: year, first_number, second_number, mark and mark_again (the separators),
    hour, minute, second and half (am or pm).
    """
    import polars as pl

    parts = texts.str.extract_groups(pattern).struct.unnest()
    return parts.with_columns(pl.col("first_number", "second_number").cast(pl.Int32))


def _named_iso(texts: pl.Series, pattern: str) -> pl.Series:
    """Return dates with the name of a month that match ``pattern``, and their times, as texts in ISO 8601; null for
    other texts.
    """
    import polars as pl

    parts = texts.str.extract_groups(pattern).struct.unnest()
    numbers = {name: number for number, name in enumerate(_MONTHS, 1)}
    month = (
        pl.col("month").str.slice(0, 3).str.to_lowercase().replace_strict(numbers, default=None, return_dtype=pl.Int32)
    )
    return parts.select(_iso_text(month, pl.col("day")).alias("iso")).to_series()


def _iso(month: pl.Expr, day: pl.Expr) -> pl.Expr:
    """Return a polars expression that writes the dates in columns of `_parts` as ISO 8601; null if their two separators
    differ.

    ``month`` and ``day`` are the expressions of these numbers.
    """
    import polars as pl

    return pl.when(pl.col("mark") == pl.col("mark_again")).then(_iso_text(month, day)).alias("iso")


def _iso_text(month: pl.Expr, day: pl.Expr) -> pl.Expr:
    """Return a polars expression that writes dates, and their times if any, as ISO 8601; null if a date is incomplete.

    ``month`` and ``day`` are the expressions of these numbers. The year and the parts of the time are columns; see
    `_parts`.
    """
    import polars as pl

    def padded(number: pl.Expr) -> pl.Expr:
        """Return an expression of a number as text of at least two digits."""
        return number.cast(pl.String).str.zfill(2)

    half = pl.col("half").str.to_lowercase()
    hour = pl.col("hour").cast(pl.Int32)
    hour = pl.when(half.is_null()).then(hour).otherwise(hour % 12 + 12 * (half == "pm"))
    time = pl.format(" {}:{}:{}", padded(hour), pl.col("minute"), pl.col("second").fill_null("00")).fill_null("")
    return pl.format("{}-{}-{}{}", pl.col("year"), padded(month), padded(day), time)


def dates(column: pl.Series) -> pl.Series:
    """Return texts in ISO 8601 as polars dates; null for other texts."""
    return column.str.to_date("%Y-%m-%d", strict=False)


def datetimes(column: pl.Series) -> pl.Series:
    """Return texts in ISO 8601 with a time as polars datetimes in microseconds; null for other texts.

    Times with an offset are converted to UTC.
    """
    import polars as pl

    utc = column.str.replace(r"(Z|\+00:?00)$", "")
    plain = utc.str.replace("T", " ", literal=True)
    moments = plain.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")
    moments = moments.fill_null(plain.str.to_datetime("%Y-%m-%d %H:%M", strict=False, time_unit="us"))
    left = moments.is_null() & plain.str.contains(r"\d\d:?\d\d$")
    if not left.any():
        return moments
    zoned = plain.set(~left, None).str.to_datetime(
        "%Y-%m-%d %H:%M:%S%.f%z", strict=False, time_unit="us", time_zone="UTC"
    )
    return moments.fill_null(zoned.dt.replace_time_zone(None).cast(pl.Datetime("us")))


def moments(column: pl.Series) -> pl.Series:
    """Return texts in ISO 8601, with or without a time, as polars datetimes in microseconds; null for other texts."""
    import polars as pl

    return datetimes(column).fill_null(dates(column).cast(pl.Datetime("us")))
