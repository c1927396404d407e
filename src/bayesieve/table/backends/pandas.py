"""One column of a pandas frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesieve.table.backends import arrays, objects
from bayesieve.table.backends import pyarrow as arrow
from bayesieve.table.backends.dtypes import type_of_dtype
from bayesieve.table.backends.sparse import as_csc
from bayesieve.table.values import drop_unused


def column_type(column: Any) -> str | None:
    """See `bayesieve.table.backends`."""
    import narwhals as nw
    import pandas as pd

    if column.dtype == object:
        return None
    if isinstance(column.dtype, pd.ArrowDtype):
        return arrow.column_type(_to_arrow(column))
    if isinstance(column.dtype, pd.SparseDtype):
        return arrays.column_type(np.empty(0, dtype=column.dtype.subtype))
    return type_of_dtype(nw.from_native(column, series_only=True).dtype)


def plain(column: Any, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
    """See `bayesieve.table.backends`."""
    import pandas as pd

    if isinstance(column.dtype, pd.ArrowDtype):
        return arrow.plain(_to_arrow(column), type_)
    if isinstance(column.dtype, pd.SparseDtype):
        column = column.sparse.to_dense()
    if type_ == "datetime" and getattr(column.array, "unit", None) in ("s", "ms"):  # may lie beyond microseconds
        naive = column if isinstance(column.dtype, np.dtype) else column.dt.tz_convert(None)
        return arrays.plain(naive.to_numpy(), type_)
    if type_ == "datetime" and column.dtype != object:
        return arrays.plain(column.to_numpy(dtype="datetime64[us]"), type_)  # in UTC where there is a time zone
    if isinstance(column.dtype, np.dtype):
        return arrays.plain(column.to_numpy(), type_)
    if not column.hasnans:
        return column.to_numpy(dtype=column.dtype.numpy_dtype), None
    if column.dtype.kind == "f":
        return column.to_numpy(dtype=np.float64, na_value=np.nan), None
    fill = False if type_ == "boolean" else 0
    return column.fillna(fill).to_numpy(dtype=column.dtype.numpy_dtype), column.isna().to_numpy()


def rounds(column: Any) -> bool:
    """See `bayesieve.table.backends`."""
    import pandas as pd

    if isinstance(column.dtype, pd.ArrowDtype):
        return arrow.rounds(_to_arrow(column))
    return isinstance(column.dtype, np.dtype) and arrays.rounds(column.to_numpy())


def encoded(column: Any) -> tuple[np.ndarray, list[Any]]:
    """See `bayesieve.table.backends`."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return drop_unused(column.cat.codes.to_numpy().astype(np.int32), column.cat.categories.tolist())
    if isinstance(column.dtype, pd.ArrowDtype) or getattr(column.dtype, "storage", None) == "pyarrow":
        return arrow.encoded(_to_arrow(column))
    if isinstance(column.dtype, pd.SparseDtype):
        column = column.sparse.to_dense()
    return objects.encoded(column.to_numpy(dtype=object))


def _to_arrow(column: Any) -> Any:
    import pyarrow as pa

    data = pa.array(column)
    return arrow.with_kernels(data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data]))


def take(column: Any, rows: np.ndarray) -> Any:
    """See `bayesieve.table.backends`."""
    import pandas as pd

    if isinstance(column.dtype, pd.ArrowDtype):
        taken = arrow.take(_to_arrow(column), rows)
        return pd.Series(taken, dtype=pd.ArrowDtype(taken.type), index=column.index[rows], name=column.name)
    return column.iloc[rows]


def take_rows(frame: Any, rows: np.ndarray) -> Any:
    """Rows of a frame; Arrow columns of a layout that pandas cannot take rows of change to one that it can."""
    import pandas as pd

    try:
        return frame.iloc[rows]
    except NotImplementedError:
        columns = {}
        for i in range(frame.shape[1]):
            column = frame.iloc[:, i]
            columns[i] = take(column, rows)
        taken = pd.DataFrame(columns, index=frame.index[rows])
        taken.columns = frame.columns
        return taken


def value(column: Any, row: int) -> Any:
    """See `bayesieve.table.backends`."""
    import pandas as pd

    if isinstance(column.dtype, pd.ArrowDtype):
        return arrow.value(_to_arrow(column.iloc[row : row + 1]), 0)
    found = column.iloc[row]
    return found.item() if isinstance(found, np.generic) else found


def matrix(frame: Any, dtype: Any) -> Any:
    """A frame of one data type as an array, or of sparse columns without a fill value but zero as a sparse matrix, of
    shape (n_rows, n_columns); None unless it holds plain numbers or booleans.
    """
    import pandas as pd

    if isinstance(dtype, pd.SparseDtype) and dtype.subtype.kind in "biuf" and dtype.fill_value == 0:
        return as_csc(frame.sparse.to_coo())
    return frame.to_numpy() if isinstance(dtype, np.dtype) and dtype.kind in "biuf" else None
