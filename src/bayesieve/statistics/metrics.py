"""Performance measures of predicted probabilities.

Functions take log probabilities ``log_proba``, shape (n_rows, n_classes), and the ``codes`` of the true classes,
(n_rows,).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score, roc_curve

MEASURES = ("accuracy", "auc", "compression_rate", "log_loss", "brier", "balanced_accuracy")
"""Names of the performance measures; higher is better for all but `LOWER_IS_BETTER`."""
LOWER_IS_BETTER = frozenset(("log_loss", "brier"))


def accuracy(log_proba: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the share of rows whose most probable class is the true one.

    ``log_proba`` (n_rows, n_classes) are log probabilities, ``codes`` (n_rows,) positions of the true classes, and
    ``weights`` (n_rows,) row weights; None if all are 1.
    """
    return float(np.average(log_proba.argmax(axis=1) == codes, weights=weights))


def log_loss(log_proba: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the mean of -log P(true class), in nats per row.

    ``log_proba`` (n_rows, n_classes) are log probabilities, ``codes`` (n_rows,) positions of the true classes, and
    ``weights`` (n_rows,) row weights; None if all are 1.
    """
    return float(np.average(losses(log_proba, codes), weights=weights))


def losses(log_proba: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return -log P(true class) of each row, in nats, (n_rows,).

    ``log_proba`` (n_rows, n_classes) are log probabilities, ``codes`` (n_rows,) positions of the true classes.
    """
    return -log_proba[np.arange(codes.size), codes]


def class_entropy(codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None) -> float:
    """Return the entropy H(Y) of the class shares, in nats: the log loss of a model that predicts these shares.

    ``codes`` (n_rows,) are positions of the classes, ``weights`` (n_rows,) row weights; None if all are 1.
    """
    share = np.bincount(codes, weights=weights, minlength=n_classes)
    share = share[share > 0] / share.sum()
    return float(-(share * np.log(share)).sum())


def compression_rate(loss: float, entropy: float) -> float:
    """Return the compression rate 1 - log loss / class entropy, both in nats (Boulle 2007, section 5.2).

    It is 0 for a model that predicts the class shares, and 1 for certain and correct predictions.
    """
    return 1.0 - loss / entropy if entropy > 0 else 0.0


def brier_score(log_proba: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the Brier score, equal to `brier_score_loss` of scikit-learn.

    It is the mean over rows of the sum over classes of (T_c - P_c)^2, with T_c = 1 for the true class and 0 for others.
    For two classes, whose errors are equal, it is halved. ``log_proba`` (n_rows, n_classes) are log probabilities,
    ``codes`` (n_rows,) positions of the true classes, and ``weights`` (n_rows,) row weights; None if all are 1.
    """
    return float(np.average(squared_errors(log_proba, codes), weights=weights))


def squared_errors(log_proba: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the squared error of each row, (n_rows,), summed over the classes and halved for two classes.

    ``log_proba`` (n_rows, n_classes) are log probabilities, ``codes`` (n_rows,) positions of the true classes.
    """
    error = np.exp(log_proba)
    error[np.arange(codes.size), codes] -= 1.0
    return np.asarray((error**2).sum(axis=1) * (0.5 if log_proba.shape[1] == 2 else 1.0))


def auc(log_proba: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the area under the ROC curve; for several classes, the mean one-against-rest area weighted by class share.

    ``log_proba`` (n_rows, n_classes) are log probabilities, ``codes`` (n_rows,) positions of the true classes, and
    ``weights`` (n_rows,) row weights; None if all are 1. Rows are ranked by `class_scores`, which still differ if
    probabilities round to 0 or 1.
    """
    return area(class_scores(log_proba), codes, weights)


def area(scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the area under the ROC curve from scores of the classes, shape (n_rows, n_classes).

    For several classes, one-against-rest areas are weighted by class share (Provost & Domingos 2001), as in
    `roc_auc_score` with ``multi_class="ovr"``. Classes with no rows or all rows are skipped; NaN if no class remains.
    ``codes`` (n_rows,) are positions of the true classes, ``weights`` (n_rows,) row weights or None.
    """
    if weights is not None:
        counted = weights > 0  # a class without weight counts as one without rows
        scores, codes, weights = scores[counted], codes[counted], weights[counted]
    shares = np.bincount(codes, weights=weights, minlength=scores.shape[1])
    usable = [j for j in range(scores.shape[1]) if 0 < np.count_nonzero(codes == j) < codes.size]
    if not usable:
        return float("nan")
    if scores.shape[1] == 2:
        return float(roc_auc_score(codes == 1, scores[:, 1], sample_weight=weights))
    areas = [roc_auc_score(codes == j, scores[:, j], sample_weight=weights) for j in usable]
    return float(np.average(areas, weights=shares[usable]))


def class_scores(log_proba: np.ndarray) -> np.ndarray:
    """Return the log odds of each class against all others, shape (n_rows, n_classes).

    They rank rows like the probabilities, but still differ if probabilities round to 0 or 1. ``log_proba`` (n_rows,
    n_classes) are log probabilities.
    """
    scores = np.empty_like(log_proba)
    for j in range(log_proba.shape[1]):
        rest = np.delete(log_proba, j, axis=1)
        largest = rest.max(axis=1)
        scores[:, j] = log_proba[:, j] - largest - np.log(np.exp(rest - largest[:, None]).sum(axis=1))
    return scores


class Bin(NamedTuple):
    """Rows of similar predicted probability in a reliability diagram.

    ``predicted`` is their mean probability, ``observed`` the share of hits with Wilson's interval from ``low`` to
    ``high``, ``rows`` their number and ``weight`` the sum of their weights.
    """

    predicted: float
    observed: float
    rows: int
    low: float
    high: float
    weight: float


def reliability(
    probability: np.ndarray,
    hit: np.ndarray,
    weights: np.ndarray | None = None,
    n_bins: int | None = 10,
    confidence: float = 0.95,
) -> list[Bin]:
    """Return the non-empty bins of a reliability diagram of one class.

    Parameters
    ----------
    probability : (n_rows,) predicted probability of the class.
    hit : (n_rows,) whether a row is of the class.
    weights : (n_rows,) positive row weights; None if all are 1.
    n_bins : number of bins of equal width in [0, 1]; None for a bin for each distinct probability.
    confidence : confidence level of the intervals of the observed shares.
    """
    if n_bins is None:
        _, bins = np.unique(probability, return_inverse=True)
        n_bins = int(bins.max()) + 1
    else:
        bins = np.minimum((probability * n_bins).astype(int), n_bins - 1)
    return [bin_ for _, bin_ in by_group(probability, hit, bins, weights, confidence)]


def by_group(
    probability: np.ndarray,
    hit: np.ndarray,
    groups: np.ndarray,
    weights: np.ndarray | None = None,
    confidence: float = 0.95,
) -> list[tuple[int, Bin]]:
    """Return for each non-empty group of rows its number and its `Bin`: mean predicted probability and observed share
    of hits.

    Parameters
    ----------
    probability : (n_rows,) predicted probability of the class.
    hit : (n_rows,) whether a row is of the class.
    groups : (n_rows,) group number of each row, from 0.
    weights : (n_rows,) positive row weights; None if all are 1.
    confidence : confidence level of the interval of the observed share.
    """
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups))
    diagram = []
    for group, rows in enumerate(np.split(order, ends[:-1])):
        if rows.size:
            mine = None if weights is None else weights[rows]
            predicted = float(np.average(probability[rows], weights=mine))
            observed = float(np.average(hit[rows], weights=mine))
            weight = float(rows.size if mine is None else mine.sum())
            n_effective = effective_rows(mine, rows.size)
            low, high = wilson_interval(observed, n_effective, confidence)
            diagram.append((group, Bin(predicted, observed, rows.size, low, high, weight)))
    return diagram


def wilson_interval(share: float, n_rows: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's (1927) confidence interval (low, high) of a share observed in ``n_rows`` rows.

    Examples
    --------
    >>> low, high = wilson_interval(0.1, 20)
    >>> round(low, 4), round(high, 4)
    (0.0279, 0.301)
    """
    z = float(ndtri((1 + confidence) / 2))
    scale = 1 + z**2 / n_rows
    middle = (share + z**2 / (2 * n_rows)) / scale
    half = z * np.sqrt(share * (1 - share) / n_rows + z**2 / (4 * n_rows**2)) / scale
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def effective_rows(weights: np.ndarray | None, n_rows: int) -> float:
    """Return the effective sample size of weighted rows (Kish 1965): the number of rows of equal weight that are as
    informative.

    ``weights`` (n_rows,) are row weights; None if all are 1.
    """
    return float(n_rows if weights is None else weights.sum() ** 2 / max((weights**2).sum(), np.finfo(float).tiny))


def area_with_errors(score: np.ndarray, hit: np.ndarray, weights: np.ndarray | None = None) -> tuple[float, np.ndarray]:
    """Return the area under the ROC curve (ties count half), and its error terms, one for each row, shape (n_rows,).

    The squared terms add up to the variance of DeLong, DeLong & Clarke-Pearson (1988); squared differences of the terms
    of two models on the same rows add up to the variance of the difference of their areas. All are NaN if all rows are
    hits or all are misses.

    Parameters
    ----------
    score : (n_rows,) score by which rows are ranked.
    hit : (n_rows,) mask of the positive rows.
    weights : (n_rows,) row weights; None if all are 1.
    """
    weights = np.ones(score.size) if weights is None else weights
    _, at = np.unique(score, return_inverse=True)
    hits, misses = (np.bincount(at, np.where(side, weights, 0.0)) for side in (hit, ~hit))
    n_hits, n_misses = hits.sum(), misses.sum()
    if not (n_hits > 0 and n_misses > 0):
        return float("nan"), np.full(score.size, np.nan)
    below = (np.cumsum(misses) - misses / 2)[at] / n_misses
    above = (n_hits - np.cumsum(hits) + hits / 2)[at] / n_hits
    auc = float(np.average(below[hit], weights=weights[hit]))
    errors = (np.where(hit, below, above) - auc) * weights / np.where(hit, n_hits, n_misses)
    for side in (hit, ~hit):
        n_effective = effective_rows(weights[side], int(side.sum()))
        errors[side] *= np.sqrt(n_effective / max(n_effective - 1, 0.5))
    return auc, errors


def area_interval(
    auc: float, errors: np.ndarray, hit: np.ndarray, weights: np.ndarray | None, confidence: float
) -> tuple[float, float]:
    """Return Wilson's confidence interval (low, high) of an area under the ROC curve.

    The number of rows in Wilson's formula is that for which the binomial variance equals the variance of the area, but
    at least the number of rows of the rarer class. The latter is used if the ranking is perfect, so that few rows give
    a wide interval.

    Parameters
    ----------
    auc : the area.
    errors : (n_rows,) error terms, whose squares add up to the variance of the area; see `area_with_errors`.
    hit : (n_rows,) mask of the positive rows.
    weights : (n_rows,) row weights; None if all are 1.
    confidence : confidence level of the interval.
    """
    if not np.isfinite(auc):
        return float("nan"), float("nan")
    fewest = min(effective_rows(None if weights is None else weights[side], int(side.sum())) for side in (hit, ~hit))
    variance = float((errors**2).sum())
    return wilson_interval(auc, max(fewest, auc * (1 - auc) / variance) if variance > 0 else fewest, confidence)


def roc_points(
    score: np.ndarray, hit: np.ndarray, weights: np.ndarray | None = None, most: int = 200
) -> list[tuple[float, float]]:
    """Return about ``most`` points (false positive rate, true positive rate) of the ROC curve, in ascending order;
    empty if all rows are of one class.

    ``score`` (n_rows,) ranks the rows, ``hit`` (n_rows,) is a mask of the positive ones, and ``weights`` (n_rows,) are
    row weights; None if all are 1.
    """
    if not 0 < np.count_nonzero(hit) < hit.size:
        return []
    false_positive, true_positive, _ = roc_curve(hit, score, sample_weight=weights, drop_intermediate=True)
    if false_positive.size > most:
        shown = np.unique(np.linspace(0, false_positive.size - 1, most).astype(int))
        false_positive, true_positive = false_positive[shown], true_positive[shown]
    return list(zip(false_positive.tolist(), true_positive.tolist(), strict=True))
