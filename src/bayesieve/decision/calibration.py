"""Whether predicted probabilities can be trusted: reliability, and what the Brier score is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesieve.decision.benefits import column_of_numbers
from bayesieve.short_repr import ShortRepr
from bayesieve.statistics import metrics
from bayesieve.table import as_sample_weight, as_target


@dataclass(frozen=True, repr=False)
class Calibration(ShortRepr):
    """Predicted probabilities of one class against the share of rows that turned out to be of it.

    Attributes
    ----------
    predicted, observed : float arrays, shape (n_bins,)
        Mean predicted probability, and share of the class, in every bin that has rows.
    low, high : float arrays, shape (n_bins,)
        Wilson's confidence interval of ``observed``.
    count : int array, shape (n_bins,)
        Rows.
    brier : float
        Mean of (P(class | x) - 1 if the row is of the class else 0)^2.
    calibration : float
        Mean over rows of (predicted - observed)^2 in their bin, 0 if probabilities can be taken at their word.
    refinement : float
        Mean over rows of observed (1 - observed), 0 if every bin holds rows of one kind only. ``brier`` is
        ``calibration + refinement`` plus what predictions within a bin differ by (DeGroot & Fienberg 1983).
    expected_calibration_error : float
        Mean over rows of \\|predicted - observed\\|.
    """

    predicted: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    count: np.ndarray
    brier: float
    calibration: float
    refinement: float
    expected_calibration_error: float


def calibration_summary(
    y: Any,
    probability: Any,
    *,
    pos_label: Any = None,
    n_bins: int | None = 10,
    confidence: float = 0.95,
    sample_weight: Any = None,
) -> Calibration:
    """Reliability diagram, expected calibration error, and the Brier score split into calibration and refinement.

    Parameters
    ----------
    y : array-like, shape (n_rows,)
        True classes.
    probability : array-like, shape (n_rows,)
        Predicted probability of the class ``pos_label``, in [0, 1]; best of rows that the model was not trained on.
    pos_label : label, optional
        By default the second of two classes.
    n_bins : int or None, default=10
        Bins of equal width in [0, 1]. None: one for each distinct probability, for models that predict few.
    confidence : float, default=0.95
        Level of the interval in each bin.
    sample_weight : array-like, shape (n_rows,), optional
        Times that each row counts.

    Returns
    -------
    Calibration

    Raises
    ------
    ValueError
        If shapes do not fit, a probability is missing or outside [0, 1], or the class is unknown.

    References
    ----------
    DeGroot and Fienberg (1983), The comparison and evaluation of forecasters, The Statistician 32.

    Examples
    --------
    >>> from bayesieve import calibration_summary
    >>> summary = calibration_summary([0, 1, 1, 1], [0.2, 0.2, 0.8, 0.8], n_bins=None)
    >>> summary.observed.tolist(), round(summary.calibration, 3), round(summary.refinement, 3), round(summary.brier, 3)
    ([0.5, 1.0], 0.065, 0.125, 0.19)
    """
    if n_bins is not None and (not isinstance(n_bins, (int, np.integer)) or n_bins < 1):
        raise ValueError(f"n_bins must be a whole number, at least 1, or None, got {n_bins!r:.80}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r:.80}.")
    hit = positive_rows(y, pos_label)
    predicted = column_of_numbers(probability, "probability", hit.size)
    outside = ~((predicted >= 0) & (predicted <= 1))
    if outside.any():
        row = int(outside.argmax())
        raise ValueError(f"probability is {predicted[row]:g} in row {row}; it must lie in [0, 1].")
    weights = as_sample_weight(sample_weight, hit.size)
    if weights is not None:
        rows = weights > 0
        predicted, hit, weights = predicted[rows], hit[rows], weights[rows]
    bins = metrics.reliability(predicted, hit, weights, n_bins, confidence)
    means, shares, count, low, high, weight = (np.array(part) for part in zip(*bins, strict=True))
    of_rows = weight / weight.sum()
    return Calibration(
        predicted=means,
        observed=shares,
        low=low,
        high=high,
        count=count,
        brier=float(np.average((predicted - hit) ** 2, weights=weights)),
        calibration=float(of_rows @ (means - shares) ** 2),
        refinement=float(of_rows @ (shares * (1 - shares))),
        expected_calibration_error=float(of_rows @ np.abs(means - shares)),
    )


def positive_rows(y: Any, pos_label: Any) -> np.ndarray:
    """Whether each row is of the class; ValueError if it is not one of those of ``y``."""
    target = as_target(y)
    labels = target.classes.tolist()
    if pos_label is None:
        if target.n_classes != 2:
            raise ValueError(f"y has {target.n_classes} classes; name the positive one as pos_label.")
        pos_label = labels[1]
    if pos_label not in labels:
        raise ValueError(f"pos_label is {pos_label!r}, which no row of y has.")
    return np.asarray(target.codes == labels.index(pos_label))
