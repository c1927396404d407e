"""A Dask cluster as the engine: the same model as in memory, in few round trips, whatever becomes of the workers."""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from typer.testing import CliRunner

import bayesieve
from bayesieve import (
    BoostedSelector,
    CompressionAveraging,
    DependenceClusterSelector,
    ImpreciseInformationGainSelector,
    InformationGainSelector,
    SelectiveNB,
    TableEncoder,
    WrapperSelector,
    load,
)
from bayesieve.cli.app import app
from bayesieve.counts import CodedTable
from bayesieve.counts.remote import RemoteTable
from bayesieve.counts.row_content import fingerprints
from bayesieve.criteria import LogLoss
from bayesieve.discretize import row_blocks
from bayesieve.engine import Cluster, Mapped
from bayesieve.engine.cluster import Keeper
from bayesieve.table import as_table
from bayesieve.table.scanned import ScannedTable
from bayesieve.table.sources import Source
from tests.processes import CONTEXT

distributed = pytest.importorskip("distributed")

SELECTORS = [
    CompressionAveraging(),
    WrapperSelector("log_loss", direction="forward-backward", recode=False),
    WrapperSelector("error", direction="forward", evaluation=3, recode=False),
    WrapperSelector("brier", evaluation="loo", recode=False, constraints={"recall:1": 0.1}),
    WrapperSelector("error", direction="fast", evaluation="train"),
    DependenceClusterSelector(n_cuts=4, recode=False),
    InformationGainSelector(n_features_to_select="auto", recode=False),
    ImpreciseInformationGainSelector(),
    BoostedSelector(10),
]


def table(n_rows: int = 2000, n_columns: int = 12) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n_rows)
    numbers = {f"n{i}": rng.normal(size=n_rows) + 0.4 * y * (i % 3 == 0) for i in range(n_columns)}
    texts = {f"t{i}": np.array(list("abcdef"))[np.maximum(rng.integers(0, 6, n_rows) - i * y, 0)] for i in range(3)}
    return pl.DataFrame(numbers | texts), y


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    options = {
        "n_workers": 2,
        "threads_per_worker": 2,
        "processes": False,
        "dashboard_address": ":0",
        "protocol": "tcp",
    }
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


def assert_released(client: Any) -> None:
    """Workers keep nothing, as soon as the client has said so."""
    end = time.monotonic() + 10
    while client.futures and time.monotonic() < end:
        gc.collect()
        time.sleep(0.02)
    assert not client.futures


@pytest.fixture(scope="module")
def coded() -> CodedTable:
    return TableEncoder().fit_transform_coded(*table())


@pytest.mark.parametrize(
    ("selector", "weight", "block_rows"),
    [(selector, *[(None, 300), ("whole", 1000)][i % 2]) for i, selector in enumerate(SELECTORS)],
)
def test_weights_are_those_in_memory(
    client: Any, source: Source, monkeypatch: pytest.MonkeyPatch, selector: Any, weight: str | None, block_rows: int
) -> None:
    options: dict[str, Any] = {"pairs": [("left", "right")], "calibrate": "weights"}
    alone = SelectiveNB(clone(selector), **options).fit(source, "target", weight)
    coded = alone.encoder_.fit_transform_coded(source, "target", weight)
    expected = clone(selector).fit_coded(coded)
    with Cluster(client, block_rows) as engine:
        found = clone(selector).fit_coded(coded.on(engine))
        if not isinstance(selector, DependenceClusterSelector):
            monkeypatch.setattr(RemoteTable, "here", property(lambda _: 1 / 0))  # codes stay with the workers
        remote = SelectiveNB(clone(selector), engine=engine, **options).fit(source, "target", weight)
        assert engine.round_trips > 0
    np.testing.assert_allclose(found.weights_, expected.weights_, atol=1e-9)
    for one, other in ((found, expected), (remote, alone)):
        np.testing.assert_array_equal(one.trace_.chosen, other.trace_.chosen)
    np.testing.assert_allclose(remote.feature_weights_, alone.feature_weights_, atol=1e-9)
    counts = zip(
        [level.counts for level in remote.encoder_.levels_],
        [level.counts for level in alone.encoder_.levels_],
        strict=True,
    )
    assert all(np.allclose(*both) for both in counts)
    assert_released(client)


def test_a_model_is_that_in_memory(client: Any) -> None:
    X, y = table()
    alone, remote = SelectiveNB().fit(X, y), SelectiveNB(engine=client).fit(X, y)
    np.testing.assert_array_equal(remote.predict_proba(X), alone.predict_proba(X))
    assert_released(client)
    assert clone(remote).engine is client
    assert pickle.loads(pickle.dumps(remote)).engine == "memory"


def test_sums_do_not_depend_on_who_has_the_blocks(client: Any, coded: CodedTable) -> None:
    def costs(n_seats: int) -> np.ndarray:
        with Cluster(client, block_rows=300) as engine:
            engine.seats = engine.seats[:n_seats]
            selector = WrapperSelector("log_loss", recode=False).fit_coded(coded.on(engine))
        return selector.trace_.moves.cost

    np.testing.assert_array_equal(costs(1), costs(2))


def wide(n_features: int) -> CodedTable:
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, 2, 1500)).astype(np.uint8)
    codes = rng.integers(0, 3, (n_features, y.size)).astype(np.uint8)
    codes[::10] = np.where(rng.random(codes[::10].shape) < 0.2, y, codes[::10])
    return CodedTable(codes, np.full(n_features, 3), [f"f{k}" for k in range(n_features)], y, np.arange(2))


@pytest.mark.parametrize("selector", [CompressionAveraging(n_starts=8), WrapperSelector("log_loss", tol=0.0)])
def test_a_thousand_features_take_few_round_trips(client: Any, selector: Any) -> None:
    with Cluster(client) as engine:
        selector.fit_coded(wide(1000).on(engine))
    assert engine.round_trips < 1000


def test_subsets_are_evaluated_together(client: Any, coded: CodedTable) -> None:
    options: dict[str, Any] = {"constraints": {"recall:1": 0.2}, "recode": False}
    alone = DependenceClusterSelector(**options).fit_coded(coded)
    with Cluster(client, block_rows=300) as engine:
        remote = DependenceClusterSelector(**options).fit_coded(coded.on(engine))
    assert engine.round_trips < remote.candidates_.height
    for name in ("violation", "feasible", "n_features", remote.trace_.criterion_name):
        np.testing.assert_allclose(remote.candidates_[name].to_numpy(), alone.candidates_[name].to_numpy(), atol=1e-9)


@pytest.fixture
def interrupted_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The round trip at which Ctrl-C is pressed."""
    trip, at = Cluster._trip, [8]

    def interrupted(engine: Cluster, questions: Any) -> None:
        if engine.round_trips == at[0]:
            raise KeyboardInterrupt
        trip(engine, questions)

    monkeypatch.setattr(Cluster, "_trip", interrupted)
    return at


@pytest.mark.usefixtures("interrupted_at")
def test_interrupts_and_time_limits_keep_the_best_so_far(client: Any, coded: CodedTable) -> None:
    for selector in (WrapperSelector("log_loss", recode=False), CompressionAveraging()):
        with Cluster(client) as engine, pytest.warns(UserWarning, match="interrupted"):
            assert 0 < selector.fit_coded(coded.on(engine)).support_.sum() < coded.n_features
    with Cluster(client) as engine:
        assert not CompressionAveraging(max_seconds=0.0).fit_coded(coded.on(engine)).trace_.complete
    assert engine.round_trips < 8
    assert_released(client)


class Broken(LogLoss):
    name = "broken"

    def own_sums(self, rows: Any, tables: Any) -> np.ndarray:
        raise OverflowError("broken on purpose")


def test_errors_of_workers_come_back_and_leave_nothing(client: Any) -> None:
    X, y = table(300)
    with pytest.raises(OverflowError, match="broken on purpose"):
        SelectiveNB(WrapperSelector(Broken(), recode=False), engine=client).fit(X, y)
    assert_released(client)


@pytest.mark.parametrize(
    ("attribute", "value", "words"),
    [
        ("version", "9.9", r"has bayesieve .*; install bayesieve 9\.9 there"),
        ("run", {"tcp://other": ModuleNotFoundError("bayesieve")}, "tcp://other cannot import bayesieve"),
        ("sync", {}, "has no workers; start some"),
        ("sync", OSError("gone"), "scheduler does not answer any more"),
    ],
)
def test_workers_that_cannot_be_used(
    client: Any, coded: CodedTable, monkeypatch: pytest.MonkeyPatch, attribute: str, value: Any, words: str
) -> None:
    def answer(*_: Any, **__: Any) -> Any:
        if isinstance(value, OSError):
            raise value
        return value

    if attribute == "version":
        monkeypatch.setattr("bayesieve.engine.cluster.__version__", value)
    else:
        monkeypatch.setattr(client, attribute, answer)
    with Cluster(client) as engine, pytest.raises((OSError, ValueError), match=words):
        CompressionAveraging().fit_coded(coded.on(engine))


def test_engines_that_cannot_be_used(client: Any, tmp_path: Path) -> None:
    for options, words in (
        ({"engine": "dask://127.0.0.1:nowhere"}, r"No Dask scheduler answers at .*; check the address"),
        ({"engine": "cloud"}, "engine must be 'memory'"),
        ({"engine": client, "cache": tmp_path}, "give one of them only"),
    ):
        with pytest.raises((OSError, ValueError), match=words):
            SelectiveNB(**options).fit(*table(100))


def test_steps_are_not_taken_twice() -> None:
    def message(first: int, steps: list[Any]) -> bytes:
        packed = [pickle.dumps(step) for step in steps]
        return pickle.dumps(([], [], [(0, -1, first, packed)], [(0, False, pickle.dumps((list, ())))]))

    keeper = Keeper(1)
    hold, change = (0, list, ([1],)), (2, list.append, (2,))
    for _ in range(2):
        assert pickle.loads(keeper.run(message(0, [hold, change]))) == (True, [[[1, 2]]])
    assert pickle.loads(keeper.run(message(1, [change, change]))) == (True, [[[1, 2, 2]]])


def dask(program: str, *arguments: object) -> None:
    """Run a scheduler or a worker, silently."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    module = importlib.import_module(f"distributed.cli.{program}")
    module.main([str(argument) for argument in arguments], standalone_mode=False)


def started(program: str, *arguments: object) -> Any:
    process = CONTEXT.Process(target=dask, args=(program, *arguments))
    process.start()
    return process


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """A client of a scheduler and three workers in processes, and these by address."""
    at = ("--scheduler-file", tmp_path / "scheduler.json")
    running = [started("dask_scheduler", "--port", "0", "--dashboard-address", ":0", *at)]
    try:
        running += [started("dask_worker", *at, "--no-nanny", "--nthreads", 1, "--no-dashboard") for _ in range(3)]
        with distributed.Client(scheduler_file=str(at[1]), timeout=60) as client:
            client.wait_for_workers(3, timeout=60)
            by_id = {process.pid: process for process in running}
            workers = {address: by_id[pid] for address, pid in client.run(os.getpid).items()}
            yield client, {"scheduler": running[0], **workers}
    finally:
        for process in running:
            process.kill()
            process.join()


def test_a_fit_survives_its_workers_and_ends_with_its_scheduler(
    processes: Any, alone: dict[str | None, SelectiveNB], source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, running = processes
    frame, trip, doomed = claims().drop("whole", "fractional"), Cluster._trip, []

    def lossy(engine: Cluster, questions: Any) -> None:
        if doomed and doomed[0][0](engine, questions[0].held):
            doomed.pop(0)[1].kill()
        trip(engine, questions)

    monkeypatch.setattr(Cluster, "_trip", lossy)
    source = source.select(frame.columns)
    workers = [running[address] for address in sorted(client.nthreads())]

    def counting(engine: Cluster, held: Any) -> bool:
        return held.parent is None and engine.round_trips == 1

    def searching(engine: Cluster, held: Any) -> bool:
        return held.parent is not None and engine.round_trips >= 12

    for losses in ([], [(counting, workers[0]), (searching, workers[1])]):
        doomed[:] = losses
        with Cluster(client, block_rows=200) as engine:
            assert_same(SelectiveNB(engine=engine).fit(source, "target"), alone[None], frame.drop("target"))
        assert not doomed
    assert len(client.nthreads()) == 1
    doomed[:] = [(searching, running["scheduler"])]
    address = client.scheduler.address.replace("tcp://", "dask://")
    with pytest.raises(OSError, match=r"The Dask scheduler does not answer any more; start it, and fit again\."):
        SelectiveNB(engine=address).fit(source, "target")
    assert not doomed
    assert_same(SelectiveNB().fit(source, "target"), alone[None], frame.drop("target"))


@pytest.mark.parametrize(("by_class", "on_grid"), [(True, False), (False, False), (True, True)])
def test_workers_read_count_and_code_scanned_tables(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_class: bool, on_grid: bool
) -> None:
    rng = np.random.default_rng(2)
    X, y = table(2500)
    frame = X.with_columns(
        target=pl.when(pl.arange(2500) % 97 > 0).then(pl.Series(y)),
        weight=pl.Series(rng.integers(0, 3, 2500).astype(float)),
        gaps=pl.when(pl.Series(rng.random(2500) < 0.8)).then(pl.Series(y + rng.integers(0, 9, 2500))),
    )
    for number, begin in enumerate(range(0, 2500, 700)):
        frame[begin : begin + 700].write_parquet(tmp_path / f"{number}.parquet", row_group_size=300)
    if on_grid:
        for name, most in (("EXACT_ROWS", 100), ("MOST_NUMBERS", 500)):
            monkeypatch.setattr(f"bayesieve.discretize.row_blocks.{name}", most)
    source, options = bayesieve.scan(tmp_path), {"by_class": by_class}
    alone, remote = TableEncoder(pairs=3, n_quantiles=400), TableEncoder(pairs=3, n_quantiles=400)
    with pytest.warns(UserWarning, match="missing in 26 rows"):
        expected = alone.fit_transform_coded(source, "target", "weight", **options)
    with Cluster(client, block_rows=500) as engine:
        with pytest.warns(UserWarning, match="missing in 26 rows"):
            coded = remote.fit_transform_coded(source, "target", "weight", engine=engine, verbose=1, **options)
        codes, counts = coded.codes, coded.counts
        some = np.flatnonzero(rng.random(coded.n_rows) < 0.1)
        np.testing.assert_array_equal(coded.codes_at([3, 0], some), codes[[3, 0]][:, some])
        monkeypatch.setattr("bayesieve.counts.remote._MOST_SAMPLED", 10)  # features are asked for one by one
        np.testing.assert_array_equal(coded.codes_at([3, 0], some), codes[[3, 0]][:, some])
        assert coded.codes_at([], some).shape == (0, some.size)
    assert [level.name for level in remote.levels_] == [level.name for level in alone.levels_]
    assert [level.to_json() for level in remote.levels_] == [level.to_json() for level in alone.levels_]
    np.testing.assert_array_equal(codes, expected.codes)
    np.testing.assert_allclose(counts.counts, expected.counts.counts)
    assert remote.scan_cautions_ == alone.scan_cautions_
    np.testing.assert_array_equal(coded.class_codes, expected.class_codes)
    np.testing.assert_allclose(counts.counts.sum(), expected.counts.counts.sum())


def test_workers_tell_rows_apart_as_tables_in_memory_do(
    client: Any, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = claims().drop("whole", "fractional")
    table = source.select(frame.columns)
    order = np.argsort(frame["target"].to_numpy(), kind="stable")
    monkeypatch.setattr(row_blocks, "_VALUES_AT_ONCE", 6000)  # a few columns at a time
    for by_class, block_rows in ((True, 200), (False, 600)):
        with Cluster(client, block_rows=block_rows) as engine:
            coded = TableEncoder().fit_transform_coded(table, "target", engine=engine, by_class=by_class)
            prints = fingerprints(as_table(frame.drop("target")))[order if by_class else slice(None)]
            np.testing.assert_array_equal(coded.recoder.fingerprints(), prints)
            assert np.unique(prints).size == prints.size
            coded = coded.take(np.arange(0, 1500, 2))
            vars(coded)["recoder"] = None
            np.testing.assert_array_equal(coded.drawn(70), coded.here.drawn(70))


@pytest.mark.filterwarnings("ignore")
def test_many_rows_give_the_same_model_in_memory_on_disk_from_a_scan_and_on_a_cluster(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bayesieve.evidence.calibration._MOST_LAST_ROWS", 200_000)
    for name, value in {"EXACT_ROWS": 200_000, "MOST_NUMBERS": 50_000, "MOST_CATEGORIES": 10_000}.items():
        monkeypatch.setattr(row_blocks, name, value)
    rng, n = np.random.default_rng(0), 400_000
    y = rng.integers(0, 2, n)
    users, towns = (pl.Series([f"{letter}{i}" for i in range(100_000)]) for letter in "ut")
    frame = pl.DataFrame(
        {
            "normal": rng.normal(size=n) + y * 0.3,
            "price": np.round(rng.lognormal(6, 2, n), 2),
            "few": rng.integers(0, 50, n) + y,
            "many": rng.integers(0, 1_000_000, n),
            "gaps": np.where(rng.random(n) < 0.3, np.nan, 1e9 * rng.exponential(size=n) + y * 1e8),
            "user": users.gather(rng.integers(0, 100_000, n)),
            "town": towns.gather(rng.geometric(0.1, n) + y),
            "kind": pl.Series(["a", None, "b"]).gather(rng.integers(0, 3, n)),
            "weight": rng.integers(0, 4, n).astype(float),
            "target": y,
        }
    )
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=40_000)
    X, known = frame.drop("target", "weight"), (frame["target"], frame["weight"].to_numpy())
    alone = SelectiveNB().fit(X, *known)
    assert {caution.kind for caution in alone.encoder_.scan_cautions_} == {"many values", "quantiles"}
    scan, probabilities = bayesieve.scan(tmp_path / "rows.parquet"), alone.predict_proba(X[::20])
    for engine in ("disk", Mapped(tmp_path, 33_000), client):
        rows = (X, *known) if engine == "disk" else (scan, "target", "weight")
        model = SelectiveNB(engine=engine).fit(*rows)
        assert [a.to_json() for a in model.encoder_.levels_] == [b.to_json() for b in alone.encoder_.levels_]
        np.testing.assert_allclose(model.predict_proba(X[::20]), probabilities, rtol=0, atol=1e-12)
        assert model.encoder_.scan_cautions_ == alone.encoder_.scan_cautions_


def test_the_most_frequent_of_too_many_categories_count(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    towns = np.minimum(rng.geometric(0.03, 3000), 90)
    frame = pl.DataFrame(
        {"town": [f"town {town}" for town in towns], "target": (towns % 3 + rng.integers(0, 2, 3000)) > 1}
    )
    for number, begin in enumerate(range(0, 3000, 800)):
        frame[begin : begin + 800].write_parquet(tmp_path / f"{number}.parquet")
    monkeypatch.setattr("bayesieve.discretize.row_blocks.EXACT_ROWS", 100)
    monkeypatch.setattr("bayesieve.discretize.row_blocks.MOST_CATEGORIES", 20)
    rows = frame["town"].value_counts(sort=True)["count"]
    left_out = 3000 - rows.head(20).sum()
    for block_rows in (400, 1500):
        encoder = TableEncoder(categorical="values")
        with Cluster(client, block_rows=block_rows) as engine:
            coded = encoder.fit_transform_coded(bayesieve.scan(tmp_path), "target", engine=engine)
        (caution,) = encoder.scan_cautions_
        assert "most frequent 20" in caution.sentence
        assert f"up to {left_out:,} rows" in caution.sentence
        counts = np.bincount(coded.codes[0], minlength=21)
        assert counts[20] == left_out  # the code of values never seen
        assert sorted(counts[:20].tolist(), reverse=True) == rows.head(20).to_list()


def claims(n_rows: int = 1500) -> pl.DataFrame:
    """Numbers, groups, gaps, whole and fractional weights, and two columns that only say something together."""
    rng = np.random.default_rng(3)
    X, y = table(n_rows, 5)
    left, right = rng.integers(0, 4, (2, n_rows))
    together = np.where(rng.random(n_rows) < 0.8, (left + right) % 2 == (y > 0), right > 9)
    return X.with_columns(
        left=pl.Series(left),
        right=pl.Series([f"r{i}" for i in np.where(together, right, (right + 1) % 4)]),
        gaps=pl.when(pl.Series(rng.random(n_rows) < 0.8)).then(pl.Series(y + rng.integers(0, 9, n_rows))),
        whole=pl.Series(rng.integers(0, 3, n_rows)),
        fractional=pl.Series(rng.random(n_rows)),
        target=pl.Series(y),
    )


@pytest.fixture
def source(tmp_path: Path) -> Source:
    claims().write_parquet(tmp_path / "rows.parquet", row_group_size=130)
    return bayesieve.scan(tmp_path / "rows.parquet")


@pytest.fixture(scope="module")
def alone() -> dict[str | None, SelectiveNB]:
    """The models of `claims` in memory, by their weights."""
    frame, weights = claims(), ("whole", "fractional")
    X = frame.drop("target", *weights)
    by_weight = {None: None, **{weight: frame[weight].to_numpy().astype(float) for weight in weights}}
    return {name: SelectiveNB().fit(X, frame["target"], weight) for name, weight in by_weight.items()}


def assert_same(remote: SelectiveNB, alone: SelectiveNB, X: pl.DataFrame) -> None:
    assert remote.selected_features_ == alone.selected_features_
    assert [level.labels for level in remote.encoder_.levels_] == [level.labels for level in alone.encoder_.levels_]
    np.testing.assert_allclose(remote.feature_weights_, alone.feature_weights_, atol=1e-9)
    np.testing.assert_allclose(remote.predict_proba(X), alone.predict_proba(X), atol=1e-9)


@given(st.integers(40, 700), st.integers(60, 2000), st.sampled_from([None, "whole", "fractional"]))
@settings(max_examples=6)
def test_a_model_of_a_scan_is_that_in_memory(
    client: Any, alone: dict[str | None, SelectiveNB], piece: int, block_rows: int, weight: str | None
) -> None:
    frame, unused = claims(), {"whole", "fractional"} - {weight}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        frame.drop(unused).write_parquet(Path(folder) / "rows.parquet", row_group_size=piece)
        source = bayesieve.scan(folder)
        patch.setattr(RemoteTable, "here", property(lambda _: 1 / 0))  # codes stay with the workers
        with Cluster(client, block_rows) as engine:
            remote = SelectiveNB(engine=engine).fit(source, "target", weight)
        assert engine.round_trips < 300
    assert any(" × " in name for name in remote.selected_features_)
    assert_same(remote, alone[weight], frame.drop("target", "whole", "fractional"))
    assert_released(client)


def lower_limits(setattr: Any) -> None:
    """Let few rows be many: numbers are counted in cells, and every sample leaves rows out."""
    for module, limits in {
        "discretize.row_blocks": {"EXACT_ROWS": 300, "MOST_NUMBERS": 150, "MOST_CATEGORIES": 40, "MOST_TEXTS": 60},
        "discretize.encoder": {"MOST_JUDGED_ROWS": 200},
        "table.cautions": {"MOST_JUDGED_ROWS": 200},
        "discretize.pairs": {"_MOST_RANKED_ROWS": 350, "_MOST_GROUPED": 20},
        "classifier.describing": {"_SAMPLES": (50, 120)},
        "evidence.calibration": {"_MOST_ROWS": 250, "_MOST_LAST_ROWS": 500},
        "evidence.solver": {"_CURVATURE_ROWS": 150},
        "evidence.fitting": {"CURVATURE_ROWS": 150},
    }.items():
        for name, value in limits.items():
            setattr(f"bayesieve.{module}.{name}", value)


def many_rows(n_rows: int, seed: int) -> pl.DataFrame:
    """Numbers of many and of few values, texts of many and of few, gaps, a counter, a pair, weights, equal rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2 + seed % 2, n_rows)
    left = rng.integers(0, 3, n_rows)
    frame = pl.DataFrame(
        {
            "normal": rng.normal(size=n_rows) + y * 0.5,
            "price": np.round(rng.lognormal(2, 1, n_rows), 2),
            "gaps": np.where(rng.random(n_rows) < 0.3, np.nan, rng.exponential(size=n_rows) + y),
            "few": rng.integers(0, 9, n_rows) + y,
            "town": [f"t{i}" for i in rng.zipf(1.4, n_rows) % 400 + y],
            "left": [None if i == 0 else f"l{i}" for i in left],
            "right": (left + y + rng.integers(0, 2, n_rows)) % 3,
            "counter": np.arange(n_rows) + 1000,
            "weight": rng.integers(0, 3, n_rows).astype(float),
            "target": [f"class {i}" for i in y],
        }
    )
    several = frame.drop("counter", "normal", "price", "gaps", "weight").sample(n_rows // 2, seed=seed)
    return pl.concat([frame, several], how="diagonal")


@pytest.mark.parametrize(
    ("seed", "block_rows", "group", "weighted", "n_workers"),
    [(0, 400, 77, False, 2), (1, 130, 700, True, 1), (2, 700, 333, True, 2), (3, 600, 40, False, 1)],
)
@pytest.mark.filterwarnings("ignore")
def test_the_same_rows_give_the_same_model_on_all_engines(
    client: Any, seed: int, block_rows: int, group: int, weighted: bool, n_workers: int
) -> None:
    frame = many_rows(1500, seed)
    frame = frame.with_columns(pl.col("weight").fill_null(1.5)) if weighted else frame.drop("weight")
    X, y, weight = frame.drop("weight", "target", strict=False), frame["target"], "weight" if weighted else None
    weights = frame["weight"].to_numpy() if weighted else None
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        lower_limits(patch.setattr)
        path = Path(folder) / "rows.parquet"
        frame.write_parquet(path, row_group_size=group)
        options: dict[str, Any] = {"random_state": seed, "encoder": TableEncoder(n_quantiles=60), "pairs": 4}
        alone = SelectiveNB(**options).fit(X, y, weights)
        assert_same(SelectiveNB(engine="disk", **options).fit(X, y, weights), alone, X)
        patch.setattr(ScannedTable, "block_rows", group)
        cache = Path(folder) / "cache"
        with Cluster(client, block_rows) as cluster:
            cluster.seats = cluster.seats[:n_workers]
            frame.write_csv(Path(folder) / "rows.csv")
            for place, source in (
                ({"cache": cache}, path),
                ({"cache": cache}, path),
                ({"engine": Mapped(folder, 600)}, frame.lazy()),
                ({"memory_limit": 512 << 20}, Path(folder) / "rows.csv"),
                ({"engine": cluster}, path),
            ):
                model = SelectiveNB(**options, **place).fit(bayesieve.scan(source), "target", weight)
                assert_same(model, alone, X)
                assert model.encoder_.marks_ == alone.encoder_.marks_
                kinds = {"many values", "quantiles"}  # said of scans only
                told = [(caution.kind, caution.columns) for caution in model.cautions_]
                assert [one for one in told if one[0] not in kinds] == [
                    (caution.kind, caution.columns) for caution in alone.cautions_ if caution.kind not in kinds
                ]
        order = np.random.default_rng(seed).permutation(frame.height)
        X = X.drop("counter")
        plain = SelectiveNB(**options).fit(X, y, weights)
        shuffled = SelectiveNB(**options).fit(X[order], y[order], None if weights is None else weights[order])
        np.testing.assert_allclose(shuffled.predict_proba(X), plain.predict_proba(X), atol=1e-4)


def test_interrupts_of_a_scan_leave_nothing(client: Any, interrupted_at: list[int], source: Source) -> None:
    interrupted_at[:] = [1]
    with pytest.raises(KeyboardInterrupt):  # while workers read
        SelectiveNB(engine=client).fit(source, "target")
    assert_released(client)
    interrupted_at[:] = [12]
    with pytest.warns(UserWarning, match="interrupted"):
        model = SelectiveNB(engine=client).fit(source, "target")
    assert model.predict(claims().drop("target")).shape == (1500,)
    interrupted_at[:] = [-1]
    timed = SelectiveNB(engine=client, max_seconds=0.0)
    with pytest.warns(UserWarning, match="stopped early"):
        timed.fit(source, "target")
    assert not timed.trace_.complete
    assert_released(client)


def test_copies_are_found_by_codes_of_workers(client: Any, tmp_path: Path) -> None:
    frame = claims().drop("whole", "fractional").with_columns(again=pl.col("n0") * 2, shifted=pl.col("target") + 5)
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=130)
    source = bayesieve.scan(tmp_path)
    with pytest.warns(UserWarning, match="copy of it"):
        alone = SelectiveNB().fit(source, "target")
    with pytest.warns(UserWarning, match="copy of it"):
        remote = SelectiveNB(engine=client).fit(source, "target")
    assert [caution.columns for caution in remote.cautions_] == [caution.columns for caution in alone.cautions_]
    assert {"target", "copies"} <= {caution.kind for caution in remote.cautions_}


def test_what_workers_cannot_read_is_one_sentence(client: Any, tmp_path: Path) -> None:
    X, y = table(300)
    X.with_columns(target=pl.Series(y)).write_parquet(tmp_path / "rows.parquet")
    source = bayesieve.scan(tmp_path)
    (tmp_path / "rows.parquet").write_bytes(b"PAR1" * 1000)
    with pytest.raises(ValueError, match=r"rows\.parquet"):
        SelectiveNB(engine=client).fit(source, "target")
    assert_released(client)


def test_the_command_line_takes_the_address_of_a_scheduler(client: Any, tmp_path: Path) -> None:
    X, y = table(400)
    X.with_columns(target=pl.Series(y)).write_csv(tmp_path / "rows.csv")
    address = client.scheduler.address.replace("tcp://", "dask://")
    arguments = ["fit", tmp_path / "rows.csv", "--target", "target", "--no-report", "-o", tmp_path / "out"]
    result = CliRunner().invoke(app, [*map(str, arguments), "--engine", address], prog_name="bayesieve")
    assert result.exit_code == 0, result.output
    loaded = load(tmp_path / "out" / "model.json")
    np.testing.assert_allclose(loaded.predict_proba(X), SelectiveNB().fit(X, y).predict_proba(X), atol=1e-9)
    result = CliRunner().invoke(app, [*map(str, arguments), "--engine", "cloud"])
    assert result.exit_code == 2
    assert "engine must be 'memory'" in result.output
