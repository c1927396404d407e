"""Compiled sums of the logarithms of every feature of many subsets."""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit

_ROWS = 128  # whose logarithms by all features stay in the second-level cache


@jit
def sum_steps(
    codes, offsets, columns, lows, highs, as_they_are, n_codes, starts, table, start, ends, features, steps
):  # fmt: skip
    """steps[s, o, i] = start[segment of i, o] + sum over the features of subset s of the logarithm of row i.

    Subset s has ``features[ends[s - 1] : ends[s]]``.
    """
    of_feature = np.empty((columns.size, _ROWS), dtype=np.int64)
    for segment in range(offsets.size - 1):
        for begin in range(offsets[segment], offsets[segment + 1], _ROWS):
            n = min(_ROWS, offsets[segment + 1] - begin)
            for other in range(steps.shape[1]):
                for k in range(columns.size):
                    first = starts[k] + (segment * steps.shape[1] + other) * n_codes[k]
                    level = table[first : first + n_codes[k]]
                    code, line = codes[columns[k], begin : begin + n], of_feature[k]
                    if as_they_are[k]:
                        for i in range(n):
                            line[i] = level[code[i]]
                    else:
                        low, high, l0, l1, l2 = lows[k], highs[k], level[0], level[1], level[2]
                        for i in range(n):
                            line[i] = l0 if code[i] <= low else (l1 if code[i] < high else l2)
                at = 0
                for s in range(ends.size):
                    total = steps[s, other, begin : begin + n]
                    for i in range(n):
                        total[i] = start[segment, other]
                    while at + 4 <= ends[s]:
                        a, b = of_feature[features[at]], of_feature[features[at + 1]]
                        c, d = of_feature[features[at + 2]], of_feature[features[at + 3]]
                        for i in range(n):
                            total[i] += (a[i] + b[i]) + (c[i] + d[i])
                        at += 4
                    while at < ends[s]:
                        a = of_feature[features[at]]
                        for i in range(n):
                            total[i] += a[i]
                        at += 1
