"""Tables, views and queries of SQLite and DuckDB files are read like the same rows in text tables."""

from __future__ import annotations

import datetime as dt
import gc
import os
import shutil
import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bayesieve import SelectiveNB, scan
from bayesieve.classifier.scoring import levels_of_columns
from bayesieve.table.reading import read_header, read_table
from tests.classifier.scoring import predict_to
from tests.cli.conftest import GERMAN
from tests.limits import absent

HOSTILE = 'a"b; DROP TABLE "odd" -- /*ü.csv'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def sqlite(name: str, **tables: pl.DataFrame) -> None:
    """Write tables into a file of SQLite, where columns have no type and values have one each."""
    with closing(sqlite3.connect(name)) as connection, connection:
        for table, frame in tables.items():
            columns = ", ".join('"' + column.replace('"', '""') + '"' for column in frame.columns)
            quoted = '"' + table.replace('"', '""') + '"'
            connection.execute(f"CREATE TABLE {quoted} ({columns})")
            marks = ", ".join("?" * frame.width)
            connection.executemany(f"INSERT INTO {quoted} VALUES ({marks})", frame.rows())


def duckdb(name: str, **tables: pl.DataFrame) -> None:
    """Write tables into a file of DuckDB."""
    library = pytest.importorskip("duckdb")
    with library.connect(name) as connection:
        for table, frame in tables.items():
            frame.write_parquet("copy.parquet")
            quoted = '"' + table.replace('"', '""') + '"'
            connection.execute(f"CREATE TABLE {quoted} AS SELECT * FROM 'copy.parquet'")


WRITE = {"sqlite": sqlite, "duckdb": duckdb}


@pytest.mark.slow
@pytest.mark.parametrize("engine", WRITE)
def test_tables_views_and_queries(engine: str) -> None:
    frame = pl.DataFrame({"n": [3, None, 5], 'x "y"': [0.5, 2.0, None], "t": ["NA", "007", None]})
    WRITE[engine]("one.db", **{HOSTILE: frame})
    for named in ("one.db", f"one.db::{HOSTILE}"):
        gc.collect()  # nothing but the source holds the connection
        source = scan(named)
        assert pl.concat(source.blocks()).equals(frame)
        assert source.select(['x "y"']).names == ('x "y"',)
    assert read_table(f"one.db::{HOSTILE}").equals(frame)
    assert read_header("one.db") == frame.columns
    WRITE[engine]("two.db", first=frame, second=frame.head(1))
    assert read_table("two.db::second").height == 1
    with pytest.raises(
        ValueError, match=r"two\.db holds several tables, 'first' and 'second'; name one, as in two\.db::"
    ):
        scan("two.db")
    with pytest.raises(ValueError, match=r"two\.db has no table 'third'; it has 'first' and 'second'"):
        scan("two.db::third")
    query = 'with a as (select n, "x ""y""" from first where n > 3)\nselect * from a; '
    assert read_table(f"two.db::{query}").rows() == [(5, None)]
    with pytest.raises(ValueError, match=r"(two\.db cannot be read|DuckDB cannot run the query).*(nix)"):
        scan("two.db::SELECT nix FROM first")
    with pytest.raises(ValueError, match="has columns but no rows"):
        scan("two.db::SELECT * FROM first WHERE n > 9")


def test_schemas_and_types_of_duckdb() -> None:
    library = pytest.importorskip("duckdb")
    with library.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE a AS SELECT range AS x FROM range(300000)")
        connection.execute("CREATE SCHEMA s; CREATE VIEW s.v AS SELECT x // 2 AS half, DATE '2024-01-31' AS day FROM a")
    source = scan("shop.duckdb::s.v")
    assert source.n_rows == 300_000
    assert sum(block["half"].sum() for block in source.blocks()) == sum(x // 2 for x in range(300_000))
    assert source.schema["day"] == pl.Date
    with pytest.raises(ValueError, match=r"holds several tables, 'a' and 's\.v'"):
        scan("shop.duckdb")


def test_values_of_sqlite_have_a_type_each() -> None:
    rows = {
        "blank": [1, "", 3],
        "mixed": [1, 2.5, None],
        "dirty": [1, "unknown", 2.5],
        "day": ["2024-02-29", None, "1969-07-20"],
        "moment": ["2024-02-29 10:00", "1969-07-20T20:17:40.250001", "2024-03-01"],
        "offset": ["2024-02-29 10:00:00+02:00", "2024-02-29T08:00:00Z", "29.02.2024 08:00"],
        "no_day": ["2024-02-30", "2024-02-29", "2024-02-28"],
        "bytes": [b"\xff", b"", 1],
        "nothing": [None, None, None],
        "wrong": ["ok", "ok", "ok"],
    }
    sqlite("types.sqlite", t=pl.DataFrame({name: pl.Series(values, dtype=pl.Object) for name, values in rows.items()}))
    with closing(sqlite3.connect("types.sqlite")) as connection, connection:
        connection.execute("UPDATE t SET wrong = CAST(X'4dfc6e' AS TEXT) WHERE mixed = 1")  # not UTF-8
    moments = [dt.datetime(2024, 2, 29, 10), dt.datetime(1969, 7, 20, 20, 17, 40, 250_001), dt.datetime(2024, 3, 1)]
    assert read_table("types.sqlite").to_dict(as_series=False) == {
        "blank": [1, None, 3],
        "mixed": [1.0, 2.5, None],
        "dirty": ["1", "unknown", "2.5"],
        "day": [dt.date(2024, 2, 29), None, dt.date(1969, 7, 20)],
        "moment": moments,
        "offset": [dt.datetime(2024, 2, 29, 8)] * 3,
        "no_day": rows["no_day"],
        "bytes": ["\\xff", "", "1"],
        "nothing": [None] * 3,
        "wrong": ["M\ufffdn", "ok", "ok"],
    }


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_model_reads_each_value_of_sqlite_alone() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    training = pl.DataFrame(
        {
            "number": rng.normal(size=600).round(3) + y,
            "text": [f"{v}.0" for v in rng.integers(0, 3, 600) + y],
            "whole": pl.Series([f"{v}" for v in rng.integers(0, 3, 600) + y], dtype=pl.Categorical),
            "flag": (rng.random(600) < 0.3 + 0.4 * y).tolist(),
            "day": [dt.date(2024, 1, 1) + dt.timedelta(int(v)) for v in rng.integers(0, 90, 600) + 30 * y],
        }
    )
    model = SelectiveNB(pairs=0).fit(training, y)
    rows = [(0.1 + 0.2, "2.0", 2, 1, "2024-03-01"), ("1e-3", "1.0", 1.0, "TRUE", "2024-03-01 00:00")]
    others = [("n/a", 7, "x", None, "soon"), (b"1", None, b"2", 2.5, 20_000)]
    scores = []
    for k, tables in enumerate((rows[:1], rows[1:], [*rows, *others], [*others, *rows[::-1]])):
        with closing(sqlite3.connect(f"{k}.db")) as connection, connection:
            connection.execute("CREATE TABLE t (number, text, whole, flag, day)")
            connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", tables)
        scores.append(model.predict_proba(f"{k}.db")[:, 1].tolist())
        assert read_table(f"{k}.db", levels_of_columns(model)).height == len(tables)
    alone = [*scores[0], *scores[1]]
    typed = pl.DataFrame(
        {
            "number": [0.1 + 0.2, 1e-3],
            "text": ["2.0", "1.0"],
            "whole": [2, 1],
            "flag": [True, True],
            "day": ["2024-03-01"] * 2,
        }
    )
    assert np.allclose(alone, model.predict_proba(typed)[:, 1], atol=1e-12)
    assert scores[2][:2] == alone
    assert scores[3][2:] == alone[::-1]


def test_views_of_a_file_read_nothing_else(tmp_path: Path) -> None:
    library = pytest.importorskip("duckdb")
    Path("secret.txt").write_text("api key\n")
    secret = pl.DataFrame({"note": ["api key"]})
    with library.connect("evil.duckdb") as connection:
        connection.execute(f"CREATE VIEW reads AS SELECT content FROM read_text('{tmp_path}/secret.txt')")
    with pytest.raises(ValueError, match=r"reads other files, which is refused\. If you trust it, connect with DuckDB"):
        scan("evil.duckdb::reads")
    with pytest.raises(ValueError, match="reads other files"):
        scan(f"evil.duckdb::SELECT * FROM read_text('{tmp_path}/secret.txt')")
    with pytest.raises(ValueError, match="secret does not exist"):
        scan("evil.duckdb::SELECT * FROM secret")
    with library.connect("evil.duckdb", read_only=True) as connection:  # the file was closed
        rows = pl.concat(scan(connection.sql("SELECT * FROM reads")).blocks())
    assert rows.rows() == [("api key\n",)]
    assert secret.height == 1
    with closing(sqlite3.connect("evil.sqlite")) as connection:
        connection.execute("CREATE VIEW v AS SELECT file FROM pragma_database_list")
    with pytest.raises(ValueError, match="unsafe use of virtual table"):
        scan("evil.sqlite")


def test_an_interrupt_stops_a_query_of_sqlite() -> None:
    sqlite("one.db", t=pl.DataFrame({"a": [1]}))
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) AS n FROM c"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background ignores
    try:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            scan(f"one.db::{endless}")
    finally:
        signal.signal(signal.SIGINT, before)


def test_files_that_are_no_databases() -> None:
    for named in ("none.db", "none.db::table"):
        with pytest.raises(FileNotFoundError, match=r"There is no file none\.db"):
            read_table(named)
    Path("text.db").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"text\.db is neither a SQLite nor a DuckDB database"):
        scan("text.db")
    for engine, write in WRITE.items():
        write(f"{engine}.db", t=pl.DataFrame({"a": range(5000)}))
        Path("cut.db").write_bytes(Path(f"{engine}.db").read_bytes()[:3000])
        with pytest.raises(ValueError, match=r"cut.db cannot be read \(.*\); check the file and the query"):
            read_table("cut.db::t")
        shutil.copy(f"{engine}.db", f"whole-{engine}.db")
    with closing(sqlite3.connect("empty.db")) as connection:
        connection.execute("VACUUM")
    with pytest.raises(ValueError, match=r"empty.db has no table ''; it has none\."):
        scan("empty.db")
    message = r"whole-duckdb.db is read by DuckDB; run pip install 'bayesieve\[scale\]'\."
    with absent("duckdb"), pytest.raises(ValueError, match=message):
        scan("whole-duckdb.db")
    assert scan("whole-sqlite.db").n_rows == 5000


@pytest.mark.slow
@pytest.mark.parametrize("engine", WRITE)
def test_models_learn_from_tables(engine: str) -> None:
    frame = pl.read_csv(GERMAN)
    WRITE[engine]("credit.db", customers=frame)
    model = SelectiveNB(pairs=0).fit("credit.db::customers", "class")
    expected = SelectiveNB(pairs=0).fit(frame, "class").predict_proba(frame.drop("class"))
    assert np.allclose(model.predict_proba("credit.db"), expected)
    assert predict_to(model, "p.csv", "credit.db::customers") == 1000
    Path("p.parquet").symlink_to("credit.db")
    with pytest.raises(ValueError, match="is one of the files that are read"):
        predict_to(model, "p.parquet", "credit.db::customers")


def test_a_folder_of_files_may_be_named_as_a_database(tmp_path: Path) -> None:
    (tmp_path / "claims.db").mkdir()
    pl.DataFrame({"a": [1, 2]}).write_parquet(tmp_path / "claims.db" / "rows.parquet")
    assert scan("claims.db").names == ("a",)
