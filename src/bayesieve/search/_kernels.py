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
    """Compute the log losses of the 2^depth subsets that contain any of the first ``depth`` features, by depth-first
    search.

    Parameters
    ----------
    factors : array, shape (n_features, n_classes - 1, n_rows)
        Factor by which a feature multiplies the ratio of another class's probability to that of the row's class.
    start : array, shape (n_classes - 1, n_rows)
        Ratios under the subset ``first_key``, to which the first ``depth`` features are added.
    first_key : int
        Number of that subset. Bit k of a subset's number is set if the subset contains feature k.
    depth : int
        Number of features that vary; those of ``first_key`` beyond stay as they are.
    losses : array, shape (2^n_features,)
        Output: the sum of log losses of the rows, in nats, is written to ``losses[first_key + i]`` for i < 2^depth.
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
    """Return the probability ratios, (n_classes - 1, n_rows), under subset number ``leaf``; reuse those of subset
    ``leaf - 1``.

    ``stack`` (depth + 1, n_classes - 1, n_rows) and ``at`` (depth + 1,) are work space kept between calls:
    ``stack[at[d]]`` are the ratios after d decisions on features. Only decisions after the first that changed are
    recomputed. ``factors`` is as in `walk`.
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
    """Return the sum of the natural logarithms of an array of numbers of at least 1.

    Logarithms are taken of products of many numbers, because a logarithm takes much longer than a multiplication.
    """
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
