"""Columns of raw values, each converted to numbers or to codes of its distinct values when needed, and tables
of them.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Real
from typing import Any, ClassVar, Literal, NoReturn

import narwhals as nw
import numpy as np

from bayesieve.table.arrays import as_csc, column_of_csc
from bayesieve.table.cautions import Caution, issue
from bayesieve.table.column_values import (
    EncodedValues,
    NumberValues,
    RawValues,
    TextValues,
    TooLarge,
    merge_values,
    read_values,
)
from bayesieve.table.values import (
    HIGHEST_SPECIAL,
    MICROSECONDS_PER_DAY,
    TEMPORAL,
    Scalar,
    canonical_text,
    canonical_value,
    spelt_out,
    unmasked,
)
from bayesieve.words import quoted_text

Kind = Literal["numeric", "categorical"]
KINDS = ("numeric", "categorical")
_FORMS = dict.fromkeys(("date", "datetime"), "; write dates as 2024-12-31")
_READ_AS_TEXT = ("text", "category", "mixed")
_FEW_ROWS = 1 << 10  # columns of fewer rows are not cut into chunks
_CHUNK_BYTES = 1 << 26  # size of the texts that are converted at once
ALL_WHOLE = 2.0**53
"""Bound below which every whole number is a float of its own."""


@dataclass(frozen=True)
class Categories:
    """A column as codes of its distinct values.

    Attributes
    ----------
    codes : int32 array, shape (n_rows,)
        Index into `values`; -1 = missing.
    values : list of bool, int, float or str
        Distinct values, in ascending order of their canonical text: the order depends neither on the dataframe library
        nor on the order of the rows.
    """

    codes: np.ndarray
    values: list[Scalar]


@dataclass(frozen=True)
class SpecialValues:
    """Kind of a numeric column in which special values, such as -999 or "refused", get levels of their own.

    Parameters
    ----------
    special : pairs of a name and the values, texts or numbers, that it stands for
    """

    special: tuple[tuple[str, tuple[Scalar, ...]], ...]


def special_number(k: Any) -> Any:
    """Return the number that stands for the ``k``-th name of special values; it is below all other numbers."""
    return -1.7e308 + 1e303 * k


class ColumnError(ValueError):
    """Error whose message names the column."""


class ValueInRow(ColumnError):
    """Error whose message names the row of an invalid value.

    Parameters
    ----------
    before, after : text of the message before and after the number of the row
    column : name of the column
    row : number of the row, from 0, among the rows that were given
    value : the raw value
    """

    def __init__(self, before: str, after: str, column: str, row: int, value: Any) -> None:
        super().__init__(before, after, column, row, value)
        self.before, self.after, self.column, self.row, self.value = before, after, column, row, value

    def __str__(self) -> str:
        return self.at(f"row {self.row}")

    def at(self, place: str) -> str:
        """Return the message with ``place``, such as "in row 3" or "in line 5", as the place of the value."""
        return f"{self.before}{place}{self.after}"

    def in_row(self, row: int) -> ValueInRow:
        """Return the error with another row number: the position of the value in a larger table."""
        return ValueInRow(self.before, self.after, self.column, row, self.value)


NUMBER_REMEDY = "correct the value or read the column as categorical."
INFINITE_REMEDY = "replace infinite values by a missing value (NaN) or by a finite limit."


@contextmanager
def rows_from(first: int) -> Iterator[None]:
    """Add ``first``, the position of a block in its table, to the row numbers of errors raised in the ``with``
    block.
    """
    try:
        yield
    except ValueInRow as error:
        raise error.in_row(first + error.row) from None


class Column:
    """One column of a `Table`, read when its values are first used.

    Different columns may be converted in different threads; the heavy parts release the GIL, except for columns of
    Python objects.

    Parameters
    ----------
    name : str
    data : native column, or function
        A polars or pandas Series, a pyarrow ChunkedArray, or a 1-D NumPy array; or a function that returns
        `RawValues`.
    kind : "numeric", "categorical", SpecialValues or None
        None takes the kind that follows from the column's type.
    row_number : function
        Maps a position in ``data`` to the number of the row in error messages, for data that are a block of a table.
    """

    def __init__(
        self,
        name: str,
        data: Any,
        kind: Kind | SpecialValues | None = None,
        row_number: Callable[[int], int] = int,
    ) -> None:
        self.name, self.row_number, self.given_kind = name, row_number, kind
        self._read: Callable[[], RawValues] = data if callable(data) else partial(read_values, data)
        self._special = kind.special if isinstance(kind, SpecialValues) else ()
        self._kind: Kind | None = "numeric" if isinstance(kind, SpecialValues) else kind

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Column({self.name!r}, kind={self.kind!r}, type={self.type!r}, n_rows={len(self)})"

    @cached_property
    def values(self) -> RawValues:
        """Values of the column as `read_values` returns them. Raise ValueError, which names the column, if they cannot
        be read.
        """
        try:
            return self._read()
        except Exception as error:
            self._refuse_unreadable(error)

    @property
    def kind(self) -> Kind:
        """Kind as which the column is read, "numeric" or "categorical"."""
        if self._kind is not None:
            return self._kind
        return "numeric" if self.values.type in ("number", *TEMPORAL) else "categorical"

    @property
    def type(self) -> str:
        """Type of the values: number, boolean, text, category, date, datetime, duration, time or mixed."""
        natural = self.values.type
        return "number" if self._kind == "numeric" and natural not in TEMPORAL else natural

    def read_as(self, name: str, kind: Kind | SpecialValues | None) -> Column:
        """Return the column under another name or, unless `kind` is None, as another kind."""
        return Column(name, lambda: self.values, self.given_kind if kind is None else kind, self.row_number)

    def take(self, rows: np.ndarray) -> Column:
        """Return the column restricted to the rows at positions ``rows``, shape (n,); values are gathered when they are
        used.
        """
        number = self.row_number
        return Column(self.name, lambda: self.values.take(rows), self.given_kind, lambda row: number(int(rows[row])))

    def converted(self) -> RawValues:
        """Return the values after conversion: as numbers for a numeric column, otherwise as codes of sorted categories.

        A `Column` of these values is converted no further. Columns with special values are returned unconverted.
        """
        if self._special:
            return self.values
        if self.kind == "numeric":
            return NumberValues(self.numbers(), None, self.type)
        categories = self.categories()
        encoded = categories.codes, categories.values
        return EncodedValues(self.values.type, len(categories.codes), encoded, is_sorted=True)

    def value(self, row: int) -> Any:
        """Return the value at position ``row`` as a plain Python scalar (see `canonical_value`); None if
        it is missing.
        """
        values = self.take(np.array([row])).categories().values
        return values[0] if values else None

    def error_in_row(self, before: str, row: int, after: str) -> ValueInRow:
        """Return an error about the value at position ``row``. Its message is ``before``, the number of the row in the
        caller's table, and ``after``.
        """
        return ValueInRow(before, after, self.name, self.row_number(row), self.value(row))

    def numbers(self, type_: str | None = None) -> np.ndarray:
        """Return the column as float64, NaN = missing; without a copy if the data are stored in this form.

        Parameters
        ----------
        type_ : str, optional
            Type to read the values as, such as dates as datetimes or texts as dates; by default that of the column.

        Returns
        -------
        ndarray of float64, shape (n_rows,)
            Dates are days and datetimes microseconds since 1970-01-01, durations microseconds, times of day
            microseconds since midnight.

        Raises
        ------
        ValueError
            If a value is infinite, or is a text that is not a number; the message names the column.

        Warns
        -----
        CautionWarning
            If different whole numbers become one float, which has 15 to 17 digits.
        """
        natural = self.values.type
        if natural in _READ_AS_TEXT or self._special:
            numbers = self.read_numbers(natural if type_ is None else type_)[0]
        else:
            numbers = self._typed_numbers(type_)
        if np.isinf(numbers).any():
            raise self.infinity_error(numbers)
        return numbers

    def read_numbers(
        self, type_: str, complaints: list[str] | None = None, day_first: bool | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the column as float64, with each value read independently of the others, and infinite numbers allowed.

        Parameters
        ----------
        type_ : str
            Type to read the values as, such as "date"; all types without dates or times are read as "number".
        complaints : list of str, optional
            List that receives a sentence about unreadable values; None raises ValueError for them.
        day_first : bool, optional
            Whether the day comes before the month in texts of dates; None if it is unknown.

        Returns
        -------
        numbers : float array, shape (n_rows,)
            Numbers in the units of `numbers`; NaN for missing and unreadable values.
        unreadable : bool array, shape (n_rows,)
            Mask of values that are neither missing nor readable as ``type_``.

        Raises
        ------
        ValueError
            If values are unreadable and ``complaints`` is None, or if the whole column has a data type that cannot be
            read as ``type_``.
        """
        values, type_ = self.values, type_ if type_ in TEMPORAL else "number"
        if isinstance(values, NumberValues) and (values.type == type_ or not values.by_value):
            numbers, unreadable = self._typed_numbers(type_), np.zeros(values.numbers.size, dtype=bool)
            numbers = numbers.copy() if self._special else numbers
        else:
            numbers, unreadable = self._numbers_of_texts(type_, complaints, day_first)
        if self._special:
            self._read_special(numbers, unreadable, type_)
        if unreadable.any():
            row = int(np.argmax(unreadable))
            text = quoted_text(canonical_text(self.value(row)))
            if complaints is None:
                after = f" holds {text}; {NUMBER_REMEDY}"
                raise self.error_in_row(f"Column {self.name!r} is read as a {type_} but ", row, after)
            complaints.append(
                f"Column {self.name!r} is read as a {type_} but holds {text}: {np.count_nonzero(unreadable)} of "
                f"{len(values)} values cannot be read and count as never seen in training{_FORMS.get(type_, '')}."
            )
        return numbers, unreadable

    def _read_special(self, numbers: np.ndarray, unreadable: np.ndarray, type_: str) -> None:
        """Replace special values in ``numbers`` by their `special_number`, and set their entries of ``unreadable`` to
        False.

        Both arrays, numbers and the mask of unreadable values, have shape (n_rows,) and are changed; ``type_`` is the
        type as which the column is read. Special values are recognised as numbers, or else by their text.
        """
        import polars as pl

        from bayesieve.table.text_types import numbers_of_texts

        names = {canonical_text(value).strip(): k for k, (_, values) in enumerate(self._special) for value in values}
        special_numbers, _ = numbers_of_texts(pl.Series([*names], dtype=pl.String), type_)
        codes = np.full(numbers.size, -1)
        for number, k in zip(special_numbers.tolist(), names.values(), strict=True):
            codes[numbers == number] = k
        is_text = unreadable | np.isnan(numbers)
        if np.isnan(special_numbers).any() and is_text.any():
            categories = self.categories(merged=False)
            code_of_category = [names.get(canonical_text(value).strip(), -1) for value in categories.values]
            codes[is_text] = np.array([*code_of_category, -1])[categories.codes[is_text]]
        # Special values are coded as numbers below all others: move ordinary numbers in that range just above it.
        numbers[(codes < 0) & (numbers <= HIGHEST_SPECIAL) & np.isfinite(numbers)] = np.nextafter(HIGHEST_SPECIAL, 0)
        is_special = codes >= 0
        numbers[is_special] = special_number(codes[is_special])
        unreadable[is_special] = False

    def _typed_numbers(self, type_: str | None) -> np.ndarray:
        """Return the numbers of a column of numbers, booleans, dates or times as float64, (n_rows,), NaN = missing.

        ``type_`` is the type as which they are read, such as "datetime" for dates; None is the type of the column.
        Raise ColumnError if the types do not fit.
        """
        if not isinstance(self.values, NumberValues):  # Python objects
            self._refuse_unreadable(TooLarge(self.values.type))
        natural, values, missing = self.values.type, self.values.numbers, self.values.missing
        numbers = np.ascontiguousarray(values, dtype=np.float64)
        # Floats represent all 32-bit integers exactly.
        is_wide = values.dtype.kind in "iu" and values.dtype.itemsize == 8
        if natural == "number" and values.size and (is_wide or self.values.exact is not None):
            self._warn_of_merged(values, numbers)
        if missing is not None:
            numbers = numbers if numbers is not values else numbers.copy()
            numbers[missing] = np.nan
        if type_ is None or natural == type_ or (natural, type_) == ("boolean", "number"):
            return numbers
        if (natural, type_) == ("date", "datetime"):
            return numbers * MICROSECONDS_PER_DAY
        if (natural, type_) == ("datetime", "date"):
            return numbers / MICROSECONDS_PER_DAY
        if np.isnan(numbers).all():
            return numbers
        first = int(np.argmin(np.isnan(numbers)))
        raise ColumnError(
            f"Column {self.name!r} holds values of type {natural} where values of type {type_} are expected; its first "
            f"value is {quoted_text(canonical_text(self.value(first)))}. Convert the column to {type_} first."
        )

    def _warn_of_merged(self, values: np.ndarray, numbers: np.ndarray) -> None:
        """Warn if different whole numbers, ``values``, became the same float in ``numbers``; both have shape
        (n_rows,).
        """
        if not (np.fmax.reduce(numbers) >= ALL_WHOLE or np.fmin.reduce(numbers) <= -ALL_WHOLE):
            return
        distinct = np.unique(values).size if values.dtype.kind in "iu" else len(self.values.encoded[1])
        if distinct > np.unique(numbers[~np.isnan(numbers)]).size:
            sentence = (
                f"Column {self.name!r} is read as numbers, but some of its different values are equal as 64-bit "
                f"floats; if they are identifiers, read it as categorical: kinds={{{self.name!r}: 'categorical'}}."
            )
            issue([Caution("equal numbers", (self.name,), sentence)])

    def _numbers_of_texts(
        self, type_: str, complaints: list[str] | None, day_first: bool | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Parse the canonical texts of the values as numbers of type ``type_``, such as "number" or "date".

        Return the numbers, (n_rows,), and a mask of the values that cannot be read, (n_rows,). ``complaints`` receives
        a sentence about texts with another order of day and month than ``day_first``, that of the training table.
        """
        import polars as pl

        from bayesieve.table.text_types import numbers_of_texts, other_order

        read = self.values
        codes: np.ndarray | None = None
        values: Sequence[Any] = []
        if isinstance(read, TextValues):
            texts = read.series
        else:
            try:
                codes, values = read.encoded
                texts = pl.Series([*(spelt_out(canonical_text(value)) for value in values), None], dtype=pl.String)
            except Exception as error:
                self._refuse_unreadable(error)
        other = None if day_first is None or complaints is None else other_order(texts, day_first)
        if other is not None and complaints is not None:
            first, second = ("day", "month") if day_first else ("month", "day")
            complaints.append(
                f"Column {self.name!r} holds {quoted_text(other)}, but dates of the training table have the {first} "
                f"before the {second}. Dates such as 03/04/2024 are read in that order; write all dates as 2024-12-31 "
                "if these rows have another."
            )
        numbers, unreadable = numbers_of_texts(texts, type_, day_first)
        if codes is None:
            return numbers, unreadable
        for i, value in enumerate(values):  # numbers of Python are converted exactly, not by way of their text
            is_number = isinstance(value, (Real, decimal.Decimal)) and not isinstance(value, (bool, np.timedelta64))
            if is_number and type_ == "number":
                with suppress(OverflowError):
                    numbers[i], unreadable[i] = float(value), False
        return numbers[codes], unreadable[codes]

    def categories(self, *, merged: bool = True) -> Categories:
        """Return the column as codes of its distinct values, sorted by their canonical text.

        With ``merged=False``, values of different types with equal texts, such as 2 and "2", remain different, and the
        order is arbitrary.
        """
        values = self.values
        try:
            codes, distinct = values.encoded
            if not merged:
                return Categories(codes, [canonical_value(value) for value in distinct])
            if isinstance(values, EncodedValues) and values.is_sorted:
                return Categories(codes, list(distinct))
            merged_values, position = merge_values(distinct)
            if not np.array_equal(position[:-1], np.arange(len(distinct))):
                codes = position[codes]
            return Categories(codes, merged_values)
        except Exception as error:
            self._refuse_unreadable(error)

    def in_chunks(self) -> list[Column]:
        """Return the column cut into chunks of about 64 MiB of text, because conversion copies texts several times.

        Columns without text are one chunk.
        """
        values = self.values
        if not isinstance(values, TextValues) or len(values) <= _FEW_ROWS:
            return [self]
        n_chunks = -(-int(values.series.str.len_bytes().sum() or 0) // _CHUNK_BYTES)
        return [self] if n_chunks <= 1 else [self.take(at) for at in np.array_split(np.arange(len(values)), n_chunks)]

    def _refuse_unreadable(self, error: Exception) -> NoReturn:
        """Raise ColumnError, with one sentence that names the column and the remedy, instead of ``error``, by which a
        library reported that it cannot read the column.
        """
        if isinstance(error, (ColumnError, TypeError, MemoryError)) or str(error).startswith("Complex data"):
            raise error
        if isinstance(error, OverflowError):
            type_ = error.type if isinstance(error, TooLarge) else "object"
            raise ColumnError(
                f"Column {self.name!r} holds values of type {type_} that are too large to read; replace them by a "
                "missing value, or convert the column to text."
            ) from None
        if isinstance(error, UnicodeEncodeError):
            raise ColumnError(
                f"Column {self.name!r} holds text with half a character (a lone surrogate), which this type of column "
                "cannot have; convert the column to Python objects, or correct the text."
            ) from None
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ColumnError(
            f"Column {self.name!r} cannot be read ({reason}); convert it to numbers, dates or text first."
        ) from error

    def infinity_error(self, numbers: np.ndarray) -> ValueInRow:
        """Return the error that names the column and the first row whose number is infinite; ``numbers`` (n_rows,) are
        the numbers of the column.
        """
        before = f"Column {self.name!r} contains infinity (first in "
        return self.error_in_row(before, int(np.argmax(np.isinf(numbers))), f"); {INFINITE_REMEDY}")


def column_of_series(name: str, values: Any) -> Column:
    """Return ``values``, a series of any dataframe library, as a `Column` named ``name``."""
    series = nw.from_native(values, series_only=True)
    is_supported = str(series.implementation.value) in ("pandas", "polars", "pyarrow")
    return Column(name, series.to_native() if is_supported else series.to_pandas())


def column_of(values: Any, name: str, n_rows: int) -> Column:
    """Return an array-like as a `Column`; a scalar is repeated for all rows.

    Raise ValueError, which names the column, unless it has ``n_rows`` values.
    """
    if nw.dependencies.is_into_series(values):
        column = column_of_series(name, values)
    else:
        array = unmasked(values)
        if array.ndim == 0:
            array = np.full(n_rows, array)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            raise ValueError(f"{name} must hold one value per row, got an array of shape {array.shape}.")
        column = Column(name, array)
    if len(column) != n_rows:
        raise ValueError(f"{name} has {len(column):,} values, but there are {n_rows:,} rows; give one for each.")
    return column


def duplicate_error(names: Sequence[Any]) -> ValueError:
    """Return an error that names the first of ``names``, the names of columns, that occurs more than once."""
    name = next(str(name) for i, name in enumerate(names) if name in names[:i])
    return ValueError(f"Column name {name!r} appears more than once; give every column its own name.")


class Table:
    """Named columns with the same number of rows. A table refers to the caller's data and never copies them.

    Attributes
    ----------
    names : tuple of str
        Column names; ``x0``, ``x1`` ... if the data has none.
    named : bool
        Whether the names came with the data.
    n_rows, n_columns : int
    library : str
        Dataframe library of results for the caller: "pandas", "pyarrow", or "polars" for all other data.
    """

    names: tuple[str, ...]
    named: bool
    n_rows: int
    n_columns: int
    library: str = "polars"
    reads_rows: ClassVar[bool] = False
    """Whether `take` reads the rows from a source rather than from memory."""

    def __init__(self, columns: Sequence[Column], n_rows: int, named: bool, library: str = "polars") -> None:
        self._columns = tuple(columns)
        self.names = tuple([column.name for column in self._columns])
        self.named, self.n_rows, self.n_columns, self.library = named, n_rows, len(self._columns), library

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"Table({self.n_rows} rows, {self.n_columns} columns)"

    def column(self, i: int) -> Column:
        """Return the column at position `i`."""
        return self._columns[i]

    def kinds(self) -> list[Kind]:
        """Return the kind of each column: "numeric" or "categorical"."""
        return [column.kind for column in self._columns]

    def types(self) -> list[str]:
        """Return the type of each column, such as "number", "text" or "date"; see `Column.type`."""
        return [column.type for column in self._columns]

    def numbers(self, positions: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the columns at ascending ``positions`` as float64, NaN = missing, shape (n_positions, n_rows).

        ``rows`` are the positions of the rows to return; None for all.
        """
        if self.reads_rows and rows is not None:  # read the rows once, not for each column
            return self.select(positions.tolist()).take(rows).numbers(np.arange(positions.size))
        values = np.empty((positions.size, self.n_rows if rows is None else rows.size))
        for at, i in enumerate(positions.tolist()):
            column = self.column(i)
            try:
                values[at] = (column if rows is None else column.take(rows)).numbers()
            except ValueInRow:
                column.numbers()  # names the first of all rows
                raise
        return values

    def read_as(self, names: Sequence[str], kinds: Mapping[str, Any]) -> Table:
        """Return the table with the column names ``names``; columns that ``kinds`` names, by their new name, are read
        as the given kind.
        """
        columns = [self.column(i).read_as(name, kinds.get(name)) for i, name in enumerate(names)]
        return Table(columns, self.n_rows, self.named, self.library)

    def select(self, positions: Sequence[int]) -> Table:
        """Return the table restricted to the columns at ``positions``, in this order."""
        return Table([self.column(i) for i in positions], self.n_rows, self.named)

    def take(self, rows: Any) -> Table:
        """Return the table restricted to ``rows`` (positions, a slice or a boolean mask); values are gathered when they
        are used.
        """
        every = np.arange(self.n_rows)
        picked = every[rows if isinstance(rows, slice) else np.asarray(rows)]
        if np.array_equal(picked, every):
            return self
        return Table([self.column(i).take(picked) for i in range(self.n_columns)], len(picked), self.named)

    def read_once(self) -> Table:
        """Return a copy for taking many subsets of rows: each column is converted at most once, rather than once per
        subset.
        """
        columns = [self.column(i) for i in range(self.n_columns)]
        converted = [Column(one.name, one.converted, one.given_kind, one.row_number) for one in columns]
        return Table(converted, self.n_rows, self.named)


class MatrixTable(Table):
    """Table whose columns are those of one matrix of numbers or booleans.

    Parameters
    ----------
    matrix : array of shape (n_rows, n_columns), or the result of `as_csc`
    names : sequence of str
    named : whether the names came with the data
    kinds : mapping from column position to kind, for columns not to be read as the kind that follows from their type
    """

    def __init__(
        self,
        matrix: Any,
        names: Sequence[str],
        named: bool,
        kinds: Mapping[int, Kind | SpecialValues] | None = None,
    ) -> None:
        self._matrix = matrix
        self._is_dense = isinstance(matrix, np.ndarray)
        self._kinds = dict(kinds or {})
        self._natural_kind: Kind = "categorical" if matrix.dtype.kind == "b" else "numeric"
        self.names, self.named = tuple(names), named
        self.n_rows, self.n_columns = int(matrix.shape[0]), int(matrix.shape[1])

    def column(self, i: int) -> Column:
        """Return the column at position ``i``."""
        i = range(self.n_columns)[i]
        data = self._matrix[:, i] if self._is_dense else column_of_csc(self._matrix, i)
        return Column(self.names[i], data, self._kinds.get(i))

    def kinds(self) -> list[Kind]:
        """Return the kind of each column: "numeric" or "categorical"."""
        kinds = [self._natural_kind] * self.n_columns
        for i, kind in self._kinds.items():
            kinds[i] = "numeric" if isinstance(kind, SpecialValues) else kind
        return kinds

    def types(self) -> list[str]:
        """Return the type of each column: "number", or "boolean" for categorical columns of a matrix of booleans."""
        if self._natural_kind == "numeric":
            return ["number"] * self.n_columns
        return ["number" if kind == "numeric" else "boolean" for kind in self.kinds()]

    def numbers(self, positions: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the columns at ascending ``positions`` as float64, NaN = missing, shape (n_positions, n_rows).

        They are copied from the matrix together. ``rows`` are the positions of the rows to return; None for all.
        """
        if rows is not None:
            cells = self._matrix[rows][:, positions]
            dense = cells if self._is_dense else cells.toarray()
            return np.ascontiguousarray(dense.T, dtype=np.float64)
        first, stop = int(positions[0]), int(positions[-1]) + 1
        if stop - first != positions.size:
            return super().numbers(positions)
        cells = self._matrix[:, first:stop].T
        values = np.array(cells if self._is_dense else cells.toarray(), dtype=np.float64, order="C")
        if self._matrix.dtype.kind in "iu" and self._matrix.dtype.itemsize == 8 and np.abs(values).max() >= 2**53:
            for i in range(first, stop):
                self.column(i).numbers()  # warns if different numbers become one
        if not np.isfinite(values).all():
            for at in np.flatnonzero(np.isinf(values).any(axis=1)).tolist():
                self.column(first + at).numbers()  # names the row
        return values

    def read_as(self, names: Sequence[str], kinds: Mapping[str, Any]) -> Table:
        """Return the table with the column names ``names``; columns that ``kinds`` names, by their new name, are read
        as the given kind.
        """
        given: dict[int, Any] = {i: kinds[name] for i, name in enumerate(names) if name in kinds}
        return MatrixTable(self._matrix, names, self.named, {**self._kinds, **given})

    def select(self, positions: Sequence[int]) -> Table:
        """Return the table restricted to the columns at ``positions``, in this order."""
        if len(positions) == self.n_columns and list(positions) == list(range(self.n_columns)):
            return self
        if self._is_dense:
            return super().select(positions)
        kinds = {at: self._kinds[i] for at, i in enumerate(positions) if i in self._kinds}
        return MatrixTable(self._matrix[:, positions], [self.names[i] for i in positions], self.named, kinds)

    def read_once(self) -> Table:
        """Return the table itself: its columns are numbers already."""
        return self  # its columns are numbers already

    def take(self, rows: Any) -> Table:
        """Return the table restricted to ``rows`` (positions, a slice or a boolean mask)."""
        if self._is_dense:
            return super().take(rows)
        picked = np.arange(self.n_rows)[rows if isinstance(rows, slice) else np.asarray(rows)]
        return MatrixTable(as_csc(self._matrix[picked]), self.names, self.named, self._kinds)
