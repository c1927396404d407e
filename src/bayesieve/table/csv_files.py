"""Text tables: which separator and encoding they use, and what their columns hold."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bayesieve.table.text_types import typed_text

if TYPE_CHECKING:
    import polars as pl

_SEPARATORS = (",", ";", "\t", "|")
_SAMPLE_BYTES = 1 << 18
_SAMPLE_LINES = 100
_SAMPLE_ROWS = 1000
_BINARY_STARTS = {
    b"PAR1": "a Parquet file; name it .parquet",
    b"ARROW1": "an Arrow file; name it .arrow",
    b"PK\x03\x04": "a zip archive or a spreadsheet; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; save the table as CSV",
}


@dataclass(frozen=True)
class _Text:
    """A text table in UTF-8: where it is (a path, or bytes in memory) and how it is cut into fields."""

    path: Path
    source: Path | bytes
    separator: str
    header: list[str]

    def open(self) -> Iterator[list[str]]:
        """The fields of every line, read slowly: only to find out what is wrong."""
        raw = io.BytesIO(self.source) if isinstance(self.source, bytes) else self.source.open("rb")
        with io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="") as text:
            yield from csv.reader(text, delimiter=self.separator)


def read_csv(path: Path) -> pl.DataFrame:
    """Read a text table; types are inferred from all rows. ValueError names the file and what is wrong with it."""
    import polars as pl

    text = _open(path)
    try:
        frame = _parse(text)
    except pl.exceptions.ComputeError as error:
        if "utf-8" not in str(error):
            _refuse_ragged(text)
            raise ValueError(f"{path} cannot be cut into columns; check its quotes and separators.") from error
        text = _look_at(path, _decode_western(_raw_bytes(path)))
        frame = _parse(text)
    frame = _named(frame, text)
    if frame.width > 1 and frame.height and frame[:, -1].null_count():
        _refuse_short_rows(text, frame)
    frame = _without_blank_lines(frame)
    texts = [column for column in frame.get_columns() if column.dtype == pl.String]
    return frame.with_columns([typed_text(column, decimal_comma=text.separator != ",") for column in texts])


def read_header(path: Path) -> list[str]:
    """The names of the columns of a text table, those without one numbered."""
    return _numbered(_open(path).header)


def _open(path: Path) -> _Text:
    with path.open("rb") as file:
        sample = file.read(_SAMPLE_BYTES)
    if path.suffix.lower() == ".gz" or sample.startswith(b"\x1f\x8b"):
        return _look_at(path, _to_utf8(_raw_bytes(path)))
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")) or (b"\r" in sample and b"\n" not in sample):
        return _look_at(path, _to_utf8(_raw_bytes(path)))
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # the last character of the sample may be cut
    except UnicodeDecodeError:
        return _look_at(path, path if b"\0" in sample else _decode_western(_raw_bytes(path)))
    return _look_at(path, path)


def _raw_bytes(path: Path) -> bytes:
    raw = path.read_bytes()
    if not raw.startswith(b"\x1f\x8b"):
        if path.suffix.lower() == ".gz":
            raise ValueError(f"{path} is not a gzip file, though its name says so; rename it or compress it again.")
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, ValueError) as error:
        raise ValueError(f"{path} is a damaged gzip file; compress it again.") from error


def _to_utf8(raw: bytes) -> bytes:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raw = raw.decode("utf-16", errors="replace").encode()
    return raw.replace(b"\r", b"\n") if b"\r" in raw and b"\n" not in raw else raw


def _decode_western(raw: bytes) -> bytes:
    """Text that is not UTF-8 is taken for the Western European encoding of Windows, a superset of printable Latin-1."""
    try:
        return raw.decode("cp1252").encode()
    except UnicodeDecodeError:
        return raw.decode("latin-1").encode()


def _look_at(path: Path, source: Path | bytes) -> _Text:
    """Find the separator and the header from the first lines."""
    if isinstance(source, bytes):
        sample = source[:_SAMPLE_BYTES]
    else:
        with source.open("rb") as file:
            sample = file.read(_SAMPLE_BYTES)
    if not sample.strip(b" \t\r\n\xef\xbb\xbf"):
        raise ValueError(f"{path} is empty; a table needs a header line and at least one row.")
    _refuse_binary(path, sample)
    text = sample.decode("utf-8-sig", errors="replace")
    if len(sample) == _SAMPLE_BYTES and "\n" in text:
        text = text[: text.rindex("\n")]  # the last line may be cut
    separator = sniff_separator(text, prefer="\t" if ".tsv" in path.name.lower() else ",")
    header = next(iter(_rows(text, separator)), [])
    return _Text(path, source, separator, _checked_header(path, header))


def _refuse_binary(path: Path, sample: bytes) -> None:
    for start, what in _BINARY_STARTS.items():
        if sample.startswith(start):
            raise ValueError(f"{path} is not a text table but {what}.")
    control = sum(sample.count(byte) for byte in range(32) if byte not in b"\t\n\r\f")
    if b"\0" in sample or control > len(sample) // 20:
        raise ValueError(f"{path} is not a text table: it holds binary data; save the table as CSV, Parquet or Arrow.")


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    except csv.Error:
        return


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
    names = [name.strip() for name in header]
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise ValueError(f"{path} has more than one column named {repeated[0]!r}; give every column its own name.")
    return names


def _numbered(header: list[str]) -> list[str]:
    """Names, or numbers where there is none."""
    return [name or f"column_{i + 1}" for i, name in enumerate(header)]


def _parse(text: _Text) -> pl.DataFrame:
    """The columns as the first rows suggest, or all as text if a later row does not fit.

    Letting polars infer from all rows, dates included, takes a hundred times as long as reading them.
    """
    import polars as pl

    read = partial(pl.read_csv, text.source, separator=text.separator, glob=False)  # names may hold * and [1]
    try:
        return read(infer_schema_length=_SAMPLE_ROWS)
    except pl.exceptions.ComputeError:
        return read(infer_schema=False)


def _named(frame: pl.DataFrame, text: _Text) -> pl.DataFrame:
    """With the names of the header, trimmed; columns without one are numbered, or dropped if they are empty too."""
    if frame.width != len(text.header):
        _refuse_ragged(text)
        raise ValueError(f"{text.path} has a header that does not fit its rows; give every column one name.")
    names = _numbered(text.header)
    if len(set(names)) < len(names):
        raise ValueError(f"{text.path} has a column without a name; give every column its own name.")
    frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
    nameless = [names[i] for i, name in enumerate(text.header) if not name]
    empty = [name for name in nameless if frame[name].null_count() == frame.height and frame.width > 1]
    if len(empty) == frame.width:
        raise ValueError(f"{text.path} has columns without names and without values; check its header and separator.")
    return frame.drop(empty)


def _without_blank_lines(frame: pl.DataFrame) -> pl.DataFrame:
    """Polars reads a blank line as a row without any value. In a single column that may be a missing one."""
    import polars as pl

    if frame.height == 0 or any(column.null_count() == 0 for column in frame.get_columns()):
        return frame
    if frame.width > 1:
        return frame.filter(~pl.all_horizontal(pl.all().is_null()))
    present = frame.to_series().is_not_null().arg_true()
    return frame.head(int(present[-1]) + 1 if len(present) else 0)


def _refuse_short_rows(text: _Text, frame: pl.DataFrame) -> None:
    """Polars fills short rows up without a word. They have values only if the last column has none, hence the call."""
    import polars as pl

    blank = frame.select(pl.all_horizontal(pl.all().is_null()).any()).item()
    separators, quotes = _count_bytes(text.source, text.separator.encode(), b'"')
    if blank or quotes or separators != (frame.height + 1) * (frame.width - 1):
        _refuse_ragged(text)


def _count_bytes(source: Path | bytes, *wanted: bytes) -> list[int]:
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        counts = [0] * len(wanted)
        while chunk := file.read(1 << 24):
            counts = [count + chunk.count(byte) for count, byte in zip(counts, wanted, strict=True)]
    return counts


def _refuse_ragged(text: _Text) -> None:
    """ValueError naming the first row whose number of fields differs from the header's, if there is one."""
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
