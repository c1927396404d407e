"""Cells: partitions of columns that are finer than their levels, and nested in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayesieve.table import FeatureLevels
from bayesieve.table.columns import Column
from bayesieve.table.values import canonical_text

N_CELLS = 64
"""Cells of a numeric column, about as many rows each, apart from those that the cut points of its levels add."""
LEAST_ROWS_OF_VALUE = 2
"""Rows of a value that is a cell of its own; the other values of its group share one."""


def cells_of(level: FeatureLevels, column: Column, weights: np.ndarray) -> FeatureLevels:
    """Quantile intervals of numbers joined with the cut points of the levels, or single values of the groups.

    Parameters
    ----------
    level : the levels that the cells are nested in.
    column : rows that the cells are learnt from.
    weights : (n_rows,), positive.

    Returns
    -------
    FeatureLevels
        Of the same column; ``level`` itself where it cannot be split.
    """
    if level.kind == "numeric":
        numbers, _ = column.read_numbers(level._number_type, [])
        return _cells_of_numbers(level, numbers, weights)
    return _cells_of_values(level, column, weights)


def coarser_codes(cells: FeatureLevels, level: FeatureLevels) -> np.ndarray:
    """(n_cells,) the level that each cell is part of."""
    if cells is level:
        return np.arange(level.n_levels)
    if cells.cut_points is not None:
        inside = np.append(cells.cut_points, np.finfo(float).max)  # a number in each cell
        missing_alone = inside[0] == -np.inf
        codes = level.code_numbers(inside).astype(np.int64)
        if missing_alone and level.missing_code is not None:
            codes[0] = level.missing_code
        return codes
    assert cells.groups is not None
    texts = [None if group[0] is None else canonical_text(group[0]) for group in cells.groups]
    return np.array([level.missing_code if text is None else level._code_of_text[text] for text in texts])


def merged_cells(
    cells: FeatureLevels, of_level: np.ndarray, rows: np.ndarray, n_intervals: int
) -> tuple[FeatureLevels, np.ndarray]:
    """About so many intervals of as many rows each, apart from those that the cut points of the levels add; and which
    of them each cell is part of, (n_cells,).

    Parameters
    ----------
    cells : of numbers, from `cells_of`; missing values stay apart.
    of_level : (n_cells,) the level of each.
    rows : (n_cells,) rows (or weight) of each.
    """
    assert cells.cut_points is not None
    first = 0 if cells.missing_code is None else 1
    shares = rows[first:] / rows[first:].sum()
    interval = np.minimum(((np.cumsum(shares) - shares / 2) * n_intervals).astype(np.int64), n_intervals - 1)
    changes = (np.diff(interval) > 0) | (np.diff(of_level[first:]) != 0)
    cuts = np.append(cells.cut_points[:first], cells.cut_points[first:][changes])
    line = np.concatenate([np.zeros(first, dtype=np.int64), first + np.cumsum(np.append(False, changes))])
    return replace(cells, cut_points=cuts, counts=None), line


def _cells_of_numbers(level: FeatureLevels, numbers: np.ndarray, weights: np.ndarray) -> FeatureLevels:
    known = np.isfinite(numbers)
    values, at = np.unique(numbers[known], return_inverse=True)
    if values.size < 2:
        return level
    rows = np.cumsum(np.bincount(at, weights[known]))
    last = np.unique(np.searchsorted(rows, rows[-1] * np.arange(1, N_CELLS) / N_CELLS * (1.0 - 1e-12)))
    last = last[last < values.size - 1]
    low, high = values[last], values[last + 1]
    middle = low / 2 + high / 2  # their difference may overflow
    cuts = np.where((middle > low) & (middle < high), middle, low)
    assert level.cut_points is not None
    own = level.cut_points[np.isfinite(level.cut_points)]
    cuts = np.unique(np.concatenate([cuts, own]))
    missing = level.missing_code is not None
    return FeatureLevels(
        name=level.name,
        kind=level.kind,
        type=level.type,
        cut_points=np.concatenate([[-np.inf], cuts]) if missing else cuts,
        missing_code=0 if missing else None,
        sum_of=level.sum_of,
    )


def _cells_of_values(level: FeatureLevels, column: Column, weights: np.ndarray) -> FeatureLevels:
    assert level.groups is not None
    categories = column.categories()
    rows = np.bincount(categories.codes + 1, weights, len(categories.values) + 1)[1:]
    often = {canonical_text(v) for v, n in zip(categories.values, rows, strict=True) if n >= LEAST_ROWS_OF_VALUE}
    groups: list[tuple[object, ...]] = []
    for group in level.groups:
        apart = [value for value in group if value is None or canonical_text(value) in often]
        rest = tuple(value for value in group if not (value is None or canonical_text(value) in often))
        groups += [(value,) for value in apart] + ([rest] if rest else [])
    if len(groups) == level.n_levels:
        return level
    missing = next((code for code, group in enumerate(groups) if group[0] is None), None)
    return FeatureLevels(name=level.name, kind=level.kind, type=level.type, groups=tuple(groups), missing_code=missing)
