"""Entropy, mutual information and symmetrical uncertainty of counts: plug-in estimates, in nats.

Probabilities are the shares of the counts (or of the sums of weights). Whatever the rounding, 0 <= I <= min(H) holds
exactly, and the information of counts that are independent, in whole numbers, is exactly 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.counts.contingency import ContingencyCounts


def entropy(counts: Any) -> Any:
    """Entropy of counts, - sum p log p with 0 log 0 = 0.

    Parameters
    ----------
    counts : array-like, shape (..., n)
        Rows, or sums of weights, of each of n states; none negative.

    Returns
    -------
    float, or float array of shape (...)
        In nats, from 0 to log n; 0 where all counts are 0.

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
    """Mutual information of the rows and the columns of a table of counts.

    I = sum p(x, y) log(p(x, y) / (p(x) p(y))), Shannon's; the "information gain" of decision trees.

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
    """Symmetrical uncertainty of the rows and the columns of a table of counts, 2 I / (H(row) + H(column)).

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
    """Mutual information of every feature with the class.

    Parameters
    ----------
    counts : ContingencyCounts
        Of a coded table. Rows whose level of a feature is unseen do not count for that feature.

    Returns
    -------
    float array, shape (n_features,)
        In nats; 0 <= I <= min(H(feature), H(class)), both entropies over the rows that count.

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
    return _Parts(counts).information


def class_symmetrical_uncertainty(counts: ContingencyCounts) -> np.ndarray:
    """Symmetrical uncertainty of every feature with the class, as `symmetrical_uncertainty` of its counts.

    Parameters
    ----------
    counts : ContingencyCounts
        Of a coded table. Rows whose level of a feature is unseen do not count for that feature.

    Returns
    -------
    float array, shape (n_features,)
        From 0 to 1.
    """
    parts = _Parts(counts)
    return 2.0 * parts.information / _or_one(parts.feature_entropy + parts.class_entropy)


class _Parts:
    """Information and entropies of every feature of some counts, in a few passes over all levels at once."""

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
        # log of P(class | level) / P(class): equal fractions of whole numbers are equal floats, so their log is 0.
        within = table / _or_one(level_sums)[:, None]
        lift = within / _or_one(class_shares)[feature_of]
        terms = _minus_p_log(table / totals[feature_of], lift).sum(axis=1)
        most = np.minimum(self.feature_entropy, self.class_entropy)
        self.information = np.clip(-sums_of_features(terms, offsets), 0.0, most)


def sums_of_features(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Sums over the levels of each feature; 0 for one without levels."""
    sums = np.zeros((offsets.size - 1, *values.shape[1:]))
    filled = np.diff(offsets) > 0
    if filled.any():
        sums[filled] = np.add.reduceat(values, offsets[:-1][filled], axis=0)
    return sums


def _minus_p_log(shares: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """- p log r, 0 where p is 0."""
    return -shares * np.log(np.where(shares > 0.0, ratios, 1.0))


def _or_one(sums: np.ndarray) -> np.ndarray:
    """Divisors: 1 where there is nothing to divide."""
    return np.where(sums > 0.0, sums, 1.0)


def one_feature(counts: Any) -> ContingencyCounts:
    """A table of counts as that of a single feature."""
    counts = np.asarray(counts, dtype=float)
    if counts.ndim != 2:
        raise ValueError(f"counts must be a table of levels by classes, got an array of {counts.ndim} dimensions.")
    return ContingencyCounts(counts, np.array([0, counts.shape[0]]), counts.sum(axis=0))
