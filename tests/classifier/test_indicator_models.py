"""`SelectiveNB` on indicators: decisions are explained by score, survive in files, and work on the command line."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from bayesieve import DiscreteNB, IndicatorEncoder, SelectiveNB
from bayesieve.classifier.report_data import report_data
from bayesieve.cli.app import app
from bayesieve.counts import log_probabilities
from bayesieve.scorecard import Explanation
from tests.classifier.mixed_data import fitted as fitted_on_columns, frame as mixed_frame

N = 300
LEVELS = [0.001, 0.01, 0.05, 0.25, 0.5]


@cache
def frame() -> pl.DataFrame:
    """Three p-values, the second with holes, the third of noise."""
    rng = np.random.default_rng(5)
    y = labels()
    holes = np.where(rng.random(N) < 0.15, np.nan, rng.random(N) ** np.where(y == "trend", 8, 1))
    return pl.DataFrame(
        {"u_test(w=30)": rng.random(N) ** np.where(y == "normal", 1, 6), "f_test": holes, "noise": rng.random(N)}
    ).with_columns(pl.col("f_test").fill_nan(None))


@cache
def labels() -> np.ndarray:
    return np.array(["mean", "normal", "trend"])[np.random.default_rng(4).integers(0, 3, N)]


@cache
def model(selector: str = "compression") -> SelectiveNB:
    """A model that tests must not change."""
    return SelectiveNB(selector, encoder=IndicatorEncoder(LEVELS)).fit(frame(), labels())


@pytest.mark.parametrize("selector", ["map", "compression"])
def test_predictions_are_those_of_naive_bayes_on_the_indicators(selector: str) -> None:
    fitted = SelectiveNB(selector, encoder=IndicatorEncoder(LEVELS), calibrate="weights").fit(frame(), labels())
    assert fitted.score(frame(), labels()) > 0.55
    assert fitted.n_features_in_ == 3
    assert fitted.feature_names_in_.tolist() == frame().columns
    assert fitted.feature_weights_.shape == (15,)
    assert set(fitted.selected_features_) <= set(fitted.encoder_.get_feature_names_out())
    codes = fitted.encoder_.transform_coded(frame()).codes.T
    plain = DiscreteNB(feature_weights=fitted.feature_weights_, min_categories=3).fit(codes, labels())
    for k, levels in enumerate(fitted.encoder_.levels_):  # without a missing level where there was no missing score
        counts = np.asarray(levels.counts)
        plain.feature_log_prob_[k] = log_probabilities(counts, counts.sum(), fitted.smoothing_)
        np.testing.assert_array_equal(plain.feature_count_[k][: levels.n_levels], counts)
    np.testing.assert_allclose(fitted.predict_log_proba(frame()), plain.predict_log_proba(codes), atol=1e-12)


@pytest.mark.parametrize("by", ["feature", "score"])
def test_contributions_and_prior_add_up_exactly(by: Any) -> None:
    fitted = model("compression")
    joint = fitted.scorecard_.joint(frame())
    difference = fitted.scorecard_.explain(frame(), by=by).joint_log_proba() - joint
    assert np.all(np.abs(difference) <= (4 * np.spacing(np.abs(joint).max()) if by == "score" else 0.0))


def test_indicators_of_a_score_are_added_up() -> None:
    fitted = model("all")
    parts = fitted.explain(frame()[:60])
    scores = fitted.explain(frame()[:60], by="score")
    assert scores.columns == parts.columns
    assert scores["feature"].unique(maintain_order=True).to_list() == frame().columns
    by_score = parts.with_columns(pl.col("feature").str.replace("<=[^<]*$", "")).group_by(
        "row", "class", "feature", maintain_order=True
    )
    summed = by_score.agg(pl.col("contribution").sum(), pl.col("weight").sum(), pl.col("value").first())
    np.testing.assert_allclose(scores["contribution"], summed["contribution"], rtol=0, atol=1e-13)
    assert scores["weight"].to_list() == summed["weight"].to_list()
    assert scores["value"].to_list() == summed["value"].to_list()


def test_scores_show_their_raw_value_and_the_interval_it_is_in() -> None:
    fitted = model("all")
    shown = fitted.explain(frame(), by="score").filter(pl.col("class") == "mean")
    for name in frame().columns:
        part = shown.filter(pl.col("feature") == name).sort("row")
        raw = frame()[name].to_list()
        assert part["value"].to_list() == [None if value is None else str(value) for value in raw]
        for value, level in zip(raw, part["level"], strict=True):
            if value is None:
                assert level == "missing"
            elif value <= 0.001:
                assert level == "<= 0.001"
            elif value > 0.5:
                assert level == "> 0.5"
            else:
                low, high = map(float, level.split(" < .. <= "))
                assert low < value <= high
    unseen = frame()[:1].with_columns(pl.lit(None, dtype=pl.Float64).alias("noise"))
    last = fitted.explain(unseen, by="score").filter(pl.col("feature") == "noise")
    assert last["level"].unique().to_list() == ["(not seen in training)"]
    unseen_values = [feature.unseen for feature in fitted.scorecard_.features if feature.columns == ("noise",)]
    np.testing.assert_allclose(last["contribution"], np.sum(unseen_values, axis=0), atol=1e-12)


def test_intervals_lie_between_the_thresholds_of_indicators_in_use() -> None:
    fitted = model("map")
    assert 0 < fitted.n_features_selected_ < 10
    used = {name.rsplit("<=", 1)[1] for name in fitted.selected_features_ if name.startswith("u_test")}
    shown = fitted.explain(frame(), by="score").filter(pl.col("feature") == "u_test(w=30)")
    assert shown["level"].n_unique() == len(used) + 1
    for level in shown["level"].unique():
        assert set(level.replace("..", "").replace("<=", "").replace("<", "").replace(">", "").split()) <= used


def test_without_indicators_features_are_their_own_scores() -> None:
    fitted = fitted_on_columns()
    assert fitted.explain(mixed_frame()[:9], by="score").equals(fitted.explain(mixed_frame()[:9]))
    with pytest.raises(ValueError, match="by must be 'feature', 'score' or 'column', got 'row'"):
        fitted.explain(mixed_frame(), by="row")  # type: ignore[arg-type]


def test_groups_of_a_class_that_is_impossible() -> None:
    contributions = -np.arange(12.0).reshape(2, 3, 2) / 7
    texts = np.full((2, 3), "x", dtype=object)
    whole = Explanation(
        np.arange(2), ["a", "b", "c"], np.arange(2), np.array([0.0, -np.inf]), contributions, texts, texts, np.ones(3)
    )
    grouped = whole.grouped(["s", "s", "c"], texts[:, :2], texts[:, :2])
    np.testing.assert_allclose(grouped.contributions[:, 0], contributions[:, :2].sum(axis=1))
    np.testing.assert_allclose(grouped.contributions[:, 1], contributions[:, 2])
    np.testing.assert_array_equal(grouped.joint_log_proba(), whole.joint_log_proba())
    assert (grouped.features, grouped.weights.tolist()) == (["s", "c"], [2, 1])


@pytest.mark.slow
def test_reports_explain_by_score(tmp_path: Path) -> None:
    data = report_data(model(), frame(), labels(), cv=3, rows=3)
    assert data.performance is not None
    assert data.performance.accuracy > 0.5
    assert len(data.explained) == 3
    for row in data.explained:
        assert {part["feature"] for part in row["contributions"]} <= set(frame().columns)
    settings = dict(data.settings)
    assert settings["Indicators"] == "15, of 3 scores"
    assert settings["Thresholds"] == "as given"
    model().report(tmp_path / "report.html", frame(), labels(), cv=2)
    assert "u_test(w=30)" in (tmp_path / "report.html").read_text()


def test_on_the_command_line(tmp_path: Path) -> None:
    file, table = tmp_path / "model.json", tmp_path / "rows.csv"
    model().save(file)
    frame().with_columns(pl.lit("x").alias("other")).write_csv(table)

    def run(*arguments: object) -> str:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    run("predict", file, table, "--output", tmp_path / "predicted.csv")
    predicted = pl.read_csv(tmp_path / "predicted.csv")["prediction"].to_list()
    assert predicted == model().predict(frame()).tolist()
    told = run("explain", file, table, "--rows", "0")
    assert "u_test(w=30)" in told
    assert "u_test(w=30)<=" not in told
    assert "of 15 features" in run("info", file)
    frame().drop("u_test(w=30)").write_csv(table)
    result = CliRunner().invoke(app, ["predict", str(file), str(table)])
    assert result.exit_code == 2
    assert "lacks a column that the model needs: 'u_test(w=30)'" in result.stderr
