"""Values of columns of any library, read once: numbers, texts, or codes of distinct values.

Here a *code* is the position (-1 = missing) of a row's value in a list of the distinct values of its column. Only
`read_values` depends on the dataframe library. Later steps (taking rows, categories, numbers) depend on the class of
the values that it returns.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from numbers import Number
from types import NoneType
from typing import Any

import narwhals as nw
import numpy as np

from bayesieve.table.values import (
    COUNT,
    TEMPORAL,
    TYPES_OF_MOMENTS,
    Scalar,
    canonical_value,
    count_moments,
    format_temporal,
    is_missing,
)

_TYPES = {
    "Boolean": "boolean",
    "String": "text",
    "Categorical": "category",
    "Enum": "category",
    "Date": "date",
    "Datetime": "datetime",
    "Duration": "duration",
    "Time": "time",
}
_MERGE_ORDER = {bool: 0, int: 1, float: 2, str: 3}
_FEW_ROWS = 20_000  # shorter columns are not worth a compiled loop over addresses


Encoding = tuple[np.ndarray, Sequence[Any]]
"""Codes (int32, -1 = missing) and the distinct raw values that they stand for, all of which occur."""


class TooLarge(OverflowError):
    """Error for a value that does not fit into the 64 bits of ``type_``, the `Column.type` of the column."""

    def __init__(self, type_: str) -> None:
        super().__init__(type_)
        self.type = type_


@dataclass(eq=False, repr=False)
class NumberValues:
    """Values of a column as numbers: numbers or booleans, dates (days since 1970), or datetimes, durations and times of
    day (microseconds).

    Parameters
    ----------
    numbers : array, shape (n_rows,)
        Numbers and booleans as the caller's library stores them; dates and times as whole numbers; NaN for missing
        floats.
    missing : bool array, shape (n_rows,), or None
        Mask of missing numbers; None if the missing ones are those that are NaN.
    type : "number", "boolean", "date", "datetime", "duration" or "time"
    by_value : whether the data are Python objects, each of which is read by itself.
    exact : Encoding, function that returns it, or None
        Codes and distinct raw values, if ``numbers`` rounds and may merge two of them: Decimals, whole numbers beyond
        64 bits.
    """

    numbers: np.ndarray
    missing: np.ndarray | None
    type: str
    _: KW_ONLY
    by_value: bool = False
    exact: Encoding | Callable[[], Encoding] | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def encoded(self) -> Encoding:
        """Codes of the rows (-1 = missing), and the distinct values that they index."""
        if self.exact is not None:
            return self.exact() if callable(self.exact) else self.exact
        codes, numbers = encode_plain(self.numbers, self.missing)
        return codes, [format_temporal(n, self.type) for n in numbers] if self.type in TEMPORAL else numbers

    def take(self, rows: np.ndarray) -> NumberValues:
        """Return the values of the rows at positions ``rows``."""
        missing = None if self.missing is None else self.missing[rows]
        exact: Any = None if self.exact is None else lambda: drop_unused(*self.encoded, rows)
        return NumberValues(self.numbers[rows], missing, self.type, by_value=self.by_value, exact=exact)


@dataclass(eq=False, repr=False)
class EncodedValues:
    """Values of any type as codes of their distinct values, computed when they are first used.

    Parameters
    ----------
    type : `Column.type` of all rows.
    n_rows : number of rows.
    encode : the codes and distinct values (see `Encoding`), or a function that returns them.
    by_value : whether the data are Python objects, each of which is read by itself.
    is_sorted : whether the distinct values are plain scalars in the order of their canonical texts.
    """

    type: str
    n_rows: int
    encode: Encoding | Callable[[], Encoding]
    _: KW_ONLY
    by_value: bool = False
    is_sorted: bool = False

    def __len__(self) -> int:
        return self.n_rows

    @cached_property
    def encoded(self) -> Encoding:
        """Codes of the rows (-1 = missing), and the distinct values that they index."""
        return self.encode() if callable(self.encode) else self.encode

    def take(self, rows: np.ndarray) -> EncodedValues:
        """Return the values of the rows at positions ``rows``."""
        options = {"by_value": self.by_value, "is_sorted": self.is_sorted}
        return EncodedValues(self.type, len(rows), lambda: drop_unused(*self.encoded, rows), **options)


class TextValues:
    """Texts of a polars series. They are encoded at each use, because codes would stay in memory beside the texts."""

    type = "text"
    by_value = is_sorted = False

    def __init__(self, series: Any) -> None:
        self.series = series

    def __len__(self) -> int:
        return len(self.series)

    @property
    def encoded(self) -> Encoding:
        """Codes of the rows (-1 = missing), and the distinct texts that they index."""
        return encoded_series(self.series)

    def take(self, rows: np.ndarray) -> TextValues:
        """Return the values of the rows at positions ``rows``."""
        return TextValues(self.series.gather(rows))


RawValues = NumberValues | EncodedValues | TextValues


def type_of_dtype(dtype: Any) -> str:
    """Return the `Column.type` of a data type of polars or narwhals."""
    if dtype.is_numeric():
        return "number"
    return _TYPES.get((dtype if isinstance(dtype, type) else type(dtype)).__name__, "mixed")


def read_values(column: Any) -> RawValues:
    """Read a column of any library: a NumPy array, or a series of polars, pandas or pyarrow.

    Raises
    ------
    TooLarge
        If a date, time or duration does not fit into 64 bits.
    """
    if isinstance(column, np.ndarray):
        return _read_array(column)
    if nw.dependencies.is_polars_series(column):
        return _read_series(column)
    if not nw.dependencies.is_pandas_series(column):
        return _read_arrow(to_arrow(column))
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return _read_array(column.to_numpy())
    if isinstance(dtype, pd.ArrowDtype) or getattr(dtype, "storage", None) == "pyarrow":
        return _read_arrow(to_arrow(column))
    if isinstance(dtype, pd.SparseDtype):
        return _read_array(column.array.to_dense())  # without guessing a text type, which Arrow might refuse
    if isinstance(dtype, pd.CategoricalDtype):
        codes, categories = column.cat.codes.to_numpy().astype(np.int32), column.cat.categories.tolist()
        return EncodedValues("category", len(column), partial(drop_unused, codes, categories))
    if isinstance(dtype, pd.DatetimeTZDtype):
        return _read_array(column.dt.tz_convert(None).to_numpy())
    if not hasattr(dtype, "numpy_dtype") or dtype.kind not in "biuf":
        type_ = type_of_dtype(nw.from_native(column, series_only=True).dtype)
        return EncodedValues(type_, len(column), partial(encoded_objects, column.to_numpy(dtype=object)))
    if dtype.kind == "f":
        return NumberValues(column.to_numpy(dtype=np.float64, na_value=np.nan), None, "number")
    missing = column.isna().to_numpy() if column.hasnans else None
    column = column if missing is None else column.fillna(False if dtype.kind == "b" else 0)
    return NumberValues(column.to_numpy(dtype=dtype.numpy_dtype), missing, "boolean" if dtype.kind == "b" else "number")


def _read_array(column: np.ndarray) -> RawValues:
    """Read a NumPy array of any data type."""
    kind = column.dtype.kind
    if kind in "iufb" and column.dtype.itemsize <= 8:
        return NumberValues(column, None, "boolean" if kind == "b" else "number")
    if kind == "O":
        return _read_objects(column)
    if kind in "mM":
        is_date = kind == "M" and np.datetime_data(column.dtype)[0] in ("Y", "M", "W", "D")
        return _read_moments(column, "duration" if kind == "m" else "date" if is_date else "datetime")
    encode = partial(encoded_objects, column)
    if kind == "f":  # longer than 64 bits
        return NumberValues(column.astype(np.float64), None, "number", exact=encode)
    return EncodedValues("text" if kind in "UST" else "mixed", len(column), encode)


def _read_moments(moments: np.ndarray, type_: str) -> NumberValues:
    """Read an array of NumPy's datetime64 or timedelta64 as values of type ``type_``: "date", "datetime" or "duration".

    Raise `TooLarge` if a value does not fit into 64 bits.
    """
    missing = np.isnat(moments)
    try:
        numbers = count_moments(moments, "D" if type_ == "date" else "us")
    except OverflowError as error:
        raise TooLarge(type_) from error
    return NumberValues(numbers, missing if missing.any() else None, type_)


def _read_objects(column: np.ndarray, declared: str | None = None) -> RawValues:
    """Read an array of Python objects, (n_rows,).

    ``declared`` is the `Column.type` of the source column; None finds the type of the values.
    """
    by_identity, by_value = encoded_by_identity(column), declared is None
    encode = partial(encoded_objects, column) if by_identity is None else by_identity
    type_ = declared or _type_of_objects(column if by_identity is None else _as_objects(by_identity[1]))
    if type_ not in ("number", "boolean", *TEMPORAL):
        return EncodedValues(type_, len(column), encode, by_value=by_value)
    missing = missing_objects(column)
    present = column[~missing]
    dtype: Any = bool if type_ == "boolean" else np.int64 if type_ in COUNT else _dtype_of_numbers(present)
    try:
        if type_ in COUNT:
            dense = np.array([COUNT[type_](value) for value in present], dtype=np.int64)
        else:
            dense = present.astype(np.float64 if dtype is None else dtype)
    except OverflowError:
        return EncodedValues(type_, len(column), encode, by_value=by_value)
    numbers = np.zeros(len(column), dtype=dense.dtype)
    numbers[~missing] = dense
    exact = encode if dtype is None else None
    return NumberValues(numbers, missing if missing.any() else None, type_, by_value=by_value, exact=exact)


def _read_series(column: Any) -> RawValues:
    """Read a polars series.

    It is renamed to "", because polars methods read names such as ``*`` and ``^...$`` as patterns.
    """
    import polars as pl

    column, dtype = column.alias(""), column.dtype
    if dtype == pl.String:
        return TextValues(column)
    if dtype == pl.Object:
        return _read_objects(column.to_numpy())
    if dtype == pl.Null:
        column = column.cast(pl.Float64)
    type_ = type_of_dtype(column.dtype)
    if dtype in (pl.Decimal, pl.Int128, pl.UInt128):
        return NumberValues(column.cast(pl.Float64).to_numpy(), None, "number", exact=partial(encoded_series, column))
    if type_ not in ("number", "boolean", *TEMPORAL):
        return EncodedValues(type_, len(column), partial(encoded_series, column))
    if getattr(dtype, "time_unit", None) == "ms":
        # Polars panics, with a trace on the error stream, if the result does not fit into 64 bits.
        column = column.to_physical()
        lowest, highest = column.min(), column.max()
        if lowest is not None and max(-lowest, highest) >= 2**63 // 1000:
            raise TooLarge(type_)
        column = column * 1000
    elif type_ in ("datetime", "duration"):
        column = column.dt.cast_time_unit("us")
    column = column.to_physical()
    if type_ == "time":
        column = column // 1000  # polars counts nanoseconds since midnight
    if column.null_count() == 0 or column.dtype.is_float():
        return NumberValues(column.to_numpy(), None, type_)  # nulls become NaN
    zero = False if type_ == "boolean" else 0
    return NumberValues(column.fill_null(zero).to_numpy(), column.is_null().to_numpy(), type_)


def to_arrow(column: Any) -> Any:
    """Return a column of pandas or pyarrow as Arrow chunks in layouts that all Arrow functions accept: no view types,
    no run-end encoding.
    """
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        column = column if isinstance(column, pa.Array) else pa.array(column)
        column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if pa.types.is_null(column.type):
        return column.cast(pa.float64())
    if pa.types.is_run_end_encoded(column.type):
        # Take the run of each row instead of decoding: Arrow decodes few types, and Python has no dates after the year
        # 9999.
        chunks = [to_arrow(chunk.values).take(_runs(chunk)) for chunk in column.chunks]
        plain = [piece for chunk in chunks for piece in chunk.chunks]
        return pa.chunked_array(plain) if plain else to_arrow(pa.chunked_array([], column.type.value_type))
    if "_view" in str(column.type):
        import polars as pl

        return pa.chunked_array([pl.Series(column).to_arrow(compat_level=pl.CompatLevel.oldest())])
    return column


def _runs(chunk: Any) -> np.ndarray:
    """Return, for each row of a run-end encoded Arrow array, the position of its run, shape (n_rows,)."""
    rows = np.arange(chunk.offset, chunk.offset + len(chunk))
    return np.searchsorted(chunk.run_ends.to_numpy(), rows, side="right")


def _read_arrow(column: Any) -> RawValues:
    """Read a column as the Arrow chunks that `to_arrow` returns."""
    import polars as pl
    import pyarrow.types as pt

    kind = column.type
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_dictionary(kind):
        type_ = "category" if pt.is_dictionary(kind) else "text"
        return EncodedValues(type_, len(column), partial(_encoded_arrow, column))
    if pt.is_date(kind) or pt.is_timestamp(kind) or pt.is_duration(kind):
        type_ = "date" if pt.is_date(kind) else "datetime" if pt.is_timestamp(kind) else "duration"
        return _read_moments(column.to_numpy(), type_)
    if pt.is_floating(kind) or (pt.is_integer(kind) and not column.null_count):
        return _read_array(column.to_numpy())
    is_plain = pt.is_integer(kind) or pt.is_boolean(kind) or pt.is_time(kind)
    if is_plain or (pt.is_decimal(kind) and not pt.is_decimal256(kind)):
        return _read_series(pl.Series(column))
    objects = _as_objects(column.to_pylist())
    if pt.is_decimal(kind):
        return _read_objects(objects, "number")
    return EncodedValues("mixed", len(column), partial(encoded_objects, objects))


def _encoded_arrow(column: Any) -> tuple[np.ndarray, list[Any]]:
    """Return codes (int32, -1 = missing) and distinct values of Arrow chunks of texts or of dictionary-encoded
    values.
    """
    import pyarrow as pa
    import pyarrow.types as pt

    kind = column.type
    is_dictionary = pt.is_dictionary(kind)
    if not is_dictionary:
        column = column.dictionary_encode()
    elif pt.is_string(kind.value_type) and not any(chunk.dictionary.null_count for chunk in column.chunks):
        column = column.unify_dictionaries()  # Arrow cannot do so for all types, and garbles half floats
    # Chunks may have different dictionaries: shift the codes of each past the values of earlier chunks.
    codes_by_chunk: list[np.ndarray] = []
    values: list[Any] = []
    dictionary, first = None, 0
    for chunk in column.chunks:
        if dictionary is None or not chunk.dictionary.equals(dictionary):
            dictionary, first = chunk.dictionary, len(values)
            values += dictionary.to_pylist()
        codes = chunk.indices.cast(pa.int32()).fill_null(-1).to_numpy()
        codes_by_chunk.append(codes + first * (codes >= 0) if first else codes)
    codes = codes_by_chunk[0] if len(codes_by_chunk) == 1 else np.concatenate([np.empty(0, np.int32), *codes_by_chunk])
    return drop_unused(codes, values) if is_dictionary else (codes, values)


def missing_objects(column: np.ndarray) -> np.ndarray:
    """Return a mask of the entries of an object array that are None, NaN, NaT or ``pandas.NA``."""
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        try:
            return np.asarray(pandas.isna(column))
        except ArithmeticError:  # a signalling NaN among Decimals
            pass
    return np.fromiter((is_missing(value) for value in column), dtype=bool, count=len(column))


def _as_objects(values: Sequence[Any]) -> np.ndarray:
    """Return values as a 1-D array of Python objects; `numpy.array` would turn lists and tuples into further axes."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _type_of_objects(column: np.ndarray) -> str:
    """Return the `Column.type` that all values of an object array share, or "mixed"."""
    if is_text_to_pandas(column):
        return "text"
    kinds = set(map(type, column))
    if not kinds <= {str, NoneType}:
        kinds = set(map(type, column[~missing_objects(column)]))
    names = {_name_of_type(kind) for kind in kinds - {NoneType}}
    if not names:
        return "number"  # all missing
    if names == {"date", "datetime"}:
        return "datetime"
    return names.pop() if len(names) == 1 else "mixed"


def _name_of_type(kind: type) -> str:
    """Return the `Column.type` of values of one Python type, such as "number" for int; raise ValueError for complex
    numbers.
    """
    if issubclass(kind, (complex, np.complexfloating)):
        raise ValueError("Complex data not supported: split complex columns of X into real and imaginary parts.")
    for base, name in (
        ((bool, np.bool_), "boolean"),
        *TYPES_OF_MOMENTS,
        ((Number, np.number), "number"),
        (str, "text"),
    ):
        if issubclass(kind, base):
            return name
    return "mixed"


def _dtype_of_numbers(present: np.ndarray) -> type | None:
    """Return the NumPy type that represents all numbers of an object array exactly; None if there is no such type.
    ``present`` holds the values that are not missing.
    """
    kinds = set(map(type, present))
    if all(issubclass(kind, float) for kind in kinds):  # shorter floats have other texts
        return np.float64
    if all(issubclass(kind, (int, np.integer)) for kind in kinds):
        lowest, highest = int(present.min()), int(present.max())
        if lowest >= -(2**63) and highest < 2**63:
            return np.int64
        return np.uint64 if lowest >= 0 and highest < 2**64 else None
    return None


def encoded_objects(column: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    """Return codes (int32, -1 = missing) of the rows, and distinct raw values, of an array of text or objects."""
    import polars as pl

    column = column.astype(object, copy=False)
    if is_text_to_pandas(column):
        codes, raw = sys.modules["pandas"].factorize(column)
        return codes.astype(np.int32), raw.tolist()
    values = column.tolist()
    if all(issubclass(kind, (str, NoneType)) for kind in set(map(type, values))):  # polars panics at some Decimals
        with suppress(UnicodeEncodeError):  # half characters
            return encoded_series(pl.Series(values, dtype=pl.String, strict=True))
    return _encoded_one_by_one(values)


def encoded_by_identity(column: np.ndarray) -> tuple[np.ndarray, list[Any]] | None:
    """Return codes (int32, -1 = missing) and distinct values of an array of Python objects, which are compared by
    address.

    Columns usually repeat a few objects, so the loop need neither touch the objects nor hold the GIL. Equal values at
    different addresses are merged later, like different spellings of a value. Return None for short columns, and if
    there are many distinct objects.
    """
    if len(column) < _FEW_ROWS:
        return None
    from bayesieve.table._kernels import code_addresses

    column = np.ascontiguousarray(column)
    memory = (ctypes.c_char * column.nbytes).from_address(column.ctypes.data)
    addresses: np.ndarray = np.frombuffer(memory, dtype=np.int64)  # type: ignore[call-overload]
    codes = np.empty(len(column), dtype=np.int32)
    rows = code_addresses(addresses, codes)
    if not len(rows):
        return None
    values = column[rows].tolist()
    is_present = np.array([not is_missing(value) for value in values])
    place = np.where(is_present, np.cumsum(is_present) - 1, -1).astype(np.int32)
    return place[codes], [value for value, present in zip(values, is_present, strict=True) if present]


def is_text_to_pandas(column: np.ndarray) -> bool:
    """Return whether pandas, if loaded, reads an object array as text, possibly with missing values."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and pandas.api.types.infer_dtype(column, skipna=True) == "string"


def _encoded_one_by_one(values: Iterable[Any]) -> tuple[np.ndarray, list[Any]]:
    """Return codes (int32, -1 = missing) and distinct values of any Python objects.

    True, 1 and 1.0 are three values; objects that cannot be hashed are encoded by their text.
    """
    index: dict[Any, int] = {}
    raw: list[Any] = []
    codes: list[int] = []
    for value in values:
        key: Any = (value.__class__, value)
        try:
            code = index.get(key)
        except Exception:  # hashing or comparing any object may fail in any way
            key = (object, None if is_missing(value) else canonical_value(value))
            code = index.get(key)
        if code is None:
            code = -1 if is_missing(value) else len(raw)
            if code >= 0:
                raw.append(value)
            index[key] = code
        codes.append(code)
    return np.array(codes, dtype=np.int32), raw


def encoded_series(column: Any) -> tuple[np.ndarray, list[Any]]:
    """Return codes (int32, -1 = missing) and distinct raw values of a polars series."""
    import polars as pl

    if column.dtype == pl.Binary or column.dtype.is_nested() or column.dtype.is_numeric():
        try:
            values = column.to_list()
        except ValueError as error:  # moments in lists, of years that Python's types do not hold
            raise TooLarge(type_of_dtype(column.dtype)) from error
        return _encoded_one_by_one(values)
    pool = None
    if column.dtype == pl.String:
        # Use a separate pool of categories: codes of the shared pool grow with every other column.
        pool = pl.Categories.random()
        column = column.cast(pl.Categorical(pool))
    codes = column.to_physical().cast(pl.UInt32)
    if codes.null_count():  # test first: filling nulls takes most of the time in small tables
        codes = codes.fill_null(2**32 - 1)
    codes = codes.to_numpy().view(np.int32)
    if pool is not None:
        return codes, pool.to_series().to_list()  # read it while `column` exists: an unused pool is emptied
    if column.dtype == pl.Enum:
        return drop_unused(codes, column.dtype.categories.to_list())
    # The pool of categories may be shared with other columns and far larger than what this one uses.
    used = column.drop_nulls().unique()
    position = np.full(int(used.to_physical().max() or 0) + 2, -1, dtype=np.int32)
    position[used.to_physical().to_numpy()] = np.arange(len(used))
    return position[codes], used.cast(pl.String).to_list()


def encode_plain(values: np.ndarray, missing: np.ndarray | None) -> tuple[np.ndarray, Sequence[Any]]:
    """Return codes (int32, -1 = missing) and distinct values of an array of numbers or booleans.

    ``missing`` is a mask of the missing rows or None; NaN counts as missing, too.
    """
    raw: Sequence[Any]
    if values.dtype.kind == "b":
        codes, raw = values.astype(np.int32), [False, True]
    elif (offsets := _whole_offsets(values)) is not None:
        codes, raw = offsets
    else:
        distinct, inverse = np.unique(values, return_inverse=True)
        codes = inverse.astype(np.int32)
        if distinct.size and distinct[-1] != distinct[-1]:
            codes[codes == distinct.size - 1] = -1
        raw = list(distinct) if distinct.dtype.kind == "f" and distinct.itemsize < 8 else distinct.tolist()
    if missing is not None:
        codes[missing] = -1
    return drop_unused(codes, raw)


def _whole_offsets(values: np.ndarray) -> tuple[np.ndarray, range] | None:
    """Return codes and distinct values of integers whose range is no wider than the number of rows, without sorting.

    Codes are the distances to the lowest integer (int32), and the values are a range. Returns None for other arrays.
    """
    if values.dtype.kind not in "iu" or not len(values):
        return None
    lowest, highest = int(values.min()), int(values.max())
    if highest - lowest > max(1024, len(values)):
        return None
    wide = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64, copy=False)
    return (wide - wide.dtype.type(lowest)).astype(np.int32), range(lowest, highest + 1)


def merge_values(raw: Iterable[Any]) -> tuple[list[Scalar], np.ndarray]:
    """Merge raw values with the same canonical text and sort them by it.

    Parameters
    ----------
    raw : iterable of scalars
        Distinct raw values; missing ones (None, NaN ...) are allowed.

    Returns
    -------
    values : list of bool, int, float or str
        One representative per canonical text, in ascending order of that text.
    position : int32 array, one entry more than `raw`
        Index in ``values`` of each raw value, -1 for missing ones. The extra last entry is -1, so that indexing this
        array with codes maps the missing code -1 to itself.
    """
    scalars = [None if is_missing(value) else canonical_value(value) for value in raw]
    texts = [value if isinstance(value, str) or value is None else str(value) for value in scalars]
    best: dict[str, Scalar] = {}
    for text, value in zip(texts, scalars, strict=True):
        if text is None or value is None:
            continue
        earlier = best.get(text)
        if earlier is None or _MERGE_ORDER[type(value)] < _MERGE_ORDER[type(earlier)]:
            best[text] = value
    order = sorted(best)
    index: dict[str | None, int] = {text: i for i, text in enumerate(order)}
    index[None] = -1
    position = np.empty(len(texts) + 1, dtype=np.int32)
    position[:-1] = [index[text] for text in texts]
    position[-1] = -1
    return [best[text] for text in order], position


def drop_unused(codes: np.ndarray, raw: Sequence[Any], rows: np.ndarray | None = None) -> tuple[np.ndarray, list[Any]]:
    """Drop distinct values that no row has; return new codes of the rows, and the values that they index.

    ``codes`` (n_rows,), int32, -1 = missing, index the distinct values ``raw``; ``rows`` are the positions of the rows
    to return, None for all.
    """
    codes = codes if rows is None else codes[rows]
    used = np.zeros(len(raw) + 1, dtype=bool)
    used[codes] = True
    used_values = np.flatnonzero(used[:-1])  # the last entry stands for the missing code
    if len(used_values) == len(raw):
        return codes, list(raw)
    position = np.full(len(raw) + 1, -1, dtype=np.int32)
    position[used_values] = np.arange(len(used_values))
    return position[codes], [raw[int(i)] for i in used_values]
