"""The columns of a scanned table: read once, each value noted on disk by a number, and counted by class."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from bayesieve.compiling import compile_seconds
from bayesieve.discretize.column_blocks import FittedColumns, fit_counts
from bayesieve.discretize.column_coder import ColumnCoder
from bayesieve.discretize.numbered_values import NumberedNumbers, NumberedTexts, NumberedValues, State
from bayesieve.discretize.pairs import PairFinder
from bayesieve.engine import Engine, map_in_threads
from bayesieve.engine.base import OF_CODES
from bayesieve.engine.progress import SearchProgress
from bayesieve.table import Table, Target
from bayesieve.table.cautions import Caution, named
from bayesieve.table.levels import smallest_unsigned
from bayesieve.table.rows import ClassRuns
from bayesieve.table.scanned import ScannedTable
from bayesieve.table.sources.base import BLOCK_ROWS
from bayesieve.table.table_levels import TableLevels

EXACT_ROWS = 1 << 20
"""Rows up to which every value is counted, however many there are."""
MOST_NUMBERS = 100_000
"""Distinct numbers of a column of more rows, beyond which cells of a grid of quantiles are counted."""
MOST_CATEGORIES = 1 << 18
"""Distinct categories of a column of more rows, beyond which new ones count as never seen."""
QUANTILES = (1 << 16) - 1
"""Cells of the grid unless said otherwise; with missing values their numbers fill 16 bits."""

_BYTES_PER_CELL = 160  # of a grid, and of the points that it is made of, besides 24 for each class
_FEWEST_CELLS = 1 << 10
_SECONDS_BETWEEN_NOTES = 10.0
_PAUSE = 20  # times the seconds that a note takes, at least
_NOTE = "what was read"
_SHARE_TO_JUDGE = 0.05  # of the time for reading: first blocks are slow
_SHARE_TO_USE = 0.8  # of the time that is left


class ReadingTooSlow(Exception):
    """All rows cannot be read in time, but about ``n_rows`` of them."""

    def __init__(self, n_rows: int) -> None:
        super().__init__(n_rows)
        self.n_rows = n_rows


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
    n_cells : of the grid of a column of very many distinct numbers.
    seconds_left : how much longer reading may take.

    Raises
    ------
    ReadingTooSlow
        As soon as it shows that reading takes longer.
    """

    counted_categories = "first"
    """Which count where they are too many."""

    def __init__(
        self,
        table: ScannedTable,
        target: Target,
        weights: np.ndarray | None,
        engine: Engine,
        n_jobs: int | None,
        runs: ClassRuns | None = None,
        verbose: int = 0,
        n_cells: int = QUANTILES,
        seconds_left: Callable[[], float] | None = None,
    ) -> None:
        self._verbose, self._n_cells, self._seconds_left = verbose, n_cells, seconds_left
        self._table, self._target, self._engine, self._runs = table, target, engine, runs
        self._weights = np.zeros(0) if weights is None else weights
        self._n_jobs = n_jobs
        self._most_bytes = 1 << 62 if engine.reading_bytes is None else engine.reading_bytes
        table.read_within(self._most_bytes)
        n_gridded = table.kinds().count("numeric")
        n_cells = self._most_bytes // (max(1, n_gridded) * (_BYTES_PER_CELL + 24 * target.n_classes))
        self._n_cells = min(self._n_cells, max(_FEWEST_CELLS, n_cells))
        self._columns, self._passes = self._new_columns(), 0
        self._next_note = time.perf_counter() + _SECONDS_BETWEEN_NOTES
        n_blocks = self._go_on()
        if self._passes == 0:
            self._read(range(table.n_columns), n_blocks)
            n_blocks = 0
        again = [i for i, column in enumerate(self._columns) if column.begin_again()]
        if again:
            self._read(again, n_blocks)

    def _new_columns(self) -> list[NumberedValues]:
        n, n_classes, engine = self._table.n_rows, self._target.n_classes, self._engine
        few = n <= EXACT_ROWS
        return [
            NumberedNumbers(str(i), n, n_classes, engine, n if few else MOST_NUMBERS, self._n_cells)
            if kind == "numeric"
            else NumberedTexts(str(i), n, n_classes, engine, n if few else MOST_CATEGORIES)
            for i, kind in enumerate(self._table.kinds())
        ]

    def _read(self, positions: Sequence[int], n_blocks: int) -> None:
        """Read these columns, all or those that are to be read again, without the first blocks."""
        table = self._table if not self._passes else self._table.select(positions)
        began, first = time.perf_counter() - compile_seconds(), -1
        try:
            with SearchProgress("Reading rows", self._verbose, self._in_words(time.perf_counter())) as progress:
                for rows, block in table.blocks(n_blocks):
                    self._share_memory()
                    known = (rows, self._target.codes[rows], self._weights[rows])

                    def add(at: int, block: Table = block, known: Any = known) -> None:
                        self._columns[positions[at]].add(block.column(at), *known)

                    map_in_threads(add, range(len(positions)), self._n_jobs)
                    self._engine.visited(sum(self._columns[i].numbers[rows].nbytes for i in positions))
                    n_blocks += 1
                    if progress is not None:
                        progress(rows.stop, table.n_rows, rows.stop / table.n_rows)
                    self._note(n_blocks, rows.stop)
                    first = rows.start if first < 0 else first
                    self._check_time(time.perf_counter() - compile_seconds() - began, rows.stop - first, rows.stop)
        except KeyboardInterrupt:
            goes_on = (
                "the same fit goes on from its cache" if self._engine.keeps_notes else "with a cache it could go on"
            )
            raise KeyboardInterrupt(f"the fit was still reading; {goes_on}") from None
        self._passes += 1

    def _share_memory(self) -> None:
        """Before a block: what the values of each column may take. While all take too much together, those of the
        column that has most of them are left.
        """
        left = self._most_bytes - sum(column.n_bytes for column in self._columns)
        for column in sorted(self._columns, key=lambda column: -column.n_bytes) if left < 0 else ():
            before = column.n_bytes
            column.count_fewer()
            left += before - column.n_bytes
            if left >= 0:
                break
        for column in self._columns:
            column.most_bytes = column.n_bytes + max(0, left) // len(self._columns)

    def _check_time(self, seconds: float, n_read: int, end: int) -> None:
        """Raise `ReadingTooSlow` if the rows from ``end`` on take too long, judged by those read so far."""
        if self._seconds_left is None or end == self._table.n_rows or len(self._table.source.pieces) == 1:
            return
        left = self._seconds_left()
        if seconds >= _SHARE_TO_JUDGE * (seconds + left) and seconds * (self._table.n_rows - end) > left * n_read:
            raise ReadingTooSlow(int(_SHARE_TO_USE * max(0.0, left) * n_read / seconds))

    def _note(self, n_blocks: int, n_rows: int) -> None:
        """Keep what these first blocks have come to, every few seconds, for a process that goes on from there."""
        began = time.perf_counter()
        if not self._engine.keeps_notes or began < self._next_note:
            return
        state = {
            "read": np.array([self._passes, n_blocks, n_rows, self._table.block_rows]),
            "kept": np.frombuffer(self._table.kept(), np.uint8),
        }
        for i, column in enumerate(self._columns):
            n_own = n_rows if self._passes == 0 or column.on_grid else self._table.n_rows
            state |= {f"{i} {name}": array for name, array in column.state(n_own).items()}
        stream = io.BytesIO()
        np.savez(stream, allow_pickle=False, **state)
        self._engine.note(_NOTE, stream.getvalue())
        now = time.perf_counter()
        self._next_note = now + max(_SECONDS_BETWEEN_NOTES, _PAUSE * (now - began))

    def _go_on(self) -> int:
        """Take over what a process that was ended noted; the blocks that it had read of the pass it was in."""
        note = self._engine.noted(_NOTE)
        if note is None:
            return 0
        states: list[State] = [{} for _ in self._columns]
        with np.load(io.BytesIO(note), allow_pickle=False) as noted:
            (passes, n_blocks, n_rows, block_rows), rows = noted["read"].tolist(), noted["kept"].tobytes()
            for key in noted.files[2:]:
                i, name = key.split()
                states[int(i)][name] = noted[key]
        if block_rows != self._table.block_rows:  # by another limit of memory
            return 0
        try:
            for column, state in zip(self._columns, states, strict=True):
                column.restore(state, n_rows if passes == 0 or "cuts" in state else self._table.n_rows)
        except ValueError:  # files that have changed since
            self._columns = self._new_columns()
            return 0
        self._passes = passes
        self._table.take_over(rows, complete=passes > 0)
        return int(n_blocks)

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
        blocks = [slice(at, min(at + BLOCK_ROWS, n_rows)) for at in range(0, n_rows, BLOCK_ROWS)]
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
            most = max(getattr(of[name], "n_known", MOST_CATEGORIES) for name in joined)
            sentence = (
                f"Only the {self.counted_categories} {most:,} different values count in {named(joined)}: "
                f"the others, in up to {rows:,} rows, count as never seen. Leave identifiers out, or join rare values "
                "first."
            )
            cautions.append(Caution("many values", joined, sentence))
        if gridded:
            sentence = f"Levels come from up to {self._n_cells:,} quantiles, not every number, in {named(gridded)}."
            cautions.append(Caution("quantiles", gridded, sentence, warns=False))
        return cautions


def noted_cautions(engine: Engine, cautions: list[Caution] | None = None) -> list[Caution]:
    """The cautions about a table that was read just now or, None, about that whose codes the engine kept."""
    if cautions is None:
        return [
            Caution(**{**facts, "columns": tuple(facts["columns"])})
            for facts in json.loads(engine.noted(OF_CODES) or "[]")
        ]
    if cautions:
        engine.note(OF_CODES, json.dumps([asdict(caution) for caution in cautions]).encode())
    return cautions
