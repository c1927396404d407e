"""Shapes of features: the basis functions by which fitted contributions may deviate from counted contributions.

The contribution of a cell (a level, or a finer piece of one) is counted first: weight times log P(level | class). The
joint fit adds a deviation in nats: a sum of coefficients times basis functions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from bayesieve.table.levels import TableLevels

N_COSINES = 8
"""Number of cosines in a curve."""
_MOST_CURVATURES = 3_000_000  # largest number of entries of all curvature matrices
_MOST_IN_COLUMNS = 0.75  # share of basis functions for single columns up to which surfaces are possible


@dataclass(frozen=True)
class Shape:
    """Basis functions by which fitted contributions of one feature deviate from the counted ones (weight times log
    P(level given class)).

    The deviation of a cell for a class is the sum over the basis functions of the value of the function in the cell
    times a coefficient of the class. Only values other than 0 are stored, which are few if there are many cells. A
    feature without basis functions and single cells does not deviate.

    Parameters
    ----------
    n_cells : number of cells.
    groups : (n_functions,) group of each function, from 0; coefficients of a group share a prior variance.
    cells, functions, values : (n_values,) cell, function and value of the entries that differ from 0, cell by cell.
    single_cells : whether each cell also has a coefficient of its own; these coefficients form one more group. Their
        correlations are ignored, so that there may be many of them.
    n_groups : number of groups.
    n_jumps : number of groups that are jumps of a curve; they come last.
    rare_single_cells : whether only few single cells are expected to deviate.
    rising : cells in the order in which contributions to the second of two classes must not fall; empty if not
        monotone.
    counted : (n_cells, 2) contributions to which deviations are added, in nats, if ``rising`` is not empty.
    shares : (n_cells,) share of each cell among the rows that have a cell, if some rows have none; such rows get the
        mean deviation. Empty if all rows have a cell.
    """

    n_cells: int
    groups: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    cells: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    functions: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    single_cells: bool = False
    n_groups: int = 0
    n_jumps: int = 0
    rare_single_cells: bool = False
    rising: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    counted: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    shares: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, basis: np.ndarray, groups: np.ndarray, *, single_cells: bool = False) -> Shape:
        """Build the shape (basis functions of the deviations) of a feature from the columns of the matrix ``basis``
        (n_cells, n_functions).

        ``groups`` (n_functions,) numbers the groups of functions whose coefficients share a prior variance; with
        ``single_cells``, each cell also gets a coefficient of its own.
        """
        cells, functions = np.nonzero(basis)
        n_groups = int(groups.max(initial=-1)) + 1
        return cls(len(basis), groups, cells, functions, basis[cells, functions], single_cells, n_groups)

    @classmethod
    def free(cls, n_levels: int) -> Shape:
        """Build the shape (basis functions of the deviations) of a feature with independent levels, with one basis
        function for each level.
        """
        every = np.arange(n_levels)
        return cls(n_levels, np.zeros(n_levels, dtype=np.int64), every, every, np.ones(n_levels), n_groups=1)

    @classmethod
    def of_values(cls, of_group: np.ndarray, *, with_groups: bool) -> Shape:
        """Build the shape (basis functions of the deviations) of a feature with categories in groups: a coefficient for
        each category and, with ``with_groups``, for each group.

        ``of_group`` (n_values,) is the group of each category.
        """
        n_groups = int(of_group.max()) + 1
        if not with_groups or n_groups == 1:
            return cls(of_group.size, single_cells=True)
        groups, ones = np.zeros(n_groups, dtype=np.int64), np.ones(of_group.size)
        return cls(of_group.size, groups, np.arange(of_group.size), of_group, ones, single_cells=True, n_groups=1)

    @classmethod
    def of_curve(cls, rows: np.ndarray, n_special: int, jumps: np.ndarray) -> Shape:
        """Build the shape (basis functions of the deviations) of a numeric column: a smooth curve over ordered cells,
        with possible jumps and deviations of single cells.

        The curve is a sum of cosines with 1/2, 1, 3/2, ... periods, whose coefficients have standard deviations s, s/2,
        s/3, ...: a random walk without its finest details. Each cell of missing or special values deviates by itself.

        Parameters
        ----------
        rows : (n_cells,) number (or weight) of the rows of each cell.
        n_special : number of cells of missing and special values, which come before those of the curve.
        jumps : cells before which the curve may jump. They are cut points learnt from the classes, so that few are
            real.
        """
        cosines = cosines_over(rows, n_special, N_COSINES)
        special = np.eye(rows.size)[:, np.flatnonzero(rows[:n_special] > 0)]
        after = np.arange(rows.size)[:, None] >= jumps
        shares = rows[n_special:] / rows[n_special:].sum()
        steps = np.concatenate([np.zeros((n_special, after.shape[1])), after[n_special:] - shares @ after[n_special:]])
        sizes = [cosines.shape[1], special.shape[1], *[1] * steps.shape[1]]
        groups = np.repeat(np.cumsum(np.array(sizes) > 0) - 1, sizes)
        shape = cls.of(np.concatenate([cosines, special, steps], axis=1), groups, single_cells=True)
        return replace(shape, n_jumps=steps.shape[1], rare_single_cells=True)

    @classmethod
    def of_surface(cls, first: np.ndarray, second: np.ndarray) -> Shape:
        """Build the shape (basis functions of the deviations) of a surface: joint contributions over the grid of the
        bins of two features.

        Basis functions are the products of those of both features, given as matrices ``first`` and ``second`` (n_bins,
        n_functions). Single cells of the grid deviate as well.
        """
        basis = np.kron(first, second)
        return cls.of(basis, np.zeros(basis.shape[1], dtype=np.int64), single_cells=True)

    def of_rows(self, codes: np.ndarray, weights: np.ndarray) -> Shape:
        """Return a copy of the basis functions with ``shares`` computed from rows, so that rows without a cell get the
        mean deviation (correction of counted contributions).

        ``codes`` (n_rows,) are the cells of the rows, ``n_cells`` or more for no cell; ``weights`` (n_rows,) are row
        weights. If every row has a cell, ``shares`` stay empty.
        """
        if not codes.size or int(codes.max()) < self.n_cells:
            return replace(self, shares=np.zeros(0))
        rows = np.bincount(np.minimum(codes, self.n_cells), weights, self.n_cells + 1)[:-1]
        return replace(self, shares=rows / max(float(rows.sum()), np.finfo(float).tiny))

    def look_up(self, table: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the rows of ``table`` (n_cells, n) at ``codes`` (n_rows,), shape (n_rows, n).

        A code without a cell gets the mean over the rows, or zeros if there are no ``shares``.
        """
        mean = self.shares @ table if self.shares.size else np.zeros(table.shape[1])
        lines: np.ndarray = np.concatenate([table, mean[None]])[codes]
        return lines

    def basis(self) -> np.ndarray:
        """Return the matrix of the basis functions, (n_cells, n_functions)."""
        basis = np.zeros((self.n_cells, self.groups.size))
        basis[self.cells, self.functions] = self.values
        return basis


def cosines_over(rows: np.ndarray, n_special: int, most: int, *, by_ranks: bool = False) -> np.ndarray:
    """Return a cosine basis over the ordered cells of a numeric column, shape (n_cells, n); each function has mean 0.

    Functions are 0 in the first ``n_special`` cells, which hold missing and special values. The angle of a cell is
    twice the arcsine of the square root of the share of rows below it. Compared with angles proportional to that share
    (``by_ranks``), this gives more detail to the tails, where few rows decide (benchmarks/decisions/curves.md).

    Parameters
    ----------
    rows : (n_cells,) number (or weight) of the rows of each cell.
    n_special : number of cells of missing and special values, which come first.
    most : largest number of cosines.
    by_ranks : whether angles are proportional to the share of rows below a cell.
    """
    ordered = np.arange(n_special, rows.size)
    shares = rows[ordered] / rows[ordered].sum()
    order = np.arange(1, min(most, ordered.size - 1) + 1)
    cosines = np.zeros((rows.size, order.size))
    below = np.minimum(np.cumsum(shares) - shares / 2, 1.0)
    angles = np.pi * below if by_ranks else 2.0 * np.arcsin(np.sqrt(below))
    cosines[ordered] = np.cos(order * angles[:, None]) / order
    cosines[ordered] -= shares @ cosines[ordered]
    return cosines


def most_functions(n_classes: int) -> int:
    """Return the largest total number of basis functions that can be fitted in reasonable time."""
    return int(np.sqrt(_MOST_CURVATURES / max(1, n_classes - 1)))


def leaves_room(levels: TableLevels, n_classes: int) -> bool:
    """Return whether the curves of all single columns leave enough basis functions for surfaces (joint contributions of
    two columns over a grid).

    If so, surfaces describe pairs of numeric columns better than coarse pairs of their levels.
    """
    functions = int(levels.n_levels.sum()) + N_COSINES * len(levels)
    return functions <= _MOST_IN_COLUMNS * most_functions(n_classes)
