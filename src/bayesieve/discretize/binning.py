"""Unsupervised discretization: bins of equal frequency or of equal width."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from bayesieve.discretize.class_order import ClassOrder
from bayesieve.discretize.coded_block import CodedBlock, CodedColumn
from bayesieve.discretize.column_coder import ColumnCoder
from bayesieve.discretize.criterion import interval_prior, log_factorials
from bayesieve.discretize.intervals import fits_blocks
from bayesieve.discretize.partition import level_score, total_cost
from bayesieve.table import Column, FeatureLevels

_MOST_BINS = 1_000_000
_MOST_BLOCK_BINS = 250  # bins whose codes are bytes, with a missing level and unseen values


class _Binner(ColumnCoder):
    kind = "numeric"
    supervised = False

    def __init__(self, n_bins: int = 10, *, n_jobs: int | None = -1) -> None:
        self.n_bins = n_bins
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> _Binner:
        super().fit(X, y, sample_weight)
        self.cut_points_ = [np.array(level.cut_points) for level in self.levels_]
        return self

    fit.__doc__ = ColumnCoder.fit.__doc__

    @abstractmethod
    def _cut_points(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Ascending cut points of the known values (ascending distinct) with their weights."""

    def fit_column(self, column: Column, order: ClassOrder, *, missing_apart: bool = False) -> CodedColumn:
        values = column.numbers()
        listed = values[order.rows]
        known = ~np.isnan(listed)
        weights = order.weights[known] if order.weights.size else None
        distinct, which = np.unique(listed[known], return_inverse=True)
        frequency = np.bincount(which, weights=weights, minlength=distinct.size).astype(float)
        cuts = self._cut_points(distinct, frequency) if distinct.size > 1 else np.zeros(0)
        has_missing = not known.all()
        if has_missing and distinct.size:
            # Bins are not chosen by cost, so missing values always keep a level of their own.
            cuts = np.concatenate([[-np.inf], cuts])
        levels = FeatureLevels(
            name=column.name, kind="numeric", type=column.type, cut_points=cuts, missing_code=0 if has_missing else None
        )
        codes = levels.code_numbers(values)
        counts = np.zeros((levels.n_levels, order.n_classes))
        np.add.at(counts, (codes[order.rows], order.class_codes()), order.weights if order.weights.size else 1.0)
        # Bins chosen without the classes are scored by the MODL criterion, too.
        prior = interval_prior(order.total, max(1, levels.n_levels))
        cost, null_cost = total_cost(counts, prior[levels.n_levels]), total_cost(counts.sum(axis=0)[None, :], prior[1])
        levels = replace(levels, counts=counts, level_score=level_score(cost, null_cost))
        return CodedColumn(levels, codes, cost, null_cost)

    def _check_options(self) -> None:
        whole = isinstance(self.n_bins, Integral) and not isinstance(self.n_bins, bool)
        if not whole or not 1 <= self.n_bins <= _MOST_BINS:
            raise ValueError(f"n_bins must be a positive whole number up to {_MOST_BINS:,}, got {self.n_bins!r}.")


class EqualFrequencyDiscretizer(_Binner):
    """Bins with about the same number of rows; equal values stay together, so there may be fewer than ``n_bins`` bins.

    Parameters
    ----------
    n_bins : int, default=10
    n_jobs : int or None, default=-1
        Threads; -1 means all cores.

    Attributes
    ----------
    cut_points_ : list of float arrays
        Ascending cut points (midpoints between neighbouring distinct values); a first cut of -inf separates missing
        values.
    levels_ : sequence of FeatureLevels

    Examples
    --------
    >>> from bayesieve import EqualFrequencyDiscretizer
    >>> EqualFrequencyDiscretizer(n_bins=2).fit([[1.0], [2.0], [3.0], [40.0]]).cut_points_[0].tolist()
    [2.5]
    """

    def takes_blocks(self, order: ClassOrder) -> bool:
        return self.n_bins <= _MOST_BLOCK_BINS and fits_blocks(order)

    def fit_block(self, values: np.ndarray, order: ClassOrder, codes: np.ndarray, *, apart: bool) -> CodedBlock:
        from bayesieve.discretize._column_kernels import frequency_columns

        n_columns, n_rows = values.shape
        priors = interval_prior(order.total, self.n_bins + 2)
        null_cost = total_cost(order.class_totals()[None, :], priors[1])
        found = CodedBlock.empty(n_columns, min(n_rows, self.n_bins), order.n_classes, null_cost)
        sizes = frequency_columns(
            *(values, np.sort(values, axis=1), order.codes, order.n_classes, int(self.n_bins), priors),
            *(log_factorials(n_rows + order.n_classes), found.n_levels, found.missing, found.cuts, found.counts),
            *(found.costs, codes),
        )
        return found.trimmed(*sizes)

    def _cut_points(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        cumulated = np.cumsum(weights)[:-1]
        targets = np.cumsum(weights)[-1] * np.arange(1, self.n_bins) / self.n_bins
        # The bound nearest to each target, the lower one on ties.
        after = np.clip(np.searchsorted(cumulated, targets), 0, cumulated.size - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(targets - cumulated[before] <= cumulated[after] - targets, before, after)
        return _midpoints(values, np.unique(nearest))


class EqualWidthDiscretizer(_Binner):
    """Bins of the same width between the smallest and the largest value; empty bins are dropped.

    Parameters
    ----------
    n_bins : int, default=10
    n_jobs : int or None, default=-1
        Threads; -1 means all cores.

    Attributes
    ----------
    cut_points_ : list of float arrays
        Ascending cut points; a first cut of -inf separates missing values.
    levels_ : sequence of FeatureLevels

    Examples
    --------
    >>> from bayesieve import EqualWidthDiscretizer
    >>> EqualWidthDiscretizer(n_bins=3).fit([[0.0], [3.0], [5.0], [9.0]]).cut_points_[0].tolist()
    [3.0, 6.0]
    """

    def _cut_points(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        share = np.arange(1, self.n_bins) / self.n_bins
        cuts = values[0] * (1.0 - share) + values[-1] * share
        bins = np.searchsorted(cuts, values)  # values equal to a cut belong below it
        occupied = np.unique(bins)
        return np.unique(cuts[occupied[:-1]])


def _midpoints(values: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Cut points between each of the values numbered ``below`` and the next one."""
    low, high = values[below], values[below + 1]
    middle = low / 2 + high / 2 if np.any(np.abs(values) > 1e307) else (low + high) / 2
    return np.where(middle >= high, low, middle)
