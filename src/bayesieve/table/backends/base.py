"""`Backend`: how the frames of a library give up their columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import narwhals as nw
import numpy as np

WIDE = 256
"""Columns of one type from which a frame is read as one matrix."""


class Backend(ABC):
    """Reads the frames of one library, and their columns: arrays, series or whatever holds the values of one column.

    A backend is one class in one file. It imports its library inside its methods, so that nothing is loaded before it
    is needed. Conversions run in the library's own compiled code, which releases the GIL wherever no Python objects are
    involved. See `docs/own-backend.md` for an example.

    Attributes
    ----------
    name : str
        Class attribute: the name of the library.
    """

    name: ClassVar[str] = ""

    @abstractmethod
    def reads(self, X: Any) -> bool:
        """Whether ``X`` is a frame of this library."""

    @abstractmethod
    def columns(self, X: Any) -> tuple[list[str] | None, Any]:
        """The names of the columns, None where they have none, and a list of the columns, each with a length.

        A frame of numbers of a single type may be an array or a SciPy CSC matrix instead, shape (n_rows, n_columns).
        """

    @abstractmethod
    def select(self, X: Any, positions: np.ndarray) -> Any:
        """The columns at these positions, as the same kind of frame."""

    @abstractmethod
    def take_rows(self, X: Any, rows: np.ndarray) -> Any:
        """The rows at these positions, as the same kind of frame."""

    def native(self, column: Any) -> tuple[Any, str]:
        """A column in the form that is read, and the name of the backend that reads it; not all are this one's."""
        return column, self.name

    @abstractmethod
    def column_type(self, column: Any) -> str | None:
        """The type of a column: number, boolean, text, category, date, datetime, duration, time or mixed; None where it
        depends on the values, as in a column of Python objects.
        """

    @abstractmethod
    def plain(self, column: Any, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
        """A column of numbers, booleans, dates (in days since 1970), datetimes, durations or times (in microseconds) as
        an array, and which values are missing; None: those that are NaN.
        """

    def rounds(self, column: Any) -> bool:
        """Whether `plain` may give two different numbers as one: Decimals, whole numbers beyond 64 bits."""
        return False

    @abstractmethod
    def encoded(self, column: Any) -> tuple[np.ndarray, list[Any]]:
        """Codes (int32, -1 = missing) and the distinct raw values that they stand for, all of which occur."""

    @abstractmethod
    def take(self, column: Any, rows: np.ndarray) -> Any:
        """The values of a column at these positions, as the same kind of column."""


def is_wide(dtypes: Sequence[Any]) -> bool:
    """Whether there are very many columns of one type: one matrix spares an object for each of them."""
    return len(dtypes) >= WIDE and all(dtype == dtypes[0] for dtype in dtypes)


def refuse_duplicates(names: Sequence[str]) -> None:
    """ValueError for a name that appears more than once."""
    if len(set(names)) < len(names):
        name = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"Column name {name!r} appears more than once; give every column its own name.")


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
