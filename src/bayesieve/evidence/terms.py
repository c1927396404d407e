"""Terms: the features that are fitted jointly, with their cells and the shapes of their deviations.

A *level* is an interval or group of values; *cells* are finer pieces of a level, such as 64 quantile intervals of a
numeric column. A *counted contribution* is weight times log P(level | class); a *deviation* is what the fit adds to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable, Smoothing
from bayesieve.engine import map_in_threads
from bayesieve.evidence.calibration import CalibratedWeights, CalibrationRows
from bayesieve.evidence.monotone import pool_violators, rising_cells
from bayesieve.evidence.problem import n_logits_of
from bayesieve.evidence.shapes import N_COSINES, Shape, most_functions
from bayesieve.table import FeatureLevels
from bayesieve.table.columns import Column, SpecialValues, special_number
from bayesieve.table.values import HIGHEST_SPECIAL, canonical_text

N_CELLS = 64
"""Number of quantile cells of a numeric column; the cut points of its levels divide them further."""
LEAST_ROWS_OF_VALUE = 2
"""Number of rows from which a category is a cell of its own; the rarer categories of a group share a cell."""

_MOST_SINGLE = 1 << 20  # largest number of coefficients of single cells; the fit stores about 25 arrays of that size


@dataclass(frozen=True)
class FitOptions:
    """Options of the fit of contributions.

    Parameters
    ----------
    fit : what is fitted: "weights", or contributions of "levels" or "cells"; None for nothing.
    signs : for positions of features, 1 if contributions must not fall with increasing values, -1 if they must not
        rise.
    smoothing : smoothing of the probabilities before calibration.
    drop : whether features that are not worth their coefficients are dropped, and surfaces are searched.
    most_surfaces : largest number of surfaces.
    without_surface : names of columns that surfaces must not use.
    n_jobs : number of threads.
    excluded, included : positions of features that must be excluded from the model, or included.
    most_cells : for positions of features, largest number of cells, not counting those of missing and special values.
    """

    fit: str | None
    signs: Mapping[int, int]
    smoothing: Smoothing
    drop: bool
    most_surfaces: int
    without_surface: Collection[str]
    n_jobs: int | None
    excluded: Collection[int] = ()
    included: Collection[int] = ()
    most_cells: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Term:
    """Feature that is fitted jointly with other features.

    Parameters
    ----------
    feature : position of the feature in the table.
    weight : weight of its counted contributions.
    cells : cells of the feature; None if its levels are not divided into cells.
    of_level : (n_cells,) level of each cell.
    codes : (n_rows,) cell of each row.
    rows : (n_cells,) number (or weight) of the rows of each cell.
    counted : (n_cells, n_classes) counted contributions before weighting, in nats.
    is_refitted : whether its levels are refitted for each fold, because levels from all rows would overfit.
    shape : basis functions of its deviations.
    correction : (n_cells, n_classes) ``counted`` minus the contributions in the leave-one-out loss; None if both are
        equal.
    is_by_value : whether its values are fitted one by one, starting from contributions of 0.
    codes_of_final_rows : (n_rows of the last fit,) cell of each row; None if not coded yet.
    """

    feature: int
    weight: float
    cells: FeatureLevels | None
    of_level: np.ndarray
    codes: np.ndarray
    rows: np.ndarray
    counted: np.ndarray
    is_refitted: bool
    shape: Shape
    correction: np.ndarray | None = None
    is_by_value: bool = False
    codes_of_final_rows: np.ndarray | None = None

    def weighted(self, weight: float) -> Term:
        """Return a copy of the term with another weight on its counted contributions."""
        shape = replace(self.shape, counted=weight * self.counted) if self.shape.rising.size else self.shape
        return replace(self, weight=weight, shape=shape)


def collect_terms(
    coded: CodedTable,
    levels: Sequence[FeatureLevels],
    logs: Sequence[np.ndarray],
    weights_by_value: Mapping[int, float],
    calibration: CalibratedWeights,
    options: FitOptions,
) -> list[Term]:
    """Return the features of positive importance, and those that may have an effect through cells, finer pieces of
    their levels (intervals or groups of values).

    The list is empty if only weights are fitted, or if all weights are 0 and stay so.

    Parameters
    ----------
    coded : the rows, coded by ``levels``.
    levels : levels of all features.
    logs : for each feature, (n_levels, n_classes) log P(level | class).
    weights_by_value : weights of the search of the features whose values are fitted one by one, by position. Their
        fitted weights are 0.
    calibration : fitted weights, and the rows of the fit.
    options : what to fit.
    """
    if calibration.loss is None or options.fit == "weights" or not (options.drop or calibration.weights.any()):
        return []
    rows, weights = calibration.loss.rows, calibration.weights
    importance = weights.copy()
    importance[list(weights_by_value)] = list(weights_by_value.values())
    cells: dict[int, FeatureLevels] = {}
    if options.fit == "cells" and rows.refitter is not None and coded.levels is not None:
        features, cells, codes = split_levels(coded, levels, importance, rows, options)
    else:
        features = np.flatnonzero(weights)
        codes = coded.codes_at(features, rows.positions)
    refitted = set(rows.features[list(rows.counts_of_folds)].tolist())
    terms = []
    for k, of_rows in zip(features.tolist(), codes, strict=True):
        of_level = coarser_codes(cells[k], levels[k]) if k in cells else np.arange(coded.n_levels[k])
        n_rows, sign = rows.count_classes(of_rows, of_level.size).sum(axis=1), options.signs.get(k, 0)
        # Counted contributions: merge levels that violate the monotone order, and replace the steps of curves by lines.
        counted = (pool_violators(logs[k], rising_cells(levels[k], sign)) if sign else logs[k])[of_level]
        is_curve = k in cells and cells[k].kind == "numeric"
        if is_curve:
            counted = lines_between_levels(of_level, n_rows, cells[k].n_special_levels, counted)
        term = Term(
            feature=k,
            weight=float(weights[k]),
            cells=cells.get(k),
            of_level=of_level,
            codes=of_rows,
            rows=n_rows,
            counted=counted,
            is_refitted=k in refitted,
            shape=Shape(of_level.size),
            correction=counted - logs[k][of_level] if sign or is_curve else None,
            is_by_value=k in weights_by_value,
        )
        terms.append(term)
    shapes = choose_shapes(terms, coded.n_classes)
    for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        sign = options.signs.get(term.feature, 0)
        if sign:
            shape = replace(shape, rising=rising_cells(term.cells or levels[term.feature], sign), single_cells=False)
        terms[i] = replace(term, shape=shape).weighted(term.weight)
    return terms


def split_levels(
    coded: CodedTable,
    levels: Sequence[FeatureLevels],
    weights: np.ndarray,
    rows: CalibrationRows,
    options: FitOptions,
) -> tuple[np.ndarray, dict[int, FeatureLevels], np.ndarray]:
    """Split the levels (intervals or groups of values) of the features that may have an effect into finer cells, each
    with a contribution.

    Parameters
    ----------
    coded : the rows, coded by ``levels``.
    levels : levels of all features.
    weights : (n_features,) importance of the features; those of the largest weights are split.
    rows : rows of the fit, with their raw values.
    options : features that are excluded, and limits on the number of cells.

    Returns
    -------
    tuple
        Positions of the features: those of positive weight, and a limited number of others whose levels can be split;
        the cells of each split feature, by position; and the codes of all these features, shape (n_features, n_rows).
    """
    heaviest = np.setdiff1d(np.arange(weights.size), list(options.excluded))
    heaviest = heaviest[np.argsort(-weights[heaviest], kind="stable")]
    most = np.count_nonzero(weights) + most_functions(coded.n_classes) // N_COSINES
    features = np.sort(heaviest[:most])
    whole = [levels[k] for k in features.tolist()]
    if not whole:
        return features, {}, np.empty((0, rows.positions.size), dtype=np.uint8)
    most_cells = [options.most_cells.get(k) for k in features.tolist()]
    columns = rows.raw_columns(features.tolist())

    def split(i: int) -> tuple[FeatureLevels, np.ndarray]:
        """Return the cells of the i-th feature, and the cell of each row, (n_rows,)."""
        if len(columns[i]) > 1:  # the feature is a pair
            return whole[i], whole[i].code(columns[i], [])
        cells = cells_of(whole[i], columns[i][0], rows.weights, most_cells[i])
        return cells, cells.code(columns[i][0], [])

    finer = map_in_threads(split, range(len(whole)), options.n_jobs)
    codes = np.array(
        [of_rows for _, of_rows in finer], dtype=np.min_scalar_type(max(cells.n_levels for cells, _ in finer))
    )
    is_split = [cells is not level for (cells, _), level in zip(finer, whole, strict=True)]
    usable = np.array(is_split) | (weights[features] > 0)
    cells = {k: finer[i][0] for i, k in enumerate(features.tolist()) if is_split[i]}
    return features[usable], cells, codes[usable]


def lines_between_levels(of_level: np.ndarray, rows: np.ndarray, n_special: int, counted: np.ndarray) -> np.ndarray:
    """Return counted contributions, (n_cells, n_classes), with lines instead of steps between neighbouring levels.

    The line between two levels is centred at their cut. On both sides, it covers half of the rows of the smaller level:
    it joins the middles of levels of equal size, but a small level changes little of a large one. A level without rows
    lies on the line between its neighbours.

    Parameters
    ----------
    of_level : (n_cells,) level of each cell.
    rows : (n_cells,) number (or weight) of the rows of each cell.
    n_special : number of cells of missing and special values, which come first and keep their contributions.
    counted : (n_cells, n_classes) contributions in nats, equal in all cells of a level.
    """
    ends = np.cumsum(rows[n_special:])
    firsts = np.flatnonzero(np.diff(of_level[n_special:], prepend=-1))
    of_levels, uppers = counted[n_special:][firsts], np.append(ends[firsts[1:] - 1], ends[-1:])
    has_rows = np.diff(uppers, prepend=0.0) > 0.0
    if np.count_nonzero(has_rows) < 2:
        return counted
    middles, uppers = ends - rows[n_special:] / 2, uppers[has_rows]
    sizes, cuts = np.diff(uppers, prepend=0.0), uppers[:-1]
    half = np.minimum(sizes[:-1], sizes[1:]) / 2
    knots = np.stack([cuts - half, cuts + half], axis=1).ravel()
    of_knots = np.repeat(of_levels[has_rows], 2, axis=0)[1:-1]
    lines = np.stack([np.interp(middles, knots, of_class) for of_class in of_knots.T], axis=1)
    return np.concatenate([counted[:n_special], lines])


def choose_shapes(terms: Sequence[Term], n_classes: int) -> list[Shape]:
    """Return the basis functions by which contributions of each feature may deviate from the counted ones: a curve,
    categories within groups, or independent levels.

    ``terms`` are the features of the fit. The total numbers of basis functions and single cells are limited, because
    they take time and memory. Features that are fitted value by value get theirs first, then the features with the
    largest weights.
    """
    shapes = [Shape(term.of_level.size) for term in terms]
    n_functions, n_single = most_functions(n_classes), _MOST_SINGLE // n_logits_of(n_classes)
    for i in np.argsort([-1.0 if term.is_by_value else -term.weight for term in terms], kind="stable").tolist():
        term, shape = terms[i], shapes[i]
        if term.cells is not None and term.cells.kind == "numeric":
            n_special = term.cells.n_special_levels
            jumps = n_special + 1 + np.flatnonzero(np.diff(term.of_level[n_special:]))  # first cells of the levels
            shape = Shape.of_curve(term.rows, n_special, jumps)
        elif term.is_by_value and shape.n_cells <= N_CELLS:
            shape = Shape.free(shape.n_cells)
        elif term.is_by_value:
            shape = Shape(shape.n_cells, single_cells=True)
        elif term.cells is not None:
            shape = Shape.of_values(term.of_level, with_groups=not term.is_refitted)
        elif not term.is_refitted:
            shape = Shape.free(shape.n_cells)
        size = shape.groups.size - shape.n_jumps
        if size > n_functions:
            is_single = term.is_by_value or (term.weight > 0 and not term.is_refitted and term.cells is None)
            size = 0
            shape = Shape(shape.n_cells, single_cells=is_single)
        if shape.single_cells and shape.n_cells > n_single:
            shape = replace(shape, single_cells=False)
        n_functions -= size
        n_single -= shape.n_cells if shape.single_cells else 0
        shapes[i] = shape
    return shapes


def cells_of(level: FeatureLevels, column: Column, weights: np.ndarray, most: int | None = None) -> FeatureLevels:
    """Return the cells of a column (units with a contribution), finer pieces of its levels (intervals or groups of
    values).

    For numeric columns, cells are quantile intervals with the cut points of the levels as additional bounds; for
    groups, they are single categories.

    Parameters
    ----------
    level : levels of the column.
    column : rows from which the cells are computed.
    weights : (n_rows,) positive row weights.
    most : largest number of cells, not counting those of missing and special values; None for no limit.

    Returns
    -------
    FeatureLevels
        Cells as levels of the same column; ``level`` itself if it cannot be split.
    """
    n_apart = level.n_special_levels + (level.kind == "categorical" and level.has_missing_level)
    left = N_CELLS if most is None else most - (level.n_levels - n_apart)
    if left < 1:
        return level
    if level.kind != "numeric":
        return _cells_of_values(level, column, weights, None if most is None else left)

    values, at, is_known = _known_numbers(level, column)
    if values.size < 2:
        return level
    # Make cells narrower in the tails, like the basis functions of curves. Cells with equal shares of the rows would
    # leave visible steps in the tails of large tables.
    n_cells, rows = min(N_CELLS, left + 1), np.cumsum(np.bincount(at, weights[is_known]))
    below = np.sin(0.5 * np.pi * np.arange(1, n_cells) / n_cells) ** 2
    last = np.unique(np.searchsorted(rows, rows[-1] * below * (1.0 - 1e-12)))
    return _cut_between(level, values, last[last < values.size - 1])


def finest_cells(level: FeatureLevels, column: Column) -> FeatureLevels:
    """Return cells (the units with a contribution) that contain one distinct number of ``column`` each, with the cut
    points of ``level`` as additional bounds.
    """
    values, _, _ = _known_numbers(level, column)
    return _cut_between(level, values, np.arange(values.size - 1))


def _known_numbers(level: FeatureLevels, column: Column) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return three arrays for the finite numbers of a column that are not special values.

    They are the distinct numbers in ascending order; for each row that has such a number, its position among them; and
    a mask (n_rows,) of these rows. ``level`` says how the column is read, and which values are special.
    """
    if level.special:
        column = column.read_as(column.name, SpecialValues(level.special))
    numbers, _ = column.read_numbers(level.type, [], level.day_first)
    is_known = np.isfinite(numbers) & (numbers > (HIGHEST_SPECIAL if level.special else -np.inf))
    return *np.unique(numbers[is_known], return_inverse=True), is_known


def _cut_between(level: FeatureLevels, values: np.ndarray, last: np.ndarray) -> FeatureLevels:
    """Return a copy of ``level`` with additional cuts between neighbouring numbers.

    ``values`` are ascending numbers, ``last`` positions among them. Each cut lies in the middle between values[last]
    and the next value.
    """
    low, high = values[last], values[last + 1]
    middle = low / 2 + high / 2  # halved first, because their difference may overflow
    cuts = np.where((middle > low) & (middle < high), middle, low)
    cuts = np.unique(np.concatenate([cuts, level.number_cuts]))
    missing = level.missing_code is not None
    lowest = [*([-np.inf] if missing else []), *map(special_number, range(len(level.special)))]
    facts: dict[str, Any] = {"missing_code": 0 if missing else None, "special": level.special}
    return FeatureLevels(level.name, level.kind, level.type, np.append(lowest, cuts), **facts)


def coarser_codes(cells: FeatureLevels, level: FeatureLevels) -> np.ndarray:
    """Return the code of the level (interval or group of values) that contains each cell, shape (n_cells,). ``cells``
    are finer pieces of ``level``.
    """
    if cells is level:
        return np.arange(level.n_levels)
    if cells.cut_points is not None:
        inside = np.append(cells.cut_points, np.finfo(float).max)  # one number in each cell
        codes = level.code_numbers(inside).astype(np.int64)
        if cells.has_level_below_numbers and level.missing_code is not None:
            codes[0] = level.missing_code
        return codes
    assert cells.groups is not None
    texts = [None if group[0] is None else canonical_text(group[0]) for group in cells.groups]
    return np.array([level.missing_code if text is None else level.code_of_text[text] for text in texts])


def _cells_of_values(level: FeatureLevels, column: Column, weights: np.ndarray, most: int | None) -> FeatureLevels:
    """Return single categories as cells of the groups of ``level``; ``level`` itself if no group can be split.

    Categories become cells of their own if their rows have at least the weight `LEAST_ROWS_OF_VALUE` or, if ``most`` is
    not None, the ``most`` most frequent ones. ``column`` and ``weights`` (n_rows,) are the values and weights of the
    rows.
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
