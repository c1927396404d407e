"""`positive=`: whatever the labels are called, the class that it names is the one that everything is about."""

from __future__ import annotations

import json
import warnings
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
import yaml
from polars.testing import assert_frame_equal

import bayesieve
from bayesieve import SelectiveNB, challenge, drift, evaluate
from bayesieve.classifier.report_data import report_data
from bayesieve.classifier.scoring import with_card
from bayesieve.scorecard.hidden_counts import with_hidden_counts
from tests.cases import mostly_slow
from tests.classifier.model_files import signed

HOSTILE = 'it\'s "<b>&amp;</b>"; -- \\ {0} %s'
LABELS: list[tuple[Any, Any, Any]] = [
    (0, 1, None),
    (1, 0, 0),
    ("no", "yes", "yes"),
    ("zero", "one", "one"),
    ("good", "bad", "bad"),
    (True, False, False),
    ("it's", HOSTILE, HOSTILE),
    ("", "\t", "\t"),
    ("a", "", ""),
    (np.int64(7), np.int64(-7), np.int64(-7)),
]
"""What the others and the rows of interest are called, and ``positive``; the first are compared with all others."""


def table(n_rows: int = 500, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    columns = {"income": rng.normal(size=n_rows) + y, "debt": rng.normal(size=n_rows) - y}
    codes = np.where(rng.random(n_rows) < 0.4, y, rng.integers(0, 3, n_rows))
    return pl.DataFrame({**columns, "word": np.array(["u", "v", "w"])[codes]}), y


@lru_cache(typed=True)
def fitted(other: Any, own: Any, positive: Any) -> SelectiveNB:
    X, y = table()
    monotone, levels = {"income": 1}, {"debt": {"monotone": -1}}
    model = SelectiveNB(monotone=monotone, levels=levels, pairs=0, positive=positive)
    labels = [str(other), str(own)] if isinstance(own, str) else [other, own]
    return model.fit(X, np.array(labels)[y])


def check_picture(found: dict[str, pl.DataFrame]) -> None:
    """Groups of categories come in the order of the last class."""
    for name, frame in found.items():
        by = [column for column in ("segment", "by", "class", "measure", "feature", "level", "cell") if column in frame]
        both = [own.sort(by, maintain_order=True) if by else own for own in (frame, expected()[name])]
        assert_frame_equal(*both, rel_tol=1e-6, abs_tol=1e-6)


def picture(model: SelectiveNB, own: Any, other: Any) -> dict[str, pl.DataFrame]:
    """What is told of the rows of interest, by what tells it; without labels."""
    X, y = table(200, seed=1)
    labels = np.array([other, own])[y]
    scored = pl.concat([X, pl.DataFrame({"id": range(X.height)})], how="horizontal")
    query = model.export(to="sql", reasons=3, keep="id", table="scored")
    sql = duckdb.sql(query).pl().sort("id").select("score", pl.col("^reason_.*$"))
    program: dict[str, Any] = {}
    exec(model.export(to="python"), program)
    python = [program["score"](row) for row in X.iter_rows(named=True)]
    known = evaluate(model, X, labels, by="word")
    shift = drift(model, X, labels, n_resamples=0)
    points = model.points(X=X, y=labels)
    numbers = report_data(model, X, labels, held_out=True)
    assert numbers.performance is not None
    assert numbers.classes[numbers.positive] == str(own)
    assert scored.height == sql.height
    return {
        "reasons": model.reasons(X, n=None),
        "reasons against the best": model.reasons(X, n=None, against="best"),
        "changes": model.counterfactuals(X[:20], probability=0.6).drop("class"),
        "points": points.to_frame(),
        "rounding": points.loss_of_rows,
        "reasons by points": points.reasons(X),
        "summary": model.summary().drop("monotone_class"),
        "sql": sql,
        "python": pl.DataFrame({"score": [found["score"] for found in python]}),
        "reasons of python": pl.DataFrame([reason for found in python for reason in found["reasons"]]),
        "measures": known.to_frame().drop("class"),
        "gaps": known.gaps.drop("class"),
        "shift": shift.to_frame(),
        "periods": shift.periods,
        "levels now": shift.levels.drop("class"),
        "thresholds": pl.DataFrame(numbers.performance.thresholds, orient="row"),
        "calibration": pl.DataFrame(numbers.performance.reliability[0][1]),
        "curve": pl.DataFrame(numbers.performance.roc[0][1], orient="row"),
        "signs": pl.DataFrame([(one["name"], one["monotone"]) for one in numbers.features], orient="row"),
        "probability": pl.DataFrame({"p": model.predict_proba(X)[:, numbers.positive]}),
        "figure": model.scorecard_.plot("income").data.drop("share"),
        "swaps": challenge(model, model, X, labels, share=0.3).swaps,
        "tests": challenge(model, model, X, labels, share=0.3).tests,
    }


@cache
def expected() -> dict[str, pl.DataFrame]:
    return picture(fitted(*LABELS[0]), 1, 0)


@pytest.mark.parametrize(
    ("other", "own", "positive"), mostly_slow(LABELS[1:], [(1, 0, 0), ("it's", HOSTILE, HOSTILE)]), ids=repr
)
def test_the_picture_is_the_same_whatever_labels_are_called(other: Any, own: Any, positive: Any) -> None:
    model = fitted(other, own, positive)
    assert model.classes_.tolist() == sorted([other, own])
    check_picture(picture(model, own, other))
    written = [yaml.safe_load(one.levels_to_yaml()) for one in (model, fitted(*LABELS[0]))]
    for of_word in (one.pop("word") for one in written):
        assert sorted(of_word["groups"]) == [["u"], ["v"], ["w"]]
    assert written[0] == written[1]
    signs = {name: sign for name, sign in model.summary().select("feature", "monotone").iter_rows() if sign}
    assert signs == {"income": 1, "debt": -1}


@pytest.mark.parametrize("positive", ["bad", "good"])
def test_probabilities_do_not_depend_on_it(positive: str) -> None:
    X, y = table()
    labels = np.array(["bad", "good"])[y]
    plain, named = (SelectiveNB(positive=own).fit(X, labels) for own in (None, positive))
    np.testing.assert_array_equal(named.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(named.predict_interval(X), plain.predict_interval(X))
    assert named.explain(X).equals(plain.explain(X))
    assert named.classes_.tolist() == ["bad", "good"]
    assert named.reasons(X).equals(plain.reasons(X, target_class=positive))
    on_scores = plain.predict_log_proba(X) @ ([-1, 1] if positive == "good" else [1, -1])
    points = named.points().predict_proba(X)[:, int(positive == "good")]
    np.testing.assert_allclose(points, 1 / (1 + np.exp(-on_scores)), atol=0.01)


def test_it_is_kept(tmp_path: Path) -> None:
    model = fitted("good", "bad", "bad")
    X, y = table()
    labels = np.array(["good", "bad"])[y]
    model.save(tmp_path / "model.json")
    loaded = bayesieve.load(tmp_path / "model.json")
    elsewhere = SelectiveNB(levels=model.scorecard_, monotone={"income": -1, "debt": 1}, pairs=0).fit(X, labels)
    changed = {
        "loaded": loaded,
        "updated": loaded.update(X, labels),
        "merged": bayesieve.merge([model, elsewhere]),
        "edited": loaded.edit().rename("word", {0: "first"}).done(),
        "fitted again": loaded.edit().refit(X, labels).done(),
        "of a prior": loaded.with_prior({"bad": 0.1}),
        "hidden": with_card(loaded, with_hidden_counts(loaded.scorecard_, 3)),
    }
    for name, other in changed.items():
        assert other.scorecard_.positive == 0, name
        assert other.summary()["monotone"].to_list() == model.summary()["monotone"].to_list(), name
    loaded.save(tmp_path / "again.json")
    first, again = ((tmp_path / name).read_text("utf-8") for name in ("model.json", "again.json"))
    assert first == again
    assert loaded.positive == "bad"
    check_picture(picture(loaded, "bad", "good"))
    content = json.loads(first)
    for wrong, told in ((2, "its positive class is not one of its classes"), (-1, "positive"), ("bad", "positive")):
        content["provenance"]["positive"] = wrong
        (tmp_path / "model.json").write_text(signed(content), "utf-8")
        with pytest.raises(ValueError, match=told):
            bayesieve.load(tmp_path / "model.json")


def test_levels_written_by_a_model_are_read_for_the_same_class(tmp_path: Path) -> None:
    model = fitted("good", "bad", "bad")
    X, y = table()
    model.levels_to_yaml(tmp_path / "levels.yaml")
    again = SelectiveNB(levels=tmp_path / "levels.yaml", pairs=0, positive="bad")
    again.fit(X, np.array(["good", "bad"])[y])
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-9)


def test_edits_are_about_it() -> None:
    model = fitted("good", "bad", "bad")
    edited = model.edit().set("word", {0: 2.0}).monotone("debt", 1).done()
    first = edited.scorecard_["word"].contributions[0] - model.scorecard_["word"].contributions.mean(axis=0)
    assert first[0] > first[1]
    assert edited.edits_[0].after.endswith("+2")
    assert edited.edits_[1].after == "none"
    assert edited.edits_[1].before.endswith("against +1")
    assert edited.summary().filter(feature="debt")["monotone"].item() == 1
    debt = pl.DataFrame({"income": [0.0] * 50, "debt": np.linspace(-3, 3, 50), "word": ["u"] * 50})
    assert (np.diff(edited.predict_proba(debt)[:, 0]) >= -1e-12).all()
    assert (np.diff(model.predict_proba(debt)[:, 0]) <= 1e-12).all()


def test_signs_that_rows_contradict_name_it() -> None:
    X, y = table()
    model = SelectiveNB(monotone={"income": -1}, positive="bad", pairs=0)
    with pytest.warns(
        UserWarning, match="'income': -1}: contributions to class bad, the positive one, must not rise"
    ) as told:
        model.fit(X, np.array(["good", "bad"])[y])
    assert "Reverse the sign if you meant class good" in str(told[0].message)
    with pytest.raises(ValueError, match=r"monotone is \+1 for 'income', but levels= gives it the opposite sign"):
        SelectiveNB(monotone={"income": 1}, levels={"income": {"monotone": -1}}, positive=0).fit(X, y)


@pytest.mark.parametrize("positive", ["x", 2, "1", [1], np.array([0, 1]), float("nan"), HOSTILE])
@pytest.mark.parametrize("levels", [None, {"income": {"monotone": 1}}])
def test_a_class_that_is_not_there(positive: Any, levels: Any) -> None:
    X, y = table(60)
    with pytest.raises(ValueError, match="positive must be a class, one of 0, 1, got ") as told:
        SelectiveNB(positive=positive, levels=levels).fit(X, y)
    assert str(told.value).count("\n") == 0
    weights = (y == 0).astype(float)
    three = np.where(np.arange(60) < 5, 2, y)
    with pytest.raises(ValueError, match="positive must be a class"):
        SelectiveNB(positive=1, levels=levels).fit(X, three, weights * (three != 1))


def test_classes_without_weight_do_not_count() -> None:
    X, y = table()
    three = np.where(np.arange(y.size) < 100, -1, y)
    model = SelectiveNB(positive=0, levels={"income": {"monotone": -1}}, monotone={"debt": 1}, pairs=0)
    model.fit(X, three, (three >= 0).astype(float))
    assert model.scorecard_.positive == 0
    assert model.classes_.tolist() == [0, 1]
    assert model.scorecard_["income"].sign == 1
    assert model.scorecard_["debt"].sign == -1


def test_more_classes() -> None:
    X, y = table()
    labels = np.array(["low", "middle", "high"])[y + (np.arange(y.size) % 5 == 0)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain, named = (SelectiveNB(pairs=0, positive=own).fit(X, labels) for own in (None, "low"))
    np.testing.assert_array_equal(plain.predict_proba(X), named.predict_proba(X))
    assert named.reasons(X).equals(plain.reasons(X, target_class="low"))
    assert plain.scorecard_.positive is None
    assert named.scorecard_.plot("income").data.equals(plain.scorecard_.plot("income", "low").data)
    changes = named.counterfactuals(X[:5], probability=0.5)
    assert changes.equals(plain.counterfactuals(X[:5], target="low", probability=0.5))
    assert evaluate(named, X, labels).to_frame().equals(evaluate(plain, X, labels).to_frame())
    assert named.export(to="sql", reasons=2).count("reason_2") > 0
    with pytest.raises(ValueError, match="monotone needs two classes"):
        SelectiveNB(positive="low", monotone={"income": 1}).fit(X, labels)


def test_report_says_it() -> None:
    model = fitted("good", "bad", "bad")
    page = str(model.report()._repr_html_())
    data = report_data(model)
    assert data.classes[data.positive] == "bad"
    assert "never falls for bad" in page
    other = report_data(model, positive="good")
    assert [f["monotone"] for f in other.features] == [-f["monotone"] for f in data.features]
