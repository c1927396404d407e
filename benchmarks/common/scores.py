"""Performance measures of predicted probabilities, by scikit-learn and plain formulas, for all classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

_SMALLEST = 1e-15  # a probability of 0 for the true class costs every classifier the same finite loss


def scores(proba: np.ndarray, classes: Any, truth: Any) -> dict[str, float]:
    """AUC (one against rest, weighted by class share), log loss in nats, accuracy and compression rate.

    Parameters
    ----------
    proba : probabilities, shape (n_rows, n_classes).
    classes : labels of the columns of ``proba``.
    truth : labels of the rows, all among ``classes``.
    """
    labels, codes = np.unique(np.asarray(truth).astype(str), return_inverse=True)
    column = {str(label): j for j, label in enumerate(classes)}
    columns = np.array([column[label] for label in labels])
    share = np.bincount(codes) / codes.size
    areas = [roc_auc_score(codes == at, proba[:, j]) for at, j in enumerate(columns)]
    loss = float(-np.log(np.maximum(proba[np.arange(codes.size), columns[codes]], _SMALLEST)).mean())
    entropy = float(-(share * np.log(share)).sum())
    return {
        "auc": float(np.average(areas, weights=share)),
        "log loss": loss,
        "accuracy": float((proba.argmax(axis=1) == columns[codes]).mean()),
        "compression": 1.0 - loss / entropy,
    }


def in_words(figures: Mapping[str, float]) -> str:
    """The measures in one line."""
    return ", ".join(f"{name} {value:.4f}" for name, value in figures.items())
