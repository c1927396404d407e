"""`scan`: open Parquet files in place, and copy all other sources to Parquet."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from bayesieve.forking import refuse_fork
from bayesieve.table.paths import checked_path, database_in
from bayesieve.table.scans import CopyProgress, DataFile, FileState, Scan

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.table.levels import FeatureLevels
    from bayesieve.table.to_parquet import Copies

_REMOVED = {
    "dask_dataframe": ("A Dask dataframe", 'frame.to_parquet("folder")'),
    "pyspark_dataframe": ("A Spark dataframe", 'frame.write.parquet("folder")'),
    "pyspark_connect_dataframe": ("A Spark dataframe", 'frame.write.parquet("folder")'),
}


def scan(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: CopyProgress | None = None,
) -> Scan:
    """Scan a table that need not fit in memory.

    Parquet files are read in place. All other sources are copied to Parquet once, before this function returns.

    Parameters
    ----------
    source : path, list of paths, query or dataframe
        - Files (Parquet, Arrow, CSV or TSV, the last two also compressed with gzip): one file, a pattern such as
          ``claims/*.parquet``, or a folder with all files in it. Folders named ``column=value`` make a column. A list
          of these may not mix formats. The first sheet of a workbook (.xlsx, .xls, .ods) is read.
        - A table or view of a SQLite or DuckDB file (.db, .sqlite, .duckdb): ``shop.db::customers``, the file alone if
          it holds only one, or ``shop.db::SELECT ...``.
        - A polars LazyFrame or a DuckDB relation.
        - A dataframe in memory.
    columns : sequence of str, optional
        The columns to keep, in this order; all by default.
    folder : path, optional
        A folder for the copy; by default the system's one for temporary files. The copy is made in a new folder inside
        it, which is deleted with the scan, and after an error.
    progress : callable, optional
        Called with the number of rows and of bytes copied so far, after each block.

    Returns
    -------
    Scan

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a file cannot be read or does not fit the others, if there are no rows, a column does not exist, or the disk
        has no room for the copy.
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

    A query of polars:

    >>> scan(pl.LazyFrame({"age": [31, 54, 31], "paid": ["no", "yes", "no"]}))
    Scan(3 rows, 2 columns)
    """
    if columns is not None and not len(columns):
        raise ValueError("columns is empty; name at least one column, or omit the option for all columns.")
    table = source if isinstance(source, Scan) else _scanned(source, columns, folder, progress, None)
    return table if columns is None else table.select(columns)


def scan_to_score(source: Any, levels: Mapping[str, FeatureLevels], progress: CopyProgress | None = None) -> Scan:
    """Scan rows to be scored: values are read by the levels of a model, and no types are inferred from the rows.

    ``levels`` maps names of columns to their levels. If ``source`` is a scan whose types were inferred, its files are
    read again if a text column of the model was inferred as another type: the number 7 does not show whether it was
    written as 007.
    """
    if not isinstance(source, Scan):
        return _scanned(source, None, None, progress, levels)
    import polars as pl

    is_text = (
        dtype == pl.String or name not in levels or levels[name].type not in ("text", "mixed")
        for name, dtype in source.schema.items()
    )
    if not source.untyped or all(is_text):
        return source
    for file in source.files:
        if file.origin is not None:
            file.origin.check_unchanged()
    return _scanned(list(source.untyped), None, None, progress, levels).select(source.names)


def _scanned(
    source: Any,
    columns: Sequence[str] | None,
    folder: str | os.PathLike[str] | None,
    progress: CopyProgress | None,
    levels: Mapping[str, FeatureLevels] | None,
) -> Scan:
    """Return a scan of a source other than a scan: Parquet files in place, others after copying.

    ``source``, ``columns``, ``folder`` and ``progress`` are the arguments of `scan`. ``levels`` maps names of a model's
    columns to the levels by which values are read; None infers types.
    """
    from bayesieve.table import to_parquet

    refuse_fork()
    parent = None if folder is None else checked_path(folder)
    paths = [source] if isinstance(source, (str, os.PathLike)) else source
    if isinstance(paths, (list, tuple)) and all(isinstance(path, (str, os.PathLike)) for path in paths):
        if not paths:
            raise ValueError("There are no files to scan; name at least one.")
        name = str(paths[0])
        table = _scanned_paths(paths, to_parquet.Copies(parent, progress), levels)
    else:
        native = nw.to_native(source, pass_through=True)
        refuse_removed(native)
        name = f"The {type(source).__name__}"
        table = to_parquet.copy_object(native, columns, to_parquet.Copies(parent, progress))
    if not table.schema:
        raise ValueError(f"{name} has no columns; a table needs at least one.")
    if table.n_rows == 0:
        raise ValueError(f"{name} has columns but no rows; a table needs at least one row.")
    return table


def _scanned_paths(
    paths: Sequence[str | os.PathLike[str]], copies: Any, levels: Mapping[str, FeatureLevels] | None
) -> Scan:
    """Return a scan of the files, or the database, that ``paths`` name; ``copies`` writes the Parquet files.

    ``levels`` maps names of a model's columns to the levels by which values are read; None infers types.
    """
    from bayesieve.table.parquet_files import files_of, scan_parquet_files, scannable_format

    if len(paths) == 1 and (database := database_in(paths[0])):
        from bayesieve.table.databases import scan_database

        file, inside = database
        table = scan_database(file, inside, copies, levels)
        return replace(table, untyped=tuple(paths))
    files: list[Path] = files_of(paths)
    formats = [scannable_format(path) for path in files]
    for path, name in zip(files, formats, strict=True):
        if name != formats[0]:
            raise ValueError(f"{files[0]} is {formats[0]} and {path} is {name}; scan files of one format.")
    if formats[0] == "Parquet":
        return scan_parquet_files(files, levels)
    table = _copy_files(files, str(formats[0]), copies, levels)
    return table if formats[0] == "Arrow" else replace(table, untyped=tuple(paths))


def refuse_removed(source: Any) -> None:
    """Raise TypeError for frames of Dask and Spark and for pyarrow datasets; the message has the line that writes
    Parquet.
    """
    for kind, (name, line) in _REMOVED.items():
        if getattr(nw.dependencies, f"is_{kind}")(source):
            raise TypeError(f"{name} cannot be scanned; write it as Parquet, {line}, and scan that folder.")
    if type(source).__module__.startswith("pyarrow._dataset"):
        line = 'pyarrow.dataset.write_dataset(dataset, "folder", format="parquet")'
        raise TypeError(f"A dataset of pyarrow cannot be scanned; write it as Parquet, {line}, and scan that folder.")


def _copy_files(paths: Sequence[Path], format: str, copies: Copies, levels: Mapping[str, FeatureLevels] | None) -> Scan:
    """Copy text files, Arrow files or workbooks, one Parquet file for each.

    Parameters
    ----------
    paths : sequence of Path
    format : "text", "Arrow" or "Excel"
    copies : writer of the Parquet files
    levels : mapping from the names of a model's columns to their levels, optional
        If given, values of text are read by the levels one by one, and no types are inferred.

    Raises
    ------
    ValueError
        If a file is not a table or does not fit the others; the message names the file and its defect.
    """
    from bayesieve.table.arrow_files import lazy_file, look_at
    from bayesieve.table.files import read_file
    from bayesieve.table.parquet_files import unified, with_partitions
    from bayesieve.table.text_files import DECODED, common_orders, text_blocks
    from bayesieve.table.to_parquet import batches_of

    states = [FileState.of(path) for path in paths]
    with copies.deleted_after_errors():
        frames: Sequence[Iterable[pl.DataFrame]]
        orders: dict[str, bool] = {}
        if format == "Arrow":
            inside = unified([look_at(path)[0] for path in paths], paths)
            frames = [batches_of(_cast(lazy_file(path), inside)) for path in paths]
        elif format == "Excel":
            orders_of_sheets: list[dict[str, bool]] = [{} for _ in paths]
            sheets = [read_file(path, levels, order) for path, order in zip(paths, orders_of_sheets, strict=True)]
            orders = common_orders(orders_of_sheets)
            inside = unified([sheet.schema for sheet in sheets], paths)
            frames = [[sheet[:, inside.names()].cast(inside)] for sheet in sheets]
        else:
            inside, frames, orders = text_blocks(paths, copies.folder.path, levels)
        schema, constants = with_partitions(inside, paths, levels)
        files = []
        for rows, state, values in zip(frames, states, constants, strict=True):
            file = copies.write(rows, inside, state)
            state.check_unchanged()
            files.append(DataFile(file.path, file.size, file.changed, file.n_rows, values, state))
        for decoded in copies.folder.path.glob(f"*{DECODED}"):
            decoded.unlink()
        return copies.scan(files, schema, orders)


def _cast(query: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
    """Return a query for the columns of a schema, converted to its types."""
    from polars import selectors

    return query.select(selectors.by_name(name).cast(dtype) for name, dtype in schema.items())
