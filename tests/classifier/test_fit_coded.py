"""`SelectiveNB` on rows that somebody else has coded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from bayesieve import IndicatorEncoder, SelectiveNB, TableEncoder, WrapperSelector

GERMAN = Path(__file__).parents[2] / "examples" / "data" / "german_credit.csv"


@pytest.fixture(scope="module")
def german() -> tuple[pl.DataFrame, pl.Series]:
    frame = pl.read_csv(GERMAN).head(300)
    return frame.drop("class"), frame["class"]


WRAPPER = WrapperSelector(direction="forward", evaluation="holdout")
CASES = [(name, weighted) for name in ("all", "map", "compression", "auc") for weighted in (False, True)]


@pytest.mark.parametrize(("selector", "weighted"), [*CASES, (WRAPPER, False), ("indicators", False)], ids=str)
def test_one_coding_for_all_is_as_good_as_one_for_each(
    german: tuple[pl.DataFrame, pl.Series], selector: Any, weighted: bool
) -> None:
    X, y = german
    weights = np.arange(300) % 3 + 1.0 if weighted else None
    model = SelectiveNB(selector)
    if selector == "indicators":
        X, model = X.select("age", "credit_amount"), SelectiveNB("map", encoder=IndicatorEncoder(3))
    alone = clone(model).fit(X, y, weights)
    encoder = model.new_encoder()
    coded = encoder.fit_transform_coded(X, y, weights)
    codes, classes, n_features = coded.codes.copy(), np.array(coded.class_codes), len(encoder.levels_)
    model.fit_coded(coded, encoder)
    np.testing.assert_array_equal(coded.codes, codes)  # the next model wants the rows and levels as they were
    np.testing.assert_array_equal(coded.class_codes, classes)
    assert len(encoder.levels_) == n_features
    np.testing.assert_array_equal(model.feature_weights_, alone.feature_weights_)
    expected = alone.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    np.testing.assert_array_equal(model.predict_proba(encoder.transform_coded(X)), expected)
    np.testing.assert_array_equal(model.predict(encoder.transform_coded(X)), alone.predict(X))
    assert model.feature_names_in_.tolist() == X.columns


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
