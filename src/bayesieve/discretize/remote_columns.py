"""The columns of a scanned table, read, counted and coded by the workers of a cluster, which keep the codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.counts.remote import RemoteCodes, RemoteColumn, gather, put
from bayesieve.counts.row_content import fingerprints
from bayesieve.discretize.pairs import PairFinder, cells_of_pair, with_pairs
from bayesieve.discretize.value_sums import BlockRows, RunningSum
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


class RemoteBlocks:
    """`Blocks` of a scanned table whose pieces the workers of a cluster read, whenever they are asked; they keep the
    codes.

    Parameters
    ----------
    table, target, weights, runs, verbose
        As of `ScannedBlocks`.
    engine : Cluster
        Its workers read.
    """

    reading_bytes = None

    def __init__(
        self,
        table: ScannedTable,
        target: Target,
        weights: np.ndarray | None,
        engine: Cluster,
        runs: ClassRuns | None = None,
        verbose: int = 0,
    ) -> None:
        self.table, self.n_classes, self._verbose, self._n_coded = table, target.n_classes, verbose, 0
        parts = list(table.parts(engine.most_rows))
        begins = [*(rows.start for rows, _ in parts), table.n_rows]
        self._bounds = np.array([[begin] if runs is None else runs.starts(begin) for begin in begins])

        self.prints: np.ndarray | None = None
        self._engine = engine

        def item(part: TablePart, rows: slice, bounds: np.ndarray) -> Any:
            known = Rows(target.codes[rows], target.classes, None if weights is None else weights[rows])
            return lambda: _Block(part, known, rows.start, bounds, runs is not None)

        items = [item(part, rows, self._bounds[at : at + 2]) for at, (rows, part) in enumerate(parts)]
        self._held = engine.hold(items)

    def total(self, positions: Sequence[int], count: Any, add: Any, options: Sequence[Any]) -> list[Any]:
        totals: list[Any] = []
        first = self.prints is None and len(positions) == self.table.n_columns
        prints: list[Any] = []
        at_once = max(1, _VALUES_AT_ONCE // max(1, self.table.n_rows))  # for the memory of workers and of answers
        with SearchProgress("Reading columns", self._verbose, bytes_and_time_left(self.table.source.n_bytes)) as show:
            for at in range(0, len(positions), at_once):
                some, own = list(positions[at : at + at_once]), list(options[at : at + at_once])
                of_blocks = self._held.ask(_count, some, count, own, first)
                for k, option in enumerate(own):
                    running = RunningSum(add, option)
                    for counted, _ in of_blocks:
                        running.push(counted[k])
                    totals.append(running.total())
                if first:
                    added = [own for _, own in of_blocks]
                    prints = [one + other for one, other in zip(prints, added, strict=True)] if prints else added
                if show is not None:
                    show(len(totals), len(positions), len(totals) / len(positions))
        if first:
            self.prints = self._engine.array((self.table.n_rows,), np.uint64)
            put(self._bounds, [own[None, :] for own in prints], None, self.prints[None, :])
        return totals

    def codes(self, positions: Sequence[int], levels: TableLevels) -> RemoteCodes:
        dtype = smallest_unsigned(int(levels.n_levels.max()))
        wanted = self.table.wanted if len(positions) == self.table.n_columns else np.zeros(0, np.int64)
        self._held.update(_code, list(positions), levels, dtype, wanted)
        if wanted.size:
            self.table.take_over(self._held.ask(_kept))
        self._n_coded += 1
        return RemoteCodes(self._held, self._n_coded - 1, self._bounds, len(positions), dtype)


class RemotePairFinder(PairFinder):
    """As `PairFinder`; workers count the cells of pairs, and code them."""

    def _codes_at(self, parts: Sequence[Any], rows: Any) -> np.ndarray:
        columns: list[RemoteColumn] = [part.codes for part in parts]
        n_rows = columns[0].codes.shape[1] if isinstance(rows, slice) else len(rows)
        codes = np.empty((len(parts), n_rows), max(column.dtype for column in columns))
        if isinstance(rows, slice):
            gather(columns, None, codes)
            return codes
        gather(columns, rows, codes)
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
    """Neighbouring pieces of a source, their rows, the first of which is at ``first`` of the source, and their codes:
    `HeldRows`; and rows that the client will ask for.
    """

    part: TablePart
    rows: Rows
    first: int
    bounds: np.ndarray
    by_class: bool
    tables: list[CodedTable] = field(default_factory=list)
    kept: pl.DataFrame | None = None

    @property
    def order(self) -> np.ndarray:
        """The rows of the source as they are listed."""
        return self.rows.class_order() if self.by_class else np.arange(len(np.asarray(self.rows.class_codes)))


def _count(
    block: _Block, positions: list[int], count: Any, options: list[Any], with_prints: bool
) -> tuple[list[Any], np.ndarray | None]:
    """The counts of some columns of a block and, if asked for, `fingerprints` of the rows by these columns."""
    table = block.part.table(block.part.frame(positions))
    rows = BlockRows(np.asarray(block.rows.class_codes), block.rows.n_classes, block.rows.weights)
    counted = [count(table.column(at), rows, None, option) for at, option in enumerate(options)]
    return counted, fingerprints(table)[block.order] if with_prints else None


def _code(block: _Block, positions: list[int], levels: TableLevels, dtype: np.dtype[Any], wanted: np.ndarray) -> None:
    """Keep the codes of some columns as one more table, and those of the wanted rows of the source that are here."""
    import polars as pl

    order = block.order
    first, last = np.searchsorted(wanted, (block.first, block.first + order.size))
    codes = np.empty((len(positions), order.size), dtype)
    kept = []
    at_once = max(1, _VALUES_AT_ONCE // 8 // max(1, order.size))
    for at in range(0, len(positions), at_once):
        some = slice(at, at + at_once)
        frame = block.part.frame(positions[some])
        table = block.part.table(frame)
        for k in range(len(positions))[some]:
            codes[k] = levels[k].code(table.column(k - at))[order]
        if wanted.size:
            kept.append(frame[wanted[first:last] - block.first])
    block.kept = pl.concat(kept, how="horizontal") if kept else block.kept
    rows = block.rows.take(order)
    block.tables.append(CodedTable(codes, levels.n_levels, levels.names, rows=rows))


def _kept(block: _Block) -> pl.DataFrame | None:
    """The rows that were kept, once."""
    kept, block.kept = block.kept, None
    return kept


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
