"""The record of a fitted model: what it says alone, and that nothing in it contradicts the rest."""

from __future__ import annotations

import copy
import datetime
import pickle
import threading
import time
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import softmax

import bayesieve
from bayesieve import IndicatorEncoder, SelectiveNB, TableEncoder
from tests.cases import mostly_slow

N = 2000
CALIBRATIONS = ("auto", "levels", "weights", False)


@cache
def rows() -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """A mixed table with two targets, of two and of four classes."""
    rng = np.random.default_rng(0)
    two, four = rng.integers(0, 2, N), rng.integers(0, 4, N)
    days = datetime.date(2020, 1, 1)
    frame = pl.DataFrame(
        {
            "number": rng.normal(size=N) + two,
            "curve": rng.normal(size=N) * (1 + two),
            "whole": rng.integers(0, 9, N) + four,
            "holes": [
                None if gap else value for gap, value in zip(rng.random(N) < 0.2, rng.normal(size=N), strict=True)
            ],
            "text": [f"v{value % 30}" for value in rng.integers(0, 60, N) + 7 * two],
            "gaps": [
                None if gap else "uvw"[k] for gap, k in zip(rng.random(N) < 0.1 + 0.2 * two, four % 3, strict=True)
            ],
            "day": [days + datetime.timedelta(int(n)) for n in rng.integers(0, 300, N) + 60 * two],
            "flag": rng.random(N) < 0.3 + 0.3 * (four > 1),
            "noise": rng.normal(size=N),
        }
    )
    return frame, np.array(["no", "yes"])[two], four


@cache
def model(calibrate: Any = "auto", target: int = 1, **options: Any) -> SelectiveNB:
    return SelectiveNB(calibrate=calibrate, **options).fit(rows()[0], rows()[target])


each_fit = pytest.mark.parametrize(
    ("calibrate", "target"),
    mostly_slow(product(CALIBRATIONS, [1, 2]), [("auto", 1), ("auto", 2), ("levels", 2), ("weights", 1), (False, 1)]),
)


@each_fit
def test_contributions_are_centred_and_add_up(calibrate: Any, target: int) -> None:
    frame, fitted = rows()[0], model(calibrate, target)
    card = fitted.scorecard_
    explained = card.explain(frame)
    np.testing.assert_allclose(explained.contributions.mean(axis=0), 0.0, atol=1e-12)
    joint = explained.contributions.sum(axis=1) + card.intercept
    np.testing.assert_allclose(joint, fitted.scorecard_.joint(frame), atol=1e-12)
    np.testing.assert_array_equal(card.predict_proba(frame), fitted.predict_proba(frame))
    for feature in card.features:
        assert feature.contributions.shape == feature.counts.shape == feature.standard_errors.shape
        shares = feature.counts.sum(axis=1) / N
        np.testing.assert_allclose(shares @ feature.contributions + (1 - shares.sum()) * feature.unseen, 0, atol=1e-12)
        assert len(feature.labels) == len(feature.contributions)


@each_fit
def test_nothing_contradicts_the_rest(calibrate: Any, target: int) -> None:
    fitted = model(calibrate, target)
    card, summary = fitted.scorecard_, fitted.summary()
    used = {feature.name for feature in card.features if feature.contributions.any()}
    assert used == set(fitted.selected_features_) == set(summary.filter(pl.col("importance") > 0)["feature"])
    assert fitted.n_features_selected_ == len(used) == len(card.used)
    importances = [card[name].importance for name in fitted.selected_features_]
    assert importances == sorted(importances, reverse=True)
    assert sum(importances) == pytest.approx(1.0)
    assert used == set(fitted.explain(rows()[0][:2])["feature"])
    assert f"{len(used)} of" in fitted.scorecard_.describe()
    frame = card.to_frame()
    assert set(frame["feature"].drop_nulls()) == used
    assert frame["rows"].max() == N


def test_a_stranger_recomputes_a_score_from_the_frame() -> None:
    frame, fitted = rows()[0], model(pairs=0)
    card = fitted.scorecard_.to_frame()
    for row in range(0, 60, 7):
        score = card.filter(pl.col("feature").is_null())["contribution_yes"].item()
        for name in fitted.selected_features_:
            value = frame[name][row]
            cells = card.filter(pl.col("feature") == name)
            if value is None:
                cell = cells.filter(pl.col("is_missing"))
            elif isinstance(value, (float, int)) and not isinstance(value, bool):
                cell = cells.filter((pl.col("low") < value) & (value <= pl.col("high")))
            elif isinstance(value, datetime.date):
                day = (value - datetime.date(1970, 1, 1)).days
                cell = cells.filter((pl.col("low") < day) & (day <= pl.col("high")))
            else:
                cell = cells.filter(pl.col("values").list.contains(str(value)))
            score += cell["contribution_yes"].item()
        assert score == pytest.approx(fitted.scorecard_.joint(frame[row : row + 1])[0, 1])


def test_levels_have_the_mean_contribution_of_their_rows() -> None:
    for feature in model(pairs=0).scorecard_.used_features:
        rows = feature.counts.sum(axis=1)
        for level, mean in enumerate(feature.by_level()):
            cells = feature.level_of_cell == level
            expected = np.average(feature.contributions[cells], axis=0, weights=rows[cells])
            np.testing.assert_allclose(mean, expected, atol=1e-12)


def test_errors_in_the_frame_are_those_of_cells_and_of_unseen_values() -> None:
    card = model(pairs=0).scorecard_
    frame = card.to_frame()
    for feature in card.used_features:
        found = frame.filter(feature=feature.name).select("standard_error_no", "standard_error_yes").to_numpy()
        np.testing.assert_array_equal(found, feature.total_errors)


def test_columns_by_name_in_any_order() -> None:
    frame, card = rows()[0], model().scorecard_
    expected = card.predict_proba(frame)
    np.testing.assert_array_equal(card.predict_proba(frame.select(frame.columns[::-1]).with_columns(more=1)), expected)
    needed = frame.select(card.reader.needed)
    np.testing.assert_array_equal(card.predict_proba(needed), expected)
    np.testing.assert_array_equal(card.predict_proba(frame.to_pandas()), expected)
    with pytest.raises(ValueError, match=f"lacks '{card.reader.needed[0]}'"):
        card.predict_proba(frame.drop(card.reader.needed[0]))
    with pytest.raises(ValueError, match="2 columns without names"):
        card.predict_proba(np.zeros((3, 2)))


VALUES = {
    "number": [0.3, 1, np.float32(0.5), np.int64(2), True, "0.25", None, np.nan],
    "holes": [None, float("nan"), 0.5],
    "text": ["v3", "v29", 7, None, "never seen"],
    "gaps": [None, "u", "w", np.str_("v")],
    "day": [datetime.date(2020, 5, 1), datetime.datetime(2020, 5, 1, 12), np.datetime64("2020-05-01"), "2020-05-01"],
    "flag": [True, False, 1, "true", np.bool_(1)],
}


@pytest.mark.parametrize(
    ("name", "calibrate"),
    mostly_slow(product(VALUES, ["auto", False]), [*zip(VALUES, ["auto", False] * 3, strict=True)]),
)
def test_single_rows_are_read_as_tables_are(name: str, calibrate: Any) -> None:
    fitted, first = model(calibrate), rows()[0].row(0, named=True)
    for value in VALUES[name]:
        row = first | {name: value}
        table = pl.DataFrame({key: pl.Series([own], dtype=pl.Object) for key, own in row.items()})
        np.testing.assert_array_equal(fitted.predict_log_proba(row), fitted.predict_log_proba(table))
        assert fitted.explain(row).equals(fitted.scorecard_.explain(table).to_frame())


def test_rows_one_by_one_and_together() -> None:
    frame = rows()[0][:300]
    for target in (1, 2):
        fitted = model(target=target)
        expected = fitted.predict_proba(frame)
        by_row = [fitted.predict_proba(frame.row(i, named=True))[0] for i in range(frame.height)]
        np.testing.assert_array_equal(by_row, expected)
        for of_library in (frame, frame.to_pandas(), frame.to_arrow()):
            one = (
                [fitted.predict_proba(of_library[i : i + 1])[0] for i in range(5)]
                if not isinstance(of_library, pd.DataFrame)
                else [fitted.predict_proba(of_library.iloc[i : i + 1])[0] for i in range(5)]
            )
            np.testing.assert_array_equal(one, expected[:5])


def test_one_row_takes_no_time_from_several_threads() -> None:
    frame, fitted = rows()[0], model()
    row = frame.row(0, named=True)
    expected, wrong = fitted.predict_proba(row), []

    def predict() -> None:
        for _ in range(200):
            if not np.array_equal(fitted.predict_proba(row), expected):
                wrong.append(1)

    threads = [threading.Thread(target=predict) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    seconds = {}
    for what, call in {"predict": fitted.predict_proba, "explain": fitted.explain}.items():
        times = []
        for _ in range(20):
            began = time.thread_time()
            call(row)
            times.append(time.thread_time() - began)
        seconds[what] = min(times)
    assert max(seconds.values()) < 2e-3  # .2 ms on an idle machine


def test_wrong_single_rows() -> None:
    fitted, row = model(), rows()[0].row(0, named=True)
    name = fitted.scorecard_.reader.needed[0]
    with pytest.raises(ValueError, match=name):
        fitted.predict({key: value for key, value in row.items() if key != name})
    if fitted.scorecard_[name].levels.type == "number":
        with pytest.raises(ValueError, match=name):
            fitted.predict(row | {name: float("inf")})


def test_a_value_that_is_an_array_is_refused() -> None:
    fitted, row = model(), rows()[0].row(0, named=True)
    name = fitted.scorecard_.reader.needed[0]
    with pytest.raises(TypeError, match=f"takes a dict for one row, but {name!r} holds ndarray"):
        fitted.predict_proba(row | {name: np.array([1, 2])})


def test_unseen_values_add_what_was_taken_out() -> None:
    """A category never seen adds nothing to the odds that counting gives."""
    X = pl.DataFrame({"a": ["u"] * 50 + ["v"] * 50, "b": ["x", "y"] * 50})
    y = np.array([0] * 45 + [1] * 5 + [1] * 40 + [0] * 10)
    fitted = SelectiveNB("all", calibrate=False).fit(X, y)
    unseen = fitted.predict_proba({"a": "other", "b": "other"})[0]
    np.testing.assert_allclose(unseen, [0.55, 0.45])


@pytest.mark.parametrize(
    "encoder",
    [
        TableEncoder(missing="ignore"),
        TableEncoder(pairs=[("number", "whole")], numeric="equal-frequency"),
        IndicatorEncoder(5),
    ],
    ids=["missing ignored", "pairs", "indicators"],
)
@pytest.mark.parametrize("calibrate", mostly_slow(["auto", False], ["auto"]))
def test_other_encoders(encoder: Any, calibrate: Any) -> None:
    frame, two, _ = rows()
    X = frame.select("number", "whole", "curve", "holes")
    fitted = SelectiveNB(encoder=encoder, calibrate=calibrate).fit(X, two)
    card = fitted.scorecard_
    explained = card.explain(X)
    np.testing.assert_allclose(explained.contributions.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_array_equal(card.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(fitted.predict_proba(X.row(3, named=True))[0], fitted.predict_proba(X)[3])
    assert all(set(feature.columns) <= set(X.columns) for feature in card.features)


def test_files_withhold_values_but_no_counts_of_columns_without_use(tmp_path: Path) -> None:
    X, two, _ = rows()
    unused = np.random.default_rng(1).choice(["secret", "hidden"], N)
    model = SelectiveNB("map").fit(pl.DataFrame({"number": X["number"], "unused": unused}), two)
    assert model.selected_features_ == ["number"]
    model.save(tmp_path / "model.json")
    assert "secret" not in (tmp_path / "model.json").read_text()
    feature = bayesieve.load(tmp_path / "model.json").scorecard_["unused"]
    assert feature.counts.sum(axis=0).tolist() == [np.sum(two == label) for label in model.classes_]


def test_it_is_pickled_after_single_rows_were_read() -> None:
    for options in ({}, {"pairs": (("number", "whole"),), "calibrate": False}):
        fitted, row = model(**options), rows()[0].row(0, named=True)
        expected = fitted.predict_proba(row)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(row), expected)
        np.testing.assert_array_equal(copy.deepcopy(fitted).scorecard_.predict_proba(rows()[0][:1]), expected)


def test_it_is_frozen_and_small_in_print() -> None:
    card = model().scorecard_
    with pytest.raises(AttributeError):
        card.intercept = None  # type: ignore[misc]
    with pytest.raises(AttributeError):
        card.features[0].weight = 1.0  # type: ignore[misc]
    assert len(repr(card)) < 300
    with pytest.raises(KeyError):
        card["nowhere"]


def test_importances_are_the_mean_difference_from_the_other_classes() -> None:
    for target in (1, 2):
        card = model(target=target).scorecard_
        shares, sizes = card.class_counts / card.class_counts.sum(), []
        for feature in card.features:
            size = 0.0
            for counts, own in zip(feature.counts, feature.contributions, strict=True):
                for j, share in enumerate(shares):
                    others = sum(s * c for i, (s, c) in enumerate(zip(shares, own, strict=True)) if i != j) / (
                        1 - share
                    )
                    size += counts.sum() / feature.counts.sum() * share * abs(own[j] - others)
            sizes.append(size)
        np.testing.assert_allclose([f.importance for f in card.features], np.array(sizes) / sum(sizes), rtol=1e-9)


@pytest.mark.parametrize("calibrate", mostly_slow(CALIBRATIONS, ["auto", False]))
def test_standard_errors_shrink_with_the_rows(calibrate: Any) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(16_000, 2))
    X = pl.DataFrame({"a": x[:, 0], "b": [f"v{value}" for value in np.digitize(x[:, 1], [-1, 0, 1])]})
    y = (x.sum(axis=1) + rng.logistic(size=16_000) > 0).astype(int)
    few, many = (SelectiveNB(calibrate=calibrate, pairs=0).fit(X[:n], y[:n]).scorecard_ for n in (1000, 16_000))
    for name in ("a", "b"):
        sizes = []
        for card in (few, many):
            feature = card[name]
            assert (feature.standard_errors > 0).all()
            np.testing.assert_allclose(*feature.standard_errors.T)  # of two classes one says all
            shares = feature.counts.sum(axis=1) / feature.counts.sum()
            sizes.append(np.sqrt(shares @ feature.standard_errors[:, 0] ** 2))
        assert 1.5 < sizes[0] / sizes[1] < 6.0  # as finer levels come with the rows
        assert 0.005 < sizes[1] < 0.1


@pytest.mark.slow
def test_errors_of_counting_are_those_of_many_samples() -> None:
    rng = np.random.default_rng(0)
    shares = np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]])
    levels, sizes = list("uvw"), (300, 200)
    y = np.repeat([0, 1], sizes)
    found, errors = [], []
    for _ in range(200):
        drawn = np.concatenate([rng.choice(levels, n, p=share) for n, share in zip(sizes, shares.T, strict=True)])
        card = (
            SelectiveNB("all", calibrate=False, pairs=0, encoder=TableEncoder(categorical="values"))
            .fit(pl.DataFrame({"a": drawn}), y)
            .scorecard_
        )
        found.append(card["a"].contributions)
        errors.append(card["a"].standard_errors)
    spread = np.std(found, axis=0)
    np.testing.assert_allclose(np.sqrt(np.mean(np.square(errors), axis=0)), spread, rtol=0.35)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_intervals_hold_true_probabilities(n_classes: int) -> None:
    def table(n_rows: int, seed: int) -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        x, c = rng.normal(size=(n_rows, 4)), rng.integers(0, 6, n_rows)
        odds = [np.zeros(n_rows), x[:, 0] - 0.6 * np.abs(x[:, 1]) + np.linspace(-1, 1, 6)[c], 0.8 * x[:, 1]]
        truth = softmax(np.stack(odds[:n_classes], axis=1), axis=1)
        y = (truth.cumsum(axis=1)[:, :-1] < rng.random((n_rows, 1))).sum(axis=1)
        return pl.DataFrame({f"x{j}": x[:, j] for j in range(4)} | {"c": [f"v{v}" for v in c]}), y, truth

    shares, widths = [], []
    for seed in range(4):
        X, y, _ = table(2500, seed)
        card = SelectiveNB().fit(X, y).scorecard_
        X, _, truth = table(1000, 100 + seed)
        low, high = np.moveaxis(card.predict_interval(X), 2, 0)
        shares.append(((low <= truth) & (truth <= high)).mean())
        widths.append((high - low).mean())
        probability = card.predict_proba(X)
        assert ((low <= probability) & (probability <= high)).all()
        narrow = card.predict_interval(X[:50], level=0.5)
        assert ((narrow[..., 0] >= low[:50]) & (narrow[..., 1] <= high[:50])).all()
    assert 0.82 < np.mean(shares) < 0.985
    assert np.mean(widths) < 0.35


@pytest.mark.parametrize("target", [1, 2])
def test_intervals_of_rows_anywhere(target: int, tmp_path: Path) -> None:
    X, fitted = rows()[0], model("auto", target)
    whole = fitted.predict_interval(X[:20])
    row = X[:1].rows(named=True)[0]
    np.testing.assert_allclose(fitted.predict_interval(row), whole[:1])
    X[:20].write_parquet(tmp_path / "rows.parquet")
    np.testing.assert_allclose(fitted.predict_interval(tmp_path / "rows.parquet"), whole)
    fitted.save(tmp_path / "model.json")
    np.testing.assert_array_equal(bayesieve.load(tmp_path / "model.json").predict_interval(X[:20]), whole)
    explained = fitted.explain(X[:2])
    for k, name in enumerate(("low", "high")):
        of_rows = explained.group_by("row", "class", maintain_order=True).first()[name].to_numpy().reshape(2, -1)
        np.testing.assert_allclose(of_rows, whole[:2, :, k])
    wider = fitted.predict_interval(row | {next(iter(row)): "never seen before"})
    assert wider.shape == (1, fitted.classes_.size, 2)
    for level in (0, 1, -0.5, "a", None, True, float("nan")):
        with pytest.raises(ValueError, match="level must be a number above 0 and below 1"):
            fitted.predict_interval(X[:2], level=level)
