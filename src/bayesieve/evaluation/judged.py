"""Rows to judge a model by: their probabilities, cells, classes, weights and groups, in memory or block by block."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from bayesieve.discretize import IndicatorEncoder
from bayesieve.discretize.random_sums import with_sums
from bayesieve.scorecard import Scorecard
from bayesieve.scorecard.look_up import ScoreReader
from bayesieve.scorecard.record import log_probabilities
from bayesieve.table import Column, Table, as_sample_weight
from bayesieve.table.columns import column_of_series
from bayesieve.table.derived_levels import PairLevels, scores_of
from bayesieve.table.frames import as_table, is_scan, whole_frame
from bayesieve.table.levels import columns_of
from bayesieve.table.sources import scan_to_score
from bayesieve.table.values import canonical_text, unmasked
from bayesieve.words import format_count, named

EVERY = ("day", "week", "month", "quarter", "year")
_MOST_GROUPS = 2000
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].*)?")
_MICROSECONDS = 86_400_000_000.0  # of a day


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows in groups.

    names : of the groups; group : (n_rows,) position of the group of each row.
    classes : (n_classes,); labels : (n_rows,) positions of the true classes, -1 if unknown; None without any.
    weights : (n_rows,) or None.
    cells : (n_used, n_rows) of a scorecard; missing : for each feature in it, the rows without a value.
    """

    names: list[Any]
    group: np.ndarray
    classes: np.ndarray
    labels: np.ndarray | None
    weights: np.ndarray | None
    cells: np.ndarray
    missing: list[np.ndarray]
    log_proba: np.ndarray
    decided: np.ndarray

    def sums(self, values: np.ndarray | None = None, rows: np.ndarray | None = None) -> np.ndarray:
        """(n_groups,) sums of weights, times values if given, over all rows or some."""
        weights = self.weights if values is None else values if self.weights is None else values * self.weights
        group = self.group if rows is None else self.group[rows]
        weights = weights if weights is None or rows is None else weights[rows]
        return np.bincount(group, weights, minlength=len(self.names)).astype(float)


def scorecard_in(model: Any) -> Scorecard | None:
    """The scorecard that a model is or has; None for other classifiers."""
    card = getattr(model, "scorecard_", model)
    return card if isinstance(card, Scorecard) else None


def judged_rows(
    model: Any,
    X: Any,
    y: Any = None,
    by: Any = None,
    sample_weight: Any = None,
    every: str = "month",
    *,
    predicts: bool = True,
) -> JudgedRows:
    """Read and predict rows; ``y``, ``by`` and ``sample_weight`` are columns, or names of columns of ``X``.

    ValueError if a column does not exist or has another length, a label is no class of the model, or ``by`` has too
    many values. Without ``predicts`` there are no log probabilities.
    """
    roles = {"y": y, "by": by, "sample_weight": sample_weight}
    names = list(dict.fromkeys(value for value in roles.values() if isinstance(value, str)))
    card, blocks = scorecard_in(model), []
    for block in _blocks(model, card, X, names):
        table, taken = as_table(block), {}
        for name in names:
            if name not in table.names or not table.named:
                raise ValueError(f"X has no column {name!r}; its columns are {named(table.names)}.")
            taken[name] = block[name] if is_scan(X, "") else table.column(table.names.index(name))
        coded = (None, None) if card is None else _coded(model, card, block, table)
        blocks.append((table.n_rows, *coded, taken))
    sizes, cells, missing, taken = zip(*blocks, strict=True)
    n_rows, starts = sum(sizes), np.cumsum([0, *sizes])
    columns = {role: _column(role, value, taken, n_rows) for role, value in roles.items() if value is not None}
    group, labels_of_groups = np.zeros(n_rows, dtype=np.int32), ["all"]
    if by is not None:
        group, labels_of_groups = groups_of(columns["by"], every)
    classes = np.asarray(model.classes_ if card is None else card.classes)
    joint = decided = np.zeros((0, classes.size))
    own_cells, rows_missing = np.zeros((0, n_rows), dtype=np.uint8), []
    if card is not None:
        own_cells = cells[0] if len(cells) == 1 else np.concatenate(cells, axis=1)
        shifted = [[own + start for own in part] for part, start in zip(missing, starts, strict=False)]
        rows_missing = [np.concatenate(parts) for parts in zip(*shifted, strict=True)]
        if predicts:
            joint = log_probabilities(card.tables.joint(own_cells))
            decided = joint.argmax(axis=1)
    else:
        joint, decided = _predicted(model, X, classes, names)
    weights = columns.get("sample_weight")
    return JudgedRows(
        labels_of_groups,
        group,
        classes,
        None if y is None else _positions(columns["y"], classes),
        None if weights is None else as_sample_weight(weights.numbers(), n_rows),
        own_cells,
        rows_missing,
        joint,
        decided,
    )


def _blocks(model: Any, card: Scorecard | None, X: Any, names: list[str]) -> Iterator[Any]:
    if not is_scan(X, ""):
        yield X
        return
    if card is None:
        raise ValueError(f"{type(model).__name__} does not read tables block by block; pass the rows as a dataframe.")
    levels = columns_of([feature.cells for feature in card.features])
    source = scan_to_score(X, dict(zip(scores_of(levels), levels, strict=True)))
    wanted = {*card.reader.needed, *names}
    for name in names:
        if name not in source.names:
            raise ValueError(f"X has no column {name!r}; its columns are {named(source.names)}.")
    yield from source.blocks([name for name in source.names if name in wanted] or source.names[:1])


def _coded(model: Any, card: Scorecard, block: Any, table: Table) -> tuple[np.ndarray, list[np.ndarray]]:
    """The cells of rows, (n_used, n_rows), and for each feature the rows without a value."""
    encoder = getattr(model, "encoder_", None)
    if isinstance(encoder, IndicatorEncoder) and encoder.scores is not None:
        table = encoder.read(block, model)
    cells, reader = card.cells(table), card.reader
    own = reader.read(table)
    if not isinstance(reader, ScoreReader):
        own = with_sums(own, reader.levels.sums)
    position = {name: i for i, name in enumerate(own.names)}
    masks: dict[str, np.ndarray] = {}  # of the columns of pairs
    rows = []
    for feature, codes in zip((card.features[k] for k in card.used.tolist()), cells, strict=True):
        level = feature.cells
        if isinstance(level, PairLevels):
            for part in level.parts:
                if part.name not in masks:
                    masks[part.name] = part.is_missing(own.column(position[part.name]))
            rows.append(np.flatnonzero(masks[level.parts[0].name] | masks[level.parts[1].name]))
            continue
        code = level.n_levels if level.missing_code is None else level.missing_code
        candidates = np.flatnonzero(codes == code)
        if candidates.size and not level.has_missing_alone:
            column = own.column(position[scores_of([level])[0]]).take(candidates)
            candidates = candidates[level.is_missing(column)]
        rows.append(candidates)
    return cells, rows


def _column(role: str, value: Any, taken: tuple[dict[str, Any], ...], n_rows: int) -> Column:
    """The column that is given, or named, of all blocks."""
    if isinstance(value, str):
        parts = [block[value] for block in taken]
        if isinstance(parts[0], Column):
            return parts[0]
        import polars as pl

        return Column(value, pl.concat(parts))
    if nw.dependencies.is_into_series(value):
        column = column_of_series(role, value)
    else:
        array = unmasked(value)
        if array.ndim == 0 and role == "sample_weight":
            array = np.full(n_rows, array)
        if array.ndim != 1:
            raise ValueError(f"{role} must hold one value for each row, got an array of shape {array.shape}.")
        column = Column(role, array)
    if len(column) != n_rows:
        raise ValueError(f"X has {format_count(n_rows)} rows but {role} has {format_count(len(column))} values.")
    return column


def groups_of(column: Column, every: str) -> tuple[np.ndarray, list[Any]]:
    """(n_rows,) the group of each row, and the values of the groups, ascending; None for missing ones, last.

    Dates, and texts that begin with one, are grouped by what ``every`` says.
    """
    if every not in EVERY:
        raise ValueError(f"every must be one of {', '.join(EVERY)}, got {every!r}.")
    if column.type in ("date", "datetime"):
        codes, values = _days(column)
    else:
        categories = column.categories()
        codes, values = categories.codes.astype(np.int64), list(categories.values)
    is_text = column.type not in ("date", "datetime") and all(isinstance(value, str) for value in values)
    if is_text and values and all(_DAY.fullmatch(value) for value in values):
        try:
            values, is_text = [dt.date.fromisoformat(value[:10]) for value in values], False
        except ValueError:  # such as 2024-02-31
            pass
    if values and not is_text and isinstance(values[0], dt.date):
        values = [_period(day, every) for day in values]
    found = sorted(set(values)) if not any(isinstance(value, str) for value in values) else sorted(set(values), key=str)
    if len(found) > _MOST_GROUPS:
        what = "every='year' makes fewer" if column.type in ("date", "datetime") else "join some of them first"
        raise ValueError(
            f"by has {format_count(len(found))} different values, but at most {format_count(_MOST_GROUPS)} groups are "
            f"told apart; {what}."
        )
    position = {value: i for i, value in enumerate(found)}
    lookup = np.array([*(position[value] for value in values), len(found)], dtype=np.int32)
    group = lookup[codes]
    return group, [*found, None] if (codes < 0).any() else found


def _days(column: Column) -> tuple[np.ndarray, list[Any]]:
    """(n_rows,) codes of the days, -1 if missing, and the days."""
    numbers = column.numbers()
    days = np.floor(numbers / _MICROSECONDS if column.type == "datetime" else numbers)
    known = ~np.isnan(days)
    codes = np.full(days.size, -1, dtype=np.int64)
    if not known.any():
        return codes, []
    first = int(days[known].min())
    offsets = (days[known] - first).astype(np.int64)
    present = np.bincount(offsets) > 0
    codes[known] = (np.cumsum(present) - 1)[offsets]
    epoch = dt.date(1970, 1, 1)
    try:
        return codes, [epoch + dt.timedelta(first + int(day)) for day in np.flatnonzero(present)]
    except OverflowError:
        raise ValueError(f"Column {column.name!r} holds dates beyond the years 1 to 9999; correct them.") from None


def _period(day: dt.date, every: str) -> str:
    if every == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04d}-W{week:02d}"
    if every == "quarter":
        return f"{day.year:04d}-Q{(day.month + 2) // 3}"
    return day.isoformat()[: {"day": 10, "month": 7, "year": 4}[every]]


def _positions(column: Column, classes: np.ndarray) -> np.ndarray:
    """(n_rows,) positions of labels among the classes, compared as texts; -1 for missing labels."""
    categories, position = column.categories(), {canonical_text(c): j for j, c in enumerate(classes.tolist())}
    texts = [canonical_text(value) for value in categories.values]
    unknown = [text for text in texts if text not in position]
    if unknown:
        known = named(classes.tolist())
        raise ValueError(f"y holds the class {unknown[0]!r} that the model does not know; its classes are {known}.")
    return np.array([*(position[text] for text in texts), -1], dtype=np.int64)[categories.codes]


def _predicted(model: Any, X: Any, classes: np.ndarray, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Log probabilities and decisions of any classifier, by the columns that it was fitted on."""
    X = whole_frame(X)
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        kept = list(getattr(model, "feature_names_in_", [name for name in frame.columns if name not in names]))
        X = frame[:, kept].to_native()
    probability = np.asarray(model.predict_proba(X), dtype=float)
    log_proba = np.log(np.maximum(probability, np.finfo(float).tiny))
    decided, position = probability.argmax(axis=1), {label: j for j, label in enumerate(classes.tolist())}
    labels = np.asarray(model.predict(X)).tolist() if hasattr(model, "predict") else []
    if labels and all(label in position for label in set(labels)):
        decided = np.array([position[label] for label in labels])
    return log_proba, decided
