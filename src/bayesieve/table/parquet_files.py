"""Finding the files of a scan, the common columns of several files, and scans of Parquet files in place."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from bayesieve.table.arrow_files import look_at
from bayesieve.table.paths import EXCEL, KNOWN, checked_path, format_of, is_stream
from bayesieve.table.scans import DataFile, FileState, Scan
from bayesieve.table.text_types import TextType

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def files_of(paths: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Return the files that paths name: files, patterns with ``*``, ``?`` or ``[``, and folders.

    Folders are searched at any depth; names that start with a point or an underscore are skipped.

    Raises
    ------
    FileNotFoundError
        If a path or pattern names no file.
    ValueError
        If a folder contains no table, or a file is not a table or is named twice.
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
            raise ValueError(
                f"{path} is a pipe or device, which can only be read once; save its content as a file and scan that."
            )
        if scannable_format(path) is None:
            raise ValueError(f"{path} has no known file extension; rename it to end in {KNOWN}, or .xlsx.")
    ordered = sorted(files)
    for path, after in pairwise(ordered):
        if path == after:
            raise ValueError(f"{path} is named twice; name every file once.")
    return files


def _inside(folder: Path) -> list[Path]:
    """Return the tables in a folder at any depth, sorted by name; raise ValueError if there are none."""
    tables = [path for path in sorted(folder.rglob("*")) if _counts(path.relative_to(folder)) and path.is_file()]
    if not tables:
        raise ValueError(f"The folder {folder} holds no table; name one with files that end in {KNOWN}.")
    return tables


def _counts(path: Path) -> bool:
    """Return whether a path inside a folder is a table: it has a known extension and is not hidden."""
    hidden = any(part.startswith((".", "_")) and "=" not in part for part in path.parts)
    return format_of(path) is not None and not hidden


def partitions(paths: Sequence[Path], levels: Collection[str] | None = None) -> pl.DataFrame:
    """Return a dataframe of the values in folder names of the form ``column=value``, with one row per file.

    Types are inferred as for text tables, except for columns named in ``levels``, which a model reads: they are text.

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
                f"The names of the folders of {paths[0]} and {path} define different columns "
                f"({', '.join(rows[0]) or 'none'}; {', '.join(rows[-1]) or 'none'}); give all folders the same "
                "columns, or scan them one by one."
            )
    columns = [pl.Series([row[name] for row in rows], dtype=pl.String) for name in rows[0]]
    return pl.DataFrame(
        [
            column.alias(name) if name in (levels or ()) else TextType().add(column).alias(name)
            for name, column in zip(rows[0], columns, strict=True)
        ]
    )


def unified(schemas: Sequence[pl.Schema], paths: Sequence[str | Path]) -> pl.Schema:
    """Return a schema with the columns of the first file, and types that hold the values of all files.

    Raises
    ------
    ValueError
        If a file lacks a column or has one more, or if the types of a column are incompatible; the message names the
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
                    f"Column {name!r} is {_type_text(types[name])} in {homes[name]} and {_type_text(dtype)} in {path}; "
                    "give it one type in all files."
                )
            if _type_text(both) != _type_text(types[name]):
                homes[name] = path
            types[name] = both
    return pl.Schema(types)


def common_type(first: pl.DataType, second: pl.DataType) -> pl.DataType | None:
    """Return the type that holds the values of both types, or None if there is none."""
    if first == second or second == pl.Null:
        return first
    if first == pl.Null:
        return second
    if first.is_integer() and second.is_integer():
        return pl.concat(
            (pl.DataFrame(schema={"": dtype}) for dtype in (first, second)), how="vertical_relaxed"
        ).dtypes[0]
    if first.is_numeric() and second.is_numeric():
        return pl.Float64()
    texts = (pl.String, pl.Categorical, pl.Enum)
    if first in texts and second in texts:
        return pl.String() if pl.String in (first, second) else pl.Categorical()
    if {type(first), type(second)} == {pl.Date, pl.Datetime}:
        zone = getattr(first, "time_zone", None) or getattr(second, "time_zone", None)
        return pl.Datetime("us") if zone is None else None
    if isinstance(first, pl.Datetime) and isinstance(second, pl.Datetime):
        if (first.time_zone is None) != (second.time_zone is None):
            return None
        return pl.Datetime("us", first.time_zone if first.time_zone == second.time_zone else "UTC")
    if isinstance(first, pl.Duration) and isinstance(second, pl.Duration):
        return pl.Duration("us")
    return None


def _type_text(dtype: pl.DataType) -> str:
    """Return a data type in words, for messages."""
    if dtype.is_numeric():
        return "a number"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    if isinstance(dtype, pl.Datetime):
        return "a date and time" + (" with a time zone" if dtype.time_zone else "")
    words = {pl.Boolean: "true or false", pl.Date: "a date", pl.Time: "a time of day", pl.Duration: "a duration"}
    return words.get(type(dtype), str(dtype))


def scan_parquet_files(paths: Sequence[Path], levels: Collection[str] | None = None) -> Scan:
    """Scan Parquet files in place; ``levels`` names the columns that a model reads.

    Raises
    ------
    ValueError
        If a file is damaged or does not fit the others; the message names it.
    """
    states = [FileState.of(path) for path in paths]
    looks = [look_at(path) for path in paths]
    schema, constants = with_partitions(unified([schema for schema, _ in looks], paths), paths, levels)
    files = [
        DataFile(state.path, state.size, state.changed, n_rows, values)
        for state, (_, n_rows), values in zip(states, looks, constants, strict=True)
    ]
    return Scan(tuple(files), schema)


def with_partitions(
    inside: pl.Schema, paths: Sequence[Path], levels: Collection[str] | None
) -> tuple[pl.Schema, list[tuple[tuple[str, Any], ...]]]:
    """Extend the schema of files by the columns in their folder names, such as ``year=2024``.

    ``inside`` is the schema of the files, and ``levels`` names the columns that a model reads (see `partitions`).
    Return the extended schema and, for each file, pairs of the name and value of these columns.
    """
    folders = partitions(paths, levels)
    folders = folders[:, [name for name in folders.columns if name not in inside]]  # `drop` takes some for patterns
    constants = folders.rows(named=True) if folders.width else [{} for _ in paths]
    return pl.Schema({**inside, **folders.schema}), [tuple(values.items()) for values in constants]


def scannable_format(path: Path) -> str | None:
    """Return the format of a file by its extension: that of `format_of`, or "Excel"; None if it cannot be scanned."""
    return "Excel" if path.suffix.lower() in EXCEL else format_of(path)
