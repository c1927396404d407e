"""Entropy, mutual information and symmetrical uncertainty of counts, in nats, and their imprecise counterparts.

Probabilities are shares of counts (or of sums of weights). Despite rounding, 0 <= I(X; Y) <= min(H(X), H(Y)) holds
exactly, and independent integer counts have mutual information 0 exactly.

In the imprecise Dirichlet model (Walley 1996), a state with n_j of N rows has a probability between n_j / (N + s) and
(n_j + s) / (N + s), as if s further rows could be in any state. The distribution of maximum entropy adds the mass s to
the smallest counts, which it raises to a common level (water filling).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np

from bayesieve.counts.contingency import ContingencyCounts


def entropy(counts: Any) -> Any:
    """Return the entropy of counts, - sum p log p with 0 log 0 = 0.

    Parameters
    ----------
    counts : array-like, shape (..., n)
        Rows, or sums of weights, of each of n states; none negative.

    Returns
    -------
    float, or float array of shape (...)
        In nats, from 0 to log n; 0 if all counts are 0.

    References
    ----------
    Shannon (1948), A mathematical theory of communication, Bell System Technical Journal 27, section 6.

    Examples
    --------
    >>> from bayesieve.counts.information import entropy
    >>> float(entropy([2, 0])), round(float(entropy([2, 2])), 6)
    (0.0, 0.693147)
    """
    counts = np.asarray(counts, dtype=float)
    shares = counts / _or_one(counts.sum(axis=-1, keepdims=True))
    return np.abs(_minus_p_log(shares, shares).sum(axis=-1))  # -0.0 of a single state is 0.0


def mutual_information(counts: Any) -> float:
    """Return the mutual information between the rows and the columns of a table of counts.

    It is sum p(x, y) log(p(x, y) / (p(x) p(y))), the "information gain" of decision trees.

    Parameters
    ----------
    counts : array-like, shape (n_levels, n_classes)
        Rows, or sums of weights; none negative.

    Returns
    -------
    float
        In nats, from 0 to the smaller of both entropies.

    Examples
    --------
    >>> from bayesieve.counts.information import mutual_information
    >>> round(mutual_information([[2, 0], [0, 2]]), 6), mutual_information([[1, 2], [2, 4]])
    (0.693147, 0.0)
    """
    return float(class_information(one_feature(counts))[0])


def symmetrical_uncertainty(counts: Any) -> float:
    """Return the symmetrical uncertainty of the rows and the columns of a table of counts, 2 I / (H(row) + H(column)).

    Parameters
    ----------
    counts : array-like, shape (n_levels, n_classes)
        Rows, or sums of weights; none negative.

    Returns
    -------
    float
        From 0 (independent, or both constant) to 1 (each determines the other).

    References
    ----------
    Press, Teukolsky, Vetterling & Flannery (1988), Numerical recipes in C, section 13.6; Hall (1999), Correlation-based
    feature selection for machine learning, section 4.2.1.

    Examples
    --------
    >>> from bayesieve.counts.information import symmetrical_uncertainty
    >>> symmetrical_uncertainty([[2, 0], [0, 2]]), symmetrical_uncertainty([[4, 0], [0, 0]])
    (1.0, 0.0)
    """
    return float(class_symmetrical_uncertainty(one_feature(counts))[0])


def class_information(counts: ContingencyCounts) -> np.ndarray:
    """Return the mutual information of every feature with the class.

    Parameters
    ----------
    counts : ContingencyCounts
        Counts of a coded table. For each feature, rows with unseen values are ignored.

    Returns
    -------
    float array, shape (n_features,)
        In nats; 0 <= I <= min(H(feature), H(class)), with both entropies in the rows that are not ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve.counts import ContingencyCounts
    >>> from bayesieve.counts.information import class_information
    >>> from bayesieve.counts import CodedTable
    >>> codes = np.array([[0, 1, 0, 1], [0, 0, 1, 1]], dtype=np.uint8)
    >>> target = {"class_codes": np.array([0, 0, 1, 1], dtype=np.uint8), "classes": np.array(["no", "yes"])}
    >>> coded = CodedTable(codes, np.array([2, 2]), ("a", "b"), **target)
    >>> class_information(coded.counts).round(6).tolist()
    [0.0, 0.693147]
    """
    return _FeatureInformation(counts).information


def class_symmetrical_uncertainty(counts: ContingencyCounts) -> np.ndarray:
    """Return the symmetrical uncertainty of every feature with the class.

    Parameters
    ----------
    counts : ContingencyCounts
        Counts of a coded table. For each feature, rows with unseen values are ignored.

    Returns
    -------
    float array, shape (n_features,)
        From 0 to 1.
    """
    parts = _FeatureInformation(counts)
    return 2.0 * parts.information / _or_one(parts.feature_entropy + parts.class_entropy)


class _FeatureInformation:
    """Mutual information with the class, and entropies, of every feature, computed in a few passes over all levels at
    once.

    Attributes
    ----------
    information, feature_entropy, class_entropy : (n_features,) in nats, in the rows in which the feature has a level
    """

    def __init__(self, counts: ContingencyCounts) -> None:
        offsets = counts.offsets
        feature_of = np.repeat(np.arange(counts.n_features), np.diff(offsets))
        table = np.asarray(counts.counts, dtype=float)
        level_sums = table.sum(axis=1)
        class_sums = sums_of_features(table, offsets)
        totals = _or_one(class_sums.sum(axis=1, keepdims=True))
        level_shares = level_sums / totals[feature_of, 0]
        class_shares = class_sums / totals
        self.feature_entropy = np.abs(sums_of_features(_minus_p_log(level_shares, level_shares), offsets))
        self.class_entropy = np.abs(_minus_p_log(class_shares, class_shares).sum(axis=1))
        # Take the logarithm of P(class | level) / P(class): quotients of proportional integers are equal floats, so
        # independence gives exactly log 1 = 0.
        within = table / _or_one(level_sums)[:, None]
        lift = within / _or_one(class_shares)[feature_of]
        terms = _minus_p_log(table / totals[feature_of], lift).sum(axis=1)
        most = np.minimum(self.feature_entropy, self.class_entropy)
        self.information = np.clip(-sums_of_features(terms, offsets), 0.0, most)


def sums_of_features(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Sum values over the levels of each feature, shape (n_features, ...); 0 without levels.

    ``values`` (levels of all features, ...) are listed feature after feature; ``offsets`` (n_features + 1,) is the
    first level of each feature.
    """
    sums = np.zeros((offsets.size - 1, *values.shape[1:]))
    filled = np.diff(offsets) > 0
    if filled.any():
        sums[filled] = np.add.reduceat(values, offsets[:-1][filled], axis=0)
    return sums


def _minus_p_log(shares: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """Return -p log r for shares p and ratios r, element by element, with 0 for p = 0."""
    return -shares * np.log(np.where(shares > 0.0, ratios, 1.0))


def _or_one(sums: np.ndarray) -> np.ndarray:
    """Return the array ``sums`` with entries of 0 replaced by 1, as divisor."""
    return np.where(sums > 0.0, sums, 1.0)


def one_feature(counts: Any) -> ContingencyCounts:
    """Return a table of counts (n_levels, n_classes) as the `ContingencyCounts` of a single feature."""
    counts = np.asarray(counts, dtype=float)
    if counts.ndim != 2:
        raise ValueError(f"counts must be a table of levels by classes, got an array of {counts.ndim} dimensions.")
    return ContingencyCounts(counts, np.array([0, counts.shape[0]]), counts.sum(axis=0))


LevelProbabilities = Literal["frequency", "maximum-entropy"]
LEVEL_PROBABILITIES: tuple[str, ...] = ("frequency", "maximum-entropy")
_ROUNDING = 1e-12


def maximum_entropy_counts(counts: Any, s: float = 1.0) -> np.ndarray:
    """Add the mass ``s`` to counts such that they become as equal as possible.

    In general, counts below t are raised to the level t for which sum max(t - n_j, 0) = s. For s <= 1 and integer
    counts, the smallest counts get equal parts of the mass (Abellan & Moral).

    Parameters
    ----------
    counts : array-like, shape (..., n)
        Rows, or sums of weights, of each of n states; none negative.
    s : float
        Mass to add, in rows; above 0.

    Returns
    -------
    float array, shape (..., n)
        Counts with the sum N + s. Divided by it, they are the distribution of maximum entropy.

    References
    ----------
    Abellan (2006), Uncertainty measures on probability intervals from the imprecise Dirichlet model, International
    Journal of General Systems 35.

    Examples
    --------
    >>> from bayesieve.counts.information import maximum_entropy_counts
    >>> maximum_entropy_counts([4, 0, 9, 0]).tolist(), maximum_entropy_counts([4, 0, 9, 1], s=6).tolist()
    ([4.0, 0.5, 9.0, 0.5], [4.0, 3.5, 9.0, 3.5])
    """
    counts = np.asarray(counts, dtype=float)
    ascending = np.sort(counts, axis=-1)
    sums = np.cumsum(ascending, axis=-1)
    sizes = np.arange(1, counts.shape[-1] + 1)
    # Raising the m smallest counts to the m-th smallest needs the mass m n_(m) - (n_(1) + ... + n_(m)), which increases
    # with m. As many counts are raised as the mass s suffices for.
    raised = np.count_nonzero(ascending * sizes - sums <= s, axis=-1)[..., None]
    raised = np.maximum(raised, 1)  # rounding of huge weights may hide the lowest one
    level = (s + np.take_along_axis(sums, raised - 1, axis=-1)) / raised
    return np.maximum(counts, level)


def reachable_intervals(lower: Any, upper: Any) -> tuple[np.ndarray, np.ndarray]:
    """Shrink probability intervals to the smallest ones that contain the same distributions.

    A bound is reachable if some distribution within all intervals attains it. Other bounds are replaced by max(l_i, 1 -
    sum of the other u_j) for lower and min(u_i, 1 - sum of the other l_j) for upper bounds. Intervals of the imprecise
    Dirichlet model, [n_i / (N + s), (n_i + s) / (N + s)], are reachable.

    Parameters
    ----------
    lower, upper : array-like, shape (..., n)
        Bounds of the probabilities of n states.

    Returns
    -------
    lower, upper : float arrays, shape (..., n)

    Raises
    ------
    ValueError
        If no distribution lies within the intervals.

    References
    ----------
    De Campos, Huete & Moral (1994), Probability intervals: a tool for uncertain reasoning; Abellan & Castellano (2017),
    Entropy 19 (6), proposition 1.

    Examples
    --------
    >>> from bayesieve.counts.information import reachable_intervals
    >>> lower, upper = reachable_intervals([0.5, 0.1, 0.0], [0.7, 0.2, 1.0])
    >>> lower.round(2).tolist(), upper.round(2).tolist()
    ([0.5, 0.1, 0.1], [0.7, 0.2, 0.4])
    """
    lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    least, most = lower.sum(axis=-1, keepdims=True), upper.sum(axis=-1, keepdims=True)
    if (lower < 0).any() or (lower > upper).any() or (least > 1 + _ROUNDING).any() or (most < 1 - _ROUNDING).any():
        raise ValueError(
            "No distribution lies within the intervals: lower bounds must be at least 0, at most the upper bounds, and "
            "sum to at most 1; upper bounds must sum to at least 1."
        )
    return np.maximum(lower, 1.0 - (most - upper)), np.minimum(upper, 1.0 - (least - lower))


def maximum_entropy(counts: Any, s: float = 1.0) -> Any:
    """Return S*, the largest entropy possible under the imprecise Dirichlet model.

    Parameters
    ----------
    counts : array-like, shape (..., n)
        Rows, or sums of weights, of each of n states; none negative.
    s : float
        Parameter of the model: mass to add, in rows; above 0.

    Returns
    -------
    float, or float array of shape (...)
        In nats, from the entropy of the counts to log n.

    Examples
    --------
    >>> from bayesieve.counts.information import maximum_entropy
    >>> round(float(maximum_entropy([9, 6])), 6), round(float(maximum_entropy([0, 0])), 6)
    (0.685314, 0.693147)
    """
    return entropy(maximum_entropy_counts(counts, s))


def minimum_entropy(counts: Any, s: float = 1.0) -> Any:
    """Return S_*, the smallest entropy possible under the imprecise Dirichlet model, in nats, shape (...).

    The mass ``s``, in rows, is added to the most frequent state. ``counts`` (..., n) are the rows, or sums of weights,
    of n states.

    Examples
    --------
    >>> from bayesieve.counts.information import minimum_entropy
    >>> round(float(minimum_entropy([9, 6])), 6), float(minimum_entropy([0, 0]))
    (0.661563, 0.0)
    """
    counts = np.array(counts, dtype=float)
    top = counts.argmax(axis=-1)[..., None]
    np.put_along_axis(counts, top, np.take_along_axis(counts, top, axis=-1) + s, axis=-1)
    return entropy(counts)


def non_specificity(counts: Any, s: float = 1.0) -> Any:
    """Return the non-specificity S* - S_*, the uncertainty due to the unknown mass ``s``, in nats, shape (...); the
    rest, S_*, is conflict.

    ``counts`` (..., n) are the rows, or sums of weights, of n states; ``s`` is in rows.

    Examples
    --------
    >>> from bayesieve.counts.information import non_specificity
    >>> round(float(non_specificity([9, 6])), 6), round(float(non_specificity([0, 0])), 6)
    (0.023751, 0.693147)
    """
    return maximum_entropy(counts, s) - minimum_entropy(counts, s)


def imprecise_information_gain(
    counts: Any, s: float = 1.0, level_probabilities: LevelProbabilities = "frequency"
) -> float:
    """Return the imprecise information gain IIG(C, X) = S*(K(C)) - sum_x p(x) S*(K(C | X = x)) of a table of counts.

    S* is the `maximum_entropy` of the classes C, overall and within each level x of the feature X.

    Parameters
    ----------
    counts : array-like, shape (n_levels, n_classes)
        Rows, or sums of weights; none negative. A class without rows is a possible state.
    s : float
        Parameter of the imprecise Dirichlet model, in rows.
    level_probabilities : {"frequency", "maximum-entropy"}
        p(x): relative frequencies of the levels, or their distribution of maximum entropy (without levels that have no
        rows).

    Returns
    -------
    float
        In nats; at most log n_classes. It is negative if the classes are more uncertain within the levels than overall.

    References
    ----------
    Abellan & Castellano (2017), Improving the naive Bayes classifier via a quick variable selection method using
    maximum of entropy, Entropy 19 (6) 247, section 4.2.

    Examples
    --------
    >>> from bayesieve.counts.information import imprecise_information_gain
    >>> round(imprecise_information_gain([[9, 0], [0, 6]]), 6), round(imprecise_information_gain([[3, 1], [6, 5]]), 6)
    (0.326218, -0.002464)
    """
    return float(class_imprecise_information(one_feature(counts), s, level_probabilities)[0])


def class_imprecise_information(
    counts: ContingencyCounts, s: float = 1.0, level_probabilities: LevelProbabilities = "frequency"
) -> np.ndarray:
    """Return the `imprecise_information_gain` of every feature of a coded table.

    Parameters
    ----------
    counts : ContingencyCounts
        Counts of a coded table. For each feature, rows with unseen values are ignored.
    s : float
        Parameter of the imprecise Dirichlet model, in rows.
    level_probabilities : {"frequency", "maximum-entropy"}
        Probabilities of the levels, see `imprecise_information_gain`.

    Returns
    -------
    float array, shape (n_features,)
        In nats; 0 for a feature whose values are unseen in all rows.
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
    """Return the distribution of maximum entropy over the levels of each feature that have rows, (levels of all
    features,); 0 for levels without rows.

    ``level_sums`` (levels of all features,) are the rows (or weight) of each level, feature after feature; ``offsets``
    (n_features + 1,) is the first level of each feature. The mass ``s``, in rows, is added to the rows of each feature.
    """
    shares = np.zeros(level_sums.size)
    for first, last in pairwise(offsets.tolist()):
        with_rows = first + np.flatnonzero(level_sums[first:last] > 0.0)
        if with_rows.size:
            filled = maximum_entropy_counts(level_sums[with_rows], s)
            shares[with_rows] = filled / filled.sum()
    return shares
