"""Predictions added as columns to a dataframe or query; queries compute them in their own engine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from bayesieve.classifier.scoring import prediction_names, training_columns, warn_of_first_rows
from bayesieve.forking import refuse_fork
from bayesieve.scorecard.export.plan import Plan, Reader
from bayesieve.table.cautions import silenced
from bayesieve.table.column_values import type_of_dtype
from bayesieve.table.columns import INFINITE_REMEDY, ValueInRow
from bayesieve.table.frames import whole_frame
from bayesieve.table.scans import Scan
from bayesieve.table.values import canonical_text
from bayesieve.words import listed

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.classifier.selective import SelectiveNB

_READABLE: dict[str, tuple[str, ...]] = {
    "text": ("text", "category"),
    "category": ("text", "category"),
    "date": ("date", "datetime"),
    "datetime": ("date", "datetime"),
}
"""DuckDB column types that are accepted for each type of the training table; other types must be equal."""


def with_predictions(model: SelectiveNB, frame: Any) -> Any:
    """Add predictions to a frame, as documented in `SelectiveNB.with_predictions`."""
    native, depends = nw.to_native(frame, pass_through=True), nw.dependencies
    if depends.is_polars_lazyframe(native):
        return _of_lazy_frame(model, native)
    if depends.is_duckdb_relation(native):
        return _of_relation(model, native)
    if depends.is_dask_dataframe(native):
        return native.map_partitions(partial(_of_rows_silently, model), meta=_of_rows_silently(model, native._meta))
    if depends.is_pyspark_dataframe(native) or depends.is_pyspark_connect_dataframe(native):
        return _of_spark_frame(model, native)
    is_frame = depends.is_into_dataframe(native) or hasattr(native, "__arrow_c_stream__")
    if isinstance(native, (str, os.PathLike, list, Scan)) or not is_frame:
        raise TypeError(
            f"with_predictions takes a dataframe or a query, got {type(native).__name__}; read files with "
            "polars.scan_parquet."
        )
    return of_rows(model, native)


def of_rows(model: SelectiveNB, frame: Any) -> Any:
    """Add the prediction columns to a dataframe in memory, which may be empty."""
    whole = nw.from_native(whole_frame(frame), eager_only=True)
    if whole.implementation.is_polars():
        refuse_fork()
    names, labels = prediction_names(model), model.classes_.tolist()
    probability = np.zeros((0, len(labels)))
    if len(whole):
        probability = model.predict_proba(training_columns(model, whole))
    predicted = [labels[j] for j in probability.argmax(axis=1).tolist()]
    columns = [predicted, *map(np.ascontiguousarray, probability.T)]
    dtypes = [_label_dtype(labels), *[nw.Float64] * len(labels)]
    added = [
        nw.new_series(name, column, dtype, backend=whole.implementation)
        for name, column, dtype in zip(names, columns, dtypes, strict=True)
    ]
    return whole.with_columns(*added).to_native()


def _label_dtype(labels: list[Any]) -> Any:
    """Return the narwhals type of the column of predicted labels, given all class labels; None if narwhals can infer it
    from the values.
    """
    if type(labels[0]) is int:
        return nw.UInt64 if labels[-1] >= 2**63 else nw.Int64
    return {str: nw.String, float: nw.Float64, bool: nw.Boolean}.get(type(labels[0]))


def _of_rows_silently(model: SelectiveNB, frame: Any) -> Any:
    """Add predictions to one batch of a larger frame, without warnings about unseen values, which would be repeated for
    each batch.
    """
    with silenced():
        return of_rows(model, frame)


def _of_lazy_frame(model: SelectiveNB, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Add predictions to a polars LazyFrame, which calls the model batch by batch when it is collected."""
    import polars as pl
    from polars import selectors

    refuse_fork()
    schema = frame.collect_schema()
    model.scorecard_.reader.check(schema.names())
    # Keep at least one column, because a frame without columns has no rows.
    columns = [name for name in model.scorecard_.reader.needed if name in schema] or schema.names()[:1]
    for name in columns:
        if schema[name] == pl.Object:
            raise ValueError(f"Column {name!r} holds Python objects, which no query reads; convert it to one type.")
    warn_of_first_rows(model, nw.from_native(frame))
    names = prediction_names(model)

    def predict(rows: pl.Series) -> pl.Series:
        try:
            scored: pl.DataFrame = _of_rows_silently(model, rows.struct.unnest())
        except ValueInRow as error:  # polars creates another error of the same type from the message
            raise ValueError(error.at(f"a row (row {error.row}, from 0, of one batch of the query)")) from None
        return scored[names].to_struct()

    dtypes = pl.Struct(_of_rows_silently(model, pl.DataFrame(schema=schema)).select(names).schema)
    # `by_name` takes names literally, whereas `col` would read some names as patterns.
    batch = pl.struct(selectors.by_name(*columns))
    scored = batch.map_batches(predict, return_dtype=dtypes, is_elementwise=True)
    return frame.with_columns(scored.struct.unnest())


def _of_spark_frame(model: SelectiveNB, frame: Any) -> Any:
    """Add predictions to a Spark dataframe, whose workers call the model batch by batch."""
    from pyspark.sql import types

    labels = model.classes_.tolist()
    of_label: dict[type, Any] = {str: types.StringType, int: types.LongType, float: types.DoubleType}
    of_label[bool] = types.BooleanType
    if type(labels[0]) not in of_label:
        raise ValueError(
            f"Spark has no column type for classes of type {type(labels[0]).__name__}; fit the model to text labels."
        )
    fields = [types.StructField("prediction", of_label[type(labels[0])]())]
    fields += [types.StructField(name, types.DoubleType()) for name in prediction_names(model)[1:]]

    def predict(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            yield from _of_rows_silently(model, pa.Table.from_batches([batch])).to_batches()

    return frame.mapInArrow(predict, types.StructType([*frame.schema.fields, *fields]))


def _of_relation(model: SelectiveNB, relation: Any) -> Any:
    """Add predictions to a DuckDB relation by the query of `SelectiveNB.export`, so that Python reads no rows.

    The columns that the model reads are first converted under their names; all columns of the relation get temporary
    names.
    """
    schema = nw.from_native(relation).collect_schema()
    model.scorecard_.reader.check(schema.names())
    read = {
        reader.column: _converted(reader, reader.column, schema[reader.column])
        for reader in Plan.of(model.scorecard_, {}).readers
    }
    aliases = {f"bayesieve kept {i}": name for i, name in enumerate(relation.columns)}
    columns = [f"{_quoted(name)} AS {_quoted(alias)}" for alias, name in aliases.items()]
    columns += [f"{conversion} AS {_quoted(name)}" for name, conversion in read.items()]
    query = model.export(to="sql", dialect="duckdb", table="bayesieve_prepared", keep=[*aliases]).rstrip().rstrip(";")

    # Match the columns of the query's result by position: those of the relation, probabilities, label.
    label, *shares = prediction_names(model)
    named = ", ".join(map(_quoted, [*aliases, *shares, label]))
    dtype = _label_dtype(model.classes_.tolist())
    label_type = {nw.Int64: "BIGINT", nw.UInt64: "UBIGINT", nw.Float64: "DOUBLE", nw.Boolean: "BOOLEAN"}
    results = {name: _quoted(alias) for alias, name in aliases.items()}
    results[label] = f"CAST({_quoted(label)} AS {label_type.get(dtype, 'VARCHAR')})"
    results |= {name: _quoted(name) for name in shares}
    selected = ", ".join(f"{result} AS {_quoted(name)}" for name, result in results.items())
    warn_of_first_rows(model, nw.from_native(relation))
    return relation.query(
        "bayesieve_rows",
        f"WITH bayesieve_prepared AS (SELECT {', '.join(columns)} FROM bayesieve_rows) "
        f"SELECT {selected} FROM ({query}) AS scored({named})",
    )


def _converted(reader: Reader, name: str, dtype: Any) -> str:
    """Return an SQL expression that converts a column of a DuckDB relation to the type that it had in training.

    ``reader`` is the rule that reads the column in training, ``name`` its name in the relation, and ``dtype`` its
    narwhals type there. The query raises an error if the column contains an infinite number.

    Raises
    ------
    ValueError
        If the column has another type than in training; the message names it.
    """
    type_, column = type_of_dtype(dtype), _quoted(name)
    readable = _READABLE.get(reader.type, (reader.type,))
    if reader.type == "number" and reader.cuts is not None:
        readable = ("number", "boolean")
    if reader.is_text and type_ == "boolean":
        reader.level.check_booleans()
        readable = ("boolean",)
    is_empty = isinstance(dtype, nw.Unknown)  # a column without values has this type
    if not is_empty and (type_ not in readable or (reader.is_large and dtype.is_float())):
        values = [canonical_text(key) for key in reader.keys]
        such_as = f", such as {listed([*map(repr, values)], 3)}" if values and reader.cuts is None else ""
        raise ValueError(
            f"Column {name!r} holds values of type {dtype} where values of type {reader.type} are expected{such_as}; "
            "convert the column first."
        )
    if reader.is_text:
        return f"CAST({column} AS VARCHAR)"
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        return f"timezone('UTC', {column})"
    if (
        isinstance(dtype, nw.Float32) and reader.cuts is None
    ):  # compare as decimal text: 0.1 in single precision is not the double 0.1
        return f"CAST(CAST({column} AS VARCHAR) AS DOUBLE)"
    if dtype.is_float() and reader.refuses_infinite:
        message = f"Column {name!r} contains infinity; {INFINITE_REMEDY}".replace("'", "''")
        return f"CASE WHEN isinf({column}) THEN error('{message}') ELSE {column} END"
    return column


def _quoted(name: str) -> str:
    """Return a name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
