"""Neutral contributions, which favour no class, for values without a level and for levels without training rows.

A level is an interval or group of values; cells are finer pieces of levels. On numeric columns with cells,
contributions form a curve, over which missing entries are interpolated.
"""

from __future__ import annotations

import numpy as np

from bayesieve.table import FeatureLevels


def mean_line(table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the mean row of a table (n_cells, n), shape (n,), weighted by ``rows`` (n_cells,).

    The mean is exact, without rounding errors, if all rows of the table are equal.
    """
    shares = rows / max(float(rows.sum()), np.finfo(float).tiny)
    mean: np.ndarray = table[0] + shares @ (table - table[0])
    return mean


def start_of_curve(levels: FeatureLevels, cells: FeatureLevels) -> int:
    """Return the first cell on the curve of a numeric feature: the number of cells of missing and special values.

    ``cells`` are the cells that divide the ``levels`` of the feature. If they do not form a curve, return their number.
    """
    return cells.n_special_levels if cells is not levels and cells.kind == "numeric" else cells.n_levels


def neutral_cells(empty: np.ndarray, first: int) -> np.ndarray:
    """Return a mask of the cells that belong to empty levels and do not lie on a curve, shape (n_cells,).

    Parameters
    ----------
    empty : (n_cells,) bool, whether the level of each cell has no training rows.
    first : first cell of the curve.
    """
    return empty & (np.arange(empty.size) < first)


def filled(table: np.ndarray, rows: np.ndarray, empty: np.ndarray, first: int) -> np.ndarray:
    """Return the table with neutral entries for the cells of empty levels.

    On a curve, the entries are interpolated between neighbouring cells; elsewhere, they are the mean over all rows.

    Parameters
    ----------
    table : (n_cells, n) entries, such as contributions in nats.
    rows : (n_cells,) number (or weight) of the rows of each cell.
    empty : (n_cells,) bool, whether the level of each cell has no training rows.
    first : first cell of the curve; the number of cells if there is no curve.
    """
    if not empty.any() or empty.all():
        return table
    table, at = table.copy(), np.arange(empty.size)
    table[empty] = mean_line(table, rows)
    curve, has_rows = empty & (at >= first), ~empty & (at >= first)
    if curve.any() and has_rows.any():
        table[curve] = np.stack([np.interp(at[curve], at[has_rows], line) for line in table[has_rows].T], axis=1)
    return table
