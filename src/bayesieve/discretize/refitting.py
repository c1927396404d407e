"""Refit levels on some rows to evaluate them on the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.counts.row_hashes import Content, RowSamples
from bayesieve.discretize.column_coders import FittedColumns, code_columns
from bayesieve.discretize.pairs import FitLevels, PairFinder, with_pairs
from bayesieve.discretize.row_blocks import QUANTILES, CountedColumns
from bayesieve.discretize.scan_passes import ScannedBlocks
from bayesieve.discretize.table_coding import LevelFitter, RowHashes, TrainingTable
from bayesieve.discretize.value_counts import ClassOrder
from bayesieve.engine import IN_MEMORY
from bayesieve.table import Column, FeatureLevels, Rows, Table, Target
from bayesieve.table.levels import TableLevels
from bayesieve.table.scanned import ScannedTable

if TYPE_CHECKING:
    from bayesieve.discretize.column_coders import ColumnCoder
    from bayesieve.discretize.modl import Prior


@dataclass(frozen=True)
class LevelRefitter:
    """Recode the rows of a table, from their raw values, with levels fitted to some of them only.

    Rows in memory, and the sampled rows of a scan, are recoded here; other rows of a scan in further passes over it.

    Parameters
    ----------
    table : the raw values of the columns that the features are made of.
    coders : the coder of each column.
    pair_prior : by which the cells of pairs are grouped.
    missing : as `TableEncoder` has it.
    table_rows : classes and weights of the rows of ``table``.
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
    pair_prior: Prior
    missing: str
    table_rows: Rows
    n_jobs: int | None
    features: Sequence[tuple[int, ...]]
    names: Sequence[str]
    hashes: Callable[[], np.ndarray]
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
        pair_prior: Prior,
        missing: str,
        table_rows: Rows,
        n_jobs: int | None,
        hashes: Callable[[], np.ndarray] | None = None,
        samples: RowSamples | None = None,
        blocks: ScannedBlocks | None = None,
        n_quantiles: int = QUANTILES,
    ) -> LevelRefitter:
        """Return the refitter of all features of a table."""
        position = {name: i for i, name in enumerate(levels.names[: levels.n_columns])}  # the table may lack names
        pairs = [tuple(position[part.name] for part in pair.parts) for pair in levels.pairs]
        features = [*((i,) for i in range(table.n_columns)), *pairs]
        if isinstance(table, ScannedTable) and table_rows.runs is not None:
            table = table.by_class(table_rows.runs)  # in the order in which the rows are coded
        hashes = RowHashes(table, table_rows, n_jobs) if hashes is None else hashes
        samples = RowSamples(hashes, table_rows) if samples is None else samples
        rows = (table_rows, n_jobs, features, levels.names, hashes, samples, blocks, n_quantiles)
        return cls(table, coders, pair_prior, missing, *rows)

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
        return replace(self, table_rows=replace(self.table_rows, columns={**self.table_rows.columns, **of_table}))

    def raw_rows(self) -> Table:
        """Return the raw values of the rows that count."""
        return self.table if self.rows is None else self.table.take(self.rows)

    def raw_columns(self, features: Sequence[int], rows: np.ndarray) -> list[list[Column]]:
        """Return the raw values of some of the rows (positions), in the columns of each of these features."""
        columns = sorted({i for k in features for i in self.features[k]})
        position = {i: at for at, i in enumerate(columns)}
        table = self.table.select(columns).take(rows if self.rows is None else self.rows[rows])
        return [[table.column(position[i]) for i in self.features[k]] for k in features]

    def row_hashes(self) -> np.ndarray:
        """Return hashes of the rows, by all columns of the table that was coded."""
        return self.hashes() if self.rows is None else self.hashes()[self.rows]

    def content(self, classes: np.ndarray) -> Content:
        """Return the rows with these classes by their values in all columns that are not constant."""
        table = self.raw_rows()
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
        """Return the values of each feature, (n_rows,), NaN if missing; None for features that are not numeric."""
        table = self.raw_rows()
        columns = [table.column(i) if len(feature) == 1 else None for feature in self.features for i in feature[:1]]
        return [column.numbers() if column is not None and column.kind == "numeric" else None for column in columns]

    def learn(self, fit: np.ndarray, rows: np.ndarray | None = None) -> tuple[CodedTable, CodedTable]:
        """Fit levels to the rows at positions ``fit``. Return these rows and those at ``rows`` (None: all) coded by
        them.
        """
        every = np.arange(self.table.n_rows) if self.rows is None else self.rows
        fit, others = every[fit], every if rows is None else every[rows]
        if self.blocks is not None and not self._in_sample(np.union1d(fit, others)):
            return self._learn_in_passes(self.blocks, fit, others)
        levels, fitted_codes = self._fit(fit)
        codes, _ = code_columns(self.table.take(others), levels, self.n_jobs)
        return self._coded(fitted_codes, levels, fit), self._coded(codes, levels, others)

    def _in_sample(self, rows: np.ndarray) -> bool:
        """Return whether these rows of a scan are in memory."""
        if not isinstance(self.table, ScannedTable) or self.table.sample is None:
            return False
        return self.table.sample.at(np.sort(self._in_source(rows))) is not None

    def _in_source(self, rows: np.ndarray) -> np.ndarray:
        """Return the positions of rows in the order of the source."""
        return rows if self.table_rows.runs is None else self.table_rows.runs.in_source(rows)

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

        training = self._training(self.table, fit)
        levels, fitted_codes = self._add_pairs(training, fitted, codes[:, fit], fit_finer)

        def part_codes(part: FeatureLevels) -> np.ndarray:
            i = self.table.names.index(part.name)
            return (codes[i] if part is fitted.levels[i] else finer[part.name])[others]

        pairs = [(pair, part_codes(pair.parts[0]), part_codes(pair.parts[1])) for pair in levels.pairs]
        dtype = max(codes.dtype, *(pair.code_dtype for pair, *_ in pairs)) if pairs else codes.dtype
        into = passes.engine.array((len(levels), others.size), dtype)
        rest = with_pairs(codes[:, others], pairs, into, passes.engine)
        return self._coded(fitted_codes, levels, fit), self._coded(rest, levels, others)

    def code(self, levels: Sequence[FeatureLevels]) -> CodedTable:
        """Code the rows by other levels of the same columns; the result has no classes."""
        of_table = TableLevels.of(levels)
        codes, unseen = code_columns(self.raw_rows(), of_table, self.n_jobs)
        return CodedTable(codes, of_table.n_levels, of_table.names, levels=of_table, unseen=unseen)

    def _fit(self, rows: np.ndarray) -> tuple[TableLevels, np.ndarray]:
        """Fit levels of columns and pairs to ``rows`` only, and return the levels and the codes of these rows."""
        training = self._training(self.table.take(rows), rows)
        fitter = LevelFitter(training, self.missing, self.n_quantiles, self.n_jobs)
        fitted, codes = fitter.fit(self.coders)
        return self._add_pairs(training, fitted, codes, fitter.fit)

    def _training(self, table: Table, rows: np.ndarray) -> TrainingTable:
        """Return ``rows`` of ``table`` as a training table. Classes without rows are dropped, and if all weights are 0,
        every row counts once.
        """
        chosen = self.table_rows.take(rows)
        classes, codes = np.unique(np.asarray(chosen.class_codes), return_inverse=True)
        codes = codes.astype(np.min_scalar_type(classes.size))
        weights = chosen.weights if chosen.weights is not None and chosen.weights.any() else None
        order, of_rows = ClassOrder.of(codes, classes.size, weights), Rows(codes, classes, weights)

        def hashes() -> np.ndarray:
            return self.hashes()[rows]

        samples = RowSamples(hashes, of_rows)
        return TrainingTable(table, Target(codes, classes), weights, order, of_rows, hashes, samples, IN_MEMORY)

    def _add_pairs(
        self, training: TrainingTable, fitted: FittedColumns, codes: np.ndarray, fit_levels: FitLevels
    ) -> tuple[TableLevels, np.ndarray]:
        """Refit the pairs; return the levels and codes of columns, followed by those of the pairs."""
        names = self.table.names
        pairs = [[names[i] for i in columns] for columns in self.features if len(columns) > 1]
        if not pairs:
            return fitted.levels, codes
        return PairFinder(training, self.pair_prior, self.n_jobs).add(pairs, fitted, codes, fit_levels)

    def _coded(self, codes: np.ndarray, levels: TableLevels, rows: np.ndarray) -> CodedTable:
        n_columns = self.table.n_columns
        pairs = iter(range(n_columns, len(levels)))
        positions = [columns[0] if len(columns) == 1 else next(pairs) for columns in self.features]
        chosen, recoder = self.table_rows.take(rows), replace(self, rows=rows, samples=None)
        if positions == list(range(len(codes))):
            return CodedTable(codes, levels.n_levels, self.names, rows=chosen, levels=levels, recoder=recoder)
        return CodedTable(codes[positions], levels.n_levels[positions], self.names, rows=chosen, recoder=recoder)
