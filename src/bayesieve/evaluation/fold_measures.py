"""Performance measures for one method on one test fold."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.statistics import metrics

_LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
_SUM_TOLERANCE = 1e-3  # more than the rounding of single-precision models with many classes
_LOWEST = -1e300  # log of a probability of 0: finite, so that scores can be compared


def log_probabilities(model: Any, X: Any, classes: np.ndarray, n_train: int) -> np.ndarray:
    """Log probabilities (n_rows, n_classes) of all ``classes`` (sorted) from a classifier that may know fewer.

    A class without training rows gets the probability of half a row, as in `out_of_fold_log_proba`. A ValueError is
    raised if probabilities or classes are invalid.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # probabilities <= 0 are handled below
        if hasattr(model, "predict_log_proba"):
            predicted = np.asarray(model.predict_log_proba(X), dtype=float)
        else:
            predicted = np.log(np.asarray(model.predict_proba(X), dtype=float))
    own = np.asarray(model.classes_)
    known = np.searchsorted(classes, own)
    if not np.array_equal(classes[np.minimum(known, classes.size - 1)], own):
        raise ValueError(f"The model has classes that the data set lacks: {own.tolist()}.")
    if predicted.ndim != 2 or predicted.shape[1] != known.size:
        raise ValueError(f"Predicted probabilities have shape {predicted.shape}, not one column for each class.")
    if np.isnan(predicted).any():
        raise ValueError("Predicted probabilities are not numbers (NaN), or negative.")
    sums = np.exp(np.minimum(predicted, 99.0)).sum(axis=1)
    if predicted.size and np.abs(sums - 1.0).max() > _SUM_TOLERANCE:
        worst = float(sums[np.argmax(np.abs(sums - 1.0))])
        raise ValueError(f"Predicted probabilities of a row add up to {worst:.4g}, not to 1.")
    log_proba = np.full((len(predicted), classes.size), np.log(0.5 / n_train))
    log_proba[:, known] = np.maximum(predicted, _LOWEST)
    return log_proba


def fold_measures(
    log_proba: np.ndarray, codes: np.ndarray, train_counts: np.ndarray, weights: np.ndarray | None = None
) -> dict[str, float]:
    """All performance measures on the test rows of a fold.

    Parameters
    ----------
    log_proba : (n_rows, n_classes); the predicted class is the first one with the largest probability.
    codes : (n_rows,) true class of each row.
    train_counts : (n_classes,) rows, or their weight, of each class in training.
    weights : (n_rows,) row weights, or None.

    Returns
    -------
    dict by names in `MEASURES`. ``log_loss`` (nats a row) clips probabilities at 2.2e-16, as scikit-learn does, so that
    methods with saturated probabilities are treated like those with logarithms. ``compression_rate`` is 1 - log loss /
    log loss of the null model (Boulle 2007, section 5.2), which predicts the class shares of the training rows; with
    exactly stratified folds, its log loss is H(Y). ``auc`` is NaN if all rows are of one class.
    """
    clipped = np.maximum(log_proba, np.log(_LEAST_PROBABILITY))
    loss = metrics.log_loss(clipped, codes, weights)
    return {
        "accuracy": metrics.accuracy(log_proba, codes, weights),
        "auc": metrics.auc(log_proba, codes, weights),
        "compression_rate": metrics.compression_rate(loss, _null_loss(codes, train_counts, weights)),
        "log_loss": loss,
        "brier": metrics.brier_score(log_proba, codes, weights),
        "balanced_accuracy": balanced_accuracy(log_proba, codes, weights),
    }


def _null_loss(codes: np.ndarray, train_counts: np.ndarray, weights: np.ndarray | None) -> float:
    shares = np.where(train_counts > 0, train_counts, 0.5) / train_counts.sum()
    return float(np.average(-np.log(shares[codes]), weights=weights))


def balanced_accuracy(log_proba: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Mean recall over the classes present."""
    every = np.ones(codes.size) if weights is None else weights
    total = np.bincount(codes, weights=every, minlength=log_proba.shape[1])
    right = np.bincount(codes, weights=every * (log_proba.argmax(axis=1) == codes), minlength=log_proba.shape[1])
    present = total > 0
    return float((right[present] / total[present]).mean())
