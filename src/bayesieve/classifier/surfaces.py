"""Surfaces of fitted evidence: pairs of features that the fitted single features leave something to say."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from bayesieve.classifier.model_parts import add_pairs
from bayesieve.discretize.cells import merged_cells
from bayesieve.naive_bayes import DiscreteNB
from bayesieve.naive_bayes.evidence import EvidenceProblem
from bayesieve.naive_bayes.shapes import Shape, most_directions, waves_over
from bayesieve.naive_bayes.surfaces import grid_gains, surface_gains
from bayesieve.table import FeatureLevels
from bayesieve.table.pair_levels import PairLevels, unused_pair_name
from bayesieve.table.table_levels import TableLevels

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

_N_BINS = 12
"""Intervals of a number, about as many rows each, that a surface tells apart."""
_N_WAVES = 3
_MOST_GROUPS = 8  # of a category
_MOST_SURFACES = 30
_MOST_CELLS = 4096  # of a grid
_CAUTION = 0.5  # of the nats by which one table of noise in a hundred gets a surface: the fit has the last word
_LEAST_EVIDENCE = 0.05  # mean deviation in nats below which a feature without weight stays out


@dataclass(frozen=True, eq=False)
class SurfacePart:
    """A feature as it takes part in surfaces.

    Parameters
    ----------
    feature : its position in the table.
    level : its bins.
    line : (n_cells,) the bin of each of its cells.
    directions : (n_bins, n) in which evidence may change over the bins.
    """

    feature: int
    level: FeatureLevels
    line: np.ndarray
    directions: np.ndarray

    @classmethod
    def of(
        cls, feature: int, level: FeatureLevels, cells: FeatureLevels | None, of_level: np.ndarray, rows: np.ndarray
    ) -> SurfacePart | None:
        """The part of a feature with these levels and ``cells`` of so many ``rows`` (or weight), which ``of_level`` has
        the levels of; None where it cannot take part.
        """
        if isinstance(level, PairLevels) or rows.sum() <= 0:
            return None
        if cells is not None and cells.kind == "numeric":
            merged, line = merged_cells(cells, of_level, rows, _N_BINS)
            waves = waves_over(np.bincount(line, rows, merged.n_levels), merged.missing_code, _N_WAVES)
            return cls(feature, merged, line, waves) if waves.shape[1] else None
        if not 1 < level.n_levels <= _MOST_GROUPS:
            return None
        shares = np.bincount(of_level, rows, level.n_levels) / rows.sum()
        return cls(feature, level, of_level, np.eye(level.n_levels) - shares)

    @property
    def is_smooth(self) -> bool:
        return self.level.kind == "numeric"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that it is made of."""
        return self.level.sum_of or (self.level.name,)

    def bins(self, codes: np.ndarray) -> np.ndarray:
        """The bin of every row, from the codes of its cell; the number of bins for none."""
        result: np.ndarray = np.append(self.line, self.level.n_levels)[np.minimum(codes, self.line.size)]
        return result


@dataclass(frozen=True, eq=False)
class Surface:
    """Evidence over the grid of the bins of two parts."""

    first: SurfacePart
    second: SurfacePart

    @cached_property
    def shape(self) -> Shape:
        return Shape.of_surface(self.first.directions, self.second.directions)

    @property
    def n_directions(self) -> int:
        return self.first.directions.shape[1] * self.second.directions.shape[1]

    @property
    def size(self) -> tuple[int, int]:
        """Bins of both."""
        return self.first.level.n_levels, self.second.level.n_levels

    def codes(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The cell of the grid of every row, from its bins; the number of cells where it is in none."""
        n_first, n_second = self.size
        inside = (first < n_first) & (second < n_second)
        return np.where(inside, first.astype(np.int64) * n_second + second, n_first * n_second)

    def levels(self, cells: np.ndarray, taken: Collection[str]) -> tuple[PairLevels, np.ndarray]:
        """The pair of columns with a level for each cell that has rows, which the cells nearest to it without rows are
        part of, too; and the cells that have rows.

        Parameters
        ----------
        cells : (n_cells, n_classes) rows (or weight).
        taken : names of other features.
        """
        with_rows = cells.sum(axis=1) > 0
        level = np.cumsum(with_rows) - 1
        grid = np.where(with_rows, level, level[_nearest(with_rows, self.shape.basis())])
        parts = (self.first.level, self.second.level)
        name = unused_pair_name(parts[0].name, parts[1].name, taken, " (smooth)")
        pair = PairLevels.of(parts, grid.reshape(self.size), cells.reshape(*self.size, -1), 0.0, name)
        return pair, np.flatnonzero(with_rows)


@dataclass(frozen=True, eq=False)
class SurfaceFinder:
    """Looks for surfaces that the rows pay for.

    Parameters
    ----------
    parts : of the features of a fit, by position.
    most : how many surfaces at most.
    """

    parts: Mapping[int, SurfacePart]
    most: int

    @classmethod
    def of(cls, model: SelectiveNB, parts: Mapping[int, SurfacePart | None]) -> SurfaceFinder:
        """For a model with these parts, as many as its option ``pairs`` leaves room for; without counters, identifiers
        and dates.
        """
        pairs, most = getattr(model.encoder_, "pairs", 0), 0
        if isinstance(pairs, (str, Integral)):
            n_pairs = len(TableLevels.of(model.encoder_.levels_).pairs)
            most = _MOST_SURFACES if isinstance(pairs, str) else min(_MOST_SURFACES, int(pairs) - n_pairs)
        marked = getattr(model.encoder_, "marks_", {}).keys()
        wanted = {i: part for i, part in parts.items() if part is not None and marked.isdisjoint(part.columns)}
        return cls(wanted, most)

    def find(self, problem: EvidenceProblem, point: np.ndarray, codes: np.ndarray) -> dict[Surface, np.ndarray]:
        """Surfaces that pay when all else stays as it is, those that gain most first, and their cells of the rows.

        Parameters
        ----------
        problem, point : the fit of the single features.
        codes : (features, rows), their cells.
        """
        parts = list(self.parts.values())
        left = most_directions(problem.n_classes) - problem.intercept
        fewest = sorted(part.directions.shape[1] for part in parts)[:2]
        if len(parts) < 2 or self.most < 1 or left < math.prod(fewest):
            return {}
        bins = np.array([part.bins(codes[i]) for i, part in self.parts.items()])
        slopes = problem.slopes(point)
        smooth = surface_gains([part.directions for part in parts], bins, *slopes)
        gains = np.maximum(smooth, grid_gains(np.array([part.level.n_levels for part in parts]), bins, *slopes))
        pairs = [(i, j) for j in range(len(parts)) for i in range(j) if parts[i].is_smooth or parts[j].is_smooth]
        price = _CAUTION * math.log(100.0 * max(1, len(pairs)))
        found: dict[Surface, np.ndarray] = {}
        for i, j in sorted(pairs, key=lambda pair: (-gains[pair], pair)):
            if gains[i, j] <= price or len(found) == self.most:
                break
            surface = Surface(parts[i], parts[j])
            if surface.n_directions <= left and math.prod(surface.size) <= _MOST_CELLS:
                left -= surface.n_directions
                found[surface] = surface.codes(bins[i], bins[j])
        return found


def makes_a_difference(deviations: np.ndarray, counts: np.ndarray) -> bool:
    """Whether deviations of a feature without weight, (n_cells, n_classes) like its counts, make a difference."""
    return bool(counts.sum(axis=1) @ np.abs(deviations).max(axis=1) > _LEAST_EVIDENCE * counts.sum())


def add_surfaces(
    model: SelectiveNB, predictor: DiscreteNB, surfaces: Mapping[Surface, tuple[np.ndarray, np.ndarray]]
) -> dict[int, np.ndarray]:
    """Make pairs of columns, the last features of the model, of surfaces with this evidence and these counts of rows,
    (n_cells, n_classes). Returns the evidence of their levels by position.
    """
    names, pairs, evidence = TableLevels.of(model.encoder_.levels_).names, list[PairLevels](), {}
    for surface, (table, counts) in surfaces.items():
        pair, with_rows = surface.levels(counts, {*names, *(pair.name for pair in pairs)})
        evidence[len(names) + len(pairs)] = table[with_rows]
        pairs.append(pair)
    if pairs:
        predictor.add_features([np.asarray(pair.counts) for pair in pairs])
        add_pairs(model, pairs)
    return evidence


def _nearest(with_rows: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """(n_cells,) for each cell the one that has rows, (n_cells,) bool, and is least different in all directions."""
    other = np.flatnonzero(with_rows)
    nearest = [np.argmin(((basis[other] - cell) ** 2).sum(axis=1)) for cell in basis]  # all at once take gigabytes
    result: np.ndarray = other[nearest]
    return result
