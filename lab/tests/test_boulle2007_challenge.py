"""Section 8 of Boulle (2007): tuned thresholds, balanced errors by hand, and the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import balanced_accuracy_score

from bayesieve import SelectiveNB
from bayesieve_lab import Comparison, Options, RepeatedFolds, make_study
from bayesieve_lab.boulle2007 import challenge
from bayesieve_lab.boulle2007.challenge import INITIAL, TASKS, Challenge, Entry, TunedNB, guesses

DOCUMENTS = Path(__file__).parents[1] / "reproduction"
HEADER = "name,file,rows,n_numeric,n_categorical,n_classes,majority_share,target,in_boulle"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ada with few columns and a rare class, and digits whose parity shows in one column."""
    rng = np.random.default_rng(1)
    classes = np.where(rng.random(1500) < 0.15, 1, -1)
    table = pl.DataFrame({f"x{k}": classes + rng.normal(0.0, 2.0, 1500) for k in range(4)})
    share = float((classes == -1).mean())
    table.with_columns(pl.Series("class", classes)).write_parquet(tmp_path / "ada.parquet")
    digits = np.arange(400) % 10
    shown = digits % 2 + np.random.default_rng(0).normal(0.0, 0.3, 400)
    hidden = np.random.default_rng(1).normal(size=400)
    pl.DataFrame({"x": shown - 5 * hidden, "z": 5 * hidden, "class": digits.astype(str)}).write_parquet(
        tmp_path / "optdigits.parquet"
    )
    lines = (f"ada,ada.parquet,1500,4,0,2,{share},class,1", "optdigits,optdigits.parquet,400,2,0,10,0.1,class,0")
    (tmp_path / "catalogue.csv").write_text("\n".join((HEADER, *lines)) + "\n")
    return tmp_path


def test_the_guess_is_the_mean_over_folds_with_thresholds_tuned_on_training_rows(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(challenge, "CONSTRUCTED", {"one sum": (1, 2, True)})
    study = make_study("boulle2007", Options(data=folder, quick=True, challenge=True, n_jobs=None))
    assert isinstance(study, Challenge)
    comparison = study.measure(folder / "kept.jsonl", 0)
    X, y = study.data()["ada"]()
    errors, defaults = [], []
    for fold in RepeatedFolds(2).split(y):
        model = SelectiveNB(study.methods()[INITIAL].estimator.selector, prior="published", pairs=0, calibrate=False)
        model.fit(X[fold.train], y[fold.train])
        p, classes = model.predict_proba(X[fold.train])[:, 1], y[fold.train]
        tried = np.append(np.unique(p), np.inf)
        threshold = tried[np.argmax([balanced_accuracy_score(classes, p >= t) for t in tried])]
        predicted = model.predict_proba(X[fold.test])[:, 1]
        errors.append(1 - balanced_accuracy_score(y[fold.test], predicted >= threshold))
        defaults.append(1 - balanced_accuracy_score(y[fold.test], predicted > 0.5))
    np.testing.assert_allclose(comparison.figure("ber", "ada")[:, 0], errors, atol=0.02)  # thresholds may tie
    np.testing.assert_allclose(comparison.figure("ber at 0.5", "ada")[:, 0], defaults, atol=1e-12)
    assert np.mean(errors) < np.mean(defaults) - 0.02

    report = study.report(comparison)
    ((_, table),) = report.tables
    assert [row[:2] for row in table.rows] == [
        ("Ada", INITIAL),
        ("", "one sum"),
        ("Parity in optdigits", INITIAL),
        ("", "one sum"),
    ]
    assert table.rows[0][2:4] == ("0.1723", "0.1650")
    mean = comparison.figure("ber", "ada")[:, 0].mean()
    assert table.rows[0][4].startswith(f"{mean:.4f} ± ")
    assert table.rows[0][5] == f"{mean - 0.165:+.4f}"
    assert report.findings[0].startswith("The paper's guess of the balanced error comes back: ")
    parity = comparison.figure("ber", "optdigits")
    assert parity[:, 0].min() > 0.3  # in neither column alone
    assert parity[:, 1].max() < 0.1
    hurt = study.judged(comparison)[1]
    assert [check.what for check in hurt.checks] == ["Ada, one sum", "Parity in optdigits, one sum"]
    assert hurt.checks[1].ours == pytest.approx(np.diff(parity.mean(axis=0))[0])
    assert table.rows[2][7:8] == ("0.0",)
    seconds = [row["figures"]["cpu seconds"] for row in comparison.rows]
    assert all(0 < own < row["fit_seconds"] + 0.1 for own, row in zip(seconds, comparison.rows, strict=True))
    assert report.files["boulle2007-challenge-times.svg"].count('aria-roledescription="point"') == 4
    fewer = Comparison(comparison.data, comparison.methods, comparison.protocol, comparison.rows[:-1])
    assert len(study.report(fewer).tables[0][1].rows) == 3
    assert "Not computed yet: 1 of 4 combinations" in study.report(fewer).markdown
    assert "bayesieve reproduce boulle2007 --challenge --data DIR" in report.markdown
    saved = make_study("boulle2007", Options(data=folder, quick=True, challenge=True)).saved(folder / "kept.jsonl")
    assert study.report(saved).markdown == report.markdown


def test_unfinished_folds_are_left_out_and_counted() -> None:
    whole = Entry(np.array([0.3, 0.2, 0.1]), np.array([0.5, 0.4, 0.3]), 1.0, 2.0)
    part = Entry(np.array([0.2, np.nan, 0.1]), np.array([0.4, np.nan, 0.2]), 1.0, 2.0)
    assert (part.n_folds, part.mean) == (2, pytest.approx(0.15))
    assert part.standard_error == pytest.approx(0.05)
    np.testing.assert_allclose(part.against(whole, 0.5).values, [-0.1, 0.0])
    shown = guesses({(TASKS[0], INITIAL): whole, (TASKS[0], "sums"): part}).rows
    assert [row[1] for row in shown] == [INITIAL, "sums, 2 folds"]
    assert shown[1][6] == "0.3000"


def test_balanced_errors_by_hand() -> None:
    class Fixed(TunedNB):
        def predict(self, X: np.ndarray) -> np.ndarray:
            return np.array([0, 1, 1, 1, 0, 1])

        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            return np.tile([0.9, 0.1], (6, 1))

    fixed = Fixed(SelectiveNB())
    fixed.cpu_seconds_ = 1.5
    figures = fixed.fold_figures(np.zeros((6, 1)), np.array([0, 0, 0, 0, 1, 1]))
    # 3 of 4 and 1 of 2 are wrong; all of the second class are
    assert figures == {"ber": 0.625, "ber at 0.5": 0.5, "cpu seconds": 1.5}


def test_sums_are_drawn_at_random_unless_few_are_different(tmp_path: Path) -> None:
    lines = [f"{task.name},{task.name}.parquet,1,1,0,2,0.5,class,0" for task in TASKS]
    (tmp_path / "catalogue.csv").write_text("\n".join((HEADER, *lines)) + "\n")
    study = make_study("boulle2007", Options(data=tmp_path, challenge=True))
    assert isinstance(study, Challenge)
    drawn = ("10k F(2D)", "10k F(3D)", "100k F(2D)")
    different = tuple(f"{name}, different" for name in drawn)
    wanted = {task.name: study.wanted(task) for task in TASKS}
    few, many = (INITIAL, *drawn[:2], *different[:2]), (INITIAL, *drawn, *different)
    assert wanted == {task.name: many if task.n_features > 64 else few for task in TASKS}
    ada, *_, pixels = TASKS
    assert [ada.n_sums(name) for name in (INITIAL, *drawn)] == [0, 10_000, 10_000, 0]
    assert [ada.n_sums(name) for name in different] == [1128, 10_000, 1128]
    assert [pixels.n_sums(name) for name in (*drawn, different[2])] == [10_000, 10_000, 100_000, 28_680]
    assert not study.methods()["10k F(2D)"].estimator.sums.distinct
