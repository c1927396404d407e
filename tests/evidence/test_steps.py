"""Cuts of two columns by the gradient of the rows: planted cuts are found, chance has none."""

from __future__ import annotations

import numpy as np
import pytest

from bayesieve.evidence import steps
from bayesieve.evidence.inclusion import averaged_log_bayes
from bayesieve.evidence.steps import cut_grid, move_cuts

Arrays = tuple[np.ndarray, np.ndarray]


def sums(rows: Arrays, signal: np.ndarray, n_cells: tuple[int, int]) -> Arrays:
    """Gradient and curvature of the log loss by cell, of rows whose class has log odds ``signal`` and 0 without it."""
    y = np.random.default_rng(1).random(signal.size) < 1 / (1 + np.exp(-signal))
    at = rows[0] * n_cells[1] + rows[1]
    size = n_cells[0] * n_cells[1]
    return np.bincount(at, 0.5 - y, size).reshape(*n_cells, 1), np.bincount(at, minlength=size).reshape(*n_cells, 1) / 4


@pytest.fixture(scope="module")
def rows() -> Arrays:
    """Cells of 1,000 rows, 40 of the first column and 30 of the second."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 40, 1000), rng.integers(0, 30, 1000)


@pytest.mark.parametrize(
    ("first", "second"), [([24], [15]), ([10, 30], [15]), ([13, 26], [10, 20])], ids=["xor", "band", "checkerboard"]
)
def test_planted_cuts_are_found(rows: Arrays, first: list[int], second: list[int]) -> None:
    fields = np.digitize(rows[0], first) + np.digitize(rows[1], second)
    tables = sums(rows, np.where(fields % 2, 2.2, -2.2), (40, 30))
    log_bayes, intervals = cut_grid(*tables, (0, 0), (True, True))
    assert log_bayes > 100
    assert [np.flatnonzero(np.diff(own)) + 1 for own in intervals] == [pytest.approx(first), pytest.approx(second)]
    swapped, other = cut_grid(tables[0].swapaxes(0, 1), tables[1].swapaxes(0, 1), (0, 0), (True, True))
    assert swapped == pytest.approx(log_bayes)
    assert all(np.array_equal(own, of_other) for own, of_other in zip(intervals, other[::-1], strict=True))


@pytest.mark.parametrize("signal", ["none", "of the first column"])
def test_neither_chance_nor_one_column_alone_has_steps(rows: Arrays, signal: str) -> None:
    strength = 2.0 * (rows[0] > 20) - 1.0 if signal != "none" else np.zeros(1000)
    assert cut_grid(*sums(rows, strength, (40, 30)), (0, 0), (True, True))[0] < 1.0


def test_groups_and_missing_values_stay_apart(rows: Arrays) -> None:
    signal = np.where((rows[0] > 20) == (rows[1] % 2 == 0), 2.0, -2.0)
    log_bayes, (first, second) = cut_grid(*sums(rows, signal, (40, 30)), (1, 0), (True, False))
    assert log_bayes > 100
    assert np.array_equal(second, np.arange(30))
    assert np.flatnonzero(np.diff(first)).tolist() == [0, 20]


def test_cuts_move_to_the_rows_between_which_classes_change(rows: Arrays) -> None:
    signal = np.where((rows[0] >= 17) == (rows[1] >= 12), 2.2, -2.2)
    y = np.random.default_rng(1).random(1000) < 1 / (1 + np.exp(-signal))
    slopes = (0.5 - y)[:, None], np.full((1000, 1), 0.25)
    first, second = move_cuts(rows, *slopes, [np.array([0, 1, 24, 40]), np.array([0, 6, 30])], (1, 0))
    assert first.tolist() == [0, 1, 17, 40]
    assert second.tolist() == [0, 12, 30]
    fixed = np.arange(31)
    first, second = move_cuts(rows, *slopes, [np.array([0, 1, 24, 40]), fixed], (1, 30))
    assert first.tolist() == [0, 1, 17, 40]
    assert np.array_equal(second, fixed)


@pytest.mark.parametrize("n_special", [0, 1, 2])
def test_cuts_are_those_that_gain_most_one_after_the_other(n_special: int) -> None:
    n_cuts = set()
    for seed in range(60):  # special cells hardly ever decide
        rng = np.random.default_rng(seed)
        signs = rng.choice([-1.0, 1.0], 3)[np.minimum(np.arange(10) // 3, 2)]
        curvature = rng.uniform(1.0, 6.0, (10, 3, 1))
        gradient = rng.normal(size=(10, 3, 1)) * np.sqrt(curvature) + (signs * rng.uniform(1, 4))[:, None, None]
        gradient[:, 1] *= -1.0
        gradient[:n_special] *= 4.0
        curvature[:n_special] *= 4.0

        def gain(cuts: list[int], gradient: np.ndarray = gradient, curvature: np.ndarray = curvature) -> float:
            bounds = np.sort([*range(n_special + 1), *cuts])
            sums = [np.add.reduceat(table, bounds, axis=0) for table in (gradient, curvature)]
            both = steps._log_bayes(*sums), steps._log_bayes(*(table.sum(axis=1, keepdims=True) for table in sums))
            rectangles, alone = (float(averaged_log_bayes(logs.sum(axis=0))) for logs in both)
            return rectangles - max(alone, 0.0)

        cuts, cost, left = list[int](), 0.0, list(range(n_special + 1, 10))
        while left:
            best = max(left, key=lambda cut: gain([*cuts, cut]))
            following = steps._log_choices(9 - n_special, len(cuts) + 1)
            if gain([*cuts, best]) - following <= gain(cuts) - cost:
                break
            cuts, cost = [*cuts, best], following
            left.remove(best)
        bounds, found = steps._cut(gradient, curvature, n_special)
        assert bounds.tolist() == sorted([*range(n_special + 1), *cuts, 10])
        assert found == pytest.approx(cost)
        n_cuts.add(len(cuts))
    assert {0, 1, 2} <= n_cuts
