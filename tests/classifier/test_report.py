"""The report of a fitted model, and what it warns of."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bayesieve import InformationGainSelector, MRMRSelector, SelectiveNB, TableEncoder
from bayesieve.classifier.description import warnings_of
from bayesieve.classifier.report_data import report_data
from tests.classifier.mixed_data import N, data, fitted, frame, labels


def test_the_file_is_one_whole_page_without_outside_requests(tmp_path: Path) -> None:
    performance = fitted().report(tmp_path / "report.html", frame(), labels())
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert html.lower().startswith("<!doctype html>")
    assert html.rstrip().endswith("</html>")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?https?:""", html)
    assert "@import" not in html
    assert performance is not None
    assert os.listdir(tmp_path) == ["report.html"]


def test_text_from_the_data_is_escaped(tmp_path: Path) -> None:
    fitted().report(tmp_path / "report.html", frame(), labels(), title="<i>x</i>")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    for raw in ("<script>alert(1)", "<b>moyenne</b>", "<i>x</i>"):
        assert raw not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "&lt;b&gt;moyenne&lt;/b&gt;" in html
    assert "&amp; co" in html


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


def test_figures_on_held_out_rows() -> None:
    model = SelectiveNB("map").fit(frame()[: N // 2], labels()[: N // 2])
    rest = frame()[N // 2 :]
    performance = report_data(model, rest, labels()[N // 2 :], held_out=True).performance
    assert performance.protocol == "Measured on held-out rows that the model was not trained on."
    assert performance.accuracy == pytest.approx(model.score(rest, labels()[N // 2 :]))
    proba = model.predict_proba(rest)
    of_truth = proba[np.arange(N // 2), np.searchsorted(model.classes_, labels()[N // 2 :])]
    assert performance.log_loss == pytest.approx(-np.log(of_truth).mean())


def test_held_out_rows_of_one_class_and_of_unknown_ones() -> None:
    model, y = fitted("map"), labels()
    only = y == y[0]
    performance = report_data(model, frame().filter(only), y[only], held_out=True).performance
    assert performance.n_rows == only.sum()
    with pytest.raises(ValueError, match="y holds the class 'autre' that the model does not know"):
        report_data(model, frame(), np.where(only, "autre", y), held_out=True)


def test_a_report_on_held_out_rows_of_one_class_is_written(tmp_path: Path) -> None:
    y = labels()
    only = y == y[0]
    fitted("map").report(tmp_path / "report.html", frame().filter(only), y[only], held_out=True)
    assert (
        "nan" not in re.sub("<style.*?</style>", "", (tmp_path / "report.html").read_text(), flags=re.S).lower().split()
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_integer_weights_equal_repeated_held_out_rows(weighted: bool) -> None:
    times = np.random.default_rng(0).integers(1, 4, N) if weighted else np.ones(N, dtype=int)
    rows = np.repeat(np.arange(N), times)
    one = report_data(fitted("map"), frame(), labels(), times, held_out=True).performance
    other = report_data(fitted("map"), frame()[rows], labels()[rows], held_out=True).performance
    for name in ("accuracy", "auc", "log_loss", "compression_rate", "brier", "majority_accuracy", "class_entropy"):
        assert getattr(one, name) == pytest.approx(getattr(other, name))


def test_without_rows_the_model_is_shown() -> None:
    report = report_data(fitted())
    assert report.performance is None
    assert report.explained == ()
    assert [feature.name for feature in report.features][: fitted().n_features_selected_] == fitted().selected_features_
    assert report.headline == fitted().describe()
    with pytest.raises(ValueError, match="pass y together with X"):
        report_data(fitted(), frame())


def test_no_folds_no_figures() -> None:
    report = report_data(fitted(), frame(), labels(), cv=0)
    assert report.performance is None
    assert len(report.explained) == 3


def test_levels_of_the_features() -> None:
    report = report_data(fitted())
    for feature in report.features:
        assert sum(level.count for level in feature.levels) == N
        assert sum(level.share for level in feature.levels) == pytest.approx(1.0)
        assert feature.n_levels == len(feature.levels)
        for level in feature.levels:
            assert sum(level.class_counts) == level.count
            assert sum(level.class_probabilities) == pytest.approx(1.0)
            assert sum(level.evidence) == pytest.approx(0.0, abs=1e-9)
            assert level.is_missing == ("missing" in level.label)
    notes = {feature.name: feature.note for feature in report.features}
    assert notes["vide"] == notes["bruit"] == "One level: says nothing about the target."


def test_explained_rows() -> None:
    report = report_data(fitted("map"), frame(), labels(), cv=0, n_explained=5)
    assert len(report.explained) == 5
    assert len({row.row for row in report.explained}) == 5
    proba = fitted("map").predict_proba(frame())
    for row in report.explained:
        assert row.truth == labels()[row.row]
        assert row.predicted == fitted("map").predict(frame()[row.row])[0]
        np.testing.assert_allclose(row.probabilities, proba[row.row], rtol=1e-12)
        for part in row.contributions:
            raw = data()[part.feature][row.row]
            assert part.value == ("missing" if raw is None else str(raw))
    titles = [row.title for row in report.explained]
    assert titles[:3] == ["A clear case, predicted rightly", "A close call", "The most confident mistake"]
    assert report.explained[0].truth == report.explained[0].predicted
    assert report.explained[2].truth != report.explained[2].predicted
    assert report_data(fitted("map"), frame(), labels(), cv=0, n_explained=0).explained == ()
    assert len(report_data(fitted("map"), frame()[:2], labels()[:2], cv=0, n_explained=9).explained) == 2


@pytest.mark.parametrize("convert", [lambda f: f.to_pandas(), lambda f: f.to_arrow()])
def test_reports_on_every_kind_of_dataframe(convert: Any) -> None:
    expected = report_data(fitted("map"), frame(), labels(), cv=3)
    found = report_data(fitted("map"), convert(frame()), labels(), cv=3)
    assert found.performance == expected.performance
    assert [row.row for row in found.explained] == [row.row for row in expected.explained]


def test_a_list_of_rows() -> None:
    X, y = [[float(i), "a" if i % 2 else "b"] for i in range(40)], [i % 2 for i in range(40)]
    report = report_data(SelectiveNB("map").fit(X, y), X, y, cv=2)
    assert report.performance.accuracy == 1.0


def test_cross_validation_needs_the_classes_of_the_model() -> None:
    two = labels() != labels()[0]
    with pytest.raises(ValueError, match="classes of y are not those of the model"):
        report_data(fitted("map"), frame().filter(two), labels()[two])


def test_a_single_row_of_a_class(tmp_path: Path) -> None:
    X, y = np.arange(21.0)[:, None], ["a"] * 20 + ["b"]
    performance = SelectiveNB().fit(X, y).report(tmp_path / "report.html", X, y)
    assert np.isfinite(performance.log_loss)


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
    assert found["Seed"] == "7"


def test_a_failing_write_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ValueError, match="No space left on device"):
        fitted("map").report(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


@pytest.mark.filterwarnings("error")
def test_a_report_warns_of_nothing_by_itself(tmp_path: Path) -> None:
    fitted("map").report(tmp_path / "report.html", frame(), labels(), cv=2)


# ----------------------------------------------------------------------------------------------- what a model warns of


def test_nothing_to_warn_of() -> None:
    assert warnings_of(fitted()) == []


def test_a_leak_is_pointed_at() -> None:
    y = np.arange(2000) % 2
    leaking = pl.DataFrame({"copy": y, "noise": np.random.default_rng(0).normal(size=2000)})
    (found,) = warnings_of(SelectiveNB().fit(leaking, y))
    assert re.fullmatch(r"Feature copy tells the classes apart almost alone \(level score 0\.9\d+\): .*", found)


def test_rare_classes_and_early_ends_are_pointed_at() -> None:
    y = np.array([0] * 150 + [1] * 45 + [2] * 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SelectiveNB(max_seconds=0).fit(frame(), y)
    early, rare = warnings_of(model)
    assert early.startswith("The search was stopped early, after ")
    assert rare == "Fewer than 10 training rows of class 2: its probabilities are uncertain."
    y = np.array([0] * 19_900 + [1] * 100)
    (few,) = warnings_of(SelectiveNB("all").fit(np.random.default_rng(0).normal(size=(20_000, 1)), y))
    assert few.startswith("Class 1 has 0.50 % of the rows only")


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
    ranked = f"{model.n_features_in_} features ranked by "
    assert ranked in html
    assert "models evaluated" not in html
    assert "MRMR" not in html  # it is written mRMR everywhere
    assert (HELD_OUT in html) == ("on the validation rows" in html) == measured
    assert "adds nothing to the other features" not in html


def test_features_that_a_ranking_left_out() -> None:
    model = SelectiveNB(MRMRSelector(1)).fit(frame(), labels())
    notes = {feature.name: feature.note for feature in report_data(model).features if feature.n_levels > 1}
    assert len(notes) > 1
    chosen = model.selected_features_[0]
    assert notes.pop(chosen) is None
    assert set(notes.values()) == {"Informative alone, but ranked behind the features kept."}
