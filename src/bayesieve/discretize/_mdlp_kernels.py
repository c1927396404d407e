"""Compiled search for the cuts of Fayyad & Irani: entropy splits, stopped by the minimum description length.

Entropies are compared as sums of n log n in whole numbers of a very small unit: sums of whole numbers come out the same
in whatever order they are added, so that equal splits are equal, and a scan moves from one bound to the next by the
classes that change sides.
"""

from __future__ import annotations

import math

import numpy as np

from bayesieve.compiling import jit, jit_inner


@jit_inner
def n_log_n(n, table, unit):
    """n log n in units: looked up for a whole number where there is a table, 0 for no rows."""
    if table.size > 0:
        return table[int(n)]
    return (
        np.int64(n * math.log(n) / unit + 0.5)
        if n > 1.0
        else -np.int64(-n * math.log(n) / unit + 0.5)
        if n > 0.0
        else np.int64(0)
    )


@jit_inner
def class_terms(counts, table, unit):
    """sum_j n_j log n_j - n log n of class counts, in units: minus n times their entropy."""
    total = counts[0] - counts[0]
    terms = np.int64(0)
    for j in range(counts.size):
        total += counts[j]
        terms += n_log_n(counts[j], table, unit)
    return terms - n_log_n(total, table, unit)


@jit_inner
def is_worth_its_length(cumulated, first, bound, stop, table, unit):
    """Fayyad & Irani (1993), section 5: whether a split saves more than announcing it takes.

    gain > (log2(N - 1) + log2(3^k - 2) - (k H - k1 H1 - k2 H2)) / N, entropies in bits, k classes present.
    """
    both, below, above = (
        cumulated[stop] - cumulated[first],
        cumulated[bound] - cumulated[first],
        cumulated[stop] - cumulated[bound],
    )
    bits = unit / math.log(2.0)
    n = float(both.sum())
    terms = -class_terms(both, table, unit) * bits
    terms_below, terms_above = -class_terms(below, table, unit) * bits, -class_terms(above, table, unit) * bits
    k = k_below = k_above = 0  # classes present
    for j in range(both.size):
        k += both[j] > 0
        k_below += below[j] > 0
        k_above += above[j] > 0
    codes = math.log2(3.0**k - 2.0) if k < 40 else k * math.log2(3.0)
    spread = k * terms / n - k_below * terms_below / below.sum() - k_above * terms_above / above.sum()
    gain = terms - terms_below - terms_above
    return gain > max(0.0, math.log2(max(1.0, n - 1.0)) + codes - spread)


@jit
def split_bounds(cumulated, first, table, unit, tolerance):
    """Ascending bounds (block numbers) of all accepted splits of the blocks from ``first`` on.

    Parameters
    ----------
    cumulated : (n_blocks + 1, n_classes) cumulated class counts of the blocks
    table : n log n of every whole number in units, or empty: computed
    unit : the unit in nats
    tolerance : units by which a split has to beat another one that lies lower
    """
    n_blocks = cumulated.shape[0] - 1
    accepted = np.zeros(n_blocks + 1, dtype=np.bool_)
    waiting = [(first, n_blocks)]
    while len(waiting) > 0:
        start, stop = waiting.pop()
        if stop - start < 2:
            continue
        # The bound that leaves least entropy on both sides, the lowest of equals; none that leaves no less than before.
        below = cumulated[start] - cumulated[start]
        above = cumulated[stop] - cumulated[start]
        n_above = above.sum()
        n_below = n_above - n_above
        bound, best = start, class_terms(above, table, unit)
        classes = best + n_log_n(n_above, table, unit)  # sum of n_j log n_j over the classes on both sides
        for at in range(start + 1, stop):
            for j in range(below.size):
                moved = cumulated[at, j] - cumulated[at - 1, j]
                if moved > 0:
                    classes -= n_log_n(below[j], table, unit) + n_log_n(above[j], table, unit)
                    below[j] += moved
                    above[j] = max(0, cumulated[stop, j] - cumulated[at, j])
                    classes += n_log_n(below[j], table, unit) + n_log_n(above[j], table, unit)
                    n_below += moved
                    n_above -= moved
            remaining = classes - n_log_n(n_below, table, unit) - n_log_n(max(0, n_above), table, unit)
            if remaining > best + tolerance:
                bound, best = at, remaining
        if bound > start and is_worth_its_length(cumulated, start, bound, stop, table, unit):
            accepted[bound] = True
            waiting.append((start, bound))
            waiting.append((bound, stop))
    return np.flatnonzero(accepted)
