"""Measures of how much two columns of numbers say about each other: correlations of values and ranks, functions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from bayesieve.counts.dependence_base import Dependence

_MOST_REPEATED = 10_000_000  # rows that weights stand for, beyond which they are not written out as rows


class ValueDependence(Dependence):
    """A measure of the values of two columns, where those of `Dependence` see the counts of their levels only.

    Give it a ``name`` and the method ``of_columns``. Numbers enter as they are, where the raw table is at hand. Levels
    of categories are numbered in the order of the classes: with two classes by the share of the second one, with more
    along the first axis of a correspondence analysis of levels and classes. Codes are taken as numbers. Rows without a
    value of either column do not count for the pair.

    Attributes
    ----------
    weighs_rows : bool
        Whether it can weigh rows: a weight of 2 equals the row repeated.
    """

    weighs_rows: ClassVar[bool] = True

    @abstractmethod
    def of_columns(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """(n_left, n_right) dependence of every column of ``left`` (n_left, n_rows) with every one of ``right``.

        All numbers are finite. ``weights`` (n_rows,) are positive, or None: every row counts once.
        """

    def within(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """``of_columns``, refused unless it is one finite number for each pair; 0 without rows."""
        if not left.shape[1]:
            return np.zeros((len(left), len(right)))
        if weights is not None and not self.weighs_rows:
            if np.any(weights != 1.0):
                raise ValueError(
                    f"The dependence measure {self.name!r} cannot weigh rows; leave the weights out, or choose another "
                    "measure, such as 'spearman'."
                )
            weights = None
        values = np.asarray(self.of_columns(left, right, weights), dtype=float)
        if values.shape != (len(left), len(right)) or not np.isfinite(values).all():
            raise ValueError(
                f"The dependence measure {self.name!r} must return one finite number for each of {len(left)} x "
                f"{len(right)} pairs, got shape {values.shape}"
                f"{'' if np.isfinite(values).all() else ' with NaN or infinity'}."
            )
        return values

    def of_tables(self, tables: np.ndarray) -> np.ndarray:
        """As of numbers that are the positions of the levels; the counts weigh them."""
        values = np.zeros(len(tables))
        for at, table in enumerate(tables):
            cells = np.nonzero(table)
            numbers = np.stack(cells).astype(float)
            weights = table[cells].astype(float)
            if not self.weighs_rows and weights.sum() <= _MOST_REPEATED and np.all(weights == np.rint(weights)):
                numbers, weights = np.repeat(numbers, weights.astype(int), axis=1), np.ones(int(weights.sum()))
            values[at] = self.within(numbers[:1], numbers[1:], weights)[0, 0]
        return values


class PearsonCorrelation(ValueDependence):
    """|r|, the absolute value of the correlation coefficient; 0 for a constant."""

    name = "pearson"
    title = "absolute correlation"

    def of_columns(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        return np.minimum(np.abs(standardized(left, weights) @ standardized(right, weights).T), 1.0)


class SpearmanCorrelation(ValueDependence):
    """|rho| of Spearman (1904), the absolute value of the correlation of ranks, means of them for ties."""

    name = "spearman"
    title = "absolute rank correlation"

    def of_columns(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        sides = (standardized(mean_ranks(columns, weights)[0], weights) for columns in (left, right))
        return np.minimum(np.abs(next(sides) @ next(sides).T), 1.0)


class PairFunction(ValueDependence):
    """A function of two columns of numbers, such as ``lambda x, y: abs(scipy.stats.kendalltau(x, y).statistic)``."""

    weighs_rows = False

    def __init__(self, function: Callable[[np.ndarray, np.ndarray], float]) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def of_columns(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        return np.array([[self.function(x, y) for y in right] for x in left], dtype=float)

    def __repr__(self) -> str:
        return f"PairFunction({self.name})"


def standardized(columns: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Columns of mean 0 whose squares add up to 1, each row times the root of its share; 0 for constants."""
    share = np.full(columns.shape[1], 1.0 / columns.shape[1]) if weights is None else weights / weights.sum()
    highest, lowest = columns.max(axis=1, keepdims=True), columns.min(axis=1, keepdims=True)
    half = highest / 2 - lowest / 2
    scaled = (columns - (highest / 2 + lowest / 2)) / np.where(half > 0, half, 1.0)  # from -1 to 1, whatever the size
    centred = (scaled - (scaled @ share)[:, None]) * np.sqrt(share)
    length = np.linalg.norm(centred, axis=1)
    return centred / np.where(length > 0, length, 1.0)[:, None] * (half > 0)


def mean_ranks(columns: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Mean ranks from 1 of each column, and the positions of its values among the different ones."""
    ranks, codes = np.empty(columns.shape), np.empty(columns.shape, dtype=np.int64)
    for column, rank, code in zip(columns, ranks, codes, strict=True):
        code[:] = np.unique(column, return_inverse=True)[1]
        rows = np.bincount(code, weights)
        rank[:] = (np.cumsum(rows) - (rows - 1.0) / 2.0)[code]
    return ranks, codes
