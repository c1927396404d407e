"""Terms: features that are fitted jointly, with their cells and the shapes of their deviations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.engine import map_in_threads
from bayesieve.evidence.calibration import CalibratedWeights
from bayesieve.evidence.calibration_rows import CalibrationRows
from bayesieve.evidence.cells import cells_of, coarser_codes
from bayesieve.evidence.monotone import merged_evidence, rising_cells
from bayesieve.evidence.shapes import N_COSINES, Shape, most_functions
from bayesieve.table import FeatureLevels
from bayesieve.table.levels import smallest_unsigned

_LEAST_SHARE = 1e-9
_MOST_SINGLE = 1 << 20  # coefficients of single cells, of which the fit keeps some 25 copies


@dataclass(frozen=True)
class FitOptions:
    """Options of the fit of contributions.

    Parameters
    ----------
    fit : "weights", "levels", "cells", or None for nothing.
    signs : by position, 1 for features whose contributions must not fall, -1 for those whose must not rise.
    drop : whether features that do not save their price drop out, and surfaces come in.
    most_surfaces : that may come in.
    without_surface : names of columns that take part in no surface.
    n_jobs : threads.
    excluded, included : positions of features that must be out of the model, or in it.
    most_cells : by position, cells that a feature may have at most, without those of missing and special values.
    """

    fit: str | None
    signs: Mapping[int, int]
    drop: bool
    most_surfaces: int
    without_surface: Collection[str]
    n_jobs: int | None
    excluded: Collection[int] = ()
    included: Collection[int] = ()
    most_cells: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Term:
    """Feature that is fitted jointly with others.

    Parameters
    ----------
    feature : its position in the table.
    weight : of its counted contributions.
    cells : its cells, or None if these are its levels.
    of_level : (n_cells,) the level of each cell.
    codes : (n_rows,) its cells.
    rows : (n_cells,) number (or weight) of the rows of each cell.
    counted : (n_cells, n_classes) counted contributions, without weight.
    is_refitted : whether its levels are refitted for each fold, as those of all rows would overfit.
    shape : basis functions of its deviations.
    correction : (n_cells, n_classes) ``counted`` less the contributions in the leave-one-out loss, or None.
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

    def weighted(self, weight: float) -> Term:
        """Return a copy of the term with another weight."""
        shape = replace(self.shape, counted=weight * self.counted) if self.shape.rising.size else self.shape
        return replace(self, weight=weight, shape=shape)


def collect_terms(
    coded: CodedTable,
    levels: Sequence[FeatureLevels],
    logs: Sequence[np.ndarray],
    calibration: CalibratedWeights,
    options: FitOptions,
) -> list[Term]:
    """Return the features of positive weight, and those that may matter by the cells within their levels; none if only
    weights are fitted.

    Parameters
    ----------
    coded : the rows, coded by ``levels``.
    logs : log P(level | class) of each feature.
    calibration : fitted weights.
    options : what to fit.
    """
    if calibration.loss is None or options.fit == "weights":
        return []
    rows, weights = calibration.loss.rows, calibration.weights
    cells: dict[int, FeatureLevels] = {}
    if options.fit == "cells" and coded.recoder is not None and coded.levels is not None:
        features, cells, codes = split_levels(coded, levels, weights, rows, options)
    else:
        features = np.flatnonzero(weights)
        codes = coded.codes_at(features, rows.positions)
    refitted = set(rows.features[list(rows.counts_of_folds)].tolist())
    terms = []
    for k, of_rows in zip(features.tolist(), codes, strict=True):
        of_level = coarser_codes(cells[k], levels[k]) if k in cells else np.arange(coded.n_levels[k])
        seen, sign = rows.count_classes(of_rows, of_level.size).sum(axis=1), options.signs.get(k, 0)
        # Counted contributions: levels in the wrong order are merged, and curves replace steps by lines.
        counted = (merged_evidence(logs[k], rising_cells(levels[k], sign)) if sign else logs[k])[of_level]
        is_curve = k in cells and cells[k].kind == "numeric"
        if is_curve:
            counted = lines_between_levels(of_level, seen, cells[k].n_special_levels, counted)
        correction = counted - logs[k][of_level] if sign or is_curve else None
        facts = of_level, of_rows, seen, counted, k in refitted, Shape(of_level.size), correction
        terms.append(Term(k, float(weights[k]), cells.get(k), *facts))
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
    """Split the levels of features into finer cells.

    Returns
    -------
    tuple
        Positions of the features of positive weight, and of the first others whose levels can be split, as they may
        matter by their curves or together; the cells of those that are split; and the codes of both, (n_features,
        n_rows).
    """
    assert coded.recoder is not None
    heaviest = np.setdiff1d(np.arange(weights.size), list(options.excluded))
    heaviest = heaviest[np.argsort(-weights[heaviest], kind="stable")]
    most = np.count_nonzero(weights) + most_functions(coded.n_classes) // N_COSINES
    features = np.sort(heaviest[:most])
    whole = [levels[k] for k in features.tolist()]
    if not whole:
        return features, {}, np.empty((0, rows.positions.size), dtype=np.uint8)
    most_cells = [options.most_cells.get(k) for k in features.tolist()]
    columns = coded.recoder.raw_columns(features.tolist(), rows.positions)

    def split(i: int) -> tuple[FeatureLevels, np.ndarray]:
        if len(columns[i]) > 1:  # a pair
            return whole[i], whole[i].code(columns[i], [])
        cells = cells_of(whole[i], columns[i][0], rows.weights, most_cells[i])
        return cells, cells.code(columns[i][0], [])

    finer = map_in_threads(split, range(len(whole)), coded.recoder.n_jobs)
    codes = np.array(
        [of_rows for _, of_rows in finer], dtype=smallest_unsigned(max(cells.n_levels for cells, _ in finer))
    )
    is_split = [cells is not level for (cells, _), level in zip(finer, whole, strict=True)]
    usable = np.array(is_split) | (weights[features] > 0)
    cells = {k: finer[i][0] for i, k in enumerate(features.tolist()) if is_split[i]}
    return features[usable], cells, codes[usable]


def lines_between_levels(of_level: np.ndarray, rows: np.ndarray, n_special: int, counted: np.ndarray) -> np.ndarray:
    """Return counted contributions interpolated linearly between the middles of the levels, (n_cells, n_classes).

    Parameters
    ----------
    of_level : (n_cells,) level of each cell.
    rows : (n_cells,) rows (or weight) of each cell.
    n_special : number of cells of missing and special values, which come first and keep their contributions.
    counted : (n_cells, n_classes) contributions, equal in all cells of a level.
    """
    firsts = np.flatnonzero(np.diff(of_level[n_special:], prepend=-1))
    if firsts.size < 2:
        return counted
    total = float(rows.sum())  # cells may be empty, also several levels side by side: their middles coincide
    weights = np.maximum(rows[n_special:] + np.finfo(float).eps * total, _LEAST_SHARE * total)
    ranks = np.cumsum(weights) - weights / 2
    middles = np.add.reduceat(weights * ranks, firsts) / np.add.reduceat(weights, firsts)
    distinct = np.append(True, middles[1:] > np.maximum.accumulate(middles)[:-1])
    steps = counted[n_special:][firsts[distinct]]
    lines = np.stack([np.interp(ranks, middles[distinct], step) for step in steps.T], axis=1)
    return np.concatenate([counted[:n_special], lines])


def choose_shapes(terms: Sequence[Term], n_classes: int) -> list[Shape]:
    """Return the shape of each term: a curve, values within groups, or independent levels.

    Time and memory for basis functions and single cells are limited: they go to the terms of most weight first.
    """
    shapes = [Shape(term.of_level.size) for term in terms]
    n_functions, n_single = most_functions(n_classes), _MOST_SINGLE // (1 if n_classes == 2 else n_classes)
    for i in np.argsort([-term.weight for term in terms], kind="stable").tolist():
        term, shape = terms[i], shapes[i]
        if term.cells is not None and term.cells.kind == "numeric":
            n_special = term.cells.n_special_levels
            jumps = n_special + 1 + np.flatnonzero(np.diff(term.of_level[n_special:]))  # where levels begin
            shape = Shape.of_curve(term.rows, n_special, jumps)
        elif term.cells is not None:
            shape = Shape.of_values(term.of_level, with_groups=not term.is_refitted)
        elif not term.is_refitted:
            shape = Shape.free(shape.n_cells)
        size = shape.groups.size - shape.n_jumps
        if size > n_functions:
            size, is_single = 0, term.weight > 0 and not term.is_refitted and term.cells is None
            shape = Shape(shape.n_cells, single_cells=is_single)
        if shape.single_cells and shape.n_cells > n_single:
            shape = replace(shape, single_cells=False)
        n_functions -= size
        n_single -= shape.n_cells if shape.single_cells else 0
        shapes[i] = shape
    return shapes
