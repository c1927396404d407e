"""The columns of many rows counted and coded block by block, wherever the blocks live: in memory, in a source that is
read one block after another, or with the workers of a cluster.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bayesieve.compiling import compile_seconds
from bayesieve.counts import CodedTable
from bayesieve.counts.remote import RemoteCodes, RemoteColumn, gather, put
from bayesieve.counts.row_content import fingerprints
from bayesieve.discretize import value_sums
from bayesieve.discretize.column_coder import ColumnCoder
from bayesieve.discretize.fitted_columns import FittedColumns, code_in_blocks, fit_counts
from bayesieve.discretize.pairs import PairFinder, cells_of_pair, with_pairs
from bayesieve.discretize.value_counts import ValueCounts
from bayesieve.engine import IN_MEMORY, Cluster, Engine, map_in_threads
from bayesieve.engine.progress import SearchProgress, bytes_and_time_left
from bayesieve.table import Table, Target
from bayesieve.table.cautions import Caution
from bayesieve.table.derived_levels import PairLevels
from bayesieve.table.levels import TableLevels, smallest_unsigned
from bayesieve.table.scanned import ScannedTable, TablePart
from bayesieve.table.target import ClassRuns, Rows
from bayesieve.words import named

if TYPE_CHECKING:
    import polars as pl


EXACT_ROWS = 1 << 20
"""Rows up to which every value is counted, however many there are."""
MOST_NUMBERS = 100_000
"""Distinct numbers of a column of more rows, beyond which cells of a grid of quantiles are counted."""
MOST_CATEGORIES = 1 << 18
"""Distinct categories of a column of more rows, beyond which rare ones count as never seen."""
MOST_TEXTS = 1 << 19
"""Distinct categories of a column of more rows, beyond which only those that promise to be frequent are counted."""
QUANTILES = (1 << 16) - 1
"""Cells of the grid by default."""

_BYTES_PER_CELL = 64  # of a grid, and of the sketch that it is made of, besides 24 for each class
_BYTES_PER_NUMBER = 16  # while counts are added up, besides 8 for each class
_BYTES_PER_TEXT = 100  # besides 12
_NO_LIMIT = 1 << 62
_FEWEST_CELLS = 1 << 10
_FEWEST_TEXTS = 1 << 14
_SECONDS_BETWEEN_NOTES = 10.0
_PAUSE = 20  # times the seconds that a note takes, at least
_VALUES_AT_ONCE = 1 << 26  # read by all workers for one question
_SHARE_TO_JUDGE = 0.05  # of the time for reading: first blocks are slow
_SHARE_TO_USE = 0.8  # of the time that is left


class ReadingTooSlow(Exception):
    """All rows cannot be read in time, but about ``n_rows`` of them."""

    def __init__(self, n_rows: int) -> None:
        super().__init__(n_rows)
        self.n_rows = n_rows


class Blocks(Protocol):
    """Columns whose rows come in blocks: read from a source one after another, held by workers, or in memory.

    table : names, kinds and types of the columns, and the number of rows; n_classes : of the rows; reading_bytes : what
    counts of all columns may take; or None; prints : of all rows, once all columns were read in one go; or None.
    """

    n_classes: int
    prints: np.ndarray | None

    @property
    def table(self) -> Table: ...

    @property
    def reading_bytes(self) -> int | None: ...

    def total(self, positions: Sequence[int], count: Any, add: Any, options: Sequence[Any]) -> list[Any]:
        """For each of some columns and its option the sum over blocks, by ``add([one, other], option)``, of
        ``count(column, rows, before, option)``: `BlockRows`, and the sum of the blocks before if it is at hand.
        """

    def codes(self, positions: Sequence[int], levels: TableLevels) -> Any:
        """The codes of all rows by these levels of some columns, (n, n_rows)."""


class CountedColumns:
    """Counts by class of the values of all columns, by one rule whatever the blocks: all values of a table of few rows;
    else numbers of very many values in cells of a grid, and the most frequent categories.

    Parameters
    ----------
    blocks : Blocks
        Read once, columns of very many distinct values more often, and once more to be coded.
    n_jobs : threads.
    n_cells : of a grid, at most.
    """

    def __init__(self, blocks: Blocks, n_jobs: int | None, n_cells: int = QUANTILES) -> None:
        self._blocks, self._n_jobs = blocks, n_jobs
        kinds, few = blocks.table.kinds(), blocks.table.n_rows <= EXACT_ROWS
        bytes_, n_classes = _NO_LIMIT if blocks.reading_bytes is None else blocks.reading_bytes, blocks.n_classes
        n_numeric = kinds.count("numeric")
        n_texts = max(1, len(kinds) - n_numeric) * (2 if n_numeric else 1)  # half of the memory for each kind
        n_numbers = max(1, n_numeric) * (2 if n_numeric < len(kinds) else 1)
        cells = bytes_ // (n_numbers * (_BYTES_PER_CELL + 24 * n_classes))
        self._n_cells = min(n_cells, max(_FEWEST_CELLS, cells))
        numbers = max(2 * _FEWEST_CELLS, bytes_ // (n_numbers * (_BYTES_PER_NUMBER + 8 * n_classes)))
        texts = max(_FEWEST_TEXTS, bytes_ // (n_texts * (_BYTES_PER_TEXT + 12 * n_classes)))
        self._most_categories = texts if few else min(texts, MOST_CATEGORIES)
        self._most_texts = texts if few else min(texts, max(MOST_TEXTS, MOST_CATEGORIES))
        most = {"numeric": numbers if few else min(numbers, MOST_NUMBERS), "categorical": self._most_texts}
        self._left_out: list[int] = []  # rows, or weight, of rare categories of each column
        self._columns = self._counted([most[kind] for kind in kinds])

    def _counted(self, most: Sequence[int]) -> list[ValueCounts]:
        """The counts of each column: of all values, or of the cells of a grid, or of its most frequent categories."""
        totals = self._blocks.total(range(len(most)), value_sums.count_values, value_sums.add_values, most)
        parts = dict(enumerate(totals))
        numbers = {i: part for i, part in parts.items() if isinstance(part, value_sums.NumberSketch)}
        texts = {i: part for i, part in parts.items() if isinstance(part, value_sums.TextSketch)}
        marks = [part.fullest(self._most_categories, self._most_texts) for part in texts.values()]
        if texts:
            marked = self._blocks.total([*texts], value_sums.count_marked, value_sums.add_marked, marks)
            parts |= zip(texts, marked, strict=True)
        for i, grid in self._grids({i: sketch.grid for i, sketch in numbers.items()}).items():
            parts[i] = grid.value_counts(int(numbers[i].distinct))
        columns = []
        for i, counts in parts.items():
            n_rows, own = texts[i].rows.sum() if i in texts else counts.counts.sum(), counts.listed
            own = value_sums.most_frequent(own, self._most_categories) if isinstance(own.values, list) else own
            self._left_out.append(round(float(n_rows - own.counts.sum())))
            columns.append(own)
        return columns

    def _grids(self, coarse: dict[int, value_sums.Grid]) -> dict[int, value_sums.Grid]:
        """Rows counted in grids of quantiles; cells that turn out too full are split, and all counted again."""
        grids, split = dict(coarse), list(coarse)
        for _ in range(1 + value_sums.MOST_ROUNDS):
            if split:
                cuts = [grids[i].quantiles(self._n_cells) for i in split]
                finer = self._blocks.total(split, value_sums.count_cells, value_sums.add_cells, cuts)
                grids |= zip(split, finer, strict=True)
                split = [i for i in split if grids[i].is_too_full(self._n_cells)]
        return grids

    def fit(
        self, positions: Sequence[int], coders: Sequence[ColumnCoder], missing: str, sums: np.ndarray = Table.sums
    ) -> FittedColumns:
        """Levels of these columns."""
        names, types = self._blocks.table.names, self._blocks.table.types()
        counts = [self._columns[i] for i in positions]
        named_, typed = [names[i] for i in positions], [types[i] for i in positions]
        return fit_counts(named_, typed, counts, coders, missing, self._n_jobs, sums)

    def codes(self, positions: Sequence[int], levels: TableLevels) -> Any:
        """The codes of all rows, (n, n_rows), by levels of these columns."""
        return self._blocks.codes(positions, levels)

    def cautions(self) -> list[Caution]:
        """What was not counted value by value."""
        columns, names = self._columns, self._blocks.table.names
        rare = np.flatnonzero(self._left_out).tolist()
        joined = tuple(names[i] for i in rare)
        gridded = tuple(name for name, counts in zip(names, columns, strict=True) if counts.upper is not None)
        cautions = []
        if rare:
            rows = max(self._left_out)
            most = max(len(columns[i].values) for i in rare)
            sentence = (
                f"Only the most frequent {most:,} different values count in {named(joined)}: "
                f"the others, in up to {rows:,} rows, count as never seen. Leave identifiers out, or join rare values "
                "first."
            )
            cautions.append(Caution("many values", joined, sentence))
        if gridded:
            sentence = f"Levels come from up to {self._n_cells:,} quantiles, not every number, in {named(gridded)}."
            cautions.append(Caution("quantiles", gridded, sentence, warns=False))
        return cautions


class TableBlocks:
    """`Blocks` of a table in memory."""

    reading_bytes = None
    prints: np.ndarray | None = None

    def __init__(
        self,
        table: Table,
        target: Target,
        weights: np.ndarray | None,
        engine: Engine,
        n_jobs: int | None,
        blocks: Sequence[slice],
    ) -> None:
        self.table, self.n_classes = table, target.n_classes
        self._blocks, self._engine, self._n_jobs = blocks, engine, n_jobs
        self._rows = [
            value_sums.BlockRows(target.codes[rows], target.n_classes, None if weights is None else weights[rows])
            for rows in blocks
        ]

    def total(self, positions: Sequence[int], count: Any, add: Any, options: Sequence[Any]) -> list[Any]:
        def of_column(i: int, option: Any) -> Any:
            running = value_sums.RunningSum(add, option)
            for at, rows in zip(self._blocks, self._rows, strict=True):
                column = self.table.column(i)
                column = column if len(self._blocks) == 1 else column.take(np.arange(self.table.n_rows)[at])
                running.push(count(column, rows, running.last, option))
            return running.total()

        return map_in_threads(lambda one: of_column(*one), list(zip(positions, options, strict=True)), self._n_jobs)

    def codes(self, positions: Sequence[int], levels: TableLevels) -> np.ndarray:
        return code_in_blocks(self.table.select(positions), levels, self._blocks, self._n_jobs, self._engine)


class ScannedBlocks:
    """`Blocks` of a scanned table, read one after another.

    Parameters
    ----------
    table, target, weights : of the rows.
    engine : where the codes live, and what keeps how far counting has come.
    n_jobs : threads.
    runs : codes are listed class after class; None: as in the source.
    verbose : 1 shows progress on the error stream.
    seconds_left : how much longer reading may take; `ReadingTooSlow` is raised as soon as it shows to take longer.
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
        seconds_left: Callable[[], float] | None = None,
    ) -> None:
        self.table, self.n_classes, self.reading_bytes = table, target.n_classes, engine.reading_bytes
        if engine.reading_bytes is not None:
            table.read_within(engine.reading_bytes)
        self._target, self._weights, self._engine, self._runs = target, weights, engine, runs
        self._n_jobs, self._verbose, self._seconds_left = n_jobs, verbose, seconds_left
        self._n_totals = 0
        self.prints: np.ndarray | None = None
        self._next_note = time.perf_counter() + _SECONDS_BETWEEN_NOTES

    def total(self, positions: Sequence[int], count: Any, add: Any, options: Sequence[Any]) -> list[Any]:
        table = self.table if len(positions) == self.table.n_columns else self.table.select(positions)
        self._n_totals += 1
        sums = [value_sums.RunningSum(add, option) for option in options]
        n_blocks = self._go_on(table, sums)
        prints = None
        if self._n_totals == 1 and n_blocks == 0:
            prints = self.prints = self._engine.array((table.n_rows,), np.uint64)
        with self._reading():
            for rows, block in self._read(table, n_blocks):
                weights = None if self._weights is None else self._weights[rows]
                known = value_sums.BlockRows(self._target.codes[rows], self.n_classes, weights)

                def of_column(at: int, block: Table = block, known: value_sums.BlockRows = known) -> None:
                    sums[at].push(count(block.column(at), known, sums[at].last, options[at]))

                map_in_threads(of_column, range(len(positions)), self._n_jobs)
                if prints is not None:
                    Places(self._runs, rows).put(fingerprints(block, self._n_jobs), prints)
                    self._engine.visited(prints[rows].nbytes)
                n_blocks += 1
                self._note(table, n_blocks, sums)
        return map_in_threads(value_sums.RunningSum.total, sums, self._n_jobs)

    def _read(self, table: ScannedTable, n_before: int) -> Iterator[tuple[slice, Table]]:
        """The rows and the columns of each block, but for the first ones."""
        began, first = time.perf_counter() - compile_seconds(), -1
        with SearchProgress("Reading rows", self._verbose, bytes_and_time_left(table.source.n_bytes)) as progress:
            for rows, block in table.blocks(n_before):
                yield rows, block
                if progress is not None:
                    progress(rows.stop, table.n_rows, rows.stop / table.n_rows)
                first = rows.start if first < 0 else first
                self._check_time(time.perf_counter() - compile_seconds() - began, rows.stop - first, rows.stop)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Let an interruption say what was interrupted."""
        try:
            yield
        except KeyboardInterrupt:
            kept = "the same fit goes on from its cache" if self._engine.keeps_notes else "with a cache it could go on"
            raise KeyboardInterrupt(f"the fit was still reading; {kept}") from None

    def _check_time(self, seconds: float, n_read: int, end: int) -> None:
        """Raise `ReadingTooSlow` if the rows from ``end`` on, and coding all, take too long, judged by those read."""
        n_rows = self.table.n_rows
        if self._seconds_left is None or self._n_totals != 1 or len(self.table.source.pieces) == 1:
            return
        left = self._seconds_left()
        if seconds >= _SHARE_TO_JUDGE * (seconds + left) and seconds * (2 * n_rows - end) > left * n_read:
            raise ReadingTooSlow(int(_SHARE_TO_USE * max(0.0, left) * n_read / seconds / 2))

    def _key(self) -> str:
        return f"counts {self._n_totals}"

    def _note(self, table: ScannedTable, n_blocks: int, sums: Sequence[value_sums.RunningSum]) -> None:
        """Keep what these first blocks have come to, every few seconds, for a process that goes on from there."""
        began = time.perf_counter()
        if not self._engine.keeps_notes or began < self._next_note:
            return
        state = {"read": np.array([n_blocks, table.block_rows])}
        for at, running in enumerate(sums):
            state |= {f"{at} {name}": array for name, array in value_sums.state_of(running.parts).items()}
        stream = io.BytesIO()
        np.savez(stream, allow_pickle=False, **state)
        self._engine.note(self._key(), stream.getvalue())
        now = time.perf_counter()
        self._next_note = now + max(_SECONDS_BETWEEN_NOTES, _PAUSE * (now - began))

    def _go_on(self, table: ScannedTable, sums: Sequence[value_sums.RunningSum]) -> int:
        """Take over what a process that was ended noted of the same sums; of how many blocks they are."""
        note = self._engine.noted(self._key())
        if note is None:
            return 0
        states: list[Any] = [{} for _ in sums]
        with np.load(io.BytesIO(note), allow_pickle=False) as noted:
            n_blocks, block_rows = noted["read"].tolist()
            for key in noted.files[1:]:
                at, name = key.split(maxsplit=1)
                states[int(at)][name] = noted[key]
        if block_rows != table.block_rows:  # by another limit of memory
            return 0
        for running, state in zip(sums, states, strict=True):
            running.parts = value_sums.parts_of(state)
        return int(n_blocks)

    def codes(self, positions: Sequence[int], levels: TableLevels) -> np.ndarray:
        n_rows, dtype = self.table.n_rows, smallest_unsigned(int(levels.n_levels.max()))
        codes = self._engine.array((len(positions), n_rows), dtype)
        with self._reading():
            for rows, block in self._read(self.table.select(positions), 0):
                into = Places(self._runs, rows)

                def code(at: int, block: Table = block, into: Places = into) -> None:
                    into.put(levels[at].code(block.column(at)), codes[at])

                map_in_threads(code, range(len(positions)), self._n_jobs)
                self._engine.visited(codes[:, rows].nbytes)
        return codes


class Places:
    """Where the rows of a block are among all: as they come or, with ``runs``, class after class."""

    def __init__(self, runs: ClassRuns | None, rows: slice) -> None:
        self._rows, self._order = rows, None
        if runs is not None:
            classes = runs.codes[rows]
            self._order, self._starts = np.argsort(classes, kind="stable"), runs.starts(rows.start).tolist()
            self._sizes = np.bincount(classes, minlength=len(self._starts)).tolist()

    def put(self, codes: np.ndarray, into: np.ndarray) -> None:
        """Write what there is of each row of the block, such as a code, among that of all rows."""
        if self._order is None:
            into[self._rows] = codes
            return
        codes, first = codes[self._order], 0
        for start, size in zip(self._starts, self._sizes, strict=True):
            into[start : start + size] = codes[first : first + size]
            first += size


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
                    running = value_sums.RunningSum(add, option)
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
        positions = None if isinstance(rows, slice) else rows
        n_rows = columns[0].codes.shape[1] if positions is None else len(positions)
        codes = np.empty((len(parts), n_rows), max(column.dtype for column in columns))
        gather(columns, positions, codes)
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
    rows = value_sums.BlockRows(np.asarray(block.rows.class_codes), block.rows.n_classes, block.rows.weights)
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
