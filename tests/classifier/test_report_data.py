"""Data of a report: a stranger can work out scores from them, in every mode."""

from __future__ import annotations

import math
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss, roc_auc_score

from bayesieve import SelectiveNB, TableEncoder, challenge, evaluate, load, pair_statistics
from bayesieve.classifier.report_data import of_features, report_data
from bayesieve.datasets import load_german_credit
from bayesieve.report import ReportData, render_report
from bayesieve.report.report import column_lines
from tests.cases import mostly_slow
from tests.report.markup import payload, read, texts

RNG = np.random.default_rng(3)
N = 900
X = pl.DataFrame(
    {
        "age": RNG.integers(18, 80, N),
        "income": np.where(RNG.random(N) < 0.1, np.nan, RNG.lognormal(3, 1, N)),
        "purpose": RNG.choice(["car", "house", "boat", None], N),
        "employed": RNG.choice(["yes", "no"], N),
    }
)
SCORE = (
    0.05 * (X["age"].to_numpy() - 50)
    + 0.8 * (X["employed"] == "yes").to_numpy() * (X["purpose"] == "car").fill_null(False).to_numpy()
)
TWO = np.where(SCORE + RNG.normal(size=N) > 0, "good", "bad")
THREE = np.where(TWO == "good", TWO, np.where(RNG.random(N) < 0.5, "bad", "worse"))
MODES: dict[str, tuple[dict[str, Any], Any]] = {
    "default": ({}, TWO),
    "not calibrated": ({"calibrate": False}, TWO),
    "weights": ({"calibrate": "weights"}, TWO),
    "levels": ({"calibrate": "levels"}, TWO),
    "three classes": ({}, THREE),
    "three classes, levels": ({"calibrate": "levels"}, THREE),
    "pairs": ({"pairs": 3}, TWO),
    "monotone": ({"monotone": {"age": 1}}, TWO),
    "map": ({"selector": "map"}, TWO),
}


@cache
def fitted(mode: str = "default") -> SelectiveNB:
    options, y = MODES[mode]
    return SelectiveNB(random_state=0, **options).fit(X, y)


def found(cells: dict[str, list[Any]], value: Any) -> int | None:
    """The line of a table of cells that a value belongs to."""
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    for i, label in enumerate(cells["label"]):
        if missing:
            if cells["is_missing"][i]:
                return i
        elif cells["low"][i] is not None or cells["high"][i] is not None:
            low, high = cells["low"][i], cells["high"][i]
            if (low is None or value > low) and (high is None or value <= high):
                return i
        elif isinstance(value, str) and value in re.split(r", |\{|\}| or ", label):
            return i
    return None


def place(feature: dict[str, Any], row: dict[str, Any]) -> int | None:
    if feature["grid"] is None:
        return found(feature["cells"], row[feature["name"]])
    raise AssertionError("pairs are read by the model")


@pytest.mark.parametrize("mode", mostly_slow(MODES, [mode for mode in MODES if mode != "three classes, levels"]))
def test_a_stranger_can_work_out_scores(mode: str) -> None:
    model = fitted(mode)
    data = payload(render_report(report_data(model)))["more"]
    rows = [0, 17, 401]
    joint = np.tile(np.array(data["intercept"]), (3, 1))
    card = model.scorecard_
    for feature in data["features"]:
        own = card[feature["name"]]
        cells = feature["cells"]
        for at, row in enumerate(rows):
            if own.kind == "pair":  # which place of the grid is read off the model, what it adds off the page
                code = int(card.cells(X[[row]])[card.used.tolist().index(card._position[feature["name"]]), 0])
                adds = cells["contributions"][code] if code < len(cells["label"]) else feature["unseen"]
            else:
                line = place(feature, X.row(row, named=True))
                adds = feature["unseen"] if line is None else cells["contributions"][line]
            joint[at] += adds
    np.testing.assert_allclose(softmax(joint, axis=1), model.predict_proba(X[rows]), atol=1e-12)


@pytest.mark.parametrize("mode", mostly_slow(MODES, ["default", "weights", "three classes, levels", "pairs"]))
def test_every_mode_gives_a_page_that_is_true(mode: str) -> None:
    model, y = fitted(mode), MODES[mode][1]
    report = report_data(model, X, y, cv=2)
    elements = read(render_report(report))
    parts = [e.attributes["data-part"] for e in elements if "data-part" in e.attributes]
    assert parts[:3] == ["overview", "features", "feature"]
    assert {"performance", "settings", "search"} <= set(parts)
    assert ("threshold" in parts) == (len(model.classes_) == 2)
    text = next(e for e in elements if e.tag == "main").text
    assert ("log-odds of the positive class" in text) == (len(model.classes_) == 2)
    assert "0 leaves the feature out" not in text
    importances = sum(feature["importance"] for feature in report.features)
    assert importances == pytest.approx(1.0)
    for feature in report.features:
        assert feature["selected"] == ("cells" in feature)
        if feature["selected"] and feature["kind"] != "pair":
            counts = np.array(feature["cells"]["counts"])
            contributions = np.array(feature["cells"]["contributions"])
            assert np.abs(counts.sum(axis=1) @ contributions / counts.sum()).max() < 1e-9  # mean 0


def test_thresholds_add_up() -> None:
    model = fitted()
    performance = report_data(model, X, TWO, held_out=True).performance
    assert performance is not None
    probability = model.predict_proba(X)[:, 1]
    for threshold, hits, others in performance.thresholds:
        selected = probability >= threshold
        assert hits == np.count_nonzero(selected & (TWO == "good"))
        assert others == np.count_nonzero(selected & (TWO == "bad"))
    assert performance.thresholds[-1][1:] == (np.sum(TWO == "good"), np.sum(TWO == "bad"))


def test_bands_tell_what_approval_brings() -> None:
    model, weights = fitted(), np.linspace(0.5, 2.0, N)
    performance = report_data(model, X, TWO, weights, held_out=True).performance
    bands, score, bad = performance.bands(), model.predict_proba(X)[:, 1], TWO == "bad"
    assert len(bands) == 10
    for band in bands:
        approved = score >= band["low"]
        assert band["approval_rate"] == pytest.approx(weights[approved].sum() / weights.sum())
        assert band["approved_event_rate"] == pytest.approx(np.average(bad[approved], weights=weights[approved]))
        shares = [weights[approved & rows].sum() / weights[rows].sum() for rows in (~bad, bad)]
        assert band["ks"] == pytest.approx(shares[0] - shares[1])
    assert max(band["ks"] for band in bands) <= performance.estimates["ks"][0] + 1e-12


@pytest.mark.parametrize("mode", ["default", "pairs", "three classes"])
def test_the_usual_row_is_one_near_the_middle_and_labels_fix_columns(mode: str) -> None:
    model, y = fitted(mode).with_labels({"age": {"fixed": True}}), MODES[mode][1]
    card = model.scorecard_
    columns = report_data(model, X, y, cv=0).changes
    assert {one["name"] for one in columns if one["fixed"]} == {"age"}
    usual = pl.DataFrame({one["name"]: [one["values"][one["usual"]]] for one in columns})
    usual = usual.cast({name: pl.Float64 for name in ("age", "income") if name in usual.columns})
    frame = X.select(usual.columns)
    cells, own = card.cells(frame), card.cells(usual)
    assert (cells == own).all(axis=0).any()  # a row that there is
    added = card.tables.contributions(cells)
    distances = np.abs(added - np.median(added, axis=0)).sum(axis=(1, 2))
    found = distances[(cells == own).all(axis=0)][0]
    assert found <= np.quantile(distances, 0.05)
    of_training = report_data(model).changes  # without rows that of most rows, column by column
    assert all(one["usual"] is not None for one in of_training)
    for column in of_training:
        features = [feature for feature in card.used_features if column["name"] in feature.columns]
        if [feature.kind == "pair" for feature in features] == [False] and column["ordered"]:
            usual = features[0].counts.sum(axis=1)[features[0].cells.n_special_levels :].argmax()
            assert column["labels"][column["usual"]] == features[0].cells.labels[-len(column["labels"]) :][usual]
    assert "age" not in model.counterfactuals(X[:40], n=5)["column"].to_list()


@pytest.mark.parametrize("mode", ["default", "not calibrated", "three classes"])
def test_cells_of_few_rows_are_joined(mode: str) -> None:
    """Within their level, intervals with their neighbours; a level keeps its rows and mean contribution."""
    options, y = MODES[mode]
    rare = X.with_columns(purpose=pl.when(pl.int_range(N) < 3).then(pl.lit("yacht")).otherwise("purpose"))
    model = SelectiveNB(random_state=0, **options).fit(rare, y)
    page = payload(model.report(X=rare, y=y, cv=0).html)["more"]
    every = {feature["name"]: feature for feature in report_data(model, min_count=1).features}
    for feature in page["features"]:
        if feature["grid"] is not None:
            continue
        cells, whole = feature["cells"], every[feature["name"]]["cells"]
        few = [k for k, n in enumerate(cells["rows"]) if n < 5]
        assert [cells["label"][k] for k in few] in ([], ["1 cell of fewer than 5 rows"])
        assert all(cells["low"][k] is cells["high"][k] is None for k in few)
        assert not any("yacht" in label for label in cells["label"])
        assert len(set(cells["label"])) == len(cells["label"])
        assert np.sum(cells["counts"], axis=0) == pytest.approx(np.sum(whole["counts"], axis=0))
        for one in (cells, whole):  # contributions have mean 0
            assert np.abs(np.array(one["rows"]) @ np.array(one["contributions"])).max() < 1e-6
        inside = [ends for ends in zip(cells["low"], cells["high"], strict=True) if ends != (None, None)]
        assert all(high == low for (_, high), (low, _) in pairwise(inside))
    assert page["features"][0]["variances"] is not None
    shown = payload(model.report(min_count=1).html)["more"]["features"]
    assert [len(f["cells"]["rows"]) for f in shown] == [len(every[f["name"]]["cells"]["rows"]) for f in shown]


def test_no_row_without_asking() -> None:
    model = fitted()
    marked = X.with_columns(purpose=pl.when(pl.int_range(N) == 5).then(pl.lit("zeppelin")).otherwise(pl.col("purpose")))
    without = report_data(model, marked, TWO, cv=0)
    assert without.explained == ()
    some = report_data(model, marked, TWO, cv=0, rows=[5, -1])
    assert [row["row"] for row in some.explained] == [5, N - 1]
    assert "zeppelin" in [part["value"] for part in some.explained[0]["contributions"]]
    assert (
        "explained" in str(payload(render_report(some))["more"].keys()) or payload(render_report(some))["more"]["rows"]
    )
    for wrong in ("a", -1, 1.5, True, [N], [[0]], [0.5]):
        with pytest.raises(ValueError, match="rows must be"):
            report_data(model, X, TWO, cv=0, rows=wrong)
    with pytest.raises(ValueError, match="pass X and y"):
        report_data(model, rows=3)


def test_the_report_is_about_the_positive_class() -> None:
    model = fitted("monotone")
    good, bad = (report_data(model, X, TWO, held_out=True, positive=label) for label in ("good", "bad"))
    assert (good.positive, bad.positive) == (1, 0)
    assert good.performance is not None
    assert bad.performance is not None
    assert bad.performance.roc[0][0] == "bad"
    assert bad.performance.thresholds[-1][1:] == good.performance.thresholds[-1][:0:-1]
    text = next(e for e in read(render_report(bad)) if e.tag == "main").text
    assert "positive bad" in text
    with pytest.raises(ValueError, match="positive must be a class, one of 'bad', 'good'"):
        report_data(model, positive="worse")


def test_figures_and_reports_in_notebooks(tmp_path: Any) -> None:
    model = fitted()
    figure = model.scorecard_.plot("age")
    cells = model.scorecard_["age"]
    np.testing.assert_allclose(figure.data["contribution"], np.diff(cells.contributions, axis=1)[:, 0])
    assert figure.data["from"].is_null().sum() == 0
    assert (
        model.scorecard_.plot("age", "bad").data["contribution"].to_list() == (-figure.data["contribution"]).to_list()
    )
    assert "bar" in str(model.scorecard_.plot("purpose").chart)
    with pytest.raises(ValueError, match="There is no feature 'agee' in the model"):
        model.scorecard_.plot("agee")
    assert model.scorecard_.plot_importance().data["name"].to_list() == model.selected_features_
    assert model.scorecard_.plot_importance().data["importance"].sum() == pytest.approx(1.0)
    report = model.report(X=X, y=TWO, cv=2)
    assert report._repr_html_().startswith("<iframe srcdoc=")
    assert report.performance.n_rows == N
    report.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.html
    with pytest.raises(ValueError, match=r"ends in \.pdf"):
        report.save(tmp_path / "report.pdf")
    with pytest.raises(ValueError, match=r"ends in \.pdf"):
        model.report(tmp_path / "report.pdf")


def test_segments_are_shares_of_levels() -> None:
    model = fitted()
    weights = np.where(np.arange(N) % 7 == 0, 0.0, 1.0)
    segments = report_data(model, X, TWO, weights, held_out=True).segments
    probability, counted = model.predict_proba(X)[:, 1], weights > 0
    level = model.scorecard_["age"].levels
    codes = np.searchsorted(np.asarray(level.cut_points), X["age"].to_numpy())
    lines = dict(segments)["age"]
    assert [label for label, *_ in lines] == list(level.labels)
    for code, (_, share, before, found, auc, loss) in enumerate(lines):
        rows = (codes == code) & counted
        assert auc[0] == pytest.approx(roc_auc_score(TWO[rows] == "good", probability[rows]))
        assert loss[0] == pytest.approx(log_loss(TWO[rows] == "good", probability[rows]))
        assert auc[1] < auc[0] < auc[2]
        assert found.rows == rows.sum()
        assert share == pytest.approx(rows.sum() / counted.sum())
        assert before == pytest.approx((codes == code).mean())
        assert found.observed == pytest.approx((TWO[rows] == "good").mean())
        assert found.predicted == pytest.approx(probability[rows].mean())
        assert found.low < found.observed < found.high
    assert report_data(model, X, TWO, held_out=True, min_count=5).segments == ()


def test_training_folds_and_test_stand_side_by_side() -> None:
    train, test = np.arange(600), np.arange(600, N)
    model = SelectiveNB(calibrate=False, pairs=0).fit(X[train], TWO[train])
    report = report_data(model, X[train], TWO[train], test=(X[test], TWO[test]), cv=3, facts={"Purpose": "Loans"})
    assert [sample.name for sample in report.samples] == ["Training rows", "Folds", "Test rows"]
    for sample, rows in zip(report.samples, (train, train, test), strict=True):
        assert (sample.n_rows, sample.class_rows[1]) == (rows.size, np.sum(TWO[rows] == "good"))
        expected = evaluate(model, X[rows], TWO[rows]).to_frame()
        values = {name: tuple(own) for name, *own in expected.select("measure", "value", "low", "high").iter_rows()}
        if sample.name != "Folds":
            for name, estimate in sample.estimates.items():
                assert estimate == pytest.approx(values[name], nan_ok=True)
    assert report.performance is not None
    assert report.performance is report.samples[2]
    assert dict(report.facts)["Purpose"] == "Loans"
    assert {name for name, _ in report.facts} >= {"Trained on", "Versions", "Limits", "Data, test rows"}
    assert "Calibration slope" in texts(read(render_report(report)), "td")
    assert set(report.stability) == set(X.columns)
    assert all(share in (0, 1 / 3, 2 / 3, 1) for share in report.stability.values())
    for wrong in ((X,), X, (X, TWO, None, 3)):
        with pytest.raises(ValueError, match="test must be the rows and their classes"):
            report_data(model, X, TWO, test=wrong)
    with pytest.raises(ValueError, match="test= needs rows with labels"):
        report_data(model, test=(X, TWO))


@pytest.mark.parametrize("mode", mostly_slow(["default", "pairs", "three classes"], ["pairs", "three classes"]))
def test_other_rows_are_counted_by_cell(mode: str, tmp_path: Path) -> None:
    options, y = MODES[mode]
    model = SelectiveNB(random_state=0, **options).fit(X[:600], y[:600])
    rows, weights = X[600:].with_columns(purpose=pl.lit("plane")), np.linspace(0.5, 2, N - 600)
    report = report_data(model, rows, y[600:], weights)
    for feature in (feature for feature in report.features if feature["selected"]):
        assert len(feature["others"]) == len(feature["cells"]["label"]) + 1
        expected = [weights[y[600:] == label].sum() for label in model.classes_]
        np.testing.assert_allclose(np.sum(feature["others"], axis=0), expected)
        if feature["columns"] == ("purpose",):
            np.testing.assert_allclose(feature["others"][-1], expected)  # all unseen
    assert all(feature["others"] is None for feature in report_data(model, X[:600], y[:600], cv=2).features)
    model.save(tmp_path / "hidden.json", min_count=5)
    hidden = load(tmp_path / "hidden.json")
    assert all(feature["others"] is None for feature in report_data(hidden, rows, y[600:], min_count=5).features)


def test_segments_by_columns_and_periods() -> None:
    model = fitted()
    days = pl.Series("day", np.arange(N)).cast(pl.Date)
    rows = X.with_columns(
        day=days, region=pl.Series(np.arange(N) % 3).cast(pl.String), size=pl.Series(RNG.normal(size=N))
    )
    report = report_data(model, rows, TWO, time="day", by=["region", "size"], held_out=True)
    segments = dict(report.segments)
    assert list(segments)[:3] == ["day", "region", "size"]
    months = days.dt.strftime("%Y-%m").value_counts(sort=False).sort("day")
    assert [(label, found.rows) for label, _, _, found, *_ in segments["day"]] == list(months.iter_rows())
    assert [(label, before) for label, _, before, *_ in segments["region"]] == [(text, None) for text in "012"]
    assert [found.rows for *_, found, _, _ in segments["size"]] == [N // 10] * 10
    assert segments["size"][0][0].startswith("up to ")
    assert "day 1970-01 to 1972-06" in dict(report.facts)["Data, training rows"]
    with pytest.raises(ValueError, match="There is no column 'town'"):
        report_data(model, X, TWO, by="town")
    names = X.with_columns(name=pl.Series([f"n{i}" for i in range(N)]))
    with pytest.raises(ValueError, match="'name' has 900 values; segments have at most 50"):
        report_data(model, names, TWO, by="name")


DAYS = pl.Series("day", np.arange(N) // 3).cast(pl.Date)


def test_the_score_is_followed_by_period() -> None:
    train, test = np.arange(600), np.arange(600, N)
    model = SelectiveNB(calibrate=False, pairs=0).fit(X[train], TWO[train])
    dated = X.with_columns(DAYS)
    rows = {"test": (dated[test], TWO[test]), "time": "day", "cv": 2}
    report = report_data(model, dated[train], TWO[train], **rows)
    months = DAYS[600:].dt.strftime("%Y-%m")
    assert [line["period"] for line in report.periods] == sorted(set(months))
    scores = [model.predict_proba(X[part])[:, 1] for part in (train, test)]
    cuts = np.quantile(scores[0], np.arange(1, 10) / 10)
    for line in report.periods:
        own = (months == line["period"]).to_numpy()
        assert line["rows"] == own.sum()
        assert line["predicted"] == pytest.approx(scores[1][own].mean())
        assert line["observed"] == pytest.approx((TWO[test][own] == "good").mean())
        counts = [np.bincount(np.searchsorted(cuts, one), minlength=10) for one in (scores[1][own], scores[0])]
        p, q = (np.maximum(one, 0.5) / one.sum() for one in counts)
        assert line["psi"] == pytest.approx((p - q) @ np.log(p / q), abs=1e-6)
        assert line["psi"] < 3 * line["psi_chance"]
    assert "against the training rows" in next(e for e in read(render_report(report)) if e.tag == "main").text
    assert report_data(model, X[train], TWO[train], cv=2).periods == ()


def test_a_challenger_stands_beside_the_model() -> None:
    train, test = np.arange(600), np.arange(600, N)
    model = SelectiveNB(random_state=0).fit(X[train], TWO[train])
    noisy = TWO[RNG.permutation(train)]
    other = SelectiveNB("all", encoder=TableEncoder(numeric="equal-width"), calibrate=False).fit(X[train], noisy)
    rows = X[test].with_columns(DAYS[test])
    report = report_data(model, rows, TWO[test], time="day", challenger=other)
    expected = challenge(model, other, X[test], TWO[test])
    assert report.challenged.whole.tests.equals(expected.tests)
    assert report.challenged.whole.swaps.equals(expected.swaps)
    assert [line["rows"] for line in report.challenged.periods] == [line["rows"] for line in report.periods]
    assert sum(line["swap in"] for line in report.challenged.periods) > 0
    elements = read(render_report(report))
    assert {"challenger", "periods"} <= {e.attributes.get("data-part") for e in elements}
    with pytest.raises(ValueError, match="challenger= needs rows with labels"):
        report_data(model, challenger=other)


def test_rules_and_edits_by_hand_are_shown_with_their_effect() -> None:
    levels = {"age": {"cuts": [30, 50], "special": {"none": [-1]}}, "purpose": {"groups": [["car", "boat"], [None]]}}
    model = SelectiveNB(random_state=0, levels=levels | {"employed": {"exclude": True}}).fit(X, TWO)
    report = report_data(model, X, TWO, held_out=True)
    by_hand = {feature["name"]: feature["by_hand"] for feature in report.features}
    assert by_hand["age"] == "cuts: 30, 50; special: none (-1)"
    assert by_hand["purpose"] == "groups: car, boat; missing"
    assert by_hand["employed"] == "exclude: yes"
    assert by_hand["income"] is None
    effects = {feature["name"]: feature["effect"] for feature in report.features if feature["effect"]}
    assert effects.keys() == {feature["name"] for feature in report.features if feature["selected"]} & levels.keys()
    assert "employed" in report.left_out["Excluded by hand"]
    lines = texts(read(render_report(report)), "td")
    assert "cuts: 30, 50; special: none (-1)" in lines
    assert "edits" not in [e.attributes.get("data-part") for e in read(render_report(report_data(fitted())))]


@pytest.mark.parametrize("weighted", [False, True])
def test_effects_of_rules_are_gains_on_held_out_rows(weighted: bool) -> None:
    """Good cuts predict held-out rows as well as learnt ones, bad ones do not; both stand on the page."""
    rng = np.random.default_rng(0)
    x = rng.permutation(400)
    y = np.where(rng.random(400) < np.where(x < 200, 0.1, 0.9), "p", "q")
    weights = np.where(np.arange(400) < 300, 1.0, 0.0) if weighted else None
    gains = []
    for cut in (199.5, 20.5):
        rules = {"x": {"cuts": [cut], "include": True}}
        model = SelectiveNB(levels=rules, calibrate=False).fit(pl.DataFrame({"x": x}), y, weights)
        report = report_data(model, pl.DataFrame({"x": x}), y, weights, held_out=True)
        gains.append(report.features[0]["effect"])
        assert f"{gains[-1].by_hand:.4f}" in texts(read(render_report(report)), "td")
    (good, learnt, n_learnt), (bad, *same) = gains
    assert same == [learnt, n_learnt]
    assert n_learnt == 2
    assert good == pytest.approx(learnt, abs=0.05) == pytest.approx(math.log(2) - 0.325, abs=0.08)
    assert bad < 0.1
    few = SelectiveNB(levels={"x": {"cuts": [4.5]}}, calibrate=False).fit(pl.DataFrame({"x": range(8)}), ["p", "q"] * 4)
    assert report_data(few, pl.DataFrame({"x": range(8)}), ["p", "q"] * 4, held_out=True).features[0]["effect"] is None


def test_importances_of_columns_and_dependence() -> None:
    model = fitted("pairs")
    report = report_data(model, X, TWO, held_out=True)
    lines = column_lines(report)
    assert sum(line["importance"] for line in lines) == pytest.approx(1)
    assert {line["name"] for line in lines} == set(X.columns)
    for line in lines:
        parts = [f for f in report.features if line["name"] in f["columns"]]
        assert line["importance"] == pytest.approx(sum(f["importance"] / len(f["columns"]) for f in parts))
        assert [name for _, name in line["features"]] == [f["name"] for f in parts if f["selected"]]
    assert report.dependence is not None
    names, matrix = report.dependence
    codes = model.encoder_.transform(X)
    codes = np.asarray(codes)[:, [model.encoder_.feature_names_in_.tolist().index(name) for name in names]]
    expected = pair_statistics(codes, encoder=None, statistic="symmetrical_uncertainty")
    np.testing.assert_allclose(matrix, expected, atol=1e-4)


@pytest.fixture(scope="module")
def measured() -> tuple[SelectiveNB, ReportData]:
    model = fitted()
    return model, report_data(model, X, TWO)


def test_sentences_about_features_are_true() -> None:
    """A column in the model, by itself, as a curve or through pairs, is not said to add nothing or have no cut."""
    for mode in ("default", "pairs"):
        model = fitted(mode)
        report, card = report_data(model), model.scorecard_
        in_pairs = {name for feature in card.used_features for name in feature.columns}
        for feature in report.features:
            note = feature["note"] or ""
            assert "nothing" not in note
            if feature["columns"][0] in in_pairs and feature["kind"] != "pair":
                assert "pays for itself" not in note
                assert "too little" not in note
        absent = [feature["name"] for feature in report.features if not feature["selected"]]
        assert sorted(name for names in report.left_out.values() for name in names) == sorted(absent)


def test_a_class_that_is_never_predicted_is_named() -> None:
    y = np.where(TWO == "bad", np.where(np.arange(N) % 9 == 0, "rare", "bad"), TWO)
    model = SelectiveNB(random_state=0).fit(X, y)
    report = report_data(model, X, y, held_out=True)
    assert report.performance.never_predicted == ["rare"]
    assert "Never predicted: rare." in next(e for e in read(render_report(report)) if e.tag == "main").text


def test_figures_of_all_samples_stand_in_the_headline() -> None:
    model = SelectiveNB(random_state=0).fit(X[:600], TWO[:600])
    report = report_data(model, X[:600], TWO[:600], test=(X[600:], TWO[600:]), cv=2)
    tiles = texts(read(render_report(report)), "dd", "sample")
    for sample in report.samples[:2]:
        assert f"{sample.auc:.3f} {sample.name.lower()}" in tiles
    assert "test rows" in tiles


def test_information_value_is_that_of_the_levels() -> None:
    model = fitted()
    for feature in report_data(model).features:
        counts = np.asarray(model.scorecard_.features[feature["position"]].levels.counts)
        shares = counts / counts.sum(axis=0)
        if len(counts) == 1:
            assert feature["information_value"] is None
        elif counts.all():
            expected = (shares[:, 1] - shares[:, 0]) @ np.log(shares[:, 1] / shares[:, 0])
            assert feature["information_value"] == pytest.approx(expected, rel=0.05)
    three = report_data(fitted("three classes")).features
    assert {feature["information_value"] for feature in three} == {None}


def test_gains_are_the_loss_without_the_feature(measured: tuple[SelectiveNB, ReportData]) -> None:
    """Of models of folds on training rows, of the model itself on other rows; none without rows."""
    model, of_folds = measured
    gains = {feature["name"]: feature["gain"] for feature in of_folds.features}
    assert gains["age"] == max(gains.values(), key=lambda gain: gain or 0.0)
    assert gains["age"] is not None
    assert gains["age"] > 0.05
    other = SelectiveNB(calibrate=False, pairs=0).fit(X[:500], TWO[:500])
    rows, y = X[500:], TWO[500:]
    explanation = other.scorecard_.explain(rows)
    joint = other.scorecard_.joint(rows)
    for feature in report_data(other, rows, y).features:
        if not feature["selected"]:
            assert feature["gain"] == 0.0
            continue
        without = joint - explanation.contributions[:, explanation.features.index(feature["name"])]
        losses = [log_loss(y, softmax(one, axis=1)) for one in (without, joint)]
        assert feature["gain"] == pytest.approx(losses[0] - losses[1], abs=1e-12)
    assert {feature["gain"] for feature in report_data(model).features} == {None}


def test_chance_comes_from_the_bayes_factors_of_the_scorecard(measured: tuple[SelectiveNB, ReportData]) -> None:
    model, data = measured
    tested = {feature["name"]: model.scorecard_.features[feature["position"]].log_bayes for feature in data.features}
    odds = {feature["name"]: feature["by_chance"] for feature in data.features}
    assert all((odds[name] == "") == math.isnan(value) for name, value in tested.items())
    by_evidence = [odds[name] for name in sorted(tested, key=lambda name: tested[name]) if odds[name]]
    sizes = [int(text.split()[-1].replace(",", "")) for text in by_evidence]
    assert sizes == sorted(sizes)
    assert next(f for f in data.features if f["name"] == "age")["by_chance"] == "over 1,000,000"
    page = render_report(data)
    assert "By chance, 1 in" in page
    assert "Held-out gain" in page
    untested = report_data(fitted("not calibrated"))
    assert "By chance, 1 in</th>" not in render_report(untested)


def test_density_holds_the_rows_of_the_curve(measured: tuple[SelectiveNB, ReportData]) -> None:
    feature = next(feature for feature in measured[1].features if feature["name"] == "age")
    ends, frame = feature["ends"], feature["density"]
    assert ends[0] < feature["cells"]["high"][0] < feature["cells"]["low"][-1] < ends[1]
    assert sum(frame["rows"]) == pytest.approx(N, rel=1e-3)
    assert max(frame["height"]) == 1.0
    assert (frame["from"][0], frame["to"][-1]) == ends


@pytest.mark.parametrize(
    ("min_count", "duration", "age"),
    [
        (1, {"<= 7.5": 87, "7.5 < .. <= 34.5": 743, "> 34.5": 170}, {"missing": 112, "<= 20.5": 13, "> 20.5": 875}),
        (
            88,
            {"7.5 < .. <= 34.5": 743, "> 34.5": 170, "1 cell of fewer than 88 rows": 87},
            {"missing": 112, "> 20.5": 875},
        ),
        (113, {"7.5 < .. <= 34.5": 743, "> 34.5": 170}, {"> 20.5": 875, "2 cells of fewer than 113 rows": 125}),
    ],
)
def test_levels_of_few_rows_share_a_line(min_count: int, duration: dict[str, int], age: dict[str, int]) -> None:
    X, y = load_german_credit(return_X_y=True)
    X = X.select("duration", age=pl.when(pl.int_range(1000) % 9 == 0).then(None).otherwise("age"))
    rules = {"duration": {"cuts": [7.5, 34.5]}, "age": {"cuts": [20.5]}}
    model = SelectiveNB("all", pairs=0, calibrate="levels", levels=rules).fit(X, y)
    shown = {feature["name"]: feature["cells"] for feature in of_features(model, min_count=min_count).features}
    for name, expected in (("duration", duration), ("age", age)):
        lines = dict(zip(shown[name]["label"], shown[name]["rows"], strict=True))
        assert expected.items() <= lines.items()
        assert sum(lines.values()) == 1000


def test_joined_cells_have_the_mean_of_their_rows() -> None:
    X, y = load_german_credit(return_X_y=True)
    model = SelectiveNB("all", pairs=0, calibrate="levels", levels={"age": {"cuts": [20.5, 22.5]}}).fit(
        X.select("age"), y
    )
    feature, cells = model.scorecard_["age"], of_features(model, min_count=100).features[0]["cells"]
    rows = feature.counts[:2].sum(axis=1)
    assert cells["label"][-1] == "2 cells of fewer than 100 rows"
    assert cells["rows"][-1] == rows.sum()
    expected = (rows[:, None] * feature.contributions[:2]).sum(axis=0) / rows.sum()
    np.testing.assert_allclose(cells["contributions"][-1], expected)


@pytest.mark.parametrize("unit", ["", " years"])
def test_joined_intervals_are_labelled_by_their_ends_and_their_level(unit: str) -> None:
    model = fitted().with_labels({"age": {"unit": unit.strip()}} if unit else {})
    feature = model.scorecard_["age"]
    cells = next(one for one in of_features(model, min_count=30).features if one["name"] == "age")["cells"]
    age, n_joined = X["age"].to_numpy(), 0
    for label, level, low, high, n in zip(*(cells[k] for k in ("label", "level", "low", "high", "rows")), strict=True):
        above, up_to = -math.inf if low is None else low, math.inf if high is None else high
        text = f"<= {high}" if low is None else f"> {low}" if high is None else f"{low} < .. <= {high}"
        assert (label, n) == (text + unit, np.sum((age > above) & (age <= up_to)))
        assert level == feature.levels.labels[np.searchsorted(feature.levels.cut_points, up_to)] + unit
        n_joined += text not in feature.cells.labels
    assert n_joined > 3
    assert {cells["low"][0], cells["high"][-1]} == {None}


def test_the_grid_of_a_pair_leads_to_its_cells() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, (2, 900))
    a[(a == 2) & (b == 2)] = 0  # no rows of w and r
    rows = pl.DataFrame({"a": np.array(["u", "v", "w"])[a], "b": np.array(["p", "q", "r"])[b]})
    y = (a + b + (rng.random(900) < 0.1)) % 3
    model = SelectiveNB("all", pairs=1, calibrate=False).fit(rows, y)
    features = of_features(model).features
    feature = next(one for one in features if one["kind"] == "pair")
    first, second = model.scorecard_[feature["name"]].levels.parts
    grid, cells = feature["grid"], feature["cells"]
    assert (grid["names"], grid["labels"]) == (("a", "b"), (tuple(first.labels), tuple(second.labels)))
    n_empty = 0
    for i, group in enumerate(first.groups):
        for j, other in enumerate(second.groups):
            here = rows.filter(pl.col("a").is_in(group) & pl.col("b").is_in(other))
            assert grid["counts"][i][j] == here.height
            if here.height:
                explanation = model.scorecard_.explain(here[:1])
                added = explanation.contributions[0, explanation.features.index(feature["name"])]
                np.testing.assert_allclose(cells["contributions"][grid["levels"][i][j]], added)
            n_empty += grid["levels"][i][j] is None and not here.height
    assert n_empty == 1
    assert all(one["grid"] is None for one in features if one is not feature)
