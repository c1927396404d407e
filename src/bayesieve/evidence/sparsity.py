"""Sparsity: which features fitted evidence can do without."""

from __future__ import annotations

import numpy as np
from scipy.linalg import inv
from scipy.special import softmax

from bayesieve.engine.parallel import one_blas_thread

_FACTOR_PRECISION = 0.1  # of the prior of the factors on features that stay, around 1: copies share theirs
_AT_ONCE = 20  # one in so many features is dropped between two looks at the rows
_CURVATURE_ROWS = 3000  # enough to see which features are cheapest; all rows confirm it


def worth_keeping(
    contributions: np.ndarray, joint: np.ndarray, classes: np.ndarray, weights: np.ndarray, prices: np.ndarray
) -> np.ndarray:
    """(n_features,) bool, the features left when no other can be dropped for its price.

    Features are dropped one after the other, the cheapest first. The cost of a feature is the rise of the log loss
    without it, with all others scaled to make up for it. It comes from the curvature of the loss, as in the optimal
    brain surgeon (Hassibi and Stork 1993), over some of the rows, and the loss of all rows confirms it.

    Parameters
    ----------
    contributions : (n_features, n_rows, n_classes) nats.
    joint : (n_rows, n_classes) log joint, contributions included.
    classes : (n_rows,) int.
    weights : (n_rows,).
    prices : (n_features,) nats.
    """
    centred = contributions - contributions.mean(axis=2, keepdims=True)
    others = joint - centred.sum(axis=0)
    n_rows = classes.size
    some = slice(None) if n_rows <= _CURVATURE_ROWS else spread(n_rows, _CURVATURE_ROWS)
    share = float(weights[some].sum() / max(float(weights.sum()), 1e-300))
    left, prices = np.arange(len(centred)), prices.astype(np.float64)
    loss, at_once = _loss(joint, classes, weights), max(1, left.size // _AT_ONCE)
    inverse: np.ndarray | None = None
    with one_blas_thread():  # sums come in one order
        while left.size > 1:
            if inverse is None:
                inverse = _inverse_curvature(centred[:, some], joint[some], weights[some], share)
            dropped, factors = _cheapest(inverse, prices[left], at_once)
            if dropped.size == 0:
                break
            without = others + np.tensordot(factors.astype(centred.dtype), centred, axes=1)
            higher = _loss(without, classes, weights)
            if higher - loss <= prices[left[dropped]].sum():
                joint, loss, inverse = without, higher, None
                stay = np.delete(np.arange(left.size), dropped)
                left, centred = left[stay], centred[stay] * factors[stay, None, None].astype(centred.dtype)
            elif dropped.size == 1:
                prices[left[dropped]] = 0.0  # it stays
            else:
                at_once = dropped.size // 2
    return np.isin(np.arange(len(contributions)), left)


def spread(n_rows: int, most: int) -> np.ndarray:
    """Positions of at most so many rows, evenly spread."""
    return np.arange(n_rows) if n_rows <= most else np.arange(most) * n_rows // most


def _inverse_curvature(centred: np.ndarray, joint: np.ndarray, weights: np.ndarray, share: float) -> np.ndarray:
    """(n_features, n_features) of the loss by factors on the contributions, from rows with this share of the weight."""
    probability = softmax(joint, axis=1)
    largest = max(float(weights.max()), 1e-300)  # so that single precision holds any weight
    away = centred - np.einsum("krj,rj->kr", centred, probability.astype(centred.dtype))[:, :, None]
    away *= np.sqrt(probability * (weights / largest)[:, None]).astype(centred.dtype)
    design = away.reshape(len(away), -1).astype(np.float32, copy=False)
    curvature = (design @ design.T).astype(np.float64) * (largest / max(share, 1e-300))
    curvature[np.diag_indices_from(curvature)] += _FACTOR_PRECISION
    inverse: np.ndarray = inv(curvature, overwrite_a=True)
    return inverse


def _cheapest(inverse: np.ndarray, prices: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most so many features that cost less than their prices, and factors on all that make up for them."""
    variances, factors = np.diag(inverse).copy(), np.ones(len(inverse))
    most = min(most, len(inverse) - 1)
    dropped: list[int] = []
    # The inverse without the features dropped is the inverse less the outer products of these lines: writing it out
    # after each would take the square of the number of features.
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


def _loss(joint: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> float:
    """Sum of weight * -log P(own class), in nats."""
    from bayesieve.evidence._kernels import residuals

    return float(residuals(joint.astype(np.float64), classes, weights))
