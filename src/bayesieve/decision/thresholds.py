"""The best threshold, or the best weights of classes, by any measure of the confusion matrix: every one that can differ
is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Measure = Callable[[np.ndarray], np.ndarray]
"""From confusion matrices (n, true class, predicted class) to values (n,); higher is better."""

_BLOCK = 2**14  # confusion matrices made at once, so that they stay in the cache
_MOST_ROUNDS = 100
_TOL = 1e-12


def accuracy(confusion: np.ndarray) -> np.ndarray:
    """Rows predicted rightly over all rows."""
    return _rightly(confusion).sum(axis=1) / confusion.sum(axis=(1, 2))


def balanced_accuracy(confusion: np.ndarray) -> np.ndarray:
    """Mean recall of the classes; 1 minus the balanced error rate."""
    rows = confusion[0].sum(axis=1)  # every matrix has the same rows of each class
    there = rows > 0
    return (_rightly(confusion)[:, there] / rows[there]).mean(axis=1)


def f1_macro(confusion: np.ndarray) -> np.ndarray:
    """Mean over classes of 2 TP / (2 TP + FP + FN)."""
    return _f1(confusion).mean(axis=1)


def f1(confusion: np.ndarray) -> np.ndarray:
    """2 TP / (2 TP + FP + FN) of the second class."""
    return _f1(confusion)[:, 1]


def jaccard(confusion: np.ndarray) -> np.ndarray:
    """TP / (TP + FP + FN) of the second class."""
    share = f1(confusion)
    return share / (2 - share)


def matthews_corrcoef(confusion: np.ndarray) -> np.ndarray:
    """Matthews' correlation, for several classes as Gorodkin (2004); 0 where all rows are predicted as one class."""
    true, predicted = confusion.sum(axis=2), confusion.sum(axis=1)
    total = true.sum(axis=1)
    product = _rightly(confusion).sum(axis=1) * total - (true * predicted).sum(axis=1)
    spread = (total**2 - (predicted**2).sum(axis=1)) * (total**2 - (true**2).sum(axis=1))
    return np.divide(product, np.sqrt(np.maximum(spread, 0)), out=np.zeros_like(product), where=spread > 0)


MEASURES: dict[str, Measure] = {
    measure.__name__: measure for measure in (accuracy, balanced_accuracy, f1, f1_macro, jaccard, matthews_corrcoef)
}
OF_TWO_CLASSES = ("f1", "jaccard")


def best_threshold(
    score: np.ndarray, positive: np.ndarray, measure: Measure, weights: np.ndarray | None = None
) -> tuple[float, float]:
    """The threshold of the largest measure, where rows of at least this score are positive, and its value.

    One sort, then every distinct cut; of cuts of the same value, that whose threshold is closest to 1/2. Thresholds lie
    halfway between neighbouring scores, 0 if all rows are positive, and just above 1 if none is.

    Parameters
    ----------
    score : float array, shape (n_rows,), in [0, 1]
    positive : bool array, shape (n_rows,)
    """
    order = np.argsort(score)
    score, positive = score[order], positive[order]
    counted = np.ones(score.size) if weights is None else weights[order]
    # Rows below a cut are negative; a cut lies before the first row, between different scores, or after the last.
    cuts = np.r_[0, np.flatnonzero(score[1:] != score[:-1]) + 1, score.size]
    below = np.stack([np.r_[0.0, np.cumsum(counted * of_class)][cuts] for of_class in (~positive, positive)])
    total = below[:, -1:]
    values = np.empty(cuts.size)
    for first in range(0, cuts.size, _BLOCK):
        part = below[:, first : first + _BLOCK]
        # Entries of the same cell are neighbours in memory, so that sums over classes are fast.
        confusion = np.stack([part, total - part], axis=1).transpose(2, 0, 1)
        values[first : first + _BLOCK] = _checked(measure(confusion), part.shape[1])
    best = np.flatnonzero(values == values.max())
    low = np.r_[0.0, score][cuts[best]]
    high = np.r_[score, np.nextafter(1.0, 2.0)][cuts[best]]
    middle = low + (high - low) / 2
    threshold = np.where(middle > low, middle, high)  # neighbouring floats have no middle
    threshold[cuts[best] == 0], threshold[cuts[best] == score.size] = 0.0, np.nextafter(1.0, 2.0)
    chosen = int(np.abs(threshold - 0.5).argmin())
    return float(threshold[chosen]), float(values[best[chosen]])


def best_class_weights(
    probability: np.ndarray, codes: np.ndarray, measure: Measure, weights: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """Weights of the classes, with a mean of 1, so that argmax_j weight_j P(j | x) has a large measure, and its value.

    One weight after the other takes its best value, found in one sort, until none improves the measure: a local
    optimum, the better of those from equal weights and from the inverse shares of the classes.
    """
    n_classes = probability.shape[1]
    counted = np.ones(codes.size) if weights is None else weights
    with np.errstate(divide="ignore"):
        logs = np.log(probability)
        shares = np.bincount(codes, counted, minlength=n_classes)
    starts = (np.zeros(n_classes), -np.log(np.where(shares > 0, shares, shares.sum())))
    ascents = [_ascent(logs, codes, counted, measure, start) for start in starts]
    log_weights, value = max(ascents, key=lambda ascent: ascent[1])
    scaled = np.exp(log_weights - log_weights.max())
    return scaled / scaled.mean(), value


def confusion_of(codes: np.ndarray, predicted: np.ndarray, n_classes: int, weights: np.ndarray) -> np.ndarray:
    """Weight of the rows of each true class and predicted class, (n_classes, n_classes)."""
    cells = np.bincount(codes * n_classes + predicted, weights, minlength=n_classes**2)
    return cells.reshape(n_classes, n_classes)


def _ascent(
    logs: np.ndarray, codes: np.ndarray, counted: np.ndarray, measure: Measure, start: np.ndarray
) -> tuple[np.ndarray, float]:
    n_classes = logs.shape[1]
    log_weights = start.copy()
    predicted = (logs + log_weights).argmax(axis=1)
    value = float(_checked(measure(confusion_of(codes, predicted, n_classes, counted)[None]), 1)[0])
    for _ in range(_MOST_ROUNDS):
        before = value
        for j in range(n_classes):
            log_weight, reached = _best_weight_of(j, logs, log_weights, codes, counted, measure)
            if reached > value + _TOL:
                log_weights[j], value = log_weight, reached
        if value <= before + _TOL:
            break
    return log_weights, value


def _best_weight_of(
    j: int, logs: np.ndarray, log_weights: np.ndarray, codes: np.ndarray, counted: np.ndarray, measure: Measure
) -> tuple[float, float]:
    """The best log weight of class j given the others, and the measure that it reaches."""
    others = logs + log_weights
    others[:, j] = -np.inf
    rival = others.argmax(axis=1)
    with np.errstate(invalid="ignore"):
        needed = others[np.arange(codes.size), rival] - logs[:, j]  # rows with less are predicted as j
    order = np.argsort(needed)
    needed, rival, codes, counted = needed[order], rival[order], codes[order], counted[order]
    cuts = np.r_[0, np.flatnonzero(needed[1:] > needed[:-1]) + 1, needed.size]
    cuts = cuts[(np.r_[-np.inf, needed][cuts] < np.inf) & (np.r_[needed, np.inf][cuts] > -np.inf)]
    n_classes = logs.shape[1]
    confusion = confusion_of(codes[cuts[0] :], rival[cuts[0] :], n_classes, counted[cuts[0] :])
    confusion[:, j] += np.bincount(codes[: cuts[0]], counted[: cuts[0]], minlength=n_classes)
    values = [_checked(measure(confusion[None]), 1)]
    step = max(256, 2**18 // n_classes**2)
    for first in range(cuts[0], cuts[-1], step):
        rows = slice(first, min(first + step, cuts[-1]))
        each = np.arange(rows.stop - first)
        moves = np.zeros((n_classes, n_classes, each.size))
        moves[codes[rows], rival[rows], each] -= counted[rows]
        moves[codes[rows], j, each] += counted[rows]
        moves = confusion[:, :, None] + np.cumsum(moves, axis=2)
        confusion = moves[:, :, -1]
        ends = cuts[(cuts > first) & (cuts <= rows.stop)] - first - 1
        if ends.size:
            values.append(_checked(measure(moves[:, :, ends].transpose(2, 0, 1)), ends.size))
    joined = np.concatenate(values)
    best = int(joined.argmax())
    low, high = np.r_[-np.inf, needed][cuts[best]], np.r_[needed, np.inf][cuts[best]]
    low, high = (high - 2 if low == -np.inf else low), (low + 2 if high == np.inf else high)
    return float(low + (high - low) / 2), float(joined[best])


def _rightly(confusion: np.ndarray) -> np.ndarray:
    return np.diagonal(confusion, axis1=1, axis2=2)


def _f1(confusion: np.ndarray) -> np.ndarray:
    rows = confusion.sum(axis=1) + confusion.sum(axis=2)
    return np.divide(2 * _rightly(confusion), rows, out=np.zeros(rows.shape), where=rows > 0)


def _checked(values: Any, n: int) -> np.ndarray:
    """The values of a measure; ValueError unless they are a number for each matrix."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n,) or np.isnan(array).any():
        raise ValueError(
            "scoring must return a number for each of the confusion matrices (n, true class, predicted class) that it "
            f"is given, got an array of shape {array.shape}{' with NaN' if np.isnan(array).any() else ''}."
        )
    return array
