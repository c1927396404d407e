"""`SelectiveNB` on rows that somebody else has coded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bayesieve
from bayesieve import IndicatorEncoder, SelectiveNB, TableEncoder, WrapperSelector

GERMAN = Path(__file__).parents[2] / "examples" / "data" / "german_credit.csv"


@pytest.fixture(scope="module")
def german() -> tuple[pl.DataFrame, pl.Series]:
    frame = pl.read_csv(GERMAN).head(300)
    return frame.drop("class"), frame["class"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "selector",
    ["all", "map", "compression", "auc", WrapperSelector(direction="forward", evaluation="holdout")],
    ids=str,
)
def test_one_coding_for_all_is_as_good_as_one_for_each(
    german: tuple[pl.DataFrame, pl.Series], selector: Any, weighted: bool, tmp_path: Path
) -> None:
    X, y = german
    weights = np.arange(300) % 3 + 1.0 if weighted else None
    if weighted and isinstance(selector, WrapperSelector):
        weights = None
    model = SelectiveNB(selector)
    encoder = model.new_encoder()
    coded = encoder.fit_transform_coded(X, y, weights)
    codes, classes = coded.codes.copy(), np.array(coded.class_codes)
    model.fit_coded(coded, encoder)
    np.testing.assert_array_equal(coded.codes, codes)  # the next model wants the rows as they were
    np.testing.assert_array_equal(coded.class_codes, classes)
    alone = SelectiveNB(selector).fit(X, y, weights)
    np.testing.assert_array_equal(model.feature_weights_, alone.feature_weights_)
    expected = alone.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    np.testing.assert_array_equal(model.predict_proba(encoder.transform_coded(X)), expected)
    np.testing.assert_array_equal(model.predict(encoder.transform_coded(X)), alone.predict(X))
    assert model.feature_names_in_.tolist() == X.columns
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(bayesieve.load(tmp_path / "model.json").predict_proba(X), expected)


def test_indicators() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = SelectiveNB("map", encoder=IndicatorEncoder([-1.0, 0.0, 1.0]))
    encoder = model.new_encoder()
    model.fit_coded(encoder.fit_transform_coded(X, y), encoder)
    alone = SelectiveNB("map", encoder=IndicatorEncoder([-1.0, 0.0, 1.0])).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


def test_the_encoder_is_the_one_asked_for() -> None:
    assert SelectiveNB(n_jobs=3).new_encoder().n_jobs == 3
    mine = TableEncoder(numeric="equal-width", n_jobs=2)
    found = SelectiveNB(encoder=mine, n_jobs=3).new_encoder()
    assert (found.numeric, found.n_jobs) == ("equal-width", 2)
    assert found is not mine


def test_options_are_checked_before_anything_is_coded(german: tuple[pl.DataFrame, pl.Series]) -> None:
    X, y = german
    encoder = TableEncoder()
    coded = encoder.fit_transform_coded(X, y)
    with pytest.raises(ValueError, match="selector must be one of"):
        SelectiveNB("best").fit_coded(coded, encoder)
    with pytest.raises(ValueError, match="selector must be one of"):
        SelectiveNB("best").fit("no table", y)
    with pytest.raises(ValueError, match="calibrate must be"):
        SelectiveNB(calibrate="always").fit_coded(coded, encoder)


def test_a_model_of_part_of_the_rows_codes_rows_by_its_own_levels() -> None:
    rng = np.random.default_rng(0)
    X = pl.DataFrame(rng.normal(size=(300, 4)), schema=list("abcd"))
    y = X["a"].to_numpy() + X["b"].to_numpy() + rng.normal(size=300) > 0
    encoder = TableEncoder()
    model = SelectiveNB("clusters").fit_coded(encoder.fit_transform_coded(X, y), encoder)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(encoder.transform_coded(X)), expected)
    np.testing.assert_array_equal(model.predict_proba(encoder.transform_coded(X[:7])), expected[:7])
    assert [level.labels for level in model.encoder_.levels_] != [level.labels for level in encoder.levels_]
