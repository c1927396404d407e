"""The report of a fitted model measures the rows that it claims to, and warns if these are training rows."""

from __future__ import annotations

import datetime as dt
import os
import re
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

from bayesieve import InformationGainSelector, MRMRSelector, SelectiveNB, TableEncoder, WrapperSelector
from bayesieve.classifier.report_data import report_data
from tests.cases import mostly_slow
from tests.classifier.mixed_data import N, data, fitted, frame, labels


def test_the_file_is_one_whole_page_without_outside_requests(tmp_path: Path) -> None:
    model = fitted("map")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        performance = model.report(tmp_path / "report.html", frame(), labels(), title="<i>x</i>", rows=3)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert html.lower().startswith("<!doctype html>")
    assert html.rstrip().endswith("</html>")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?https?:""", html)
    assert "@import" not in html
    assert performance is not None
    for raw in ("<script>alert(1)", "<b>moyenne</b>", "<i>x</i>"):
        assert raw not in html
    for escaped in ("&lt;script&gt;alert(1)&lt;/script&gt;", "&lt;b&gt;moyenne&lt;/b&gt;"):
        assert escaped in html
    assert os.listdir(tmp_path) == ["report.html"]


def test_cross_validated_figures() -> None:
    report = report_data(fitted("map"), frame(), labels(), cv=4)
    performance = report.performance
    assert performance.protocol.startswith("4-fold stratified cross-validation")
    assert performance.n_rows == N
    assert 0.6 < performance.accuracy <= 1.0
    assert 0.6 < performance.auc <= 1.0
    assert 0.0 < performance.compression_rate < 1.0
    assert performance.compression_rate == pytest.approx(1 - performance.log_loss / performance.class_entropy)
    assert np.sum(performance.confusion) == N
    assert np.trace(performance.confusion) / N == pytest.approx(performance.accuracy)
    assert len(performance.roc) == len(performance.reliability) == 3
    # Figures on rows the model has seen would be better than these.
    seen = report_data(fitted("map"), frame(), labels(), held_out=True).performance
    assert performance.log_loss > seen.log_loss


def halves(n_classes: int) -> tuple[SelectiveNB, pl.DataFrame, np.ndarray]:
    """A model of one half of the rows, and the other half."""
    y = np.minimum(np.unique(labels(), return_inverse=True)[1], n_classes - 1)
    model = SelectiveNB("map").fit(frame()[: N // 2], y[: N // 2])
    return model, frame()[N // 2 :], y[N // 2 :]


def test_names_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("report.pdf", "report.docx", "report.SVG", "report.json", "report.unknown"):
        with pytest.raises(ValueError, match=r"is an HTML page.* end the name in \.html"):
            fitted("map").report(tmp_path / name)
    assert not os.listdir(tmp_path)
    for name in ("report.HTML", "report.htm", "report", "report-1.2"):
        fitted("map").report(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8").startswith("<!doctype html>")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "report").write_text("old")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ValueError, match="No space left on device"):
        fitted("map").report(tmp_path / "report")
    assert (tmp_path / "report").read_text() == "old"


@pytest.mark.parametrize(
    ("n_classes", "weighted"), mostly_slow(product([2, 3], [False, True]), [(2, True), (3, False)])
)
def test_figures_on_other_rows_are_those_of_this_very_model(tmp_path: Path, n_classes: int, weighted: bool) -> None:
    model, X, y = halves(n_classes)
    weights = np.random.default_rng(0).exponential(size=y.size) if weighted else None
    performance = model.report(tmp_path / "report.html", X, y, sample_weight=weights)
    probability = model.predict_proba(X)
    if n_classes == 2:
        assert performance.auc == pytest.approx(roc_auc_score(y, probability[:, 1], sample_weight=weights), abs=1e-14)
    else:
        by_class = {"multi_class": "ovr", "average": "weighted", "sample_weight": weights}
        assert performance.auc == pytest.approx(roc_auc_score(y, probability, **by_class), abs=1e-14)
    assert performance.log_loss == pytest.approx(log_loss(y, probability, sample_weight=weights))
    assert performance.accuracy == pytest.approx(model.score(X, y, sample_weight=weights))
    shares = np.bincount(y, weights) / (y.size if weights is None else weights.sum())
    expected = shares.max(), -shares @ np.log(shares)
    assert (performance.majority_accuracy, performance.class_entropy) == pytest.approx(expected)
    assert performance.protocol.startswith(f"This very model, measured on {y.size} rows;")
    held_out = report_data(model, X, y, weights, held_out=True).performance
    assert held_out.protocol == "Measured on held-out rows that the model was not trained on."
    assert held_out.log_loss == performance.log_loss
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    n_figures = 1 + 2 + 2 + 1 + 2 * (n_classes == 2)  # overview, curves, matrix, segments, periods, thresholds, bands
    assert html.count(f"this model on {y.size} rows") == n_figures


def test_training_rows_are_recognised_and_cross_validated() -> None:
    shuffled = np.random.default_rng(0).permutation(N)
    weights = np.random.default_rng(1).exponential(size=N)
    rows = f"5-fold cross-validation of the {N} training rows"
    for trained, given in ((None, None), (None, weights), (weights, weights)):
        model = SelectiveNB("map").fit(frame(), labels(), trained)
        on_shuffled = None if given is None else given[shuffled]
        performance = report_data(model, frame()[shuffled], labels()[shuffled], on_shuffled).performance
        assert performance.measured == rows
    model = fitted("map")
    assert report_data(model, frame(), labels(), cv=3).performance.measured.startswith("3-fold cross-validation of the")
    seen = report_data(model, frame(), labels(), held_out=True).performance
    assert "the rows that it was trained on" in seen.protocol


def test_training_rows_without_their_weights() -> None:
    weights = np.random.default_rng(1).exponential(size=N)
    for trained in (weights, np.random.default_rng(2).integers(1, 4, N)):
        model = SelectiveNB("map").fit(frame(), labels(), trained)
        assert "pass their weights (sample_weight), too" in report_data(model, frame(), labels()).performance.protocol
    for other in (fitted("map"), model):
        protocol = report_data(other, frame()[1:], labels()[1:]).performance.protocol
        assert protocol.endswith("if it was trained on none of these.")


def test_weights_are_normalized_as_in_training() -> None:
    weights = np.random.default_rng(1).exponential(0.001, size=N) * (labels() != labels()[0])
    model = SelectiveNB("map", normalize=True).fit(frame(), labels(), weights)
    performance = report_data(model, frame(), labels(), weights).performance
    assert performance.measured == f"5-fold cross-validation of the {np.count_nonzero(weights)} training rows"


def test_models_of_folds_of_other_rows_are_not_called_this_one() -> None:
    model, X, y = halves(3)
    performance = report_data(model, X, y, cv=StratifiedKFold(4)).performance
    assert performance.protocol.startswith(f"4-fold cross-validation of {y.size} rows: ")
    assert "none by this very model" in performance.protocol
    half = report_data(model, X, y, cv=[(np.arange(50), np.arange(50, 100))]).performance
    assert half.n_rows == 50


@pytest.mark.parametrize("cv", [1, -3, 2.5, "a", 10**6, True, [], [(1, 2)], KFold(10**6)])
def test_folds_that_cannot_be_made_are_refused_in_one_sentence(tmp_path: Path, cv: Any) -> None:
    sentence = r"^(cv must|The training rows of cv must|Cannot have number of splits)[^\n]*$"
    with pytest.raises(ValueError, match=sentence):
        fitted("map").report(tmp_path / "report.html", frame(), labels(), cv=cv)
    assert os.listdir(tmp_path) == []


def test_rows_labels_weights_and_options_are_checked() -> None:
    model, X, y = fitted("map"), frame(), labels()
    two = y != y[0]
    refused: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((X, y[1:]), {}, rf"^X has {N} rows but y has {N - 1} labels; pass one label for each row\.$"),
        ((X, y, np.ones(3)), {}, "sample_weight"),
        *(
            ((X, foreign), {}, "which is not a class of the model; remove its rows")
            for foreign in (["autre"] * N, [1] * N)
        ),
        (
            (X, np.where(two, "autre", y)),
            {"held_out": True},
            "y contains the label 'autre', which is not a class of the model",
        ),
        ((X.filter(two), y[two]), {"cv": 5}, "No row with a weight above 0 has the class"),
        ((X, y), {"cv": 5, "held_out": True}, "give only one of them"),
        *((given, {}, "pass y together with X") for given in ((None, y), (X,))),
        *(((X, y), {"rows": wrong}, "rows must be") for wrong in ("a", -1, 1.5)),
        ((X, y), {"title": 1.5}, "title must be"),
    ]
    for rows, options, match in refused:
        with pytest.raises(ValueError, match=match):
            report_data(model, *rows, **options)


def test_a_report_without_figures_where_no_fold_can_be_learnt_from(tmp_path: Path) -> None:
    X, y = np.arange(12.0)[:, None], np.array(["a"] * 6 + ["b"] * 6)
    few = SelectiveNB(WrapperSelector(validation_size=0.1, evaluation="holdout")).fit(X, y)
    with pytest.warns(UserWarning, match="without figures of performance: fitting the model of a fold fails .*too few"):
        assert few.report(tmp_path / "report.html", X, y, rows=1) is None
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "without figures of performance" in html
    assert "explained</h2>" in html


def test_classes_without_weight_rows_without_weight_and_rows_of_one_class(tmp_path: Path) -> None:
    path, only = tmp_path / "report.html", labels() == labels()[0]
    weights = np.where(only, 1.0, 2.0) * (np.arange(N) % 3 > 0)
    model = SelectiveNB("map").fit(frame(), labels(), weights)
    counted = weights > 0
    performance = model.report(path, frame(), labels(), sample_weight=weights, cv=2)
    again = report_data(model, frame().filter(counted), labels()[counted], weights[counted], cv=2).performance
    assert performance.auc == again.auc
    for silent in (only, ~only):
        seen = report_data(model, frame(), labels(), np.where(silent, 0.0, 1.0), held_out=True).performance
        assert np.isfinite(seen.log_loss)
    performance = model.report(path, frame().filter(only), labels()[only], held_out=True)
    assert performance.n_rows == only.sum()
    assert "nan" not in re.sub("<style.*?</style>", "", path.read_text(), flags=re.S).lower().split()
    X, y = np.arange(21.0)[:, None], ["a"] * 20 + ["b"]
    assert np.isfinite(SelectiveNB().fit(X, y).report(path, X, y).log_loss)


def test_without_rows_the_model_is_shown() -> None:
    report = report_data(fitted())
    assert (report.performance, report.explained, report.headline) == (None, (), fitted().scorecard_.describe())
    assert [feature["name"] for feature in report.features][
        : fitted().n_features_selected_
    ] == fitted().selected_features_
    for feature in report.features:
        assert feature["selected"] == ("cells" in feature)
        cells = feature.get("cells", {"label": []})
        for k, label in enumerate(cells["label"]):
            assert sum(cells["counts"][k]) == cells["rows"][k]
            assert sum(cells["evidence"][k]) == pytest.approx(0.0, abs=1e-3)
            assert cells["is_missing"][k] == ("missing" in label)
        assert not feature["selected"] or sum(cells["rows"]) == N
    notes = {feature["name"]: feature["note"] for feature in report.features}
    assert notes["vide"] == "One level: no cut point pays for itself."
    report = report_data(fitted(), frame(), labels(), cv=0)
    assert report.performance is None
    assert report.explained == ()


def test_features_of_one_level_are_not_said_to_be_without_information() -> None:
    rng = np.random.default_rng(0)
    values = np.arange(2_000) // 2  # so many that no grouping pays for itself, although every value favours a class
    X = pl.DataFrame({"id": [f"id {v}" for v in values], "same": ["x"] * 2_000})
    model = SelectiveNB("all").fit(X, np.where(rng.random(2_000) < 0.3, values % 2, rng.integers(0, 2, 2_000)))
    notes = {feature["name"]: feature["note"] for feature in report_data(model).features}
    assert notes == {
        "id": "One level: no grouping pays for itself (1,000 values, 2.0 rows a value).",
        "same": "One level: the same value in all rows.",
    }
    assert "2 features have a single level: no cut point or grouping pays for itself." in model.scorecard_.describe()
    assert "nothing about" not in model.scorecard_.describe()


def test_explained_rows() -> None:
    report = report_data(fitted("map"), frame(), labels(), cv=0, rows=5)
    assert len(report.explained) == 5
    assert len({row["row"] for row in report.explained}) == 5
    proba = fitted("map").predict_proba(frame())
    for row in report.explained:
        at = row["row"]
        assert row["truth"] == labels()[at]
        assert row["predicted"] == fitted("map").predict(frame()[at])[0]
        np.testing.assert_allclose(row["probabilities"], proba[at], rtol=1e-12)
        for part in row["contributions"]:
            raw = data()[part["feature"]][at]
            shown = raw.isoformat().removesuffix("T00:00:00") if isinstance(raw, dt.datetime) else str(raw)
            assert part["value"] == ("missing" if raw is None else shown)
    titles = [row["title"] for row in report.explained]
    assert titles[:3] == ["A clear case, predicted correctly", "A close call", "The most confident mistake"]
    assert report.explained[0]["truth"] == report.explained[0]["predicted"]
    assert report.explained[2]["truth"] != report.explained[2]["predicted"]
    assert report_data(fitted("map"), frame(), labels(), cv=0, rows=0).explained == []
    assert len(report_data(fitted("map"), frame()[:2], labels()[:2], cv=0, rows=9).explained) == 2


@pytest.mark.parametrize("dtype", [object, None])
def test_a_fold_may_hold_only_the_numbers_of_a_mixed_column(dtype: Any) -> None:
    column = [0] * 20 + ["text"] + [1] * 20
    X = np.array(column, dtype=object)[:, None] if dtype else pd.DataFrame({"mixed": pd.Series(column, dtype=object)})
    y = [0] * 20 + [1] * 21
    model = SelectiveNB("all").fit(X, y)
    assert model.encoder_.levels_[0].kind == "categorical"
    performance = report_data(model, X, y, cv=5).performance
    assert performance.accuracy >= 40 / 41
    assert report_data(model, X, y).settings == report_data(model).settings


def test_settings_are_those_of_the_model() -> None:
    encoder = TableEncoder(numeric="equal-width", missing="ignore", kinds={"visites": "categorical"})
    model = SelectiveNB("all", encoder=encoder, smoothing=0.5, random_state=7).fit(frame(), labels())
    found = dict(report_data(model).settings)
    assert found["Selector"] == "all"
    assert found["Smoothing"] == "0.5"
    assert found["Numeric columns"] == "equal-width"
    assert found["Missing values"] == "ignored"
    assert found["Kinds set by hand"] == "visites: categorical"
    options = found["Options set"]
    assert all(f"{name}=" in options for name in ("selector", "encoder", "smoothing", "random_state"))
    assert "random_state=7" in options
    told = f"{options}, {found['Options at their defaults']}"
    assert all(f"{name}=" in told for name in model.get_params(deep=False))


HELD_OUT = "How many of them to keep was measured on held-out rows."


@pytest.mark.parametrize(
    ("selector", "measured"),
    [
        ("mrmr", True),
        (MRMRSelector(1, form="quotient"), False),
        (InformationGainSelector(n_features_to_select="auto"), True),
        (InformationGainSelector(n_features_to_select=1), False),
        ("imprecise-information-gain", False),
    ],
)
def test_rankings_are_told_as_rankings(tmp_path: Path, selector: Any, measured: bool) -> None:
    model = SelectiveNB(selector).fit(frame(), labels())
    model.report(tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"{model.n_features_in_} features ranked by " in html
    prose = html[: html.index("<dt>Options set</dt>")]
    for other in ("models evaluated", "MRMR", "adds nothing to the other features"):  # it is written mRMR everywhere
        assert other not in prose
    assert (HELD_OUT in html) == ("on the validation rows" in html) == measured
    notes = {f["name"]: f["note"] for f in report_data(model).features if f["n_levels"] > 1}
    behind = {notes[name] for name in notes if name not in model.selected_features_}
    assert behind <= {"Informative alone, but ranked behind the features kept."}
    assert {notes[name] for name in model.selected_features_} == {None}
