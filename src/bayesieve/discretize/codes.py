"""Reading of tables of codes: integers from 0, one column per feature."""

from __future__ import annotations

from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_non_negative, validate_data

from bayesieve.counts import CodedTable
from bayesieve.table.arrays import as_array
from bayesieve.table.cautions import warn_caller
from bayesieve.table.columns import duplicate_error
from bayesieve.table.frames import require_table, whole_frame
from bayesieve.table.values import is_missing

MAX_CODE = 10_000_000
"""Largest code accepted: level tables are as long as the largest code, so identifiers taken for codes must not fill
the memory.
"""


def read_codes(estimator: Any, X: Any, *, reset: bool) -> CodedTable:
    """Return integer codes of a 2-D array or dataframe as a `CodedTable` without classes.

    Fractions are rounded down with a warning, as in scikit-learn's estimators of codes.

    Parameters
    ----------
    estimator : estimator that stores (``reset=True``) or checks the number and names of the features.
    X : integers from 0, shape (n_rows, n_features), or a `CodedTable`, which is returned unchanged and not stored.

    Raises
    ------
    ValueError
        For negative codes, codes above 10 million, text, missing or infinite values, and duplicate names.
    TypeError
        For values that are neither numbers nor text, and for sparse matrices.
    """
    if isinstance(X, CodedTable):
        if not reset and X.n_features != estimator.n_features_in_:
            owner = type(estimator).__name__
            raise ValueError(
                f"X has {X.n_features} features, but {owner} is expecting {estimator.n_features_in_} features as input."
                " Pass the columns of the training rows, in their order."
            )
        return X
    require_table(estimator, X)
    X = whole_frame(X)
    if nw.dependencies.is_into_dataframe(X):
        names = [str(name) for name in getattr(X, "column_names", X.columns)]
        if len(set(names)) < len(names):
            raise duplicate_error(names)
    if (isinstance(X, (list, tuple)) and np.ndim(X[:1]) > 1) or isinstance(X, np.ma.MaskedArray):
        X = as_array(X)
    try:
        codes = validate_data(estimator, X, reset=reset, dtype=None, accept_sparse=False, ensure_all_finite=True)
    except Exception as error:  # the conversion runs code of other libraries, which may raise any error
        if str(error).startswith("Complex data"):  # scikit-learn shows all of them
            raise ValueError(f"Complex data not supported; {_REMEDY}") from None
        if isinstance(X, np.ndarray) and X.dtype.kind != "O":
            raise
        _refuse_other_types(X)
        codes = validate_data(estimator, X, reset=reset, dtype=object, accept_sparse=False, ensure_all_finite=False)
    if codes.dtype.kind not in "biuf":
        codes = _numbers_of_objects(codes.astype(object))
    check_non_negative(codes, f"{type(estimator).__name__} (input X)")
    _refuse_large_numbers(codes)
    _warn_of_fractions(codes)
    codes = codes.astype(np.int64, copy=False)
    n_levels = codes.max(axis=0) + 1
    dtype = np.min_scalar_type(int(n_levels.max()))
    names = getattr(estimator, "feature_names_in_", [f"x{i}" for i in range(codes.shape[1])])
    return CodedTable(np.ascontiguousarray(codes.T, dtype=dtype), n_levels, names)


def _refuse_other_types(X: Any) -> None:
    """Raise TypeError for the first column of a dataframe whose data type cannot hold codes."""
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        if not frame.columns:
            raise ValueError(
                f"0 feature(s) (shape={frame.shape}) while a minimum of 1 is required. X has no columns; pass at "
                "least one."
            )
        for name, dtype in frame.schema.items():
            is_number = dtype.is_numeric() and dtype not in (nw.Int128, nw.UInt128, nw.Decimal)
            if not is_number and dtype not in (nw.Boolean, nw.String, nw.Object, nw.Categorical, nw.Enum):
                raise TypeError(f"Column {name!r} is of type {dtype}; {_REMEDY}")


def refuse_empty_tables(n_levels: np.ndarray, n_classes: int, n_codes: int) -> None:
    """Raise ValueError if the count tables of all features would take gigabytes, nearly all for levels without rows.

    ``n_levels`` (n_features,) are the numbers of levels of the features, and ``n_codes`` is the number of rows times
    features.
    """
    cells = int(np.sum(n_levels, dtype=np.float64)) * n_classes
    if cells > _MOST_CELLS and cells > 100 * n_codes * n_classes:
        k = int(np.argmax(n_levels))
        raise ValueError(
            f"Column {k} has {int(n_levels[k])} levels, whose counts in {n_classes} classes would fill the memory; "
            f"{_REMEDY}"
        )


_MOST_CELLS = 30_000_000
_REMEDY = "codes are the numbers 0, 1, 2, ... of levels: code raw values with TableEncoder first."


def _refuse_large_numbers(codes: np.ndarray) -> None:
    """Raise ValueError for codes so large that the counts of their levels would fill the memory."""
    if codes.dtype.kind == "f":
        codes = codes.astype(np.float64, copy=False)  # half precision ends at 65,504
    wrong = codes > MAX_CODE
    if wrong.any():
        row, column = (int(at[0]) for at in np.nonzero(wrong))
        raise ValueError(
            f"Column {column} holds the code {codes[row, column]} in row {row}, but codes are at most {MAX_CODE:,}; "
            f"{_REMEDY}"
        )


def _warn_of_fractions(codes: np.ndarray) -> None:
    """Warn about the first code that is not a whole number; codes are rounded down."""
    fractions = codes != np.trunc(codes) if codes.dtype.kind == "f" else np.zeros((1, 1), dtype=bool)
    if fractions.any():
        row, column = (int(at[0]) for at in np.nonzero(fractions))
        code = codes[row, column]
        warn_caller(
            f"Column {column} holds the code {code} in row {row}, which is rounded down to {int(code)}; {_REMEDY}"
        )


def _numbers_of_objects(codes: np.ndarray) -> np.ndarray:
    """Convert codes in an array of Python objects (numbers, or texts of digits) to an array of floats of the same
    shape.
    """
    numbers = np.empty(codes.shape, dtype=np.float64)
    for (row, column), value in np.ndenumerate(codes):
        if is_missing(value):
            raise ValueError(f"Input X contains NaN (column {column}, row {row}); {_REMEDY}")
        if not isinstance(value, (str, bytes, Number)):
            raise TypeError(
                f"Column {column} holds a value of type {type(value).__name__} in row {row}; an argument must be a "
                "string of digits or a whole number to be a code: code raw values with TableEncoder first."
            )
        try:
            numbers[row, column] = float(value)  # type: ignore[arg-type]
            if np.isnan(numbers[row, column]):
                raise ValueError  # the text "nan"
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"Column {column} holds {value!r:.60} in row {row}, which is not a code; {_REMEDY}"
            ) from None
    return numbers
