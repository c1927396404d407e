"""Reading a table from a file."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_TEXT = (".csv", ".tsv", ".tab", ".txt")
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")
_KNOWN = ".csv, .tsv, .txt (also .gz), .parquet, .arrow, .feather or .ipc"


def read_table(path: str | os.PathLike[str]) -> pl.DataFrame:
    """Read a table from a CSV, TSV, Parquet or Arrow file.

    Text tables have a header line; the separator (comma, semicolon, tab or bar) is found from the first lines and the
    types from all of them. The text is UTF-8, with or without a byte order mark, else UTF-16 or Western European.
    Text files may be compressed with gzip. In columns of numbers or dates, ``NA``, ``?`` and the like are missing.

    Parameters
    ----------
    path : str or path
        A file whose name ends in .csv, .tsv, .txt (also followed by .gz), .parquet, .arrow, .feather or .ipc.

    Returns
    -------
    polars.DataFrame

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file cannot be read as a table with at least one row; the message names the file and the remedy.
    """
    import polars as pl

    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}; check its name and folder.")
    if not path.is_file():
        raise ValueError(f"{path} is a folder, not a file; name one table in it.")
    try:
        frame = _read(path)
    except ValueError:
        raise
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror or error}); check the file and its rights."
        ) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"{path} cannot be read as a table; it is damaged or not what its name says.") from error
    if frame.width == 0:
        raise ValueError(f"{path} has no columns; a table needs at least one.")
    if frame.height == 0:
        raise ValueError(f"{path} has columns but no rows; a table needs at least one row.")
    return frame


def read_header(path: str | os.PathLike[str]) -> list[str]:
    """The names of the columns that `read_table` finds in a file, without reading its rows where that can be avoided.

    Raises
    ------
    FileNotFoundError, ValueError
        As `read_table`, for what shows in the first lines.
    """
    import polars as pl

    path = Path(path)
    if _kind(path) in _TEXT and path.is_file():
        from bayesieve.table import csv_files

        with contextlib.suppress(OSError):
            return csv_files.read_header(path)
    if _kind(path) in _PARQUET and path.is_file():
        with contextlib.suppress(OSError, pl.exceptions.PolarsError):
            return list(pl.read_parquet_schema(path))
    return read_table(path).columns  # or the sentence that says what is wrong


def _kind(path: Path) -> str:
    """The ending of a name, without that of gzip where it may stand."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-1] if suffixes else ""
    return suffixes[-2] if last == ".gz" and len(suffixes) > 1 else last


def _read(path: Path) -> pl.DataFrame:
    import polars as pl

    last = path.suffix.lower()
    if _kind(path) in _TEXT:
        from bayesieve.table.csv_files import read_csv

        return read_csv(path)
    if last not in (*_PARQUET, *_ARROW):
        raise ValueError(f"{path} has a name that does not say what it holds; name it {_KNOWN}.")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty; a table needs columns and at least one row.")
    return pl.read_parquet(path, glob=False) if last in _PARQUET else _read_arrow(path)


def _read_arrow(path: Path) -> pl.DataFrame:
    """An Arrow file, or a stream saved under the same extension."""
    import polars as pl

    with path.open("rb") as file:
        is_file = file.read(6) == b"ARROW1"
    with path.open("rb") as file:  # polars would take * and [1] in a name for a pattern
        return pl.read_ipc(file) if is_file else pl.read_ipc_stream(file)
