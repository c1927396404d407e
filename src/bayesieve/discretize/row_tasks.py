"""Tasks of passes over a scan: each reads the rows of a chunk and counts or codes their values, locally or in a
worker.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.counts.row_hashes import hash_rows
from bayesieve.discretize.value_sums import BlockRows
from bayesieve.engine import map_in_threads
from bayesieve.table import Table
from bayesieve.table.levels import FeatureLevels
from bayesieve.table.row_labels import KnownRows, LabelReader
from bayesieve.table.scanned import table_of_frame
from bayesieve.table.scans import FileRows, read_rows

if TYPE_CHECKING:
    import polars as pl

BLOCK_ROWS = 1 << 18
"""Rows of a block, counted from the first row whose target is known, whatever the files, the memory and the executor:
counts of fractional weights are added in the order of the blocks, so that all of these give the same bits."""


def block_slices(n_rows: int) -> list[slice]:
    """Return the slices of `BLOCK_ROWS` rows into which ``n_rows`` rows are cut."""
    return [slice(begin, min(begin + BLOCK_ROWS, n_rows)) for begin in range(0, n_rows, BLOCK_ROWS)]


@dataclass(frozen=True)
class RowChunk:
    """Rows of a scan that one task reads.

    Attributes
    ----------
    first : number of the first row in the scan.
    files : the rows in the files.
    known : classes and weights of the rows, if they are at hand; None if the task reads them.
    chosen : bits (`numpy.packbits`) of the rows that count, if the task reads the classes; None: all rows whose target
        is known.
    """

    first: int
    files: tuple[FileRows, ...]
    known: KnownRows | None = None
    chosen: np.ndarray | None = None


@dataclass(frozen=True)
class Reading:
    """Columns that tasks read, and how they are read.

    Attributes
    ----------
    schema : names and types of the columns.
    kinds : kinds of columns that do not follow from their type.
    n_classes : number of classes.
    labels : reads the classes and weights of chunks that do not have them.
    n_jobs : threads of a task.
    """

    schema: Mapping[str, pl.DataType]
    kinds: Mapping[str, Any]
    n_classes: int
    labels: LabelReader | None = None
    n_jobs: int | None = 1

    def rows(self, chunk: RowChunk) -> tuple[Table, BlockRows, pl.DataFrame]:
        """Read the rows of a chunk whose target is known.

        Returns their columns as a table, their classes and weights, and the rows as a dataframe.
        """
        import polars as pl

        if chunk.known is not None:
            frame, known = read_rows(chunk.files, self.schema), chunk.known
        else:
            assert self.labels is not None
            _check_visible(chunk.files)
            frame = read_rows(chunk.files, {**self.schema, **self.labels.schema})
            known = self.labels.read(frame)
            if chunk.chosen is not None:
                known = known.restricted_to(np.unpackbits(chunk.chosen, count=frame.height).astype(bool))
        frame = frame[list(self.schema)]
        frame = frame if known.mask is None else frame.filter(pl.Series(known.mask))
        table = table_of_frame(frame, self.kinds, partial(_row_in_scan, chunk.first, known.mask))
        return table, BlockRows(known.classes, self.n_classes, known.weights), frame


def _row_in_scan(first: int, mask: np.ndarray | None, row: int) -> int:
    """Return the number in the scan of a row of a chunk; ``mask`` marks the rows of the chunk that count."""
    return first + (row if mask is None else int(np.flatnonzero(mask)[row]))


def _check_visible(files: Sequence[FileRows]) -> None:
    """Raise ValueError, naming the file, if a worker cannot see the files of the caller."""
    for file in {rows.file.path: rows.file for rows in files}.values():
        try:
            size = os.stat(file.path).st_size
        except OSError as error:
            size, reason = -1, str(error.strerror)
        else:
            reason = f"{size:,} bytes there, {file.size:,} for the caller"
        if size != file.size:
            raise ValueError(
                f"A worker of the executor cannot read {file.path} ({reason}); put the files where all workers find "
                "them under this path, and copies there by scan(..., folder=FOLDER)."
            )


@dataclass(frozen=True)
class CountTask:
    """Task of counting the values of columns of a chunk, and of hashing its rows.

    Attributes
    ----------
    count, options : ``count(column, rows, option)`` counts the values of a column.
    hashes : whether to hash the rows.
    """

    chunk: RowChunk
    reading: Reading
    count: Callable[..., Any]
    options: Sequence[Any]
    hashes: bool


def count_rows(task: CountTask) -> tuple[list[Any], np.ndarray | None]:
    """Run a `CountTask`; return the counts of each column, and the hashes of the rows or None."""
    table, rows, _ = task.reading.rows(task.chunk)
    n_jobs = task.reading.n_jobs

    def count(at: int) -> Any:
        return task.count(table.column(at), rows, task.options[at])

    counts = map_in_threads(count, range(len(task.options)), n_jobs)
    return counts, hash_rows(table, n_jobs) if task.hashes else None


@dataclass(frozen=True)
class CodeTask:
    """Task of coding columns of a chunk.

    Attributes
    ----------
    levels : levels of each column.
    sample : ascending positions of the rows whose values are returned as well; None for none.
    """

    chunk: RowChunk
    reading: Reading
    levels: Sequence[FeatureLevels]
    sample: np.ndarray | None


def code_rows(task: CodeTask) -> tuple[list[np.ndarray], pl.DataFrame | None]:
    """Run a `CodeTask`; return the codes of each column, one, two or four bytes per row, and the sampled rows as a
    dataframe.
    """
    table, _, rows = task.reading.rows(task.chunk)
    codes = map_in_threads(
        lambda at: task.levels[at].code(table.column(at)), range(table.n_columns), task.reading.n_jobs
    )
    return codes, None if task.sample is None else _without_other_texts(rows[task.sample])


def _without_other_texts(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a deep copy of some rows: polars would otherwise keep the texts of the whole frame in memory."""
    import polars as pl

    copied: pl.DataFrame = pickle.loads(pickle.dumps(rows)) if pl.String in rows.dtypes else rows
    return copied
