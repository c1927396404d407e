"""Rows told apart and coded again: by levels learnt from some of them, so that the others can measure these, and by
cells within levels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.counts.row_content import Content, RowSamples, fingerprints
from bayesieve.discretize.level_fitting import FittedColumns, code_columns, fit_columns
from bayesieve.discretize.pairs import PairFinder
from bayesieve.discretize.scan_passes import RowScatter
from bayesieve.discretize.value_counts import ClassOrder
from bayesieve.engine import IN_MEMORY, Engine, map_in_threads
from bayesieve.table import FeatureLevels, Rows, Table, Target
from bayesieve.table.columns import Column, special_number
from bayesieve.table.levels import TableLevels, smallest_unsigned
from bayesieve.table.scanned import ScannedTable
from bayesieve.table.values import HIGHEST_SPECIAL, canonical_text, number_type

if TYPE_CHECKING:
    from bayesieve.discretize.column_coder import ColumnCoder
    from bayesieve.discretize.modl import MODLGrouper


class RowHashes:
    """Hashes of all rows of a table by their raw values, computed once, when asked for, and samples drawn by them.

    Parameters
    ----------
    table : columns.
    rows : classes and weights, in the order of the hashes.
    n_jobs : threads.
    known : (n_rows,) hashes that were computed already; None if not.
    engine : storage of the hashes of a scan.
    at_most : rows of a sample, as `RowSamples` takes it.
    """

    def __init__(
        self,
        table: Table,
        rows: Rows,
        n_jobs: int | None,
        known: np.ndarray | None = None,
        engine: Engine = IN_MEMORY,
        at_most: int | None = None,
    ) -> None:
        # Samples do not refer to this object, so that the files of a scan are deleted with the last reference to it.
        self._hashes = _LazyHashes(table, rows, n_jobs, known, engine)
        self.samples = RowSamples(self._hashes, rows, at_most)

    def __call__(self) -> np.ndarray:
        return self._hashes()


class _LazyHashes:
    """Hashes of all rows, in the order of ``rows``; computed once, when asked for, unless they are known."""

    def __init__(self, table: Table, rows: Rows, n_jobs: int | None, known: np.ndarray | None, engine: Engine) -> None:
        self._table, self._rows, self._n_jobs, self._engine, self._hashes = table, rows, n_jobs, engine, known

    def __call__(self) -> np.ndarray:
        if self._hashes is not None:
            return self._hashes
        if not isinstance(self._table, ScannedTable):
            self._hashes = fingerprints(self._table, self._n_jobs)
            return self._hashes
        self._hashes = self._engine.array((self._table.n_rows,), np.uint64)
        for rows, block in self._table.blocks():
            RowScatter(self._rows.runs, rows).put(fingerprints(block, self._n_jobs), self._hashes)
            self._engine.visited(self._hashes[rows].nbytes)
        return self._hashes


def drawn_from_scan(table: ScannedTable, target: Target, weights: np.ndarray | None, most: int) -> np.ndarray:
    """Return ascending positions of up to ``most`` rows, drawn by their content, which is read if need be."""
    return RowHashes(table, Rows(target.codes, target.classes, weights), -1).samples.drawn(most)


@dataclass(frozen=True)
class LevelRefitter:
    """Codes the rows of a table again, from their raw values, with levels learnt from some of them only.

    Parameters
    ----------
    table : the raw values of the columns that the features are made of.
    coders : what codes each column; ``grouper``, the cells of pairs.
    missing : as `TableEncoder` has it.
    known : classes and weights of the rows of ``table``.
    n_jobs : threads.
    features : of each feature the position of its column, or those of a pair.
    names : of the features.
    hashes : of the rows of ``table``.
    rows : the rows of ``table`` that count, in this order; None for all.
    """

    table: Table
    coders: Sequence[ColumnCoder]
    grouper: MODLGrouper
    missing: str
    known: Rows
    n_jobs: int | None
    features: Sequence[tuple[int, ...]]
    names: Sequence[str]
    hashes: RowHashes
    rows: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        levels: TableLevels,
        table: Table,
        coders: Sequence[ColumnCoder],
        grouper: MODLGrouper,
        missing: str,
        known: Rows,
        n_jobs: int | None,
        hashes: RowHashes | None = None,
    ) -> LevelRefitter:
        """The recoder of all features of a table."""
        position = {name: i for i, name in enumerate(levels.names[: levels.n_columns])}  # the table may lack names
        pairs = [tuple(position[part.name] for part in pair.parts) for pair in levels.pairs]
        features = [*((i,) for i in range(table.n_columns)), *pairs]
        hashes = RowHashes(table, known, n_jobs) if hashes is None else hashes
        return cls(table.read_once(), coders, grouper, missing, known, n_jobs, features, levels.names, hashes)

    @property
    def uses_classes(self) -> bool:
        """Whether the levels depend on the classes of the rows."""
        return any(coder.supervised for coder in self.coders) or any(len(columns) > 1 for columns in self.features)

    def take(self, rows: np.ndarray) -> LevelRefitter:
        """Return a copy for some of the rows, in this order."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def select(self, features: np.ndarray) -> LevelRefitter:
        """Return a copy for these features only (ascending positions)."""
        chosen = [self.features[k] for k in features.tolist()]
        columns = sorted({i for feature in chosen for i in feature})
        at = {i: k for k, i in enumerate(columns)}
        coders, names = [self.coders[i] for i in columns], [self.names[k] for k in features.tolist()]
        placed = [tuple(at[i] for i in feature) for feature in chosen]
        return replace(self, table=self.table.select(columns), coders=coders, features=placed, names=names)

    def with_columns(self, columns: Mapping[str, np.ndarray]) -> LevelRefitter:
        """Return a copy with further columns of `Rows`, each of shape (n_rows, ...)."""
        of_table = dict(columns)
        if self.rows is not None:
            for name, column in columns.items():
                of_table[name] = np.zeros((self.table.n_rows, *column.shape[1:]), dtype=column.dtype)
                of_table[name][self.rows] = column
        return replace(self, known=replace(self.known, columns={**self.known.columns, **of_table}))

    @property
    def _own(self) -> Table:
        """The rows that count."""
        return self.table if self.rows is None else self.table.take(self.rows)

    def fingerprints(self) -> np.ndarray:
        """`fingerprints` of the rows, by all columns of the table that was coded."""
        return self.hashes() if self.rows is None else self.hashes()[self.rows]

    @property
    def samples(self) -> RowSamples | None:
        """Samples of the rows, which are kept with their fingerprints if all rows count."""
        return self.hashes.samples if self.rows is None else None

    def content(self, classes: np.ndarray) -> Content:
        """The rows with these classes by their values in all columns that are not constant."""
        table = self._own
        numbered, ordered = [], []
        for i, kind in enumerate(table.kinds()):
            column = table.column(i)
            raw = column.numbers() if kind == "numeric" else column.categories().codes
            values, codes = np.unique(raw, return_inverse=True)
            if values.size > 1:
                numbered.append(codes)
                ordered.append(int(np.count_nonzero(~np.isnan(values))) if kind == "numeric" else 0)
        return Content(numbered, ordered, classes)

    def numbers(self) -> list[np.ndarray | None]:
        """(n_rows,) values of each feature of numbers, NaN where missing; None for the others."""
        table = self._own
        columns = [table.column(i) if len(feature) == 1 else None for feature in self.features for i in feature[:1]]
        return [column.numbers() if column is not None and column.kind == "numeric" else None for column in columns]

    def learn(self, fit: np.ndarray, rows: np.ndarray | None = None) -> tuple[CodedTable, CodedTable]:
        """The rows at the positions ``fit``, which the levels are learnt from, and those at ``rows`` (None: all), with
        the levels if they are those of all features.
        """
        every = np.arange(self.table.n_rows) if self.rows is None else self.rows
        others = every if rows is None else every[rows]
        levels, own = self._learnt(every[fit])
        codes, _ = code_columns(self.table.take(others), levels, self.n_jobs)
        return self._coded(own, levels, every[fit]), self._coded(codes, levels, others)

    def code(self, levels: Sequence[FeatureLevels]) -> CodedTable:
        """The rows coded by other levels of the same columns, without classes."""
        of_table = TableLevels.of(levels)
        codes, unseen = code_columns(self._own, of_table, self.n_jobs)
        return CodedTable(codes, of_table.n_levels, of_table.names, levels=of_table, unseen=unseen)

    def refine(
        self, levels: Sequence[FeatureLevels], weights: np.ndarray, most: Sequence[int | None]
    ) -> tuple[list[FeatureLevels], np.ndarray]:
        """Cells nested in these levels, learnt from the rows and their positive weights, and the rows coded by them;
        levels that cannot be split stay as they are. ``most`` : cells of each feature at most, as `cells_of` takes it.
        """
        table = self._own
        columns: list[Any] = [[table.column(i) for i in feature] for feature in self.features]

        def split(k: int) -> tuple[FeatureLevels, np.ndarray]:
            level, column = levels[k], columns[k] if len(columns[k]) > 1 else columns[k][0]
            cells = cells_of(level, column, weights, most[k]) if isinstance(column, Column) else level
            return cells, cells.code(column, [])

        both = map_in_threads(split, range(len(levels)), self.n_jobs)
        highest = smallest_unsigned(max(cells.n_levels for cells, _ in both))
        return [cells for cells, _ in both], np.array([codes for _, codes in both], dtype=highest)

    def _learnt(self, rows: np.ndarray) -> tuple[TableLevels, np.ndarray]:
        """Levels of the columns and pairs from these rows, and their codes, as if the other rows did not exist."""
        table, known = self.table.take(rows), self.known.take(rows)
        # Classes that these rows lack are left out.
        present, classes = np.unique(np.asarray(known.class_codes), return_inverse=True)
        order = ClassOrder.of(classes, present.size, known.weights)
        if order.rows.size == 0:  # no row has weight
            known = replace(known, weights=None)
            order = ClassOrder.of(classes, present.size, None)

        fitted, codes = fit_columns(table, self.coders, order, self.missing, self.n_jobs)
        pairs = [columns for columns in self.features if len(columns) > 1]
        if not pairs:
            return fitted.levels, codes
        counted = Rows(classes.astype(np.min_scalar_type(present.size)), present, known.weights)
        samples = RowSamples(lambda: self.hashes()[rows], counted)
        finder = PairFinder(table.kinds(), self.grouper, order, counted, samples, self.n_jobs)
        named = [[table.names[i] for i in pair] for pair in pairs]

        def fit(coders: Sequence[ColumnCoder], columns: Sequence[int], **_: Any) -> tuple[FittedColumns, np.ndarray]:
            return fit_columns(table.select(columns), coders, order, self.missing, self.n_jobs)

        return finder.add(named, fitted, codes, fit)

    def _coded(self, codes: np.ndarray, levels: TableLevels, rows: np.ndarray) -> CodedTable:
        n_columns = self.table.n_columns
        pairs = iter(range(n_columns, len(levels)))
        positions = [columns[0] if len(columns) == 1 else next(pairs) for columns in self.features]
        known, recoder = self.known.take(rows), replace(self, rows=rows)
        if positions == list(range(len(codes))):
            return CodedTable(codes, levels.n_levels, self.names, rows=known, levels=levels, recoder=recoder)
        return CodedTable(codes[positions], levels.n_levels[positions], self.names, rows=known, recoder=recoder)


N_CELLS = 64
"""Cells of a numeric column, about as many rows each, apart from those that the cut points of its levels add."""
LEAST_ROWS_OF_VALUE = 2
"""Rows of a value that is a separate cell; the other values of its group share one."""


def cells_of(level: FeatureLevels, column: Column, weights: np.ndarray, most: int | None = None) -> FeatureLevels:
    """Intervals of quantiles of numbers joined with the cut points of the levels, or single values of the groups.

    Parameters
    ----------
    level : the levels that the cells are nested in.
    column : rows that the cells are learnt from.
    weights : (n_rows,), positive.
    most : how many cells there may be, without those of missing and special values; None for any number.

    Returns
    -------
    FeatureLevels
        Of the same column; ``level`` itself if it cannot be split.
    """
    n_apart = level.n_special_levels + (level.kind == "categorical" and level.has_missing_level)
    left = N_CELLS if most is None else most - (level.n_levels - n_apart)
    if left < 1:
        return level
    if level.kind == "numeric":
        numbers, _ = level.with_special(column).read_numbers(number_type(level.type), [], level.day_first)
        return _cells_of_numbers(level, numbers, weights, min(N_CELLS, left + 1))
    return _cells_of_values(level, column, weights, None if most is None else left)


def coarser_codes(cells: FeatureLevels, level: FeatureLevels) -> np.ndarray:
    """(n_cells,) the level that each cell is part of."""
    if cells is level:
        return np.arange(level.n_levels)
    if cells.cut_points is not None:
        inside = np.append(cells.cut_points, np.finfo(float).max)  # a number in each cell
        codes = level.code_numbers(inside).astype(np.int64)
        if cells.has_level_below_numbers and level.missing_code is not None:
            codes[0] = level.missing_code
        return codes
    assert cells.groups is not None
    texts = [None if group[0] is None else canonical_text(group[0]) for group in cells.groups]
    return np.array([level.missing_code if text is None else level._code_of_text[text] for text in texts])


def merged_cells(
    cells: FeatureLevels, of_level: np.ndarray, rows: np.ndarray, n_intervals: int
) -> tuple[FeatureLevels, np.ndarray]:
    """About ``n_intervals`` intervals of as many rows each, besides those that the cut points of the levels add; and
    which of them each cell is part of, (n_cells,).

    Parameters
    ----------
    cells : of numbers, from `cells_of`; missing values stay apart.
    of_level : (n_cells,) the level of each.
    rows : (n_cells,) rows (or weight) of each.
    """
    assert cells.cut_points is not None
    first = cells.n_special_levels
    shares = rows[first:] / rows[first:].sum()
    interval = np.minimum(((np.cumsum(shares) - shares / 2) * n_intervals).astype(np.int64), n_intervals - 1)
    changes = (np.diff(interval) > 0) | (np.diff(of_level[first:]) != 0)
    cuts = np.append(cells.cut_points[:first], cells.cut_points[first:][changes])
    line = np.append(np.arange(first), first + np.cumsum(np.append(False, changes)))
    return replace(cells, cut_points=cuts, counts=None), line


def _cells_of_numbers(level: FeatureLevels, numbers: np.ndarray, weights: np.ndarray, n_cells: int) -> FeatureLevels:
    known = np.isfinite(numbers) & (numbers > (HIGHEST_SPECIAL if level.special else -np.inf))
    values, at = np.unique(numbers[known], return_inverse=True)
    if values.size < 2:
        return level
    rows = np.cumsum(np.bincount(at, weights[known]))
    # Narrower in the tails, as the waves of curves are there: equal shares leave steps in the tails of large tables.
    below = np.sin(0.5 * np.pi * np.arange(1, n_cells) / n_cells) ** 2
    last = np.unique(np.searchsorted(rows, rows[-1] * below * (1.0 - 1e-12)))
    last = last[last < values.size - 1]
    low, high = values[last], values[last + 1]
    middle = low / 2 + high / 2  # their difference may overflow
    cuts = np.where((middle > low) & (middle < high), middle, low)
    cuts = np.unique(np.concatenate([cuts, level.number_cuts]))
    missing = level.missing_code is not None
    lowest = [*([-np.inf] if missing else []), *map(special_number, range(len(level.special)))]
    facts: dict[str, Any] = {"missing_code": 0 if missing else None, "special": level.special}
    return FeatureLevels(level.name, level.kind, level.type, np.append(lowest, cuts), **facts)


def _cells_of_values(level: FeatureLevels, column: Column, weights: np.ndarray, most: int | None) -> FeatureLevels:
    """Return the cells of groups; ``most`` : how many more than levels there may be, of the most frequent values."""
    assert level.groups is not None
    single = level.by_value()
    counts = np.bincount(single.code(column, []), weights, single.n_levels + 1)
    values = [value for (value,) in single.groups or ()]
    rows = {canonical_text(v): n for v, n in zip(values, counts[:-1], strict=True) if v is not None}
    often = {text for text, n in rows.items() if n >= LEAST_ROWS_OF_VALUE}
    if most is not None:
        joined = {canonical_text(v) for group in level.groups if len(group) > 1 for v in group if v is not None}
        often = {*sorted(often & joined, key=lambda text: (-rows[text], text))[:most]}
    groups: list[tuple[object, ...]] = []
    for group in level.groups:
        apart = [value for value in group if value is None or canonical_text(value) in often]
        rest = tuple(value for value in group if not (value is None or canonical_text(value) in often))
        groups += [(value,) for value in apart] + ([rest] if rest else [])
    if len(groups) == level.n_levels:
        return level
    missing = next((code for code, group in enumerate(groups) if group[0] is None), None)
    return FeatureLevels(name=level.name, kind=level.kind, type=level.type, groups=tuple(groups), missing_code=missing)
