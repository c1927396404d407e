"""Rows and features told apart by what they contain."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
import scipy.sparse

from bayesieve import SelectiveNB
from bayesieve.counts import row_hashes
from bayesieve.counts.row_hashes import ContentHashes, RowSamples, draw_by_content, hash_codes, hash_rows, mixed
from bayesieve.table import Rows, as_table
from tests.limits import Limits


def test_a_sample_holds_the_same_rows_in_any_order() -> None:
    rng = np.random.default_rng(0)
    columns, classes = [rng.normal(size=5000), rng.integers(0, 3, 5000)], rng.integers(0, 2, 5000)
    order = rng.permutation(5000)

    def drawn(rows: np.ndarray) -> set[int]:
        keys = hash_codes([column[rows] for column in columns], classes[rows])
        return set(rows[draw_by_content(keys, 700)].tolist())

    plain = drawn(np.arange(5000))
    assert len(plain) == 700
    assert drawn(order) == plain


def test_of_equal_rows_their_share_is_drawn() -> None:
    values = np.repeat(np.arange(4), [10, 100, 390, 500])
    drawn = values[draw_by_content(hash_codes([values], np.zeros(1000, int)), 100)]
    assert np.abs(np.bincount(drawn, minlength=4) - [1, 10, 39, 50]).max() <= 1


@pytest.mark.parametrize("weighted", [False, True])
def test_a_smaller_sample_is_part_of_a_larger_one_and_rows_may_come_in_parts(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    prints = mixed(rng.integers(10, 700, 3000).astype(np.uint64))  # many rows are equal
    weights = rng.integers(0, 4, 3000) / 2 if weighted else None
    rows = Rows(rng.integers(0, 3, 3000).astype(np.uint8), np.arange(3), weights)
    drawn = {most: RowSamples(lambda: prints, rows).draw(most) for most in (1, 50, 900, 2000, 5000)}
    counted = np.arange(3000) if weights is None else np.flatnonzero(weights)
    np.testing.assert_array_equal(drawn[5000], counted)
    order = rng.permutation(3000)
    shuffled = RowSamples(lambda: prints, rows.take(order)).draw(900)

    for few, more in pairwise(drawn.values()):
        assert np.isin(few, more).all()
        assert np.isin(few, counted).all()
    for key in (prints, rows.class_codes, weights):
        if key is not None:
            np.testing.assert_array_equal(np.sort(key[order[shuffled]]), np.sort(key[drawn[900]]))
    several = RowSamples(lambda: prints, rows)
    for name, value in {"_ROWS_AT_ONCE": 170, "_KEYS_AT_ONCE": 130, "_FEWEST_DRAWN": 1000}.items():
        monkeypatch.setattr(row_hashes, name, value)
    for most, expected in drawn.items():
        np.testing.assert_array_equal(several.draw(most), expected)
        np.testing.assert_array_equal(RowSamples(lambda: prints, rows).draw(most), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_balanced_sample_has_all_rows_of_rare_classes(weighted: bool) -> None:
    rng = np.random.default_rng(4)
    classes = rng.choice(4, 3000, p=[0.01, 0.19, 0.3, 0.5]).astype(np.uint8)
    weights = rng.integers(0, 3, 3000).astype(float) if weighted else None
    keys = rng.integers(0, 2**63, 3000).astype(np.uint64)
    samples = RowSamples(lambda: keys, Rows(classes, np.arange(4), weights))
    counted = np.arange(3000) if weights is None else np.flatnonzero(weights)
    n_rows = np.bincount(classes[counted])
    drawn = {most: samples.draw_by_class(most) for most in (3000, 1500, 200, 50, 4)}
    np.testing.assert_array_equal(drawn[3000], counted)
    for most, rows in list(drawn.items())[1:]:
        numbers = np.bincount(classes[rows], minlength=4)
        of_each = numbers.max()  # no class has more, and a class with fewer has all of its rows
        np.testing.assert_array_equal(numbers, np.minimum(n_rows, of_each))
        assert most - 4 < rows.size <= most
        assert np.isin(rows, counted).all()
    for more, fewer in pairwise(drawn.values()):
        assert np.isin(fewer, more).all()
    # Of each class, those rows are drawn that a sample of this class alone would have.
    of_class = np.flatnonzero(classes[counted] == 3)
    alone = RowSamples(lambda: keys[counted][of_class], Rows(classes[counted][of_class], np.arange(4)))
    rows = counted[of_class][alone.draw(50)]
    np.testing.assert_array_equal(samples.draw_by_class(np.array([0, 0, 0, 50])), rows)


def test_fingerprints_do_not_depend_on_libraries_blocks_and_orders_of_columns() -> None:
    frame = pl.DataFrame(
        {
            "whole": [1, 2, None, 2, -7] * 20,
            "number": [0.0, -0.0, None, float("nan"), 1e300] * 20,
            "text": ["a", "", None, "ä€", "2"] * 20,
            "flag": [True, None, False, True, True] * 20,
            "day": pl.Series([1, 2, None, 4, 5] * 20).cast(pl.Date),
            "row": [f"r{i}" for i in range(100)],
        }
    )
    plain = hash_rows(as_table(frame))
    assert np.unique(plain).size == 100
    others = [
        hash_rows(as_table(frame.to_pandas())),
        hash_rows(as_table(frame.to_arrow())),
        hash_rows(as_table(frame.with_columns(pl.col("text").cast(pl.Categorical)))),
        hash_rows(as_table(frame[:, ::-1]), 2),
        np.concatenate([hash_rows(as_table(frame[at : at + 33])) for at in range(0, 100, 33)]),
    ]
    for other in others:
        np.testing.assert_array_equal(other, plain)
    assert np.unique(hash_rows(as_table(frame.drop("row")))).size == 5
    numbers = np.random.default_rng(0).integers(0, 3, (50, 4)).astype(float)
    dense, sparse = (hash_rows(as_table(X)) for X in (numbers, scipy.sparse.csr_array(numbers)))
    np.testing.assert_array_equal(dense, sparse)
    swapped = hash_rows(as_table(numbers[:, ::-1]))
    assert np.mean(swapped == dense) < 0.5  # a value means another thing in another column


def test_rows_are_told_apart_whatever_the_names_units_and_orders() -> None:
    rng = np.random.default_rng(1)
    number, category, classes = rng.permutation(60), rng.integers(0, 20, 60), rng.integers(0, 3, 60)
    plain = ContentHashes([number, category], [60, 0], classes)
    other = ContentHashes([rng.permutation(20)[category], 59 - number], [0, 60], np.array([2, 0, 1])[classes])
    np.testing.assert_array_equal(plain.of_rows, other.of_rows)
    assert np.unique(plain.of_rows).size == 60


@pytest.mark.parametrize("calibrate", ["weights", "cells"])
def test_a_model_of_sampled_rows_does_not_depend_on_their_order(limits: Limits, calibrate: str) -> None:
    limits(rows_of_evidence=1000)
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 2500)
    X = rng.normal(size=(2500, 4)) + 0.5 * y[:, None] * [1, 1, 0.5, 0]
    order = rng.permutation(2500)
    options = {"calibrate": calibrate, "pairs": 0}
    plain = SelectiveNB(**options).fit(X, y).predict_proba(X[:200])
    shuffled = SelectiveNB(**options).fit(X[order], y[order]).predict_proba(X[:200])
    np.testing.assert_allclose(shuffled, plain, atol=1e-9 if calibrate == "weights" else 1e-3)
    seeded = SelectiveNB(**options, random_state=1).fit(X, y).predict_proba(X[:200])
    np.testing.assert_array_equal(seeded, plain)  # four features leave the search nothing to chance
