"""Dataframes in memory, and datasets of pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from bayesieve.table.backends.base import refuse_duplicates
from bayesieve.table.sources.base import BLOCK_ROWS, Piece, Pieces, digest
from bayesieve.table.sources.column_files import scan_files
from bayesieve.table.sources.copies import Folder, write_blocks
from bayesieve.table.values import canonical_text

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False, repr=False)
class FramePiece(Piece):
    """Rows in memory.

    Attributes
    ----------
    rows : polars.DataFrame
    """

    rows: pl.DataFrame

    def read(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        columns = list(self.schema) if names is None else list(names)
        return self.rows[:, [self.rows.get_column_index(name) for name in columns]]


@dataclass(frozen=True, eq=False, repr=False)
class FrameSource(Pieces):
    """The rows of a dataframe in memory."""

    def fingerprint(self) -> bytes:
        rows = [block.hash_rows().to_numpy().tobytes() for block in self.blocks()]
        return digest(list(self.schema.items()), *rows)

    def check_unchanged(self) -> None:
        """Polars never changes the rows of a frame."""


def scan_frame(frame: Any) -> FrameSource:
    """The rows of a dataframe in memory."""
    import polars as pl

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
    return FrameSource(table.schema, tuple(runs))


def from_pandas(frame: Any) -> pl.DataFrame:
    """A dataframe of pandas as one of polars. Categories are texts, as they are where a column is read in memory.

    Raises
    ------
    ValueError
        If a column holds values of several types, or of one that polars does not know; the message names it.
    """
    import polars as pl

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


def scan_dataset(dataset: Any, parent: Path | None) -> Pieces:
    """The rows of a dataset of pyarrow: its own files where they are Parquet on this machine, else a copy."""
    import polars as pl
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
