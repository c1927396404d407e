"""A drawn table as what users have: tables of every library, with every type of column that fits.

Each holder is a function from columns to a table. Where a library cannot hold a column, a plainer form of it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp

from tests.fuzz.case import Case
from tests.fuzz.tables import Column, Drawn

Holder = Callable[[Case, Sequence[Column]], Any]
LIBRARIES: dict[str, Holder] = {}
Form = Callable[[list[Any]], Any]


def _library(function: Holder) -> Holder:
    LIBRARIES[function.__name__.strip("_")] = function
    return function


def first_that_holds(forms: Sequence[Form], values: list[Any]) -> Any:
    """The first form that holds the values; the last one must."""
    for form in forms[:-1]:
        try:
            return form(values)
        except Exception:
            continue
        except BaseException as error:  # a panic of polars
            if type(error).__name__ != "PanicException":
                raise
    return forms[-1](values)


def _texts(values: list[Any]) -> list[str | None]:
    return [None if v is None else repr(v).encode("utf-8", "backslashreplace").decode() for v in values]


# pandas

_PANDAS: list[Form] = [
    lambda v: pd.Series(v),
    lambda v: pd.Series(v, dtype=object),
    lambda v: pd.Series(v).convert_dtypes(),
    lambda v: pd.Series(v, dtype="category"),
    lambda v: pd.Series(v, dtype="string"),
    lambda v: pd.Series(pa.array(v)).astype(pd.ArrowDtype(pa.array(v).type)),
    lambda v: pd.Series(pd.array(v, dtype="Float64")),
    lambda v: pd.Series(pd.array(v, dtype="Int64")),
    lambda v: pd.Series(v, dtype="float32"),
    lambda v: pd.Series(pd.arrays.SparseArray(v)),
    lambda v: pd.to_datetime(pd.Series(v)),
    lambda v: pd.Series(pd.PeriodIndex(pd.to_datetime(pd.Series(v)), freq="M")),
    lambda v: pd.Series(pd.arrays.IntervalArray.from_breaks(np.arange(len(v) + 1))),
    lambda v: pd.Series(pd.Categorical(v, ordered=True)),
    lambda v: pd.cut(pd.Series(v), 3),
]


@_library
def _pandas(case: Case, columns: Sequence[Column]) -> Any:
    """Every column in some dtype; sometimes with an odd index or odd labels of columns."""
    series = []
    for column in columns:
        form = case.pick(_PANDAS) if case.chance(0.5) else _PANDAS[0]
        held = first_that_holds([form, _PANDAS[1]], column.values)
        series.append(held.reset_index(drop=True))
    frame = pd.concat(series, axis=1) if series else pd.DataFrame()
    frame.columns = pd.Index([column.name for column in columns], dtype=object)
    how = case.rng.random()
    if how < 0.1:
        frame.index = case.rng.permutation(len(frame)) * 7
    elif how < 0.13:
        frame.index = pd.Index(["same"] * len(frame))
    elif how < 0.16:
        frame.columns = [(name, i) for i, name in enumerate(frame.columns)]
    elif how < 0.18:
        frame.columns = pd.MultiIndex.from_tuples([("top", str(name)) for name in frame.columns])
    elif how < 0.21:
        frame.columns = range(frame.shape[1])
    elif how < 0.23 and frame.shape[1] > 1:
        frame.columns = [*frame.columns[:-1], frame.columns[0]]  # a name twice
    elif how < 0.24:
        frame.columns = [*frame.columns[:-1], case.pick((None, 1.5, float("nan"), b"x", True))]
    return frame


@_library
def _pandas_objects(case: Case, columns: Sequence[Column]) -> Any:
    gone = case.pick((None, np.nan, pd.NA, pd.NaT))
    data = [pd.Series([gone if v is None else v for v in c.values], dtype=object) for c in columns]
    frame = pd.concat(data, axis=1)
    frame.columns = pd.Index([c.name for c in columns], dtype=object)
    return frame


# polars

_POLARS: list[Form] = [
    lambda v: pl.Series(v),
    lambda v: pl.Series(v, strict=False),
    lambda v: pl.Series(v, dtype=pl.Categorical),
    lambda v: pl.Series(v).cast(pl.Enum(sorted({x for x in v if x is not None}))),
    lambda v: pl.Series(v, dtype=pl.Object),
    lambda v: pl.Series(v, dtype=pl.Int128),
    lambda v: pl.Series(v, dtype=pl.Decimal(38, 4)),
    lambda v: pl.Series(v).cast(pl.Decimal(38, 0)),
    lambda v: pl.Series(v).cast(pl.Float32),
    lambda v: pl.Series(v).cast(pl.UInt8, strict=False),
    lambda v: pl.Series(v).cast(pl.Datetime("ns", "Europe/Berlin"), strict=False),
    lambda v: pl.Series(v).cast(pl.Datetime("ms"), strict=False),
    lambda v: pl.Series(v).cast(pl.Duration("ns"), strict=False),
    lambda v: pl.Series(v).cast(pl.Date, strict=False),
    lambda v: pl.Series(v).cast(pl.Time, strict=False),
    lambda v: pl.Series(v).cast(pl.String).cast(pl.Binary),
    lambda v: pl.Series([[x] for x in v]),
    lambda v: pl.Series([{"a": x} for x in v]),
    lambda v: pl.Series(np.arange(-len(v), 0) * 2**55).cast(pl.Datetime("us")),
    lambda v: pl.Series(np.arange(len(v)) * (2**31 // max(len(v), 1))).cast(pl.Int32).cast(pl.Date),
    lambda v: pl.Series(np.arange(-len(v), 0) * 2**56).cast(pl.Duration("ms")),
    lambda v: pl.Series([None] * len(v), dtype=pl.Null),
    lambda v: pl.Series(v).shrink_dtype(),
]


@_library
def _polars(case: Case, columns: Sequence[Column]) -> Any:
    series = []
    for column in columns:
        form = case.pick(_POLARS) if case.chance(0.5) else _POLARS[0]
        held = first_that_holds([form, _POLARS[4], lambda v: pl.Series(_texts(v))], column.values)
        series.append(held.alias(str(column.name).encode("utf-8", "replace").decode()))
    if len({s.name for s in series}) < len(series):
        series = [s.alias(f"{s.name}{i}") for i, s in enumerate(series)]
    frame = pl.DataFrame(series)
    if case.chance(0.05):
        return frame.lazy()
    return pl.concat([frame[:1], frame[1:]], rechunk=False) if case.chance(0.1) else frame


# pyarrow

_ARROW: list[Form] = [
    lambda v: pa.array(v),
    lambda v: pa.array(v).dictionary_encode(),
    lambda v: pa.array(v, pa.string_view()),
    lambda v: pa.array(v, pa.large_string()),
    lambda v: pa.array(v, pa.binary_view()),
    lambda v: pa.array(v, pa.large_binary()),
    lambda v: __import__("pyarrow.compute").compute.run_end_encode(pa.array(v)),
    lambda v: pa.array(v, pa.decimal128(38, 3)),
    lambda v: pa.array(v, pa.decimal256(60, 3)),
    lambda v: pa.array(v, pa.float16()),
    lambda v: pa.array(v, pa.float32()),
    lambda v: pa.array(v).cast(pa.date64()),
    lambda v: pa.array(v).cast(pa.timestamp("s")),
    lambda v: pa.array(v).cast(pa.timestamp("ns", "America/New_York")),
    lambda v: pa.array(v).cast(pa.duration("s")),
    lambda v: pa.array(v).cast(pa.time32("ms")),
    lambda v: pa.array(np.arange(-len(v), 0) * 2**56, pa.duration("s")),
    lambda v: pa.array(np.arange(-len(v), 0) * 2**52, pa.timestamp("s")),
    lambda v: pa.array(np.arange(len(v)) * 2**31 // max(len(v), 1), pa.int32()).cast(pa.date32()),
    lambda v: pa.array([[x] for x in v]),
    lambda v: pa.array([{"a": x} for x in v]),
    lambda v: pa.array([(i, i, i) for i in range(len(v))], pa.month_day_nano_interval()),
    lambda v: pa.nulls(len(v)),
    lambda v: pa.chunked_array([pa.array(v[:1]), pa.array(v[1:], pa.array(v[:1]).type)]),
    lambda v: pa.array(v, pa.uint64()),
    lambda v: pa.array(v, pa.int8()),
]


def _crashes_arrow(value: Any) -> bool:
    """A moment or duration without a unit, at which pyarrow 26 reads memory that is not there."""
    return isinstance(value, (np.datetime64, np.timedelta64)) and np.datetime_data(value.dtype)[0] == "generic"


@_library
def _pyarrow(case: Case, columns: Sequence[Column]) -> Any:
    arrays = []
    for column in columns:
        form = case.pick(_ARROW) if case.chance(0.5) else _ARROW[0]
        values = [None if _crashes_arrow(value) else value for value in column.values]
        arrays.append(first_that_holds([form, _ARROW[0], lambda v: pa.array(_texts(v), pa.string())], values))
    names = [str(c.name).encode("utf-8", "replace").decode() for c in columns]
    if len(names) > 1 and case.chance(0.02):
        names[-1] = names[0]  # a name twice
    table = pa.Table.from_arrays(arrays, names)
    if case.chance(0.05):
        return table.to_batches()[0] if len(table.to_batches()) == 1 else table
    return table


# NumPy and plain Python


def _rows(columns: Sequence[Column]) -> list[list[Any]]:
    return [list(row) for row in zip(*(c.values for c in columns), strict=True)]


@_library
def _objects(case: Case, columns: Sequence[Column]) -> Any:
    rows = np.empty((len(columns[0].values), len(columns)), dtype=object)
    for i, column in enumerate(columns):
        for at, value in enumerate(column.values):
            rows[at, i] = value
    return rows


@_library
def _rows_of_lists(case: Case, columns: Sequence[Column]) -> Any:
    rows = _rows(columns)
    return [tuple(row) for row in rows] if case.chance(0.2) else rows


@_library
def _array(case: Case, columns: Sequence[Column]) -> Any:
    """One NumPy array of one dtype; masked at times."""
    rows = _rows(columns)
    dtype = case.pick(
        (float, float, "f4", "f2", int, bool, "S", "U", "datetime64[D]", "timedelta64[s]", complex, "i1", "g")
    )
    forms: list[Form] = [lambda v: np.array(v, dtype=dtype), lambda v: np.array(v, dtype=float)]
    numbers = case.rng.normal(size=(len(rows), len(columns)))
    held = first_that_holds([*forms, lambda v: numbers.round(1)], rows)
    how = case.rng.random()
    if how < 0.1:
        return np.ma.array(held, mask=case.rng.random(held.shape) < 0.2)
    if how < 0.15:
        return np.asfortranarray(held)
    if how < 0.2:
        return held[::-1]
    if how < 0.22:
        return held[:, 0]
    if how < 0.24:
        return held[:, :, None]
    return held.astype(held.dtype.newbyteorder()) if how < 0.27 else held


@_library
def _sparse(case: Case, columns: Sequence[Column]) -> Any:
    shape = (len(columns[0].values), len(columns))
    numbers = case.rng.integers(-2, 3, shape) * (case.rng.random(shape) < 0.4)
    held = numbers.astype(case.pick((float, float, int, bool, "f4", "i1")))
    if held.dtype.kind == "f" and case.chance(0.3):
        held[case.rng.random(shape) < 0.1] = case.pick((np.nan, np.inf))
    return case.pick((sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array, sp.lil_matrix, sp.bsr_array))(held)


@_library
def _nonsense(case: Case, columns: Sequence[Column]) -> Any:
    """What is no table."""
    return case.pick(
        (None, 5, "table.csv", [], [[]], [1, 2, 3], {"a": [1, 2]}, {}, pd.DataFrame(), pl.DataFrame(), np.empty((0, 3)))
        + (
            np.empty((5, 0)),
            pd.DataFrame(index=range(5)),
            [[1, 2], [3]],
            pa.table({}),
            pd.Series([1, 2]),
            object(),
            iter([]),
        )
        + (pl.DataFrame({"a": []}), np.array(3.0), [[[1]], [[2]]], b"abc", (x for x in [[1]]), {1, 2}, range(3)),
    )


_SHARES = {"nonsense": 0.15, "sparse": 0.5, "array": 0.8, "pandas": 2.5, "polars": 2.5, "pyarrow": 2.0}


def hold(case: Case, table: Drawn, *, nonsense: bool = True) -> tuple[str, Any]:
    """The table in a drawn library, and the name of the library."""
    names = [name for name in LIBRARIES if nonsense or name != "nonsense"]
    shares = np.array([_SHARES.get(name, 1.0) for name in names])
    name = names[int(case.rng.choice(len(names), p=shares / shares.sum()))]
    case.note(f"{table.n_rows} rows as {name}: {[(c.name, c.kind) for c in table.columns][:12]}")
    return name, LIBRARIES[name](case, table.columns)


def take(X: Any, start: int, stop: int) -> Any:
    """Rows next to each other, as every library cuts them."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[start:stop]
    if isinstance(X, (pa.Table, pa.RecordBatch)):
        return X.slice(start, stop - start)
    return X.tocsr()[start:stop] if sp.issparse(X) else X[start:stop]


def number_of_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def image(X: Any) -> Any:
    """All there is to see of a table, to find out whether somebody changed it."""
    if isinstance(X, pd.DataFrame):
        columns = [_values(X.iloc[:, i]) for i in range(X.shape[1])]
        return columns, [str(d) for d in X.dtypes], repr(list(X.columns)), repr(list(X.index))
    if isinstance(X, (pl.DataFrame, pl.Series)):
        return repr(X.rows() if isinstance(X, pl.DataFrame) else X.to_list()) if _readable(X) else None
    if sp.issparse(X):
        return X.data.tobytes() if hasattr(X.data, "tobytes") else repr(X)
    if isinstance(X, np.ndarray) and X.dtype.kind != "O":
        return X.tobytes(), str(X.dtype), X.shape
    if isinstance(X, np.ndarray):
        return repr(X.tolist())
    return repr(X) if isinstance(X, (list, tuple, pd.Series)) else None


def _values(column: pd.Series) -> str:
    try:
        return repr(column.tolist())
    except OverflowError:  # Python has no such dates
        return ""


def _readable(X: Any) -> bool:
    types = X.dtypes if isinstance(X, pl.DataFrame) else [X.dtype]
    hidden = ("Date", "Time", "Duration", "Object")  # far dates cannot be shown, nor those inside lists
    return not any(word in str(t) for t in types for word in hidden)
