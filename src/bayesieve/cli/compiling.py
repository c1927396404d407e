"""Telling people what the first run after an installation waits for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bayesieve.cli.screen import Screen

COMPILING = "Compiling kernels, once after installation: this takes 10 to 20 seconds ..."
_PATIENCE = 1.0  # seconds: what is refused at once, with one line, is not announced first


def kernels_are_compiled() -> bool:
    """Whether Numba's cache holds kernels of the naive Bayes, which every command runs, newer than their source."""
    from bayesieve.naive_bayes import _kernels

    source = Path(_kernels.__file__)
    kernels = [kernel for kernel in vars(_kernels).values() if hasattr(kernel, "py_func") and kernel.stats.cache_path]
    if not kernels:
        return True  # compiled by another hand, or not at all
    folder, written = Path(kernels[0].stats.cache_path), source.stat().st_mtime
    return any(index.stat().st_mtime >= written for index in folder.glob(f"{source.stem}.*.nbi"))


@contextmanager
def announced(screen: Screen) -> Iterator[None]:
    """Say that kernels are compiled, if they have to be and the block takes more than a moment."""
    if screen.quiet or kernels_are_compiled():
        yield
        return
    announcement = threading.Timer(_PATIENCE, screen.note, [COMPILING])
    announcement.daemon = True
    announcement.start()
    try:
        yield
    finally:
        announcement.cancel()
