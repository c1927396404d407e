"""Processes of tests, forked from one that has imported what takes long: each starts in a tenth of a second."""

from __future__ import annotations

import multiprocessing
import os
import sys
from pathlib import Path

CAN_FORK = "forkserver" in multiprocessing.get_all_start_methods()
CONTEXT = multiprocessing.get_context("forkserver" if CAN_FORK else "spawn")
if CAN_FORK:  # polars must not be among them: its threads do not survive a fork
    CONTEXT.set_forkserver_preload(["numba", "sklearn.ensemble", "bayesieve.classifier.report_data", "bayesieve.cli.app"])


def command(folder: Path, errors: Path, *arguments: object) -> None:
    """Run the command line in a folder; what it tells goes to the file of errors."""
    os.chdir(folder)
    with errors.open("w", encoding="utf-8") as told:
        os.dup2(told.fileno(), 1)
        os.dup2(told.fileno(), 2)
        sys.argv = ["bayesieve", *map(str, arguments)]
        from bayesieve.cli import main

        main()
