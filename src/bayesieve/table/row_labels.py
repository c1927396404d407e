"""Classes and weights of the rows of a scan, read again in later passes over the files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.table.target import Target

if TYPE_CHECKING:
    import polars as pl


def plain_labels(labels: pl.Series, dtype: Any) -> pl.Series:
    """Convert labels to ``dtype``, the type in which labels are compared; NaN becomes null. The series is named
    "label".
    """
    labels = labels.cast(dtype).alias("label")
    return labels.fill_nan(None) if labels.dtype.is_float() else labels


def label_positions(labels: pl.Series, distinct: pl.Series) -> np.ndarray:
    """Return the position of each of ``labels`` in ``distinct``, shape (n_rows,).

    Both series are named "label" and have the same type; labels must not be null.
    """
    import polars as pl

    position = distinct.to_frame().with_columns(code=pl.int_range(pl.len(), dtype=pl.Int32))
    return labels.to_frame().join(position, on="label", how="left", maintain_order="left")["code"].to_numpy()


@dataclass(frozen=True)
class KnownRows:
    """Classes and weights of the rows of a frame whose target is known.

    Attributes
    ----------
    mask : bool array, shape (n_rows,), or None
        Mask of these rows; None if the target of all rows is known.
    classes : unsigned array, shape (n_known,)
        Class codes.
    weights : float array, shape (n_known,), or None
        Row weights; None if all are 1.
    """

    mask: np.ndarray | None
    classes: np.ndarray
    weights: np.ndarray | None

    def restricted_to(self, chosen: np.ndarray) -> KnownRows:
        """Return the classes and weights of the rows in the mask ``chosen``, shape (n_rows,). The targets of these rows
        must be known.
        """
        inside = chosen if self.mask is None else chosen[self.mask]
        return KnownRows(chosen, self.classes[inside], None if self.weights is None else self.weights[inside])


@dataclass(frozen=True)
class LabelReader:
    """Reader of `KnownRows` from the columns of the target and of the weights. It is small and can be pickled.

    Attributes
    ----------
    target, weight : names of the columns; ``weight`` may be None.
    schema : their types in the scan, by name.
    distinct : polars series of the distinct labels.
    codes : array of shape (n_labels,): the class code of each label in ``distinct``.
    factor : number by which weights are multiplied.
    """

    target: str
    weight: str | None
    schema: Mapping[str, pl.DataType]
    distinct: pl.Series
    codes: np.ndarray
    factor: float = 1.0

    def read(self, frame: pl.DataFrame) -> KnownRows:
        """Return the classes and weights of the rows of a frame whose target is known."""
        labels = plain_labels(frame[self.target], self.distinct.dtype)
        is_labelled = labels.is_not_null().to_numpy()
        mask = None if is_labelled.all() else is_labelled
        codes = self.codes[label_positions(labels.drop_nulls(), self.distinct)]
        if self.weight is None:
            return KnownRows(mask, codes, None)
        weights = frame[self.weight].to_numpy().astype(np.float64) * self.factor
        return KnownRows(mask, codes, weights if mask is None else weights[mask])


@dataclass(frozen=True, eq=False)
class RowLabels:
    """Target and weights of a scan, and a reader by which later passes over the files read them again.

    Attributes
    ----------
    reader : reader of the classes of ``target`` and of unscaled weights.
    target : classes of the rows whose target is known.
    weights : unscaled weights of these rows, or None.
    """

    reader: LabelReader
    target: Target
    weights: np.ndarray | None = None

    def reader_of(self, target: Target, weights: np.ndarray | None) -> LabelReader | None:
        """Return a reader of the classes and weights that a fit uses, ``target`` and ``weights`` (n_rows,), for later
        passes.

        They may differ from those of the scan, because a fit may drop classes whose rows have weight 0, and divide
        weights by their mean. Return None if they differ in another way, so that they cannot be computed from the
        columns.
        """
        if self.target.codes.shape != target.codes.shape:
            return None
        codes = np.zeros(self.target.n_classes, dtype=target.codes.dtype)
        codes[self.target.codes] = target.codes
        if not np.array_equal(codes[self.target.codes], target.codes):
            return None
        reader = replace(self.reader, codes=codes[self.reader.codes])
        if weights is None:
            return replace(reader, weight=None, schema={reader.target: reader.schema[reader.target]})
        if self.weights is None:
            return None
        in_scan = self.weights.astype(np.float64)
        factors = (1.0, float(np.count_nonzero(in_scan) / in_scan.sum()))
        return next((replace(reader, factor=f) for f in factors if np.array_equal(in_scan * f, weights)), None)
