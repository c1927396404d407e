"""One common factor on all feature weights, so that probabilities are not overconfident."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

_MOST_ROWS = 50_000  # rows are enough to find one number; more are sampled at equal steps
_LEAST_FACTOR = 1e-3


def shrinkage(
    evidence: np.ndarray, log_prior: np.ndarray, class_codes: np.ndarray, weights: np.ndarray | None
) -> float:
    """Factor g in (0, 1] that minimises the log loss of softmax(log prior + g * evidence) over the rows.

    Features that repeat each other are counted several times by naive Bayes, also after averaging; one factor takes
    back what they have in common. It never exceeds 1, so that weights stay within [0, 1]. The loss is convex in g.

    Parameters
    ----------
    evidence : (n_rows, n_classes) weighted log probabilities of the levels, summed over the features, in nats.
    log_prior : (n_classes,); class_codes : (n_rows,); weights : (n_rows,) row weights or None.
    """
    true = evidence[np.arange(len(class_codes)), class_codes]

    def loss(factor: float) -> float:
        joint = log_prior + factor * evidence
        largest = joint.max(axis=1)
        normaliser = largest + np.log(np.exp(joint - largest[:, None]).sum(axis=1))
        return float(np.average(normaliser - log_prior[class_codes] - factor * true, weights=weights))

    best = minimize_scalar(loss, bounds=(_LEAST_FACTOR, 1.0), method="bounded", options={"xatol": 1e-6})
    return 1.0 if loss(1.0) <= best.fun else float(best.x)


def sampled_rows(n_rows: int) -> slice:
    """Rows at equal steps, at most about 50,000."""
    return slice(None, None, max(1, -(-n_rows // _MOST_ROWS)))
