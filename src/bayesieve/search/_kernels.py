"""Compiled evaluation of all subsets of a few features on the same rows.

The subsets are the leaves of a binary tree that decides on one feature per level, the last feature first. The
likelihood ratios of the rows under a subset are those under its parent times the factors of a further feature, so a
leaf costs little more than one multiplication per row. Factors are always multiplied in the same order, however the
tree is divided.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner

_LARGEST_PRODUCT = 1e100  # largest product of rows before its logarithm is taken


@jit
def walk(factors, start, first_key, depth, losses):
    """Compute the log losses, in nats, of the 2^depth subsets with keys ``first_key`` + 0, 1, ... into ``losses``.

    Bit k of a key is set if the subset contains feature k.

    ``factors`` (n_features, n_others, n_rows) are the factors by which a feature multiplies the ratio of each other
    class to the row's class. ``start`` (n_others, n_rows) are the ratios under the subset ``first_key``.
    """
    n_others, n_rows = start.shape
    stack = np.empty((depth + 1, n_others, n_rows))
    for other in range(n_others):
        for i in range(n_rows):
            stack[0, other, i] = start[other, i]
    at = np.zeros(depth + 1, dtype=np.int64)
    total = np.empty(n_rows)
    for leaf in range(1 << depth):
        ratios = descend(stack, at, leaf, depth, factors)
        total[:] = 1.0  # plus the ratios of a row
        for other in range(n_others):
            for i in range(n_rows):
                total[i] += ratios[other, i]
        losses[first_key + leaf] = sum_of_logs(total)


@jit_inner
def descend(stack, at, leaf, depth, factors):
    """Return the ratios under the subset of a leaf, reusing those of the previous leaf.

    Only levels below the first changed decision are recomputed.

    ``at[d]`` is the position in ``stack`` of the ratios at level d.
    """
    level = 1
    changed = leaf ^ (leaf - 1) if leaf else 0
    while leaf and not changed >> (depth - level):
        level += 1
    for d in range(level, depth + 1):
        feature = depth - d
        if leaf >> feature & 1:
            parent = at[d - 1]
            for other in range(stack.shape[1]):
                for i in range(stack.shape[2]):
                    stack[d, other, i] = stack[parent, other, i] * factors[feature, other, i]
            at[d] = d
        else:
            at[d] = at[d - 1]
    return stack[at[depth]]


@jit_inner
def sum_of_logs(values):
    """Return the sum of the logarithms of numbers of at least 1, from logarithms of products of many numbers."""
    total = 0.0
    whole = values.size - values.size % 4
    a, b, c, d = 1.0, 1.0, 1.0, 1.0
    for i in range(0, whole, 4):
        a *= values[i]
        b *= values[i + 1]
        c *= values[i + 2]
        d *= values[i + 3]
        if max(max(a, b), max(c, d)) > _LARGEST_PRODUCT:
            total += np.log(a) + np.log(b) + np.log(c) + np.log(d)
            a, b, c, d = 1.0, 1.0, 1.0, 1.0
    for i in range(whole, values.size):
        total += np.log(values[i])
    return total + (np.log(a) + np.log(b) + np.log(c) + np.log(d))
