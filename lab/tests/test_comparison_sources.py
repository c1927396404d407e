"""Data sets that are loaded when their turn comes, splits that are fixed, figures of a method's own."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.naive_bayes import GaussianNB

from bayesieve import SelectiveNB
from bayesieve.counts import CodedTable
from bayesieve_lab import Comparison, FixedSplit, RepeatedFolds, compare, compare_many

THREE = RepeatedFolds(n_folds=3)
LOADERS = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = LOADERS[name](return_X_y=True)
    return X[:, :4], y


AT_ONCE = {name: load(name) for name in LOADERS}
METHODS = {"gauss": GaussianNB(), "map": SelectiveNB("map")}


class Watched(np.ndarray):
    """An array that can be watched for being alive."""


class Shelf:
    """Lazy data sets that remember when they were loaded, and how many are alive."""

    def __init__(self) -> None:
        self.loaded: list[str] = []
        self.most_alive = 0
        self._alive: list[weakref.ref[Any]] = []
        self._lock = threading.Lock()

    def data(self) -> dict[str, Callable[[], tuple[Any, ...]]]:
        return {name: lambda name=name: self.load(name) for name in LOADERS}

    def load(self, name: str) -> tuple[Any, ...]:
        X, y = load(name)
        X = X.view(Watched)
        with self._lock:
            self.loaded.append(name)
            self._alive.append(weakref.ref(X))
            self.most_alive = max(self.most_alive, self.n_alive)
        return X, y

    @property
    def n_alive(self) -> int:
        gc.collect()
        return sum(watched() is not None for watched in self._alive)


def untimed(found: Comparison) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if not name.endswith("seconds")} for row in found.rows]


@pytest.fixture(scope="module")
def at_hand() -> Comparison:
    return compare_many(METHODS, AT_ONCE, THREE)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_lazy_data_give_the_same_results_and_are_let_go(n_jobs: int | None, at_hand: Comparison) -> None:
    shelf = Shelf()
    found = compare_many(METHODS, shelf.data(), THREE, n_jobs=n_jobs)
    assert untimed(found) == untimed(at_hand)
    assert found.data == at_hand.data
    assert sorted(shelf.loaded) == sorted(LOADERS)  # once each
    assert shelf.most_alive <= (n_jobs or 1)
    assert shelf.n_alive == 0


class Failing(ClassifierMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> Any:
        raise RuntimeError("No.")

    def predict_proba(self, X: Any) -> Any:
        raise AssertionError


class FailingToCode(SelectiveNB):
    def new_encoder(self) -> Any:
        return Unable()


class Unable(BaseEstimator):
    def fit_transform_coded(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        raise RuntimeError("Not that.")


def test_data_are_let_go_where_methods_fail() -> None:
    shelf = Shelf()
    gc.disable()
    try:
        found = compare_many({"no": Failing(), "all": FailingToCode("all")}, shelf.data(), THREE)
        assert all(watched() is None for watched in shelf._alive)
    finally:
        gc.enable()
    assert {row["error"] for row in found.rows} == {"RuntimeError: No.", "RuntimeError: Not that."}


def test_data_of_which_nothing_is_missing_are_not_loaded(tmp_path: Path, at_hand: Comparison) -> None:
    path = tmp_path / "found.jsonl"
    compare_many(METHODS, {name: Shelf().data()[name] for name in ("iris", "cancer")}, THREE, results=path)
    shelf = Shelf()
    found = compare_many(METHODS, shelf.data(), THREE, results=path)
    assert shelf.loaded == ["wine"]
    assert untimed(found) == untimed(at_hand)
    whole = path.read_bytes()
    assert compare_many(METHODS, shelf.data(), THREE, results=path).rows == found.rows
    assert shelf.loaded == ["wine"]
    assert compare_many(METHODS, AT_ONCE, THREE, results=path).rows == found.rows  # it does not matter how they come
    assert path.read_bytes() == whole


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_data_set_that_cannot_be_loaded_is_named(n_jobs: int | None, tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    calls = []

    def lost() -> Any:
        calls.append(1)
        raise FileNotFoundError(2, "No such file or directory", "wine.csv")

    def refused(wine: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            compare_many(METHODS, Shelf().data() | {"wine": wine}, THREE, results=path, n_jobs=n_jobs)

    refused(lost, "Data set 'wine' cannot be loaded: FileNotFoundError: .*wine.csv")
    assert calls == [1]
    refused(lambda: load_wine(), "Data set 'wine': A data set must be a pair")
    refused(lambda: (load_wine().data, np.zeros(178, dtype=int)), "Data set 'wine': The target has only one class")
    refused(lambda: (load_wine().data[:4], [0, 1, 0, 1]), r"Data set 'wine': n_folds must be at most .*\(2\), got 3")
    kept = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert sum(line.get("result", {}).get("data") == "iris" for line in kept) >= 4  # what was finished stays
    assert not any(line.get("data") == "wine" for line in kept)


def test_another_table_of_the_same_name_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    X, y = load_wine(return_X_y=True)
    compare_many({"gauss": GaussianNB()}, {"wine": lambda: (X, y)}, THREE, results=path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="results of another table named 'wine'"):
        compare_many({"gauss": GaussianNB()}, {"wine": lambda: (X + 1, y)}, RepeatedFolds(3, 2), results=path)
    assert path.read_bytes() == before
    more = compare_many({"gauss": GaussianNB()}, {"wine": lambda: (X, y)}, RepeatedFolds(3, 2), results=path)
    assert len(more.rows) == 6


def test_the_first_rows_train_and_the_others_test(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    X, y = AT_ONCE["cancer"]
    for _ in range(2):  # measured, then read
        found = compare({"gauss": GaussianNB()}, X, y, FixedSplit(400, seed=3), results=path)
        (row,) = found.rows
        assert (row["n_train"], row["n_test"], row["repeat"], row["fold"]) == (400, 169, 0, 0)
        assert row["accuracy"] == pytest.approx(GaussianNB().fit(X[:400], y[:400]).score(X[400:], y[400:]))
        assert found.folds("accuracy").shape == (1, 1)
        assert found.test_share == pytest.approx(169 / 400)
        assert found.means()["accuracy_std"].to_list() == [None]
    kept = json.loads(path.read_text().splitlines()[0])["comparison"]
    assert kept.pop("bayesieve")
    assert kept == {"train_rows": 400, "seed": 3}


class Told(GaussianNB):
    """Says how many raw test rows it saw, and of which class most of them are."""

    def fold_figures(self, rows: Any, codes: np.ndarray) -> dict[str, float | None]:
        assert len(rows) == codes.size
        return {"rows": len(rows), "commonest": np.int64(np.bincount(codes).argmax()), "no": np.nan, "none": None}


class ToldOfCodes(SelectiveNB):
    """Says how many of the coded test rows it gets right."""

    def fold_figures(self, rows: CodedTable, codes: np.ndarray) -> dict[str, float | None]:
        right = self.predict_log_proba(rows).argmax(axis=1) == codes
        return {"right": float(right.sum())}


def test_methods_have_figures_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    X, y = AT_ONCE["iris"]
    methods = {"told": Told(), "codes": ToldOfCodes("all"), "gauss": GaussianNB()}
    found = compare(methods, X, y, THREE, results=path)
    np.testing.assert_array_equal(found.figure("rows")[:, 0], [50, 50, 50])
    assert np.isnan(found.figure("rows")[:, 1:]).all()
    assert np.isnan(found.figure("no")).all()
    assert np.isnan(found.figure("none")).all()
    np.testing.assert_allclose(found.figure("right", "data")[:, 1] / 50, found.folds("accuracy")[:, 1])
    assert found.rows[2]["figures"] is None
    assert compare(methods, X, y, THREE, results=path).rows == found.rows  # through the file
    with pytest.raises(ValueError, match="There is no figure 'left'; choose one of 'rows', 'commonest', 'no', "):
        found.figure("left")
    with pytest.raises(ValueError, match="the methods have none of their own"):
        compare({"gauss": GaussianNB()}, X, y, THREE).figure("rows")
    with pytest.raises(ValueError, match="data must be one of 'data', got 'iris'"):
        found.figure("rows", "iris")


def test_rows_and_classes_without_weight_are_not_compared() -> None:
    X, y = AT_ONCE["iris"]
    weights = (np.arange(150) % 7 != 2) & (y < 2)
    weighted = compare_many(METHODS, {"iris": (X, y, weights.astype(float))}, THREE)
    assert untimed(weighted) == untimed(compare_many(METHODS, {"iris": (X[weights], y[weights])}, THREE))
