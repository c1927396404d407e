"""The report of a model: a stranger can work out scores from it, in every mode."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import softmax

from bayesieve import SelectiveNB
from bayesieve.classifier.report_data import report_data
from bayesieve.report import ReportData, render_card, render_report
from tests.report.markup import payload, read, texts
from tests.report.sample import synthetic

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


def finished(options: dict[str, Any], y: Any) -> SelectiveNB:
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


@pytest.mark.parametrize("mode", MODES)
def test_a_stranger_can_work_out_scores(mode: str) -> None:
    model = finished(*MODES[mode])
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


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_gives_a_page_that_is_true(mode: str) -> None:
    options, y = MODES[mode]
    model = finished(options, y)
    report = report_data(model, X, y, cv=2)
    elements = read(render_report(report))
    parts = [e.attributes["data-part"] for e in elements if "data-part" in e.attributes]
    assert parts[:3] == ["overview", "features", "feature"]
    assert {"performance", "settings", "search"} <= set(parts)
    assert ("threshold" in parts) == (len(model.classes_) == 2)
    text = next(e for e in elements if e.tag == "main").text
    assert ("log-odds of the positive class" in text) == (len(model.classes_) == 2)
    assert "0 leaves the feature out" not in text
    importances = sum(feature.importance for feature in report.features)
    assert importances == pytest.approx(1.0)
    for feature in report.features:
        assert feature.selected == bool(feature.cells)
        if feature.cells and feature.kind != "pair":
            counts = np.array([cell.counts for cell in feature.cells])
            contributions = np.array([cell.contributions for cell in feature.cells])
            assert np.abs(counts.sum(axis=1) @ contributions / counts.sum()).max() < 1e-9  # mean 0


def test_thresholds_add_up() -> None:
    model = finished({}, TWO)
    performance = report_data(model, X, TWO, held_out=True).performance
    assert performance is not None
    probability = model.predict_proba(X)[:, 1]
    for threshold, hits, others in performance.thresholds:
        selected = probability >= threshold
        assert hits == np.count_nonzero(selected & (TWO == "good"))
        assert others == np.count_nonzero(selected & (TWO == "bad"))
    assert performance.thresholds[-1][1:] == (np.sum(TWO == "good"), np.sum(TWO == "bad"))


def test_no_row_without_asking() -> None:
    model = finished({}, TWO)
    marked = X.with_columns(purpose=pl.when(pl.int_range(N) == 5).then(pl.lit("zeppelin")).otherwise(pl.col("purpose")))
    without = report_data(model, marked, TWO, cv=0)
    assert without.explained == ()
    some = report_data(model, marked, TWO, cv=0, rows=[5, -1])
    assert [row.row for row in some.explained] == [5, N - 1]
    assert "zeppelin" in [part.value for part in some.explained[0].contributions]
    assert (
        "explained" in str(payload(render_report(some))["more"].keys()) or payload(render_report(some))["more"]["rows"]
    )
    for wrong in ("a", -1, 1.5, True, [N], [[0]], [0.5]):
        with pytest.raises(ValueError, match="rows must be"):
            report_data(model, X, TWO, cv=0, rows=wrong)
    with pytest.raises(ValueError, match="pass X and y"):
        report_data(model, rows=3)


def size(data: ReportData) -> int:
    return len(render_report(data).encode())


@pytest.mark.parametrize(("shape", "most"), [((2, 300, 12), 2_500_000), ((26, 16, 6), 1_200_000)])
def test_pages_stay_small(shape: Sequence[int], most: int) -> None:
    n_classes, n_features, n_levels = shape
    assert size(synthetic(n_classes=n_classes, n_features=n_features, n_levels=n_levels)) < most


def test_confusions_of_many_classes_and_the_card() -> None:
    data = synthetic(n_classes=30)
    assert "Most frequent confusions" in render_report(data)
    card = read(render_card(data))
    assert "feature_00000" in card[0].text
    assert texts(read(render_report(data)), "h1") == ["A synthetic table"]


def test_the_report_is_about_the_positive_class() -> None:
    model = finished({"monotone": {"age": 1}}, TWO)
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
    model = finished({}, TWO)
    figure = model.plot("age")
    cells = model.scorecard_["age"]
    np.testing.assert_allclose(figure.data["contribution"], np.diff(cells.contributions, axis=1)[:, 0])
    assert figure.data["from"].is_null().sum() == 0
    assert model.plot("age", "bad").data["contribution"].to_list() == (-figure.data["contribution"]).to_list()
    assert "bar" in str(model.plot("employed").chart)
    with pytest.raises(ValueError, match="There is no feature 'agee' in the model"):
        model.plot("agee")
    assert model.plot_importance().data["name"].to_list() == model.selected_features_
    assert model.plot_importance().data["importance"].sum() == pytest.approx(1.0)
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
    model = finished({}, TWO)
    weights = np.where(np.arange(N) % 7 == 0, 0.0, 1.0)
    performance = report_data(model, X, TWO, weights, held_out=True).performance
    assert performance is not None
    probability, counted = model.predict_proba(X)[:, 1], weights > 0
    level = model.scorecard_["age"].levels
    codes = np.searchsorted(np.asarray(level.cut_points), X["age"].to_numpy())
    lines = dict(performance.segments)["age"]
    assert [label for label, *_ in lines] == list(level.labels)
    for code, (_, share, before, found) in enumerate(lines):
        rows = (codes == code) & counted
        assert found.rows == rows.sum()
        assert share == pytest.approx(rows.sum() / counted.sum())
        assert before == pytest.approx((codes == code).mean())
        assert found.observed == pytest.approx((TWO[rows] == "good").mean())
        assert found.predicted == pytest.approx(probability[rows].mean())
        assert found.low < found.observed < found.high
    hidden = report_data(model, X, TWO, held_out=True, min_count=5).performance
    assert hidden is not None
    assert hidden.segments == ()
