"""The columns of a scanned table, read, counted and coded by the workers of a cluster, which keep the codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.counts.remote import RemoteCodes, RemoteColumn, gather
from bayesieve.discretize import scanned_columns as limits
from bayesieve.discretize.column_blocks import code_columns
from bayesieve.discretize.numbered_values import Grid, QuantileSketch
from bayesieve.discretize.pairs import PairFinder, cells_of_pair, with_pairs
from bayesieve.discretize.scanned_columns import ScannedColumns
from bayesieve.discretize.value_counts import ClassOrder, ValueCounts
from bayesieve.engine import IN_MEMORY, Cluster, Engine
from bayesieve.engine.progress import SearchProgress, bytes_and_time_left
from bayesieve.table import Target
from bayesieve.table.levels import smallest_unsigned
from bayesieve.table.pair_levels import PairLevels
from bayesieve.table.rows import ClassRuns, Rows
from bayesieve.table.scanned import ScannedTable, TablePart
from bayesieve.table.table_levels import TableLevels

if TYPE_CHECKING:
    import polars as pl

_VALUES_AT_ONCE = 1 << 26  # read by all workers for one question


class RemoteColumns(ScannedColumns):
    """As `ScannedColumns`; workers read the pieces of the source, each column once to be counted, once to be coded, and
    keep the codes.

    Parameters
    ----------
    table, target, weights, n_jobs, runs, verbose, n_cells
        As of `ScannedColumns`.
    engine : Cluster
        Its workers read.
    """

    counted_categories = "most frequent"

    def __init__(
        self,
        table: ScannedTable,
        target: Target,
        weights: np.ndarray | None,
        engine: Cluster,
        n_jobs: int | None,
        runs: ClassRuns | None = None,
        verbose: int = 0,
        n_cells: int = limits.QUANTILES,
    ) -> None:
        self._n_cells = n_cells
        self._table, self._engine, self._n_jobs, self._n_coded = table, engine, n_jobs, 0
        parts = list(table.parts(engine.most_rows))
        begins = [*(rows.start for rows, _ in parts), table.n_rows]
        self._bounds = np.array([[begin] if runs is None else runs.starts(begin) for begin in begins])

        def item(part: TablePart, rows: slice, bounds: np.ndarray) -> Any:
            known = Rows(target.codes[rows], target.classes, None if weights is None else weights[rows])
            return lambda: _Block(part, known, table.kept_within(rows), bounds, runs is not None)

        items = [item(part, rows, self._bounds[at : at + 2]) for at, (rows, part) in enumerate(parts)]
        self._held = engine.hold(items)
        import polars as pl

        self._columns: list[Any] = []
        kept: list[list[pl.DataFrame]] = []
        with SearchProgress("Reading columns", verbose, bytes_and_time_left(self._table.source.n_bytes)) as progress:
            for some in self._some(range(table.n_columns)):
                counted = self._counted(some)
                self._columns += counted[0]
                kept.append(counted[1])
                if progress is not None:
                    progress(some[-1] + 1, table.n_columns, (some[-1] + 1) / table.n_columns)
        table.take_over([pl.concat(of_block, how="horizontal") for of_block in zip(*kept, strict=True)])

    @property
    def pair_finder(self) -> type[PairFinder]:
        return RemotePairFinder

    def _some(self, positions: Sequence[int]) -> list[Sequence[int]]:
        """Columns for one question: so many that workers and answers keep within their memory."""
        at_once = max(1, _VALUES_AT_ONCE // max(1, self._table.n_rows))
        return [positions[at : at + at_once] for at in range(0, len(positions), at_once)]

    def _counted(self, positions: Sequence[int]) -> tuple[list[_Counted], list[pl.DataFrame]]:
        """The counts of some columns, and the rows of each block that are to stay in memory."""
        most = self._most(limits.MOST_NUMBERS)
        of_blocks = self._held.ask(_count, list(positions), self._table.n_rows, most, self._n_cells)
        counts = [self._sum(i, [part[at] for part, _ in of_blocks], most) for at, i in enumerate(positions)]
        return counts, [frame for _, frame in of_blocks]

    def _most(self, values: int) -> int:
        """So many values of a column, or all of a table of few rows."""
        return self._table.n_rows if self._table.n_rows <= limits.EXACT_ROWS else values

    def _sum(self, position: int, parts: list[ValueCounts | QuantileSketch], most: int) -> _Counted:
        """The counts of a column: of its most frequent categories; in cells of a grid if its numbers are too many."""
        counts = [part for part in parts if isinstance(part, ValueCounts)]
        if len(counts) == len(parts):
            total = ValueCounts.sum(counts)
            if isinstance(total.values, list):
                return _Counted.of_frequent(total, self._most(limits.MOST_CATEGORIES))
            if len(total.values) <= most:
                return _Counted(total)
        sketch = QuantileSketch(self._table.n_rows, self._n_cells)
        for part in parts:
            if isinstance(part, ValueCounts):
                sketch.add(part.values, part.counts.sum(axis=1))
            else:
                sketch.join(part)
        grid: Grid = self._held.total(_count_cells, position, sketch.cuts())
        return _Counted(grid.value_counts(sketch.n_distinct))

    def _codes(self, positions: Sequence[int], levels: TableLevels) -> RemoteCodes:  # type: ignore[override]
        dtype = smallest_unsigned(int(levels.n_levels.max()))
        self._held.update(_code, list(positions), levels, dtype)
        self._n_coded += 1
        return RemoteCodes(self._held, self._n_coded - 1, self._bounds, len(positions), dtype)


@dataclass(frozen=True)
class _Counted:
    """The counts of a column, as `ScannedColumns` reads them."""

    counts: ValueCounts
    n_left_out: int = 0

    @classmethod
    def of_frequent(cls, counts: ValueCounts, most: int) -> _Counted:
        """So many categories, whatever the blocks; rows of the others are left out."""
        n_rows = counts.counts.sum(axis=1)
        frequent = np.sort(np.argsort(-n_rows, kind="stable")[:most])
        values = [counts.values[i] for i in frequent.tolist()]
        n_left_out = round(float(n_rows.sum() - n_rows[frequent].sum()))
        return cls(replace(counts, values=values, counts=counts.counts[frequent]), n_left_out)

    @property
    def on_grid(self) -> bool:
        return self.counts.upper is not None

    def value_counts(self) -> ValueCounts:
        return self.counts


class RemotePairFinder(PairFinder):
    """As `PairFinder`; workers count the cells of pairs, and code them."""

    def _ranked_rows(self, parts: Sequence[Any], most: int) -> Any:
        """Drawn by position: what the rows contain stays with the workers."""
        n_rows, runs = len(np.asarray(self.rows.class_codes)), self.rows.runs
        taken = np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False, shuffle=False))
        return taken if runs is None else runs.by_class(taken)

    def _codes_at(self, parts: Sequence[Any], rows: Any) -> np.ndarray:
        columns: list[RemoteColumn] = [part.codes for part in parts]
        n_rows = columns[0].codes.shape[1] if isinstance(rows, slice) else len(rows)
        codes = np.empty((len(parts), n_rows), max(column.dtype for column in columns))
        if isinstance(rows, slice):
            gather(columns, None, codes)
            return codes
        order = np.argsort(rows)
        gather(columns, rows[order], codes)
        codes[:, order] = codes.copy()
        return codes

    def _cells(self, pairs: Sequence[tuple[Any, Any]], engine: Engine, n_jobs: int | None) -> Sequence[np.ndarray]:
        places = [(one.codes.place, other.codes.place, (one.n_levels, other.n_levels)) for one, other in pairs]
        cells = pairs[0][0].codes.codes.held.total(_count_pairs, places)
        counts = np.split(cells.astype(self.order.count_type), np.cumsum([a * b for *_, (a, b) in places])[:-1])
        return [own.reshape(*size, -1) for own, (*_, size) in zip(counts, places, strict=True)]

    def _with_pairs(self, codes: Any, coded: Sequence[tuple[PairLevels, Any, Any]], engine: Engine) -> Any:
        dtype = max(codes.dtype, *(pair.code_dtype for pair, *_ in coded))
        codes.held.update(_add_pairs, [(pair, one.place, other.place) for pair, one, other in coded], dtype)
        return RemoteCodes(codes.held, 0, codes.bounds, codes.shape[0] + len(coded), dtype)


@dataclass
class _Block:
    """Neighbouring pieces of a source, their rows, which of them the client keeps, and their codes: `HeldRows`."""

    part: TablePart
    rows: Rows
    wanted: np.ndarray
    bounds: np.ndarray
    by_class: bool
    tables: list[CodedTable] = field(default_factory=list)

    @property
    def order(self) -> ClassOrder:
        """The rows by class."""
        return ClassOrder.of(np.asarray(self.rows.class_codes), self.rows.n_classes, self.rows.weights)


def _count(
    block: _Block, positions: list[int], n_rows: int, most: int, n_cells: int
) -> tuple[list[ValueCounts | QuantileSketch], pl.DataFrame]:
    """Counts of some columns in a block, of more than ``most`` distinct numbers a sketch, and the rows to be kept."""
    order, frame = block.order, block.part.frame(positions)
    table = block.part.table(frame)
    counted: list[ValueCounts | QuantileSketch] = []
    for at in range(len(positions)):
        column = table.column(at)
        if column.kind != "numeric":
            counted.append(ValueCounts.of_categories(column.categories(), order))
            continue
        counts = ValueCounts.of_numbers(column.numbers(), order)
        if len(counts.values) > most:
            sketch = QuantileSketch(n_rows, n_cells)
            sketch.add(counts.values, counts.counts.sum(axis=1))
            counted.append(sketch)
        else:
            counted.append(counts)
    return counted, frame[block.wanted]


def _count_cells(block: _Block, position: int, cuts: np.ndarray) -> Grid:
    grid, rows = Grid(cuts, block.rows.n_classes), block.rows
    values = block.part.table(block.part.frame([position])).column(0).numbers()
    grid.add(values, np.asarray(rows.class_codes), np.zeros(0) if rows.weights is None else rows.weights)
    return grid


def _code(block: _Block, positions: list[int], levels: TableLevels, dtype: np.dtype[Any]) -> None:
    """Keep the codes of some columns as one more table."""
    n_rows = len(np.asarray(block.rows.class_codes))
    order = block.rows.class_order() if block.by_class else np.arange(n_rows)
    codes = np.empty((len(positions), n_rows), dtype)
    at_once = max(1, _VALUES_AT_ONCE // 8 // max(1, n_rows))
    for at in range(0, len(positions), at_once):
        some = slice(at, at + at_once)
        table = block.part.table(block.part.frame(positions[some]))
        own, _ = code_columns(table, TableLevels.of([levels[k] for k in range(len(positions))[some]]), 1)
        codes[some] = own[:, order]
    rows = block.rows.take(order)
    block.tables.append(CodedTable(codes, levels.n_levels, levels.names, rows=rows))


def _codes(block: _Block, place: tuple[int, int]) -> np.ndarray:
    at, k = place
    return block.tables[at].stored[k]


def _count_pairs(block: _Block, places: list[tuple[Any, Any, tuple[int, int]]]) -> np.ndarray:
    """Cells of several pairs, one after another, by class."""
    rows = block.tables[0].rows
    cells = [cells_of_pair(_codes(block, one), _codes(block, other), size, rows) for one, other, size in places]
    return np.concatenate([own.reshape(-1, rows.n_classes) for own in cells])


def _add_pairs(block: _Block, places: list[tuple[PairLevels, Any, Any]], dtype: np.dtype[Any]) -> None:
    """Keep the codes of columns and pairs as the only table."""
    table = block.tables[0]
    coded = [(pair, _codes(block, one), _codes(block, other)) for pair, one, other in places]
    into = np.empty((table.n_features + len(coded), table.n_rows), dtype)
    levels = [*table.n_levels, *(pair.n_levels for pair, *_ in coded)]
    names = [*table.names, *(pair.name for pair, *_ in coded)]
    codes = with_pairs(table.stored, coded, into, IN_MEMORY)
    block.tables[:] = [CodedTable(codes, levels, names, rows=table.rows)]
