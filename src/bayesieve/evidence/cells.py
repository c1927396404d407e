"""Cells within levels: quantile intervals of numbers, or single values of groups, between which
contributions may vary.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.table import FeatureLevels
from bayesieve.table.columns import Column, SpecialValues, special_number
from bayesieve.table.values import HIGHEST_SPECIAL, canonical_text, number_type

N_CELLS = 64
"""Cells of a numeric column, about as many rows each, apart from those that the cut points of its levels add."""
LEAST_ROWS_OF_VALUE = 2
"""Rows of a value that is a separate cell; the other values of its group share one."""


def cells_of(level: FeatureLevels, column: Column, weights: np.ndarray, most: int | None = None) -> FeatureLevels:
    """Return the cells of a column: quantile intervals combined with the cut points of the levels, or single values of
    groups.

    Parameters
    ----------
    level : the levels that the cells are nested in.
    column : rows that the cells are learnt from.
    weights : (n_rows,), positive.
    most : how many cells there may be, without those of missing and special values; None for any number.

    Returns
    -------
    FeatureLevels
        Of the same column; ``level`` itself if it cannot be split.
    """
    n_apart = level.n_special_levels + (level.kind == "categorical" and level.has_missing_level)
    left = N_CELLS if most is None else most - (level.n_levels - n_apart)
    if left < 1:
        return level
    if level.kind != "numeric":
        return _cells_of_values(level, column, weights, None if most is None else left)

    values, at, known = _known_numbers(level, column)
    if values.size < 2:
        return level
    # Narrower in the tails, like the basis functions of curves: cells of equal shares leave steps in the tails of large
    # tables.
    n_cells, rows = min(N_CELLS, left + 1), np.cumsum(np.bincount(at, weights[known]))
    below = np.sin(0.5 * np.pi * np.arange(1, n_cells) / n_cells) ** 2
    last = np.unique(np.searchsorted(rows, rows[-1] * below * (1.0 - 1e-12)))
    return _cut_between(level, values, last[last < values.size - 1])


def finest_cells(level: FeatureLevels, column: Column) -> FeatureLevels:
    """Return cells of one number each, combined with the cut points of numeric levels."""
    values, _, _ = _known_numbers(level, column)
    return _cut_between(level, values, np.arange(values.size - 1))


def _known_numbers(level: FeatureLevels, column: Column) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct finite numbers other than special values, the position of each row among them, and a mask of
    the rows that have one.
    """
    if level.special:
        column = column.read_as(column.name, SpecialValues(level.special))
    numbers, _ = column.read_numbers(number_type(level.type), [], level.day_first)
    known = np.isfinite(numbers) & (numbers > (HIGHEST_SPECIAL if level.special else -np.inf))
    return *np.unique(numbers[known], return_inverse=True), known


def _cut_between(level: FeatureLevels, values: np.ndarray, last: np.ndarray) -> FeatureLevels:
    """Return the levels with additional cuts after the values at the positions ``last``."""
    low, high = values[last], values[last + 1]
    middle = low / 2 + high / 2  # their difference may overflow
    cuts = np.where((middle > low) & (middle < high), middle, low)
    cuts = np.unique(np.concatenate([cuts, level.number_cuts]))
    missing = level.missing_code is not None
    lowest = [*([-np.inf] if missing else []), *map(special_number, range(len(level.special)))]
    facts: dict[str, Any] = {"missing_code": 0 if missing else None, "special": level.special}
    return FeatureLevels(level.name, level.kind, level.type, np.append(lowest, cuts), **facts)


def coarser_codes(cells: FeatureLevels, level: FeatureLevels) -> np.ndarray:
    """Return the level that contains each cell, (n_cells,)."""
    if cells is level:
        return np.arange(level.n_levels)
    if cells.cut_points is not None:
        inside = np.append(cells.cut_points, np.finfo(float).max)  # a number in each cell
        codes = level.code_numbers(inside).astype(np.int64)
        if cells.has_level_below_numbers and level.missing_code is not None:
            codes[0] = level.missing_code
        return codes
    assert cells.groups is not None
    texts = [None if group[0] is None else canonical_text(group[0]) for group in cells.groups]
    return np.array([level.missing_code if text is None else level._code_of_text[text] for text in texts])


def _cells_of_values(level: FeatureLevels, column: Column, weights: np.ndarray, most: int | None) -> FeatureLevels:
    """Return the cells of groups: single values, of which at most ``most`` more than levels, the most
    frequent first.
    """
    assert level.groups is not None
    by_value = level.by_value()
    counts = np.bincount(by_value.code(column, []), weights, by_value.n_levels + 1)
    values = [value for (value,) in by_value.groups or ()]
    rows = {canonical_text(v): n for v, n in zip(values, counts[:-1], strict=True) if v is not None}
    often = {text for text, n in rows.items() if n >= LEAST_ROWS_OF_VALUE}
    if most is not None:
        joined = {canonical_text(v) for group in level.groups if len(group) > 1 for v in group if v is not None}
        often = {*sorted(often & joined, key=lambda text: (-rows[text], text))[:most]}
    groups: list[tuple[object, ...]] = []
    for group in level.groups:
        single = [value for value in group if value is None or canonical_text(value) in often]
        rest = tuple(value for value in group if not (value is None or canonical_text(value) in often))
        groups += [(value,) for value in single] + ([rest] if rest else [])
    if len(groups) == level.n_levels:
        return level
    missing = next((code for code, group in enumerate(groups) if group[0] is None), None)
    return FeatureLevels(name=level.name, kind=level.kind, type=level.type, groups=tuple(groups), missing_code=missing)
