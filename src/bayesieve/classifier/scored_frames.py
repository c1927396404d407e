"""Frames with predictions added: in memory, in a query, on workers, or from source to file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from bayesieve.classifier.cautions import unseen_caution
from bayesieve.classifier.expressions import prediction_names, query_with_predictions
from bayesieve.classifier.own_columns import columns_to_read, own_columns
from bayesieve.engine.progress import RowProgress
from bayesieve.table.cautions import issue, silenced
from bayesieve.table.frame_files import FrameFile
from bayesieve.table.frames import whole_frame
from bayesieve.table.sources import Source, scan
from bayesieve.table.sources.files import files_of

if TYPE_CHECKING:
    import polars as pl

    from bayesieve.classifier.selective import SelectiveNB

BLOCK_ROWS = 1 << 16  # predicted at a time: larger blocks are no faster and take more memory
_DTYPES: dict[type, Any] = {str: nw.String, int: nw.Int64, float: nw.Float64, bool: nw.Boolean}


def with_predictions(model: SelectiveNB, frame: Any) -> Any:
    """What `SelectiveNB.with_predictions` gives."""
    native, depends = nw.to_native(frame, pass_through=True), nw.dependencies
    if depends.is_dask_dataframe(native):
        return native.map_partitions(partial(_quietly, model), meta=_quietly(model, native._meta))
    if depends.is_pyspark_dataframe(native) or depends.is_pyspark_connect_dataframe(native):
        return _with_predictions_of_spark(model, native)
    if depends.is_into_dataframe(native) or (hasattr(native, "__arrow_c_stream__") and not _is_query(native)):
        return _in_memory(model, native)
    return query_with_predictions(model, frame)


def _is_query(native: Any) -> bool:
    return bool(nw.dependencies.is_polars_lazyframe(native) or nw.dependencies.is_duckdb_relation(native))


def _quietly(model: SelectiveNB, frame: Any) -> Any:
    with silenced():
        return _in_memory(model, frame)


def _in_memory(model: SelectiveNB, frame: Any) -> Any:
    """A frame with predictions; none of its rows may be there."""
    whole = nw.from_native(whole_frame(frame), eager_only=True)
    names = prediction_names(model)
    probability = np.zeros((0, len(names) - 1))
    if len(whole):
        probability = model.predict_proba(own_columns(model, whole))
    labels = model.classes_.tolist()
    predicted = [labels[j] for j in probability.argmax(axis=1).tolist()]
    columns = [predicted, *probability.T]
    dtypes = [_DTYPES.get(type(labels[0])), *[nw.Float64] * len(labels)]
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


def predict_to(
    model: SelectiveNB, path: str | os.PathLike[str], source: Any, keep: Sequence[str] | str, verbose: int
) -> int:
    """What `SelectiveNB.predict_to` does."""
    rows = scan(source)
    refuse_own_file(path, source, rows)
    kept = list(rows.names) if isinstance(keep, str) and keep == "all" else list(keep)
    with FrameFile(path) as file, RowProgress("Predicting", rows.n_rows, rows.n_bytes, verbose) as progress:
        for block in scored_blocks(model, rows, kept):
            file.write(block)
            progress(block.height)
    return rows.n_rows


def scored_blocks(model: SelectiveNB, source: Source, keep: Sequence[str] = ()) -> Iterator[pl.DataFrame]:
    """The columns to keep and the predictions of blocks of rows, and in the end a warning about unseen values."""
    before = model.encoder_.unseen_counts_.copy()
    for block in source.blocks(list(dict.fromkeys([*keep, *columns_to_read(model, source)])), BLOCK_ROWS):
        yield _quietly(model, block)[:, [*keep, *prediction_names(model)]]
    unseen = model.encoder_.unseen_counts_ - before
    issue([unseen_caution(model.encoder_.levels_, unseen, source.n_rows, model.naive_bayes_.used_)])


def refuse_own_file(path: str | os.PathLike[str], source: Any, rows: Source) -> None:
    """ValueError where ``path`` is one of the files that ``source`` names, or that its rows are read from."""
    named = source if isinstance(source, (list, tuple)) else [source]
    files = [file.path for file in getattr(rows, "files", ())]
    if all(isinstance(name, (str, os.PathLike)) for name in named):
        files += [name for name in named if os.path.isfile(name)] or files_of(named)
    if os.path.exists(path) and any(os.path.exists(file) and os.path.samefile(file, path) for file in files):
        raise ValueError(f"{path} is one of the files that are read; write to another one.")
