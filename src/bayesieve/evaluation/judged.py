"""Rows on which a model is evaluated: its predictions together with classes, weights and groups.

A cell is an interval or group of values of a feature, the unit that has a contribution in a scorecard.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np

from bayesieve.forking import refuse_fork
from bayesieve.scorecard import Scorecard
from bayesieve.scorecard.probabilities import log_probabilities, probabilities
from bayesieve.scorecard.unseen import warn_of_unseen
from bayesieve.table import Column, Table, Target, as_sample_weight, as_target
from bayesieve.table.columns import column_of
from bayesieve.table.frames import as_table, new_table, refuse_scan, take_rows, whole_frame
from bayesieve.table.pair_levels import PairLevels
from bayesieve.table.target import normalized_weights
from bayesieve.table.values import MICROSECONDS_PER_DAY, canonical_text
from bayesieve.words import did_you_mean, format_count, named

_PERIODS: dict[str, Callable[[dt.date], str]] = {
    "day": dt.date.isoformat,
    "week": lambda day: "{:04d}-W{:02d}".format(*day.isocalendar()[:2]),
    "month": lambda day: day.isoformat()[:7],
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: day.isoformat()[:4],
}
EVERY = tuple(_PERIODS)
_MOST_GROUPS = 2000
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].*)?")


@dataclass(frozen=True, eq=False)
class EvaluatedRows:
    """Rows on which a model is evaluated, with its predictions.

    Attributes
    ----------
    classes : (n_classes,) class labels.
    positive : position of the class that measures describe; None if they describe each class.
    labels : (n_rows,) positions of the true classes, -1 if unknown; None if there are no labels.
    weights : (n_rows,) row weights, or None.
    cells : (n_used, n_rows) position of the cell of each row, for each feature that the scorecard uses.
    log_proba : (n_rows, n_classes) log probabilities of the classes.
    decided : (n_rows,) positions of the predicted classes.
    exact : (n_rows, n_classes) probabilities that equal those of ``predict_proba`` to the bit; None if not computed.
    names : names of the groups of rows.
    group : (n_rows,) position of the group of each row.
    missing : for each feature that the scorecard uses, the positions of the rows without a value.
    X : the rows as passed by the caller.
    segments : further groupings of the rows, each a tuple of name, group of each row, and labels of the groups.
    moments : (n_rows,) times as numbers that order the rows; None without times.
    benefits : (n_rows, n_decisions, n_classes) benefits of decisions, or None.
    copies : (n_rows,) number that identical rows share; None if all rows are distinct.
    """

    classes: np.ndarray
    positive: int | None
    labels: np.ndarray | None
    weights: np.ndarray | None
    cells: np.ndarray
    log_proba: np.ndarray
    decided: np.ndarray
    exact: np.ndarray | None = None
    names: Sequence[Any] = ("all",)
    group: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    missing: Sequence[np.ndarray] = ()
    X: Any = None
    segments: tuple[tuple[str, np.ndarray, tuple[str, ...]], ...] = ()
    moments: np.ndarray | None = None
    benefits: np.ndarray | None = None
    copies: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.log_proba)

    @property
    def probability(self) -> np.ndarray:
        """Probabilities of the classes, shape (n_rows, n_classes)."""
        return np.exp(self.log_proba) if self.exact is None else self.exact

    def take(self, positions: np.ndarray) -> EvaluatedRows:
        """Return the rows at ``positions``, without their groups (`group`) and missing values (`missing`)."""
        names = ("labels", "weights", "log_proba", "decided", "exact", "moments", "benefits", "copies")
        of_rows = {name: getattr(self, name) for name in names}
        fields: dict[str, Any] = {
            name: None if values is None else values[positions] for name, values in of_rows.items()
        }
        fields["segments"] = tuple((name, group[positions], labels) for name, group, labels in self.segments)
        fields |= {"cells": self.cells[:, positions], "X": take_rows(self.X, positions)}
        fields |= {"group": self.group[:0], "missing": ()}
        return replace(self, **fields)


def scorecard_in(model: Any) -> Scorecard | None:
    """Return the scorecard of a fitted `SelectiveNB`, or ``model`` itself if it is a scorecard; None for other
    classifiers.
    """
    card = getattr(model, "scorecard_", model)
    return card if isinstance(card, Scorecard) else None


def grouped_rows(
    model: Any, X: Any, y: Any, by: Any, sample_weight: Any, every: str = "month", *, predicts: bool = True
) -> EvaluatedRows:
    """Read rows, predict them with a model, and group them.

    Columns of which many values did not occur in training raise a warning, as in ``predict_proba``.

    Parameters
    ----------
    model : fitted `SelectiveNB`, `Scorecard`, or any classifier.
    X : the rows.
    y, by, sample_weight : labels, groups and weights as arrays, as names of columns of ``X``, or None.
    every : period by which dates in ``by`` are grouped.
    predicts : whether a scorecard predicts the rows. If False, it only assigns cells, and predictions are empty.

    Raises
    ------
    ValueError
        If a column does not exist or has another length, a label is not a class of the model, or ``by`` has too many
        values.
    """
    refuse_fork()
    refuse_scan(X, "", "Watching a model", "pass a dataframe, such as polars.read_parquet(path)")
    card, table = scorecard_in(model), as_table(X)
    roles = {"y": y, "by": by, "sample_weight": sample_weight}
    labels, groups, weights = (_column(table, role, values) for role, values in roles.items())
    group, names = (np.zeros(table.n_rows, dtype=np.int32), ["all"]) if groups is None else groups_of(groups, every)
    classes = np.asarray(model.classes_ if card is None else card.classes)
    cells, missing = (np.zeros((0, table.n_rows)), []) if card is None else _coded(model, card, X, table)
    log_proba, decided = np.zeros((0, classes.size)), np.zeros(0, dtype=np.int64)
    if card is None:
        role_columns = [name for name in roles.values() if isinstance(name, str)]
        log_proba, decided = _predicted(model, X, classes, role_columns)
    elif predicts:
        log_proba = log_probabilities(card.tables.joint(cells))
        decided = log_proba.argmax(axis=1)
    row_weights = None if weights is None else as_sample_weight(weights.numbers(), table.n_rows)
    codes = None if labels is None else _positions(labels, classes, row_weights)
    positive = (1 if classes.size == 2 else None) if card is None else card.positive
    return EvaluatedRows(
        classes=classes,
        positive=positive,
        labels=codes,
        weights=row_weights,
        cells=cells,
        log_proba=log_proba,
        decided=decided,
        names=names,
        group=group,
        missing=missing,
    )


def evaluated_rows(model: Any, X: Any, y: Any, sample_weight: Any = None) -> EvaluatedRows:
    """Read rows and predict them with a `SelectiveNB`. Each row needs a label that is a class of the model.

    Raise ValueError if the numbers of labels, weights and rows differ, or a label is not a class of the model.
    """
    table = new_table(model, X)
    _, codes, weights = known_labels(model, table, y, sample_weight)
    card = model.scorecard_
    cells, unseen = card.reader.code(table)
    warn_of_unseen(card, table, unseen)
    joint = card.tables.joint(cells)
    decided = joint.argmax(axis=1)
    exact = probabilities(joint.copy())
    log_proba = log_probabilities(joint)  # last, because it overwrites `joint`
    return EvaluatedRows(
        classes=model.classes_,
        positive=card.positive,
        labels=codes,
        weights=weights,
        cells=cells,
        log_proba=log_proba,
        decided=decided,
        exact=exact,
        X=X,
    )


def known_labels(model: Any, table: Table, y: Any, sample_weight: Any) -> tuple[Target, np.ndarray, np.ndarray | None]:
    """Read the labels and weights of the rows of a table for a fitted `SelectiveNB`.

    Return a tuple: the labels as a `Target`, their positions among the classes of the model, shape (n_rows,), and the
    weights, shape (n_rows,) or None. Raise ValueError for wrong lengths or unknown labels.
    """
    target = as_target(y)
    if table.n_rows != target.codes.size:
        raise ValueError(
            f"X has {table.n_rows:,} rows but y has {target.codes.size:,} labels; pass one label for each row."
        )
    weights = as_sample_weight(sample_weight, table.n_rows)
    if model.normalize and weights is not None:
        weights = normalized_weights(weights)
    target = target.counted(weights)
    positions = {
        canonical_text(label): j for j, label in enumerate(model.classes_.tolist())
    }  # as texts: classes read from files may be texts
    labels = target.classes.tolist()
    texts = [canonical_text(label) for label in labels]
    unknown = [label for label, text in zip(labels, texts, strict=True) if text not in positions]
    if unknown:
        raise ValueError(f"y contains the label {unknown[0]!r}, which is not a class of the model; remove its rows.")
    class_positions = np.array([positions[text] for text in texts], dtype=np.int64)
    return replace(target, classes=model.classes_[class_positions]), class_positions[target.codes], weights


def _column(table: Table, role: str, value: Any) -> Column | None:
    """Return a column of the table if ``value`` is its name, otherwise the array ``value`` as a column; None if
    ``value`` is None.

    ``role`` is the name of the argument for messages, such as "y". Raise ValueError if there is no such column.
    """
    if value is None:
        return None
    if isinstance(value, str):
        if not table.named or value not in table.names:
            hint = did_you_mean(value, table.names) or f"its columns are {named(table.names)}."
            raise ValueError(f"X has no column {value!r} ({role}); {hint}")
        return table.column(table.names.index(value))
    return column_of(value, role, table.n_rows)


def _coded(model: Any, card: Scorecard, X: Any, table: Table) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the cell of each row for each feature in the model, shape (n_used, n_rows), and, for each of these
    features, the positions of the rows in which its value (for a pair, one of its values) is missing.

    ``X`` and ``table`` are the same rows, as passed by the caller and as a `Table`.
    """
    reader = card.reader
    cells, unseen = reader.code(table)
    warn_of_unseen(card, table, unseen)
    raw_columns = reader.read(table)
    position, masks, rows = {name: i for i, name in enumerate(raw_columns.names)}, {}, []
    for level, codes in zip((card.features[k].cells for k in card.used.tolist()), cells, strict=True):
        if isinstance(level, PairLevels):
            for column_levels in level.parts:
                if column_levels.name not in masks:
                    masks[column_levels.name] = column_levels.is_missing(
                        raw_columns.column(position[column_levels.name])
                    )
            rows.append(np.flatnonzero(masks[level.parts[0].name] | masks[level.parts[1].name]))
            continue
        candidates = np.flatnonzero(codes == (level.n_levels if level.missing_code is None else level.missing_code))
        if candidates.size and not level.has_missing_level:
            # Missing values share this code with unseen ones, so read the raw values of these rows.
            candidates = candidates[level.is_missing(raw_columns.column(position[level.column]).take(candidates))]
        rows.append(candidates)
    return cells, rows


def groups_of(column: Column, every: str) -> tuple[np.ndarray, list[Any]]:
    """Return the group of each row, shape (n_rows,), and the values of the groups in ascending order. The group of
    missing values comes last, with the value None.

    Dates, and texts that begin with a date, are grouped by the period ``every``, such as "month". Raise ValueError if
    there are too many groups.
    """
    if every not in EVERY:
        raise ValueError(f"every must be one of {', '.join(EVERY)}, got {every!r}.")
    if column.type in ("date", "datetime"):
        codes, values = _days(column)
    else:
        categories = column.categories()
        codes, values = categories.codes, list(categories.values)
        if values and all(isinstance(value, str) and _DAY.fullmatch(value) for value in values):
            with suppress(ValueError):  # texts such as 2024-02-31 are no dates
                values = [dt.date.fromisoformat(value[:10]) for value in values]
    values = [_PERIODS[every](value) if isinstance(value, dt.date) else value for value in values]
    groups = sorted(set(values), key=str if any(isinstance(value, str) for value in values) else None)
    if len(groups) > _MOST_GROUPS:
        most = f"at most {format_count(_MOST_GROUPS)} groups are supported"
        raise ValueError(
            f"by has {format_count(len(groups))} values, but {most}; merge values, or group dates by every=."
        )
    position = {value: i for i, value in enumerate(groups)}
    group = np.array([*(position[value] for value in values), len(groups)], dtype=np.int32)[codes]
    return group, [*groups, None] if (codes < 0).any() else groups


def _days(column: Column) -> tuple[np.ndarray, list[Any]]:
    """Return the position of each row's day among the distinct days, shape (n_rows,), -1 if missing, and these days as
    dates.
    """
    import polars as pl

    days = np.floor(column.numbers() / (MICROSECONDS_PER_DAY if column.type == "datetime" else 1.0))
    distinct = pl.Series(days).unique().drop_nans().sort().to_numpy()
    codes = np.where(np.isnan(days), -1, np.searchsorted(distinct, days))
    return codes, distinct.astype(np.int64).astype("datetime64[D]").tolist()


def _positions(column: Column, classes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the position of each label among the classes, shape (n_rows,); labels are compared as texts.

    Missing labels get -1, as do unknown labels in rows of weight 0. Raise ValueError for any other unknown label.
    """
    categories, position = column.categories(), {canonical_text(c): j for j, c in enumerate(classes.tolist())}
    texts = [canonical_text(value) for value in categories.values]
    codes = np.array([*(position.get(text, -2) for text in texts), -1], dtype=np.int64)[categories.codes]
    unknown = np.flatnonzero(codes == -2 if weights is None else (codes == -2) & (weights > 0))
    if unknown.size:
        text = texts[categories.codes[unknown[0]]]
        raise ValueError(f"y contains the label {text!r}, which is not a class of the model; it has {named(position)}.")
    return np.maximum(codes, -1)


def _predicted(model: Any, X: Any, classes: np.ndarray, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Predict rows by any classifier. Return the log probabilities (n_rows, n_classes), and the positions of the
    predicted classes (n_rows,).

    The classifier gets the columns on which it was fitted. If it does not name them, it gets all columns except those
    in ``names``, which hold labels, groups and weights.
    """
    X = whole_frame(X)
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        features = list(getattr(model, "feature_names_in_", [name for name in frame.columns if name not in names]))
        X = frame[:, features].to_native()
    probability = np.asarray(model.predict_proba(X), dtype=float)
    position = {label: j for j, label in enumerate(classes.tolist())}
    labels = np.asarray(model.predict(X)).tolist() if hasattr(model, "predict") else []
    is_class = bool(labels) and all(label in position for label in set(labels))
    decided = np.array([position[label] for label in labels]) if is_class else probability.argmax(axis=1)
    return np.log(np.maximum(probability, np.finfo(float).tiny)), decided
