"""Training rows of a fit, and the fit of the levels and codes of all their columns."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayesieve.counts.row_hashes import RowSamples, hash_rows
from bayesieve.discretize import row_blocks, row_tasks
from bayesieve.discretize.coding_options import CodingOptions
from bayesieve.discretize.column_coders import ColumnCoder, FittedColumns, fit_columns
from bayesieve.discretize.modl import part_cost
from bayesieve.discretize.repeats import find_repeats, scan_caution
from bayesieve.discretize.row_blocks import CountedColumns, TableBlocks
from bayesieve.discretize.ruled_coders import Ruled
from bayesieve.discretize.scan_passes import RowScatter, ScannedBlocks
from bayesieve.discretize.value_counts import ClassOrder
from bayesieve.engine import IN_MEMORY, Engine, Mapped
from bayesieve.engine.files import mapped_options
from bayesieve.table import Rows, Table, Target
from bayesieve.table.cautions import FEWEST_JUDGED_ROWS, MOST_JUDGED_ROWS, Caution, Mark, marks_of_numbers
from bayesieve.table.levels import TableLevels
from bayesieve.table.scanned import RowSample, ScannedTable
from bayesieve.table.target import ClassRuns

_BY_CHANCE, _FALSE_SHARE = 0.1, 1.0  # expected shares of columns cut by chance, see `fit_levels`
_ROWS_PER_CATEGORY = 2.0  # an identifier of categories has fewer rows per value
FEWEST_SAMPLED_ROWS = 5_000  # however long their texts are


@dataclass
class RowHashes:
    """Callable that returns hashes of all rows of a table, computed from their raw values at the first call.

    Parameters
    ----------
    table : columns of the rows.
    rows : classes and weights; hashes have the same order.
    n_jobs : threads.
    hashes : (n_rows,) hashes, if they were computed already.
    engine : storage of the hashes of a scan.
    """

    table: Table
    rows: Rows
    n_jobs: int | None
    hashes: np.ndarray | None = None
    engine: Engine = IN_MEMORY

    def __call__(self) -> np.ndarray:
        if self.hashes is None and isinstance(self.table, ScannedTable):
            hashes = self.engine.array((self.table.n_rows,), np.uint64)
            for rows, block in self.table.blocks():
                RowScatter(self.rows.runs, rows).put(hash_rows(block, self.n_jobs), hashes)
                self.engine.release(hashes[rows].nbytes)
            self.hashes = hashes
        elif self.hashes is None:
            self.hashes = hash_rows(self.table, self.n_jobs)
        return self.hashes


@dataclass(frozen=True)
class TrainingTable:
    """Raw columns of the training rows with their classes and weights.

    Attributes
    ----------
    table : columns of the rows.
    target, weights : classes and weights of the rows, in the order of the table.
    order : order of the rows by class.
    rows : classes and weights in the order in which rows are coded.
    samples : random samples of the rows, drawn by their hashes.
    engine : storage of the codes.
    values : class counts of the values of a scan, from one pass over it; None for a table in memory.
    blocks : reader of a scan; None for a table in memory.
    sample_rows : ascending positions, in source order, of the rows of a scan that later steps use.
    cautions : cautions about repeated rows, and about columns counted in quantiles or without rare values.
    """

    table: Table
    target: Target
    weights: np.ndarray | None
    order: ClassOrder
    rows: Rows
    samples: RowSamples
    engine: Engine
    values: CountedColumns | None = None
    blocks: ScannedBlocks | None = None
    sample_rows: np.ndarray | None = None
    cautions: tuple[Caution, ...] = ()


def table_in_memory(
    table: Table,
    target: Target,
    weights: np.ndarray | None,
    order: ClassOrder,
    coding: CodingOptions,
    n_jobs: int | None,
) -> TrainingTable:
    """Return the training rows of a table in memory. ``weights`` (n_rows,) are row weights, or None if all are 1.

    If ``coding.merges_copies`` is True, repeated rows get weights by which they count as one row.
    """
    cautions: tuple[Caution, ...] = ()
    hashes = RowHashes(table, Rows(target.codes, target.classes), n_jobs)
    repeats = find_repeats(table, target, weights, n_jobs, hashes) if coding.merges_copies else None
    if repeats is not None:
        weights, cautions = repeats.weights, (repeats.caution,)
        order = ClassOrder.of(target.codes, target.n_classes, weights)
    rows = Rows(target.codes, target.classes, weights)
    samples = RowSamples(hashes, rows)
    return TrainingTable(table, target, weights, order, rows, samples, coding.engine, cautions=cautions)


def table_in_files(
    table: ScannedTable,
    target: Target,
    weights: np.ndarray | None,
    order: ClassOrder,
    coding: CodingOptions,
    n_jobs: int | None,
    n_quantiles: int,
) -> TrainingTable:
    """Return the training rows of a scan, after a pass that counts the values of its columns. Later steps use a sample
    of rows, whose positions are drawn here.

    ``order`` is the order of the rows by class, and ``coding`` holds the options for storing and reading rows;
    ``n_quantiles`` is documented in `TableEncoder`.
    """
    engine = Mapped(tempfile.gettempdir(), **mapped_options(None)) if coding.engine is IN_MEMORY else coding.engine
    rows = Rows(target.codes, target.classes, weights)
    if coding.lists_classes:
        runs = ClassRuns(target.codes, target.n_classes)
        rows = Rows(runs.sorted_codes, target.classes, None if weights is None else runs.sort(weights), runs=runs)
    blocks = ScannedBlocks(
        table,
        target,
        weights,
        engine,
        n_jobs,
        rows.runs,
        verbose=coding.verbose,
        clock=coding.clock,
        executor=coding.executor,
    )
    values = CountedColumns(blocks, n_jobs, n_quantiles)
    repeated = scan_caution(table.names, values.columns, blocks.row_hashes, rows)
    cautions = (*values.cautions(), *([] if repeated is None else [repeated]))
    # Later steps use two samples of the rows, which stay in memory: one shows which columns are counters, identifiers
    # or dates, and contributions are fitted to the other. If their texts need too much memory, both are smaller, and
    # later steps draw parts of them, so that no row is read a second time.
    n_fitted = 0 if coding.sample_size is None else coding.sample_size(table.n_columns, target.n_classes)
    size_limit = None
    if engine.reading_bytes is not None:
        room = max(FEWEST_SAMPLED_ROWS, int(engine.reading_bytes / table.row_bytes)) // 2
        size_limit = room if room < max(MOST_JUDGED_ROWS, n_fitted) else None
    samples = RowSamples(RowHashes(table, rows, n_jobs, blocks.row_hashes, engine), rows, size_limit)
    sample = samples.draw(MOST_JUDGED_ROWS)
    if n_fitted:
        sample = np.union1d(sample, samples.draw_by_class(n_fitted))
    return TrainingTable(
        table,
        target,
        weights,
        order,
        rows,
        samples,
        engine,
        values=values,
        blocks=blocks,
        sample_rows=np.sort(rows.in_source(sample)),
        cautions=cautions,
    )


def draw_from_scan(table: ScannedTable, target: Target, weights: np.ndarray | None, most: int) -> np.ndarray:
    """Return the ascending positions of a random sample of up to ``most`` rows, drawn by the hashes of their
    contents.
    """
    rows = Rows(target.codes, target.classes, weights)
    return RowSamples(RowHashes(table, rows, -1), rows).draw(most)


@dataclass
class LevelFitter:
    """Fitter of the levels and codes of the training rows, which may be called several times with different coders.

    Parameters
    ----------
    training : training rows.
    missing, n_quantiles : see `TableEncoder`.
    n_jobs : threads.

    Attributes
    ----------
    cautions : cautions about columns counted in quantiles or without rare values, after the first fit.
    """

    training: TrainingTable
    missing: str
    n_quantiles: int
    n_jobs: int | None
    cautions: list[Caution] = field(default_factory=list, init=False)

    def fit(
        self, coders: Sequence[ColumnCoder], columns: Sequence[int] | None = None, *, coded: bool = True
    ) -> tuple[FittedColumns, Any]:
        """Fit the levels of some columns. Return the levels, and the codes (n_columns, n_rows), or None if ``coded`` is
        False.

        ``columns`` are positions, None for all columns, and ``coders`` the coder of each of them. In small tables, each
        column is sorted as a whole; in larger ones and in scans, values are counted block by block.
        """
        training, engine, n_rows = self.training, self.training.engine, self.training.table.n_rows
        positions = list(range(training.table.n_columns)) if columns is None else list(columns)
        values = training.values
        if values is None:
            table = training.table if columns is None else training.table.select(positions)
            # Sums of fractional weights depend on how rows are divided into blocks, so blocks are the same in memory
            # and in scans.
            if training.order.integral:
                rows = [slice(*ends.tolist()) for ends in engine.blocks(np.array([0, n_rows]))]
            else:
                rows = row_tasks.block_slices(n_rows)
            if len(rows) == 1 and n_rows <= row_blocks.EXACT_ROWS:
                return fit_columns(table, coders, training.order, self.missing, self.n_jobs, engine)
            blocks = TableBlocks(table, training.target, training.weights, engine, self.n_jobs, rows)
            values, positions = CountedColumns(blocks, self.n_jobs, self.n_quantiles), list(range(table.n_columns))
            self.cautions = self.cautions or values.cautions()
        fitted = values.fit(positions, coders, self.missing)
        return fitted, values.codes(positions, fitted.levels) if coded else None


def fit_levels(
    training: TrainingTable, coders: Sequence[ColumnCoder], fitter: LevelFitter
) -> tuple[FittedColumns, np.ndarray, TrainingTable]:
    """Fit the levels of every column by ``coders``, one per column, with ``fitter``. Return them with the codes, shape
    (n_columns, n_rows), and the training table.

    The training table is returned unchanged if its rows are in memory; for a scan, the copy that is returned holds the
    rows sampled for later steps. If every coder has the prior "sizes" (see `MODLDiscretizer`), ``levels.by_chance`` of
    the fitted columns holds the positions of columns whose cuts may be due to chance.
    """
    fitted, codes = fitter.fit(coders, coded=training.blocks is None)
    if training.blocks is not None and training.sample_rows is not None:
        every = range(training.table.n_columns)
        codes, frame = training.blocks.codes_and_sample(every, fitted.levels, training.sample_rows)
        table = training.blocks.table.with_sample(RowSample(training.sample_rows, frame))
        training = replace(training, table=table)
    if not all(getattr(coder, "prior", None) == "sizes" for coder in coders):
        return fitted, codes, training
    saved = fitted.null_costs - fitted.costs
    # Levels by hand were not chosen from the rows, so the cost of encoding them is not subtracted from what they save.
    for i, coder in enumerate(coders):
        if isinstance(coder, Ruled) and coder.rule.is_by_hand and not coder.is_as_learnt:
            counts = np.asarray(fitted.levels.class_counts(i), dtype=float)
            saved[i] = part_cost(counts.sum(axis=0)) - part_cost(counts).sum()
    # Costs are code lengths, and chance cuts an uninformative column with a probability of about 1 / sqrt(N). Of K
    # uninformative columns (without those of one value), K exp(-t) / sqrt(N) are thus expected to save t nats or more.
    # Among the k best columns, the last of which saves t nats, chance explains a share of exp(-t) K / (k sqrt(N))
    # (Benjamini and Hochberg 1995). All columns may be cut by chance if this share exceeds `_BY_CHANCE` for every k;
    # otherwise those after the longest list of best columns whose share is at most `_FALSE_SHARE`.
    order, n_columns = np.argsort(-saved, kind="stable"), saved.size - fitted.levels.constant.size
    shares = np.exp(-saved[order]) * n_columns / (np.arange(1, saved.size + 1) * math.sqrt(training.order.total))
    by_chance = np.arange(saved.size)
    if (shares <= _BY_CHANCE).any():
        by_chance = np.sort(order[1 + int(np.flatnonzero(shares <= _FALSE_SHARE).max()) :])
    return replace(fitted, levels=fitted.levels.replaced(by_chance=by_chance)), codes, training


def marks_of(
    training: TrainingTable, coders: Sequence[ColumnCoder], levels: TableLevels, by_hand: Collection[str]
) -> dict[str, Mark]:
    """Find counters, identifiers and dates: columns that label rows or times rather than describe them.

    Return the mark of each such column by name: "counter", "identifier" or "date".

    Numeric columns of whole numbers are tested in up to 20,000 rows drawn at random:

    - A counter increases, or decreases, evenly from row to row.
    - An identifier fills its range evenly, or in blocks, and repeats or skips far fewer numbers than random numbers
      would. It may have gaps, and a few rows per value.
    - A date is a date or datetime, seconds since 1970 (or milli-, micro-, nanoseconds), or written as 202401 or
      20240131.

    A categorical column is an identifier if it has fewer than two rows per value on average, unless its groups are set
    ``by_hand``. Weights count as repeated rows: a column whose values each have weight 2 is no identifier. Amounts of
    money and the like have no mark, even if all are different or the rows are sorted by them.
    """
    table, weights = training.table, training.weights
    counted = None if weights is None else np.flatnonzero(weights > 0)
    n_rows = table.n_rows if counted is None else counted.size
    kinds, types = table.kinds(), table.types()
    dated = [i for i, kind in enumerate(kinds) if kind == "numeric" and types[i] in ("date", "datetime")]
    by_position: dict[int, Mark] = dict.fromkeys(dated, "date")
    if n_rows < FEWEST_JUDGED_ROWS:
        return {table.names[i]: mark for i, mark in by_position.items()}
    # Numbers are judged by a sample of rows: `rows` are their positions in the table or source, `at` those among
    # the rows of positive weight.
    rows = np.sort(training.rows.in_source(training.samples.draw(MOST_JUDGED_ROWS)))
    at = rows if counted is None else np.searchsorted(counted, rows)
    if table.reads_rows:  # once, not for each column
        table, rows = table.take(rows), np.arange(rows.size)
    numbers = [i for i, kind in enumerate(kinds) if kind == "numeric" and types[i] == "number"]
    by_position |= marks_of_numbers(table, numbers, rows, at, n_rows)
    # Categories are judged by the number of values in their levels, less those in groups by hand that no row has.
    categorical = [i for i, kind in enumerate(kinds) if kind == "categorical" and table.names[i] not in by_hand]
    absent = {i: len(coder.absent) for i, coder in enumerate(coders) if isinstance(coder, Ruled)}
    n_values = {i: levels[i].n_values - (levels[i].missing_code is not None) - absent.get(i, 0) for i in categorical}
    texts = [i for i, n in n_values.items() if n >= FEWEST_JUDGED_ROWS and 10 * n >= n_rows]
    sample = table.select(texts).take(rows) if texts else table
    for k, i in enumerate(texts):
        total = n_rows if weights is None else float(weights.sum())
        n_present = float(np.mean(sample.column(k).categories().codes >= 0)) * total
        by_position |= {i: "identifier"} if _ROWS_PER_CATEGORY * n_values[i] > n_present else {}
    return {table.names[i]: by_position[i] for i in sorted(by_position)}
