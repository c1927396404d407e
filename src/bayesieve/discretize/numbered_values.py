"""The values of one scanned column by number: numbered and counted by class block after block, too many in a grid."""

from __future__ import annotations

import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesieve.counts.row_content import mixed
from bayesieve.discretize.value_counts import ValueCounts
from bayesieve.engine import Engine
from bayesieve.table import Categories, Column, FeatureLevels
from bayesieve.table.levels import smallest_unsigned
from bayesieve.table.sources.base import BLOCK_ROWS
from bayesieve.table.values import Scalar, canonical_text, merge_values

_POINTS_PER_CELL = 16  # rows that stand for others when the cells are chosen
_SMALLEST = 4096  # hashes by which distinct values are estimated, to within 1.6 %
_BYTES_PER_TEXT = 200  # with what looks it up
_FEWEST_TEXTS = 1 << 14
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)  # that `mixed` adds
State = dict[str, np.ndarray]


class NumberedValues(ABC):
    """The values of one column by number, in the order in which they came; number 0 is missing.

    Parameters
    ----------
    key : of the column among those of the table.
    n_rows, n_classes : of the table.
    engine : where the numbers live.
    most : values to number; further ones share a number, or are counted in a grid.

    Attributes
    ----------
    numbers : (n_rows,) of the value of each row.
    counts : (more than there are numbers, n_classes) rows, or weight.
    n_known : the highest number.
    n_left_out : rows of further values, which have the next number.
    on_grid : whether values are the upper ends of cells.
    most_bytes : what the values of the next block may take, with those before.
    """

    most_bytes = 1 << 62
    n_known = 0
    n_left_out = 0
    on_grid = False

    def __init__(self, key: str, n_rows: int, n_classes: int, engine: Engine, most: int) -> None:
        self._key, self._engine, self._most = key, engine, most
        self.numbers = self._array(n_rows, np.dtype(np.uint8))
        self.counts = np.zeros((256, n_classes))

    def _array(self, n_rows: int, dtype: np.dtype) -> np.ndarray:
        """New numbers of the rows, in a file that the next process finds again where the engine keeps one."""
        kept = self._engine.kept_array(f"{self._key} {dtype}", (n_rows,), dtype)
        self._in_file, self._checked, self._checksum = kept is not None, 0, 0
        return self._engine.array((n_rows,), dtype) if kept is None else kept

    @abstractmethod
    def add(self, column: Column, rows: slice, classes: np.ndarray, weights: np.ndarray) -> None:
        """Number and count the values of a block of rows."""

    @property
    @abstractmethod
    def n_bytes(self) -> int:
        """About how much memory the values take that are told apart, with their counts."""

    @abstractmethod
    def count_fewer(self) -> None:
        """Between two blocks: tell no further values apart."""

    def begin_again(self) -> bool:
        """Whether all rows have to be read once more."""
        return False

    def state(self, n_rows: int) -> State:
        """All that the first rows have come to, to go on from in another process: exact to the last bit."""
        if n_rows < self._checked:
            self._checksum = self._checked = 0
        part = self.numbers[self._checked : n_rows] if self._in_file else self.numbers[:0]
        self._checksum, self._checked = zlib.crc32(part.data, self._checksum), n_rows
        self._engine.visited(part.nbytes)
        facts = np.array([self.n_known, self.on_grid, self._checksum, self.numbers.itemsize, self._most])
        state = {"facts": facts, "counts": self.counts}
        return state if self._in_file else state | {"numbers": self.numbers[:n_rows]}

    def restore(self, state: State, n_rows: int) -> None:
        """Go on from a `state`; ValueError where the numbers of its rows are not those that were written."""
        self.n_known, self.on_grid, checksum, itemsize, self._most = state["facts"].tolist()
        self.on_grid, self.counts = bool(self.on_grid), state["counts"].copy()
        if itemsize != self.numbers.itemsize:
            self.numbers = self._array(self.numbers.size, np.dtype(f"u{itemsize}"))
        if "numbers" in state:
            self.numbers[:n_rows] = state["numbers"]
        elif not self._in_file or zlib.crc32(self.numbers[:n_rows].data) != checksum:
            raise ValueError("the numbers of the rows have changed")
        else:
            self._checksum, self._checked = checksum, n_rows
            self._engine.visited(self.numbers[:n_rows].nbytes)

    @abstractmethod
    def value_counts(self) -> ValueCounts:
        """The counts, as levels are learnt from them."""

    @abstractmethod
    def codes(self, levels: FeatureLevels) -> np.ndarray:
        """The code of each number."""

    def _grow(self, n: int) -> None:
        """Room for so many numbers."""
        if n > len(self.counts):
            counts = np.zeros((n, self.counts.shape[1]))
            counts[: len(self.counts)] = self.counts
            self.counts = counts

    def _put(self, rows: slice, numbers: np.ndarray) -> None:
        dtype = smallest_unsigned(self.n_known + 1)
        if dtype.itemsize > self.numbers.itemsize:
            wide = self._array(self.numbers.size, dtype)
            for at in range(0, rows.start, BLOCK_ROWS):
                part = slice(at, min(at + BLOCK_ROWS, rows.start))
                wide[part] = self.numbers[part]
                self._engine.visited(2 * wide[part].nbytes)
            self.numbers = wide
        self.numbers[rows] = numbers


def whole_if_possible(counts: np.ndarray) -> np.ndarray:
    """Counts as whole numbers, if they are."""
    whole = counts.sum() < 2**31 and np.array_equal(counts, np.floor(counts))
    return counts.astype(np.int32) if whole else counts


class NumberedNumbers(NumberedValues):
    """Numbers in a hash table or, when there are too many, in ``n_cells`` cells of a grid of quantiles."""

    def __init__(self, key: str, n_rows: int, n_classes: int, engine: Engine, most: int, n_cells: int) -> None:
        super().__init__(key, n_rows, n_classes, engine, most)
        self._n_cells = n_cells
        self._keys, self._slots = np.zeros(256), np.zeros(256, dtype=np.int32)
        self._known = np.zeros(128)
        self._sketch: QuantileSketch | None = None
        self._grid: Grid | None = None

    @property
    def n_bytes(self) -> int:
        if self._sketch is not None:
            return 0  # the number of cells keeps it small
        return self._keys.nbytes + self._slots.nbytes + self._known.nbytes + 2 * self.counts.nbytes

    def count_fewer(self) -> None:
        if self._sketch is None and self.n_known > self._n_cells:
            self._start_sketch(self.counts)

    def add(self, column: Column, rows: slice, classes: np.ndarray, weights: np.ndarray) -> None:
        values = column.numbers()
        if self._grid is not None:
            self.numbers[rows] = self._grid.add(values, classes, weights)
        elif self._sketch is None:
            self._count(values, rows, classes, weights)
        if self._sketch is not None and self._grid is None:
            ordered = np.sort(values)
            self._sketch.add(ordered[: np.searchsorted(ordered, np.nan)])

    def _count(self, values: np.ndarray, rows: slice, classes: np.ndarray, weights: np.ndarray) -> None:
        from bayesieve.discretize._value_kernels import number_values

        numbers = np.empty(values.size, dtype=np.uint32)
        before, begin = self.counts.copy(), 0
        while begin < values.size:
            tables = (self._keys, self._slots, self._known, self.counts)
            begin, self.n_known = number_values(
                np.ascontiguousarray(values), begin, classes, weights, *tables, self.n_known, numbers
            )
            is_full = begin < values.size and self.n_known > self._n_cells and 4 * self.n_bytes > self.most_bytes
            if begin < values.size and not is_full:
                self._widen(4 * self._keys.size)
            if is_full or self.n_known > self._most:
                self._start_sketch(before)
                return
        self._put(rows, numbers)

    def _widen(self, size: int) -> None:
        """A larger hash table of the same values."""
        from bayesieve.discretize._value_kernels import number_values

        known = self._known[1 : self.n_known + 1].copy()
        self._keys, self._slots, self._known = np.zeros(size), np.zeros(size, dtype=np.int32), np.zeros(size // 2)
        unused = np.zeros((size // 2, 1))
        tables = (self._keys, self._slots, self._known, unused)
        number_values(
            known, 0, np.zeros(known.size, np.uint8), np.zeros(0), *tables, 0, np.empty(known.size, np.uint32)
        )
        self._grow(size // 2)

    def _start_sketch(self, counts: np.ndarray) -> None:
        """Leave single values: the next reading counts cells. ``counts`` : of the blocks before this one."""
        rows = counts[1:].sum(axis=1)
        met = np.flatnonzero(rows)
        values = self._known[1:][met]
        order = np.argsort(values)
        self._sketch = QuantileSketch(self.numbers.size, self._n_cells)
        self._sketch.add(values[order], rows[met][order])
        self._keys, self._slots, self._known = np.zeros(0), np.zeros(0, dtype=np.int32), np.zeros(0)
        self.counts = np.zeros((1, self.counts.shape[1]))

    def begin_again(self) -> bool:
        if self._sketch is None or self.on_grid:
            return self.on_grid
        self._grid, self.on_grid = Grid(self._sketch.cuts(), self.counts.shape[1]), True
        self.n_known, self.counts = len(self._grid.counts) - 1, self._grid.counts
        self.numbers = self._array(self.numbers.size, smallest_unsigned(self.n_known))
        return True

    def state(self, n_rows: int) -> State:
        if self._sketch is None:
            return super().state(n_rows) | {"known": self._known[: self.n_known + 1]}
        state = super().state(n_rows if self.on_grid else 0) | self._sketch.state()
        if self._grid is not None:
            state |= {"cuts": self._grid.cuts, "ends": self._grid.ends}
        return state

    def restore(self, state: State, n_rows: int) -> None:
        on_grid, gridded = "cuts" in state, "points" in state
        super().restore(state, n_rows if on_grid or not gridded else 0)
        if on_grid:
            self._grid = Grid(state["cuts"], self.counts.shape[1])
            self._grid.counts, self._grid.ends = self.counts, state["ends"].copy()
        if gridded:
            self._sketch = QuantileSketch.restored(self.numbers.size, self._n_cells, state)
        else:
            self._known = state["known"]
            self._widen(2 * len(self.counts))

    def value_counts(self) -> ValueCounts:
        if self._grid is not None:
            assert self._sketch is not None
            return self._grid.value_counts(self._sketch.n_distinct)
        counts = whole_if_possible(self.counts[: self.n_known + 1])
        met = np.flatnonzero(counts[1:].any(axis=1)) + 1
        met = met[np.argsort(self._known[met])]
        return ValueCounts(self._known[met], counts[met], counts[0])

    def codes(self, levels: FeatureLevels) -> np.ndarray:
        of_missing = levels.unseen_code if levels.missing_code is None else levels.missing_code
        values = self._known if self._grid is None else self._grid.ends[1]
        codes = levels.code_numbers(values[: self.n_known + 1])
        codes[0] = of_missing
        return codes


class NumberedTexts(NumberedValues):
    """Categories by their canonical text."""

    def __init__(self, key: str, n_rows: int, n_classes: int, engine: Engine, most: int) -> None:
        super().__init__(key, n_rows, n_classes, engine, most)
        self._number: dict[str, int] = {}
        self._pool: Any = None
        self._raw: list[Scalar] = []
        self._new_pool([])

    @property
    def n_bytes(self) -> int:
        return _BYTES_PER_TEXT * self.n_known + 2 * self.counts.nbytes

    def count_fewer(self) -> None:
        self._most = min(self._most, max(_FEWEST_TEXTS, self.n_known))

    def add(self, column: Column, rows: slice, classes: np.ndarray, weights: np.ndarray) -> None:
        from bayesieve.counts._kernels import count_codes

        self._put(rows, self._numbers_of(column))
        self._grow(1 << (self.n_known + 2).bit_length())
        numbers, n = self.numbers[None, rows], np.array([len(self.counts)])
        count_codes(numbers, classes, weights, n, np.array([0]), self.counts)

    def state(self, n_rows: int) -> State:
        texts = json.dumps([self._pool is not None, *self._raw]).encode()
        return super().state(n_rows) | {"values": np.frombuffer(texts, np.uint8)}

    def restore(self, state: State, n_rows: int) -> None:
        super().restore(state, n_rows)
        in_pool, *self._raw = json.loads(state["values"].tobytes())
        if in_pool:
            self._new_pool(self._raw)
        else:
            self._pool = None
            self._number = {_text_of(value): number for number, value in enumerate(self._raw, 1)}

    def _new_pool(self, texts: Sequence[Any]) -> None:
        """Codes of texts that go on from block to block, with these ones first."""
        import polars as pl

        self._pool = pl.Categories.random()
        self._last = pl.Series(texts, dtype=pl.String).cast(pl.Categorical(self._pool))  # an unused pool is emptied

    def _numbers_of(self, column: Column) -> np.ndarray:
        import polars as pl

        data = column._data
        if self._pool is not None and isinstance(data, pl.Series) and data.dtype == pl.String:
            self._last = column._selected().cast(pl.Categorical(self._pool))
            codes = self._last.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
            self._raw += self._pool.to_series().slice(len(self._raw)).to_list()
            self.n_known = min(len(self._raw), self._most)
            if len(self._raw) > self._most:  # one by one from now on
                self._pool, self._raw = None, self._raw[: self._most]
                self._number = {str(value): number for number, value in enumerate(self._raw, 1)}
            return np.minimum(codes + 1, self._most + 1, dtype=np.int64)
        categories = column.categories(merged=False)
        lookup = np.zeros(len(categories.values) + 1, dtype=np.int64)  # the last entry is of the code -1
        lookup[:-1] = [self._number_of(value) for value in categories.values]
        return lookup[categories.codes]

    def _number_of(self, value: Scalar) -> int:
        text = _text_of(value)
        number = self._number.get(text)
        if number is None:
            if self.n_known >= self._most:
                return self._most + 1
            self.n_known += 1
            number = self._number[text] = self.n_known
            self._raw.append(value)
        return number

    def value_counts(self) -> ValueCounts:
        values, position = merge_values(self._raw)
        order = np.argsort(position[:-1])
        counts = whole_if_possible(self.counts[: self.n_known + 1])
        return ValueCounts(values, counts[1:][order], counts[0])

    @property
    def n_left_out(self) -> int:  # type: ignore[override]
        return round(float(self.counts[self._most + 1].sum())) if len(self.counts) > self._most + 1 else 0

    def codes(self, levels: FeatureLevels) -> np.ndarray:
        known = levels.code_categories(Categories(np.arange(self.n_known, dtype=np.int32), self._raw))
        of_missing = levels.unseen_code if levels.missing_code is None else levels.missing_code
        return np.concatenate([[of_missing], known, [levels.unseen_code]])


def _text_of(value: Scalar) -> str:
    return value if isinstance(value, str) else canonical_text(value)


class Grid:
    """Rows by class, and the lowest and the highest value, of the cells of a grid.

    Parameters
    ----------
    cuts : ascending numbers: cells are the intervals between them, each with its upper end.

    Attributes
    ----------
    counts : (n_cells + 1, n_classes) rows, or weight; the first line of missing values.
    ends : (2, n_cells + 1) lowest and highest values, in the same order.
    """

    def __init__(self, cuts: np.ndarray, n_classes: int) -> None:
        self.cuts, self.counts = cuts, np.zeros((cuts.size + 2, n_classes))
        self.ends = np.tile([[np.inf], [-np.inf]], cuts.size + 2)

    def add(self, values: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Count some rows, and return the line of each."""
        from bayesieve.discretize._value_kernels import count_in_cells
        from bayesieve.table._kernels import code_numbers

        numbers = np.empty((1, values.size), dtype=smallest_unsigned(self.cuts.size + 1))
        missing = np.array([np.iinfo(numbers.dtype).max])  # 0 after the last step
        values = np.ascontiguousarray(values)
        code_numbers(values[None, :], self.cuts, np.array([0, self.cuts.size]), missing, numbers)
        numbers += numbers.dtype.type(1)
        count_in_cells(values, numbers[0], classes, weights, self.counts, *self.ends)
        return numbers[0]

    def __add__(self, other: Grid) -> Grid:
        both = Grid(self.cuts, self.counts.shape[1])
        both.counts = self.counts + other.counts
        both.ends = np.array([np.minimum(self.ends[0], other.ends[0]), np.maximum(self.ends[1], other.ends[1])])
        return both

    def value_counts(self, n_distinct: int) -> ValueCounts:
        """The counts of cells with rows, among so many distinct values."""
        counts = whole_if_possible(self.counts)
        met = np.flatnonzero(counts[1:].any(axis=1)) + 1
        return ValueCounts(self.ends[0, met], counts[met], counts[0], self.ends[1, met], n_distinct)


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
        self._count(mixed((values + 0.0).view(np.uint64) - _INCREMENT))

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
