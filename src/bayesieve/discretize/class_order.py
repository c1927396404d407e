"""Rows listed class by class: the order in which columns are counted, shared by all columns of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayesieve.table.rows import count_classes


@dataclass(frozen=True)
class ClassOrder:
    """Rows sorted by class, those of weight zero left out.

    codes : (n_rows,) class codes; listed : (n,) row numbers, class after class, or None of all rows; offsets :
    (n_classes + 1,) where each class starts; weights : (n,) in that order, or empty when every row counts once;
    integral : whether all weights are whole numbers, so that counts stay exact integers.
    """

    codes: np.ndarray
    listed: np.ndarray | None
    offsets: np.ndarray
    weights: np.ndarray
    integral: bool
    n_rows: int

    @classmethod
    def of(cls, class_codes: np.ndarray, n_classes: int, weights: np.ndarray | None) -> ClassOrder:
        listed: np.ndarray | None = None
        codes, own_weights, integral = class_codes, np.zeros(0), True
        if weights is not None:
            counted = np.flatnonzero(weights > 0.0)
            codes = class_codes[counted]
            listed = counted[np.argsort(codes, kind="stable")].astype(_row_type(class_codes))
            own_weights = weights[listed]
            integral = bool(np.all(own_weights == np.floor(own_weights))) and own_weights.sum() < 2**31
        offsets = np.concatenate([[0], np.cumsum(count_classes(codes, n_classes))])
        return cls(class_codes, listed, offsets, own_weights, integral, len(class_codes))

    @cached_property
    def rows(self) -> np.ndarray:
        """(n,) row numbers, class after class."""
        if self.listed is not None:
            return self.listed
        return np.argsort(self.codes, kind="stable").astype(_row_type(self.codes))  # a radix sort for small codes

    @property
    def n_classes(self) -> int:
        return self.offsets.size - 1

    @property
    def count_type(self) -> type:
        return np.int32 if self.integral else np.float64

    @property
    def total(self) -> float:
        """Number of rows, or sum of the weights."""
        return float(self.weights.sum()) if self.weights.size else float(self.offsets[-1])

    def class_codes(self) -> np.ndarray:
        """Class code of every listed row."""
        return np.repeat(np.arange(self.n_classes), np.diff(self.offsets))

    def class_totals(self) -> np.ndarray:
        """Rows (or weight) of every class."""
        if self.weights.size == 0:
            return np.diff(self.offsets).astype(float)
        return np.bincount(self.class_codes(), weights=self.weights, minlength=self.n_classes)

    def only(self, marked: np.ndarray) -> ClassOrder:
        """The same order of the rows ``marked``, (n_rows,) bool."""
        mine = marked[self.rows]
        offsets = np.concatenate([[0], np.cumsum(mine)])[self.offsets]
        weights = self.weights[mine] if self.weights.size else self.weights
        return ClassOrder(self.codes, self.rows[mine], offsets, weights, self.integral, self.n_rows)


def _row_type(codes: np.ndarray) -> type:
    return np.int32 if len(codes) < 2**31 else np.int64
