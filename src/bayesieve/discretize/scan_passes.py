"""Passes over a scanned table that count or code its values, in this process or by the workers of an executor."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.discretize import row_tasks, value_sums
from bayesieve.discretize.row_tasks import CodeTask, CountTask, Reading, RowChunk, code_rows, count_rows
from bayesieve.engine import Engine, map_in_threads
from bayesieve.engine.executors import Traffic, map_chunks
from bayesieve.engine.progress import Clock, Progress, bytes_and_time_left, search_progress, write_line
from bayesieve.table import Target
from bayesieve.table.levels import TableLevels
from bayesieve.table.row_labels import KnownRows, LabelReader
from bayesieve.table.scanned import ScannedTable
from bayesieve.table.target import ClassRuns
from bayesieve.words import plural

if TYPE_CHECKING:
    import polars as pl

_BLOCK_CELLS, _BLOCK_COPIES = 1 << 23, 8  # values read at once (64 MiB of numbers), and copies made of them
_TASK_CELLS = 1 << 25  # values that a worker reads per task
_FEWEST_ROWS = 1 << 12  # least number of rows of a column of long texts that are read at once
_MOST_SENT = 10 << 20  # bytes of levels or options that are sent with a task, unless one column has more


@dataclass(frozen=True)
class _Step:
    """Rows and columns that one task of a pass reads.

    Attributes
    ----------
    columns : positions among the columns of the pass.
    rows : slice of the rows, counting only rows with a known target.
    first, n_rows : the same rows in the scan: the first one, and their number including rows without a target.
    """

    columns: range
    rows: slice
    first: int
    n_rows: int


class ScannedBlocks:
    """`Blocks` of a scanned table, read in passes over chunks of rows.

    Parameters
    ----------
    table, target, weights : columns, classes and weights (None for all 1) of the rows.
    engine : storage of the codes.
    n_jobs : threads.
    runs : map to the order by class, if codes are sorted by class; None for the order of the source.
    verbose : 1 shows progress on the error stream.
    clock : time limit; TimeoutError is raised if it is over before all rows are read.
    executor : executor of the tasks; None runs them in this process.
    labels : reader of the classes and weights in a worker; None for the reader of the table.
    row_hashes : hashes of the rows, if they were computed already; otherwise the first pass computes them.
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
        clock: Clock | None = None,
        executor: Executor | None = None,
        labels: LabelReader | None = None,
        row_hashes: np.ndarray | None = None,
    ) -> None:
        self.table, self.n_classes, self.reading_bytes = table, target.n_classes, engine.reading_bytes
        self.engine = engine
        self._target, self._weights, self._runs = target, weights, runs
        self._n_jobs, self._verbose, self._clock = n_jobs, verbose, clock
        if labels is None and executor is not None and table.labels is not None:
            labels = table.labels.reader_of(target, weights)
        self._labels = labels
        self._executor = None if self._labels is None else executor
        lengths = table.source.text_bytes
        self._cells = {name: max(1.0, lengths.get(name, 0.0) / 8) for name in table.names}
        self.row_hashes = row_hashes

    def of_columns(self, table: ScannedTable) -> ScannedBlocks:
        """Return a copy that reads other columns of the same rows. ``table`` holds these columns. The copy computes no
        hashes and has no time limit.
        """
        return ScannedBlocks(
            table,
            self._target,
            self._weights,
            self.engine,
            self._n_jobs,
            self._runs,
            verbose=self._verbose,
            executor=self._executor,
            labels=self._labels,
            row_hashes=np.zeros(0, np.uint64),
        )

    def of_rows(self, rows: np.ndarray) -> ScannedBlocks:
        """Return a copy that reads only some rows. ``rows`` are their ascending positions in source order.

        Classes that these rows lack are dropped.
        """
        present, codes = np.unique(self._target.codes[rows], return_inverse=True)
        target = Target(codes.astype(self._target.codes.dtype), self._target.classes[present])
        weights, labels = None if self._weights is None else self._weights[rows], self._labels
        if labels is not None:
            number = np.zeros(self.n_classes, dtype=target.codes.dtype)
            number[present] = np.arange(present.size)
            labels = replace(labels, codes=number[labels.codes])
        if weights is not None and not weights.any():
            weights, labels = None, None if labels is None else replace(labels, weight=None)
        return ScannedBlocks(
            self.table.restricted_to(rows),
            target,
            weights,
            self.engine,
            self._n_jobs,
            verbose=self._verbose,
            executor=self._executor,
            labels=labels,
            row_hashes=self.row_hashes,
        )

    def total(self, positions: Sequence[int], count: Any, add: Any, options: Sequence[Any]) -> list[Any]:
        """Return the sum of a statistic over all rows, for each column at ``positions``. The parameters are documented
        at `Blocks.total`.
        """
        sums = [value_sums.RunningSum(add, option) for option in options]
        hashes = None
        if self.row_hashes is None:
            hashes = self.row_hashes = self.engine.array((self.table.n_rows,), np.uint64)

        def task(step: _Step) -> CountTask:
            """Return the task of a step of the pass."""
            chosen = [options[at] for at in step.columns]
            chunk, reading = self._reading(step, positions)
            return CountTask(chunk, reading, count, chosen, hashes is not None)

        steps = self._steps(positions, options)
        with self._pass("counts", steps, count_rows, map(task, steps)) as results:
            for step, (counted, hashed) in results:
                for at, part in zip(step.columns, counted, strict=True):
                    sums[at].push(part)
                if hashes is not None:  # the hash of a row is a sum over its columns
                    into = RowScatter(self._runs, step.rows)
                    (into.add if step.columns.start else into.put)(hashed, hashes)
                    self.engine.release(hashed.nbytes)
        return map_in_threads(value_sums.RunningSum.total, sums, self._n_jobs)

    def codes(self, positions: Sequence[int], levels: TableLevels) -> np.ndarray:
        """Return the codes of all rows by ``levels`` of the columns at ``positions``, shape (n_positions, n_rows)."""
        return self.codes_and_sample(positions, levels, np.zeros(0, dtype=np.int64))[0]

    def codes_and_sample(
        self, positions: Sequence[int], levels: TableLevels, sample: np.ndarray
    ) -> tuple[np.ndarray, pl.DataFrame]:
        """Return the codes of all rows by levels of some columns, (n_positions, n_rows), and the sampled rows as a
        dataframe.

        Parameters
        ----------
        positions : positions of the columns.
        levels : levels of these columns.
        sample : ascending positions of rows, in source order.
        """
        import polars as pl

        dtype = np.min_scalar_type(int(levels.n_levels.max()))
        codes = self.engine.array((len(positions), self.table.n_rows), dtype)
        learnt = [levels[at] for at in range(len(positions))]
        sampled: dict[int, list[pl.DataFrame]] = {}

        def task(step: _Step) -> CodeTask:
            """Return the task of a step of the pass."""
            first, last = np.searchsorted(sample, (step.rows.start, step.rows.stop))
            sampled = sample[first:last] - step.rows.start if sample.size else None
            chunk, reading = self._reading(step, positions)
            return CodeTask(chunk, reading, [learnt[at] for at in step.columns], sampled)

        steps = self._steps(positions, learnt)
        with self._pass("codes", steps, code_rows, map(task, steps)) as results:
            for step, (coded, rows) in results:
                here = slice(step.columns.start, step.columns.stop)
                RowScatter(self._runs, step.rows).put_columns(coded, codes[here], self._n_jobs)
                self.engine.release(codes[here, step.rows].nbytes)
                if rows is not None:
                    sampled.setdefault(step.columns.start, []).append(rows)
        columns = [pl.concat(frames) for frames in sampled.values()]
        return codes, pl.concat(columns, how="horizontal") if columns else pl.DataFrame()

    def _steps(self, positions: Sequence[int], options: Sequence[Any]) -> list[_Step]:
        """Divide a pass over the columns at ``positions`` into steps. ``options`` holds the option of each column for
        the task.

        Columns are read in groups, one after the other, if the table is wide or large options are sent to workers.
        Blocks always have the same rows; only columns of long texts are read in parts of a block.
        """
        sizes, cells = [0] * len(options), _BLOCK_CELLS
        if self._executor is not None:
            sizes, cells = [len(pickle.dumps(option, protocol=5)) for option in options], _TASK_CELLS
        elif self.reading_bytes is not None:
            cells = min(cells, self.reading_bytes // (8 * _BLOCK_COPIES))
        widths = [self._cells[self.table.names[i]] for i in positions]
        most = cells / max(1, min(row_tasks.BLOCK_ROWS, self.table.n_rows))
        rows_of_part = [_rows_of_part(width) for width in widths]
        groups, first = [], 0
        for at in range(1, len(options) + 1):
            group = slice(first, at + 1)
            is_full = at == len(options) or sum(widths[group]) > most or sum(sizes[group]) > _MOST_SENT
            if is_full or min(rows_of_part[group]) < row_tasks.BLOCK_ROWS:
                groups.append(range(first, at))
                first = at
        steps = []
        for columns in groups:
            n_rows = rows_of_part[columns.start]  # of a block, or of a part of it for a single column of long texts
            starts = _block_starts(self.table.row_mask, self.table.source.n_rows, n_rows)
            for number, (begin, end) in enumerate(pairwise(starts.tolist())):
                rows = slice(number * n_rows, min((number + 1) * n_rows, self.table.n_rows))
                steps.append(_Step(columns, rows, begin, end - begin))
        return steps

    def _reading(self, step: _Step, positions: Sequence[int]) -> tuple[RowChunk, Reading]:
        """Return the input of the task for one step of a pass over the columns at ``positions``.

        It is a chunk of rows, with classes and weights if the task runs in this process, and the description of the
        columns.
        """
        table, known_rows = self.table, None
        if self._executor is None:
            mask = None if table.row_mask is None else table.row_mask[step.first : step.first + step.n_rows]
            weights = None if self._weights is None else self._weights[step.rows]
            known_rows = KnownRows(mask, self._target.codes[step.rows], weights)
        names = [table.names[positions[at]] for at in step.columns]
        schema = dict(table.source.select(names).schema)
        kinds = {name: kind for name, kind in table.given_kinds.items() if name in schema}
        n_jobs = self._n_jobs if self._executor is None else 1
        chosen = None
        # A worker finds the rows of the table by their known target. If the table has no labels but a mask of rows, the
        # mask is sent instead.
        if known_rows is None and table.labels is None and table.row_mask is not None:
            chosen = np.packbits(table.row_mask[step.first : step.first + step.n_rows])
        chunk = RowChunk(step.first, tuple(table.source.slices(step.first, step.n_rows)), known_rows, chosen)
        return chunk, Reading(schema, kinds, self.n_classes, self._labels, n_jobs)

    @contextmanager
    def _pass(
        self, title: str, steps: Sequence[_Step], function: Any, tasks: Iterable[Any]
    ) -> Iterator[Iterator[tuple[_Step, Any]]]:
        """Run the tasks of a pass. The context variable is an iterator over its steps with their results.

        Parameters
        ----------
        title : name of the pass, such as "counts", in the lines that are shown if verbose.
        steps : steps of the pass.
        function : function that runs a task, in this process or a worker.
        tasks : one task for each step.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C; its message states that rows were still being read.
        """
        traffic, in_words = Traffic(), bytes_and_time_left(self.table.source.n_bytes)
        all_results = map_chunks(
            self._executor, function, tasks, room=self.reading_bytes, clock=self._clock, traffic=traffic
        )
        with search_progress("Reading rows", self._verbose, in_words) as progress, closing(all_results) as results:
            try:
                yield _with_progress(steps, results, progress)
            except KeyboardInterrupt:
                raise KeyboardInterrupt("the fit was still reading the rows") from None
        if self._verbose and self._executor is not None:
            n_columns = len({at for step in steps for at in step.columns})
            sent, received = traffic.sent / 1e6, traffic.received / 1e6
            write_line(
                f"Pass for {title}: {self.table.n_rows:,} rows, {plural(n_columns, 'column')}; {sent:,.3g} MB sent, "
                f"{received:,.3g} MB received"
            )


def _with_progress(
    steps: Sequence[_Step], results: Iterable[Any], progress: Progress | None
) -> Iterator[tuple[_Step, Any]]:
    """Yield the steps of a pass with their results, and report the rows read to ``progress``, if it is not None."""
    done, total = 0, sum(step.n_rows for step in steps)
    for step, result in zip(steps, results, strict=True):
        yield step, result
        done += step.n_rows
        if progress is not None:
            progress(done, total, done / total)


def _rows_of_part(width: float) -> int:
    """Return the number of rows of a column that are read at once: a block, or fewer for long texts.

    ``width`` is the mean size of a value, in units of 8 bytes.

    The number depends on the texts only, so that weights are added in the same order by all engines.
    """
    n_rows = row_tasks.BLOCK_ROWS
    while n_rows > _FEWEST_ROWS and n_rows * width > _BLOCK_CELLS:
        n_rows //= 2
    return n_rows


def _block_starts(row_mask: np.ndarray | None, n_rows: int, size: int) -> np.ndarray:
    """Return the first row of each block of ``size`` used rows, followed by ``n_rows``, the number of all rows; shape
    (n_blocks + 1,).

    ``row_mask`` (n_rows,) marks the used rows; None for all.
    """
    if row_mask is None:
        return np.append(np.arange(0, n_rows, size), n_rows)
    starts, n_before = [0], 0
    for begin in range(0, n_rows, size):  # at most one block begins inside each run of as many rows
        part = row_mask[begin : begin + size]
        n_here = int(np.count_nonzero(part))
        to_next = -n_before % size if n_before else size
        if to_next < n_here:
            starts.append(begin + int(np.flatnonzero(part)[to_next]))
        n_before += n_here
    return np.append(starts, n_rows)


class RowScatter:
    """Map from the rows of a block to their positions in arrays of all rows.

    ``rows`` is the slice of the block in source order. Arrays of all rows are in source order if ``runs`` is None,
    otherwise sorted by class.
    """

    def __init__(self, runs: ClassRuns | None, rows: slice) -> None:
        self._rows, self._order = rows, None
        if runs is not None:
            classes = runs.codes[rows]
            self._order, self._starts = np.argsort(classes, kind="stable"), runs.starts(rows.start).tolist()
            self._sizes = np.bincount(classes, minlength=len(self._starts)).tolist()

    def put(self, values: np.ndarray, into: np.ndarray) -> None:
        """Write ``values`` (n_block_rows,) of a block's rows, such as codes, into ``into`` (n_rows,), an array of all
        rows.
        """
        for rows, part in self._runs(values):
            into[rows] = part

    def put_columns(self, values: Sequence[np.ndarray], into: np.ndarray, n_jobs: int | None) -> None:
        """Write values of a block's rows into ``into`` (n_columns, n_rows), an array of all rows. ``values`` holds an
        array (n_block_rows,) for each column.
        """
        map_in_threads(lambda both: self.put(*both), list(zip(values, into, strict=True)), n_jobs)

    def add(self, values: np.ndarray, into: np.ndarray) -> None:
        """Add ``values`` (n_block_rows,) of a block's rows to ``into`` (n_rows,), an array of all rows."""
        for rows, part in self._runs(values):
            into[rows] += part

    def _runs(self, values: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of arrays of all rows, each with the part of ``values`` (n_block_rows,) that belongs there."""
        if self._order is None:
            yield self._rows, values
            return
        values, first = values[self._order], 0
        for start, size in zip(self._starts, self._sizes, strict=True):
            yield slice(start, start + size), values[first : first + size]
            first += size
