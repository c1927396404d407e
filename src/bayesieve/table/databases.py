"""Tables, views and queries in files of SQLite and DuckDB, copied to Parquet."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from bayesieve.table.paths import checked_path
from bayesieve.table.scans import BLOCK_ROWS, Scan
from bayesieve.table.text_types import TextType
from bayesieve.table.to_parquet import Copies, copy_object, quoted_name
from bayesieve.table.values import canonical_text
from bayesieve.words import named

if TYPE_CHECKING:
    from bayesieve.table.levels import FeatureLevels

_DUCKDB_TABLES = "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
_SQLITE_TABLES = "SELECT 'main', name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*'"
# Settings for files of unknown origin: their views could read other files, load code that accesses a network, or read
# variables of the calling program.
_DUCKDB_CONFIG: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
# Number of steps of SQLite's virtual machine (about a millisecond) after which it calls a handler, which allows Ctrl-C.
_STEPS = 10_000
# Storage class of each value (in SQLite, values have types and columns do not), or "date" for texts that look like
# dates.
_CLASS = """CASE WHEN coalesce({0}, '') = '' THEN NULL WHEN typeof({0}) <> 'text' THEN typeof({0})
WHEN {0} GLOB '*[0-9][-./][0-9]*[-./][0-9]*' THEN 'date' ELSE 'text' END"""


def scan_database(file: Path, inside: str, copies: Copies, levels: Mapping[str, FeatureLevels] | None = None) -> Scan:
    """Copy the rows of a table, a view or a query of a SQLite or DuckDB file to Parquet, and return the scan of the
    copy.

    Parameters
    ----------
    file : Path
    inside : str
        The name of a table or view, or a query; may be empty if the file has one table.
    copies : writer of the Parquet files
    levels : mapping from the names of a model's columns to their levels, optional
        If given, columns of SQLite, which have no types, get the types of these levels instead of those of their
        values.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not a database or cannot be read, if there is no such table, or if there are several and none is
        named.
    """
    if not checked_path(file).is_file():
        raise FileNotFoundError(f"There is no file {file}; check its name and folder.")
    try:
        with file.open("rb") as opened:
            begin = opened.read(16)
        with copies.deleted_after_errors():
            if begin.startswith(b"SQLite format 3"):
                return _scan_sqlite(file, inside, copies, levels)
            if begin[8:12] == b"DUCK":
                return _scan_duckdb(file, inside, copies)
    except ModuleNotFoundError:
        raise ValueError(f"{file} is read by DuckDB; run pip install 'bayesieve[scale]'.") from None
    except Exception as error:
        if isinstance(error, ValueError):
            raise
        raise ValueError(
            f"{file} cannot be read ({str(error).splitlines()[0]}); check the file and the query."
        ) from error
    raise ValueError(
        f"{file} is neither a SQLite nor a DuckDB database; it is damaged or has a wrong file extension. Write it "
        "again, or rename it."
    )


def _query_of(file: Path, inside: str, tables: Sequence[tuple[str, str]]) -> str:
    """Return a SQL query that selects the rows of ``inside``: the name of a table or view, a query, or "" for the only
    table.

    ``tables`` are pairs of the schema and name of each table in ``file``. Raise ValueError if ``inside`` is none of
    them.
    """
    queries = {
        name if schema == "main" else f"{schema}.{name}": f"SELECT * FROM {quoted_name(schema)}.{quoted_name(name)}"
        for schema, name in tables
    }
    if inside in queries or re.match(r"(SELECT|WITH)\s", inside, re.IGNORECASE):
        return queries.get(inside, inside)
    if inside or len(queries) != 1:
        problem = f"has no table {inside!r}; it has" if inside or not queries else "holds several tables,"
        remedy = f"; name one, as in {file}::{next(iter(queries))}" if queries else ""
        raise ValueError(f"{file} {problem} {named(queries) or 'none'}{remedy}.")
    return next(iter(queries.values()))


def _scan_duckdb(file: Path, inside: str, copies: Copies) -> Scan:
    """Copy the rows of a table, view or query ``inside`` of a DuckDB file to Parquet, and return the scan of the copy.

    ``copies`` writes the Parquet files. The connection can access only the database file and the folder of the copy.
    """
    import duckdb

    folder = "'" + str(copies.folder.path).replace("'", "''") + "'"
    with closing(duckdb.connect(str(file), read_only=True, config=_DUCKDB_CONFIG)) as connection:
        connection.execute(f"SET temp_directory = {folder}; SET allowed_directories = [{folder}]")
        connection.execute("SET enable_external_access = false; SET lock_configuration = true")
        query = _query_of(file, inside, connection.execute(_DUCKDB_TABLES).fetchall())
        try:
            return copy_object(_relation_of(connection, query), None, copies)
        except ValueError as error:
            if isinstance(error.__cause__, duckdb.PermissionException):
                raise ValueError(
                    f"A view or query of {file} reads other files, which is refused. If you trust it, connect with "
                    "DuckDB and scan the relation connection.sql(query)."
                ) from error
            raise


def _relation_of(connection: Any, query: str) -> Any:
    """Return a SQL query as a DuckDB relation of ``connection``. Raise ValueError if DuckDB cannot run it, or if it is
    not a query for rows.
    """
    import duckdb

    try:
        relation = connection.sql(query)
    except duckdb.Error as error:
        raise ValueError(f"DuckDB cannot run the query ({str(error).splitlines()[0]}); correct it.") from error
    if relation is None:
        raise ValueError(f"The query {query[:60]!r} returns no rows; scan a SELECT.")
    return relation


def _scan_sqlite(file: Path, inside: str, copies: Copies, levels: Mapping[str, FeatureLevels] | None) -> Scan:
    """Copy the rows of a table, view or query ``inside`` of a SQLite file to Parquet, and return the scan of the copy.

    ``copies`` writes the Parquet files. Columns get types that fit all their values or, if ``levels`` (a model's levels
    by column) are given, the types that these levels read.
    """
    with (
        closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection,
        _stoppable(connection),
    ):
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        connection.execute("PRAGMA trusted_schema = OFF")  # views may not call functions with side effects
        connection.execute("BEGIN")  # all queries see the rows of one moment
        query = _query_of(file, inside, connection.execute(_SQLITE_TABLES).fetchall())
        rows = f"FROM ({query.rstrip().rstrip(';')}\n)"
        columns = _sqlite_columns(connection, rows, levels)
        schema = pl.Schema({column.name: column.dtype for column in columns})
        frames = (
            pl.DataFrame([*map(_SqliteColumn.read, columns, block)])
            for block in _sqlite_blocks(connection, rows, columns)
        )
        orders = {column.name: column.dates.day_first for column in columns if column.dates is not None}
        proved = {name: day_first for name, day_first in orders.items() if day_first is not None}
        return copies.scan([copies.write(frames, schema)], schema, proved)


@contextmanager
def _stoppable(connection: sqlite3.Connection) -> Iterator[None]:
    """Let Ctrl-C stop the queries of ``connection`` in the ``with`` block: SQLite calls a Python handler from time to
    time, in which signals are delivered.
    """
    connection.set_progress_handler(lambda: 0, _STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:
        # SQLite drops an exception that is raised in the handler, and reports that it was interrupted.
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from None
        raise


class _SqliteColumn:
    """Column of a SQLite query, read with one type for all its values.

    Parameters
    ----------
    name : str
    classes : set of str
        Storage classes that occur among the values: integer, real, text, blob, or date for texts that look like dates.
    level : FeatureLevels or None
        A model's levels of the column, if the values are read for scoring.
    """

    def __init__(self, name: str, classes: set[str], level: FeatureLevels | None) -> None:
        self.name, self._classes = name, classes
        # Numeric levels read 5 and "5" as one value, so numbers may stay numbers; other levels read the text of each
        # value.
        as_text = level is not None and (level.kind, level.type) != ("numeric", "number")
        self._number: pl.DataType | None = None
        if classes and classes <= {"integer", "real"} and not as_text:
            self._number = pl.Int64() if classes == {"integer"} else pl.Float64()
        self.dates = TextType(dates_only=True) if classes == {"date"} and level is None else None

    @property
    def dtype(self) -> pl.DataType:
        """Type of the values that `read` returns."""
        if self._number is not None:
            return self._number
        return pl.String() if self.dates is None else self.dates.dtype

    @property
    def sql(self) -> str:
        """SQL expression that selects the column."""
        column = quoted_name(self.name)
        if self._number is None:
            return column
        return f"NULLIF({column}, '')" if self._number == pl.Int64 else f"CAST(NULLIF({column}, '') AS REAL)"

    def read(self, values: Sequence[Any]) -> pl.Series:
        """Return a block of values, as SQLite returns them, as a series of type `dtype`."""
        if self._number is not None:
            return pl.Series(self.name, values, dtype=self._number)
        if self._classes - {"text", "date"}:
            values = [value if value is None or type(value) is str else canonical_text(value) for value in values]
        texts = pl.Series(self.name, values, dtype=pl.String)
        return texts if self.dates is None else self.dates.read(texts).alias(self.name)


def _sqlite_columns(
    connection: sqlite3.Connection, rows: str, levels: Mapping[str, FeatureLevels] | None
) -> list[_SqliteColumn]:
    """Return the columns of a query, with types that hold all values; the values are read to find them.

    ``rows`` is the FROM clause of the query. If ``levels`` are given, columns get the types of these levels instead.
    """
    names = [column[0] for column in connection.execute(f"SELECT * {rows} LIMIT 0").description]
    lists = ", ".join(f"group_concat(DISTINCT {_CLASS.format(quoted_name(name))})" for name in names)
    classes = connection.execute(f"SELECT {lists} {rows}").fetchone()
    columns = [
        _SqliteColumn(
            name, set(of_values.split(",")) if of_values else set(), None if levels is None else levels.get(name)
        )
        for name, of_values in zip(names, classes, strict=True)
    ]
    dated = [column for column in columns if column.dates is not None]
    for block in _sqlite_blocks(connection, rows, dated):
        for column, values in zip(dated, block, strict=True):
            assert column.dates is not None
            column.dates.add(pl.Series(values, dtype=pl.String))
    return columns


def _sqlite_blocks(
    connection: sqlite3.Connection, rows: str, columns: Sequence[_SqliteColumn]
) -> Iterator[tuple[Sequence[Any], ...]]:
    """Yield the rows of a query in blocks: for each block, a tuple with the values of each column.

    ``rows`` is the FROM clause of the query.
    """
    if columns:
        cursor = connection.execute(f"SELECT {', '.join(column.sql for column in columns)} {rows}")
        yield from (tuple(zip(*block, strict=True)) for block in iter(partial(cursor.fetchmany, BLOCK_ROWS), []))
