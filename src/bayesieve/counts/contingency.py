"""Levels x classes counts of every feature of a coded table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesieve.short_repr import ShortRepr
from bayesieve.table.rows import count_classes

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
        if not np.array_equal(self.offsets, other.offsets) or self.counts.shape != other.counts.shape:
            raise ValueError("Counts of different features, levels or classes cannot be added.")
        return ContingencyCounts(self.counts + other.counts, self.offsets, self.class_counts + other.class_counts)

    def __sub__(self, other: ContingencyCounts) -> ContingencyCounts:
        """Counts without the rows of ``other``, which must be a subset of these rows."""
        if not np.array_equal(self.offsets, other.offsets) or self.counts.shape != other.counts.shape:
            raise ValueError("Counts of different features, levels or classes cannot be subtracted.")
        counts = left_over(self.counts, other.counts)
        return ContingencyCounts(counts, self.offsets, left_over(self.class_counts, other.class_counts))


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
    offsets = np.concatenate([[0], np.cumsum(coded.n_levels)]).astype(np.int64)
    counts = np.zeros((offsets[-1], coded.n_classes))
    if coded.families is not None:
        _count_indicators(coded, coded.families, offsets, counts)
    else:
        from bayesieve.counts._kernels import count_codes, count_sorted

        if weights is None and coded.stored.dtype == np.uint8 and coded.is_sorted_by_class:
            starts = np.concatenate([[0], np.cumsum(count_classes(class_codes, coded.n_classes))])
            for bounds in coded.engine.blocks(starts, len(coded.stored)):
                count_sorted(coded.stored, bounds, coded.n_levels, offsets, counts)
        else:
            for block in coded.blocks:
                count_codes(block.stored, block.class_codes, _weights_of(block), coded.n_levels, offsets, counts)
    if weights is None:
        class_counts = count_classes(class_codes, coded.n_classes).astype(float)
    else:
        class_counts = np.bincount(class_codes, weights=weights, minlength=coded.n_classes)
    return ContingencyCounts(counts, offsets, class_counts)


def _weights_of(coded: CodedTable) -> np.ndarray:
    return np.zeros(0) if coded.weights is None else coded.weights


def _count_indicators(coded: CodedTable, families: Families, offsets: np.ndarray, counts: np.ndarray) -> None:
    from bayesieve.counts._kernels import count_families, cumulate_families

    sizes = families.n_thresholds
    ends = np.cumsum(sizes + 2)
    starts = ends - (sizes + 2)
    histogram = np.zeros((int(ends[-1]), counts.shape[1]))
    for block in coded.blocks:
        count_families(block.stored, block.class_codes, _weights_of(block), sizes, starts, histogram)
    of_features = (families.family_of, families.threshold_of, coded.n_levels)
    cumulate_families(histogram, starts, sizes, *of_features, offsets, counts)
