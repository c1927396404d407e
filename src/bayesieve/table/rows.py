"""`Rows`: classes, weights, groups and further columns of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Rows:
    """Classes, weights and further columns of rows; immutable.

    Parameters
    ----------
    class_codes : unsigned array, shape (n_rows,), or None
    classes : array, shape (n_classes,), or None
    weights : float64 array, shape (n_rows,), or None
        None: every row counts once.
    groups : array, shape (n_rows,), or None
        Rows of a group stay together when rows are split.
    columns : mapping of str to array, each of shape (n_rows, ...)
        Further arrays with an entry per row, such as benefits of decisions or fold numbers.

    Examples
    --------
    >>> rows = Rows(np.array([1, 0, 1], dtype=np.uint8), np.array(["no", "yes"]), columns={"gain": np.array([5, 0, 2])})
    >>> by_class = rows.take(rows.class_order())
    >>> by_class.class_codes.tolist(), by_class.columns["gain"].tolist()
    ([0, 1, 1], [0, 5, 2])
    """

    class_codes: np.ndarray | None = None
    classes: np.ndarray | None = None
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)

    def lengths(self) -> dict[str, int]:
        """The number of rows of each part, by name."""
        parts = {name: getattr(self, name) for name in ("class_codes", "weights", "groups")} | dict(self.columns)
        return {name: len(part) for name, part in parts.items() if part is not None}

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 when there is no target."""
        return 0 if self.classes is None else len(self.classes)

    @cached_property
    def is_sorted_by_class(self) -> bool:
        """Whether the rows are listed class after class."""
        return self.class_codes is not None and bool(np.all(self.class_codes[:-1] <= self.class_codes[1:]))

    def class_order(self) -> np.ndarray:
        """Row positions class after class, within a class in the order of the rows.

        ValueError if the classes are not known.
        """
        if self.class_codes is None:
            raise ValueError("The rows have no classes; code the table together with its target.")
        order = np.argsort(self.class_codes, kind="stable")  # a radix sort for small codes
        return order.astype(np.int32) if order.size < 2**31 else order

    def by_class(self) -> list[np.ndarray]:
        """The positions of the rows of each class that have weight."""
        codes = np.zeros(0) if self.class_codes is None else self.class_codes
        counted = np.ones(codes.shape, dtype=bool) if self.weights is None else self.weights > 0
        return [np.flatnonzero((codes == code) & counted) for code in range(self.n_classes)]

    def take(self, positions: Any) -> Rows:
        """These rows only: positions, a slice or a boolean mask."""

        def of(part: np.ndarray | None) -> np.ndarray | None:
            return None if part is None else part[positions]

        columns = {name: column[positions] for name, column in self.columns.items()}
        return Rows(of(self.class_codes), self.classes, of(self.weights), of(self.groups), columns)
