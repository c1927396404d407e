"""Queries of other engines: their counts are those of the rows, which come in one order."""

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
from bayesieve.table.sources.base import Source


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
def test_every_engine_counts_and_reads_alike(engine: Callable[..., Source], tmp_path: Path) -> None:
    frame = table()
    source, files = engine(frame, tmp_path), tmp_path / "expected"
    files.mkdir()
    frame.write_parquet(files / "rows.parquet")
    expected = bayesieve.scan(files)
    assert (source.names, source.n_rows) == (expected.names, expected.n_rows)
    for name in frame.columns:
        for weight in (None, "w"):
            counts, rows = expected.counts(name, "class", weight), source.counts(name, "class", weight)
            assert_frame_equal(rows, counts.cast({"value": source.schema[name]}))
    assert source.counts("n", "n").shape == (7, 3)
    assert source.counts("w", "class", most=999) is None
    assert source.counts("w", "class", most=1000).height == 1000
    rows = pl.concat(source.blocks(block_rows=300))
    assert_frame_equal(plain(rows), plain(frame).cast(dict(plain(rows).schema)))
    assert rows.schema == source.schema
    fewer = source.select(["class", "*"])
    assert_frame_equal(pl.concat(fewer.blocks()), rows[["class", "*"]])
    assert_frame_equal(fewer.counts("*", "class"), expected.counts("*", "class"))
    sent = pickle.loads(pickle.dumps(source))
    assert_frame_equal(pl.concat(piece.read(["^x.*$"]) for piece in sent.pieces), rows[["^x.*$"]])
    assert source.fingerprint() == source.fingerprint() != fewer.fingerprint()
    source.check_unchanged()
