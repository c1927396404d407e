"""No row is predicted out of fold by a model that has seen it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import KFold

from bayesieve import SelectiveNB
from bayesieve.evaluation.splits import log_proba_of_splits
from bayesieve.table import as_target


class Memory(ClassifierMixin, BaseEstimator):
    """Fails on rows that it was trained on."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Memory:
        self.classes_ = np.unique(y)
        self.seen_ = set(np.asarray(X)[:, 0].tolist())
        Memory.weights.append(sample_weight)
        return self

    def predict_log_proba(self, X: Any) -> np.ndarray:
        assert not any(value in self.seen_ for value in np.asarray(X)[:, 0].tolist())
        return np.log(np.full((len(X), len(self.classes_)), 1 / len(self.classes_)))

    weights: list[Any] = []  # noqa: RUF012


def out_of_fold(model: Any, X: Any, y: Any, weights: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log probabilities of all rows, each by a model of the other folds, the class codes, and the classes."""
    target, splits = as_target(y), list(KFold(5, shuffle=True, random_state=0).split(y))
    log_proba = np.full((len(y), target.n_classes), np.nan)
    for (_, test), part in zip(splits, log_proba_of_splits(model, X, target, splits, weights), strict=True):
        log_proba[test] = part
    return log_proba, target.codes, target.classes


@pytest.mark.parametrize("table", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_no_row_is_predicted_by_a_model_that_saw_it(table: Any) -> None:
    X, weights = table(np.arange(50.0)[:, None]), np.arange(50.0) + 1
    y = np.array(["a", "b"])[np.arange(50) % 2]
    Memory.weights.clear()
    model = Memory()
    log_proba, codes, classes = out_of_fold(model, X, y, weights)
    assert log_proba.shape == (50, 2)
    assert np.all(np.isfinite(log_proba))
    np.testing.assert_array_equal(classes[codes], y)
    assert not hasattr(model, "classes_")
    # Every row's weight came with it into four of the five fits.
    assert len(Memory.weights) == 5
    assert sum(map(np.sum, Memory.weights)) == pytest.approx(4 * weights.sum())


@pytest.mark.parametrize("y", [["a"] * 20 + ["b"] * 20 + ["c"], ["a"] * 20 + ["b"]])
def test_a_class_may_be_missing_from_a_fold(y: list[str]) -> None:
    X = np.random.default_rng(0).normal(size=(len(y), 1))
    log_proba, codes, classes = out_of_fold(SelectiveNB("all"), X, y)
    assert classes[codes].tolist() == y
    assert np.all(np.isfinite(log_proba))
    assert log_proba[-1, -1] == pytest.approx(np.log(0.5 / (len(y) - len(y) // 5)), abs=0.1)
