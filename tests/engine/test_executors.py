"""`map_chunks`: results in order, a bounded number of tasks, one sentence where a worker cannot go on."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from bayesieve import forking
from bayesieve.engine import executors
from bayesieve.engine.executors import Traffic, executor_of, map_chunks, run_task
from bayesieve.engine.progress import Clock


class Lazy(Executor):
    """Computes the first tasks soon, the others never, and keeps all futures."""

    def __init__(self, n_computed: float = float("inf")) -> None:
        self.futures: list[Future[Any]] = []
        self.n_computed = n_computed
        self.is_shut_down = False

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.futures.append(future)
        if len(self.futures) <= self.n_computed:
            threading.Timer(0.002, self._run, (future, fn, args)).start()
        return future

    def _run(self, future: Future[Any], fn: Any, args: Any) -> None:
        try:
            future.set_result(fn(*args))
        except BaseException as error:
            future.set_exception(error)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.is_shut_down = True


def text_of(chunk: int) -> bytes:
    return bytes([chunk]) * 1000


def late(chunk: int) -> int:
    time.sleep(0.02 * (5 - chunk))
    return chunk


def fails(chunk: int, at: int) -> int:
    if chunk == at:
        raise ValueError(f"column {chunk}")
    return chunk


def dies(chunk: int) -> None:
    os._exit(3)


@pytest.mark.parametrize("executor", [None, ThreadPoolExecutor(4)], ids=["here", "threads"])
def test_results_come_in_the_order_of_the_chunks(executor: Executor | None) -> None:
    assert list(map_chunks(executor, late, range(5))) == [0, 1, 2, 3, 4]
    results: Iterator[int] = map_chunks(executor, partial(fails, at=2), range(5))
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ValueError, match="column 2"):
        next(results)


def test_the_largest_result_bounds_how_many_chunks_are_submitted() -> None:
    lazy, traffic = Lazy(), Traffic()
    most = []
    for number, _ in enumerate(map_chunks(lazy, text_of, range(30), room=5000, traffic=traffic), 1):
        most.append(len(lazy.futures) - number)
    assert max(most) <= 4
    assert most[5] >= 3
    assert len(lazy.futures) == 30
    assert traffic.received > 30_000
    assert traffic.sent > 30 * 20
    assert not lazy.is_shut_down


def interrupted_after(n_results: int, results: Any) -> None:
    with closing(results):
        for number, _ in enumerate(results, 1):
            if number == n_results:
                raise KeyboardInterrupt


def test_what_is_pending_is_cancelled_when_the_caller_stops() -> None:
    executors = [Lazy(n_computed=3), Lazy(n_computed=0)]
    with pytest.raises(KeyboardInterrupt):
        interrupted_after(3, map_chunks(executors[0], text_of, range(99), room=9000))
    with pytest.raises(TimeoutError, match="max_seconds ended"):
        list(map_chunks(executors[1], text_of, range(99), clock=Clock(0.0)))
    for executor in executors:
        assert len(executor.futures) < 12
        assert all(future.cancelled() for future in executor.futures[int(executor.n_computed) :])
        assert not executor.is_shut_down


def test_a_short_time_ends_the_work_here_too() -> None:
    with pytest.raises(TimeoutError, match="max_seconds ended before all rows were read; set a higher one"):
        list(map_chunks(None, text_of, range(3), clock=Clock(0.0)))


def test_forked_workers_and_other_versions_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    task = pickle.dumps((text_of, 1))
    with pytest.raises(
        RuntimeError, match=r"A worker of the executor has polars .*, the caller 0\.1; install 0\.1 there"
    ):
        run_task((executors._versions()[0], ("polars", "0.1")), task)
    if "fork" in multiprocessing.get_all_start_methods():
        forks = multiprocessing.get_context("fork")
        with (
            ProcessPoolExecutor(1, forks) as pool,
            pytest.raises(RuntimeError, match="forks its workers, in which"),
        ):
            list(map_chunks(pool, text_of, range(3)))
    monkeypatch.setattr(forking.THREADS, "are_lost", True)  # forked in any other way
    with pytest.raises(RuntimeError, match="forks its workers"):
        run_task(executors._versions(), task)


@pytest.mark.slow
def test_a_lost_worker_is_one_sentence() -> None:
    spawns = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawns) as pool, pytest.raises(RuntimeError, match="ended before its rows were read"):
        list(map_chunks(pool, dies, range(3)))


class Losing(Executor):
    """Loses every task, or refuses it."""

    def __init__(self, error: Exception, *, refuses: bool = False) -> None:
        self.error, self.refuses = error, refuses

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.refuses:
            raise self.error
        future: Future[Any] = Future()
        future.set_exception(self.error)
        return future


class KilledWorker(Exception):
    """Has the name of the error that Dask raises."""


@pytest.mark.parametrize(
    ("executor", "sentence"),
    [
        (Losing(KilledWorker()), "A worker of the executor ended before its rows were read; see its log. Give"),
        (Losing(BrokenExecutor(), refuses=True), "A worker of the executor ended before its rows were read"),
        (Losing(ModuleNotFoundError("No module", name="bayesieve")), "cannot import bayesieve; install bayesieve"),
    ],
)
def test_lost_workers_are_one_sentence(executor: Executor, sentence: str) -> None:
    with pytest.raises(RuntimeError, match=sentence):
        list(map_chunks(executor, text_of, range(3)))
    other = ModuleNotFoundError("No module named 'mine'", name="mine")
    with pytest.raises(ModuleNotFoundError):
        list(map_chunks(Losing(other), text_of, range(3)))


def test_engines_that_stand_for_executors() -> None:
    assert executor_of("disk") is None
    pool = ThreadPoolExecutor(1)
    assert executor_of(pool) is pool

    class Client:
        asynchronous = True

    Client.__module__ = "distributed.client"
    with pytest.raises(ValueError, match=r"The Dask client is asynchronous; pass Client\(\.\.\., asynchronous=False\)"):
        executor_of(Client())
