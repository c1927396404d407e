"""Facts of a data set, and whether a table agrees with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

_COUNTS = {"rows": "rows", "n_features": "features", "n_numeric": "numeric features", "n_classes": "classes"}
_SHARES = {"majority_share": "of the rows in the largest class", "missing_share": "of the cells missing"}
ALL = (*_COUNTS, *_SHARES)
OF_LABELS = ("rows", "n_classes", "majority_share")
"""Facts that do not depend on the columns: a folder may have columns that are not features."""

_TOLERANCE = 1e-3  # of shares, which catalogues round
_AMONG_THEM = 1e-9  # so that 0.001 itself is within the tolerance despite rounding


@dataclass(frozen=True)
class DataFacts:
    """Facts by which a copy of a data set is recognized.

    Attributes
    ----------
    rows : number of rows.
    n_numeric, n_categorical : number of features of each kind, without the target.
    n_classes : number of classes that occur.
    majority_share : share of the rows in the most frequent class, in [0, 1].
    missing_share : share of missing cells among the features, in [0, 1]; None if unknown.
    note : peculiarities of the data set; may be empty.
    """

    rows: int
    n_numeric: int
    n_categorical: int
    n_classes: int
    majority_share: float
    missing_share: float | None = None
    note: str = ""

    @property
    def n_features(self) -> int:
        """Number of features of both kinds."""
        return self.n_numeric + self.n_categorical


def facts_of(features: Any, labels: np.ndarray) -> DataFacts:
    """The facts of a table (a polars frame, or a numeric sparse matrix) and its labels (n_rows,)."""
    counts = np.unique(labels, return_counts=True)[1]
    if isinstance(features, pl.DataFrame):
        numeric = sum(dtype.is_numeric() for dtype in features.dtypes)
        missing = sum(_missing(column) for column in features.get_columns())
    else:
        numeric = features.shape[1]
        missing = int(np.isnan(features.data).sum()) if features.data.dtype.kind == "f" else 0
    rows, columns = features.shape
    return DataFacts(
        rows=rows,
        n_numeric=numeric,
        n_categorical=columns - numeric,
        n_classes=counts.size,
        majority_share=float(counts.max(initial=0) / max(rows, 1)),
        missing_share=missing / max(rows * columns, 1),
    )


def differences(actual: DataFacts, expected: DataFacts, fields: Sequence[str] = ALL) -> str:
    """Differences in words, such as "151 rows instead of 150"; empty if all fields agree."""
    return ", ".join(text for field in fields if (text := _difference(field, actual, expected)))


def _difference(field: str, actual: DataFacts, expected: DataFacts) -> str:
    value, wanted = getattr(actual, field), getattr(expected, field)
    if field not in _SHARES:
        return "" if value == wanted else f"{value} {_COUNTS[field]} instead of {wanted}"
    if wanted is None or abs(value - wanted) <= _TOLERANCE + _AMONG_THEM:
        return ""
    return f"{100 * value:.2f} % {_SHARES[field]} instead of {100 * wanted:.2f} %"


def _missing(column: Any) -> int:
    n_nan = column.is_nan().sum() if column.dtype.is_float() else 0
    return int(column.null_count() + (n_nan or 0))
