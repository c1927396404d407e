"""How much of the evidence comes from each feature."""

from __future__ import annotations

import numpy as np


def importances(tables: list[np.ndarray], class_counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean absolute evidence of each feature, in shares that add up to 1 (all 0 when no feature has weight).

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
    total = class_counts.sum()
    smoothing = 1.0 / (total + 1.0)
    share = class_counts / total
    for k, table in enumerate(tables):
        if weights[k] == 0.0 or len(table) < 2:
            continue
        inside = (table + smoothing) / (table.sum(axis=0) + len(table) * smoothing)
        others = table.sum(axis=1, keepdims=True) - table
        n_others = table.sum() - table.sum(axis=0)
        spare = (table.shape[1] - 1) * smoothing
        outside = (others + spare) / (n_others + len(table) * spare)
        evidence = np.log(inside / outside)
        frequency = table.sum(axis=1) / table.sum()
        evidence = evidence - frequency @ evidence
        result[k] = weights[k] * frequency @ np.abs(evidence) @ share
    return result / result.sum() if result.sum() > 0 else result
