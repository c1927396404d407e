"""The area under the ROC curve where scores are many, extreme or tied, and every way of counting pairs."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest
from numba import njit
from sklearn.metrics import roc_auc_score

from bayesieve.counts import CodedTable
from bayesieve.criteria import AUC, _auc_kernels, _ladder_kernels
from bayesieve.criteria._ladder_kernels import build_ladder
from bayesieve.search import SearchState, SubsetProblem
from tests.criteria.coded_tables import log_joint


def draw(seed: int, n_rows: int, n_levels: list[int], n_classes: int, shares: Any = None) -> CodedTable:
    rng = np.random.default_rng(seed)
    y = rng.choice(n_classes, n_rows, p=shares)
    codes = []
    for n in n_levels:
        cumulative = np.cumsum(rng.dirichlet(np.full(n, 2.0), size=n_classes), axis=1)
        codes.append((rng.random(n_rows)[:, None] > cumulative[y]).sum(axis=1).clip(max=n - 1))
    names = [f"x{k}" for k in range(len(n_levels))]
    return CodedTable(
        np.array(codes, dtype=np.uint8), n_levels, names, class_codes=y.astype(np.uint8), classes=np.arange(n_classes)
    )


def started(coded: CodedTable, subset: Collection[int] = ()) -> SearchState:
    state = SearchState(SubsetProblem.of(coded, 0.5, AUC()))
    state.reset(np.isin(np.arange(coded.n_features), list(subset)))
    return state


def area(coded: CodedTable, subset: Collection[int]) -> float:
    """Of the log odds of each class against the rest, rounded so that equal products tie."""
    joint, y = log_joint(coded, sorted(subset), 0.5), np.asarray(coded.class_codes)
    areas, shares = [], []
    for j in [1] if coded.n_classes == 2 else range(coded.n_classes):
        if 0 < np.count_nonzero(y == j) < y.size:
            odds = joint[:, j] - np.logaddexp.reduce(np.delete(joint, j, axis=1), axis=1)
            areas.append(roc_auc_score(y == j, np.round(odds, 9)))
            shares.append(np.count_nonzero(y == j))
    return float(np.average(areas, weights=shares))


def check(coded: CodedTable, subset: set[int], features: Collection[int]) -> SearchState:
    state = started(coded, subset)
    assert -state.cost == pytest.approx(area(coded, subset), abs=1e-12)
    expected = [area(coded, subset ^ {k}) for k in features]
    np.testing.assert_allclose(-state.candidates(np.array(features)), expected, rtol=0, atol=1e-12)
    return state


@pytest.mark.parametrize(
    ("n_rows", "n_levels", "n_classes"),
    [
        (20_000, [2] * 26, 2),
        (20_000, [3] * 12, 2),
        (10_000, [5, 20] * 6, 2),
        (3000, [4] * 12, 3),
        (2000, [2, 6] * 5, 5),
    ],
)
def test_scores_of_many_different_values(n_rows: int, n_levels: list[int], n_classes: int) -> None:
    coded = draw(len(n_levels), n_rows, n_levels, n_classes, shares=[0.7, 0.3] if n_classes == 2 else None)
    for size in (len(n_levels) // 2, len(n_levels) - 2):
        check(coded, set(range(size)), (0, 1, len(n_levels) - 1))


def test_probabilities_beyond_doubles() -> None:
    """Each column stands there a hundred times: sums of logarithms decide where ratios overflow."""
    one = draw(3, 600, [4] * 11, 3)
    codes, names = np.tile(one.codes, (100, 1)), [f"x{k}" for k in range(1100)]
    coded = CodedTable(codes, [4] * 1100, names, class_codes=one.class_codes, classes=one.classes)
    state = check(coded, set(range(1095)), (0, 1099))
    assert 0 < state._guide._state.scan().is_wide.sum() < 600


def test_equal_products_of_different_factors_tie() -> None:
    # Every column has the same counts by class, so that rows with as many ones have the same odds in whatever order the
    # doubles are multiplied.
    ones = np.array(list(itertools.product([0, 1], repeat=6)))
    times = np.array([[2**k, 2 ** (6 - k)] for k in ones.sum(axis=1).tolist()]).T.ravel()
    codes, y = np.concatenate([ones, ones]).repeat(times, axis=0).T, np.repeat([0, 1], 64).repeat(times)
    coded = CodedTable(codes.astype(np.uint8), [2] * 6, list("abcdef"), class_codes=y, classes=np.arange(2))
    state = check(coded, set(range(6)), range(6))
    assert np.unique(state._guide._state.scan().logs).size == 7


def test_classes_without_rows_are_left_out() -> None:
    coded = draw(1, 60, [3, 2], 4, shares=[0.5, 0.0, 0.3, 0.2])
    with np.errstate(divide="ignore", invalid="ignore"):
        check(coded, {1}, (0, 1))
    one_class = coded.take(np.asarray(coded.class_codes) == 0)
    with pytest.raises(ValueError, match="some class that it needs"):
        started(one_class)


def test_candidates_do_not_depend_on_each_other() -> None:
    state = started(draw(2, 3000, [2] * 8 + [5] * 8, 2), range(0, 16, 2))
    alone = [state.candidates(np.array([k]))[0] for k in reversed(range(16))]
    np.testing.assert_array_equal(state.candidates(np.arange(16)), alone[::-1])


def pairs(keys: np.ndarray, positive: np.ndarray, tolerance: int) -> int:
    """Twice the pairs in the right order, ties once."""
    difference = keys[positive][:, None] - keys[~positive][None, :]
    return int(2 * np.sum(difference > tolerance) + np.sum(np.abs(difference) <= tolerance))


# Ways from Python into kernels that otherwise only kernels call.
sorted_pairs = njit(lambda *arguments: _auc_kernels.sorted_pairs(*arguments))
slot_pairs = njit(lambda *arguments: _auc_kernels.slot_pairs(*arguments))
binary_pairs = njit(lambda *arguments: _ladder_kernels.binary_pairs(*arguments))


@pytest.mark.slow
@pytest.mark.parametrize("spread", [3, 40, 1000, 10**6])
@pytest.mark.parametrize("unit", [10**3, 10**9])
def test_all_ways_of_counting_pairs(spread: int, unit: int) -> None:
    tolerance, n_slotted = 5, 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n, n_negative = 200, int(rng.integers(1, 199))
        # Ties are off by a few steps, also across edges of buckets.
        keys = rng.integers(-spread, spread, n) * unit + rng.integers(-2, 3, n)
        if seed % 4 == 3:
            keys[rng.random(n) < 0.5] += 1000 * unit * spread  # so wide a range that keys share buckets
        expected = pairs(keys, np.arange(n) >= n_negative, tolerance)
        offsets, is_positive = np.array([0, n_negative, n]), np.array([False, True])
        work = _auc_kernels.Work.of(n)
        done, twice = slot_pairs(keys, offsets, is_positive, tolerance, work.longs[1], work.longs[2], work.ints)
        n_slotted += done
        assert not done or twice == expected
        memory = work.longs[2], work.doubles[3], work.ints[0]
        assert sorted_pairs(keys, np.ones(n), offsets, is_positive, tolerance, *memory) == expected
    assert n_slotted >= 5 or unit < 10**9  # half of the ten tables


@pytest.mark.parametrize("spread", [2, 30, 5000])
def test_pairs_of_a_feature_of_two_levels(spread: int) -> None:
    tolerance, unit, n_grouped = 5, 10**6, 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n, n_negative = 200, int(rng.integers(1, 199))
        scores = rng.integers(-spread, spread, n) * unit + rng.integers(-1, 2, n)
        codes = rng.integers(0, 5, n).astype(np.uint8)
        steps = rng.integers(-4, 5, (2, 2)) * unit
        if seed % 2:
            steps[1] = steps[0]  # tables of training rows: both classes are shifted alike
        ladder = build_ladder(scores, (0, n_negative), (n_negative, n), tolerance)
        assert ladder.positives.size == n - n_negative
        n_grouped += ladder.positive_number.size > 0
        memory = np.empty(n + 2, dtype=np.int64)
        twice = binary_pairs(ladder, codes, np.uint8(1), steps[0], steps[1], -1, tolerance, memory)
        positive = np.arange(n) >= n_negative
        assert twice == pairs(scores - steps[positive.astype(int), (codes > 1).astype(int)], positive, tolerance)
    assert (n_grouped > 0) == (spread == 2)


def test_no_ladder_for_scores_too_close_to_keep_ties_in_one_bucket() -> None:
    scores = np.arange(3000, dtype=np.int64) * 11
    assert build_ladder(scores, (0, 2000), (2000, 3000), 5) is None
    assert build_ladder(scores * 10**6, (0, 2000), (2000, 3000), 5).scores.size > 0
