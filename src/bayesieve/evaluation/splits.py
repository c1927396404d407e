"""Splits of rows by time, out-of-fold predictions, and the hash of a table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesieve.table import as_table
from bayesieve.table.cautions import silenced
from bayesieve.table.columns import Column
from bayesieve.table.frames import split_columns, take_rows
from bayesieve.table.target import Target
from bayesieve.table.values import TEMPORAL
from bayesieve.words import did_you_mean, named


def time_splits(moments: np.ndarray, n_blocks: int = 5) -> list[tuple[np.ndarray, np.ndarray]]:
    """Split rows by time into up to ``n_blocks`` blocks. Return (train, test) row positions for each block but the
    first.

    Each block is tested once, with all earlier rows for training. Rows with equal times stay together, which may reduce
    the number of blocks. ``moments`` holds the times as numbers, shape (n_rows,).
    """
    order = np.argsort(moments, kind="stable")
    ordered = moments[order]
    edges = {0, ordered.size}
    for i in range(1, n_blocks):
        target = i * ordered.size // n_blocks
        around = [int(np.searchsorted(ordered, ordered[target], side)) for side in ("left", "right")]
        edges |= set(sorted((e for e in around if 0 < e < ordered.size), key=lambda e: abs(e - target))[:1])
    ends = sorted(edges)
    if len(ends) < 3:
        raise ValueError("All rows have the same time, so that no row is later than another; pass other times.")
    return [(np.sort(order[:i]), np.sort(order[i:j])) for i, j in pairwise(ends[1:])]


def moments_of(X: Any, time: Any, needed: Sequence[str] = ()) -> tuple[Any, np.ndarray]:
    """Return the rows without their column of times, and the times as numbers, shape (n_rows,).

    ``time`` is an array or the name of a column. The column stays in the rows if its name is in ``needed``. Raise
    ValueError if times are neither numbers nor dates, or one is missing.
    """
    import polars as pl

    if not isinstance(time, str):
        values = np.asarray(time)
        series = pl.Series("time", values.tolist() if values.dtype == object else values)
        return X, read_moments(as_table(series.to_frame()).column(0))[0]
    table = as_table(X)
    if time not in table.names:
        hint = did_you_mean(time, table.names) or f"there are {named(table.names)}."
        raise ValueError(f"There is no column {time!r} to order the rows by; {hint}")
    moments, _ = read_moments(table.select([table.names.index(time)]).column(0))
    return X if time in needed else split_columns(X, time)[0], moments


def read_moments(column: Column) -> tuple[np.ndarray, str]:
    """Return a column of times as numbers, shape (n_rows,), and the type of the column. Raise ValueError, naming the
    column, if a time is missing, or neither a number nor a date.
    """
    type_ = column.type if column.kind == "numeric" else "datetime"
    try:
        moments = column.numbers(type_)
    except ValueError:
        raise ValueError(
            f"Column {column.name!r} of times must contain only numbers, or dates such as 2024-01-31."
        ) from None
    if np.isnan(moments).any():
        raise ValueError(f"Column {column.name!r} has no value in row {np.isnan(moments).argmax()}; remove such rows.")
    return moments, type_


def log_proba_of_splits(
    estimator: Any,
    X: Any,
    target: Target,
    splits: Any,
    weights: Any,
    predicted: Callable[[Any, Any, np.ndarray], np.ndarray] | None = None,
) -> Iterator[np.ndarray]:
    """Yield, for each split, the log probabilities (n_test, n_classes) of its test rows by a clone of the estimator
    trained on its training rows.

    A class without training rows gets the probability of half a row.

    Parameters
    ----------
    estimator, X, target : estimator, rows, and their classes.
    splits : (train, test) row positions.
    weights : (n_rows,) row weights, or None.
    predicted : function of the trained model, its test rows and their positions that returns log probabilities; by
        default the model's ``predict_log_proba``.
    """
    codes = target.codes.astype(np.int64)
    for train, test in splits:
        model = clone(estimator)
        labels = target.classes[codes[train]]
        options = {} if weights is None else {"sample_weight": weights[train]}
        log_proba = np.full((test.size, target.n_classes), np.log(0.5 / train.size))
        present = np.unique(codes[train])
        if present.size > 1:
            with silenced():
                model.fit(take_rows(X, train), labels, **options)
                rows = take_rows(X, test)
                of_rows = model.predict_log_proba(rows) if predicted is None else predicted(model, rows, test)
                log_proba[:, present] = of_rows
        else:
            log_proba[:, present] = 0.0  # the training rows contain a single class
        yield log_proba


def fingerprint(X: Any, codes: np.ndarray, classes: np.ndarray, weights: np.ndarray | None) -> str:
    """Return a hash of a table with its classes and row weights, as 32 hexadecimal digits.

    ``codes`` (n_rows,) are positions in ``classes`` (n_classes,), and ``weights`` (n_rows,) may be None. Equal values
    give equal hashes, whichever dataframe library holds the table.
    """
    table = as_table(X)
    digest = hashlib.sha256(repr((table.n_rows, table.names, classes.tolist())).encode())
    digest.update(codes.astype(np.int64).tobytes())
    if weights is not None:
        digest.update(weights.tobytes())
    for position in range(table.n_columns):
        column = table.column(position)
        digest.update(column.kind.encode())
        if column.kind == "numeric":
            type_ = column.type if column.type in TEMPORAL else "number"
            numbers = column.read_numbers(type_, [])[0] + 0.0  # turns -0.0 into 0.0
            numbers[np.isnan(numbers)] = np.nan
            digest.update(numbers.tobytes())
        else:
            categories = column.categories()
            digest.update(repr([f"{type(value).__name__} {value}" for value in categories.values]).encode())
            digest.update(categories.codes.astype(np.int32).tobytes())
    return digest.hexdigest()[:32]
