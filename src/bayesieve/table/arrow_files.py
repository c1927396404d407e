"""Parquet and Arrow files: their columns, their number of rows, and lazy frames. File names may hold any character."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from bayesieve.table.paths import format_of, is_utf8


def read_errors() -> tuple[type[BaseException], ...]:
    """Return the exception classes that polars and the system raise for a file that cannot be read."""
    return (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def lazy_file(path: Path) -> pl.LazyFrame:
    """Return a polars LazyFrame of a Parquet or Arrow file, whatever characters its name holds."""
    source = path if is_utf8(path) else path.open("rb")
    if format_of(path) == "Parquet":
        return pl.scan_parquet(source, glob=False, hive_partitioning=False, use_statistics=False)
    return pl.scan_ipc(source, glob=False, hive_partitioning=False)


def look_at(path: Path) -> tuple[pl.Schema, int]:
    """Return the schema and the number of rows of a Parquet or Arrow file from its metadata, without reading its rows.

    Raises
    ------
    ValueError
        If it is damaged, or two columns have the same name.
    """
    try:
        _check_ends(path)
        query = lazy_file(path)
        return query.collect_schema(), int(query.select(pl.len()).collect().item())
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror or error}); check the file and its permissions."
        ) from error
    except pl.exceptions.DuplicateError as error:
        name = re.search("'.*'", str(error), re.DOTALL)
        column = "name" if name is None else f"column named {name[0]}"
        raise ValueError(f"{path} has more than one {column}; give every column its own name.") from error
    except read_errors() as error:
        raise ValueError(
            f"{path} cannot be read as a table; it is damaged or has a wrong file extension. Write it again, or "
            "rename it."
        ) from error


def _check_ends(path: Path) -> None:
    """Raise ValueError for a file that is empty, was cut off, or has another format than its name says."""
    is_arrow = format_of(path) == "Arrow"
    magic = b"ARROW1" if is_arrow else b"PAR1"
    with path.open("rb") as file:
        begin = file.read(len(magic))
        file.seek(-min(len(magic), path.stat().st_size), 2)
        end = file.read()
    if not begin:
        raise ValueError(f"{path} is empty; a table needs columns and at least one row.")
    if is_arrow and begin != magic:  # on which polars panics
        raise ValueError(
            f"{path} is not an Arrow file that can be read in pieces; save it as Parquet, or as an Arrow file (a "
            "stream can only be read from its start)."
        )
    if end != magic:
        kind = "" if is_arrow else "is not a Parquet file, or "
        raise ValueError(f"{path} {kind}was not written completely; write it again.")
