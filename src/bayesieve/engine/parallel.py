"""Threads for work whose heavy parts release the interpreter lock."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from numbers import Integral
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")
_POLL = 0.1  # seconds


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
    """Within it, products of matrices run in the calling thread: their sums come in one order, and threads that wait
    for the next product take no processor.
    """
    return _linear_algebra().limit(limits=1)


@cache
def _linear_algebra() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  it brings a library of its own, which the controller must find

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


def in_abandonable_threads(
    function: Callable[[Item], None], items: Iterable[Item], n_jobs: int, stopped: threading.Event, patience: float
) -> None:
    """Call ``function`` for every item in threads that an error or Ctrl-C can abandon.

    An error or Ctrl-C sets ``stopped`` and waits ``patience`` seconds for running calls; calls that still run then
    continue in the background and end with the process.
    """
    waiting: SimpleQueue[Item] = SimpleQueue()
    ended: SimpleQueue[BaseException | None] = SimpleQueue()
    n_items = 0
    for item in items:
        waiting.put(item)
        n_items += 1

    def work() -> None:
        while not stopped.is_set():
            try:
                item = waiting.get_nowait()
            except Empty:
                return
            try:
                function(item)
                ended.put(None)
            except BaseException as error:
                ended.put(error)

    workers = min(effective_jobs(n_jobs), n_items)
    threads = [threading.Thread(target=work, name=f"abandonable {i}", daemon=True) for i in range(workers)]
    try:
        for thread in threads:
            thread.start()
        while n_items:
            try:  # an endless wait misses Ctrl-C once a library (polars) has installed its own signal handler
                error = ended.get(timeout=_POLL)
            except Empty:
                continue
            if error is not None:
                raise error
            n_items -= 1
    except BaseException:
        stopped.set()
        deadline = time.perf_counter() + patience
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.perf_counter()))
        raise
