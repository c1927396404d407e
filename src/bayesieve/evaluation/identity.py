"""Descriptions of estimators and tables as short texts, to check that saved results still belong to them."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bayesieve.table import as_table

_IRRELEVANT = frozenset(("n_jobs", "verbose"))  # results do not depend on them


def describe(value: Any) -> str:
    """An estimator, or the value of a parameter, as text: equal for equal options, in every process.

    An estimator is named by its package and class. Threads, verbosity and options at their defaults are left out: moved
    modules and new options do not invalidate saved results.

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer, Normalizer
    >>> describe([Normalizer("l1"), FunctionTransformer, 0.5])  # doctest: +ELLIPSIS
    "[sklearn.Normalizer(norm='l1'),sklearn...FunctionTransformer,0.5]"
    """
    if isinstance(value, BaseEstimator):
        options = {k: describe(v) for k, v in value.get_params(deep=False).items() if k not in _IRRELEVANT}
        defaults = {k: describe(p.default) for k, p in inspect.signature(type(value)).parameters.items()}
        inside = ",".join(f"{k}={text}" for k, text in sorted(options.items()) if text != defaults.get(k))
        return f"{type(value).__module__.partition('.')[0]}.{type(value).__qualname__}({inside})"
    if isinstance(value, np.ndarray):
        content = repr(value.tolist()).encode() if value.dtype == object else np.ascontiguousarray(value).tobytes()
        return f"array({value.dtype.str},{value.shape},{hashlib.sha256(content).hexdigest()[:16]})"
    if isinstance(value, np.generic):
        return describe(value.item())
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{describe(k)}:{describe(v)}' for k, v in value.items())}}}"
    if isinstance(value, (set, frozenset)):
        return f"set({','.join(sorted(map(describe, value)))})"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(describe, value))}]"
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def fingerprint(X: Any, codes: np.ndarray, classes: np.ndarray, weights: np.ndarray | None) -> str:
    """A table with its classes and row weights as 32 hexadecimal digits; the same whatever library holds the table."""
    table = as_table(X)
    digest = hashlib.sha256(repr((table.n_rows, table.names, classes.tolist())).encode())
    digest.update(codes.astype(np.int64).tobytes())
    if weights is not None:
        digest.update(weights.tobytes())
    for position in range(table.n_columns):
        column = table.column(position)
        digest.update(column.kind.encode())
        if column.kind == "numeric":
            numbers = column.numbers() + 0.0  # no minus zero
            numbers[np.isnan(numbers)] = np.nan
            digest.update(numbers.tobytes())
        else:
            categories = column.categories()
            digest.update(repr([f"{type(value).__name__} {value}" for value in categories.values]).encode())
            digest.update(categories.codes.astype(np.int32).tobytes())
    return digest.hexdigest()[:32]
