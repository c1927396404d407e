"""`scan`: rows wherever they are, for tables that need not fit in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from bayesieve.table.reading import format_of
from bayesieve.table.sources.base import Source
from bayesieve.table.sources.column_files import scan_files
from bayesieve.table.sources.files import files_of
from bayesieve.table.sources.frames import scan_dask, scan_dataset, scan_frame, scan_query
from bayesieve.table.writing import checked_path

if TYPE_CHECKING:
    from bayesieve.table.levels import FeatureLevels


def scan(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    connection: Any = None,
    cache: str | os.PathLike[str] | None = None,
) -> Source:
    """The rows of a table that need not fit in memory.

    Parameters
    ----------
    source : path, list of paths, dataset, query or dataframe
        - Files (Parquet, Arrow, CSV or TSV, the last two also compressed with gzip): one file, a pattern such as
          ``claims/*.parquet``, or a folder with all files in it. Folders named ``column=value`` make a column. A list
          of these may not mix formats.
        - A dataset of pyarrow.
        - A polars LazyFrame, a DuckDB relation, or a Spark DataFrame. As an engine need not return rows in the same
          order twice, they are copied to Parquet when they are first read.
        - A Dask dataframe. Its partitions are the pieces.
        - A dataframe in memory.
        - The text of a query, if there is a ``connection``.
    columns : sequence of str, optional
        The columns to keep, in this order; all by default.
    connection : duckdb.DuckDBPyConnection, optional
        The database that ``source``, a query in SQL, goes to.
    cache : path, optional
        A folder for copies of rows, by default the system's one for temporary files. Copies of text files stay in it,
        for the next scan of the same files; others are deleted with the source.

    Returns
    -------
    Source

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a file cannot be read or does not fit the others, if there are no rows, or a column does not exist.
    TypeError
        If ``source`` is none of these.

    Examples
    --------
    >>> import tempfile, polars as pl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for year in (2024, 2025):
    ...         pl.DataFrame({"age": [31, 54], "paid": ["no", "yes"]}).write_parquet(f"{folder}/{year}.parquet")
    ...     claims = scan(f"{folder}/*.parquet")
    ...     [block.height for block in claims.blocks(["age"], block_rows=3)]
    [3, 1]

    A query of polars, or of another engine:

    >>> scan(pl.LazyFrame({"age": [31, 54, 31], "paid": ["no", "yes", "no"]}))
    LazySource(3 rows, 2 columns)
    """
    parent = None if cache is None else checked_path(cache)
    table: Source
    if connection is not None:
        table, name = scan_query(_sql(connection, source), parent), "The query"
    elif isinstance(source, (str, os.PathLike)):
        table, name = _scan_paths([source], parent), str(source)
    elif _is_list_of_paths(source):
        table, name = _scan_paths(source, parent), str(source[0])
    else:
        table, name = _scan_object(source, parent), f"The {type(source).__name__}"
    if not table.schema:
        raise ValueError(f"{name} has no columns; a table needs at least one.")
    if table.n_rows == 0:
        raise ValueError(f"{name} has columns but no rows; a table needs at least one row.")
    if columns is not None and not len(columns):
        raise ValueError("columns is empty; name at least one column, or leave it out for all of them.")
    return table if columns is None else table.select(columns)


def scan_to_score(source: Any, levels: Mapping[str, FeatureLevels]) -> Source:
    """As `scan`; the values of text files are read by the levels of a model, so that no types are inferred."""
    paths = [source] if isinstance(source, (str, os.PathLike)) else source
    if _is_list_of_paths(paths) and all(format_of(path) == "text" for path in files_of(paths)):
        from bayesieve.table.sources.text_files import scan_text

        table = scan_text(files_of(paths), None, levels)
        if table.n_rows:
            return table
    return scan(source)


def _is_list_of_paths(source: Any) -> bool:
    if isinstance(source, (list, tuple)) and not source:
        raise ValueError("There are no files to scan; name at least one.")
    return isinstance(source, (list, tuple)) and all(isinstance(path, (str, os.PathLike)) for path in source)


def _scan_paths(paths: Sequence[str | os.PathLike[str]], parent: Path | None) -> Source:
    files = files_of(paths)
    formats = [format_of(path) for path in files]
    for path, name in zip(files, formats, strict=True):
        if name != formats[0]:
            raise ValueError(f"{files[0]} is {formats[0]} and {path} is {name}; scan files of one format.")
    if formats[0] != "text":
        return scan_files(files)
    from bayesieve.table.sources.text_files import scan_text  # which loads polars

    return scan_text(files, parent)


def _scan_object(source: Any, parent: Path | None) -> Source:
    if isinstance(source, Source):
        return source
    native, depends = nw.to_native(source, pass_through=True), nw.dependencies
    if depends.is_dask_dataframe(native):
        return scan_dask(native)
    if depends.is_polars_lazyframe(native) or depends.is_duckdb_relation(native):
        return scan_query(native, parent)
    if depends.is_pyspark_dataframe(native) or depends.is_pyspark_connect_dataframe(native):
        return scan_query(native, parent)
    if type(native).__module__.startswith("pyarrow._dataset"):
        return scan_dataset(native, parent)
    return scan_frame(native)


def _sql(connection: Any, query: Any) -> Any:
    """A query as a relation of DuckDB."""
    if not type(connection).__module__.partition(".")[0].strip("_").startswith("duckdb"):
        raise TypeError(f"connection must be a connection of DuckDB, got {type(connection).__name__}.")
    import duckdb

    if not isinstance(query, str):
        raise TypeError(f"With a connection, source must be the text of a query, got {type(query).__name__}.")
    try:
        relation = connection.sql(query)
    except duckdb.Error as error:
        raise ValueError(f"DuckDB cannot run the query ({str(error).splitlines()[0]}).") from error
    if relation is None:
        raise ValueError(f"The query {query[:60]!r} returns no rows; scan a SELECT.")
    return relation
