"""Values that say nothing add nothing, and levels of few rows little: in the scorecard and in all that reads it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import logit, softmax

import bayesieve
from bayesieve import DiscreteNB, SelectiveNB, TableEncoder
from bayesieve.classifier.report_data import of_features
from bayesieve.counts.contingency import Shrinkage
from bayesieve.scorecard.explanation import UNSEEN
from tests.cases import mostly_slow

N = 1200
FITS = ("auto", "cells", "levels", "weights")
quiet = pytest.mark.filterwarnings("ignore::UserWarning")
pytestmark = quiet


@cache
def rows(n_classes: int = 2) -> tuple[pl.DataFrame, np.ndarray]:
    """Two columns that depend on a rare second class; no value is missing."""
    rng = np.random.default_rng(5)
    y = (rng.random(N) < 0.1).astype(int) if n_classes == 2 else rng.choice(n_classes, N, p=[0.7, 0.2, 0.1])
    word = np.where(rng.random(N) < 0.3 + 0.4 * (y > 0), "u", "v")
    return pl.DataFrame({"a": rng.normal(size=N) + 1.5 * y, "c": word}), y


WAYS: dict[str, tuple[Mapping[str, Any], dict[str, Any]]] = {
    "special code": ({"a": {"special": [-9999]}}, {"a": -9999.0}),
    "missing": ({"a": {"missing": "apart"}}, {"a": None}),
    "interval": ({"a": {"cuts": [-1, 0, 1, 50]}}, {"a": 60.0}),
    "curve": ({"a": {"cuts": [-1, 0, 1, 50], "cells": True}}, {"a": 60.0}),
    "group": ({"c": {"groups": [["u"], ["v"], ["w"]]}}, {"c": "w"}),
    "never seen": ({}, {"c": "w"}),
}


def fit(calibrate: str, levels: Any, X: Any, y: Any, weights: Any = None, **options: Any) -> SelectiveNB:
    return SelectiveNB(calibrate=calibrate, levels=levels or None, pairs=0, **options).fit(X, y, weights)


def adds(model: SelectiveNB, row: Mapping[str, Any]) -> np.ndarray:
    """What the column of the first value of a row adds, as predictions show it and as explanations do."""
    name = next(iter(row))
    whole = {"a": 0.3, "c": "u"} | row
    explanation = model.scorecard_.explain(pl.DataFrame([whole], schema={"a": pl.Float64, "c": pl.String}))
    at = explanation.features.index(name)
    joint = model.scorecard_.intercept + explanation.contributions[0].sum(axis=0)
    np.testing.assert_allclose(model.predict_proba(whole)[0], softmax(joint), rtol=1e-12)
    added: np.ndarray = explanation.contributions[0, at]
    return added


@pytest.mark.parametrize(
    ("calibrate", "way"),
    mostly_slow(product(FITS, WAYS), [*product(["auto"], WAYS), *product(["weights"], [*WAYS][:2])]),
)
def test_a_level_without_rows_adds_nothing(calibrate: str, way: str) -> None:
    levels, row = WAYS[way]
    for n_classes in (2, 3) if calibrate == "auto" else (2,):
        model = fit(calibrate, levels, *rows(n_classes))
        if way == "curve" and calibrate in ("auto", "cells"):  # it follows the curve
            above = adds(model, {"a": 49.0})
            np.testing.assert_allclose(adds(model, row), above, atol=1e-9)
            continue
        np.testing.assert_array_equal(adds(model, row), np.zeros(n_classes))


@pytest.mark.parametrize("calibrate", mostly_slow(FITS, ["cells", "weights"]))
def test_rows_without_weight_are_no_rows(calibrate: str) -> None:
    X, y = rows()
    X = X.with_columns(c=pl.when(pl.int_range(N) < 30).then(pl.lit("w")).otherwise("c"))
    levels = WAYS["group"][0]
    model = fit(calibrate, levels, X, y, np.where(np.arange(N) < 30, 0.0, 1.0))
    np.testing.assert_array_equal(adds(model, {"c": "w"}), [0.0, 0.0])


@pytest.mark.parametrize("calibrate", mostly_slow(FITS, ["auto", "levels"]))
def test_a_level_of_another_site_adds_nothing_until_it_has_rows(calibrate: str) -> None:
    X, y = rows()
    X = X.with_columns(c=pl.when(pl.int_range(N) % 3 == 0).then(pl.lit("w")).otherwise("c"))
    there = fit(calibrate, WAYS["group"][0], X, y)
    kept = (X["c"] != "w").to_numpy()
    here = fit(calibrate, there.scorecard_, X.filter(kept), y[kept])
    np.testing.assert_array_equal(adds(here, {"c": "w"}), [0.0, 0.0])
    twice = bayesieve.merge([here, here])
    np.testing.assert_array_equal(adds(twice, {"c": "w"}), [0.0, 0.0])
    assert adds(bayesieve.merge([there, here]), {"c": "w"}).any()
    later = here.update(X.filter(kept)[:100], y[kept][:100])
    np.testing.assert_array_equal(adds(later, {"c": "w"}), [0.0, 0.0])
    assert adds(here.update(X, y), {"c": "w"}).any()
    joined = here.edit().merge("c", [1, 2]).done()
    np.testing.assert_allclose(adds(joined, {"c": "w"}), adds(here, {"c": "v"}), atol=1e-12)
    by_hand = here.edit().set("c", {2: -1.0}).done()
    np.testing.assert_allclose(adds(by_hand, {"c": "w"}), [1.0, -1.0])
    np.testing.assert_allclose(adds(bayesieve.merge([by_hand, by_hand]), {"c": "w"}), [1.0, -1.0], rtol=0.2)
    shifted = here.with_prior({1: 0.5})
    np.testing.assert_array_equal(adds(shifted, {"c": "w"}), [0.0, 0.0])


def test_surfaces_add_nothing_for_levels_without_rows() -> None:
    rng = np.random.default_rng(2)
    a, b, c = rng.normal(size=(3, 3000))
    y = rng.random(3000) < 1 / (1 + np.exp(-2 * np.sin(2 * a) * b - c))
    model = SelectiveNB(levels={"a": {"special": [-9999]}}).fit(pl.DataFrame({"a": a, "b": b, "c": c}), y)
    of_a = ["a" in feature.columns for feature in model.scorecard_.used_features]
    assert any(feature.kind == "pair" and "a" in feature.columns for feature in model.scorecard_.used_features)
    explanation = model.scorecard_.explain(pl.DataFrame({"a": [-9999.0], "b": [0.5], "c": [0.0]}))
    assert not explanation.contributions[0][of_a].any()


def test_monotone_levels_without_rows_keep_the_sign() -> None:
    X, y = rows()
    rules = {"a": {"cuts": [-60, -50, 0, 1, 50], "monotone": 1, "special": [-9999]}}
    for calibrate in ("cells", "levels"):
        model = fit(calibrate, rules, X, y)
        contrast = np.diff(model.scorecard_["a"].contributions, axis=1)[:, 0]
        assert contrast[0] == 0.0  # the special code
        assert (np.diff(contrast[1:]) >= -1e-9).all()


@cache
def pure(calibrate: Any, n: int = 5) -> SelectiveNB:
    """A column with a level of ``n`` rows that are all of the class of 17 % of the rows."""
    rng = np.random.default_rng(1)
    y = (rng.random(N) < 0.17).astype(int)
    values = np.where(rng.random(N) < 0.3 + 0.3 * y, 1.0, 0.0)
    values[np.flatnonzero(y)[:n]] = 9.0
    return SelectiveNB(calibrate=calibrate, pairs=0, levels={"x": {"cuts": [0.5, 5]}}).fit(
        pl.DataFrame({"x": values}), y
    )


@pytest.mark.parametrize("calibrate", [*FITS, True])
def test_a_rare_pure_level_adds_little_and_is_uncertain(calibrate: Any) -> None:
    model = pure(calibrate)
    line = model.scorecard_.to_frame().filter(pl.col("cell") == "> 5").row(0, named=True)
    odds, error = 2 * line["contribution_1"], 2 * line["standard_error_1"]
    assert 1.0 < odds < 4.2
    assert 1.0 < error < 5.0
    cells = of_features(model).features[0]["cells"]
    assert sum(cells["errors"][cells["rows"].index(5)]) == pytest.approx(error, rel=1e-4)
    explained = model.explain(pl.DataFrame({"x": [9.0]})).row(1, named=True)
    assert 2 * explained["standard_error"] == pytest.approx(error)
    low, high = logit(model.predict_interval(pl.DataFrame({"x": [9.0]}), 0.9)[0, 1])
    assert (high - low) / 2 / 1.6449 == pytest.approx(error, rel=0.1)  # besides that of the intercept
    assert any(caution.kind == "rare levels" and "> 5" in caution.sentence for caution in model.cautions_)


def test_levels_of_ten_rows_are_not_named() -> None:
    assert not any(caution.kind == "rare levels" for caution in pure("weights", 10).cautions_)


@pytest.mark.parametrize("smoothing", [Shrinkage(1.0, fades=True), Shrinkage(1.0, fades=False)])
@pytest.mark.parametrize("share", [0.02, 0.17, 0.5])
def test_evidence_grows_with_the_counts_from_nothing_on(smoothing: Shrinkage, share: float) -> None:
    """Counts of a pure level from 0 to 40 in steps of a twentieth; then rows of the other class that are added."""

    def odds(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        counts = np.stack([first, second], axis=1)
        class_counts = np.array([1 - share, share]) * 1e4
        logs = smoothing.logs(counts, class_counts, counts.sum(axis=1, keepdims=True), 3, 1e4)
        return np.diff(logs, axis=1)[:, 0]

    n = np.arange(0, 40, 0.05)
    alone = odds(np.zeros(n.size), n)
    assert alone[0] == 0.0
    assert (np.diff(alone) > 0).all()
    jeffreys = np.log((n + 0.5) / 0.5) - logit(share)
    few = (n >= 1) & (n <= 9)
    assert (alone[few] < jeffreys[few] + 0.3).all()
    assert (np.diff(odds(n, np.full(n.size, 5.0))) < 0).all()
    assert np.abs(np.diff(alone)).max() < 0.05 * 2 / share


@cache
def gaps() -> tuple[pl.DataFrame, np.ndarray]:
    """Columns ``a`` and ``k`` that are missing more often in one class; ``b`` is always known."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 3000)
    missing = rng.random(3000) < 0.2 + 0.5 * y
    hidden = pl.Series(missing)
    a = pl.Series(rng.normal(size=3000) + 2.0 * y).set(hidden, None)
    k = pl.Series(np.where(rng.random(3000) < 0.3 + 0.3 * y, "p", "q")).set(hidden, None)
    return pl.DataFrame({"a": a, "k": k, "b": rng.normal(size=3000) + 1.2 * y}), y


@pytest.mark.parametrize(
    ("name", "calibrate"), mostly_slow(product("ak", ["auto", "levels", "weights"]), [("a", "auto"), ("k", "levels")])
)
def test_values_in_no_level_are_predicted_as_without_the_column(calibrate: str, name: str) -> None:
    X, y = gaps()
    asked = pl.DataFrame({"b": [-1.0, 0.3, 2.0]})
    alone = fit(calibrate, None, X.select("b"), y).predict_proba(asked)
    values = [None] * 3 if name == "a" else ["never seen"] * 3
    type_ = X.schema[name]
    new = asked.with_columns(pl.Series(name, values, dtype=type_))
    for options in ({"levels": {name: {"missing": "unseen"}}}, {"encoder": TableEncoder(missing="ignore")}):
        model = SelectiveNB(calibrate=calibrate, pairs=0, **options).fit(X.select("b", name), y)
        assert np.abs(model.predict_proba(new) - alone).max() < (0.15 if calibrate == "weights" else 0.08)
        card = model.scorecard_
        np.testing.assert_array_equal(card[name].unseen, [0.0, 0.0])
        share = card[name].counts.sum(axis=1)
        np.testing.assert_allclose(share @ card[name].contributions, 0.0, atol=1e-8)  # the mean of rows with a value
        assert card.to_frame().filter((pl.col("feature") == name) & (pl.col("cell") == UNSEEN)).height == 1
        later = model.update(X.select("b", name)[:500], y[:500])
        np.testing.assert_array_equal(later.scorecard_[name].unseen, [0.0, 0.0])


@pytest.mark.filterwarnings("default::UserWarning")
def test_published_formulas_say_which_levels_have_no_rows() -> None:
    X, y = rows()
    for options in ({"calibrate": False}, {"smoothing": 1.0}):
        with pytest.warns(UserWarning, match="'w' of 'c' has no training rows"):
            model = SelectiveNB("all", pairs=0, levels=WAYS["group"][0], **options).fit(X, y)
        assert adds(model, {"c": "w"})[1] > 0.1
    codes = (X["c"] == "u").cast(int).to_numpy()[:, None]
    with pytest.warns(UserWarning, match="Code 2 of 'x0' has no training rows"):
        DiscreteNB(min_categories=3).fit(codes, y)
