"""Wilcoxon's test against all choices of signs and SciPy, Holm's adjustment by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata, wilcoxon

from bayesieve_lab.comparison.differences import holm, signed_rank_test


@pytest.mark.parametrize("seed", range(6))
def test_the_signed_rank_test_tries_all_signs(seed: int) -> None:
    differences = np.random.default_rng(seed).integers(-3, 5, 9).astype(float)
    left = differences[differences != 0]
    ranks = rankdata(np.abs(left))
    sums = np.array([ranks[list(signs)].sum() for signs in itertools.product([False, True], repeat=left.size)])
    found = ranks[left > 0].sum()
    expected = min(1.0, 2 * min(np.mean(sums <= found), np.mean(sums >= found)))
    assert signed_rank_test(differences) == pytest.approx(expected, abs=1e-12)


def test_the_signed_rank_test_without_equal_sizes_is_that_of_scipy() -> None:
    for seed in range(5):
        differences = np.random.default_rng(seed).normal(0.3, 1, 20)
        assert signed_rank_test(differences) == pytest.approx(wilcoxon(differences, method="exact").pvalue, rel=1e-9)
    assert signed_rank_test(np.zeros(4)) == 1.0


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([0.02]) == [0.02]
