"""Logarithms of the ratios of many subsets at once, each from the empty subset."""

from __future__ import annotations

import numpy as np

from bayesieve.criteria.class_block import THREE_WAY, ClassBlock
from bayesieve.criteria.ratio_tables import RatioTables

_MOST_BYTES = 64 << 20  # of the logarithms of all subsets
_MOST_SUMMED = 1 << 33  # logarithms: Python hears signals in between


def most_subsets(block: ClassBlock, n_classes: int) -> int:
    """Subsets whose logarithms are summed at once; 0 where rows or classes are too many for that."""
    n_ratios = max(1, block.n_rows * (n_classes - 1))
    return min(_MOST_BYTES // (8 * n_ratios), _MOST_SUMMED // (n_ratios * max(1, block.n_features)))


def steps_of_subsets(
    block: ClassBlock, tables: RatioTables, start: np.ndarray, subsets: np.ndarray
) -> np.ndarray | None:
    """(n_subsets, n_classes - 1, n_rows) whole steps of ``tables.log_unit``, exact whatever the order of the features.

    ``start`` (n_segments, n_classes - 1): those of the empty subset; ``subsets`` (n_subsets, n_features) bool. None
    where there are too many of them for the memory.
    """
    if len(subsets) > most_subsets(block, tables.n_classes) or not (block.is_whole and tables.has_all_log_steps):
        return None
    from bayesieve.criteria._subset_kernels import sum_steps

    used = np.flatnonzero(subsets.any(axis=0))
    number, feature = np.nonzero(subsets[:, used])
    ends = np.cumsum(np.bincount(number, minlength=len(subsets)))
    steps = np.empty((len(subsets), tables.n_classes - 1, block.n_rows), dtype=np.int64)
    sum_steps(
        *(block.codes, block.offsets, block.columns[used], block.lows[used], block.highs[used]),
        *(block.kinds[used] > THREE_WAY, block.n_codes[used], tables.starts[used], tables.all_log_steps()),
        *(start, ends, feature, steps),
    )
    return steps
