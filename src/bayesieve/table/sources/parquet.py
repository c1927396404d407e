"""Parquet files: row groups are pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesieve.table.sources.base import BLOCK_ROWS, Piece, Source, digest
from bayesieve.table.sources.files import File, partitions
from bayesieve.table.sources.footer import RowGroup, row_groups
from bayesieve.table.sources.schemas import unified

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class ParquetPiece(Piece):
    """Consecutive row groups of a Parquet file.

    Attributes
    ----------
    file : File
    first_row : int
    groups : tuple of RowGroup
    first_group : int
        The number of the first row group in its file.
    constants : mapping from str to object
        The values of the columns that the names of the folders give.
    """

    file: File
    first_row: int
    groups: tuple[RowGroup, ...]
    first_group: int
    constants: dict[str, Any]

    def read(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        import polars as pl

        columns = list(self.schema) if names is None else list(names)
        self.file.check_unchanged()
        inside = [name for name in columns if name not in self.constants]
        try:
            frame = self._rows(inside, self.first_row, self.n_rows)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise ValueError(self._defect(inside)) from error
        if frame.height != self.n_rows and inside:
            raise ValueError(f"{self.file.path} holds fewer rows than its footer says; write it again.")
        series = {
            name: pl.repeat(self.constants[name], self.n_rows, dtype=self.schema[name], eager=True)
            for name in columns
            if name in self.constants
        }
        series |= {name: frame[name].cast(self.schema[name]) for name in inside}
        return pl.DataFrame([series[name].alias(name) for name in columns])

    def _rows(self, names: list[str], first: int, n_rows: int) -> pl.DataFrame:
        import polars as pl
        from polars import selectors

        if not names:
            return pl.DataFrame()
        lazy = pl.scan_parquet(self.file.path, glob=False, hive_partitioning=False, use_statistics=False)
        return lazy.slice(first, n_rows).select(selectors.by_name(*names)).collect()

    def _defect(self, names: list[str]) -> str:
        """Which row group cannot be read."""
        import polars as pl

        first = self.first_row
        for number, group in enumerate(self.groups, start=self.first_group + 1):
            try:
                self._rows(names, first, group.n_rows)
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
                return f"Row group {number} of {self.file.path} is damaged; write the file again, or leave it out."
            first += group.n_rows
        return f"{self.file.path} cannot be read; write the file again, or leave it out."


@dataclass(frozen=True, eq=False)
class ParquetSource(Source):
    """The rows of Parquet files, one file after the other.

    Attributes
    ----------
    files : tuple of File
    """

    files: tuple[File, ...]

    def fingerprint(self) -> bytes:
        return digest(self.files, list(self.schema.items()), [piece.n_rows for piece in self.pieces])

    def check_unchanged(self) -> None:
        for file in self.files:
            file.check_unchanged()


def scan_parquet(paths: Sequence[Path]) -> ParquetSource:
    """The rows of Parquet files. ValueError, naming the file, for one that is damaged or does not fit the others."""
    import polars as pl

    files = [File.at(path) for path in paths]
    looks = [_look_at(path) for path in paths]
    folders = partitions(paths)
    inside = unified([schema for schema, _ in looks], paths)
    folders = folders.drop([name for name in folders.columns if name in inside])
    schema = pl.Schema({**inside, **folders.schema})
    pieces: list[Piece] = []
    for i, (file, (_, groups)) in enumerate(zip(files, looks, strict=True)):
        constants = folders.row(i, named=True) if folders.width else {}
        row = number = 0
        for run in _runs(groups):
            n_rows, n_bytes = sum(group.n_rows for group in run), sum(group.n_bytes for group in run)
            if n_rows:
                pieces.append(ParquetPiece(n_rows, n_bytes, schema, file, row, tuple(run), number, constants))
            row += n_rows
            number += len(run)
    return ParquetSource(schema, tuple(pieces), tuple(files))


def _runs(groups: Sequence[RowGroup]) -> list[list[RowGroup]]:
    """Consecutive row groups of one piece's rows together."""
    runs: list[list[RowGroup]] = []
    n_rows = 0
    for group in groups:
        if not runs or n_rows + group.n_rows > BLOCK_ROWS:
            runs.append([])
            n_rows = 0
        runs[-1].append(group)
        n_rows += group.n_rows
    return runs


def _look_at(path: Path) -> tuple[pl.Schema, list[RowGroup]]:
    import polars as pl

    try:
        if path.stat().st_size == 0:
            raise ValueError(f"{path} is empty; a table needs columns and at least one row.")
        groups = row_groups(path)
        return pl.Schema(pl.scan_parquet(path, glob=False, hive_partitioning=False).collect_schema()), groups
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror or error}); check the file and its rights."
        ) from error
    except EOFError as error:
        raise ValueError(f"{path} is not a Parquet file, or was not written to its end; write it again.") from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"{path} cannot be read as a Parquet file; it is damaged. Write it again.") from error
