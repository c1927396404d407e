"""The levels of all columns of a table in memory, and codes by levels: many columns of numbers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.discretize.criterion import Intervals, TooManyBlocks, part_cost
from bayesieve.discretize.value_counts import LEAST_HASHED, ClassOrder, ValueBlocks, ValueCounts
from bayesieve.engine import IN_MEMORY, Engine, map_in_threads
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.cautions import warn_caller
from bayesieve.table.levels import TableLevels, smallest_unsigned

if TYPE_CHECKING:
    from bayesieve.discretize.column_coder import ColumnCoder, GroupCoder, IntervalCoder

_BLOCK_CELLS = 1 << 18  # numbers in a block, 2 MiB: it stays in the cache
_PARALLEL_ROWS = 20_000  # from which starting threads to code columns pays
_PARALLEL_CELLS = 2_000_000  # and in tables of fewer rows
_SAME_COST = 1e-9  # nats
_MOST_BLOCK_ROWS = 20_000  # beyond, one column at a time is as fast


class Codes:
    """The code matrix while its columns are written by several threads: bytes, unless some column has over 255
    levels.
    """

    def __init__(self, n_columns: int, n_rows: int, engine: Engine = IN_MEMORY) -> None:
        self._engine = engine
        self._bytes = engine.array((n_columns, n_rows), np.uint8)
        self._wide: dict[int, np.ndarray] = {}

    def put(self, i: int, codes: np.ndarray) -> None:
        """Write the codes of one column."""
        if codes.dtype == np.uint8:
            self._bytes[i] = codes
        else:
            self._wide[i] = codes
        self._engine.visited(codes.nbytes)

    def put_numbers(self, run: range, values: np.ndarray, intervals: Intervals) -> None:
        """Code neighbouring columns of numbers, (columns, rows), NaN for missing values."""
        dtype = smallest_unsigned(int(intervals.n_levels.max()))
        into = self._bytes[run.start : run.stop] if dtype == np.uint8 else np.empty(values.shape, dtype)
        _code_numbers(values, intervals.cut_points, intervals.n_levels, intervals.missing, into)
        if dtype != np.uint8:
            self._wide.update(zip(run, into, strict=True))

    def matrix(self) -> np.ndarray:
        """Return the codes of all columns, shape (n_columns, n_rows)."""
        dtype = max([np.dtype(np.uint8), *(codes.dtype for codes in self._wide.values())])
        if dtype == np.uint8:
            return self._bytes
        matrix = self._engine.array(self._bytes.shape, dtype)
        for i, codes in enumerate(self._bytes):
            matrix[i] = self._wide.get(i, codes)
            self._engine.visited(matrix[i].nbytes)
        return matrix


def _code_numbers(
    values: np.ndarray, cuts: np.ndarray, n_levels: np.ndarray, missing: np.ndarray, into: np.ndarray
) -> None:
    """Code columns of numbers.

    Parameters
    ----------
    values : (columns, rows), NaN for missing values.
    cuts : cut points of all columns, one column after another.
    n_levels, missing : number of levels, and code of missing values, of each column; -1 where these have none.
    into : (columns, rows) codes.
    """
    from bayesieve.table._kernels import code_numbers

    starts = np.concatenate([[0], np.cumsum(n_levels - 1)])
    code_numbers(values, cuts, starts, np.where(missing < 0, n_levels, missing), into)


@dataclass(frozen=True)
class FittedColumns:
    """The levels of all columns and their MODL costs in nats."""

    levels: TableLevels
    costs: np.ndarray
    null_costs: np.ndarray


def fit_columns(
    table: Table,
    coders: Sequence[ColumnCoder],
    order: ClassOrder,
    missing: str,
    n_jobs: int | None,
    engine: Engine = IN_MEMORY,
) -> tuple[FittedColumns, np.ndarray]:
    """Learn the levels of every column of a table, and code its rows, (n_columns, n_rows).

    Parameters
    ----------
    coders : the coder of each column.
    order : rows by class.
    missing : as `TableEncoder` has it; "share" lets missing values share a level with the lowest values.
    engine : where the codes live.
    """
    codes = Codes(table.n_columns, table.n_rows, engine)

    def fit(run: range) -> tuple[Intervals, FeatureLevels | None]:
        coder, column = coders[run.start], table.column(run.start)
        if coder.kind == "categorical":
            categories = column.categories()
            counts = ValueCounts.of_categories(categories, order)
            summary, levels = _fit_groups(coder, column.name, column.type, counts, missing)
            codes.put(run.start, levels.code_categories(categories))
            return summary, levels
        values = table.numbers(np.array(run)) if len(run) > 1 else column.numbers()[None, :]
        blocks = ValueBlocks.of_rows(values, order, **_options(coder, missing))
        intervals = _fit_intervals(coder, column.name, blocks, missing)
        codes.put_numbers(run, values, intervals)
        return _with_special(coder, column.name, column.type, intervals)

    numeric = np.array([coder.kind == "numeric" and not coder.is_alone for coder in coders])
    runs = _runs(numeric if table.n_rows < LEAST_HASHED else np.zeros_like(numeric), table.n_rows)
    fitted = _join(table.names, table.types(), map_in_threads(fit, runs, n_jobs))
    return fitted, codes.matrix()


def fit_counts(
    names: Sequence[str],
    types: Sequence[str],
    counts: Sequence[ValueCounts],
    coders: Sequence[ColumnCoder],
    missing: str,
    n_jobs: int | None,
) -> FittedColumns:
    """Fit the levels of columns from their counts; ``types`` are those of `Table`."""

    def fit(i: int) -> tuple[Intervals, FeatureLevels | None]:
        coder = coders[i]
        if coder.kind == "categorical":
            return _fit_groups(coder, names[i], types[i], counts[i], missing)
        blocks = ValueBlocks.of_counts(counts[i], **_options(coder, missing))
        return _with_special(coder, names[i], types[i], _fit_intervals(coder, names[i], blocks, missing))

    return _join(names, list(types), map_in_threads(fit, range(len(names)), n_jobs))


def _options(coder: IntervalCoder, missing: str) -> dict[str, Any]:
    apart = missing != "share" or coder.separates_missing
    return {"joined": coder.joins, "apart": apart, "ignore": missing == "ignore"}


def _fit_groups(
    coder: GroupCoder, name: str, type_: str, counts: ValueCounts, missing: str
) -> tuple[Intervals, FeatureLevels]:
    counts = coder.with_values(counts)
    if missing == "ignore" and counts.counts.any():  # values may be those of rows of weight 0
        counts = replace(counts, missing=np.zeros_like(counts.missing))
    try:
        grouping = coder.fit_values(counts, apart=missing != "share")
    except TooManyBlocks as error:
        raise ValueError(f"Column {name!r}: {error}.") from None
    values = [*counts.values, None]
    groups = tuple(tuple(values[v] for v in group) for group in grouping.groups)
    of_missing = next((code for code, group in enumerate(groups) if None in group), None)
    facts = (of_missing, grouping.counts, grouping.level_score)
    levels = FeatureLevels(name, "categorical", type_, None, groups, *facts)
    return grouping.as_intervals(), levels


def _fit_intervals(coder: IntervalCoder, name: str, blocks: ValueBlocks, missing: str) -> Intervals:
    try:
        return coder.fit_blocks(blocks, apart=missing != "share")
    except TooManyBlocks as error:
        raise ValueError(f"Column {name!r}: {error}.") from None


def _with_special(
    coder: IntervalCoder, name: str, type_: str, intervals: Intervals
) -> tuple[Intervals, FeatureLevels | None]:
    """Return the intervals, or levels that tell special values and, of the intervals, what these do not hold."""
    if not coder.special:
        return intervals, None
    code = int(intervals.missing[0])
    facts = (None if code < 0 else code, intervals.counts, float(intervals.level_scores[0]), coder.special)
    levels = FeatureLevels(name, "numeric", type_, intervals.cut_points, None, *facts)
    return replace(intervals, cut_points=np.zeros(0), counts=intervals.counts[:0]), levels


def _join(
    names: Sequence[str], types: list[str], parts: Sequence[tuple[Intervals, FeatureLevels | None]]
) -> FittedColumns:
    """Join the columns of all parts, in their order."""
    intervals = Intervals.join([part for part, _ in parts])
    first = np.cumsum([0, *(part.n_levels.size for part, _ in parts)]).tolist()
    levels = TableLevels(
        names=names,
        types=types,
        n_levels=intervals.n_levels,
        level_scores=intervals.level_scores,
        missing=intervals.missing,
        cuts=intervals.cut_points,
        counts=intervals.counts,
        others={i: grouped for i, (_, grouped) in zip(first, parts, strict=False) if grouped is not None},
        n_constant=sum(_n_constant(*part) for part in parts),
    )
    return FittedColumns(levels, intervals.costs, intervals.null_costs)


def _n_constant(intervals: Intervals, grouped: FeatureLevels | None) -> int:
    """Return columns with one value: a single part costs nothing but its labels, by sizes."""
    if grouped is not None:
        return int(grouped.groups is not None and grouped.n_values <= 1)
    single = intervals.n_levels == 1
    of_labels = part_cost(intervals.counts[np.repeat(single, intervals.n_levels)])
    return int(np.count_nonzero(intervals.null_costs[single] - of_labels < _SAME_COST))


def code_columns(table: Table, levels: TableLevels, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return codes of all features, shape (n_features, n_rows), and the number of rows in which each has no level."""
    codes = np.empty((len(levels), table.n_rows), smallest_unsigned(int(levels.n_levels.max())))
    unseen, of_unseen = np.zeros(len(levels), dtype=np.int64), levels.n_levels[:, None].astype(codes.dtype)
    complaints: list[str] = []

    def code(run: range) -> None:
        here = slice(run.start, run.stop)
        if together[run.start]:
            values, cuts = table.numbers(np.array(run)), levels.cut_points(run.start, run.stop)
            _code_numbers(values, cuts, levels.n_levels[here], levels.missing[here], codes[here])
        else:
            codes[here] = levels[run.start].code(table.column(run.start), complaints)
        unseen[here] = np.count_nonzero(codes[here] == of_unseen[here], axis=1)

    if table.n_rows <= _MOST_BLOCK_ROWS:
        together = levels.is_numeric[: table.n_columns] & np.array([type_ == "number" for type_ in table.types()])
    else:
        together = np.zeros(table.n_columns, dtype=bool)
    pays = table.n_rows >= _PARALLEL_ROWS or table.n_rows * table.n_columns >= _PARALLEL_CELLS
    map_in_threads(code, _runs(together, table.n_rows), n_jobs if pays else None)
    if complaints:
        warn_caller(*sorted(complaints))  # in one order, whichever thread met them
    if levels.pairs:
        levels.code_pairs(codes.__getitem__, table.column, codes.__setitem__)
        pairs = slice(table.n_columns, None)
        unseen[pairs] = np.count_nonzero(codes[pairs] == of_unseen[pairs], axis=1)
    return codes, unseen


def code_in_blocks(
    table: Table, levels: TableLevels, blocks: Sequence[slice], n_jobs: int | None, engine: Engine
) -> np.ndarray:
    """Code the columns block by block into an array of the engine."""
    codes = engine.array((len(levels), table.n_rows), smallest_unsigned(int(levels.n_levels.max())))
    for rows in blocks:
        codes[:, rows] = code_columns(table.take(rows), levels, n_jobs)[0]
        engine.visited(codes[:, rows].nbytes)
    return codes


def _runs(together: np.ndarray, n_rows: int) -> list[range]:
    """Return neighbouring columns to process together; the others one by one."""
    most = max(1, _BLOCK_CELLS // max(1, n_rows))
    ends = np.flatnonzero(np.diff(together.astype(np.int8))) + 1
    runs = []
    for first, stop in zip([0, *ends.tolist()], [*ends.tolist(), together.size], strict=True):
        size = most if together[first] else 1
        runs += [range(at, min(at + size, stop)) for at in range(first, stop, size)]
    return runs
