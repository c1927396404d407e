"""Compiled search for the grids with most mutual information of two columns.

One column is cut into *bins* of equal size, the other one optimally at the ends of *clumps*, runs of rows in the same
bin. A *group* is a set of rows with equal values. Entropies are sums of whole numbers, so that they do not depend on
the order of summation: ``steps[m]`` is m log m, rounded to a unit so small that rounding does not matter.
"""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner


@jit_inner
def _equal_bins(sizes, n_groups, n_rows, n_bins, bins):
    """Divide groups of rows into up to ``n_bins`` bins of as equal a size as possible; return the number of bins.

    ``sizes`` has the number of rows of each of the ``n_groups`` groups, in order; ``n_rows`` is their sum. The bin of
    each group is written into ``bins``.
    """
    of_bin, in_bin, passed, wanted = 0, 0, 0, n_rows / n_bins
    for g in range(n_groups):
        if in_bin > 0 and abs(in_bin + sizes[g] - wanted) >= abs(in_bin - wanted):
            of_bin, in_bin = of_bin + 1, 0
            wanted = (n_rows - passed) / (n_bins - of_bin)
        bins[g] = of_bin
        passed += sizes[g]
        in_bin += sizes[g]
    return of_bin + 1


@jit_inner
def _clumps(order, groups, bins, most, sizes, merged, points):
    """Find the clumps of a column and return their number; an optimal grid cuts only between clumps.

    A clump is a run of rows of the same bin, in the order of the values. Rows with equal values stay together: if their
    bins differ, they are a clump of their own. More than ``most`` clumps are merged into about equal numbers of rows.

    Parameters
    ----------
    order : (n_rows,) positions of the rows by ascending value.
    groups, bins : (n_rows,) number of the distinct value of each row, and of its bin of the other column.
    most : largest number of clumps.
    sizes, merged : (n_rows,) work space.
    points : result, of at least ``most`` + 1 entries: 0, then the number of rows up to the end of each clump.
    """
    n_rows = order.size
    n_clumps, last, begin = 0, -1, 0
    while begin < n_rows:
        label = bins[order[begin]]
        end = begin + 1
        while end < n_rows and groups[order[end]] == groups[order[begin]]:
            label = label if bins[order[end]] == label else -1
            end += 1
        if n_clumps == 0 or label < 0 or label != last:
            sizes[n_clumps] = 0
            n_clumps += 1
        sizes[n_clumps - 1] += end - begin
        last, begin = label, end
    n_merged = n_clumps
    if n_clumps > most:
        n_merged = _equal_bins(sizes, n_clumps, n_rows, most, merged)
    points[: n_merged + 1] = 0
    for t in range(n_clumps):
        points[1 + (merged[t] if n_clumps > most else t)] += sizes[t]
    for t in range(n_merged):
        points[t + 1] += points[t]
    return n_merged


@jit_inner
def _best_columns(points, n_clumps, below, n_bins, most, steps, costs, best, unit_rows):
    """Return the largest normalized information, from 0 to 1, of grids whose columns are joined clumps.

    ``points`` (n_clumps + 1,) are the rows before each clump and their total; below[b, t] are the rows of bin b before
    the end of clump t. ``most`` is the largest number of columns. ``steps`` is as in the module, and ``unit_rows`` the
    nats in a unit, divided by the number of rows. ``costs`` and ``best`` are work space.
    """
    for t in range(1, n_clumps + 1):
        line = costs[t]
        for s in range(t):
            line[s] = steps[points[t] - points[s]]
        for b in range(n_bins):
            of_bin, end = below[b], below[b, t]
            for s in range(t):
                line[s] -= steps[end - of_bin[s]]
        best[t] = line[0]
    whole = best[n_clumps]
    highest = 0.0
    for n_columns in range(2, min(most, n_clumps) + 1):
        lowest_end = n_clumps if n_columns == most else n_columns
        for t in range(n_clumps, lowest_end - 1, -1):
            line = costs[t]
            least = best[n_columns - 1] + line[n_columns - 1]
            for s in range(n_columns, t):
                least = min(least, best[s] + line[s])
            best[t] = least
        highest = max(highest, (whole - best[n_clumps]) * unit_rows / np.log(min(n_columns, n_bins)))
    return highest


@jit
def grid_information(order, groups, orders, others, cells, clumps, steps, unit, values):
    """Write the maximal information coefficient of one column and each of the others into ``values``.

    Each is the larger one of both assignments of the columns to the sides of the grid.

    Parameters
    ----------
    order : (n_rows,) rows by ascending ``groups``.
    groups : (n_rows,) numbers of the distinct values of the column.
    orders, others : (n_others, n_rows) order and numbers of distinct values of the other columns.
    cells : largest number of cells of a grid.
    clumps : number of candidate cuts per bin.
    steps : (n_rows + 1,) m log m in units of ``unit`` nats, rounded to integers.
    unit : nats per unit of ``steps``.
    values : (n_others,) output.
    """
    n_rows = order.size
    most_clumps = min(n_rows, max(1, int(clumps * np.floor(cells / 2.0))))
    costs = np.empty((most_clumps + 1, most_clumps + 1), dtype=np.int64)
    best, points = np.empty(most_clumps + 1, dtype=np.int64), np.empty(n_rows + 1, dtype=np.int64)
    sizes, merged = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    of_value, bins = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    below = np.empty((int(cells / 2.0) + 1, most_clumps + 1), dtype=np.int64)
    for k in range(values.size):
        values[k] = 0.0
        for turned in range(2):
            by, by_groups = (orders[k], others[k]) if turned else (order, groups)
            cut_groups = groups if turned else others[k]
            for wanted in range(2, int(cells / 2.0) + 1):
                n_values = 0
                sizes[:] = 0
                for i in range(n_rows):
                    sizes[cut_groups[i]] += 1
                    n_values = max(n_values, cut_groups[i] + 1)
                n_bins = _equal_bins(sizes, n_values, n_rows, wanted, of_value)
                if n_bins < 2:
                    continue
                for i in range(n_rows):
                    bins[i] = of_value[cut_groups[i]]
                most = int(cells / wanted)
                n_clumps = _clumps(by, by_groups, bins, max(1, int(clumps * most)), sizes, merged, points)
                below[:n_bins, 0] = 0
                at = 0
                for t in range(1, n_clumps + 1):
                    for b in range(n_bins):
                        below[b, t] = below[b, t - 1]
                    while at < points[t]:
                        below[bins[by[at]], t] += 1
                        at += 1
                information = _best_columns(points, n_clumps, below, n_bins, most, steps, costs, best, unit / n_rows)
                values[k] = max(values[k], information)
