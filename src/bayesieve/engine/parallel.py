"""Threads for work whose heavy parts release the interpreter lock."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from multiprocessing import TimeoutError
from multiprocessing.pool import IMapIterator, ThreadPool
from numbers import Integral
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")
_POLL = 0.1  # seconds
_PATIENCE = 1.0  # seconds a running call may take to end after an error or Ctrl-C before it is abandoned


def effective_jobs(n_jobs: int | None) -> int:
    """Number of threads for scikit-learn's ``n_jobs``: None is 1, -1 all cores this process may use, -2 all but one."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be a positive number of threads, -1 for all cores, or None for one, got {n_jobs!r}."
        )
    return int(n_jobs) if n_jobs > 0 else max(1, available + 1 + int(n_jobs))


def one_blas_thread() -> AbstractContextManager[Any]:
    """Run BLAS single-threaded: reproducible sums, no spinning threads."""
    return _linear_algebra().limit(limits=1)


@cache
def _linear_algebra() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  it brings a library, which the controller must find

    return ThreadpoolController()


def map_in_threads(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None) -> list[Result]:
    """Results of ``function`` for every item, in order, computed by up to ``n_jobs`` threads."""
    items = list(items)
    workers = min(effective_jobs(n_jobs), len(items))
    if workers <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(function, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            # An error or Ctrl-C must not wait for a queue of columns that nobody wants any more.
            for future in futures:
                future.cancel()
            raise


def map_in_abandonable_threads(
    function: Callable[[Item], None],
    items: Sequence[Item],
    n_jobs: int,
    stopped: threading.Event,
    is_idle: Callable[[], bool],
) -> None:
    """Call ``function`` for every item in threads that an error or Ctrl-C can abandon.

    An error or Ctrl-C sets ``stopped``, upon which ``function`` should return, and waits up to a second for
    ``is_idle``; calls that still run then continue in the background and end with the process.
    """

    def attempt(item: Item) -> BaseException | None:
        try:
            function(item)
        except BaseException as error:  # a KeyboardInterrupt would end the thread, and the pool would wait for ever
            return error
        return None

    with ThreadPool(min(effective_jobs(n_jobs), len(items)) or 1) as pool:  # ended without waiting for its threads
        ended = pool.imap_unordered(attempt, items)
        try:
            for _ in items:
                if (error := _polled(ended)) is not None:
                    raise error
        except BaseException:
            stopped.set()
            deadline = time.perf_counter() + _PATIENCE
            while time.perf_counter() < deadline and not is_idle():
                time.sleep(_POLL / 10)
            raise


def _polled(results: IMapIterator[Result]) -> Result:
    """The next result; an endless wait misses Ctrl-C once a library (polars) has installed its own signal handler."""
    while True:
        try:
            return results.next(_POLL)
        except TimeoutError:
            continue
