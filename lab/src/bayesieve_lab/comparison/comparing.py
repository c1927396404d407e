"""Comparison of methods on the same folds; finished results survive an interruption."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from bayesieve.engine import effective_jobs, map_in_abandonable_threads
from bayesieve.engine.progress import SearchProgress, search_progress
from bayesieve.evaluation.splits import moments_of
from bayesieve.table import as_sample_weight, as_table, as_target
from bayesieve.table.arrays import as_array
from bayesieve.table.cautions import issue, weights_caution
from bayesieve.table.frames import is_scan, library_of
from bayesieve.table.scanned import scanned_rows
from bayesieve.version import __version__
from bayesieve_lab.comparison import folds as of_folds
from bayesieve_lab.comparison.results import Comparison, ComparisonFile

_TEN_FOLDS = of_folds.RepeatedFolds()


def compare(
    estimators: Mapping[str, Any],
    X: Any,
    y: Any,
    protocol: Any = _TEN_FOLDS,
    *,
    data_name: str = "data",
    sample_weight: Any = None,
    results: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Comparison:
    """Measure classifiers on the same folds of a table.

    Classifiers that learn from coded rows (`SelectiveNB`) share one coding of each training fold. An estimator that
    fails on a fold is recorded with its error, and the others go on.

    Parameters
    ----------
    estimators : mapping from names to classifiers
        Any scikit-learn classifiers with ``predict_proba``. They get raw rows of ``X`` and labels as a NumPy array.
    X : dataframe or 2-D array, shape (n_rows, n_features)
    y : array-like, shape (n_rows,)
        Class labels.
    protocol : RepeatedFolds, TimeFolds, FixedSplit, splitter or pairs of row positions, default=RepeatedFolds()
        `RepeatedFolds` (number of folds, repeats and seed), `TimeFolds` or ``"time"`` (blocks in the order of time),
        `FixedSplit`, any scikit-learn splitter, or (train, test) pairs. Rows in no test fold are not measured.
    data_name : str, default="data"
        Name of the data set in the results.
    sample_weight : array-like, shape (n_rows,), optional
        Row weights in training and in all measures; `fit` of every estimator must accept them.
    results : path, optional
        JSON-lines file to which every finished fold of a method is appended. Results in the file are not computed
        again: an interrupted run is continued with the same result, and methods or repeats may be added. Results of
        another version of bayesieve are used with a warning.
    n_jobs : int or None, default=None
        Number of folds run in parallel, each method then with one thread; None runs one fold after the other, with the
        threads of the methods. It affects only the measured seconds. With a number, Ctrl-C does not wait for running
        fits.
    verbose : int, default=0
        1 shows progress on the error stream.

    Returns
    -------
    Comparison
        After Ctrl-C, the finished folds, with a warning.

    Raises
    ------
    ValueError
        If an estimator is not a classifier, the table cannot be split, or ``results`` belongs to another comparison.

    Examples
    --------
    >>> from bayesieve_lab import RepeatedFolds, compare
    >>> from bayesieve import SelectiveNB
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> methods = {"selective": SelectiveNB(), "gaussian": GaussianNB()}
    >>> comparison = compare(methods, X, y, RepeatedFolds(n_folds=5))
    >>> comparison.summary()[["method", "n_folds", "accuracy"]].values.tolist()[1]  # of pandas, as X is
    ['gaussian', 5, 0.96]
    """
    data = {data_name: (X, y, sample_weight)}
    return compare_many(estimators, data, protocol, results=results, n_jobs=n_jobs, verbose=verbose)


def compare_many(
    estimators: Mapping[str, Any],
    data: Mapping[str, tuple[Any, ...] | Callable[[], tuple[Any, ...]]],
    protocol: Any = _TEN_FOLDS,
    *,
    results: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Comparison:
    """Compare methods on several data sets.

    Parameters
    ----------
    estimators, protocol, results, n_jobs, verbose : see `compare`.
    data : mapping from names to ``(X, y)``, ``(X, y, sample_weight)``, or callables without arguments that return them
        A callable is called before the first missing fold of its data set, if there is one, and its result is released
        after the last: at most one data set per thread is in memory.

    Raises
    ------
    ValueError
        See `compare`; the message names the data set. If a data set cannot be loaded, the run ends; finished folds
        remain in ``results``.

    Examples
    --------
    >>> from bayesieve import SelectiveNB
    >>> from bayesieve_lab import RepeatedFolds, compare_many
    >>> from sklearn.datasets import load_iris, load_wine
    >>> data = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
    >>> methods = {"map": SelectiveNB("map"), "all": SelectiveNB("all")}
    >>> comparison = compare_many(methods, data, RepeatedFolds(n_folds=3))
    >>> comparison.matrix("auc").shape
    (2, 2)
    """
    of_folds.check_methods(estimators)
    effective_jobs(n_jobs)
    protocol = of_folds.split_of(protocol)
    if not isinstance(data, Mapping) or not data:
        raise ValueError("data must be a mapping from names to (X, y), with at least one of them.")
    file = ComparisonFile(results)
    sources = []
    for name, content in data.items():
        try:
            sources.append(_Source(name, content, protocol, file))
        except ValueError as error:
            raise ValueError(str(error) if len(data) == 1 else f"Data set {name!r}: {error}") from error
    if results is not None:
        fingerprints = {source.name: source.opened[0].fingerprint for source in sources if source.opened is not None}
        methods = {name: of_folds.describe(estimator) for name, estimator in estimators.items()}
        file.go_on({**protocol.settings, "bayesieve": __version__}, fingerprints, methods)
    quiet = {name: of_folds.quiet_clone(estimator, n_jobs) for name, estimator in estimators.items()}
    comparison = Comparison.of(data, estimators, protocol, file.rows, _run(quiet, sources, file, n_jobs, verbose))
    of_rows = (library_of(table[0]) for table in data.values() if not callable(table))
    return replace(comparison, library=next(of_rows, "polars"))


def _run(
    estimators: Mapping[str, Any], sources: Sequence[_Source], file: ComparisonFile, n_jobs: int | None, verbose: int
) -> bool:
    """Run the folds that have no results yet; return False after Ctrl-C, otherwise True.

    ``estimators`` are the methods by name, ``sources`` the data sets, and ``file`` saves the results. For ``n_jobs``
    and ``verbose``, see `compare`.
    """
    jobs: list[tuple[_Source, tuple[int, int], list[str]]] = []
    for source in sources:
        for place in source.places:
            if methods := [m for m in estimators if (source.name, m, *place) not in file.rows]:
                jobs.append((source, place, methods))
                source.n_waiting += 1
    n_wanted = sum(len(methods) for _, _, methods in jobs)
    n_known = sum(len(source.places) for source in sources) * len(estimators) - n_wanted
    if verbose and n_known:
        sys.stderr.write(f"{n_known} of {n_known + n_wanted} folds of methods were already finished.\n")
    stopped, abandoned = threading.Event(), threading.Event()

    def run(job: tuple[_Source, tuple[int, int], list[str]]) -> None:
        """Run all methods of a job (data set, place of the fold, names of methods) and save their results."""
        source, place, methods = job
        if stopped.is_set():
            return
        with source.fold(place) as (data, fold):
            on_fold = of_folds.FoldRun(data, fold)
            for method in methods:
                if stopped.is_set():
                    return
                with standing.at(f"{method} on {source.name}, fold {source.places.index(place) + 1}"):
                    row = on_fold(method, estimators[method])
                if abandoned.is_set():
                    return  # the comparison has ended without it
                file.append(row)
                standing.one_more()

    with search_progress("Comparison: folds of methods", verbose, time_left) as progress:
        standing = _Standing(progress, n_wanted)
        try:
            if n_jobs is None:
                for job in jobs:
                    run(job)
            else:
                map_in_abandonable_threads(run, jobs, n_jobs, stopped, lambda: not standing.running)
        except KeyboardInterrupt:
            left = ", ".join(list(standing.running.values()))
            behind = f"; fits still running in the background ({left}) are not" if left else ""
            done = f"{standing.done} of {n_wanted} folds of methods were finished and are kept"
            warnings.warn(f"Interrupted: {done}{behind}.", UserWarning, stacklevel=3)
            return False
        finally:
            abandoned.set()
    return True


class _Source:
    """A data set of a comparison and its folds.

    Parameters
    ----------
    name : name of the data set.
    content : ``(X, y)``, ``(X, y, sample_weight)``, or a callable without arguments that returns one of these.
        It is called for the first fold, and its result is released after the last of the ``n_waiting`` folds.
    split : object that splits rows into folds.
    file : file of results, which records the hash of the data.

    Raises
    ------
    ValueError
        If the name is not a text, or the content cannot be loaded or split.
    """

    def __init__(self, name: str, content: Any, split: of_folds.Split, file: ComparisonFile) -> None:
        if not isinstance(name, str) or not name:
            raise ValueError(f"Names of data sets must be texts, got {name!r}.")
        self.name = name
        self.n_waiting = 0
        self.places = [(repeat, fold) for repeat in range(split.n_repeats) for fold in range(split.n_folds)]
        self._content, self._split, self._file = content, split, file
        self._lock = threading.Lock()
        self._failure: Exception | None = None
        self.opened = None if callable(content) else self._folds_of(content)

    @contextmanager
    def fold(self, place: tuple[int, int]) -> Iterator[tuple[of_folds.DataSet, of_folds.Fold]]:
        """Yield the data set and its fold at ``place`` (repeat, fold); the data stay in memory during the ``with``
        block.
        """
        with self._lock:
            if self._failure is None and self.opened is None:
                try:
                    self.opened = self._loaded()
                except Exception as error:
                    self._failure = error  # for all threads that wait
            if self._failure is not None:
                raise self._failure
            assert self.opened is not None
            data, folds = self.opened
        try:
            yield data, folds[self.places.index(place)]
        finally:
            with self._lock:
                self.n_waiting -= 1
                if callable(self._content) and self.n_waiting <= 0:
                    self.opened = None

    def _loaded(self) -> tuple[of_folds.DataSet, list[of_folds.Fold]]:
        """Call the content, and return the data set and all its folds.

        A ValueError, which names the data set, is raised if it cannot be loaded or split.
        """
        try:
            parts = self._content()
        except Exception as error:
            raise ValueError(f"Data set {self.name!r} cannot be loaded: {of_folds.one_line(error)}") from error
        try:
            opened = self._folds_of(parts)
        except ValueError as error:
            raise ValueError(f"Data set {self.name!r}: {error}") from error
        if self._file.path is not None:
            self._file.add_data(self.name, opened[0].fingerprint)
        return opened

    def _folds_of(self, parts: Any) -> tuple[of_folds.DataSet, list[of_folds.Fold]]:
        """Check ``parts``, which is ``(X, y)`` or ``(X, y, sample_weight)``; return the data set and all its folds."""
        if not isinstance(parts, (tuple, list)) or len(parts) not in (2, 3):
            raise ValueError(f"A data set must be a pair (X, y), or (X, y, sample_weight), got {type(parts).__name__}.")
        X, y, weight = (*parts, None) if len(parts) == 2 else parts
        if is_scan(X, y):  # folds are cut in memory
            table, y, weight, _ = scanned_rows(X, y, weight)
            X = table.frame(np.arange(table.n_rows))
        target = as_target(y)
        if target.n_classes < 2:
            raise ValueError(
                f"The target has only one class ({target.classes.tolist()[0]!r}); at least two are needed. Check that "
                "y is the right column."
            )
        X = as_array(X) if isinstance(X, (list, tuple)) else X
        order: tuple[np.ndarray, ...] = ()
        if isinstance(self._split, of_folds.TimeFolds) and self._split.time is not None:
            X, moments = moments_of(X, self._split.time)
            order = (moments,)
        check_consistent_length(as_table(X), target.codes, *order)
        weights = as_sample_weight(weight, target.codes.size)
        issue([weights_caution(weights)])
        codes, described = target.codes.astype(np.int64), "".join(map(of_folds.describe, order))
        data = of_folds.DataSet(self.name, X, codes, np.asarray(target.classes), weights, described)
        if isinstance(self._split, of_folds.RepeatedFolds) and weights is not None and not weights.all():
            data = _without_uncounted_rows(data, weights)
        return data, self._split.split(data.codes, *order)


def _without_uncounted_rows(data: of_folds.DataSet, weights: np.ndarray) -> of_folds.DataSet:
    """Return the data set without rows of weight 0, and without classes that have no other rows.

    ``weights`` are its row weights, (n_rows,).
    """
    left = data.take(np.flatnonzero(weights))
    present, codes = np.unique(left.codes, return_inverse=True)
    if present.size < 2:
        raise ValueError(
            f"The target has only one class ({data.classes[present[0]]!r}) in rows of positive weight; give rows of "
            "another class a weight above 0."
        )
    row_weights = as_sample_weight(left.weights, left.n_rows)
    return of_folds.DataSet(data.name, left.X, codes, data.classes[present], row_weights)


class _Standing:
    """Progress of a comparison: number of finished fits, running fits of all threads, and remaining time.

    ``progress`` displays it, unless it is None; ``total`` is the number of fits.
    """

    def __init__(self, progress: SearchProgress | None, total: int) -> None:
        self.done = 0
        self.running: dict[int, str] = {}
        self._progress, self._total = progress, total
        self._began = time.perf_counter()
        self._lock = threading.Lock()

    @contextmanager
    def at(self, fit: str) -> Iterator[None]:
        """Show that a fit, described by a text, is running in this thread during the ``with`` block."""
        me = threading.get_ident()
        with self._lock:
            self.running[me] = fit
            if self._progress is not None:
                self._progress.doing(self._total, "; ".join(self.running.values()))
        try:
            yield
        finally:
            with self._lock:
                del self.running[me]

    def one_more(self) -> None:
        """Count a finished fold of a method."""
        with self._lock:
            self.done += 1
            if self._progress is not None:
                spent = time.perf_counter() - self._began
                self._progress(self.done, self._total, spent / self.done * (self._total - self.done))


def time_left(seconds: float) -> str:
    """Return a remaining time, given in seconds, in words.

    Examples
    --------
    >>> from bayesieve_lab.comparison.comparing import time_left
    >>> time_left(7.2), time_left(600), time_left(12345)
    ('7 s left', '10 min left', '3 h 26 min left')
    """
    if seconds < 99.5:
        return f"{seconds:.0f} s left"
    minutes = round(seconds / 60)
    return f"{minutes} min left" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min left"
