"""Pruning of features that other features make up for."""

from __future__ import annotations

import numpy as np
from scipy.linalg import inv
from scipy.special import expit, softmax

from bayesieve.engine.base import one_blas_thread

_FACTOR_PRECISION = 0.1  # of the prior of the factors on features that stay, around 1: copies share theirs
_AT_ONCE = 20  # one in 20 features is dropped between two looks at the rows
CURVATURE_ROWS = 3000
"""Rows that are enough to see which features are cheapest; all rows confirm it."""


def worth_keeping(
    contributions: np.ndarray,
    joint: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    prices: np.ndarray,
    some: np.ndarray | slice = slice(None),
) -> np.ndarray:
    """Return a mask of the features that remain after dropping each whose cost is below its price, (n_features,) bool.

    Features are dropped one after the other, the cheapest first. The cost of a feature is the rise of the log loss
    without it, with all others scaled to make up for it. It comes from the curvature of the loss, as in the optimal
    brain surgeon (Hassibi and Stork 1993), over ``some`` of the rows, and the loss of all rows confirms it.

    Parameters
    ----------
    contributions : (n_features, n_rows, n_classes) nats.
    joint : (n_rows, n_classes) log joint, contributions included.
    classes : (n_rows,) int.
    weights : (n_rows,).
    prices : (n_features,) nats.
    some : positions of rows; `CURVATURE_ROWS` are enough.
    """
    from bayesieve.evidence._kernels import residuals

    # The axis of rows comes last, so that the long loops run over contiguous memory.
    centred = np.ascontiguousarray(contributions.transpose(0, 2, 1))
    if joint.shape[1] == 2:  # one logit: half the numbers
        centred, joint = np.diff(centred, axis=1), np.diff(joint, axis=1)
    else:
        centred -= centred.mean(axis=1, keepdims=True)
    others = joint - centred.sum(axis=0).T
    share = float(weights[some].sum() / max(float(weights.sum()), 1e-300))
    few, prices = np.ascontiguousarray(centred[:, :, some]), prices.astype(np.float64)
    left, factors = np.arange(len(centred)), np.ones(len(centred))
    loss, at_once = residuals(joint.astype(np.float64, order="C"), classes, weights), max(1, left.size // _AT_ONCE)
    inverse: np.ndarray | None = None
    with one_blas_thread():  # sums come in one order
        while left.size > 1:
            if inverse is None:
                inverse = _inverse_curvature(few[left], factors[left], joint[some], weights[some], share)
            dropped, changes = _cheapest(inverse, prices[left], at_once)
            if dropped.size == 0:
                break
            following = factors.copy()
            following[left] *= changes
            without = others + np.tensordot(following.astype(few.dtype), centred, axes=1).T
            higher = residuals(without.astype(np.float64, order="C"), classes, weights)
            if higher - loss <= prices[left[dropped]].sum():
                joint, loss, inverse, factors = without, higher, None, following
                left = np.delete(left, dropped)
            elif dropped.size == 1:
                prices[left[dropped]] = 0.0  # it stays
            else:
                at_once = dropped.size // 2
    return np.isin(np.arange(len(contributions)), left)


def _inverse_curvature(
    centred: np.ndarray, factors: np.ndarray, joint: np.ndarray, weights: np.ndarray, share: float
) -> np.ndarray:
    """Return the inverse curvature of the loss by factors on the contributions, (n_features, n_features).

    Parameters
    ----------
    centred : contributions to the log joint, (n_features, n_classes, n_rows), or to the logit of two classes; they are
        written over.
    factors : (n_features,) that the contributions have already.
    joint, weights : of the rows.
    share : of these rows among the weight of all.
    """
    largest = max(float(weights.max()), 1e-300)  # so that single precision holds any weight
    if joint.shape[1] == 1:
        probability = expit(joint.T)
        shares = probability * (1.0 - probability)
    else:
        shares = softmax(joint.T, axis=0)
        centred -= np.einsum("kjr,jr->kr", centred, shares.astype(centred.dtype))[:, None]
    centred *= np.sqrt(shares * (weights / largest)).astype(centred.dtype)
    design = centred.reshape(len(centred), -1).astype(np.float32, copy=False)
    curvature = (design @ design.T).astype(np.float64) * (largest / max(share, 1e-300))
    curvature *= factors * factors[:, None]
    curvature[np.diag_indices_from(curvature)] += _FACTOR_PRECISION
    return inv(curvature, overwrite_a=True)


def _cheapest(inverse: np.ndarray, prices: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return at most ``most`` features that cost less than their prices, and the factors on all features that make up
    for them.
    """
    variances, factors = np.diag(inverse).copy(), np.ones(len(inverse))
    most = min(most, len(inverse) - 1)
    dropped: list[int] = []
    # Low-rank update: the inverse without the dropped features is the inverse less the outer products of these lines.
    # Writing it out after each feature would take quadratic time.
    lines = np.empty((most, len(inverse)))
    for n in range(most):
        profit = prices - factors**2 / (2.0 * np.maximum(variances, 1e-300))
        profit[dropped] = -np.inf
        k = int(np.argmax(profit))
        if profit[k] < 0.0:
            break
        line = inverse[k] - lines[:n, k] @ lines[:n]
        pivot = max(line[k], 1e-300)
        lines[n] = line / np.sqrt(pivot)
        variances -= lines[n] ** 2
        factors = factors - factors[k] * line / pivot
        dropped.append(k)
        factors[dropped] = 0.0
    return np.array(dropped, dtype=np.int64), factors
