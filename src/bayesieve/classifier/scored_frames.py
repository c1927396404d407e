"""Frames with predictions added: in memory, in a query, or on workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from bayesieve.classifier.expressions import prediction_names, query_with_predictions
from bayesieve.classifier.own_columns import own_columns
from bayesieve.table.cautions import silenced
from bayesieve.table.frames import whole_frame
from bayesieve.table.sources import Source

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

_DTYPES: dict[type, Any] = {str: nw.String, int: nw.Int64, float: nw.Float64, bool: nw.Boolean}


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
