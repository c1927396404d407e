"""Drift: PSI, shares and shifts against plain loops, bounds that do not cry wolf, and tests of levels."""

from __future__ import annotations

import datetime as dt
import math
import re
import tracemalloc
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from bayesieve import IndicatorEncoder, SelectiveNB, TableEncoder, drift, evaluate, load
from bayesieve.evaluation.drift import calibration_p_value, population_stability
from tests.cases import mostly_slow


def mixed(n: int, seed: int = 0, shift: float = 0.0, n_classes: int = 2) -> tuple[pl.DataFrame, np.ndarray]:
    """Numbers, texts with missing values, booleans and dates that tell the classes apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    number = rng.normal(shift + y, 1.0)
    job = np.array(["smith", "cook", "clerk", "nurse"])[np.minimum(rng.poisson(0.5 + y + abs(shift), n), 3)]
    frame = pl.DataFrame(
        {
            "number": np.where(rng.random(n) < 0.05, np.nan, number),
            "job": pl.Series(job).set(pl.Series(rng.random(n) < 0.1), None),
            "flag": rng.random(n) < 0.3 + 0.3 * (y == 1),
            "day": pl.Series([dt.date(2020, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 300, n) + 60 * y]),
        }
    )
    return frame.with_columns(number=pl.col("number").fill_nan(None)), y


@pytest.fixture(scope="module", params=["auto", "weights", "levels", False])
def fitted(request: pytest.FixtureRequest) -> SelectiveNB:
    return SelectiveNB(calibrate=request.param, pairs=2).fit(*mixed(800))


def brute_psi(before: list[float], now: list[float]) -> float:
    """The sum over levels of (actual - expected) ln(actual / expected), half a row for a level that one side lacks."""
    total = 0.0
    for old, new in zip(before, now, strict=True):
        if old + new == 0:
            continue
        p, q = max(new, 0.5) / sum(now), max(old, 0.5) / sum(before)
        total += (p - q) * math.log(p / q)
    return total


def brute_frame(model: SelectiveNB, X: pl.DataFrame, groups: list[Any], weights: np.ndarray) -> dict[Any, Any]:
    """(group, feature) -> psi, unseen, missing and shift, row by row."""
    card, found = model.scorecard_, {}
    cells = card.cells(X)
    for at, k in enumerate(card.used.tolist()):
        feature = card.features[k]
        several = feature.levels.n_levels > 1
        level = feature.level_of_cell if several else np.arange(len(feature.labels))
        before = [float(feature.counts[level == i].sum()) for i in range(max(level) + 1)]
        table, total = feature.table, card.class_counts.sum()
        trained = [*(feature.counts.sum(axis=1) / total), 1 - feature.counts.sum() / total]
        for group in set(groups):
            rows = [i for i, own in enumerate(groups) if own == group]
            whole = sum(weights[i] for i in rows)
            now, unseen, missing = [0.0] * len(before), 0.0, 0.0
            shares = np.zeros(len(table))
            for i in rows:
                is_missing = any(X[column][i] is None for column in feature.columns)
                code = int(cells[at, i])
                shares[code] += weights[i] / whole
                missing += weights[i] / whole * is_missing
                if code < len(feature.labels):
                    now[level[code]] += weights[i]
                elif not is_missing:
                    unseen += weights[i] / whole
            scale = whole / sum(weights[i] ** 2 for i in rows)
            shift = (shares - trained) @ table
            never = [total - feature.counts.sum(), whole - sum(now)]
            psi = brute_psi([*before, round(never[0], 6)], [part * scale for part in [*now, round(never[1], 6)]])
            found[group, feature.name] = (psi, unseen, missing, shift)
    return found


@pytest.mark.parametrize("weighted", [False, True])
def test_every_number_is_that_of_a_plain_loop(fitted: SelectiveNB, weighted: bool) -> None:
    X, _ = mixed(300, seed=5, shift=0.7)
    X = X.with_columns(job=pl.when(pl.int_range(pl.len()) % 17 == 0).then(pl.lit("diver")).otherwise("job"))
    groups = [["a", "b", None][i % 3] for i in range(300)]
    weights = np.random.default_rng(3).integers(1, 4, 300).astype(float) if weighted else np.ones(300)
    result = drift(fitted, X, by=groups, sample_weight=weights if weighted else None)
    frame = result.to_frame()
    expected = brute_frame(fitted, X, groups, weights)
    bounds = ["psi_low", "psi_high", "psi_chance"]
    assert frame.columns == ["by", "feature", "rows", "psi", *bounds, "unseen", "missing", "shift"]
    assert len(frame) == len(expected) == 3 * len(fitted.scorecard_.used)
    for row in frame.iter_rows(named=True):
        psi, unseen, missing, shift = expected[row["by"], row["feature"]]
        assert row["psi"] == pytest.approx(psi, abs=1e-12)
        assert (row["unseen"], row["missing"]) == (pytest.approx(unseen), pytest.approx(missing))
        assert row["shift"] == pytest.approx(shift[1] - shift[0], abs=1e-12)
        assert row["psi_low"] <= row["psi"] <= row["psi_high"]
        assert row["rows"] == 100
    assert frame["unseen"].max() > 0 < frame["missing"].max()


@pytest.mark.parametrize(
    ("n_classes", "weighted"), mostly_slow(product([2, 3], [False, True]), [(2, False), (3, True)])
)
def test_shifts_add_up_to_that_of_the_mean_score(n_classes: int, weighted: bool) -> None:
    train, y = mixed(900, n_classes=n_classes)
    now, _ = mixed(400, seed=8, shift=1.0, n_classes=n_classes)
    weights = np.random.default_rng(0).uniform(0.2, 3.0, 900) if weighted else None
    model = SelectiveNB(pairs=3).fit(train, y, sample_weight=weights)
    result = drift(model, now, by=[i % 2 for i in range(400)])
    trained = np.average(model.scorecard_.joint(train), axis=0, weights=weights)
    joint, frame = model.scorecard_.joint(now), result.to_frame()
    for group in (0, 1):
        change = joint[group::2].mean(axis=0) - trained
        own = frame.filter(pl.col("by") == group)
        period = result.periods.row(by_predicate=pl.col("by") == group, named=True)
        if n_classes == 2:
            assert own["shift"].sum() == pytest.approx(change[1] - change[0], abs=1e-9)
            assert period["shift"] == pytest.approx(change[1] - change[0], abs=1e-9)
        else:
            change -= change.mean()
            for j in range(3):
                whole = model.scorecard_.intercept - model.scorecard_.intercept.mean()
                now_mean = joint[group::2] - joint[group::2].mean(axis=1, keepdims=True)
                assert own[f"shift_{j}"].sum() == pytest.approx(now_mean[:, j].mean() - whole[j], abs=1e-9)
            worst = max((period[f"shift_{j}"] for j in range(3)), key=abs)
            assert period["shift"] == worst


def test_the_training_rows_do_not_drift(fitted: SelectiveNB) -> None:
    X, _ = mixed(800)
    frame = drift(fitted, X).to_frame()
    assert frame["by"].unique().to_list() == ["all"]
    for name in ("psi", "psi_low", "shift", "unseen"):
        assert frame[name].abs().max() == pytest.approx(0.0, abs=1e-12)


def test_optbinnings_numbers() -> None:
    """optbinning 0.20, `metrics.jeffrey` and `ScorecardMonitoring._system_psi`: xlogy(a - e, a / e) of shares, summed;
    worked out by hand for bins of 10, 20, 30, 40 rows now and 25, 25, 25, 25 expected.
    """
    by_bin = [-0.15 * math.log(0.4), -0.05 * math.log(0.8), 0.05 * math.log(1.2), 0.15 * math.log(1.6)]
    assert sum(by_bin) == pytest.approx(0.2282, abs=1e-4)
    psi = population_stability(np.array([10.0, 20.0, 30.0, 40.0]), np.full(4, 25.0))
    assert float(psi) == pytest.approx(sum(by_bin), rel=1e-12)
    assert np.isfinite(population_stability(np.array([0.0, 20.0]), np.array([5.0, 0.0])))


def test_small_samples_do_not_cry_wolf() -> None:
    model = SelectiveNB().fit(*mixed(3000))
    samples = pl.concat([mixed(100, seed=100 + seed)[0] for seed in range(100)])
    frame = drift(model, samples, by=np.repeat(np.arange(100), 100)).to_frame()
    assert len(frame) == 100 * len(model.scorecard_.used)
    assert (frame["psi"] > frame["psi_chance"]).mean() < 0.08  # 5 % of cases, give or take
    assert (frame["psi_low"] > 0.1).mean() < 0.01
    assert (frame["psi"] > 0.25).mean() < 0.05


def test_bounds_hold_the_true_value() -> None:
    model = SelectiveNB(calibrate=False).fit(*mixed(20_000))
    true = drift(model, mixed(200_000, seed=1, shift=0.4)[0], n_resamples=0).to_frame()
    assert true["psi_low"].is_null().all()
    assert true["psi_chance"].is_null().all()
    samples = pl.concat([mixed(400, seed=500 + seed, shift=0.4)[0] for seed in range(60)])
    frame = drift(model, samples, by=np.repeat(np.arange(60), 400)).to_frame()
    both = frame.join(true.select("feature", true="psi").filter(pl.col("true") > 0.02), on="feature")
    assert len(both) >= 120
    assert both["true"].is_between(both["psi_low"], both["psi_high"]).mean() > 0.88


def test_large_shifts_are_beyond_chance(fitted: SelectiveNB) -> None:
    frame = drift(fitted, mixed(300, seed=2, shift=2.0)[0]).to_frame()
    number = frame.row(by_predicate=pl.col("feature") == "number", named=True)
    assert number["psi_low"] > 0.25 > number["psi_chance"]


def test_the_seed_alone_decides_the_bounds(fitted: SelectiveNB) -> None:
    X, _ = mixed(200, seed=4)
    first, again = (drift(fitted, X, random_state=1).to_frame() for _ in range(2))
    assert first.equals(again)
    assert not first.equals(drift(fitted, X, random_state=2).to_frame())


@pytest.mark.parametrize(
    ("every", "names"),
    [
        ("day", ["2023-12-31", "2024-01-01", "2024-03-31", "2024-04-01"]),
        ("week", ["2023-W52", "2024-W01", "2024-W13", "2024-W14"]),
        ("month", ["2023-12", "2024-01", "2024-03", "2024-04"]),
        ("quarter", ["2023-Q4", "2024-Q1", "2024-Q2"]),
        ("year", ["2023", "2024"]),
    ],
)
def test_dates_are_grouped(fitted: SelectiveNB, every: str, names: list[str]) -> None:
    X, _ = mixed(40)
    days = [dt.date(2023, 12, 31), dt.date(2024, 1, 1), dt.date(2024, 3, 31), dt.date(2024, 4, 1)] * 10
    moments = [dt.datetime(d.year, d.month, d.day, 23, 59, 59) for d in days]
    texts = [moment.isoformat() for moment in moments]
    for values in (days, moments, texts):
        frame = drift(fitted, X.with_columns(when=pl.Series(values)), by="when", every=every).periods
        assert frame["by"].to_list() == names
    with pytest.raises(ValueError, match="every"):
        drift(fitted, X, by=days, every="hour")


def test_other_values_stay_as_they_are(fitted: SelectiveNB) -> None:
    X, _ = mixed(30)
    for values, names in (
        ([10, 9, None] * 10, [9, 10, None]),
        ([True, False, None] * 10, [False, True, None]),
        (["2024-02-31", "b", "a"] * 10, ["2024-02-31", "a", "b"]),
    ):
        assert drift(fitted, X, by=pl.Series(values)).periods["by"].to_list() == names


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "polars"])
def test_any_dataframe(fitted: SelectiveNB, library: str) -> None:
    X, y = mixed(200, seed=6)
    named = X.with_columns(y=pl.Series(y), month=pl.Series([1, 2] * 100), weight=pl.Series([1.0, 2.0] * 100))
    table = {"pandas": named.to_pandas, "pyarrow": named.to_arrow, "polars": lambda: named}[library]()
    by_name = drift(fitted, table, "y", "month", sample_weight="weight")
    given = drift(fitted.scorecard_, X, y, [1, 2] * 100, sample_weight=[1.0, 2.0] * 100)
    assert by_name.features.equals(given.features)
    assert by_name.periods.equals(given.periods)


def test_arrays_and_scores_of_indicators() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = np.where(rng.random((300, 3)) < 0.1, np.nan, rng.normal(y[:, None], 1.0, (300, 3)))
    for model in (SelectiveNB().fit(X, y), SelectiveNB(encoder=IndicatorEncoder(5)).fit(X, y)):
        frame = drift(model, X).to_frame()
        assert frame["psi"].abs().max() < 1e-12
        cells = [np.isnan(X[:, int(feature.columns[0][1:])]).mean() for feature in model.scorecard_.features]
        by_name = dict(zip((f.name for f in model.scorecard_.features), cells, strict=True))
        assert frame["missing"].to_list() == pytest.approx([by_name[name] for name in frame["feature"]])


def test_missing_values_that_training_had_not() -> None:
    train, y = mixed(500)
    train = train.drop_nulls()
    y = y[: len(train)]
    now = pl.DataFrame({"a": ["u", "v", None, "w"] * 25, "b": [1.0, None, 3.0, 4.0] * 25})
    model = SelectiveNB(calibrate=False).fit(
        pl.DataFrame({"a": ["u", "v"] * 50, "b": [1.0, 3.0] * 50}), ["no", "yes"] * 50
    )
    frame = drift(model, now).to_frame().sort("feature")
    assert frame["missing"].to_list() == [0.25, 0.25]
    assert frame["unseen"].to_list() == [0.25, 0.0]


@pytest.mark.parametrize("now", [["x"] * 40, [None] * 40, ["u", *["x"] * 39], ["u", *[None] * 39]])
def test_values_in_no_level_are_the_largest_drift(now: list[str | None]) -> None:
    """A column that is recoded upstream, or lost, has the PSI of one more level, with half a row in training."""
    model = SelectiveNB().fit(pl.DataFrame({"a": ["u", "v"] * 50, "b": [1.0, 2.0] * 50}), ["no", "yes"] * 50)
    frame = pl.DataFrame({"a": pl.Series(now, dtype=pl.String), "b": [1.0, 2.0] * 20})
    with pytest.warns(UserWarning, match="training"):
        found = drift(model, frame).to_frame()
    of_a, of_b = (found.row(by_predicate=pl.col("feature") == name, named=True) for name in "ab")
    n_new = sum(value != "u" for value in now)
    assert of_a["psi"] == pytest.approx(brute_psi([50, 50, 0], [40 - n_new, 0, n_new]))
    assert of_a["psi_low"] > 0.25 > of_a["psi_chance"]
    assert of_b["psi"] == 0.0


def test_levels_that_neither_side_has_make_no_drift() -> None:
    """A special code that training lacks, and rows that are all in levels: equal shares have a PSI of 0."""
    rng = np.random.default_rng(0)
    X, y = pl.DataFrame({"x": [*range(100)] * 5}), np.repeat([0, 1, 0, 1, 1], 100)
    model = SelectiveNB("all", levels={"x": {"special": {"refused": -1}, "cuts": [30, 60]}}).fit(X, y)
    assert drift(model, X[rng.permutation(500)[:50]]).to_frame()["psi"].item() < 0.2
    assert drift(model, X).to_frame()["psi"].item() == pytest.approx(0.0, abs=1e-12)
    assert drift(model, X[:100]).to_frame()["psi"].item() == pytest.approx(0.0, abs=1e-12)


def test_memory_is_linear_in_the_number_of_levels() -> None:
    names = [f"category {i}" for i in range(2000)]
    X, y = pl.DataFrame({"name": names * 2}), np.array([0, 1] * 2000)
    model = SelectiveNB(encoder=TableEncoder(categorical="values"), calibrate=False, n_jobs=1).fit(X, y)
    drift(model, X[:10], n_resamples=0)
    tracemalloc.start()
    try:
        drift(model, X, n_resamples=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 << 20  # a matrix of 2,000 x 2,000 numbers takes 32 MB


@pytest.mark.parametrize("min_count", [5, 20])
def test_rows_that_hidden_counts_lose_are_no_drift(min_count: int, tmp_path: Path) -> None:
    """Rounded counts do not add up to the training rows; the difference is no level of its own."""
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"x": rng.integers(0, 40, 700), "z": rng.integers(0, 3, 700)})
    y = (X["x"].to_numpy() % 7 < 3).astype(int) ^ (rng.random(700) < 0.1)
    rules = {"x": {"cuts": [k + 0.5 for k in range(39)]}}
    model = SelectiveNB("all", levels=rules, calibrate="levels").fit(X, y)
    model.save(tmp_path / "model.json", min_count=min_count)
    found = drift(load(tmp_path / "model.json"), X, n_resamples=0).levels.filter(
        pl.col("level") == "(not seen in training)"
    )
    assert found.is_empty()


def test_evaluations_warn_of_values_in_no_level() -> None:
    model = SelectiveNB().fit(pl.DataFrame({"a": ["u", "v"] * 50}), ["no", "yes"] * 50)
    X = pl.DataFrame({"a": ["x", *["u", "v"] * 9, "u"], "y": ["no", "yes"] * 10})
    for found in (drift, evaluate):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found(model, X, "y")
            assert not caught
        with pytest.warns(UserWarning, match=r"'a' \(25\.0 %\)"):
            found(model, X.with_columns(a=pl.when(pl.int_range(20) < 5).then(pl.lit("x")).otherwise("a")), "y")


def test_a_model_without_features() -> None:
    model = SelectiveNB().fit(pl.DataFrame({"a": [1.0] * 20}), [0, 1] * 10)
    result = drift(model, pl.DataFrame({"a": [1.0] * 10}), y=[0, 1] * 5)
    assert len(result.to_frame()) == 0
    assert result.periods["shift"].to_list() == [0.0]


def test_measures_of_periods() -> None:
    train, y = mixed(1000)
    model = SelectiveNB().fit(train, y)
    now, labels = mixed(400, seed=11)
    probability = model.predict_proba(now)[:, 1]
    known = np.arange(400) % 5 != 0
    late = pl.Series([int(label) if ok else None for label, ok in zip(labels, known, strict=True)])
    result = drift(model, now, late, by=[i % 2 for i in range(400)])
    for group, row in enumerate(result.periods.iter_rows(named=True)):
        own = known & (np.arange(400) % 2 == group)
        assert (row["rows"], row["labelled"]) == (200, own.sum())
        assert row["auc"] == pytest.approx(roc_auc_score(labels[own], probability[own]))
        assert row["log_loss"] == pytest.approx(log_loss(labels[own], probability[own]))
        assert row["brier"] == pytest.approx(brier_score_loss(labels[own], probability[own]))
        assert row["calibration"] == pytest.approx(probability[own].mean() - labels[own].mean())
        assert row["gini"] == pytest.approx(2 * row["auc"] - 1)
        of_group = evaluate(model, now.filter(pl.Series(own)), labels[own]).to_frame()
        for name in ("ks", "calibration_slope"):
            assert row[name] == pytest.approx(of_group.filter(measure=name)["value"].item())
        for name in ("auc", "gini", "ks", "log_loss", "brier", "calibration", "calibration_slope"):
            assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]


def test_levels_are_tested_and_corrected_for_their_number() -> None:
    train, y = mixed(4000)
    model = SelectiveNB(calibrate="levels").fit(train, y)
    now, labels = mixed(3000, seed=12)
    same = drift(model, now, labels).levels
    assert (same["p_adjusted"] >= same["p_value"]).all()
    assert same["p_adjusted"].min() > 0.01
    changed = np.where((now["job"] == "cook").to_numpy(), 1, labels)
    levels = drift(model, now, changed).levels
    worst = levels.sort("p_adjusted").row(0, named=True)
    assert worst["p_adjusted"] < 1e-6
    assert worst["observed"] > worst["predicted"]
    job = levels.filter(feature="job")
    assert (job["train"].sum(), job["now"].sum()) == (pytest.approx(1.0), pytest.approx(1.0))
    found = levels.filter(pl.col("class") == "1")
    assert len(found) == len(levels)


def test_p_values_are_those_of_exact_sums() -> None:
    """Against the exact distribution of the sum of different coins, and the binomial test of equal ones."""
    rng = np.random.default_rng(0)
    for n in (5, 12, 60):
        p = rng.uniform(0.02, 0.6, n)
        exact = np.array([1.0])
        for q in p:
            exact = np.convolve(exact, [1 - q, q])
        for events in range(n + 1):
            true = min(1.0, 2 * min(exact[events:].sum(), exact[: events + 1].sum()))
            if true > 1e-3:
                found = calibration_p_value(*(np.array([part]) for part in (float(events), p.sum(), (p**2).sum())))
                assert found[0] == pytest.approx(true, rel=0.25, abs=0.01)
    equal = calibration_p_value(np.array([9.0]), np.array([5.0]), np.array([2.5]))
    assert equal[0] == pytest.approx(binomtest(9, 10).pvalue)
    assert calibration_p_value(np.zeros(1), np.zeros(1), np.zeros(1))[0] == 1.0


def test_errors_name_the_column(fitted: SelectiveNB) -> None:
    X, _ = mixed(20)
    with pytest.raises(ValueError, match="'nope'"):
        drift(fitted, X, by="nope")
    with pytest.raises(ValueError, match="by has 3 values"):
        drift(fitted, X, by=[1, 2, 3])
    with pytest.raises(ValueError, match="label '7', which is not a class"):
        drift(fitted, X, y=[7] * 20)
    with pytest.raises(ValueError, match="lacks 'number'"):
        drift(fitted, X.drop("number"))
    with pytest.raises(ValueError, match="at most 2,000"):
        drift(fitted, mixed(3000)[0], by=np.arange(3000))
    with pytest.raises(ValueError, match="scorecard_"):
        drift(object(), X)
    with pytest.raises(ValueError, match="n_resamples"):
        drift(fitted, X, n_resamples=-1)
    with pytest.raises(ValueError, match="No row has both a label and a weight"):
        drift(fitted, X, y=pl.Series([None] * 20, dtype=pl.Int64))


def test_columns_that_are_not_in_the_model_play_no_part(fitted: SelectiveNB) -> None:
    X, _ = mixed(50)
    more = X.with_columns(other=pl.lit("x")).select(["other", *reversed(X.columns)])
    assert drift(fitted, more).to_frame().equals(drift(fitted, X).to_frame())


@pytest.mark.parametrize("labelled", [False, True])
def test_page(fitted: SelectiveNB, tmp_path: Path, labelled: bool) -> None:
    X, y = mixed(200, seed=9, shift=1.0)
    months = pl.Series(["<b>May</b>", None] * 100)
    result = drift(fitted, X, y if labelled else None, by=months)
    result.report(tmp_path / "drift.html")
    page = (tmp_path / "drift.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;May" in page
    assert "<b>May" not in page
    assert "Whole score" in page
    assert page.count("<h2") == 3 + labelled
    assert not re.search(r"(src|href)=\"https?:", page)
    assert ("Measures" in page and "auc" in page) or not labelled
    assert result._repr_html_().startswith("<iframe srcdoc=")
    with pytest.raises(ValueError, match="html"):
        result.report(tmp_path / "drift.txt")


def test_no_warnings(fitted: SelectiveNB) -> None:
    X, y = mixed(30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drift(fitted, X, y, by=[None] * 15 + [1] * 15)
