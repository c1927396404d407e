"""Curves of numeric columns are those of the basis functions, with lines in place of steps between levels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesieve.evidence.problem import build_design
from bayesieve.evidence.shapes import Shape, cosines_over
from bayesieve.evidence.terms import lines_between_levels


def test_lines_join_the_middles_of_levels_of_equal_size() -> None:
    of_level = np.repeat([0, 1, 2], 4)
    counted = np.array([[1.0, -1.0], [0.0, 0.0], [-0.5, 0.5]])[of_level]
    lines = lines_between_levels(of_level, np.ones(12), 0, counted)
    # Middles in rows: 2, 6 and 10; the first cell ends at 1, so that its middle is at .5.
    assert_allclose(lines[:, 0], np.interp(np.arange(12) + 0.5, [2, 6, 10], [1.0, 0.0, -0.5]), atol=1e-8)


def test_a_small_level_changes_few_rows_of_a_large_one() -> None:
    of_level = np.repeat([0, 1, 2], [20, 2, 20])
    counted = np.array([[1.0, -1.0], [-6.0, 6.0], [1.0, -1.0]])[of_level]
    lines = lines_between_levels(of_level, np.ones(42), 0, counted)
    assert_array_equal(np.delete(lines, [19, 20, 21, 22], axis=0), np.delete(counted, [19, 20, 21, 22], axis=0))
    assert_allclose(lines[19:23, 0], [-0.75, -4.25, -4.25, -0.75])


def test_a_level_without_rows_lies_on_the_line_between_its_neighbours() -> None:
    rows, first = np.array([10.0, 10.0, 0.0, 10.0, 10.0]), np.array([-1.0, -1.0, 5.0, 2.0, 2.0])
    lines = lines_between_levels(np.array([0, 0, 1, 2, 2]), rows, 0, np.stack([first, -first], axis=1))
    assert_allclose(lines[:, 0], [-1.0, -0.25, 0.5, 1.25, 2.0])


def test_special_cells_keep_their_contributions() -> None:
    counted = np.array([[3.0, -3.0], [1.0, -1.0], [0.0, 0.0]])
    lines = lines_between_levels(np.arange(3), np.array([5.0, 1.0, 1.0]), 1, counted)
    assert_array_equal(lines[0], counted[0])
    of_level, ones = np.repeat([0, 1, 2, 3], [1, 4, 2, 4]), np.ones(11)
    counted = np.array([[3.0, -3.0], [1.0, -1.0], [0.0, 0.0], [-0.5, 0.5]])
    lines = lines_between_levels(of_level, ones, 1, counted[of_level])
    without = lines_between_levels(of_level[1:] - 1, ones[1:], 0, counted[of_level[1:]])
    assert_allclose(lines, [counted[0], *without], atol=1e-8)
    one_level = lines_between_levels(np.array([0, 1, 1]), np.ones(3), 1, counted[[0, 1, 1]])
    assert_array_equal(one_level, counted[[0, 1, 1]])


@pytest.mark.parametrize("n", 2.0 ** np.arange(-3, 20, 4))
def test_levels_without_rows_side_by_side(n: float) -> None:
    counted = np.array([[0.1, -0.1], [0.1, -0.1], [-0.3, 0.3], [0.0, 0.0], [0.2, -0.2]])
    lines = lines_between_levels(np.array([0, 0, 1, 2, 3]), np.array([n / 3, n - n / 3, 0.0, 0.0, 0.0]), 0, counted)
    assert np.isfinite(lines).all()
    assert np.abs(lines).max() <= 0.3 + 1e-12


def test_a_curve_has_a_mean_of_zero_and_special_cells_deviate_on_their_own() -> None:
    rows = np.array([7.0, 0.0, *np.arange(1.0, 21.0)])
    basis = Shape.of_curve(rows, 2, np.zeros(0, dtype=np.int64)).basis()
    waves, special = basis[:, :-1], basis[:, -1]
    assert_allclose(rows @ waves, 0.0, atol=1e-9)
    assert_array_equal(np.flatnonzero(special), [0])  # the other special cell has no rows
    assert not waves[:2].any()


def test_cosines_by_ranks_follow_the_share_of_rows_below() -> None:
    rows = np.array([9.0, 1.0, 2.0, 1.0, 4.0])  # a special cell, then shares of 1/8, 1/4, 1/8 and 1/2
    below = np.array([1.0, 4.0, 7.0, 12.0]) / 16
    cosines = np.stack([np.cos(np.pi * below), np.cos(2 * np.pi * below) / 2], axis=1)
    basis = cosines_over(rows, 1, 2, by_ranks=True)
    assert_array_equal(basis[0], 0.0)
    assert_allclose(basis[1:], cosines - rows[1:] @ cosines / 8, atol=1e-12)


def test_rows_without_a_cell_get_the_mean_deviation() -> None:
    rng = np.random.default_rng(0)
    curve = Shape.of(rng.normal(size=(4, 2)), np.zeros(2, dtype=np.int64), single_cells=True)
    codes, weights = np.array([0, 1, 1, 3, 4, 4]), np.array([1.0, 2.0, 1.0, 4.0, 5.0, 6.0])
    first, second = (curve.of_rows(np.roll(codes, 3 * k), np.roll(weights, k)) for k in range(2))
    assert_allclose(first.shares, np.array([1.0, 3.0, 0.0, 4.0]) / 8)
    assert curve.of_rows(codes[:4], weights[:4]).shares.size == 0  # every row has a cell
    assert curve.of_rows(codes[:0], weights[:0]).shares.size == 0
    matrix = build_design([Shape.free(3), first, second], 1).basis.toarray()
    for lines, shape in ((matrix[4:9], first), (matrix[9:14], second)):
        assert_allclose(lines[-1], shape.shares @ lines[:-1], atol=1e-12)
        assert np.count_nonzero(lines[-1]) == 2 + np.count_nonzero(shape.shares)
