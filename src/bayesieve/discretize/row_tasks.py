"""Tasks of passes over a scan: each reads a chunk of rows and counts or codes its values, in this process or a
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
counts of fractional weights are added in the order of the blocks, so that all of these give the same bits.
"""


def block_slices(n_rows: int) -> list[slice]:
    """Cut ``n_rows`` rows into slices of `BLOCK_ROWS` rows."""
    return [slice(begin, min(begin + BLOCK_ROWS, n_rows)) for begin in range(0, n_rows, BLOCK_ROWS)]


@dataclass(frozen=True)
class RowChunk:
    """Consecutive rows of a scan that one task reads.

    Attributes
    ----------
    first : number of the first row in the scan.
    files : location of the rows in the files.
    known_rows : classes and weights of the rows; None if the task reads them from the files.
    chosen : mask of the rows to use (`numpy.packbits`), if the task reads the classes; None for all rows with a known
        target.
    """

    first: int
    files: tuple[FileRows, ...]
    known_rows: KnownRows | None = None
    chosen: np.ndarray | None = None


@dataclass(frozen=True)
class Reading:
    """Columns that tasks read, with their types and the reader of classes and weights.

    Attributes
    ----------
    schema : names and types of the columns.
    kinds : kinds of columns, by name, that do not follow from their type.
    n_classes : number of classes.
    labels : reader of classes and weights for chunks without them.
    n_jobs : threads of a task.
    """

    schema: Mapping[str, pl.DataType]
    kinds: Mapping[str, Any]
    n_classes: int
    labels: LabelReader | None = None
    n_jobs: int | None = 1

    def rows(self, chunk: RowChunk) -> tuple[Table, BlockRows, pl.DataFrame]:
        """Read the rows of a chunk whose target is known.

        Return a tuple: their columns as a table, their classes and weights, and the same rows as a dataframe.
        """
        import polars as pl

        if chunk.known_rows is not None:
            frame, known_rows = read_rows(chunk.files, self.schema), chunk.known_rows
        else:
            assert self.labels is not None
            _check_visible(chunk.files)
            frame = read_rows(chunk.files, {**self.schema, **self.labels.schema})
            known_rows = self.labels.read(frame)
            if chunk.chosen is not None:
                known_rows = known_rows.restricted_to(np.unpackbits(chunk.chosen, count=frame.height).astype(bool))
        frame = frame[list(self.schema)]
        frame = frame if known_rows.mask is None else frame.filter(pl.Series(known_rows.mask))
        table = table_of_frame(frame, self.kinds, partial(_row_in_scan, chunk.first, known_rows.mask))
        return table, BlockRows(known_rows.classes, self.n_classes, known_rows.weights), frame


def _row_in_scan(first: int, mask: np.ndarray | None, row: int) -> int:
    """Return the number in the scan of the ``row``-th used row of a chunk that begins at row ``first``; ``mask`` marks
    the used rows of the chunk, None for all.
    """
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
                f"A worker of the executor cannot read {file.path} ({reason}); put the files in a folder that every "
                "worker can read under this path, and set scan(..., folder=FOLDER) to such a folder, too."
            )


@dataclass(frozen=True)
class CountTask:
    """Task of counting the values of columns in a chunk of rows, and of hashing the rows.

    Attributes
    ----------
    chunk, reading : rows and columns to read.
    count, options : function ``count(column, rows, option)`` that counts the values of a column, and the option of each
        column.
    hashes : whether to hash the rows.
    """

    chunk: RowChunk
    reading: Reading
    count: Callable[..., Any]
    options: Sequence[Any]
    hashes: bool


def count_rows(task: CountTask) -> tuple[list[Any], np.ndarray | None]:
    """Run a `CountTask`. Return the counts of each column, and the hashes of the rows, shape (n_rows,), or None if they
    are not requested.
    """
    table, rows, _ = task.reading.rows(task.chunk)
    n_jobs = task.reading.n_jobs

    def count(at: int) -> Any:
        """Return the counts of the values of the column at position ``at``."""
        return task.count(table.column(at), rows, task.options[at])

    counts = map_in_threads(count, range(len(task.options)), n_jobs)
    return counts, hash_rows(table, n_jobs) if task.hashes else None


@dataclass(frozen=True)
class CodeTask:
    """Task of coding columns in a chunk of rows.

    Attributes
    ----------
    chunk, reading : rows and columns to read.
    levels : levels of each column.
    sample : ascending positions of rows in the chunk whose values are returned as well; None for no rows.
    """

    chunk: RowChunk
    reading: Reading
    levels: Sequence[FeatureLevels]
    sample: np.ndarray | None


def code_rows(task: CodeTask) -> tuple[list[np.ndarray], pl.DataFrame | None]:
    """Run a `CodeTask`. Return the codes of each column, integer arrays (n_rows,) of one, two or four bytes per row,
    and the sampled rows as a dataframe; None if no sample is requested.
    """
    table, _, rows = task.reading.rows(task.chunk)
    codes = map_in_threads(
        lambda at: task.levels[at].code(table.column(at)), range(table.n_columns), task.reading.n_jobs
    )
    return codes, None if task.sample is None else _without_other_texts(rows[task.sample])


def _without_other_texts(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a deep copy of a selection of rows; without it, polars would keep the texts of the whole frame in
    memory.
    """
    import polars as pl

    copied: pl.DataFrame = pickle.loads(pickle.dumps(rows)) if pl.String in rows.dtypes else rows
    return copied
