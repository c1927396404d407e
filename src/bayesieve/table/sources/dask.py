"""Dask dataframes: partitions are pieces, and Dask counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayesieve.table.sources.base import BLOCK_ROWS, MOST_VALUES, Piece, Pieces, added, counted, cut, digest, without
from bayesieve.table.sources.frames import from_pandas
from bayesieve.table.sources.schemas import unified

if TYPE_CHECKING:
    import polars as pl

_BYTES_PER_CELL = 8


@dataclass(frozen=True, eq=False, repr=False)
class DaskPiece(Piece):
    """A partition of a Dask dataframe.

    Attributes
    ----------
    partition : dask.dataframe.DataFrame
        With one partition.
    """

    partition: Any

    def read(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        columns = list(self.schema) if names is None else list(names)
        frame = _typed(self.partition[columns].compute(), self.schema)
        if frame.height != self.n_rows:
            raise ValueError(
                f"A partition of the Dask dataframe had {self.n_rows} rows when it was scanned and has {frame.height} "
                "now; scan it again, or persist it first."
            )
        return frame


@dataclass(frozen=True, eq=False, repr=False)
class DaskSource(Pieces):
    """The rows of a Dask dataframe.

    Partitions are computed at each reading, and must have the same rows in the same order; persist a dataframe for
    which that does not hold, such as one after a shuffle.
    """

    runs: tuple[DaskPiece, ...]

    def blocks(
        self,
        names: Sequence[str] | None = None,
        block_rows: int = BLOCK_ROWS,
        first_row: int = 0,
        cells_ahead: int | None = None,
    ) -> Iterator[pl.DataFrame]:
        columns = list(self.names) if names is None else self._checked(names)
        pieces, rest = self._pieces_from(first_row)
        # Without a thread, in which a task on a worker would wait for itself; Dask computes in threads of its own.
        return cut(without(rest, (piece.read(columns) for piece in pieces)), block_rows)

    def counts(self, name: str, by: str, weight: str | None = None, most: int = MOST_VALUES) -> pl.DataFrame | None:
        from dask.delayed import delayed

        columns = self._counted_columns(name, by, weight)
        count, add = delayed(_counted), delayed(added)
        chosen = list(dict.fromkeys(columns))
        sums = [count(run.partition[chosen].to_delayed()[0], self.schema, columns, most) for run in self.runs]
        while len(sums) > 1:
            pairs = [add(one, other, most) for one, other in zip(sums[::2], sums[1::2], strict=False)]
            sums = pairs + sums[len(pairs) * 2 :]
        total = sums[0].compute()
        return None if total is None else total.sort("value", "class")

    def fingerprint(self) -> bytes:
        from dask.base import tokenize

        parts = [(tokenize(run.partition), run.n_rows) for run in self.runs]
        return digest(list(self.schema.items()), parts)

    def check_unchanged(self) -> None:
        """Nothing to compare: each piece checks its rows when it is read."""


def scan_dask(frame: Any) -> DaskSource:
    """The rows of a Dask dataframe; one pass counts the rows of its partitions."""
    import polars as pl
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
    sizes = [n_rows for n_rows, _ in looks]
    runs = [
        DaskPiece(n_rows, n_rows * len(names) * _BYTES_PER_CELL, schema, partition)
        for partition, n_rows in zip(partitions, sizes, strict=True)
        if n_rows
    ]
    return DaskSource(schema, tuple(runs))


def _look(rows: Any) -> tuple[int, pl.Schema]:
    return len(rows), from_pandas(rows).schema


def _counted(rows: Any, schema: pl.Schema, columns: list[str], most: int) -> pl.DataFrame | None:
    return added(None, counted(_typed(rows, schema), *columns), most)


def _typed(rows: Any, schema: pl.Schema) -> pl.DataFrame:
    """A frame of pandas with the types of the source."""
    import polars as pl

    frame = from_pandas(rows)
    return pl.DataFrame([column.cast(schema[column.name]) for column in frame.get_columns()])
