"""Simple rankings of coded features by mutual information with the class: alone, and less redundancy (mRMR)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from bayesieve.table import CodedTable

_LEAST_REDUNDANCY = 1e-9


def rank_by_mutual_information(coded: CodedTable) -> np.ndarray:
    """Features from the most to the least informative on their own; ties go to the lowest column.

    Parameters
    ----------
    coded : coded table with classes; every row counts once.

    Returns
    -------
    (n_features,) positions of the features, the best first.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesieve.evaluation.rankings import rank_by_mutual_information
    >>> from bayesieve.table import CodedTable
    >>> codes = np.array([[0, 1, 0, 1], [0, 0, 1, 1]], dtype=np.uint8)
    >>> target = {"class_codes": np.array([0, 0, 1, 1], dtype=np.uint8), "classes": np.array(["no", "yes"])}
    >>> rank_by_mutual_information(CodedTable(codes, np.array([2, 2]), ("a", "b"), **target)).tolist()
    [1, 0]
    """
    relevance, _ = mutual_information(coded)
    return np.argsort(-np.round(relevance, 12), kind="stable")  # rounding noise must not decide between copies


def rank_by_mrmr(coded: CodedTable, form: Literal["difference", "quotient"] = "difference") -> np.ndarray:
    """Features in the order of "minimal redundancy, maximal relevance".

    First the feature of the largest mutual information with the class, I(x; y), then at each step the one of the
    largest I(x; y) - mean over the features ranked already of I(x; s) (form MID), or of the largest quotient of the two
    (MIQ). Ties (within 1e-12) go to the lowest column.

    Parameters
    ----------
    coded : coded table with classes; every row counts once.
    form : "difference" (MID) or "quotient" (MIQ, its divisor raised by 1e-9 nats so that 0 / 0 is 0).

    Returns
    -------
    (n_features,) positions of the features, the best first.

    References
    ----------
    Peng, Long & Ding (2005), Feature selection based on mutual information, IEEE TPAMI 27 (8), equations 6 and 7.
    """
    relevance, redundancy = mutual_information(coded)
    order = np.empty(relevance.size, dtype=np.int64)
    left = np.ones(relevance.size, dtype=bool)
    summed = np.zeros(relevance.size)
    for step in range(order.size):
        mean = summed / max(step, 1)
        merit = relevance - mean if form == "difference" or not step else relevance / (mean + _LEAST_REDUNDANCY)
        merit = np.where(left, merit, -np.inf)
        best = int(np.argmax(merit >= merit.max() - 1e-12))
        order[step] = best
        left[best] = False
        summed += redundancy[best]
    return order


def mutual_information(coded: CodedTable) -> tuple[np.ndarray, np.ndarray]:
    """Mutual information of every feature with the class, and of every feature with every other.

    Parameters
    ----------
    coded : coded table with classes; every row counts once. Unseen codes are a level of their own.

    Returns
    -------
    relevance (n_features,) and redundancy (n_features, n_features), in nats. Counts come from one product of the
    indicator matrix of all levels with itself: exact, and of the size of the square of the number of levels.

    Raises
    ------
    ValueError
        If the table has no classes, or has row weights.
    """
    if coded.class_codes is None:
        raise ValueError("The coded table carries no classes to rank by; code it together with its target.")
    if coded.weights is not None:
        raise ValueError("Rankings count every row once; leave the row weights out.")
    codes = np.vstack([coded.codes.astype(np.int64), np.asarray(coded.class_codes, dtype=np.int64)])
    n_levels = codes.max(axis=1, initial=0) + 1
    starts = np.concatenate([[0], np.cumsum(n_levels)[:-1]])
    levels = np.zeros((int(n_levels.sum()), codes.shape[1]))
    levels[codes + starts[:, None], np.arange(codes.shape[1])] = 1.0
    joint = levels @ levels.T  # whole numbers: exact in doubles
    own = _times_log(np.diag(joint))
    entropies = -np.add.reduceat(own, starts)
    sums = np.add.reduceat(np.add.reduceat(_times_log(joint), starts, axis=0), starts, axis=1)
    n_rows = codes.shape[1]
    # With counts n for probabilities n / N: I = sum n log n (joint) - both sums n log n + N log N, over N.
    information = (sums + entropies[:, None] + entropies[None, :] + n_rows * np.log(max(n_rows, 1))) / max(n_rows, 1)
    information = np.maximum(information, 0.0)
    return information[-1, :-1], information[:-1, :-1]


def _times_log(counts: np.ndarray) -> np.ndarray:
    return counts * np.log(np.where(counts > 0, counts, 1.0))
