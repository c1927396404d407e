"""Data sets of a comparison: in memory from the start, or loaded when needed and released afterwards."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from bayesieve.evaluation.comparison_file import ComparisonFile
from bayesieve.evaluation.fold_run import DataSet, one_line
from bayesieve.evaluation.folds import Fold, RepeatedFolds, Split
from bayesieve.evaluation.identity import fingerprint
from bayesieve.table import as_sample_weight, as_table, as_target
from bayesieve.table.backends.arrays import as_array
from bayesieve.table.cautions import issue, weights_caution
from bayesieve.table.frames import take_rows
from bayesieve.table.scanned import is_scan, scanned_rows


class DataSource:
    """A data set and its folds.

    ``content`` is ``(X, y)``, ``(X, y, sample_weight)``, or a callable without arguments that returns one of these: it
    is called for the first fold, and its result is released when `expected` folds are done. A ValueError is raised if
    the name is not a text, or the content cannot be loaded or split.
    """

    def __init__(self, name: str, content: Any, split: Split) -> None:
        if not isinstance(name, str) or not name:
            raise ValueError(f"Names of data sets must be texts, got {name!r}.")
        self.name = name
        self.expected = 0
        self.places = [(repeat, fold) for repeat in range(split.n_repeats) for fold in range(split.n_folds)]
        self.is_lazy = callable(content)
        self._content = content
        self._split = split
        self._lock = threading.Lock()
        self._failure: Exception | None = None
        self._opened: tuple[DataSet, list[Fold]] | None = None if self.is_lazy else self._read(content)

    @property
    def fingerprint(self) -> str:
        """Fingerprint of a data set in memory."""
        assert self._opened is not None
        return _fingerprint(self._opened[0])

    @contextmanager
    def fold(self, place: tuple[int, int], results: ComparisonFile) -> Iterator[tuple[DataSet, Fold]]:
        """The data set and one of its folds, by repeat and fold, while the block runs."""
        with self._lock:
            if self._opened is None:
                self._opened = self._loaded(results)
            data, folds = self._opened
        try:
            yield data, folds[self.places.index(place)]
        finally:
            with self._lock:
                self.expected -= 1
                if self.is_lazy and self.expected <= 0:
                    self._opened = None

    def _loaded(self, results: ComparisonFile) -> tuple[DataSet, list[Fold]]:
        """Call the callable, once: waiting threads get the same failure."""
        if self._failure is not None:
            raise self._failure
        try:
            opened = self._called()
            if results.path is not None:
                results.add_data(self.name, _fingerprint(opened[0]))
        except Exception as error:
            self._failure = error
            raise
        return opened

    def _called(self) -> tuple[DataSet, list[Fold]]:
        try:
            parts = self._content()
        except Exception as error:
            raise ValueError(f"Data set {self.name!r} cannot be loaded: {one_line(error)}") from error
        try:
            return self._read(parts)
        except ValueError as error:
            raise ValueError(f"Data set {self.name!r}: {error}") from error

    def _read(self, parts: Any) -> tuple[DataSet, list[Fold]]:
        data = _data_set(self.name, parts)
        if isinstance(self._split, RepeatedFolds) and data.weights is not None and not data.weights.all():
            data = _without_uncounted_rows(data, data.weights)
        return data, self._split.split(data.codes)


def _data_set(name: str, parts: Any) -> DataSet:
    if not isinstance(parts, (tuple, list)) or len(parts) not in (2, 3):
        raise ValueError("A data set is a pair (X, y), or (X, y, sample_weight).")
    X, y, weight = (*parts, None) if len(parts) == 2 else parts
    if is_scan(X, y):  # folds are cut in memory
        table, y, weight, _ = scanned_rows(X, y, weight)
        X = table.frame(np.arange(table.n_rows))
    target = as_target(y)
    if target.n_classes < 2:
        raise ValueError(f"The target has only one class ({target.classes.tolist()[0]!r}); at least two are needed.")
    X = as_array(X) if isinstance(X, (list, tuple)) else X
    check_consistent_length(as_table(X), target.codes)
    codes = target.codes.astype(np.int64)
    weights = as_sample_weight(weight, codes.size)
    issue([weights_caution(weights)])
    return DataSet(name, X, codes, np.asarray(target.classes), weights)


def _without_uncounted_rows(data: DataSet, weights: np.ndarray) -> DataSet:
    """Without rows of weight 0, which must not fill a fold, and classes that only such rows have."""
    rows = np.flatnonzero(weights)
    present, codes = np.unique(data.codes[rows], return_inverse=True)
    if present.size < 2:
        raise ValueError(f"The target has only one class ({data.classes[present[0]]!r}) in rows of positive weight.")
    left = weights[rows]
    return DataSet(
        data.name, take_rows(data.X, rows), codes, data.classes[present], None if (left == 1).all() else left
    )


def _fingerprint(data: DataSet) -> str:
    return fingerprint(data.X, data.codes, data.classes, data.weights)
