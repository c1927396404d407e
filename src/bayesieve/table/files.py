"""Reading of a table from a file or stream other than a database.

The format follows from the file's name or its first bytes.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from bayesieve.table.paths import EXCEL, KNOWN, STANDARD_INPUT, checked_path, format_of, is_stream, is_utf8

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.table.levels import FeatureLevels

_FIRST_BYTES = 1 << 16
_PIECE = 1 << 24
_MOST_BYTES = 1 << 32  # largest size of a stream, which may be endless


def read_file(
    path: str | os.PathLike[str],
    levels: Mapping[str, FeatureLevels] | None = None,
    date_orders: dict[str, bool] | None = None,
) -> pl.DataFrame:
    """Read a table from a file, standard input or a pipe.

    ``levels`` are the levels of a model's columns by name, or None, and ``date_orders`` receives, by column, whether
    the day comes first in its dates; see `read_table`.
    """
    import polars as pl

    path = checked_path(path)
    if not is_stream(path) and not path.exists():
        raise FileNotFoundError(f"There is no file {path}; check its name and folder.")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a file; name one table in it.")
    try:
        if is_stream(path):
            source, path = path, Path("standard input") if str(path) in STANDARD_INPUT else path
            frame = _read_stream(source, path, levels, date_orders)
        else:
            frame = _read(path, levels, date_orders)
    except ValueError:
        raise
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror or error}); check the file and its permissions."
        ) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(
            f"{path} cannot be read as a table; it is damaged or has a wrong file extension. Write it again, or "
            "rename it."
        ) from error
    if frame.width == 0:
        raise ValueError(f"{path} has no columns; a table needs at least one.")
    if frame.height == 0:
        raise ValueError(f"{path} has columns but no rows; a table needs at least one row.")
    return frame


def _read_stream(
    path: Path, name: Path, levels: Mapping[str, FeatureLevels] | None, date_orders: dict[str, bool] | None
) -> pl.DataFrame:
    """Return the table in the stream ``path``, whose format follows from its first bytes; messages call it ``name``.

    ``levels`` are the levels of a model's columns by name, or None, and ``date_orders`` receives, by column, whether
    the day comes first in its dates; see `read_table`.
    """
    with contextlib.ExitStack() as files:
        file = sys.stdin.buffer if str(path) in STANDARD_INPUT else files.enter_context(path.open("rb"))
        content = file.read(_FIRST_BYTES)
        format = "text"
        if content.startswith(b"PAR1"):
            format = "Parquet"
        elif content.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
            format = "Arrow"
        elif not content.startswith(b"\x1f\x8b"):
            from bayesieve.table.text_files import refuse_binary

            refuse_binary(name, content)  # before reading the rest, which may be endless
        return _parsed(name, _whole(content, file, name), format, levels, date_orders)


def _whole(first: bytes, file: IO[bytes], name: Path) -> bytes:
    """Return all bytes of an open stream ``file``, of which ``first`` were read already.

    Raise ValueError, which calls the stream ``name``, if it is longer than 4 GiB, because it may be endless.
    """
    pieces, size = [first], len(first)
    while piece := file.read(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > _MOST_BYTES:
            raise ValueError(f"{name} holds more than {_MOST_BYTES / 2**30:.0f} GiB; save it as a file and name that.")
    return b"".join(pieces)


def _read(path: Path, levels: Mapping[str, FeatureLevels] | None, date_orders: dict[str, bool] | None) -> pl.DataFrame:
    """Return the table in a file, whose format follows from its extension.

    ``levels`` are the levels of a model's columns by name, or None, and ``date_orders`` receives, by column, whether
    the day comes first in its dates; see `read_table`.
    """
    format = "Excel" if path.suffix.lower() in EXCEL else format_of(path)
    if format is None:
        raise ValueError(f"{path} has no known file extension; rename it to end in {KNOWN}, or .xlsx.")
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
    """Return the table in ``source``, a file or its content; ``format`` is "text", "Parquet" or "Arrow".

    Error messages name the file ``path``. ``levels`` are the levels of a model's columns by name, or None, and
    ``date_orders`` receives, by column, whether the day comes first in its dates; see `read_table`.
    """
    import polars as pl

    if format == "text":
        from bayesieve.table.text_files import read_csv

        return read_csv(path, source, levels, date_orders)
    if format == "Parquet":
        return pl.read_parquet(io.BytesIO(source) if isinstance(source, bytes) else source, glob=False)
    # Open the file here: polars would take * and [1] in a name for a pattern.
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb", buffering=0) as file:
        return _read_arrow(file)


def _read_arrow(file: IO[bytes]) -> pl.DataFrame:
    """Read an Arrow file, or an Arrow stream that has the extension of a file."""
    import polars as pl

    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    return pl.read_ipc(file) if is_file else pl.read_ipc_stream(file)
