"""Processes of tests, forked from one that has imported what takes long: each starts in a tenth of a second."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

CAN_FORK = "forkserver" in multiprocessing.get_all_start_methods()
CONTEXT = multiprocessing.get_context("forkserver" if CAN_FORK else "spawn")
# polars must not be among them: its threads do not survive a fork
MODULES = ("numba", "sklearn.ensemble", "bayesieve.classifier.report_data", "bayesieve.cli.app")
if CAN_FORK:
    CONTEXT.set_forkserver_preload([*MODULES])


def in_a_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function returns in a process that has run nothing yet; its errors are raised here."""
    with ProcessPoolExecutor(1, CONTEXT) as pool:
        return pool.submit(function, *arguments).result()


def run_command(outputs: Path, arguments: Sequence[object]) -> None:
    """`bayesieve` as a process, where it is, with files in the folder for its two outputs."""
    for number, name in enumerate(("stdout", "stderr"), 1):
        with open(outputs / name, "wb") as file:
            os.dup2(file.fileno(), number)
    sys.argv = ["bayesieve", *map(str, arguments)]
    from bayesieve.cli import main

    main()
