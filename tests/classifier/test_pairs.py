"""Pairs of columns survive files, explanations and reports, and prediction names the columns that they need."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.feature_selection import RFE, SelectFromModel

from bayesieve import SelectiveNB
from tests.report.markup import payload

N = 500
PAIRS = [("left", "right"), ("town", "left")]


def table() -> tuple[pl.DataFrame, list[str]]:
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=N), rng.normal(size=N)
    town = [None if rng.random() < 0.1 else name for name in rng.choice(["Jena", "Köln", "Ulm"], N)]
    in_town = np.array([name == "Ulm" for name in town])
    yes = ((left * right > 0) ^ (rng.random(N) < 0.1)) | (in_town & (left > 0))
    return pl.DataFrame({"left": left, "town": town, "right": right}), ["yes" if one else "no" for one in yes]


def test_pairs_come_after_the_columns() -> None:
    model = SelectiveNB(pairs=PAIRS).fit(*table())
    assert model.selected_features_[0] == "left × right"
    assert model.feature_weights_.shape == (5,)
    assert model.n_features_in_ == 3
    by_feature = {row["feature"]: row["importance"] for row in model.summary().to_dicts()}
    of_pairs = [0.5 * by_feature["left × right"], 0.5 * by_feature["town × left"]]
    expected = [by_feature["left"] + sum(of_pairs), by_feature["town"] + of_pairs[1], by_feature["right"] + of_pairs[0]]
    np.testing.assert_allclose(model.feature_importances_, expected)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_scikit_learn_selects_columns_by_importances() -> None:
    X = np.random.default_rng(1).normal(size=(N, 5))
    y = (X[:, 1] + X[:, 3] + 0.5 * X[:, 0] * X[:, 2] > 0).astype(int)
    model = SelectiveNB(n_jobs=1)
    for selector in (RFE(model, n_features_to_select=2), SelectFromModel(model, threshold=0.2)):
        assert selector.fit(X, y).get_support().tolist() == [False, True, False, True, False]


def test_contributions_add_up_and_both_values_are_shown() -> None:
    X, y = table()
    model = SelectiveNB("all", pairs=PAIRS).fit(X, y)
    explanation = model.scorecard_.explain(X)
    np.testing.assert_array_equal(explanation.joint_log_proba(), model.scorecard_.joint(X))
    row = X["town"].is_null().arg_true()[0]
    at = explanation.features.index("town × left")
    assert explanation.values[row, at] == f"missing, {X['left'][row]!r}"
    assert explanation.levels[row, at] in model.encoder_.levels_[4].labels
    assert model.explain(X[:3]).filter(pl.col("feature") == "left × right")["level"].str.contains("left").all()


def test_descriptions(tmp_path: Path) -> None:
    X, y = table()
    model = SelectiveNB(prior="published", pairs="auto").fit(X, y)
    summary = model.summary()
    assert summary.filter(pl.col("kind") == "pair")["feature"].to_list() == ["left × right", "left × town"]
    model.report(tmp_path / "report.html", X, y, cv=2)
    page = (tmp_path / "report.html").read_text("utf-8")
    shown = {feature["name"]: feature for feature in payload(page)["more"]["features"]}
    for name in (own for own in model.selected_features_ if "×" in own):
        assert shown[name]["kind"] == "pair"
        assert set(model.scorecard_[name].cells.all_labels) <= set(shown[name]["cells"]["label"])
    pair = shown["left × right"]["cells"]
    groups = model.scorecard_["left × right"].cells
    counted = dict(zip(groups.all_labels, np.asarray(groups.counts).sum(axis=1).tolist(), strict=True))
    assert dict(zip(pair["label"], pair["rows"], strict=True)) == counted
    frame = model.encoder_.to_frame()
    assert frame.filter(pl.col("feature") == "left × right")["count"].sum() == N


def test_a_single_pair_needs_its_columns() -> None:
    X, y = table()
    model = SelectiveNB("map", pairs=1).fit(X, y)
    assert model.feature_weights_[[0, 2, 3]].tolist() == [0, 0, 1]
    with pytest.warns(UserWarning, match="contains no value") as caught:
        model.predict(X.with_columns(right=pl.lit(None, pl.Float64)))
    assert "'right'" in str(caught[0].message)
    assert "×" not in str(caught[0].message)


def test_no_accidental_pair_in_noise() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(208, 30)), rng.integers(0, 2, 208)
    X[:, :10] += 0.7 * y[:, None]
    alone, paired = SelectiveNB().fit(X, y), SelectiveNB(pairs="auto").fit(X, y)
    np.testing.assert_array_equal(alone.predict_proba(X), paired.predict_proba(X))
