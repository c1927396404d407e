"""Progress of long searches: a bar on a terminal, plain lines elsewhere, nothing without ``verbose``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

Progress = Callable[[int, int, float], Any]
"""Called with the steps done, the steps in all and the best criterion so far; a true answer ends a greedy search."""

_SECONDS_BETWEEN_LINES = 5.0


class SearchProgress:
    """Shows the progress of a search on the error stream; use as a context manager that returns a `Progress` or None.

    ``criterion`` is the name of the criterion or a function that formats its value; None stands for a cost in nats.
    """

    def __init__(self, title: str, verbose: int, criterion: str | Callable[[float], str] | None = None) -> None:
        self._title = title
        self._criterion = criterion
        self._verbose = verbose
        self._bar: Any = None
        self._task: Any = None
        self._written = time.perf_counter()

    def __enter__(self) -> Progress | None:
        return self if self._verbose else None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int, best: float) -> None:
        if sys.stderr.isatty():
            self._open(total)
            self._bar.update(self._task, completed=done, best=self._in_words(best))
        elif time.perf_counter() - self._written >= _SECONDS_BETWEEN_LINES:
            self._written = time.perf_counter()
            sys.stderr.write(f"{self._title}: {done} of {total}, {self._in_words(best)}\n")
            sys.stderr.flush()

    def doing(self, total: int, now: str) -> None:
        """Show the running task ``now`` next to a running clock; on a terminal only."""
        if self._verbose and sys.stderr.isatty():
            self._open(total)
            self._bar.update(self._task, now=now)

    def _open(self, total: int) -> None:
        if self._bar is not None:
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        texts = (TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("best", "now"))
        self._bar = Progress(*columns, *texts, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(self._title, total=total, best="", now="")

    def _in_words(self, best: float) -> str:
        if self._criterion is None:
            return f"best cost {best:.2f} nats"
        if callable(self._criterion):
            return self._criterion(best)
        return f"{self._criterion.replace('_', ' ')} {best:.4g}"
