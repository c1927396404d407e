"""Engines that queries are tested in: each takes rows as the table ``data``, and gives a query's rows by ``row_id``."""

from __future__ import annotations

import datetime as dt
import math
import sqlite3
from collections.abc import Callable
from typing import Any

import duckdb
import polars as pl

Rows = list[dict[str, Any]]
Engine = Callable[[pl.DataFrame, str], Rows]


def run_duckdb(frame: pl.DataFrame, query: str) -> Rows:
    with duckdb.connect() as connection:
        connection.register("data", frame.with_row_index("row_id"))
        return _sorted(connection.sql(query).pl().rows(named=True))


def run_sqlite(frame: pl.DataFrame, query: str) -> Rows:
    connection = sqlite3.connect(":memory:")
    frame = frame.with_row_index("row_id")
    names = ", ".join('"{}"'.format(name.replace('"', '""')) for name in frame.columns)
    connection.execute(f"CREATE TABLE data ({names})")
    marks = ", ".join("?" * frame.width)
    values = ([_plain(value) for value in row] for row in frame.iter_rows())
    connection.executemany(f"INSERT INTO data VALUES ({marks})", values)
    found = connection.execute(query)
    columns = [about[0] for about in found.description]
    return _sorted([dict(zip(columns, row, strict=True)) for row in found])


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    return value.isoformat() if isinstance(value, (dt.date, dt.time)) else value


def _sorted(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: int(row["row_id"]))


def script(dialect: str, frame: pl.DataFrame, query: str) -> str:
    """SQL that makes the table and gives the rows of the query."""
    frame = frame.with_row_index("row_id")
    types = _TYPES[dialect]
    mark = "`" if dialect == "mysql" else '"'
    columns = [
        f"{mark}{name.replace(mark, 2 * mark)}{mark} {types[type(dtype)]}" for name, dtype in frame.schema.items()
    ]
    rows = ",\n".join(f"({', '.join(_literal(dialect, value) for value in row)})" for row in frame.iter_rows())
    table = f"DROP TABLE IF EXISTS data;\nCREATE TABLE data ({', '.join(columns)});\n"
    return f"{table}INSERT INTO data VALUES {rows};\n{query}"


_TYPES: dict[str, dict[Any, str]] = {
    "postgres": {
        pl.UInt32: "int",
        pl.Int64: "bigint",
        pl.Float64: "double precision",
        pl.String: "text",
        pl.Boolean: "boolean",
        pl.Date: "date",
        pl.Datetime: "timestamp",
        pl.Time: "time",
        pl.Duration: "interval",
    },
    "mysql": {
        pl.UInt32: "int",
        pl.Int64: "bigint",
        pl.Float64: "double",
        pl.String: "varchar(50) character set utf8mb4 collate utf8mb4_general_ci",
        pl.Boolean: "boolean",
        pl.Date: "date",
        pl.Datetime: "datetime(6)",
        pl.Time: "time(6)",
    },
}


def _literal(dialect: str, value: Any) -> str:
    if value is None or (dialect == "mysql" and isinstance(value, float) and math.isnan(value)):
        return "NULL"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return f"{value!r}" if math.isfinite(value) else f"'{value!r}'"
    if isinstance(value, dt.timedelta):
        return f"'{value // dt.timedelta(microseconds=1)} microseconds'"
    if isinstance(value, int):
        return str(value)
    text = str(_plain(value)).replace("'", "''")
    return "'{}'".format(text.replace("\\", "\\\\") if dialect == "mysql" else text)
