"""Levels x classes counts of every feature of a coded table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesieve.short_repr import ShortRepr
from bayesieve.table.derived_levels import MISSING_LEVEL
from bayesieve.table.target import count_classes

if TYPE_CHECKING:
    from bayesieve.counts.coded import CodedTable, Families


@dataclass(frozen=True, repr=False)
class ContingencyCounts(ShortRepr):
    """Counts (or sums of weights) of every level of every feature by class.

    counts : (levels of all features, n_classes) float; offsets : (n_features + 1,) where each feature starts in it;
    class_counts : (n_classes,) rows (or weight) of each class. Two blocks of rows are merged exactly with ``+``.
    """

    counts: np.ndarray
    offsets: np.ndarray
    class_counts: np.ndarray

    @property
    def n_features(self) -> int:
        return self.offsets.size - 1

    @property
    def total(self) -> float:
        """Number of rows, or sum of the weights."""
        return float(self.class_counts.sum())

    def feature(self, k: int) -> np.ndarray:
        """(n_levels, n_classes) counts of feature ``k``."""
        return self.counts[self.offsets[k] : self.offsets[k + 1]]

    def __add__(self, other: ContingencyCounts) -> ContingencyCounts:
        self._check_same(other)
        return ContingencyCounts(self.counts + other.counts, self.offsets, self.class_counts + other.class_counts)

    def __sub__(self, other: ContingencyCounts) -> ContingencyCounts:
        """Counts without the rows of ``other``, which must be a subset of these rows."""
        self._check_same(other)
        counts = left_over(self.counts, other.counts)
        return ContingencyCounts(counts, self.offsets, left_over(self.class_counts, other.class_counts))

    def _check_same(self, other: ContingencyCounts) -> None:
        if not np.array_equal(self.offsets, other.offsets) or self.counts.shape != other.counts.shape:
            raise ValueError("Counts of different features, levels or classes cannot be added or subtracted.")


def left_over(counts: np.ndarray, taken: np.ndarray | float) -> np.ndarray:
    """Counts, or sums of weights, minus those ``taken``; 0 where the difference is rounding only."""
    left: np.ndarray = counts - taken
    left[left < 1e-12 * counts] = 0.0
    return left


def count_features(coded: CodedTable) -> ContingencyCounts:
    """Count a coded table that carries its classes.

    All indicators of one score are counted together, in one histogram of the score.
    """
    class_codes, weights = coded.class_codes, coded.weights
    if class_codes is None:
        raise ValueError("The coded table has no classes to count by; code it together with its target.")
    offsets = _offsets(coded.n_levels)
    if coded.families is None:
        counts = _count_stored(coded, coded.n_levels, offsets)
    else:
        counts = _count_indicators(coded, coded.families, offsets)
    if weights is None:
        class_counts = count_classes(class_codes, coded.n_classes).astype(float)
    else:
        class_counts = np.bincount(class_codes, weights=weights, minlength=coded.n_classes)
    return ContingencyCounts(counts, offsets, class_counts)


def _offsets(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _count_stored(coded: CodedTable, n_levels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Rows (or weight) of every level by class, where the stored codes have so many levels each."""
    from bayesieve.counts._kernels import count_codes, count_sorted

    counts, class_codes = np.zeros((offsets[-1], coded.n_classes)), np.asarray(coded.class_codes)
    if coded.weights is None and coded.stored.dtype == np.uint8 and coded.is_sorted_by_class:
        starts = _offsets(count_classes(class_codes, coded.n_classes))
        for bounds in coded.engine.blocks(starts, len(coded.stored)):
            count_sorted(coded.stored, bounds, n_levels, offsets, counts)
        return counts
    for block in coded.blocks:
        weights = np.zeros(0) if block.weights is None else block.weights
        count_codes(block.stored, block.class_codes, weights, n_levels, offsets, counts)
    return counts


def _count_indicators(coded: CodedTable, families: Families, offsets: np.ndarray) -> np.ndarray:
    """Counts of every indicator from those of the codes of its score: up to the threshold, above it, missing.

    Both sides are sums, never differences, so that no rounding of weights leaves a count below zero.
    """
    sizes = families.n_thresholds
    starts = _offsets(sizes + 2)
    of_codes = _count_stored(coded, sizes + 2, starts)
    below, above = of_codes.copy(), of_codes.copy()
    for first, last in zip(starts.tolist(), (starts[1:] - 1).tolist(), strict=False):
        np.cumsum(of_codes[first:last], axis=0, out=below[first:last])
        np.cumsum(of_codes[first:last][::-1], axis=0, out=above[first:last][::-1])
    at = starts[families.family_of] + families.threshold_of
    counts = np.empty((offsets[-1], coded.n_classes))
    counts[offsets[:-1]], counts[offsets[:-1] + 1] = below[at], above[at + 1]
    with_missing = coded.n_levels == MISSING_LEVEL + 1
    counts[offsets[:-1][with_missing] + 2] = of_codes[starts[1:][families.family_of[with_missing]] - 1]
    return counts
