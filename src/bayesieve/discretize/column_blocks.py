"""All columns of a table fitted, or coded, block after block, many columns of numbers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesieve.discretize.class_order import ClassOrder
from bayesieve.discretize.coded_block import CodedBlock, CodedColumn
from bayesieve.engine import map_in_threads
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.cautions import warn_caller
from bayesieve.table.levels import smallest_unsigned
from bayesieve.table.table_levels import TableLevels

if TYPE_CHECKING:
    from bayesieve.discretize.column_coder import ColumnCoder

_BLOCK_CELLS = 1 << 18  # numbers in a block, 2 MiB: it stays in the cache
_PARALLEL_ROWS = 20_000  # from which starting threads to code columns pays
_PARALLEL_CELLS = 2_000_000  # and in tables of fewer rows
_MOST_BLOCK_ROWS = 20_000  # beyond, one column at a time is as fast


class Codes:
    """The code matrix while its columns are written by several threads: bytes, unless some column has over 255
    levels.
    """

    def __init__(self, n_columns: int, n_rows: int) -> None:
        self._bytes = np.empty((n_columns, n_rows), dtype=np.uint8)
        self._wide: dict[int, np.ndarray] = {}

    def block(self, first: int, stop: int) -> np.ndarray:
        """Where the codes of neighbouring columns are written that are bytes."""
        return self._bytes[first:stop]

    def put(self, i: int, codes: np.ndarray) -> None:
        """The codes of one column."""
        if codes.dtype == np.uint8:
            self._bytes[i] = codes
        else:
            self._wide[i] = codes

    def matrix(self, highest: int = 0) -> np.ndarray:
        """The codes of all columns, shape (n_columns, n_rows)."""
        dtype = max([np.dtype(np.uint8), smallest_unsigned(highest), *(codes.dtype for codes in self._wide.values())])
        if dtype == np.uint8:
            return self._bytes
        matrix = self._bytes.astype(dtype)
        for i, codes in self._wide.items():
            matrix[i] = codes
        return matrix


@dataclass(frozen=True)
class FittedColumns:
    """The levels of all columns, their MODL costs in nats (NaN where no criterion was used), and the codes of the
    rows.
    """

    levels: TableLevels
    costs: np.ndarray
    null_costs: np.ndarray
    codes: np.ndarray


def fit_columns(
    table: Table, coders: Sequence[ColumnCoder], order: ClassOrder, missing: str, n_jobs: int | None
) -> FittedColumns:
    """Fit every column of a table.

    Parameters
    ----------
    coders : what codes each column
    order : rows by class
    missing : as `TableEncoder` has it; "share" lets missing values share a level with the lowest values.
    """
    codes = Codes(table.n_columns, table.n_rows)
    alone: dict[int, CodedColumn] = {}

    def fit_alone(i: int) -> None:
        coder, column = coders[i], table.column(i)
        if missing == "ignore":
            alone[i] = coder.fit_known(column, order)
        else:
            alone[i] = coder.fit_column(column, order, missing_apart=missing == "level")
        codes.put(i, alone[i].codes)

    def fit_block(run: range) -> CodedBlock | None:
        if not together[run.start]:
            fit_alone(run[0])
            return None
        values = table.numbers(np.arange(run.start, run.stop))
        block = coders[run.start].fit_block(values, order, codes.block(run.start, run.stop), apart=missing != "share")
        if missing == "ignore":
            block.leave_out(np.isnan(values).any(axis=1))
        for at in np.flatnonzero(block.n_levels == 0).tolist():
            fit_alone(run[at])
        return block

    takes = {id(coder): coder.takes_blocks(order) for coder in {id(coder): coder for coder in coders}.values()}
    together = np.array([takes[id(coder)] for coder in coders])
    runs = _runs(together, table.n_rows)
    blocks = map_in_threads(fit_block, runs, n_jobs)
    return _joined(table, [(run, block) for run, block in zip(runs, blocks, strict=True)], alone, codes)


def _joined(
    table: Table, blocks: list[tuple[range, CodedBlock | None]], alone: dict[int, CodedColumn], codes: Codes
) -> FittedColumns:
    n = table.n_columns
    n_levels, missing = np.zeros(n, dtype=np.int64), np.full(n, -1)
    types = table.types()
    costs, null_costs, scores = np.full(n, np.nan), np.full(n, np.nan), np.zeros(n)
    for run, block in blocks:
        if block is not None:
            here = slice(run.start, run.stop)
            n_levels[here], missing[here] = block.n_levels, block.missing
            costs[here], null_costs[here] = block.costs, block.null_cost
            scores[here] = block.level_scores
    for i, one in alone.items():
        n_levels[i], costs[i], null_costs[i] = one.levels.n_levels, one.cost, one.null_cost
        scores[i] = one.levels.level_score
        types[i] = one.levels.type
    found = [block for _, block in blocks if block is not None]
    levels = TableLevels(
        names=table.names,
        types=types,
        n_levels=n_levels,
        level_scores=scores,
        missing=missing,
        cuts=np.concatenate([np.zeros(0), *(block.cuts for block in found)]),
        counts=np.concatenate([block.counts for block in found]) if found else None,
        made={i: one.levels for i, one in alone.items()},
    )
    return FittedColumns(levels, costs, null_costs, codes.matrix())


def code_columns(table: Table, levels: TableLevels, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Codes of all columns, shape (n_columns, n_rows), and the number of values of each without a level."""
    codes = Codes(table.n_columns, table.n_rows)
    complaints: list[str] = []
    unseen = np.zeros(table.n_columns, dtype=np.int64)

    def code_alone(i: int) -> None:
        level: FeatureLevels = levels[i]
        found = level.code(table.column(i), complaints)
        unseen[i] = np.count_nonzero(found == level.n_levels)
        codes.put(i, found)

    def code_block(run: range) -> None:
        from bayesieve.discretize._column_kernels import code_columns

        if not together[run.start]:
            code_alone(run.start)
            return
        first, stop = run.start, run.stop
        into = codes.block(first, stop)
        starts = levels.cut_starts[first : stop + 1] - levels.cut_starts[first]
        values = table.numbers(np.arange(first, stop))
        code_columns(values, levels.cut_points(first, stop), starts, levels.missing_codes(first, stop), into)
        unseen[first:stop] = np.count_nonzero(into == levels.n_levels[first:stop, None].astype(np.uint8), axis=1)

    if table.n_rows <= _MOST_BLOCK_ROWS:
        together = levels.of_numbers & (levels.n_levels <= np.iinfo(np.uint8).max)
        together &= np.array([type_ == "number" for type_ in table.types()])
    else:
        together = np.zeros(table.n_columns, dtype=bool)
    pays = table.n_rows >= _PARALLEL_ROWS or table.n_rows * table.n_columns >= _PARALLEL_CELLS
    map_in_threads(code_block, _runs(together, table.n_rows), n_jobs if pays else None)
    warn_caller(sorted(complaints))  # in one order, whichever thread met them
    return codes.matrix(highest=int(levels.n_levels.max())), unseen


def _runs(together: np.ndarray, n_rows: int) -> list[range]:
    """Neighbouring columns that are done at once; the others one by one."""
    most = max(1, _BLOCK_CELLS // max(1, n_rows))
    ends = np.flatnonzero(np.diff(together.astype(np.int8))) + 1
    runs = []
    for first, stop in zip([0, *ends.tolist()], [*ends.tolist(), together.size], strict=True):
        size = most if together[first] else 1
        runs += [range(at, min(at + size, stop)) for at in range(first, stop, size)]
    return runs
