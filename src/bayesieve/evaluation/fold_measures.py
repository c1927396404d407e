"""Figures of merit of one method on the test rows of one fold."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.statistics import metrics

MEASURES = ("accuracy", "auc", "compression_rate", "log_loss", "brier", "balanced_accuracy")
"""Names of the figures of merit; all but `LOWER_IS_BETTER` are the better the higher they are."""
LOWER_IS_BETTER = frozenset(("log_loss", "brier"))

_LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
_SUM_TOLERANCE = 1e-3  # models in single precision, with many classes, miss 1 by less
_LOWEST = -1e300  # log of a probability of 0: finite, so that scores can be compared


def log_probabilities(model: Any, X: Any, classes: np.ndarray, n_train: int) -> np.ndarray:
    """Log probabilities (n_rows, n_classes) of all ``classes`` (sorted) from a classifier that may know fewer.

    A class that no training row has gets the probability of half a row, as `out_of_fold_log_proba` gives it.

    Raises
    ------
    ValueError
        If the classifier predicts what are no probabilities, or not one column for each of its classes, or has classes
        that the data set has not.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # probabilities of 0, or below it, are dealt with here
        if hasattr(model, "predict_log_proba"):
            found = np.asarray(model.predict_log_proba(X), dtype=float)
        else:
            found = np.log(np.asarray(model.predict_proba(X), dtype=float))
    own = np.asarray(model.classes_)
    known = np.searchsorted(classes, own)
    if not np.array_equal(classes[np.minimum(known, classes.size - 1)], own):
        raise ValueError(f"The model knows classes that the data set has not: {own.tolist()}.")
    if found.ndim != 2 or found.shape[1] != known.size:
        raise ValueError(f"Predicted probabilities have shape {found.shape}, not one column for each class.")
    if np.isnan(found).any():
        raise ValueError("Predicted probabilities are not numbers (NaN), or negative.")
    sums = np.exp(np.minimum(found, 99.0)).sum(axis=1)
    if found.size and np.abs(sums - 1.0).max() > _SUM_TOLERANCE:
        worst = float(sums[np.argmax(np.abs(sums - 1.0))])
        raise ValueError(f"Predicted probabilities of a row add up to {worst:.4g}, not to 1.")
    log_proba = np.full((len(found), classes.size), np.log(0.5 / n_train))
    log_proba[:, known] = np.maximum(found, _LOWEST)
    return log_proba


def fold_measures(
    log_proba: np.ndarray, codes: np.ndarray, train_counts: np.ndarray, weights: np.ndarray | None = None
) -> dict[str, float]:
    """All figures of merit on the test rows of a fold.

    Parameters
    ----------
    log_proba : (n_rows, n_classes); the predicted class is the first one of the largest probability.
    codes : (n_rows,) true class of each row.
    train_counts : (n_classes,) rows, or their weight, of each class in training.
    weights : (n_rows,) row weights, or None.

    Returns
    -------
    dict by names in `MEASURES`. ``log_loss`` (nats a row) takes no probability as lower than 2.2e-16, as scikit-learn
    does, so that methods whose probabilities saturate and those that keep logarithms are treated alike.
    ``compression_rate`` is 1 - log loss / log loss of the null model (Boulle 2007, section 5.2), which predicts the
    class shares of the training rows on these same test rows; in folds that are stratified exactly, that is H(Y).
    ``auc`` is NaN where all rows are of one class.
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
    """Mean over the classes present of the share of their rows (or weight) that is predicted right."""
    every = np.ones(codes.size) if weights is None else weights
    total = np.bincount(codes, weights=every, minlength=log_proba.shape[1])
    right = np.bincount(codes, weights=every * (log_proba.argmax(axis=1) == codes), minlength=log_proba.shape[1])
    present = total > 0
    return float((right[present] / total[present]).mean())
