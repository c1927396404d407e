"""Passes over scans: the same bits in memory, from files and by executors, however rows and columns are cut."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import bayesieve
from bayesieve import SelectiveNB, TableEncoder
from bayesieve.discretize import row_blocks, scan_passes
from bayesieve.discretize.coding_options import CodingOptions
from bayesieve.discretize.refitting import LevelRefitter
from bayesieve.discretize.scan_passes import _block_starts
from bayesieve.engine import Mapped
from bayesieve.engine.executors import executor_of
from bayesieve.table.scanned import scanned_rows
from tests.limits import Limits, Watch

LIMITS = {"exact_rows": 300, "most_numbers": 150, "most_categories": 40, "most_texts": 60}


def table(n_rows: int, n_values: int, seed: int = 0) -> pl.DataFrame:
    """Three classes, some of them missing, fractional weights, numbers and texts of few and of many values."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    labels = pl.Series(["no", "maybe", "yes"]).gather(y)
    texts = pl.Series(rng.integers(0, n_values, n_rows)).cast(pl.String)
    return pl.DataFrame(
        {
            "numbers": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows) + y),
            "few": rng.integers(0, 9, n_rows) + y,
            "y": labels.set(pl.Series(rng.random(n_rows) < 0.02), None),
            "texts": texts.set(pl.Series(rng.random(n_rows) < 0.05), None),
            "day": pl.Series(rng.integers(0, 3000, n_rows)).cast(pl.Date),
            "kind": pl.Series([f"k{k}" for k in range(12)]).gather(np.minimum(rng.geometric(0.3, n_rows) + y, 11)),
            "w": rng.random(n_rows) * 2,
        }
    )


def written(frame: pl.DataFrame, folder: Path, n_files: int) -> str:
    size = -(-frame.height // n_files)
    for k in range(n_files):
        frame[k * size : (k + 1) * size].write_parquet(folder / f"{k}.parquet", row_group_size=max(1, size // 3))
    return f"{folder}/*.parquet"


def coded(rows: tuple[Any, Any, Any], executor: Executor | None = None, verbose: int = 0) -> list[Any]:
    """Everything that a fit takes from the rows: levels, codes, hashes, and the values of a sample."""
    encoder = TableEncoder(n_quantiles=60)
    coding = CodingOptions(lists_classes=True, executor=executor, verbose=verbose)
    part, refitter = encoder.fit_with_refitter(*rows, coding=coding)
    part = part.by_class
    positions = part.sampler.draw(20)
    columns = sampled(refitter, part.rows.in_table(positions))
    values = [[column.value(row) for row in range(20)] for (column,) in columns]
    levels = [repr(level.to_json()) for level in encoder.levels_]
    return [levels, part.codes, part.sampler.row_hashes(), positions, *map(np.asarray, values), encoder.cautions_]


def sampled(refitter: LevelRefitter, rows: np.ndarray) -> list[Any]:
    return refitter.raw_columns(range(refitter.table.n_columns), rows)


def assert_equal(one: list[Any], other: list[Any]) -> None:
    for a, b in zip(one, other, strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)
        else:
            assert a == b


@pytest.mark.filterwarnings("ignore")
def test_memory_files_and_executors_give_the_same_bits(
    tmp_path: Path, limits: Limits, capsys: pytest.CaptureFixture[str]
) -> None:
    limits(**LIMITS)
    limits(block_rows=700)
    frame = table(3000, 500)
    scan = bayesieve.scan(written(frame, tmp_path, 3))
    known = frame.filter(frame["y"].is_not_null())
    expected = coded((known.drop("y", "w"), known["y"], known["w"]))
    assert {caution.kind for caution in expected[-1]} == {"many values", "quantiles"}
    assert_equal(coded((scan, "y", "w")), expected)
    limits(block_cells=1400)  # two columns at a time
    assert_equal(coded((scan, "y", "w")), expected)
    with ThreadPoolExecutor(3) as pool:
        assert_equal(coded((scan, "y", "w"), pool, verbose=1), expected)
        told = capsys.readouterr().err
        assert "Pass for counts: 2,924 rows, 5 columns; " in told
        assert "MB sent, 0." in told
        limits(task_cells=3000)  # a few columns of a block
        limits(most_sent=2000)
        assert_equal(coded((scan, "y", "w"), pool), expected)


@pytest.mark.filterwarnings("ignore")
def test_a_model_is_the_same_by_an_executor(tmp_path: Path, watch: Watch, limits: Limits) -> None:
    """Also with weights that are divided by their mean, and a class whose rows weigh nothing."""
    limits(block_rows=300)
    frame = table(900, 30).with_columns(w=pl.when(pl.col("y") == "maybe").then(0.0).otherwise(pl.col("w")))
    scan = bayesieve.scan(written(frame, tmp_path, 2))
    with ThreadPoolExecutor(2) as pool:
        here, there = (SelectiveNB(engine=engine, normalize=True, verbose=0) for engine in ("memory", pool))
        uses: list[Any] = []
        watch(pool, "submit", lambda *task: uses.append(task))
        X = frame.drop("y", "w")
        expected = here.fit(scan, "y", "w").scorecard_.joint(X)
        assert not uses
        np.testing.assert_array_equal(there.fit(scan, "y", "w").scorecard_.joint(X), expected)
        assert uses
        assert clone(there).engine is pool  # also inside other estimators
        assert pickle.loads(pickle.dumps(there)).engine == "memory"
        known = frame.filter(frame["y"].is_not_null())
        with pytest.warns(UserWarning, match="The executor passed as engine is not used: it only reads files"):
            there.fit(known.drop("w"), "y")
        (tmp_path / "1.parquet").rename(tmp_path / "elsewhere")
        limits(text_bytes={})  # which the caller reads
        with pytest.raises(ValueError, match=r"cannot read .*1\.parquet \(No such file or directory\); put the"):
            TableEncoder().fit_transform_coded(*scan_without_reading(scan), coding=CodingOptions(executor=pool))
    with pytest.raises(ValueError, match="engine must be 'memory', 'disk', a Dask client or an executor of concurrent"):
        SelectiveNB(engine="dask://host:8786").fit(scan, "y")


def scan_without_reading(scan: Any) -> tuple[Any, Any]:
    """The rows of a scan whose target was read before a file went away."""
    path = scan.files[1].path
    path.with_name("elsewhere").rename(path)
    rows = scanned_rows(scan, "y")
    path.rename(path.with_name("elsewhere"))
    return rows.table, rows.target


@pytest.mark.filterwarnings("ignore")
def test_an_error_of_a_worker_is_that_of_the_caller(tmp_path: Path, limits: Limits) -> None:
    limits(block_rows=100)
    frame = table(500, 9)
    infinite = pl.when(pl.arange(500) == 377).then(np.inf).otherwise(frame["numbers"])
    scan = bayesieve.scan(written(frame.with_columns(numbers=infinite), tmp_path, 2))
    with ThreadPoolExecutor(2) as pool:
        for executor in (None, pool):
            with pytest.raises(ValueError, match=r"Column 'numbers' contains infinity \(first in row 377\)") as raised:
                coded((scan, "y", "w"), executor)
            error = pickle.loads(pickle.dumps(raised.value))  # as a process would hand it over
            assert (type(error), str(error)) == (type(raised.value), str(raised.value))


def test_blocks_begin_at_rows_with_a_target(limits: Limits) -> None:
    limits(block_rows=10)
    rng = np.random.default_rng(0)
    for share in (0.05, 0.5, 1.0):
        known = rng.random(157) < share
        starts = _block_starts(known, 157, 10)
        positions = np.flatnonzero(known)[10::10]
        np.testing.assert_array_equal(starts, [0, *positions, 157])
    np.testing.assert_array_equal(_block_starts(None, 25, 10), [0, 10, 20, 25])


@contextmanager
def pools() -> Iterator[dict[str, Executor]]:
    from distributed import Client, LocalCluster

    spawns = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(2, spawns) as pool,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        executor = executor_of(client)
        assert executor is not None
        yield {"pool": pool, "dask": executor}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_large_table_gives_the_same_bits_by_processes_and_dask(tmp_path: Path) -> None:
    frame = table(1_500_000, 700_000)
    assert frame["numbers"].n_unique() > row_blocks.MOST_NUMBERS
    assert frame["texts"].n_unique() > row_blocks.MOST_CATEGORIES
    scan = bayesieve.scan(written(frame, tmp_path, 3))
    known = frame.filter(frame["y"].is_not_null())
    expected = coded((known.drop("y", "w"), known["y"], known["w"]))
    assert_equal(coded((scan, "y", "w")), expected)
    with pools() as executors:
        for executor in executors.values():
            assert_equal(coded((scan, "y", "w"), executor), expected)


@pytest.mark.filterwarnings("ignore")
def test_long_texts_are_read_in_parts_of_a_block(tmp_path: Path, limits: Limits) -> None:
    limits(rows_of_a_part=50, block_cells=40_000)
    rng = np.random.default_rng(0)
    frame = table(2000, 50).drop("w").with_columns(long=pl.Series([f"{i:01000}" for i in rng.integers(0, 40, 2000)]))
    frame = frame.with_columns(long=pl.when(pl.col("y") == "maybe").then(pl.lit(f"{1:01000}")).otherwise("long"))
    scan = bayesieve.scan(written(frame, tmp_path, 2))
    assert scan.text_bytes["long"] == 1000
    assert scan_passes._rows_of_part(125) == 256
    known = frame.filter(frame["y"].is_not_null())
    one, other = SelectiveNB().fit(scan, "y"), SelectiveNB().fit(known, "y")
    assert "long" in one.selected_features_
    np.testing.assert_array_equal(one.scorecard_.joint(frame.drop("y")), other.scorecard_.joint(frame.drop("y")))


@pytest.mark.slow
def test_a_sample_of_long_texts_is_as_small_as_the_memory(tmp_path: Path) -> None:
    n_rows = 30_000
    frame = pl.DataFrame({"a": range(n_rows), "text": [f"{i:06}" * 200 for i in range(n_rows)], "y": [0, 1] * 15_000})
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=10_000)
    engine = Mapped(str(tmp_path), reading_bytes=8_000_000)
    coding = CodingOptions(engine=engine, sample_size=lambda n_columns, n_classes: 20_000)
    scan = bayesieve.scan(tmp_path / "rows.parquet")
    part, refitter = TableEncoder().fit_with_refitter(scan, "y", None, coding)
    sample = refitter.table.sample
    room = 8_000_000 // 1216  # for two samples, which have most of their rows in common
    assert room // 2 <= sample.rows.size <= room
    # polars would keep the texts of all rows, of which these are a view
    buffers = sample.frame["text"].to_arrow(compat_level=pl.CompatLevel.newest()).buffers()
    assert sum(buffer.size for buffer in buffers if buffer is not None) < 10_000_000
    # no later step asks for rows that are read again
    for most in (1000, 20_000):
        assert refitter.table.sample.at(part.sampler.draw(most)) is not None
        assert refitter.table.sample.at(part.sampler.draw_by_class(most)) is not None
