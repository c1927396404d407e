"""The columns of a scanned table, read, counted and coded by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.discretize import scanned_columns as limits
from bayesieve.discretize.class_order import ClassOrder
from bayesieve.discretize.column_blocks import code_columns
from bayesieve.discretize.quantile_grid import QuantileSketch
from bayesieve.discretize.scanned_columns import ScannedColumns
from bayesieve.discretize.value_counts import ValueCounts
from bayesieve.engine import Cluster
from bayesieve.table import Target
from bayesieve.table.levels import smallest_unsigned
from bayesieve.table.rows import ClassRuns
from bayesieve.table.scanned import ScannedTable, TablePart
from bayesieve.table.table_levels import TableLevels

if TYPE_CHECKING:
    import polars as pl

_VALUES_AT_ONCE = 1 << 26  # read by all workers for one question


class RemoteColumns(ScannedColumns):
    """As `ScannedColumns`; workers read the pieces of the source, each column once to be counted, once to be coded.

    Parameters
    ----------
    table, target, weights, n_jobs, runs
        As of `ScannedColumns`.
    engine : Cluster
        Its workers read; codes come back to its files.
    """

    def __init__(
        self,
        table: ScannedTable,
        target: Target,
        weights: np.ndarray | None,
        engine: Cluster,
        n_jobs: int | None,
        runs: ClassRuns | None = None,
    ) -> None:
        self._table, self._engine, self._n_jobs, self._runs = table, engine, n_jobs, runs
        parts = list(table.parts(engine.most_rows))
        self._blocks = [rows for rows, _ in parts]
        own = [None if weights is None else weights[rows] for rows in self._blocks]

        def item(part: TablePart, rows: slice, weights: np.ndarray | None) -> Any:
            wanted = table.kept_within(rows)
            return lambda: _Block(part, target.codes[rows], target.n_classes, weights, runs is not None, wanted)

        items = [item(part, rows, each) for (rows, part), each in zip(parts, own, strict=True)]
        self._held = engine.hold(items)
        import polars as pl

        self._columns: list[Any] = []
        kept: list[list[pl.DataFrame]] = []
        for some in self._some(range(table.n_columns)):
            counted = self._counted(some)
            self._columns += map(_Counted, counted[0])
            kept.append(counted[1])
        table.take_over([pl.concat(of_block, how="horizontal") for of_block in zip(*kept, strict=True)])

    def _some(self, positions: Sequence[int]) -> list[Sequence[int]]:
        """Columns for one question: so many that workers and answers keep within their memory."""
        at_once = max(1, _VALUES_AT_ONCE // max(1, self._table.n_rows))
        return [positions[at : at + at_once] for at in range(0, len(positions), at_once)]

    def _counted(self, positions: Sequence[int]) -> tuple[list[ValueCounts], list[pl.DataFrame]]:
        """The counts of some columns, and the rows of each block that are to stay in memory."""
        n_rows = self._table.n_rows
        most = n_rows if n_rows <= limits.EXACT_ROWS else limits.MOST_NUMBERS
        of_blocks = self._held.ask(_count, list(positions), n_rows, most)
        counts = [self._sum(i, [part[at] for part, _ in of_blocks], most) for at, i in enumerate(positions)]
        return counts, [frame for _, frame in of_blocks]

    def _sum(self, position: int, parts: list[ValueCounts | QuantileSketch], most: int) -> ValueCounts:
        """The counts of a column, in cells of a grid where its numbers are too many."""
        counts = [part for part in parts if isinstance(part, ValueCounts)]
        if len(counts) == len(parts):
            total = ValueCounts.sum(counts)
            if isinstance(total.values, list) or len(total.values) <= most:
                return total
        sketch = QuantileSketch(self._table.n_rows, limits.GRID)
        for part in parts:
            if isinstance(part, ValueCounts):
                sketch.add(part.values, part.counts.sum(axis=1))
            else:
                sketch.join(part)
        first, *others = self._held.ask(_count_cells, position, sketch.cuts())
        for other in others:
            first = first + other
        return first.value_counts(sketch.n_distinct)

    def _codes(self, positions: Sequence[int], levels: TableLevels) -> np.ndarray:
        dtype = smallest_unsigned(int(levels.n_levels.max()))
        codes = self._engine.array((len(positions), self._table.n_rows), dtype)
        for some in self._some(range(len(positions))):
            of_some = TableLevels.of([levels[at] for at in some])
            of_blocks = self._held.ask(_code, [positions[at] for at in some], of_some)
            for rows, (own, sizes) in zip(self._blocks, of_blocks, strict=True):
                self._put(codes[some[0] : some[-1] + 1], rows, own, sizes)
        return codes

    def _put(self, codes: np.ndarray, rows: slice, own: np.ndarray, sizes: np.ndarray) -> None:
        """The codes of a block, which come class after class where those of all rows do."""
        if self._runs is None:
            codes[:, rows] = own
        else:
            ends = np.cumsum(sizes)
            for start, begin, end in zip(self._runs.starts(rows.start), ends - sizes, ends, strict=True):
                codes[:, start : start + end - begin] = own[:, begin:end]
        self._engine.visited(own.nbytes)


@dataclass(frozen=True)
class _Counted:
    """The counts of a column, as `ScannedColumns` reads them."""

    counts: ValueCounts
    n_left_out: int = 0

    @property
    def on_grid(self) -> bool:
        return self.counts.upper is not None

    def value_counts(self) -> ValueCounts:
        return self.counts


@dataclass(frozen=True)
class _Cells:
    """Rows of each cell of a grid by class, missing values last, and the range of their values."""

    counts: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, order: ClassOrder, cuts: np.ndarray) -> _Cells:
        own = ValueCounts.of_numbers(values, order)
        cell = np.searchsorted(cuts, own.values)  # a cell has its upper end
        counts = np.zeros((cuts.size + 2, order.n_classes))
        np.add.at(counts, cell, own.counts)
        counts[-1] = own.missing
        lowest, highest = np.full((2, cuts.size + 1), np.inf)
        np.minimum.at(lowest, cell, own.values)
        highest *= -1.0
        np.maximum.at(highest, cell, own.values)
        return cls(counts, lowest, highest)

    def __add__(self, other: _Cells) -> _Cells:
        counts = self.counts + other.counts
        return _Cells(counts, np.minimum(self.lowest, other.lowest), np.maximum(self.highest, other.highest))

    def value_counts(self, n_distinct: int) -> ValueCounts:
        whole = self.counts.sum() < 2**31 and np.array_equal(self.counts, np.floor(self.counts))
        counts = self.counts.astype(np.int32) if whole else self.counts
        met = np.flatnonzero(counts[:-1].any(axis=1))
        return ValueCounts(self.lowest[met], counts[met], counts[-1], self.highest[met], n_distinct)


@dataclass(frozen=True)
class _Block:
    """Neighbouring pieces of a source, the classes and weights of their rows, and which of them the client keeps."""

    part: TablePart
    classes: np.ndarray
    n_classes: int
    weights: np.ndarray | None
    by_class: bool
    wanted: np.ndarray


def _count(
    block: _Block, positions: list[int], n_rows: int, most: int
) -> tuple[list[ValueCounts | QuantileSketch], pl.DataFrame]:
    """Counts of some columns in a block, of more than ``most`` distinct numbers a sketch, and the rows to be kept."""
    order = ClassOrder.of(block.classes, block.n_classes, block.weights)
    frame = block.part.frame(positions)
    table = block.part.table(frame)
    counted: list[ValueCounts | QuantileSketch] = []
    for at in range(len(positions)):
        column = table.column(at)
        if column.kind != "numeric":
            counted.append(ValueCounts.of_categories(column.categories(), order))
            continue
        counts = ValueCounts.of_numbers(column.numbers(), order)
        if len(counts.values) > most:
            sketch = QuantileSketch(n_rows, limits.GRID)
            sketch.add(counts.values, counts.counts.sum(axis=1))
            counted.append(sketch)
        else:
            counted.append(counts)
    return counted, frame[block.wanted]


def _count_cells(block: _Block, position: int, cuts: np.ndarray) -> _Cells:
    values = block.part.table(block.part.frame([position])).column(0).numbers()
    return _Cells.of(values, ClassOrder.of(block.classes, block.n_classes, block.weights), cuts)


def _code(block: _Block, positions: list[int], levels: TableLevels) -> tuple[np.ndarray, np.ndarray]:
    """Codes of some columns, (n, n_rows), and the rows of each class."""
    codes, _ = code_columns(block.part.table(block.part.frame(positions)), levels, 1)
    if block.by_class:
        codes = np.take(codes, np.argsort(block.classes, kind="stable"), axis=1)
    return codes, np.bincount(block.classes, minlength=block.n_classes)
