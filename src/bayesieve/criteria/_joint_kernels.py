"""Compiled loops over rows of many classes: ``joint[i, j]`` is the joint probability of row i and class j.

The classes of a row are next to each other, and so are those of the level that multiplies them: loops over classes
vectorise, and tables grow with the classes, not with their square.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner, jit_sum
from bayesieve.criteria.class_block import THREE_WAY

_BLOCK = 64  # rows that stay in the cache while all candidates pass over them
_TOGETHER = 4  # rows whose probabilities are multiplied before a logarithm is taken
_SMALLEST, _LARGEST = 1e-30, 1e30  # sums over the classes of a row that are safe to multiply together
_NOTHING = -600.0  # nats behind the first class: less than any moves between two looks at the logarithms make up for


@jit_inner
def _level(code, low, high, kind):
    return np.int64(code) if kind > THREE_WAY else np.int64(code > low) + np.int64(code >= high)


@jit_sum
def _dot(row, factor):
    total = 0.0
    for j in range(row.size):
        total += row[j] * factor[j]
    return total


@jit_sum
def _multiplied(row, factor):
    """row *= factor; its sum."""
    total = 0.0
    for j in range(row.size):
        row[j] *= factor[j]
        total += row[j]
    return total


@jit
def joint_sums(joint, codes, offsets, weights, columns, lows, highs, kinds, starts, table, sums):
    """sums[c] += sum over rows of log(sum over classes of joint * factor of candidate c)."""
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], _BLOCK):
            end = min(begin + _BLOCK, offsets[segment + 1])
            for c in range(columns.size):
                code, low, high, start = codes[columns[c]], lows[c], highs[c], starts[c]
                product, n, loss = 1.0, 0, 0.0
                for i in range(begin, end):
                    dot = _dot(joint[i], table[start + _level(code[i], low, high, kinds[c])])
                    if weights.size > 0:
                        loss += weights[i] * np.log(dot)
                        continue
                    product *= dot
                    n += 1
                    if n == _TOGETHER:
                        loss += np.log(product)
                        product, n = 1.0, 0
                sums[c] += loss + np.log(product)


@jit
def multiply_joint(joint, codes, offsets, weights, column, low, high, kind, start, table, lead):
    """joint[i] *= the factors of one feature; lead[0] += the logarithms of what rows are divided by."""
    code = codes[column]
    for i in range(offsets[0], offsets[-1]):
        total = _multiplied(joint[i], table[start + _level(code[i], low, high, kind)])
        if total < _SMALLEST or total > _LARGEST:
            for j in range(joint.shape[1]):
                joint[i, j] /= total
            lead[0] += np.log(total) * (weights[i] if weights.size > 0 else 1.0)


@jit
def start_joint(joint, codes, offsets, weights, classes, columns, lows, highs, kinds, starts, priors, logs, lead):
    """joint[i] = exp(prior of the segment + logarithms of the levels of some features), the largest 1; lead[0] += the
    logarithm of the largest less that of the true class.
    """
    n_classes = joint.shape[1]
    for segment in range(offsets.size - 1):
        for i in range(offsets[segment], offsets[segment + 1]):
            row = joint[i]
            row[:] = priors[segment]
            for f in range(columns.size):
                level = starts[f] + _level(codes[columns[f], i], lows[f], highs[f], kinds[f])
                for j in range(n_classes):
                    row[j] += logs[level, j]
            top = row[0]
            for j in range(n_classes):
                top = max(top, row[j])
            lead[0] += (top - row[classes[segment]]) * (weights[i] if weights.size > 0 else 1.0)
            for j in range(n_classes):
                row[j] = np.exp(row[j] - top) if row[j] - top > _NOTHING else 0.0


@jit
def sum_own(codes, offsets, weights, classes, columns, lows, highs, kinds, starts, logs, sums):
    """sums[f] += sum over rows of the logarithm of the level of feature f for the true class."""
    for f in range(columns.size):
        code = codes[columns[f]]
        for segment in range(offsets.size - 1):
            for i in range(offsets[segment], offsets[segment + 1]):
                level = starts[f] + _level(code[i], lows[f], highs[f], kinds[f])
                sums[f] += logs[level, classes[segment]] * (weights[i] if weights.size > 0 else 1.0)
