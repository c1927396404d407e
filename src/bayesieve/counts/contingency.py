"""Counts of every feature by level and class, and smoothed log probabilities computed from them.

A *level* is an interval of numbers or a group of categories of a feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayesieve.parts import Allowed, check_allowed
from bayesieve.words import ShortRepr

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from bayesieve.counts.coded import CodedTable
    from bayesieve.engine import Engine


@dataclass(frozen=True, repr=False)
class ContingencyCounts(ShortRepr):
    """Number of rows (or sum of weights) of every level of every feature by class.

    The sum ``a + b`` has the counts of the union of two disjoint sets of rows, without rounding for unweighted rows.

    Attributes
    ----------
    counts : float array, shape (levels of all features, n_classes)
        Number (or weight) of the rows of each level and class, feature after feature.
    offsets : int array, shape (n_features + 1,)
        First level of each feature in ``counts``, then the number of all levels.
    class_counts : float array, shape (n_classes,)
        Number (or weight) of the rows of each class.
    """

    counts: np.ndarray
    offsets: np.ndarray
    class_counts: np.ndarray

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.offsets.size - 1

    @property
    def total(self) -> float:
        """Number of rows, or sum of the weights."""
        return float(self.class_counts.sum())

    def feature(self, k: int) -> np.ndarray:
        """Return the counts of feature ``k``, shape (n_levels, n_classes)."""
        return self.counts[self.offsets[k] : self.offsets[k + 1]]

    def __add__(self, other: ContingencyCounts) -> ContingencyCounts:
        """Return the counts of the union of two disjoint sets of rows."""
        self._check_same(other)
        return ContingencyCounts(self.counts + other.counts, self.offsets, self.class_counts + other.class_counts)

    def __sub__(self, other: ContingencyCounts) -> ContingencyCounts:
        """Return the counts of the rows that remain if the rows of ``other``, a subset, are removed."""
        self._check_same(other)
        counts = left_over(self.counts, other.counts)
        return ContingencyCounts(counts, self.offsets, left_over(self.class_counts, other.class_counts))

    def _check_same(self, other: ContingencyCounts) -> None:
        """Raise ValueError if ``other`` has other features, levels or classes."""
        if not np.array_equal(self.offsets, other.offsets) or self.counts.shape != other.counts.shape:
            raise ValueError(
                "Counts of different features, levels or classes cannot be added or subtracted; code both tables with "
                "the same encoder."
            )


def left_over(counts: np.ndarray, taken: np.ndarray | float) -> np.ndarray:
    """Return ``counts`` minus ``taken``, element by element; differences within rounding errors become 0.

    Both are arrays of counts or sums of weights.
    """
    left: np.ndarray = counts - taken
    left[left < 1e-12 * counts] = 0.0
    return left


_MOST_CELLS = 256  # largest number of joint codes, so that their histogram stays in the first-level cache
_ROWS_A_CELL = 16  # least number of rows per joint code; with fewer, adding up cells takes longer than passes


@dataclass(frozen=True)
class JointCodes:
    """Joint codes of groups of features with few levels: one code per combination of levels.

    With them, counting all features with new row weights takes one pass per group instead of one per feature.

    Attributes
    ----------
    codes : (n_groups, n_rows) unsigned; the rows are sorted by class
    n_cells : (n_groups,) number of combinations of levels
    starts : (n_classes + 1,) first row of each class
    margins : sparse matrix (levels of all features, combinations of all groups): 1 if a combination contains the level
    offsets : (n_features + 1,) first level of each feature among the rows of ``margins``
    engine : storage of the codes
    """

    codes: np.ndarray
    n_cells: np.ndarray
    starts: np.ndarray
    margins: csr_array
    offsets: np.ndarray
    engine: Engine

    @classmethod
    def of(cls, coded: CodedTable) -> JointCodes:
        """Return the joint codes (one code per combination of levels of a few features) of a table with rows sorted by
        class.
        """
        from scipy.sparse import csr_array

        complete = [bool(row.max(initial=0) < n) for row, n in zip(coded.codes, coded.n_levels, strict=True)]
        n_codes = coded.n_levels + ~np.array(complete, dtype=bool)  # the last code of others is that of unseen values
        groups = _groups(n_codes, int(np.clip(coded.n_rows // _ROWS_A_CELL, 1, _MOST_CELLS)))
        codes = coded.engine.array((len(groups), coded.n_rows), coded.codes.dtype)
        offsets = np.append(0, np.cumsum(coded.n_levels))
        cells: list[np.ndarray] = []  # of each level, where it is one of the features
        lines: list[np.ndarray] = []
        n_cells = np.array([int(np.prod(n_codes[group])) for group in groups], dtype=np.int64)
        first = np.cumsum(n_cells) - n_cells
        for position, group in enumerate(groups):
            codes[position] = 0
            steps = n_cells[position] // np.cumprod(n_codes[group])
            for k, step in zip(group, steps, strict=True):
                levels = np.arange(n_cells[position]) // step % n_codes[k]
                last = codes.dtype.type(n_codes[k] - 1)
                codes[position] += codes.dtype.type(step) * np.minimum(coded.codes[k], last)
                levels_with_code = np.flatnonzero(levels < coded.n_levels[k])
                cells.append(first[position] + levels_with_code)
                lines.append(offsets[k] + levels[levels_with_code])
            coded.engine.release((len(group) + 1) * codes[position].nbytes)
        at = np.concatenate(lines or [offsets[:0]]), np.concatenate(cells or [offsets[:0]])
        margins = csr_array((np.ones(at[0].size), at), shape=(int(offsets[-1]), int(n_cells.sum())))
        starts = np.searchsorted(np.asarray(coded.class_codes), np.arange(coded.n_classes + 1))
        return cls(codes, n_cells, starts, margins, offsets, coded.engine)

    def weigh(self, weights: np.ndarray, classes: np.ndarray) -> ContingencyCounts:
        """Return the number of rows of every level by class, with new row weights; like `CodedTable.counts` up to
        rounding.

        Parameters
        ----------
        weights : (n_rows,) new row weights
        classes : for each class of the table, the class of the result to which its rows are added, (n_classes,)
        """
        from bayesieve.counts._kernels import weigh_sorted

        offsets, n_classes = np.append(0, np.cumsum(self.n_cells)), int(classes.max()) + 1
        cells = np.zeros((int(offsets[-1]), n_classes))
        for bounds in self.engine.blocks(self.starts, len(self.codes) * self.codes.dtype.itemsize):
            weigh_sorted(self.codes, weights, bounds, classes, self.n_cells, offsets, cells)
        of_classes = np.array([weights[a:b].sum() for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)])
        return ContingencyCounts(self.margins @ cells, self.offsets, np.bincount(classes, of_classes, n_classes))


def _groups(n_codes: np.ndarray, most: int) -> list[np.ndarray]:
    """Divide features into groups with at most ``most`` combinations of codes each; return the positions of each
    group's features.

    ``n_codes`` (n_features,) are numbers of codes. Features with most codes come first.
    """
    groups: list[list[int]] = []
    n_cells = most + 1
    for k in np.argsort(-n_codes, kind="stable").tolist():
        n_cells *= int(n_codes[k])
        if n_cells > most:
            groups.append([])
            n_cells = int(n_codes[k])
        groups[-1].append(k)
    return [np.array(group) for group in groups]


_LEAST_ALPHA, _LARGEST_ALPHA = 1e-280, 1e100  # beyond, ratios of probabilities leave the range of floats


_FADING_ROWS = 20.0  # rows of a level, with balanced classes, at which half of what fades is left


@dataclass(frozen=True)
class Shrinkage:
    """Smoothing that shrinks the ratio of observed to expected rows of a level and class towards 1.

    Parameters
    ----------
    rows : float
        Pseudo-rows added to the observed and to the expected rows of a level, over all classes.
    fades : bool
        Whether pseudo-rows decrease with the expected rows, so that frequent levels can be nearly pure. With J classes,
        the share 1 / (2 J) remains: n rows of one of two equally frequent classes get log odds of at most log(8 n + 1)
        (benchmarks/decisions/pure_levels.md).
    """

    rows: float
    fades: bool

    def logs(
        self,
        counts: np.ndarray,
        class_counts: np.ndarray,
        n_rows: np.ndarray,
        n_levels: np.ndarray | int,
        total: np.ndarray | float,
    ) -> np.ndarray:
        """Return log P(level | class), up to a constant per level, from shrunk ratios of observed to expected rows;
        shape (n_levels, n_classes).

        A level of N_i rows is expected to have E = N_i N_j / N rows of class j. The ratio (N_ij + c) / (E + c) is the
        posterior mean of N_ij / E under a gamma prior of mean 1 (DuMouchel 1999): it is 1 for a level without rows, and
        near 1 for rare levels and rare classes. With J classes, c is ``rows`` / J, as in Jeffreys' prior for two
        classes and in Perks' prior.

        Parameters
        ----------
        counts : (n_levels, n_classes) rows (or weight) of each level and class.
        class_counts : rows (or weight) of each class, (n_classes,), or (n_levels, n_classes) for levels of several
            features.
        n_rows : (n_levels, 1) rows (or weight) of each level.
        n_levels, total : number of levels, and rows (or weight) of all levels; (n_levels, 1) for levels of several
            features.
        """
        n_classes = counts.shape[-1]
        expected = n_rows * class_counts / np.maximum(total, np.finfo(float).tiny)
        prior: Any = self.rows / n_classes
        if self.fades:
            least = 0.5 / n_classes
            prior = prior * (least + (1.0 - least) / (1.0 + (n_classes * expected / _FADING_ROWS) ** 3))
        ratios: np.ndarray = np.log(counts + prior) - np.log(expected + prior)
        return ratios + np.log((n_rows + self.rows) / (total + self.rows * n_levels))


Smoothing = Literal["m-estimate"] | float | Shrinkage


SMOOTHING_OPTION = Allowed(
    f"be 'm-estimate' or a positive number (Laplace's alpha, from {_LEAST_ALPHA} to {_LARGEST_ALPHA})",
    values=("m-estimate",),
    number=Real,
    low=_LEAST_ALPHA,
    high=_LARGEST_ALPHA,
)
"""Rule for options named ``smoothing``."""


def check_smoothing(smoothing: object) -> None:
    """Raise ValueError unless ``smoothing`` is ``"m-estimate"`` or a positive number within the allowed range."""
    check_allowed({"smoothing": smoothing}, {"smoothing": SMOOTHING_OPTION})


def log_probabilities(counts: np.ndarray, total: float, smoothing: Smoothing) -> np.ndarray:
    """Return log P(level | class) of one feature, smoothed.

    Parameters
    ----------
    counts : (n_levels, n_classes) rows (or weight) of each level and class.
    total : number of rows N (or sum of the weights) of the table.
    smoothing : ``"m-estimate"``: (N_ij + 1/N) / (N_j + J/N), m = J/N and p = 1/J of Boulle (2007), section 2.1;
        a number: Laplace's (N_ij + alpha) / (N_j + alpha * levels), as scikit-learn's ``CategoricalNB``;
        a `Shrinkage`.

    Returns
    -------
    (n_levels, n_classes) natural logarithms.
    """
    return log_probabilities_of_all(counts, np.array([0, len(counts)]), total, smoothing)


def smoothed_logs(
    counts: np.ndarray,
    class_counts: np.ndarray,
    n_levels: np.ndarray | int,
    n_classes: int,
    total: float,
    smoothing: Smoothing,
) -> np.ndarray:
    """Return log P(level | class), smoothed by the m-estimate or by Laplace's method; shape (n_levels, n_classes).

    Parameters
    ----------
    counts : (n_levels, n_classes) rows (or weight) of each level and class.
    class_counts : rows (or weight) of each class over all levels, (n_classes,), or (n_levels, n_classes) for levels of
        several features.
    n_levels, n_classes : numbers of levels of the feature, (n_levels, 1) for levels of several features, and of
        classes.
    total : number (or weight) of the rows of the table.
    smoothing : ``"m-estimate"`` or the number alpha, see `log_probabilities`.
    """
    if smoothing == "m-estimate":
        return np.log(counts + 1.0 / total) - np.log(class_counts + n_classes / total)
    alpha = float(smoothing)  # type: ignore[arg-type]
    return np.log(counts + alpha) - np.log(class_counts + alpha * n_levels)


def log_probabilities_of_all(counts: np.ndarray, offsets: np.ndarray, total: float, smoothing: Smoothing) -> np.ndarray:
    """Return log P(level | class) of every feature at once, shape (levels of all features, n_classes).

    Parameters
    ----------
    counts : (levels of all features, n_classes) rows (or weight) of each level and class.
    offsets : (n_features + 1,) first level of each feature in ``counts`` and in the result.
    total : number (or weight) of the rows of the table.
    smoothing : smoothing of the probabilities, see `log_probabilities`.
    """
    n_levels, n_classes = np.diff(offsets), counts.shape[1]
    feature = np.repeat(np.arange(n_levels.size) * n_classes, n_levels)
    # Add counts in the same order as `log_probabilities`, so that both functions agree to the last bit.
    sums = np.bincount((feature[:, None] + np.arange(n_classes)).ravel(), counts.ravel(), n_levels.size * n_classes)
    class_counts = np.repeat(sums.reshape(-1, n_classes), n_levels, axis=0)
    if isinstance(smoothing, Shrinkage):
        n_rows, of_feature = counts.sum(axis=1, keepdims=True), class_counts.sum(axis=1, keepdims=True)
        return smoothing.logs(counts, class_counts, n_rows, np.repeat(n_levels, n_levels)[:, None], of_feature)
    return smoothed_logs(counts, class_counts, np.repeat(n_levels, n_levels)[:, None], n_classes, total, smoothing)


def log_probabilities_of_tables(tables: Sequence[np.ndarray], total: float, smoothing: Smoothing) -> list[np.ndarray]:
    """Return log P(level | class) for each of several tables of counts (n_levels, n_classes), as views of one array.

    ``total`` is the number (or weight) of all rows, ``smoothing`` the smoothing described at `log_probabilities`.
    """
    offsets = np.cumsum([0, *map(len, tables)])
    logs = log_probabilities_of_all(np.concatenate(tables), offsets, total, smoothing)
    return [logs[start:stop] for start, stop in pairwise(offsets.tolist())]


def class_log_prior(class_counts: np.ndarray) -> np.ndarray:
    """Return the logarithms of the class shares, shape (n_classes,); -inf for a class without rows.

    ``class_counts`` (n_classes,) are numbers (or weights) of rows.
    """
    with np.errstate(divide="ignore"):
        prior: np.ndarray = np.log(class_counts) - np.log(class_counts.sum())
    return prior
