"""Rows listed class by class: the order in which columns are counted, shared by all columns of a fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ClassOrder:
    """Rows sorted by class, those of weight zero left out.

    codes : (n_rows,) class codes; rows : (n,) row numbers, class after class; offsets : (n_classes + 1,) where each
    class starts; weights : (n,) in that order, or empty when every row counts once; integral : whether all weights are
    whole numbers, so that counts stay exact integers.
    """

    codes: np.ndarray
    rows: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray
    integral: bool
    n_rows: int

    @classmethod
    def of(cls, class_codes: np.ndarray, n_classes: int, weights: np.ndarray | None) -> ClassOrder:
        if weights is None:
            rows = np.argsort(class_codes, kind="stable")  # a radix sort for small codes
            codes, own_weights, integral = class_codes, np.zeros(0), True
        else:
            counted = np.flatnonzero(weights > 0.0)
            rows = counted[np.argsort(class_codes[counted], kind="stable")]
            codes, own_weights = class_codes[counted], weights[rows]
            integral = bool(np.all(own_weights == np.floor(own_weights))) and own_weights.sum() < 2**31
        if len(class_codes) < 2**31:
            rows = rows.astype(np.int32)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_classes))])
        return cls(class_codes, rows, offsets, own_weights, integral, len(class_codes))

    @property
    def n_classes(self) -> int:
        return self.offsets.size - 1

    @property
    def count_type(self) -> type:
        return np.int32 if self.integral else np.float64

    @property
    def total(self) -> float:
        """Number of rows, or sum of the weights."""
        return float(self.weights.sum()) if self.weights.size else float(self.rows.size)

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
