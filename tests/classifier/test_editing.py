"""Models edited by hand: what they predict follows from the tables before and after, and nothing contradicts it."""

from __future__ import annotations

import json
import pickle
import time
from datetime import UTC, date, datetime
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy.special import expit, log_softmax, logit, softmax
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss, roc_auc_score

import bayesieve
from bayesieve import BenefitClassifier, IndicatorEncoder, SelectiveNB, TableEncoder
from bayesieve.classifier.editing import ModelEditor
from bayesieve.scorecard.explanation import UNSEEN
from bayesieve.scorecard.record import Feature
from tests.cases import mostly_slow
from tests.classifier.model_files import signed
from tests.scorecard.test_scorecard import N, rows

OPTIONS: dict[str, dict[str, Any]] = {
    "cells": {},
    "levels": {"calibrate": "levels"},
    "counted": {"calibrate": False, "pairs": 0},
    "weights": {"calibrate": "weights", "pairs": 0},
    "pairs": {"pairs": (("number", "whole"), ("text", "flag")), "calibrate": "levels"},
    "ignored": {"encoder": TableEncoder(missing="ignore")},
}


@cache
def model(kind: str = "cells", target: int = 1) -> SelectiveNB:
    return SelectiveNB(random_state=0, **OPTIONS[kind]).fit(rows()[0], rows()[target])


@cache
def of_indicators() -> SelectiveNB:
    X = rows()[0].select("number", "holes", "curve")
    return SelectiveNB(encoder=IndicatorEncoder(5)).fit(X, rows()[1])


def probability_of(joint: np.ndarray) -> np.ndarray:
    return softmax(joint, axis=1)


def contributions(fitted: SelectiveNB, name: str) -> np.ndarray:
    """(n_rows, n_classes) what a feature adds to the rows."""
    explained = fitted.scorecard_.explain(rows()[0])
    return explained.contributions[:, list(explained.features).index(name)]


def check(fitted: SelectiveNB) -> None:
    """Nothing of a model contradicts the rest."""
    card, frame = fitted.scorecard_, rows()[0].head(300)
    if card.columns[0] != frame.columns[0] or len(card.columns) < frame.width:
        frame = frame.select(card.columns)
    probability = fitted.predict_proba(frame)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    total = card.class_counts.sum()
    for own in card.features:
        shares = own.counts.sum(axis=1) / total
        np.testing.assert_allclose(shares @ own.contributions + (1 - shares.sum()) * own.unseen, 0.0, atol=1e-9)
        np.testing.assert_allclose(own.table.sum(axis=1), 0.0, atol=1e-9)
        n_cells = len(own.contributions)
        assert own.cells.n_levels == n_cells == len(own.counts) == len(own.standard_errors) == len(own.factors)
        assert own.levels.n_levels == own.level_of_cell.max() + 1
        assert own.cells is own.levels or own.cells.n_levels > own.levels.n_levels
        np.testing.assert_allclose(np.asarray(own.levels.counts).sum(), own.counts.sum(), rtol=1e-9)
        assert len({*own.levels.all_labels}) == own.levels.n_levels
    assert sum(own.importance for own in card.features) == pytest.approx(float(card.used.size > 0))
    for i in (0, 7):
        np.testing.assert_array_equal(fitted.predict_proba(frame.row(i, named=True))[0], probability[i])
    queried = fitted.with_predictions(frame.lazy()).select(pl.col("^P\\(.*$")).collect()
    np.testing.assert_allclose(queried.to_numpy(), probability, atol=1e-12)
    explained = fitted.scorecard_.explain(frame)
    np.testing.assert_allclose(
        explained.contributions.sum(axis=1) + card.intercept, fitted.scorecard_.joint(frame), atol=1e-9
    )
    intervals = fitted.predict_interval(frame)
    assert ((intervals[..., 0] <= probability + 1e-12) & (probability <= intervals[..., 1] + 1e-12)).all()
    used = {own.name for own in card.features if own.is_used}
    assert used == set(fitted.selected_features_) == set(card.to_frame()["feature"].drop_nulls())


def saved(fitted: SelectiveNB, folder: Path) -> SelectiveNB:
    """The model, saved and read back, which is the same to the bit."""
    fitted.save(folder / "model.json")
    again = bayesieve.load(folder / "model.json")
    frame = rows()[0].head(500).select(fitted.scorecard_.columns)
    np.testing.assert_array_equal(again.predict_proba(frame), fitted.predict_proba(frame))
    assert again.edits_ == fitted.edits_
    assert again.scorecard_.to_frame().equals(fitted.scorecard_.to_frame())
    assert again.summary().equals(fitted.summary())
    head = frame.head(20)
    assert again.explain(head).equals(fitted.explain(head))
    again.save(folder / "again.json")
    assert (folder / "again.json").read_bytes() == (folder / "model.json").read_bytes()
    return again


def by_hand(fitted: SelectiveNB, frame: pl.DataFrame) -> np.ndarray:
    """Log joint of rows from `Scorecard.to_frame` alone, of a model without pairs and sums."""
    card, labels = fitted.scorecard_.to_frame(), fitted.classes_.tolist()
    names = [f"contribution_{label}" for label in labels]
    joint = np.tile(card.filter(pl.col("feature").is_null()).select(names).to_numpy(), (len(frame), 1))
    for name in fitted.selected_features_:
        own = card.filter(pl.col("feature") == name)
        lines = own.rows(named=True)
        for i, value in enumerate(frame[name].to_list()):
            number = (value - date(1970, 1, 1)).days if isinstance(value, date) else value
            if value is None:
                at = [k for k, line in enumerate(lines) if line["is_missing"]]
            elif lines[0]["values"] is None and any(line["low"] is not None for line in lines):
                at = [
                    k
                    for k, line in enumerate(lines)
                    if line["low"] is not None and line["low"] < number <= line["high"]
                ]
            else:
                at = [k for k, line in enumerate(lines) if line["values"] and str(value) in line["values"]]
            at = at or [k for k, line in enumerate(lines) if line["is_unseen"]]
            joint[i] += [lines[at[0]][each] for each in names]
    return joint


@pytest.mark.parametrize(
    ("kind", "target"),
    mostly_slow(product(["cells", "levels", "counted"], [1, 2]), [("cells", 2), ("levels", 1), ("counted", 1)]),
)
def test_merged_levels_get_the_mean_of_their_rows(kind: str, target: int, tmp_path: Path) -> None:
    fitted, frame = model(kind, target), rows()[0]
    names = [name for name in fitted.selected_features_ if " × " not in name]
    name = next(name for name in names if fitted.scorecard_[name].levels.n_levels > 2)
    feature = fitted.scorecard_[name]
    labels = feature.levels.labels[1:3]
    edited = fitted.edit().merge(name, labels).done("too fine", who="Ann")
    own = np.isin(feature.level_of_cell, [1, 2])
    weights = feature.counts.sum(axis=1)[own]
    mean = weights @ feature.contributions[own] / weights.sum()
    before, joint = contributions(fitted, name), fitted.scorecard_.joint(frame)
    codes = feature.levels.code(feature_column(fitted, name))
    expected = joint - before + np.where(np.isin(codes, [1, 2])[:, None], mean, before)
    np.testing.assert_allclose(edited.predict_proba(frame), probability_of(expected), atol=1e-12)
    now = edited.scorecard_[name]
    assert now.levels.n_levels == feature.levels.n_levels - 1
    np.testing.assert_allclose(now.levels.counts[1], np.asarray(feature.levels.counts)[1:3].sum(axis=0))
    assert (np.asarray(edited.edits_[0].before.split(" | ")) == labels).all()
    assert (edited.edits_[0].who, edited.edits_[0].why) == ("Ann", "too fine")
    merged_cell = np.flatnonzero(now.level_of_cell == 1)
    assert merged_cell.size == 1
    assert 0 < now.standard_errors[merged_cell].max() <= feature.standard_errors[own].max() + 1e-12
    check(edited)
    saved(edited, tmp_path)


def feature_column(fitted: SelectiveNB, name: str) -> Any:
    from bayesieve.table import as_table

    table = as_table(rows()[0])
    return table.column(list(table.names).index(name))


@pytest.mark.parametrize(
    ("kind", "target"),
    mostly_slow(product(["cells", "levels", "counted", "ignored"], [1, 2]), [("levels", 2), ("ignored", 1)]),
)
def test_cuts_move_come_and_go(kind: str, target: int, tmp_path: Path) -> None:
    fitted, frame = model(kind, target), rows()[0]
    name = "number" if target == 1 else "whole"
    feature = fitted.scorecard_[name]
    cuts = feature.levels.cut_points
    cells = feature.cells.cut_points
    at = cuts[len(cuts) // 2]
    after = cuts[cuts > at].min(initial=at + 2.0)
    values = frame[name].to_numpy().astype(float)
    before, joint = contributions(fitted, name), fitted.scorecard_.joint(frame)
    table = feature.contributions
    for to, source in ((at + 0.7 * (after - at), 0), (at - 1e-3, 1)):
        edited = fitted.edit().cut(name, at, to).done()
        moved = (values > min(at, to)) & (values <= max(at, to))
        cell = int(np.searchsorted(cells, at)) + source  # the last below the cut, or the first above
        expected = joint - before + np.where(moved[:, None], table[cell], before)
        np.testing.assert_allclose(edited.predict_proba(frame), probability_of(expected), atol=1e-12)
        assert to in edited.scorecard_[name].levels.cut_points
        assert at not in edited.scorecard_[name].cells.cut_points
        check(edited)
        saved(edited, tmp_path)
    new = at + 0.3 * (after - at)
    added = fitted.edit().cut(name, None, new).done()
    np.testing.assert_allclose(added.predict_proba(frame), fitted.predict_proba(frame), atol=1e-12)
    assert added.scorecard_[name].levels.n_levels == feature.levels.n_levels + 1
    check(added)
    back = added.edit().cut(name, new, None).done()
    assert back.scorecard_[name].levels.labels == feature.levels.labels
    check(back)
    np.testing.assert_allclose(np.asarray(back.scorecard_[name].levels.counts).sum(axis=0), feature.counts.sum(axis=0))
    one = fitted.edit().cut(name, at, None).done()
    code = int(np.searchsorted(cuts, at))
    merged = fitted.edit().merge(name, [code, code + 1]).done()
    np.testing.assert_array_equal(one.predict_proba(frame), merged.predict_proba(frame))


def test_cuts_are_found_as_they_are_printed() -> None:
    fitted = model()
    feature = fitted.scorecard_["number"]
    printed = feature.levels.labels[1].split(" < ")[0]
    assert float(printed) not in feature.levels.cut_points
    edited = fitted.edit().cut("number", float(printed), -1.0).done()
    assert edited.scorecard_["number"].levels.cut_points[0] == -1.0
    inner = next(cut for cut in feature.cells.number_cuts if cut not in feature.levels.number_cuts)
    removed = fitted.edit().cut("number", inner, None).done().scorecard_["number"]  # of cells of one level
    assert removed.levels.labels == feature.levels.labels
    assert removed.cells.number_cuts.tolist() == [cut for cut in feature.cells.number_cuts if cut != inner]
    day = fitted.scorecard_["day"].levels
    first = date.fromisoformat(day.labels[0].removeprefix("<= "))
    for old in (first, first.isoformat(), day.cut_points[0]):
        moved = fitted.edit().cut("day", old, datetime(2020, 3, 1)).done()
        assert moved.scorecard_["day"].levels.labels[0] == "<= 2020-03-01"
        check(moved)


def test_missing_values_stay_apart_or_join_a_level(tmp_path: Path) -> None:
    frame, two, _ = rows()
    # Missing values go with a class, so that they are a level.
    holes = pl.when(pl.col("gaps").is_null()).then(None).otherwise(pl.col("number")).alias("holes")
    frame = frame.with_columns(holes)
    fitted = SelectiveNB(calibrate="levels", selector="all", pairs=0).fit(frame, two)
    alone = frame.filter(pl.col("holes").is_null()).head(100)
    for name in ("holes", "gaps"):
        feature = fitted.scorecard_[name]
        missing = feature.levels.missing_code
        assert missing is not None
        other = feature.levels.n_levels - 1 if missing == 0 else 0
        edited = fitted.edit().set(name, {None: 0.7, other: -0.2}).merge(name, ["missing", other]).done()
        now = edited.scorecard_[name].levels
        assert now.missing_code is not None
        assert now.labels[now.missing_code].endswith("or missing")
        check(edited)
        again = saved(edited, tmp_path)
        explained = again.scorecard_.explain(alone)
        own = explained.contributions[:, list(explained.features).index(name)]
        np.testing.assert_array_equal(own, np.tile(again.scorecard_[name].contributions[now.missing_code], (100, 1)))
    last = fitted.scorecard_["holes"].levels.n_levels - 1
    edited = fitted.edit().set("holes", {0: 0.5}).merge("holes", ["missing", last]).cut("holes", None, 9.5).done()
    at = edited.scorecard_["holes"].levels.cut_points[-2]
    assert edited.scorecard_["holes"].levels.labels[-2:] == (f"{at:.4g} < .. <= 9.5 or missing", "> 9.5")
    for to in (9.0, at - 0.1):
        moved = edited.edit().cut("holes", at, to).done()
        assert moved.scorecard_["holes"].levels.labels[-2] == f"{to:.4g} < .. <= 9.5 or missing"
        np.testing.assert_allclose(moved.predict_proba(alone), edited.predict_proba(alone), atol=1e-12)
        check(moved)


@pytest.mark.parametrize("kind", mostly_slow(["cells", "levels", "weights", "pairs"], ["pairs"]))
def test_set_flatten_and_drop(kind: str, tmp_path: Path) -> None:
    fitted, frame = model(kind), rows()[0]
    joint = fitted.scorecard_.joint(frame)
    for name in fitted.selected_features_[:2]:
        feature, before = fitted.scorecard_[name], contributions(fitted, name)
        out = fitted.edit().drop(name).done()
        flat = fitted.edit().flatten(name).done()
        for edited in (out, flat):
            np.testing.assert_allclose(edited.scorecard_.joint(frame), joint - before, atol=1e-12)
            np.testing.assert_array_equal(edited.scorecard_.intercept, fitted.scorecard_.intercept)
            assert name not in edited.selected_features_
            assert edited.scorecard_[name].weight == 0
            check(edited)
        label = feature.levels.labels[0]
        first = before.copy()
        codes = fitted.scorecard_.explain(frame)
        at = codes.levels[:, list(codes.features).index(name)] == label
        first[at] = [-0.4, 0.4]
        edited = fitted.edit().set(name, {label: 0.4}).done()
        assert edited.edits_[0].after.endswith(": +0.4")
        same = fitted.edit().set(name, {0: {"yes": 0.4}}).done()
        both = fitted.edit().set(name, {0: {"yes": 1.4, "no": 0.6}}).done()
        for one in (edited, same, both):
            assert one.edits_[0].after == edited.edits_[0].after
            np.testing.assert_allclose(one.predict_proba(frame), probability_of(joint - before + first), atol=1e-12)
        check(edited)
        saved(edited, tmp_path)
    assert out.edits_[0].after == "0"


def test_levels_of_several_classes_and_of_values_never_seen() -> None:
    fitted, frame = model("cells", 2), rows()[0]
    name = "text" if "text" in fitted.selected_features_ else fitted.selected_features_[0]
    classes = fitted.classes_.tolist()
    before = fitted.scorecard_[name].by_level()[0]
    edited = fitted.edit().set(name, {0: {classes[1]: 0.8}}).done()
    assert f", {classes[1]} +0.8, " in edited.edits_[0].after
    codes = fitted.scorecard_.explain(frame)
    at = codes.levels[:, list(codes.features).index(name)] == fitted.scorecard_[name].levels.labels[0]
    change = edited.predict_log_proba(frame.filter(at)) - fitted.predict_log_proba(frame.filter(at))
    others = [0, 2, 3]
    np.testing.assert_allclose(np.ptp(change[:, others], axis=1), 0.0, atol=1e-12)  # odds among the others stay
    if fitted.scorecard_[name].cells is fitted.scorecard_[name].levels:
        wanted = 0.8 - before[1]
        np.testing.assert_allclose(change[:, 1] - change[:, 0], wanted + wanted / 3, atol=1e-12)
    unseen = fitted.edit().set(name, {UNSEEN: {label: 0.5 * (label == 2) for label in classes}}).done()
    check(unseen)
    row = frame.row(0, named=True) | {name: "surely not" if fitted.scorecard_[name].kind == "categorical" else None}
    if not np.array_equal(fitted.predict_proba(row), unseen.predict_proba(row)):
        assert unseen.scorecard_[name].unseen[2] > unseen.scorecard_[name].unseen[0]
    np.testing.assert_allclose(unseen.predict_proba(frame), fitted.predict_proba(frame), atol=1e-12)
    with pytest.raises(ValueError, match="class: nats"):
        fitted.edit().set(name, {0: 0.5})
    with pytest.raises(ValueError, match="two classes"):
        fitted.edit().monotone("number", 1)


@pytest.mark.parametrize(
    ("kind", "sign"), mostly_slow(product(["cells", "counted"], [1, -1]), [("cells", 1), ("counted", -1)])
)
def test_monotone_is_isotonic_regression_by_rows(kind: str, sign: int, tmp_path: Path) -> None:
    fitted = model(kind)
    for name in ("curve", "whole", "day"):
        if name not in fitted.selected_features_:
            continue
        table = fitted.scorecard_.to_frame().filter((pl.col("feature") == name) & pl.col("high").is_not_null())
        edited = fitted.edit().monotone(name, sign).done()
        now = edited.scorecard_.to_frame().filter((pl.col("feature") == name) & pl.col("high").is_not_null())
        odds = (table["contribution_yes"] - table["contribution_no"]).to_numpy()
        regression = IsotonicRegression(increasing=sign > 0)
        expected = regression.fit_transform(np.arange(odds.size), odds, sample_weight=np.maximum(table["rows"], 1e-9))
        got = odds * 0.0 if now.is_empty() else (now["contribution_yes"] - now["contribution_no"]).to_numpy()
        np.testing.assert_allclose(got - got.mean(), expected - expected.mean(), atol=1e-9)
        assert edited.scorecard_[name].sign == sign
        assert edited.summary().filter(pl.col("feature") == name)["monotone"].item() == sign
        check(edited)
        assert saved(edited, tmp_path).scorecard_[name].sign == sign
        cells = edited.scorecard_[name].cells
        against = edited.edit().set(name, {cells.labels[cells.missing_code == 0]: 3.0 * sign}).done()
        assert against.scorecard_[name].sign == 0
        assert saved(against, tmp_path).scorecard_[name].sign == 0


def test_texts_of_levels_are_shown_everywhere(tmp_path: Path) -> None:
    fitted, frame = model(), rows()[0]
    number = fitted.scorecard_["number"]
    cell = number.labels[0]
    edited = fitted.edit().rename("gaps", {"missing": "no answer"}).rename("number", {0: "low", cell: "lowest"}).done()
    np.testing.assert_array_equal(edited.predict_proba(frame), fitted.predict_proba(frame))
    check(edited)
    again = saved(edited, tmp_path)
    for one in (edited, again, pickle.loads(pickle.dumps(edited))):
        assert "no answer" in one.scorecard_["gaps"].levels.labels
        assert "no answer" in one.explain(frame.head(50))["level"].to_list()
        assert "no answer" in one.scorecard_.to_frame()["cell"].to_list()
        assert "lowest" in one.scorecard_.to_frame()["cell"].to_list()
        assert "low" in one.scorecard_["number"].levels.labels
        one.report(tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text()
        assert "no answer" in page
        assert "Edited by hand" in page
    labels = edited.scorecard_["number"].levels.labels
    with pytest.raises(ValueError, match="same label"):
        edited.edit().rename("number", {1: "low"})
    with pytest.raises(ValueError, match="same label"):
        edited.edit().rename("number", {0: labels[1]})
    back = edited.edit().rename("number", {"low": None}).done()
    assert back.scorecard_["number"].levels.labels == number.levels.labels
    swapped = edited.edit().rename("number", {0: "b", 1: "a"}).rename("number", {"b": "a", "a": "b"}).done()
    assert swapped.scorecard_["number"].levels.labels[:2] == ("a", "b")
    kept = edited.edit().cut("number", number.levels.cut_points[-1], None).done()
    assert kept.scorecard_["number"].levels.labels[0] == "low"


def test_pairs_are_edited_as_columns_are(tmp_path: Path) -> None:
    fitted, frame = model("pairs"), rows()[0]
    pair = next(name for name in fitted.selected_features_ if " × " in name)
    feature = fitted.scorecard_[pair]
    edited = fitted.edit().rename(pair, {0: "both"}).set(pair, {"both": 0.3}).merge(pair, [0, 1]).done()
    assert edited.scorecard_[pair].levels.n_levels == feature.levels.n_levels - 1
    check(edited)
    saved(edited, tmp_path)
    # A column of a pair is edited without the pair.
    first = feature.columns[0]
    before = contributions(fitted, pair)
    editor = fitted.edit()
    level = fitted.scorecard_[first].levels
    if level.n_levels > 2:
        editor = editor.merge(first, [0, 1])
    edited = editor.rename(first, {0: "first"}).done()
    np.testing.assert_array_equal(contributions(edited, pair), before)
    check(edited)
    saved(edited, tmp_path)
    with pytest.warns(UserWarning, match=" × "):
        edited = fitted.edit().drop(first).done()
    assert first in edited.scorecard_.reader.needed
    check(edited)
    with pytest.raises(ValueError, match="cut needs a numeric column"):
        fitted.edit().cut(pair, 1, 2)
    np.testing.assert_array_equal(fitted.predict_proba(frame), model("pairs").predict_proba(frame))


def test_indicators_are_set_flattened_and_renamed(tmp_path: Path) -> None:
    fitted = of_indicators()
    name = fitted.selected_features_[0]
    edited = fitted.edit().set(name, {1: 0.6}).rename(name, {1: "high"}).monotone(name, 1).done()
    check(edited)
    saved(edited, tmp_path)
    assert "high" in edited.scorecard_.to_frame()["cell"].to_list()
    check(fitted.edit().drop(name).done())
    merged = fitted.edit().merge(name, [0, 1]).done()
    check(merged)
    assert merged.scorecard_[name].cells.n_levels == fitted.scorecard_[name].cells.n_levels - 1
    with pytest.raises(ValueError, match="is part of the name; fit a model with other thresholds"):
        fitted.edit().cut(name, 0, 1)


def test_the_old_model_is_left_as_it_was() -> None:
    frame, two, _ = rows()
    for kind in ("cells", "pairs"):
        fitted = model(kind)
        before = pickle.dumps(fitted)
        editor = fitted.edit().merge("number", [0, 1]).rename("gaps", {None: "none"}).drop("day").set("whole", {0: 1})
        first = editor.done()
        second = editor.refit(frame, two).flatten("number").done(X=frame, y=two)
        first.with_prior({"yes": 0.1})
        assert pickle.dumps(fitted) == before
        assert not fitted.edits_
        assert [edit.what for edit in first.edits_] == ["merge", "rename", "drop", "set"]
        assert [edit.what for edit in second.edits_][4:] == ["refit", "flatten"]
        third = second.edit().flatten("curve").done()
        assert third.edits_[:-1] == second.edits_


def test_figures_are_measured_before_and_after() -> None:
    frame, two, four = rows()
    for fitted, y in ((model(), two), (model("cells", 2), four)):
        steps = [fitted, fitted.edit().drop("number").done(), fitted.edit().drop("number").drop("whole").done()]
        edited = fitted.edit().drop("number").drop("whole").done("measured", X=frame, y=y)
        for k, edit in enumerate(edited.edits_):
            for own, (area, loss) in zip(
                steps[k : k + 2],
                ((edit.auc_before, edit.log_loss_before), (edit.auc_after, edit.log_loss_after)),
                strict=True,
            ):
                probability = own.predict_proba(frame)
                assert loss == pytest.approx(log_loss(y, probability))
                if y is two:
                    assert area == pytest.approx(roc_auc_score(two == "yes", probability[:, 1]))
        when = datetime.fromisoformat(edited.edits_[0].when)
        assert abs((datetime.now(UTC) - when).total_seconds()) < 600
        assert edited.edits_[0].who
    one_class = model().edit().drop("number").done(X=frame.head(1), y=two[:1])
    assert one_class.edits_[0].auc_after is None
    with pytest.raises(ValueError, match="pass both X and y"):
        model().edit().done(X=frame)


@pytest.mark.parametrize(
    ("kind", "target"),
    mostly_slow(product(["cells", "levels", "counted", "pairs"], [1, 2]), [("cells", 2), ("levels", 1)]),
)
def test_others_are_fitted_again_around_an_edit(kind: str, target: int, tmp_path: Path) -> None:
    fitted, frame, y = model(kind, target), rows()[0], rows()[target]
    name = fitted.selected_features_[0]
    edited = fitted.edit().set(name, {0: {fitted.classes_[1]: 1.0}}).done()
    again = fitted.edit().set(name, {0: {fitted.classes_[1]: 1.0}}).refit(frame, y).done(X=frame, y=y)
    np.testing.assert_array_equal(again.scorecard_[name].contributions, edited.scorecard_[name].contributions)
    loss = again.edits_[-1]
    assert loss.log_loss_after < loss.log_loss_before  # type: ignore[operator]
    changed = [own.name for own, old in zip(again.scorecard_.features, edited.scorecard_.features, strict=True)
               if not np.array_equal(own.contributions, old.contributions)]  # fmt: skip
    assert set(changed) == set(fitted.selected_features_) - {name}
    check(again)
    saved(again, tmp_path)
    weighted = fitted.edit().set(name, {0: {fitted.classes_[1]: 1.0}}).refit(frame, y, np.full(N, 1.0)).done()
    np.testing.assert_array_equal(weighted.predict_proba(frame), again.predict_proba(frame))
    # Features that were edited before stay, too.
    third = again.edit().refit(frame, y).done()
    np.testing.assert_array_equal(third.scorecard_[name].contributions, again.scorecard_[name].contributions)
    editor = fitted.edit()
    for each in fitted.selected_features_:
        editor.set(each, {0: {fitted.classes_[1]: 0.1}})
    with pytest.raises(ValueError, match="leaves none to refit"):
        editor.refit(frame, y)


def test_a_copy_takes_over_what_a_dropped_column_said() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    y = (rng.random(4000) < expit(2 * x)).astype(int)
    X = pl.DataFrame({"a": x, "b": x + 0.3 * rng.normal(size=4000)})
    fitted = SelectiveNB(pairs=0).fit(X[:2000], y[:2000])
    dropped = fitted.edit().drop("a").refit(X[:2000], y[:2000]).done(X=X[2000:], y=y[2000:])
    alone = SelectiveNB(pairs=0).fit(X[:2000].select("b"), y[:2000])
    best = log_loss(y[2000:], alone.predict_proba(X[2000:].select("b")))
    assert dropped.edits_[1].log_loss_after == pytest.approx(best, abs=0.01)
    assert dropped.edits_[1].log_loss_after < dropped.edits_[0].log_loss_after - 0.01  # type: ignore[operator]


def test_other_shares_of_the_classes(tmp_path: Path) -> None:
    for target, given_shares in ((1, {"yes": 0.02}), (2, {0: 0.1, 1: 0.2, 2: 0.3})):
        fitted, frame = model("cells", target), rows()[0]
        edited = fitted.with_prior(given_shares, note="as sold", who="Ann")
        labels = fitted.classes_.tolist()
        new = np.array([given_shares.get(label, 1 - sum(given_shares.values())) for label in labels])
        old = fitted.scorecard_.class_counts / fitted.scorecard_.class_counts.sum()
        expected = fitted.predict_proba(frame) * new / old
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(edited.predict_proba(frame), expected, atol=1e-12)
        assert edited.edits_[0].what == "prior"
        assert (edited.edits_[0].why, edited.edits_[0].who) == ("as sold", "Ann")
        check(edited)
        again = saved(edited, tmp_path)
        back = again.with_prior(dict(zip(labels, old.tolist(), strict=True)))
        np.testing.assert_allclose(back.predict_proba(frame), fitted.predict_proba(frame), atol=1e-12)
        kept = edited.edit().drop("whole").done()
        np.testing.assert_array_equal(kept.with_prior(given_shares).scorecard_.intercept.round(12),
                                      kept.scorecard_.intercept.round(12))  # fmt: skip
    fitted = model()
    for wrong, words in (
        ({"maybe": 0.5}, "'maybe' is not a class"),
        ({"yes": 0.0}, "above 0"),
        ({"yes": float("nan")}, "above 0"),
        ({"yes": 0.5, "no": 0.6}, "add up to 1"),
        ({}, "every class"),
        (0.5, "dict"),
    ):
        with pytest.raises(ValueError, match=words):
            fitted.with_prior(wrong)  # type: ignore[arg-type]
    assert fitted.with_prior({"yes": 1 / 3, "no": 0.6666667}).edits_


def test_decisions_do_not_correct_shares_twice() -> None:
    fitted, frame = model(), rows()[0]
    probabilities = []
    for one in (fitted, fitted.with_prior({"yes": 0.1})):
        deciding = BenefitClassifier(one, benefit=[[1, -2], [0, 3]], class_prior={"no": 0.8, "yes": 0.2})
        probabilities.append(deciding.keep(one, one.scorecard_.class_shares).predict_proba(frame))
    np.testing.assert_allclose(*probabilities, atol=1e-12)


def test_undersampled_rows_are_corrected() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=60_000)
    y = rng.random(60_000) < expit(x - 3.5)
    kept = y | (rng.random(60_000) < 0.1)
    fitted = SelectiveNB().fit(x[kept, None], y[kept]).with_prior({True: float(y.mean())})
    assert fitted.predict_proba(x[:, None])[:, 1].mean() == pytest.approx(y.mean(), rel=0.05)


def test_edits_take_no_time() -> None:
    fitted = model()

    def seconds() -> float:
        began = time.perf_counter()
        cut = fitted.scorecard_["number"].levels.cut_points[0]
        editor = fitted.edit().merge("number", [2, 3]).cut("number", cut, cut + 0.1).monotone("curve", 1)
        editor.set("day", {0: 0.1}).rename("gaps", {None: "none"}).drop("whole").done()
        return time.perf_counter() - began

    assert min(seconds() for _ in range(5)) < 0.05


def test_it_is_fitted_again_with_edited_levels() -> None:
    frame, two, _ = rows()
    edited = model("levels").edit().merge("number", [0, 1]).rename("number", {0: "low"}).done()
    again = SelectiveNB(calibrate="levels", levels=edited.scorecard_).fit(frame, two)
    assert (
        again.scorecard_["number"].levels.number_cuts.tolist()
        == edited.scorecard_["number"].levels.number_cuts.tolist()
    )
    assert log_loss(two, again.predict_proba(frame)) < 0.6


KINDS_OF_EDITS = "cut add remove merge set cell unseen flatten drop monotone rename refit prior".split()  # noqa: SIM905
DRAWN = st.tuples(st.sampled_from(KINDS_OF_EDITS), st.integers(0, 10**6), st.integers(0, 10**6), st.floats(-2, 2))
EDITS = st.lists(DRAWN, min_size=1, max_size=6)


def apply(editor: ModelEditor, fitted: SelectiveNB, what: str, i: int, j: int, x: float) -> None:
    """One edit made of drawn numbers; ValueError if it is refused."""
    card = editor._card
    feature: Feature = card.features[i % len(card.features)]
    name, n = feature.name, feature.levels.n_levels
    label = fitted.classes_[j % len(fitted.classes_)]
    cuts = np.zeros(0) if feature.levels.cut_points is None else feature.cells.cut_points
    finite = cuts[np.isfinite(cuts)]
    if what == "merge":
        editor.merge(name, [j % n, (j + 1) % n])
    elif what == "set":
        editor.set(name, {j % n: {label: x}})
    elif what == "cell":
        editor.set(name, {feature.cells.all_labels[j % feature.cells.n_levels]: {label: x}})
    elif what == "unseen":
        editor.set(name, {UNSEEN: {label: x}})
    elif what == "rename":
        editor.rename(name, {j % n: f"text {x}"})
    elif what == "monotone":
        editor.monotone(name, 1 if x > 0 else -1)
    elif what in ("flatten", "drop"):
        getattr(editor, what)(name)
    elif what == "refit":
        editor.refit(rows()[0].head(400).select(card.columns), target_of(fitted)[:400])
    elif what == "add":
        editor.cut(name, None, (finite[j % finite.size] if finite.size else 0.0) + x)
    elif what in ("cut", "remove") and finite.size:
        at = finite[j % finite.size]
        editor.cut(name, at, None if what == "remove" else at + x)


def target_of(fitted: SelectiveNB) -> np.ndarray:
    return rows()[1] if len(fitted.classes_) == 2 else rows()[2]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The model still reads")
@pytest.mark.parametrize("kind", [*OPTIONS, "indicators", "four"])
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=EDITS)
def test_any_edits_leave_a_sound_model(kind: str, drawn: list[Any], tmp_path: Path) -> None:
    fitted = of_indicators() if kind == "indicators" else model("cells", 2) if kind == "four" else model(kind)
    editor, refusals = fitted.edit(), []
    for what, i, j, x in drawn:
        if what == "prior":
            labels = fitted.classes_.tolist()
            shares = {labels[j % 2]: 0.2} if len(labels) == 2 else {labels[0]: 0.4, labels[2]: 0.1, labels[3]: 0.3}
            editor = editor.done().with_prior(shares).edit()
            continue
        try:
            apply(editor, fitted, what, i, j, x)
        except ValueError as refused:
            refusals.append(str(refused))
    assert all(text.endswith((".", "?")) and "\n" not in text for text in refusals)
    edited = editor.done()
    check(edited)
    saved(edited, tmp_path)
    if kind in ("cells", "levels", "counted", "four") and not any(" × " in name for name in edited.selected_features_):
        frame = rows()[0].head(60)
        np.testing.assert_allclose(
            log_softmax(by_hand(edited, frame), axis=1), edited.predict_log_proba(frame), atol=1e-9
        )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda e: e.merge("nowhere", [0, 1]), "no feature 'nowhere'"),
        (lambda e: e.merge("numbr", [0, 1]), "'number'"),
        (lambda e: e.merge("number", [0]), "two levels"),
        (lambda e: e.merge("number", "<= 1"), "list"),
        (lambda e: e.merge("number", [0, 2]), "neighbouring levels"),
        (lambda e: e.merge("number", [0, 99]), "no level 99"),
        (lambda e: e.merge("number", [0, "nothing"]), "no level 'nothing'"),
        (lambda e: e.cut("number", 12345.0, 1), "no cut point 12345.0"),
        (lambda e: e.cut("number", None, None), "the old cut"),
        (lambda e: e.cut("number", None, float("inf")), "finite"),
        (lambda e: e.cut("number", None, "x"), "finite number"),
        (lambda e: e.cut("number", 0.6978, 1e9), "between its neighbours"),
        (lambda e: e.cut("text", 1, 2), "needs a numeric column"),
        (lambda e: e.set("number", {0: float("nan")}), "1000 nats"),
        (lambda e: e.set("number", {0: True}), "1000 nats"),
        (lambda e: e.set("number", {0: {"maybe": 1.0}}), r"dict from classes \('no' and 'yes'\) to nats"),
        (lambda e: e.set("number", {0: 1.0, "<= -1.1": 2.0}), "twice"),
        (lambda e: e.set("number", 1.0), "dict"),
        (lambda e: e.monotone("number", 2), "-1"),
        (lambda e: e.monotone("text", 1), "needs a numeric column"),
        (lambda e: e.rename("number", {0: " "}), "text"),
        (lambda e: e.rename("number", {0: 5}), "text"),
        (lambda e: e.rename("number", {0: "\ud800"}), "text"),
        (lambda e: e.rename("number", {0: UNSEEN}), "text"),
        (lambda e: e.done(note=5), "note"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as refused:
        call(model("levels").edit())
    assert "\n" not in str(refused.value)


def test_damaged_edits_are_refused(tmp_path: Path) -> None:
    edited = model("levels").edit().rename("number", {0: "low"}).monotone("number", 1).done().with_prior({"yes": 0.2})
    path = tmp_path / "model.json"
    edited.save(path)
    assert bayesieve.load(path).edits_ == edited.edits_
    data = json.loads(path.read_text("utf-8"))
    at = next(k for k, own in enumerate(data["features"]) if own["levels"].get("renamed"))
    for change in (
        lambda d: d["provenance"].update(prior=[1.0, 0.0]),
        lambda d: d["provenance"].update(prior=[0.5]),
        lambda d: d["provenance"].update(edits=[{"what": 5}]),
        lambda d: d["features"][at]["levels"].update(renamed=["low"]),
        lambda d: d["features"][at]["levels"].update(renamed=["low"] * 5),
        lambda d: d["features"][at].update(sign=3),
    ):
        other = json.loads(json.dumps(data))
        change(other)
        path.write_text(signed(other), "utf-8")
        with pytest.raises(ValueError, match="is damaged"):
            bayesieve.load(path)


def rows_with_offset(n: int, n_classes: int, seed: int) -> tuple[pl.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    """Rows of two columns that go with a third, which is left out; classes, its effect, and true log odds."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, n_classes)) * 1.5
    z[:, 0] = 0.0
    a, b = 0.4 * z[:, -1] + 0.6 * rng.normal(size=n), rng.integers(0, 3, n)
    own = np.stack(
        [np.zeros(n), *(np.array([-1.0, 0.0, 1.0])[b] * (j + 1) / 2 + 0.7 * a for j in range(n_classes - 1))], 1
    )
    truth = softmax(z + own + 0.5, axis=1)
    y = (truth.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    return pl.DataFrame({"a": a, "b": [f"v{k}" for k in b]}), y, z, own


@pytest.mark.parametrize(("calibrate", "n_classes"), mostly_slow(product(["auto", "levels"], [2, 3]), [("auto", 3)]))
def test_offsets_stand_for_a_column_left_out(n_classes: int, calibrate: Any) -> None:
    X, y, z, own = rows_with_offset(2000, n_classes, 0)
    options = {"calibrate": calibrate, "pairs": 0}
    offset = z[:, 1] if n_classes == 2 else z
    without, fitted = SelectiveNB(**options).fit(X, y), SelectiveNB(**options).fit(X, y, offset=offset)

    def error(model: SelectiveNB) -> float:
        joint = model.scorecard_.joint(X)
        away = (joint - joint[:, :1]) - own
        return float(np.sqrt(((away - away.mean(axis=0)) ** 2).mean()))

    assert error(fitted) < 0.5 * error(without)
    new, labels, z, own = rows_with_offset(4000, n_classes, 1)
    offset = z[:, 1] if n_classes == 2 else z
    truth = softmax(z + own + 0.5, axis=1)
    probability = fitted.predict_proba(new, offset=offset)
    assert log_loss(labels, probability) < log_loss(labels, truth) + 0.01
    columns = [pl.Series(f"z{j}", z[:, j]) for j in range(1, n_classes)]
    X, y, z, _ = rows_with_offset(2000, n_classes, 0)
    knows = SelectiveNB(**options).fit(X.with_columns(*(pl.Series(f"z{j}", z[:, j]) for j in range(1, n_classes))), y)
    assert log_loss(labels, probability) < log_loss(labels, knows.predict_proba(new.with_columns(*columns))) + 0.005
    np.testing.assert_allclose(fitted.predict_log_proba(new, offset=offset), np.log(probability), atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(new, offset=offset), fitted.classes_[probability.argmax(axis=1)])
    np.testing.assert_allclose(probability, softmax(fitted.scorecard_.joint(new) + (z_of(offset)), axis=1), atol=1e-12)


def z_of(offset: np.ndarray) -> np.ndarray:
    return np.stack([np.zeros(len(offset)), offset], axis=1) if offset.ndim == 1 else offset


def test_offsets_keep_their_rows() -> None:
    """The order of rows, and a number that all rows share, make no difference; nor do zeros."""
    X, y, z, _ = rows_with_offset(500, 2, 2)
    expected = SelectiveNB().fit(X, y, offset=z[:, 1]).predict_proba(X, offset=z[:, 1])
    order = np.random.default_rng(0).permutation(len(y))
    other = SelectiveNB().fit(X[order], y[order], offset=z[order, 1]).predict_proba(X, offset=z[:, 1])
    np.testing.assert_allclose(other, expected, atol=1e-6)
    shifted = SelectiveNB().fit(X, y, offset=z[:, 1] + 3.0).predict_proba(X, offset=z[:, 1] + 3.0)
    np.testing.assert_allclose(shifted, expected, atol=1e-4)
    weighted = SelectiveNB().fit(X, y, np.ones(len(y)), offset=z[:, 1]).predict_proba(X, offset=z[:, 1])
    np.testing.assert_allclose(weighted, expected, atol=1e-6)
    nothing = SelectiveNB().fit(X, y, offset=np.zeros(len(y))).predict_proba(X)
    np.testing.assert_array_equal(nothing, SelectiveNB().fit(X, y).predict_proba(X))


def test_offsets_alone_set_the_intercept() -> None:
    rng = np.random.default_rng(0)
    z = 2 * rng.normal(size=3000)
    y = rng.random(3000) < expit(z - 1)
    fitted = SelectiveNB().fit(pl.DataFrame({"noise": rng.normal(size=3000)}), y, offset=z)
    assert not fitted.selected_features_
    odds = logit(fitted.predict_proba(pl.DataFrame({"noise": [0.0]}))[0, 1])
    assert odds == pytest.approx(-1.0, abs=0.15)
    assert fitted.predict_proba(pl.DataFrame({"noise": [0.0] * 3000}), offset=z)[:, 1].mean() == pytest.approx(y.mean())


def test_wrong_offsets_are_refused() -> None:
    X, y, z, _ = rows_with_offset(200, 2, 0)
    for wrong in (z[:-1, 1], z[:, :1], np.full(200, np.nan), "z", 1.0, np.array(["a"] * 200)):
        with pytest.raises(ValueError, match="offset must hold"):
            SelectiveNB().fit(X, y, offset=wrong)
    for calibrate in (False, "weights"):
        with pytest.raises(ValueError, match="calibrate='levels'"):
            SelectiveNB(calibrate=calibrate).fit(X, y, offset=z[:, 1])
    fitted = SelectiveNB().fit(X, y)
    with pytest.raises(ValueError, match="offset must hold"):
        fitted.predict_proba(X, offset=z[:5, 1])
    with pytest.raises(ValueError, match="in memory"):
        SelectiveNB().fit(bayesieve.scan(X.with_columns(y=pl.Series(y))), "y", offset=z[:, 1])


def test_info_lists_edits(tmp_path: Path) -> None:
    from tests.cli.conftest import invoke

    edited = model("levels").edit().merge("number", [0, 1]).done("too fine", who="Ann")
    edited.save(tmp_path / "model.json")
    shown = invoke("info", tmp_path / "model.json").stdout
    assert "edited by hand" in shown
    assert "too fine" in shown
    assert "Ann" in shown


def test_the_report_measures_folds_without_edits(tmp_path: Path) -> None:
    frame, two, _ = rows()
    edited = model("levels").edit().drop("day").done()
    performance = edited.report(tmp_path / "report.html", frame, two, cv=2)
    assert "without the edits" in performance.protocol
    performance = edited.report(tmp_path / "report.html", frame, two, held_out=True)
    assert "edits" not in performance.protocol
    probability = edited.predict_proba(frame)
    assert performance.log_loss == pytest.approx(log_loss(two, probability))
