"""Refit levels on some rows to evaluate them on the others, and split levels into cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.counts.row_hashes import Content, RowSamples
from bayesieve.discretize.level_fitting import FittedColumns, code_columns, fit_columns
from bayesieve.discretize.pairs import FitLevels, PairFinder, with_pairs
from bayesieve.discretize.row_blocks import EXACT_ROWS, QUANTILES, CountedColumns, TableBlocks
from bayesieve.discretize.row_samples import RowHashes
from bayesieve.discretize.scan_passes import ScannedBlocks
from bayesieve.discretize.value_counts import ClassOrder
from bayesieve.engine import IN_MEMORY, map_in_threads
from bayesieve.table import FeatureLevels, Rows, Table, Target
from bayesieve.table.columns import Column, SpecialValues, special_number
from bayesieve.table.levels import TableLevels, smallest_unsigned
from bayesieve.table.scanned import ScannedTable
from bayesieve.table.values import HIGHEST_SPECIAL, canonical_text, number_type

if TYPE_CHECKING:
    from bayesieve.discretize.column_coder import ColumnCoder
    from bayesieve.discretize.modl import MODLGrouper


@dataclass(frozen=True)
class LevelRefitter:
    """Recode the rows of a table, from their raw values, with levels fitted to some of them only.

    Rows in memory, and the sampled rows of a scan, are recoded here; other rows of a scan in further passes over it.

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
    samples : of the rows of ``table``; None if only some of them count.
    blocks : passes over a scan; None for a table in memory.
    n_quantiles : as in `TableEncoder`.
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
    samples: RowSamples | None
    blocks: ScannedBlocks | None = None
    n_quantiles: int = QUANTILES
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
        samples: RowSamples | None = None,
        blocks: ScannedBlocks | None = None,
        n_quantiles: int = QUANTILES,
    ) -> LevelRefitter:
        """Return the refitter of all features of a table."""
        position = {name: i for i, name in enumerate(levels.names[: levels.n_columns])}  # the table may lack names
        pairs = [tuple(position[part.name] for part in pair.parts) for pair in levels.pairs]
        features = [*((i,) for i in range(table.n_columns)), *pairs]
        hashes = RowHashes(table, known, n_jobs) if hashes is None else hashes
        samples = RowSamples(hashes, known) if samples is None else samples
        rows = (known, n_jobs, features, levels.names, hashes, samples, blocks, n_quantiles)
        return cls(table.read_once(), coders, grouper, missing, *rows)

    @property
    def uses_classes(self) -> bool:
        """Whether the levels depend on the classes of the rows."""
        return any(coder.supervised for coder in self.coders) or any(len(columns) > 1 for columns in self.features)

    def take(self, rows: np.ndarray) -> LevelRefitter:
        """Return a copy for some of the rows, in this order."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows], samples=None)

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

    def row_hashes(self) -> np.ndarray:
        """Return hashes of the rows, by all columns of the table that was coded."""
        return self.hashes() if self.rows is None else self.hashes()[self.rows]

    def content(self, classes: np.ndarray) -> Content:
        """Return the rows with these classes by their values in all columns that are not constant."""
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
        """Return (n_rows,) values of each feature of numbers, NaN where missing; None for the others."""
        table = self._own
        columns = [table.column(i) if len(feature) == 1 else None for feature in self.features for i in feature[:1]]
        return [column.numbers() if column is not None and column.kind == "numeric" else None for column in columns]

    def learn(self, fit: np.ndarray, rows: np.ndarray | None = None) -> tuple[CodedTable, CodedTable]:
        """Return the rows at the positions ``fit``, to which the levels are fitted, and those at ``rows`` (None: all),
        with the levels if they are those of all features.
        """
        every = np.arange(self.table.n_rows) if self.rows is None else self.rows
        fit, others = every[fit], every if rows is None else every[rows]
        if self.blocks is not None and not self._in_sample(np.union1d(fit, others)):
            return self._learn_in_passes(self.blocks, fit, others)
        levels, own = self._learnt(fit)
        codes, _ = code_columns(self.table.take(others), levels, self.n_jobs)
        return self._coded(own, levels, fit), self._coded(codes, levels, others)

    def _in_sample(self, rows: np.ndarray) -> bool:
        """Return whether these rows of a scan are in memory."""
        if not isinstance(self.table, ScannedTable) or self.table.sample is None:
            return False
        return self.table.sample.at(np.sort(self._in_source(rows))) is not None

    def _in_source(self, rows: np.ndarray) -> np.ndarray:
        """Return the positions of rows in the order of the source."""
        return rows if self.known.runs is None else self.known.runs.in_source(rows)

    def _learn_in_passes(
        self, blocks: ScannedBlocks, fit: np.ndarray, others: np.ndarray
    ) -> tuple[CodedTable, CodedTable]:
        """Return the rows ``fit`` and ``others`` of a scan, coded by levels fitted to the former.

        One pass counts the values of the rows ``fit``, and another one codes all rows. Pairs of columns with finer
        levels than those of the columns take one more pass.
        """
        assert isinstance(self.table, ScannedTable)
        passes, columns = blocks.of_columns(self.table), range(self.table.n_columns)
        counted = CountedColumns(passes.of_rows(np.sort(self._in_source(fit))), self.n_jobs, self.n_quantiles)
        fitted = counted.fit(columns, self.coders, self.missing)
        codes = passes.codes(columns, fitted.levels)
        finer: dict[str, np.ndarray] = {}  # codes of columns by the levels with which they are part of pairs

        def fit_finer(
            coders: Sequence[ColumnCoder], positions: Sequence[int], *, coded: bool = True
        ) -> tuple[FittedColumns, Any]:
            by_others = counted.fit(positions, coders, self.missing)
            if not coded:
                return by_others, None
            every = passes.codes(positions, by_others.levels)
            finer.update(zip(by_others.levels.names, every, strict=True))
            return by_others, every[:, fit]

        levels, own = self._with_pairs(fitted, codes[:, fit], fit, self._counted_rows(fit), fit_finer)

        def part_codes(part: FeatureLevels) -> np.ndarray:
            i = self.table.names.index(part.name)
            return (codes[i] if part is fitted.levels[i] else finer[part.name])[others]

        pairs = [(pair, part_codes(pair.parts[0]), part_codes(pair.parts[1])) for pair in levels.pairs]
        dtype = max(codes.dtype, *(pair.code_dtype for pair, *_ in pairs)) if pairs else codes.dtype
        into = passes.engine.array((len(levels), others.size), dtype)
        rest = with_pairs(codes[:, others], pairs, into, passes.engine)
        return self._coded(own, levels, fit), self._coded(rest, levels, others)

    def code(self, levels: Sequence[FeatureLevels]) -> CodedTable:
        """Return the rows coded by other levels of the same columns, without classes."""
        of_table = TableLevels.of(levels)
        codes, unseen = code_columns(self._own, of_table, self.n_jobs)
        return CodedTable(codes, of_table.n_levels, of_table.names, levels=of_table, unseen=unseen)

    def refine(
        self, levels: Sequence[FeatureLevels], weights: np.ndarray, most: Sequence[int | None]
    ) -> tuple[list[FeatureLevels], np.ndarray]:
        """Return cells nested in these levels, learnt from the rows and their positive weights, and the rows coded by
        them; levels that cannot be split stay as they are. ``most`` : cells of each feature at most, as `cells_of`
        takes it.
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
        """Fit levels of the columns and pairs to rows in memory as if the other rows did not exist; and code them."""
        table, (counted_rows, order) = self.table.take(rows), self._counted_rows(rows)

        def fit(coders: Sequence[ColumnCoder], columns: Sequence[int], **_: Any) -> tuple[FittedColumns, np.ndarray]:
            own = table if len(columns) == table.n_columns else table.select(columns)
            if len(rows) <= EXACT_ROWS:
                return fit_columns(own, coders, order, self.missing, self.n_jobs)
            # Values of larger tables are counted by the same rule as in a scan.
            target = Target(np.asarray(counted_rows.class_codes), np.asarray(counted_rows.classes))
            blocks = TableBlocks(own, target, counted_rows.weights, IN_MEMORY, self.n_jobs, [slice(0, len(rows))])
            counted = CountedColumns(blocks, self.n_jobs, self.n_quantiles)
            fitted = counted.fit(range(own.n_columns), coders, self.missing)
            return fitted, counted.codes(range(own.n_columns), fitted.levels)

        fitted, codes = fit(self.coders, range(table.n_columns))
        return self._with_pairs(fitted, codes, rows, (counted_rows, order), fit)

    def _counted_rows(self, rows: np.ndarray) -> tuple[Rows, ClassOrder]:
        """Return rows with their classes, numbered without those that the rows lack, and their weights, or None if no
        row has weight; and their order by class.
        """
        known = self.known.take(rows)
        present, classes = np.unique(np.asarray(known.class_codes), return_inverse=True)
        weights = known.weights if known.weights is not None and known.weights.any() else None
        classes = classes.astype(np.min_scalar_type(present.size))
        return Rows(classes, present, weights), ClassOrder.of(classes, present.size, weights)

    def _with_pairs(
        self,
        fitted: FittedColumns,
        codes: np.ndarray,
        rows: np.ndarray,
        counted: tuple[Rows, ClassOrder],
        fit: FitLevels,
    ) -> tuple[TableLevels, np.ndarray]:
        """Add the pairs of the features to the levels of their columns, fitted to these rows, and to their codes."""
        pairs = [columns for columns in self.features if len(columns) > 1]
        if not pairs:
            return fitted.levels, codes
        counted_rows, order = counted
        samples = RowSamples(lambda: self.hashes()[rows], counted_rows)
        finder = PairFinder(self.table.kinds(), self.grouper, order, counted_rows, samples, self.n_jobs)
        return finder.add([[self.table.names[i] for i in pair] for pair in pairs], fitted, codes, fit)

    def _coded(self, codes: np.ndarray, levels: TableLevels, rows: np.ndarray) -> CodedTable:
        n_columns = self.table.n_columns
        pairs = iter(range(n_columns, len(levels)))
        positions = [columns[0] if len(columns) == 1 else next(pairs) for columns in self.features]
        known, recoder = self.known.take(rows), replace(self, rows=rows, samples=None)
        if positions == list(range(len(codes))):
            return CodedTable(codes, levels.n_levels, self.names, rows=known, levels=levels, recoder=recoder)
        return CodedTable(codes[positions], levels.n_levels[positions], self.names, rows=known, recoder=recoder)


N_CELLS = 64
"""Cells of a numeric column, about as many rows each, apart from those that the cut points of its levels add."""
LEAST_ROWS_OF_VALUE = 2
"""Rows of a value that is a separate cell; the other values of its group share one."""


def cells_of(level: FeatureLevels, column: Column, weights: np.ndarray, most: int | None = None) -> FeatureLevels:
    """Return intervals of quantiles of numbers joined with the cut points of the levels, or single values of the
    groups.

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
        if level.special:
            column = column.read_as(column.name, SpecialValues(level.special))
        numbers, _ = column.read_numbers(number_type(level.type), [], level.day_first)
        return _cells_of_numbers(level, numbers, weights, min(N_CELLS, left + 1))
    return _cells_of_values(level, column, weights, None if most is None else left)


def coarser_codes(cells: FeatureLevels, level: FeatureLevels) -> np.ndarray:
    """Return (n_cells,) the level that each cell is part of."""
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
    """Return about ``n_intervals`` intervals of as many rows each, besides those that the cut points of the levels add;
    and which of them each cell is part of, (n_cells,).

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
