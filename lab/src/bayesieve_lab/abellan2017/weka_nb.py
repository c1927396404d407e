"""Naive Bayes and filters as in Weka, in which states that a data set declares count even if no row has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin

from bayesieve import CodedTable, TableEncoder
from bayesieve.counts import ContingencyCounts
from bayesieve.counts.information import class_imprecise_information, class_information
from bayesieve.discretize import LevelRefitter
from bayesieve.selection.filters import above

CLASSES = "(classes)"
"""Name of a column that has no values, but whose type declares the classes."""


def declare(X: pl.DataFrame, y: np.ndarray, states: Mapping[str, Sequence[str]], target: str) -> pl.DataFrame:
    """Return the table with text columns converted to polars enums of their declared states, and one more column,
    `CLASSES`.

    That column has no values; its type declares the classes. ``states`` are the declared states by column; a column
    without an entry declares the states that occur. ``y`` (n_rows,) are the classes, and ``target`` is their name in
    ``states``.
    """

    def declared(name: str, values: pl.Series) -> pl.Enum:
        """Return the enum of the states of the column ``name``: the declared ones, otherwise those that occur in
        ``values``.
        """
        return pl.Enum(states.get(name) or values.drop_nulls().unique().sort())

    texts = {name: X[name].cast(declared(name, X[name])) for name in X.columns if X.schema[name] == pl.String}
    labels = declared(target, pl.Series(y.astype(str)))
    return X.with_columns(pl.lit(None, dtype=labels).alias(CLASSES), **texts)


class DeclaredEncoder(TableEncoder):
    """`TableEncoder` for tables made by `declare`.

    Attributes
    ----------
    n_states_ : int array, shape (n_features,)
        Number of declared states of each feature; for numbers, of intervals.
    n_classes_ : int
        Number of declared classes.
    """

    def fit_with_refitter(
        self, X: Any, y: Any, sample_weight: Any = None, *args: Any, **options: Any
    ) -> tuple[CodedTable, LevelRefitter]:
        """Fit to a table made by `declare` and its classes (n_rows,); return the coded rows, and a refitter of the
        levels.

        ``sample_weight`` (n_rows,) are row weights, or None; further arguments are passed to `TableEncoder`.
        """
        self.n_classes_ = len(X.schema[CLASSES].categories)
        X = X.drop(CLASSES)
        coded, refitter = super().fit_with_refitter(X, y, sample_weight, *args, **options)
        levels = list(self.levels_)
        declared = [getattr(X.schema[level.name], "categories", None) for level in levels]
        n_values = [level.n_levels - (level.missing_code is not None) for level in levels]
        self.n_states_ = np.array(
            [n if names is None else len(names) for n, names in zip(n_values, declared, strict=True)]
        )
        return coded, refitter

    def transform_coded(self, X: Any, *args: Any, **options: Any) -> CodedTable:
        """Return new rows of a table made by `declare`, coded by the fitted levels; options are those of
        `TableEncoder`.
        """
        return super().transform_coded(X.drop(CLASSES), *args, **options)


class WekaNB(ClassifierMixin, BaseEstimator):
    """Naive Bayes on features that a filter selects, with Weka's estimates.

    P(class) = (n_c + 1) / (N + classes) and P(state | class) = (n_cv + 1) / (n_c + states), for declared classes and
    states. Missing values are not counted in either.

    Parameters
    ----------
    select : "all", "imprecise" or float
        "imprecise": features of positive imprecise information gain (s = 1); a number: features whose information gain
        in bits is at least this share of ln(classes); "all": all features.
    spread : bool
        Whether filters divide missing values among the states in proportion to their rows, like Weka's evaluator of
        information gain, or ignore them.
    """

    def __init__(self, select: Literal["all", "imprecise"] | float = "all", *, spread: bool = True) -> None:
        self.select = select
        self.spread = spread

    def new_encoder(self) -> DeclaredEncoder:
        """Return an unfitted encoder: numbers are cut by MDLP, categories are coded one by one."""
        return DeclaredEncoder(numeric="mdlp", categorical="values", missing="level", n_jobs=1)

    def fit(self, X: Any, y: Any) -> WekaNB:
        """Fit to a table made by `declare` and its class labels ``y``, (n_rows,)."""
        encoder = self.new_encoder()
        return self.fit_coded(encoder.fit_transform_coded(X, y), encoder)

    def fit_coded(self, coded: CodedTable, encoder: DeclaredEncoder) -> WekaNB:
        """Select features and fit to the rows ``coded``, which the fitted ``encoder`` has coded."""
        self.encoder_, self.classes_ = encoder, np.asarray(coded.classes)
        counts, missing = coded.counts, [level.missing_code for level in encoder.levels_]
        tables = [_without(counts.feature(k), code) for k, code in enumerate(missing)]
        self.support_ = self._selected(coded, tables, missing)
        self.n_features_selected_ = int(self.support_.sum())
        self.log_prior_ = np.log((counts.class_counts + 1) / (counts.total + encoder.n_classes_))
        self.log_probabilities_ = [
            _log_probabilities(table, n_states, code)
            for table, n_states, code in zip(tables, encoder.n_states_.tolist(), missing, strict=True)
        ]
        return self

    def _selected(self, coded: CodedTable, tables: Sequence[np.ndarray], missing: Sequence[int | None]) -> np.ndarray:
        """Return a mask of the features that the filter selects, (n_features,).

        ``tables`` are counts in the rows ``coded``: for each feature, counts (n_states, n_classes) without missing
        values. ``missing`` has each feature's code of missing values, or None.
        """
        if self.select == "all":
            return np.ones(len(tables), dtype=bool)
        counts = self._spread(coded, tables, missing)
        if self.select == "imprecise":
            return above(class_imprecise_information(counts), 0.0) > 0
        n_classes = counts.class_counts.size
        return class_information(counts) / np.log(2) >= float(self.select) * np.log(n_classes)

    def gains(self, X: Any, y: Any) -> dict[str, tuple[float, float]]:
        """Return the information gain and the imprecise information gain of every column, both in nats, by name.

        Columns are in descending order of information gain. ``X`` is a table made by `declare`, ``y`` (n_rows,) are its
        class labels.
        """
        encoder = self.new_encoder()
        coded = encoder.fit_transform_coded(X, y)
        self.encoder_, missing = encoder, [level.missing_code for level in encoder.levels_]
        tables = [_without(coded.counts.feature(k), code) for k, code in enumerate(missing)]
        counts = self._spread(coded, tables, missing)
        both = zip(class_information(counts).tolist(), class_imprecise_information(counts).tolist(), strict=True)
        return dict(sorted(zip(coded.names, both, strict=True), key=lambda line: -line[1][0]))

    def _spread(
        self, coded: CodedTable, tables: Sequence[np.ndarray], missing: Sequence[int | None]
    ) -> ContingencyCounts:
        """Return the counts of states by declared class from which the filter computes information gains.

        If ``spread`` was set, missing values are divided among the states; otherwise they are ignored. For the
        arguments, see `_selected`.
        """
        if self.spread:
            tables = [
                table if code is None else _spread(table, coded.counts.feature(k)[code])
                for k, (table, code) in enumerate(zip(tables, missing, strict=True))
            ]
        n_classes = max(self.encoder_.n_classes_, coded.n_classes)
        more = ((0, 0), (0, n_classes - coded.n_classes))
        offsets = np.concatenate([[0], np.cumsum([len(table) for table in tables])])
        class_counts = np.pad(coded.counts.class_counts, more[1])
        return ContingencyCounts(np.pad(np.concatenate(tables), more), offsets, class_counts)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log probabilities of the classes, (n_rows, n_classes), for a `CodedTable` or a table from
        `declare`.
        """
        coded = X if isinstance(X, CodedTable) else self.encoder_.transform_coded(X)
        joint = np.tile(self.log_prior_, (coded.n_rows, 1))
        for k in np.flatnonzero(self.support_).tolist():
            logs = self.log_probabilities_[k]
            joint += logs[np.minimum(coded.codes[k], len(logs) - 1)]
        return joint - logsumexp(joint, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities of the classes, (n_rows, n_classes), for a `CodedTable` or a table from `declare`."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row, (n_rows,), for a `CodedTable` or a table from `declare`."""
        return self.classes_[self.predict_log_proba(X).argmax(axis=1)]


def _without(table: np.ndarray, code: int | None) -> np.ndarray:
    """Return the counts ``table`` (n_codes, n_classes) without its row ``code``; unchanged if ``code`` is None."""
    return table if code is None else np.delete(table, code, axis=0)


def _spread(table: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return counts of states by class, (n_states, n_classes), with missing values divided among the states.

    ``table`` are the counts without missing values, ``missing`` (n_classes,) those of missing values, which are divided
    in proportion to the rows of each state.
    """
    rows = table.sum(axis=1)
    return table + np.outer(rows / rows.sum(), missing) if rows.any() else table


def _log_probabilities(table: np.ndarray, n_states: int, missing: int | None) -> np.ndarray:
    """Return log P(state | class) by code, (n_codes + 1, n_classes); the last row is for states not seen in training.

    ``table`` are counts (n_codes, n_classes) without the row of missing values; these get the log probability 0.
    ``n_states`` is the number of declared states, and ``missing`` the code of missing values, or None.
    """
    counts = np.vstack([table, np.zeros((1, table.shape[1]))])
    logs = np.log((counts + 1) / (table.sum(axis=0) + max(n_states, 1)))
    if len(table) == n_states:
        logs[-1] = 0.0  # only missing values have no code
    return logs if missing is None else np.insert(logs, missing, 0.0, axis=0)
