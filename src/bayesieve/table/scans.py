"""`Scan`: a table in Parquet files, whose rows need not fit in memory; `scan` copies all other sources to Parquet."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesieve.forking import refuse_fork
from bayesieve.words import did_you_mean, listed

if TYPE_CHECKING:
    import polars as pl


BLOCK_ROWS = 1 << 18
"""Number of rows of a block, and of a row group of a copy."""

_LOOKED_AT = 1 << 10
"""Number of rows from which the length of texts is estimated."""

CopyProgress = Callable[[int, int], Any]
"""Function called with the rows and bytes of a copy after each block."""


@dataclass(frozen=True)
class FileState:
    """State of a file at the time of the scan.

    Attributes
    ----------
    path : Path
        Absolute path.
    size : int
        Size in bytes.
    changed : int
        Time of the last change, in nanoseconds.
    """

    path: Path
    size: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> FileState:
        """Return the present state of the file ``path``: its size and the time of its last change."""
        state = path.stat()
        return cls(path.absolute(), state.st_size, state.st_mtime_ns)

    def check_unchanged(self) -> None:
        """Raise ValueError, which names the file, if it is gone or was modified since its state was recorded.

        Size and modification time are compared.
        """
        try:
            now = self.path.stat()
        except OSError as error:
            raise ValueError(
                f"{self.path} cannot be read any more ({error.strerror}); scan the files again."
            ) from error
        if (now.st_size, now.st_mtime_ns) != (self.size, self.changed):
            raise ValueError(f"{self.path} has changed since it was scanned; scan the files again.")


@dataclass(frozen=True)
class DataFile(FileState):
    """A Parquet file of a scan.

    Attributes
    ----------
    n_rows : int
    constants : tuple of pairs
        Names and values of the columns that folders named ``column=value`` stand for.
    origin : FileState or None
        State of the file from which the rows were copied; None for a file that is read in place, and for a copy of a
        query.
    """

    n_rows: int = 0
    constants: tuple[tuple[str, Any], ...] = ()
    origin: FileState | None = None


@dataclass(frozen=True)
class FileRows:
    """Consecutive rows of ``file``: ``n_rows`` rows, beginning with row ``first`` (from 0)."""

    file: DataFile
    first: int
    n_rows: int


@dataclass(frozen=True, eq=False, repr=False)
class Scan:
    """Table in one or several Parquet files, whose rows are read only when they are needed. It can be pickled.

    Attributes
    ----------
    files : tuple of DataFile
    schema : polars.Schema
        Names and types of the columns; the types hold the values of all files.
    folder : object or None
        The folder of copies, which is deleted with the last scan that holds it; None if files are read in place.
    untyped : tuple of paths
        Source files whose column types were inferred from their values; empty if types were given.
    date_orders : mapping from str to bool
        For columns of dates whose texts prove an order of day and month, whether the day comes first.
    """

    files: tuple[DataFile, ...]
    schema: pl.Schema
    folder: Any = None
    untyped: tuple[str | os.PathLike[str], ...] = ()
    date_orders: Mapping[str, bool] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.schema)

    @cached_property
    def _ends(self) -> list[int]:
        """Cumulative number of rows up to the end of each file."""
        return list(accumulate(file.n_rows for file in self.files))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._ends[-1] if self.files else 0

    @property
    def n_bytes(self) -> int:
        """Size of the files in bytes."""
        return sum(file.size for file in self.files)

    @property
    def is_copy(self) -> bool:
        """Whether the files are copies in a folder of this process."""
        return self.folder is not None

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"Scan({self.n_rows} rows, {len(self.schema)} columns)"

    def select(self, names: Sequence[str]) -> Scan:
        """Return the scan restricted to the columns ``names``, in this order.

        Raises
        ------
        ValueError
            If a column does not exist, or is named twice.
        """
        return replace(self, schema=self.schema_of(names))

    def slices(self, first: int, n_rows: int) -> list[FileRows]:
        """Locate ``n_rows`` rows of the scan from row ``first`` on (fewer at its end), as rows of its files."""
        slices = []
        stop = min(first + n_rows, self.n_rows)
        i = bisect_right(self._ends, first)
        while first < stop:
            begin, end = self._ends[i] - self.files[i].n_rows, min(self._ends[i], stop)
            if end > first:
                slices.append(FileRows(self.files[i], first - begin, end - first))
            first, i = end, i + 1
        return slices

    def blocks(self, names: Sequence[str] | None = None, block_rows: int = BLOCK_ROWS) -> Iterator[pl.DataFrame]:
        """Yield all rows in order, in blocks of ``block_rows`` rows; the last block may be shorter.

        Parameters
        ----------
        names : sequence of str, optional
            Columns to read; all by default.
        block_rows : int

        Raises
        ------
        ValueError
            If a file cannot be read, or has changed since the scan; the message names it.
        """
        if block_rows < 1:
            raise ValueError(f"block_rows must be 1 or more, got {block_rows}.")
        schema = self.schema if names is None else self.schema_of(names)
        return (read_rows(self.slices(first, block_rows), schema) for first in range(0, self.n_rows, block_rows))

    @cached_property
    def text_bytes(self) -> dict[str, float]:
        """Mean size of the texts in each text column, in bytes, over the first rows, by column name."""
        import polars as pl

        texts = {name: dtype for name, dtype in self.schema.items() if dtype == pl.String}
        rows = read_rows(self.slices(0, _LOOKED_AT), texts) if texts else pl.DataFrame()
        # Remove the name: polars would read a column name such as ^x$ as a regular expression here.
        n_bytes = {column.name: int(column.alias("").str.len_bytes().sum()) for column in rows.get_columns()}
        return {name: n / rows.height for name, n in n_bytes.items()}

    def check_unchanged(self) -> None:
        """Raise ValueError, which names the file, if a file of the scan was changed or deleted since the scan. For a
        copy, the file from which it was made is checked.
        """
        for file in self.files:
            (file.origin or file).check_unchanged()

    def schema_of(self, names: Iterable[str]) -> pl.Schema:
        """Return the names and types of the columns ``names``; raise ValueError for one that does not exist or is named
        twice.
        """
        import polars as pl

        columns = [names] if isinstance(names, str) else list(names)
        for i, name in enumerate(columns):
            if name not in self.schema:
                hint = did_you_mean(name, self.names) or f"the columns are {listed([*map(repr, self.names)], 10)}."
                raise ValueError(f"There is no column {name!r}; {hint}")
            if name in columns[:i]:
                raise ValueError(f"Column {name!r} is named twice; name every column once.")
        return pl.Schema({name: self.schema[name] for name in columns})


def read_rows(slices: Sequence[FileRows], schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Read consecutive rows of one or several files into one dataframe.

    Parameters
    ----------
    slices : rows of each file to read, which follow one another in the result
    schema : mapping from the names of the columns to their types

    Raises
    ------
    ValueError
        If a file is damaged, gone or has changed since the scan; the message names it.
    """
    import polars as pl

    refuse_fork()
    frames = [_read_file_rows(rows, schema) for rows in slices]
    return frames[0] if len(frames) == 1 else pl.concat([pl.DataFrame(schema=schema), *frames], rechunk=True)


def _read_file_rows(rows: FileRows, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Read consecutive rows of one file into a dataframe with the columns and types of ``schema``. Raise ValueError,
    which names the file, if it is damaged or has changed since the scan.
    """
    import polars as pl
    from polars import selectors

    from bayesieve.table.arrow_files import lazy_file, read_errors

    file, constants = rows.file, dict(rows.file.constants)
    file.check_unchanged()
    inside = [name for name in schema if name not in constants]
    frame = pl.DataFrame()
    if inside:
        try:
            # `by_name` reads names literally, while `col` reads some of them as patterns.
            query = lazy_file(file.path).slice(rows.first, rows.n_rows).select(selectors.by_name(*inside))
            frame = query.collect()
        except read_errors() as error:
            raise ValueError(f"{file.path} is damaged or cannot be read; write it again, or omit it.") from error
        if frame.height != rows.n_rows:
            raise ValueError(f"{file.path} has fewer rows than its footer says; write it again, or omit it.")
    return pl.DataFrame(
        [
            frame[name].cast(dtype)
            if name in frame.columns
            else pl.repeat(constants[name], rows.n_rows, dtype=dtype, eager=True).alias(name)
            for name, dtype in schema.items()
        ]
    )
