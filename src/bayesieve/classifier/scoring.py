"""Rows for a fitted model: reading of columns, look-up of cells, and computation of values in memory or block by
block.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesieve.classifier.fit_steps import offset_of
from bayesieve.counts import CodedTable
from bayesieve.discretize.table_coding import draw_from_scan
from bayesieve.scorecard.explaining import explain_cells, explanation_kind
from bayesieve.scorecard.explanation import Explanation
from bayesieve.scorecard.look_up import Cell, is_row, one_row
from bayesieve.scorecard.record import Scorecard
from bayesieve.scorecard.unseen import EXAMPLE_ROWS, one_unseen_warning, warn_of_unseen
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.cautions import Caution, silenced
from bayesieve.table.columns import rows_from
from bayesieve.table.frames import is_scan, new_table, whole_frame
from bayesieve.table.levels import columns_of
from bayesieve.table.scanned import scanned_rows
from bayesieve.table.scanning import scan, scan_to_score
from bayesieve.table.scans import Scan

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB


_SAMPLE_SIZE = 50_000  # rows of a scan on which performance is measured


def labelled(model: SelectiveNB, labels: Mapping[str, Any]) -> SelectiveNB:
    """Return a copy of a model with readable labels, in the form returned by `read_labels`."""
    card, named = model.scorecard_, dict(labels)
    return with_card(model, replace(card, provenance={**card.provenance, "labels": named}))


def with_card(model: SelectiveNB, card: Scorecard, cautions: Sequence[Caution] = ()) -> SelectiveNB:
    """Return a copy of a model with another scorecard and additional cautions."""
    other = copy(model)
    other.scorecard_, other.cautions_ = card, (*model.cautions_, *cautions)
    return other


def levels_of_columns(*models: SelectiveNB) -> dict[str, FeatureLevels]:
    """Return the levels of all columns on which models were trained, by name. They define how values are read.

    If several models use a column, the first model decides.
    """
    levels = [columns_of([feature.levels for feature in model.scorecard_.features]) for model in models[::-1]]
    return {level.column: level for of_model in levels for level in of_model}


def scan_for(model: SelectiveNB, source: Any) -> Scan:
    """Return a scan of a source. Text files are read with the column types of the model."""
    return scan_to_score(source, levels_of_columns(model))


def columns_to_read(model: SelectiveNB, source: Scan) -> list[str]:
    """Return the columns of a source on which predictions depend; at least one column, because otherwise no rows would
    be read.
    """
    needed = set(model.scorecard_.reader.needed)
    return [name for name in source.names if name in needed] or list(source.names[:1])


def training_columns(model: SelectiveNB, frame: Any) -> Any:
    """Return the training columns of a dataframe in their order; an array if the model was trained on an array.

    Columns on which predictions do not depend may be missing and become empty. Raise ValueError, naming the column, if
    another one is missing.
    """
    names, whole = model.scorecard_.columns, nw.from_native(whole_frame(frame), eager_only=True)
    model.scorecard_.reader.check(whole.columns)
    empty = [nw.lit(None, nw.Float64).alias(name) for name in names if name not in whole.columns]
    chosen = whole.with_columns(*empty)[:, list(names)]  # `select` would read some names as patterns
    if hasattr(model, "feature_names_in_"):
        return chosen.to_native()
    return np.array(chosen.rows(), dtype=object)  # the model was trained on an array


def table_of_rows(model: SelectiveNB, X: Any) -> Table:
    """Return rows in memory as a `Table` for the model. A single row may be a mapping from column names to values."""
    return one_row(X) if is_row(X) else new_table(model, X)


def joint_of_rows(model: SelectiveNB, X: Any, offset: Any = None) -> np.ndarray:
    """Return the log joint probabilities of rows, shape (n_rows, n_classes), in nats, up to a constant for each row.

    ``offset`` is documented in `SelectiveNB.fit`.
    """
    if not hasattr(model, "scorecard_"):  # scikit-learn's check would take 10 % of the time of predicting a row
        check_is_fitted(model, "scorecard_")
    tables = model.scorecard_.tables
    joint = value_rows(model, X, tables.joint, tables.joint_of_row)
    return joint if offset is None else joint + offset_of(offset, *joint.shape)


def value_rows(
    model: SelectiveNB,
    X: Any,
    of_cells: Callable[[np.ndarray], np.ndarray],
    of_row: Callable[[Sequence[int]], np.ndarray] | None = None,
) -> np.ndarray:
    """Return values computed from the cells of rows: an array whose first axis is the rows.

    Parameters
    ----------
    model : fitted model.
    X : rows in memory, coded rows, or a source that is read block by block.
    of_cells : function from cells (n_used, n_rows) to the values of these rows.
    of_row : faster function from the cells of a single row to its values, or None.
    """
    card = model.scorecard_
    if isinstance(X, CodedTable):
        return of_cells(card.cells(X))
    if is_scan(X, ""):
        source = scan_for(model, X)
        values: list[np.ndarray] = []
        with one_unseen_warning(card, source.n_rows), silenced():
            for frame in source.blocks(columns_to_read(model, source)):
                with rows_from(sum(map(len, values))):
                    values.append(value_rows(model, training_columns(model, frame), of_cells, of_row))
        return np.concatenate(values)
    cells = cells_of_row(model, X)
    if cells is not None:
        codes = [code for code, _ in cells]
        return of_cells(np.array(codes, dtype=np.int64).reshape(-1, 1)) if of_row is None else of_row(codes)[None]
    table = table_of_rows(model, X)
    cells_of_table, unseen = card.reader.code(table, model.n_jobs)
    if unseen.any():
        warn_of_unseen(card, table, unseen)
    return of_cells(cells_of_table)


def cells_of_row(model: SelectiveNB, X: Any) -> list[Cell] | None:
    """Return the cells of a single row, given as a mapping or a dataframe, without building a table, which is faster.

    Return None for several rows, and for a row that can only be read as a table.
    """
    reader = model.scorecard_.reader
    if is_row(X):
        return reader.read_row(X)
    names = getattr(model, "feature_names_in_", None)
    if names is None or not nw.dependencies.is_into_dataframe(X) or len(X) != 1 or list(X.columns) != names.tolist():
        return None
    frame = nw.from_native(X, eager_only=True)
    is_polars = nw.dependencies.is_polars_dataframe(X)  # its own types are ten times faster than narwhals
    types = X.dtypes if is_polars else frame.schema.values()
    moments = [name for name, type_ in zip(X.columns, types, strict=True) if type_.is_temporal()]
    if not all(_is_in_calendar(frame[name]) for name in moments):
        return None
    try:
        values = frame.rows()[0]
    except OverflowError:  # a duration beyond Python's range
        return None
    return reader.read_row(dict(zip(X.columns, values, strict=True)))


def _is_in_calendar(column: nw.Series[Any]) -> bool:
    """Return whether a single value is not a date beyond Python's calendar. polars would panic at such dates, whereas
    tables support them.
    """
    if isinstance(column.dtype, (nw.Time, nw.Duration)):
        return True
    if column.is_null()[0]:  # in pandas, comparing the year of a missing date fails
        return True
    year = column.dt.year().to_list()[0]  # null for years beyond the range of polars
    return year is not None and dt.MINYEAR <= year <= dt.MAXYEAR


def rows_in_memory(model: SelectiveNB, X: Any) -> Any:
    """Return the rows to be explained in memory; of a scan, only read the columns on which predictions depend."""
    if not is_scan(X, ""):
        return X
    import polars as pl

    source = scan_for(model, X)
    return training_columns(model, pl.concat(list(source.blocks(columns_to_read(model, source)))))


def sample_of_scan(
    model: SelectiveNB, X: Any, y: Any, sample_weight: Any, time: Any = None
) -> tuple[Any, Any, Any, Any, Caution | None]:
    """Return a random sample of the rows of a scan: the rows, their labels, weights and times (each None if there are
    none), and a caution if the sample does not contain all rows.

    ``y``, ``sample_weight`` and ``time`` are names of columns.
    """
    if time is not None and not isinstance(time, str):
        raise ValueError("time must be the name of a column of the scanned table, such as 'date'.")
    source, names = scan(X), {*model.scorecard_.columns, y, sample_weight, time}
    rows = scanned_rows(source.select([name for name in source.names if name in names]), y, sample_weight)
    drawn = draw_from_scan(rows.table, rows.target, rows.weights, _SAMPLE_SIZE)
    caution = None
    if drawn.size < rows.table.n_rows:
        sentence = (
            f"Performance was measured on models fitted to {drawn.size:,} rows drawn at random from "
            f"{rows.table.n_rows:,}; the model itself is fitted to all of them."
        )
        caution = Caution("sample", (), sentence, warns=False)
    weights = None if rows.weights is None else rows.weights[drawn]
    frame = rows.table.frame(drawn)
    if time is not None and time not in frame.columns:
        raise ValueError(f"There is no column {time!r} to order the rows by; check its name.")
    moments, labels = None if time is None else frame[time], rows.target.classes[rows.target.codes[drawn]]
    return training_columns(model, frame), labels, weights, moments, caution


def warn_of_first_rows(model: SelectiveNB, frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> None:
    """Warn about unseen values in the first rows of a query, because Python does not read the other rows."""
    try:
        first = frame.head(EXAMPLE_ROWS)
        head = training_columns(model, first.collect() if isinstance(first, nw.LazyFrame) else first)
        table = table_of_rows(model, head)
        _, unseen = model.scorecard_.reader.code(table)
    except Exception:  # a query may raise anything here, and raises it again when it is run
        return
    warn_of_unseen(
        model.scorecard_, table, unseen, "" if table.n_rows < EXAMPLE_ROWS else f"first {table.n_rows:,} rows"
    )


def prediction_names(model: SelectiveNB) -> list[str]:
    """Return the names of the columns with predictions: ``prediction`` and ``P(class)`` for each class."""
    return ["prediction", *(f"P({label})" for label in model.classes_.tolist())]


def explain_rows(model: SelectiveNB, X: Any, by: Any) -> Explanation:
    """Return the explanation of rows in memory, whose columns are those of the fit. ``by`` is documented in
    `Scorecard.explain`.
    """
    card = model.scorecard_
    by = explanation_kind(card, by)
    cells = cells_of_row(model, X) if by == "feature" else None
    return card.explain(table_of_rows(model, X), by) if cells is None else explain_cells(card, cells)
