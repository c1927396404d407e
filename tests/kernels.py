"""Compile the kernels that are not on disk yet, before several processes of tests each compile them.

python -m tests.kernels
"""

from __future__ import annotations

import multiprocessing
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from types import SimpleNamespace

from bayesieve import compiling
from bayesieve.cli.compiling import FAMILIES, compile_kernels
from tests.processes import MODULES

# The first two have hardly a kernel in common. Others need some kernels of theirs, and find them on disk.
FIRST = ("columns", "auc")


def missing_families() -> list[str]:
    """Return the families of kernels that no earlier run has compiled for these sources and versions."""
    stamps = {family: compiling.stamp(family) for family in [*FIRST, *(name for name in FAMILIES if name not in FIRST)]}
    return [family for family, stamp in stamps.items() if stamp is not None and not stamp.exists()]


def compile_family(family: str) -> None:
    warnings.simplefilter("ignore")  # of the small artificial tables
    compile_kernels(SimpleNamespace(family=[family], quiet=True))


def main() -> None:
    families = missing_families()
    if not families or "fork" not in multiprocessing.get_all_start_methods():
        return
    os.environ[compiling.ALONE] = "1"  # no fit starts processes of its own
    for module in MODULES:  # so that the forked processes need not import them again
        __import__(module)
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("fork")) as pool:
        list(pool.map(compile_family, families))


if __name__ == "__main__":
    main()
