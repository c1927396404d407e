"""Comparison of methods on the same folds; finished results survive an interruption."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from bayesieve.engine import effective_jobs, in_abandonable_threads
from bayesieve.engine.progress import SearchProgress
from bayesieve.evaluation.comparison_file import ComparisonFile
from bayesieve.evaluation.comparison_result import Comparison
from bayesieve.evaluation.data_source import DataSource
from bayesieve.evaluation.fold_run import FoldRun, check_methods
from bayesieve.evaluation.folds import FixedSplit, RepeatedFolds, Split
from bayesieve.evaluation.identity import describe
from bayesieve.evaluation.selector_folds import quiet_clone, was_interrupted

_TEN_FOLDS = RepeatedFolds()
_PATIENCE = 1.0  # seconds a running fit may take to end after Ctrl-C before it is abandoned
_Job = tuple[DataSource, tuple[int, int], list[str]]  # methods still to run on a fold


def compare(
    estimators: Mapping[str, Any],
    X: Any,
    y: Any,
    protocol: Split = _TEN_FOLDS,
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
    protocol : RepeatedFolds or FixedSplit, default=RepeatedFolds()
        Number of folds, repeats and seed; or a fixed split.
    data_name : str, default="data"
        Name of the data set in the results.
    sample_weight : array-like, shape (n_rows,), optional
        Used in training and in all measures; `fit` of every estimator must accept it.
    results : path, optional
        JSON-lines file to which every finished fold of a method is appended. Results already in the file are not
        computed again: an interrupted run continues to the same result, and methods or repeats may be added.
    n_jobs : int or None, default=None
        Number of folds run in parallel, each method then with one thread; None runs one fold after the other, with the
        methods' own threads. Affects seconds only. With a number, Ctrl-C does not wait for running fits.
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
    >>> from bayesieve import RepeatedFolds, SelectiveNB, compare
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> methods = {"selective": SelectiveNB(), "gaussian": GaussianNB()}
    >>> comparison = compare(methods, X, y, RepeatedFolds(n_folds=5))
    >>> comparison.summary().select("method", "n_folds", "accuracy").rows()[1]
    ('gaussian', 5, 0.96)
    """
    return compare_many(
        estimators, {data_name: (X, y, sample_weight)}, protocol, results=results, n_jobs=n_jobs, verbose=verbose
    )


def compare_many(
    estimators: Mapping[str, Any],
    data: Mapping[str, tuple[Any, ...] | Callable[[], tuple[Any, ...]]],
    protocol: Split = _TEN_FOLDS,
    *,
    results: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Comparison:
    """As `compare`, on several data sets.

    Parameters
    ----------
    estimators, protocol, results, n_jobs, verbose : as in `compare`.
    data : mapping from names to ``(X, y)``, ``(X, y, sample_weight)``, or callables without arguments that return them
        A callable is called before the first missing fold of its data set, if there is one, and its result is released
        after the last: at most one data set per thread is in memory.

    Raises
    ------
    ValueError
        As `compare`; the message names the data set. If a data set cannot be loaded, the run ends; finished folds stay
        in ``results``.

    Examples
    --------
    >>> from bayesieve import SelectiveNB
    >>> from bayesieve.evaluation import RepeatedFolds, compare_many
    >>> from sklearn.datasets import load_iris, load_wine
    >>> data = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
    >>> methods = {"map": SelectiveNB("map"), "all": SelectiveNB("all")}
    >>> comparison = compare_many(methods, data, RepeatedFolds(n_folds=3))
    >>> comparison.matrix("auc").shape
    (2, 2)
    """
    check_methods(estimators)
    effective_jobs(n_jobs)
    if not isinstance(protocol, (RepeatedFolds, FixedSplit)):
        raise ValueError(f"protocol must be a RepeatedFolds or a FixedSplit, got {protocol!r}.")
    if not isinstance(data, Mapping) or not data:
        raise ValueError("data must be a mapping from names to (X, y), with at least one of them.")
    sources = []
    for name, content in data.items():
        try:
            sources.append(DataSource(name, content, protocol))
        except ValueError as error:
            raise ValueError(str(error) if len(data) == 1 else f"Data set {name!r}: {error}") from error
    finished = _results(estimators, sources, protocol, results)
    quiet = {name: quiet_clone(estimator, n_jobs) for name, estimator in estimators.items()}
    complete = _run(quiet, sources, finished, n_jobs, verbose)
    return Comparison.of(data, estimators, protocol, finished.rows, complete)


def _results(estimators: Mapping[str, Any], sources: Sequence[DataSource], split: Split, path: Any) -> ComparisonFile:
    from bayesieve.version import __version__

    if path is None:
        return ComparisonFile(None, {}, {}, {})
    tables = {source.name: source.fingerprint for source in sources if not source.is_lazy}
    methods = {name: describe(estimator) for name, estimator in estimators.items()}
    return ComparisonFile(path, {**split.settings, "bayesieve": __version__}, tables, methods)


def _run(
    estimators: Mapping[str, Any],
    sources: Sequence[DataSource],
    finished: ComparisonFile,
    n_jobs: int | None,
    verbose: int,
) -> bool:
    """Run the missing folds; False if Ctrl-C ended the run."""
    jobs: list[_Job] = []
    for source in sources:
        missing = {
            place: [m for m in estimators if (source.name, m, *place) not in finished.rows] for place in source.places
        }
        jobs += [(source, place, methods) for place, methods in missing.items() if methods]
        source.expected = sum(map(bool, missing.values()))
    n_wanted = sum(len(missing) for *_, missing in jobs)
    n_known = sum(len(source.places) for source in sources) * len(estimators) - n_wanted
    if verbose and n_known:
        sys.stderr.write(f"{n_known} of {n_known + n_wanted} folds of methods were already finished.\n")
    stopped, abandoned = threading.Event(), threading.Event()

    def run(job: _Job) -> None:
        source, place, missing = job
        with source.fold(place, finished) as (data, fold):
            on_fold = FoldRun(data, fold)
            for method in missing:
                if stopped.is_set():
                    return
                with standing.at(f"{method} on {source.name}, fold {source.places.index(place) + 1}"):
                    row = on_fold(method, estimators[method], _raise_if_interrupted)
                if abandoned.is_set():
                    return  # the comparison has ended without it
                finished.append(row)
                standing.one_more()

    progress = SearchProgress("Comparison: folds of methods", verbose, time_left)
    with progress:
        standing = _Standing(progress if verbose else None, n_wanted)
        try:
            if n_jobs is None:
                for job in jobs:
                    run(job)
            else:
                in_abandonable_threads(run, jobs, n_jobs, stopped, _PATIENCE)
        except KeyboardInterrupt:
            left = standing.running()
            behind = f"; fits still running in the background ({', '.join(left)}) are not" if left else ""
            warnings.warn(
                f"Interrupted: {standing.done} of {n_wanted} folds of methods were finished and are kept{behind}.",
                UserWarning,
                stacklevel=3,
            )
            return False
        finally:
            abandoned.set()
    return True


def _raise_if_interrupted(model: Any) -> None:
    if was_interrupted(model):
        raise KeyboardInterrupt  # the search returned its best subset so far, but the fold is not finished


class _Standing:
    """Finished and running fits of all threads, shown with the remaining time at the current pace."""

    def __init__(self, progress: SearchProgress | None, total: int) -> None:
        self.done = 0
        self._progress, self._total = progress, total
        self._began = time.perf_counter()
        self._lock = threading.Lock()
        self._running: dict[int, str] = {}

    @contextmanager
    def at(self, fit: str) -> Iterator[None]:
        """Show a fit as running in this thread while the block runs."""
        me = threading.get_ident()
        with self._lock:
            self._running[me] = fit
            if self._progress is not None:
                self._progress.doing(self._total, "; ".join(self._running.values()))
        try:
            yield
        finally:
            with self._lock:
                del self._running[me]

    def running(self) -> list[str]:
        with self._lock:
            return list(self._running.values())

    def one_more(self) -> None:
        """Count a finished fold of a method."""
        with self._lock:
            self.done += 1
            if self._progress is not None:
                spent = time.perf_counter() - self._began
                self._progress(self.done, self._total, spent / self.done * (self._total - self.done))


def time_left(seconds: float) -> str:
    """A duration in words.

    Examples
    --------
    >>> from bayesieve.evaluation.comparison import time_left
    >>> time_left(7.2), time_left(600), time_left(12345)
    ('7 s left', '10 min left', '3 h 26 min left')
    """
    if seconds < 99.5:
        return f"{seconds:.0f} s left"
    minutes = round(seconds / 60)
    return f"{minutes} min left" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min left"
