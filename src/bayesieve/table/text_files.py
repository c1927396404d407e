"""Reading of text tables (CSV and the like): separator, encoding, column types, and rows in blocks."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl

from bayesieve.table.levels import FeatureLevels
from bayesieve.table.parquet_files import unified
from bayesieve.table.paths import is_utf8
from bayesieve.table.text_types import ScoredText, TextType
from bayesieve.table.to_parquet import batches_of

DECODED = ".text"
"""Ending of the names of files that hold decoded text."""
Keep = Callable[[Iterable[bytes]], Path | bytes]
_SEPARATOR_HINT = re.compile(r"\"?(sep=[^\w\s]|sep=\t)\"?\r?\n")
_SEPARATORS = (",", ";", "\t", "|")
SAMPLE_BYTES = 1 << 18
_SAMPLE_LINES = 100
SAMPLE_ROWS = 1000
_CHUNK = 1 << 24
_GZIP = b"\x1f\x8b"
_LONGEST_HEADER = 1 << 28  # longest header in bytes, and longest field in characters
_BINARY_STARTS = {
    b"PAR1": "a Parquet file; name it .parquet",
    b"ARROW1": "an Arrow file; name it .arrow",
    b"PK\x03\x04": "a zip archive or a spreadsheet; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; save the table as CSV",
}


def read_csv(
    path: Path,
    source: Path | bytes,
    levels: Mapping[str, FeatureLevels] | None = None,
    date_orders: dict[str, bool] | None = None,
) -> pl.DataFrame:
    """Read a text table. Raise ValueError, naming the file and its defect, if it is invalid.

    Types are inferred from all rows, unless there are ``levels``. Then columns of numbers are floats if all values are
    readable, and all other columns are text, which `FeatureLevels.code` reads value by value. Blank lines are skipped,
    but with ``levels`` lines of separators only are rows, and so are blank lines in a table of one column.

    Parameters
    ----------
    path : Path
        Name of the file in error messages.
    source : Path or bytes
        The file, or its content.
    levels : mapping from str to FeatureLevels, optional
        Levels of the columns of a fitted model by name, for rows to be scored.
    date_orders : dict, optional
        Receives, for columns of dates that prove an order of day and month, whether the day comes first.
    """
    table = TextTable(path, source, None, levels)
    if date_orders is not None:
        date_orders |= table.date_orders
    return table.frame()


def read_header(path: Path) -> list[str]:
    """Return the column names of a text table; columns without a name are numbered."""
    return open_text(path, path, in_memory).names


def line_of(path: Path, column: str, is_it: Callable[[str], bool], labelled: str | None = None) -> int | None:
    """Return the line number, from 1, of the first row whose value in ``column`` satisfies the function ``is_it``.

    Rows without a value in the column ``labelled`` (the target) are skipped. Return None if no value satisfies it.
    """
    text = open_text(path, path, in_memory)
    if column not in text.names:
        return None
    at, label = text.names.index(column), text.names.index(labelled) if labelled in text.names else None
    with contextlib.suppress(csv.Error):
        rows = text.rows()
        next(rows, None)  # the header
        for line, row in rows:
            if len(row) > at and is_it(row[at].strip()) and (label is None or row[label].strip()):
                return line
    return None


def text_blocks(
    paths: Sequence[Path], folder: Path, levels: Mapping[str, FeatureLevels] | None = None
) -> tuple[pl.Schema, list[Iterator[pl.DataFrame]], dict[str, bool]]:
    """Open text tables for reading in blocks.

    Separators, encodings and types are inferred as in `read_table`. The type of a column fits all its values; integers
    in one file and other numbers in another are numbers.

    Parameters
    ----------
    paths : sequence of Path
    folder : Path
        Folder for copies of texts that are not in UTF-8.
    levels : mapping from the names of a model's columns to their levels, optional
        If given, no types are inferred, as in `read_csv`: the levels read texts value by value.

    Returns
    -------
    schema : names and types of the columns, common to all tables.
    blocks : for each table, an iterator over its rows in blocks.
    date_orders : for columns of dates whose texts prove one order of day and month, whether the day comes first.

    Raises
    ------
    ValueError
        If a file is not a table or does not fit the others; the message names it and its defect.
    """
    tables = []
    for path in paths:
        source = path if is_utf8(path) else in_folder(folder, [path.read_bytes()])
        tables.append(TextTable(path, source, folder, levels))
    schema = unified([table.schema for table in tables], paths)
    marked = {name for table in tables for name in table.marked}
    for name, dtype in schema.items():
        if dtype == pl.Null:
            schema[name] = pl.Float64() if name in marked else pl.String()
    return schema, [table.blocks(schema) for table in tables], common_orders([table.date_orders for table in tables])


def common_orders(orders: Sequence[Mapping[str, bool]]) -> dict[str, bool]:
    """Merge the orders of day and month of several tables; columns for which tables prove both orders are omitted.

    An order maps columns of dates to whether the day comes first.
    """
    proofs: dict[str, set[bool]] = {}
    for of_table in orders:
        for name, day_first in of_table.items():
            proofs.setdefault(name, set()).add(day_first)
    return {name: proved.pop() for name, proved in proofs.items() if len(proved) == 1}


class TextTable:
    """Text table that is read at once or in blocks, and the types of its columns, inferred from all values.

    Parameters
    ----------
    path : name of the file in error messages
    source : the file, or its content
    folder : Path or None
        Where copies may be written; None to hold all rows in memory.
    levels : mapping from the names of a model's columns to their levels, optional

    Attributes
    ----------
    schema : polars.Schema
        Types that fit all values of each column; Null for columns without values.
    marked : set of str
        Columns whose only values are marks of missing numbers, such as NA.
    date_orders : dict from str to bool
        For columns of dates that prove an order of day and month, whether the day comes first; empty with ``levels``.
    """

    def __init__(
        self, path: Path, source: Path | bytes, folder: Path | None, levels: Mapping[str, FeatureLevels] | None = None
    ) -> None:
        self._levels, self._is_whole = levels, folder is None
        keep = in_memory if folder is None else partial(in_folder, folder)
        self._text = open_text(path, source, keep, levels or ())
        try:
            self._learn()
        except pl.exceptions.ComputeError as error:
            if "utf-8" not in str(error):
                refuse_open_quote(self._text)
                refuse_ragged(self._text)
                raise ValueError(f"{path} cannot be split into columns; check its quotes and separators.") from error
            # The first rows were valid UTF-8, but a later one is not: read the whole file in the Western encoding.
            self._text = look_at(path, keep(_western(self._text.source)), levels or ())
            self._learn()

    def _learn(self) -> None:
        """Infer column types from the first rows; if a later row does not fit, read all columns as text and infer types
        from that.

        Inference by polars from all rows, dates included, would take a hundred times as long as reading them.
        """
        text = self._text
        levels = (self._levels or {}) if self._is_whole else {}
        numbers = {name for name, level in levels.items() if (level.kind, level.type) == ("numeric", "number")}
        as_text = () if self._levels is None else [name for name in text.names if name not in numbers]
        try:
            self._learn_types(text.query(as_text, infer_schema_length=SAMPLE_ROWS), numbers)
        except pl.exceptions.ComputeError:
            self._learn_types(text.query(infer_schema=False), numbers)

    def _learn_types(self, query: pl.LazyFrame, numbers: Collection[str]) -> None:
        """Set the column types to those of ``query`` or, for text columns, to types inferred from all their values.

        ``numbers`` are the names of the columns that a model reads as numbers.
        """
        self._query, types = query, dict(query.collect_schema())
        self._texts = {name: self._text_type(name, numbers) for name in types if types[name] == pl.String}
        self._empty = pl.Series([], dtype=pl.Boolean)
        present: set[str] = set()
        n_last = 0
        for block in self._blocks():
            self._empty.append(empty_rows(block))
            n_last += block[:, -1].null_count()
            present |= {column.name for column in block.get_columns() if column.null_count() < block.height}
            learns = self._is_whole or self._levels is None  # or else only `blocks` reads the values, except dates
            typed = {
                name: texts.add(block[name].alias(""))
                for name, texts in self._texts.items()
                if learns or (isinstance(texts, ScoredText) and texts.as_dates)
            }
            if self._is_whole:
                self._whole = pl.DataFrame([typed.get(name, block[name]).alias(name) for name in types])
        self._blank = blank_lines(self._text, self._empty, n_last)
        nameless = {name for name, given in zip(self._text.names, self._text.header, strict=True) if not given}
        if self._levels is not None or len(types) == 1:
            nameless = set()
        columns = [name for name in types if name in present or name not in nameless]
        if not columns:
            raise ValueError(
                f"{self._text.path} has columns without names and without values; check its header and separator."
            )
        types |= {name: texts.dtype for name, texts in self._texts.items()}
        self.schema = pl.Schema({name: types[name] for name in columns})
        self.marked = {name for name, texts in self._texts.items() if texts.has_text and not texts.has_values}
        orders = {name: texts.day_first for name, texts in self._texts.items() if isinstance(texts, TextType)}
        self.date_orders = {name: day_first for name, day_first in orders.items() if day_first is not None}

    def _text_type(self, name: str, numbers: Collection[str]) -> TextType | ScoredText:
        """Return an object that infers the type of the text column ``name`` or, for rows to be scored, reads it for its
        levels.

        ``numbers`` are the names of the columns that a model reads as numbers.
        """
        decimal_comma = self._text.separator != ","
        if self._levels is None:
            return TextType(decimal_comma=decimal_comma)
        level = self._levels.get(name)
        type_ = "text" if level is None else level.type
        return ScoredText(
            decimal_comma=decimal_comma and type_ == "number",
            as_numbers=name in numbers,
            as_dates=type_ in ("date", "datetime") and (level is None or level.day_first is None),
        )

    def _blocks(self) -> Iterator[pl.DataFrame]:
        """Yield the rows in blocks, as the query reads them; a single block if the table is held in memory."""
        if self._is_whole:
            return iter([self._query.collect()])
        return batches_of(self._query)

    def _blank_lines(self) -> pl.Series:
        """Return a mask (n_rows,) of the rows that are blank lines, which polars reads as rows of missing values.

        In a table of a single column, a blank line is a missing value unless no other row follows.
        """
        if self._levels is not None:
            return self._blank
        if len(self.schema) > 1:
            return self._empty
        rows = (~self._empty).arg_true()
        return pl.int_range(len(self._empty), eager=True) >= (int(rows[-1]) + 1 if len(rows) else 0)

    def frame(self) -> pl.DataFrame:
        """Return all rows as a dataframe."""
        frame, blank = self._whole[:, list(self.schema)], self._blank_lines()
        return frame.filter(~blank) if blank.any() else frame

    def blocks(self, schema: pl.Schema) -> Iterator[pl.DataFrame]:
        """Yield the rows in blocks, with the types of ``schema``, without blank lines."""
        blank, first = self._blank_lines(), 0
        for block in self._blocks():
            rows = block.filter(~blank[first : first + block.height])
            first += block.height
            columns = [self._typed(rows[name].alias(""), name, schema[name]) for name in self.schema]
            yield pl.DataFrame([column.alias(name) for name, column in zip(self.schema, columns, strict=True)])

    def _typed(self, column: pl.Series, name: str, dtype: pl.DataType) -> pl.Series:
        """Return ``column``, a block of values of the column ``name``, as the type ``dtype``."""
        if self.schema[name] == pl.Null:
            return pl.repeat(None, len(column), dtype=dtype, eager=True)
        return (self._texts[name].read(column) if name in self._texts else column).cast(dtype)


@dataclass(frozen=True)
class Text:
    """Text table in UTF-8.

    Attributes
    ----------
    path : name of the file in error messages.
    source : the file that is read, or its content in memory.
    separator : character between fields.
    header : names of the columns; "" for a column without a name.
    """

    path: Path
    source: Path | bytes
    separator: str
    header: list[str]

    @property
    def names(self) -> list[str]:
        """Column names; columns without a name are numbered."""
        return [name or f"column_{i + 1}" for i, name in enumerate(self.header)]

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of the first line (from 1) and the fields of each row.

        It is slow and used only to locate errors.
        """
        n_read = 0

        def counted(lines: Iterable[str]) -> Iterator[str]:
            """Yield ``lines`` unchanged, and store how many of them were read."""
            nonlocal n_read
            for n_read, line in enumerate(lines, 1):  # noqa: B007  # read below
                yield line

        with io.TextIOWrapper(opened(self.source), encoding="utf-8-sig", errors="replace", newline="") as text:
            begin = 1
            for row in _fields(counted(text), self.separator):
                yield begin, row
                begin = n_read + 1

    def query(self, as_text: Collection[str] = (), **options: Any) -> pl.LazyFrame:
        """Return a lazy frame of the rows; ``as_text`` names columns to read as text, ``options`` are passed to polars.

        Raises ValueError if the header does not fit the rows, or a column has no name.
        """
        read = partial(pl.scan_csv, self.source, separator=self.separator, glob=False)  # names may hold * and [1]
        as_written = read(infer_schema=False).collect_schema().names()
        if len(as_written) != len(self.header):
            refuse_ragged(self)
            raise ValueError(
                f"{self.path} has a header with more or fewer names than its rows have values; give every column one "
                "name."
            )
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"{self.path} has a column without a name; give every column its own name.")
        names = dict(zip(as_written, self.names, strict=True))
        texts = {before: pl.String for before, name in names.items() if name in as_text}
        return read(schema_overrides=texts, **options).rename(names)


def open_text(path: Path, source: Path | bytes, keep: Keep, names: Collection[str] = ()) -> Text:
    """Open a text table: infer its encoding, separator and header from its beginning, and convert it to UTF-8 if
    needed.

    Parameters
    ----------
    path : Path
        Name of the file in error messages; its extension shows compression and the preferred separator.
    source : Path or bytes
        The file, or its content.
    keep : function
        Stores decoded text: `in_memory`, or `in_folder` for a file.
    names : collection of str, optional
        Expected column names; the separator is the one that splits them in the header.
    """
    sample = _beginning(source)
    if sample.startswith(_GZIP) or (path.suffix.lower() == ".gz" and isinstance(source, Path)):
        if not sample.startswith(_GZIP):
            raise ValueError(f"{path} is not a gzip file, although its name ends in .gz; rename or compress it.")
        try:
            with opened(source) as packed, gzip.open(packed) as file:
                source = keep(iter(partial(file.read, _CHUNK), b""))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{path} is a damaged gzip file; compress it again.") from error
        sample = _beginning(source)
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        source = keep(decoder.decode(chunk, not chunk).encode() for chunk in chain(_chunks(source), [b""]))
        sample = _beginning(source)
    if b"\r" in sample and b"\n" not in sample and not any(b"\n" in chunk for chunk in _chunks(source)):
        source = keep(chunk.replace(b"\r", b"\n") for chunk in _chunks(source))
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # the last character of the sample may be cut
    except UnicodeDecodeError:
        source = source if b"\0" in sample else keep(_western(source))
    return look_at(path, source, names)


def in_memory(chunks: Iterable[bytes]) -> bytes:
    """Join chunks of decoded text to bytes in memory: a ``keep`` function of `open_text`."""
    return b"".join(chunks)


def in_folder(folder: Path, chunks: Iterable[bytes]) -> Path:
    """Write chunks of decoded text to a new file in ``folder`` and return its path: a ``keep`` function of
    `open_text`.
    """
    target = folder / f"{len(list(folder.iterdir()))}{DECODED}"
    with target.open("wb") as file:
        file.writelines(chunks)
    return target


def opened(source: Path | bytes) -> IO[bytes]:
    """Open a file, or its content in memory, for reading bytes."""
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def _beginning(source: Path | bytes) -> bytes:
    """Return the first 256 KiB of a file or of its content."""
    with opened(source) as file:
        return file.read(SAMPLE_BYTES)


def _chunks(source: Path | bytes) -> Iterator[bytes]:
    """Yield the bytes of a file, or of its content, in chunks of 16 MiB."""
    with opened(source) as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _western(source: Path | bytes) -> Iterator[bytes]:
    """Yield lines in UTF-8. Lines in another encoding are taken for the Western European encoding of Windows."""
    with opened(source) as lines:
        for line in lines:
            yield line if line.isascii() else _line_in_utf8(line)


def _line_in_utf8(line: bytes) -> bytes:
    """Return a line in UTF-8, which was in UTF-8 or in the Western European encoding of Windows."""
    for encoding in ("utf-8", "cp1252"):
        with contextlib.suppress(UnicodeDecodeError):
            return line.decode(encoding).encode()
    return line.decode("latin-1").encode()


def _first_lines(source: Path | bytes) -> tuple[bytes, bool]:
    """Return the beginning of a text, including the whole header, and whether more follows.

    ``source`` is the file, or its content.
    """
    size = SAMPLE_BYTES
    with opened(source) as file:
        sample = file.read(size)
        while len(sample) == size < _LONGEST_HEADER and not (b"\n" in sample or b"\0" in sample):
            sample += file.read(size)
            size *= 2
    return sample, len(sample) == size


def look_at(path: Path, source: Path | bytes, names: Collection[str] = ()) -> Text:
    """Infer the separator and the header of a text in UTF-8 from its first lines.

    ``path`` names the file in messages, ``source`` is the text, and ``names`` are the expected column names, if any.
    """
    sample, is_cut = _first_lines(source)
    if not sample.strip(b" \t\r\n\xef\xbb\xbf"):
        raise ValueError(f"{path} is empty; a table needs a header line and at least one row.")
    refuse_binary(path, sample)
    text = sample.decode("utf-8-sig", errors="replace")
    if hint := _SEPARATOR_HINT.match(text):
        raise ValueError(f"{path} begins with the line {hint[1]!r}, a hint for spreadsheets; delete this line.")
    if is_cut and "\n" in text:
        text = text[: text.rindex("\n")]  # the last line may be cut
    preferred = "\t" if ".tsv" in path.name.lower() else ","
    separator = _separator_of(text, names, preferred) or sniff_separator(text, preferred)
    header = next(iter(_rows(text, separator)), [])
    table = Text(path, source, separator, _checked_header(path, header))
    if any("\n" in name for name in header):
        refuse_open_quote(table)
    return table


def refuse_binary(path: Path, sample: bytes) -> None:
    """Raise ValueError if ``sample``, the first bytes of the file ``path``, is not text."""
    for start, what in _BINARY_STARTS.items():
        if sample.startswith(start):
            raise ValueError(f"{path} is not a text table but {what}.")
    control = sum(sample.count(byte) for byte in range(32) if byte not in b"\t\n\r\f")
    if b"\0" in sample or control > len(sample) // 20:
        raise ValueError(
            f"{path} is not a text table, because it contains binary data; save the table as CSV, Parquet or Arrow."
        )


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    """Yield the fields of each row of a text; stop at the first row that is not well formed."""
    with contextlib.suppress(csv.Error):
        yield from _fields(io.StringIO(text, newline=""), separator)


def _fields(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    """Yield the fields of each row of a text table; fields may be longer than the limit of `csv`."""
    before = csv.field_size_limit(_LONGEST_HEADER)
    try:
        yield from csv.reader(lines, delimiter=separator)
    finally:
        csv.field_size_limit(before)


def _separator_of(text: str, names: Collection[str], prefer: str) -> str | None:
    """Return the separator that finds most of the expected column ``names`` in the header of ``text``.

    On ties, ``prefer`` is returned if it is among them. Return None if no separator finds any name.
    """
    wanted = set(names)
    counts = {}
    for separator in sorted(_SEPARATORS, key=lambda separator: separator != prefer):
        header = next(iter(_rows(text, separator)), [])
        counts[separator] = sum(name in wanted for name in map(str.strip, header))
    best = max(counts, key=lambda separator: counts[separator])
    return best if counts[best] else None


def sniff_separator(text: str, prefer: str = ",") -> str:
    """Return the separator that splits most lines of ``text`` into as many fields as the header.

    On ties, it is the one with more fields, and then ``prefer``.
    """
    best, best_score = prefer, (0.0, 0, False)
    for separator in _SEPARATORS:
        rows = _rows(text, separator)
        lengths = [len(row) for row, _ in zip(rows, range(_SAMPLE_LINES), strict=False) if row]
        if not lengths or lengths[0] < 2:
            continue
        agreeing = sum(length == lengths[0] for length in lengths) / len(lengths)
        score = (round(agreeing, 1), lengths[0], separator == prefer)
        if score > best_score:
            best, best_score = separator, score
    return best


def _checked_header(path: Path, header: list[str]) -> list[str]:
    """Return column names without outer blanks; raise ValueError, which names the file, if one occurs twice."""
    # Remove byte order marks: one may begin the file, and others column names if a tool joined files or reordered
    # columns.
    names = [name.strip().lstrip("\ufeff") for name in header]
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise ValueError(f"{path} has more than one column named {repeated[0]!r}; give every column its own name.")
    return names


def empty_rows(frame: pl.DataFrame) -> pl.Series:
    """Return a mask (n_rows,) of the rows in which all values are missing."""
    if any(column.null_count() == 0 for column in frame.get_columns()):
        return pl.repeat(False, frame.height, dtype=pl.Boolean, eager=True)
    return frame.select(pl.all_horizontal(pl.all().is_null())).to_series()


def blank_lines(text: Text, empty: pl.Series, n_last: int) -> pl.Series:
    """Return a mask (n_rows,) of the rows that are blank lines; raise ValueError if a row has fewer fields than the
    header.

    Polars reads blank lines and missing fields alike, as missing values. In both, the last column has a missing value.

    Parameters
    ----------
    text : the text table
    empty : mask (n_rows,) of the rows in which all values are missing
    n_last : number of missing values in the last column
    """
    if len(text.header) > 1 and n_last:
        counts = [(chunk.count(text.separator.encode()), chunk.count(b'"')) for chunk in _chunks(text.source)]
        if np.sum(counts, axis=0).tolist() != [(len(empty) + 1) * (len(text.header) - 1), 0]:
            blank = refuse_ragged(text)
            return pl.Series(blank[-len(empty) :]) if len(blank) > len(empty) else empty
    return pl.repeat(False, len(empty), dtype=pl.Boolean, eager=True)


def refuse_ragged(text: Text) -> list[bool]:
    """Return for each row of a text table, the header first, whether it is a blank line.

    Raise ValueError for the first row whose number of fields differs from that of the header.
    """
    expected, blank = len(text.header), []
    try:
        for number, (_, row) in enumerate(text.rows(), start=1):
            if len(row) not in (0, expected) and not (expected == 1 and not row):
                raise ValueError(
                    f"{text.path} has {len(row)} fields in row {number} (counting the header) where the header has "
                    f"{expected}; correct the row, or quote fields that contain {text.separator!r}."
                )
            blank.append(not row)
    except csv.Error as error:
        raise ValueError(f"{text.path} is not a well-formed text table: {error}; check its quotes.") from error
    return blank


def refuse_open_quote(text: Text) -> None:
    """Raise ValueError, which names the line, if a quotation mark in a text table is never closed."""
    with opened(text.source) as file:
        odd = [number for number, line in enumerate(file, start=1) if line.count(b'"') % 2]
    if len(odd) % 2:
        raise ValueError(
            f"{text.path} cannot be split into columns; check its quotes and separators: "
            f"a quotation mark in line {odd[-1]} is never closed."
        )
