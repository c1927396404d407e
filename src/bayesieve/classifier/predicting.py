"""`Predicting`, the base class of `SelectiveNB` with all methods that need rows: predictions, explanations, exports."""

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
    """Methods of a fitted model that read rows. ``X`` may be anything that `bayesieve.scan` accepts, read block by
    block.

    Clones share the executor given as the option ``engine``; pickles omit it.
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
        """Return log probabilities of the classes, shape (n_rows, n_classes); ``offset`` as for ``fit``."""
        return log_probabilities(joint_of_rows(self, X, offset))

    def predict_proba(self: Any, X: Any, offset: Any = None) -> np.ndarray:
        """Return probabilities of the classes, shape (n_rows, n_classes); ``offset`` as for ``fit``."""
        return probabilities(joint_of_rows(self, X, offset))

    def decision_function(self: Any, X: Any, offset: Any = None) -> np.ndarray:
        """Return the log odds of ``classes_[1]`` for two classes, shape (n_rows,); otherwise log probabilities, shape
        (n_rows, n_classes).

        ``offset`` as for ``fit``.
        """
        logs = self.predict_log_proba(X, offset)
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def predict_interval(self: Any, X: Any, level: float = 0.9) -> np.ndarray:
        """Return intervals for the probabilities of the classes, shape (n_rows, n_classes, 2).

        An interval holds the true probability in a share ``level`` of cases. Intervals are normal on the scale of log
        odds. Errors come from the curvature of the fit, including correlations between features, and from the counts of
        levels. They are enlarged because the same rows choose levels and features (benchmarks/decisions/intervals.md),
        and because dropped columns may have small effects. Intervals are conditional on the selected columns, and do
        not cover rows that differ from those of training. A value never seen in training may add what any value adds.

        Parameters
        ----------
        X : as for ``predict_proba``.
        level : float, default=0.9
            Share of the intervals that hold the true probability.

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
        [[[0.83, 1.0], [0.0, 0.17]]]
        """
        check_is_fitted(self, "scorecard_")
        level = check_level(level)
        return value_rows(self, X, lambda cells: self.scorecard_.interval_of_cells(cells, level))

    def predict(self: Any, X: Any, offset: Any = None) -> np.ndarray:
        """Return the most probable class of each row, (n_rows,); the first one on ties. ``offset`` as for ``fit``."""
        best = joint_of_rows(self, X, offset).argmax(axis=1)
        return self.classes_[best]

    def score(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, the share of rows predicted correctly (by weight).

        ``y`` and the weights may be names of columns of a scanned table.
        """
        if not is_scan(X, y):
            return float(super().score(X, y, sample_weight))
        labelled = LabelledRows.of(X, y, sample_weight)
        rightly = labelled.among(self.predict(X)) == labelled.target.classes[labelled.target.codes]
        return float(np.average(rightly, weights=labelled.weights))

    def explain(
        self: Any, X: Any, *, by: Literal["feature", "score", "column"] = "feature", against: Any = None
    ) -> Any:
        """Explain rows by the contribution of each feature to the log joint probability of each class, beyond an
        average row.

        Parameters
        ----------
        X : dataframe, 2-D array or sparse matrix, shape (n_rows, n_features)
            Or what `bayesieve.scan` takes, which is read into memory, as the result is: choose some of its rows.
        by : {"feature", "score", "column"}, default="feature"
            ``"score"``: the indicators of one score are added up, and their levels read as one interval of the score.
            Features that are no indicators stay as they are. ``"column"``: one line for each column of the table; pairs
            are divided equally between theirs, as in `reasons`.
        against : label, default=None
            A class: contributions to each other class are log odds of that class against this one, so that positive
            ones speak against this one. None: contributions to each class.

        Returns
        -------
        dataframe of the library of ``X`` (polars for others), with the index of pandas
            One row per row, class and feature: ``row``, ``class``, ``feature``, ``value``, ``level``, ``cell`` (the
            part of the level that the contribution is that of), ``weight``, ``contribution`` (nats) and ``prior``
            (intercept of the class); values as the model reads them, moments in ISO 8601; ``standard_error`` of the
            contribution, ``probability`` of the class and its 90 % interval from ``low`` to ``high``. They add up to
            the log joint probabilities, ``scorecard_.joint(X)``: exactly by feature, otherwise to the last digit.

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
        """Return the columns that speak against a class, one reason for each column.

        What a feature adds to the log odds of the class is divided equally between its columns, so that a pair counts
        half to each: the columns add up to the log odds less those of the reference. Ranks follow a rule that other
        systems can repeat (``bayesieve/scorecard/reasons.py``): contributions are compared after rounding to 9
        decimals, and of equal ones the first column of the training table comes first.

        Parameters
        ----------
        X : as for ``explain``.
        n : int or None, default=4
            The most reasons of a row; None: all. There are fewer if fewer columns speak against the class.
        against : {"mean", "best"}, default="mean"
            Reference: the average training row, or the cell of each feature that adds most to the log odds, as in
            letters on credit decisions in the United States.
        target_class : label, default=None
            The class that reasons speak against. None: the positive class (``classes_[1]`` of two, unless ``positive``
            names it). Of more than two without one, all classes but the predicted one: reasons speak for that.
        values : bool, default=False
            Whether texts of numbers have the number of the row, too: "amount 7,500 (more than 6,420)".
        codes : dict from columns to codes or texts, default=None
            Your own codes of reasons, which become the column ``code`` of the result, null for other columns. None:
            those of the labels of the model, if it has any.

        Returns
        -------
        dataframe of the library of ``X`` (polars for others), with the index of pandas
            ``row``, ``rank`` (from 1), ``column``, ``text`` (readable name and level, see `with_labels`) and
            ``contribution``: what the column adds to the log odds of the class (of several, against the mean of the
            others) less what it adds in the reference, in nats.

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
        """Return the smallest changes of rows that flip their decision, found exactly, pairs of columns included.

        A column moves to another part of its range, in which no feature tells values apart: an interval of numbers, or
        known categories; never to missing. The cost of changes is the sum of the costs of the columns, then the number
        of parts moved over (1 for categories, and from missing values). Of equal ones the surest comes first, then the
        first columns, then the lowest parts.

        Parameters
        ----------
        X : as for ``explain``.
        n : int, default=1
            The most options of a row, each for other columns; none changes all columns of another and more.
        max_changes : {1, 2, 3}, default=3
            The most columns that change.
        target : label, default=None
            The class that the row shall be predicted as; None: any other than now.
        probability : float or None, default=None
            The class (None: the positive one) shall be as probable as that, rather than the most probable one.
        fixed : sequence of str, default=()
            Columns that cannot change, besides those that the labels of the model fix (``fixed: true``).
        directions : dict from names of columns of numbers to +1 or -1, optional
            Columns that only rise, or only fall; they stay as they are if missing.
        costs : dict from names of columns to positive numbers, optional
            Costs of changing columns; 1 for others.

        Returns
        -------
        dataframe of the library of ``X`` (polars for others), with the index of pandas
            A line for each change: ``row``, ``option`` (from 1), ``column``, ``from``, ``to`` (in words), ``low``
            (exclusive) and ``high`` (inclusive) of the new number, or the new ``values``, any of which will do,
            ``class`` and its ``probability`` after all changes of the option. Rows that are as wanted already, or that
            so few changes do not flip, have none.

        Raises
        ------
        ValueError
            If a column or class is not known.

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
        changes = counterfactuals_of(self.scorecard_, table, target, probability, n, max_changes, **by_column)
        return in_library_of(X, changes)

    def with_labels(self: Any, labels: Any) -> Any:
        """Return a copy of the model with readable names, units and texts, which reports, explanations and reasons
        show, and which the model file keeps.

        Parameters
        ----------
        labels : dict, str or path
            For each column that is described its readable name, or a mapping with any of ``name``, ``unit``,
            ``description`` and ``levels``: texts by level, as reports show it ("<= 32.5", "missing"), or by category.
            Or a YAML file with such a mapping.

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
        """Add the columns ``prediction`` and ``P(class)`` to a frame or query, computed where its rows are.

        Parameters
        ----------
        frame : dataframe or query
            Its columns may be in any order, and more than the model needs.

            - A dataframe in memory (pandas, polars, pyarrow ...) is predicted at once.
            - A polars LazyFrame calls the model batch by batch, also in the streaming engine.
            - A DuckDB relation is continued by the query of ``export(to="sql")``, which needs the extra ``export``.
              Its columns must have the types of the training table.
            - A Dask or PySpark dataframe: workers, which need this package, predict its partitions without warnings.

            The first 1,000 rows of a LazyFrame or relation are read at once: a warning names columns with values never
            seen in training.

        Returns
        -------
        The same kind of frame

        Raises
        ------
        ValueError
            If a column that the model needs is missing or has another type. An infinite number raises, too, for queries
            when they are run; rows are then counted from the first one of a batch.
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
        """Export the model to another system, with the probabilities of ``predict_proba``; docs/deployment.md compares
        the targets.

        Parameters
        ----------
        path : str, path or None, default=None
            File to write, whole or not at all.
        to : {"sql", "onnx", "pmml", "points", "excel", "python", "javascript", "r"} or None, default=None
            Target, or one that another package adds. None: by the ending of ``path``.
        **options
            Of the target, such as ``dialect="postgres"``; see its class in `bayesieve.scorecard.export`. For all of
            them ``name`` of the model, and ``counts=True``, which adds the training rows of each cell.

        Returns
        -------
        str, bytes or None
            The content, if there is no ``path``.

        Raises
        ------
        ValueError
            If an option is wrong, or the target cannot hold part of the model; the sentence names the remedy.
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
        """Convert a model of two classes to a scorecard of whole points: a base, and points for each cell of a feature.

        Parameters
        ----------
        pdo : float, default=20
            Points that double the odds of the positive class.
        base_score, base_odds : float, default=600 and 30
            The score that means these odds.
        max_points : int or None, default=None
            Points of every cell lie between -``max_points`` and ``max_points``. The scale is chosen then, with what a
            score means, in place of ``pdo``, ``base_score`` and ``base_odds``.
        X, y : rows as for ``predict_proba`` and their labels, optional
            Roundings are those of least log loss of these rows, expected by the exact model, and with labels their
            cost is shown. Without, they are those of least squared error of the log odds over the training rows,
            features taken as independent.

        Returns
        -------
        Points
            With ``score(X)``, ``predict_proba(X)``, ``loss(X, y)``, ``reasons(X)`` and ``to_frame()``;
            ``export(to="points")`` writes the table as CSV, HTML or Markdown.

        Raises
        ------
        ValueError
            If the model does not have two classes, or an option is wrong.

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
