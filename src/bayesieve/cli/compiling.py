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
    """Whether Numba's cache holds kernels of the naive Bayes, which every command runs."""
    from bayesieve.naive_bayes import _kernels

    kernels = [kernel for kernel in vars(_kernels).values() if hasattr(kernel, "py_func")]
    folders = {kernel.stats.cache_path for kernel in kernels} - {None}
    return not folders or any(any(Path(folder).glob("_kernels.*.nbi")) for folder in folders)


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
