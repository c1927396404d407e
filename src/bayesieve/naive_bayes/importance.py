"""Importance of features: their share of the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bayesieve.naive_bayes.discrete import DiscreteNB


def importances_of(predictor: DiscreteNB) -> np.ndarray:
    """The importances of the features of a predictor: of its evidence where that was fitted, else of its counts."""
    counts, class_counts = predictor.feature_count_, predictor.class_count_
    if predictor.fitted_:
        return _importances_of_fitted(predictor.evidence_, predictor.evidence_count_, class_counts)
    return importances(counts, class_counts, predictor.feature_weights_)


def importances(tables: list[np.ndarray], class_counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean absolute evidence of each feature, as shares that add up to 1 (all 0 if no feature has weight).

    The evidence of level i for class j is w_k (t_ij - mean_i t_ij), t_ij = log P(i|j) / P(i|not j): the Shapley value
    of the feature in a naive Bayes model, as Khiops 11 defines it. It is averaged over levels and classes by their
    frequency.

    Parameters
    ----------
    tables : per feature, (n_levels, n_classes) counts.
    class_counts : (n_classes,) rows (or weight) of each class.
    weights : (n_features,) feature weights.
    """
    result = np.zeros(len(tables))
    used = [k for k in np.flatnonzero(weights).tolist() if len(tables[k]) > 1 and tables[k].any()]
    if not used:
        return result
    total = class_counts.sum()
    smoothing = 1.0 / (total + 1.0)
    counts = np.concatenate([tables[k] for k in used])
    n_levels = np.array([len(tables[k]) for k in used])
    starts = np.cumsum(n_levels) - n_levels
    spare = (counts.shape[1] - 1) * smoothing

    def of_levels(per_feature: np.ndarray) -> np.ndarray:
        return np.repeat(per_feature, n_levels, axis=0)

    rows = counts.sum(axis=1, keepdims=True)
    by_class, all_rows = np.add.reduceat(counts, starts), np.add.reduceat(rows, starts)
    inside = (counts + smoothing) / of_levels(by_class + n_levels[:, None] * smoothing)
    outside = (rows - counts + spare) / of_levels(all_rows - by_class + n_levels[:, None] * spare)
    frequency = rows / of_levels(all_rows)
    evidence = np.log(inside / outside)
    evidence -= of_levels(np.add.reduceat(frequency * evidence, starts))
    result[used] = weights[used] * (np.add.reduceat(frequency * np.abs(evidence), starts) @ (class_counts / total))
    return result / result.sum() if result.sum() > 0 else result


def _importances_of_fitted(
    evidence: list[np.ndarray], counts: list[np.ndarray], class_counts: np.ndarray
) -> np.ndarray:
    """As `importances`, where the evidence of level i for class j is e_ij, less its mean over the other classes.

    Parameters
    ----------
    evidence : per feature, (n_levels, n_classes) nats; all 0 for one that is not used.
    counts : per feature, (n_levels, n_classes) rows (or weight).
    class_counts : (n_classes,) rows (or weight) of each class.
    """
    shares = class_counts / class_counts.sum()
    result = np.zeros(len(evidence))
    for k in range(len(evidence)):
        against = (evidence[k] @ shares)[:, None] - evidence[k] * shares
        away = evidence[k] - against / np.maximum(1.0 - shares, np.finfo(float).tiny)
        rows = counts[k].sum(axis=1)
        frequency = rows / max(rows.sum(), np.finfo(float).tiny)
        result[k] = frequency @ np.abs(away - frequency @ away) @ shares
    return result / result.sum() if result.sum() > 0 else result
