"""Text tables: which separator and encoding they use, and what their columns hold."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from bayesieve.table.levels import FeatureLevels
from bayesieve.table.text_types import decimal_points, numbers_of_texts, typed_text

_SEPARATORS = (",", ";", "\t", "|")
SAMPLE_BYTES = 1 << 18
_SAMPLE_LINES = 100
SAMPLE_ROWS = 1000
_LONGEST_HEADER = 1 << 28  # bytes, and characters of a field
_BINARY_STARTS = {
    b"PAR1": "a Parquet file; name it .parquet",
    b"ARROW1": "an Arrow file; name it .arrow",
    b"PK\x03\x04": "a zip archive or a spreadsheet; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; save the table as CSV",
}


@dataclass(frozen=True)
class Text:
    """A text table in UTF-8: where it is (a path, or bytes in memory) and how it is cut into fields."""

    path: Path
    source: Path | bytes
    separator: str
    header: list[str]

    def open(self) -> Iterator[list[str]]:
        """The fields of every line, read slowly; used only to locate errors."""
        for _, row in self.open_numbered():
            yield row

    def open_numbered(self) -> Iterator[tuple[int, list[str]]]:
        """As `open`, with the number of the line on which each row begins, from 1."""
        raw = io.BytesIO(self.source) if isinstance(self.source, bytes) else self.source.open("rb")
        with io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="") as text:
            lines = _Counted(text)
            begin = 1
            for row in _fields(lines, self.separator):
                yield begin, row
                begin = lines.n_read + 1


class _Counted:
    """Lines that are counted as they are read."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines, self.n_read = iter(lines), 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.n_read += 1
        return line


def line_of(path: Path, column: str, is_it: Callable[[str], bool], labelled: str | None = None) -> int | None:
    """The line, from 1, on which the first row of a text table begins whose value in a column ``is_it``; None without.

    Rows without a value in the column ``labelled`` do not count.
    """
    text = _open(path)
    names = numbered(text.header)
    if column not in names:
        return None
    at, label = names.index(column), names.index(labelled) if labelled in names else None
    with contextlib.suppress(csv.Error):
        rows = text.open_numbered()
        next(rows, None)  # the header
        for line, row in rows:
            if len(row) > at and is_it(row[at].strip()) and (label is None or row[label].strip()):
                return line
    return None


def read_csv(path: Path, content: bytes | None = None) -> pl.DataFrame:
    """Read a text table; types are inferred from all rows. ValueError names the file and its defect.

    Parameters
    ----------
    path : Path
    content : bytes, optional
        Content of the file, if it was read already.
    """
    text, frame = _cut(path, content, (), _parse)
    frame = _without_blank_lines(_named(frame, text))
    columns = frame.get_columns()
    for i, column in enumerate(columns):
        if column.dtype == pl.String:
            columns[i] = typed_text(column.alias(""), decimal_comma=text.separator != ",").alias(column.name)
    return pl.DataFrame(columns)


def read_csv_to_score(path: Path, levels: Mapping[str, FeatureLevels], content: bytes | None = None) -> pl.DataFrame:
    """Read a text table as a model reads it: no types are inferred from its rows.

    Columns of numbers whose values are all readable come as floats; all others as text, which `FeatureLevels.code`
    reads by value. Lines that are blank are no rows, but those of separators only, and all lines of a single column,
    are.

    Parameters
    ----------
    path, content : as `read_csv` takes them
    levels : mapping from the names of the model's columns to their levels
    """
    text, frame = _cut(path, content, levels, partial(_parse_to_score, levels=levels))
    return _without_blank_records(text, _named(frame, text, drop_empty=False))


def _cut(
    path: Path, content: bytes | None, names: Collection[str], parse: Callable[[Text], pl.DataFrame]
) -> tuple[Text, pl.DataFrame]:
    """The text and its fields, as many in every row."""
    text = _open(path, content, names)
    try:
        frame = parse(text)
    except pl.exceptions.ComputeError as error:
        if "utf-8" not in str(error):
            refuse_open_quote(text)
            refuse_ragged(text)
            raise ValueError(f"{path} cannot be cut into columns; check its quotes and separators.") from error
        text = look_at(path, _decode_western(_to_utf8(_raw_bytes(path, content))), names)
        frame = parse(text)
    if frame.width > 1 and frame.height and frame.width == len(text.header) and frame[:, -1].null_count():
        refuse_short_rows(text, frame.height, frame.select(pl.all_horizontal(pl.all().is_null()).any()).item())
    return text, frame


def read_header(path: Path) -> list[str]:
    """The names of the columns of a text table, those without one numbered."""
    return numbered(_open(path).header)


def _open(path: Path, content: bytes | None = None, names: Collection[str] = ()) -> Text:
    if content is None:
        with path.open("rb") as file:
            sample = file.read(SAMPLE_BYTES)
    else:
        sample = content[:SAMPLE_BYTES]
    if (path.suffix.lower() == ".gz" and content is None) or sample.startswith(b"\x1f\x8b"):
        return look_at(path, _to_utf8(_raw_bytes(path, content)), names)
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")) or (b"\r" in sample and b"\n" not in sample):
        return look_at(path, _to_utf8(_raw_bytes(path, content)), names)
    source = path if content is None else content
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # the last character of the sample may be cut
    except UnicodeDecodeError:
        return look_at(path, source if b"\0" in sample else _decode_western(_raw_bytes(path, content)), names)
    return look_at(path, source, names)


def _raw_bytes(path: Path, content: bytes | None) -> bytes:
    raw = path.read_bytes() if content is None else content
    if content is not None and not raw.startswith(b"\x1f\x8b"):
        return raw
    if not raw.startswith(b"\x1f\x8b"):
        if path.suffix.lower() == ".gz":
            raise ValueError(f"{path} is not a gzip file, though its name says so; rename it or compress it again.")
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise ValueError(f"{path} is a damaged gzip file; compress it again.") from error


def _to_utf8(raw: bytes) -> bytes:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raw = raw.decode("utf-16", errors="replace").encode()
    return raw.replace(b"\r", b"\n") if b"\r" in raw and b"\n" not in raw else raw


def _decode_western(raw: bytes) -> bytes:
    """Lines that are not UTF-8 are taken for the Western European encoding of Windows, a superset of printable Latin-1:
    a byte that is wrong in one line changes no other.
    """
    return b"\n".join(line if line.isascii() else line_in_utf8(line) for line in raw.split(b"\n"))


def line_in_utf8(line: bytes) -> bytes:
    for encoding in ("utf-8", "cp1252"):
        with contextlib.suppress(UnicodeDecodeError):
            return line.decode(encoding).encode()
    return line.decode("latin-1").encode()


def _first_lines(source: Path | bytes) -> tuple[bytes, bool]:
    """The beginning of a text, the whole header at least, and whether there is more."""
    size = SAMPLE_BYTES
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        sample = file.read(size)
        while len(sample) == size < _LONGEST_HEADER and not (b"\n" in sample or b"\0" in sample):
            sample += file.read(size)
            size *= 2
    return sample, len(sample) == size


def look_at(path: Path, source: Path | bytes, names: Collection[str] = ()) -> Text:
    """Find the separator and the header from the first lines, or from the names that should be in it."""
    sample, is_cut = _first_lines(source)
    if not sample.strip(b" \t\r\n\xef\xbb\xbf"):
        raise ValueError(f"{path} is empty; a table needs a header line and at least one row.")
    refuse_binary(path, sample)
    text = sample.decode("utf-8-sig", errors="replace")
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
    """ValueError where the first bytes are no text."""
    for start, what in _BINARY_STARTS.items():
        if sample.startswith(start):
            raise ValueError(f"{path} is not a text table but {what}.")
    control = sum(sample.count(byte) for byte in range(32) if byte not in b"\t\n\r\f")
    if b"\0" in sample or control > len(sample) // 20:
        raise ValueError(f"{path} is not a text table: it holds binary data; save the table as CSV, Parquet or Arrow.")


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    with contextlib.suppress(csv.Error):
        yield from _fields(io.StringIO(text, newline=""), separator)


def _fields(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    """Rows of fields, however long these are."""
    before = csv.field_size_limit(_LONGEST_HEADER)
    try:
        yield from csv.reader(lines, delimiter=separator)
    finally:
        csv.field_size_limit(before)


def _separator_of(text: str, names: Collection[str], prefer: str) -> str | None:
    """The separator that cuts most of these names out of the header, None if none does: rows do not matter."""
    known = set(names)
    counts = {}
    for separator in sorted(_SEPARATORS, key=lambda separator: separator != prefer):
        header = next(iter(_rows(text, separator)), [])
        counts[separator] = sum(name in known for name in map(str.strip, header))
    best = max(counts, key=lambda separator: counts[separator])
    return best if counts[best] else None


def sniff_separator(text: str, prefer: str = ",") -> str:
    """The separator that cuts most lines into as many fields as the header, and into the most."""
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
    # A byte order mark starts a file, or where tools joined or reordered columns a name.
    names = [name.strip().lstrip("\ufeff") for name in header]
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise ValueError(f"{path} has more than one column named {repeated[0]!r}; give every column its own name.")
    return names


def numbered(header: list[str]) -> list[str]:
    """Names; columns without one are numbered."""
    return [name or f"column_{i + 1}" for i, name in enumerate(header)]


def _parse(text: Text) -> pl.DataFrame:
    """The columns as the first rows suggest, or all as text if a later row does not fit.

    Letting polars infer from all rows, dates included, takes a hundred times as long as reading them.
    """
    read = partial(pl.read_csv, text.source, separator=text.separator, glob=False)  # names may hold * and [1]
    try:
        return read(infer_schema_length=SAMPLE_ROWS)
    except pl.exceptions.ComputeError:
        return read(infer_schema=False)


def _parse_to_score(text: Text, levels: Mapping[str, FeatureLevels]) -> pl.DataFrame:
    """Readable columns of numbers as floats, the others as text; either way every value is read by itself."""
    read = partial(pl.read_csv, text.source, separator=text.separator, glob=False)
    names = numbered(text.header)
    numbers = {name for name, level in levels.items() if (level.kind, level.type) == ("numeric", "number")}
    try:
        as_written = read(n_rows=0, infer_schema=False).columns
        others = {name: pl.String for i, name in enumerate(as_written) if i >= len(names) or names[i] not in numbers}
        frame = read(infer_schema_length=SAMPLE_ROWS, schema_overrides=others)
    except pl.exceptions.ComputeError:
        frame = read(infer_schema=False)
    if frame.width != len(names):
        return frame
    columns = frame.get_columns()
    for i, name in enumerate(names):
        if columns[i].dtype != pl.String:
            continue
        texts = columns[i].alias("")  # polars takes the names * and ^...$ for patterns
        if text.separator != "," and name in levels and levels[name].type == "number":
            texts = decimal_points(texts)
        if name in numbers:
            values, unreadable = numbers_of_texts(texts, "number")
            texts = texts if unreadable.any() else pl.Series(values, nan_to_null=True)
        columns[i] = texts.alias(columns[i].name)
    return pl.DataFrame(columns)


def _named(frame: pl.DataFrame, text: Text, *, drop_empty: bool = True) -> pl.DataFrame:
    """With the names of the header, trimmed; columns without one are numbered, or dropped if they are empty too."""
    if frame.width != len(text.header):
        refuse_ragged(text)
        raise ValueError(f"{text.path} has a header that does not fit its rows; give every column one name.")
    names = numbered(text.header)
    if len(set(names)) < len(names):
        raise ValueError(f"{text.path} has a column without a name; give every column its own name.")
    frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
    if not drop_empty:
        return frame
    nameless = [names[i] for i, name in enumerate(text.header) if not name]
    empty = [name for name in nameless if frame[name].null_count() == frame.height and frame.width > 1]
    if len(empty) == frame.width:
        raise ValueError(f"{text.path} has columns without names and without values; check its header and separator.")
    return frame.drop(empty)


def _without_blank_lines(frame: pl.DataFrame) -> pl.DataFrame:
    """Polars reads a blank line as a row without any value. In a single column that may be a missing one."""
    if frame.height == 0 or any(column.null_count() == 0 for column in frame.get_columns()):
        return frame
    if frame.width > 1:
        return frame.filter(~pl.all_horizontal(pl.all().is_null()))
    present = frame.to_series().is_not_null().arg_true()
    return frame.head(int(present[-1]) + 1 if len(present) else 0)


def _without_blank_records(text: Text, frame: pl.DataFrame) -> pl.DataFrame:
    """Without the rows that polars makes of blank lines; a row whose values are all missing stays."""
    if frame.width == 1 or frame.height == 0 or any(column.null_count() == 0 for column in frame.get_columns()):
        return frame
    blank = blank_lines(text, frame.select(pl.all_horizontal(pl.all().is_null())).to_series(), frame.width)
    return frame if blank is None else frame.filter(~blank)


def blank_lines(text: Text, empty: pl.Series, width: int) -> pl.Series | None:
    """Which rows are blank lines, of those without any value; None where there are none."""
    n_rows, n_empty = len(empty), int(empty.sum())
    if width == 1 or n_empty == 0:
        return None
    separators, quotes = _count_bytes(text.source, text.separator.encode(), b'"')
    if quotes == 0 and separators == (n_rows + 1) * (width - 1):
        return None
    if quotes or separators != (n_rows - n_empty + 1) * (width - 1):
        blank = [not row for row in text.open()]
        return pl.Series(blank[-n_rows:]) if len(blank) > n_rows else empty
    return empty


def refuse_short_rows(text: Text, n_rows: int, blank: bool) -> None:
    """ValueError that names the first row with fewer fields than the header.

    Polars fills up such rows silently; they show as missing values in the last column, hence the call.

    Parameters
    ----------
    text : Text
    n_rows : int
    blank : bool
        Whether a row has no value at all.
    """
    separators, quotes = _count_bytes(text.source, text.separator.encode(), b'"')
    if blank or quotes or separators != (n_rows + 1) * (len(text.header) - 1):
        refuse_ragged(text)


def _count_bytes(source: Path | bytes, *wanted: bytes) -> list[int]:
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        counts = [0] * len(wanted)
        while chunk := file.read(1 << 24):
            counts = [count + chunk.count(byte) for count, byte in zip(counts, wanted, strict=True)]
    return counts


def refuse_ragged(text: Text) -> None:
    """ValueError that names the first row whose number of fields differs from the header's."""
    expected = len(text.header)
    rows = text.open()
    try:
        for number, row in enumerate(rows, start=1):
            if len(row) not in (0, expected) and not (expected == 1 and not row):
                raise ValueError(
                    f"{text.path} has {len(row)} fields in row {number} (counting the header) where the header has "
                    f"{expected}; correct the row, or quote fields that contain {text.separator!r}."
                )
    except csv.Error as error:
        raise ValueError(f"{text.path} is not a well-formed text table: {error}; check its quotes.") from error


def refuse_open_quote(text: Text) -> None:
    """ValueError that names the line of a quotation mark that is never closed."""
    with io.BytesIO(text.source) if isinstance(text.source, bytes) else text.source.open("rb") as file:
        odd = [number for number, line in enumerate(file, start=1) if line.count(b'"') % 2]
    if len(odd) % 2:
        raise ValueError(
            f"{text.path} cannot be cut into columns; check its quotes and separators: "
            f"a quotation mark in line {odd[-1]} is never closed."
        )
