"""Cuts of Fayyad & Irani (1993) from their definition, as Weka's supervised Discretize filter finds them.

Where rounding might decide, splits are compared exactly: the entropy is least where the product of n_j^n_j over the
classes of both sides, divided by n^n of each side, is largest, and that is a fraction of whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.special import xlogy


def exact_order(counts: np.ndarray) -> Fraction:
    """exp(-N H) of class counts: the larger, the less entropy."""
    return Fraction(math.prod(n**n for n in counts.tolist() if n), int(counts.sum()) ** int(counts.sum()))


def nats(counts: np.ndarray) -> np.ndarray:
    """N H of class counts."""
    n = counts.sum(axis=-1)
    return xlogy(n, n) - xlogy(counts, counts).sum(axis=-1)


def cut_points(values: Sequence[float], classes: Sequence[int]) -> list[float]:
    """Ascending cut points: every midpoint between distinct neighbours is tried, the lowest of equals is taken."""
    distinct, which = np.unique(np.asarray(values, dtype=float), return_inverse=True)
    labels = np.unique(classes, return_inverse=True)[1]
    counts = np.zeros((distinct.size, labels.max() + 1), dtype=np.int64)
    np.add.at(counts, (which, labels), 1)
    return cuts_of_counts(distinct, counts)


def cuts_of_counts(distinct: np.ndarray, counts: np.ndarray) -> list[float]:
    """The same from the class counts of ascending distinct values."""
    if len(counts) < 2:
        return []
    total = counts.sum(axis=0)
    below = counts.cumsum(axis=0)[:-1]
    above = total - below
    left = nats(below) + nats(above)
    best, *others = np.flatnonzero(left <= left.min() + 1e-6).tolist()
    for other in others:
        if exact_order(below[other]) * exact_order(above[other]) > exact_order(below[best]) * exact_order(above[best]):
            best = other
    n, parts = int(total.sum()), (total, below[best], above[best])
    k, k1, k2 = (int(np.count_nonzero(part)) for part in parts)
    h, h1, h2 = (float(nats(part)) / int(part.sum()) / math.log(2) for part in parts)
    gain = h - (parts[1].sum() * h1 + parts[2].sum() * h2) / n
    if gain <= (math.log2(n - 1) + math.log2(3**k - 2) - (k * h - k1 * h1 - k2 * h2)) / n:
        return []
    cut = float(distinct[best] + distinct[best + 1]) / 2
    sides = slice(best + 1), slice(best + 1, None)
    lower, upper = (cuts_of_counts(distinct[side], counts[side]) for side in sides)
    return [*lower, cut, *upper]
