"""Reading a table from a file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bayesieve.forking import refuse_fork
from bayesieve.table.files import read_file
from bayesieve.table.paths import checked_path, database_in, format_of, is_utf8

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.table.levels import FeatureLevels


def read_table(
    path: str | os.PathLike[str],
    levels: Mapping[str, FeatureLevels] | None = None,
    date_orders: dict[str, bool] | None = None,
) -> pl.DataFrame:
    """Read a table from a CSV, TSV, Parquet, Arrow or Excel file, a database, standard input or a pipe.

    Text tables have a header line; the separator (comma, semicolon, tab or bar) is found from the first lines and the
    types from all of them. The text is UTF-8, with or without a byte order mark, or UTF-16; lines that are not are
    Western European. Text files may be compressed with gzip. In columns of numbers or dates, ``NA``, ``?`` and the like
    are missing. The first sheet of a workbook is read like a text table; this needs ``pip install bayesieve[excel]``.

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
        from bayesieve.table.scanning import scan, scan_to_score

        rows = scan(path) if levels is None else scan_to_score(path, levels)
        if date_orders is not None:
            date_orders |= rows.date_orders
        return pl.concat(rows.blocks())
    return read_file(path, levels, date_orders)


def read_header(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns that `read_table` finds in a file, if possible without reading its rows.

    Raises
    ------
    FileNotFoundError, ValueError
        Errors of `read_table` that the first lines of the file cause.
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
