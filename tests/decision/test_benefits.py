"""Benefits in every form that they can be given in, and their totals, against loops over rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bayesieve import total_benefit
from bayesieve.decision import Benefits
from bayesieve.decision.benefits import is_column

RNG = np.random.default_rng(0)
MATRIX = [[1.0, -2.0, 0.0], [0.5, 3.0, -1.0]]
Y = np.array(["a", "b", "c", "b", "a", "c"])
DECIDED = np.array(["stay", "go", "stay", "stay", "go", "go"])
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.0, 0.0, 3.0])


def by_hand(values: Any, weights: Any) -> float:
    total = 0.0
    for n in range(6):
        matrix = values[n] if np.ndim(values) == 3 else values
        total += weights[n] * matrix[["stay", "go"].index(DECIDED[n])]["abc".index(Y[n])]
    return total


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("form", ["lists", "array", "by row", "cells"])
def test_totals_are_sums_over_rows(form: str, weights: Any) -> None:
    by_row = RNG.normal(size=(6, 2, 3))
    benefit: Any = {"lists": MATRIX, "array": np.array(MATRIX), "by row": by_row}.get(form)
    if form == "cells":
        benefit = [[by_row[:, 0, 0], 7, by_row[:, 0, 2].tolist()], [0.0, pl.Series(by_row[:, 1, 1]), -1]]
        by_row[:, 0, 1], by_row[:, 1, 0], by_row[:, 1, 2] = 7, 0, -1
    expected = by_hand(MATRIX if form in ("lists", "array") else by_row, np.ones(6) if weights is None else weights)
    total = total_benefit(Y, DECIDED, benefit=benefit, decisions=["stay", "go"], sample_weight=weights)
    assert total == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    "column", [[None, 10.0, 5.0, None], pl.Series([None, 10, 5, None]), pd.Series([pd.NA, 10, 5, pd.NA], dtype="Int64")]
)
def test_amounts_count_where_they_are_gained(column: Any) -> None:
    letters = [[0, 0], [-1, -1]]
    assert total_benefit([0, 1, 1, 0], [1, 1, 0, 1], benefit=letters, amount=column) == 7.0
    chosen = [[0, -0.5], [0, 2]]
    total = total_benefit([0, 1, 1, 0], [1, 1, 0, 1], benefit=letters, amount=column, amount_benefit=chosen)
    assert total == -3 + 20 - 2.5


def test_without_benefits_right_decisions_are_counted() -> None:
    assert total_benefit(["a", "b", "b"], ["a", "a", "b"]) == 2.0
    assert total_benefit(pa.array(["a", "b"]), pd.Series(["b", "b"]), sample_weight=[1.0, 0.5]) == 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"benefit": [[1, 2], [3]]}, "with as many cells in every row; got [[1, 2], [3]]"),
        ({"benefit": [1, 2]}, "benefit must be a matrix (n_decisions, n_classes)"),
        ({"benefit": "high"}, "benefit must be a matrix"),
        ({"benefit": np.ones((4, 2, 2))}, "got an array of shape (4, 2, 2) for 3 rows"),
        ({"benefit": np.eye(3)}, "benefit has 3 columns, but there are 2 classes"),
        ({"benefit": [[1, "x"], [0, 0]]}, "'benefit[0][1]'"),
        ({"benefit": [[1, [1, 2]], [0, 0]]}, "benefit[0][1] has 2 values, but there are 3 rows"),
        ({"benefit": np.eye(2), "amount": [1, 2]}, "amount has 2 values, but there are 3 rows"),
        ({"benefit": np.eye(2), "amount": [1, 2, np.inf]}, "'amount'"),
        ({"benefit": np.eye(2), "amount": np.ones(3), "amount_benefit": [1, 2]}, "amount_benefit must be a matrix"),
        ({"benefit": np.eye(2), "amount_benefit": np.eye(2)}, "amount_benefit needs the amounts of the rows"),
        (
            {"benefit": np.ones((3, 2)), "amount": np.ones(3)},
            "With 3 decisions and 2 classes, amounts need amount_benefit",
        ),
        ({"benefit": np.ones((3, 2))}, "benefit has 3 rows, but there are 2 classes; name a decision for each"),
        ({"benefit": np.eye(2), "decisions": ["a"]}, "benefit has 2 rows, but decisions is ['a']"),
        ({"benefit": [[0, 0], [np.nan, 1]]}, "The benefit of the decision in row 1 is missing"),
        ({"benefit": lambda X: X}, "benefit is a function of X, but there is no X here"),
        ({"decisions": ["b", "c"]}, "decided holds 'a', which is not one of ['b', 'c']"),
        ({"classes": ["b", "c"]}, "y holds 'a', which is not one of ['b', 'c']"),
        ({"sample_weight": [1, 2]}, "sample_weight.shape == (2,)"),
    ],
)
def test_one_clear_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        total_benefit(["b", "a", "b"], ["b", "b", "a"], **options)


def test_forms_are_told_apart_and_unknown_numbers_refused() -> None:
    for column in ([1.0, None], np.ones(3), pl.Series([1])):
        assert is_column(column)
    for other in (MATRIX, np.ones((2, 2)), [[np.ones(3), 1]], lambda X: X):
        assert not is_column(other)
    with pytest.raises(ValueError, match="y has 2 rows but there are 3 decisions"):
        total_benefit([0, 1], [0, 1, 1])
    benefits = Benefits(np.array([[[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [np.nan, 1.0]]]))
    with pytest.raises(ValueError, match=r"missing or infinite \(first in row 1\)"):
        benefits.expected(np.full((2, 2), 0.5))
