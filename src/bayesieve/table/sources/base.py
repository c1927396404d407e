"""`Source`: the rows of a table that need not fit in memory, in pieces that can be read again and again."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import polars as pl

BLOCK_ROWS = 1 << 18
MOST_VALUES = 100_000
_FEWEST_ROWS = 1 << 13  # of a part of a piece: its pages are unpacked again for each
CELLS_AHEAD = 1 << 25
"""Values read while a block is worked on, but one piece, or part of one, at least."""


@dataclass(frozen=True, eq=False, repr=False)
class Piece(ABC):
    """A run of rows of one source. Cheap to hold and to send elsewhere: rows are read when asked for.

    Attributes
    ----------
    n_rows : int
    n_bytes : int
        Size on disk, or an estimate; for progress.
    schema : polars.Schema
        Names and types of the columns that `read` returns.
    """

    n_rows: int
    n_bytes: int
    schema: pl.Schema

    @abstractmethod
    def read(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        """These columns, or all; always the same rows in the same order.

        Raises
        ------
        ValueError
            If the rows cannot be read, or have changed since the scan; the message names the file.
        """

    def parts(self, most_rows: int) -> Iterator[Piece]:
        """The same rows in pieces of at most so many rows, where they can be read in parts."""
        yield self


@dataclass(frozen=True, eq=False, repr=False)
class Source(ABC):
    """The rows of a table that need not fit in memory.

    Attributes
    ----------
    schema : polars.Schema
        Names and types of all columns, the same for all pieces.
    """

    schema: pl.Schema

    @property
    @abstractmethod
    def pieces(self) -> tuple[Piece, ...]:
        """The runs of rows, in a fixed order."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.schema)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(piece.n_rows for piece in self.pieces)

    @property
    def n_bytes(self) -> int:
        """Size on disk, or an estimate; for progress."""
        return sum(piece.n_bytes for piece in self.pieces)

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_rows} rows, {len(self.schema)} columns)"

    @abstractmethod
    def select(self, names: Sequence[str]) -> Self:
        """The same rows with these columns only, in this order.

        Raises
        ------
        ValueError
            If a column does not exist, or is named twice.
        """

    @abstractmethod
    def part(self, numbers: Sequence[int]) -> Source:
        """The rows of the pieces at these positions."""

    def blocks(
        self,
        names: Sequence[str] | None = None,
        block_rows: int = BLOCK_ROWS,
        first_row: int = 0,
        cells_ahead: int | None = None,
    ) -> Iterator[pl.DataFrame]:
        """All rows in order, in blocks of ``block_rows`` rows, the last of fewer, however the pieces are cut.

        The next pieces are read in a thread while a block is worked on, so memory holds a few pieces at most.

        Parameters
        ----------
        names : sequence of str, optional
            Columns to read; all by default.
        block_rows : int
        first_row : int
            Rows before it are left out.
        cells_ahead : int, optional
            How many values to read while a block is worked on.
        """
        columns = list(self.names) if names is None else self._checked(names)
        pieces, rest = self._pieces_from(first_row)
        return cut(
            without(rest, _read_ahead(pieces, columns, CELLS_AHEAD if cells_ahead is None else cells_ahead)), block_rows
        )

    def _pieces_from(self, first_row: int) -> tuple[Sequence[Piece], int]:
        """The pieces with all rows from this one on, and how many rows come before it in them."""
        begin = 0
        for number, piece in enumerate(self.pieces):
            if begin + piece.n_rows > first_row:
                return self.pieces[number:], first_row - begin
            begin += piece.n_rows
        return (), 0

    def counts(self, name: str, by: str, weight: str | None = None, most: int = MOST_VALUES) -> pl.DataFrame | None:
        """How often each value of a column comes with each class.

        Parameters
        ----------
        name : str
            A column.
        by : str
            The column of classes.
        weight : str, optional
            A column of weights to sum; rows are counted without.
        most : int
            The most distinct values.

        Returns
        -------
        polars.DataFrame, or None if the column has more than ``most`` distinct values
            Columns ``value``, ``class`` and ``count`` (rows, or the sum of their weights), sorted by value and class,
            missing ones first. NaN counts as missing.
        """
        columns = self._counted_columns(name, by, weight)
        total: pl.DataFrame | None = None
        for block in self.blocks(list(dict.fromkeys(columns))):
            total = added(total, counted(block, *columns), most)
            if total is None:
                return None
        return None if total is None else total.sort("value", "class")

    @abstractmethod
    def fingerprint(self) -> bytes:
        """A digest that changes with the rows (of files: paths, sizes, times of change) or the columns; for caches."""

    @abstractmethod
    def check_unchanged(self) -> None:
        """Compare the source with its state at the time of the scan.

        Raises
        ------
        ValueError
            If it has changed since; the message names the file.
        """

    def _counted_columns(self, name: str, by: str, weight: str | None) -> list[str]:
        columns = [name, by] if weight is None else [name, by, weight]
        self._checked(dict.fromkeys(columns))
        if weight is not None and not self.schema[weight].is_numeric():
            raise ValueError(f"Column {weight!r} holds no numbers ({self.schema[weight]}); weights are numbers.")
        return columns

    def _schema_of(self, names: Iterable[str]) -> pl.Schema:
        import polars as pl

        return pl.Schema({name: self.schema[name] for name in self._checked(names)})

    def _checked(self, names: Iterable[str]) -> list[str]:
        columns = [names] if isinstance(names, str) else list(names)
        for i, name in enumerate(columns):
            if name not in self.schema:
                raise ValueError(f"There is no column {name!r}; the columns are {_listed(self.names)}.")
            if name in columns[:i]:
                raise ValueError(f"Column {name!r} is named twice; name every column once.")
        return columns


@dataclass(frozen=True, eq=False, repr=False)
class Pieces(Source):
    """A source whose pieces are known from the start.

    Attributes
    ----------
    runs : tuple of Piece
    """

    runs: tuple[Piece, ...]

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return self.runs

    def part(self, numbers: Sequence[int]) -> Self:
        return replace(self, runs=tuple(self.runs[i] for i in numbers))

    def select(self, names: Sequence[str]) -> Self:
        schema = self._schema_of(names)
        return replace(self, schema=schema, runs=tuple(replace(piece, schema=schema) for piece in self.runs))


def _listed(names: Sequence[str], most: int = 10) -> str:
    return ", ".join(map(repr, names[:most])) + (" ..." if len(names) > most else "")


def digest(*parts: object) -> bytes:
    """SHA-256 of the representations of these objects."""
    return hashlib.sha256("\0".join(map(repr, parts)).encode("utf-8", "surrogateescape")).digest()


def counted(frame: pl.DataFrame, name: str, by: str, weight: str | None = None) -> pl.DataFrame:
    """The distinct pairs of value and class in a frame with their rows or weight; NaN counts as missing."""
    import polars as pl

    rows = pl.repeat(1, frame.height, dtype=pl.Int64, eager=True) if weight is None else frame[weight].cast(pl.Float64)
    return summed(pl.DataFrame([frame[name].alias("value"), frame[by].alias("class"), rows.alias("count")]))


def summed(counts: pl.DataFrame) -> pl.DataFrame:
    """The columns ``value``, ``class`` and ``count`` with every pair of the first two once; NaN counts as missing."""
    import polars as pl

    keys = [counts[key].fill_nan(None) if counts[key].dtype.is_float() else counts[key] for key in ("value", "class")]
    return counts.with_columns(keys).group_by("value", "class").agg(pl.col("count").sum())


def added(total: pl.DataFrame | None, more: pl.DataFrame | None, most: int) -> pl.DataFrame | None:
    """The sum of two results of `counted`; None if it has more than ``most`` distinct values."""
    import polars as pl

    if more is not None and total is not None:
        more = summed(pl.concat([total, more]))
    return None if more is None or more["value"].n_unique() > most else more


def cut(frames: Iterable[pl.DataFrame], block_rows: int) -> Iterator[pl.DataFrame]:
    """The same rows in frames of ``block_rows`` rows, the last of fewer. ValueError unless that is 1 or more."""
    if block_rows < 1:
        raise ValueError(f"block_rows must be 1 or more, got {block_rows}.")
    return _cut(frames, block_rows)


def without(n_rows: int, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Frames without the first rows, which the first one has."""
    for frame in frames:
        yield frame[n_rows:] if n_rows else frame
        n_rows = 0


def _cut(frames: Iterable[pl.DataFrame], block_rows: int) -> Iterator[pl.DataFrame]:
    import polars as pl

    waiting: list[pl.DataFrame] = []
    n_waiting = 0
    for frame in frames:
        waiting.append(frame)
        n_waiting += frame.height
        while n_waiting >= block_rows:
            rows = pl.concat(waiting)
            yield rows.head(block_rows).rechunk()
            waiting, n_waiting = [rows.slice(block_rows)], n_waiting - block_rows
    if n_waiting:
        yield pl.concat(waiting).rechunk()


def _read_ahead(whole: Sequence[Piece], names: Sequence[str], cells: int) -> Iterator[pl.DataFrame]:
    """These columns of all pieces, the next ones being read in a thread."""
    waiting: deque[Future[pl.DataFrame]] = deque()
    thread = ThreadPoolExecutor(1, thread_name_prefix="bayesieve-reader")
    most_rows = cells // max(1, len(names))
    pieces = [part for piece in whole for part in piece.parts(max(_FEWEST_ROWS, most_rows // 2))]
    n_ahead = first = 0
    try:
        for piece in pieces:
            while len(waiting) > 1 and n_ahead + piece.n_rows > most_rows:
                yield waiting.popleft().result()
                n_ahead -= pieces[first].n_rows
                first += 1
            waiting.append(thread.submit(piece.read, names))
            n_ahead += piece.n_rows
        while waiting:
            yield waiting.popleft().result()
    finally:
        thread.shutdown(wait=True, cancel_futures=True)
