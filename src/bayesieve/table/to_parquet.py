"""Copying of text files, Arrow files, workbooks, databases, queries and dataframes to Parquet files."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import polars as pl

from bayesieve.table.arrow_files import look_at
from bayesieve.table.columns import duplicate_error
from bayesieve.table.paths import checked_path
from bayesieve.table.scans import BLOCK_ROWS, CopyProgress, DataFile, FileState, Scan
from bayesieve.table.values import canonical_text
from bayesieve.table.writing import ColumnWriter

if TYPE_CHECKING:
    pass

_BYTES_LEFT = 1 << 28
"""Number of bytes that a copy leaves free on the disk."""


class Folder:
    """Temporary folder that is deleted with the last object that uses it, in the process that created it.

    Parameters
    ----------
    parent : path, optional
        Folder in which it is created; by default the system's folder for temporary files.
    """

    def __init__(self, parent: Path | None = None) -> None:
        try:
            if parent is not None:
                checked_path(parent).mkdir(parents=True, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix="bayesieve-", dir=parent)).absolute()
        except OSError as error:
            raise ValueError(
                f"No copy can be written into {parent} ({error.strerror}); give another folder."
            ) from error
        self.delete = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __reduce__(self) -> tuple[type[Path], tuple[str]]:
        return Path, (str(self.path),)  # another process uses the folder and never deletes it


class Copies:
    """Parquet files written for one scan, in a folder that belongs to it.

    Parameters
    ----------
    parent : Path or None
        Folder in which the folder of the copies is created; None for the system's folder for temporary files.
    progress : callable or None
        Called with the number of rows and bytes written so far, after each block.
    """

    def __init__(self, parent: Path | None, progress: CopyProgress | None) -> None:
        self._parent, self._progress = parent, progress
        self._n_rows = self._n_bytes = 0

    @cached_property
    def folder(self) -> Folder:
        """Folder of the copies, created when it is first needed."""
        return Folder(self._parent)

    @contextmanager
    def deleted_after_errors(self) -> Iterator[None]:
        """Delete the folder if the ``with`` block ends with an error or Ctrl-C."""
        try:
            yield
        except BaseException:
            if "folder" in vars(self):
                self.folder.delete()
            raise

    def write(self, frames: Iterable[pl.DataFrame], schema: pl.Schema, origin: FileState | None = None) -> DataFile:
        """Write frames of one schema to a new Parquet file, and return its `DataFile`.

        A generator of frames is closed afterwards, which ends its query. ``origin`` is the state of the source file, if
        the rows come from one.

        Raises
        ------
        ValueError
            If a column cannot be stored, or the disk has no room.
        """
        path, n_rows = self._new_path(), 0
        with _explained(self.folder.path), path.open("wb") as file:
            writer = ColumnWriter(file, schema, compression="lz4")
            is_whole = False
            try:
                for block in blocks_of(frames):
                    writer.write(block)
                    n_rows += block.height
                    self._check_room()
                    self._show(n_rows, path.stat().st_size)
                is_whole = True
            finally:
                writer.close(whole=is_whole)
                if isinstance(frames, Generator):  # the traceback of an error would keep its query running
                    frames.close()
        return self._written(path, n_rows, origin)

    def write_relation(self, relation: Any) -> DataFile:
        """Write the rows of a DuckDB relation to a new Parquet file, and return its `DataFile`."""
        path = self._new_path()
        with _explained(self.folder.path):
            relation.write_parquet(str(path), compression="lz4", row_group_size=BLOCK_ROWS)
        return self._written(path, look_at(path)[1], None)

    def scan(self, files: Sequence[DataFile], schema: pl.Schema, date_orders: Mapping[str, bool] | None = None) -> Scan:
        """Return the scan of the written ``files``, which keeps their folder.

        ``schema`` holds the names and types of the columns, and ``date_orders`` maps columns of dates to whether the
        day comes first, where their texts prove it.
        """
        return Scan(tuple(files), schema, self.folder, date_orders=date_orders or {})

    def _new_path(self) -> Path:
        """Return the path of the next file in the folder."""
        return self.folder.path / f"{len(list(self.folder.path.glob('*.parquet'))):06}.parquet"

    def _written(self, path: Path, n_rows: int, origin: FileState | None) -> DataFile:
        """Report progress, and return the `DataFile` of ``path``, to which ``n_rows`` rows were written. ``origin`` is
        the state of the source file or None.
        """
        state = FileState.of(path)
        self._show(n_rows, state.size)
        self._n_rows, self._n_bytes = self._n_rows + n_rows, self._n_bytes + state.size
        return DataFile(state.path, state.size, state.changed, n_rows, origin=origin)

    def _check_room(self) -> None:
        """Raise ValueError if the disk is nearly full."""
        if shutil.disk_usage(self.folder.path).free < _BYTES_LEFT:
            raise ValueError(
                f"The copy of the rows in Parquet would fill the disk of {self.folder.path.parent}; set folder= to a "
                "folder on a larger disk."
            )

    def _show(self, n_rows: int, n_bytes: int) -> None:
        """Report the rows and bytes written: those of earlier files plus ``n_rows`` and ``n_bytes`` of
        the current one.
        """
        if self._progress is not None:
            self._progress(self._n_rows + n_rows, self._n_bytes + n_bytes)


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Convert errors of writing to ``folder`` in the ``with`` block into ValueErrors that state the reason and the
    remedy.
    """
    try:
        yield
    except ValueError:
        raise
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if isinstance(error, OSError) or "io error" in reason.lower():
            raise ValueError(
                f"{folder} cannot be written ({reason}); check the folder's permissions and free space."
            ) from error
        raise ValueError(
            f"The rows cannot be copied to Parquet ({reason}); convert the column that the reason names, or omit it."
        ) from error


def blocks_of(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the rows of frames of any size in blocks of `BLOCK_ROWS` rows; the last block may be shorter."""
    waiting: list[pl.DataFrame] = []
    n_waiting = 0
    for frame in frames:
        waiting.append(frame)
        n_waiting += frame.height
        while n_waiting >= BLOCK_ROWS:
            rows = pl.concat(waiting)
            yield rows.head(BLOCK_ROWS).rechunk()
            waiting, n_waiting = [rows.slice(BLOCK_ROWS)], n_waiting - BLOCK_ROWS
    if n_waiting:
        yield pl.concat(waiting).rechunk()


def batches_of(query: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yield the rows of a query in order, in batches of any size.

    Only this function uses `collect_batches`, which polars calls unstable. The query ends when the batches are dropped,
    so closing this generator, after an error or Ctrl-C, ends it.
    """
    batches = query.collect_batches(chunk_size=BLOCK_ROWS, maintain_order=True, engine="streaming")
    try:
        for batch in batches:
            if batch.height:
                yield batch
    finally:
        del batches


def copy_object(source: Any, columns: Sequence[str] | None, copies: Copies) -> Scan:
    """Copy a query, or a dataframe in memory, to Parquet, and return the scan of the copy.

    ``columns`` are the names of the columns to copy, None for all. ``copies`` writes the files.

    Raises
    ------
    TypeError
        If ``source`` is neither.
    ValueError
        If a column does not exist, or has a type that Parquet does not store.
    """
    from polars import selectors

    with copies.deleted_after_errors():
        if nw.dependencies.is_duckdb_relation(source):
            relation = _readable(source)
            schema = _schema_of_relation(relation)
            if columns is not None:
                schema = Scan((), schema).schema_of(columns)
                relation = relation.project(", ".join(map(quoted_name, schema)))
            return copies.scan([copies.write_relation(relation)], schema)
        is_lazy = nw.dependencies.is_polars_lazyframe(source)
        query = source if is_lazy else frame_of(source).lazy()
        schema = query.collect_schema()
        if columns is not None:
            schema = Scan((), schema).schema_of(columns)
            query = query.select(selectors.by_name(*schema))
        return copies.scan([copies.write(batches_of(query), schema)], schema)


def frame_of(source: Any) -> pl.DataFrame:
    """Return a dataframe in memory as a polars dataframe."""
    if isinstance(source, pl.DataFrame):
        return source
    if nw.dependencies.is_pandas_dataframe(source):
        return _from_pandas(source)
    if nw.dependencies.is_into_dataframe(source):
        return nw.from_native(source, eager_only=True).to_polars()
    if hasattr(source, "__arrow_c_stream__") and not nw.dependencies.is_into_series(source):
        return pl.DataFrame(source)
    raise TypeError(f"A table cannot be scanned from {type(source).__name__}; give paths, a query or a dataframe.")


def _from_pandas(frame: Any) -> pl.DataFrame:
    """Convert a pandas dataframe to polars. Categories become texts, as in columns read in memory.

    Raises
    ------
    ValueError
        If a column holds values of several types, or of one that polars does not know; the message names it.
    """
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise duplicate_error(names)
    columns = []
    for i, name in enumerate(names):
        column = frame.iloc[:, i]
        if hasattr(column, "cat") and not all(isinstance(value, str) for value in column.cat.categories):
            column = column.cat.rename_categories([canonical_text(value) for value in column.cat.categories.tolist()])
        try:
            series: Any = pl.from_pandas(column)
        except Exception as error:
            raise ValueError(f"Column {name!r} cannot be scanned ({error}); convert it to one type.") from error
        if isinstance(series.dtype, pl.BaseExtension):
            raise ValueError(f"Column {name!r} cannot be scanned ({series.dtype}); convert it to text or numbers.")
        columns.append(series.alias(name))
    return pl.DataFrame(columns)


def _schema_of_relation(relation: Any) -> pl.Schema:
    """Return the schema of a DuckDB relation, without running it."""
    none = relation.limit(0)
    try:
        return none.pl().schema
    except ImportError:  # of pyarrow; without it, DuckDB complains of leaks when Python ends
        return pl.DataFrame(none).schema


def quoted_name(name: str) -> str:
    """Return a name as a quoted identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _readable(relation: Any) -> Any:
    """Return a DuckDB relation with columns of types that only DuckDB has cast to text."""
    columns = []
    for name, dtype in zip(relation.columns, map(str, relation.types), strict=True):
        if dtype == "INTERVAL":
            raise ValueError(f"Column {name!r} holds intervals of DuckDB; convert it to a number, such as seconds.")
        is_text = dtype in ("UUID", "BIT")
        columns.append(f"{quoted_name(name)}::VARCHAR AS {quoted_name(name)}" if is_text else quoted_name(name))
    return relation.project(", ".join(columns))
