"""Frames of pandas."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils.validation import _get_feature_names

from bayesieve.table.backends.arrays import ArraysBackend
from bayesieve.table.backends.base import Backend, is_wide, refuse_duplicates, type_of_dtype
from bayesieve.table.backends.pyarrow import ArrowBackend, with_kernels
from bayesieve.table.backends.sparse import as_csc
from bayesieve.table.values import drop_unused

_ARRAYS, _ARROW = ArraysBackend(), ArrowBackend()


class PandasBackend(Backend):
    """Pandas dataframes, and those that turn into them: modin, cuDF."""

    name = "pandas"

    def reads(self, X: Any) -> bool:
        return bool(nw.dependencies.is_into_dataframe(X))

    def columns(self, X: Any) -> tuple[list[str] | None, Any]:
        import pandas as pd

        frame = X if nw.dependencies.is_pandas_dataframe(X) else nw.from_native(X, eager_only=True).to_pandas()
        names, dtypes = _string_names(frame), list(frame.dtypes)
        dtype = dtypes[0] if is_wide(dtypes) else None
        if isinstance(dtype, pd.SparseDtype) and dtype.subtype.kind in "biuf" and dtype.fill_value == 0:
            return names, as_csc(frame.sparse.to_coo())
        if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
            return names, frame.to_numpy()
        return names, [frame.iloc[:, i] for i in range(frame.shape[1])]

    def select(self, X: Any, positions: np.ndarray) -> Any:
        return X.iloc[:, positions]

    def take_rows(self, X: Any, rows: np.ndarray) -> Any:
        import pandas as pd

        try:
            return X.iloc[rows]
        except NotImplementedError:  # Arrow columns of a layout that pandas cannot take rows of change to another
            columns = [X.iloc[:, i] for i in range(X.shape[1])]
            parts = {i: _taken(column, rows) for i, column in enumerate(columns)}
            taken = pd.DataFrame(parts, index=X.index[rows])
            taken.columns = X.columns
            return taken

    def native(self, column: Any) -> tuple[Any, str]:
        """Arrow reads columns that it holds, NumPy those of its plain types."""
        import pandas as pd

        if isinstance(column.dtype, pd.ArrowDtype) or getattr(column.dtype, "storage", None) == "pyarrow":
            return _ARROW.native(_to_arrow(column))
        if isinstance(column.dtype, pd.SparseDtype):
            column = column.sparse.to_dense()
        if isinstance(column.dtype, np.dtype) and column.dtype.kind not in "mM":
            return column.to_numpy(), _ARRAYS.name
        return column, self.name

    def column_type(self, column: Any) -> str | None:
        return type_of_dtype(nw.from_native(column, series_only=True).dtype)

    def plain(self, column: Any, type_: str) -> tuple[np.ndarray, np.ndarray | None]:
        if type_ == "datetime" and getattr(column.array, "unit", None) in ("s", "ms"):  # may lie beyond microseconds
            naive = column if isinstance(column.dtype, np.dtype) else column.dt.tz_convert(None)
            return _ARRAYS.plain(naive.to_numpy(), type_)
        if type_ == "datetime":
            return _ARRAYS.plain(column.to_numpy(dtype="datetime64[us]"), type_)  # in UTC where there is a time zone
        if isinstance(column.dtype, np.dtype):
            return _ARRAYS.plain(column.to_numpy(), type_)
        if not column.hasnans:
            return column.to_numpy(dtype=column.dtype.numpy_dtype), None
        if column.dtype.kind == "f":
            return column.to_numpy(dtype=np.float64, na_value=np.nan), None
        fill = False if type_ == "boolean" else 0
        return column.fillna(fill).to_numpy(dtype=column.dtype.numpy_dtype), column.isna().to_numpy()

    def encoded(self, column: Any) -> tuple[np.ndarray, list[Any]]:
        import pandas as pd

        if isinstance(column.dtype, pd.CategoricalDtype):
            return drop_unused(column.cat.codes.to_numpy().astype(np.int32), column.cat.categories.tolist())
        return _ARRAYS.encoded(column.to_numpy(dtype=object))

    def take(self, column: Any, rows: np.ndarray) -> Any:
        return column.iloc[rows]


def _to_arrow(column: Any) -> Any:
    import pyarrow as pa

    data = pa.array(column)
    return with_kernels(data if isinstance(data, pa.ChunkedArray) else pa.chunked_array([data]))


def _taken(column: Any, rows: np.ndarray) -> Any:
    import pandas as pd

    if not isinstance(column.dtype, pd.ArrowDtype):
        return column.iloc[rows]
    taken = _to_arrow(column).take(rows)
    return pd.Series(taken, dtype=pd.ArrowDtype(taken.type), index=column.index[rows])


def _string_names(frame: Any) -> list[str] | None:
    """The names if all are strings, None if none is, an error if only some are."""
    names = list(frame.columns)
    if len(set(names)) < len(names):
        refuse_duplicates([str(name) for name in names])
    return None if _get_feature_names(frame) is None else names
