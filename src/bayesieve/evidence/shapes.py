"""Shapes of fitted evidence: how the evidence of a feature may deviate from what was counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.linalg import svd

from bayesieve.table.levels import TableLevels

N_WAVES = 8
"""Cosines that a curve is made of."""
_MOST_STEPS = 64
_LEAST_SHARE = 1e-9
_LEAST_SLANT = 1e-6  # nats
_MOST_CURVATURES = 3_000_000  # entries of the curvatures of all classes
_MOST_APART = 1 << 20  # numbers of cells that deviate on their own, of which the descent keeps some 25 copies
_MOST_IN_COLUMNS = 0.75  # of these directions, if pairs of numbers are left to surfaces


def _none() -> np.ndarray:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Shape:
    """How the evidence of one feature may deviate from what was counted.

    The deviation of a cell for a class is a sum over the directions: the entry of the cell times one number for each
    direction. Entries are listed one by one, as few of them differ from 0 if there are many cells.

    Parameters
    ----------
    n_cells : how many cells there are.
    groups : (n_directions,) int from 0; directions of one group share the variance of their prior.
    cells, directions, values : (n_entries,) the entries, cell by cell.
    apart : whether each cell deviates on its own, too, all with one more variance.
    rising : cells over which evidence must not fall in this order, for the second class of two against the first.
    counted : (n_cells, 2) evidence that deviations are added to, if ``rising`` has cells.
    onward : (n_numbers,) which way the numbers of the last direction may lead; empty if that is free.
    shares : (n_cells,) shares of the rows of the cells among all that are in a cell, if others are in none: to these
        the feature adds its mean. Empty if all rows are in a cell.
    """

    n_cells: int
    groups: np.ndarray = field(default_factory=_none)
    cells: np.ndarray = field(default_factory=_none)
    directions: np.ndarray = field(default_factory=_none)
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    apart: bool = False
    rising: np.ndarray = field(default_factory=_none)
    counted: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    onward: np.ndarray = field(default_factory=lambda: np.zeros(0))
    shares: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, basis: np.ndarray, groups: np.ndarray, *, apart: bool = False) -> Shape:
        """The entries of ``basis``, (n_cells, n_directions)."""
        cells, directions = np.nonzero(basis)
        return cls(len(basis), groups, cells, directions, basis[cells, directions], apart)

    @classmethod
    def free(cls, n_levels: int) -> Shape:
        """Every level deviates on its own."""
        every = np.arange(n_levels)
        return cls(n_levels, np.zeros(n_levels, dtype=np.int64), every, every, np.ones(n_levels))

    @classmethod
    def apart_only(cls, n_cells: int) -> Shape:
        """Every cell deviates on its own, and there are many: correlations between them are not looked at."""
        return cls(n_cells, apart=True)

    @classmethod
    def of_values(cls, of_group: np.ndarray, n_groups: int, *, with_groups: bool) -> Shape:
        """Every value deviates on its own, and all values of a group together unless the group is not to be trusted.

        ``of_group``: (n_values,), the group of each value.
        """
        if not with_groups or n_groups == 1:
            return cls.apart_only(of_group.size)
        groups, ones = np.zeros(n_groups, dtype=np.int64), np.ones(of_group.size)
        return cls(of_group.size, groups, np.arange(of_group.size), of_group, ones, apart=True)

    @classmethod
    def of_curve(cls, of_level: np.ndarray, rows: np.ndarray, n_apart: int, counted: np.ndarray) -> Shape:
        """A smooth curve over ordered cells, and steps between the levels that they are nested in.

        The curve is a sum of cosines of 1/2, 1, 3/2, ... periods over the ranks of the rows, with amplitudes of
        standard deviation s, s/2, s/3, ...: a random walk over the ranks without its finest detail. One more direction
        leads from the steps of counted evidence to lines between the middles of the levels, and never away from them:
        cuts are where these rows make the steps largest, so that sharper teeth would pay in these rows only.

        Parameters
        ----------
        of_level : (n_cells,), the level of each cell.
        rows : (n_cells,) rows (or weight) of each cell.
        n_apart : how many cells, of missing and special values, come before those of the curve.
        counted : (n_cells, n_classes) evidence as counted.
        """
        waves = waves_over(rows, n_apart, N_WAVES)
        n_levels = int(of_level.max()) + 1
        steps = np.eye(n_levels)[of_level] if 1 < n_levels <= _MOST_STEPS else np.zeros((of_level.size, 0))
        slant, onward = slanted(of_level, rows, n_apart, counted)
        parts = [part for part in (steps, waves, slant) if part.shape[1]]
        groups = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
        return replace(cls.of(np.concatenate([waves[:, :0], *parts], axis=1), groups), onward=onward)

    @classmethod
    def of_surface(cls, first: np.ndarray, second: np.ndarray) -> Shape:
        """A surface over the grid of the cells of two features: products of the directions of both, (n_cells, n); and
        every cell of the grid deviates on its own, too.
        """
        basis = np.kron(first, second)
        return cls.of(basis, np.zeros(basis.shape[1], dtype=np.int64), apart=True)

    @classmethod
    def fixed(cls, n_cells: int) -> Shape:
        """No deviation."""
        return cls(n_cells)

    def of_rows(self, codes: np.ndarray, weights: np.ndarray) -> Shape:
        """The shape for rows with these codes and weights, (n_rows,), of which some may be in no cell."""
        if not codes.size or int(codes.max()) < self.n_cells:
            return replace(self, shares=np.zeros(0))
        rows = np.bincount(np.minimum(codes, self.n_cells), weights, self.n_cells + 1)[:-1]
        return replace(self, shares=rows / max(float(rows.sum()), np.finfo(float).tiny))

    @property
    def n_lines(self) -> int:
        """The number of cells, and one more if rows are in none."""
        return self.n_cells + int(self.shares.size > 0)

    def with_mean(self, table: np.ndarray) -> np.ndarray:
        """The lines of ``table``, (n_cells, n), and what the feature adds to rows in no cell: their mean, or zeros."""
        mean = self.shares @ table if self.shares.size else np.zeros(table.shape[1])
        return np.concatenate([table, mean[None]])

    def basis(self) -> np.ndarray:
        """The entries written out, (n_cells, n_directions)."""
        basis = np.zeros((self.n_cells, self.groups.size))
        basis[self.cells, self.directions] = self.values
        return basis

    def narrowed(self, kept: np.ndarray, *, apart: bool) -> Shape:
        """With some directions only, (n_directions,) bool, and cells that deviate on their own or not."""
        some, number = kept[self.directions], np.cumsum(kept) - 1
        _, groups = np.unique(self.groups[kept], return_inverse=True)
        entries = (self.cells[some], number[self.directions[some]], self.values[some])
        onward = self.onward if kept[-1:].any() else np.zeros(0)
        return Shape(self.n_cells, groups, *entries, apart, self.rising, self.counted, onward, self.shares)


def waves_over(rows: np.ndarray, n_apart: int, most: int) -> np.ndarray:
    """(n_cells, n) cosines over the ranks of the ``rows`` of ordered cells, of mean 0; 0 for the first ``n_apart``."""
    ordered = np.arange(n_apart, rows.size)
    shares = rows[ordered] / rows[ordered].sum()
    order = np.arange(1, min(most, ordered.size - 1) + 1)
    waves = np.zeros((rows.size, order.size))
    waves[ordered] = np.cos(np.pi * order * (np.cumsum(shares) - shares / 2)[:, None]) / order
    waves[ordered] -= shares @ waves[ordered]
    return waves


def slanted(of_level: np.ndarray, rows: np.ndarray, n_apart: int, counted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What lines through the middles of ordered levels have beyond the steps of their ``counted`` evidence: one
    direction, (n_cells, 1), and its numbers, (n_numbers,). Of more than two classes, the direction that has most of it.
    Nothing, (n_cells, 0) and (0,), of steps that are all alike.
    """
    ordered = np.arange(n_apart, rows.size)
    firsts = np.flatnonzero(np.diff(of_level[ordered], prepend=-1))
    if firsts.size < 2:
        return np.zeros((rows.size, 0)), np.zeros(0)
    total = rows.sum()  # cells may be empty, also several levels by hand side by side: no two middles are the same
    weights = np.maximum(rows[ordered] + np.finfo(float).eps * total, _LEAST_SHARE * total)
    ranks = np.cumsum(weights) - weights / 2
    middles = np.add.reduceat(weights * ranks, firsts) / np.add.reduceat(weights, firsts)
    steps = counted[ordered[firsts]]
    steps = steps - steps.mean(axis=1, keepdims=True)
    lengths = np.diff(np.append(firsts, ordered.size))
    apart = np.append(True, middles[1:] > np.maximum.accumulate(middles)[:-1])  # levels may be empty, too
    beyond = make_interp_spline(middles[apart], steps[apart], k=1)(ranks) - np.repeat(steps, lengths, axis=0)
    beyond[np.repeat(~apart, lengths)] = 0.0
    onward = np.ones(1)
    if steps.shape[1] == 2:
        beyond = np.diff(beyond, axis=1)
    else:
        most = svd(np.sqrt(weights)[:, None] * beyond, full_matrices=False)[2][0]
        onward = most / np.abs(most).max()
        beyond = (beyond @ onward / (onward @ onward))[:, None]
    if np.abs(beyond).max() < _LEAST_SLANT:
        return np.zeros((rows.size, 0)), np.zeros(0)
    slant = np.zeros((rows.size, 1))
    slant[ordered] = beyond
    return slant, onward


def most_directions(n_classes: int) -> int:
    """How many directions of all features can be fitted together in reasonable time."""
    return int(np.sqrt(_MOST_CURVATURES / max(1, n_classes - 1)))


def leaves_room(levels: TableLevels, n_classes: int) -> bool:
    """Whether evidence within the levels of all columns leaves directions for surfaces.

    Surfaces then serve pairs of numbers better than coarse pairs, which overlap if numbers depend smoothly.
    """
    directions = int(levels.n_levels.sum()) + N_WAVES * len(levels)
    return directions <= _MOST_IN_COLUMNS * most_directions(n_classes)


def shapes_within(shapes: Sequence[Callable[[], Shape]], weights: np.ndarray, n_classes: int) -> list[Shape | None]:
    """The shapes as far as `most_directions` allows, features of most weight first; None for the others."""
    result: list[Shape | None] = [None] * len(shapes)
    left = most_directions(n_classes)
    for k in np.argsort(-weights, kind="stable").tolist():
        shape = shapes[k]()
        if shape.groups.size <= left:
            result[k] = shape
            left -= shape.groups.size
    return result


def apart_within(shapes: Sequence[Shape], weights: np.ndarray, n_classes: int) -> list[Shape]:
    """The shapes, with cells that deviate on their own as far as there is memory for them, features of most weight
    first.
    """
    result, left = list(shapes), _MOST_APART // (1 if n_classes == 2 else n_classes)
    for k in np.argsort(-weights, kind="stable").tolist():
        if result[k].apart and result[k].n_cells > left:
            result[k] = replace(result[k], apart=False)
        elif result[k].apart:
            left -= result[k].n_cells
    return result
