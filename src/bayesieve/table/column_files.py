"""Parquet and Arrow files: which ones a path names, and their row groups, which are pieces."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from bayesieve.table.reading import EXCEL, KNOWN, checked_path, format_of, is_stream, is_utf8
from bayesieve.table.sources import BLOCK_ROWS, Folder, Piece, Source, digest
from bayesieve.table.text_types import TextType

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class File:
    """A file as it was at the time of the scan.

    Attributes
    ----------
    path : Path
    size : int
        Bytes.
    changed : int
        Time of the last change in nanoseconds.
    touched : int
        Time of the last change that no program can set, also of rights and name: for caches.
    """

    path: Path
    size: int
    changed: int
    touched: int = field(default=0, compare=False)

    @classmethod
    def at(cls, path: Path) -> File:
        """The file as it is now."""
        state = path.stat()
        return cls(path, state.st_size, state.st_mtime_ns, state.st_ctime_ns)

    def check_unchanged(self) -> None:
        """ValueError if the file is gone or has changed."""
        try:
            now = File.at(self.path)
        except OSError as error:
            raise ValueError(
                f"{self.path} cannot be read any more ({error.strerror}); scan the files again."
            ) from error
        if now != self:
            raise ValueError(f"{self.path} has changed since it was scanned; scan the files again.")


def read_errors() -> tuple[type[BaseException], ...]:
    """The errors with which polars and the system refuse a file."""
    return (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def files_of(paths: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The files that paths name: files, patterns with ``*``, ``?`` or ``[``, and folders, with all tables at any depth
    whose name, and those of the folders inside, start with neither a point nor an underscore.

    Raises
    ------
    FileNotFoundError
        If a path or pattern names no file.
    ValueError
        If a folder holds no table, or a file is no table or named twice.
    """
    files: list[Path] = []
    for path in map(checked_path, paths):
        if path.is_dir():
            files += _inside(path)
        elif path.exists():
            files.append(path)
        else:
            matches = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]
            if not matches:
                raise FileNotFoundError(f"There is no file {path}; check its name and folder.")
            plain = [match for match in matches if not match.is_dir()]
            files += plain or [file for folder in matches for file in _inside(folder)]
    for path in files:
        if is_stream(path):
            raise ValueError(f"{path} can only be read once; save it as a file and scan that.")
        if format_of(path) is None:
            if path.suffix.lower() in EXCEL:
                raise ValueError(f"{path} is a workbook, which cannot be scanned; save it as {KNOWN}.")
            raise ValueError(f"{path} has no known file extension; name it {KNOWN}.")
    ordered = sorted(files)
    for path, after in pairwise(ordered):
        if path == after:
            raise ValueError(f"{path} is named twice; name every file once.")
    return files


def _inside(folder: Path) -> list[Path]:
    tables = [path for path in sorted(folder.rglob("*")) if _counts(path.relative_to(folder)) and path.is_file()]
    if not tables:
        raise ValueError(f"The folder {folder} holds no table; name one with files that end in {KNOWN}.")
    return tables


def _counts(path: Path) -> bool:
    hidden = any(part.startswith((".", "_")) and "=" not in part for part in path.parts)
    return format_of(path) is not None and not hidden


def partitions(paths: Sequence[Path]) -> pl.DataFrame:
    """The columns that folders named ``column=value`` stand for, one row a file, typed as in a text table.

    Raises
    ------
    ValueError
        If two files are in folders of different columns.
    """
    rows: list[dict[str, Any]] = []
    for path in paths:
        pairs = [part.split("=", 1) for part in path.parent.parts if "=" in part.strip("=")]
        rows.append({unquote(name): None if value == _NO_VALUE else unquote(value) for name, value in pairs})
        if rows[-1].keys() != rows[0].keys():
            raise ValueError(
                f"{paths[0]} and {path} are in folders of different columns ({', '.join(rows[0]) or 'none'}; "
                f"{', '.join(rows[-1]) or 'none'}); scan them one by one."
            )
    columns = [pl.Series([row[name] for row in rows], dtype=pl.String) for name in rows[0]]
    return pl.DataFrame([TextType().add(column).alias(name) for name, column in zip(rows[0], columns, strict=True)])


def unified(schemas: Sequence[pl.Schema], paths: Sequence[str | Path]) -> pl.Schema:
    """The columns of the first file with types that hold the values of all files.

    Raises
    ------
    ValueError
        If a file lacks a column or has one more, or a column has types that do not go together; the message names the
        two files.
    """
    types = dict(schemas[0])
    homes = dict.fromkeys(types, paths[0])  # of each type
    for schema, path in zip(schemas[1:], paths[1:], strict=True):
        if schema == schemas[0]:
            continue
        for these, those, lacking, having in ((types, schema, path, paths[0]), (schema, types, paths[0], path)):
            for name in these:
                if name not in those:
                    raise ValueError(
                        f"{lacking} has no column {name!r}, which {having} has; give all files the same columns."
                    )
        for name, dtype in schema.items():
            both = common_type(types[name], dtype)
            if both is None:
                raise ValueError(
                    f"Column {name!r} is {_said(types[name])} in {homes[name]} and {_said(dtype)} in {path}; "
                    "give it one type in all files."
                )
            if _said(both) != _said(types[name]):
                homes[name] = path
            types[name] = both
    return pl.Schema(types)


def common_type(one: pl.DataType, other: pl.DataType) -> pl.DataType | None:
    """The type that holds the values of both, None if they do not go together."""
    if one == other or other == pl.Null:
        return one
    if one == pl.Null:
        return other
    if one.is_integer() and other.is_integer():
        return pl.concat((pl.DataFrame(schema={"": dtype}) for dtype in (one, other)), how="vertical_relaxed").dtypes[0]
    if one.is_numeric() and other.is_numeric():
        return pl.Float64()
    texts = (pl.String, pl.Categorical, pl.Enum)
    if one in texts and other in texts:
        return pl.String() if pl.String in (one, other) else pl.Categorical()
    if {type(one), type(other)} == {pl.Date, pl.Datetime}:
        zone = getattr(one, "time_zone", None) or getattr(other, "time_zone", None)
        return pl.Datetime("us") if zone is None else None
    if isinstance(one, pl.Datetime) and isinstance(other, pl.Datetime):
        if (one.time_zone is None) != (other.time_zone is None):
            return None
        return pl.Datetime("us", one.time_zone if one.time_zone == other.time_zone else "UTC")
    if isinstance(one, pl.Duration) and isinstance(other, pl.Duration):
        return pl.Duration("us")
    return None


def _said(dtype: pl.DataType) -> str:
    """A type in words."""
    if dtype.is_numeric():
        return "a number"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    if isinstance(dtype, pl.Datetime):
        return "a date and time" + (" with a time zone" if dtype.time_zone else "")
    words = {pl.Boolean: "true or false", pl.Date: "a date", pl.Time: "a time of day", pl.Duration: "a duration"}
    return words.get(type(dtype), str(dtype))


_LARGEST = 1 << 28  # bytes of a piece, unpacked, that has more rows than a block


@dataclass(frozen=True, eq=False, repr=False)
class FilePiece(Piece):
    """Consecutive row groups of a Parquet file, a part of a large one, or rows of an Arrow file.

    Attributes
    ----------
    file : File
    first_row : int
    constants : mapping from str to object
        The values of the columns that the names of the folders give.
    folder : Folder or None
        Kept for as long as the piece is.
    origin : File or None
        The user's file, if ``file`` is a copy.
    """

    file: File
    first_row: int
    constants: dict[str, Any]
    folder: Folder | None
    origin: File | None = None

    def _read(self, columns: list[str]) -> pl.DataFrame:
        self.file.check_unchanged()
        inside = [name for name in columns if name not in self.constants]
        try:
            frame = self._rows(inside)
        except read_errors() as error:
            raise ValueError(
                f"{self.file.path} is damaged or cannot be read; write it again, or leave it out."
            ) from error
        return pl.DataFrame(
            [
                frame[name].cast(self.schema[name])
                if name in frame.columns
                else pl.repeat(self.constants[name], self.n_rows, dtype=self.schema[name], eager=True).alias(name)
                for name in columns
            ]
        )

    def parts(self, most_rows: int) -> Iterator[FilePiece]:
        for begin in range(0, self.n_rows, most_rows):
            n_rows = min(most_rows, self.n_rows - begin)
            n_bytes = self.n_bytes * n_rows // self.n_rows
            yield replace(self, n_rows=n_rows, n_bytes=n_bytes, first_row=self.first_row + begin)

    def _rows(self, names: list[str]) -> pl.DataFrame:
        from polars import selectors

        if not names:
            return pl.DataFrame()
        rows = lazy_file(self.file.path).slice(self.first_row, self.n_rows).select(selectors.by_name(*names)).collect()
        if rows.height != self.n_rows:
            raise pl.exceptions.ComputeError("fewer rows than the footer says")
        return rows


@dataclass(frozen=True, eq=False, repr=False)
class FileSource(Source):
    """The rows of Parquet or Arrow files, one file after the other.

    Attributes
    ----------
    files : tuple of File
    """

    runs: tuple[FilePiece, ...] = ()
    files: tuple[File, ...] = ()

    def fingerprint(self) -> bytes:
        runs = [(run.file.path.parts[-2:], run.first_row, run.n_rows) for run in self.runs]  # folders of copies differ
        return digest(self.files, list(self.schema.items()), runs)

    def check_unchanged(self) -> None:
        for file in self.files:
            file.check_unchanged()


def scan_files(paths: Sequence[Path], schema: pl.Schema | None = None, folder: Folder | None = None) -> FileSource:
    """The rows of Parquet or Arrow files.

    Parameters
    ----------
    paths : sequence of Path
    schema : polars.Schema, optional
        Names and types of the columns, if known.
    folder : Folder, optional
        Kept for as long as a piece of it is.

    Raises
    ------
    ValueError
        If a file is damaged or does not fit the others; the message names it.
    """
    files = [File.at(path) for path in paths]
    looks = [_look_at(path) for path in paths]
    constants: list[dict[str, Any]] = [{} for _ in paths]
    if schema is None:
        schema, constants = with_partitions(unified([schema for schema, _ in looks], paths), paths)
    runs = [
        FilePiece(n_rows, n_bytes, schema, file, first_row, values, folder)
        for file, (_, groups), values in zip(files, looks, constants, strict=True)
        for first_row, n_rows, n_bytes in _runs(groups)
    ]
    return FileSource(schema, tuple(runs), tuple(files))


def with_partitions(inside: pl.Schema, paths: Sequence[Path]) -> tuple[pl.Schema, list[dict[str, Any]]]:
    """The columns inside the files and those of their folders, with the values of the latter by file."""
    folders = partitions(paths)
    folders = folders[:, [name for name in folders.columns if name not in inside]]  # `drop` takes some for patterns
    constants = folders.rows(named=True) if folders.width else [{} for _ in paths]
    return pl.Schema({**inside, **folders.schema}), constants


def _runs(groups: Sequence[RowGroup]) -> Iterator[tuple[int, int, int]]:
    """The first row, rows and bytes of each piece: small row groups together, large ones in parts."""
    first = n_rows = n_bytes = 0
    for group in groups:
        if n_rows + group.n_rows > BLOCK_ROWS and n_rows:
            yield first, n_rows, n_bytes
            first, n_rows, n_bytes = first + n_rows, 0, 0
        n_rows, n_bytes = n_rows + group.n_rows, n_bytes + group.n_bytes
        most = max(BLOCK_ROWS, _LARGEST * group.n_rows // max(1, group.n_unpacked))
        while n_rows > most:
            part = n_bytes * most // n_rows
            yield first, most, part
            first, n_rows, n_bytes = first + most, n_rows - most, n_bytes - part
    if n_rows:
        yield first, n_rows, n_bytes


def is_parquet(path: Path) -> bool:
    """Whether a file has the name of a Parquet file."""
    return format_of(path) == "Parquet"


def lazy_file(path: Path) -> pl.LazyFrame:
    """A Parquet or Arrow file, of whatever name."""
    source = path if is_utf8(path) else path.open("rb")
    if is_parquet(path):
        return pl.scan_parquet(source, glob=False, hive_partitioning=False, use_statistics=False)
    return pl.scan_ipc(source, glob=False, hive_partitioning=False)


def _look_at(path: Path) -> tuple[pl.Schema, list[RowGroup]]:
    """The columns of a file and its row groups; an Arrow file counts as one."""
    try:
        size = path.stat().st_size
        if size == 0:
            raise ValueError(f"{path} is empty; a table needs columns and at least one row.")
        if is_parquet(path):
            groups = row_groups(path)
        else:
            _refuse_stream(path)
            groups = [RowGroup(int(lazy_file(path).select(pl.len()).collect().item()), size, size)]
        return lazy_file(path).collect_schema(), groups
    except EOFError as error:
        raise ValueError(f"{path} is not a Parquet file, or was not written to its end; write it again.") from error
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror or error}); check the file and its rights."
        ) from error
    except pl.exceptions.DuplicateError as error:
        name = re.search("'.*'", str(error), re.DOTALL)
        column = "name" if name is None else f"column named {name[0]}"
        raise ValueError(f"{path} has more than one {column}; give every column its own name.") from error
    except read_errors() as error:
        raise ValueError(f"{path} cannot be read as a table; it is damaged or has a wrong file extension.") from error


def _refuse_stream(path: Path) -> None:
    """Raise ValueError for a file without a footer, on which polars panics."""
    with path.open("rb") as file:
        is_file = file.read(6) == b"ARROW1"
        file.seek(-min(6, path.stat().st_size), 2)
        if not is_file:
            raise ValueError(
                f"{path} is not an Arrow file that can be read in pieces; save it as Parquet, or as an Arrow file (a "
                "stream can only be read from its start)."
            )
        if file.read() != b"ARROW1":
            raise ValueError(f"{path} was not written to its end; write it again.")


_MAGIC = b"PAR1"
_FALSE, _TRUE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 2, 1, 3, 7, 8, 9, 10, 12
_ROW_GROUPS, _COMPRESSED_SIZE, _UNPACKED_SIZE, _N_ROWS = 4, 6, 2, 3  # fields of FileMetaData and RowGroup


@dataclass(frozen=True)
class RowGroup:
    """A run of rows of a Parquet file that is compressed on its own."""

    n_rows: int
    n_bytes: int
    n_unpacked: int


def row_groups(path: Path) -> list[RowGroup]:
    """The row groups of a Parquet file.

    Raises
    ------
    OSError
        If the file cannot be opened.
    EOFError
        If it does not end as a Parquet file does, or its footer is damaged.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if len(end) < 8 or end[4:] != _MAGIC or length + 8 > size:
            raise EOFError("no footer")
        file.seek(size - 8 - length)
        footer = file.read(length)
    try:
        groups = _Thrift(footer).struct().get(_ROW_GROUPS, [])
        return [
            RowGroup(group[_N_ROWS], group.get(_COMPRESSED_SIZE) or group[_UNPACKED_SIZE], group[_UNPACKED_SIZE])
            for group in groups
        ]
    except (IndexError, KeyError, TypeError, RecursionError) as error:
        raise EOFError("damaged footer") from error


class _Thrift:
    """Reads Thrift's compact protocol, in which Parquet writes its footer."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def struct(self) -> dict[int, Any]:
        """The values of a struct by the numbers of their fields."""
        fields: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            step, kind = header >> 4, header & 15
            number = number + step if step else self._signed()
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind < _DOUBLE:
            return self._signed()
        if kind == _STRUCT:
            return self.struct()
        if kind in (_LIST, _SET):
            header = self._byte()
            length = header >> 4 if header >> 4 < 15 else self._unsigned()
            return [self._value(header & 15) for _ in range(length)]
        if kind not in (_BINARY, _DOUBLE):
            raise TypeError(kind)
        length = 8 if kind == _DOUBLE else self._unsigned()
        self._at += length
        return None  # texts and floats are not needed

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._content[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
