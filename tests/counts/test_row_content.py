"""Rows and features told apart by what they contain."""

from __future__ import annotations

import numpy as np
import pytest

from bayesieve import SelectiveNB
from bayesieve.counts.row_content import Content, drawn_by_content, keys_of
from bayesieve.evidence import calibration


def test_a_sample_holds_the_same_rows_in_any_order_and_others_by_another_seed() -> None:
    rng = np.random.default_rng(0)
    columns, classes = [rng.normal(size=5000), rng.integers(0, 3, 5000)], rng.integers(0, 2, 5000)
    order = rng.permutation(5000)

    def drawn(rows: np.ndarray, seed: int) -> set[int]:
        keys = keys_of([column[rows] for column in columns], classes[rows], seed)
        return set(rows[drawn_by_content(keys, 700)].tolist())

    plain = drawn(np.arange(5000), 0)
    assert len(plain) == 700
    assert drawn(order, 0) == plain
    assert len(drawn(order, 1) & plain) < 200


def test_of_equal_rows_their_share_is_drawn() -> None:
    values = np.repeat(np.arange(4), [10, 100, 390, 500])
    drawn = values[drawn_by_content(keys_of([values], np.zeros(1000, int)), 100)]
    assert np.abs(np.bincount(drawn, minlength=4) - [1, 10, 39, 50]).max() <= 1


def test_rows_are_told_apart_whatever_the_names_units_and_orders() -> None:
    rng = np.random.default_rng(1)
    number, category, classes = rng.permutation(60), rng.integers(0, 20, 60), rng.integers(0, 3, 60)
    plain = Content([number, category], [60, 0], classes)
    other = Content([rng.permutation(20)[category], 59 - number], [0, 60], np.array([2, 0, 1])[classes])
    np.testing.assert_array_equal(plain.of_rows, other.of_rows)
    assert np.unique(plain.of_rows).size == 60


@pytest.mark.parametrize("calibrate", ["weights", "cells"])
def test_a_model_of_sampled_rows_does_not_depend_on_their_order(
    monkeypatch: pytest.MonkeyPatch, calibrate: str
) -> None:
    monkeypatch.setattr(calibration, "_MOST_ROWS", 1000)
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 2500)
    X = rng.normal(size=(2500, 4)) + 0.5 * y[:, None] * [1, 1, 0.5, 0]
    order = rng.permutation(2500)
    options = {"calibrate": calibrate, "pairs": 0}
    plain = SelectiveNB(**options).fit(X, y).predict_proba(X[:200])
    shuffled = SelectiveNB(**options).fit(X[order], y[order]).predict_proba(X[:200])
    np.testing.assert_allclose(shuffled, plain, atol=1e-9 if calibrate == "weights" else 1e-3)
    seeded = SelectiveNB(**options, random_state=1).fit(X, y).predict_proba(X[:200])
    assert np.abs(seeded - plain).max() > 1e-6
