"""Which method is best on a table: all of them on the same folds, with results that outlive an interruption."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length

from bayesieve.engine import effective_jobs
from bayesieve.engine.progress import SearchProgress
from bayesieve.evaluation.comparison_file import ComparisonFile
from bayesieve.evaluation.comparison_result import Comparison
from bayesieve.evaluation.fold_run import DataSet, FoldRun, check_methods
from bayesieve.evaluation.folds import Fold, Protocol
from bayesieve.evaluation.identity import describe, fingerprint
from bayesieve.evaluation.selector_folds import was_interrupted
from bayesieve.table import as_sample_weight, as_table, as_target
from bayesieve.table.frames import as_array

_TEN_FOLDS = Protocol()
_Job = tuple[DataSet, Fold, list[str]]  # the methods still to be run on a fold


def compare(
    estimators: Mapping[str, Any],
    X: Any,
    y: Any,
    protocol: Protocol = _TEN_FOLDS,
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
        Any scikit-learn classifiers with ``predict_proba``. They get raw rows of ``X``, and labels as a NumPy array.
    X : dataframe or 2-D array, shape (n_rows, n_features)
    y : array-like, shape (n_rows,)
        Class labels.
    protocol : Protocol, default=Protocol()
        Folds, repeats and seed.
    data_name : str, default="data"
        Name of the data set in the results.
    sample_weight : array-like, shape (n_rows,), optional
        For training and for all measures; `fit` of every estimator must take it.
    results : path, optional
        JSON-lines file to which every finished fold of a method is added at once. Where it exists, what it holds is
        not run again, so that an interrupted run goes on to the same result; more methods or repeats may be added.
    n_jobs : int or None, default=None
        Folds at the same time, each method then with one thread; None: one after the other, with the methods' own
        threads. Measures do not depend on it; seconds do.
    verbose : int, default=0
        1 shows the progress on the error stream.

    Returns
    -------
    Comparison
        After Ctrl-C with what was finished, and a warning.

    Raises
    ------
    ValueError
        For anything that is no classifier, a table that cannot be split, or results of something else.

    Examples
    --------
    >>> from bayesieve import Protocol, SelectiveNB, compare
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> methods = {"selective": SelectiveNB(), "gaussian": GaussianNB()}
    >>> found = compare(methods, X, y, Protocol(n_folds=5))
    >>> found.summary().select("method", "n_folds", "accuracy").rows()[1]
    ('gaussian', 5, 0.96)
    """
    return compare_many(
        estimators, {data_name: (X, y, sample_weight)}, protocol, results=results, n_jobs=n_jobs, verbose=verbose
    )


def compare_many(
    estimators: Mapping[str, Any],
    data: Mapping[str, tuple[Any, ...]],
    protocol: Protocol = _TEN_FOLDS,
    *,
    results: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Comparison:
    """As `compare`, on several data sets.

    Parameters
    ----------
    estimators, protocol, results, n_jobs, verbose : as in `compare`.
    data : mapping from names to ``(X, y)`` or ``(X, y, sample_weight)``.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        As `compare`; the message names the data set.

    Examples
    --------
    >>> from bayesieve import SelectiveNB
    >>> from bayesieve.evaluation import Protocol, compare_many
    >>> from sklearn.datasets import load_iris, load_wine
    >>> data = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
    >>> found = compare_many({"map": SelectiveNB("map"), "all": SelectiveNB("all")}, data, Protocol(n_folds=3))
    >>> found.matrix("auc").shape
    (2, 2)
    """
    check_methods(estimators)
    effective_jobs(n_jobs)
    if not isinstance(protocol, Protocol):
        raise ValueError(f"protocol must be a Protocol, got {protocol!r}.")
    if not isinstance(data, Mapping) or not data:
        raise ValueError("data must be a mapping from names to (X, y), with at least one of them.")
    sets, folds = {}, {}
    for name, parts in data.items():
        try:
            sets[name] = _data_set(name, parts)
            folds[name] = protocol.split(sets[name].codes)
        except ValueError as error:
            raise ValueError(str(error) if len(data) == 1 else f"Data set {name!r}: {error}") from error
    kept = _results(estimators, sets, protocol, results)
    quiet = {name: _quiet(estimator, n_jobs) for name, estimator in estimators.items()}
    complete = _run(quiet, sets, folds, kept, n_jobs, verbose)
    order = [(name, method, fold.repeat, fold.fold) for name in sets for fold in folds[name] for method in estimators]
    rows = tuple(kept.rows[key] for key in order if key in kept.rows)
    return Comparison(tuple(sets), tuple(estimators), protocol, rows, complete)


def _data_set(name: str, parts: Any) -> DataSet:
    if not isinstance(name, str) or not name:
        raise ValueError(f"Names of data sets must be texts, got {name!r}.")
    if not isinstance(parts, (tuple, list)) or len(parts) not in (2, 3):
        raise ValueError("A data set is a pair (X, y), or (X, y, sample_weight).")
    X, y, weight = (*parts, None) if len(parts) == 2 else parts
    target = as_target(y)
    if target.n_classes < 2:
        raise ValueError(f"The target has one class only ({target.classes.tolist()[0]!r}); it takes two to tell apart.")
    X = as_array(X) if isinstance(X, (list, tuple)) else X
    as_table(X)  # refuses what is no table
    check_consistent_length(X, target.codes)
    codes = target.codes.astype(np.int64)
    return DataSet(name, X, codes, np.asarray(target.classes), as_sample_weight(weight, codes.size))


def _results(
    estimators: Mapping[str, Any], sets: Mapping[str, DataSet], protocol: Protocol, path: Any
) -> ComparisonFile:
    if path is None:
        return ComparisonFile(None, {}, {}, {})
    version = import_module("bayesieve").__version__  # the package itself stands above this one
    tables = {name: fingerprint(one.X, one.codes, one.classes, one.weights) for name, one in sets.items()}
    methods = {name: describe(estimator) for name, estimator in estimators.items()}
    # More repeats leave the first ones as they are: their number is no part of what results depend on.
    settings = {"folds": protocol.n_folds, "seed": protocol.seed, "bayesieve": version}
    return ComparisonFile(path, settings, tables, methods)


def _quiet(estimator: Any, n_jobs: int | None) -> Any:
    """A clone that says nothing, and keeps to one thread, in all its parts, where folds have theirs."""
    copy = clone(estimator)
    one_thread = n_jobs is not None and effective_jobs(n_jobs) > 1
    changes: dict[str, int] = {}
    for name, value in copy.get_params(deep=True).items():
        option = name.rpartition("__")[2]
        if option == "verbose" and value:
            changes[name] = 0
        if option == "n_jobs" and one_thread:
            changes[name] = 1
    return copy.set_params(**changes)


def _run(
    estimators: Mapping[str, Any],
    sets: Mapping[str, DataSet],
    folds: Mapping[str, list[Fold]],
    kept: ComparisonFile,
    n_jobs: int | None,
    verbose: int,
) -> bool:
    """Run what is missing; False when Ctrl-C ended it."""
    jobs: list[_Job] = []
    for name, splits in folds.items():
        for fold in splits:
            missing = [method for method in estimators if (name, method, fold.repeat, fold.fold) not in kept.rows]
            if missing:
                jobs.append((sets[name], fold, missing))
    stopped = threading.Event()
    n_wanted = sum(len(missing) for *_, missing in jobs)
    n_known = sum(map(len, folds.values())) * len(estimators) - n_wanted
    if verbose and n_known:
        sys.stderr.write(f"{n_known} of {n_known + n_wanted} folds of methods were finished before.\n")

    def run(job: _Job) -> None:
        data, fold, missing = job
        on_fold = FoldRun(data, fold)
        for method in missing:
            if stopped.is_set():
                return
            row = on_fold(method, estimators[method], _raise_if_interrupted)
            kept.append(row)
            told.one_more()

    with SearchProgress("Comparison: folds of methods", verbose, "seconds_left") as progress:
        told = _Told(progress, n_wanted)
        try:
            _in_threads(run, jobs, n_jobs, stopped)
        except KeyboardInterrupt:
            warnings.warn(
                f"Interrupted: {told.done} of {n_wanted} folds of methods were finished, and are kept.",
                UserWarning,
                stacklevel=3,
            )
            return False
    return True


def _in_threads(run: Callable[[_Job], None], jobs: list[_Job], n_jobs: int | None, stopped: threading.Event) -> None:
    """Run all jobs; when one cannot go on, or Ctrl-C comes, those that run end after the method they are at."""
    workers = min(effective_jobs(n_jobs), len(jobs))
    if workers <= 1:
        for job in jobs:
            run(job)
        return
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(run, job) for job in jobs]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stopped.set()
            for future in futures:
                future.cancel()
            raise


def _raise_if_interrupted(model: Any) -> None:
    if was_interrupted(model):
        raise KeyboardInterrupt  # the search kept its best so far, but the fold is not finished


class _Told:
    """Counts what is finished, from all threads, and tells how many seconds are left."""

    def __init__(self, progress: Any, total: int) -> None:
        self.done = 0
        self._progress, self._total = progress, total
        self._began = time.perf_counter()
        self._lock = threading.Lock()

    def one_more(self) -> None:
        with self._lock:
            self.done += 1
            if self._progress is not None:
                spent = time.perf_counter() - self._began
                self._progress(self.done, self._total, round(spent / self.done * (self._total - self.done)))
