"""Sums of random columns: drawn, computed, chosen by MODL, and learnt from."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayesieve import SelectiveNB, TableEncoder
from bayesieve_lab import random_sums
from bayesieve_lab.random_sums import RandomSums, SumsNB, sum_names


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
    assert sums.terms_.shape == (n_features, order)
    assert (np.diff(sums.terms_, axis=1) > 0).all()
    n_distinct = min(n_features, comb(7, order))
    assert len(np.unique(sums.terms_[:n_distinct], axis=0)) == n_distinct
    np.testing.assert_allclose(sums.transform(X), X[:, sums.terms_].sum(axis=2), rtol=1e-15)
    assert len(set(sums.get_feature_names_out())) == n_features
    assert sums.get_feature_names_out()[0] == " + ".join(f"x{i}" for i in sums.terms_[0])


@pytest.mark.parametrize("order", [2, 3])
def test_every_combination_is_as_likely(order: int) -> None:
    X = np.zeros((2, 6))
    counts: dict[Any, int] = {}
    for seed in range(400):
        for n_features in (1, comb(6, order) - 1):
            first = tuple(RandomSums(n_features, order=order, random_state=seed).fit(X).terms_[0].tolist())
            counts[first] = counts.get(first, 0) + 1
    assert len(counts) == comb(6, order)
    expected = 800 / comb(6, order)
    assert sum((n - expected) ** 2 / expected for n in counts.values()) < 60  # chi squared of 14 or 19 degrees


@pytest.mark.parametrize("order", [2, 3])
def test_sums_drawn_at_random_come_again(order: int) -> None:
    X, n = np.zeros((2, 6)), 4000
    parts = RandomSums(n, order=order, distinct=False).fit(X).terms_
    assert (np.diff(parts, axis=1) > 0).all()
    kinds, counts = np.unique(parts, axis=0, return_counts=True)
    assert parts.shape == (n, order)
    assert len(kinds) == comb(6, order)
    assert ((counts - n / len(kinds)) ** 2 / (n / len(kinds))).sum() < 60
    frame, y = mixed()
    names = RandomSums(50, distinct=False, useful=True).fit(frame, y).get_feature_names_out()
    assert any(name.startswith("a + d (") for name in names)  # the informative sum, several times
    with pytest.raises(ValueError, match="distinct"):
        RandomSums(3, distinct="no").fit(X)


def test_the_seed_decides() -> None:
    X = np.zeros((2, 30))
    one, same = RandomSums(10).fit(X).terms_, RandomSums(10, random_state=0).fit(X).terms_
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, RandomSums(10, random_state=1).fit(X).terms_)
    for make in (np.random.RandomState, np.random.default_rng):
        drawn = [RandomSums(10, random_state=make(5)).fit(X).terms_ for _ in range(2)]
        np.testing.assert_array_equal(*drawn)


def test_missing_terms_and_columns_without_numbers() -> None:
    frame, _ = mixed()
    sums = RandomSums(6).fit(frame)
    values = sums.transform(frame)
    assert not {1} & set(sums.terms_.ravel().tolist())
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
        ({"n_features": 1}, np.array([[np.inf, 1], [0, 0]]), "x0.* (infinite|infinity)"),
    ],
)
def test_bad_input(options: dict[str, Any], X: Any, message: str) -> None:
    for useful in (False, True):
        with pytest.raises(ValueError, match=message):
            RandomSums(**options, useful=useful).fit_transform(X, np.arange(len(X)) % 2)


@pytest.mark.parametrize("block", [1 << 18, 900])
def test_useful_sums_are_those_that_are_cut(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(random_sums, "_BLOCK_CELLS", block)
    frame, y = mixed()
    every = RandomSums(6).fit(frame)
    levels = TableEncoder(prior="published").fit(every.transform(frame), y).levels_
    expected = [name for name, level in zip(every.get_feature_names_out(), levels, strict=True) if level.n_levels > 1]
    useful = RandomSums(6, useful=True).fit(frame, y)
    assert useful.get_feature_names_out().tolist() == expected
    assert 0 < len(expected) < 6
    with pytest.raises(ValueError, match="pass them as y"):
        RandomSums(6, useful=True).fit(frame)


def test_useless_sums_leave_nothing_behind() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 40)), rng.integers(0, 2, 300)
    sums = RandomSums(700, useful=True).fit(X, y)
    assert sums.transform(X).shape == (300, len(sums.terms_))
    assert len(sums.terms_) < 20


def test_a_model_sees_what_no_column_says() -> None:
    frame, y = mixed()
    plain = SelectiveNB(pairs=0)
    model = SumsNB(plain, RandomSums(6, useful=True)).fit(frame, y)
    assert model.estimator_.selected_features_[0] == "a + d"
    assert model.score(frame, y) == 1.0 > plain.fit(frame, y).score(frame, y)
    new, _ = mixed(seed=5)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(new)), model.predict_proba(new))
    assert model.n_features_selected_ == model.estimator_.n_features_selected_


def test_text_that_is_no_number_makes_a_sum_missing() -> None:
    frame, _ = mixed()
    sums = RandomSums(6).fit(frame)
    texts = frame.with_columns(pl.Series("a", ["many"] + [str(v) for v in frame["a"][1:]]))
    values, plain = sums.transform(texts), sums.transform(frame)
    with_a = [name.startswith("a +") or name.endswith("+ a") for name in sums.get_feature_names_out()]
    assert np.isnan(values[0]).tolist() == [has or bool(np.isnan(v)) for has, v in zip(with_a, plain[0], strict=True)]
    np.testing.assert_array_equal(values[1:], plain[1:])
