"""Labels: what they may say, where it is shown, and that files keep it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import bayesieve
from bayesieve import IndicatorEncoder, SelectiveNB
from bayesieve.classifier.report_data import report_data
from bayesieve.scorecard.wording import Wording
from tests.scorecard.test_counterfactuals import rows

LABELS: dict[str, Any] = {
    "a": {"name": "Age", "unit": "years", "description": "On the day of the request."},
    "b": "Balance",
    "c": {"name": "Colour", "levels": {"p": "pink", "q": "quince", "missing": "not told"}},
}


@cache
def fitted() -> tuple[SelectiveNB, pl.DataFrame, np.ndarray]:
    X, y = rows(2)
    X = X.drop("e")
    model = SelectiveNB(random_state=0, n_jobs=1, pairs=[["a", "b"], ["c", "d"]]).fit(X, y)
    return model, X, y


def test_levels_renamed_by_hand_are_told_by_these_texts_with_labels_and_without() -> None:
    X, y = rows(2)
    X = X.drop("e").with_columns(pl.Series("a", np.where(np.arange(len(X)) % 3 == 0, -999.0, X["a"])))
    fitted_ = SelectiveNB(random_state=0, pairs=0, levels={"a": {"special": {"no answer": [-999]}, "include": True}})
    model = fitted_.fit(X, y)
    asked = X.filter(pl.col("a") == -999)[:1]
    for labels in (None, {"a": "Age"}, {"a": {"name": "Age", "levels": {"no answer": "silent"}}}):
        named = model if labels is None else model.with_labels(labels)
        edited = named.edit().rename("a", {"no answer": "refused"}).rename("c", {0: "first"}).done()
        told = [text for one in model.classes_ for text in edited.reasons(asked, n=9, target_class=one)["text"]]
        assert {"a: refused", "Age: refused"} & set(told), told
        assert "refused" in edited.explain(asked)["level"].to_list()
        data = report_data(edited, X, y, cv=0)
        shown = {f["name"]: f["cells"]["label"] for f in data.features if f["selected"]}
        assert "refused" in shown["a" if labels is None else "Age"]
        assert "c" not in shown or "first" in shown["c"]
    both = model.edit().rename("c", {0: "first"}).done().with_labels({"c": {"name": "Colour", "levels": {"p": "pink"}}})
    shown = {f["name"]: f["cells"]["label"] for f in report_data(both, X, y, cv=0).features if f["selected"]}
    assert "Colour" not in shown or "first" in shown["Colour"]


def test_labels_are_shown_in_reports_reasons_explanations_and_changes() -> None:
    model, X, y = fitted()
    named = model.with_labels(LABELS)
    data = report_data(named, X, y, cv=0, rows=3)
    of = {feature["name"]: feature for feature in data.features}
    assert {"Age", "Balance", "Colour", "d", "Age × Balance", "Colour × d"} == set(of)
    assert "On the day of the request." in str(of["Age"]["note"])
    assert all(label.endswith((" years", "any value")) for label in of["Age"].get("cells", {"label": []})["label"])
    assert "pink" in " ".join(of["Colour"]["cells"]["label"])
    assert of["Colour × d"]["grid"]["names"] == ("Colour", "d")
    assert {part["feature"] for row in data.explained for part in row["contributions"]} <= set(of)
    texts = " ".join(named.reasons(X[:300], None)["text"])
    for word in ("Age: ", "years", "Colour: quince"):
        assert word in texts
    explained = named.explain(X[:40])
    assert set(explained["feature"]) == set(model.explain(X[:40])["feature"])  # programs join on these
    assert {"Age × Balance", "Colour × d"} <= set(explained["name"])
    assert explained.drop("name", "level").equals(model.explain(X[:40]).drop("level"))
    changes = named.counterfactuals(X[:300])
    assert changes.drop("from", "to").equals(model.counterfactuals(X[:300]).drop("from", "to"))
    assert not {"p", "q"} & {*changes["from"], *changes["to"]}


def test_labels_change_no_prediction_and_are_saved(tmp_path: Path) -> None:
    model, X, _ = fitted()
    named = model.with_labels(LABELS)
    assert "labels" not in model.scorecard_.provenance
    named.save(tmp_path / "model.json")
    loaded = bayesieve.load(tmp_path / "model.json")
    assert loaded.scorecard_.provenance["labels"] == named.scorecard_.provenance["labels"]
    assert loaded.reasons(X[:50]).equals(named.reasons(X[:50]))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_a_text_of_a_level_holds_for_all_its_values() -> None:
    model, X, _ = fitted()
    level = next(f.levels for f in model.scorecard_.features if f.name == "c")
    several = next(k for k, group in enumerate(level.groups or ()) if len(group) > 1)
    named = model.with_labels({"c": {"levels": {level.labels[several]: "one of many"}}})
    held = [str(value) for value in (level.groups or ())[several] if value is not None]
    found = named.reasons(X, None).filter(pl.col("column") == "c")
    inside = pl.Series([X["c"][row] in held for row in found["row"].to_list()])
    assert inside.any()
    assert set(found.filter(inside)["text"]) == {"c: one of many"}
    numbers = next(f.levels for f in model.scorecard_.features if f.name == "a")
    if numbers.n_levels > 1:
        named = model.with_labels({"a": {"levels": {numbers.labels[0]: "low"}}})
        texts = named.reasons(X, None).filter(pl.col("column") == "a")
        below = pl.Series([X["a"][row] <= numbers.cut_points[0] for row in texts["row"].to_list()])
        assert set(texts.filter(below)["text"]) == {"a: low"}


def test_a_file_says_the_same_as_a_dictionary(tmp_path: Path) -> None:
    X, y = rows(2)
    frame = pl.DataFrame({"no": X["c"].replace({"p": "yes", "q": "no", "r": "1"}), "x": X["a"]})
    model = SelectiveNB(random_state=0, pairs=0).fit(frame, y)
    path = tmp_path / "labels.yaml"
    path.write_text("no:\n  name: Number\n  levels: {yes: Agreed, no: Refused, 1: One}\nx: {unit: m}\n")
    labels = model.with_labels(path).scorecard_.provenance["labels"]
    assert labels == {
        "no": {"name": "Number", "levels": {"yes": "Agreed", "no": "Refused", "1": "One"}},
        "x": {"unit": "m"},
    }
    assert model.with_labels(labels).scorecard_.provenance["labels"] == labels


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("aa: Age", "'aa'"),
        ("a: {names: Age}", "name, unit, description, code and levels"),
        ("a: {name: [1, 2]}", "column 'a'"),
        ("a: {levels: [x]}", "column 'a'"),
        ("c: {levels: {z: last}}", "z"),
        ("- a", "must map names of columns to their options"),
        ("a: {", "line 1"),
    ],
)
def test_damaged_labels_are_refused_in_one_sentence(text: str, words: str, tmp_path: Path) -> None:
    model, _, _ = fitted()
    path = tmp_path / "labels.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=words) as error:
        model.with_labels(path)
    assert str(error.value).count("\n") == 0
    with pytest.raises(ValueError, match="none"):
        model.with_labels(tmp_path / "none.yaml")


def test_indicators_have_readable_names() -> None:
    rng = np.random.default_rng(1)
    X = pl.DataFrame({name: rng.normal(size=900) for name in "abc"})
    y = (X["a"] + X["b"] + pl.Series(rng.normal(size=900)) > 0).to_numpy()
    scores = SelectiveNB(encoder=IndicatorEncoder(5), random_state=0).fit(X, y).with_labels({"a": "Age"})
    assert any(feature["name"].startswith("Age <= ") for feature in report_data(scores).features)
    assert scores.reasons(X[:20], None)["text"].str.starts_with("Age: ").any()
    assert "Age" in scores.explain(X[:3], by="score")["name"].to_list()


def test_a_unit_follows_numbers_only() -> None:
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"age": rng.normal(40, 9, 300).round()})
    X = X.with_columns(age=pl.when(pl.col("age") > 55).then(-1).otherwise("age"))
    rules = {"age": {"special": {"refused": -1}, "cuts": [30, 45], "missing": 50}}
    model = SelectiveNB(levels=rules).fit(X, rng.integers(0, 2, 300) ^ (X["age"] > 40).to_numpy())
    words = Wording.of(model.with_labels({"age": {"unit": "years"}}).scorecard_)
    assert words.levels(model.encoder_.levels_[0]) == (
        "refused",
        "<= 30 years",
        "30 < .. <= 45 years",
        "> 45 years or missing",
    )
