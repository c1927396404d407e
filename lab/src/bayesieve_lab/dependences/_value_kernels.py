"""Compiled sums over the rows that are lower than a row in two columns."""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit


@jit
def sum_below(order, groups, codes, values, sums):
    """Sum the values of the rows that are lower than each row in two columns; ties in one count one half, in both a
    quarter.

    Rows are passed by ascending ``groups``, and a Fenwick tree over the codes holds the sums of the rows so far, so
    that each row takes log n steps rather than n.

    Parameters
    ----------
    order : (n_rows,) rows by ascending ``groups``.
    groups : (n_rows,) numbers of the distinct values of the first column.
    codes : (n_others, n_rows) numbers of the distinct values of other columns.
    values : (n_others, n_values, n_rows) values to sum.
    sums : (n_others, n_values, n_rows) output: sums[k, v, i] is the sum of values[k, v, j] over the rows j that are
        lower than i in ``groups`` and in codes[k].
    """
    n_others, n_values, n_rows = values.shape
    tree = np.empty((n_rows + 1, n_values))
    at = np.empty((n_rows, n_values))
    for k in range(n_others):
        code = codes[k]
        tree[:] = 0.0
        at[:] = 0.0
        sums[k] = 0.0
        begin = 0
        while begin < n_rows:
            end = begin + 1
            while end < n_rows and groups[order[end]] == groups[order[begin]]:
                end += 1
            for passed in range(2):  # before and after the ties: the mean of both
                if passed == 1:
                    for position in range(begin, end):
                        row = order[position]
                        node = code[row] + 1
                        for v in range(n_values):
                            at[code[row], v] += values[k, v, row]
                        while node <= n_rows:
                            for v in range(n_values):
                                tree[node, v] += values[k, v, row]
                            node += node & -node
                    if end - begin == 1:  # nothing but itself has come
                        row = order[begin]
                        for v in range(n_values):
                            sums[k, v, row] = 2.0 * sums[k, v, row] + 0.25 * values[k, v, row]
                        continue
                for position in range(begin, end):
                    row = order[position]
                    node = code[row]
                    for v in range(n_values):
                        sums[k, v, row] += 0.25 * at[code[row], v]
                    while node > 0:
                        for v in range(n_values):
                            sums[k, v, row] += 0.5 * tree[node, v]
                        node -= node & -node
            begin = end
