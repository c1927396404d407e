"""Values of categorical columns as the codes that other people's classifiers take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesieve.table import Column


def known_values(column: Column, *, most: int | None = None, least_share: float = 0.0) -> dict[Any, int]:
    """Codes of the values of a column, in their order.

    Parameters
    ----------
    column : Column
    most : keep that many of the most frequent values; of equally frequent ones the first in order. None: all.
    least_share : keep values that at least this share of the rows has.
    """
    found = column.categories()
    counts = np.bincount(found.codes[found.codes >= 0], minlength=len(found.values))
    kept = np.argsort(-counts, kind="stable")[:most]
    kept = np.sort(kept[counts[kept] >= least_share * len(column)])
    return {found.values[value]: code for code, value in enumerate(kept.tolist())}


def value_codes(column: Column, known: Mapping[Any, int], *, unknown: int, missing: int) -> np.ndarray:
    """Codes of the rows of a column, shape (n_rows,): those of known values, of others, and of missing ones."""
    found = column.categories()
    codes = np.array([known.get(value, unknown) for value in found.values] + [missing], dtype=np.int64)
    return codes[found.codes]  # missing is -1, the last
