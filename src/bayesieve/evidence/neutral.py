"""Neutral values: what a feature adds for values in no level, and in levels without training rows."""

from __future__ import annotations

import numpy as np

from bayesieve.table import FeatureLevels


def mean_line(table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Mean of the lines of a table, (n_cells, n), by the rows (or weight) of its cells, (n_cells,); exact if all lines
    are alike.
    """
    shares = rows / max(float(rows.sum()), np.finfo(float).tiny)
    mean: np.ndarray = table[0] + shares @ (table - table[0])
    return mean


def start_of_curve(levels: FeatureLevels, cells: FeatureLevels) -> int:
    """The first cell of the curve of a feature of numbers that is split into ``cells``; the number of cells if it has
    none.
    """
    return cells.n_apart if cells is not levels and cells.kind == "numeric" else cells.n_levels


def neutral_cells(empty: np.ndarray, first: int) -> np.ndarray:
    """Cells of levels without rows that are not on a curve, which begins at the cell ``first``: (n_cells,) bool.

    empty : (n_cells,) bool, whether the level of each cell has no training rows.
    """
    return empty & (np.arange(empty.size) < first)


def filled(table: np.ndarray, rows: np.ndarray, empty: np.ndarray, first: int) -> np.ndarray:
    """The table, (n_cells, n), with neutral lines for cells of levels without rows: the mean over all rows or, on the
    curve that begins at the cell ``first``, the line through their neighbours.

    rows : (n_cells,) rows (or weight); empty : as for `neutral_cells`.
    """
    if not empty.any() or empty.all():
        return table
    table, at = table.copy(), np.arange(empty.size)
    table[empty] = mean_line(table, rows)
    curve, known = empty & (at >= first), ~empty & (at >= first)
    if curve.any() and known.any():
        table[curve] = np.stack([np.interp(at[curve], at[known], line) for line in table[known].T], axis=1)
    return table
