"""Entropy where probabilities are not known exactly: the imprecise Dirichlet model, and its maximum entropy, in nats.

Seen n_j times among N rows, a state has a probability from n_j / (N + s) to (n_j + s) / (N + s) (Walley 1996): s rows
more may come, nobody knows of which state. The distribution of maximum entropy shares the mass s among the smallest
counts, raising them to one level, as water fills a vessel.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np

from bayesieve.counts.contingency import ContingencyCounts
from bayesieve.counts.information import entropy, one_feature, sums_of_features

LevelProbabilities = Literal["frequency", "maximum-entropy"]
LEVEL_PROBABILITIES: tuple[str, ...] = ("frequency", "maximum-entropy")


def maximum_entropy_counts(counts: Any, s: float = 1.0) -> np.ndarray:
    """Counts with the mass ``s`` shared out so that they are as equal as they can be.

    For s <= 1 and whole counts the mass goes to the smallest counts in equal parts (Abellan & Moral); in general they
    are raised to the level t with sum max(t - n_j, 0) = s.

    Parameters
    ----------
    counts : array-like, shape (..., n)
        Rows, or sums of weights, of each of n states; none negative.
    s : float
        Rows to come, above 0.

    Returns
    -------
    float array, shape (..., n)
        Sums to N + s; divided by it, the distribution of maximum entropy.

    References
    ----------
    Abellan (2006), Uncertainty measures on probability intervals from the imprecise Dirichlet model, International
    Journal of General Systems 35.

    Examples
    --------
    >>> from bayesieve.counts.imprecise import maximum_entropy_counts
    >>> maximum_entropy_counts([4, 0, 9, 0]).tolist(), maximum_entropy_counts([4, 0, 9, 1], s=6).tolist()
    ([4.0, 0.5, 9.0, 0.5], [4.0, 3.5, 9.0, 3.5])
    """
    counts = np.asarray(counts, dtype=float)
    ascending = np.sort(counts, axis=-1)
    sums = np.cumsum(ascending, axis=-1)
    sizes = np.arange(1, counts.shape[-1] + 1)
    # Raising the m smallest counts to the m-th takes m n_(m) - (n_(1) + ... + n_(m)), which grows with m.
    raised = np.count_nonzero(ascending * sizes - sums <= s, axis=-1)[..., None]
    raised = np.maximum(raised, 1)  # rounding of huge weights may hide the lowest one
    level = (s + np.take_along_axis(sums, raised - 1, axis=-1)) / raised
    return np.maximum(counts, level)


def maximum_entropy(counts: Any, s: float = 1.0) -> Any:
    """S*, the largest entropy that the imprecise Dirichlet model leaves possible.

    Parameters
    ----------
    counts, s : as for `maximum_entropy_counts`.

    Returns
    -------
    float, or float array of shape (...)
        In nats, from the entropy of the counts to log n.

    Examples
    --------
    >>> from bayesieve.counts.imprecise import maximum_entropy
    >>> round(float(maximum_entropy([9, 6])), 6), round(float(maximum_entropy([0, 0])), 6)
    (0.685314, 0.693147)
    """
    return entropy(maximum_entropy_counts(counts, s))


def imprecise_information_gain(
    counts: Any, s: float = 1.0, level_probabilities: LevelProbabilities = "frequency"
) -> float:
    """IIG(C, X) = S*(K(C)) - sum_x p(x) S*(K(C | X = x)) of a table of counts.

    Parameters
    ----------
    counts : array-like, shape (n_levels, n_classes)
        Rows, or sums of weights; none negative. A class without rows is a state that may come.
    s : float
        Of the imprecise Dirichlet model.
    level_probabilities : {"frequency", "maximum-entropy"}
        p(x): relative frequencies of the levels, or their distribution of maximum entropy (levels without rows left
        out).

    Returns
    -------
    float
        In nats; at most log n_classes, and below 0 where telling the levels apart leaves more doubt than it removes.

    References
    ----------
    Abellan & Castellano (2017), Improving the naive Bayes classifier via a quick variable selection method using
    maximum of entropy, Entropy 19 (6) 247, section 4.2.

    Examples
    --------
    >>> from bayesieve.counts.imprecise import imprecise_information_gain
    >>> round(imprecise_information_gain([[9, 0], [0, 6]]), 6), round(imprecise_information_gain([[3, 1], [6, 5]]), 6)
    (0.326218, -0.002464)
    """
    return float(class_imprecise_information(one_feature(counts), s, level_probabilities)[0])


def class_imprecise_information(
    counts: ContingencyCounts, s: float = 1.0, level_probabilities: LevelProbabilities = "frequency"
) -> np.ndarray:
    """`imprecise_information_gain` of every feature of a coded table, in a few passes over all levels at once.

    Parameters
    ----------
    counts : ContingencyCounts
        Rows whose level of a feature is unseen do not count for that feature.
    s, level_probabilities : as for `imprecise_information_gain`.

    Returns
    -------
    float array, shape (n_features,)
        In nats; 0 for a feature of which no row is known.
    """
    table, feature_of = counts.counts, np.repeat(np.arange(counts.n_features), np.diff(counts.offsets))
    level_sums = table.sum(axis=1)
    class_sums = sums_of_features(table, counts.offsets)
    totals = class_sums.sum(axis=1)
    if level_probabilities == "frequency":
        shares = level_sums / np.where(totals > 0.0, totals, 1.0)[feature_of]
    else:
        shares = _most_even_shares(level_sums, counts.offsets, s)
    doubt_left = sums_of_features(shares * maximum_entropy(table, s), counts.offsets)
    return np.where(totals > 0.0, maximum_entropy(class_sums, s) - doubt_left, 0.0)


def _most_even_shares(level_sums: np.ndarray, offsets: np.ndarray, s: float) -> np.ndarray:
    """The distribution of maximum entropy over the levels of each feature that have rows, 0 for the others."""
    shares = np.zeros(level_sums.size)
    for first, last in pairwise(offsets.tolist()):
        seen = first + np.flatnonzero(level_sums[first:last] > 0.0)
        if seen.size:
            filled = maximum_entropy_counts(level_sums[seen], s)
            shares[seen] = filled / filled.sum()
    return shares
