"""Cells of about as many rows each, for columns of too many distinct numbers to count them all."""

from __future__ import annotations

import numpy as np

_POINTS_PER_CELL = 16  # rows that stand for others when the cells are chosen
_SMALLEST = 4096  # hashes by which distinct values are estimated, to within 1.6 %


class QuantileSketch:
    """Every so many-th number of each block of rows, and an estimate of how many are distinct.

    Parameters
    ----------
    n_rows : rows in all.
    n_cells : of the grid.
    """

    def __init__(self, n_rows: int, n_cells: int) -> None:
        self._n_cells = n_cells
        self._step = max(1, n_rows // (_POINTS_PER_CELL * n_cells))
        self._points: list[np.ndarray] = []
        self._smallest = np.zeros(0, dtype=np.uint64)

    def add(self, values: np.ndarray, rows: np.ndarray | None = None) -> None:
        """Numbers of a block in ascending order, or distinct ones with the rows that have each."""
        if rows is None:
            self._points.append(values[self._step // 2 :: self._step].copy())  # a view would keep all of the block
            values = values[np.append(True, values[1:] != values[:-1])] if values.size else values
        else:
            last = np.cumsum(rows)
            at = np.arange(self._step // 2, last[-1] if last.size else 0, self._step)
            self._points.append(values[np.searchsorted(last, at, side="right")])
        self._count(_hashes(values))

    def join(self, other: QuantileSketch) -> None:
        """Add the numbers of another sketch of the same table."""
        self._points += other._points
        self._count(other._smallest)

    def state(self) -> dict[str, np.ndarray]:
        """What `restored` makes the same sketch of."""
        return {"points": np.concatenate(self._points), "smallest": self._smallest}

    @classmethod
    def restored(cls, n_rows: int, n_cells: int, state: dict[str, np.ndarray]) -> QuantileSketch:
        """The sketch with this `state`."""
        sketch = cls(n_rows, n_cells)
        sketch._points, sketch._smallest = [state["points"]], state["smallest"]
        return sketch

    def _count(self, hashes: np.ndarray) -> None:
        if self._smallest.size == _SMALLEST:
            hashes = hashes[hashes < self._smallest[-1]]
        self._smallest = np.union1d(self._smallest, hashes)[:_SMALLEST]

    def cuts(self) -> np.ndarray:
        """Ascending numbers: cells are the intervals between them, each with its upper end."""
        points = np.sort(np.concatenate(self._points))
        cuts: np.ndarray = np.unique(points[np.arange(1, self._n_cells) * points.size // self._n_cells])
        return cuts

    @property
    def n_distinct(self) -> int:
        """About how many numbers are distinct."""
        if self._smallest.size < _SMALLEST:
            return int(self._smallest.size)
        return round((_SMALLEST - 1) / (float(self._smallest[-1]) / 2.0**64))


def _hashes(values: np.ndarray) -> np.ndarray:
    """Numbers that look random and are equal where the values are (the finaliser of SplitMix64)."""
    hashes = (values + 0.0).view(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        hashes = (hashes ^ (hashes >> np.uint64(shift))) * np.uint64(factor)
    return hashes ^ (hashes >> np.uint64(31))
