"""The study of Boulle (2007): the paper's tables, its measures, its methods, its document."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

from bayesieve import SelectiveNB
from bayesieve.statistics import metrics
from bayesieve_lab import Comparison, Options, RepeatedFolds
from bayesieve_lab.boulle2007 import waveform
from bayesieve_lab.boulle2007.claims import challenge_findings, findings
from bayesieve_lab.boulle2007.data import (
    BY_OURS,
    CHALLENGE,
    MEASURES,
    METHODS,
    ONCE,
    OURS,
    REFERENCE,
    TABLE_3,
    TABLE_4,
    UCI,
    VARIANTS,
)
from bayesieve_lab.boulle2007.figure import means_figure
from bayesieve_lab.boulle2007.results import CRITERIA, FLOORED, Group
from bayesieve_lab.boulle2007.study import (
    Boulle2007,
    MeasuredNB,
    floored_compression_rate,
)
from bayesieve_lab.boulle2007.waveform import WaveformStudy, make_waveform, read_waveform, waveform_study
from bayesieve_lab.comparison.folds import log_probabilities


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Iris and wine as a folder of data sets."""
    lines = ["name,file,rows,n_numeric,n_categorical,n_classes,majority_share,target,in_boulle,note"]
    for name, loader in (("iris", load_iris), ("wine", load_wine)):
        X, y = loader(return_X_y=True)
        columns = {f"x{k}": X[:, k] for k in range(X.shape[1])}
        labels = np.array(["b", "c", "a"])[y]  # not in the order in which they come
        pl.DataFrame({**columns, "kind": labels}).write_parquet(tmp_path / f"{name}.parquet")
        share = np.bincount(y).max() / y.size
        lines.append(f"{name},{name}.parquet,{y.size},{X.shape[1]},0,3,{share:.5f},kind,1,a note on {name}")
    (tmp_path / "catalogue.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def made_up(values: dict[str, np.ndarray], n_folds: int = 4) -> Comparison:
    """A comparison in which every measure has these values, (n_folds, 8) by data set; NaN where a method failed."""
    rows = []
    for data, table in values.items():
        for fold in range(n_folds):
            for method, value in zip((*METHODS, OURS), table[fold].tolist(), strict=True):
                figure = None if np.isnan(value) else value
                row = {"data": data, "method": method, "repeat": 0, "fold": fold, "n_train": 90, "n_test": 30}
                row |= dict.fromkeys(metrics.MEASURES, figure)
                row |= {"n_features": 2, "fit_seconds": 0.5, "predict_seconds": 0.25}
                rows.append({**row, "figures": {FLOORED: figure}, "error": None if figure is not None else "failed"})
    return Comparison(tuple(values), (*METHODS, OURS), RepeatedFolds(n_folds), tuple(rows))


def descending(step: float = 0.01, first: float = 0.9) -> np.ndarray:
    """Every method by ``step`` below the one before it in each of four folds, ours best."""
    folds = np.array([0.0, 0.001, 0.002, 0.003])[:, None]
    return first + folds * np.arange(1, 9) / 8 - step * np.array([0, 1, 2, 3, 4, 5, 6, -1])


def test_the_tables_are_those_of_the_paper() -> None:
    for table in (TABLE_3, TABLE_4):
        for measure in MEASURES:
            assert tuple(table[measure]) == METHODS
            assert table[measure][REFERENCE].wins is None
            assert min(cell.rank for cell in table[measure].values()) == table[measure][REFERENCE].rank
    # Ranks of seven methods sum to 28 unless ties share their best rank; each is rounded to one decimal.
    sums = [sum(cell.rank for cell in TABLE_4[measure].values()) for measure in MEASURES]
    assert np.abs(np.array(sums) - 28).max() <= 0.35
    sums = [sum(cell.rank for cell in TABLE_3[measure].values()) for measure in MEASURES]
    assert np.round(sums, 1).tolist() == [25.8, 26.6, 27.9]
    # Section 7.2: about 10 times as many wins as losses.
    cells = [c for table in (TABLE_3, TABLE_4) for measure in MEASURES for c in table[measure].values() if c.wins]
    assert 8 < sum(c.wins or 0 for c in cells) / sum(c.losses or 0 for c in cells) < 13


def test_data_sets_of_the_paper_have_one_of_ours_each() -> None:
    assert (len(UCI), len(CHALLENGE)) == (30, 10)
    assert all(one.ours for one in UCI)
    assert [one.name for one in CHALLENGE if one.ours is None] == ["Gisette", "Gina", "Nova"]
    assert len(BY_OURS) == 37


def test_floored_rate_by_hand() -> None:
    log_proba = np.log([[0.9, 0.1], [0.2, 0.8], [1 - 1e-12, 1e-12], [0.5, 0.5]])
    codes, prior = np.array([0, 1, 1, 0]), np.log([0.25, 0.75])
    told = np.log([0.9, 0.8, 1 / 4, 0.5]).mean()
    null = np.log([0.25, 0.75, 0.75, 0.25]).mean()
    assert floored_compression_rate(log_proba, codes, prior) == pytest.approx(1 - told / null)


def test_figures_of_a_fold_know_classes_that_training_lacks() -> None:
    X, y = load_iris(return_X_y=True)
    train = y != 1
    model = MeasuredNB("all", n_jobs=1).fit(X[train], y[train])
    rows = np.arange(0, 150, 7)
    found = model.fold_figures(X[rows], y[rows])[FLOORED]
    log_proba = log_probabilities(model, X[rows], np.arange(3), 100)
    prior = np.log([0.5, 0.5 / 100, 0.5])
    assert found == pytest.approx(floored_compression_rate(log_proba, y[rows], prior))
    told = np.maximum(log_proba[np.arange(rows.size), y[rows]], -np.log(rows.size))
    assert (told == -np.log(rows.size)).sum() == (y[rows] == 1).sum()


def test_the_measuring_classifier_predicts_as_the_plain_one_and_is_cloned() -> None:
    X, y = load_wine(return_X_y=True)
    measured = clone(MeasuredNB("map", random_state=3, n_jobs=1)).fit(X, y)
    plain = SelectiveNB("map", random_state=3, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(measured.predict_log_proba(X), plain.predict_log_proba(X))


def test_study_has_the_methods_of_the_paper(folder: Path) -> None:
    methods = Boulle2007(Options(data=folder)).methods()
    assert tuple(methods) == (*METHODS, *VARIANTS, OURS)
    assert [methods[name].selector.count for name in METHODS[:2] + ONCE] == ["evaluations"] * 2 + ["distinct"] * 2
    assert all(methods[name].calibrate is False and methods[name].pairs == 0 for name in METHODS)
    assert methods[OURS].get_params(deep=False) == SelectiveNB().get_params(deep=False)  # the default of the package
    assert methods["NB(EF)"].encoder.get_params()["numeric"] == "equal-frequency"
    searched = [methods[name].selector for name in METHODS[:3]]
    assert [(type(one).__name__, one.exhaustive) for one in searched] == [
        ("CompressionAveraging", False),
        ("BayesianAveraging", False),
        ("MAPSelector", False),
    ]
    smoothed = Boulle2007(Options(data=folder, smoothing=0.5)).methods()
    assert all(model.smoothing == 0.5 for name, model in smoothed.items() if name != OURS)
    assert all(smoothed[name].selector.smoothing == 0.5 for name in METHODS[:4])


def test_study_takes_what_the_folder_has(folder: Path) -> None:
    study = Boulle2007(Options(data=folder))
    assert study.names == ("iris", "wine")
    assert Boulle2007(Options(data=folder, only=("wine",))).names == ("wine",)
    X, codes = study.data()["wine"]()
    assert X.shape == (178, 13)
    # Classes are numbered in the order of their labels: a, b, c.
    assert np.bincount(codes).tolist() == [48, 59, 71]


def test_rows_that_the_paper_has_not_are_left_out(tmp_path: Path) -> None:
    n = 7600
    y = np.arange(n) % 10
    pl.DataFrame({"x": y * 1.0, "digit": y}).write_parquet(tmp_path / "pendigits.parquet")
    header = "name,file,rows,n_numeric,n_categorical,n_classes,majority_share,target,in_boulle"
    (tmp_path / "catalogue.csv").write_text(f"{header}\npendigits,pendigits.parquet,{n},1,0,10,0.1,digit,1\n")
    X, codes = Boulle2007(Options(data=tmp_path)).load("pendigits")
    assert len(X) == codes.size == 7494
    np.testing.assert_array_equal(X["x"].to_numpy(), codes)


def test_study_runs_resumes_and_reports(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = Boulle2007(Options(data=folder, quick=True, n_jobs=1))
    kept = tmp_path / "boulle2007.jsonl"
    report = study.run(kept)
    size = kept.stat().st_size
    again = Boulle2007(Options(data=folder, quick=True, n_jobs=1))
    monkeypatch.setattr(again, "load", lambda name: pytest.fail("what is finished is not loaded again"))
    assert again.run(kept).markdown == report.markdown
    assert kept.stat().st_size == size
    assert again.report(again.saved(kept)).markdown == report.markdown
    assert report.tables[0][0] == "2 of 30 UCI data sets: Accuracy (ACC)"
    assert len(report.tables) == len(CRITERIA)
    assert "2 of 30 UCI data sets" in report.markdown
    assert "--output boulle2007.md --quick\n" in report.markdown
    one = Boulle2007(Options(data=folder, quick=True, n_jobs=1, only=("wine",))).run(kept)
    assert "--output boulle2007.md --quick --only wine\n" in one.markdown
    assert "a note on wine" in report.markdown
    assert "Table 4" not in report.markdown
    shown = {line.partition("](")[2].rstrip(")") for line in report.markdown.splitlines() if line.startswith("![")}
    assert shown == set(report.files)
    for svg in report.files.values():
        ElementTree.fromstring(svg)


def test_means_ranks_and_records_of_a_group() -> None:
    # On iris each method is a step below the one before; on wine SNB(CMA) and SNB(BMA) are equal and all else worse.
    wine = descending(0.02)
    wine[:, 1] = wine[:, 0]
    failed = descending()
    failed[2, 3] = np.nan
    group = Group.of(made_up({"iris": descending(), "wine": wine, "glass": failed}), ["wine", "iris", "glass", "ada"])
    assert group.names == ("wine", "iris")
    means = group.means("accuracy")
    assert means["SNB(CMA)"] == pytest.approx(0.9 + 0.0015 / 8)
    assert means["NB(EF)"] == pytest.approx(np.mean([descending()[:, 6], wine[:, 6]]))
    ranks = (1.0, 1.5, 3.0, 4.0, 5.0, 6.0, 7.0, 1.0)
    assert group.ranks(FLOORED) == dict(zip((*METHODS, OURS), ranks, strict=True))
    mean_ranks = group.ranks("auc", shared="mean")
    assert (mean_ranks["SNB(CMA)"], mean_ranks["SNB(BMA)"]) == (1.25, 1.75)
    plain, corrected = (group.records("accuracy", corrected=corrected) for corrected in (False, True))
    assert (plain["SNB(BMA)"].wins, plain["SNB(BMA)"].losses) == (1, 0)
    assert (plain["NB"].wins, corrected["NB"].wins) == (2, 2)
    assert (plain[OURS].wins, plain[OURS].losses) == (0, 2)
    assert group.seconds()["NB"] == pytest.approx(2 * 4 * 0.75)


def test_claims_hold_where_they_should() -> None:
    data = [one.ours for one in UCI[:12] if one.ours]

    def verdicts(values: dict[str, np.ndarray]) -> dict[str, str]:
        return {one.sentence: one.verdict for one in findings(Group.of(made_up(values), data), TABLE_3, "Table 3")}

    found = verdicts({name: descending(0.01 + 0.001 * k) for k, name in enumerate(data)})
    for by in ("ACC", "AUC", "CR"):
        assert found[f"SNB(CMA) is better than each other method ({by})"] == "holds"
    # Here NB is better than NB(EF), SNB(ACC) than NB, SNB(BMA) than SNB(MAP), and SNB(MAP) than SNB(AUC) and SNB(ACC).
    assert found["NB with MODL preprocessing is better than NB(EF) (ACC)"] == "holds"
    assert found["SNB(MAP) is no better than SNB(ACC) and SNB(AUC) (AUC)"] == "does not hold"
    assert found["SNB(BMA) does not significantly outperform SNB(MAP) (CR)"] == "does not hold"
    found = verdicts(dict.fromkeys(data, descending()[:, [6, 5, 4, 3, 2, 1, 0, 7]]))
    assert found["SNB(CMA) is better than each other method (ACC)"] == "does not hold"
    assert found["NB with MODL preprocessing is better than NB(EF) (ACC)"] == "does not hold"
    assert found["SNB(MAP) is no better than SNB(ACC) and SNB(AUC) (AUC)"] == "holds"


def test_claims_about_the_challenge() -> None:
    data = [one.ours for one in CHALLENGE if one.ours]

    def claims(values: dict[str, np.ndarray], words: str) -> list[tuple[str, str, str]]:
        found = challenge_findings(Group.of(made_up(values), data), TABLE_4, "Table 4")
        checks = [check for one in found if words in one.sentence for check in one.checks]
        return [(check.text("paper"), check.text("ours"), check.verdict) for check in checks]

    best = dict.fromkeys(data, descending())
    assert claims(best, "on every data set") == [("rank 1.0", "on 7 of 7", "holds")] * 2
    rates = claims(best, "null model")
    assert [rate[::2] for rate in rates] == [("-0.321", "refuted"), ("-0.423", "refuted")]
    worse = descending()
    worse[:, 0] -= 0.5
    assert {ours for _, ours, _ in claims({**best, data[0]: worse}, "on every data set")} == {"on 6 of 7"}


def test_figure_of_rates_far_below_0() -> None:
    low = descending()
    low[:, 5:] = -30.0  # as on Nova
    drawing = means_figure(Group.of(made_up({"iris": low}), ["iris"]), TABLE_4, "Means")
    labels = {text.replace("\N{MINUS SIGN}", "-") for text in ElementTree.fromstring(drawing).itertext()}
    assert {"-30", "-20", "-10", "0"} <= labels


@pytest.fixture(scope="module")
def iris_study() -> WaveformStudy:
    """The study of sections 5 and 6 on iris, one split."""
    return waveform_study(*load_iris(return_X_y=True), n_splits=1, n_jobs=1)


def test_the_waveform_study_is_kept_and_not_made_again(
    iris_study: WaveformStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, int]] = []

    def made(X: object, y: object, *, seed: int, n_jobs: int | None, known: Any, finished: Any) -> WaveformStudy:
        calls.append((seed, len(known)))
        study = replace(iris_study, splits=(*known, *iris_study.splits))
        finished(study)
        return study

    monkeypatch.setattr(waveform, "N_SPLITS", 2)
    monkeypatch.setattr(waveform, "waveform_study", made)
    results = tmp_path / "boulle2007.jsonl"
    assert read_waveform(results) is None
    first = make_waveform(lambda: (None, None), results, seed=0, n_jobs=1)
    assert first == read_waveform(results) == iris_study
    second = make_waveform(lambda: (None, None), results, seed=0, n_jobs=1)  # adds the split that is missing
    assert second.splits == iris_study.splits * 2
    third = make_waveform(lambda: pytest.fail("no need of the data"), results, seed=0, n_jobs=1)
    assert calls == [(0, 0), (0, 1)]
    assert second == third == read_waveform(results)
    make_waveform(lambda: (None, None), results, seed=1, n_jobs=1)
    (tmp_path / "boulle2007-waveform.json").write_text('{"made_by"')
    make_waveform(lambda: (None, None), results, seed=1, n_jobs=1)
    make_waveform(lambda: (None, None), None, seed=0, n_jobs=1)
    assert calls[2:] == [(1, 0), (1, 0), (0, 0)]
