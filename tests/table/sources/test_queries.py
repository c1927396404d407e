"""Frames, datasets and queries of other engines: the same rows, which come in one order."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import bayesieve
from bayesieve.table import as_table
from bayesieve.table.sources.base import Source
from bayesieve.table.values import canonical_text


def table(n_rows: int = 1000) -> pl.DataFrame:
    random = np.random.default_rng(4)
    number = random.integers(0, 7, n_rows)
    return pl.DataFrame(
        {
            "^x.*$": pl.Series(number * 0.5).set(pl.Series(number == 2), float("nan")),
            "*": pl.Series(["a", "b'", None, "ü"])[(number % 4).tolist()],
            "zero": np.where(number % 2, 0.0, -0.0),
            "n": pl.Series(number).set(pl.Series(number == 1), None),
            "day": pl.Series(number.astype("datetime64[D]")),
            "moment": pl.Series(number.astype("datetime64[us]")),
            "right": number > 3,
            "w": random.uniform(size=n_rows),
            "class": random.choice(["no", "yes"], n_rows).tolist(),
        }
    )


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Without names that polars takes for patterns, and without NaN: pandas has no other missing number."""
    columns = [column.alias(f"c{i}") for i, column in enumerate(frame.get_columns())]
    return pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))


def polars_query(frame: pl.DataFrame, folder: Path) -> Source:
    return bayesieve.scan(frame.lazy(), cache=folder)


def duckdb_relation(frame: pl.DataFrame, folder: Path) -> Source:
    duckdb = pytest.importorskip("duckdb")
    frame.write_parquet(folder / "rows.parquet")
    return bayesieve.scan(duckdb.connect().read_parquet(str(folder / "rows.parquet")), cache=folder)


def sql(frame: pl.DataFrame, folder: Path) -> Source:
    duckdb = pytest.importorskip("duckdb")
    frame.write_parquet(folder / "rows.parquet")
    query = f"select * from read_parquet('{folder / 'rows.parquet'}')"
    return bayesieve.scan(query, connection=duckdb.connect(), cache=folder)


def dask_frame(frame: pl.DataFrame, folder: Path) -> Source:
    dask = pytest.importorskip("dask.dataframe")
    return bayesieve.scan(dask.from_pandas(frame.to_pandas(), npartitions=3), cache=folder)


def spark_frame(frame: pl.DataFrame, folder: Path) -> Source:
    sql = pytest.importorskip("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.ui.enabled": "false", "spark.driver.memory": "600m", "spark.sql.session.timeZone": "UTC"}
    session = sql.SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    frame.write_parquet(folder / "rows.parquet")
    return bayesieve.scan(session.read.parquet(str(folder / "rows.parquet")), cache=folder)


def arrow_dataset(frame: pl.DataFrame, folder: Path) -> Source:
    dataset = pytest.importorskip("pyarrow.dataset")
    return bayesieve.scan(dataset.dataset(frame.to_arrow()), cache=folder)


def memory(frame: pl.DataFrame, folder: Path) -> Source:
    return bayesieve.scan(frame)


def pandas_frame(frame: pl.DataFrame, folder: Path) -> Source:
    return bayesieve.scan(frame.to_pandas())


SPARK = pytest.mark.skipif("BAYESIEVE_SPARK" not in os.environ, reason="takes a minute: set BAYESIEVE_SPARK=1")
ENGINES = [
    pytest.param(spark_frame, marks=SPARK),
    polars_query,
    duckdb_relation,
    sql,
    dask_frame,
    arrow_dataset,
    memory,
    pandas_frame,
]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_reads_alike(engine: Callable[..., Source], tmp_path: Path) -> None:
    frame = table()
    source, files = engine(frame, tmp_path), tmp_path / "expected"
    files.mkdir()
    frame.write_parquet(files / "rows.parquet")
    expected = bayesieve.scan(files)
    assert (source.names, source.n_rows) == (expected.names, expected.n_rows)
    rows = pl.concat(source.blocks(block_rows=300))
    assert_frame_equal(plain(rows), plain(frame).cast(dict(plain(rows).schema)))
    assert rows.schema == source.schema
    fewer = source.select(["class", "*"])
    assert_frame_equal(pl.concat(fewer.blocks()), rows[["class", "*"]])
    assert_frame_equal(pl.concat(engine(frame, tmp_path).select(["class", "*"]).blocks()), rows[["class", "*"]])
    sent = pickle.loads(pickle.dumps(source))
    assert_frame_equal(pl.concat(piece.read(["^x.*$"]) for piece in sent.pieces), rows[["^x.*$"]])
    assert source.fingerprint() == source.fingerprint() != fewer.fingerprint()
    source.check_unchanged()


def test_types_of_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    query = """
        SELECT i % 3 AS k, (i % 3)::HUGEINT AS h, (i % 3)::DECIMAL(9, 2) AS d, ('a' || i % 2)::ENUM('a0', 'a1') AS e,
            TIMESTAMPTZ '2024-01-01' + INTERVAL (i % 2) DAY AS z, TIME '12:00' AS t, NULL AS nothing,
            '101'::BIT AS bits, ('0000000' || i % 2 || '-0000-0000-0000-000000000000')::UUID AS u FROM range(100) r(i)
    """
    source = bayesieve.scan(query, connection=duckdb.connect())
    rows = pl.concat(source.blocks())
    assert rows.schema == source.schema
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    again = bayesieve.scan(query, connection=duckdb.connect())
    assert_frame_equal(pl.concat(again.select(["e", "d"]).blocks()), rows[["e", "d"]])


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select * from nowhere", r"^DuckDB cannot run the query \(Catalog Error"),
        ("", "returns no rows; scan a SELECT"),
        ("select interval 1 day as i", "Column 'i' holds intervals of DuckDB"),
        ("select 1 as a where false", "The query has columns but no rows"),
    ],
)
def test_queries_that_are_no_table(query: str, words: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    with pytest.raises(ValueError, match=words):
        bayesieve.scan(query, connection=duckdb.connect())


def test_a_connection_is_of_duckdb() -> None:
    with pytest.raises(TypeError, match="connection must be a connection of DuckDB, got str"):
        bayesieve.scan("select 1", connection="here")
    duckdb = pytest.importorskip("duckdb")
    with pytest.raises(TypeError, match="source must be the text of a query, got int"):
        bayesieve.scan(1, connection=duckdb.connect())


def test_a_query_whose_rows_change_is_refused(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.sql("create table t as select 1 as a")
    source = bayesieve.scan("from t", connection=connection, cache=tmp_path)
    connection.sql("insert into t values (2)")
    with pytest.raises(ValueError, match="The query had 1 rows when it was scanned, now 2; scan it again"):
        source.pieces  # noqa: B018
    assert list(tmp_path.iterdir()) == []


def test_dask_partitions_have_one_type(tmp_path: Path) -> None:
    dask = pytest.importorskip("dask")
    pandas = pytest.importorskip("pandas")
    from dask import dataframe

    parts = [pandas.DataFrame({"x": pandas.Series(values, dtype=object)}) for values in ([True, None], [1.5], [2])]
    with dask.config.set({"dataframe.convert-string": False}):
        frame = dataframe.from_delayed([dask.delayed(part) for part in parts[1:]], meta=parts[0])
        assert bayesieve.scan(frame).schema == {"x": pl.Float64}
        frame = dataframe.from_delayed([dask.delayed(part) for part in parts], meta=parts[0])
        with pytest.raises(ValueError, match="is true or false in partition 0 of the Dask dataframe and a number in"):
            bayesieve.scan(frame)


def test_frames_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": pandas.Categorical([1.0, 2.5, 1.0]), 3: pandas.array([1, None, 2], dtype="Int64")})
    rows = pl.concat(bayesieve.scan(frame).blocks(block_rows=2))
    table, expected = as_table(rows), as_table(frame.rename(columns=str))
    assert (table.names, table.kinds(), table.types()) == (expected.names, expected.kinds(), expected.types())
    texts = [list(map(canonical_text, known.column(0).categories().values)) for known in (table, expected)]
    assert texts[0] == texts[1]
    months = pandas.period_range("2024", periods=2, freq="M")
    for column, words in (
        ([1, "x"], r"Column 'x' cannot be scanned \(.*\); convert it to one type"),
        (months, r"Column 'x' cannot be scanned \(.*period.*; convert it to text"),
    ):
        with pytest.raises(ValueError, match=words):
            bayesieve.scan(pandas.DataFrame({"x": column}))
    with pytest.raises(ValueError, match="Column name 'x' appears more than once"):
        bayesieve.scan(pandas.DataFrame([[1, 2]], columns=["x", "x"]))


def test_options_are_checked(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 2]})
    with pytest.raises(ValueError, match=r"block_rows must be 1 or more, got 0"):
        bayesieve.scan(frame).blocks(block_rows=0)
    with pytest.raises(ValueError, match=r"columns is empty; name at least one column"):
        bayesieve.scan(frame, columns=[])
    with pytest.raises(TypeError, match=r"A path must be text or a pathlib\.Path, got 3"):
        bayesieve.scan(frame, cache=3)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"No copies can be written into .*file"):
        bayesieve.scan(frame.lazy(), cache=tmp_path / "file").pieces  # noqa: B018
    assert bayesieve.scan(frame, columns=["a"]).names == ("a",)
