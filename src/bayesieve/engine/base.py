"""`Engine`, which stores the arrays of a fit and divides rows into blocks, and functions that run work in threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from itertools import pairwise
from multiprocessing import TimeoutError
from multiprocessing.pool import IMapIterator, ThreadPool
from numbers import Integral
from typing import Any, ClassVar, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

GRAIN = 512
"""Number of rows that kernels process at once. Blocks end at multiples of it, counted from the start of a segment, so
that the order of sums does not depend on the blocks.
"""

_BATCHES_OF_THREAD = 32  # batches of items for each thread; more of them balance better and cost more
_POLL = 0.1  # seconds
_PATIENCE = 1.0  # seconds a running call may take to end after an error or Ctrl-C before it is abandoned

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine:
    """Storage of the codes of a table and the arrays of a search, in memory; the subclass `Mapped` stores them in
    files.

    Rows are processed in blocks, which limits the memory in use. Sums over rows are accumulated in an order that does
    not depend on the engine or its blocks, so all engines give the same results to the last bit.

    Parameters
    ----------
    block_rows : int or None, default=None
        Largest number of rows in a block; None for a single block of all rows.

    Attributes
    ----------
    most_state_bytes : limit on the total size in bytes of the states of searches that run at the same time.
    reading_bytes : limit on the size in bytes of the distinct values of a scanned table while they are counted, and of
        the blocks of rows that are read; None for no limit.
    """

    most_state_bytes: ClassVar[int] = 512 << 20
    reading_bytes: int | None = None

    def __init__(self, block_rows: int | None = None) -> None:
        self.block_rows = block_rows

    def array(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return a new uninitialised C-contiguous array; by convention, its last axis is that of the rows."""
        return np.empty(shape, dtype)

    def release(self, n_bytes: int) -> None:
        """Do nothing; the engine `Mapped` overrides this to drop pages from memory after ``n_bytes`` of arrays were
        read or written.
        """

    def blocks(self, offsets: np.ndarray, row_bytes: int = 0) -> Iterable[np.ndarray]:
        """Divide rows into blocks, and yield the offsets of each block.

        Rows form contiguous segments, such as one per class. If a block ends inside a segment, its end is moved down to
        a multiple of `GRAIN` rows from the start of the segment, so that kernels that add rows in groups of `GRAIN` get
        the same sums for any blocks.

        Parameters
        ----------
        offsets : (n_segments + 1,) first row of each segment, and the end of the last one
        row_bytes : number of bytes per row that the caller reads or writes

        Yields
        ------
        Array of shape (n_segments + 1,): offsets of the part of each segment in the block, empty for other segments.
        """
        if self.block_rows is None or offsets[-1] - offsets[0] <= self.block_rows:
            return (offsets,)
        return self._cut(offsets, np.arange(offsets[0] + self.block_rows, offsets[-1], self.block_rows), row_bytes)

    def _cut(self, offsets: np.ndarray, ends: np.ndarray, row_bytes: int) -> Iterator[np.ndarray]:
        """Yield the offsets (n_segments + 1,) of blocks that end near the rows ``ends`` (ascending), and at the last
        row.

        ``offsets`` (n_segments + 1,) are those of all rows, see `blocks`; ``row_bytes`` is the memory per row.
        """
        first = offsets[np.searchsorted(offsets, ends, side="right") - 1]  # of the segment that each block ends in
        bounds = np.unique(np.append(first + (ends - first) // GRAIN * GRAIN, offsets[[0, -1]]))
        for begin, end in pairwise(bounds.tolist()):
            yield np.clip(offsets, begin, end)
            self.release((end - begin) * row_bytes)

    def take(self, array: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the columns ``rows`` (positions in any order) of an array (n, n_rows) as a new array (n, n_taken)."""
        return np.take(array, rows, axis=1)


IN_MEMORY = Engine()
"""Default engine of tables, which keeps all arrays in memory."""


def effective_jobs(n_jobs: int | None) -> int:
    """Return the number of threads for scikit-learn's ``n_jobs``.

    None means 1, -1 all cores that this process may use, and -2 all but one.
    """
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be a positive number of threads, -1 for all cores, or None for one, got {n_jobs!r}."
        )
    return int(n_jobs) if n_jobs > 0 else max(1, available + 1 + int(n_jobs))


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread: sums are reproducible, and idle threads do not occupy cores."""
    return _linear_algebra().limit(limits=1)


@cache
def _linear_algebra() -> ThreadpoolController:
    """Return the controller of the threads of the loaded BLAS libraries."""
    import scipy.linalg  # noqa: F401  it brings a library, which the controller must find

    return ThreadpoolController()


def map_in_threads(function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None) -> list[Result]:
    """Call ``function`` for every item in up to ``n_jobs`` threads, and return the results in order."""
    items = list(items)
    workers = 1 if n_jobs is None or len(items) < 2 else min(effective_jobs(n_jobs), len(items))
    if workers <= 1:
        return [function(item) for item in items]
    # Threads take batches of items: for 10,000 columns, starting one task per column takes longer than the work itself.
    n_at_once = max(1, len(items) // (_BATCHES_OF_THREAD * workers))
    batches = [items[first : first + n_at_once] for first in range(0, len(items), n_at_once)]
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(lambda batch: [function(item) for item in batch], batch) for batch in batches]
        try:
            return [result for future in futures for result in future.result()]
        except BaseException:
            # After an error or Ctrl-C, the results of queued items are not needed.
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
    """Call ``function`` for every item in up to ``n_jobs`` threads; an error or Ctrl-C does not wait long for them to
    end.

    After an error or Ctrl-C, ``stopped`` is set, and ``function`` should return soon. This call then waits up to a
    second until ``is_idle()``. Threads that still run continue in the background and end with the process.
    """

    def attempt(item: Item) -> BaseException | None:
        """Call the function for an item; return the error that it raises, or None."""
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
    """Return the next result of a pool, waiting in short steps.

    An unlimited wait would miss Ctrl-C if polars has installed a signal handler.
    """
    while True:
        try:
            return results.next(_POLL)
        except TimeoutError:
            continue
