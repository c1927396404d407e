"""`TableEncoder`, which turns tables of numeric and categorical columns into integer codes of levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesieve.counts import CodedTable
from bayesieve.discretize.binning import EqualFrequencyDiscretizer, EqualWidthDiscretizer, MDLPDiscretizer
from bayesieve.discretize.coding_options import DEFAULT_CODING, CodingOptions
from bayesieve.discretize.column_coders import (
    CODER_OPTIONS,
    ColumnCoder,
    GroupsOrValues,
    MODLDiscretizer,
    MODLGrouper,
    TableCoder,
    ValueCoder,
    code_columns,
    read_classes,
)
from bayesieve.discretize.modl import Prior
from bayesieve.discretize.pairs import PairFinder, check_pairs
from bayesieve.discretize.refitting import LevelRefitter
from bayesieve.discretize.row_blocks import QUANTILES
from bayesieve.discretize.ruled_coders import as_learnt, for_other_rows, rule_cautions, ruled_coders
from bayesieve.discretize.rules import TableRules
from bayesieve.discretize.table_coding import (
    LevelFitter,
    fit_levels,
    marks_of,
    table_in_files,
    table_in_memory,
)
from bayesieve.parts import check_allowed, is_choice, with_shared_docs
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.frames import as_table, fit_table, is_scan, new_table, split_columns
from bayesieve.table.levels import TableLevels
from bayesieve.table.scanned import ScannedTable, scanned_rows
from bayesieve.table.target import as_sample_weight, as_target, positive_position, sign_of_positive

_BINS = {"equal-frequency": EqualFrequencyDiscretizer, "equal-width": EqualWidthDiscretizer}
_CODERS: dict[str, dict[str, Any]] = {
    "numeric": {"modl": MODLDiscretizer, "mdlp": MDLPDiscretizer, **_BINS},
    "categorical": {"modl": MODLGrouper, "values": ValueCoder, "auto": GroupsOrValues},
}


@with_shared_docs
@dataclass(kw_only=True, eq=False, repr=False)
class TableEncoder(TableCoder):
    """Encoder of tables with numeric and categorical columns: intervals for numbers, groups for categories.

    Parameters
    ----------
    numeric : {"modl", "mdlp", "equal-frequency", "equal-width"} or estimator, default="modl"
        Discretization of numeric columns: a name, or a discretizer of this package with its own options.
    categorical : {"modl", "values", "auto"} or estimator, default="modl"
        ``"modl"`` groups values; ``"values"`` gives every value a separate level; ``"auto"`` does so in columns of 30
        values or more if this saves clearly more nats in encoding the labels than groups do. Models with a level per
        value should regularise the contributions, as `SelectiveNB` does by fitted weights or contributions.
    prior : {"sizes", "published"}, default="sizes"
        Prior of both kinds of ``"modl"``; see `MODLDiscretizer` and `MODLGrouper`. With "sizes", each level beyond the
        first costs 2 log(min(K, N) / (5 sqrt(N))) nats more in a table of N rows and K > 5 sqrt(N) columns, because
        some of so many columns would be cut by chance.
    missing : {"level", "ignore"}, default="level"
        ``"level"``: missing values form a separate level, if there are any in training (unless the feature is
        uninformative). ``"ignore"``: they contribute nothing to any class, in training and prediction.
    unseen : {"ignore"}, default="ignore"
        A category never seen in training, or a missing value in a column that had none, gets the number of levels as
        its code, which contributes nothing to the log probability of any class. Such values are counted in
        ``unseen_counts_`` and are never an error.
    kinds : dict or None, default=None
        Kinds of columns by name, ``"numeric"`` or ``"categorical"``, to override the inferred ones.
    pairs : "auto", int or list of pairs of names, default=0
        Pairs of columns to code as further features, after the columns. The cells of a pair, combinations of a level of
        each column, are grouped like the values of a categorical column. ``"auto"``: up to 60 pairs that are more
        informative about the classes than their columns separately, without counters, identifiers and dates. A number:
        up to this many such pairs. A list: these pairs. Cells without training rows are coded as unseen.
    n_quantiles : int, default=65535
        In tables of over 1,048,576 rows, the number of quantiles in which columns of over 100,000 distinct numbers are
        counted.
    levels : dict, path of a YAML file, Scorecard or None, default=None
        Rules for the levels of single columns, by column name ("*" for all other columns). Each is a dict with any of:
        ``cuts`` (numbers, or dates as text) or ``groups`` (lists of values), given by hand; ``coarsen``, True to let
        the criterion join these levels; ``cells``, True to let contributions differ within these levels; ``special``,
        values of a numeric column with separate levels: a list, or a dict from names to values; ``missing``, "apart"
        for a separate level, or a value whose level missing values join; ``monotone``, 1, -1 or "auto"; ``min_rows``
        and ``max_rows`` of a level, shares of the rows if below 1; ``max_levels``; ``exclude`` or ``include``, True for
        columns that must be out of a model, or in it. If a scorecard of a fitted model is given, its levels are used,
        and all other values are coded as unseen.
    positive : class label or None, default=None
        Class whose share the signs of ``monotone`` refer to; None: the second of two classes; "majority": the one with
        more rows.

    Attributes
    ----------
    levels_ : sequence of FeatureLevels
        Levels of each column, created on access, followed by those of each pair (`PairLevels`).
    level_scores_ : float array, shape (n_features,)
        1 - cost / null cost of the MODL criterion; 0 for a column with a single level.
    marks_ : dict
        Columns that label rows or times, by name: ``"counter"``, ``"identifier"`` or ``"date"``. They form only pairs
        that are named.
    cautions_ : tuple of Caution
        Cautions about repeated rows, columns whose values were counted in quantiles or dropped as rare, and values in
        rules that no row has.
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
    positive: Any = None
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
        """Fit the levels, and return the codes of the same rows, shape (n_rows, n_features)."""
        return self.fit_transform_coded(X, y, sample_weight).codes.T

    def fit_transform_coded(
        self, X: Any, y: Any, sample_weight: Any = None, coding: CodingOptions = DEFAULT_CODING
    ) -> CodedTable:
        """Fit the levels, and return the same rows as a `CodedTable` with classes, weights and levels.

        Parameters
        ----------
        coding : options for storing and reading the rows.
        """
        return self.fit_with_refitter(X, y, sample_weight, coding)[0]

    def fit_with_refitter(
        self, X: Any, y: Any, sample_weight: Any = None, coding: CodingOptions = DEFAULT_CODING
    ) -> tuple[CodedTable, LevelRefitter]:
        """Fit the levels. Return the same rows as a `CodedTable`, and the refitter, which holds their raw values.

        Searches use the refitter to refit levels without the rows that evaluate them, and the fit of contributions to
        split levels into cells. Pass it on to ``fit_coded``. The parameters are those of `fit_transform_coded`.
        """
        # Rows: typed columns with their classes and weights, in memory or in files.
        if is_scan(X, y):
            X, y, sample_weight, _ = scanned_rows(X, y, sample_weight)
        else:
            X, y, sample_weight = split_columns(X, y, sample_weight)
        check_allowed(self.get_params(deep=False), CODER_OPTIONS)
        check_pairs(self.pairs)
        coders = {kind: _coder(getattr(self, kind), choices, kind, self.prior) for kind, choices in _CODERS.items()}
        rules = None if self.levels is None else self._rules(X, y, sample_weight)
        table = fit_table(self, X, kinds=self.kinds if rules is None else rules.kinds(self.kinds))
        target, weights, order = read_classes(self, table, y, sample_weight)
        with nullcontext() if rules is None else rules.explaining_kinds():
            if isinstance(table, ScannedTable):
                training = table_in_files(table, target, weights, order, coding, self.n_jobs, self.n_quantiles)
            else:
                training = table_in_memory(table, target, weights, order, coding, self.n_jobs)

            # Levels: each column is cut, or its values are grouped, where that reduces the cost of encoding the labels.
            by_column = [coders[kind] for kind in table.kinds()]
            if rules is not None:
                by_column = ruled_coders(rules, table, by_column, self.pairs)
            # Some of many uninformative columns would be cut by chance, so coders charge more for cuts in wide tables.
            in_table = {coder: coder.in_table(table.n_columns, float(training.order.total)) for coder in set(by_column)}
            by_column = [in_table[coder] for coder in by_column]
            fitter = LevelFitter(training, self.missing, self.n_quantiles, self.n_jobs)
            fitted, codes, training = fit_levels(training, by_column, fitter)
        cautions = [*training.cautions, *fitter.cautions]
        if rules is not None:
            learnt = as_learnt(table.names, by_column)
            rules = rules.as_learnt(learnt)
            cautions += rule_cautions(table, by_column, fitted.levels, learnt)
        by_hand = () if rules is None else rules.by_hand
        marks = marks_of(training, by_column, fitted.levels, by_hand)

        # Pairs: two columns that are more informative together than separately become a further feature. Its cells are
        # grouped like values, always greedily: an optimal grouping of so many cells would take too long.
        categorical, levels = coders["categorical"], fitted.levels
        pair_prior = categorical.prior if isinstance(categorical, MODLGrouper) else self.prior
        if self.pairs:
            unpaired = {*coding.unpaired, *marks, *by_hand, *(() if rules is None else rules.unpaired)}
            skip = coding.skips_number_pairs
            skips_numbers = skip is not None and skip(levels, training.order.n_classes)
            finder = PairFinder(training, pair_prior, self.n_jobs)
            levels, codes = finder.add(self.pairs, fitted, codes, fitter.fit, unpaired, skips_numbers)

        self.rules_, self.marks_, self.cautions_ = rules, marks, tuple(cautions)
        self.set_levels(levels, target.classes)
        if rules is not None:
            by_column = [
                for_other_rows(coder, levels, i, table.names[i] in learnt) for i, coder in enumerate(by_column)
            ]
        refitter = LevelRefitter.of(
            levels, training, by_column, pair_prior, self.missing, self.n_quantiles, self.n_jobs
        )
        coded = CodedTable(
            codes,
            levels.n_levels,
            levels.names,
            rows=training.rows,
            levels=levels,
            engine=training.engine,
            samples=training.samples,
        )
        return coded, refitter

    def _rules(self, X: Any, y: Any, sample_weight: Any) -> TableRules:
        """Return the rules in the option ``levels``; signs of ``monotone`` refer to the second class. ``X``, ``y`` and
        ``sample_weight`` are those of `fit`, because the option ``positive`` may depend on the class counts.
        """
        side = 1
        if self.positive is not None:
            target = as_target(y)
            weights = as_sample_weight(sample_weight, target.codes.size)
            target = target.counted(weights)
            rows = np.bincount(target.codes, weights, target.n_classes)
            side = sign_of_positive(target.classes, positive_position(target.classes, rows, self.positive))
        rules: TableRules = TableRules.of(self.levels, side)
        return rules.for_columns(as_table(X, kinds=self.kinds).names)

    def set_levels(self, levels: TableLevels, classes: np.ndarray) -> None:
        """Set the fitted attributes from the levels of all features, and the class labels (n_classes,) of their
        counts.
        """
        self.levels_ = levels
        self.level_scores_ = levels.level_scores
        self.unseen_counts_ = np.zeros(len(levels), dtype=np.int64)
        self.classes_ = classes

    def transform(self, X: Any) -> np.ndarray:
        """Return codes of a table with the same columns.

        Returns
        -------
        array of unsigned integers, shape (n_rows, n_columns)
            uint8, or uint16 when a feature has over 255 levels; each column is one contiguous run.
        """
        return self.transform_coded(X).codes.T

    def read(self, X: Any, owner: Any = None) -> Table:
        """Return ``X`` as a table with the columns of the fit.

        Error messages name ``owner``, an estimator that contains this encoder, if it is given.
        """
        return new_table(self if owner is None else owner, X)  # the levels determine how columns are read

    def transform_coded(self, X: Any) -> CodedTable:
        """Return the codes of ``X`` as a `CodedTable` without classes; ``X`` may be the result of `read`."""
        check_is_fitted(self, "levels_")
        table, levels = X if isinstance(X, Table) else self.read(X), self.levels_
        codes, unseen = code_columns(table, levels, self.n_jobs)
        self._add_unseen(unseen)
        return CodedTable(codes, levels.n_levels, levels.names, levels=levels, unseen=unseen)

    def _describe_level(self, level: FeatureLevels, code: int) -> dict[str, Any]:
        """Return the columns of `to_frame` that describe a level: feature, kind, score, code and label."""
        facts = {"feature": level.name, "kind": level.kind, "level_score": level.level_score, "code": code}
        return facts | {"level": level.all_labels[code], "missing": level.missing_code == code}


def _coder(coder: str | ColumnCoder, choices: dict[str, Any], kind: str, prior: Prior) -> ColumnCoder:
    """Return the coder for an option ``numeric`` or ``categorical`` (``kind``): an object, or a name in ``choices``.

    Raise ValueError for another value. ``prior`` is the MODL prior of coders given by name.
    """
    if isinstance(coder, ColumnCoder):
        if coder.kind != kind:
            raise ValueError(f"{type(coder).__name__} does not code {kind} columns; pass another coder as {kind}=.")
        check_allowed(coder.get_params(deep=False), CODER_OPTIONS)
        return coder
    if not is_choice(coder, choices):
        raise ValueError(f"{kind} must be one of {', '.join(map(repr, choices))} or a coder, got {coder!r}.")
    return choices[str(coder)](**{"prior": prior} if coder in ("modl", "auto") else {})
