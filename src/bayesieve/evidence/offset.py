"""Offsets: a log joint known before the fit, to which all contributions are added."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from bayesieve.counts import CodedTable
from bayesieve.counts.contingency import Shrinkage, log_probabilities

OFFSET = "offset"
"""Name of the column of `Rows` that holds the offset, shape (n_rows, n_classes)."""
_SMOOTHING_OF_GAPS = Shrinkage(
    4.0, fades=False
)  # strong, because most of the many patterns of missing levels have few rows
_DIGITS = 7  # decimals of an intercept that is fitted with offsets


def offset_of_gaps(coded: CodedTable, features: Sequence[int], rows: np.ndarray) -> np.ndarray:
    """Return an offset for rows in which some features have no level, shape (n_rows, n_classes) in nats.

    The offset is the log joint given only which of the features have no level. Contributions of values without a level
    are neutral. An offset in the fit, rather than a correction after the fit, keeps such values from affecting the
    intercept and other features.

    Parameters
    ----------
    coded : rows with classes.
    features : positions of the features that have no level in some rows.
    rows : positions of the rows.
    """
    gaps = coded.codes_at(features, rows) >= coded.n_levels[features][:, None]
    _, pattern = np.unique(np.packbits(gaps, axis=0), axis=1, return_inverse=True)
    weights = None if coded.weights is None else coded.weights[rows]
    at = pattern.ravel() * coded.n_classes + np.asarray(coded.class_codes)[rows].astype(np.int64)
    table = np.bincount(at, weights, (int(pattern.max()) + 1) * coded.n_classes).reshape(-1, coded.n_classes)
    logs = log_probabilities(table, float(table.sum()), _SMOOTHING_OF_GAPS)
    offset: np.ndarray = (logs - logs.mean(axis=1, keepdims=True))[pattern.ravel()]
    return offset


def intercept_for(offset: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return an intercept, (n_classes,) in nats: with log joint = log class shares + ``offset`` + intercept, the mean
    probabilities of the rows equal their class shares.

    Parameters
    ----------
    offset : (n_rows, n_classes) log joint of each row without log class shares and intercept.
    classes : (n_rows,) positions of the true classes.
    weights : (n_rows,) row weights.
    """
    shares = np.bincount(classes, weights, offset.shape[1]) / weights.sum()
    present = np.flatnonzero(shares)
    codes, joint, keep = np.searchsorted(present, classes), offset[:, present] + np.log(shares[present]), weights > 0
    codes, joint, weights = codes[keep], joint[keep], weights[keep] / weights.sum()
    rows = np.bincount(codes, weights, present.size)

    def log_loss(intercept: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the mean log loss of the rows in nats, and its gradient by the intercept of the classes that have
        rows.
        """
        logs = log_softmax(joint + intercept, axis=1)
        return float(-(weights @ logs[np.arange(codes.size), codes])), weights @ np.exp(logs) - rows

    best = minimize(log_loss, np.zeros(present.size), jac=True, method="BFGS")
    intercept = np.zeros(offset.shape[1])
    intercept[present] = best.x - best.x.mean()
    return np.round(intercept, _DIGITS)  # rounding, so that the result does not depend on the order of rows
