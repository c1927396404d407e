"""Counting and coding of many rows in blocks: `TableBlocks` for tables in memory, and the protocol that scans
implement, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from bayesieve.discretize import value_sums
from bayesieve.discretize.column_coders import ColumnCoder, FittedColumns, code_in_blocks, fit_counts
from bayesieve.discretize.value_counts import ValueCounts
from bayesieve.engine import Engine, map_in_threads
from bayesieve.table import Table, Target
from bayesieve.table.cautions import Caution
from bayesieve.table.levels import TableLevels
from bayesieve.words import named

EXACT_ROWS = 1 << 20
"""Number of rows up to which every distinct value is counted, however many there are."""
MOST_NUMBERS = 100_000
"""In tables of more rows: number of distinct values of a numeric column beyond which quantiles are counted instead."""
MOST_CATEGORIES = 1 << 18
"""In tables of more rows: number of categories of a column beyond which rare ones count as never seen."""
MOST_TEXTS = 1 << 19
"""In tables of more rows: number of categories beyond which only those in frequent hash buckets are counted."""
QUANTILES = (1 << 16) - 1
"""Default number of quantiles."""

_BYTES_PER_CELL = 64  # memory of a cell in a grid and its sketch, plus 24 per class
_BYTES_PER_NUMBER = 16  # memory of a distinct number while counts are added, plus 8 per class
_BYTES_PER_TEXT = 100  # memory of a distinct text, plus 12 per class
_NO_LIMIT = 1 << 62
_FEWEST_CELLS = 1 << 10
_FEWEST_TEXTS = 1 << 14


class Blocks(Protocol):
    """Protocol of tables that are read block by block, from memory or from files.

    table : names, kinds and types of the columns, and the number of rows
    n_classes : number of classes of the rows
    reading_bytes : limit on the bytes that counts of all columns may take, or None
    row_hashes : hashes of all rows after a pass over all columns; None before it, and for tables in memory
    """

    n_classes: int
    row_hashes: np.ndarray | None

    @property
    def table(self) -> Table: ...

    @property
    def reading_bytes(self) -> int | None: ...

    def total(self, positions: Sequence[int], count: Any, add: Any, options: Sequence[Any]) -> list[Any]:
        """Return the sum of a statistic over all blocks, for each column at ``positions``.

        ``count(column, rows, option)`` computes the statistic for one column in a block with the `BlockRows` ``rows``,
        and ``add([one, other], option)`` adds two such statistics. ``options`` holds the option of each column, such as
        cut points.
        """

    def codes(self, positions: Sequence[int], levels: TableLevels) -> np.ndarray:
        """Return the codes of all rows by ``levels`` of the columns at ``positions``, shape (n_positions, n_rows)."""


class CountedColumns:
    """Class counts of the values of all columns.

    In tables of few rows, all distinct values are counted. Otherwise, columns of very many distinct numbers are counted
    in the cells of a grid of quantiles, and for columns of very many categories only the most frequent ones are
    counted.

    Parameters
    ----------
    blocks : Blocks
        Training rows. They are read once to count values, again for columns of very many distinct values, and once to
        be coded.
    n_jobs : threads.
    n_cells : largest number of quantiles of a column.

    Attributes
    ----------
    columns : counts of the values of each column.
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
        most_texts = texts if few else min(texts, max(MOST_TEXTS, MOST_CATEGORIES))
        self._text_room = value_sums.Room(most_texts, bytes_ // (2 * n_texts))
        number_room = value_sums.Room(numbers if few else min(numbers, MOST_NUMBERS), 0)
        self._left_out: list[int] = []  # rows, or weight, of rare categories of each column
        self.columns = self._counted([number_room if kind == "numeric" else self._text_room for kind in kinds])

    def _counted(self, rooms: Sequence[value_sums.Room]) -> list[ValueCounts]:
        """Return the counts of each column: of all its values, of quantiles, or of its most frequent categories.

        ``rooms`` holds a limit on the number and size of distinct values for each column.
        """
        totals = self._blocks.total(range(len(rooms)), value_sums.count_values, value_sums.add_values, rooms)
        parts = dict(enumerate(totals))
        numbers = {i: part for i, part in parts.items() if isinstance(part, value_sums.NumberSketch)}
        texts = {i: part for i, part in parts.items() if isinstance(part, value_sums.TextSketch)}
        marks = [part.fullest(self._most_categories, self._text_room) for part in texts.values()]
        if texts:
            marked = self._blocks.total([*texts], value_sums.count_marked, value_sums.add_marked, marks)
            parts |= zip(texts, marked, strict=True)
        for i, grid in self._grids({i: sketch.grid for i, sketch in numbers.items()}).items():
            parts[i] = grid.value_counts(int(numbers[i].distinct))
        columns = []
        for i, counts in parts.items():
            n_rows, values = texts[i].rows.sum() if i in texts else counts.counts.sum(), counts.listed
            values = (
                value_sums.most_frequent(values, self._most_categories) if isinstance(values.values, list) else values
            )
            self._left_out.append(round(float(n_rows - values.counts.sum())))
            columns.append(values)
        return columns

    def _grids(self, coarse: dict[int, value_sums.Grid]) -> dict[int, value_sums.Grid]:
        """Count the rows of columns in grids of quantiles. Return the grids by position of the column.

        ``coarse`` holds coarser grids by position, from whose counts the quantiles are computed. If cells have too many
        rows, they are split, and all rows are counted again.
        """
        grids, split = dict(coarse), list(coarse)
        for _ in range(1 + value_sums.MOST_ROUNDS):
            if split:
                cuts = [grids[i].quantiles(self._n_cells) for i in split]
                finer = self._blocks.total(split, value_sums.count_cells, value_sums.add_cells, cuts)
                columns = zip(split, cuts, finer, strict=True)
                grids |= {i: value_sums.Grid(cuts_of_column, cells) for i, cuts_of_column, cells in columns}
                split = [i for i in split if grids[i].is_too_full(self._n_cells)]
        return grids

    def fit(self, positions: Sequence[int], coders: Sequence[ColumnCoder], missing: str) -> FittedColumns:
        """Return the levels of the columns at ``positions``, fitted to their counts by ``coders``, one per column.
        ``missing`` is documented in `fit_columns`.
        """
        names, types = self._blocks.table.names, self._blocks.table.types()
        counts = [self.columns[i] for i in positions]
        named_, typed = [names[i] for i in positions], [types[i] for i in positions]
        return fit_counts(named_, typed, counts, coders, missing, self._n_jobs)

    def codes(self, positions: Sequence[int], levels: TableLevels) -> np.ndarray:
        """Return the codes of all rows by ``levels`` of the columns at ``positions``, shape (n_positions, n_rows)."""
        return self._blocks.codes(positions, levels)

    def cautions(self) -> list[Caution]:
        """Return cautions about columns whose values were counted in quantiles, or dropped as rare."""
        columns, names = self.columns, self._blocks.table.names
        rare = np.flatnonzero(self._left_out).tolist()
        joined = tuple(names[i] for i in rare)
        gridded = tuple(name for name, counts in zip(names, columns, strict=True) if counts.upper is not None)
        cautions = []
        if rare:
            rows = max(self._left_out)
            most = max(len(columns[i].values) for i in rare)
            sentence = (
                f"Only the most frequent {most:,} different values of {named(joined)} are used; the others, in up to "
                f"{rows:,} rows, are treated as never seen. Exclude identifiers, or merge rare values before the fit."
            )
            cautions.append(Caution("many values", joined, sentence))
        if gridded:
            sentence = (
                f"The cut points of {named(gridded)} are chosen among up to {self._n_cells:,} quantiles, not among all "
                "numbers; a larger n_quantiles makes them more exact."
            )
            cautions.append(Caution("quantiles", gridded, sentence, warns=False))
        return cautions


class TableBlocks:
    """Table in memory that is read block by block; implements `Blocks`.

    Parameters
    ----------
    table, target, weights : columns, classes and weights (None for all 1) of the rows.
    engine : storage of the codes.
    n_jobs : threads.
    blocks : slices of rows that are read at a time.
    """

    reading_bytes = None
    row_hashes: np.ndarray | None = None

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
        """Return the sum of a statistic over all blocks, for each column at ``positions``. The parameters are
        documented at `Blocks.total`.
        """

        def of_column(i: int, option: Any) -> Any:
            """Return the sum of the statistic over all blocks for the column at position ``i``; ``option`` is its
            option.
            """
            running = value_sums.RunningSum(add, option)
            for at, rows in zip(self._blocks, self._rows, strict=True):
                column = self.table.column(i)
                column = column if len(self._blocks) == 1 else column.take(np.arange(self.table.n_rows)[at])
                running.push(count(column, rows, option))
            return running.total()

        return map_in_threads(lambda one: of_column(*one), list(zip(positions, options, strict=True)), self._n_jobs)

    def codes(self, positions: Sequence[int], levels: TableLevels) -> np.ndarray:
        """Return the codes of all rows by ``levels`` of the columns at ``positions``, shape (n_positions, n_rows)."""
        return code_in_blocks(self.table.select(positions), levels, self._blocks, self._n_jobs, self._engine)
