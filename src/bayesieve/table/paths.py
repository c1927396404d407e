"""Paths of tables: checks, formats by name, databases, and streams."""

from __future__ import annotations

import os
import stat
from pathlib import Path

TEXT = (".csv", ".tsv", ".tab", ".txt")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
EXCEL = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_DATABASES = (".duckdb", ".ddb", ".db", ".db3", ".sqlite", ".sqlite3")
STANDARD_INPUT = ("-", "/dev/stdin")
KNOWN = ".csv, .tsv, .txt (also .gz), .parquet, .arrow, .feather or .ipc"


def checked_path(path: object) -> Path:
    """Convert text or a path to a `Path`; TypeError or ValueError if a file cannot have this name."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"A path must be text or a pathlib.Path, got {path!r}.")
    text = os.fspath(path)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ValueError(f"A file cannot have the name {text!r}; give another path.")
    try:
        os.stat(text)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except UnicodeEncodeError:
        raise ValueError(f"A file cannot have the name {text!r}; give another path.") from None
    except OSError as error:
        raise ValueError(f"{text[:100]} cannot be opened ({error.strerror}); give another path.") from None
    return Path(text)


def database_in(path: object) -> tuple[Path, str] | None:
    """Split ``shop.db::customers`` into the database file and the table or query; None if ``path`` is not a database.

    The second text is empty if only a file is given.

    Examples
    --------
    >>> database_in("shop.db::customers")[1], database_in("customers.csv")
    ('customers', None)
    """
    name, _, inside = str(path).partition("::")
    file = Path(name)
    return (file, inside) if file.suffix.lower() in _DATABASES and not file.is_dir() else None


def ending_of(path: Path) -> str:
    """Return the file extension in lower case, without that of gzip: ".csv" for "a.csv.gz"."""
    return (Path(path.stem).suffix if is_zipped(path) else path.suffix).lower()


def is_zipped(path: Path) -> bool:
    """Return whether the name has the extension of gzip."""
    return path.suffix.lower() == ".gz"


def format_of(path: Path) -> str | None:
    """Return "Parquet", "Arrow" or "text" by the extension of a file; None for other extensions."""
    ending = "" if database_in(path) else ending_of(path)  # a table in it may have the name of a file
    if ending in TEXT:
        return "text"
    formats = dict.fromkeys(PARQUET, "Parquet") | dict.fromkeys(ARROW, "Arrow")
    return None if is_zipped(path) else formats.get(ending)


def is_stream(path: Path) -> bool:
    """Return whether a path is standard input or a pipe, which can be read only once and has no file extension."""
    if str(path) in STANDARD_INPUT:
        return True
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def is_utf8(path: Path) -> bool:
    """Return whether polars can open a file of this name, that is, whether the name is valid UTF-8."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True
