"""Sums of random columns: drawn, transformed, and coded a few at a time, with levels as of a table that holds them."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bayesieve
from bayesieve import (
    BoostedSelector,
    MODLDiscretizer,
    RandomSums,
    SelectiveNB,
    TableEncoder,
    WrapperSelector,
)
from bayesieve.discretize import fitted_columns
from bayesieve.discretize.random_sums import SummedTable, sum_names
from bayesieve.table import FeatureLevels, as_table
from bayesieve.table.derived_levels import features_from_json, features_to_json
from bayesieve.table.levels import columns_behind, columns_of


def mixed(n_rows: int = 400, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    """Classes by the sum of ``a`` and ``d``, which neither says alone."""
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.integers(0, 2, (4, n_rows)).astype(float)
    y = (a + d == 1).astype(int)
    b[::9] = np.nan
    frame = pl.DataFrame({"a": a, "town": rng.choice(["x", "y", "z"], n_rows), "b": b, "c": c, "d": d + 0.5})
    return frame.with_columns(pl.col("b").fill_nan(None)), y


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("n_features", [1, 5, 20, 50])
def test_sums_are_different_until_none_is_left(order: int, n_features: int) -> None:
    X = np.random.default_rng(0).normal(size=(5, 7))
    sums = RandomSums(n_features, order=order, random_state=3).fit(X)
    assert sums.parts_.shape == (n_features, order)
    assert (np.diff(sums.parts_, axis=1) > 0).all()
    n_distinct = min(n_features, comb(7, order))
    assert len(np.unique(sums.parts_[:n_distinct], axis=0)) == n_distinct
    np.testing.assert_allclose(sums.transform(X), X[:, sums.parts_].sum(axis=2), rtol=1e-15)
    assert len(set(sums.get_feature_names_out())) == n_features
    assert sums.get_feature_names_out()[0] == " + ".join(f"x{i}" for i in sums.parts_[0])


@pytest.mark.parametrize("order", [2, 3])
def test_every_combination_is_as_likely(order: int) -> None:
    X = np.zeros((2, 6))
    counts: dict[Any, int] = {}
    for seed in range(400):
        for n_features in (1, comb(6, order) - 1):
            first = tuple(RandomSums(n_features, order=order, random_state=seed).fit(X).parts_[0].tolist())
            counts[first] = counts.get(first, 0) + 1
    assert len(counts) == comb(6, order)
    expected = 800 / comb(6, order)
    assert sum((n - expected) ** 2 / expected for n in counts.values()) < 60  # chi squared of 14 or 19 degrees


@pytest.mark.parametrize("order", [2, 3])
def test_sums_drawn_at_random_come_again(order: int) -> None:
    X, n = np.zeros((2, 6)), 4000
    parts = RandomSums(n, order=order, distinct=False).fit(X).parts_
    assert (np.diff(parts, axis=1) > 0).all()
    kinds, counts = np.unique(parts, axis=0, return_counts=True)
    assert parts.shape == (n, order)
    assert len(kinds) == comb(6, order)
    assert ((counts - n / len(kinds)) ** 2 / (n / len(kinds))).sum() < 60
    encoder = TableEncoder(sums=RandomSums(50, distinct=False), n_jobs=1)
    frame, y = mixed()
    names = encoder.fit_transform_coded(frame, y).names
    assert any(name.startswith("a + d (") for name in names)  # the informative sum, several times
    with pytest.raises(ValueError, match="distinct"):
        RandomSums(3, distinct="no").fit(X)


def test_the_seed_decides() -> None:
    X = np.zeros((2, 30))
    one, same = RandomSums(10).fit(X).parts_, RandomSums(10, random_state=0).fit(X).parts_
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, RandomSums(10, random_state=1).fit(X).parts_)
    for make in (np.random.RandomState, np.random.default_rng):
        drawn = [RandomSums(10, random_state=make(5)).fit(X).parts_ for _ in range(2)]
        np.testing.assert_array_equal(*drawn)


def test_missing_terms_and_columns_without_numbers() -> None:
    frame, _ = mixed()
    sums = RandomSums(6).fit(frame)
    values = sums.transform(frame)
    assert not {1} & set(sums.parts_.ravel().tolist())
    for name, column in zip(sums.get_feature_names_out(), values.T, strict=True):
        first, second = (frame[part].to_numpy() for part in name.split(" + "))
        np.testing.assert_array_equal(column, first + second)
    assert np.isnan(values).any()
    output = RandomSums(6).set_output(transform="pandas").fit_transform(frame.to_pandas())
    assert isinstance(output, pd.DataFrame)
    assert list(output.columns) == list(sums.get_feature_names_out())


def test_names_do_not_clash() -> None:
    assert sum_names(["a", "b", "a + b"], np.array([[0, 1], [0, 1], [1, 2]])) == ["a + b (2)", "a + b (3)", "b + a + b"]


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({"n_features": 0}, np.ones((3, 3)), "n_features must be a whole number of at least 1"),
        ({"n_features": 1.5}, np.ones((3, 3)), "n_features must be a whole number"),
        ({"n_features": 1, "order": 4}, np.ones((3, 5)), "order must be 2 or 3"),
        ({"n_features": 1, "random_state": -1}, np.ones((3, 5)), "random_state must be"),
        ({"n_features": 1, "order": 3}, np.ones((3, 2)), "Sums of 3 columns need as many columns of numbers"),
        ({"n_features": 1}, pl.DataFrame({"a": ["x", "y"], "b": [1, 2]}), "1 hold numbers"),
        ({"n_features": 1}, np.array([[1e308, 1e308], [0, 0]]), r"x0 \+ x1.* (infinite|infinity)"),
        ({"n_features": 1}, np.array([[np.inf, 1], [0, 0]]), "x0.* (infinite|infinity)"),
    ],
)
def test_bad_input(options: dict[str, Any], X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RandomSums(**options).fit_transform(X)
    if not isinstance(X, pl.DataFrame) or len(X) > 1:
        with pytest.raises(ValueError, match=message):
            TableEncoder(sums=RandomSums(**options)).fit(X, np.arange(len(X)) % 2)


@pytest.mark.parametrize("missing", ["level", "ignore"])
@pytest.mark.parametrize("numeric", ["modl", "equal-frequency", MODLDiscretizer(prior="published")])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("block", [1 << 18, 900])
def test_levels_are_those_of_a_table_with_the_sums(
    monkeypatch: Any, missing: Any, numeric: Any, weighted: bool, block: int
) -> None:
    monkeypatch.setattr(fitted_columns, "_BLOCK_CELLS", block)
    frame, y = mixed()
    weights = np.random.default_rng(1).choice([0.0, 1.0, 2.5], y.size) if weighted else None
    sums = RandomSums(6)
    coded = TableEncoder(sums=sums, missing=missing, numeric=numeric).fit_transform_coded(frame, y, weights)
    made = sums.fit(frame)
    names = made.get_feature_names_out().tolist()
    wide = frame.with_columns(
        pl.Series(n, v, nan_to_null=True) for n, v in zip(names, made.transform(frame).T, strict=True)
    )
    expected = TableEncoder(missing=missing, numeric=numeric).fit_transform_coded(wide, y, weights)
    kept = np.flatnonzero((np.arange(11) < 5) | (expected.n_levels > 1))
    assert list(coded.names) == [expected.names[k] for k in kept]
    np.testing.assert_array_equal(coded.codes, expected.codes[kept])
    for own, k in zip(coded.levels or (), kept.tolist(), strict=True):
        of_wide = (expected.levels or ())[k]
        assert (own.n_levels, own.missing_code, own.level_score) == (
            of_wide.n_levels,
            of_wide.missing_code,
            of_wide.level_score,
        )
        np.testing.assert_array_equal(own.cut_points, of_wide.cut_points)
        np.testing.assert_array_equal(own.counts, of_wide.counts)
        assert own.sum_of == (() if k < 5 else tuple(own.name.split(" + ")))


def test_useless_sums_leave_nothing_behind() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 40)), rng.integers(0, 2, 300)
    coded = TableEncoder(sums=RandomSums(700)).fit_transform_coded(X, y)
    assert coded.n_features < 60
    assert coded.stored.nbytes < 60 * 300
    encoder = TableEncoder(sums=RandomSums(700)).fit(X, y)
    assert encoder.transform(X).shape == (300, coded.n_features)


def test_a_model_sees_what_no_column_says(tmp_path: Any) -> None:
    frame, y = mixed()
    model = SelectiveNB(encoder=TableEncoder(sums=RandomSums(6)), pairs=0).fit(frame, y)
    assert model.selected_features_[0] == "a + d"
    assert model.score(frame, y) == 1.0 > SelectiveNB(pairs=0).fit(frame, y).score(frame, y)
    assert model.n_features_in_ == 5
    model.save(tmp_path / "model.json")
    again = bayesieve.load(tmp_path / "model.json")
    new, _ = mixed(seed=5)
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
    assert (again.n_features_in_, again.feature_names_in_.tolist()) == (5, frame.columns)
    refitted = again.fit(frame, y)
    np.testing.assert_array_equal(refitted.predict_proba(new), model.predict_proba(new))
    explained = model.explain(new[:3])
    explained = explained.filter(pl.col("feature") == "a + d")
    assert [float(v) for v in explained.filter(pl.col("class") == 0)["value"]] == (new["a"] + new["d"])[:3].to_list()
    performance = model.report(tmp_path / "report.html", frame, y)
    assert performance is not None
    assert performance.accuracy == 1.0
    assert "a + d" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("calibrate", ["weights", "levels", "cells"])
@pytest.mark.parametrize("selector", ["compression", "clusters"])  # clusters learn from two thirds of the rows
def test_calibration_pairs_and_saved_models_take_sums_for_columns(selector: str, calibrate: Any, tmp_path: Any) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(500, 5))
    y = (X[:, 0] + X[:, 3] + 0.3 * rng.normal(size=500) > 0) ^ (X[:, 1] + X[:, 2] > 1)
    encoder = TableEncoder(sums=RandomSums(10), pairs="auto")
    model = SelectiveNB(selector, encoder=encoder, calibrate=calibrate).fit(X, y)
    assert (model.scorecard_.class_counts.sum() < len(y)) == (selector == "clusters")
    assert any(level.sum_of for level in model.encoder_.levels_)
    model.save(tmp_path / "model.json")
    again = bayesieve.load(tmp_path / "model.json")
    assert again.n_features_in_ == 5
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.predict_proba(X[:7]), model.predict_proba(X)[:7])


@pytest.mark.parametrize(
    "selector", ["map", BoostedSelector(3), WrapperSelector(direction="forward", evaluation=3, recode=True)]
)
def test_selectors_support_the_columns_of_their_sums(selector: Any) -> None:
    frame, y = mixed()
    encoder = TableEncoder(sums=RandomSums(6))
    if selector == "map":
        model = SelectiveNB("map", encoder=encoder).fit(frame, y)
        behind = columns_behind(model.encoder_.levels_, model.selector_.support_)
    else:
        fitted = selector.set_params(encoder=encoder).fit(frame, y)
        behind = fitted.get_support()
        assert fitted.transform(frame).columns == [n for n, k in zip(frame.columns, behind, strict=True) if k]
    assert behind.shape == (5,)
    assert behind[[0, 4]].all()


def test_text_that_is_no_number_makes_a_sum_missing() -> None:
    frame, y = mixed()
    encoder = TableEncoder(sums=RandomSums(6)).fit(frame, y)
    texts = frame.with_columns(pl.Series("a", ["many"] + [str(v) for v in frame["a"][1:]]))
    codes = encoder.transform(texts)
    plain = encoder.transform(frame)
    at = encoder.levels_.names.index("a + d")
    assert codes[0, at] == encoder.levels_[at].n_levels
    np.testing.assert_array_equal(codes[1:], plain[1:])


def test_levels_survive_json_and_damage_is_refused() -> None:
    frame, y = mixed()
    levels = TableEncoder(sums=RandomSums(6), pairs=[["a", "b"]]).fit(frame, y).levels_
    data = features_to_json(levels)
    again = features_from_json(data)
    assert [level.sum_of for level in again] == [level.sum_of for level in levels]
    assert [level.name for level in columns_of(again)] == frame.columns
    assert [level.name for level in columns_of(levels)] == frame.columns
    own = next(one for one in data if "sum_of" in one)
    for wrong in (["a"], ["a", "a"], ["a", "nowhere"], ["a", "town"], ["a", 3]):
        with pytest.raises(ValueError, match=r"made of columns that are not there|damaged"):
            features_from_json([{**one, "sum_of": wrong} if one is own else one for one in data])
    assert FeatureLevels.from_json(own).sum_of == ("a", "d")


def test_parts_of_a_summed_table() -> None:
    frame, _ = mixed(20)
    table = SummedTable(as_table(frame), np.array([[0, 4], [2, 3]]))
    assert (table.n_columns, table.names[5:], len(table)) == (7, ("a + d", "b + c"), 20)
    whole = table.numbers(np.array([0, 2, 5, 6]))
    some = np.array([3, 1, 7])
    np.testing.assert_array_equal(table.take(some).numbers(np.array([0, 2, 5, 6])), whole[:, some])
    np.testing.assert_array_equal(table.read_once().column(6).numbers(), whole[3])
    np.testing.assert_array_equal(table.select([5, 1]).column(0).numbers(), whole[2])
    np.testing.assert_array_equal(table.numbers_at(some, np.array([5])), whole[[2]][:, some])
    assert table.select([1, 3]).names == ("town", "c")
    assert table.kinds()[5:] == ["numeric", "numeric"]


def test_numbers_that_are_read_as_categories_take_no_part() -> None:
    frame, y = mixed()
    encoder = TableEncoder(sums=RandomSums(6), kinds={"a": "categorical"}).fit(frame, y)
    assert all("a" not in level.sum_of for level in encoder.levels_)
    with pytest.raises(ValueError, match="Sums of 2 columns need as many columns of numbers"):
        TableEncoder(sums=RandomSums(6), kinds=dict.fromkeys("abc", "categorical")).fit(frame, y)
