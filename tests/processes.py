"""Processes of tests, forked from one that has imported what takes long: each starts in a tenth of a second."""

from __future__ import annotations

import multiprocessing

CAN_FORK = "forkserver" in multiprocessing.get_all_start_methods()
CONTEXT = multiprocessing.get_context("forkserver" if CAN_FORK else "spawn")
if CAN_FORK:  # polars must not be among them: its threads do not survive a fork
    MODULES = ("numba", "sklearn.ensemble", "bayesieve.classifier.report_data", "bayesieve.cli.app")
    CONTEXT.set_forkserver_preload([*MODULES])
