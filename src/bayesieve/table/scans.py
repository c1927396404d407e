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

import narwhals as nw

from bayesieve.forking import refuse_fork
from bayesieve.table.reading import checked_path, database_in
from bayesieve.words import did_you_mean, listed

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.table.levels import FeatureLevels

BLOCK_ROWS = 1 << 18
"""Rows of a block, and of a row group of a copy."""

_LOOKED_AT = 1 << 10
"""Rows that show how long texts are."""

CopyProgress = Callable[[int, int], Any]
"""Called with the rows and bytes of a copy after each block."""

_REMOVED = {
    "dask_dataframe": ("A Dask dataframe", 'frame.to_parquet("folder")'),
    "pyspark_dataframe": ("A Spark dataframe", 'frame.write.parquet("folder")'),
    "pyspark_connect_dataframe": ("A Spark dataframe", 'frame.write.parquet("folder")'),
}


@dataclass(frozen=True)
class FileState:
    """A file as it was at the time of the scan.

    Attributes
    ----------
    path : Path
        Absolute.
    size : int
        Bytes.
    changed : int
        Time of the last change, in nanoseconds.
    """

    path: Path
    size: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> FileState:
        """Return the state of a file now."""
        state = path.stat()
        return cls(path.absolute(), state.st_size, state.st_mtime_ns)

    def check_unchanged(self) -> None:
        """Raise ValueError, which names the file, if it is gone or has another size or time of change."""
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
        The file that the rows were copied from; None for a file that is read in place, and a copy of a query.
    """

    n_rows: int = 0
    constants: tuple[tuple[str, Any], ...] = ()
    origin: FileState | None = None


@dataclass(frozen=True)
class FileRows:
    """Consecutive rows of one file: ``n_rows`` rows from row ``first`` on."""

    file: DataFile
    first: int
    n_rows: int


@dataclass(frozen=True, eq=False, repr=False)
class Scan:
    """A table in Parquet files, one after the other. It is small, can be pickled, and reads rows when asked.

    Attributes
    ----------
    files : tuple of DataFile
    schema : polars.Schema
        Names and types of the columns; they hold the values of all files.
    folder : object or None
        The folder of copies, which is deleted with the last scan that holds it; None if files are read in place.
    untyped : tuple of paths
        The files as they were given, if types of columns were inferred from their values; otherwise empty.
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
        """The names of the columns."""
        return tuple(self.schema)

    @cached_property
    def _ends(self) -> list[int]:
        """The number of rows up to the end of each file."""
        return list(accumulate(file.n_rows for file in self.files))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self._ends[-1] if self.files else 0

    @property
    def n_bytes(self) -> int:
        """The size of the files."""
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
        """Return the scan with these columns only, in this order.

        Raises
        ------
        ValueError
            If a column does not exist, or is named twice.
        """
        return replace(self, schema=self.schema_of(names))

    def slices(self, first: int, n_rows: int) -> list[FileRows]:
        """Return the rows ``first`` to ``first + n_rows`` of the scan, or to its end, as rows of files."""
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
        """Yield all rows in order, in blocks of ``block_rows`` rows, the last of fewer.

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
        """The mean bytes of the texts of each column of texts, in the first rows."""
        import polars as pl

        texts = {name: dtype for name, dtype in self.schema.items() if dtype == pl.String}
        rows = read_rows(self.slices(0, _LOOKED_AT), texts) if texts else pl.DataFrame()
        # A name such as ^x$ would be a pattern in the query behind `str`.
        n_bytes = {column.name: int(column.alias("").str.len_bytes().sum()) for column in rows.get_columns()}
        return {name: n / rows.height for name, n in n_bytes.items()}

    def check_unchanged(self) -> None:
        """Raise ValueError, which names the file, if a file of the scan has changed, or one that was copied."""
        for file in self.files:
            (file.origin or file).check_unchanged()

    def schema_of(self, names: Iterable[str]) -> pl.Schema:
        """Return the names and types of some columns; ValueError for one that does not exist or is named twice."""
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
    """Read columns of some rows, in the types of a schema.

    Parameters
    ----------
    slices : sequence of FileRows
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
    import polars as pl
    from polars import selectors

    from bayesieve.table.parquet_files import lazy_file, read_errors

    file, constants = rows.file, dict(rows.file.constants)
    file.check_unchanged()
    inside = [name for name in schema if name not in constants]
    frame = pl.DataFrame()
    if inside:
        try:
            # `by_name` takes names as they are; `col` takes some of them for patterns.
            query = lazy_file(file.path).slice(rows.first, rows.n_rows).select(selectors.by_name(*inside))
            frame = query.collect()
        except read_errors() as error:
            raise ValueError(f"{file.path} is damaged or cannot be read; write it again, or leave it out.") from error
        if frame.height != rows.n_rows:
            raise ValueError(f"{file.path} has fewer rows than its footer says; write it again, or leave it out.")
    return pl.DataFrame(
        [
            frame[name].cast(dtype)
            if name in frame.columns
            else pl.repeat(constants[name], rows.n_rows, dtype=dtype, eager=True).alias(name)
            for name, dtype in schema.items()
        ]
    )


def scan(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: CopyProgress | None = None,
) -> Scan:
    """Scan a table that need not fit in memory.

    Parquet files are read in place. All other sources are copied to Parquet once, before this function returns.

    Parameters
    ----------
    source : path, list of paths, query or dataframe
        - Files (Parquet, Arrow, CSV or TSV, the last two also compressed with gzip): one file, a pattern such as
          ``claims/*.parquet``, or a folder with all files in it. Folders named ``column=value`` make a column. A list
          of these may not mix formats. Of a workbook (.xlsx, .xls, .ods) the first sheet is read.
        - A table or view of a SQLite or DuckDB file (.db, .sqlite, .duckdb): ``shop.db::customers``, the file alone if
          it holds only one, or ``shop.db::SELECT ...``.
        - A polars LazyFrame or a DuckDB relation.
        - A dataframe in memory.
    columns : sequence of str, optional
        The columns to keep, in this order; all by default.
    folder : path, optional
        A folder for the copy; by default the system's one for temporary files. The copy is made in a new folder inside
        it, which is deleted with the scan, and after an error.
    progress : callable, optional
        Called with the number of rows and of bytes copied so far, after each block.

    Returns
    -------
    Scan

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a file cannot be read or does not fit the others, if there are no rows, a column does not exist, or the disk
        has no room for the copy.
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

    A query of polars:

    >>> scan(pl.LazyFrame({"age": [31, 54, 31], "paid": ["no", "yes", "no"]}))
    Scan(3 rows, 2 columns)
    """
    if columns is not None and not len(columns):
        raise ValueError("columns is empty; name at least one column, or leave it out for all of them.")
    table = source if isinstance(source, Scan) else _scanned(source, columns, folder, progress, None)
    return table if columns is None else table.select(columns)


def scan_to_score(source: Any, levels: Mapping[str, FeatureLevels], progress: CopyProgress | None = None) -> Scan:
    """Scan rows whose values are read by the levels of a model: no types are inferred from the rows.

    A scan of files whose types were inferred reads the files again if texts of the model were taken for something else:
    the number 7 does not say whether it was written as 007.
    """
    if not isinstance(source, Scan):
        return _scanned(source, None, None, progress, levels)
    import polars as pl

    is_text = (
        dtype == pl.String or name not in levels or levels[name].type not in ("text", "mixed")
        for name, dtype in source.schema.items()
    )
    if not source.untyped or all(is_text):
        return source
    for file in source.files:
        if file.origin is not None:
            file.origin.check_unchanged()
    return _scanned(list(source.untyped), None, None, progress, levels).select(source.names)


def _scanned(
    source: Any,
    columns: Sequence[str] | None,
    folder: str | os.PathLike[str] | None,
    progress: CopyProgress | None,
    levels: Mapping[str, FeatureLevels] | None,
) -> Scan:
    """Open or copy the files of a source that is no scan."""
    from bayesieve.table import to_parquet

    refuse_fork()
    parent = None if folder is None else checked_path(folder)
    paths = [source] if isinstance(source, (str, os.PathLike)) else source
    if isinstance(paths, (list, tuple)) and all(isinstance(path, (str, os.PathLike)) for path in paths):
        if not paths:
            raise ValueError("There are no files to scan; name at least one.")
        name = str(paths[0])
        table = _scanned_paths(paths, to_parquet.Copies(parent, progress), levels)
    else:
        native = nw.to_native(source, pass_through=True)
        refuse_removed(native)
        name = f"The {type(source).__name__}"
        table = to_parquet.copy_object(native, columns, to_parquet.Copies(parent, progress))
    if not table.schema:
        raise ValueError(f"{name} has no columns; a table needs at least one.")
    if table.n_rows == 0:
        raise ValueError(f"{name} has columns but no rows; a table needs at least one row.")
    return table


def _scanned_paths(
    paths: Sequence[str | os.PathLike[str]], copies: Any, levels: Mapping[str, FeatureLevels] | None
) -> Scan:
    from bayesieve.table import to_parquet
    from bayesieve.table.parquet_files import files_of, scan_parquet_files, scannable_format

    if len(paths) == 1 and (database := database_in(paths[0])):
        from bayesieve.table.databases import scan_database

        table = scan_database(*database, copies, levels)
        return replace(table, untyped=tuple(paths))
    files: list[Path] = files_of(paths)
    formats = [scannable_format(path) for path in files]
    for path, name in zip(files, formats, strict=True):
        if name != formats[0]:
            raise ValueError(f"{files[0]} is {formats[0]} and {path} is {name}; scan files of one format.")
    if formats[0] == "Parquet":
        return scan_parquet_files(files, levels)
    table = to_parquet.copy_files(files, str(formats[0]), copies, levels)
    return table if formats[0] == "Arrow" else replace(table, untyped=tuple(paths))


def refuse_removed(source: Any) -> None:
    """Raise TypeError, with the line that writes Parquet, for frames and datasets of other engines."""
    for kind, (name, line) in _REMOVED.items():
        if getattr(nw.dependencies, f"is_{kind}")(source):
            raise TypeError(f"{name} cannot be scanned; write it as Parquet, {line}, and scan that folder.")
    if type(source).__module__.startswith("pyarrow._dataset"):
        line = 'pyarrow.dataset.write_dataset(dataset, "folder", format="parquet")'
        raise TypeError(f"A dataset of pyarrow cannot be scanned; write it as Parquet, {line}, and scan that folder.")
