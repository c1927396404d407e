"""Curves of numeric columns are those of the basis functions, with lines in place of steps between levels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesieve.evidence.shapes import Shape
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
