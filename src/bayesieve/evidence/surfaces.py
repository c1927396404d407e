"""Surfaces: joint contributions of two features over a grid, for effects that single features do not explain.

The axes of the grid are *bins*: quantile intervals of a numeric column, or the groups of a categorical column. A bin
consists of one or more *cells*, the units with a contribution of the feature by itself.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bayesieve.engine.base import map_in_threads
from bayesieve.evidence.calibration import CalibrationRows
from bayesieve.evidence.inclusion import TRIED_VARIANCES, averaged_log_bayes
from bayesieve.evidence.problem import EvidenceProblem, logit_scale
from bayesieve.evidence.shapes import Shape, cosines_over, most_functions
from bayesieve.evidence.steps import cut_grid, move_cuts
from bayesieve.evidence.terms import FitOptions, Term, coarser_codes, finest_cells
from bayesieve.table import FeatureLevels
from bayesieve.table.pair_levels import PairLevels, unused_pair_name

_MOST_PRODUCTS = 1e10  # rows x functions of one feature x functions of the other, which bounds the time
_N_BINS = 20  # intervals of a numeric column, with about equal numbers of rows
_N_COSINES = 5
_MOST_GROUPS = 8  # groups of a categorical column
_MOST_CELLS = 4096  # cells of a grid
_PAIRS_AT_ONCE = 64  # pairs that a thread processes in one call
_CAUTION = 0.5
"""Required log Bayes factor, as a share of the one that the best pair reaches in one of a hundred tables of noise. It
can be below 1, because the selection of features tests surfaces again (benchmarks/decisions/surfaces.md)."""


@dataclass(frozen=True, eq=False)
class SurfaceAxis:
    """One of the two features of a surface (joint contributions over a grid), with its bins (intervals or groups that
    are coarser than its cells).

    Parameters
    ----------
    feature : position of the feature in the table.
    cells : cells of the feature; None if its levels are not divided into cells.
    bins : bins of the feature.
    bin_of_cell : (n_cells,) bin of each cell.
    basis : (n_bins, n_functions) basis functions over the bins, with mean 0 over the rows.
    rows : (n_cells,) number (or weight) of the rows of each cell.
    is_limited : whether the user limited the number of cells; then steps can only lie between cells.
    """

    feature: int
    cells: FeatureLevels | None
    bins: FeatureLevels
    bin_of_cell: np.ndarray
    basis: np.ndarray
    rows: np.ndarray
    is_limited: bool

    @property
    def is_cut(self) -> bool:
        """Whether bins are intervals, whose bounds may become steps; if not, each bin is a step of its own."""
        return self.cells is not None and self.cells.cut_points is not None

    @property
    def may_move(self) -> bool:
        """Whether steps may lie between any two numbers, rather than only between two cells."""
        return self.is_cut and not self.is_limited

    def with_steps(self, bin_of_cell: np.ndarray) -> SurfaceAxis:
        """Return the axis with a step basis instead of a smooth one, for the bins given by ``bin_of_cell``
        (n_cells,).
        """
        if self.cells is None or self.cells.cut_points is None:
            return self
        cuts = self.cells.cut_points[np.diff(bin_of_cell) > 0]
        bins = replace(self.cells, cut_points=cuts, counts=None)
        return replace(self, bins=bins, bin_of_cell=bin_of_cell, basis=_steps(bin_of_cell, self.rows))

    def with_cuts(self, bins: FeatureLevels, rows: np.ndarray) -> SurfaceAxis:
        """Return the axis with a step basis for other ``bins``; ``rows`` (n_bins,) is the number (or weight) of rows in
        each.
        """
        every = np.arange(rows.size)
        return replace(self, cells=bins, bins=bins, bin_of_cell=every, basis=_steps(every, rows), rows=rows)

    def is_reached(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask (n_bins,) of the bins that some value can fall into: those with rows, and all intervals of a
        numeric column, where values are interpolated.

        ``rows`` (n_bins,) is the number (or weight) of rows of each bin.
        """
        reached: np.ndarray = rows > 0
        if self.bins.kind == "numeric":
            reached |= np.arange(rows.size) >= self.bins.n_special_levels
        return reached

    def code(self, cells: np.ndarray) -> np.ndarray:
        """Return the bin of each row, (n_rows,); the number of bins if the row has no cell.

        ``cells`` (n_rows,) is the cell (finest unit of the feature) of each row.
        """
        return np.append(self.bin_of_cell, self.bins.n_levels)[np.minimum(cells, self.bin_of_cell.size)]


@dataclass(frozen=True, eq=False)
class Surface:
    """Pair of features whose joint contributions are fitted over the grid of their bins; ``first`` and ``second`` are
    its axes.
    """

    first: SurfaceAxis
    second: SurfaceAxis

    @cached_property
    def shape(self) -> Shape:
        """Basis functions of the surface over the cells of its grid, as a `Shape`: the product of each function of the
        first axis with each function of the second.
        """
        return Shape.of_surface(self.first.basis, self.second.basis)

    @property
    def axes(self) -> tuple[SurfaceAxis, SurfaceAxis]:
        """Both features with their bins."""
        return self.first, self.second

    def with_steps_if_better(
        self, log_bayes: float, codes: np.ndarray, gradient: np.ndarray, curvature: np.ndarray
    ) -> Surface:
        """Return the surface with contributions that are constant in rectangles, instead of smooth, if the log Bayes
        factor of steps exceeds ``log_bayes``, otherwise unchanged.

        Parameters
        ----------
        log_bayes : log Bayes factor of the smooth surface, in nats.
        codes : (2, n_rows) cell of each row for both features.
        gradient, curvature : (n_rows, n_logits) derivatives of the log loss, from `EvidenceProblem.slopes`.
        """
        size = tuple(axis.bin_of_cell.size for axis in self.axes)
        in_grid = (codes < np.array(size)[:, None]).all(axis=0)
        at = codes[0, in_grid].astype(np.int64) * size[1] + codes[1, in_grid]

        def sums(table: np.ndarray) -> np.ndarray:
            """Sum values of rows, (n_rows, n_logits), by cell of the grid of both features."""
            return np.stack(
                [np.bincount(at, rows, math.prod(size)).reshape(size) for rows in table[in_grid].T], axis=-1
            )

        n_special = [axis.cells.n_special_levels if axis.cells is not None else 0 for axis in self.axes]
        is_cut = [axis.is_cut for axis in self.axes]
        stepped, bins = cut_grid(sums(gradient), sums(curvature), n_special, is_cut)
        if stepped <= log_bayes:
            return self
        return Surface(*(axis.with_steps(of_cell) for axis, of_cell in zip(self.axes, bins, strict=True)))

    @property
    def n_functions(self) -> int:
        """Number of basis functions of the surface."""
        return self.first.basis.shape[1] * self.second.basis.shape[1]

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of bins of both features."""
        return self.first.bins.n_levels, self.second.bins.n_levels

    def codes(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the grid cell of each row, (n_rows,), from its cells of the ``first`` and ``second`` feature,
        (n_rows,) each; the number of grid cells if it has none.
        """
        n_first, n_second = self.size
        first, second = self.first.code(first), self.second.code(second)
        inside = (first < n_first) & (second < n_second)
        cells = np.where(inside, first.astype(np.int64) * n_second + second, n_first * n_second)
        return cells.astype(np.min_scalar_type(n_first * n_second))

    def levels(self, cells: np.ndarray, taken: Collection[str]) -> tuple[PairLevels, np.ndarray]:
        """Return the surface as a pair of columns with one level for each grid cell that has rows, and the positions of
        these cells in the grid, (n_levels,).

        A grid cell without rows joins the level of the cell with the most similar basis functions. It has no level if
        no value can fall into its row or column of the grid.

        Parameters
        ----------
        cells : (n_cells, n_classes) number (or weight) of rows in each grid cell.
        taken : names of other features, which the pair must not have.
        """
        rows = cells.sum(axis=1).reshape(self.size)
        with_rows, n_levels = rows.ravel() > 0, np.count_nonzero(rows)
        level = np.cumsum(with_rows) - 1
        grid = np.where(with_rows, level, level[_nearest(with_rows, self.shape.basis())])
        reached = np.logical_and.outer(
            self.first.is_reached(rows.sum(axis=1)), self.second.is_reached(rows.sum(axis=0))
        )
        grid[~reached.ravel()] = n_levels
        axes = (self.first.bins, self.second.bins)
        name = unused_pair_name(axes[0].name, axes[1].name, taken, " (surface)")
        pair = PairLevels.of(axes, grid.reshape(self.size), cells.reshape(*self.size, -1), 0.0, name)
        return pair, np.flatnonzero(with_rows)


def surface_axes(terms: Sequence[Term], levels: Sequence[FeatureLevels], options: FitOptions) -> dict[int, SurfaceAxis]:
    """Return the features that surfaces (joint contributions of two features) may combine, by position among the terms;
    empty if no feature has cells within its levels.

    Numeric columns get quantile bins and a cosine basis; the bins of categorical columns are their groups.

    Parameters
    ----------
    terms : features of the joint fit, with their cells.
    levels : levels of all features of the table.
    options : options of the fit, which may exclude columns from surfaces.
    """
    axes: dict[int, SurfaceAxis] = {}
    if all(term.cells is None for term in terms):
        return axes
    for i, term in enumerate(terms):
        level, cells, rows, is_limited = levels[term.feature], term.cells, term.rows, term.feature in options.most_cells
        if term.is_refitted or term.feature in options.signs or level.name in options.without_surface:
            continue
        if isinstance(level, PairLevels) or rows.sum() <= 0:
            continue
        if cells is not None and cells.kind == "numeric":
            # Bins are quantile intervals with the cut points of the levels as additional bounds.
            first = cells.n_special_levels
            assert cells.cut_points is not None
            shares = rows[first:] / rows[first:].sum()
            interval = np.minimum(((np.cumsum(shares) - shares / 2) * _N_BINS).astype(np.int64), _N_BINS - 1)
            changes = (np.diff(interval) > 0) | (np.diff(term.of_level[first:]) != 0)
            cuts = np.append(cells.cut_points[:first], cells.cut_points[first:][changes])
            bins = replace(cells, cut_points=cuts, counts=None)
            bin_of_cell = np.append(np.arange(first), first + np.cumsum(np.append(False, changes)))
            of_bins = np.bincount(bin_of_cell, rows, bins.n_levels)
            basis = cosines_over(of_bins, bins.n_special_levels, _N_COSINES, by_ranks=True)
            if basis.shape[1]:
                axes[i] = SurfaceAxis(term.feature, cells, bins, bin_of_cell, basis, rows, is_limited)
        elif 1 < level.n_levels <= _MOST_GROUPS:
            steps = _steps(term.of_level, rows)
            axes[i] = SurfaceAxis(term.feature, cells, level, term.of_level, steps, rows, is_limited)
    return axes


def find_surfaces(
    axes: Mapping[int, SurfaceAxis],
    most: int,
    problem: EvidenceProblem,
    point: np.ndarray,
    codes: Sequence[np.ndarray],
    rows: CalibrationRows,
) -> dict[Surface, np.ndarray]:
    """Return up to ``most`` promising surfaces (pairs of features with joint contributions over a grid), each with the
    grid cell of every row.

    Every pair is tested given the fitted single features; the required Bayes factor grows with the number of pairs. A
    surface is smooth, or has steps if these explain the rows better.

    Parameters
    ----------
    axes : features that surfaces may combine, by their position in ``codes``.
    most : largest number of surfaces.
    problem, point : fitting problem of the single features, and its fitted parameters (n_parameters, n_logits).
    codes : for each feature, the cell of each row, (n_rows,).
    rows : rows of the fit.
    """
    every, cells = list(axes.values()), [codes[i] for i in axes]
    left = most_functions(problem.n_classes) - problem.design.intercept
    fewest = sorted(axis.basis.shape[1] for axis in every)[:2]
    if len(every) < 2 or most < 1 or left < math.prod(fewest):
        return {}

    # Compute the Bayes factors of all pairs from gradients and curvatures of a sample of rows.
    bins = np.array([axis.code(of_rows) for axis, of_rows in zip(every, cells, strict=True)])
    bases = [axis.basis for axis in every]
    n_functions = int(np.sum([basis.shape for basis in bases], axis=0).max())
    sample = rows.draw(max(1000, int(_MOST_PRODUCTS / (n_functions**2 * problem.design.n_logits))))
    gradient, curvature = problem.slopes(point)
    slopes = gradient[sample], curvature[sample]
    is_numeric = [axis.bins.kind == "numeric" for axis in every]
    pairs = [(i, j) for j in range(len(every)) for i in range(j) if is_numeric[i] or is_numeric[j]]
    log_bayes = pair_gains(pairs, bins[:, sample], bases, slopes, problem.n_jobs)

    # Skip a surface that would exceed the limits of the fit, because a less probable but smaller one may still fit.
    least = _CAUTION * math.log(100.0 * max(1, len(pairs)))
    surfaces: dict[Surface, np.ndarray] = {}
    for k in np.argsort(-log_bayes, kind="stable").tolist():
        if log_bayes[k] <= least or len(surfaces) == most:
            break
        i, j = pairs[k]
        smooth, both = Surface(every[i], every[j]), (cells[i], cells[j])
        surface = smooth.with_steps_if_better(log_bayes[k], np.stack([of_rows[sample] for of_rows in both]), *slopes)
        if surface.n_functions <= left and math.prod(surface.size) <= _MOST_CELLS:
            left -= surface.n_functions
            if surface is not smooth:
                surface, both = move_steps(surface, both, gradient, curvature, rows)
            surfaces[surface] = surface.codes(*both)
    return surfaces


def move_steps(
    surface: Surface,
    cells: tuple[np.ndarray, np.ndarray],
    gradient: np.ndarray,
    curvature: np.ndarray,
    rows: CalibrationRows,
) -> tuple[Surface, tuple[np.ndarray, np.ndarray]]:
    """Move the steps of a surface (joint contributions of two features, constant in rectangles) from the bounds of
    cells to the values where they explain the rows best.

    Cells are quantile intervals, so that a step between two of them may be many rows away from the best position
    (benchmarks/decisions/surfaces.md).

    Parameters
    ----------
    surface : surface with steps.
    cells : cell of each row for both features, (n_rows,) each.
    gradient, curvature : (n_rows, n_logits) derivatives of the log loss of each row.
    rows : rows of the fit.

    Returns
    -------
    tuple
        Surface with moved steps, and the cell of each row for both of its features.
    """
    # Make every distinct number a cell. Groups of categories, and columns with a limited number of cells, keep theirs.
    finest, codes, bounds, n_special = [], [], [], []
    for axis, of_rows in zip(surface.axes, cells, strict=True):
        if axis.may_move:
            ((column,),) = rows.raw_columns([axis.feature])
            finest.append(finest_cells(axis.bins, column))
            codes.append(finest[-1].code(column, []))
            n_special.append(axis.bins.n_special_levels)
        else:
            finest.append(axis.bins)
            codes.append(axis.code(of_rows))
            n_special.append(axis.bins.n_levels)
        first = np.searchsorted(coarser_codes(finest[-1], axis.bins), np.arange(axis.bins.n_levels))
        bounds.append(np.append(first, finest[-1].n_levels))
    in_grid = np.logical_and(codes[0] < bounds[0][-1], codes[1] < bounds[1][-1])
    both = codes[0][in_grid], codes[1][in_grid]
    bounds = move_cuts(both, gradient[in_grid], curvature[in_grid], bounds, n_special)

    # Make the bins between the moved steps the new cells of the surface.
    axes, bins_of_rows = list(surface.axes), list(cells)
    for i, axis in enumerate(surface.axes):
        cuts = finest[i].cut_points
        if axis.may_move and cuts is not None:
            bins = replace(finest[i], cut_points=cuts[bounds[i][1:-1] - 1], counts=None)
            bins_of_rows[i] = np.searchsorted(bounds[i], codes[i], side="right") - 1
            axes[i] = axis.with_cuts(bins, np.bincount(bins_of_rows[i], rows.weights, bins.n_levels + 1)[:-1])
    return Surface(*axes), (bins_of_rows[0], bins_of_rows[1])


def _steps(bin_of_cell: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return a step basis, (n_bins, n_bins): an indicator of each bin, minus its mean over the rows.

    ``bin_of_cell`` (n_cells,) is the bin of each cell; ``rows`` (n_cells,) the number (or weight) of its rows.
    """
    of_bins = np.bincount(bin_of_cell, rows)
    return np.eye(of_bins.size) - of_bins / of_bins.sum()


def _nearest(with_rows: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return, for each grid cell, the cell with rows whose basis functions have the most similar values, shape
    (n_cells,).

    ``with_rows`` (n_cells,) is the mask of the cells with rows; ``basis`` (n_cells, n_functions) the basis functions.
    """
    other = np.flatnonzero(with_rows)
    nearest = [
        np.argmin(((basis[other] - cell) ** 2).sum(axis=1)) for cell in basis
    ]  # a loop, because one array for all cells takes gigabytes
    return other[nearest]


def pair_gains(
    pairs: Sequence[tuple[int, int]],
    bins: np.ndarray,
    bases: Sequence[np.ndarray],
    slopes: tuple[np.ndarray, np.ndarray],
    n_jobs: int | None,
) -> np.ndarray:
    """Return the log Bayes factor of joint contributions (a surface) against single ones for each pair of features,
    (n_pairs,), in nats.

    It is the log of the mean of two Bayes factors: for a smooth surface made of products of basis functions, and for a
    grid with independent cells.

    Parameters
    ----------
    pairs : pairs of positions among the n features.
    bins : (n, n_rows) bin of every row for each feature; the number of bins if it has none.
    bases : for each feature, (n_bins, n_functions) basis functions with mean 0 over the rows.
    slopes : gradient and curvature of the log loss, (n_rows, n_logits) each, from `EvidenceProblem.slopes`.
    n_jobs : number of threads.
    """
    from bayesieve.evidence._kernels import pair_log_bayes, sum_by_level

    n_bins, n_functions = np.array([basis.shape for basis in bases], dtype=np.int64).T
    starts = np.append(0, np.cumsum(n_bins * n_functions)[:-1])
    values = np.concatenate([basis.ravel() for basis in bases])
    of_rows = np.concatenate(slopes, axis=1)
    square, share = logit_scale(slopes[0].shape[1])
    features, variances = np.array(pairs, dtype=np.int64).reshape(-1, 2), TRIED_VARIANCES / square
    logs = np.empty((len(features), 2, variances.size))
    bins = bins.astype(np.min_scalar_type(int(n_bins.max())), order="C")  # one type for which kernels are compiled
    n_lines, width = int(n_bins.max()) + 1, of_rows.shape[1]
    sums = np.zeros((len(bases) * n_lines + 1, width))
    sum_by_level(bins, 0, n_bins + 1, np.arange(len(bases)) * n_lines * width, of_rows, sums.ravel())
    margins = sums[:-1].reshape(len(bases), n_lines, width)

    facts = bins, n_bins, of_rows, margins, values, starts, n_functions, variances
    map_in_threads(
        lambda at: pair_log_bayes(features[at : at + _PAIRS_AT_ONCE], *facts, logs[at : at + _PAIRS_AT_ONCE]),
        range(0, len(logs), _PAIRS_AT_ONCE),
        n_jobs,
    )
    of_ways = averaged_log_bayes(share * logs)
    return np.asarray(np.logaddexp(of_ways[:, 0], of_ways[:, 1]) - math.log(2.0))
