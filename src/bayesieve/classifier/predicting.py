"""`Predicting`, the base class of `SelectiveNB` with all methods that read rows: predictions, explanations, exports."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayesieve.classifier.plan import MEMORY
from bayesieve.classifier.scoring import (
    explain_rows,
    joint_of_rows,
    labelled,
    rows_in_memory,
    table_of_rows,
    value_rows,
)
from bayesieve.scorecard.direction import POINTS, REASONS, warn_of_direction
from bayesieve.scorecard.probabilities import check_level, log_probabilities, probabilities
from bayesieve.table.frames import LabelledRows, in_library_of, is_scan
from bayesieve.table.writing import write_atomically

if TYPE_CHECKING:
    from bayesieve.scorecard.export.point_card import Points


class Predicting(ClassifierMixin, BaseEstimator):
    """Methods of a fitted model that read rows.

    ``X`` may be anything that `bayesieve.scan` accepts, which is read block by block. Clones share the executor given
    as the option ``engine``; pickles omit it.
    """

    engine: Any

    def __sklearn_clone__(self) -> Predicting:
        clone: Predicting = super(Predicting, copy(self).set_params(engine=MEMORY)).__sklearn_clone__()
        return clone.set_params(engine=self.engine)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return state if isinstance(state.get("engine", MEMORY), str) else {**state, "engine": MEMORY}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scorecard_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kinds = dict.fromkeys(("allow_nan", "string", "categorical", "sparse"), True)
        return replace(tags, input_tags=replace(tags.input_tags, **kinds))

    def predict_log_proba(self: Any, X: Any, offset: Any = None) -> np.ndarray:
        """Return the log probabilities of the classes, shape (n_rows, n_classes); ``offset`` is as in ``fit``."""
        return log_probabilities(joint_of_rows(self, X, offset))

    def predict_proba(self: Any, X: Any, offset: Any = None) -> np.ndarray:
        """Return the probabilities of the classes, shape (n_rows, n_classes); ``offset`` is as in ``fit``."""
        return probabilities(joint_of_rows(self, X, offset))

    def decision_function(self: Any, X: Any, offset: Any = None) -> np.ndarray:
        """Return the log odds of ``classes_[1]`` for two classes, shape (n_rows,); otherwise log probabilities, shape
        (n_rows, n_classes).

        ``offset`` is as in ``fit``.
        """
        logs = self.predict_log_proba(X, offset)
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def predict_interval(self: Any, X: Any, level: float = 0.9) -> np.ndarray:
        """Return confidence intervals for the class probabilities, shape (n_rows, n_classes, 2).

        Intervals assume normal errors of the log odds. Errors come from the curvature of the fit, including
        correlations between features, and from the counts of levels. They are enlarged because levels and features were
        chosen on the same rows (benchmarks/decisions/intervals.md), and because dropped columns may have small effects.
        Intervals are conditional on the selected columns, and are not valid for rows that differ from the training
        rows. For a value never seen in training, the error is as large as the contributions of the feature vary.

        Parameters
        ----------
        X : rows, as for ``predict_proba``.
        level : float, default=0.9
            Confidence level.

        Raises
        ------
        ValueError
            If ``level`` is not above 0 and below 1.

        Examples
        --------
        >>> import polars as pl
        >>> from bayesieve import SelectiveNB
        >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10})
        >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
        >>> model.predict_interval(frame[:1]).round(2).tolist()
        [[[0.81, 1.0], [0.0, 0.19]]]
        """
        check_is_fitted(self, "scorecard_")
        level = check_level(level)
        return value_rows(self, X, lambda cells: self.scorecard_.interval_of_cells(cells, level))

    def predict(self: Any, X: Any, offset: Any = None) -> np.ndarray:
        """Return the most probable class of each row, shape (n_rows,); the first one on ties. ``offset`` is as in
        ``fit``.
        """
        best = joint_of_rows(self, X, offset).argmax(axis=1)
        return self.classes_[best]

    def score(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share (by weight) of rows predicted correctly.

        ``y`` and ``sample_weight`` may be names of columns of a scanned table.
        """
        if not is_scan(X, y):
            return float(super().score(X, y, sample_weight))
        labelled = LabelledRows.of(X, y, sample_weight)
        rightly = labelled.among(self.predict(X)) == labelled.target.classes[labelled.target.codes]
        return float(np.average(rightly, weights=labelled.weights))

    def explain(
        self: Any, X: Any, *, by: Literal["feature", "score", "column"] = "feature", against: Any = None
    ) -> Any:
        """Explain rows by the contribution of each feature to the log joint probability of each class, compared with an
        average row.

        Parameters
        ----------
        X : dataframe, 2-D array or sparse matrix, shape (n_rows, n_features)
            Rows to explain. A scan is read into memory, as is the result: select only a few rows of it.
        by : {"feature", "score", "column"}, default="feature"
            Units of the explanation. ``"feature"``: one line for each feature. ``"score"``: the contributions of all
            indicators of a column are added up, and their levels combined to one interval; other features are as with
            ``"feature"``. ``"column"``: one line for each column of the table; the contribution of a pair is divided
            equally between its columns, as in `reasons`.
        against : label, default=None
            Class against which log odds are explained: contributions to each other class are to its log odds against
            this class, so that positive ones speak against this class. None: contributions to each class.

        Returns
        -------
        dataframe of the library of ``X`` (polars for others), with the index of pandas
            One line per row, class and feature: ``row``, ``class``, ``feature``, ``value`` (as the model reads it,
            dates and times in ISO 8601), ``level``, ``cell`` (part of the level that has the contribution), ``weight``,
            ``contribution`` (nats), ``prior`` (intercept of the class), ``standard_error`` of the contribution,
            ``probability`` of the class and its 90 % interval from ``low`` to ``high``. Prior and contributions add up
            to the log joint probabilities ``scorecard_.joint(X)``: exactly by feature, otherwise up to rounding.

        Examples
        --------
        >>> import polars as pl
        >>> from bayesieve import SelectiveNB
        >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10})
        >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
        >>> model.explain(frame[:1], by="column", against="no").select("feature", "class", "value").rows()
        [('age', 'yes', '20')]
        """
        check_is_fitted(self, "scorecard_")
        explanation = explain_rows(self, rows_in_memory(self, X), by)
        return in_library_of(X, (explanation if against is None else explanation.against(against)).to_frame())

    def reasons(
        self: Any,
        X: Any,
        n: int | None = 4,
        against: Literal["mean", "best"] = "mean",
        target_class: Any = None,
        *,
        values: bool = False,
        codes: Mapping[str, str] | None = None,
    ) -> Any:
        """Return the strongest reasons against a class: the columns that lower its log odds most.

        The contribution of a feature to the log odds of the class is divided equally between its columns. The columns
        therefore add up to the log odds minus those of a reference row. Ranks follow a rule that other systems can
        repeat (``bayesieve/scorecard/reasons.py``): contributions are compared after rounding to 9 decimals, and of
        equal ones the first column of the training table comes first.

        Parameters
        ----------
        X : rows, as for ``explain``.
        n : int or None, default=4
            Largest number of reasons for a row; None: all. There are fewer if fewer columns speak against the class.
        against : {"mean", "best"}, default="mean"
            Reference row: the average training row, or the cell of each feature with the largest contribution to the
            log odds, as in letters on credit decisions in the United States.
        target_class : label, default=None
            Class that reasons speak against. None: the positive class (``positive``, by default ``classes_[1]`` of two
            classes). If there is none, reasons speak for the predicted class, that is against all others.
        values : bool, default=False
            Whether the texts of numeric columns also state the number of the row: "amount 7,500 (more than 6,420)".
        codes : dict from columns to codes or texts, default=None
            Reason codes for the column ``code`` of the result, which is null for columns without a code. None: the
            codes in the labels of the model, if there are any.

        Returns
        -------
        dataframe of the library of ``X`` (polars for others), with the index of pandas
            ``row``, ``rank`` (from 1), ``column``, ``text`` (readable name and level, see `with_labels`) and
            ``contribution``: contribution of the column to the log odds of the class (of more than two classes, against
            the mean of the others) minus that in the reference row, in nats.

        Examples
        --------
        >>> import polars as pl
        >>> from bayesieve import SelectiveNB
        >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10})
        >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
        >>> model.reasons(frame[:4])["text"].to_list()
        ['age: at most 22.5', 'age: more than 22.5 and at most 32.5']
        """
        from bayesieve.scorecard.reasons import reasons_of

        check_is_fitted(self, "scorecard_")
        warn_of_direction(self.scorecard_, [REASONS], target_class)
        table = table_of_rows(self, rows_in_memory(self, X))
        reasons = reasons_of(self.scorecard_, table, n, against, target_class, values, codes)
        return in_library_of(X, reasons)

    def counterfactuals(
        self: Any,
        X: Any,
        n: int = 1,
        *,
        max_changes: int = 3,
        target: Any = None,
        probability: float | None = None,
        fixed: Sequence[str] = (),
        directions: Mapping[str, int] | None = None,
        costs: Mapping[str, float] | None = None,
    ) -> Any:
        """Return the smallest changes of rows that flip their decision. The search is exact and considers pairs of
        columns.

        A change moves a column to another part of its range, in which no feature distinguishes values: an interval of
        numbers, or a group of known categories, but never to missing. Options are ranked by the sum of the costs of the
        changed columns, then by the number of parts moved over (1 for categories, and from missing values). Of equal
        ones, the one with the highest probability comes first, then the first columns, then the lowest parts.

        Parameters
        ----------
        X : rows, as for ``explain``.
        n : int, default=1
            Largest number of options for a row. Options change different sets of columns, none of which contains
            another.
        max_changes : {1, 2, 3}, default=3
            Largest number of columns that an option changes.
        target : label, default=None
            Class that the changed row should get; None: any class but the predicted one.
        probability : float or None, default=None
            Required probability of the class ``target`` (None: the positive class); by default the class must become
            the most probable one.
        fixed : sequence of str, default=()
            Columns that must not change, in addition to those that the labels of the model mark as ``fixed: true``.
        directions : dict from names of numeric columns to +1 or -1, optional
            Columns that may only rise (+1) or only fall (-1); they do not change in rows where they are missing.
        costs : dict from names of columns to positive numbers, optional
            Costs of changing columns; 1 for columns not named.

        Returns
        -------
        dataframe of the library of ``X`` (polars for others), with the index of pandas
            One line per changed column: ``row``, ``option`` (from 1), ``column``, ``from``, ``to`` (in words), bounds
            ``low`` (exclusive) and ``high`` (inclusive) of the new number or the new ``values`` (any of them),
            ``class`` and its ``probability`` after all changes of the option. Rows that already meet the goal, or
            cannot meet it with so few changes, have no lines.

        Raises
        ------
        ValueError
            If an option names an unknown column or class.

        Examples
        --------
        >>> import polars as pl
        >>> from bayesieve import SelectiveNB
        >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10})
        >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
        >>> model.counterfactuals(frame[:1]).select("column", "from", "to", "class").row(0)
        ('age', '<= 22.5', '32.5 < .. <= 50', 'yes')
        """
        from bayesieve.scorecard.counterfactuals import counterfactuals_of

        check_is_fitted(self, "scorecard_")
        table = table_of_rows(self, rows_in_memory(self, X))
        by_column = {"fixed": fixed, "directions": directions, "costs": costs}
        changes, values = counterfactuals_of(self.scorecard_, table, target, probability, n, max_changes, **by_column)
        return in_library_of(X, changes, lists={"values": values})

    def with_labels(self: Any, labels: Any) -> Any:
        """Return a copy of the model with readable names, units and texts for reports, explanations and reasons. The
        model file contains them.

        Parameters
        ----------
        labels : dict, str or path
            Mapping from columns to readable names, or to mappings with any of ``name``, ``unit``, ``description`` and
            ``levels`` (texts by label of a level, such as "<= 32.5" or "missing", or by category); or the path of a
            YAML file with such a mapping.

        Returns
        -------
        SelectiveNB

        Raises
        ------
        ValueError
            If the labels describe a column or level that the model does not have.

        Examples
        --------
        >>> import polars as pl
        >>> from bayesieve import SelectiveNB
        >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10})
        >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
        >>> described = model.with_labels({"age": {"name": "Age", "levels": {"<= 32.5": "young"}}})
        >>> described.reasons(frame[:1])["text"].to_list()
        ['Age: young']
        """
        from bayesieve.scorecard.wording import read_labels, unknown_levels

        check_is_fitted(self, "scorecard_")
        read_in = read_labels(labels, self.scorecard_.columns)
        complaint = unknown_levels(self.scorecard_, read_in)
        if complaint is not None:
            raise ValueError(complaint)
        return labelled(self, read_in)

    def with_predictions(self: Any, frame: Any) -> Any:
        """Add the columns ``prediction`` and ``P(class)`` to a dataframe or query; queries compute them in their
        engine.

        Parameters
        ----------
        frame : dataframe or query
            Rows to predict. Columns may be in any order; columns that the model does not use are kept.

            - A dataframe in memory (pandas, polars, pyarrow ...) is predicted at once.
            - A polars LazyFrame calls the model batch by batch, even in the streaming engine.
            - A DuckDB relation is extended by the query of ``export(to="sql")``, which needs the extra ``export``.
              Its columns must have the types of the training table.
            - A Dask or PySpark dataframe is predicted by its workers, which need this package, without warnings.

            The first 1,000 rows of a LazyFrame or relation are read immediately, to warn about columns with values
            never seen in training.

        Returns
        -------
        dataframe or query of the type of ``frame``

        Raises
        ------
        ValueError
            If a column that the model needs is missing or has another type, or contains an infinite number. Queries
            raise the latter error when they are run, with a row number that counts from the start of a batch.
        ModuleNotFoundError
            If the frame is a DuckDB relation and the extra ``export`` is not installed.

        Examples
        --------
        >>> import polars as pl
        >>> from bayesieve import SelectiveNB
        >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10, "job": ["a", None, "b", "b"] * 10})
        >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
        >>> model.with_predictions(frame.lazy()).collect().columns
        ['age', 'job', 'prediction', 'P(no)', 'P(yes)']
        """
        from bayesieve.classifier.frame_predictions import with_predictions

        check_is_fitted(self, "scorecard_")
        return with_predictions(self, frame)

    def export(self: Any, path: str | os.PathLike[str] | None = None, to: str | None = None, **options: Any) -> Any:
        """Export the model to another system, which then gives the probabilities of ``predict_proba``.

        The guide docs/deployment.md compares the targets.

        Parameters
        ----------
        path : str, path or None, default=None
            File to write; it is written completely or not at all. None: the content is returned.
        to : {"sql", "onnx", "pmml", "points", "excel", "python", "javascript", "r"} or None, default=None
            Target, which may also be one that another package adds. None: determined by the ending of ``path``.
        **options
            Options of the target, such as ``dialect="postgres"``, documented at its class in
            `bayesieve.scorecard.export`. All targets accept ``name``, the name of the model, and ``counts=True``, which
            adds the number of training rows of each cell.

        Returns
        -------
        str, bytes or None
            Content of the export; None if ``path`` is given.

        Raises
        ------
        ValueError
            If an option is invalid, or the target cannot represent part of the model; the message names the remedy.
        ModuleNotFoundError
            If the target needs a package that is not installed.

        Examples
        --------
        >>> import polars as pl
        >>> from bayesieve import SelectiveNB
        >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10})
        >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
        >>> "def score(row" in model.export(to="python")
        True
        """
        from bayesieve.classifier.file_content import export_header
        from bayesieve.scorecard.export import export

        check_is_fitted(self, "scorecard_")
        content = export(self.scorecard_, to, path, export_header(self, options.pop("name", None)), options)
        return content if path is None else write_atomically(path, content)

    def points(
        self: Any,
        pdo: float = 20,
        base_score: float = 600,
        base_odds: float = 30,
        *,
        max_points: int | None = None,
        X: Any = None,
        y: Any = None,
    ) -> Points:
        """Convert a model of two classes to a scorecard of whole points: a base, and points for each cell of each
        feature.

        Parameters
        ----------
        pdo : float, default=20
            Number of points that double the odds of the positive class.
        base_score, base_odds : float, default=600 and 30
            A score of ``base_score`` stands for the odds ``base_odds`` of the positive class.
        max_points : int or None, default=None
            Bound on the points of every cell, from -``max_points`` to ``max_points``. The scale is then chosen with
            the roundings; ``pdo``, ``base_score`` and ``base_odds`` are ignored. None: no bound.
        X, y : rows as for ``predict_proba`` and their labels, optional
            Rows for which roundings minimise the log loss that the exact model expects; with labels, the loss by
            rounding is also measured. Without rows, roundings minimise the squared error of the log odds over the
            training rows, with features taken as independent.

        Returns
        -------
        Points
            Point scorecard with ``score(X)``, ``predict_proba(X)``, ``loss(X, y)``, ``reasons(X)`` and ``to_frame()``;
            ``export(to="points")`` writes it as CSV, HTML or Markdown.

        Raises
        ------
        ValueError
            If the model does not have two classes, or an option is invalid.

        Examples
        --------
        >>> import polars as pl
        >>> from bayesieve import SelectiveNB
        >>> frame = pl.DataFrame({"age": [20, 25, 40, 60] * 10})
        >>> model = SelectiveNB().fit(frame, ["no", "no", "yes", "yes"] * 10)
        >>> points = model.points(max_points=5)
        >>> points.to_frame().select("cell", "points").rows()[:4]
        [('base', 0), ('<= 22.5', -2), ('22.5 < .. <= 32.5', -1), ('32.5 < .. <= 50', 1)]
        >>> points.score(frame[:4]).tolist()
        [-2, -1, 1, 2]
        """
        from bayesieve.scorecard.export.point_card import Points

        check_is_fitted(self, "scorecard_")
        warn_of_direction(self.scorecard_, [POINTS])
        options = {"pdo": pdo, "base_score": base_score, "base_odds": base_odds, "max_points": max_points}
        return Points(self.scorecard_, **options, X=X, y=y)
