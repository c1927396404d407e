"""`pair_statistics` gives the same numbers for tables, codes and blocks, and refuses wrong input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import mutual_info_score

from bayesieve import TableEncoder, pair_statistics
from tests.reference import information


def test_raw_table() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.assign(color=pd.Categorical(np.where(y == 0, "red", "blue")))
    X.iloc[::7, 0] = np.nan
    coded = TableEncoder().fit_transform_coded(X, y)
    found = pair_statistics(X, y)
    expected = [[mutual_info_score(a, b) for b in coded.codes] for a in coded.codes]
    np.testing.assert_allclose(found, expected, atol=1e-14)
    np.testing.assert_array_equal(found, pair_statistics(coded))
    given = pair_statistics(X, y, given_class=True, features=[0, 2], others=slice(1, 4))
    columns, labels = coded.codes.tolist(), np.asarray(coded.class_codes).tolist()
    for i, k in enumerate([0, 2]):
        for j, other in enumerate([1, 2, 3]):
            expected_pair = information.conditional_information(columns[k], columns[other], labels)
            assert given[i, j] == pytest.approx(expected_pair, abs=1e-14)


def test_codes_with_weights_and_classes() -> None:
    rng = np.random.default_rng(0)
    codes, y, weights = rng.integers(0, 3, (40, 3)), rng.integers(0, 2, 40), rng.integers(0, 3, 40)
    kind: Any = "symmetrical_uncertainty"
    weighted = pair_statistics(codes, encoder=None, statistic=kind, sample_weight=weights)
    repeated = pair_statistics(np.repeat(codes, weights, axis=0), encoder=None, statistic=kind)
    np.testing.assert_allclose(weighted, repeated, atol=1e-13)
    within = pair_statistics(codes, y, encoder=None, given_class=True, sample_weight=weights)
    expected = information.conditional_information(
        codes[:, 0].tolist(), codes[:, 1].tolist(), y.tolist(), weights.tolist()
    )
    assert within[0, 1] == pytest.approx(expected, abs=1e-13)


def test_a_block_of_a_wide_table() -> None:
    codes = np.random.default_rng(1).integers(0, 2, (50, 20_000)).astype(np.uint8)
    found = pair_statistics(codes, encoder=None, features=[7, 19_999], others=np.arange(0, 20_000, 4))
    assert found.shape == (2, 5_000)
    assert found[1, 3] == pytest.approx(mutual_info_score(codes[:, 19_999], codes[:, 12]), abs=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"statistic": "correlation"}, "statistic must be one of 'mutual_information', 'symmetrical_uncertainty'"),
        ({"given_class": True}, "given_class=True needs the class of every row, but y is missing"),
        ({"encoder": "modl"}, "y is missing, but the encoder needs the class of every row"),
        ({"features": [0, 2]}, r"positions from 0 to 1, or a mask, got \[0, 2\]"),
        ({"features": 1}, "positions from 0 to 1, or a mask, got 1"),
        ({"others": [[0, 1]]}, r"positions from 0 to 1, or a mask, got \[\[0, 1\]\]"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pair_statistics([[0, 1], [1, 0]], **{"encoder": None, **arguments})


def test_a_coded_table_has_its_own_classes() -> None:
    X, y = load_iris(return_X_y=True)
    coded = TableEncoder().fit_transform_coded(X, y)
    with pytest.raises(ValueError, match="omit y and sample_weight"):
        pair_statistics(coded, y)
