"""Codes of the values of categorical columns, for other classifiers."""

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
    most : the number of most frequent values to keep, the first of equally frequent ones; None keeps all.
    least_share : keep values in at least this share of the rows.
    """
    categories = column.categories()
    counts = np.bincount(categories.codes[categories.codes >= 0], minlength=len(categories.values))
    kept = np.argsort(-counts, kind="stable")[:most]
    kept = np.sort(kept[counts[kept] >= least_share * len(column)])
    return {categories.values[value]: code for code, value in enumerate(kept.tolist())}


def value_codes(column: Column, known: Mapping[Any, int], *, unknown: int, missing: int) -> np.ndarray:
    """Codes of the rows of a column, shape (n_rows,), with codes for unknown and missing values."""
    categories = column.categories()
    codes = np.array([known.get(value, unknown) for value in categories.values] + [missing], dtype=np.int64)
    return codes[categories.codes]  # missing is -1, the last
