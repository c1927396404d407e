"""Wilcoxon's signed-rank test of paired values, and Holm's adjustment for several tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def signed_rank_test(differences: np.ndarray) -> float:
    """Two-sided p-value of the Wilcoxon signed-rank test: exact, even for differences of the same size.

    Differences of errors are multiples of 1 / rows, so some have the same size. Tables of the test do not cover that,
    and the normal approximation is poor for ten differences: here all signs are tried on the ranks as they are.
    Differences of 0 are left out (Wilcoxon 1945); without any others the result is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve.statistics.signed_ranks import signed_rank_test
    >>> signed_rank_test(np.array([3.0, 1.0, 1.0, 2.0, 0.0]))  # 2 of 16 choices of signs
    0.125
    """
    from scipy.stats import rankdata

    differences = differences[differences != 0]
    ranks = np.rint(2 * rankdata(np.abs(differences))).astype(np.int64)  # doubled: mean ranks may be halves
    chances = np.ones(1)  # of every sum of the ranks of positive differences, if all signs are equally likely
    for rank in ranks.tolist():
        shifted = np.concatenate([np.zeros(rank), chances])
        shifted[: chances.size] += chances
        chances = shifted / 2
    positive = int(ranks[differences > 0].sum())
    return float(min(1.0, 2 * min(chances[: positive + 1].sum(), chances[positive:].sum())))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for multiple tests (Holm 1979): below 0.05, the chance of any false positive is below 0.05.

    Examples
    --------
    >>> from bayesieve.statistics.signed_ranks import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, factors * np.asarray(p_values, dtype=float)[order]))
    return adjusted.tolist()
