"""`Engine`: where arrays of a table and of a search live, and in which blocks of rows they are read; in memory;
and threads for work whose heavy parts release the interpreter lock.
"""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache, reduce
from itertools import pairwise
from multiprocessing import TimeoutError
from multiprocessing.pool import IMapIterator, ThreadPool
from numbers import Integral
from operator import add
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from bayesieve.table.levels import TableLevels

_MOST_ROWS_AT_ONCE, _MOST_NUMBERS_AT_ONCE = 1 << 14, 1 << 17  # summed over in one go, whatever the threads
GRAIN = 512
"""Rows that the kernels work on at once. Blocks end at multiples of it, counted from the start of a segment, so that
sums are taken in the same order however rows are cut."""

_POLL = 0.1  # seconds
_PATIENCE = 1.0  # seconds a running call may take to end after an error or Ctrl-C before it is abandoned
_AHEAD_WORK = 20_000  # rows evaluated ahead before waste outweighs the calls saved

Item = TypeVar("Item")
Result = TypeVar("Result")
State = TypeVar("State")
Total = TypeVar("Total", float, np.ndarray)

OF_CODES = "cautions"
"""Key of the `Engine.note` that belongs to the codes of a table."""


class Engine(ABC):
    """Where the codes of rows and the numbers of a search live, and in which blocks of rows they are read.

    Kernels read and write whole arrays, one block of rows after another, and add to the same sums: results do not
    depend on the engine nor on its blocks, to the last bit.

    Attributes
    ----------
    is_remote : whether rows live in other processes, so that questions are asked of many candidates at once.
    keeps_notes : whether `note` keeps anything.
    most_state_bytes : what the states of searches that run at the same time may take together.
    reading_bytes : what the values of scanned columns may take while they are counted, and blocks of rows as much.
    """

    is_remote: ClassVar[bool] = False
    keeps_notes: bool = False
    most_state_bytes: ClassVar[int] = 512 << 20
    reading_bytes: int | None = None

    @abstractmethod
    def array(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """A C-contiguous array to be filled; its last axis are rows."""

    def ends(self, offsets: np.ndarray) -> np.ndarray:
        """Where blocks end: ascending rows, the last of which is ``offsets[-1]``. Unless overridden, one block.

        ``offsets`` (n_segments + 1,) is the start of each segment of rows. A block may end inside a segment; `blocks`
        moves its end down to a multiple of `GRAIN` from the start of that segment.
        """
        return offsets[-1:]

    def visited(self, n_bytes: int) -> None:  # noqa: B027  # most engines keep everything at hand
        """Note that ``n_bytes`` of the arrays were read or written; the engine may let them go from memory."""

    def blocks(self, offsets: np.ndarray, row_bytes: int = 0) -> Iterable[np.ndarray]:
        """The same segments, cut to the rows of each block in turn.

        Parameters
        ----------
        offsets : (n_segments + 1,) where segments of rows start
        row_bytes : bytes of each row that the caller reads or writes

        Yields
        ------
        (n_segments + 1,) offsets of a block; segments without rows in it are empty.
        """
        ends = self.ends(offsets)
        return (offsets,) if len(ends) <= 1 else self._walk(offsets, ends, row_bytes)

    def _walk(self, offsets: np.ndarray, ends: np.ndarray, row_bytes: int) -> Iterator[np.ndarray]:
        first = offsets[np.searchsorted(offsets, ends, side="right") - 1]  # of the segment that each block ends in
        ends = np.unique(np.append(first[:-1] + (ends[:-1] - first[:-1]) // GRAIN * GRAIN, offsets[[0, -1]]))
        for begin, end in pairwise(ends.tolist()):
            yield np.clip(offsets, begin, end)
            self.visited((end - begin) * row_bytes)

    def take(self, array: np.ndarray, rows: Any) -> np.ndarray:
        """Some rows of an array, (n, n_rows): positions, in any order."""
        taken = self.array((len(array), len(rows)), array.dtype)
        for from_, to in zip(array, taken, strict=True):
            to[:] = from_[rows]
            self.visited(from_.nbytes + to.nbytes)
        return taken

    def note(self, key: str, state: bytes) -> None:  # noqa: B027  # most engines end with the process
        """Keep what a search has come to, for one that goes on after this process was ended.

        What is noted as `OF_CODES` stays as long as the codes that `remembered` keeps.
        """

    def noted(self, key: str) -> bytes | None:
        """The last `note` with this key; or None."""
        return None

    def remembered(
        self, facts: Callable[[], Iterable[Any]], make: Callable[[], tuple[TableLevels, np.ndarray]]
    ) -> tuple[TableLevels, np.ndarray]:
        """The levels and codes of ``make()``, or those kept by the engine for the same ``facts``."""
        return make()

    def parts(self, start: Callable[..., State], blocks: Sequence[Any], *arguments: Any) -> Parts[State]:
        """Parts of rows, each with its state ``start(block, *arguments)``, which never meets the others."""
        return Parts(start(block, *arguments) for block in blocks)

    def ahead(self, n_rows: int) -> int:
        """How many moves a walk on ``n_rows`` rows evaluates, at least, before it makes the first that pays."""
        return max(1, min(256, _AHEAD_WORK // max(1, n_rows)))

    @contextmanager
    def together(self, n_walks: int) -> Iterator[Callable[[], None]]:
        """Let walks in ``n_walks`` threads share their questions; each calls the function returned when it ends."""
        yield lambda: None


class Parts(Generic[State]):
    """Parts of rows that searches only *reduce* a function over, or *update*.

    An engine whose rows are in other processes has the same two methods. Sums are taken in the order of the parts, so
    that results are reproducible.
    """

    def __init__(self, states: Iterable[State]) -> None:
        self.states = tuple(states)

    def reduce(self, function: Callable[..., Total], *arguments: Any) -> Total:
        """Sum of ``function(state, *arguments)`` over the parts."""
        total: Total = reduce(add, self._each(function, *arguments))
        return total

    def _each(self, function: Callable[..., Total], *arguments: Any) -> Iterable[Total]:
        """The terms of the sum, in the order of the parts."""
        return (function(state, *arguments) for state in self.states)

    def update(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call ``function(state, *arguments)`` for its effect on the state of each part."""
        for state in self.states:
            function(state, *arguments)


class InMemory(Engine):
    """Rows in memory, in one block unless ``block_rows`` are given.

    Parameters
    ----------
    block_rows : int or None, default=None
        Rows of a block.
    """

    def __init__(self, block_rows: int | None = None) -> None:
        self.block_rows = block_rows

    def array(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return np.empty(shape, dtype)

    def ends(self, offsets: np.ndarray) -> np.ndarray:
        if self.block_rows is None:
            return offsets[-1:]
        return np.append(np.arange(offsets[0] + self.block_rows, offsets[-1], self.block_rows), offsets[-1])

    def take(self, array: np.ndarray, rows: Any) -> np.ndarray:
        return np.take(array, rows, axis=1)


IN_MEMORY = InMemory()
"""The engine of tables that were given none."""


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


def row_slices(n_rows: int, n_numbers: int) -> list[slice]:
    """Slices of rows, for sums that do not depend on the number of threads; ``n_numbers`` : of each row."""
    size = max(1, min(_MOST_ROWS_AT_ONCE, _MOST_NUMBERS_AT_ONCE // n_numbers))
    return [slice(at, min(at + size, n_rows)) for at in range(0, max(1, n_rows), size)]


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
