"""Fits from scanned tables: the model of the same rows in memory, whatever the blocks."""

from __future__ import annotations

import gc
import importlib.util
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import bayesieve
from bayesieve import (
    BenefitClassifier,
    CompressionAveraging,
    IndicatorEncoder,
    MAPSelector,
    MODLDiscretizer,
    SelectiveNB,
    TableEncoder,
    ThresholdTuner,
    WrapperSelector,
    scan,
)
from bayesieve.criteria import Benefit
from bayesieve.engine import Mapped
from bayesieve.engine.files import bytes_of
from bayesieve.table.scanned import ScannedTable
from bayesieve.table.target import ClassRuns
from tests.cases import mostly_slow
from tests.classifier.processes import exit_code
from tests.classifier.scoring import predict_to
from tests.limits import Limits


def claims(n_rows: int = 3000, seed: int = 0) -> pl.DataFrame:
    """Numbers of few and of many values, text, dates, missing values, a pair that only says something together."""
    rng = np.random.default_rng(seed)
    paid = rng.random(n_rows) < 0.4
    left, right = rng.integers(0, 3, n_rows), rng.integers(0, 3, n_rows)
    together = np.where(paid, (left + right) % 2 == 0, rng.random(n_rows) < 0.5)
    age = pl.Series(np.where(rng.random(n_rows) < 0.1, np.nan, np.round(rng.normal(40 + 8 * paid, 12)))).fill_nan(None)
    towns = np.array([f"town {i}" for i in range(60)])
    return pl.DataFrame(
        {
            "amount": rng.normal(size=n_rows) + paid,
            "paid": pl.Series(np.where(paid, "yes", "no")),
            "age": age,
            "town": towns[np.minimum(rng.geometric(0.05, n_rows) + 6 * paid, 59)],
            "left": [f"l{i}" for i in left],
            "right": right + 5 * together,
            "day": pl.Series(rng.integers(0, 4000, n_rows)).cast(pl.Date),
            "noise": rng.integers(0, 5, n_rows).astype(str),
            "weight": rng.integers(0, 4, n_rows).astype(float),
            "agent": rng.integers(0, 30, n_rows),
        }
    )


def written(frame: pl.DataFrame, folder: Path, seed: int) -> str:
    """The rows in order, in files and row groups of random sizes."""
    rng = np.random.default_rng(seed)
    ends = np.unique(np.append(rng.integers(1, frame.height, rng.integers(0, 4)), frame.height))
    for number, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        frame[begin:end].write_parquet(folder / f"{number:02d}.parquet", row_group_size=int(rng.integers(50, 2000)))
    return f"{folder}/*.parquet"


def assert_same(one: SelectiveNB, other: SelectiveNB, X: pl.DataFrame) -> None:
    assert one.selected_features_ == other.selected_features_
    assert [level.to_json() for level in one.encoder_.levels_] == [level.to_json() for level in other.encoder_.levels_]
    np.testing.assert_allclose(one.feature_weights_, other.feature_weights_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", mostly_slow(range(3), [0]))
def test_the_model_is_that_of_the_rows_in_memory(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: Limits
) -> None:
    limits(block_rows=700, target_run=512)
    frame = claims(seed=seed).drop("weight", "agent")
    X = frame.drop("paid")
    table = bayesieve.scan(written(frame, tmp_path, seed))
    monkeypatch.setattr(ScannedTable, "collected", None)  # no step reads a column as a whole
    scanned = SelectiveNB().fit(table, "paid")
    assert_same(scanned, SelectiveNB().fit(X, frame["paid"]), X)
    assert "table" not in scanned.scorecard_.provenance
    assert scanned.target_name_ == "paid"
    assert scanned.n_rows_ == frame.height


def test_weights_groups_and_rows_without_target(tmp_path: Path) -> None:
    frame = claims(2000).with_columns(paid=pl.when(pl.arange(2000) % 97 > 0).then("paid"))
    source = written(frame, tmp_path, 1)
    selector = WrapperSelector("log_loss", evaluation=3)
    model = SelectiveNB(selector, calibrate=False)
    with pytest.warns(UserWarning, match=r"The target 'paid' is missing in 21 rows of 2,000, which are ignored\."):
        scanned = model.fit(source, "paid", sample_weight="weight")
    known = frame.drop_nulls("paid")
    X = known.drop("paid", "weight")
    assert_same(scanned, SelectiveNB(selector, calibrate=False).fit(X, known["paid"], known["weight"]), X)


def test_every_estimator_takes_scans_and_lazy_frames(tmp_path: Path) -> None:
    frame = claims(1000)
    source, X, y = written(frame, tmp_path, 9), frame.drop("paid"), frame["paid"]
    for estimator in (MAPSelector(), TableEncoder(pairs=2, missing="ignore")):
        expected = clone(estimator).fit(X, y)
        for table in (source, bayesieve.scan(source), frame.lazy()):
            found = clone(estimator).fit(table, "paid")
            for name in ("weights_", "level_scores_"):
                np.testing.assert_array_equal(getattr(found, name, 0), getattr(expected, name, 0))
            if isinstance(estimator, TableEncoder):
                np.testing.assert_array_equal(found.transform(X), expected.transform(X))
    nothing = frame.head(400).select("noise", "left", "paid")
    with pytest.warns(UserWarning, match="No feature is in the model"):
        model = SelectiveNB(pairs=0).fit(nothing.lazy(), "paid")
    assert model.selected_features_ == []
    with pytest.raises(ValueError, match=r"needs at least 2 classes in the target, got 1 class only"):
        SelectiveNB().fit(bayesieve.scan(nothing.with_columns(paid=pl.lit("no"))), "paid")


def test_benefits_are_of_the_rows_as_they_come(tmp_path: Path) -> None:
    frame = claims(600).select("age", "town", "right", "paid")
    gain = np.random.default_rng(0).random(600) * 5
    selector = WrapperSelector(Benefit([[0, 0], [-1.0, -1.0]], amount_benefit=[[0, 0], [0, 1]]), evaluation="train")
    expected = SelectiveNB(selector, calibrate=False).fit(frame.drop("paid"), frame["paid"], benefit=gain)
    scanned = SelectiveNB(selector, calibrate=False).fit(written(frame, tmp_path, 1), "paid", benefit=gain)
    assert scanned.selected_features_ == expected.selected_features_
    np.testing.assert_allclose(scanned.trace_.best_criterion, expected.trace_.best_criterion, rtol=1e-9)


def test_roles_are_names_of_columns(tmp_path: Path) -> None:
    table = bayesieve.scan(written(claims(100), tmp_path, 0))
    with pytest.raises(ValueError, match="'payed'"):
        SelectiveNB().fit(table, "payed")
    with pytest.raises(ValueError, match="sample_weight must be the name of a column of the scanned table, got list"):
        SelectiveNB().fit(table, "paid", sample_weight=[1.0] * 100)
    with pytest.raises(ValueError, match="requires y to be passed"):
        SelectiveNB().fit(table)


def test_the_row_of_a_value_that_cannot_be_used_is_that_of_the_table(tmp_path: Path, limits: Limits) -> None:
    limits(block_rows=500)
    infinite = pl.when(pl.arange(2000) == 1742).then(float("inf")).otherwise(pl.col("amount"))
    source = written(claims(2000).with_columns(amount=infinite), tmp_path, 6)
    with pytest.raises(ValueError, match=r"Column 'amount' contains infinity \(first in row 1742\)"):
        SelectiveNB().fit(source, "paid")


def test_too_many_numbers_are_counted_in_cells_of_a_grid(tmp_path: Path, limits: Limits) -> None:
    frame = claims(4000).select("amount", "age", "paid")
    source = bayesieve.scan(written(frame, tmp_path, 3))
    exact = TableEncoder().fit(source, "paid")
    limits(exact_rows=100, most_numbers=1000)
    on_grid = TableEncoder(n_quantiles=500)
    coded = on_grid.fit_transform_coded(source, "paid")
    assert exact.levels_[1].to_json() == on_grid.levels_[1].to_json()
    assert abs(exact.level_scores_[0] - on_grid.level_scores_[0]) < 0.002
    np.testing.assert_array_equal(coded.codes, on_grid.transform_coded(frame.drop("paid")).codes)
    np.testing.assert_array_equal(coded.counts.feature(0), on_grid.levels_[0].counts)


def test_too_many_categories_count_as_never_seen(tmp_path: Path, limits: Limits) -> None:
    frame = claims(2000).select("town", "age", "paid")
    limits(exact_rows=100, most_categories=20)
    source = written(frame, tmp_path, 4)
    with pytest.warns(UserWarning, match="Only the most frequent 20 different values of 'town' are used"):
        model = SelectiveNB().fit(bayesieve.scan(source), "paid")
    assert model.cautions_[0].columns == ("town",)
    assert sum(map(len, model.encoder_.levels_[0].groups or ())) == 20
    known = model.encoder_.levels_[0].counts.sum()
    rows = frame.group_by("town").len().sort(["len", "town"], descending=[True, False]).head(20)
    assert known == rows["len"].sum()
    assert set(rows["town"]) == {town for group in model.encoder_.levels_[0].groups or () for town in group}


def test_class_runs() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, 200_000).astype(np.uint8)
    runs, order = ClassRuns(codes, 5), np.argsort(codes, kind="stable")
    positions = rng.choice(codes.size, 3000)
    np.testing.assert_array_equal(runs.in_source(positions), order[positions])
    np.testing.assert_array_equal(runs.sort(codes), codes[order])
    np.testing.assert_array_equal(runs.sorted_codes, codes[order])
    np.testing.assert_array_equal(runs.starts(131_073), runs.offsets[:-1] + np.bincount(codes[:131_073], minlength=5))


def test_memory_limits(tmp_path: Path) -> None:
    limits = {"4GiB": 4 << 30, "1.5 gib": 3 << 29, "2GB": 2 * 10**9, "900m": 9 * 10**8, 1 << 30: 1 << 30}
    assert [bytes_of(limit) for limit in limits] == [*limits.values()]
    engine = Mapped(tmp_path, memory_bytes=9 << 20)  # numbers of a search stay in memory within the limit
    array = engine.array((1 << 20,), np.float64)
    assert array.base is None
    for dtype in (np.float64, np.int64):
        assert engine.array((1 << 20,), dtype).base is not None
    del array
    assert engine.array((1 << 20,), np.float64).base is None


def test_a_model_without_features_predicts_every_row(tmp_path: Path) -> None:
    frame = claims(200).select("noise", "paid")
    model = SelectiveNB(calibrate=False).fit(frame.drop("paid").with_columns(noise=pl.lit("a")), frame["paid"])
    assert model.selected_features_ == []
    frame.drop("paid").write_parquet(tmp_path / "rows.parquet")
    assert model.predict_proba(bayesieve.scan(tmp_path / "rows.parquet")).shape == (200, 2)
    assert predict_to(model, tmp_path / "scored.parquet", tmp_path / "rows.parquet") == 200
    assert pl.read_parquet(tmp_path / "scored.parquet").height == 200


def test_pairs_of_a_model_read_rows_without_names() -> None:
    frame = claims().select("left", "right", "paid")
    model = SelectiveNB(pairs=[("left", "right")]).fit(frame.drop("paid"), frame["paid"])
    rows = np.array(frame.drop("paid").rows(), dtype=object)
    assert "left × right" in model.selected_features_
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        predicted = model.predict_proba(rows)
    np.testing.assert_array_equal(predicted, model.predict_proba(frame.drop("paid")))


def test_max_seconds_that_is_over_before_the_rows_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: Limits
) -> None:
    frame = claims(300).select("amount", "town", "paid")
    source = bayesieve.scan(written(frame, tmp_path, 3))
    model = SelectiveNB("all", calibrate=False, max_seconds=60.0).fit(source, "paid")
    assert_same(model, SelectiveNB("all", calibrate=False).fit(source, "paid"), frame.drop("paid"))
    limits(block_rows=100)
    monkeypatch.setattr("bayesieve.engine.progress.Clock.is_up", property(lambda clock: next(looks)))
    looks = iter([False, False, True])
    with pytest.raises(TimeoutError, match="max_seconds ended before all rows were read; set a higher one, or fit"):
        model.fit(source, "paid")


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.DataFrame.to_pandas])
def test_target_and_weights_by_name_are_the_same_in_memory(convert: Callable[[pl.DataFrame], Any]) -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {"x": rng.normal(size=150), "*": rng.choice(list("abc"), 150), "weight": rng.integers(0, 3, 150)}
    )
    frame = frame.with_columns((frame["x"] + frame["*"].eq("a") > 0).alias("paid"))
    X, y, weights = frame[["x", "*"]], frame["paid"], frame["weight"].to_numpy()
    for estimator in (SelectiveNB("map"), TableEncoder(), CompressionAveraging(), IndicatorEncoder([0.0])):
        kept = frame[["x", "weight", "paid"]] if isinstance(estimator, IndicatorEncoder) else frame
        fitted = clone(estimator).fit(convert(kept), "paid", sample_weight="weight")
        expected = clone(estimator).fit(X[:, : kept.width - 2], y, sample_weight=weights)
        assert fitted.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
        for name in ("feature_weights_", "level_scores_", "weights_"):
            np.testing.assert_array_equal(getattr(fitted, name, 0), getattr(expected, name, 0))
    for decider in (
        ThresholdTuner(SelectiveNB("map")),
        BenefitClassifier(SelectiveNB("map"), benefit=[[1, 0], [0, 2]]),
    ):
        named, apart = clone(decider).fit(convert(frame), "paid", "weight"), clone(decider).fit(X, y, weights)
        np.testing.assert_array_equal(named.predict(X), apart.predict(X))
    assert MODLDiscretizer().fit(convert(frame[["x", "paid"]]), "paid").feature_names_in_.tolist() == ["x"]
    with pytest.raises(ValueError, match="There is no column 'gone'; the columns are 'x'"):
        TableEncoder().fit(convert(frame), "gone")


def fit_within(limit: str, path: Path) -> None:
    """Fails if a fit takes more than the limit besides Python, the libraries and compiled code."""
    import resource

    def peak() -> int:
        size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return size if sys.platform == "darwin" else 1024 * size

    X, y = np.random.default_rng(0).normal(size=(3000, 4)), np.arange(3000) % 2
    SelectiveNB().fit(X + y[:, None], y)
    before = peak()
    model = SelectiveNB(memory_limit=limit, pairs=0).fit(bayesieve.scan(path), "y")
    assert set(model.selected_features_) & {"x0", "x1"}
    assert peak() - before < bytes_of(limit), peak() - before


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("resource") is None, reason="measures memory")
@pytest.mark.parametrize(("kind", "limit"), [("many numbers", "512MiB"), ("long texts", "1GiB")])
def test_distinct_values_of_all_columns_take_no_more_than_the_limit(kind: str, limit: str, tmp_path: Path) -> None:
    """All of them counted value by value take 700 MB; the texts are 400 MB, and their conversion copies them."""
    rng = np.random.default_rng(0)
    n_rows, n_numbers = (60_000, 100) if kind == "many numbers" else (100_000, 2)
    y = rng.integers(0, 2, n_rows)
    frame = pl.DataFrame({f"x{k}": rng.normal(size=n_rows).astype(np.float32) + y * (k < 2) for k in range(n_numbers)})
    if kind == "long texts":
        frame = frame.with_columns(text=pl.Series(np.arange(n_rows).astype(str)).str.zfill(10) + "-" * 4000)
    frame.with_columns(y=y).write_parquet(tmp_path / "rows.parquet", row_group_size=20_000)
    assert exit_code(fit_within, limit, tmp_path / "rows.parquet") == 0


@pytest.mark.filterwarnings("ignore")
def test_the_same_rows_give_the_same_model_to_the_bit(tmp_path: Path) -> None:
    """Whatever the source, its files and row groups, and the memory limit; with fractional weights."""
    frame = claims(700).with_columns(weight=np.random.default_rng(0).random(700).round(3))
    frame = frame.drop("noise", "day").with_columns(
        pl.col("paid").replace("yes", "y").replace("no", "n")
    )  # CSV has no types
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=64)
    frame.write_csv(tmp_path / "rows.csv")
    frame.write_ipc(tmp_path / "rows.arrow", record_batch_size=100)
    (tmp_path / "parts").mkdir()
    for i, first in enumerate((0, 13, 400)):
        frame[first : (13, 400, 700)[i]].write_parquet(tmp_path / f"parts/{i}.parquet")
    duckdb = pytest.importorskip("duckdb")
    sources = [tmp_path / "rows.parquet", tmp_path / "rows.csv", tmp_path / "rows.arrow", tmp_path / "parts"]
    X, expected = frame.drop("paid", "weight"), None
    for source in (*sources, frame, frame.lazy(), duckdb.read_parquet(f"{tmp_path}/rows.parquet")):
        for limit in (None, "600MiB") if source is sources[0] else (None,):
            model = SelectiveNB("map", calibrate=False, memory_limit=limit)
            model.fit(bayesieve.scan(source), "paid", sample_weight="weight")
            found = model.scorecard_.joint(X)
            expected = found if expected is None else expected
            np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("ending", ["csv", "xlsx", "db"])
def test_texts_of_a_model_stay_texts_in_scans_whose_types_are_inferred(tmp_path: Path, ending: str) -> None:
    codes = ["007", "7", "1e5", "nan", "2024-05-03 00:00:00", "yes"]
    frame = pl.DataFrame({"code": codes * 50})
    model = SelectiveNB("all", calibrate="levels", encoder=TableEncoder(categorical="values"))
    model.fit(frame, np.arange(300) % 6 % 4 > 1)

    def scores(rows: pl.DataFrame, name: str) -> np.ndarray:
        path = tmp_path / f"{name}.{ending}"
        if ending == "db":
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute("CREATE TABLE t (code)")
                connection.executemany("INSERT INTO t VALUES (?)", rows.rows())
        else:
            rows.write_csv(path) if ending == "csv" else rows.write_excel(path)
        return np.asarray(model.predict_proba(scan(path)))

    chosen = [0, 1, 2, 3, 5] if ending == "xlsx" else range(6)  # cells of Excel hold no time of midnight
    expected, among = model.predict_proba(frame[:6]), scores(frame[:6], "among")
    for i in chosen:
        np.testing.assert_array_equal(among[i], expected[i])
        np.testing.assert_array_equal(scores(frame[i : i + 1], f"alone{i}")[0], expected[i])


def test_copies_are_deleted_with_the_scan_whatever_was_fitted_to_it(tmp_path: Path) -> None:
    y = np.random.default_rng(0).integers(0, 2, 500)
    frame = pl.DataFrame({"x": np.random.default_rng(1).normal(size=500) + y, "y": y})
    gc.collect()
    gc.disable()  # a cycle of references would keep the files until it runs
    try:
        model = SelectiveNB().fit(bayesieve.scan(frame, folder=tmp_path), "y")
        assert list(tmp_path.iterdir()) == []
        assert model.selected_features_ == ["x"]
    finally:
        gc.enable()
