"""Reading a table from a file."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from bayesieve.forking import refuse_fork

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.table.levels import FeatureLevels

TEXT = (".csv", ".tsv", ".tab", ".txt")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
EXCEL = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_DATABASES = (".duckdb", ".ddb", ".db", ".db3", ".sqlite", ".sqlite3")
_STANDARD_INPUT = ("-", "/dev/stdin")
_FIRST_BYTES = 1 << 16
_PIECE = 1 << 24
_MOST_BYTES = 1 << 32  # of a stream, which may be endless
KNOWN = ".csv, .tsv, .txt (also .gz), .parquet, .arrow, .feather or .ipc"


def read_table(
    path: str | os.PathLike[str],
    levels: Mapping[str, FeatureLevels] | None = None,
    date_orders: dict[str, bool] | None = None,
) -> pl.DataFrame:
    """Read a table from a CSV, TSV, Parquet, Arrow or Excel file, a database, standard input or a pipe.

    Text tables have a header line; the separator (comma, semicolon, tab or bar) is found from the first lines and the
    types from all of them. The text is UTF-8, with or without a byte order mark, or UTF-16; lines that are not are
    Western European. Text files may be compressed with gzip. In columns of numbers or dates, ``NA``, ``?`` and the like
    are missing. Of a workbook the first sheet is read, as text tables are; this needs
    ``pip install bayesieve[excel]``.

    Parameters
    ----------
    path : str or path
        A file whose name ends in .csv, .tsv, .txt (also followed by .gz), .parquet, .arrow, .feather, .ipc, .xlsx,
        .xlsm, .xlsb, .xls or .ods; ``-`` for standard input. The format of standard input and pipes is recognised
        by their first bytes. A table of a database is named as in `scan`.
    levels : mapping from str to FeatureLevels, optional
        Levels of a model's columns by name. Rows to be scored are read with them: types are not inferred from the rows
        of a text table or of SQLite, so the meaning of a value does not depend on the other rows.
    date_orders : dict, optional
        Receives the columns whose texts prove an order of day and month, and whether the day comes first.

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

    refuse_fork()
    if database_in(path):
        from bayesieve.table.scans import scan, scan_to_score

        rows = scan(path) if levels is None else scan_to_score(path, levels)
        if date_orders is not None:
            date_orders |= rows.date_orders
        return pl.concat(rows.blocks())
    path = checked_path(path)
    if not is_stream(path) and not path.exists():
        raise FileNotFoundError(f"There is no file {path}; check its name and folder.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file; name one table in it.")
    try:
        if is_stream(path):
            source, path = path, Path("standard input") if str(path) in _STANDARD_INPUT else path
            frame = _read_stream(source, path, levels, date_orders)
        else:
            frame = _read(path, levels, date_orders)
    except ValueError:
        raise
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror or error}); check the file and its rights."
        ) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"{path} cannot be read as a table; it is damaged or has a wrong file extension.") from error
    if frame.width == 0:
        raise ValueError(f"{path} has no columns; a table needs at least one.")
    if frame.height == 0:
        raise ValueError(f"{path} has columns but no rows; a table needs at least one row.")
    return frame


def read_header(path: str | os.PathLike[str]) -> list[str]:
    """The names of the columns that `read_table` finds in a file, if possible without reading its rows.

    Raises
    ------
    FileNotFoundError, ValueError
        As `read_table`, for what shows in the first lines.
    """
    import polars as pl

    path = checked_path(path)
    if format_of(path) == "text" and path.is_file():
        from bayesieve.table import text_files

        with contextlib.suppress(OSError):
            return text_files.read_header(path)
    if format_of(path) == "Parquet" and path.is_file() and is_utf8(path):
        with contextlib.suppress(OSError, pl.exceptions.PolarsError):
            return list(pl.read_parquet_schema(path))
    return read_table(path).columns  # or its error


def checked_path(path: object) -> Path:
    """A valid path; TypeError or ValueError otherwise."""
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
    """The file of a database, and the table or query named after ``::``, as in ``shop.db::customers``; None for others,
    and for folders.

    Examples
    --------
    >>> database_in("shop.db::customers")[1], database_in("customers.csv")
    ('customers', None)
    """
    name, _, inside = str(path).partition("::")
    file = Path(name)
    return (file, inside) if file.suffix.lower() in _DATABASES and not file.is_dir() else None


def ending_of(path: Path) -> str:
    """The ending of a name in small letters, without that of gzip."""
    return (Path(path.stem).suffix if is_zipped(path) else path.suffix).lower()


def is_zipped(path: Path) -> bool:
    """Whether a name ends in that of gzip."""
    return path.suffix.lower() == ".gz"


def format_of(path: Path) -> str | None:
    """ "Parquet", "Arrow" or "text", by the name of a file; None for other names."""
    ending = "" if database_in(path) else ending_of(path)  # a table in it may have the name of a file
    if ending in TEXT:
        return "text"
    formats = dict.fromkeys(PARQUET, "Parquet") | dict.fromkeys(ARROW, "Arrow")
    return None if is_zipped(path) else formats.get(ending)


def is_stream(path: Path) -> bool:
    """Whether a path is standard input or a pipe, which can be read only once and has no file extension."""
    if str(path) in _STANDARD_INPUT:
        return True
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _read_stream(
    path: Path, name: Path, levels: Mapping[str, FeatureLevels] | None, date_orders: dict[str, bool] | None
) -> pl.DataFrame:
    """The table in a stream, in the format of its first bytes; messages use ``name``."""
    with contextlib.ExitStack() as files:
        file = sys.stdin.buffer if str(path) in _STANDARD_INPUT else files.enter_context(path.open("rb"))
        content = file.read(_FIRST_BYTES)
        format = "text"
        if content.startswith(b"PAR1"):
            format = "Parquet"
        elif content.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
            format = "Arrow"
        elif not content.startswith(b"\x1f\x8b"):
            from bayesieve.table.text_files import refuse_binary

            refuse_binary(name, content)  # before all of what may be endless is read
        return _parsed(name, _whole(content, file, name), format, levels, date_orders)


def _whole(first: bytes, file: IO[bytes], name: Path) -> bytes:
    """A stream from its first bytes to its end; ValueError for one that may have none."""
    pieces, size = [first], len(first)
    while piece := file.read(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > _MOST_BYTES:
            raise ValueError(f"{name} holds more than {_MOST_BYTES / 2**30:.0f} GiB; save it as a file and name that.")
    return b"".join(pieces)


def _read(path: Path, levels: Mapping[str, FeatureLevels] | None, date_orders: dict[str, bool] | None) -> pl.DataFrame:
    format = "Excel" if path.suffix.lower() in EXCEL else format_of(path)
    if format is None:
        raise ValueError(f"{path} has no known file extension; name it {KNOWN}; or .xlsx.")
    if format != "text" and path.stat().st_size == 0:
        raise ValueError(f"{path} is empty; a table needs columns and at least one row.")
    if format == "Excel":
        from bayesieve.table.workbooks import first_sheet

        frame = first_sheet(path)
        return _parsed(path, frame.write_csv().encode(), "text", levels, date_orders) if frame.height else frame
    return _parsed(path, path if is_utf8(path) else path.read_bytes(), format, levels, date_orders)


def _parsed(
    path: Path,
    source: Path | bytes,
    format: str,
    levels: Mapping[str, FeatureLevels] | None,
    date_orders: dict[str, bool] | None,
) -> pl.DataFrame:
    """The table in a file, or its content; messages use ``path``."""
    import polars as pl

    if format == "text":
        from bayesieve.table.text_files import read_csv

        return read_csv(path, source, levels, date_orders)
    if format == "Parquet":
        return pl.read_parquet(io.BytesIO(source) if isinstance(source, bytes) else source, glob=False)
    # A file whose place polars knows; it would take * and [1] in a name for a pattern.
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb", buffering=0) as file:
        return _read_arrow(file)


def is_utf8(path: Path) -> bool:
    """Whether polars can open a file of this name."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_arrow(file: IO[bytes]) -> pl.DataFrame:
    """An Arrow file, or a stream saved under the same extension."""
    import polars as pl

    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    return pl.read_ipc(file) if is_file else pl.read_ipc_stream(file)
