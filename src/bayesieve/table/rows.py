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
    runs : ClassRuns or None
        Where the rows come from, when they were listed class after class while they were read.

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
    runs: ClassRuns | None = None

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


_RUN = 1 << 16  # rows between which those of each class are counted


def count_classes(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """(n_classes,) rows of each class; without the copy of all codes as 64-bit numbers that `numpy.bincount` makes."""
    counts = np.zeros(n_classes, dtype=np.int64)
    for at in range(0, codes.size, _RUN):
        counts += np.bincount(codes[at : at + _RUN], minlength=n_classes)
    return counts


class ClassRuns:
    """Rows of a source listed class after class, within a class in the order of the source, without a list of all.

    Parameters
    ----------
    codes : unsigned array, shape (n_rows,)
        The class of each row of the source.
    n_classes : int
    """

    def __init__(self, codes: np.ndarray, n_classes: int) -> None:
        self.codes = codes
        counts = [np.bincount(codes[at : at + _RUN], minlength=n_classes) for at in range(0, codes.size, _RUN)]
        # Rows of each class above each run of rows of the source.
        self._above = np.vstack([np.zeros((1, n_classes), dtype=np.int64), np.cumsum(counts, axis=0)])
        self.offsets = np.concatenate([[0], np.cumsum(self._above[-1])])

    @property
    def sorted_codes(self) -> np.ndarray:
        """The class of each row, class after class."""
        return np.repeat(np.arange(self.offsets.size - 1).astype(self.codes.dtype), np.diff(self.offsets))

    def starts(self, row: int) -> np.ndarray:
        """(n_classes,) where the rows of each class that come from ``row`` of the source on begin."""
        run = row // _RUN
        part = np.bincount(self.codes[run * _RUN : row], minlength=self.offsets.size - 1)
        starts: np.ndarray = self.offsets[:-1] + self._above[run] + part
        return starts

    def in_source(self, positions: np.ndarray) -> np.ndarray:
        """The row of the source at each of these positions among the rows class after class."""
        rows = np.empty(len(positions), dtype=np.int64)
        of_class = np.searchsorted(self.offsets, positions, side="right") - 1
        for code in np.unique(of_class).tolist():
            here = np.flatnonzero(of_class == code)
            rank = np.asarray(positions)[here] - self.offsets[code]
            runs = np.searchsorted(self._above[:, code], rank, side="right") - 1
            for run in np.unique(runs).tolist():
                own = np.flatnonzero(self.codes[run * _RUN : (run + 1) * _RUN] == code)
                there = runs == run
                rows[here[there]] = run * _RUN + own[rank[there] - self._above[run, code]]
        return rows

    def by_class(self, rows: np.ndarray) -> np.ndarray:
        """The position among the rows class after class of each of these rows of the source."""
        positions = np.empty(len(rows), dtype=np.int64)
        runs = np.asarray(rows) // _RUN
        for run in np.unique(runs).tolist():
            here = np.flatnonzero(runs == run)
            codes = self.codes[run * _RUN : (run + 1) * _RUN]
            order = np.argsort(codes, kind="stable")
            counts = np.bincount(codes, minlength=self.offsets.size - 1)
            rank = np.empty(codes.size, dtype=np.int64)
            rank[order] = np.arange(codes.size) - np.repeat(np.cumsum(counts) - counts, counts)
            own = np.asarray(rows)[here] - run * _RUN
            of_class = codes[own]
            positions[here] = self.offsets[of_class] + self._above[run, of_class] + rank[own]
        return positions
