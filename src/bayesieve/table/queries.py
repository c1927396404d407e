"""Dataframes and datasets of other libraries, and queries, whose rows come from a copy on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import narwhals as nw
import polars as pl

from bayesieve.table.backends import refuse_duplicates
from bayesieve.table.column_files import FileSource, scan_files, unified
from bayesieve.table.sources import BLOCK_ROWS, Folder, Piece, Source, digest, write_blocks, writing
from bayesieve.table.values import canonical_text

_BYTES_PER_CELL = 8  # of a Dask dataframe


@dataclass(frozen=True, eq=False, repr=False)
class FramePiece(Piece):
    """Rows in memory.

    Attributes
    ----------
    rows : polars.DataFrame
    """

    rows: pl.DataFrame

    def _read(self, columns: list[str]) -> pl.DataFrame:
        return self.rows[:, [self.rows.get_column_index(name) for name in columns]]


def scan_frame(frame: Any) -> Source:
    """The rows of a dataframe in memory."""
    if isinstance(frame, pl.DataFrame):
        table = frame
    elif nw.dependencies.is_pandas_dataframe(frame):
        table = from_pandas(frame)
    elif nw.dependencies.is_into_dataframe(frame):
        table = nw.from_native(frame, eager_only=True).to_polars()
    elif hasattr(frame, "__arrow_c_stream__") and not nw.dependencies.is_into_series(frame):
        table = pl.DataFrame(frame)
    else:
        raise TypeError(
            f"A table cannot be scanned from {type(frame).__name__}; give paths, a query, a dataset or a dataframe."
        )
    runs = []
    for first in range(0, table.height, BLOCK_ROWS):
        rows = table.slice(first, BLOCK_ROWS)
        runs.append(FramePiece(rows.height, int(rows.estimated_size()), table.schema, rows))
    return Source(table.schema, tuple(runs))


def from_pandas(frame: Any) -> pl.DataFrame:
    """A dataframe of pandas as one of polars. Categories are texts, as in columns read in memory.

    Raises
    ------
    ValueError
        If a column holds values of several types, or of one that polars does not know; the message names it.
    """
    names = [str(name) for name in frame.columns]
    refuse_duplicates(names)
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


def scan_dataset(dataset: Any, parent: Path | None) -> Source:
    """The rows of a dataset of pyarrow: its own files if they are Parquet on this machine, else a copy."""
    from pyarrow import dataset as of_arrow, fs

    is_plain = isinstance(dataset, of_arrow.FileSystemDataset) and not getattr(dataset, "_scan_options", True)
    if is_plain and isinstance(dataset.filesystem, fs.LocalFileSystem) and dataset.format.default_extname == "parquet":
        files = scan_files([Path(path) for path in dataset.files])
        if set(files.names) == set(dataset.schema.names):
            return files.select(dataset.schema.names)
    folder = Folder(parent)
    empty = pl.DataFrame(dataset.schema.empty_table())
    batches = (pl.DataFrame(batch) for batch in dataset.scanner(batch_readahead=1, fragment_readahead=1).to_batches())
    paths = write_blocks((batch for batch in batches if batch.height), folder.path)
    return scan_files(paths, empty.schema, folder)


@dataclass(frozen=True, eq=False, repr=False)
class DaskPiece(Piece):
    """A partition of a Dask dataframe.

    Attributes
    ----------
    partition : dask.dataframe.DataFrame
        With one partition.
    """

    partition: Any

    def _read(self, columns: list[str]) -> pl.DataFrame:
        rows = from_pandas(self.partition[columns].compute())
        frame = pl.DataFrame([column.cast(self.schema[column.name]) for column in rows.get_columns()])
        if frame.height != self.n_rows:
            raise ValueError(
                f"A partition of the Dask dataframe had {self.n_rows} rows when it was scanned and has {frame.height} "
                "now; scan it again, or persist it first."
            )
        return frame


@dataclass(frozen=True, eq=False, repr=False)
class DaskSource(Source):
    """The rows of a Dask dataframe.

    Partitions are computed at each reading, and must have the same rows in the same order; persist a dataframe for
    which that does not hold, such as one after a shuffle.
    """

    runs: tuple[DaskPiece, ...] = ()

    # In a thread, a task on a worker would wait for itself; Dask computes in its threads.
    reads_ahead: ClassVar[bool] = False

    def fingerprint(self) -> bytes:
        from dask.base import tokenize

        parts = [(tokenize(run.partition), run.n_rows) for run in self.runs]
        return digest(list(self.schema.items()), parts)


def scan_dask(frame: Any) -> DaskSource:
    """The rows of a Dask dataframe; one pass counts the rows of its partitions."""
    from dask.base import compute
    from dask.delayed import delayed

    names = [str(name) for name in frame.columns]
    if names != list(frame.columns):
        raise TypeError("A Dask dataframe needs texts as names of its columns; rename the others.")
    objects = [name for name, dtype in frame.dtypes.items() if dtype.kind == "O" and not hasattr(dtype, "categories")]
    partitions = [frame.get_partition(i) for i in range(frame.npartitions)]
    looks = compute(*[delayed(_look)(part[objects or names[:1]].to_delayed()[0]) for part in partitions])
    types = dict(from_pandas(frame.head(0, npartitions=1)).schema)
    if objects:
        labels = [f"partition {i} of the Dask dataframe" for i in range(len(partitions))]
        types |= unified([schema for _, schema in looks], labels)
    schema = pl.Schema(types)
    runs = [
        DaskPiece(n_rows, n_rows * len(names) * _BYTES_PER_CELL, schema, partition)
        for partition, (n_rows, _) in zip(partitions, looks, strict=True)
        if n_rows
    ]
    return DaskSource(schema, tuple(runs))


def _look(rows: Any) -> tuple[int, pl.Schema]:
    return len(rows), from_pandas(rows).schema


@dataclass(frozen=True, eq=False, repr=False)
class LazySource(Source):
    """The rows of a query.

    An engine need not return rows in the same order twice, so when rows are first read, they are copied to Parquet
    once, in a temporary folder and in bounded memory.

    Attributes
    ----------
    query : polars.LazyFrame, duckdb.DuckDBPyRelation or pyspark.sql.DataFrame
    parent : path or None
        Where to make the folder of the copy.
    """

    query: Any = None
    parent: str | Path | None = None

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        return replace, (self.copy,)  # queries cannot travel

    @cached_property
    def n_rows(self) -> int:
        if _is_polars(self.query):
            return int(self.query.select(pl.len()).collect(engine="streaming").item())
        if nw.dependencies.is_duckdb_relation(self.query):
            return int(self.query.count("*").fetchall()[0][0])
        return int(self.query.count())

    @cached_property
    def copy(self) -> Source:
        """The rows on disk."""
        folder = Folder(self.parent)
        if nw.dependencies.is_duckdb_relation(self.query):
            paths = [_write_relation(self.query, folder)]
        elif _is_polars(self.query):
            blocks = self.query.collect_batches(chunk_size=BLOCK_ROWS, maintain_order=True, engine="streaming")
            paths = write_blocks(blocks, folder.path)
        else:
            paths = write_blocks(_spark_frames(self.query, self.names), folder.path)
        copy = scan_files(paths, self.schema, folder)
        if copy.n_rows != self.n_rows:
            raise ValueError(f"The query had {self.n_rows} rows when it was scanned, now {copy.n_rows}; scan it again.")
        return copy

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return self.copy.pieces

    def part(self, numbers: Sequence[int]) -> Source:
        return self.copy.part(numbers)

    def select(self, names: Sequence[str]) -> Self:
        schema = self._schema_of(names)
        fewer = replace(self, schema=schema, query=_chosen(self.query, list(schema)))
        if "copy" in vars(self):
            vars(fewer)["copy"] = self.copy.select(names)
        return fewer

    def check_unchanged(self) -> None:
        if "copy" in vars(self):
            self.copy.check_unchanged()


def scan_query(query: Any, parent: str | Path | None) -> LazySource:
    """The rows of a polars LazyFrame, a DuckDB relation or a Spark DataFrame.

    Raises
    ------
    ValueError
        If a column has a type that no table holds.
    """
    if _is_polars(query):
        return LazySource(query.collect_schema(), query=query, parent=parent)
    if not nw.dependencies.is_duckdb_relation(query):
        empty = nw.from_native(query).head(0).collect("polars").to_native()
        return LazySource(empty.schema, query=query, parent=parent)
    relation = _readable(query)
    return LazySource(_schema_of_relation(relation), query=relation, parent=parent)


def copy_relation(relation: Any, folder: Folder) -> FileSource:
    """Copy the rows of a DuckDB relation into a folder."""
    readable = _readable(relation)
    schema = _schema_of_relation(readable)
    return scan_files([_write_relation(readable, folder)], schema, folder)


def _schema_of_relation(relation: Any) -> pl.Schema:
    none = relation.limit(0)
    try:
        return none.pl().schema
    except ImportError:  # of pyarrow; without it, DuckDB complains of leaks when Python ends
        return pl.DataFrame(none).schema


def _write_relation(relation: Any, folder: Folder) -> Path:
    path = folder.path / "rows.parquet"
    with writing(folder.path):
        relation.write_parquet(str(path), compression="lz4", row_group_size=BLOCK_ROWS)
    return path


def _chosen(query: Any, names: list[str]) -> Any:
    """Some columns of a query; ``*`` and ``^...$`` are patterns to most functions."""
    if _is_polars(query):
        from polars import selectors

        return query.select(selectors.by_name(*names))
    if nw.dependencies.is_duckdb_relation(query):
        return query.project(", ".join(map(quoted_name, names)))
    return query.select(*["`" + name.replace("`", "``") + "`" for name in names])


def quoted_name(name: str) -> str:
    """Return a name in quotation marks, for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _readable(relation: Any) -> Any:
    """A DuckDB relation with texts for types that only DuckDB has."""
    columns = []
    for name, dtype in zip(relation.columns, map(str, relation.types), strict=True):
        if dtype == "INTERVAL":
            raise ValueError(f"Column {name!r} holds intervals of DuckDB; convert it to a number, such as seconds.")
        is_text = dtype in ("UUID", "BIT")
        columns.append(f"{quoted_name(name)}::VARCHAR AS {quoted_name(name)}" if is_text else quoted_name(name))
    return relation.project(", ".join(columns))


def _spark_frames(frame: Any, names: Sequence[str]) -> Iterator[pl.DataFrame]:
    """The rows of a Spark DataFrame, partition after partition, as Arrow streams: no Python touches them."""

    def packed(batches: Iterator[Any]) -> Iterator[Any]:
        # Within a function it travels with its code: Spark's machines need pyarrow, but not this package.
        import pyarrow

        for batch in batches:
            sink = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            content = pyarrow.array([sink.getvalue().to_pybytes()], pyarrow.binary())
            yield pyarrow.RecordBatch.from_pydict({"batch": content})

    for row in frame.mapInArrow(packed, "batch binary").toLocalIterator():
        rows = pl.read_ipc_stream(bytes(row.batch))
        rows.columns = list(names)  # which are patterns to some of Spark's functions
        yield rows


def _is_polars(native: Any) -> bool:
    return bool(nw.dependencies.is_polars_lazyframe(native))
