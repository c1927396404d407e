"""`CodedTable`: the table every count and every search reads, one contiguous run of codes per feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayesieve.table.levels import FeatureLevels


@dataclass
class CodedTable:
    """Codes of all features, with class codes and row weights where there are any.

    Attributes
    ----------
    codes : unsigned array, shape (n_features, n_rows), C-contiguous
        uint8, or uint16/uint32 when a feature has over 255/65535 levels. A code of ``n_levels[k]`` or larger is
        "unseen": it contributes nothing.
    n_levels : int64 array, shape (n_features,)
    names : tuple of str
    class_codes : unsigned array, shape (n_rows,), or None
    classes : array, shape (n_classes,), or None
    weights : float64 array, shape (n_rows,), or None
        None means every row counts once.
    levels : sequence of FeatureLevels or None
        What the codes mean, where they came from raw values.
    unseen : int array, shape (n_features,), or None
        Rows without a level, of each feature, where an encoder counted them.
    """

    codes: np.ndarray
    n_levels: np.ndarray
    names: tuple[str, ...]
    class_codes: np.ndarray | None = None
    classes: np.ndarray | None = None
    weights: np.ndarray | None = None
    levels: Sequence[FeatureLevels] | None = None
    unseen: np.ndarray | None = field(default=None, repr=False, compare=False, kw_only=True)
    _by_class: CodedTable | None = field(default=None, init=False, repr=False, compare=False)
    _found: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.codes.ndim != 2 or self.codes.dtype.kind != "u":
            raise ValueError("codes must be a 2-D array of unsigned integers, one row per feature.")
        self.codes = np.ascontiguousarray(self.codes)
        self.n_levels = np.asarray(self.n_levels, dtype=np.int64)
        self.names = tuple(self.names)
        for what, length in (("n_levels", len(self.n_levels)), ("names", len(self.names))):
            if length != self.n_features:
                raise ValueError(f"codes has {self.n_features} features but {what} has {length} entries.")
        for what, rows in (("class_codes", self.class_codes), ("weights", self.weights)):
            if rows is not None and len(rows) != self.n_rows:
                raise ValueError(f"codes has {self.n_rows} rows but {what} has {len(rows)}.")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.codes.shape[0])

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 when there is no target."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def stored(self) -> np.ndarray:
        """The array that holds what is known of the rows, one contiguous run after another."""
        return self.codes

    def sort_by_class(self) -> None:
        """List the rows class after class, in place (their order within a class is kept); no second copy is made.

        Counts and searches do not depend on the order of the rows, and read them fastest in this one.
        """
        if self.class_codes is None or self.is_sorted_by_class:
            return
        self._found.clear()
        order = np.argsort(self.class_codes, kind="stable")  # a radix sort for small codes
        if self.n_rows < 2**31:
            order = order.astype(np.int32)
        scratch = np.empty(self.n_rows, dtype=self.stored.dtype)
        for codes in self.stored:
            np.take(codes, order, out=scratch)
            codes[:] = scratch
        self.class_codes = self.class_codes[order]
        if self.weights is not None:
            self.weights = self.weights[order]

    def sorted_by_class(self) -> CodedTable:
        """The same rows, class after class: this table where it lists them so, or a copy that is made once and kept."""
        if self.class_codes is None or self.is_sorted_by_class:
            return self
        if self._by_class is None:
            self._by_class = self.take(np.argsort(self.class_codes, kind="stable"))
        return self._by_class

    def once(self, what: str, find: Callable[[], Any]) -> Any:
        """What follows from the rows, found when it is first asked for: several models may be learnt from a table."""
        if what not in self._found:
            self._found[what] = find()
        return self._found[what]

    @property
    def is_sorted_by_class(self) -> bool:
        """Whether the rows are listed class after class."""
        return self.class_codes is not None and bool(np.all(self.class_codes[:-1] <= self.class_codes[1:]))

    def codes_of(self, features: Any) -> np.ndarray:
        """The codes of these features only (positions, a slice or a boolean mask), shape (n, n_rows)."""
        return self.codes[features]

    def select(self, features: Any) -> CodedTable:
        """The same rows, of these features only (positions, a slice or a boolean mask)."""
        picked = np.arange(self.n_features)[features if isinstance(features, slice) else np.asarray(features)]
        return CodedTable(
            codes=self.codes[picked],
            n_levels=self.n_levels[picked],
            names=tuple(self.names[k] for k in picked),
            class_codes=self.class_codes,
            classes=self.classes,
            weights=self.weights,
            levels=None if self.levels is None else tuple(self.levels[k] for k in picked),
        )

    def take(self, rows: Any) -> CodedTable:
        """The same features, of these rows only (positions, a slice or a boolean mask)."""
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            if rows.dtype == bool:
                rows = np.flatnonzero(rows)
        return CodedTable(
            codes=self.codes[:, rows] if isinstance(rows, slice) else np.take(self.codes, rows, axis=1),
            n_levels=self.n_levels,
            names=self.names,
            class_codes=None if self.class_codes is None else self.class_codes[rows],
            classes=self.classes,
            weights=None if self.weights is None else self.weights[rows],
            levels=self.levels,
        )
