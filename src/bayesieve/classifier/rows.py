"""Rows for a fitted model: its columns of a frame, their codes, what was never seen in training, and predictions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from bayesieve.classifier.cautions import agreeing
from bayesieve.counts import CodedTable
from bayesieve.discretize import TableEncoder
from bayesieve.discretize.recoding import drawn_from_scan
from bayesieve.scorecard.look_up import Cell, is_row, one_row
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.cautions import Caution, issue, silenced
from bayesieve.table.columns import Categories, rows_from
from bayesieve.table.estimator_input import new_table
from bayesieve.table.frames import whole_frame
from bayesieve.table.indicator_levels import scores_of
from bayesieve.table.pair_levels import columns_of
from bayesieve.table.scanned import is_scan, scanned_rows
from bayesieve.table.sources import Source, scan
from bayesieve.table.sources.scanning import scan_to_score
from bayesieve.table.values import canonical_text
from bayesieve.words import listed, quoted_text

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

_NEARLY_ALL = 0.9  # of the rows have values that were never seen
_FEWEST_UNSEEN = 5  # rows, so that one odd row among few makes no noise
_MANY_UNSEEN = 0.05  # of the rows
_LOOKED_AT = 1000  # rows that show which values were never seen
_SHOWN_VALUES = 3
_DTYPES: dict[type, Any] = {str: nw.String, int: nw.Int64, float: nw.Float64, bool: nw.Boolean}


def levels_of_columns(model: SelectiveNB) -> dict[str, FeatureLevels]:
    """The levels of the columns that a model was trained on, by name; they define how values are read."""
    levels = columns_of(model.encoder_.levels_)
    return dict(zip(scores_of(levels), levels, strict=True))


def scan_for(model: SelectiveNB, source: Any) -> Source:
    """A source whose text, in files without types, is read by the levels of a model."""
    return scan_to_score(source, levels_of_columns(model))


def columns_to_read(model: SelectiveNB, source: Source) -> list[str]:
    """The columns of a source that predictions depend on; at least one, or no row is read."""
    needed = set(model.scorecard_.reader.needed)
    return [name for name in source.names if name in needed] or list(source.names[:1])


def own_columns(model: SelectiveNB, frame: Any) -> Any:
    """The columns that a model was trained on, in its order, without names where it had none. Columns that predictions
    do not depend on may be missing, and are empty then.

    ValueError, which names it, if another column is missing.
    """
    names, needed = model.scorecard_.columns, model.scorecard_.reader.needed
    whole = nw.from_native(whole_frame(frame), eager_only=True)
    lacking = [name for name in needed if name not in whole.columns]
    if lacking:
        others = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise ValueError(f"The table has no column {lacking[0]!r}{others}, which the model needs.")
    empty = [nw.lit(None, nw.Float64).alias(name) for name in names if name not in whole.columns]
    chosen = whole.with_columns(*empty)[:, list(names)]  # `select` takes some names for patterns
    if hasattr(model, "feature_names_in_"):
        return chosen.to_native()
    return np.array(chosen.rows(), dtype=object)  # trained on an array


def read(model: SelectiveNB, X: Any) -> Table:
    """Rows in memory with the columns of the fit, in their order, or their scores; a row of values by column."""
    encoder = model.encoder_
    if is_row(X):
        return one_row(X)
    return new_table(model, X) if isinstance(encoder, TableEncoder) else encoder.read(X, model)


def predicted(model: SelectiveNB, X: Any) -> np.ndarray:
    """Log joint probabilities of rows that are in memory, coded already, or read from a source block by block."""
    card = model.scorecard_
    if isinstance(X, CodedTable):
        return card.joint(X)
    if not is_scan(X, ""):
        cells = cells_of_row(model, X)
        if cells is not None:
            return card.tables.joint_of_row([code for code, _ in cells])[None]
        table = read(model, X)
        codes, unseen = card.reader.code(table, model.n_jobs)
        _warn_of_unseen(model, table, unseen)
        return card.tables.joint(codes)
    source = scan_for(model, X)
    results: list[np.ndarray] = []
    with unseen_said_once(model, source.n_rows), silenced():
        for frame in source.blocks(columns_to_read(model, source)):
            with rows_from(sum(map(len, results))):
                results.append(predicted(model, own_columns(model, frame)))
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
    return reader.read_row(dict(zip(X.columns, nw.from_native(X, eager_only=True).rows()[0], strict=True)))


def rows_in_memory(model: SelectiveNB, X: Any) -> Any:
    """Rows to be explained; those of a source with the columns that predictions depend on."""
    if not is_scan(X, ""):
        return X
    import polars as pl

    source = scan_for(model, X)
    return own_columns(model, pl.concat(list(source.blocks(columns_to_read(model, source)))))


def drawn_from(
    model: SelectiveNB, X: Any, y: Any, sample_weight: Any, n_rows: int = 50_000
) -> tuple[Any, Any, Any, Caution | None]:
    """Rows of a source with the columns of a model, their labels and weights, drawn at random where there are more, and
    a caution that says so.
    """
    source, own = scan(X), {*model.scorecard_.columns, y, sample_weight}
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
    return own_columns(model, rows.table.frame(drawn)), rows.target.classes[rows.target.codes[drawn]], weights, caution


@dataclass
class _Unseen:
    """Values never seen in training: rows without a level by column, and what columns hold, in words."""

    counts: np.ndarray
    held: dict[str, str] = field(default_factory=dict)


_noted: ContextVar[_Unseen | None] = ContextVar("unseen", default=None)


@contextmanager
def unseen_said_once(model: SelectiveNB, n_rows: int, most: int = 5) -> Iterator[None]:
    """Issue one caution for all rows that are predicted within, block by block."""
    noted = _Unseen(np.zeros(len(model.scorecard_.reader.needed), dtype=np.int64))
    token = _noted.set(noted)
    try:
        yield
    finally:
        _noted.reset(token)
    issue([_unseen_caution(model, noted, n_rows, most)])


def _warn_of_unseen(model: SelectiveNB, table: Table, unseen: np.ndarray, rows: str = "") -> None:
    """Warn of values never seen in training, or note them for `unseen_said_once`."""
    own = _Unseen(unseen, values_never_seen(model, table, unseen))
    noted = _noted.get()
    if noted is not None:
        noted.counts += unseen
        noted.held = own.held | noted.held
    issue([_unseen_caution(model, own, table.n_rows, rows=rows)])


def look_at_first_rows(model: SelectiveNB, frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> None:
    """Warn of values never seen in training in the first rows of a query, which no Python is going to see."""
    if not isinstance(model.encoder_, TableEncoder):
        return
    try:
        first = frame.head(_LOOKED_AT)
        head = own_columns(model, first.collect() if isinstance(first, nw.LazyFrame) else first)
        table = read(model, head)
        _, unseen = model.scorecard_.reader.code(table)
    except Exception:  # a query fails in any way, and says so when it is run
        return
    _warn_of_unseen(model, table, unseen, "" if table.n_rows < _LOOKED_AT else f"first {table.n_rows:,} rows")


def values_never_seen(model: SelectiveNB, table: Table, unseen: np.ndarray) -> dict[str, str]:
    """What columns hold, and held in training, by name, where nearly all values have no level."""
    reader, words = model.scorecard_.reader, {}
    for k in np.flatnonzero(unseen >= max(1, _NEARLY_ALL * table.n_rows)).tolist():
        level = reader.column_levels[k]
        column = reader.read(table).select([k]).take(np.arange(min(_LOOKED_AT, table.n_rows))).column(0)
        found = column.categories(merged=False).values
        if level.groups is not None and found:
            codes = level.code_categories(Categories(np.arange(len(found)), found))
            found = [found[i] for i in np.flatnonzero(codes == level.unseen_code).tolist()]
        if found:
            now = f"holds {_some([canonical_text(value) for value in found])} ({column.type})"
            words[level.name] = f"'{level.name}' {now}, but held {_known(level)} in training"
    return words


def _known(level: FeatureLevels) -> str:
    if level.groups is None:
        return "numbers" if level.type == "number" else f"values of type {level.type}"
    values = [canonical_text(value) for group in level.groups for value in group if value is not None]
    return f"{_some(values)} ({level.type})" if values else "no value"


def _some(texts: Sequence[str]) -> str:
    return listed([quoted_text(text) for text in texts], _SHOWN_VALUES)


def _unseen_caution(model: SelectiveNB, unseen: _Unseen, n_rows: int, most: int = 5, rows: str = "") -> Caution | None:
    """Columns that predictions depend on and that lack a level in more than a few per cent of the rows.

    Parameters
    ----------
    most : columns named in the sentence.
    rows : the rows in words; by default their number.
    """
    if n_rows < _FEWEST_UNSEEN:
        return None
    held, rows, names = unseen.held, rows or f"{n_rows:,} rows", model.scorecard_.reader.needed
    many = np.flatnonzero(unseen.counts >= max(_FEWEST_UNSEEN, _MANY_UNSEEN * n_rows))
    many = many[np.argsort(-unseen.counts[many], kind="stable")]
    counts = {names[k]: int(unseen.counts[k]) for k in many.tolist()}
    everywhere = [name for name, count in counts.items() if count == n_rows]
    shares = [f"'{name}' ({100 * count / n_rows:.1f} %)" for name, count in counts.items() if count < n_rows]
    sentences = []
    if everywhere:
        sentence = (
            "[Column|Columns] {} [holds|hold] nothing in any of the ROWS that the model has seen in training: check "
            "that [it is the column|they are the columns] meant, and written as in training."
        )
        sentences.append(agreeing(everywhere, sentence.replace("ROWS", rows), most))
    if shares:
        sentences.append(
            f"Some values were never seen in training, or are missing where none was missing then, and add nothing to "
            f"any class (share of the {rows}): {listed(shares, most)}."
        )
    odd = [held[name] for name in counts if name in held]
    if odd:
        sentences.append(f"{'; '.join(odd[:most])}: turn the values into those of training first.")
    return Caution("unseen", tuple(counts), " ".join(sentences)) if sentences else None


def prediction_names(model: SelectiveNB, outputs: str = "all") -> list[str]:
    """The names of the prediction columns."""
    probabilities = [f"P({label})" for label in model.classes_.tolist()]
    return {"all": ["prediction", *probabilities], "prediction": ["prediction"]}.get(outputs, probabilities)


def with_predictions(model: SelectiveNB, frame: Any) -> Any:
    """What `SelectiveNB.with_predictions` gives."""
    native, depends = nw.to_native(frame, pass_through=True), nw.dependencies
    if isinstance(native, (str, os.PathLike, list, Source)):
        raise TypeError(f"with_predictions takes a dataframe or a query, got {type(native).__name__}; see predict_to.")
    if depends.is_dask_dataframe(native):
        return native.map_partitions(partial(_quietly, model), meta=_quietly(model, native._meta))
    if depends.is_pyspark_dataframe(native) or depends.is_pyspark_connect_dataframe(native):
        return _with_predictions_of_spark(model, native)
    if depends.is_into_dataframe(native) or (hasattr(native, "__arrow_c_stream__") and not _is_query(native)):
        return in_memory(model, native)
    from bayesieve.classifier.expressions import query_with_predictions

    return query_with_predictions(model, frame)


def _is_query(native: Any) -> bool:
    return bool(nw.dependencies.is_polars_lazyframe(native) or nw.dependencies.is_duckdb_relation(native))


def _quietly(model: SelectiveNB, frame: Any) -> Any:
    with silenced():
        return in_memory(model, frame)


def in_memory(model: SelectiveNB, frame: Any) -> Any:
    """A frame with predictions; none of its rows may be there."""
    whole = nw.from_native(whole_frame(frame), eager_only=True)
    names = prediction_names(model)
    probability = np.zeros((0, len(names) - 1))
    if len(whole):
        probability = model.predict_proba(own_columns(model, whole))
    labels = model.classes_.tolist()
    predicted = [labels[j] for j in probability.argmax(axis=1).tolist()]
    columns = [predicted, *probability.T]
    of_labels = nw.UInt64 if type(labels[0]) is int and labels[-1] >= 2**63 else _DTYPES.get(type(labels[0]))
    dtypes = [of_labels, *[nw.Float64] * len(labels)]
    added = [
        nw.new_series(name, np.ascontiguousarray(column) if i else column, dtype, backend=whole.implementation)
        for i, (name, column, dtype) in enumerate(zip(names, columns, dtypes, strict=True))
    ]
    return whole.with_columns(*added).to_native()


def _with_predictions_of_spark(model: SelectiveNB, frame: Any) -> Any:
    from pyspark.sql import types

    labels = model.classes_.tolist()
    of_label: dict[type, Any] = {str: types.StringType, int: types.LongType, float: types.DoubleType}
    of_label[bool] = types.BooleanType
    if type(labels[0]) not in of_label:
        raise ValueError(f"Classes of type {type(labels[0]).__name__} cannot be a column of Spark; fit text labels.")
    fields = [types.StructField("prediction", of_label[type(labels[0])]())]
    fields += [types.StructField(name, types.DoubleType()) for name in prediction_names(model)[1:]]

    def predict(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            yield from _quietly(model, pa.Table.from_batches([batch])).to_batches()

    return frame.mapInArrow(predict, types.StructType([*frame.schema.fields, *fields]))
