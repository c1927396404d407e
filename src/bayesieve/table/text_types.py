"""Type inference for text columns: numbers, booleans, dates, or text.

A *reader* converts a polars series of texts to values of one type; texts that do not fit become null. *Marks* are texts
such as NA that stand for missing numbers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.forking import FEW_ROWS, refuse_fork
from bayesieve.parts import is_number
from bayesieve.table.text_dates import DayMonthOrder, dates, moments
from bayesieve.table.values import Scalar, canonical_text, format_temporal, number_type, parse_number

if TYPE_CHECKING:
    import polars as pl

Reader = Callable[["pl.Series"], "pl.Series"]
_SAMPLE_ROWS = 100
# Marks of missing numbers that other programs write; in text columns they are ordinary values.
_MISSING_NUMBERS = (
    *("", "?", ".", "-", "NA", "N/A", "n/a", "na", "#N/A", "#NA", "<NA>", "NaN", "nan", "NAN", "-nan", "-NaN"),
    *("null", "NULL", "Null", "None", "none", "NONE"),
)
_TRUE, _FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")  # as the reader of files has them
# Texts that DuckDB and other programs read as booleans, and other common spellings.
_YES = (*_TRUE, "yes", "Yes", "YES", "t", "T", "y", "Y", "ja", "Ja", "JA", "oui", "Oui", "OUI")
_NO = (*_FALSE, "no", "No", "NO", "f", "F", "n", "N", "nein", "Nein", "NEIN", "non", "Non", "NON")
TRUTH_WORDS = (*_YES, "1", "1.0", *_NO, "0", "0.0")


class TextType:
    """Type that fits all values of a text column read so far.

    Parameters
    ----------
    decimal_comma : bool
        Whether ``1,5`` may be a number.
    dates_only : bool
        Whether only dates are recognised: numbers, booleans and times of day in texts stay texts, as in a database,
        where they have a type.

    Attributes
    ----------
    has_text : bool
        Whether some value so far is not blank.
    has_values : bool
        Whether some value so far is neither blank nor a mark of a missing number, such as NA.
    """

    def __init__(self, *, decimal_comma: bool = False, dates_only: bool = False) -> None:
        commas = [lambda texts: _floats(decimal_points(texts))] if decimal_comma else []
        self._order = DayMonthOrder()
        # Each reader of a list also reads everything that the reader before it reads.
        of_dates: list[list[Reader]] = [[partial(self._in_order, dates), partial(self._in_order, moments)]]
        others: list[list[Reader]] = [[_integers, _floats, *commas], [_booleans], [_times]]
        self._readers = of_dates if dates_only else [*others, *of_dates]
        self.has_text = False
        self.has_values = False

    def add(self, column: pl.Series) -> pl.Series:
        """Infer the type that fits these values and all earlier ones, and return the values converted to it.

        If no type fits, the values are returned as texts without outer blanks.
        """
        trimmed = _trimmed(column)
        if trimmed.null_count() == len(trimmed):
            return trimmed
        self.has_text = True
        cleaned = _without_marks(trimmed)
        if cleaned.null_count() == len(cleaned):
            return cleaned.cast(float)
        self.has_values = True
        for left in [readers[i:] for readers in self._readers for i in range(len(readers))]:
            typed = _read_all(cleaned, left[0])
            if typed is not None:
                self._readers = [left]
                return typed if self._order.is_clear else trimmed
        self._readers = []
        return trimmed

    @property
    def day_first(self) -> bool | None:
        """Whether dates begin with the day; None if the values are not dates, or no value proves the order."""
        return self._order.day_first if self.dtype.is_temporal() else None

    def read(self, column: pl.Series) -> pl.Series:
        """Return a chunk of the column, converted to the type that fits all values."""
        trimmed = _trimmed(column)
        if not self.has_text or (self.has_values and not (self._readers and self._order.is_clear)):
            return trimmed
        cleaned = _without_marks(trimmed)
        return self._readers[0][0](cleaned) if self.has_values else cleaned.cast(float)

    @property
    def dtype(self) -> pl.DataType:
        """Polars data type that fits all values; Null if there are none."""
        import polars as pl

        return self.read(pl.Series(dtype=pl.String)).dtype if self.has_values else pl.Null()

    def _in_order(self, reader: Reader, texts: pl.Series) -> pl.Series:
        """Read texts as dates by ``reader``, after they have been examined for proofs of the order of day and month.

        Until a value proves the order, the day is assumed to come first. Texts that are not dates become null.
        """
        if not texts.str.contains(r"\d").all():  # texts without digits are no dates; trying all forms takes longer
            return texts.clear(len(texts))
        values = reader(texts)
        if values.null_count() == texts.null_count():
            return values
        self._order.add(texts)
        return reader(self._order.to_iso(texts, default=True))


class ScoredText:
    """Reader of a text column that a fitted model scores: each value is read independently of the others.

    Parameters
    ----------
    decimal_comma : bool
        Whether ``1,5`` is a number.
    as_numbers : bool
        Whether `add` returns numbers if all values are numbers.
    as_dates : bool
        Whether the values are dates, whose order of day and month is inferred from all of them together.
    """

    has_text = has_values = True

    def __init__(self, *, decimal_comma: bool, as_numbers: bool, as_dates: bool) -> None:
        self._decimal_comma, self._as_numbers, self.as_dates = decimal_comma, as_numbers, as_dates
        self._order = DayMonthOrder()

    def add(self, column: pl.Series) -> pl.Series:
        """Convert the next values of the column to numbers if all of them are numbers, otherwise to text."""
        import polars as pl

        if self.as_dates:
            self._order.add(_trimmed(column))
        texts = self.read(column)
        if not self._as_numbers:
            return texts
        values, unreadable = numbers_of_texts(texts, "number")
        return texts if unreadable.any() else pl.Series(values, nan_to_null=True)

    def read(self, column: pl.Series) -> pl.Series:
        """Return a chunk of the column as texts with decimal points, or with dates in ISO 8601."""
        if self.as_dates:
            return self._order.to_iso(_trimmed(column))
        return decimal_points(column) if self._decimal_comma else column

    @property
    def dtype(self) -> pl.DataType:
        """Polars data type of the values that `read` returns."""
        import polars as pl

        return pl.String()


def decimal_points(column: pl.Series) -> pl.Series:
    """Return texts with numbers such as 1,5 rewritten with a decimal point; other texts are not changed."""
    return column.str.replace(r"^\s*([+-]?\d*),(\d+)\s*$", "${1}.${2}")


def numbers_of_texts(column: pl.Series, type_: str, day_first: bool | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Read each text as a number of the given type, independently of other values in the column.

    Parameters
    ----------
    column : polars.Series of String
    type_ : "number", "date", "datetime", "duration" or "time"
    day_first : bool, optional
        Whether the day comes first in training; if None, the values must prove the order.

    Returns
    -------
    numbers : float array, shape (n_rows,)
        Numbers in the units of `Column.numbers`; NaN for missing values, blanks, marks of missing numbers and
        unreadable texts.
    unreadable : bool array, shape (n_rows,)
        Mask of texts that are neither missing nor a number of this type.
    """
    if len(column) > FEW_ROWS:
        refuse_fork()
    cleaned = _without_marks(_trimmed(column))
    numbers = _fast_numbers(cleaned, type_)
    rest = np.flatnonzero(np.isnan(numbers) & cleaned.is_not_null().to_numpy())
    texts = cleaned.gather(rest)
    if type_ in _DATED and rest.size:
        order = DayMonthOrder(day_first)
        order.add(texts)
        texts = order.to_iso(texts)
        numbers[rest] = _fast_numbers(texts, type_)
    unreadable = np.zeros(len(numbers), dtype=bool)
    number_of_text: dict[str, float | None] = {}
    for row, text in zip(rest.tolist(), texts.to_list(), strict=True):
        if not np.isnan(numbers[row]):
            continue
        if text not in number_of_text:
            number_of_text[text] = _number_of_text(text, type_)
        number = number_of_text[text]
        unreadable[row] = number is None
        numbers[row] = np.nan if number is None else number
    return numbers, unreadable


def other_order(column: pl.Series, day_first: bool) -> str | None:
    """Return the first text that proves the order of day and month opposite to that of training; None if there is none.

    ``day_first`` says whether the day came first in training.
    """
    return DayMonthOrder(day_first).contradiction(trimmed_values(column))


def other_texts(
    value: Scalar, type_: str, among: frozenset[type], day_first: bool | None = None
) -> Iterator[str | None]:
    """Yield other canonical texts under which a value may be a category, if its own text is not one; None means
    missing.

    Files, databases and dataframes write one value in many ways: 1 as "1.0" or "01", True as "true", "yes" or 1.

    Parameters
    ----------
    value : bool, int, float or str
    type_ : `Column.type` of the categories
    among : Python types of the categories
    day_first : whether the day comes first in dates of training; None if unknown
    """
    if isinstance(value, bool):
        yield from (_YES if value else _NO)
        yield str(int(value))
    elif not isinstance(value, str):
        yield from _of_number(value, among)
    else:
        text = value.strip()
        yield text
        if not text or (type_ not in _OF_TEXT and text in _MISSING_NUMBERS):
            yield None
        if bool in among or among & {int, float}:
            yield from _of_text(text, among)
        if text in (*_TRUE, *_FALSE):
            yield from (_YES if text in _TRUE else _NO)
        if type_ in _READERS and type_ != "number":
            number = _number_of_text(text, type_, day_first)
            if number is not None:
                yield format_temporal(number, type_)


def truth_of(value: Scalar) -> bool | None:
    """Return the boolean that a value such as "yes" or 0 represents in a boolean column; None for other values."""
    text = canonical_text(value).strip()
    return True if text in (*_YES, "1", "1.0") else False if text in (*_NO, "0", "0.0") else None


def _of_number(value: float, among: frozenset[type]) -> Iterator[str]:
    """Yield other canonical texts of a number, such as "7.0" for 7, or "True" for 1 if ``among`` has bool.

    ``among`` holds the Python types of the categories to which the number may belong.
    """
    with contextlib.suppress(OverflowError):  # whole numbers of hundreds of digits
        yield repr(float(value))  # 7.0 where the text was "7.0"
    if bool in among and value in (0, 1):
        yield str(bool(value))


def _of_text(text: str, among: frozenset[type]) -> Iterator[str]:
    """Yield other canonical texts of a text that is a number or boolean, such as "7" for "07".

    ``among`` holds the Python types of the categories to which the text may belong.
    """
    if text in (*_TRUE, *_FALSE) or (bool in among and text in (*_YES, *_NO)):
        yield str(text in _YES)
    try:
        number = parse_number(text, "number")
    except ValueError:
        if text in (*_TRUE, *_FALSE):
            yield str(int(text in _TRUE))
        return
    digits = text.lstrip("+")
    if digits.removeprefix("-").isdecimal():
        yield str(int(digits))  # exact, however long
    yield canonical_text(number)
    if bool in among and number in (0, 1):
        yield str(bool(number))


def number_of(value: Any, type_: str, day_first: bool | None = None) -> float:
    """Return the number of a value of any type in a column of ``type_`` (see `Column.type`); NaN if it is not a number.

    Dates and times have the units of `Column.numbers`. ``day_first`` is whether the day comes first in dates of the
    training table, None if unknown.
    """
    number = (
        value if is_number(value) else _number_of_text(canonical_text(value).strip(), number_type(type_), day_first)
    )
    return np.nan if number is None else float(number)


def _number_of_text(text: str, type_: str, day_first: bool | None = None) -> float | None:
    """Return the number in a trimmed text that `_fast_numbers` could not read; None if it is not a number.

    ``type_`` is "number", "date", "datetime", "duration" or "time", and ``day_first`` whether the day comes first in
    dates of the training table, None if unknown.
    """
    import polars as pl

    if type_ == "number" and text in (*_TRUE, *_FALSE):
        return float(text in _TRUE)
    if type_ in _DATED:
        text = DayMonthOrder(day_first).to_iso(pl.Series([text], dtype=pl.String))[0]
    numbers = _fast_numbers(pl.Series([text], dtype=pl.String), type_)
    if not np.isnan(numbers[0]):
        return float(numbers[0])
    try:
        return parse_number(text, type_)
    except ValueError:
        return None


def _fast_numbers(cleaned: pl.Series, type_: str) -> np.ndarray:
    """Convert trimmed texts to numbers of type ``type_``, such as "date", by polars, which is fast.

    Return a float array (n_rows,), NaN for null and for texts that polars cannot read; units are those of
    `Column.numbers`.
    """
    if type_ not in _READERS:
        return np.full(len(cleaned), np.nan)
    values = _READERS[type_](cleaned)
    if type_ == "time":
        values = values.to_physical() // 1000  # polars counts nanoseconds since midnight
    return values.to_physical().cast(float).fill_null(np.nan).to_numpy(writable=True)


def trimmed_values(column: pl.Series) -> pl.Series:
    """Return texts without surrounding blanks; nulls and marks of missing numbers, such as NA, are dropped."""
    import polars as pl

    trimmed = column.str.strip_chars()  # blanks are among the marks
    return trimmed.filter(~trimmed.is_in(pl.Series(_MISSING_NUMBERS, dtype=pl.String).implode()))


def _trimmed(column: pl.Series) -> pl.Series:
    """Return texts without surrounding blanks; blank texts become null."""
    trimmed = column.str.strip_chars()
    return trimmed.set(trimmed == "", None)


def _without_marks(trimmed: pl.Series) -> pl.Series:
    """Return texts with marks of missing numbers, such as NA, replaced by null."""
    import polars as pl

    marked = trimmed.is_in(pl.Series(_MISSING_NUMBERS, dtype=pl.String).implode())
    return trimmed.set(marked, None) if marked.any() else trimmed


def _read_all(column: pl.Series, reader: Reader) -> pl.Series | None:
    """Convert all texts of a column by ``reader``; return None if a text does not fit.

    A few texts are tried first, because they suffice to detect most misfits.
    """
    if reader(column.drop_nulls().head(_SAMPLE_ROWS)).null_count():
        return None
    values = reader(column)
    return values if values.null_count() == column.null_count() else None


def _integers(column: pl.Series) -> pl.Series:
    """Read texts as integers; null for others."""
    return column.cast(int, strict=False)


def _floats(column: pl.Series) -> pl.Series:
    """Read texts as floats; null for others."""
    return column.cast(float, strict=False)


def _booleans(column: pl.Series) -> pl.Series:
    """Read true and false as booleans; null for other texts."""
    import polars as pl

    texts = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)
    return column.replace_strict(texts, default=None, return_dtype=pl.Boolean)


def _times(column: pl.Series) -> pl.Series:
    """Read texts such as 12:30:00 as times of day; null for others."""
    return column.str.to_time("%H:%M:%S%.f", strict=False)


_OF_TEXT = ("text", "category", "mixed")
_READERS: dict[str, Reader] = {"number": _floats, "date": dates, "datetime": moments, "time": _times}
_DATED = ("date", "datetime")
