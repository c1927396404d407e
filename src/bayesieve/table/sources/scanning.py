"""`scan`: rows wherever they are, for tables that need not fit in memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from bayesieve.table.sources.base import Source
from bayesieve.table.sources.files import files_of
from bayesieve.table.sources.parquet import scan_parquet

_PARQUET = (".parquet", ".pq")


def scan(source: Any, *, columns: Sequence[str] | None = None) -> Source:
    """The rows of a table that need not fit in memory.

    Parameters
    ----------
    source : path, or list of paths
        Parquet files: a file, a pattern such as ``claims/*.parquet``, or a folder with all files in it. Folders named
        ``column=value`` make a column.
    columns : sequence of str, optional
        The columns to keep, in this order; all by default.

    Returns
    -------
    Source

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a file cannot be read or does not fit the others, if there are no rows, or a column does not exist.

    Examples
    --------
    >>> import tempfile, pathlib, polars as pl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for year in (2024, 2025):
    ...         pl.DataFrame({"age": [31, 54], "paid": ["no", "yes"]}).write_parquet(f"{folder}/{year}.parquet")
    ...     claims = scan(f"{folder}/*.parquet")
    ...     claims.counts("age", "paid").rows()
    [(31, 'no', 2), (54, 'yes', 2)]
    """
    paths = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if not paths:
        raise ValueError("There are no files to scan; name at least one.")
    table: Source = scan_parquet(files_of(paths, _PARQUET))
    if not table.schema:
        raise ValueError(f"{paths[0]} has no columns; a table needs at least one.")
    if table.n_rows == 0:
        raise ValueError(f"{paths[0]} has columns but no rows; a table needs at least one row.")
    return table if columns is None else table.select(columns)
