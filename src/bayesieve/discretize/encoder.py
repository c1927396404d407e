"""`TableEncoder`: codes raw tables of mixed columns."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesieve.counts import CodedTable
from bayesieve.counts.row_content import fingerprints
from bayesieve.discretize import row_blocks, row_tasks
from bayesieve.discretize.binning import EqualFrequencyDiscretizer, EqualWidthDiscretizer, MDLPDiscretizer
from bayesieve.discretize.column_coder import ColumnCoder, TableCoder, read_classes
from bayesieve.discretize.criterion import Prior, doubtful, part_cost
from bayesieve.discretize.fitted_columns import FittedColumns, code_columns, fit_columns
from bayesieve.discretize.modl import GroupsOrValues, MODLDiscretizer, MODLGrouper, ValueCoder
from bayesieve.discretize.pairs import PairFinder, check_pairs, grouper_of
from bayesieve.discretize.recoding import RowPrints, TableRecoder
from bayesieve.discretize.repeats import find_repeats, may_repeat, scan_caution
from bayesieve.discretize.row_blocks import (
    QUANTILES,
    CountedColumns,
    TableBlocks,
)
from bayesieve.discretize.ruled_coders import Ruled, as_learnt, for_other_rows, rule_cautions, ruled_coders
from bayesieve.discretize.rules import TableRules
from bayesieve.discretize.scan_passes import ScannedBlocks
from bayesieve.discretize.value_counts import ClassOrder
from bayesieve.engine import IN_MEMORY, Engine, Mapped
from bayesieve.engine.files import mapped_options
from bayesieve.engine.progress import Clock
from bayesieve.parts import is_choice, with_shared_docs
from bayesieve.table import FeatureLevels, Rows, Table, Target
from bayesieve.table.cautions import MOST_JUDGED_ROWS, Caution, Mark, marks
from bayesieve.table.frames import apart_by_name, as_table, fit_table, is_scan, new_table
from bayesieve.table.levels import TableLevels
from bayesieve.table.scanned import ScannedTable, scanned_rows
from bayesieve.table.target import ClassRuns, as_sample_weight, as_target, class_position, side_of

_BINS = {"equal-frequency": EqualFrequencyDiscretizer, "equal-width": EqualWidthDiscretizer}
_CODERS: dict[str, dict[str, Any]] = {
    "numeric": {"modl": MODLDiscretizer, "mdlp": MDLPDiscretizer, **_BINS},
    "categorical": {"modl": MODLGrouper, "values": ValueCoder, "auto": GroupsOrValues},
}


@with_shared_docs
@dataclass(kw_only=True, eq=False, repr=False)
class TableEncoder(TableCoder):
    """Code every column of a mixed table: intervals for numbers, groups for categories.

    Parameters
    ----------
    numeric : {"modl", "mdlp", "equal-frequency", "equal-width"} or estimator, default="modl"
        Discretization of numeric columns: a name, or a discretizer of this package with its own options.
    categorical : {"modl", "values", "auto"} or estimator, default="modl"
        ``"modl"`` groups values; ``"values"`` gives every value its own level; ``"auto"`` does in columns of 30
        values or more if this clearly saves more nats of the labels than groups do. Such levels are for models that
        hold them together, as `SelectiveNB` does with fitted weights or evidence.
    prior : {"sizes", "published"}, default="sizes"
        See `MODLDiscretizer` and `MODLGrouper`; for both kinds of ``"modl"``. By sizes, each level beyond the
        first costs 2 log(min(K, N) / (5 sqrt(N))) nats more in a table of N rows and K > 5 sqrt(N) columns, some of
        which chance would cut.
    missing : {"level", "ignore"}, default="level"
        ``"level"``: missing values seen in training are a separate level (unless the feature is uninformative).
        ``"ignore"``: they add nothing to any class, in training and prediction.
    unseen : {"ignore"}, default="ignore"
        A category never seen in training, or a missing value in a column that had none, gets the code "number of
        levels", which adds nothing to the log probability of any class. It is counted in ``unseen_counts_`` and is
        never an error.
    kinds : dict or None, default=None
        Kinds of columns by name, ``"numeric"`` or ``"categorical"``, to override the inferred ones.
    pairs : "auto", int or list of pairs of names, default=0
        Pairs of columns to code as further features, after the columns: the cells of the grid of their levels,
        grouped as the values of a category are. ``"auto"``: pairs that say more about the classes than their columns
        do alone, up to 60, without counters, identifiers and dates; a number: up to this many; a list: these
        pairs. Cells without training rows are unseen.
    n_quantiles : int, default=65535
        Tables of over 1,048,576 rows: in how many quantiles to count numbers of over 100,000 distinct values.
    levels : dict, path of a YAML file, Scorecard or None, default=None
        What is asked of the levels of single columns, by name, each a dict with any of: ``cuts`` (numbers, or dates as
        text) or ``groups`` (lists of values) by hand; ``coarsen``, True to let the criterion join these; ``cells``,
        True to let a model score values of these levels differently; ``special``, values of a numeric column with
        levels of their own: a list, or a dict from names to values; ``missing``, "apart" or a value whose level missing
        values join; ``monotone``, 1, -1 or "auto"; ``min_rows`` and ``max_rows`` of a level, shares of the rows if
        below 1; ``max_levels``; ``exclude`` or ``include``, True for columns that must be out of a model, or in it. The
        scorecard of a fitted model: its levels are kept, and values in none of them count as never seen.

    Attributes
    ----------
    levels_ : sequence of FeatureLevels
        One per column, created on access, then one per pair (`PairLevels`).
    level_scores_ : float array, shape (n_features,)
        1 - cost / null cost of the MODL criterion; 0 for a column in one level.
    marks_ : dict
        Columns that mark rows or moments, by name: ``"counter"``, ``"identifier"`` or ``"date"``. They are in no pair
        unless named.
    unseen_counts_ : int array, shape (n_features,)
        Number of values without a level in calls of ``transform`` since the fit.

    Examples
    --------
    >>> import polars as pl
    >>> from bayesieve import TableEncoder
    >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10, "job": ["a", None, "b", "b"] * 10})
    >>> encoder = TableEncoder().fit(frame, [0, 0, 1, 1] * 10)
    >>> encoder.levels_[0].labels
    ('<= 32.5', '> 32.5')
    >>> encoder.transform(frame)[:3].tolist()
    [[0, 1], [0, 2], [1, 0]]
    """

    numeric: str | ColumnCoder = "modl"
    categorical: str | ColumnCoder = "modl"
    prior: Prior = "sizes"
    missing: Literal["level", "ignore"] = "level"
    unseen: Literal["ignore"] = "ignore"
    kinds: Mapping[str, str] | None = None
    pairs: str | int | Sequence[Sequence[str]] = 0
    n_quantiles: int = QUANTILES
    levels: Any = None
    n_jobs: int | None = -1

    @with_shared_docs
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> TableEncoder:
        """Find the levels of every column.

        Returns
        -------
        self
        """
        self.fit_transform_coded(X, y, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, and return the codes of the same rows."""
        return self.fit_transform_coded(X, y, sample_weight).codes.T

    def fit_transform_coded(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        engine: Engine = IN_MEMORY,
        single: Collection[str] = (),
        by_class: bool = False,
        verbose: int = 0,
        clock: Clock | None = None,
        executor: Executor | None = None,
        rows_kept: Callable[[int, int], int] | None = None,
        copies_once: bool = False,
    ) -> CodedTable:
        """Fit, and return the same rows as a `CodedTable` with classes, weights and levels.

        Parameters
        ----------
        engine : where the codes live, such as `bayesieve.engine.Mapped` for files. If it has several blocks, the values
            of one block of rows are converted at a time, unless there are fractional weights.
        single : columns that are in no pair unless it is named.
        by_class : whether to list the rows of a scanned table class after class.
        verbose : 1 shows the progress of reading a scanned table.
        clock : TimeoutError is raised if it is up before all rows of a scanned table are read.
        executor : reads the rows of a scanned table; None reads them here.
        rows_kept : how many rows of a scanned table to draw, by the numbers of columns and classes; they stay in
            memory for later steps of a fit.
        copies_once : whether copies of rows in memory count once, by the weights of the returned table, with a caution;
            see `find_repeats`. Copies in a scan only get the caution.
        """
        if is_scan(X, y):
            scan = scanned_rows(X, y, sample_weight)
            X, y, sample_weight = scan.table, scan.target, scan.weights
        else:
            X, y, sample_weight = apart_by_name(X, y, sample_weight)
        table, coders, grouper = self._read_for_fit(X, self._side(y, sample_weight))
        target, weights, order = read_classes(self, table, y, sample_weight)
        row_hashes, repeats = None, None
        if copies_once and not isinstance(table, ScannedTable):
            row_hashes = fingerprints(table, self.n_jobs) if may_repeat(table, self.n_jobs) else None
            repeats = find_repeats(table, target, weights, row_hashes, self.n_jobs)
        if repeats is not None:
            weights = repeats.weights
            order = ClassOrder.of(target.codes, target.n_classes, weights)
        of_table = {coder: coder.in_table(table.n_columns, float(order.total)) for coder in set(coders)}
        coders = [of_table[coder] for coder in coders]
        rows = _listed(target, weights, isinstance(table, ScannedTable) and by_class)
        if isinstance(table, ScannedTable) and engine is IN_MEMORY:
            engine = Mapped(tempfile.gettempdir(), **mapped_options(None))
        single = single if self.rules_ is None else {*single, *self.rules_.single}
        fit = _EncoderFit(self, table, coders, grouper, target, weights, order, rows, engine, single)
        fit.reading = {"verbose": verbose, "clock": clock, "executor": executor}
        fit.prints.known = row_hashes
        if rows_kept is not None:
            fit.n_kept = max(fit.n_kept, rows_kept(table.n_columns, target.n_classes))
        levels, codes = fit.code()
        self.scan_cautions_ = fit.cautions if repeats is None else [repeats.caution, *fit.cautions]
        if self.rules_ is not None:
            is_learnt = [name in fit.learnt for name in table.names]
            fit.coders = [for_other_rows(coder, levels, i, is_learnt[i]) for i, coder in enumerate(coders)]
            self.rules_ = self.rules_.as_learnt(fit.learnt)
        self.marks_ = fit.marked
        self._remember(levels, target.classes)
        in_order = table.by_class(rows.runs) if isinstance(table, ScannedTable) and rows.runs is not None else table
        prints, n_jobs = fit.prints, self.n_jobs
        recoder = TableRecoder.of(levels, in_order, fit.coders, grouper, self.missing, rows, n_jobs, prints)
        facts: dict[str, Any] = {"rows": rows, "levels": self.levels_, "recoder": recoder, "engine": engine}
        return CodedTable(codes, levels.n_levels, levels.names, **facts)

    def _side(self, y: Any, sample_weight: Any) -> int:
        """As `side_of`, of the classes of these rows."""
        if self._positive is None or self.levels is None:
            return 1
        target = as_target(y)
        classes = target.counted(as_sample_weight(sample_weight, target.codes.size)).classes
        return side_of(classes, class_position(classes, self._positive, "positive"))

    def _read_for_fit(self, X: Any, side: int) -> tuple[Table, list[ColumnCoder], MODLGrouper]:
        """Return the table, the coder of each column, and that of the cells of pairs."""
        self._check_options()
        coders = {kind: _coder(getattr(self, kind), known, kind, self.prior) for kind, known in _CODERS.items()}
        if self.kinds is not None and not isinstance(self.kinds, Mapping):
            raise ValueError(
                "kinds must be None or a dict from names of columns to 'numeric' or 'categorical', "
                f"got {type(self.kinds).__name__}."
            )
        check_pairs(self.pairs)
        self.rules_ = rules = None if self.levels is None else TableRules.of(self.levels, side)
        if rules is not None:
            rules.check_names(as_table(X).names)
        table = fit_table(self, X, kinds=self.kinds if rules is None else rules.kinds(self.kinds))
        by_column = [coders[kind] for kind in table.kinds()]
        if rules is not None:
            by_column = ruled_coders(rules, table, by_column, self.pairs)
        return table, by_column, grouper_of(coders["categorical"], self.prior)

    def _remember(self, levels: TableLevels, classes: np.ndarray) -> None:
        self.levels_ = levels
        self.level_scores_ = levels.level_scores
        self.unseen_counts_ = np.zeros(len(levels), dtype=np.int64)
        self.classes_ = classes

    def transform(self, X: Any) -> np.ndarray:
        """Codes of a table with the same columns.

        Returns
        -------
        array of unsigned integers, shape (n_rows, n_columns)
            uint8, or uint16 when a feature has over 255 levels; each column is one contiguous run.
        """
        return self.transform_coded(X).codes.T

    def read(self, X: Any, owner: Any = None) -> Table:
        """``X`` as a table with the columns of the fit; messages name ``owner``, an estimator that contains this
        encoder.
        """
        return new_table(self if owner is None else owner, X)  # the levels know of what kind their columns are

    def transform_coded(self, X: Any) -> CodedTable:
        """As ``transform``, as a `CodedTable` without classes; ``X`` may be a `Table` that was read already."""
        check_is_fitted(self, "levels_")
        table, levels = X if isinstance(X, Table) else self.read(X), TableLevels.of(self.levels_)
        codes, unseen = code_columns(table, levels, self.n_jobs)
        self._add_unseen(unseen)
        # The codes may be all that a model of finer levels is given.
        recoder = TableRecoder.of(levels, table, (), MODLGrouper(), self.missing, Rows(), self.n_jobs)
        return CodedTable(codes, levels.n_levels, levels.names, levels=levels, unseen=unseen, recoder=recoder)

    def _describe_level(self, level: FeatureLevels, code: int) -> dict[str, Any]:
        facts = {"feature": level.name, "kind": level.kind, "level_score": level.level_score, "code": code}
        return facts | {"level": level.all_labels[code], "missing": level.missing_code == code}


@dataclass
class _EncoderFit:
    """The training rows of a `TableEncoder`, and how their levels and codes are found.

    Parameters
    ----------
    encoder : its options.
    table : the columns.
    coders : of each column; ``grouper`` : of the cells of pairs.
    target, weights, order : classes and weights of the rows, as they come and class by class.
    rows : the rows as they are coded.
    engine : where the codes live.
    single : columns that are in no pair unless it is named.
    reading : the options ``verbose``, ``clock`` and ``executor`` of `TableEncoder.fit_transform_coded`.

    Attributes
    ----------
    cautions, marked : of the columns, once they are read and fitted.
    learnt : columns whose levels by hand are those that the rows give.
    values : counts of the values of a scanned table, once it is read; None for other tables.
    n_kept : how many rows of a scanned table later steps need.
    prints : fingerprints of the rows, by which samples are drawn.
    weighing : positions of the rows of positive weight; None for all.
    """

    encoder: TableEncoder
    table: Table
    coders: Sequence[ColumnCoder]
    grouper: MODLGrouper
    target: Target
    weights: np.ndarray | None
    order: ClassOrder
    rows: Rows
    engine: Engine
    single: Collection[str]
    reading: dict[str, Any] = field(default_factory=dict)
    cautions: list[Caution] = field(default_factory=list)
    marked: dict[str, Mark] = field(default_factory=dict)
    learnt: Collection[str] = ()
    values: CountedColumns | None = None
    n_kept: int = MOST_JUDGED_ROWS

    def __post_init__(self) -> None:
        self.prints = RowPrints(self.table, self.rows, self.encoder.n_jobs, self.engine)
        # Sums of fractions depend on the blocks, which are then the same in memory and in scans.
        if self.order.integral:
            self.blocks = [slice(*b.tolist()) for b in self.engine.blocks(np.array([0, self.table.n_rows]))]
        else:
            self.blocks = row_tasks.block_slices(self.table.n_rows)
        self.weighing = None if self.weights is None else np.flatnonzero(self.weights > 0)

    def code(self) -> tuple[TableLevels, np.ndarray]:
        """Levels, and codes of the rows, (n_features, n_rows)."""
        if isinstance(self.table, ScannedTable):
            self.values = self._read(self.table)
        fitted, codes = self.fit(self.table, self.coders)
        by_hand: tuple[str, ...] = ()
        if self.encoder.rules_ is not None:
            self.learnt = as_learnt(self.table.names, self.coders)
            by_hand = self.encoder.rules_.as_learnt(self.learnt).by_hand
            self.cautions = [*self.cautions, *rule_cautions(self.table, self.coders, fitted.levels, self.learnt)]
        marks = self.marks_of(fitted.levels)
        grouped = {name for name, kind in zip(self.table.names, self.table.kinds(), strict=True) if kind != "numeric"}
        self.marked = {name: mark for name, mark in marks.items() if name not in grouped.intersection(by_hand)}
        if all(getattr(coder, "prior", None) == "sizes" for coder in self.coders):
            saved = fitted.null_costs - fitted.costs
            # The rows did not choose levels by hand, which need not pay for being chosen among all that are possible.
            for i, coder in enumerate(self.coders):
                if isinstance(coder, Ruled) and coder.rule.is_by_hand and not coder.is_as_learnt:
                    counts = np.asarray(fitted.levels.class_counts(i), dtype=float)
                    saved[i] = part_cost(counts.sum(axis=0)) - part_cost(counts).sum()
            fitted.levels.doubtful = doubtful(saved, float(self.order.total), fitted.levels.n_constant)
        pairs, is_apart = self.encoder.pairs, self.encoder._numbers_apart
        if not pairs:
            return fitted.levels, codes
        samples, n_jobs = self.prints.samples, self.encoder.n_jobs
        finder = PairFinder(self.table.kinds(), self.grouper, self.order, self.rows, samples, n_jobs)
        apart = is_apart is not None and is_apart(fitted.levels, self.rows.n_classes)
        alone = {*self.single, *self.marked, *by_hand}

        def finer(columns: list[int], coders: list[ColumnCoder], coded: bool) -> tuple[FittedColumns, Any]:
            return self.fit(self.table.select(columns), coders, coded)

        return finder.add(pairs, fitted, codes, finer, self.engine, alone, apart)

    def fit(self, table: Table, coders: Sequence[ColumnCoder], coded: bool = True) -> tuple[FittedColumns, Any]:
        """Return the levels of some columns and, if they are to be ``coded``, the codes."""
        missing, n_jobs = self.encoder.missing, self.encoder.n_jobs
        if self.values is None and len(self.blocks) == 1 and table.n_rows <= row_blocks.EXACT_ROWS:
            return fit_columns(table, coders, self.order, missing, n_jobs, self.engine)
        if self.values is not None:
            values, positions = self.values, list(map(self.table.names.index, table.names))
        else:
            blocks = TableBlocks(table, self.target, self.weights, self.engine, n_jobs, self.blocks)
            values, positions = CountedColumns(blocks, n_jobs, self.encoder.n_quantiles), list(range(table.n_columns))
            self.cautions = self.cautions or values.cautions()
        fitted = values.fit(positions, coders, missing)
        return fitted, values.codes(positions, fitted.levels) if coded else None

    def marks_of(self, levels: TableLevels) -> dict[str, Mark]:
        """Columns that mark rows or moments."""
        weight = None if self.weights is None else float(self.weights.sum())
        absent = {i: len(coder.absent) for i, coder in enumerate(self.coders) if isinstance(coder, Ruled)}
        return marks(self.table, levels, self.drawn, self.weighing, weight, absent)

    def drawn(self, most: int) -> np.ndarray:
        """Ascending positions in the table, or the source, of up to ``most`` rows of positive weight."""
        drawn, runs = self.prints.samples.drawn(most), self.rows.runs
        return drawn if runs is None else np.sort(runs.in_source(drawn))

    def keep_rows(self, table: ScannedTable) -> None:
        """Keep the sampled rows in memory on the next pass over the scan, as far as there is room for their texts."""
        most = self.n_kept
        if self.engine.reading_bytes is not None:
            n_bytes = 8 * table.n_columns + sum(table.source.text_bytes.values())
            most = max(MOST_JUDGED_ROWS, min(most, int(self.engine.reading_bytes / n_bytes)))
        table.keep(self.drawn(most))

    def _read(self, table: ScannedTable) -> CountedColumns:
        n_jobs, rows = self.encoder.n_jobs, (self.target, self.weights)
        blocks = ScannedBlocks(table, *rows, self.engine, n_jobs, self.rows.runs, **self.reading)
        values = CountedColumns(blocks, n_jobs, self.encoder.n_quantiles)
        repeated = scan_caution(table.names, values.columns, blocks.prints, self.rows)
        self.cautions = [*values.cautions(), *([] if repeated is None else [repeated])]
        self.prints.known = blocks.prints
        self.keep_rows(table)
        return values


def _listed(target: Target, weights: np.ndarray | None, by_class: bool) -> Rows:
    """The rows as they come, or class after class."""
    if not by_class:
        return Rows(target.codes, target.classes, weights)
    runs = ClassRuns(target.codes, target.n_classes)
    weights = None if weights is None else weights[np.argsort(target.codes, kind="stable")]
    return Rows(runs.sorted_codes, target.classes, weights, runs=runs)


def _coder(choice: str | ColumnCoder, known: dict[str, Any], kind: str, prior: Prior) -> ColumnCoder:
    if isinstance(choice, ColumnCoder):
        if choice.kind != kind:
            raise ValueError(f"{type(choice).__name__} does not code {kind} columns; pass another coder as {kind}=.")
        choice._check_options()
        return choice
    if not is_choice(choice, known):
        raise ValueError(f"{kind} must be one of {', '.join(map(repr, known))} or a coder, got {choice!r}.")
    return known[str(choice)](**{"prior": prior} if choice in ("modl", "auto") else {})
