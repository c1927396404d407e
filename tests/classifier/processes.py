"""Functions that run in a process of their own, which they may kill: forked from one that has imported the library."""

from __future__ import annotations

import itertools
import multiprocessing
import os
from collections.abc import Callable
from typing import Any

_FORKS = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
if hasattr(os, "fork"):
    _FORKS.set_forkserver_preload(["pytest", "hypothesis", "sklearn.model_selection", "bayesieve.classifier.selective"])


def exit_code(function: Callable[..., None], *arguments: Any) -> int | None:
    """How the function ends in a process of its own: 0, 1 after an error, or minus the signal that killed it."""
    process = _FORKS.Process(target=function, args=arguments)
    process.start()
    process.join()
    return process.exitcode


def dies_at(number: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose call of this number kills the process: nothing is cleaned up."""
    calls = itertools.count(1)

    def called(*arguments: Any, **options: Any) -> Any:
        if next(calls) == number:
            os.kill(os.getpid(), 9)
        return function(*arguments, **options)

    return called
