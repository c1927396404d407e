"""Detection of forked processes. The threads of polars do not survive a fork, and computations given to them
never end.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time

_TASKS = "/proc/self/task"
_POLARS_THREADS = ("polars-0", "tokio-rt-worker", "async-executor")
_MOMENT = 0.005  # seconds
FEW_ROWS = 1000
"""Rows of a column up to which polars computes in the calling thread."""


class _Threads:
    """Record of whether this process was forked from one in which threads of polars ran."""

    def __init__(self) -> None:
        self._before_fork = self.are_lost = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._look, after_in_child=self._lose)

    def _look(self) -> None:
        """Store whether threads of polars run in this process; called by the operating system's hook just before a
        fork.
        """
        self._before_fork = self.are_lost or _polars_threads_run()

    def _lose(self) -> None:
        """Store that threads which ran before the fork are lost; called by the hook in the forked process."""
        self.are_lost = self._before_fork


def _polars_threads_run() -> bool:
    """Return whether polars has started threads; it does so with its first parallel computation."""
    if "polars" not in sys.modules:
        return False
    if not os.path.isdir(_TASKS):  # only Linux lists the names of threads
        return True
    names = _names_of_threads()
    if names.count(names[0]) > threading.active_count():  # new threads have the name of the process for a moment
        time.sleep(_MOMENT)
        names = _names_of_threads()
    return any(name.startswith(_POLARS_THREADS) for name in names)


def _names_of_threads() -> list[str]:
    """Return the names that the operating system gives to the threads of this process, the main thread first."""
    names = []
    for task in sorted(os.listdir(_TASKS), key=int):
        # A thread may end between the listing of the folder and the reading of its file.
        with contextlib.suppress(OSError), open(f"{_TASKS}/{task}/comm") as file:
            names.append(file.read())
    return names


THREADS = _Threads()


def refuse_fork() -> None:
    """Raise RuntimeError if this process was forked after polars started threads, because its computations would never
    end.
    """
    if THREADS.are_lost:
        raise RuntimeError(
            "This process was forked after polars had started threads, which a fork loses, so that this call would "
            'never end. Start processes by spawn, as multiprocessing.get_context("spawn") does, or fork before the '
            "first use of bayesieve or polars."
        )
