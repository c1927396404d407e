"""Shapes of fitted evidence: how the evidence of a feature may deviate from what was counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bayesieve.table.levels import TableLevels

N_WAVES = 8
"""Cosines that a curve is made of."""
_LEAST_SHARE = 1e-9
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
    n_usual : number of groups of directions, the first ones, that deviate as expected. Those that follow are jumps.
    rarely_apart : whether cells hardly ever deviate on their own.
    rising : cells over which evidence must not fall in this order, for the second class of two against the first.
    counted : (n_cells, 2) evidence that deviations are added to, if ``rising`` has cells.
    shares : (n_cells,) shares of the rows of the cells among all that are in a cell, if others are in none: to these
        the feature adds its mean. Empty if all rows are in a cell.
    """

    n_cells: int
    groups: np.ndarray = field(default_factory=_none)
    cells: np.ndarray = field(default_factory=_none)
    directions: np.ndarray = field(default_factory=_none)
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    apart: bool = False
    n_usual: int | None = None
    rarely_apart: bool = False
    rising: np.ndarray = field(default_factory=_none)
    counted: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
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
    def of_curve(cls, rows: np.ndarray, n_apart: int, jumps: np.ndarray | None = None) -> Shape:
        """A smooth curve over ordered cells, with jumps and single cells that depart from it; each cell of missing or
        special values deviates on its own.

        The curve is a sum of cosines of 1/2, 1, 3/2, ... periods, with amplitudes of standard deviation s, s/2, s/3,
        ...: a random walk without its finest detail. See `waves_over`.

        Parameters
        ----------
        rows : (n_cells,) rows (or weight) of each cell.
        n_apart : number of cells of missing and special values, which come before those of the curve.
        jumps : cells before which the curve may jump. They follow from the labels, so that few of them are true.
        """
        waves = waves_over(rows, n_apart, N_WAVES)
        special = np.eye(rows.size)[:, np.flatnonzero(rows[:n_apart] > 0)]
        after = np.arange(rows.size)[:, None] >= (np.zeros(0, dtype=np.int64) if jumps is None else jumps)
        shares = rows[n_apart:] / rows[n_apart:].sum()
        steps = np.concatenate([np.zeros((n_apart, after.shape[1])), after[n_apart:] - shares @ after[n_apart:]])
        sizes = [waves.shape[1], special.shape[1], *[1] * steps.shape[1]]
        groups = np.repeat(np.cumsum(np.array(sizes) > 0) - 1, sizes)
        n_usual = int(groups[: sum(sizes[:2])].max(initial=-1)) + 1
        shape = cls.of(np.concatenate([waves, special, steps], axis=1), groups, apart=True)
        return replace(shape, n_usual=n_usual, rarely_apart=True)

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

    @property
    def n_groups(self) -> int:
        """Number of groups of directions."""
        return int(self.groups.max(initial=-1)) + 1

    @property
    def n_jumps(self) -> int:
        """Number of groups of directions that are jumps."""
        return 0 if self.n_usual is None else self.n_groups - self.n_usual

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
        usual, groups = np.unique(self.groups[kept], return_inverse=True)
        n_usual = None if self.n_usual is None else int(np.count_nonzero(usual < self.n_usual))
        cells, values = self.cells[some], self.values[some]
        directions = number[self.directions[some]]
        return replace(
            self, groups=groups, cells=cells, directions=directions, values=values, apart=apart, n_usual=n_usual
        )


def waves_over(rows: np.ndarray, n_apart: int, most: int, *, by_ranks: bool = False) -> np.ndarray:
    """Return cosines over the ordered cells of a number, (n_cells, n), of mean 0; 0 for the first ``n_apart``.

    Angles are twice the arcsine of the root of the share of rows below: the tails, where few rows decide, get more
    detail than by ranks (benchmarks/decisions/curves.md). With ``by_ranks``, angles are proportional to the share.
    """
    ordered = np.arange(n_apart, rows.size)
    shares = rows[ordered] / rows[ordered].sum()
    order = np.arange(1, min(most, ordered.size - 1) + 1)
    waves = np.zeros((rows.size, order.size))
    below = np.minimum(np.cumsum(shares) - shares / 2, 1.0)
    angles = np.pi * below if by_ranks else 2.0 * np.arcsin(np.sqrt(below))
    waves[ordered] = np.cos(order * angles[:, None]) / order
    waves[ordered] -= shares @ waves[ordered]
    return waves


def lines_between_levels(of_level: np.ndarray, rows: np.ndarray, n_apart: int, counted: np.ndarray) -> np.ndarray:
    """Replace the steps of counted contributions by lines between the middles of the levels, (n_cells, n_classes).

    Parameters
    ----------
    of_level : (n_cells,) level of each cell.
    rows : (n_cells,) rows (or weight) of each cell.
    n_apart : number of cells of missing and special values, which come first and keep their contributions.
    counted : (n_cells, n_classes) contributions, equal in all cells of a level.
    """
    firsts = np.flatnonzero(np.diff(of_level[n_apart:], prepend=-1))
    if firsts.size < 2:
        return counted
    total = float(rows.sum())  # cells may be empty, also several levels side by side: their middles coincide
    weights = np.maximum(rows[n_apart:] + np.finfo(float).eps * total, _LEAST_SHARE * total)
    ranks = np.cumsum(weights) - weights / 2
    middles = np.add.reduceat(weights * ranks, firsts) / np.add.reduceat(weights, firsts)
    distinct = np.append(True, middles[1:] > np.maximum.accumulate(middles)[:-1])
    steps = counted[n_apart:][firsts[distinct]]
    lines = np.stack([np.interp(ranks, middles[distinct], step) for step in steps.T], axis=1)
    return np.concatenate([counted[:n_apart], lines])


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
        size = shape.groups.size - shape.n_jumps
        if size <= left:
            result[k] = shape
            left -= size
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
