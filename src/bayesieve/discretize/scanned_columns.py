"""The columns of a scanned table: read once, each value noted on disk by a number, and counted by class."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from bayesieve.discretize.column_blocks import FittedColumns, fit_counts
from bayesieve.discretize.column_coder import ColumnCoder
from bayesieve.discretize.pairs import PairFinder
from bayesieve.discretize.quantile_grid import QuantileSketch
from bayesieve.discretize.value_counts import ValueCounts
from bayesieve.engine import Engine, map_in_threads
from bayesieve.engine.progress import SearchProgress
from bayesieve.table import Categories, Column, FeatureLevels, Table, Target
from bayesieve.table.cautions import Caution, named
from bayesieve.table.levels import smallest_unsigned
from bayesieve.table.rows import ClassRuns
from bayesieve.table.scanned import ScannedTable, TextPool
from bayesieve.table.table_levels import TableLevels
from bayesieve.table.values import Scalar, canonical_text, merge_values

EXACT_ROWS = 1 << 20
"""Rows up to which every value is counted, however many there are."""
MOST_NUMBERS = 100_000
"""Distinct numbers of a column of more rows, beyond which cells of a grid of quantiles are counted."""
MOST_CATEGORIES = 1 << 18
"""Distinct categories of a column of more rows, beyond which new ones count as never seen."""
GRID = (1 << 16) - 1
"""Cells of the grid; with missing values their numbers fill 16 bits."""

_BLOCK_ROWS = 1 << 18


class ScannedColumns:
    """Numbers of the values of all columns, in arrays of an engine, and their counts by class.

    Parameters
    ----------
    table : ScannedTable
        Read once, and its columns of very many distinct numbers a second time.
    target : classes of the rows.
    weights : (n_rows,) or None.
    engine : where the numbers and the codes live.
    n_jobs : threads.
    runs : codes are listed class after class; None: as in the source.
    verbose : 1 shows progress on the error stream.
    """

    def __init__(
        self,
        table: ScannedTable,
        target: Target,
        weights: np.ndarray | None,
        engine: Engine,
        n_jobs: int | None,
        runs: ClassRuns | None = None,
        verbose: int = 0,
    ) -> None:
        self._verbose = verbose
        self._table, self._target, self._engine, self._runs = table, target, engine, runs
        self._weights = np.zeros(0) if weights is None else weights
        self._n_jobs = n_jobs
        n, few = table.n_rows, table.n_rows <= EXACT_ROWS
        self._columns: list[_Values] = [
            _Numbers(n, target.n_classes, engine, n if few else MOST_NUMBERS)
            if kind == "numeric"
            else _Texts(n, target.n_classes, engine, n if few else MOST_CATEGORIES)
            for kind in table.kinds()
        ]
        self._read(range(table.n_columns))
        again = [i for i, column in enumerate(self._columns) if column.begin_again()]
        if again:
            self._read(again)

    def _read(self, positions: Sequence[int]) -> None:
        every = len(positions) == self._table.n_columns
        table = self._table if every else self._table.select(positions)
        with SearchProgress("Reading rows", self._verbose, self._in_words(time.perf_counter())) as progress:
            for rows, block in table.blocks():
                known = (rows, self._target.codes[rows], self._weights[rows])

                def add(at: int, block: Table = block, known: Any = known) -> None:
                    self._columns[positions[at]].add(block.column(at), *known)

                map_in_threads(add, range(len(positions)), self._n_jobs)
                self._engine.visited(sum(self._columns[i].numbers[rows].nbytes for i in positions))
                if progress is not None:
                    progress(rows.stop, table.n_rows, rows.stop / table.n_rows)

    def _in_words(self, began: float) -> Callable[[float], str]:
        """How far a pass has come: bytes, and the time left."""
        n_bytes = self._table.source.n_bytes

        def words(share: float) -> str:
            left = (time.perf_counter() - began) * (1.0 - share) / max(share, 1e-9)
            return f"{share * n_bytes / 1e6:,.0f} of {n_bytes / 1e6:,.0f} MB, {left:,.0f} s left"

        return words

    def fit(
        self, positions: Sequence[int], coders: Sequence[ColumnCoder], missing: str
    ) -> tuple[FittedColumns, np.ndarray]:
        """Levels of these columns, and the codes of all rows, (n, n_rows)."""
        names, types = self._table.names, self._table.types()
        fitted = fit_counts(
            [names[i] for i in positions],
            [types[i] for i in positions],
            map_in_threads(lambda i: self._columns[i].value_counts(), positions, self._n_jobs),
            coders,
            missing,
            self._n_jobs,
        )
        return fitted, self._codes(positions, fitted.levels)

    @property
    def pair_finder(self) -> type[PairFinder]:
        """What looks for pairs among the codes."""
        return PairFinder

    def _codes(self, positions: Sequence[int], levels: TableLevels) -> np.ndarray:
        n_rows, dtype = self._table.n_rows, smallest_unsigned(int(levels.n_levels.max()))
        codes = self._engine.array((len(positions), n_rows), dtype)
        lookups = [self._columns[i].codes(levels[at]).astype(dtype) for at, i in enumerate(positions)]
        blocks = [slice(at, min(at + _BLOCK_ROWS, n_rows)) for at in range(0, n_rows, _BLOCK_ROWS)]
        starts = [None if self._runs is None else self._runs.starts(rows.start) for rows in blocks]

        def code(at: int) -> None:
            numbers = self._columns[positions[at]].numbers
            for rows, begin in zip(blocks, starts, strict=True):
                if begin is None:
                    codes[at, rows] = lookups[at][numbers[rows]]
                else:
                    from bayesieve.discretize._value_kernels import place_by_class

                    place_by_class(numbers[rows], lookups[at], self._target.codes[rows], begin.copy(), codes[at])
                self._engine.visited(numbers[rows].nbytes + codes[at, rows].nbytes)

        map_in_threads(code, range(len(positions)), self._n_jobs)
        return codes

    def cautions(self) -> list[Caution]:
        """What was not counted value by value."""
        of = dict(zip(self._table.names, self._columns, strict=True))
        joined = tuple(name for name, column in of.items() if column.n_left_out)
        gridded = tuple(name for name, column in of.items() if column.on_grid)
        cautions = []
        if joined:
            rows = max(of[name].n_left_out for name in joined)
            sentence = (
                f"Only the first {MOST_CATEGORIES:,} different values count in {named(joined)}: the others, in "
                f"up to {rows:,} rows, count as never seen. Leave identifiers out, or join rare values first."
            )
            cautions.append(Caution("many values", joined, sentence))
        if gridded:
            sentence = f"Levels come from up to {GRID:,} quantiles, not from every number, in {named(gridded)}."
            cautions.append(Caution("quantiles", gridded, sentence, warns=False))
        return cautions


def noted_cautions(engine: Engine, cautions: list[Caution] | None = None) -> list[Caution]:
    """The cautions about a table that was read just now or, None, about that whose codes the engine kept."""
    if cautions is None:
        return [
            Caution(**{**facts, "columns": tuple(facts["columns"])})
            for facts in json.loads(engine.noted("cautions") or "[]")
        ]
    if cautions:
        engine.note("cautions", json.dumps([asdict(caution) for caution in cautions]).encode())
    return cautions


class _Values(ABC):
    """The values of one column by number, in the order in which they came; number 0 is missing.

    Attributes
    ----------
    numbers : (n_rows,) of the value of each row.
    counts : (more than there are numbers, n_classes) rows, or weight.
    n_known : the highest number.
    n_left_out : rows of further values, which have the next number.
    on_grid : whether values are the upper ends of cells.
    """

    n_known = 0
    n_left_out = 0
    on_grid = False

    def __init__(self, n_rows: int, n_classes: int, engine: Engine, most: int) -> None:
        self._engine, self._most = engine, most
        self.numbers = engine.array((n_rows,), np.uint8)
        self.counts = np.zeros((256, n_classes))

    @abstractmethod
    def add(self, column: Column, rows: slice, classes: np.ndarray, weights: np.ndarray) -> None:
        """Number and count the values of a block of rows."""

    def begin_again(self) -> bool:
        """Whether all rows have to be read once more."""
        return False

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
            wide = self._engine.array(self.numbers.shape, dtype)
            for at in range(0, rows.start, _BLOCK_ROWS):
                part = slice(at, min(at + _BLOCK_ROWS, rows.start))
                wide[part] = self.numbers[part]
                self._engine.visited(2 * wide[part].nbytes)
            self.numbers = wide
        self.numbers[rows] = numbers

    def _exact(self, counts: np.ndarray) -> np.ndarray:
        """Counts as whole numbers, where they are."""
        whole = self.counts.sum() < 2**31 and np.array_equal(counts, np.floor(counts))
        return counts.astype(np.int32) if whole else counts


class _Numbers(_Values):
    """Numbers in a hash table or, when there are too many, in cells of a grid of quantiles."""

    def __init__(self, n_rows: int, n_classes: int, engine: Engine, most: int) -> None:
        super().__init__(n_rows, n_classes, engine, most)
        self._keys, self._slots = np.zeros(256), np.zeros(256, dtype=np.int32)
        self._known = np.zeros(128)
        self._sketch: QuantileSketch | None = None
        self._cuts: np.ndarray | None = None

    def add(self, column: Column, rows: slice, classes: np.ndarray, weights: np.ndarray) -> None:
        values = column.numbers()
        if self._cuts is not None:
            self._count_cells(values, rows, classes, weights)
        elif self._sketch is None:
            self._count(values, rows, classes, weights)
        if self._sketch is not None and self._cuts is None:
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
            if begin < values.size:
                self._widen(4 * self._keys.size)
            if self.n_known > self._most:
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
        self._sketch = QuantileSketch(self.numbers.size, GRID)
        self._sketch.add(values[order], rows[met][order])
        self._keys, self._slots, self._known = np.zeros(0), np.zeros(0, dtype=np.int32), np.zeros(0)

    def begin_again(self) -> bool:
        if self._sketch is None:
            return False
        self._cuts, self.on_grid = self._sketch.cuts(), True
        self.n_known = self._cuts.size + 1
        self.counts = np.zeros((self.n_known + 1, self.counts.shape[1]))
        self._lowest, self._highest = np.full((2, self.n_known + 1), np.inf)
        self._highest *= -1.0
        self.numbers = self._engine.array(self.numbers.shape, smallest_unsigned(self.n_known))
        return True

    def _count_cells(self, values: np.ndarray, rows: slice, classes: np.ndarray, weights: np.ndarray) -> None:
        from bayesieve.discretize._value_kernels import count_numbered, widen_cells
        from bayesieve.table._kernels import code_numbers

        assert self._cuts is not None
        numbers = np.empty((1, values.size), dtype=self.numbers.dtype)
        missing = np.array([np.iinfo(numbers.dtype).max])  # 0 after the last step
        values = np.ascontiguousarray(values)
        code_numbers(values[None, :], self._cuts, np.array([0, self._cuts.size]), missing, numbers)
        numbers += numbers.dtype.type(1)
        count_numbered(numbers[0], classes, weights, self.counts)
        widen_cells(values, numbers[0], self._lowest, self._highest)
        self.numbers[rows] = numbers[0]

    def value_counts(self) -> ValueCounts:
        counts = self.counts[: self.n_known + 1]
        met = np.flatnonzero(counts[1:].any(axis=1)) + 1
        missing = self._exact(counts[0])
        if self.on_grid:
            assert self._sketch is not None
            ranges = (self._lowest[met], self._highest[met])
            return ValueCounts(ranges[0], self._exact(counts[met]), missing, ranges[1], self._sketch.n_distinct)
        met = met[np.argsort(self._known[met])]
        return ValueCounts(self._known[met], self._exact(counts[met]), missing)

    def codes(self, levels: FeatureLevels) -> np.ndarray:
        of_missing = levels.unseen_code if levels.missing_code is None else levels.missing_code
        values = self._highest if self.on_grid else self._known
        codes = levels.code_numbers(values[: self.n_known + 1])
        codes[0] = of_missing
        return codes


class _Texts(_Values):
    """Categories by their canonical text."""

    def __init__(self, n_rows: int, n_classes: int, engine: Engine, most: int) -> None:
        super().__init__(n_rows, n_classes, engine, most)
        self._number: dict[str, int] = {}
        self._raw: list[Scalar] = []
        self._pool: TextPool | None = TextPool()

    def add(self, column: Column, rows: slice, classes: np.ndarray, weights: np.ndarray) -> None:
        from bayesieve.discretize._value_kernels import count_numbered

        numbers = self._numbers_of(column)
        self._grow(1 << (self.n_known + 2).bit_length())
        count_numbered(numbers, classes, weights, self.counts)
        self._put(rows, numbers)

    def _numbers_of(self, column: Column) -> np.ndarray:
        pool = self._pool
        if pool is not None and pool.takes(column):
            codes = pool.codes(column)
            self._raw += pool.values(len(self._raw))
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
        text = value if isinstance(value, str) else canonical_text(value)
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
        counts = self._exact(self.counts[1 : self.n_known + 1][order])
        return ValueCounts(values, counts, self._exact(self.counts[0]))

    @property
    def n_left_out(self) -> int:  # type: ignore[override]
        return round(float(self.counts[self._most + 1].sum())) if len(self.counts) > self._most + 1 else 0

    def codes(self, levels: FeatureLevels) -> np.ndarray:
        known = levels.code_categories(Categories(np.arange(self.n_known, dtype=np.int32), self._raw))
        of_missing = levels.unseen_code if levels.missing_code is None else levels.missing_code
        return np.concatenate([[of_missing], known, [levels.unseen_code]])
