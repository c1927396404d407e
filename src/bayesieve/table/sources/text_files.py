"""CSV and TSV files of any size: read from start to end twice, for their types and for a copy in Parquet."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bayesieve.table.csv_files import (
    SAMPLE_ROWS,
    Text,
    blank_lines,
    cut,
    empty_rows,
    in_folder,
    refuse_short_rows,
)
from bayesieve.table.reading import is_utf8
from bayesieve.table.sources.base import BLOCK_ROWS, Folder, digest, write_blocks
from bayesieve.table.sources.column_files import FileSource, lazy_file, scan_files, with_partitions
from bayesieve.table.sources.files import File, unified
from bayesieve.table.text_types import TextType, decimal_points

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.table.levels import FeatureLevels

_FORMAT = 1  # of copies that are used again


def scan_text(
    paths: Sequence[Path], parent: Path | None, levels: Mapping[str, FeatureLevels] | None = None
) -> FileSource:
    """The rows of text tables, with separators, encodings and types as `read_table` finds them.

    A type is that of all values of its file; integers of one file and numbers of another are numbers.

    Parameters
    ----------
    paths : sequence of Path
    parent : path or None
        A folder for the copies, which are used again for the same files; None for a temporary one.
    levels : mapping from the names of a model's columns to their levels, optional
        Values are text that levels read one by one, as `read_csv_to_score` has it: no types are inferred.

    Raises
    ------
    ValueError
        If a file is not a table or does not fit the others; the message names it and its defect.
    """
    files = [File.at(path) for path in paths]
    name = digest(_FORMAT, [replace(file, path=file.path.resolve()) for file in files]).hex()[:32]
    place = None if parent is None else parent / f"text-{name}"
    folder, home = None, place
    if home is None or not home.is_dir():
        folder = Folder(parent)
        home = folder.path
        _convert(paths, home, parent, levels)
        for file in files:
            file.check_unchanged()
        if place is not None:
            with contextlib.suppress(OSError):  # another process was faster
                home.rename(place)
            home = place if place.is_dir() else home
    copies = [sorted(home.glob(f"{i}/*.parquet")) for i in range(len(paths))]
    inside = lazy_file(copies[0][0]).collect_schema()
    schema, constants = with_partitions(inside, paths)
    runs = [
        replace(run, schema=schema, constants=values, origin=file)
        for names, values, file in zip(copies, constants, files, strict=True)
        for run in scan_files(names, inside, folder).runs
    ]
    return FileSource(schema, tuple(runs), tuple(files))


def _convert(
    paths: Sequence[Path], target: Path, parent: Path | None, levels: Mapping[str, FeatureLevels] | None
) -> None:
    """Write the rows of each text table as Parquet files, at least one, into a folder of its number."""
    import polars as pl

    scratch = Folder(parent)
    kind = _TextTable if levels is None else partial(_TextToScore, levels=levels)
    tables = [kind(path, scratch.path / str(i)) for i, path in enumerate(paths)]
    schema = unified([table.schema for table in tables], paths)
    marked = {name for table in tables for name in table.marked}
    for name, dtype in schema.items():
        if dtype == pl.Null:
            schema[name] = pl.Float64() if name in marked else pl.String()
    for i, table in enumerate(tables):
        folder = target / str(i)
        folder.mkdir()
        write_blocks(table.rows(schema), folder)
        if not any(folder.iterdir()):
            pl.DataFrame(schema=schema).write_parquet(folder / "none.parquet")


class _TextTable:
    """A text table that is read in blocks.

    Parameters
    ----------
    path : Path
    folder : Path
        Where copies may be written.

    Attributes
    ----------
    schema : polars.Schema
        The types of all values; Null for columns without any.
    marked : set of str
        Columns that hold marks of missing numbers only.
    """

    def __init__(self, path: Path, folder: Path, names: Collection[str] = ()) -> None:
        folder.mkdir()
        source = path if is_utf8(path) else in_folder(folder, [path.read_bytes()])
        self._text, _ = cut(path, source, partial(in_folder, folder), self._look_through, names)

    def _look_through(self, text: Text) -> None:
        import polars as pl

        try:
            self._learn_types(text, text.query(infer_schema_length=SAMPLE_ROWS))
        except pl.exceptions.ComputeError:
            self._learn_types(text, text.query(infer_schema=False))

    def _learn_types(self, text: Text, query: pl.LazyFrame) -> None:
        """Types as the query has them; the type of text as all its values suggest."""
        import polars as pl

        self._query, types = query, dict(query.collect_schema())
        decimal_comma = text.separator != ","
        self._types = {name: TextType(decimal_comma=decimal_comma) for name in types if types[name] == pl.String}
        present: set[str] = set()
        for block in self._learn_rows(text):
            present |= {column.name for column in block.get_columns() if column.null_count() < block.height}
            for name, texts in self._types.items():
                texts.add(block[name].alias(""))
        rows = (~self._empty).arg_true()
        self._n_rows = int(rows[-1]) + 1 if len(rows) else 0
        nameless = {name for name, given in zip(text.names, text.header, strict=True) if not given}
        columns = [name for name in types if name in present or name not in nameless or len(types) == 1]
        if not columns:
            raise ValueError(
                f"{text.path} has columns without names and without values; check its header and separator."
            )
        self.marked = {name for name, texts in self._types.items() if texts.has_text and not texts.has_values}
        self.schema = pl.Schema({name: self._type(name, types[name]) for name in columns})

    def _learn_rows(self, text: Text) -> Iterator[pl.DataFrame]:
        """All blocks; then, which rows are empty is known, and that none is short."""
        import polars as pl

        self._empty, n_last = pl.Series([], dtype=pl.Boolean), 0
        for block in self._blocks():
            self._empty.append(empty_rows(block))
            n_last += block[:, -1].null_count()
            yield block
        refuse_short_rows(text, self._empty, n_last)

    def _type(self, name: str, dtype: pl.DataType) -> pl.DataType:
        import polars as pl

        if name not in self._types:
            return dtype
        texts = self._types[name]
        return texts.read(pl.Series(dtype=pl.String)).dtype if texts.has_values else pl.Null()

    def _blocks(self) -> Iterator[pl.DataFrame]:
        batches = self._query.collect_batches(chunk_size=BLOCK_ROWS, maintain_order=True, engine="streaming")
        return (block for block in batches if block.height)

    def _rows(self, left_out: pl.Series) -> Iterator[pl.DataFrame]:
        first = 0
        for block in self._blocks():
            yield block.filter(~left_out[first : first + block.height])
            first += block.height

    def rows(self, schema: pl.Schema) -> Iterator[pl.DataFrame]:
        """The rows in these types, without blank lines; in a single column only the last ones are none."""
        import polars as pl

        is_single = len(self.schema) == 1
        blank = pl.int_range(len(self._empty), eager=True) >= self._n_rows if is_single else self._empty
        return (self._typed(block, schema) for block in self._rows(blank))

    def _typed(self, block: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
        import polars as pl

        columns = []
        for name, dtype in self.schema.items():
            column = block[name].alias("")
            if dtype == pl.Null:
                column = pl.Series([None]).new_from_index(0, block.height)
            elif name in self._types:
                column = self._types[name].read(column)
            columns.append(column.cast(schema[name]).alias(name))
        return pl.DataFrame(columns)


class _TextToScore(_TextTable):
    """A text table whose values are read by the levels of a model; rows of separators only are rows, too."""

    def __init__(self, path: Path, folder: Path, levels: Mapping[str, FeatureLevels]) -> None:
        self._levels = levels
        super().__init__(path, folder, levels)

    def _look_through(self, text: Text) -> None:
        import polars as pl

        self._query, self.marked = text.query(infer_schema=False), set()
        for _ in self._learn_rows(text):
            pass
        blank = blank_lines(text, self._empty)
        self._blank = pl.repeat(False, len(self._empty), dtype=pl.Boolean, eager=True) if blank is None else blank
        self.schema = self._query.collect_schema()

    def rows(self, schema: pl.Schema) -> Iterator[pl.DataFrame]:
        import polars as pl

        for block in self._rows(self._blank):
            columns = [column.alias("") for column in block.get_columns()]
            for i, name in enumerate(block.columns):
                if self._text.separator != "," and name in self._levels and self._levels[name].type == "number":
                    columns[i] = decimal_points(columns[i])
            yield pl.DataFrame([column.alias(name) for column, name in zip(columns, block.columns, strict=True)])
