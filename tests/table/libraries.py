"""One table of plain values in the form of every dataframe library, for tests that must not tell them apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

Data = Mapping[str, Sequence[Any]]


def _is_text(values: Sequence[Any]) -> bool:
    return any(isinstance(value, str) for value in values) and all(isinstance(v, str | None) for v in values)


def _pandas_nan(data: Data) -> pd.DataFrame:
    """The habit of older pandas: objects, with NaN for missing."""
    filled = {name: [np.nan if v is None else v for v in values] for name, values in data.items()}
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in filled.items()})


def _objects(data: Data) -> np.ndarray:
    rows = np.empty((len(next(iter(data.values()))), len(data)), dtype=object)
    for i, values in enumerate(data.values()):
        rows[:, i] = values
    return rows


def _polars(data: Data, text: Any) -> pl.DataFrame:
    frame = pl.DataFrame(data, strict=False)
    return frame.with_columns([pl.col(name).cast(text) for name, values in data.items() if _is_text(values)])


def _enum(data: Data) -> pl.DataFrame:
    texts = sorted({v for values in data.values() if _is_text(values) for v in values if v is not None})
    return _polars(data, pl.Enum([*texts, "never used"]))


def _pandas_category(data: Data) -> pd.DataFrame:
    frame = pd.DataFrame(data)
    for name, values in data.items():
        if _is_text(values):
            used = sorted({v for v in values if v is not None}, reverse=True)
            frame[name] = pd.Categorical(values, categories=["never used", *used])
    return frame


def _arrow_dictionary(data: Data) -> pa.Table:
    table = pa.table(data)
    columns = [c.dictionary_encode() if _is_text(v) else c for c, v in zip(table.columns, data.values(), strict=True)]
    return pa.table(dict(zip(table.column_names, columns, strict=True)))


def _arrow_chunks(data: Data) -> pa.Table:
    table = pa.table(data)
    half = table.num_rows // 2
    return pa.concat_tables([table.slice(0, half), table.slice(half)])


def _arrow_backed(data: Data) -> pd.DataFrame:
    return pa.table(data).to_pandas(types_mapper=pd.ArrowDtype)


LIBRARIES: dict[str, Callable[[Data], Any]] = {
    "pandas": pd.DataFrame,
    "pandas objects": lambda data: pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in data.items()}),
    "pandas objects with NaN": _pandas_nan,
    "pandas category": _pandas_category,
    "pandas nullable": lambda data: pd.DataFrame(data).convert_dtypes(dtype_backend="numpy_nullable"),
    "pandas arrow": _arrow_backed,
    "polars": lambda data: pl.DataFrame(data, strict=False),
    "polars categorical": lambda data: _polars(data, pl.Categorical),
    "polars enum": _enum,
    "pyarrow": pa.table,
    "pyarrow chunks": _arrow_chunks,
    "pyarrow dictionary": _arrow_dictionary,
    "numpy objects": _objects,
    "rows": lambda data: [list(row) for row in zip(*data.values(), strict=True)],
}
