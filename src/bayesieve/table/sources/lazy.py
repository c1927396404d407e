"""Queries of other engines: polars, DuckDB, Spark. They count; rows come from a copy on disk."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw

from bayesieve.table.sources.base import (
    BLOCK_ROWS,
    MOST_VALUES,
    Folder,
    Piece,
    Pieces,
    Source,
    digest,
    summed,
    write_blocks,
    writing,
)
from bayesieve.table.sources.column_files import scan_files

if TYPE_CHECKING:
    import polars as pl

_GROUPS_PER_VALUE = 10  # of a first query; further ones follow where there are more


@dataclass(frozen=True, eq=False, repr=False)
class LazySource(Source):
    """The rows of a query.

    Values are counted by group-bys in the query's own engine. An engine need not return rows in the same order twice,
    so when rows are first read, they are copied to Parquet once, in a temporary folder and in bounded memory.

    Attributes
    ----------
    query : narwhals.LazyFrame
        Of polars, DuckDB or Spark, with names that are patterns to none of them.
    columns : mapping from str to str
        The names of the columns in ``query``.
    parent : path or None
        Where to make the folder of the copy.
    """

    query: nw.LazyFrame[Any]
    columns: dict[str, str]
    parent: str | Path | None = None

    def __reduce__(self) -> tuple[Callable[[Any], Any], tuple[Any]]:
        return _itself, (self.copy,)  # queries cannot travel

    @cached_property
    def n_rows(self) -> int:
        return int(collected(self.query.select(nw.len())).item())

    @cached_property
    def copy(self) -> Pieces:
        """The rows on disk."""
        folder = Folder(self.parent)
        chosen = self.query.select(*self.columns.values()).to_native()
        native = chosen if self.query.implementation.is_spark_like() else _renamed(chosen, self.names)
        if _is_polars(native):
            blocks = native.collect_batches(chunk_size=BLOCK_ROWS, maintain_order=True, engine="streaming")
            paths = write_blocks(blocks, folder.path)
        elif self.query.implementation.is_duckdb():
            paths = [folder.path / "rows.parquet"]
            with writing(folder.path):
                native.write_parquet(str(paths[0]), compression="lz4", row_group_size=BLOCK_ROWS)
        else:
            paths = write_blocks(_spark_frames(native, self.names), folder.path)
        copy = scan_files(paths, self.schema, folder)
        if copy.n_rows != self.n_rows:
            raise ValueError(f"The query had {self.n_rows} rows when it was scanned, now {copy.n_rows}; scan it again.")
        return copy

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return self.copy.pieces

    def part(self, numbers: Sequence[int]) -> Pieces:
        return self.copy.part(numbers)

    def select(self, names: Sequence[str]) -> Self:
        schema = self._schema_of(names)
        fewer = replace(self, schema=schema, columns={name: self.columns[name] for name in schema})
        if "copy" in vars(self):
            vars(fewer)["copy"] = self.copy.select(names)
        return fewer

    def counts(self, name: str, by: str, weight: str | None = None, most: int = MOST_VALUES) -> pl.DataFrame | None:
        import polars as pl

        self._counted_columns(name, by, weight)
        columns = [nw.col(self.columns[name]).alias("value"), nw.col(self.columns[by]).alias("class")]
        if weight is not None:
            columns.append(nw.col(self.columns[weight]).cast(nw.Float64).alias("weight"))
        count = nw.len() if weight is None else nw.col("weight").sum()
        groups = self.query.select(*columns).group_by("value", "class").agg(count.alias("count"))
        limit = _GROUPS_PER_VALUE * (most + 1)
        of_count = pl.Int64() if weight is None else pl.Float64()
        types = pl.Schema({"value": self.schema[name], "class": self.schema[by], "count": of_count})
        while True:
            counts = collected(groups.head(limit))
            whole = counts.height < limit
            counts = summed(counts.cast(types))
            if counts["value"].n_unique() > most:
                return None
            if whole:
                return counts.sort("value", "class")
            limit *= _GROUPS_PER_VALUE

    def fingerprint(self) -> bytes:
        return self._content

    @cached_property
    def _content(self) -> bytes:
        """Of the rows themselves: nothing else shows whether a query gives the same ones in another session."""
        rows = hashlib.sha256()
        for block in self.blocks():
            rows.update(block.hash_rows().to_numpy().tobytes())
        return digest(list(self.schema.items()), rows.digest())

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
    native = _readable(query) if nw.dependencies.is_duckdb_relation(query) else query
    schema = native.collect_schema() if _is_polars(native) else collected(nw.from_native(native).head(0)).schema
    columns = {name: f"c{i}" for i, name in enumerate(schema)}
    return LazySource(schema, nw.from_native(_renamed(native, list(columns.values()))), columns, parent)


def collected(query: nw.LazyFrame[Any]) -> pl.DataFrame:
    """The rows of a query in memory."""
    import polars as pl

    native = query.to_native()
    if _is_polars(native):
        return native.collect(engine="streaming")
    if query.implementation.is_duckdb():
        with contextlib.suppress(ImportError):  # of pyarrow
            return native.pl()
        return pl.DataFrame(native)  # which makes DuckDB complain of leaks when Python ends
    return query.collect(backend="polars").to_native()


def _renamed(native: Any, names: Sequence[str]) -> Any:
    """A query with other names for its columns; ``*`` and ``^...$`` are patterns to most functions."""
    if _is_polars(native):
        return native.rename(dict(zip(native.collect_schema(), names, strict=True)))
    if nw.dependencies.is_duckdb_relation(native):
        pairs = zip(native.columns, names, strict=True)
        return native.project(", ".join(f"{_quoted(before)} AS {_quoted(after)}" for before, after in pairs))
    return native.toDF(*names)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _readable(relation: Any) -> Any:
    """A DuckDB relation with texts for types that only DuckDB has."""
    columns = []
    for name, dtype in zip(relation.columns, map(str, relation.types), strict=True):
        if dtype == "INTERVAL":
            raise ValueError(f"Column {name!r} holds intervals of DuckDB; convert it to a number, such as seconds.")
        is_text = dtype in ("UUID", "BIT")
        columns.append(f"{_quoted(name)}::VARCHAR AS {_quoted(name)}" if is_text else _quoted(name))
    return relation.project(", ".join(columns))


def _spark_frames(frame: Any, names: Sequence[str]) -> Iterator[pl.DataFrame]:
    """The rows of a Spark DataFrame, partition after partition, as Arrow streams: no Python touches them."""
    import polars as pl

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


def _itself(source: Any) -> Any:
    return source
