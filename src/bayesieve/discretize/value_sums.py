"""Counts of the values of one column, added up block by block within limited memory.

The sums do not depend on how rows are divided into blocks, nor on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from operator import add
from typing import Any

import numpy as np

from bayesieve.compiling import read_only
from bayesieve.counts.row_hashes import mixed, text_hashes
from bayesieve.discretize.value_counts import ClassOrder, ValueCounts
from bayesieve.table import Column
from bayesieve.table.column_values import TextValues

_SMALLEST = 4096  # hashes by which distinct values are estimated, to within 1.6 %
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)  # constant that `mixed` adds
_BUCKETS = 1 << 20  # number of buckets for hashes of texts
_FEW_CLASSES = 16  # up to this number of classes, polars counts texts
_TOP_BITS = 14  # first bits of a float: sign, exponent and two bits of the fraction
_TOO_FULL = 64  # a cell with so many times its share of rows is split
MOST_ROUNDS = 2
"""How often cells that are too full are split."""


class BlockRows:
    """Classes and weights of a block of rows.

    ``classes`` (n_rows,) are class codes, and ``weights`` (n_rows,) row weights; the attribute is empty if all are 1.
    The attribute `order` is the order of the rows by class.
    """

    def __init__(self, classes: np.ndarray, n_classes: int, weights: np.ndarray | None) -> None:
        self.classes, self.n_classes = classes, n_classes
        self.weights = np.zeros(0) if weights is None else weights
        self.order = ClassOrder.of(classes, n_classes, weights)


class Distinct:
    """Estimate of the number of distinct ``hashes`` from the smallest ones (bottom-k sketch).

    ``int`` returns the estimate; sketches of blocks can be added.
    """

    def __init__(self, hashes: np.ndarray) -> None:
        if hashes.size > 16 * _SMALLEST:  # sorting all takes longer
            few = hashes[hashes < np.uint64((1 << 63) // (hashes.size // (8 * _SMALLEST)))]
            hashes = hashes if np.unique(few).size < _SMALLEST else few
        self.smallest = np.unique(hashes)[:_SMALLEST]

    def __add__(self, other: Distinct) -> Distinct:
        return Distinct(np.concatenate([self.smallest, other.smallest]))

    def __int__(self) -> int:
        if self.smallest.size < _SMALLEST:
            return int(self.smallest.size)
        return round((_SMALLEST - 1) / (float(self.smallest[-1]) / 2.0**64))


@dataclass
class CellCounts:
    """Class counts, and the lowest and highest value, of each cell of a grid of numbers; counts of blocks can be added.

    Attributes
    ----------
    counts : (n_cells + 1, n_classes) rows (or weight) by cell and class; the first entry is for missing values.
    ends : (2, n_cells + 1) lowest and highest value of each cell, in the same order.
    """

    counts: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(
        cls, cuts: np.ndarray, values: np.ndarray, classes: np.ndarray, n_classes: int, weights: np.ndarray
    ) -> CellCounts:
        """Count a block of numbers by class in the intervals between ``cuts``. Rows of weight 0 are ignored.

        ``values`` (n_rows,) are the numbers, NaN if missing; ``classes`` (n_rows,) are class codes, and ``weights``
        (n_rows,) row weights, empty if all are 1.
        """
        from bayesieve.discretize._value_kernels import count_in_cells
        from bayesieve.table._kernels import code_numbers

        counts, ends = np.zeros((cuts.size + 2, n_classes)), np.empty((2, cuts.size + 2))
        ends[0], ends[1] = np.inf, -np.inf
        numbers = np.empty((1, values.size), dtype=np.min_scalar_type(cuts.size + 1))
        missing = np.array([np.iinfo(numbers.dtype).max])  # 0 after the last step
        values = np.ascontiguousarray(values)
        code_numbers(values[None, :], cuts, np.array([cuts.size + 1]), missing, numbers)
        numbers += numbers.dtype.type(1)
        count_in_cells(read_only(values), numbers[0], classes, read_only(weights), counts, ends[0], ends[1])
        return cls(counts, ends)

    def __add__(self, other: CellCounts) -> CellCounts:
        ends = [np.minimum(self.ends[0], other.ends[0]), np.maximum(self.ends[1], other.ends[1])]
        return CellCounts(self.counts + other.counts, np.array(ends))

    def __getstate__(self) -> tuple[Any, ...]:
        met = np.flatnonzero(self.counts.any(axis=1)).astype(np.uint32)  # most cells of the coarse grid are empty
        return self.counts.shape, met, self.counts[met], self.ends[:, met]

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        shape, met, counts, ends = state
        self.counts, self.ends = np.zeros(shape), np.empty((2, shape[0]))
        self.ends[0], self.ends[1] = np.inf, -np.inf
        self.counts[met], self.ends[:, met] = counts, ends


@dataclass(frozen=True)
class Grid:
    """Counts of the rows of a column in the cells between ascending ``cuts``; a cell includes its upper end."""

    cuts: np.ndarray
    cells: CellCounts

    def _filled(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the number of rows, the lowest value and the highest value of each cell that has rows; three arrays
        (n,).
        """
        row_counts = np.round(self.cells.counts[1:].sum(axis=1), 6)  # sums of fractions depend on their order
        met = np.flatnonzero(row_counts > 0)
        return row_counts[met], self.cells.ends[0, 1:][met], self.cells.ends[1, 1:][met]

    def quantiles(self, n_cells: int) -> np.ndarray:
        """Return the ascending cuts of a new grid with at most ``n_cells`` cells of about equal numbers of rows, shape
        (at most n_cells - 1,).
        """
        row_counts, low, high = self._filled()
        if not row_counts.size:
            return np.zeros(0)
        last = np.cumsum(row_counts)
        n_large = n_cells // 4
        n = n_cells - 2 * n_large
        at = last[-1] * np.arange(1, n) / n
        cell = np.minimum(np.searchsorted(last, at), row_counts.size - 1)
        share = np.clip((at - last[cell] + row_counts[cell]) / row_counts[cell], 0.0, 1.0)
        cuts = np.clip(low[cell] * (1.0 - share) + high[cell] * share, low[cell], high[cell])
        large = np.flatnonzero(row_counts * max(1, n_large) >= last[-1])
        cuts = np.unique(np.concatenate([cuts, high[large], high[large[large > 0] - 1]]) + 0.0)
        return cuts[cuts < high[-1]]

    def is_too_full(self, n_cells: int) -> bool:
        """Return whether a cell with several distinct values has more than `_TOO_FULL` / ``n_cells`` of all rows."""
        row_counts, low, high = self._filled()
        return bool(np.any(row_counts[low < high] * n_cells > _TOO_FULL * row_counts.sum()))

    def value_counts(self, n_distinct: int) -> ValueCounts:
        """Return the cells that have rows as the `ValueCounts` of a column, in which each cell is one entry.

        ``n_distinct`` is the number of distinct values of the column.
        """
        counts, ends = whole_if_possible(self.cells.counts), self.cells.ends
        met = np.flatnonzero(counts[1:].any(axis=1)) + 1
        return ValueCounts(ends[0, met], counts[met], counts[0], ends[1, met], n_distinct)


def whole_if_possible(counts: np.ndarray) -> np.ndarray:
    """Return ``counts`` as integers if all are whole numbers, otherwise unchanged."""
    whole = counts.sum() < 2**31 and np.array_equal(counts, np.floor(counts))
    return counts.astype(np.int32) if whole else counts


@cache
def _octaves() -> np.ndarray:
    """Return the ascending cuts of a grid for any floats, with four cells per power of two.

    Each cell holds the floats with the same first `_TOP_BITS` bits: sign, exponent and two bits of the fraction.
    """
    shift = np.uint64(64 - _TOP_BITS)
    first = (np.arange(0x7FF0 >> (16 - _TOP_BITS), dtype=np.uint64) << shift).view(np.float64)
    last = (first.view(np.uint64) | ((np.uint64(1) << shift) - np.uint64(1))).view(np.float64)
    return np.sort(np.concatenate([-first[1:], [-5e-324], last]))


@dataclass
class NumberSketch:
    """Sketch of a column with too many distinct numbers to count: row counts in a coarse grid (see `_octaves`), and an
    estimate of the number of distinct values.
    """

    cells: CellCounts
    distinct: Distinct

    @property
    def grid(self) -> Grid:
        """Grid of the row counts, with four cells per power of two."""
        return Grid(_octaves(), self.cells)

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray) -> NumberSketch:
        """Return the sketch of a block of numbers. ``values`` (n_rows,) are the numbers, NaN if missing, and
        ``weights`` (n_rows,) row weights, empty if all are 1.
        """
        cells = CellCounts.of(_octaves(), values, np.zeros(values.size, np.uint8), 1, weights)
        counted = ~np.isnan(values) & (weights > 0 if weights.size else True)
        numbers = values if counted.all() else values[counted]
        return cls(cells, Distinct(mixed((numbers + 0.0).view(np.uint64) - _INCREMENT)))

    def __add__(self, other: NumberSketch) -> NumberSketch:
        return NumberSketch(self.cells + other.cells, self.distinct + other.distinct)


@dataclass(frozen=True)
class Room:
    """Limits on the distinct values of a column: their number ``values``, and the bytes of all their texts,
    ``text_bytes``.
    """

    values: int
    text_bytes: int

    def holds(self, counts: ValueCounts) -> bool:
        """Return whether the distinct values of a column are within the limits."""
        return len(counts.values) <= self.values and _text_bytes(counts.values) <= self.text_bytes


def _text_bytes(values: Any) -> int:
    """Return the size of texts in bytes; 0 for numbers, and for lists, which hold few values."""
    return 0 if isinstance(values, (np.ndarray, list)) else int(values.str.len_bytes().sum())


@dataclass
class TextSketch:
    """Sketch of a column with too many categories to count: rows (or weight) by hash bucket of the text, and an
    estimate of the number of distinct texts.

    Attributes
    ----------
    rows : number of rows (or weight) of each bucket.
    distinct : estimate of the number of categories.
    n_texts, n_bytes : number and size in bytes of the distinct texts of each block, added over blocks.
    """

    rows: np.ndarray
    distinct: Distinct
    n_texts: int
    n_bytes: int

    @classmethod
    def of(cls, counts: ValueCounts) -> TextSketch:
        """Return the sketch of a block of categories."""
        hashes = mixed(text_hashes(counts.values))
        rows = np.bincount(_buckets_of(hashes), weights=counts.counts.sum(axis=1), minlength=_BUCKETS)
        return cls(rows, Distinct(hashes), len(hashes), _text_bytes(counts.values))

    def __getstate__(self) -> tuple[Any, ...]:
        met = np.flatnonzero(self.rows).astype(np.uint32)  # of a block, most are empty
        return met, self.rows[met], self.distinct, self.n_texts, self.n_bytes

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        met, rows, self.distinct, self.n_texts, self.n_bytes = state
        self.rows = np.zeros(_BUCKETS)
        self.rows[met] = rows

    def __add__(self, other: TextSketch) -> TextSketch:
        n_texts, n_bytes = self.n_texts + other.n_texts, self.n_bytes + other.n_bytes
        return TextSketch(self.rows + other.rows, self.distinct + other.distinct, n_texts, n_bytes)

    def fullest(self, most_buckets: int, room: Room) -> np.ndarray:
        """Return a mask (n_buckets,) of the buckets with most rows.

        As many buckets are marked as the limits ``room`` allow for their categories, but at most ``most_buckets``.
        """
        n = max(1, min(most_buckets, room.values * _BUCKETS // max(1, int(self.distinct))))
        # A bucket holds at least one text, so the memory for texts also limits the number of buckets.
        n = max(1, min(n, room.text_bytes * self.n_texts // max(1, self.n_bytes)))
        marks = np.zeros(_BUCKETS, dtype=bool)
        marks[np.argsort(-np.round(self.rows, 6), kind="stable")[:n]] = True
        return marks


def _buckets_of(hashes: np.ndarray) -> np.ndarray:
    """Return the bucket of each of ``hashes`` (n,), an integer array (n,)."""
    return (hashes % np.uint64(_BUCKETS)).astype(np.int64)


Part = ValueCounts | NumberSketch | TextSketch
"""Counts of the values of a column in one or several blocks, or a sketch of them."""


def count_values(column: Column, rows: BlockRows, room: Room) -> Part:
    """Count the values of a column in a block of rows by class. Return a sketch if they exceed the limits ``room``."""
    if column.kind != "numeric":
        return reduce(lambda one, other: add_values([one, other], room), _text_parts(column, rows, room))
    values = column.numbers()
    if values.size > room.values and _has_more(values, room.values, rows.weights):
        return NumberSketch.of(values, rows.weights)
    return ValueCounts.of_numbers(values, rows.order)


def _text_parts(column: Column, rows: BlockRows, room: Room) -> Iterator[Part]:
    """Yield the counts (or sketches, beyond the limits ``room``) of the categories of a block, in several parts if
    texts are long.
    """
    for part, of_part in _parts_of_texts(column, rows):
        yield add_values([_count_categories(part, of_part)], room)


def _parts_of_texts(column: Column, rows: BlockRows) -> Iterator[tuple[Column, BlockRows]]:
    """Yield a column with the classes and weights of its rows: in parts if its texts are long, otherwise as a whole.

    The parts depend on the texts only.
    """
    parts, end = column.in_chunks(), 0
    if len(parts) == 1:
        yield column, rows
        return
    for part in parts:
        at = slice(end, end + len(part))
        weights, end = rows.weights[at] if rows.weights.size else None, at.stop
        yield part, BlockRows(rows.classes[at], rows.n_classes, weights)


def _count_categories(column: Column, rows: BlockRows) -> ValueCounts:
    """Return the class counts of the categories of a column in a block of rows."""
    if not isinstance(column.values, TextValues):
        return ValueCounts.of_categories(column.categories(merged=False), rows.order)
    texts = column.values.series
    if not rows.weights.size and rows.n_classes <= _FEW_CLASSES:
        return ValueCounts.of_texts(texts, rows.order)
    import polars as pl

    counts = ValueCounts.of_categories(column.categories(merged=False), rows.order)
    return replace(counts, values=pl.Series(counts.values, dtype=pl.String))


def _has_more(values: np.ndarray, most: int, weights: np.ndarray) -> bool:
    """Return whether a block has more than ``most`` distinct numbers. ``values`` (n_rows,) are the numbers, and
    ``weights`` (n_rows,) row weights, empty if all are 1; rows of weight 0 are ignored.
    """
    ordered = np.sort(values[weights > 0] if weights.size else values)
    return int(np.count_nonzero(ordered[1:] > ordered[:-1])) >= most


def add_values(parts: Sequence[Part], room: Room) -> Part:
    """Return the sum of the counts of several blocks, or a sketch if the values exceed the limits ``room``."""
    counts = [part for part in parts if isinstance(part, ValueCounts)]
    if len(counts) == len(parts):
        total = ValueCounts.sum(counts)
        if room.holds(total):
            return total
        parts = [total]
    return reduce(add, map(_sketch_of, parts))


def _sketch_of(part: Any) -> Any:
    """Return ``part`` as a sketch: counts of values are converted, and sketches are returned unchanged."""
    if not isinstance(part, ValueCounts):
        return part
    if isinstance(part.values, np.ndarray):
        return NumberSketch.of(part.values, part.counts.sum(axis=1, dtype=float))
    return TextSketch.of(part)


def count_cells(column: Column, rows: BlockRows, cuts: np.ndarray) -> CellCounts:
    """Count the numbers of a block of rows by class and by cell of the grid with the ascending ``cuts``."""
    return CellCounts.of(cuts, column.numbers(), rows.classes, rows.n_classes, rows.weights)


def add_cells(parts: Sequence[CellCounts], _: Any) -> CellCounts:
    """Return the sum of the cell counts of several blocks. The second argument is not used."""
    return reduce(add, parts)


def count_marked(column: Column, rows: BlockRows, marks: np.ndarray) -> ValueCounts:
    """Count the categories of a block of rows by class, of those only whose hash bucket is True in the mask ``marks``
    (n_buckets,).
    """
    parts = []
    for part, of_part in _parts_of_texts(column, rows):
        counts = _count_categories(part, of_part)
        parts.append(_only(counts, np.flatnonzero(marks[_buckets_of(mixed(text_hashes(counts.values)))])))
    return ValueCounts.sum(parts)


def add_marked(parts: Sequence[ValueCounts], _: Any) -> ValueCounts:
    """Return the sum of the counts that `count_marked` returned for several blocks. The second argument is not used."""
    return ValueCounts.sum(parts)


def _only(counts: ValueCounts, chosen: np.ndarray) -> ValueCounts:
    """Return the counts of the values at the positions ``chosen``."""
    values = counts.values
    selected = [values[i] for i in chosen.tolist()] if isinstance(values, list) else values[chosen]
    return replace(counts, values=selected, counts=counts.counts[chosen])


class RunningSum:
    """Sum of the counts of blocks, which are added one by one.

    Counts by value are added in pairs of equal numbers of blocks, because they become larger with every block.

    Parameters
    ----------
    add, option : ``add(parts, option)`` returns the sum of ``parts``.
    """

    def __init__(self, add: Any, option: Any) -> None:
        self._add, self._option = add, option
        self.parts: list[tuple[int, Any]] = []

    def push(self, part: Any) -> None:
        """Add ``part``, the counts of a further block."""
        n = 1
        while self.parts and (self.parts[-1][0] == n or not _grows(part) or not _grows(self.parts[-1][1])):
            size, before = self.parts.pop()
            part, n = self._add([before, part], self._option), n + size
        self.parts.append((n, part))

    def total(self) -> Any:
        """Return the sum over all blocks."""
        return reduce(lambda one, other: self._add([one, other], self._option), (part for _, part in self.parts))


def _grows(part: Any) -> bool:
    """Return whether ``part``, a statistic of a block, becomes larger with the number of distinct values."""
    return isinstance(part, ValueCounts)


def most_frequent(counts: ValueCounts, most: int) -> ValueCounts:
    """Return the counts of the ``most`` most frequent categories; of equally frequent ones, the first texts are
    used.
    """
    if len(counts.values) <= most:
        return counts
    row_counts = np.round(counts.counts.sum(axis=1, dtype=float), 6)
    chosen = np.sort(np.argsort(-row_counts, kind="stable")[:most])
    return _only(counts, chosen)
