"""`IndicatorTable`: many thresholds on few scores, kept as one ordered code per score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesieve.table.coded import CodedTable
from bayesieve.table.levels import FeatureLevels

MISSING_LEVEL = 2
"""The code of a missing score in every indicator."""


class IndicatorTable(CodedTable):
    """A coded table whose features are indicators "score <= threshold".

    All indicators of one score are a *family*. What a row tells about the whole family is one number, how many of its
    thresholds are below the score, and only that is stored: 74 scores with 11 thresholds each take 74 codes a row, not
    814. Sorting, taking rows and selecting features keep this form; ``codes`` writes the indicators out when asked.

    Parameters
    ----------
    family_codes : unsigned array, shape (n_families, n_rows)
        Number of thresholds of the family that are below the score; ``n_thresholds + 1`` where the score is missing.
    n_thresholds : array of int, shape (n_families,)
        Number of thresholds that the codes of each family count, also those of no feature of this table.
    family_of : array of int, shape (n_features,)
        The family of each indicator.
    threshold_of : array of int, shape (n_features,)
        Which of its family's thresholds, in ascending order from 0, each indicator compares with.
    n_levels : array of int, shape (n_features,)
        2; or 3 where missing scores are a level of their own. Otherwise they are "unseen".
    names : sequence of str
    class_codes, classes, weights, levels
        As for `CodedTable`.

    Attributes
    ----------
    codes : uint8 array, shape (n_features, n_rows)
        0 where the score is at most the threshold, 1 where it is above, 2 where it is missing. Written out when first
        asked for, then kept.

    Raises
    ------
    ValueError
        If the parts contradict each other.
    """

    def __init__(
        self,
        family_codes: np.ndarray,
        n_thresholds: np.ndarray,
        family_of: np.ndarray,
        threshold_of: np.ndarray,
        n_levels: np.ndarray,
        names: tuple[str, ...],
        class_codes: np.ndarray | None = None,
        classes: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        levels: Sequence[FeatureLevels] | None = None,
    ) -> None:
        if family_codes.ndim != 2 or family_codes.dtype.kind != "u":
            raise ValueError("family_codes must be a 2-D array of unsigned integers, one row per family.")
        self.family_codes = np.ascontiguousarray(family_codes)
        self.n_thresholds = np.asarray(n_thresholds, dtype=np.int64)
        self.family_of = np.asarray(family_of, dtype=np.int64)
        self.threshold_of = np.asarray(threshold_of, dtype=np.int64)
        self.n_levels = np.asarray(n_levels, dtype=np.int64)
        self.names = tuple(names)
        self.class_codes = class_codes
        self.classes = classes
        self.weights = weights
        self.levels = levels
        self._codes: np.ndarray | None = None
        self._by_class, self._found = None, {}
        self._check()

    def _check(self) -> None:
        for what in ("threshold_of", "n_levels", "names"):
            length = len(getattr(self, what))
            if length != self.n_features:
                raise ValueError(f"family_of has {self.n_features} features but {what} has {length} entries.")
        for what, rows in (("class_codes", self.class_codes), ("weights", self.weights)):
            if rows is not None and len(rows) != self.n_rows:
                raise ValueError(f"family_codes has {self.n_rows} rows but {what} has {len(rows)}.")
        if len(self.n_thresholds) != self.n_families:
            raise ValueError(
                f"family_codes has {self.n_families} families but n_thresholds has {len(self.n_thresholds)} entries."
            )
        if self.family_of.size and not (self.family_of.min() >= 0 and self.family_of.max() < self.n_families):
            raise ValueError(f"family_of must hold families, from 0 to {self.n_families - 1}.")
        if np.any(self.threshold_of < 0) or np.any(self.threshold_of >= self.n_thresholds[self.family_of]):
            raise ValueError("threshold_of must hold thresholds of the indicator's family, counted from 0.")
        if np.any((self.n_levels != 2) & (self.n_levels != 3)):
            raise ValueError("n_levels of an indicator is 2, or 3 where missing scores are a level.")

    def __repr__(self) -> str:
        return f"IndicatorTable({self.n_rows} rows, {self.n_features} indicators of {self.n_families} scores)"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.family_codes.shape[1])

    @property
    def n_features(self) -> int:
        """Number of indicators."""
        return len(self.family_of)

    @property
    def n_families(self) -> int:
        """Number of scores."""
        return int(self.family_codes.shape[0])

    @property
    def codes(self) -> np.ndarray:  # type: ignore[override]  # an attribute of the base, written out when asked here
        """The codes of all indicators, shape (n_features, n_rows)."""
        if self._codes is None:
            self._codes = self.codes_of(slice(None))
        return self._codes

    def codes_of(self, features: Any) -> np.ndarray:
        """The codes of these indicators only (positions, a slice or a boolean mask); nothing else is written out."""
        picked = np.arange(self.n_features)[features]
        codes = np.empty((picked.size, self.n_rows), dtype=np.uint8)
        missing: dict[int, np.ndarray | None] = {}
        for at, k in enumerate(picked.tolist()):
            family = int(self.family_of[k])
            ordered = self.family_codes[family]
            if family not in missing:
                mask = ordered > self.n_thresholds[family]
                missing[family] = mask if mask.any() else None
            np.greater(ordered, self.threshold_of[k], out=codes[at].view(bool))
            above = missing[family]
            if above is not None:
                codes[at] += above  # a missing score is above every threshold already: 1 + 1
        return codes

    @property
    def stored(self) -> np.ndarray:
        """The ordered codes of the families."""
        return self.family_codes

    def sort_by_class(self) -> None:
        """List the rows class after class, in place; see `CodedTable.sort_by_class`."""
        if not self.is_sorted_by_class:
            self._codes = None
        super().sort_by_class()

    def select(self, features: Any) -> IndicatorTable:
        """The same rows, of these indicators only; scores that are left without an indicator are left out."""
        picked = np.arange(self.n_features)[features]
        families, family_of = np.unique(self.family_of[picked], return_inverse=True)
        return IndicatorTable(
            family_codes=self.family_codes[families],
            n_thresholds=self.n_thresholds[families],
            family_of=family_of,
            threshold_of=self.threshold_of[picked],
            n_levels=self.n_levels[picked],
            names=tuple(self.names[k] for k in picked),
            class_codes=self.class_codes,
            classes=self.classes,
            weights=self.weights,
            levels=None if self.levels is None else tuple(self.levels[k] for k in picked),
        )

    def take(self, rows: Any) -> IndicatorTable:
        """The same indicators, of these rows only (positions, a slice or a boolean mask)."""
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            if rows.dtype == bool:
                rows = np.flatnonzero(rows)
        stored = self.family_codes
        return IndicatorTable(
            family_codes=stored[:, rows] if isinstance(rows, slice) else np.take(stored, rows, axis=1),
            n_thresholds=self.n_thresholds,
            family_of=self.family_of,
            threshold_of=self.threshold_of,
            n_levels=self.n_levels,
            names=self.names,
            class_codes=None if self.class_codes is None else self.class_codes[rows],
            classes=self.classes,
            weights=None if self.weights is None else self.weights[rows],
            levels=self.levels,
        )
