"""Compiled grouping of rows that a model cannot tell apart: groups of equal rows, and cells of a group and a level."""

from __future__ import annotations

import numpy as np

from bayesieve.compiling import jit, jit_inner
from bayesieve.criteria._auc_kernels import fill_keys, fill_levels
from bayesieve.criteria._pair_kernels import sorted_pairs

_MOST_COPIED = 2048  # cells, for which several tables are worth adding up


@jit
def group_rows(logs, offsets, slots, group_of, first_of):
    """Number the rows of equal segment and equal logs in order of appearance; returns how many groups.

    ``slots``, all -1, is the hash table; ``first_of[g]`` the first row of group g.
    """
    n_others = logs.shape[0]
    mask = np.uint64(slots.size - 1)
    n_groups = 0
    for s in range(offsets.size - 1):
        begin = offsets[s]
        for i in range(begin, offsets[s + 1]):
            mixed = np.uint64(s + 1)
            for o in range(n_others):
                mixed = (mixed ^ np.uint64(logs[o, i])) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(29)
            place = (mixed * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(20) & mask
            while True:
                group = slots[place]
                if group < 0:
                    slots[place] = n_groups
                    first_of[n_groups] = i
                    group_of[i] = n_groups
                    n_groups += 1
                    break
                first = first_of[group]
                same = first >= begin
                for o in range(n_others):
                    same = same and logs[o, first] == logs[o, i]
                if same:
                    group_of[i] = group
                    break
                place = (place + np.uint64(1)) & mask
    return n_groups


@jit_inner
def list_cells(group_of, levels, n_codes, weights, offsets, count, cells, item_offsets, groups, item_levels, sizes):
    """List the cells of a group and a level that hold rows, by segment, and their rows, or weight; returns how many."""
    n = cells.size
    if weights.size > 0:
        cells[:] = 0.0
        for i in range(group_of.size):
            cells[np.uint64(np.int64(group_of[i]) * n_codes + levels[i])] += weights[i]
    else:
        # Rows in turn go to four tables: an increment would otherwise wait for the one before, often of the same cell.
        n_tables = 4 if n <= _MOST_COPIED and 4 * n <= count.size else 1
        count[: n_tables * n] = 0
        last = group_of.size - group_of.size % 4
        for i in range(0, last, 4):
            for k in range(4):
                at = np.int64(group_of[np.uint64(i + k)]) * n_codes + levels[np.uint64(i + k)]
                count[np.uint64(at + (k * n if n_tables == 4 else 0))] += 1
        for i in range(last, group_of.size):
            count[np.uint64(np.int64(group_of[i]) * n_codes + levels[i])] += 1
        for k in range(n):
            cells[k] = count[k]
        for t in range(1, n_tables):
            for k in range(n):
                cells[k] += count[t * n + k]
    n_items = 0
    for s in range(offsets.size - 1):
        item_offsets[s] = n_items
        for g in range(offsets[s], offsets[s + 1]):
            for level in range(n_codes):
                groups[n_items], item_levels[n_items] = g, level
                sizes[n_items] = cells[g * n_codes + level]
                n_items += np.int64(sizes[n_items] > 0.0)
    item_offsets[offsets.size - 1] = n_items
    return n_items


@jit_inner
def _of_cells(values, first_of, item_groups, n):
    """Columns of ``values`` of the first row of each cell's group; None of None."""
    if values is None:
        return None
    else:  # noqa: RET505 - compiled to one of both, by the type of the argument
        taken = np.empty((values.shape[0], n), dtype=values.dtype)
        for o in range(values.shape[0]):
            for k in range(n):
                taken[o, k] = values[o, first_of[item_groups[k]]]
        return taken


@jit
def cell_sums(layout, scan, moves, chosen, targets, positive, work, sums):
    """As `pair_sums`, from the cells of a group of equal rows and a level, with the weight of their rows."""
    levels, item_levels = work.levels[0][: scan.group_of.size], work.levels[1]
    keys, bits, odds, ordered = work.longs[0], work.longs[1], work.doubles[1], work.longs[2]
    cells, item_weights = work.doubles[3], work.doubles[4]
    count, item_groups = work.ints[0], work.ints[1]
    offsets = np.zeros(layout.offsets.size, dtype=np.int64)
    for c in chosen:
        n_codes = fill_levels(layout, moves.features[c], levels)
        cell = cells[: scan.first_of.size * n_codes]
        n = list_cells(
            *(scan.group_of, levels, n_codes, layout.weights, scan.group_offsets, count, cell),
            *(offsets, item_groups, item_levels, item_weights),
        )
        logs = _of_cells(scan.logs, scan.first_of, item_groups, n)
        ratios = _of_cells(scan.ratios, scan.first_of, item_groups, n)
        is_wide = _of_cells(scan.is_wide, scan.first_of, item_groups, n)
        for t in range(targets.size):
            fill_keys(
                layout, moves, c, n_codes, targets[t],
                logs, ratios, is_wide, scan.unit, offsets, item_levels, keys[:n], bits, odds,
            )  # fmt: skip
            sums[c, t] = 0.5 * sorted_pairs(
                keys, item_weights, offsets, positive[t], scan.tolerance, ordered, cells, count
            )
