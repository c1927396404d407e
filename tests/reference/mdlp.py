"""Cuts of Fayyad & Irani (1993) from their definition, as Weka's supervised Discretize filter finds them.

Splits are compared exactly: the entropy is least where the product of n_j^n_j over the classes of both sides, divided
by n^n of each side, is largest, and that is a fraction of whole numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction


def power(n: int) -> int:
    """n^n, 1 for n = 0."""
    return n**n if n else 1


def order_of(counts: Counter[int]) -> Fraction:
    """exp(-N H) of class counts, exactly: the larger, the less entropy."""
    return Fraction(math.prod(power(n) for n in counts.values()), power(counts.total()))


def bits(counts: Counter[int]) -> float:
    """H of class counts, in bits."""
    return -math.fsum(n / counts.total() * math.log2(n / counts.total()) for n in counts.values() if n)


def cut_points(values: Sequence[float], classes: Sequence[int]) -> list[float]:
    """Ascending cut points: every midpoint between distinct neighbours is tried, the lowest of equals is taken."""
    rows = sorted(zip(values, classes, strict=True))
    everything = Counter(label for _, label in rows)
    best, best_order = None, order_of(everything)
    below: Counter[int] = Counter()
    for i in range(len(rows) - 1):
        below[rows[i][1]] += 1
        if rows[i][0] < rows[i + 1][0]:
            found = order_of(below) * order_of(everything - below)
            if found > best_order:
                best, best_order = i + 1, found
    if best is None:
        return []
    below, above = Counter(label for _, label in rows[:best]), Counter(label for _, label in rows[best:])
    n, k = len(rows), len(everything)
    h, h1, h2 = bits(everything), bits(below), bits(above)
    gain = h - (below.total() * h1 + above.total() * h2) / n
    if gain <= (math.log2(n - 1) + math.log2(3**k - 2) - (k * h - len(below) * h1 - len(above) * h2)) / n:
        return []
    parts = [cut_points(*zip(*part, strict=True)) for part in (rows[:best], rows[best:])]
    return [*parts[0], (rows[best - 1][0] + rows[best][0]) / 2, *parts[1]]
