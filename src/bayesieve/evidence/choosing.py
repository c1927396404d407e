"""Choice of surfaces, for features that are more informative together, and of features that the others make up for."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy.linalg import inv
from scipy.special import softmax

from bayesieve.discretize.refitting import merged_cells
from bayesieve.engine.base import map_in_threads, one_blas_thread
from bayesieve.evidence.inclusion import TRIED_VARIANCES, averaged_log_bayes, log_bayes_factors
from bayesieve.evidence.problem import EvidenceProblem, logit_scale
from bayesieve.evidence.shapes import Shape, cosines_over, most_functions
from bayesieve.evidence.steps import cut_grid
from bayesieve.table import FeatureLevels
from bayesieve.table.derived_levels import PairLevels, unused_pair_name
from bayesieve.table.levels import smallest_unsigned

_MOST_PRODUCTS = 1e10  # rows x directions x directions that are looked at
_N_BINS = 20
"""Intervals of a number, about as many rows each, that a surface tells apart."""
_N_WAVES = 5
_MOST_GROUPS = 8  # of a category
_MOST_CELLS = 4096  # of a grid
_CAUTION = 0.5
"""Share of the nats by which one table of noise in a hundred gets a surface: the fit has the last word
(benchmarks/decisions/surfaces.md)."""
_FACTOR_PRECISION = 0.1  # of the prior of the factors on features that stay, around 1: copies share theirs
_AT_ONCE = 20  # one in 20 features is dropped between two looks at the rows
CURVATURE_ROWS = 3000
"""Rows that are enough to see which features are cheapest; all rows confirm it."""


@dataclass(frozen=True, eq=False)
class SurfacePart:
    """A feature as it takes part in surfaces.

    Parameters
    ----------
    feature : its position in the table.
    cells : its cells, or None if these are its levels.
    level : its bins.
    line : (n_cells,) the bin of each of its cells.
    directions : (n_bins, n) in which evidence may change over the bins.
    rows : (n_cells,) number (or weight) of the rows of each cell.
    """

    feature: int
    cells: FeatureLevels | None
    level: FeatureLevels
    line: np.ndarray
    directions: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(
        cls, feature: int, level: FeatureLevels, cells: FeatureLevels | None, of_level: np.ndarray, rows: np.ndarray
    ) -> SurfacePart | None:
        """The part of a feature, or None if it cannot take part.

        Parameters
        ----------
        level, cells : its levels, and its cells if they are finer.
        of_level : (n_cells,) the level of each cell.
        rows : (n_cells,) number (or weight) of the rows of each cell.
        """
        if isinstance(level, PairLevels) or rows.sum() <= 0:
            return None
        if cells is not None and cells.kind == "numeric":
            merged, line = merged_cells(cells, of_level, rows, _N_BINS)
            waves = cosines_over(np.bincount(line, rows, merged.n_levels), merged.n_apart, _N_WAVES, by_ranks=True)
            return cls(feature, cells, merged, line, waves, rows) if waves.shape[1] else None
        if not 1 < level.n_levels <= _MOST_GROUPS:
            return None
        return cls(feature, cells, level, of_level, _steps(of_level, rows), rows)

    def with_steps(self, line: np.ndarray) -> SurfacePart:
        """Return the feature with a step between the intervals of its cells, ``line``, in place of a curve."""
        if not self.is_numeric:
            return self
        assert self.cells is not None
        assert self.cells.cut_points is not None
        cuts = self.cells.cut_points[np.diff(line) > 0]
        level = replace(self.cells, cut_points=cuts, counts=None)
        return replace(self, level=level, line=line, directions=_steps(line, self.rows))

    @property
    def is_numeric(self) -> bool:
        return self.level.kind == "numeric"

    def is_reached(self, rows: np.ndarray) -> np.ndarray:
        """(n_bins,) bool, bins with ``rows`` or on the curve of numbers, between or beside others with rows."""
        reached: np.ndarray = rows > 0
        if self.is_numeric:
            reached |= np.arange(rows.size) >= self.level.n_apart
        return reached

    def bins(self, codes: np.ndarray) -> np.ndarray:
        """The bin of every row, from the codes of its cell; the number of bins for none."""
        return np.append(self.line, self.level.n_levels)[np.minimum(codes, self.line.size)]


@dataclass(frozen=True, eq=False)
class Surface:
    """Evidence over the grid of the bins of two parts."""

    first: SurfacePart
    second: SurfacePart

    @cached_property
    def shape(self) -> Shape:
        return Shape.of_surface(self.first.directions, self.second.directions)

    @property
    def parts(self) -> tuple[SurfacePart, SurfacePart]:
        return self.first, self.second

    def with_steps_if_better(
        self, log_bayes: float, codes: np.ndarray, residuals: np.ndarray, curvature: np.ndarray
    ) -> Surface:
        """Return the pair with steps in place of curves, if their log Bayes factor is above ``log_bayes``.

        Parameters
        ----------
        codes : (2, n_rows) cells of the rows.
        residuals, curvature : (n_rows, n_numbers) as `surface_gains` takes them.
        """
        size = tuple(part.line.size for part in self.parts)
        known = (codes < np.array(size)[:, None]).all(axis=0)
        at = codes[0, known].astype(np.int64) * size[1] + codes[1, known]

        def sums(table: np.ndarray) -> np.ndarray:
            return np.stack([np.bincount(at, rows, math.prod(size)).reshape(size) for rows in table[known].T], axis=-1)

        n_apart = [part.cells.n_apart if part.cells is not None else 0 for part in self.parts]
        is_cut = [part.is_numeric for part in self.parts]
        stepped, lines = cut_grid(sums(residuals), sums(curvature), n_apart, is_cut)
        if stepped <= log_bayes:
            return self
        return Surface(*(part.with_steps(line) for part, line in zip(self.parts, lines, strict=True)))

    @property
    def n_directions(self) -> int:
        return self.first.directions.shape[1] * self.second.directions.shape[1]

    @property
    def size(self) -> tuple[int, int]:
        """Bins of both."""
        return self.first.level.n_levels, self.second.level.n_levels

    def codes(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The cell of the grid of every row, from its cells of both; the number of cells of the grid if in none."""
        n_first, n_second = self.size
        first, second = self.first.bins(first), self.second.bins(second)
        inside = (first < n_first) & (second < n_second)
        cells = np.where(inside, first.astype(np.int64) * n_second + second, n_first * n_second)
        return cells.astype(smallest_unsigned(n_first * n_second))

    def levels(self, cells: np.ndarray, taken: Collection[str]) -> tuple[PairLevels, np.ndarray]:
        """The pair of columns with a level for each cell that has rows, which the cells nearest to it without rows are
        part of, too, unless they are of a bin without rows off the curve; and the cells that have rows.

        Parameters
        ----------
        cells : (n_cells, n_classes) rows (or weight).
        taken : names of other features.
        """
        rows = cells.sum(axis=1).reshape(self.size)
        with_rows, n_levels = rows.ravel() > 0, np.count_nonzero(rows)
        level = np.cumsum(with_rows) - 1
        grid = np.where(with_rows, level, level[_nearest(with_rows, self.shape.basis())])
        reached = np.logical_and.outer(
            self.first.is_reached(rows.sum(axis=1)), self.second.is_reached(rows.sum(axis=0))
        )
        grid[~reached.ravel()] = n_levels
        parts = (self.first.level, self.second.level)
        name = unused_pair_name(parts[0].name, parts[1].name, taken, " (surface)")
        pair = PairLevels.of(parts, grid.reshape(self.size), cells.reshape(*self.size, -1), 0.0, name)
        return pair, np.flatnonzero(with_rows)


def find_surfaces(
    parts: Mapping[int, SurfacePart],
    most: int,
    problem: EvidenceProblem,
    point: np.ndarray,
    codes: np.ndarray,
    drawn: Callable[[int], np.ndarray],
) -> dict[Surface, np.ndarray]:
    """Return at most ``most`` surfaces that may pay, and their cells of the rows.

    Every pair is tested with all else as it is, and needs more evidence the more pairs there are. A surface is smooth,
    or has steps if these explain the rows better.

    Parameters
    ----------
    parts : of features, by their position in ``codes``.
    problem, point : the fit of the single features.
    codes : (features, rows), their cells.
    drawn : gives the positions of a sample of rows, from the most rows that it may have.
    """
    every, cells = list(parts.values()), codes[list(parts)]
    left = most_functions(problem.n_classes) - problem.design.intercept
    fewest = sorted(part.directions.shape[1] for part in every)[:2]
    if len(every) < 2 or most < 1 or left < math.prod(fewest):
        return {}
    bins = np.array([part.bins(own) for part, own in zip(every, cells, strict=True)])
    lines, n_levels = [part.directions for part in every], np.array([part.level.n_levels for part in every])
    n_directions = max(int(n_levels.sum()), sum(line.shape[1] for line in lines))
    rows = drawn(max(1000, int(_MOST_PRODUCTS / (n_directions**2 * problem.design.n_logits))))
    slopes = [slope[rows] for slope in problem.slopes(point)]
    some = bins[:, rows], *slopes
    ways = [partial(surface_gains, lines, *some), partial(grid_gains, n_levels, *some)]
    gains = np.logaddexp(*map_in_threads(lambda way: way(), ways, problem.n_jobs)) - math.log(len(ways))
    pairs = [(i, j) for j in range(len(every)) for i in range(j) if every[i].is_numeric or every[j].is_numeric]
    log_bayes = np.array([gains[pair] for pair in pairs])
    least = _CAUTION * math.log(100.0 * max(1, len(pairs)))
    found: dict[Surface, np.ndarray] = {}
    for k in np.argsort(-log_bayes, kind="stable").tolist():
        if log_bayes[k] <= least or len(found) == most:
            break
        i, j = pairs[k]
        surface = Surface(every[i], every[j]).with_steps_if_better(log_bayes[k], cells[[i, j]][:, rows], *slopes)
        if surface.n_directions <= left and math.prod(surface.size) <= _MOST_CELLS:
            left -= surface.n_directions
            found[surface] = surface.codes(cells[i], cells[j])
    return found


def _steps(line: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(n_bins, n_bins) a direction for each bin, of mean 0 over the ``rows`` of the cells in ``line``."""
    of_bins = np.bincount(line, rows)
    return np.eye(of_bins.size) - of_bins / of_bins.sum()


def _nearest(with_rows: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """(n_cells,) the cell most like each cell in all directions, among those ``with_rows``, (n_cells,) bool."""
    other = np.flatnonzero(with_rows)
    nearest = [np.argmin(((basis[other] - cell) ** 2).sum(axis=1)) for cell in basis]  # all at once take gigabytes
    return other[nearest]


def surface_gains(
    lines: Sequence[np.ndarray], bins: np.ndarray, residuals: np.ndarray, curvature: np.ndarray
) -> np.ndarray:
    """Return log Bayes factors (n, n) of a surface of two features against no surface, in nats.

    All products of two directions have a gradient and a curvature of the log loss; a matrix product gives those of all
    pairs at once, without a look at the rows for each.

    Parameters
    ----------
    lines : of each of the n features, (n_bins, n_directions), of mean 0 over the rows.
    bins : (n, n_rows) the bin of every row, n_bins for none.
    residuals, curvature : (n_rows, n_numbers) of the log loss by the joint of each class; see `EvidenceProblem.slopes`.
    """
    starts = np.cumsum([0, *(line.shape[1] for line in lines)])
    n_directions = int(starts[-1])
    largest = max(float(curvature.max()), float(np.abs(residuals).max()), 1e-300)  # single precision holds any weight
    design = np.zeros((len(residuals), n_directions), dtype=np.float32)
    for k, line in enumerate(lines):
        design[:, starts[k] : starts[k + 1]] = np.append(line, np.zeros((1, line.shape[1])), axis=0)[bins[k]]
    squares = design * design
    square, share = logit_scale(residuals.shape[1])
    variances = TRIED_VARIANCES / square
    gains = np.zeros((len(lines), len(lines), variances.size))
    with one_blas_thread():  # sums come in one order
        for slope, steep in zip(residuals.T / largest, curvature.T / largest, strict=True):
            gradient = (design.T @ (design * slope[:, None].astype(np.float32))).astype(np.float64) * largest
            steepness = (squares.T @ (squares * steep[:, None].astype(np.float32))).astype(np.float64) * largest
            for k, variance in enumerate(variances):
                nats = share * log_bayes_factors(gradient, steepness, variance)
                gains[:, :, k] += np.add.reduceat(np.add.reduceat(nats, starts[:-1], axis=0), starts[:-1], axis=1)
    return averaged_log_bayes(gains)


def grid_gains(n_bins: np.ndarray, bins: np.ndarray, residuals: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """Compute `surface_gains` with a basis function for each bin: sums by cell read the rows once for each pair, but
    take far fewer operations than products with a number for each bin.
    """
    from bayesieve.evidence._kernels import sum_by_level

    n, n_numbers = len(n_bins), residuals.shape[1]
    slopes = np.concatenate([residuals, curvature], axis=1)
    own = bins.astype(smallest_unsigned(int(n_bins.max()) ** 2))
    known = own < n_bins[:, None]
    square, share = logit_scale(n_numbers)
    variances = TRIED_VARIANCES / square
    gains = np.zeros((n, n))
    for i in range(n - 1):
        n_cells = n_bins[i] * n_bins[i + 1 :]
        codes = own[i] * n_bins[i + 1 :, None].astype(own.dtype) + own[i + 1 :]
        codes = np.where(known[i] & known[i + 1 :], codes, n_cells[:, None].astype(own.dtype))
        starts = np.append(0, np.cumsum(n_cells))
        sums = np.zeros((starts[-1] + 1, 2 * n_numbers))
        sum_by_level(codes, 0, n_cells, starts[:-1] * 2 * n_numbers, slopes, sums.ravel())
        gradient, steepness = sums[:-1, :n_numbers], sums[:-1, n_numbers:]
        of_cells = log_bayes_factors(gradient[..., None], steepness[..., None], variances).sum(axis=1)
        gains[i, i + 1 :] = averaged_log_bayes(share * np.add.reduceat(of_cells, starts[:-1]))
    return gains + gains.T


def worth_keeping(
    contributions: np.ndarray,
    joint: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray,
    prices: np.ndarray,
    some: np.ndarray | slice = slice(None),
) -> np.ndarray:
    """(n_features,) bool, the features left when no other can be dropped for its price.

    Features are dropped one after the other, the cheapest first. The cost of a feature is the rise of the log loss
    without it, with all others scaled to make up for it. It comes from the curvature of the loss, as in the optimal
    brain surgeon (Hassibi and Stork 1993), over ``some`` of the rows, and the loss of all rows confirms it.

    Parameters
    ----------
    contributions : (n_features, n_rows, n_classes) nats.
    joint : (n_rows, n_classes) log joint, contributions included.
    classes : (n_rows,) int.
    weights : (n_rows,).
    prices : (n_features,) nats.
    some : positions of rows; `CURVATURE_ROWS` are enough.
    """
    centred = contributions - contributions.mean(axis=2, keepdims=True)
    others = joint - centred.sum(axis=0)
    share = float(weights[some].sum() / max(float(weights.sum()), 1e-300))
    few, prices = centred[:, some], prices.astype(np.float64)
    left, factors = np.arange(len(centred)), np.ones(len(centred))
    loss, at_once = _loss(joint, classes, weights), max(1, left.size // _AT_ONCE)
    inverse: np.ndarray | None = None
    with one_blas_thread():  # sums come in one order
        while left.size > 1:
            if inverse is None:
                scaled = few[left] * factors[left, None, None].astype(few.dtype)
                inverse = _inverse_curvature(scaled, joint[some], weights[some], share)
            dropped, changes = _cheapest(inverse, prices[left], at_once)
            if dropped.size == 0:
                break
            following = factors.copy()
            following[left] *= changes
            without = others + np.tensordot(following.astype(few.dtype), centred, axes=1)
            higher = _loss(without, classes, weights)
            if higher - loss <= prices[left[dropped]].sum():
                joint, loss, inverse, factors = without, higher, None, following
                left = np.delete(left, dropped)
            elif dropped.size == 1:
                prices[left[dropped]] = 0.0  # it stays
            else:
                at_once = dropped.size // 2
    return np.isin(np.arange(len(contributions)), left)


def _inverse_curvature(centred: np.ndarray, joint: np.ndarray, weights: np.ndarray, share: float) -> np.ndarray:
    """(n_features, n_features) of the loss by factors on the contributions, from rows with this share of the weight."""
    probability = softmax(joint, axis=1)
    largest = max(float(weights.max()), 1e-300)  # so that single precision holds any weight
    away = centred - np.einsum("krj,rj->kr", centred, probability.astype(centred.dtype))[:, :, None]
    away *= np.sqrt(probability * (weights / largest)[:, None]).astype(centred.dtype)
    design = away.reshape(len(away), -1).astype(np.float32, copy=False)
    curvature = (design @ design.T).astype(np.float64) * (largest / max(share, 1e-300))
    curvature[np.diag_indices_from(curvature)] += _FACTOR_PRECISION
    return inv(curvature, overwrite_a=True)


def _cheapest(inverse: np.ndarray, prices: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most ``most`` features that cost less than their prices, and factors on all that make up for them."""
    variances, factors = np.diag(inverse).copy(), np.ones(len(inverse))
    most = min(most, len(inverse) - 1)
    dropped: list[int] = []
    # The inverse without the features dropped is the inverse less the outer products of these lines: writing it out
    # after each would take the square of the number of features.
    lines = np.empty((most, len(inverse)))
    for n in range(most):
        profit = prices - factors**2 / (2.0 * np.maximum(variances, 1e-300))
        profit[dropped] = -np.inf
        k = int(np.argmax(profit))
        if profit[k] < 0.0:
            break
        line = inverse[k] - lines[:n, k] @ lines[:n]
        pivot = max(line[k], 1e-300)
        lines[n] = line / np.sqrt(pivot)
        variances -= lines[n] ** 2
        factors = factors - factors[k] * line / pivot
        dropped.append(k)
        factors[dropped] = 0.0
    return np.array(dropped, dtype=np.int64), factors


def _loss(joint: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> float:
    """Sum of weight * -log P(own class), in nats."""
    from bayesieve.evidence._kernels import residuals

    return float(residuals(joint.astype(np.float64), classes, weights))
