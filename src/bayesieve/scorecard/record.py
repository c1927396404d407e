"""`Scorecard`: a fitted model as plain arrays. Predictions, explanations, reports and exports read nothing else.

A level is an interval of numbers or a group of categories of a feature. A cell is a level or a piece of one, and the
unit that has a contribution. Its code is its position; the code after the last cell stands for unseen values (those
without a cell). A curve is a numeric feature whose levels are divided into many cells, fitted together. There is one
logit for two classes (the log odds of the second class), otherwise one for each class; the log joint is log P(class,
row) up to a constant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.counts.contingency import class_log_prior
from bayesieve.discretize.modl import summed
from bayesieve.evidence.fitting import Evidence, counting_variances
from bayesieve.evidence.neutral import mean_line
from bayesieve.evidence.problem import class_variances
from bayesieve.evidence.terms import coarser_codes
from bayesieve.scorecard.explanation import UNSEEN, Explanation
from bayesieve.scorecard.look_up import CellTables, RowReader, probability_intervals, table_of
from bayesieve.scorecard.probabilities import check_level, intercept_variances, logit_variances, probabilities
from bayesieve.table import FeatureLevels
from bayesieve.table.frames import results_frame
from bayesieve.table.target import class_position, sign_of_positive
from bayesieve.table.values import canonical_text
from bayesieve.words import ShortRepr

_RARE = 10.0  # rows of a level at which half of the counting variance is added to the error, whatever the weight
_ROUNDING = 1e-12  # nats, or share of the largest contribution


@dataclass(frozen=True, eq=False, repr=False)
class Feature(ShortRepr):
    """Contributions of one feature to the log joint probability of each class.

    Parameters
    ----------
    levels : FeatureLevels
        Levels learnt from the training rows, with their counts by class.
    cells : FeatureLevels
        Units that have a contribution each: levels, or parts of levels. The same object as ``levels`` if no level is
        divided.
    contributions : float array, shape (n_cells, n_classes)
        Contribution of each cell to the log joint of each class, in nats. They add up to 0 over the classes, and their
        mean over the training rows is 0 for each class.
    unseen : float array, shape (n_classes,)
        Contribution of a value without a cell, in nats.
    counts : float array, shape (n_cells, n_classes)
        Number (or weight) of training rows.
    standard_errors : float array, shape (n_cells, n_classes)
        Standard errors of the contributions, in nats, given the levels, features and weights; `total_errors` adds the
        uncertainty of the weights and is shown to users.
    factors : float array, shape (n_cells, n_logits, n_factors)
        Components of these errors that are shared with other features, in nats. For two classes there is one logit, the
        log odds of the second class.
    weight, search_weight : float
        Weight of the feature after calibration, and in the search. Both document the fit; a feature is in the model if
        its contributions are not all zero.
    sign : {-1, 0, 1}
        1 if the contribution to the second class never falls with increasing values, -1 if it never rises, otherwise 0.
        Multiplied by `Scorecard.side`, it refers to the positive class.
    importance : float
        Share of the feature in the mean absolute contributions of all features.
    log_bayes : float
        Log Bayes factor of the feature against no effect, in nats: a feature without effect reaches B nats in at most
        one of exp(B) tables. For a pair, the logarithm of the number of candidate pairs is subtracted. NaN if the fit
        did not test the feature.
    """

    levels: FeatureLevels
    cells: FeatureLevels
    contributions: np.ndarray
    unseen: np.ndarray
    counts: np.ndarray
    standard_errors: np.ndarray
    factors: np.ndarray
    weight: float
    search_weight: float
    sign: int = 0
    importance: float = 0.0
    log_bayes: float = math.nan

    def _facts(self) -> dict[str, Any]:
        """Return the facts that ``repr`` shows, by name."""
        facts = {"name": self.levels.name, "kind": self.levels.kind, "n_cells": self.cells.n_levels}
        return facts | {name: getattr(self, name) for name in ("weight", "search_weight", "sign", "importance")}

    def _head(self) -> dict[str, Any]:
        """Return the first ten cells as a dict of columns. Notebooks show it as a table."""
        cells = self.cells.labels[:10]
        return {"cell": cells, **{name: [*getattr(self, name)[:10]] for name in ("counts", "contributions")}}

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields of the dataclass for pickling, without cached properties."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # not what follows from these

    @property
    def name(self) -> str:
        """Name of the column, pair or indicator."""
        return self.levels.name

    @property
    def kind(self) -> str:
        """Kind of the feature: ``"numeric"``, ``"categorical"`` or ``"pair"``."""
        return self.levels.kind

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the table columns that the feature uses."""
        return tuple(dict.fromkeys(level.column for level in self.levels.by_column))

    @property
    def labels(self) -> tuple[str, ...]:
        """Label of each cell, such as '<= 4.5' or a category."""
        return self.cells.labels

    @property
    def is_used(self) -> bool:
        """Whether the feature is in the model: its contributions are not all zero."""
        return bool(self.contributions.any() or self.unseen.any())

    @property
    def is_split(self) -> bool:
        """Whether contributions differ within levels, so that the cells are finer than the levels."""
        return self.cells is not self.levels

    @cached_property
    def level_of_cell(self) -> np.ndarray:
        """Position of the level that contains each cell, shape (n_cells,)."""
        return coarser_codes(self.cells, self.levels)

    @cached_property
    def level_labels(self) -> np.ndarray:
        """Label of the level that contains each cell, then that of unseen values, shape (n_cells + 1,)."""
        return np.array([*(self.levels.labels[k] for k in self.level_of_cell.tolist()), UNSEEN], dtype=object)

    @cached_property
    def all_labels(self) -> np.ndarray:
        """Labels of the cells, then that of unseen values, shape (n_cells + 1,)."""
        return np.array([*self.labels, UNSEEN], dtype=object)

    @cached_property
    def table(self) -> np.ndarray:
        """Contributions of the cells, then those of unseen values, shape (n_cells + 1, n_classes), in nats."""
        return np.concatenate([self.contributions, self.unseen[None]])

    @cached_property
    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        """Errors of the contributions to the logits, by cell: the part shared with other features and the variance of
        the rest.

        They are two arrays. The first, shape (n_cells + 1, n_logits, n_factors) in nats, holds the coefficients of
        error factors: independent standard normal variables that the errors of all features share. The second, shape
        (n_cells + 1, n_logits) in squared nats, holds the variances that remain. The last row of both is for unseen
        values; its variance is that of the contribution over the training rows.

        A weight w below 1 shrinks counted contributions, which is optimal if w (1 - w) of the counting variance is
        squared bias; that bias is added. The fewer rows a level has, the more of its counting variance is added,
        because the weight is hardly affected by rare levels. Contributions set by hand have no error.
        """
        of_classes, level = self.standard_errors**2, self.level_of_cell
        row_counts, of_level = self.counts.sum(axis=1), np.asarray(self.levels.counts)
        weight = min(self.weight, 1.0)
        bias = float(weight > 0) * (1.0 - weight**2) / (1.0 + of_level.sum(axis=1) / _RARE)  # no bias at weight 0
        if not self.is_split or self.kind != "numeric":  # the errors of curves already include their bias
            bias = np.maximum(bias, weight * (1.0 - weight))
        by_hand = (of_classes == 0).all(axis=1)
        bias_of_classes = bias[level, None] * counting_variances(of_level)[level]
        of_classes = np.where(by_hand[:, None], 0.0, of_classes + bias_of_classes)
        variances = np.maximum(logit_variances(of_classes) - (self.factors**2).sum(axis=2), 0.0)
        numbers = np.diff(self.contributions, axis=1) if variances.shape[1] == 1 else self.contributions
        typical = (row_counts @ numbers**2) / max(row_counts.sum(), np.finfo(float).tiny)
        nothing = np.zeros((1, *self.factors.shape[1:]))
        return np.concatenate([self.factors, nothing]), np.concatenate([variances, typical[None]])

    @cached_property
    def total_errors(self) -> np.ndarray:
        """Standard errors of the contributions as used for intervals of probabilities, shape (n_cells + 1, n_classes),
        in nats.

        The last row is for unseen values.
        """
        shared, variances = self.errors
        return np.sqrt(class_variances(variances + (shared**2).sum(axis=2), self.counts.shape[1]))

    def by_level(self) -> np.ndarray:
        """Return the mean contribution of each level over its training rows, shape (n_levels, n_classes), in nats."""
        if not self.is_split:
            return self.contributions
        row_counts = self.counts.sum(axis=1) + np.finfo(float).tiny  # a level may have no rows
        sums = summed(row_counts[:, None] * self.contributions, self.level_of_cell)
        return sums / summed(row_counts, self.level_of_cell)[:, None]


@dataclass(frozen=True, eq=False, repr=False)
class Scorecard(ShortRepr):
    """A fitted model: log P(class | row) is the intercept plus the contributions of the row's cells, plus a constant.

    Parameters
    ----------
    classes : array, shape (n_classes,)
        Class labels.
    intercept : float array, shape (n_classes,)
        Mean log joint of the training rows, in nats.
    intercept_factors : float array, shape (n_logits, n_factors)
        Loadings of the intercept's error on factors shared with the features, in nats.
    omitted_variances : float array, shape (n_logits,)
        Variance of the logits due to the columns that are not in the model, in squared nats.
    features : tuple of Feature
        All candidate features of the fit, whether in the model or not: columns, then pairs of columns.
    class_counts : float array, shape (n_classes,)
        Number (or weight) of training rows of each class.
    columns : tuple of str
        Names of the columns of the training table.
    provenance : dict
        Origin of the model: options, versions, edits by hand.
    library : str
        Dataframe library of the training rows, in which `to_frame` returns its result; polars after loading.

    Examples
    --------
    >>> from bayesieve import SelectiveNB
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> card = SelectiveNB().fit(X, y).scorecard_
    >>> card.predict_proba(X[:1]).round(2).tolist()
    [[1.0, 0.0, 0.0]]
    """

    classes: np.ndarray
    intercept: np.ndarray
    intercept_factors: np.ndarray
    omitted_variances: np.ndarray
    features: tuple[Feature, ...]
    class_counts: np.ndarray
    columns: tuple[str, ...]
    provenance: Mapping[str, Any]
    library: str = "polars"

    def _facts(self) -> dict[str, Any]:
        """Return the facts that ``repr`` shows, by name."""
        names = [self.features[k].levels.name for k in self.by_importance[:100].tolist()]
        return {"classes": self.classes, "features": len(self.features), "used": len(self.used), "first": names}

    def _head(self) -> dict[str, Any]:
        """Return the ten most important features as a dict of columns. Notebooks show it as a table."""
        first = [self.features[k] for k in self.by_importance[:10].tolist()]
        names = {"feature": [one.levels.name for one in first], "cells": [one.cells.n_levels for one in first]}
        return names | {name: [getattr(one, name) for one in first] for name in ("weight", "importance")}

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields of the dataclass for pickling, without cached properties."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # not what follows from these

    def __getitem__(self, name: str) -> Feature:
        """Return the feature with this name. Raise KeyError if there is none."""
        return self.features[self._position[name]]

    def __contains__(self, name: object) -> bool:
        """Return whether the scorecard has a feature with this name, whether in the model or not."""
        return name in self._position

    @cached_property
    def _position(self) -> dict[str, int]:
        """Position of each feature in `features`, by name."""
        return {feature.name: k for k, feature in enumerate(self.features)}

    @property
    def log_prior(self) -> np.ndarray:
        """Logarithms of the class shares in the training rows, shape (n_classes,); -inf for a class without rows."""
        return class_log_prior(self.class_counts)

    @property
    def class_shares(self) -> np.ndarray:
        """Class shares that probabilities refer to, shape (n_classes,): those set by `with_prior`, otherwise those of
        the training rows.
        """
        return np.array(self.provenance.get("prior") or self.class_counts / self.class_counts.sum())

    @property
    def positive(self) -> int | None:
        """Position of the positive class, which reasons, points, curves and texts describe.

        It is set by the option ``positive``; by default it is the second of two classes, or None for more classes.
        """
        return self.provenance.get("positive", 1 if self.classes.size == 2 else None)

    @property
    def side(self) -> int:
        """Factor from signs that refer to the second class to signs that refer to the positive class: -1 if the
        positive class is the first of two, otherwise 1.
        """
        return sign_of_positive(self.classes, self.positive)

    def position(self, label: Any, option: str = "target") -> int | None:
        """Return the position of the class with this label. For None, return that of the positive class, or None if
        there is none.

        Raise ValueError for an unknown label; the message names the caller's ``option``.
        """
        return self.positive if label is None else class_position(self.classes, label, option)

    def log_odds(self, table: np.ndarray) -> np.ndarray:
        """Convert contributions to two classes, shape (..., 2) in nats, to contributions to the log odds of the
        positive class, shape (...,).
        """
        positive = 1 if self.positive is None else self.positive
        return np.asarray(table[..., positive] - table[..., 1 - positive])

    @cached_property
    def used(self) -> np.ndarray:
        """Positions of the features that are in the model, in ascending order, shape (n_used,)."""
        return np.flatnonzero([feature.is_used for feature in self.features])

    @property
    def used_features(self) -> list[Feature]:
        """Features that are in the model, in the order of the columns."""
        return [self.features[k] for k in self.used.tolist()]

    @cached_property
    def by_importance(self) -> np.ndarray:
        """Positions of the features that are in the model, the most important first, shape (n_used,)."""
        importances = np.array([feature.importance for feature in self.used_features])
        return self.used[np.argsort(-importances, kind="stable")]

    @property
    def column_importances(self) -> np.ndarray:
        """Importances of the columns of the training table, shape (n_columns,); they add up to 1.

        The importance of a feature with several columns, such as a pair, is divided equally between them, as in
        `reasons_of`.
        """
        position, importances = {name: i for i, name in enumerate(self.columns)}, np.zeros(len(self.columns))
        for feature in self.used_features:
            for name in feature.columns:
                importances[position[name]] += feature.importance / len(feature.columns)
        return importances

    @cached_property
    def tables(self) -> CellTables:
        """Contributions of the features in the model, in nats, concatenated in one table."""
        return CellTables.of([feature.table for feature in self.used_features], self.intercept)

    @cached_property
    def standard_errors(self) -> CellTables:
        """Standard errors of the contributions of the features in the model, in nats, concatenated in one table."""
        return CellTables.of([feature.total_errors for feature in self.used_features], np.zeros(self.classes.size))

    @cached_property
    def errors(self) -> CellTables:
        """Errors of the features in the model, concatenated in one table, in which `predict_interval` looks up cells.

        Each line holds the n_logits variances of a cell, in squared nats, which add up over features, then its n_logits
        x n_factors coefficients of the shared error factors, in nats, which add up over features before they are
        squared.
        """
        n_logits, n_factors = self.intercept_factors.shape
        tables = []
        for shared, variances in (feature.errors for feature in self.used_features):
            lines = np.zeros((len(variances), n_logits, n_factors))
            lines[..., : shared.shape[2]] = shared
            tables.append(np.column_stack([variances, lines.reshape(len(variances), -1)]))
        of_intercept = intercept_variances(self.class_counts) + self.omitted_variances
        return CellTables.of(tables, np.append(of_intercept, self.intercept_factors))

    @cached_property
    def reader(self) -> RowReader:
        """Reader that turns raw rows into codes of cells of the features in the model."""
        return RowReader([feature.cells for feature in self.features], self.used, self.columns)

    def cells(self, X: Any) -> np.ndarray:
        """Return the code of the row's cell for each feature in the model, shape (n_used, n_rows).

        Parameters
        ----------
        X : dataframe or array
            Rows with the training columns by name, in any order; columns that the model does not use may be missing.
            Also accepted: one row as a mapping from columns to values, or a `CodedTable` with the codes of all
            features.

        Raises
        ------
        ValueError
            If a column is missing, or if codes of levels are passed but the cells of the model are finer.
        """
        if isinstance(X, CodedTable):
            return self._cells_of_codes(X)
        return self.reader.code(table_of(X))[0]

    def _cells_of_codes(self, coded: CodedTable) -> np.ndarray:
        """Return the codes of the features in the model, shape (n_used, n_rows), from a table that is already coded.

        Raise ValueError unless it was coded by the cells of this model: it must have as many features, with as many
        levels each, and those that the model uses must be levels of the same columns with the same codes.
        """
        cells_of_features = [feature.cells for feature in self.features]
        is_split = any(feature.is_split for feature in self.features)
        matches = np.array_equal(coded.n_levels, [cells.n_levels for cells in cells_of_features])
        if is_split and not matches:
            raise ValueError(
                "Contributions of this model differ within levels, so codes of levels are not enough; pass the rows as "
                "a table, or fit the model with calibrate='levels'."
            )
        if matches and coded.levels is not None:
            matches = all(coded.levels[k].codes_like(cells_of_features[k]) for k in self.used.tolist())
        if not matches:
            raise ValueError(
                "The codes of the rows belong to other levels than those of the model; pass the raw values."
            )
        return coded.codes[self.used]

    def joint(self, X: Any) -> np.ndarray:
        """Return log joint probabilities, shape (n_rows, n_classes), in nats, up to a constant for each row."""
        return self.tables.joint(self.cells(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities, shape (n_rows, n_classes), of a table with the training columns by name."""
        return probabilities(self.joint(X))

    def predict_interval(self, X: Any, level: float = 0.9) -> np.ndarray:
        """Return confidence intervals of the class probabilities, shape (n_rows, n_classes, 2), as documented in
        `SelectiveNB.predict_interval`.
        """
        return self.interval_of_cells(self.cells(X), check_level(level))

    def interval_of_cells(self, cells: np.ndarray, level: float) -> np.ndarray:
        """Return confidence intervals of class probabilities, shape (n_rows, n_classes, 2). ``cells`` are the codes
        returned by `cells`, shape (n_used, n_rows); ``level`` is the confidence level.
        """
        n_logits, n_factors = self.intercept_factors.shape
        single, shared = np.split(self.errors.joint(cells), [n_logits], axis=1)
        variances = single + (shared.reshape(len(single), n_logits, n_factors) ** 2).sum(axis=2)
        return probability_intervals(self.tables.joint(cells), variances, level)

    def explain(self, X: Any, by: Literal["feature", "score", "column"] = "feature") -> Explanation:
        """Explain rows by the contribution of each feature in the model.

        Parameters
        ----------
        X : dataframe, array, or one row as a mapping from columns to values
        by : {"feature", "score", "column"}, default="feature"
            See `SelectiveNB.explain`.

        Returns
        -------
        Explanation
            Arrays of contributions, of which `SelectiveNB.explain` returns a table; its method ``plot`` draws one row.

        Examples
        --------
        >>> from bayesieve import SelectiveNB
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> card = SelectiveNB().fit(X, y).scorecard_
        >>> card.explain(X[:5]).contributions.shape
        (5, 4, 3)
        """
        from bayesieve.scorecard.explaining import explain

        return explain(self, X, by)

    def describe(self) -> str:
        """Describe the model in one paragraph."""
        from bayesieve.scorecard.describing import describe

        return describe(self)

    def plot(self, feature: str, target_class: Any = None) -> Any:
        """Draw the contributions of a feature to the log odds of a class, cell by cell, with standard errors.

        Parameters
        ----------
        feature : name of a feature in the model.
        target_class : label of the class; by default the positive class or, if there is none, the first class.

        Returns
        -------
        Figure

        Raises
        ------
        ValueError
            If the model has no feature of this name, or no such class.

        Examples
        --------
        >>> from bayesieve import SelectiveNB
        >>> from sklearn.datasets import load_iris
        >>> model = SelectiveNB().fit(*load_iris(return_X_y=True, as_frame=True))
        >>> model.scorecard_.plot("petal length (cm)").data.columns[:3]
        ['label', 'rows', 'share']
        """
        from bayesieve import feature_figure

        return feature_figure(self, feature, target_class)

    def plot_importance(self) -> Any:
        """Draw the features in the model by importance, as a `Figure`."""
        from bayesieve import importance_figure

        return importance_figure(self)

    def to_frame(self, min_count: int = 1) -> Any:
        """Return the model as a dataframe, with everything that is needed to compute a score by hand.

        It has one row per cell of each feature in the model, the most important feature first, followed by its unseen
        values; the intercept is a row without feature. Columns are ``feature``, ``columns``, ``cell`` (label), ``low``
        (exclusive) and ``high`` (inclusive) of numbers, ``values`` of groups, ``is_missing``, ``is_unseen``, ``rows``,
        and for each class ``contribution_<class>`` and ``standard_error_<class>``.

        Parameters
        ----------
        min_count : int, default=1
            If above 1, counts of few rows are hidden: all cells of a feature with fewer rows are shown as one line with
            their mean contribution, without labels or bounds, and other numbers of rows are rounded to multiples of
            ``min_count``.
        """
        rows = [self._line(None, "intercept", self.intercept, np.zeros(self.classes.size))]
        for k in self.by_importance.tolist():
            feature = self.features[k]
            missing = feature.cells.missing_code
            for code, label in enumerate(feature.cells.all_labels):
                parts = {**bounds_of(feature.cells, code), "is_missing": code == missing}
                parts["rows"] = float(feature.counts[code].sum())
                errors = feature.total_errors[code]
                if parts["rows"] < min_count:
                    continue
                if min_count > 1:
                    parts["rows"] = round(parts["rows"] / min_count) * float(min_count)
                rows.append(self._line(feature, label, feature.contributions[code], errors, **parts))
            rows += self._few(feature, min_count)
            errors = feature.total_errors[-1]
            rows.append(self._line(feature, UNSEEN, feature.unseen, errors, is_unseen=True, rows=0.0))
        return results_frame(rows, self.library, infer_schema_length=None)

    def _few(self, feature: Feature, min_count: int) -> list[dict[str, Any]]:
        """Return the line of `to_frame` that stands for all cells of a feature with fewer than ``min_count`` rows, as a
        list; empty if there are none.
        """
        n_rows = feature.counts.sum(axis=1)
        few = n_rows < min_count
        if not few.any():
            return []
        mean = np.average(feature.contributions[few], axis=0, weights=n_rows[few] if n_rows[few].any() else None)
        label = f"({int(few.sum())} cells of fewer than {min_count} rows)"
        return [self._line(feature, label, mean, feature.total_errors[:-1][few].max(axis=0), rows=None)]

    def _line(
        self, feature: Feature | None, cell: str, contributions: np.ndarray, errors: np.ndarray, **parts: Any
    ) -> dict[str, Any]:
        """Return a line of `to_frame` as a dict by column.

        ``cell`` is the text of the cell; ``contributions`` and ``errors`` are arrays (n_classes,) in nats; ``parts``
        are further columns, such as bounds and rows. Without a ``feature``, it is the line of the intercept.
        """
        of_classes = zip(self.classes.tolist(), contributions.tolist(), errors.tolist(), strict=True)
        name, columns = (None, None) if feature is None else (feature.name, list(feature.columns))
        line = {"feature": name, "columns": columns, "cell": cell, **dict.fromkeys(("low", "high", "values"))}
        line |= {"is_missing": False, "is_unseen": False, "rows": float(self.class_counts.sum())}
        numbers: dict[str, float] = {}
        for label, contribution, error in of_classes:
            numbers |= {f"contribution_{label}": contribution, f"standard_error_{label}": error}
        return line | parts | numbers


def bounds_of(cells: FeatureLevels, code: int) -> dict[str, Any]:
    """Return the content of the cell with the code ``code`` as a dict: ``low`` (exclusive) and ``high`` (inclusive) of
    an interval, or ``values`` (texts) of a group; empty for a cell of missing values or of a pair.
    """
    if cells.groups is not None:
        return {"values": [canonical_text(value) for value in cells.groups[code] if value is not None]}
    at = code - cells.n_special_levels
    if at < 0 and at + len(cells.special) >= 0:
        return {"values": [canonical_text(value) for value in cells.special[at][1]]}
    if cells.cut_points is None or at < 0:
        return {}
    cuts = [-np.inf, *cells.number_cuts.tolist(), np.inf]
    return {"low": cuts[at], "high": cuts[at + 1]}


def scorecard_of_fit(
    evidence: Evidence, search_weights: np.ndarray, signs: Mapping[int, int], **facts: Any
) -> Scorecard:
    """Return the scorecard of contributions that were just fitted.

    Parameters
    ----------
    evidence : contributions of all features, their errors, and the intercept.
    search_weights : (n_features,) weights that the search gave to columns and pairs. Surfaces (pairs with contributions
        on a fine grid) follow them in ``evidence`` and have none.
    signs : 1 or -1 for each feature whose contributions must rise or fall, by position.
    **facts : ``classes``, ``columns``, ``provenance`` and ``library`` of the `Scorecard`.
    """
    search_weights, features = search_weights.astype(float).tolist(), []
    for k, (levels, fit) in enumerate(zip(evidence.levels, evidence.features, strict=True)):
        unseen = np.zeros(evidence.intercept.size)
        if evidence.is_neutral:
            unseen = mean_line(fit.table, fit.counts.sum(axis=1))
        feature = Feature(
            levels=levels,
            cells=fit.cells,
            contributions=fit.table,
            unseen=unseen,
            counts=fit.counts,
            standard_errors=fit.errors,
            factors=fit.factors,
            weight=fit.weight,
            search_weight=search_weights[k] if k < len(search_weights) else 0.0,
            sign=signs.get(k, 0),
            log_bayes=fit.log_bayes,
        )
        features.append(feature)
    facts |= {"class_counts": evidence.class_counts, "intercept_factors": evidence.intercept_factors}
    facts["omitted_variances"] = evidence.omitted_variances
    return scorecard_of(features, evidence.intercept, **facts)


def scorecard_of(parts: Sequence[Feature], intercept: np.ndarray, **facts: Any) -> Scorecard:
    """Return the scorecard of features whose contributions are not centred yet.

    A number that a cell adds to all classes does not change probabilities and is removed. Contributions are then
    centred over the training rows, so that each states the difference to an average row. The means are added to the
    intercept, which leaves probabilities unchanged.

    Parameters
    ----------
    parts : features of the scorecard.
    intercept : (n_classes,) in nats, before the means are added.
    **facts : ``class_counts`` and all other fields of the `Scorecard`.
    """
    total = facts["class_counts"].sum()
    features, intercept = [], intercept.copy()
    for feature in parts:
        feature_centred, mean = centred(feature, total)
        features.append(feature_centred)
        intercept += mean
    return Scorecard(intercept=intercept, features=with_importances(features, facts["class_counts"]), **facts)


def centred(feature: Feature, total: float) -> tuple[Feature, np.ndarray]:
    """Shift the contributions of a feature to mean 0 over the classes and over ``total`` training rows.

    Return the feature and the mean that was subtracted, shape (n_classes,) in nats; the caller adds it to the
    intercept. Cells without rows, and unseen values, that contribute exactly this mean get 0 without rounding errors.
    """
    if not feature.is_used:  # saves time, because most features of a wide table are not used
        return feature, np.zeros(feature.unseen.size)
    contributions, row_counts = feature.contributions, feature.counts.sum(axis=1)
    shares = row_counts / total
    contributions, unseen = (
        contributions - contributions.mean(axis=1, keepdims=True),
        feature.unseen - feature.unseen.mean(),
    )
    mean = (
        contributions[0]
        + shares @ (contributions - contributions[0])
        + (1.0 - shares.sum()) * (unseen - contributions[0])
    )  # exactly the common contribution if all cells have the same
    rounding = _ROUNDING * max(1.0, float(np.abs(contributions).max()))
    contributions, unseen = contributions - mean, unseen - mean
    contributions[(row_counts == 0) & (np.abs(contributions) < rounding).all(axis=1)] = 0.0
    unseen = np.where(np.abs(unseen).max() < rounding, 0.0, unseen)
    return replace(feature, contributions=contributions, unseen=unseen), mean


def with_importances(features: Sequence[Feature], class_counts: np.ndarray) -> tuple[Feature, ...]:
    """Return the features with their importances, which add up to 1. ``class_counts`` (n_classes,) are the training
    rows of each class.

    The importance of a feature is proportional to the mean, over training rows and classes, of the absolute difference
    between its contribution to a class and its mean contribution to the other classes.
    """
    sizes, shares = [], class_counts / class_counts.sum()
    for feature in features:
        contributions = feature.contributions
        if not contributions.any():
            sizes.append(0.0)
            continue
        against = (contributions @ shares)[:, None] - contributions * shares
        away = contributions - against / np.maximum(1.0 - shares, np.finfo(float).tiny)
        row_counts = feature.counts.sum(axis=1)
        frequency = row_counts / max(row_counts.sum(), np.finfo(float).tiny)
        sizes.append(float(frequency @ np.abs(away) @ shares))
    total = sum(sizes)
    scale = 1.0 / total if total > 0 else 0.0
    pairs = zip(features, (size * scale for size in sizes), strict=True)
    return tuple(
        feature if feature.importance == share else replace(feature, importance=share) for feature, share in pairs
    )
