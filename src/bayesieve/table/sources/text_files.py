"""CSV and TSV files of any size: read from start to end twice, for their types and for a copy in Parquet."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import shutil
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bayesieve.table.csv_files import (
    SAMPLE_BYTES,
    SAMPLE_ROWS,
    blank_lines,
    line_in_utf8,
    look_at,
    numbered,
    refuse_open_quote,
    refuse_ragged,
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
_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 24


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

    _expected: Collection[str] = ()  # names in the header

    def __init__(self, path: Path, folder: Path) -> None:
        import polars as pl

        folder.mkdir()
        self._text = look_at(path, _plain(path, folder), self._expected)
        try:
            self._look_through()
        except pl.exceptions.ComputeError as error:
            if "utf-8" not in str(error):
                refuse_open_quote(self._text)
                refuse_ragged(self._text)
                raise ValueError(f"{path} cannot be cut into columns; check its quotes and separators.") from error
            self._text = look_at(path, _western(Path(str(self._text.source)), folder), self._expected)
            self._look_through()

    def _look_through(self) -> None:
        import polars as pl

        try:
            self._learn_types(SAMPLE_ROWS)
        except pl.exceptions.ComputeError:
            self._learn_types(None)

    def _learn_types(self, sample_rows: int | None) -> None:
        """Types as the first rows suggest, or all as text; the text of a column as all its values suggest."""
        import polars as pl

        query = self._query(sample_rows)
        types = dict(zip(self._names, query.collect_schema().dtypes(), strict=True))
        decimal_comma = self._text.separator != ","
        self._types = {name: TextType(decimal_comma=decimal_comma) for name in types if types[name] == pl.String}
        n_rows = n_present = n_last = 0
        blank = False
        present: set[str] = set()
        for block in self._blocks(query):
            empty = block.select(pl.all_horizontal(pl.all().is_null())).to_series()
            blank = blank or bool(empty.any())
            n_present = n_rows + int((~empty).arg_true()[-1]) + 1 if not empty.all() else n_present
            n_rows += block.height
            n_last += block[:, -1].null_count()
            present |= {column.name for column in block.get_columns() if column.null_count() < block.height}
            for name, texts in self._types.items():
                texts.add(block[name].alias(""))
        if len(types) > 1 and n_last:
            refuse_short_rows(self._text, n_rows, blank)
        nameless = {name for name, given in zip(self._names, self._text.header, strict=True) if not given}
        columns = [name for name in types if name in present or name not in nameless or len(types) == 1]
        if not columns:
            raise ValueError(
                f"{self._text.path} has columns without names and without values; check its header and separator."
            )
        self._sample_rows, self._n_rows = sample_rows, n_present
        self.marked = {name for name, texts in self._types.items() if texts.has_text and not texts.has_values}
        self.schema = pl.Schema({name: self._type(name, types[name]) for name in columns})

    def _type(self, name: str, dtype: pl.DataType) -> pl.DataType:
        import polars as pl

        if name not in self._types:
            return dtype
        texts = self._types[name]
        return texts.read(pl.Series(dtype=pl.String)).dtype if texts.has_values else pl.Null()

    @property
    def _names(self) -> list[str]:
        return numbered(self._text.header)

    def _query(self, sample_rows: int | None) -> pl.LazyFrame:
        import polars as pl

        text = self._text
        read = partial(pl.scan_csv, Path(str(text.source)), separator=text.separator, glob=False)
        query = read(infer_schema=False) if sample_rows is None else read(infer_schema_length=sample_rows)
        if len(query.collect_schema()) != len(text.header):
            refuse_ragged(text)
            raise ValueError(f"{text.path} has a header that does not fit its rows; give every column one name.")
        if len(set(self._names)) < len(self._names):
            raise ValueError(f"{text.path} has a column without a name; give every column its own name.")
        return query

    def _blocks(self, query: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        for block in query.collect_batches(chunk_size=BLOCK_ROWS, maintain_order=True, engine="streaming"):
            if block.height:
                block.columns = self._names
                yield block

    def rows(self, schema: pl.Schema) -> Iterator[pl.DataFrame]:
        """The rows in these types, without blank lines; in a single column only the last ones are none."""
        import polars as pl

        first = 0
        for block in self._blocks(self._query(self._sample_rows)):
            present = ~block.select(pl.all_horizontal(pl.all().is_null())).to_series()
            if len(self.schema) == 1:
                present = pl.Series(range(first, first + block.height)) < self._n_rows
            first += block.height
            yield self._typed(block.filter(present), schema)

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
        self._expected = self._levels = levels
        super().__init__(path, folder)

    def _look_through(self) -> None:
        import polars as pl

        empty = pl.Series([], dtype=pl.Boolean)
        n_last = 0
        for block in self._blocks(self._query(None)):
            empty.append(block.select(pl.all_horizontal(pl.all().is_null())).to_series())
            n_last += block[:, -1].null_count()
        if len(self._names) > 1 and n_last:
            refuse_short_rows(self._text, len(empty), bool(empty.any()))
        self._blank = blank_lines(self._text, empty, len(self._names))
        self.marked = set()
        self.schema = pl.Schema(dict.fromkeys(self._names, pl.String()))

    def rows(self, schema: pl.Schema) -> Iterator[pl.DataFrame]:
        import polars as pl

        first = 0
        points = self._text.separator != ","
        for block in self._blocks(self._query(None)):
            last = first + block.height
            present = block if self._blank is None else block.filter(~self._blank[first:last])
            columns = [column.alias("") for column in present.get_columns()]
            for i, name in enumerate(self._names):
                if points and name in self._levels and self._levels[name].type == "number":
                    columns[i] = decimal_points(columns[i])
            yield pl.DataFrame([column.alias(name) for column, name in zip(columns, self._names, strict=True)])
            first = last


def _plain(path: Path, folder: Path) -> Path:
    """The file itself if it may be UTF-8, or a copy that is."""
    with path.open("rb") as file:
        sample = file.read(SAMPLE_BYTES)
    source = path
    if path.suffix.lower() == ".gz" or sample.startswith(_GZIP):
        if not sample.startswith(_GZIP):
            raise ValueError(f"{path} is not a gzip file, though its name says so; rename it or compress it again.")
        source = _unpacked(path, folder)
        with source.open("rb") as file:
            sample = file.read(SAMPLE_BYTES)
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        source = _rewritten(source, folder, lambda chunk: decoder.decode(chunk, not chunk).encode())
        with source.open("rb") as file:
            sample = file.read(SAMPLE_BYTES)
    if b"\r" in sample and b"\n" not in sample and not any(b"\n" in chunk for chunk in _chunks(source)):
        source = _rewritten(source, folder, lambda chunk: chunk.replace(b"\r", b"\n"))
    with contextlib.suppress(UnicodeDecodeError):
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # the last character of the sample may be cut
        return source if is_utf8(source) else _rewritten(source, folder, bytes)
    return source if b"\0" in sample else _western(source, folder)


def _unpacked(path: Path, folder: Path) -> Path:
    unpacked = folder / "unpacked"
    try:
        with gzip.open(path) as packed, unpacked.open("wb") as file:
            shutil.copyfileobj(packed, file, _CHUNK)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is a damaged gzip file; compress it again.") from error
    return unpacked


def _western(source: Path, folder: Path) -> Path:
    """Lines that are not UTF-8 in it, as in tables that are read at once."""
    target = folder / "western"
    with source.open("rb") as lines, target.open("wb") as file:
        file.writelines(line if line.isascii() else line_in_utf8(line) for line in lines)
    return target


def _chunks(source: Path) -> Iterator[bytes]:
    with source.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _rewritten(source: Path, folder: Path, change: Callable[[bytes], bytes]) -> Path:
    target = folder / f"{len(list(folder.iterdir()))}.text"
    with target.open("wb") as file:
        for chunk in _chunks(source):
            file.write(change(chunk))
        file.write(change(b""))
    return target
