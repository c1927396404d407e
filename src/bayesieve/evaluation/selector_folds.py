"""A selector on the training rows of every fold."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesieve.engine import effective_jobs, map_in_threads
from bayesieve.engine.progress import SearchProgress
from bayesieve.table.cautions import silenced
from bayesieve.table.frames import take_rows


@dataclass(frozen=True)
class SelectorFold:
    """Selection from the training rows of one fold."""

    names: tuple[str, ...]
    weights: np.ndarray
    trace: Any
    seconds: float
    n_rows: int


def run_folds(
    selector: Any,
    X: Any,
    labels: np.ndarray,
    weights: np.ndarray | None,
    groups: Any,
    folds: list[np.ndarray],
    n_jobs: int | None,
) -> tuple[list[SelectorFold], bool]:
    """The finished folds, in order, and whether these are all."""
    verbose = int(getattr(selector, "verbose", 0) or 0)
    quiet = quiet_clone(selector, n_jobs)
    finished: dict[int, SelectorFold] = {}

    def run(position: int) -> None:
        rows = folds[position]
        began = time.perf_counter()
        model = clone(quiet)
        options = {} if weights is None else {"sample_weight": weights[rows]}
        if groups is not None and _takes_groups(model):
            options["groups"] = np.asarray(groups)[rows]
        try:
            with silenced():
                model.fit(take_rows(X, rows), labels[rows], **options)
        except ValueError as error:
            raise ValueError(f"Fold {position + 1} of {len(folds)}: {error}") from error
        if was_interrupted(model):
            raise KeyboardInterrupt  # the search returned its best subset so far, but the fold is not finished
        fold = SelectorFold(*_selection(model), time.perf_counter() - began, rows.size)
        finished[position] = fold
        if progress is not None:
            progress(len(finished), len(folds), int((fold.weights > 0).sum()))

    complete = True
    what = f"{type(selector).__name__}: folds"
    with SearchProgress(what, verbose, "features selected") as progress, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The search was interrupted", category=UserWarning)
        try:
            map_in_threads(run, range(len(folds)), n_jobs)
        except KeyboardInterrupt:
            if not finished:
                raise
            complete = False
    if not complete:
        message = f"Interrupted: {len(finished)} of {len(folds)} folds were finished and are kept."
        warnings.warn(message, UserWarning, stacklevel=3)
    return [finished[position] for position in sorted(finished)], complete


def quiet_clone(estimator: Any, n_jobs: int | None) -> Any:
    """A clone that prints nothing in any part, and uses one thread if folds run in parallel."""
    copy = clone(estimator)
    one_thread = n_jobs is not None and effective_jobs(n_jobs) > 1
    changes: dict[str, int] = {}
    for name, value in copy.get_params(deep=True).items():
        option = name.rpartition("__")[2]
        if option == "verbose" and value:
            changes[name] = 0
        if option == "n_jobs" and one_thread and value is not None:  # None is one thread already
            changes[name] = 1
    return copy.set_params(**changes)


def _takes_groups(model: Any) -> bool:
    return "groups" in inspect.signature(model.fit).parameters and getattr(model, "takes_groups", True)


def was_interrupted(model: Any) -> bool:
    trace = getattr(model, "trace_", None)
    if trace is None:
        return False
    limits = [getattr(part, "max_seconds", None) for part in (model, getattr(model, "selector_", None))]
    limit = min((limit for limit in limits if limit is not None), default=None)
    return bool(trace.was_interrupted(limit))


def _selection(model: Any) -> tuple[tuple[str, ...], np.ndarray, Any]:
    """Names and weights of all features, and the trace if there is one."""
    weights = getattr(model, "weights_", getattr(model, "feature_weights_", None))
    if weights is None:
        if not hasattr(model, "get_support"):
            raise ValueError(f"{type(model).__name__} has no weights_ and no get_support: it selects no features.")
        weights = model.get_support()
    weights = np.asarray(weights, dtype=float)
    trace, encoder = getattr(model, "trace_", None), getattr(model, "encoder_", None)
    if trace is not None:
        names: Iterable[Any] = trace.names
    elif encoder is not None:
        names = (level.name for level in encoder.levels_)
    else:
        names = getattr(model, "feature_names_in_", [f"x{k}" for k in range(weights.size)])
    return tuple(map(str, names)), weights, trace
