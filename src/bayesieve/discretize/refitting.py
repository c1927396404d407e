"""Refitting of levels on some of the rows, so that the other rows can evaluate them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.counts.row_hashes import ContentHashes, RowSamples
from bayesieve.discretize.column_coders import FittedColumns, code_columns
from bayesieve.discretize.pairs import FitLevels, PairFinder, with_pairs
from bayesieve.discretize.row_blocks import CountedColumns
from bayesieve.discretize.scan_passes import ScannedBlocks
from bayesieve.discretize.table_coding import LevelFitter, TrainingTable
from bayesieve.discretize.value_counts import ClassOrder
from bayesieve.engine import IN_MEMORY
from bayesieve.table import Column, FeatureLevels, Rows, Table, Target
from bayesieve.table.levels import TableLevels
from bayesieve.table.scanned import ScannedTable
from bayesieve.table.target import ClassRuns

if TYPE_CHECKING:
    from bayesieve.discretize.column_coders import ColumnCoder
    from bayesieve.discretize.modl import Prior


@dataclass(frozen=True)
class LevelRefitter:
    """Refitter of the levels of a table on a subset of its rows, so that other rows can evaluate the levels.

    It holds the raw values of the table. Rows in memory, and the sampled rows of a scan, are coded from memory; other
    rows of a scan are read in further passes.

    Parameters
    ----------
    table : raw values of the columns that features use; the rows are in the order in which they were coded.
    coders : coder of each column.
    pair_prior : MODL prior of the groups of cells of pairs.
    missing, n_quantiles : see `TableEncoder`.
    n_jobs : threads.
    features : for each feature the position of its column, or those of a pair.
    names : names of the features.
    hashes : function that returns the hashes of the rows of ``table``.
    runs : map to the source order for rows of a scan that were sorted by class; otherwise None.
    blocks : reader of a scan; None for a table in memory.
    """

    table: Table
    coders: Sequence[ColumnCoder]
    pair_prior: Prior
    missing: str
    n_quantiles: int
    n_jobs: int | None
    features: Sequence[tuple[int, ...]]
    names: tuple[str, ...]
    hashes: Callable[[], np.ndarray]
    runs: ClassRuns | None = None
    blocks: ScannedBlocks | None = None

    @classmethod
    def of(
        cls,
        levels: TableLevels,
        training: TrainingTable,
        coders: Sequence[ColumnCoder],
        pair_prior: Prior,
        missing: str,
        n_quantiles: int,
        n_jobs: int | None,
    ) -> LevelRefitter:
        """Return the refitter of all features with ``levels``. ``coders`` are those of the columns of ``training``;
        ``pair_prior``, ``missing``, ``n_quantiles`` and ``n_jobs`` are attributes of the refitter.
        """
        table, runs = training.table.read_once(), training.rows.runs
        if isinstance(table, ScannedTable) and runs is not None:
            table = table.by_class(runs)
        position = {name: i for i, name in enumerate(levels.names[: levels.n_columns])}  # the table may lack names
        pairs = [tuple(position[part.name] for part in pair.parts) for pair in levels.pairs]
        features = [*((i,) for i in range(table.n_columns)), *pairs]
        return cls(
            table,
            coders,
            pair_prior,
            missing=missing,
            n_quantiles=n_quantiles,
            n_jobs=n_jobs,
            features=features,
            names=levels.names,
            hashes=training.samples.hashes,
            runs=runs,
            blocks=training.blocks,
        )

    @property
    def uses_classes(self) -> bool:
        """Whether the levels depend on the classes of the rows."""
        return any(coder.supervised for coder in self.coders) or any(len(columns) > 1 for columns in self.features)

    def select(self, features: np.ndarray) -> LevelRefitter:
        """Return a copy that refits only some features. ``features`` are their positions, in ascending order."""
        chosen = [self.features[k] for k in features.tolist()]
        columns = sorted({i for feature in chosen for i in feature})
        at = {i: k for k, i in enumerate(columns)}
        coders, names = [self.coders[i] for i in columns], tuple(self.names[k] for k in features.tolist())
        placed = [tuple(at[i] for i in feature) for feature in chosen]
        return replace(self, table=self.table.select(columns), coders=coders, features=placed, names=names)

    def raw_columns(self, features: Sequence[int], positions: np.ndarray) -> list[list[Column]]:
        """Return, for each of the ``features``, the raw values of its columns in the rows at ``positions``."""
        columns = sorted({i for k in features for i in self.features[k]})
        position = {i: at for at, i in enumerate(columns)}
        table = self.table.select(columns).take(positions)
        return [[table.column(position[i]) for i in self.features[k]] for k in features]

    def content(self, positions: np.ndarray, classes: np.ndarray) -> ContentHashes:
        """Return hashes of the rows at ``positions``, computed from all columns that vary. ``classes``
        (n_rows,) are the class codes of these rows.
        """
        table = self.table.take(positions)
        numbered, ordered = [], []
        for i, kind in enumerate(table.kinds()):
            column = table.column(i)
            raw = column.numbers() if kind == "numeric" else column.categories().codes
            values, codes = np.unique(raw, return_inverse=True)
            if values.size > 1:
                numbered.append(codes)
                ordered.append(int(np.count_nonzero(~np.isnan(values))) if kind == "numeric" else 0)
        return ContentHashes(numbered, ordered, classes)

    def numbers(self, positions: np.ndarray | None) -> list[np.ndarray | None]:
        """Return the raw numbers of each feature, a list of arrays (n_rows,) with NaN for missing values; None for a
        feature that is not numeric.

        ``positions`` (n_rows,) are positions of rows in the table; None for all rows.
        """
        table = self.table if positions is None else self.table.take(positions)
        columns = [table.column(i) if len(feature) == 1 else None for feature in self.features for i in feature[:1]]
        return [column.numbers() if column is not None and column.kind == "numeric" else None for column in columns]

    def refit(self, rows: Rows, fit: np.ndarray, others: np.ndarray | None = None) -> tuple[CodedTable, CodedTable]:
        """Fit levels to some rows, and code these and other rows by the new levels.

        ``fit`` and ``others`` are positions in ``rows`` (None for all of them). Return two tables: the coded rows
        ``fit``, and the coded rows ``others``.
        """
        chosen = rows.take(fit), rows if others is None else rows.take(others)
        every = np.arange(self.table.n_rows)
        in_fit, in_others = (every if part.positions is None else part.positions for part in chosen)
        if self.blocks is not None and not self._in_sample(np.union1d(in_fit, in_others)):
            levels, codes = self._refit_in_passes(self.blocks, chosen[0], in_fit, in_others)
        else:
            training = self._training(self.table.take(in_fit), chosen[0])
            fitter = LevelFitter(training, self.missing, self.n_quantiles, self.n_jobs)
            fitted, fitted_codes = fitter.fit(self.coders)
            levels, fitted_codes = self._add_pairs(training, fitted, fitted_codes, fitter.fit)
            codes = fitted_codes, code_columns(self.table.take(in_others), levels, self.n_jobs)[0]
        return self._coded(codes[0], chosen[0], levels), self._coded(codes[1], chosen[1], levels)

    def _in_sample(self, positions: np.ndarray) -> bool:
        """Return whether the rows of a scan at ``positions`` are all in the sample in memory."""
        if not isinstance(self.table, ScannedTable) or self.table.sample is None:
            return False
        return self.table.sample.at(np.sort(self._in_source(positions))) is not None

    def _in_source(self, positions: np.ndarray) -> np.ndarray:
        """Convert positions of rows in the table, which may be sorted by class, to positions in the order of the
        source.
        """
        return positions if self.runs is None else self.runs.in_source(positions)

    def _refit_in_passes(
        self, blocks: ScannedBlocks, rows: Rows, fit: np.ndarray, others: np.ndarray
    ) -> tuple[TableLevels, tuple[np.ndarray, np.ndarray]]:
        """Fit levels to rows of a scan, and code these and other rows. Return the levels, and the codes (n_features,
        n_rows) of both.

        ``fit`` and ``others`` are positions of rows in the table, and ``rows`` holds the classes and weights of the
        rows ``fit``. One pass counts the values of the rows ``fit``, and another one codes all rows. Pairs of columns
        whose levels are finer than those of the columns take one more pass.
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
            """Fit the columns at ``positions`` by other coders and, if ``coded`` is True, code all rows of the scan.
            See `LevelFitter.fit`.
            """
            by_others = counted.fit(positions, coders, self.missing)
            if not coded:
                return by_others, None
            every = passes.codes(positions, by_others.levels)
            finer.update(zip(by_others.levels.names, every, strict=True))
            return by_others, every[:, fit]

        training = self._training(self.table, rows)
        levels, fitted_codes = self._add_pairs(training, fitted, codes[:, fit], fit_finer)

        def part_codes(part: FeatureLevels) -> np.ndarray:
            """Return the codes (n_rows,) of the other rows by the levels ``part`` of one column of a pair."""
            i = self.table.names.index(part.name)
            return (codes[i] if part.codes_like(fitted.levels[i]) else finer[part.name])[others]

        pairs = [(pair, part_codes(pair.parts[0]), part_codes(pair.parts[1])) for pair in levels.pairs]
        dtype = max(codes.dtype, *(pair.code_dtype for pair, *_ in pairs)) if pairs else codes.dtype
        into = passes.engine.array((len(levels), others.size), dtype)
        rest = with_pairs(codes[:, others], pairs, into, passes.engine)
        return levels, (fitted_codes, rest)

    def code(self, levels: Sequence[FeatureLevels], positions: np.ndarray) -> np.ndarray:
        """Return the codes of some rows by other levels of the same columns, shape (n_features, n_rows).

        ``levels`` are the levels of each column, and ``positions`` the positions of the rows.
        """
        return code_columns(self.table.take(positions), TableLevels.of(levels), self.n_jobs)[0]

    def _training(self, table: Table, rows: Rows) -> TrainingTable:
        """Return the training table of some rows. ``table`` holds their values, and ``rows`` their classes and weights.

        Classes without rows are dropped; if all weights are 0, they are set to 1.
        """
        classes, codes = np.unique(np.asarray(rows.class_codes), return_inverse=True)
        codes = codes.astype(np.min_scalar_type(classes.size))
        weights = rows.weights if rows.weights is not None and rows.weights.any() else None
        order, of_rows = ClassOrder.of(codes, classes.size, weights), Rows(codes, classes, weights)
        samples = RowSamples(self.hashes, replace(of_rows, positions=rows.positions))
        return TrainingTable(table, Target(codes, classes), weights, order, of_rows, samples, IN_MEMORY)

    def _add_pairs(
        self, training: TrainingTable, fitted: FittedColumns, codes: np.ndarray, fit_levels: FitLevels
    ) -> tuple[TableLevels, np.ndarray]:
        """Refit the levels of pairs. Return the levels of the columns and pairs, and their codes, shape (n_features,
        n_rows).

        ``fitted`` and ``codes`` (n_columns, n_rows) are the refitted levels and the codes of the columns of
        ``training``; ``fit_levels`` fits them by other coders, as `LevelFitter.fit` does.
        """
        names = self.table.names
        pairs = [[names[i] for i in columns] for columns in self.features if len(columns) > 1]
        if not pairs:
            return fitted.levels, codes
        return PairFinder(training, self.pair_prior, self.n_jobs).add(pairs, fitted, codes, fit_levels)

    def _coded(self, codes: np.ndarray, rows: Rows, levels: TableLevels) -> CodedTable:
        """Return rows as a `CodedTable` of the features, from codes (n_features, n_rows) by ``levels``, whose pairs
        come last.
        """
        pairs = iter(range(self.table.n_columns, len(levels)))
        positions = [columns[0] if len(columns) == 1 else next(pairs) for columns in self.features]
        samples = RowSamples(self.hashes, rows)
        if positions == list(range(len(codes))):
            return CodedTable(codes, levels.n_levels, self.names, rows=rows, levels=levels, samples=samples)
        return CodedTable(codes[positions], levels.n_levels[positions], self.names, rows=rows, samples=samples)
