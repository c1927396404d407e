"""Dataframes in memory, and datasets of pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from bayesieve.table.sources.base import BLOCK_ROWS, Piece, Pieces, digest
from bayesieve.table.sources.column_files import scan_files
from bayesieve.table.sources.copies import Folder, write_blocks

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


def scan_dataset(dataset: Any, parent: Path | None) -> Pieces:
    """The rows of a dataset of pyarrow: its own files where they are Parquet on this machine, else a copy."""
    import polars as pl
    from pyarrow import dataset as of_arrow
    from pyarrow import fs

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
