"""`Source`: the rows of a table that need not fit in memory, in pieces that can be read again and again."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import narwhals as nw

from bayesieve.table.reading import checked_path, database_in, format_of

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.table.levels import FeatureLevels

BLOCK_ROWS = 1 << 18
_FEWEST_ROWS = 1 << 13  # of a part of a piece: its pages are unpacked again for each
QUERIES = ("polars_lazyframe", "duckdb_relation", "pyspark_dataframe", "pyspark_connect_dataframe")
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

    def read(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        """These columns, or all; always the same rows in the same order.

        Raises
        ------
        ValueError
            If the rows cannot be read, or have changed since the scan; the message names the file.
        """
        return self._read(list(self.schema if names is None else names))

    @abstractmethod
    def _read(self, columns: list[str]) -> pl.DataFrame:
        """These columns, of all rows."""

    def parts(self, most_rows: int) -> Iterator[Piece]:
        """The same rows in pieces of at most ``most_rows`` rows, if they can be read in parts."""
        yield self


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """The rows of a table that need not fit in memory.

    Attributes
    ----------
    schema : polars.Schema
        Names and types of all columns, the same for all pieces.
    runs : tuple of Piece
        The pieces that are known from the start.
    """

    schema: pl.Schema
    runs: tuple[Piece, ...] = ()
    reads_ahead: ClassVar[bool] = True
    """Whether the next pieces are read in a thread."""

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The runs of rows, in a fixed order."""
        return self.runs

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

    def select(self, names: Sequence[str]) -> Self:
        """The same rows with these columns only, in this order.

        Raises
        ------
        ValueError
            If a column does not exist, or is named twice.
        """
        schema = self._schema_of(names)
        return replace(self, schema=schema, runs=tuple(replace(piece, schema=schema) for piece in self.runs))

    def part(self, numbers: Sequence[int]) -> Source:
        """The rows of the pieces at these positions."""
        return replace(self, runs=tuple(self.runs[i] for i in numbers))

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
        if block_rows < 1:
            raise ValueError(f"block_rows must be 1 or more, got {block_rows}.")
        columns = list(self.names) if names is None else self._checked(names)
        return cut(self._frames(columns, first_row, cells_ahead), block_rows)

    def _frames(self, names: list[str], first_row: int, cells_ahead: int | None) -> Iterator[pl.DataFrame]:
        """The rows from this one on, as pieces give them."""
        pieces, begin = deque(self.pieces), 0
        while pieces and begin + pieces[0].n_rows <= first_row:
            begin += pieces.popleft().n_rows
        ahead = CELLS_AHEAD if cells_ahead is None else cells_ahead
        frames = _read_ahead(pieces, names, ahead) if self.reads_ahead else (piece.read(names) for piece in pieces)
        for frame in frames:
            end = begin + frame.height
            if end > first_row:
                yield frame[max(0, first_row - begin) :]
            begin = end

    def fingerprint(self) -> bytes:
        """A digest that changes with the columns or the rows (of files: paths, sizes, times of change); for caches."""
        return self._content

    @cached_property
    def _content(self) -> bytes:
        """A digest of the rows: nothing else shows whether a query gives the same ones in another session."""
        rows = hashlib.sha256()
        for block in self.blocks():
            rows.update(block.hash_rows().to_numpy().tobytes())
        return digest(list(self.schema.items()), rows.digest())

    def check_unchanged(self) -> None:  # frames in memory never change
        """Compare the source with its state at the time of the scan.

        Raises
        ------
        ValueError
            If it has changed since; the message names the file.
        """

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


def _listed(names: Sequence[str], most: int = 10) -> str:
    return ", ".join(map(repr, names[:most])) + (" ..." if len(names) > most else "")


def digest(*parts: object) -> bytes:
    """SHA-256 of the representations of these objects."""
    return hashlib.sha256("\0".join(map(repr, parts)).encode("utf-8", "surrogateescape")).digest()


def cut(frames: Iterable[pl.DataFrame], block_rows: int) -> Iterator[pl.DataFrame]:
    """The same rows in frames of ``block_rows`` rows, the last of fewer."""
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


def _read_ahead(whole: Iterable[Piece], names: Sequence[str], cells: int) -> Iterator[pl.DataFrame]:
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


class Folder:
    """A temporary folder, deleted with the last source that uses it in the process that made it.

    Parameters
    ----------
    parent : path, optional
        Where to make it; the system's folder for temporary files by default.
    """

    def __init__(self, parent: str | Path | None = None) -> None:
        try:
            if parent is not None:
                checked_path(parent).mkdir(parents=True, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix="bayesieve-", dir=parent))
        except OSError as error:
            raise ValueError(
                f"No copies can be written into {parent} ({error.strerror}); give another cache."
            ) from error
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __reduce__(self) -> tuple[type[Path], tuple[str]]:
        return Path, (str(self.path),)  # elsewhere it is used, never deleted


def write_blocks(frames: Iterable[pl.DataFrame], folder: Path) -> list[Path]:
    """Write frames of the same columns into Parquet files of `BLOCK_ROWS` rows, the last of fewer.

    Raises
    ------
    ValueError
        If the folder cannot be written, for example because the disk is full, or a column cannot be stored.
    """
    paths = []
    for number, block in enumerate(cut(frames, BLOCK_ROWS)):
        paths.append(folder / f"{number:06}.parquet")
        with writing(folder):
            block.write_parquet(paths[-1], compression="lz4", statistics=False)
    return paths


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn the errors with which rows cannot be written into a folder into ValueErrors that name it."""
    try:
        yield
    except Exception as error:
        reason = str(error).splitlines()[0]
        if isinstance(error, OSError) or "io error" in reason.lower():
            raise ValueError(f"{folder} cannot be written ({reason}); check the folder's rights and space.") from error
        raise ValueError(f"The rows cannot be stored as Parquet ({reason}).") from error


def scan(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    connection: Any = None,
    cache: str | os.PathLike[str] | None = None,
) -> Source:
    """The rows of a table that need not fit in memory.

    Parameters
    ----------
    source : path, list of paths, dataset, query or dataframe
        - Files (Parquet, Arrow, CSV or TSV, the last two also compressed with gzip): one file, a pattern such as
          ``claims/*.parquet``, or a folder with all files in it. Folders named ``column=value`` make a column. A list
          of these may not mix formats.
        - A table or view of a SQLite or DuckDB file (.db, .sqlite, .duckdb): ``shop.db::customers``, the file alone if
          it holds only one, or ``shop.db::SELECT ...``.
        - A dataset of pyarrow.
        - A polars LazyFrame, a DuckDB relation, or a Spark DataFrame. As an engine need not return rows in the same
          order twice, they are copied to Parquet when they are first read.
        - A Dask dataframe. Its partitions are the pieces.
        - A dataframe in memory.
        - The text of a query, if there is a ``connection``.
    columns : sequence of str, optional
        The columns to keep, in this order; all by default.
    connection : duckdb.DuckDBPyConnection, optional
        The database that ``source``, a query in SQL, goes to.
    cache : path, optional
        A folder for copies of rows, by default the system's one for temporary files. Copies of text files stay in it,
        for the next scan of the same files; others are deleted with the source.

    Returns
    -------
    Source

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a file cannot be read or does not fit the others, if there are no rows, or a column does not exist.
    TypeError
        If ``source`` is none of these.

    Examples
    --------
    >>> import tempfile, polars as pl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for year in (2024, 2025):
    ...         pl.DataFrame({"age": [31, 54], "paid": ["no", "yes"]}).write_parquet(f"{folder}/{year}.parquet")
    ...     claims = scan(f"{folder}/*.parquet")
    ...     [block.height for block in claims.blocks(["age"], block_rows=3)]
    [3, 1]

    A query of polars, or of another engine:

    >>> scan(pl.LazyFrame({"age": [31, 54, 31], "paid": ["no", "yes", "no"]}))
    LazySource(3 rows, 2 columns)
    """
    parent = None if cache is None else checked_path(cache)
    table: Source
    if connection is not None:
        table, name = _scan_object(relation_of(connection, source), parent), "The query"
    elif isinstance(source, (str, os.PathLike)):
        table, name = _scan_paths([source], parent), str(source)
    elif _is_list_of_paths(source):
        table, name = _scan_paths(source, parent), str(source[0])
    else:
        table, name = _scan_object(source, parent), f"The {type(source).__name__}"
    if not table.schema:
        raise ValueError(f"{name} has no columns; a table needs at least one.")
    if table.n_rows == 0:
        raise ValueError(f"{name} has columns but no rows; a table needs at least one row.")
    if columns is not None and not len(columns):
        raise ValueError("columns is empty; name at least one column, or leave it out for all of them.")
    return table if columns is None else table.select(columns)


def scan_to_score(source: Any, levels: Mapping[str, FeatureLevels]) -> Source:
    """Scan rows whose values are read by the levels of a model: no types are inferred from the rows."""
    paths = [source] if isinstance(source, (str, os.PathLike)) else source
    if _is_list_of_paths(paths):
        table = _scan_paths(paths, None, levels)
        if table.n_rows:
            return table
    return scan(source)


def _is_list_of_paths(source: Any) -> bool:
    if isinstance(source, (list, tuple)) and not source:
        raise ValueError("There are no files to scan; name at least one.")
    return isinstance(source, (list, tuple)) and all(isinstance(path, (str, os.PathLike)) for path in source)


def _scan_paths(
    paths: Sequence[str | os.PathLike[str]], parent: Path | None, levels: Mapping[str, FeatureLevels] | None = None
) -> Source:
    from bayesieve.table.column_files import files_of, scan_files

    if len(paths) == 1 and (database := database_in(paths[0])):
        from bayesieve.table.databases import scan_database

        return scan_database(*database, parent, levels)
    files = files_of(paths)
    formats = [format_of(path) for path in files]
    for path, name in zip(files, formats, strict=True):
        if name != formats[0]:
            raise ValueError(f"{files[0]} is {formats[0]} and {path} is {name}; scan files of one format.")
    if formats[0] != "text":
        return scan_files(files)
    from bayesieve.table.text_files import scan_text  # which loads polars

    return scan_text(files, parent, levels)


def _scan_object(source: Any, parent: Path | None) -> Source:
    if isinstance(source, Source):
        return source
    from bayesieve.table import queries

    native, depends = nw.to_native(source, pass_through=True), nw.dependencies
    if depends.is_dask_dataframe(native):
        return queries.scan_dask(native)
    if any(getattr(depends, f"is_{kind}")(native) for kind in QUERIES):
        return queries.scan_query(native, parent)
    if type(native).__module__.startswith("pyarrow._dataset"):
        return queries.scan_dataset(native, parent)
    return queries.scan_frame(native)


def relation_of(connection: Any, query: Any) -> Any:
    """A query as a relation of DuckDB."""
    if not type(connection).__module__.partition(".")[0].strip("_").startswith("duckdb"):
        raise TypeError(f"connection must be a connection of DuckDB, got {type(connection).__name__}.")
    import duckdb

    if not isinstance(query, str):
        raise TypeError(f"With a connection, source must be the text of a query, got {type(query).__name__}.")
    try:
        relation = connection.sql(query)
    except duckdb.Error as error:
        raise ValueError(f"DuckDB cannot run the query ({str(error).splitlines()[0]}).") from error
    if relation is None:
        raise ValueError(f"The query {query[:60]!r} returns no rows; scan a SELECT.")
    return relation
