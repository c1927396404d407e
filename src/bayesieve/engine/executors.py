"""`map_chunks` applies a function to chunks of rows, in this process or by an executor, with results in order.

An executor is a Dask client or any `concurrent.futures.Executor`, whose workers can read rows that are stored
elsewhere. A *chunk* is a small description of rows, such as a file and a range, not the rows themselves. Futures are
used only in this module, and the executor is never shut down.
"""

from __future__ import annotations

import multiprocessing
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from typing import Any, TypeVar

from bayesieve.engine.progress import Clock
from bayesieve.forking import THREADS
from bayesieve.version import __version__

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")

_POLL = 0.1  # seconds between checks of the time limit; an unlimited wait misses Ctrl-C on some platforms
_FEWEST_PENDING = 2  # chunks: one is computed while the results of another one are added
_ROOM = 1 << 30


@dataclass
class Traffic:
    """Number of bytes sent with tasks and received with results."""

    sent: int = 0
    received: int = 0

    def add(self, *, sent: int = 0, received: int = 0) -> None:
        """Add bytes sent to workers and received from them to the totals."""
        self.sent += sent
        self.received += received


def executor_of(engine: Any) -> Executor | None:
    """Return ``engine``, an option of estimators, if it is an executor; None for other values.

    Raises
    ------
    ValueError
        For an asynchronous Dask client.
    """
    if isinstance(engine, Executor):
        return engine
    if not any(
        kind.__module__.startswith("distributed.") and kind.__name__ == "Client" for kind in type(engine).__mro__
    ):
        return None
    if engine.asynchronous:
        raise ValueError("The Dask client is asynchronous; pass Client(..., asynchronous=False) as engine.")
    executor: Executor = engine.get_executor(pure=False)
    return executor


def map_chunks(
    executor: Executor | None,
    function: Callable[[Chunk], Result],
    chunks: Iterable[Chunk],
    *,
    room: int | None = None,
    clock: Clock | None = None,
    traffic: Traffic | None = None,
) -> Generator[Result]:
    """Yield ``function(chunk)`` for each chunk, in the order of the chunks.

    Use the generator within `contextlib.closing`: an error of the caller then cancels pending chunks at once.

    Parameters
    ----------
    executor : Executor or None
        None computes locally, each chunk when its result is requested.
    function : callable
        A function of a module, so that it can be pickled.
    chunks : iterable
        Small objects that can be pickled.
    room : int, optional
        Limit on the bytes of results that wait for their turn; 1 GiB by default. The number of submitted chunks is
        limited accordingly, by the size of the largest result so far.
    clock : Clock, optional
        Time limit; TimeoutError is raised when it is over.
    traffic : Traffic, optional
        Counter to which the bytes sent and received are added.

    Raises
    ------
    RuntimeError
        If a worker is lost, was forked, or has other package versions. Errors of ``function`` are raised unchanged.
    """
    chunks, pending, largest = iter(chunks), deque[Future[bytes]](), 0
    if executor is None:
        for chunk in chunks:
            _check_time(clock)
            yield function(chunk)
        return
    traffic = Traffic() if traffic is None else traffic
    try:
        while True:
            most = max(_FEWEST_PENDING, (room or _ROOM) // largest) if largest else _FEWEST_PENDING
            for chunk in islice(chunks, max(0, most - len(pending))):
                task = pickle.dumps((function, chunk), protocol=5)
                with _lost_workers_in_words():
                    pending.append(executor.submit(run_task, _versions(), task))
                traffic.add(sent=len(task))
            if not pending:
                return
            with _lost_workers_in_words():
                data = _result_of(pending.popleft(), clock)
            traffic.add(received=len(data))
            largest = max(largest, len(data))
            yield pickle.loads(data)
    finally:  # an error, Ctrl-C, the end of the time, or a caller that has enough
        for future in pending:
            future.cancel()


def _result_of(future: Future[bytes], clock: Clock | None) -> bytes:
    """Return the pickled result of a task, and raise TimeoutError if ``clock`` runs out first.

    ``future`` is the running task, which is cancelled if the wait is interrupted.
    """
    try:
        while not wait([future], timeout=_POLL).done:
            _check_time(clock)
        return future.result()
    finally:
        future.cancel()


@contextmanager
def _lost_workers_in_words() -> Iterator[None]:
    """Convert errors about lost workers in the ``with`` block, which differ between executors, into a RuntimeError."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in ("bayesieve", "polars"):
            raise
        raise RuntimeError(
            f"A worker of the executor cannot import {error.name}; install bayesieve {__version__} there."
        ) from error
    except Exception as error:
        # Recognise Dask's error by its name, so that Dask need not be imported.
        if not isinstance(error, (BrokenExecutor, CancelledError)) and type(error).__name__ != "KilledWorker":
            raise
        raise RuntimeError(
            "A worker of the executor ended before its rows were read; see its log. Give the workers more memory; if "
            "the executor spawns processes, call fit only under if __name__ == '__main__'."
        ) from error


def _check_time(clock: Clock | None) -> None:
    """Raise TimeoutError if the time limit of ``clock`` is over."""
    if clock is not None and clock.is_up:
        raise TimeoutError(
            "The time limit max_seconds ended before all rows were read; set a higher one, or fit fewer rows."
        )


def _versions() -> tuple[tuple[str, str], ...]:
    """Return pairs of name and version of the packages that workers must have in the same version."""
    return ("bayesieve", __version__), ("polars", version("polars"))


def run_task(versions: tuple[tuple[str, str], ...], task: bytes) -> bytes:
    """Process one chunk in a worker. ``task`` is the pickled function and chunk; the result is returned pickled.

    ``versions`` are pairs of name and version of packages that the worker must have in this version.

    Raises
    ------
    RuntimeError
        If the worker was forked, so that polars would wait forever, or has other package versions than the caller.
    """
    if THREADS.are_lost or type(multiprocessing.current_process()).__name__ == "ForkProcess":
        raise RuntimeError(
            "The executor forks its workers, in which polars would wait forever; pass "
            'ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")).'
        )
    for (name, wanted), (_, installed) in zip(versions, _versions(), strict=True):
        if installed != wanted:
            raise RuntimeError(
                f"A worker of the executor has {name} {installed}, the caller {wanted}; install {wanted} there."
            )
    function, chunk = pickle.loads(task)
    return pickle.dumps(function(chunk), protocol=5)
