"""Performance measures of predicted probabilities, from (n_rows, n_classes) log probabilities and class codes."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve

MEASURES = ("accuracy", "auc", "compression_rate", "log_loss", "brier", "balanced_accuracy")
"""Names of the performance measures; higher is better for all but `LOWER_IS_BETTER`."""
LOWER_IS_BETTER = frozenset(("log_loss", "brier"))


def accuracy(log_proba: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Share of rows whose most probable class is the true one."""
    return float(np.average(log_proba.argmax(axis=1) == codes, weights=weights))


def log_loss(log_proba: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Mean of -log P(true class), in nats per row."""
    return float(np.average(-log_proba[np.arange(codes.size), codes], weights=weights))


def class_entropy(codes: np.ndarray, n_classes: int, weights: np.ndarray | None = None) -> float:
    """Entropy H(Y) of the class shares, in nats: the log loss of a model that predicts these shares."""
    share = np.bincount(codes, weights=weights, minlength=n_classes)
    share = share[share > 0] / share.sum()
    return float(-(share * np.log(share)).sum())


def compression_rate(loss: float, entropy: float) -> float:
    """CR = 1 - mean log loss / H(Y) (Boulle 2007, section 5.2): 0 for the class shares, 1 for certain and correct."""
    return 1.0 - loss / entropy if entropy > 0 else 0.0


def brier_score(log_proba: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Mean over rows of the squared errors of all class probabilities, sum_c (T_c - P_c)^2."""
    error = np.exp(log_proba)
    error[np.arange(codes.size), codes] -= 1.0
    return float(np.average((error**2).sum(axis=1), weights=weights))


def auc(log_proba: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> float:
    """`area` by `class_scores`, which differ even if probabilities saturate."""
    return area(class_scores(log_proba), codes, weights)


def area(scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Area under the ROC curve by the scores (n_rows, n_classes) of the classes; for several classes, one-against-rest
    areas weighted by class share (Provost & Domingos 2001), as `roc_auc_score` with ``multi_class="ovr"``.

    Classes without rows, or with all of them, are left out; NaN if none is left.
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
    """Scores that order rows as the class probabilities do, but do not saturate: log P(j) - log P(not j)."""
    scores = np.empty_like(log_proba)
    for j in range(log_proba.shape[1]):
        rest = np.delete(log_proba, j, axis=1)
        largest = rest.max(axis=1)
        scores[:, j] = log_proba[:, j] - largest - np.log(np.exp(rest - largest[:, None]).sum(axis=1))
    return scores


def reliability(
    probability: np.ndarray, hit: np.ndarray, weights: np.ndarray | None = None, n_bins: int = 10
) -> list[tuple[float, float, int]]:
    """(mean prediction, observed share, rows) of each non-empty bin of equal width; weights are positive."""
    bins = np.minimum((probability * n_bins).astype(int), n_bins - 1)
    diagram = []
    for b in range(n_bins):
        rows = np.flatnonzero(bins == b)
        if rows.size:
            mine = None if weights is None else weights[rows]
            predicted = float(np.average(probability[rows], weights=mine))
            diagram.append((predicted, float(np.average(hit[rows], weights=mine)), rows.size))
    return diagram


def roc_points(
    score: np.ndarray, hit: np.ndarray, weights: np.ndarray | None = None, most: int = 200
) -> list[tuple[float, float]]:
    """(false positive rate, true positive rate) along the curve, thinned to about ``most`` points; empty if all rows
    are hits or all are misses.
    """
    if not 0 < np.count_nonzero(hit) < hit.size:
        return []
    false_positive, true_positive, _ = roc_curve(hit, score, sample_weight=weights, drop_intermediate=True)
    if false_positive.size > most:
        shown = np.unique(np.linspace(0, false_positive.size - 1, most).astype(int))
        false_positive, true_positive = false_positive[shown], true_positive[shown]
    return list(zip(false_positive.tolist(), true_positive.tolist(), strict=True))


def confusion(log_proba: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(n_classes, n_classes) rows by true class and predicted class."""
    return confusion_matrix(codes, log_proba.argmax(axis=1), labels=np.arange(log_proba.shape[1]))
