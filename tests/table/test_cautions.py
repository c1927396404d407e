"""Cautions as warnings: which line they point to, how many columns they name, when they keep quiet."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from bayesieve import MODLDiscretizer
from bayesieve.table.cautions import Caution, issue, silenced, weights_caution
from bayesieve.table.target import normalized_weights
from bayesieve.words import named


def test_many_columns_are_counted() -> None:
    assert named(["a"]) == "'a'"
    assert named(list("abcde")) == "'a', 'b', 'c', 'd' and 'e'"
    assert named([f"x{i}" for i in range(2005)]) == "'x0', 'x1', 'x2', 'x3', 'x4' and 2,000 more"


def test_what_is_silenced_or_for_the_report_only_is_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        issue([None, Caution("a", (), "To be read.", warns=False)])
        with silenced():
            issue([Caution("a", (), "Not now.")])
    with pytest.warns(UserWarning, match=r"^Now\.$"):
        issue([Caution("a", (), "Now.")])


@pytest.mark.parametrize("through", [lambda one: one, make_pipeline], ids=["alone", "in a pipeline"])
def test_warnings_point_to_the_line_of_the_caller(through: object) -> None:
    X = np.array([[i % 7, "ab"[i % 2]] for i in range(40)], dtype=object)
    estimator = through(MODLDiscretizer())  # type: ignore[operator]
    with pytest.warns(UserWarning, match="MODLDiscretizer codes numeric columns only") as seen:
        estimator.fit_transform(X, [0, 1] * 20)
    assert [warning.filename for warning in seen] == [__file__]


@pytest.mark.parametrize("mean", [0.0025, 0.09, 11.0, 1e9])
def test_weights_far_from_one(mean: float) -> None:
    caution = weights_caution(np.array([0.0, 0.5, 1.5, 0.0]) * mean)  # rows of weight zero do not count
    assert caution is not None
    assert caution.sentence.startswith(f"The row weights have a mean of {mean:.3g}, so that 2 rows count as ")
    effect = "informative features look uninformative" if mean < 1 else "chance looks like information"
    assert effect in caution.sentence
    assert "SelectiveNB(normalize=True), or --normalize" in caution.sentence


@pytest.mark.parametrize("weights", [None, np.array([0.1, 0.1]), np.array([0.0, 0.0, 1.0]), np.array([10.0])])
def test_weights_about_one(weights: np.ndarray | None) -> None:
    assert weights_caution(weights) is None


def test_normalized_weights() -> None:
    assert normalized_weights(None) is None
    assert normalized_weights(3.0) is None
    scaled = normalized_weights([0, 1, 3])
    assert scaled is not None
    assert scaled.tolist() == [0.0, 0.5, 1.5]
    with pytest.raises(ValueError, match=r"Negative values in sample_weight \(first in row 1\)"):
        normalized_weights([1, -1])
