"""Conversion of log joint probabilities to probabilities, and of variances between contributions and logits.

There is one logit for two classes, the log odds of the second class; otherwise one for each class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.parts import is_number


def log_probabilities(joint: np.ndarray) -> np.ndarray:
    """Return the log probabilities of the classes, shape (n_rows, n_classes). The log joint probabilities in ``joint``,
    of the same shape, are overwritten.
    """
    joint -= joint.max(axis=1, keepdims=True)
    joint -= np.log(np.exp(joint).sum(axis=1, keepdims=True))
    return joint


def probabilities(joint: np.ndarray) -> np.ndarray:
    """Return the probabilities of the classes, shape (n_rows, n_classes). The log joint probabilities in ``joint``, of
    the same shape, are overwritten.
    """
    joint -= joint.max(axis=1, keepdims=True)
    np.exp(joint, out=joint)
    joint /= joint.sum(axis=1, keepdims=True)
    return joint


def intercept_variances(class_counts: np.ndarray) -> np.ndarray:
    """Return the sampling variances of the logits of an intercept, shape (n_logits,) in squared nats. ``class_counts``
    (n_classes,) are the rows of each class to which it was fitted.
    """
    rows, others = np.maximum(class_counts, 0.5), np.maximum(class_counts.sum() - class_counts, 0.5)
    variances: np.ndarray = 1.0 / rows + 1.0 / others
    return variances[:1] if rows.size == 2 else variances


def logit_variances(contribution_variances: np.ndarray) -> np.ndarray:
    """Return the variances of the logits of each cell, shape (n_cells, n_logits), in squared nats.

    ``contribution_variances`` (n_cells, n_classes) are the variances of its contributions to the classes. Contributions
    are centred over the classes; before centring they are taken as independent. For two classes, the logit is the
    contribution to the second class minus that to the first.
    """
    n_classes = contribution_variances.shape[1]
    if n_classes == 2:
        return 4.0 * contribution_variances[:, :1]
    share = 1.0 / n_classes
    total = contribution_variances.sum(axis=1, keepdims=True) / (1.0 - share)
    return np.maximum(contribution_variances - share**2 * total, 0.0) / (1.0 - 2.0 * share)


def check_level(level: Any) -> float:
    """Return a confidence level as a float. Raise ValueError unless it is above 0 and below 1."""
    if not (is_number(level) and 0.0 < level < 1.0):
        raise ValueError(f"level must be a number above 0 and below 1, such as 0.9, got {level!r:.80}.")
    return float(level)
