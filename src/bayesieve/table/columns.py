"""Raw columns, each converted when asked, to numbers or to codes of its distinct values, and tables of them."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import narwhals as nw
import numpy as np

from bayesieve.table import backends
from bayesieve.table.arrays import as_csc, column_of_csc, type_of_objects
from bayesieve.table.cautions import warn_caller
from bayesieve.table.values import (
    HIGHEST_SPECIAL,
    MICROSECONDS_PER_DAY,
    TEMPORAL,
    Scalar,
    canonical_text,
    canonical_value,
    drop_unused,
    format_temporal,
    sort_codes,
    spelt_out,
    unmasked,
)
from bayesieve.words import quoted_text

if TYPE_CHECKING:
    import polars as pl

Kind = Literal["numeric", "categorical"]
KINDS = ("numeric", "categorical")
_FORMS = dict.fromkeys(("date", "datetime"), "; write dates as 2024-12-31")
_READ_AS_TEXT = ("text", "category", "mixed")
ALL_WHOLE = 2.0**53
"""Below, floats tell all whole numbers apart."""


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
    """Kind of a numeric column with special values.

    Parameters
    ----------
    special : pairs of a name and the values, texts or numbers, that it stands for
    """

    special: tuple[tuple[str, tuple[Scalar, ...]], ...]


def special_number(k: Any) -> Any:
    """The number that the special values of one name, at position ``k``, are read as."""
    return -1.7e308 + 1e303 * k


class ValueInRow(ValueError):
    """A value that a column cannot hold.

    Parameters
    ----------
    before, after : the sentence before and after the place of the value
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
        """The sentence with this place of the value."""
        return f"{self.before}{place}{self.after}"

    def in_row(self, row: int) -> ValueInRow:
        """Return the complaint for another row, its position in a larger table."""
        return ValueInRow(self.before, self.after, self.column, row, self.value)


INFINITE_REMEDY = "replace infinite values by a missing value (NaN) or by a finite limit."


@contextmanager
def rows_from(first: int) -> Iterator[None]:
    """Count the rows in errors from the first row of a block of a table."""
    try:
        yield
    except ValueInRow as error:
        raise error.in_row(first + error.row) from None


class Column:
    """One column of a `Table`, converted on first use.

    Different columns may be converted in different threads; the heavy parts release the GIL, except for columns of
    Python objects.

    Parameters
    ----------
    name : str
    data : native column
        A polars or pandas Series, a pyarrow ChunkedArray, or a 1-D NumPy array.
    kind : "numeric", "categorical", SpecialValues or None
        None takes the kind that follows from the column's type.
    row_number : function
        Number of a row of the data in the table that the data are a block of.
    """

    def __init__(
        self,
        name: str,
        data: Any,
        kind: Kind | SpecialValues | None = None,
        row_number: Callable[[int], int] = int,
    ) -> None:
        self.name = name
        self.row_number = row_number
        self._raw = backends.RawColumn(data)
        self._rows: np.ndarray | None = None  # those that count, in this order; None for all
        self._special = kind.special if isinstance(kind, SpecialValues) else ()
        self._kind: Kind | None = "numeric" if isinstance(kind, SpecialValues) else kind

    def __len__(self) -> int:
        return len(self._raw) if self._rows is None else len(self._rows)

    def __repr__(self) -> str:
        return f"Column({self.name!r}, kind={self.kind!r}, type={self.type!r}, n_rows={len(self)})"

    @cached_property
    def _natural_type(self) -> str:
        with self._reading():
            declared = self._raw.type
            return type_of_objects(self._raw.values) if declared is None else declared

    @property
    def kind(self) -> Kind:
        """How the column is read: "numeric" or "categorical"."""
        if self._kind is not None:
            return self._kind
        return "numeric" if self._natural_type in ("number", *TEMPORAL) else "categorical"

    @property
    def type(self) -> str:
        """The type of the values: number, boolean, text, category, date, datetime, duration, time or mixed."""
        if self._kind == "numeric" and self._natural_type not in TEMPORAL:
            return "number"
        return self._natural_type

    @property
    def declared_type(self) -> str | None:
        """The type that the data declare; None for Python objects, whose type depends on the values."""
        return self._raw.type

    def read_as(self, name: str, kind: str | SpecialValues | None) -> Column:
        """Return the column under another name or, unless `kind` is None, as another kind."""
        if name == self.name and kind is None:
            return self
        if kind is None:
            return self._changed(name=name)
        if isinstance(kind, SpecialValues):
            return self._changed(name=name, _kind="numeric", _special=kind.special)
        return self._changed(name=name, _kind=kind, _special=())

    def take(self, rows: np.ndarray) -> Column:
        """Return the column of these rows only; the values are gathered when they are converted."""
        taken = rows if self._rows is None else self._rows[rows]
        return self._changed(_rows=taken, _natural_type=self._natural_type)  # a subset must not change the type

    def _changed(self, **attributes: Any) -> Column:
        column = copy(self)
        vars(column).update(attributes)
        return column

    def value(self, row: int) -> Any:
        """The value of one row, as `categories` has it; None if missing."""
        values = self.take(np.array([row])).categories().values
        return values[0] if values else None

    def _in_row(self, before: str, row: int, after: str) -> ValueInRow:
        number = self.row_number(int(row if self._rows is None else self._rows[row]))
        return ValueInRow(before, after, self.name, number, self.value(row))

    def numbers(self) -> np.ndarray:
        """The column as float64, NaN = missing; without a copy if the memory allows it.

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
        return self.numbers_as(self.type if self.type in TEMPORAL else "number")

    def numbers_as(self, type_: str) -> np.ndarray:
        """`numbers` of a given type: dates read as datetimes, text read as dates, and so on."""
        by_value = self._natural_type in _READ_AS_TEXT or self._special
        values = self.read_numbers(type_)[0] if by_value else self._typed_numbers(type_)
        self.refuse_infinite(values)
        return values

    def read_numbers(
        self, type_: str, complaints: list[str] | None = None, day_first: bool | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """`numbers_as` by the value of every row alone, infinite ones included.

        Parameters
        ----------
        type_ : str
        complaints : list of str, optional
            List that receives a sentence about unreadable values; None raises ValueError for them.
        day_first : bool, optional
            The order of day and month in texts of dates, if it is known.

        Returns
        -------
        numbers : float array, shape (n_rows,)
            NaN for missing and unreadable values.
        unreadable : bool array, shape (n_rows,)

        Raises
        ------
        ValueError
            If values are unreadable and ``complaints`` is None, or if the column is by its data type, not by single
            values, of another type.
        """
        natural = self._natural_type
        if natural == type_ and self._of_objects and not self._special:
            with suppress(ValueError):  # one value beyond 64 bits: each is read by itself
                return self._typed_numbers(type_), np.zeros(len(self), dtype=bool)
        if natural in _READ_AS_TEXT or self._of_objects:
            numbers, unreadable = self._numbers_of_texts(type_, complaints, day_first)
            if self._special:
                self._read_special(numbers, unreadable, type_)
            rows = np.flatnonzero(unreadable)
            if rows.size and complaints is None:
                raise _unreadable(self, int(rows[0]), type_)
            if rows.size and complaints is not None:
                complaints.append(
                    f"Column {self.name!r} is read as a {type_} but holds "
                    f"{quoted_text(canonical_text(self.value(rows[0])))}: {rows.size} of {len(self)} values cannot be "
                    f"read and count as never seen in training{_FORMS.get(type_, '')}."
                )
            return numbers, unreadable
        numbers, unreadable = self._typed_numbers(type_), np.zeros(len(self), dtype=bool)
        if self._special:
            numbers = numbers.copy()
            self._read_special(numbers, unreadable, type_)
        return numbers, unreadable

    def _read_special(self, numbers: np.ndarray, unreadable: np.ndarray, type_: str) -> None:
        """Write the numbers of special values, which are told by their number, or by their text if they are none."""
        import polars as pl

        from bayesieve.table.text_types import numbers_of_texts

        code_of_text = {canonical_text(value).strip(): k for k, (_, own) in enumerate(self._special) for value in own}
        values, _ = numbers_of_texts(pl.Series([*code_of_text], dtype=pl.String), type_)
        codes = np.full(numbers.size, -1)
        for value, k in zip(values.tolist(), code_of_text.values(), strict=True):
            codes[numbers == value] = k
        told_by_text = unreadable | np.isnan(numbers)
        if np.isnan(values).any() and told_by_text.any():
            categories = self.categories(merged=False)
            own = [code_of_text.get(canonical_text(value).strip(), -1) for value in categories.values]
            codes[told_by_text] = np.array([*own, -1])[categories.codes[told_by_text]]
        numbers[(codes < 0) & (numbers <= HIGHEST_SPECIAL) & np.isfinite(numbers)] = np.nextafter(HIGHEST_SPECIAL, 0)
        found = np.flatnonzero(codes >= 0)
        numbers[found] = special_number(codes[found])
        unreadable[found] = False

    def _typed_numbers(self, type_: str) -> np.ndarray:
        values, natural = self._plain_numbers(), self._natural_type
        if natural == type_ or (natural, type_) == ("boolean", "number"):
            return values
        return self._converted(values, natural, type_)

    def _numbers_of_texts(
        self, type_: str, complaints: list[str] | None, day_first: bool | None
    ) -> tuple[np.ndarray, np.ndarray]:
        import polars as pl

        from bayesieve.table.text_types import numbers_of_texts

        data = self._selected()
        if isinstance(data, pl.Series) and data.dtype == pl.String:
            self._complain_of_order(data, complaints, day_first)
            return numbers_of_texts(data, type_, day_first)
        with self._reading():
            codes, values = backends.encoded(data)
        texts = pl.Series([*(spelt_out(canonical_text(value)) for value in values), None], dtype=pl.String)
        self._complain_of_order(texts, complaints, day_first)
        numbers, unreadable = numbers_of_texts(texts, type_, day_first)
        for i, value in enumerate(values):  # the same numbers as in a column of nothing else
            is_number = isinstance(value, (Real, decimal.Decimal)) and not isinstance(value, (bool, np.timedelta64))
            if is_number and type_ == "number":
                with suppress(OverflowError):
                    numbers[i], unreadable[i] = float(value), False
        return numbers[codes], unreadable[codes]

    def _complain_of_order(self, texts: pl.Series, complaints: list[str] | None, day_first: bool | None) -> None:
        """Add a sentence about a date whose order of day and month is not that of training."""
        if day_first is None or complaints is None:
            return
        from bayesieve.table.text_types import other_order

        other = other_order(texts, day_first)
        if other is not None:
            first, second = ("day", "month") if day_first else ("month", "day")
            complaints.append(
                f"Column {self.name!r} holds {quoted_text(other)}, but dates of the training table have the {first} "
                f"before the {second}. Dates such as 03/04/2024 are read in that order; write all dates as 2024-12-31 "
                "if these rows have another."
            )

    def categories(self, *, merged: bool = True) -> Categories:
        """The column as codes of its distinct values, sorted by their canonical text.

        With ``merged=False`` 2 and "2" among other objects stay two values, in any order.
        """
        plain = ("number", "boolean") if self._of_objects else ("number", "boolean", *TEMPORAL)
        if self._natural_type not in plain or self.rounds():
            with self._reading():
                codes, values = backends.encoded(self._selected())
                if merged:
                    return Categories(*sort_codes(codes, values))
                return Categories(codes, [canonical_value(value) for value in values])
        codes, raw = encode_plain(*self.plain())
        if self._natural_type in TEMPORAL:
            return Categories(*sort_codes(codes, [format_temporal(number, self._natural_type) for number in raw]))
        return Categories(*sort_codes(codes, raw))

    def texts(self) -> pl.Series | None:
        """The column itself if it is a polars series of texts, which are their own canonical texts; or None."""
        import polars as pl

        values = self._selected()
        return values if isinstance(values, pl.Series) and values.dtype == pl.String else None

    def distinct(self) -> list[Any]:
        """The distinct values of a column that holds no dates or times as they are: 1 and "1" are two."""
        with self._reading():
            return list(backends.encoded(self._selected())[1])

    def rounds(self) -> bool:
        """Whether `plain` may give two different numbers as one: Decimals, whole numbers beyond 64 bits."""
        with self._reading():
            return self._natural_type == "number" and backends.rounds(self._raw.values)

    def plain(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Values and missing mask (None: no mask, but NaN is missing) of a number, boolean or temporal column."""
        with self._reading():
            values, missing = backends.plain(self._selected(), self._natural_type)
        return values, missing

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn errors of a dataframe library into a sentence about the column."""
        try:
            yield
        except OverflowError:
            raise ValueError(
                f"Column {self.name!r} holds values of type {vars(self).get('_natural_type', 'object')} that are too "
                f"large to read; replace them by a missing value, or convert the column to text."
            ) from None
        except UnicodeEncodeError:
            raise ValueError(
                f"Column {self.name!r} holds text with half a character (a lone surrogate), which this type of column "
                "cannot have; convert the column to Python objects, or repair the text."
            ) from None
        except (TypeError, MemoryError):
            raise
        except Exception as error:
            if isinstance(error, ValueError) and str(error).startswith("Complex data"):
                raise
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise ValueError(
                f"Column {self.name!r} cannot be read ({reason}); convert it to numbers, dates or text first."
            ) from error

    def _selected(self) -> Any:
        with self._reading():
            values = self._raw.values
        return values if self._rows is None else backends.taken(values, self._rows)

    def _plain_numbers(self) -> np.ndarray:
        values, missing = self.plain()
        numbers = np.ascontiguousarray(values, dtype=np.float64)
        if self._natural_type == "number":
            self._warn_of_merged(values, numbers)
        if missing is not None:
            numbers = numbers if numbers is not values else numbers.copy()
            numbers[missing] = np.nan
        return numbers

    def _warn_of_merged(self, values: np.ndarray, numbers: np.ndarray) -> None:
        whole = values.dtype.kind in "iu"
        if not values.size or values.dtype.itemsize < 8:
            return
        if not (whole or self._of_objects or backends.rounds(self._raw.values)):
            return
        if not (np.fmax.reduce(numbers) >= ALL_WHOLE or np.fmin.reduce(numbers) <= -ALL_WHOLE):
            return
        distinct = np.unique(values).size if whole else len(self.distinct())
        if distinct > np.unique(numbers[~np.isnan(numbers)]).size:
            warn_caller(
                f"Column {self.name!r} is read as numbers, but some of its different values are equal as 64-bit "
                f"floats; if they are identifiers, read it as categorical: kinds={{{self.name!r}: 'categorical'}}."
            )

    @property
    def _of_objects(self) -> bool:
        """Whether the values alone tell what the column is, so that its type depends on which rows are here."""
        return self._raw.type is None

    def _converted(self, values: np.ndarray, natural: str, type_: str) -> np.ndarray:
        if (natural, type_) == ("date", "datetime"):
            return values * MICROSECONDS_PER_DAY
        if (natural, type_) == ("datetime", "date"):
            return values / MICROSECONDS_PER_DAY
        if np.isnan(values).all():
            return values
        first = int(np.argmin(np.isnan(values)))
        raise ValueError(
            f"Column {self.name!r} holds values of type {natural} where values of type {type_} are expected; its first "
            f"value is {quoted_text(canonical_text(self.value(first)))}. Convert the column to {type_} first."
        )

    def refuse_infinite(self, values: np.ndarray) -> None:
        """ValueError that names the column and the first row where the numbers of the column are infinite."""
        infinite = np.isinf(values)
        if infinite.any():
            raise self._in_row(
                f"Column {self.name!r} contains infinity (first in ",
                int(np.argmax(infinite)),
                f"); {INFINITE_REMEDY}",
            )


def column_of_series(name: str, values: Any) -> Column:
    """A series of any dataframe library as a column."""
    series = nw.from_native(values, series_only=True)
    is_own = str(series.implementation.value) in ("pandas", "polars", "pyarrow")
    return Column(name, series.to_native() if is_own else series.to_pandas())


def column_of(values: Any, name: str, n_rows: int) -> Column:
    """Return values of rows as a column; ValueError, which names it, unless there is one value for each row."""
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


def _unreadable(column: Column, row: int, type_: str) -> ValueError:
    text = quoted_text(canonical_text(column.value(row)))
    return column._in_row(
        f"Column {column.name!r} is read as a {type_} but ",
        row,
        f" holds {text}; correct the value or read the column as categorical.",
    )


def encode_plain(values: np.ndarray, missing: np.ndarray | None) -> tuple[np.ndarray, Sequence[Any]]:
    """Distinct values of a number or boolean array; NaN counts as missing."""
    raw: Sequence[Any]
    if values.dtype.kind == "b":
        codes, raw = values.astype(np.int32), [False, True]
    elif (offsets := _whole_offsets(values)) is not None:
        codes, raw = offsets
    else:
        distinct, inverse = np.unique(values, return_inverse=True)
        codes = inverse.astype(np.int32)
        raw = list(distinct) if distinct.dtype.kind == "f" and distinct.itemsize < 8 else distinct.tolist()
    if missing is not None:
        codes[missing] = -1
    return drop_unused(codes, raw)


def _whole_offsets(values: np.ndarray) -> tuple[np.ndarray, range] | None:
    """Integers that span no more numbers than there are rows: distances to the lowest (int32), and the range.

    None for other arrays; this spares the others' sort.
    """
    if values.dtype.kind not in "iu" or not len(values):
        return None
    lowest, highest = int(values.min()), int(values.max())
    if highest - lowest > max(1024, len(values)):
        return None
    wide = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64, copy=False)
    return (wide - wide.dtype.type(lowest)).astype(np.int32), range(lowest, highest + 1)


class Table:
    """Named columns over one set of rows. Holds the caller's data, never a copy.

    Attributes
    ----------
    names : tuple of str
        Column names; ``x0``, ``x1`` ... if the data has none.
    named : bool
        Whether the names came with the data.
    n_rows, n_columns : int
    library : str
        Dataframe library of the caller, in which results come: "pandas", "pyarrow", or "polars" for all other data.
    """

    names: tuple[str, ...]
    named: bool
    n_rows: int
    library: str = "polars"
    reads_rows: ClassVar[bool] = False
    """Whether taking rows reads them from a source."""

    def __init__(self, columns: Sequence[Column], n_rows: int, named: bool, library: str = "polars") -> None:
        self._columns = tuple(columns)
        self.names = tuple(column.name for column in self._columns)
        self.named = named
        self.n_rows = n_rows
        self.library = library

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self._columns)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"Table({self.n_rows} rows, {self.n_columns} columns)"

    def column(self, i: int) -> Column:
        """The column at position `i`."""
        return self._columns[i]

    def kinds(self) -> list[Kind]:
        """How each column is read: "numeric" or "categorical"."""
        return [column.kind for column in self._columns]

    def types(self) -> list[str]:
        """The type of each column; see `Column.type`."""
        return [column.type for column in self._columns]

    def numbers(self, positions: np.ndarray) -> np.ndarray:
        """The columns at these ascending positions as float64, NaN = missing, (n, n_rows); see `Column.numbers`."""
        values = np.empty((positions.size, self.n_rows))
        for at, i in enumerate(positions.tolist()):
            values[at] = self.column(i).numbers()
        return values

    def numbers_at(self, rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the numbers of these rows only, shape (n, rows.size)."""
        return self.select(positions.tolist()).take(rows).numbers(np.arange(positions.size))

    def read_as(self, names: Sequence[str], kinds: Mapping[str, Any]) -> Table:
        """Return the columns under other names, or those that ``kinds`` names as other kinds."""
        columns = [self.column(i).read_as(name, kinds.get(name)) for i, name in enumerate(names)]
        return Table(columns, self.n_rows, self.named, self.library)

    def select(self, positions: Sequence[int]) -> Table:
        """The columns at these positions only."""
        return Table([self.column(i) for i in positions], self.n_rows, self.named)

    def take(self, rows: Any) -> Table:
        """Return the columns of these rows only (positions, a slice or a boolean mask), gathered when converted."""
        picked = np.arange(self.n_rows)[rows if isinstance(rows, slice) else np.asarray(rows)]
        return Table([self.column(i).take(picked) for i in range(self.n_columns)], len(picked), self.named)

    def read_once(self) -> Table:
        """Return a copy for taking many subsets of its rows: the values of a column are converted at most once."""
        return Table([_ReadColumn(self.column(i)) for i in range(self.n_columns)], self.n_rows, self.named)


class MatrixTable(Table):
    """Named columns of one matrix of numbers, or of booleans.

    Parameters
    ----------
    matrix : array of shape (n_rows, n_columns), or the result of `as_csc`
    names : sequence of str
    named : whether the names came with the data
    kinds : how to read the columns at some positions, if that does not follow from their type
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
        self.names = tuple(names)
        self.named = named
        self.n_rows = int(matrix.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self._matrix.shape[1])

    def column(self, i: int) -> Column:
        i = range(self.n_columns)[i]
        data = self._matrix[:, i] if self._is_dense else column_of_csc(self._matrix, i)
        return Column(self.names[i], data, self._kinds.get(i))

    def kinds(self) -> list[Kind]:
        kinds = [self._natural_kind] * self.n_columns
        for i, kind in self._kinds.items():
            kinds[i] = "numeric" if isinstance(kind, SpecialValues) else kind
        return kinds

    def types(self) -> list[str]:
        if self._natural_kind == "numeric":
            return ["number"] * self.n_columns
        return ["number" if kind == "numeric" else "boolean" for kind in self.kinds()]

    def numbers(self, positions: np.ndarray) -> np.ndarray:
        first, stop = int(positions[0]), int(positions[-1]) + 1
        if stop - first != positions.size:
            return super().numbers(positions)
        part = self._matrix[:, first:stop].T
        values = np.array(part if self._is_dense else part.toarray(), dtype=np.float64, order="C")
        if self._matrix.dtype.kind in "iu" and self._matrix.dtype.itemsize == 8 and np.abs(values).max() >= 2**53:
            for i in range(first, stop):
                self.column(i).numbers()  # warns if different numbers become one
        if not np.isfinite(values).all():
            for at in np.flatnonzero(np.isinf(values).any(axis=1)).tolist():
                self.column(first + at).numbers()  # names the row
        return values

    def numbers_at(self, rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        cells = self._matrix[rows][:, positions]
        dense = cells if self._is_dense else cells.toarray()
        return np.ascontiguousarray(dense.T, dtype=np.float64)

    def read_as(self, names: Sequence[str], kinds: Mapping[str, Any]) -> Table:
        given: dict[int, Any] = {i: kinds[name] for i, name in enumerate(names) if name in kinds}
        return MatrixTable(self._matrix, names, self.named, {**self._kinds, **given})

    def select(self, positions: Sequence[int]) -> Table:
        if len(positions) == self.n_columns:
            return self
        if self._is_dense:
            return super().select(positions)
        kinds = {at: self._kinds[i] for at, i in enumerate(positions) if i in self._kinds}
        return MatrixTable(self._matrix[:, positions], [self.names[i] for i in positions], self.named, kinds)

    def read_once(self) -> Table:
        return self  # its columns are numbers already

    def take(self, rows: Any) -> Table:
        if self._is_dense:
            return super().take(rows)
        picked = np.arange(self.n_rows)[rows if isinstance(rows, slice) else np.asarray(rows)]
        return MatrixTable(as_csc(self._matrix[picked]), self.names, self.named, self._kinds)


class _ReadColumn(Column):
    """Some rows of a column whose conversions are remembered, for these and for other parts of its rows."""

    def __init__(self, whole: Column, taken: np.ndarray | None = None, read: dict[Any, Any] | None = None) -> None:
        part = whole if taken is None else whole.take(taken)
        vars(self).update(vars(part), _natural_type=part._natural_type)
        self._whole, self._taken = whole, slice(None) if taken is None else taken
        self._read: dict[Any, Any] = {} if read is None else read

    def take(self, rows: np.ndarray) -> Column:
        return _ReadColumn(self._whole, rows if isinstance(self._taken, slice) else self._taken[rows], self._read)

    def numbers_as(self, type_: str) -> np.ndarray:
        return self._once(type_, lambda: self._whole.numbers_as(type_))[self._taken]

    def read_numbers(
        self, type_: str, complaints: list[str] | None = None, day_first: bool | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        values = self.numbers_as(type_)  # that all values are numbers is known since the levels were first learnt
        return values, np.zeros(values.size, dtype=bool)

    def categories(self, *, merged: bool = True) -> Categories:
        whole = self._once("categories", self._whole.categories)
        return Categories(*drop_unused(whole.codes[self._taken], whole.values))

    def _once(self, what: str, convert: Callable[[], Any]) -> Any:
        if what not in self._read:
            self._read[what] = convert()
        return self._read[what]
