"""Rows for a fitted model: its columns of a frame, their codes, what was never seen in training, and predictions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from bayesieve.classifier.cautions import agreeing
from bayesieve.counts import CodedTable
from bayesieve.discretize import TableEncoder
from bayesieve.naive_bayes.calibration import drawn_rows
from bayesieve.table import FeatureLevels, Table
from bayesieve.table.cautions import Caution, issue, silenced
from bayesieve.table.columns import Categories, rows_from
from bayesieve.table.frames import whole_frame
from bayesieve.table.indicator_levels import scores_of
from bayesieve.table.pair_levels import columns_behind, columns_of
from bayesieve.table.scanned import is_scan, scanned_rows
from bayesieve.table.sources import Source, scan
from bayesieve.table.sources.scanning import scan_to_score
from bayesieve.table.table_levels import TableLevels
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

_values_held: ContextVar[dict[str, str] | None] = ContextVar("values_held", default=None)


def columns_needed(model: SelectiveNB) -> tuple[list[str], list[str]]:
    """The columns that a model was trained on, and those of them that predictions depend on."""
    levels = model.encoder_.levels_
    sources = scores_of(columns_of(levels))  # the columns that features are made from
    used = columns_behind(levels, np.isin(np.arange(len(levels)), model.naive_bayes_.used_))
    names = list(dict.fromkeys(sources))
    needed = {name for name, is_used in zip(sources, used, strict=True) if is_used}
    return names, [name for name in names if name in needed]


def levels_of_columns(model: SelectiveNB) -> dict[str, FeatureLevels]:
    """The levels of the columns that a model was trained on, by name; they define how values are read."""
    levels = columns_of(model.encoder_.levels_)
    return dict(zip(scores_of(levels), levels, strict=True))


def scan_for(model: SelectiveNB, source: Any) -> Source:
    """A source whose text, in files without types, is read by the levels of a model."""
    return scan_to_score(source, levels_of_columns(model))


def columns_to_read(model: SelectiveNB, source: Source) -> list[str]:
    """The columns of a source that predictions depend on; at least one, or no row is read."""
    needed = set(columns_needed(model)[1])
    return [name for name in source.names if name in needed] or list(source.names[:1])


def own_columns(model: SelectiveNB, frame: Any) -> Any:
    """The columns that a model was trained on, in its order, without names where it had none. Columns that predictions
    do not depend on may be missing, and are empty then.

    ValueError, which names it, if another column is missing.
    """
    names, needed = columns_needed(model)
    whole = nw.from_native(whole_frame(frame), eager_only=True)
    lacking = [name for name in needed if name not in whole.columns]
    if lacking:
        others = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise ValueError(f"The table has no column {lacking[0]!r}{others}, which the model needs.")
    empty = [nw.lit(None, nw.Float64).alias(name) for name in names if name not in whole.columns]
    chosen = whole.with_columns(*empty)[:, names]  # `select` takes some names for patterns
    if hasattr(model, "feature_names_in_"):
        return chosen.to_native()
    return np.array(chosen.rows(), dtype=object)  # trained on an array


def coded_twice(model: SelectiveNB, table: Any) -> tuple[CodedTable, CodedTable]:
    """Rows that the encoder has read, coded by levels and by the cells that the model predicts by."""
    coded = model.encoder_.transform_coded(table)
    if model.cells_ is None:
        return coded, coded
    return coded, model.encoder_.transform_coded(table, model, levels=model.cells_)


def predicted(model: SelectiveNB, predict: Callable[[CodedTable], np.ndarray], X: Any) -> np.ndarray:
    """What ``predict`` says about rows that are in memory, or read from a source block by block."""
    if not is_scan(X, ""):
        return predict(coded_for(model, X))
    source = scan_for(model, X)
    frames = source.blocks(columns_to_read(model, source))
    results: list[np.ndarray] = []
    with unseen_said_once(model, source.n_rows), silenced():
        for frame in frames:
            with rows_from(sum(map(len, results))):
                results.append(predict(coded_for(model, own_columns(model, frame))))
    return np.concatenate(results)


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
    source, own = scan(X), {*columns_needed(model)[0], y, sample_weight}
    rows = scanned_rows(source.select([name for name in source.names if name in own]), y, sample_weight)
    drawn = drawn_rows(rows.table.n_rows, n_rows)
    caution = None
    if drawn.size < rows.table.n_rows:
        sentence = (
            f"Performance is that of models of {drawn.size:,} rows drawn at random from {rows.table.n_rows:,}; the "
            "model itself is learnt from all of them."
        )
        caution = Caution("sample", (), sentence, warns=False)
    weights = None if rows.weights is None else rows.weights[drawn]
    return own_columns(model, rows.table.frame(drawn)), rows.target.classes[rows.target.codes[drawn]], weights, caution


def coded_for(model: SelectiveNB, X: Any) -> CodedTable:
    """Rows as codes that the predictor of a fitted model reads, with a warning about values without a level.

    ValueError for codes of levels without their raw values, where the model predicts by parts of levels.
    """
    cells = model.cells_
    if not isinstance(X, CodedTable):
        options = {} if cells is None else {"levels": cells}
        if not isinstance(model.encoder_, TableEncoder):
            coded: CodedTable = model.encoder_.transform_coded(X, owner=model, **options)
            issue([_unseen_caution(model, coded.unseen, coded.n_rows)])
            return coded
        table = X if isinstance(X, Table) else model.encoder_.read(X, model)
        coded = model.encoder_.transform_coded(table, owner=model, **options)
        _warn_of_unseen(model, table, coded)
        return coded
    if cells is None:
        own = model.encoder_.levels_  # of two thirds of the rows, say, where the codes are of all
        return X if X.recoder is None or X.levels is None or X.levels is own else X.recoder.code(own)
    if np.array_equal(X.n_levels, cells.n_levels):
        return X
    if X.recoder is None:
        raise ValueError(
            "This model predicts by parts of levels, and these codes are of whole levels; pass the rows as a table, or "
            "fit the model with calibrate='levels'."
        )
    return X.recoder.code(cells)


@contextmanager
def unseen_said_once(model: SelectiveNB, n_rows: int, most: int = 5) -> Iterator[None]:
    """Issue one caution for all rows that are predicted within, block by block."""
    before, held = model.encoder_.unseen_counts_.copy(), dict[str, str]()
    token = _values_held.set(held)
    try:
        yield
    finally:
        _values_held.reset(token)
    issue([_unseen_caution(model, model.encoder_.unseen_counts_ - before, n_rows, held, most)])


def _warn_of_unseen(model: SelectiveNB, table: Table, coded: CodedTable) -> None:
    """Warn of values never seen in training in rows that were coded, or note for `unseen_said_once` what they hold."""
    held = _values_held.get()
    values = values_never_seen(model, table, coded)
    if held is not None:
        held.update({name: words for name, words in values.items() if name not in held})
    issue([_unseen_caution(model, coded.unseen, coded.n_rows, values)])


def look_at_first_rows(model: SelectiveNB, frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> None:
    """Warn of values never seen in training in the first rows of a query, which no Python is going to see."""
    if not isinstance(model.encoder_, TableEncoder):
        return
    counts = model.encoder_.unseen_counts_.copy()
    try:
        first = frame.head(_LOOKED_AT)
        head = own_columns(model, first.collect() if isinstance(first, nw.LazyFrame) else first)
        table = model.encoder_.read(head, model)
        coded = model.encoder_.transform_coded(table, owner=model)
    except Exception:  # a query fails in any way, and says so when it is run
        return
    finally:
        model.encoder_.unseen_counts_ = counts
    rows = "" if coded.n_rows < _LOOKED_AT else f"first {coded.n_rows:,} rows"
    issue([_unseen_caution(model, coded.unseen, coded.n_rows, values_never_seen(model, table, coded), rows=rows)])


def values_never_seen(model: SelectiveNB, table: Table, coded: CodedTable) -> dict[str, str]:
    """What columns hold, and held in training, by name, where nearly all values have no level."""
    levels = TableLevels.of(model.encoder_.levels_)
    if coded.unseen is None:
        return {}
    words = {}
    for k in np.flatnonzero(coded.unseen[: table.n_columns] >= max(1, _NEARLY_ALL * coded.n_rows)).tolist():
        level = levels[k]
        if type(level) is not FeatureLevels:
            return {}  # of scores
        column = table.select([k]).take(np.arange(min(_LOOKED_AT, coded.n_rows))).column(0)
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


def _unseen_caution(
    model: SelectiveNB,
    unseen: np.ndarray | None,
    n_rows: int,
    held: Mapping[str, str] = MappingProxyType({}),
    most: int = 5,
    rows: str = "",
) -> Caution | None:
    """Columns that predictions depend on and that lack a level in more than a few per cent of the rows.

    Parameters
    ----------
    unseen : rows without a level, of each feature.
    held : what columns hold, and held in training, by name.
    most : columns named in the sentence.
    rows : the rows in words; by default their number.
    """
    if unseen is None or n_rows < _FEWEST_UNSEEN:
        return None
    levels, rows = model.encoder_.levels_, rows or f"{n_rows:,} rows"
    needed = columns_behind(levels, np.isin(np.arange(len(levels)), model.naive_bayes_.used_))
    unseen = unseen[: needed.size]  # a pair is unseen where its columns are, or their values never met
    features = np.flatnonzero((unseen >= max(_FEWEST_UNSEEN, _MANY_UNSEEN * n_rows)) & needed)
    features = features[np.argsort(-unseen[features], kind="stable")]
    counts: dict[str, int] = {}  # all indicators of a score are unseen in the same rows
    for k in features.tolist():
        counts.setdefault(scores_of([levels[k]])[0], int(unseen[k]))
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
