"""Threads: how many, in what order results come, and what happens on errors."""

from __future__ import annotations

import os
import threading
import time

import pytest

from bayesieve.engine import effective_jobs, map_in_threads

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(None, 1), (1, 1), (7, 7), (-1, CORES), (-2, max(1, CORES - 1)), (-10_000, 1)]
)
def test_effective_jobs(n_jobs: int | None, expected: int) -> None:
    assert effective_jobs(n_jobs) == expected


def test_no_jobs_have_no_meaning() -> None:
    with pytest.raises(ValueError, match=r"n_jobs must be .* -1 for all cores, .* got 0"):
        effective_jobs(0)
    with pytest.raises(ValueError, match="n_jobs must be a positive number of threads"):
        map_in_threads(str, [1, 2], 0)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 4])
def test_results_come_in_the_order_of_the_items(n_jobs: int | None) -> None:
    def square(i: int) -> tuple[int, bool]:
        time.sleep(0.002 * (5 - i))  # the first item ends last
        return i * i, threading.current_thread() is here

    here, is_alone = threading.current_thread(), n_jobs in (None, 1)
    assert map_in_threads(square, iter(range(5)), n_jobs) == [(i * i, is_alone) for i in range(5)]
    assert map_in_threads(square, [1], n_jobs) == [(1, True)]  # a single item needs no thread
    assert map_in_threads(square, [], n_jobs) == []


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_errors_come_through_and_cancel_what_is_queued(n_jobs: int | None) -> None:
    started: list[int] = []

    def work(i: int) -> int:
        started.append(i)
        if i == 0:
            raise ZeroDivisionError("column 0")
        time.sleep(0.01)
        return i

    with pytest.raises(ZeroDivisionError, match="column 0"):
        map_in_threads(work, range(200), n_jobs)
    assert len(started) < 100
