"""Out-of-fold predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from bayesieve import SelectiveNB
from bayesieve.evaluation import out_of_fold_log_proba
from bayesieve.table.frames import take_rows


class Memory(ClassifierMixin, BaseEstimator):
    """Gives the rows it has seen away: P = 1 for a value seen in training."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Memory:
        self.classes_ = np.unique(y)
        self.seen_ = set(np.asarray(X)[:, 0].tolist())
        self.weights_ = sample_weight
        Memory.weights.append(sample_weight)
        return self

    def predict_log_proba(self, X: Any) -> np.ndarray:
        seen = np.array([value in self.seen_ for value in np.asarray(X)[:, 0].tolist()])
        assert not seen.any()
        return np.log(np.full((len(seen), len(self.classes_)), 1 / len(self.classes_)))

    weights: list[Any] = []  # noqa: RUF012


@pytest.mark.parametrize("table", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_no_row_is_predicted_by_a_model_that_saw_it(table: Any) -> None:
    X = table(np.arange(50.0)[:, None])
    y = np.array(["a", "b"])[np.arange(50) % 2]
    Memory.weights.clear()
    log_proba, codes, classes = out_of_fold_log_proba(Memory(), X, y, n_folds=5, sample_weight=np.arange(50.0) + 1)
    assert log_proba.shape == (50, 2)
    assert np.all(np.isfinite(log_proba))
    np.testing.assert_array_equal(classes[codes], y)
    assert len(Memory.weights) == 5
    # Every row's weight came with it into four of the five fits.
    total = sum(np.sum(weights) for weights in Memory.weights)
    assert total == pytest.approx(4 * (np.arange(50.0) + 1).sum())


def test_the_estimator_is_left_alone_and_folds_are_always_the_same() -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3
    model = SelectiveNB("all")
    one = out_of_fold_log_proba(model, X, y)[0]
    np.testing.assert_array_equal(out_of_fold_log_proba(model, X, y)[0], one)
    assert not hasattr(model, "classes_")


def test_a_rare_class_may_be_missing_from_a_fold() -> None:
    y = np.array(["a"] * 20 + ["b"] * 20 + ["c"])
    X = np.random.default_rng(0).normal(size=(41, 1))
    log_proba, codes, classes = out_of_fold_log_proba(SelectiveNB("all"), X, y)
    assert classes.tolist() == ["a", "b", "c"]
    assert np.all(np.isfinite(log_proba))
    assert log_proba[-1, 2] < np.log(0.1)
    assert codes.shape == (41,)


def test_one_row_of_the_other_class() -> None:
    """The fold that holds it leaves a single class to train on."""
    X = np.random.default_rng(0).normal(size=(21, 1))
    log_proba, _, _ = out_of_fold_log_proba(SelectiveNB("all"), X, ["a"] * 20 + ["b"])
    assert np.all(np.isfinite(log_proba))
    assert log_proba[-1, 1] < log_proba[-1, 0]


def test_as_many_folds_as_the_largest_class_has_rows() -> None:
    y = ["a", "a", "b"]
    log_proba, _, _ = out_of_fold_log_proba(SelectiveNB("all"), np.arange(3.0)[:, None], y, n_folds=10)
    assert log_proba.shape == (3, 2)
    with pytest.raises(ValueError, match="at least one class with two rows"):
        out_of_fold_log_proba(SelectiveNB("all"), np.arange(2.0)[:, None], ["a", "b"])


def test_take_rows_keeps_the_kind_of_table() -> None:
    rows = np.array([2, 0])
    frame = pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    assert take_rows(frame, rows).rows() == [(3, "z"), (1, "x")]
    pandas = frame.to_pandas().set_index(pd.Index(["p", "q", "r"]))
    assert take_rows(pandas, rows).index.tolist() == ["r", "p"]
    assert take_rows(frame.to_arrow(), rows).to_pylist() == [{"a": 3, "b": "z"}, {"a": 1, "b": "x"}]
    assert take_rows([[1, "x"], [2, "y"], [3, "z"]], rows).tolist() == [[3, "z"], [1, "x"]]
    assert take_rows(np.arange(3)[:, None], rows).tolist() == [[2], [0]]
