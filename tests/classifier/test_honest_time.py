"""Rows whose order matters: the caution, and figures of earlier rows on later ones."""

from __future__ import annotations

import warnings
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2_contingency
from scipy.stats.contingency import association as cramers_v
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GroupKFold, PredefinedSplit, ShuffleSplit, TimeSeriesSplit

from bayesieve import SelectiveNB, TableEncoder, scan
from bayesieve.classifier.cautions import association, in_blocks, likeness_of_neighbours, order_cautions
from bayesieve.classifier.report_data import report_data
from bayesieve.counts import CodedTable
from bayesieve.evaluation.splits import time_splits
from tests.cases import mostly_slow

N = 3000
RNG = np.random.default_rng(3)
SHARE = np.linspace(0.03, 0.47, N)
Y = (RNG.random(N) < SHARE).astype(int)
SIGNAL = RNG.normal(size=N) + Y
SHUFFLED = RNG.permutation(N)
DAYS = [date(2021, 1, 1) + timedelta(days=i // 7) for i in range(N)]
GERMAN = pl.read_csv(Path(__file__).parents[2] / "examples" / "data" / "german_credit.csv")
PLAIN = SelectiveNB("map", calibrate=False)


def table(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"signal": SIGNAL, "noise": np.arange(N) * 7 % 5, **columns})


def fitted(X: Any, y: Any, weights: Any = None) -> SelectiveNB:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SelectiveNB("map", calibrate=False).fit(X, y, weights)


def of_order(X: Any, y: Any, weights: Any = None) -> list[Any]:
    return [caution for caution in fitted(X, y, weights).cautions_ if "order" in caution.kind]


def persistent(n_classes: int) -> np.ndarray:
    """Classes that stay for ten rows on average."""
    changes = np.random.default_rng(0).random(N) < 0.1
    return np.random.default_rng(1).integers(0, n_classes, N)[np.maximum.accumulate(np.arange(N) * changes)]


@pytest.mark.parametrize(
    ("y", "says"),
    [
        (Y, "share of class 1 is between"),
        (persistent(2), "of the class of the row before"),
        (persistent(5), "of the class of the row before"),
        (np.where(RNG.random(N) < SHARE, "c", np.where(np.arange(N) % 2, "a", "b")), "share of class c is between"),
    ],
    ids=["drift", "neighbours", "five classes", "three classes"],
)
def test_an_informative_order_is_warned_of(y: np.ndarray, says: str) -> None:
    with pytest.warns(UserWarning, match="The order of the rows is informative: .*" + says):
        SelectiveNB("map", calibrate=False).fit(table(), y)
    assert not of_order(table()[SHUFFLED], y[SHUFFLED])


def test_columns_that_drift_are_named() -> None:
    (caution,) = of_order(table(stage=np.arange(N) // 100 + 5 * (np.arange(N) // 100 % 2)), Y)
    assert (caution.kind, caution.columns, caution.warns) == ("order", ("stage",), True)
    slight = (RNG.random(N) < np.linspace(0.25, 0.5, N)).astype(int)
    (caution,) = of_order(table(), slight)
    assert not caution.warns


def test_neither_slight_effects_in_many_rows_nor_few_rows_are_mentioned() -> None:
    n = 300_000
    y = (np.random.default_rng(0).random(n) < np.linspace(0.48, 0.52, n)).astype(int)
    blocks = in_blocks(y)
    assert 0 < association(blocks) < 0.03
    assert not of_order(pl.DataFrame({"signal": np.random.default_rng(1).normal(size=n) + y}), y)
    assert not of_order(table()[:30], Y[:30])


def test_rows_sorted_by_class_say_nothing_about_time() -> None:
    order = np.argsort(Y, kind="stable")
    for y, rows in ((Y, order), (persistent(5), np.argsort(persistent(5), kind="stable")), (Y, np.r_[order, order])):
        (caution,) = of_order(table()[rows], y[rows])
        assert (caution.kind, caution.warns) == ("class order", False)
        performance = report_data(fitted(table()[rows], y[rows]), table()[rows], y[rows], cv=2).performance
        assert performance.later is None


def test_rows_sorted_by_a_column_are_said_to_be() -> None:
    X = table(age=np.round(20 + 20 * SHARE + RNG.random(N)))
    order = np.argsort(X["age"].to_numpy(), kind="stable")
    (caution,) = of_order(X[order], Y[order])
    assert (caution.kind, caution.columns, caution.warns) == ("order", ("age",), True)
    assert caution.sentence.startswith("The rows are sorted by column 'age': ")
    assert "If this is the order of time, " in caution.sentence


def test_dates_tell_of_time_in_whatever_order_the_rows_are() -> None:
    X = table(day=DAYS)
    for rows in (np.arange(N), SHUFFLED):
        (caution,) = of_order(X[rows], Y[rows])
        assert (caution.kind, caution.columns, caution.warns) == ("order", ("day",), True)
        later = report_data(fitted(X[rows], Y[rows]), X[rows], Y[rows], cv=2).performance.later
        assert later.majority_accuracy > 0.55  # 43 % of the last fifth are of class 1
        assert later.majority_accuracy < 0.65
    assert not of_order(X.with_columns(day=X["day"].shuffle(1)), Y[SHUFFLED])


def test_rows_of_no_weight_are_not_looked_at_and_a_scan_sees_the_same() -> None:
    counted = RNG.random(2 * N) < 0.5
    rows = np.where(counted, np.cumsum(counted) % N, SHUFFLED.repeat(2))
    X, y, weights = table()[rows], Y[rows], counted.astype(float)
    kept = np.flatnonzero(counted)
    whole, part = of_order(X, y, weights), of_order(X[kept], y[kept])
    assert [caution.sentence for caution in whole] == [caution.sentence for caution in part] != []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = X.with_columns(y=pl.Series(y), weight=pl.Series(weights))
        scanned = SelectiveNB("map", calibrate=False).fit(scan(source), "y", "weight")
    assert [caution.sentence for caution in scanned.cautions_ if caution.kind == "order"] == [whole[0].sentence]


def shuffled_tables() -> dict[str, tuple[pl.DataFrame, np.ndarray]]:
    rng = np.random.default_rng(8)
    rare = np.arange(20_000) % 200 == 0
    many = rng.choice(30, 700, p=np.arange(30) / 435)
    return {
        "german credit": (GERMAN.drop("class"), GERMAN["class"].to_numpy()),
        "a rare class": (pl.DataFrame({"x": rng.normal(size=rare.size) + 2 * rare}), rare.astype(int)),
        "many classes": (pl.DataFrame({"x": rng.normal(size=many.size) + many, "y": many % 7}), many),
        "few rows": (pl.DataFrame({"x": rng.normal(size=120) + Y[:120], "a": rng.choice(list("abc"), 120)}), Y[-120:]),
        "two even classes": (pl.DataFrame({"x": SIGNAL, "z": SIGNAL.round()}), np.arange(N) % 2),
    }


@pytest.mark.parametrize("name", shuffled_tables())
def test_shuffled_rows_are_silent(name: str) -> None:
    X, y = shuffled_tables()[name]
    encoder = TableEncoder()
    coded = encoder.fit_transform_coded(X, y)
    card = fitted(X, y).scorecard_
    levels, rng, fired = tuple(encoder.levels_), np.random.default_rng(5), 0
    for _ in range(200):  # a thousand over all tables
        rows = rng.permutation(y.size)
        parts = coded.codes[:, rows], coded.n_levels, coded.names, coded.class_codes[rows], coded.classes
        fired += bool(order_cautions(CodedTable(*parts, levels=levels), card, {}))
    assert fired == 0


def test_statistics_by_brute_force() -> None:
    counts = RNG.integers(20, 60, (6, 4))
    counts[:, 1] += 20 * np.arange(6)
    assert chi2_contingency(counts, correction=False).pvalue < 1e-5
    assert association(np.full((6, 4), 20) + np.arange(4)) == 0
    others = counts.sum(axis=1, keepdims=True) - counts
    plain = max(cramers_v(np.column_stack([counts[:, j], others[:, j]])) for j in range(4))
    assert association(counts) == pytest.approx(np.sqrt(plain**2 - 5 / counts.sum()))
    codes = persistent(3)[:500]
    alike = [np.mean(own[1:] == own[:-1]) for own in (np.random.default_rng(i).permutation(codes) for i in range(2000))]
    seen = np.mean(codes[1:] == codes[:-1])
    assert likeness_of_neighbours(codes) == pytest.approx((seen - np.mean(alike)) / (1 - np.mean(alike)), abs=0.01)
    assert likeness_of_neighbours(np.random.default_rng(2).permutation(codes)) == 0
    assert likeness_of_neighbours(np.arange(5000) < 40) == 0  # too few rows of the rarer class to compare neighbours


# ------------------------------------------------------------------------------------------------------------ figures


def by_hand(X: Any, y: np.ndarray, splits: Any) -> tuple[float, float]:
    """AUC and log loss over the test rows of models that are fitted to the training rows of each split."""
    truth, predicted = [], []
    for train, test in splits:
        truth.append(y[test])
        predicted.append(fitted(X[train], y[train]).predict_proba(X[test])[:, 1])
    return roc_auc_score(np.concatenate(truth), np.concatenate(predicted)), log_loss(
        np.concatenate(truth), np.concatenate(predicted)
    )


def figures(performance: Any) -> tuple[float, float]:
    return performance.auc, performance.log_loss


def test_both_figures_stand_side_by_side(tmp_path: Path) -> None:
    model = fitted(table(), Y)
    performance = model.report(tmp_path / "report.html", table(), Y)
    assert "5-fold cross-validation" in performance.measured
    assert performance.later.measured == "trained on earlier rows, measured on the last 20 % of the rows"
    first = N - N // 5
    assert figures(performance.later) == pytest.approx(by_hand(table(), Y, [(np.arange(first), np.arange(first, N))]))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Later rows" in page
    assert performance.later.measured in page
    for rows in (performance.log_loss, performance.later.log_loss):
        assert f"{rows:.4f}" in page
    quiet = fitted(table()[SHUFFLED], Y[SHUFFLED])
    assert report_data(quiet, table()[SHUFFLED], Y[SHUFFLED]).performance.later is None
    given = report_data(quiet, table()[SHUFFLED], Y[SHUFFLED], time=SHUFFLED).performance
    assert given.later.log_loss == pytest.approx(performance.later.log_loss)


@pytest.mark.parametrize("time", mostly_slow(["rows", "column", "values", "text"], ["rows", "text"]))
def test_blocks_in_the_order_of_time(time: str) -> None:
    moments = np.arange(N) if time == "rows" else np.arange(N) // 7
    splits = time_splits(moments)
    assert [test.size for _, test in splits] == pytest.approx([N / 5] * 4, abs=7)
    expected = by_hand(table(), Y, splits)
    model, X = fitted(table(), Y), table(day=DAYS)
    if time == "rows":
        performance = report_data(model, table(), Y, cv="time").performance
    elif time == "values":
        performance = report_data(model, table(), Y, cv="time", time=DAYS).performance
    else:
        X = X if time == "column" else X.with_columns(pl.col("day").cast(pl.String))
        performance = report_data(model, X[SHUFFLED], Y[SHUFFLED], cv="time", time="day").performance
    assert figures(performance) == pytest.approx(expected)
    assert performance.n_rows == sum(test.size for _, test in splits)
    assert "earlier rows" in performance.protocol
    assert "other folds" not in performance.protocol + performance.measured
    assert performance.later is None


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_equal_time_are_on_one_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    moments = rng.integers(0, rng.integers(2, 40), rng.integers(20, 300)).astype(float)
    if np.unique(moments).size == 1:
        moments[0] += 1
    splits = time_splits(moments, int(rng.integers(2, 8)))
    for train, test in splits:
        assert moments[train].max() < moments[test].min()
    for (_, first), (train, _) in pairwise(splits):
        assert np.isin(first, train).all()
    assert splits[-1][0].size + splits[-1][1].size == moments.size
    with pytest.raises(ValueError, match="All rows have the same time"):
        time_splits(np.ones(10))


@pytest.mark.parametrize(
    ("cv", "words", "n_rows"),
    [
        (TimeSeriesSplit(3), "3 splits by TimeSeriesSplit .* trained on earlier rows", 2250),
        (ShuffleSplit(4, test_size=0.4, random_state=0), "some of them several times, .* trained on other rows", None),
        (PredefinedSplit(np.repeat([-1, 0, 1], N // 3)), "2 splits by PredefinedSplit .* trained on other rows", 2000),
        ([(np.arange(2000), np.arange(1500, 2500))], "1 split of .* trained on the training rows of their split", 1000),
        ([(np.arange(2000), np.arange(2000, N))], "1 split of .* trained on earlier rows", 1000),
    ],
)
def test_figures_over_the_rows_that_are_tested(cv: Any, words: str, n_rows: int | None) -> None:
    splits = list(cv.split(Y)) if hasattr(cv, "split") else cv
    performance = report_data(fitted(table(), Y), table(), Y, cv=cv).performance
    assert figures(performance) == pytest.approx(by_hand(table(), Y, splits))
    assert performance.n_rows == (n_rows or np.unique(np.concatenate([test for _, test in splits])).size)
    assert "other folds" not in performance.protocol
    assert pl.Series([performance.protocol]).str.contains(words).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": "time", "time": "nothing"}, "There is no column 'nothing' to order the rows by"),
        ({"cv": "time", "time": "text"}, "Column 'text' of times must contain only numbers, or dates"),
        ({"cv": "time", "time": "gappy"}, "Column 'gappy' has no value in row 3"),
        ({"cv": "time", "time": np.arange(5)}, "3,000 rows but time has 5 values"),
        ({"cv": "time", "time": np.zeros(N)}, "All rows have the same time"),
        ({"cv": "time", "held_out": True}, "give only one of them"),
        ({"cv": "tomorrow"}, "cv must be a number of folds"),
        ({"cv": GroupKFold(3)}, "groups"),
    ],
)
def test_impossible_times_are_refused(options: dict[str, Any], message: str) -> None:
    X = table(text=["a"] * N, gappy=[None if i == 3 else i for i in range(N)])
    model = fitted(table(), Y)
    own = {"time": options["time"]} if isinstance(options.get("time"), str) else {}
    X = X[["signal", "noise", *[name for name in own.values() if name in X.columns]]]
    with pytest.raises(ValueError, match=message):
        report_data(model, X, Y, **options)


def test_a_scan_is_measured_in_the_order_of_a_column(tmp_path: Path) -> None:
    X = table(day=DAYS, y=Y)[SHUFFLED]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        performance = fitted(table(), Y).report(tmp_path / "report.html", scan(X), "y", cv="time", time="day")
    assert figures(performance) == pytest.approx(by_hand(table(), Y, time_splits(np.arange(N) // 7)))
    with pytest.raises(ValueError, match="There is no column 'when'"):
        fitted(table(), Y).report(tmp_path / "report.html", scan(X), "y", cv="time", time="when")
