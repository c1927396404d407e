"""Neutral contributions, for values without a level and for levels without training rows: they favour no class."""

from __future__ import annotations

import numpy as np

from bayesieve.table import FeatureLevels


def mean_line(table: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the mean row of a table (n_cells, n), weighted by ``rows`` (n_cells,).

    It is exact if all rows of the table are equal.
    """
    shares = rows / max(float(rows.sum()), np.finfo(float).tiny)
    mean: np.ndarray = table[0] + shares @ (table - table[0])
    return mean


def start_of_curve(levels: FeatureLevels, cells: FeatureLevels) -> int:
    """Return the first cell on the curve of a numeric feature that is split into ``cells``.

    It is the number of cells if there is no curve.
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
    """Return the table with neutral entries for cells of empty levels.

    On a curve these are interpolated between neighbours, otherwise they are the mean over all rows.

    Parameters
    ----------
    table : (n_cells, n).
    rows : (n_cells,) rows (or weight).
    empty, first : see `neutral_cells`.
    """
    if not empty.any() or empty.all():
        return table
    table, at = table.copy(), np.arange(empty.size)
    table[empty] = mean_line(table, rows)
    curve, has_rows = empty & (at >= first), ~empty & (at >= first)
    if curve.any() and has_rows.any():
        table[curve] = np.stack([np.interp(at[curve], at[has_rows], line) for line in table[has_rows].T], axis=1)
    return table
