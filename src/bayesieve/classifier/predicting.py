"""`Predicting`: what a fitted `SelectiveNB` does with rows, in memory or anywhere else: predictions, explanations, and
values that it has never seen.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayesieve.classifier.fit_steps import offset_of
from bayesieve.classifier.plan import MEMORY
from bayesieve.counts import CodedTable
from bayesieve.discretize.row_samples import drawn_from_scan
from bayesieve.scorecard.direction import POINTS, REASONS, warn_of_direction
from bayesieve.scorecard.explaining import check_way, explain_cells
from bayesieve.scorecard.explanation import Explanation
from bayesieve.scorecard.look_up import Cell, ScoreReader, is_row, one_row
from bayesieve.scorecard.probabilities import check_level, log_probabilities, probabilities
from bayesieve.scorecard.record import Scorecard
from bayesieve.scorecard.unseen import EXAMPLE_ROWS, unseen_said_once, warn_of_unseen
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.cautions import Caution, silenced
from bayesieve.table.columns import rows_from
from bayesieve.table.frames import LabelledRows, in_library_of, is_scan, new_table, whole_frame
from bayesieve.table.levels import columns_of
from bayesieve.table.scanned import scanned_rows
from bayesieve.table.scanning import scan, scan_to_score
from bayesieve.table.scans import CopyProgress, Scan
from bayesieve.table.writing import write_atomically

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB
    from bayesieve.scorecard.export.point_card import Points


class Predicting(ClassifierMixin, BaseEstimator):
    """Predictions of a fitted model; ``X`` may be whatever `bayesieve.scan` takes, which is read block by block.

    Clones share the executor that is the option ``engine``; pickles go without it.
    """

    engine: Any

    def __sklearn_clone__(self) -> Predicting:
        other = copy(self)
        other.engine = MEMORY
        clone: Predicting = super(Predicting, other).__sklearn_clone__()
        clone.engine = self.engine
        return clone

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return state if isinstance(state.get("engine", MEMORY), str) else {**state, "engine": MEMORY}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scorecard_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for kind in ("allow_nan", "string", "categorical", "sparse"):
            setattr(tags.input_tags, kind, True)
        return tags

    def predict_log_proba(self: Any, X: Any, offset: Any = None) -> np.ndarray:
        """Log probabilities of the classes, shape (n_rows, n_classes); ``offset`` as for ``fit``."""
        return log_probabilities(_joint(self, X, offset))

    def predict_proba(self: Any, X: Any, offset: Any = None) -> np.ndarray:
        """Probabilities of the classes, shape (n_rows, n_classes); ``offset`` as for ``fit``."""
        return probabilities(_joint(self, X, offset))

    def decision_function(self: Any, X: Any, offset: Any = None) -> np.ndarray:
        """Log odds of ``classes_[1]`` of two classes, shape (n_rows,); of more, log probabilities, (n_rows, n_classes).

        ``offset`` as for ``fit``.
        """
        logs = self.predict_log_proba(X, offset)
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def predict_interval(self: Any, X: Any, level: float = 0.9) -> np.ndarray:
        """Intervals that hold the true probability of each class in a share ``level`` of cases, (n_rows, n_classes, 2).

        They are normal on the scale of log odds. Errors come from the curvature of the fit, correlations between
        features included, and from the counts of levels; both are enlarged, as the same rows choose levels and features
        (benchmarks/decisions/intervals.md), and so are intervals for what columns that the fit dropped may add. They
        are given the columns kept, and do not cover other rows than those of training. A value that was never seen may
        add what any value adds.

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
        [[[0.82, 1.0], [0.0, 0.18]]]
        """
        check_is_fitted(self, "scorecard_")
        level = check_level(level)
        return predicted(self, X, lambda card, cells: card.interval_of_cells(cells, level))

    def predict(self: Any, X: Any, offset: Any = None) -> np.ndarray:
        """Most probable class of each row; the first one on ties. ``offset`` as for ``fit``."""
        best = _joint(self, X, offset).argmax(axis=1)
        return self.classes_[best]

    def score(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows predicted rightly, by weight; ``y`` and the weights may be columns of a scanned table."""
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
        """Why rows do not score better: the columns that speak against a class, one reason for each column.

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
        table = read(self, rows_in_memory(self, X))
        found = reasons_of(self.scorecard_, table, n, against, target_class, values, codes)
        return in_library_of(X, found)

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
        """The smallest changes of rows that flip their decision, found exactly, pairs of columns included.

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
        table = read(self, rows_in_memory(self, X))
        by_column = {"fixed": fixed, "directions": directions, "costs": costs}
        found = counterfactuals_of(self.scorecard_, table, target, probability, n, max_changes, **by_column)
        return in_library_of(X, found)

    def with_labels(self: Any, labels: Any) -> Any:
        """A copy of the model with words for people: readable names, units and texts, which reports, explanations and
        reasons show, and which the model file keeps.

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
        """The model for another system, with the probabilities of ``predict_proba``; docs/deployment.md compares them.

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
        from bayesieve.classifier.persistence import facts_of
        from bayesieve.scorecard.export import export

        check_is_fitted(self, "scorecard_")
        content = export(self.scorecard_, to, path, facts_of(self, options.pop("name", None)), options)
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
        """The model of two classes as a scorecard of whole points: a base, and points for the cell of each feature.

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


def labelled(model: SelectiveNB, labels: Mapping[str, Any]) -> SelectiveNB:
    """Return a copy of a model with labels, as `read_labels` returns them."""
    card, named = model.scorecard_, dict(labels)
    return with_card(model, replace(card, provenance={**card.provenance, "labels": named}))


def with_card(model: SelectiveNB, card: Scorecard) -> SelectiveNB:
    """Return a copy of a model that predicts by another scorecard."""
    made = copy(model)
    made.scorecard_ = card
    return made


def levels_of_columns(*models: SelectiveNB) -> dict[str, FeatureLevels]:
    """The levels of the columns that models were trained on, by name; they define how values are read. Of a column of
    several models, those of the first.
    """
    levels = [columns_of([feature.levels for feature in model.scorecard_.features]) for model in models[::-1]]
    return {level.column: level for of_model in levels for level in of_model}


def scan_for(model: SelectiveNB, source: Any, progress: CopyProgress | None = None) -> Scan:
    """A source whose text, in files without types, is read by the levels of a model."""
    return scan_to_score(source, levels_of_columns(model), progress)


def columns_to_read(model: SelectiveNB, source: Scan) -> list[str]:
    """The columns of a source that predictions depend on; at least one, or no row is read."""
    needed = set(model.scorecard_.reader.needed)
    return [name for name in source.names if name in needed] or list(source.names[:1])


def own_columns(model: SelectiveNB, frame: Any) -> Any:
    """The columns that a model was trained on, in its order, without names if it had none. Columns that predictions
    do not depend on may be missing, and are empty then.

    ValueError, which names it, if another column is missing.
    """
    names, whole = model.scorecard_.columns, nw.from_native(whole_frame(frame), eager_only=True)
    model.scorecard_.reader.check(whole.columns)
    empty = [nw.lit(None, nw.Float64).alias(name) for name in names if name not in whole.columns]
    chosen = whole.with_columns(*empty)[:, list(names)]  # `select` takes some names for patterns
    if hasattr(model, "feature_names_in_"):
        return chosen.to_native()
    return np.array(chosen.rows(), dtype=object)  # trained on an array


def read(model: SelectiveNB, X: Any) -> Table:
    """Rows in memory with the columns of the fit, in their order, or their scores; a row of values by column."""
    return one_row(X) if is_row(X) else new_table(model, X)


def _joint(model: SelectiveNB, X: Any, offset: Any) -> np.ndarray:
    """Return log joint probabilities, (n_rows, n_classes), in nats, up to a number for each row."""
    check_is_fitted(model, "scorecard_")
    joint = predicted(model, X)
    return joint if offset is None else joint + offset_of(offset, *joint.shape)


def predicted(
    model: SelectiveNB, X: Any, of_cells: Callable[[Scorecard, np.ndarray], np.ndarray] | None = None
) -> np.ndarray:
    """Log joint probabilities, or what ``of_cells`` makes of the cells (n_used, n_rows), of rows that are in memory,
    coded already, or read from a source block by block.
    """
    card = model.scorecard_
    if isinstance(X, CodedTable):
        return card.joint(X) if of_cells is None else of_cells(card, card.cells(X))
    if not is_scan(X, ""):
        cells = cells_of_row(model, X)
        if cells is not None:
            one = [code for code, _ in cells]
            if of_cells is None:
                return card.tables.joint_of_row(one)[None]
            return of_cells(card, np.array(one, dtype=np.int64).reshape(-1, 1))
        table = read(model, X)
        codes, unseen = card.reader.code(table, model.n_jobs)
        if unseen.any():
            warn_of_unseen(card, table, unseen)
        return card.tables.joint(codes) if of_cells is None else of_cells(card, codes)
    source = scan_for(model, X)
    results: list[np.ndarray] = []
    with unseen_said_once(model.scorecard_, source.n_rows), silenced():
        for frame in source.blocks(columns_to_read(model, source)):
            with rows_from(sum(map(len, results))):
                results.append(predicted(model, own_columns(model, frame), of_cells))
    return np.concatenate(results)


def cells_of_row(model: SelectiveNB, X: Any) -> list[Cell] | None:
    """The cells of one row, given as values by column or as a dataframe with the columns of the fit; None for other
    rows, and for those that take a table.
    """
    reader = model.scorecard_.reader
    if is_row(X):
        return reader.read_row(X)
    names = getattr(model, "feature_names_in_", None)
    if names is None or not nw.dependencies.is_into_dataframe(X) or len(X) != 1 or list(X.columns) != names.tolist():
        return None
    frame = nw.from_native(X, eager_only=True)
    is_polars = nw.dependencies.is_polars_dataframe(X)  # whose own types take a tenth of the time
    types = X.dtypes if is_polars else frame.schema.values()
    moments = [name for name, type_ in zip(X.columns, types, strict=True) if type_.is_temporal()]
    if not all(_is_in_calendar(frame[name]) for name in moments):
        return None
    try:
        values = frame.rows()[0]
    except OverflowError:  # a duration that Python cannot hold
        return None
    return reader.read_row(dict(zip(X.columns, values, strict=True)))


def _is_in_calendar(column: nw.Series[Any]) -> bool:
    """Whether the one value is no date that Python cannot hold, at which polars panics; a table can hold it."""
    if isinstance(column.dtype, (nw.Time, nw.Duration)):
        return True
    if column.is_null()[0]:  # in pandas, the year of a missing date has no truth value
        return True
    year = column.dt.year().to_list()[0]  # null beyond what polars can tell
    return year is not None and dt.MINYEAR <= year <= dt.MAXYEAR


def rows_in_memory(model: SelectiveNB, X: Any) -> Any:
    """Rows to be explained; those of a source with the columns that predictions depend on."""
    if not is_scan(X, ""):
        return X
    import polars as pl

    source = scan_for(model, X)
    return own_columns(model, pl.concat(list(source.blocks(columns_to_read(model, source)))))


def drawn_from(
    model: SelectiveNB, X: Any, y: Any, sample_weight: Any, time: Any = None, n_rows: int = 50_000
) -> tuple[Any, Any, Any, Any, Caution | None]:
    """Rows of a source with the columns of a model, their labels, weights and times, drawn at random if there are more,
    and a caution that says so.
    """
    if time is not None and not isinstance(time, str):
        raise ValueError("time must be the name of a column of the scanned table.")
    source, own = scan(X), {*model.scorecard_.columns, y, sample_weight, time}
    rows = scanned_rows(source.select([name for name in source.names if name in own]), y, sample_weight)
    drawn = drawn_from_scan(*rows[:3], n_rows)
    caution = None
    if drawn.size < rows.table.n_rows:
        sentence = (
            f"Performance is that of models of {drawn.size:,} rows drawn at random from {rows.table.n_rows:,}; the "
            "model itself is learnt from all of them."
        )
        caution = Caution("sample", (), sentence, warns=False)
    weights = None if rows.weights is None else rows.weights[drawn]
    frame = rows.table.frame(drawn)
    if time is not None and time not in frame.columns:
        raise ValueError(f"There is no column {time!r} to order the rows by.")
    moments, labels = None if time is None else frame[time], rows.target.classes[rows.target.codes[drawn]]
    return own_columns(model, frame), labels, weights, moments, caution


def look_at_first_rows(model: SelectiveNB, frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> None:
    """Warn of values never seen in training in the first rows of a query, which no Python is going to see."""
    if isinstance(model.scorecard_.reader, ScoreReader):
        return
    try:
        first = frame.head(EXAMPLE_ROWS)
        head = own_columns(model, first.collect() if isinstance(first, nw.LazyFrame) else first)
        table = read(model, head)
        _, unseen = model.scorecard_.reader.code(table)
    except Exception:  # a query fails in any way, and says so when it is run
        return
    warn_of_unseen(
        model.scorecard_, table, unseen, "" if table.n_rows < EXAMPLE_ROWS else f"first {table.n_rows:,} rows"
    )


def prediction_names(model: SelectiveNB) -> list[str]:
    """Return the names of the prediction columns."""
    return ["prediction", *(f"P({label})" for label in model.classes_.tolist())]


def explain_rows(model: SelectiveNB, X: Any, by: Any) -> Explanation:
    """Explain rows in memory, as `Scorecard.explain`, by the columns of the fit."""
    check_way(by)
    cells = None if by == "column" else cells_of_row(model, X)
    card = model.scorecard_
    return card.explain(read(model, X), by) if cells is None else explain_cells(card, cells)
