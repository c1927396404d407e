"""Methods compared on the same folds: folds, measures, failures, shared coding, and runs that go on where they were."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import warnings
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, brier_score_loss, log_loss, roc_auc_score
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from bayesieve import MAPSelector, SelectiveNB, TableEncoder, WrapperSelector
from bayesieve.version import __version__
from bayesieve_lab import Comparison, FixedSplit, RepeatedFolds, TimeFolds, compare, compare_many
from bayesieve_lab.comparison.folds import NUMBERS
from tests.limits import Limits, Watch

CREDIT = pl.read_csv(Path(__file__).parents[2] / "examples" / "data" / "german_credit.csv").head(160)
CREDIT = CREDIT.select(*CREDIT.columns[:8], "class")
SECONDS = ("fit_seconds", "predict_seconds")
THREE = RepeatedFolds(n_folds=3)


def measured(found: Comparison) -> list[dict[str, Any]]:
    """All rows without the seconds, which no two runs share."""
    return replace(found, library="polars").frame.drop(SECONDS).to_dicts()


class Failing(ClassifierMixin, BaseEstimator):
    """Fails where a row whose first value is `bad` is in training."""

    def __init__(self, bad: float = 0.0) -> None:
        self.bad = bad

    def fit(self, X: np.ndarray, y: np.ndarray) -> Failing:
        if (np.asarray(X)[:, 0] == self.bad).any():
            raise RuntimeError(f"A row says {self.bad}\nand that is\tbad")
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.full((len(X), self.classes_.size), 1.0 / self.classes_.size)


def test_folds_are_those_of_scikit_learn_and_of_the_seed() -> None:
    y = load_iris().target
    folds = RepeatedFolds(4, 2, 7).split(y)
    expected = RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=7).split(y, y)
    for fold, (train, test) in zip(folds, expected, strict=True):
        np.testing.assert_array_equal(fold.train, train)
        np.testing.assert_array_equal(fold.test, test)
    assert [(fold.repeat, fold.fold) for fold in folds] == [(r, f) for r in range(2) for f in range(4)]
    first = RepeatedFolds(4, 1, 7).split(y)
    assert all((a.test == b.test).all() for a, b in zip(first, folds, strict=False))
    assert any((a.test != b.test).any() for a, b in zip(first, RepeatedFolds(4, 1, 8).split(y), strict=True))


@pytest.mark.parametrize("weighted", [False, True])
def test_a_coding_shared_by_all_changes_nothing(watch: Watch, weighted: bool) -> None:
    X, y = CREDIT.drop("class"), CREDIT["class"]
    weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float) if weighted else None
    fits: list[str] = []
    watch(TableEncoder, "fit_with_refitter", lambda self, *_: fits.append(self.numeric))
    methods = {
        "all": SelectiveNB("all"),
        "map": SelectiveNB("map"),
        "compression": SelectiveNB("compression", n_jobs=1),
        "wrapper": SelectiveNB(WrapperSelector("error_probability", direction="forward")),
        "width": SelectiveNB("all", encoder=TableEncoder(numeric="equal-width")),
    }
    if weighted:
        methods["wrapper"] = SelectiveNB("all", normalize=True)  # codes rows by other weights
    together = compare(methods, X, y, THREE, sample_weight=weight)
    if weight is not None:  # rows of weight 0 are in no fold
        counted = np.flatnonzero(weight)
        X, y, weight = X[counted], y.gather(counted), weight[counted]
    assert sorted(fits) == ["equal-width"] * 3 + ["modl"] * (9 if weighted else 6)  # without and with pairs
    assert all(row["error"] is None for row in together.rows)
    for place, (name, method) in enumerate(methods.items()):
        for fold, row in zip(THREE.split(y.to_numpy()), together.rows[place :: len(methods)], strict=True):
            weights = None if weight is None else weight[fold.train]
            model = method.fit(X[fold.train], y.gather(fold.train), weights)
            hit = model.predict(X[fold.test]) == y.gather(fold.test).to_numpy()
            expected = np.average(hit, weights=None if weight is None else weight[fold.test])
            assert (row["method"], row["accuracy"]) == (name, pytest.approx(expected))
            assert row["n_features"] == model.n_features_selected_
            alone = np.log(model.predict_proba(X[fold.test]))[np.arange(hit.size), _codes(model, y, fold.test)]
            loss = np.average(-alone, weights=None if weight is None else weight[fold.test])
            assert row["log_loss"] == pytest.approx(loss, rel=1e-9)


def _codes(model: SelectiveNB, y: pl.Series, rows: np.ndarray) -> np.ndarray:
    return np.searchsorted(model.classes_, y.gather(rows).to_numpy())


def test_an_estimator_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([np.arange(150.0), X])
    found = compare({"failing": Failing(7.0), "gauss": GaussianNB()}, X, y, THREE, results=tmp_path / "found.jsonl")
    inside = [7 in fold.test for fold in THREE.split(y)]
    errors = [row["error"] for row in found.rows if row["method"] == "failing"]
    assert errors == [None if hidden else "RuntimeError: A row says 7.0 and that is bad" for hidden in inside]
    assert found.errors() == [("data", "failing", 2, "RuntimeError: A row says 7.0 and that is bad")]
    summary = found.summary()
    assert summary["n_folds"].to_list() == [1, 3]
    assert summary["n_failed"].to_list() == [2, 0]
    assert summary["accuracy"].to_list() == [
        pytest.approx(17 / 50),
        pytest.approx(np.nanmean(found.folds("accuracy")[:, 1])),
    ]
    assert found.means()["accuracy_std"][0] is None
    assert np.isnan(found.matrix("accuracy")[0, 0])  # the easy fold alone is no match for all three
    assert found.matrix("accuracy")[0, 1] == summary["accuracy"][1]


class Told(ClassifierMixin, BaseEstimator):
    """Predicts the same for every row, whatever it is; leaves rows out at the end."""

    def __init__(self, row: list[float], classes: list[str], left_out: int = 0) -> None:
        self.row, self.classes, self.left_out = row, classes, left_out

    def fit(self, X: np.ndarray, y: np.ndarray) -> Told:
        self.classes_ = np.array(self.classes)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.tile(self.row, (len(X) - self.left_out, 1))


def test_several_data_sets(tmp_path: Path) -> None:
    data = {"iris": load_iris(return_X_y=True), "wine": (*load_wine(return_X_y=True), np.ones(178))}
    methods = {"gauss": GaussianNB(), "map": SelectiveNB("map")}
    both = compare_many(methods, data, THREE, n_jobs=2)
    alone = compare(methods, *load_wine(return_X_y=True), THREE, data_name="wine")
    assert [row for row in measured(both) if row["data"] == "wine"] == measured(alone)
    assert both.matrix("auc").shape == (2, 2)
    np.testing.assert_allclose(both.matrix("auc")[1], alone.matrix("auc")[0])
    assert both.summary()["data"].to_list() == ["iris", "iris", "wine", "wine"]
    assert both.folds("accuracy", "iris").shape == (3, 2)
    with pytest.raises(ValueError, match="data must be one of 'iris', 'wine'"):
        both.folds("accuracy")
    with pytest.raises(ValueError, match="There is no measure 'f1'"):
        both.folds("f1", "iris")
    both.report(tmp_path / "page.html", title="Two flowers & a drink")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Two flowers &amp; a drink" in page
    assert "2 methods on 2 data sets, stratified 3-fold cross-validation, seed 0" in page
    with pytest.raises(ValueError, match="There is no method 'nobody'"):
        both.report(tmp_path / "page.html", reference="nobody")
    for wrong in ("page.pdf", "page.csv", "page.md"):
        with pytest.raises(ValueError, match=rf"{wrong} ends in .*\.html"):
            both.report(tmp_path / wrong)
        assert not (tmp_path / wrong).exists()
    with pytest.raises(ValueError, match=r"ends in .*\.csv"):
        both.write_csv(tmp_path / "folds.parquet")
    both.write_csv(tmp_path / "folds.csv")
    written = pl.read_csv(tmp_path / "folds.csv")
    assert written.columns == both.frame.columns
    assert written["auc"].to_list() == both.frame["auc"].to_list()
    assert written.columns == [
        "data", "method", "repeat", "fold", "n_train", "n_test", *NUMBERS, "error",
    ]  # fmt: skip


METHODS = {"gauss": GaussianNB(), "map": SelectiveNB("map")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Comparison]:
    """The file of a run that nobody interrupted, and what it found."""
    path = tmp_path_factory.mktemp("whole") / "found.jsonl"
    return (found := compare(METHODS, *load_iris(return_X_y=True), THREE, results=path)) and (path.read_bytes(), found)


class Interrupting(GaussianNB):
    """Presses Ctrl-C at a certain fit of all."""

    fits = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Interrupting:
        Interrupting.fits += 1
        if Interrupting.fits == 2:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


class Threads(DummyClassifier):
    """Tells how many threads it was given as the number of features it kept."""

    def __init__(self, n_jobs: int | None = None) -> None:
        super().__init__()
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Threads:
        self.n_features_selected_ = -9 if self.n_jobs is None else self.n_jobs
        return super().fit(X, y)


def test_methods_keep_to_one_thread_where_folds_have_theirs() -> None:
    methods = {"none": Threads(), "all": Threads(-1), "two": Threads(2)}
    X, y = np.zeros((12, 1)), np.arange(12) % 2
    for n_jobs, expected in ((None, (-9, -1, 2)), (2, (-9, 1, 1))):
        found = compare(methods, X, y, THREE, n_jobs=n_jobs)
        assert [tuple(fold) for fold in found.folds("n_features")] == [expected] * 3


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_ctrl_c_keeps_what_is_finished(n_jobs: int | None, tmp_path: Path) -> None:
    Interrupting.fits = 0
    X, y = load_iris(return_X_y=True)
    methods = {"all": SelectiveNB("all"), "gauss": Interrupting()}
    with pytest.warns(UserWarning, match=r"Interrupted: \d of 6 folds of methods were finished and are kept"):
        found = compare(methods, X, y, THREE, results=tmp_path / "found.jsonl", n_jobs=n_jobs)
    assert not found.complete
    assert 2 <= len(found.rows) < 6
    rest = compare(methods, X, y, THREE, results=tmp_path / "found.jsonl")
    assert rest.complete
    kept = {(row["method"], row["fold"]): row for row in rest.rows}
    assert all(kept[row["method"], row["fold"]] == row for row in found.rows)
    assert measured(rest) == measured(compare(methods, X, y, THREE))


class Deaf(GaussianNB):
    """Hears nothing while it learns, and presses Ctrl-C."""

    may_end = threading.Event()

    def fit(self, X: Any, y: Any) -> Deaf:
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        Deaf.may_end.wait(60)
        return super().fit(X, y)


@pytest.mark.skipif(os.name == "nt", reason="signals are otherwise there")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_does_not_wait_for_a_fit_that_does_not_hear_it(n_jobs: int, tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    Deaf.may_end.clear()
    before = set(threading.enumerate())
    began = time.monotonic()
    with pytest.warns(UserWarning, match=r"are kept; fits still running in the background \(deaf on data, fold \d"):
        found = compare(
            {"all": SelectiveNB("all"), "deaf": Deaf()}, *load_iris(return_X_y=True), THREE, results=path, n_jobs=n_jobs
        )
    assert time.monotonic() - began < 30
    assert {row["method"] for row in found.rows} == {"all"}
    kept = path.read_bytes()
    Deaf.may_end.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(30)
    assert path.read_bytes() == kept  # what ended later is dropped


LOSSES = {"accuracy": accuracy_score, "balanced_accuracy": balanced_accuracy_score}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_figures_are_those_of_scikit_learn_on_refits(load: Any, weighted: bool) -> None:
    X, y = load(return_X_y=True, as_frame=True)
    X = X.iloc[:, :6]
    weight = np.random.default_rng(0).integers(1, 5, y.size).astype(float) if weighted else None
    methods = {
        "gauss": GaussianNB(),
        "tree": DecisionTreeClassifier(random_state=0),  # saturated: probabilities of 0 and 1
        "map": SelectiveNB("map"),
        "unable": Failing(),
    }
    protocol = RepeatedFolds(3, 2, 3)
    found = compare(methods, X, y, protocol, sample_weight=weight)
    rows = iter(found.rows)
    n_classes = y.nunique()
    for fold in protocol.split(y.to_numpy()):
        for name, method in methods.items():
            row = next(rows)
            assert (row["method"], row["repeat"], row["fold"]) == (name, fold.repeat, fold.fold)
            assert (row["n_train"], row["n_test"]) == (fold.train.size, fold.test.size)
            if name == "unable" and weighted:
                assert (
                    row["error"]
                    == "Failing.fit does not accept sample_weight; omit the weights of the data set, or this method."
                )
                continue
            given = {} if weight is None else {"sample_weight": weight[fold.train]}
            w = {} if weight is None else {"sample_weight": weight[fold.test]}
            model = method.fit(X.iloc[fold.train], y.iloc[fold.train], **given)
            truth, proba = y.iloc[fold.test].to_numpy(), model.predict_proba(X.iloc[fold.test])
            shares = np.bincount(y.iloc[fold.train], given.get("sample_weight"))
            null = log_loss(truth, np.tile(shares / shares.sum(), (truth.size, 1)), **w)
            loss = log_loss(truth, proba, **w)
            positive = proba if n_classes > 2 else proba[:, 1]
            assert row["error"] is None
            for measure, score in LOSSES.items():
                assert row[measure] == pytest.approx(score(truth, proba.argmax(axis=1), **w))
            assert row["log_loss"] == pytest.approx(loss)
            assert row["compression_rate"] == pytest.approx(1 - loss / null)
            assert row["brier"] == pytest.approx(brier_score_loss(truth, positive, **w))
            area = roc_auc_score(truth, positive, multi_class="ovr", average="weighted", **w)
            assert row["auc"] == pytest.approx(area)
            assert row["n_features"] == (model.n_features_selected_ if name == "map" else None)
            assert min(row["fit_seconds"], row["predict_seconds"]) > 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("method", "message"),
    [
        (
            Told([7.0, 7.0], ["no", "yes"]),
            "Predicted probabilities of a row add up to 14, not to 1; correct predict_proba of this method.",
        ),
        (
            Told([0.0, 0.0], ["no", "yes"]),
            "Predicted probabilities of a row add up to 0, not to 1; correct predict_proba of this method.",
        ),
        (
            Told([1.5, -0.5], ["no", "yes"]),
            "Predicted probabilities are missing (NaN) or negative; correct predict_proba of this method.",
        ),
        (
            Told([0.5, np.nan], ["no", "yes"]),
            "Predicted probabilities are missing (NaN) or negative; correct predict_proba of this method.",
        ),
        (
            Told([0.5, 0.5], ["no", "zzz"]),
            "The model has other classes (['no', 'zzz']) than the data set (['no', 'yes']); correct its classes_.",
        ),
        (
            Told([1.0], ["no", "yes"]),
            "Predicted probabilities have shape (4, 1), instead of one row per test row and one column per class; "
            "correct predict_proba of this method.",
        ),
        (Told([0.5, 0.5], ["no", "yes"], 1), "Probabilities were predicted for 3 of 4 rows."),
        (Told([0.9 + 1e-5, 0.1], ["yes", "no"]), None),  # single precision, in another order
    ],
)
def test_what_are_no_probabilities_has_no_figures(method: Told, message: str | None) -> None:
    found = compare({"told": method}, np.arange(12.0)[:, None], ["no"] * 3 + ["yes"] * 9, THREE)
    assert found.errors() == ([] if message is None else [("data", "told", 3, message)])
    if message is None:
        assert found.matrix("accuracy").tolist() == [[0.75]]


def test_rows_that_training_lacks_or_that_do_not_count() -> None:
    X, y = load_iris(return_X_y=True)
    rare = np.where(np.arange(150) == 3, 9, y)
    found = compare({"gauss": GaussianNB(), "all": SelectiveNB("all")}, X, rare, THREE)
    assert all(row["error"] is None and np.isfinite(row["log_loss"]) for row in found.rows)
    rows, split = np.random.default_rng(0).permutation(y.size), FixedSplit(100)
    for part in ("training", "test"):
        weights = np.ones(y.size)
        weights[getattr(split.split(y)[0], part.removesuffix("ing"))] = 0.0
        found = compare(
            {"all": SelectiveNB("all"), "gauss": GaussianNB()}, X[rows], y[rows], split, sample_weight=weights
        )
        assert {row["error"] for row in found.rows} == {
            f"All {part} rows of this fold have weight 0; use fewer folds, or remove rows of weight 0."
        }


def test_threads_libraries_and_runs_change_nothing(tmp_path: Path) -> None:
    X, y = CREDIT.drop("class"), CREDIT["class"]
    methods = {"map": SelectiveNB("map"), "auc": SelectiveNB("auc"), "all": SelectiveNB("all")}
    protocol = RepeatedFolds(3, 2, 5)
    one = compare(methods, X, y, protocol)
    several = compare(methods, X, y, protocol, n_jobs=3, results=tmp_path / "found.jsonl")
    pandas = compare(methods, X.to_pandas(), y.to_pandas(), protocol, results=tmp_path / "found.jsonl")
    assert measured(one) == measured(several) == measured(pandas)
    assert pandas.rows == several.rows  # read, not run: whatever library holds the table
    assert measured(compare(methods, X, y, RepeatedFolds(3, 2, 6))) != measured(one)
    numbers = {"gauss": GaussianNB()}
    X, y = load_iris(return_X_y=True)
    names = [("no", "yes", "perhaps")[k] for k in y]
    as_lists = compare(numbers, X.tolist(), names, THREE)
    assert measured(as_lists) == measured(
        compare(numbers, pd.DataFrame(X, columns=list("abcd")), pd.Series(names), THREE)
    )


@pytest.mark.parametrize("share", [0.0, 0.005, 0.03, 0.3, 0.5, 0.77, 0.999, 1.0])
def test_a_run_that_was_killed_goes_on(share: float, whole: tuple[bytes, Comparison], tmp_path: Path) -> None:
    content, straight = whole
    path = tmp_path / "found.jsonl"
    left = content[: int(share * len(content))]
    path.write_bytes(left)
    resumed = compare(METHODS, *load_iris(return_X_y=True), THREE, results=path, n_jobs=2 if share == 0.5 else None)
    assert measured(resumed) == measured(straight)
    n_kept = sum(b'"result"' in line and line.endswith(b"\n") for line in left.splitlines(keepends=True))
    same = [a["fit_seconds"] == b["fit_seconds"] for a, b in zip(resumed.rows, straight.rows, strict=True)]
    assert all(same[:n_kept])  # these were not run again
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [sorted(line)[-1] for line in lines].count("result") == 6
    assert path.read_bytes().endswith(b"\n")
    more = compare(
        {**METHODS, "tree": DecisionTreeClassifier(random_state=0)},
        *load_iris(return_X_y=True),
        RepeatedFolds(3, 2),
        results=path,
    )
    assert len(more.rows) == 18  # methods and repeats may be added
    assert tuple(row for row in more.rows if row["repeat"] == 0 and row["method"] != "tree") == resumed.rows
    assert all(name in str(more.summary()) for name in ("method", "accuracy", "auc", "log_loss", "n_failed"))


def test_brier_scores_of_earlier_results_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    X, y = load_breast_cancer(return_X_y=True)
    found = compare({"gauss": GaussianNB()}, X, y, THREE, results=path)
    lines = path.read_bytes().splitlines(keepends=True)
    text = json.dumps({name: value for name, value in json.loads(lines[-1])["result"].items() if name != "n_classes"})
    lines[-1] = f'{{"result": {text}, "crc32": {zlib.crc32(text.encode())}}}\n'.encode()
    path.write_bytes(b"".join(lines))
    again = compare({"gauss": GaussianNB()}, X, y, THREE, results=path)  # the last fold was saved before
    assert [row["brier"] for row in again.rows] == [*(row["brier"] for row in found.rows[:2]), None]
    known = [row["brier"] for row in found.rows[:2]]
    assert again.means().select("brier", "brier_std").row(0) == pytest.approx((np.mean(known), np.std(known, ddof=1)))


def test_results_of_an_earlier_version_go_on(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    X, y = load_breast_cancer(return_X_y=True)
    compare({"gauss": GaussianNB()}, X, y, THREE, results=path)
    begun = path.read_text().replace(f'"bayesieve":"{__version__}"', '"bayesieve":"0.0.9"')
    path.write_text(begun)
    with pytest.warns(UserWarning, match=rf"found.jsonl was begun with bayesieve 0\.0\.9; .* with {__version__}\."):
        assert len(compare({"gauss": GaussianNB()}, X, y, RepeatedFolds(3, 2), results=path).rows) == 6
    text = path.read_text()
    assert text.startswith(begun), "the earlier lines are kept"
    first, *_ = text.removeprefix(begun).splitlines()
    assert json.loads(first)["comparison"]["bayesieve"] == __version__, "the folds below it are of this version"
    with warnings.catch_warnings(action="error"):
        compare({"gauss": GaussianNB()}, X, y, RepeatedFolds(3, 2), results=path)
    assert path.read_text() == text


IRIS = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    ("message", "changes"),
    [
        (r"another protocol \(seed 0 instead of 4\)", {"protocol": RepeatedFolds(3, 1, 4)}),
        (r"another protocol \(folds 3 instead of 5\)", {"protocol": RepeatedFolds(5)}),
        (r"seed 0 instead of 3 and train_rows none instead of 120", {"protocol": FixedSplit(120, seed=3)}),
        ("another table named 'data'", {"X": IRIS[0] + (np.arange(600).reshape(150, 4) == 17)}),
        ("another table named 'data'", {"sample_weight": np.arange(150.0) + 1}),
        ("a method with other options named 'map'", {"estimators": {"map": SelectiveNB("map", smoothing=1.0)}}),
        ("does not hold results of a comparison", {"content": b"accuracy,auc\n1,2\n"}),
        ("does not hold results of a comparison", {"content": b"no line end"}),
        ("cannot be written", {"results": "nowhere/found.jsonl"}),
        ("cannot be read", {"results": "."}),
        (None, {"estimators": {"map": SelectiveNB("map", n_jobs=1, verbose=0)}}),  # neither matters
    ],
)
def test_a_file_of_something_else_is_refused(
    message: str | None, changes: dict[str, Any], whole: tuple[bytes, Comparison], tmp_path: Path
) -> None:
    path = tmp_path / "found.jsonl"
    before = changes.pop("content", whole[0])
    path.write_bytes(before)
    options = {"estimators": METHODS, "X": IRIS[0], "y": IRIS[1], "protocol": THREE} | changes
    options["results"] = tmp_path / changes.get("results", path)
    if message is None:
        compare(**options)
    else:
        with pytest.raises(ValueError, match=message):
            compare(**options)
    assert path.read_bytes() == before


GOOD = {"gauss": GaussianNB()}


@pytest.mark.parametrize(
    ("message", "mistake"),
    [
        ("at least one", lambda X, y: compare({}, X, y)),
        ("must be a mapping from names", lambda X, y: compare([GaussianNB()], X, y)),
        ("must be texts, got 1", lambda X, y: compare({1: GaussianNB()}, X, y)),
        ("'gauss' must be a scikit-learn classifier", lambda X, y: compare({"gauss": GaussianNB}, X, y)),
        (r"'map' must be .*got MAPSelector.*SelectiveNB", lambda X, y: compare({"map": MAPSelector()}, X, y)),
        ("n_folds must be a whole number from 2 up, got 1", lambda X, y: RepeatedFolds(1)),
        ("n_repeats", lambda X, y: RepeatedFolds(n_repeats=0)),
        ("seed", lambda X, y: RepeatedFolds(seed=0.5)),
        *(("n_train must be a whole number from 2 up", lambda X, y, n=n: FixedSplit(n)) for n in (1, 2.5, True, "10")),
        (
            "below the number of rows \\(150\\), to leave rows for testing, got 150",
            lambda X, y: compare(GOOD, X, y, FixedSplit(150)),
        ),
        (r"rows of the most frequent class \(50\), got 51", lambda X, y: compare(GOOD, X, y, RepeatedFolds(51))),
        ("protocol must be a RepeatedFolds, a FixedSplit, .*, got 10", lambda X, y: compare(GOOD, X, y, 10)),
        ("only one class", lambda X, y: compare(GOOD, X, np.zeros(150, dtype=int))),
        ("inconsistent numbers of samples", lambda X, y: compare(GOOD, X[:-1], y)),
        ("Data set 'b': ", lambda X, y: compare_many(GOOD, {"a": (X, y), "b": (X, y[:-1])})),
        ("data must be a mapping", lambda X, y: compare_many(GOOD, [(X, y)])),
        ("n_jobs must be a positive number of threads", lambda X, y: compare(GOOD, X, y, n_jobs=0)),
    ],
)
def test_mistakes_are_told_before_any_work(message: str, mistake: Any) -> None:
    with pytest.raises(ValueError, match=message):
        mistake(*IRIS)


def test_progress_tells_the_seconds_left(capsys: pytest.CaptureFixture[str], limits: Limits) -> None:
    limits(seconds_between_lines=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare({"lr": LogisticRegression(max_iter=500, verbose=0), "g": GaussianNB()}, *IRIS, THREE, verbose=1)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6
    assert lines[-1].startswith("Comparison: folds of methods: 6 of 6, 0 s left")
    compare(GOOD, *IRIS, THREE)
    assert capsys.readouterr().err == ""


# ---------------------------------------------------------------------------------------------- splitters, and time

TREE = {"tree": DecisionTreeClassifier(max_depth=2, random_state=0)}
IRIS = load_iris(return_X_y=True)
MONTHS = np.random.default_rng(0).permutation(150) // 3


@pytest.mark.parametrize(
    "cv",
    [
        TimeSeriesSplit(3),
        ShuffleSplit(4, test_size=0.5, random_state=1),
        PredefinedSplit(np.arange(150) % 4 - 1),
        KFold(3, shuffle=True, random_state=2),
        RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=3),
        [(np.arange(0, 150, 2), np.arange(1, 90, 2)), (np.arange(1, 150, 3), np.arange(0, 150, 3))],
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_any_splits_are_measured_on_their_test_rows(cv: Any, tmp_path: Path) -> None:
    X, y = IRIS
    splits = list(cv.split(X, y)) if hasattr(cv, "split") else cv
    found = compare(TREE, X, y, iter(cv) if isinstance(cv, list) else cv, results=tmp_path / "results.jsonl")
    expected = [TREE["tree"].fit(X[train], y[train]).score(X[test], y[test]) for train, test in splits]
    assert found.folds("accuracy")[:, 0] == pytest.approx(expected)
    assert found.frame["n_test"].to_list() == [len(test) for _, test in splits]
    assert found.test_share == pytest.approx(np.mean([len(test) / len(train) for train, test in splits]))
    again = compare(TREE, X, y, cv, results=tmp_path / "results.jsonl")
    assert again.frame.equals(found.frame)  # seconds included: nothing ran again
    found.report(tmp_path / "comparison.html")
    page = (tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert f"{len(splits)} splits" in page
    assert "stratified" not in page.lower().replace("repeatedstratified", "")


def test_blocks_of_time_are_tested_after_all_earlier_rows(tmp_path: Path) -> None:
    X, y = IRIS
    frame = pd.DataFrame(X, columns=list("abcd"))
    order = np.argsort(MONTHS, kind="stable")
    expected = []
    for block in range(1, 5):
        train, test = order[: 30 * block], order[30 * block : 30 * (block + 1)]
        expected.append(TREE["tree"].fit(X[train], y[train]).score(X[test], y[test]))
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(MONTHS * 30, unit="D")
    for protocol, table in (
        (TimeFolds(time=MONTHS), X),
        (TimeFolds(time="month"), frame.assign(month=MONTHS)),
        (TimeFolds(time="day"), frame.assign(day=day)),
        (TimeFolds(time="day"), pl.from_pandas(frame.assign(day=day.strftime("%Y-%m-%d")))),
    ):
        found = compare(TREE, table, y, protocol)
        assert found.folds("accuracy")[:, 0] == pytest.approx(expected)
        assert found.frame["n_train"].to_list() == [30, 60, 90, 120]
    shuffled = np.random.default_rng(1).permutation(150)
    in_rows = compare(TREE, X[shuffled], y[shuffled], "time")
    assert in_rows.frame["n_train"].to_list() == [30, 60, 90, 120]
    in_rows.report(tmp_path / "comparison.html")
    assert "4 blocks of later rows" in (tmp_path / "comparison.html").read_text(encoding="utf-8")


def test_results_of_other_splits_or_times_are_not_mixed(tmp_path: Path) -> None:
    X, y = IRIS
    frame = pd.DataFrame(X, columns=list("abcd")).assign(month=MONTHS)
    other = frame.assign(month=MONTHS[::-1])
    protocols = [
        (RepeatedFolds(3), frame),
        (TimeFolds(5, "month"), frame),
        (TimeFolds(5, "month"), other),
        (TimeFolds(5, MONTHS), frame),
        (TimeFolds(5), frame),
        (TimeFolds(4, "month"), frame),
        (TimeSeriesSplit(4), frame),
        (TimeSeriesSplit(4, gap=1), frame),
        (PredefinedSplit(np.arange(150) % 2), frame),
        (PredefinedSplit(np.arange(150) // 75), frame),
        ([(np.arange(75), np.arange(75, 150))], frame),
        ([(np.arange(76), np.arange(76, 150))], frame),
        (ShuffleSplit(3, random_state=0), frame),
        (ShuffleSplit(3, random_state=1), frame),
    ]
    for i, (protocol, table) in enumerate(protocols):
        compare(TREE, table, y, protocol, results=tmp_path / f"{i}.jsonl")
    for i in range(len(protocols)):
        for j, (protocol, table) in enumerate(protocols):
            if i != j:
                with pytest.raises(ValueError, match=r"holds results of another (protocol|table)"):
                    compare(TREE, table, y, protocol, results=tmp_path / f"{i}.jsonl")
    for drawn in (ShuffleSplit(3), StratifiedShuffleSplit(3), KFold(3, shuffle=True)):
        with pytest.raises(ValueError, match="must have a number as random_state"):
            compare(TREE, X, y, drawn, results=tmp_path / "new.jsonl")
    with pytest.raises(ValueError, match="has no known number of folds"):
        compare(TREE, X, y, LeaveOneOut())
    with pytest.raises(ValueError, match="too few different times"):
        compare(TREE, X, y, TimeFolds(5, MONTHS // 20))
    with pytest.raises(ValueError, match="no column 'week'"):
        compare(TREE, frame, y, TimeFolds(5, "week"))
    with pytest.raises(ValueError, match="n_blocks must be"):
        TimeFolds(1)
