"""Announces the compilation on the first run after an installation, and keeps it out of measured seconds."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bayesieve.cli.screen import Screen

COMPILING = "Compiling the kernels of coding, search and prediction, once after installation: about 10 seconds ..."
_TRIAL_ROWS = 60
_PATIENCE = 1.0  # seconds, so that a command that fails at once shows its error only


def kernels_are_compiled() -> bool:
    """Whether Numba's cache holds kernels of the naive Bayes, which every command runs."""
    from bayesieve.naive_bayes import _kernels

    kernels = [kernel for kernel in vars(_kernels).values() if hasattr(kernel, "py_func")]
    folders = {kernel.stats.cache_path for kernel in kernels} - {None}
    return not folders or any(any(Path(folder).glob("_kernels.*.nbi")) for folder in folders)


@contextmanager
def announced(screen: Screen) -> Iterator[None]:
    """Announce the compilation, if it is needed and the block takes more than a moment."""
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


def warm_up(models: Iterable[Any], weighted: bool = False) -> None:
    """Fit a copy of each model to small artificial tables with two and three classes, so that kernels are compiled and
    packages imported before seconds are counted. Errors are ignored here: they appear again on the real table.
    """
    import polars as pl
    from sklearn.base import clone

    from bayesieve.table.cautions import silenced

    rows = range(_TRIAL_ROWS)
    X = pl.DataFrame({"a": [(7 * i) % 11 + i / 60 for i in rows], "b": [("x", "y", None)[i % 3] for i in rows]})
    option = {"sample_weight": [1.0 + i % 2 for i in rows]} if weighted else {}
    for n_classes in (2, 3):
        y = pl.Series([f"class {(i // 2) % n_classes}" for i in rows])
        for model in models:
            with suppress(Exception), silenced():
                clone(model).fit(X, y, **option).predict_proba(X)
