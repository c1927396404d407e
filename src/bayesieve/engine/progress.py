"""Time limits and progress displays of long work.

Progress is a bar on a terminal, one updated line in a notebook, and plain lines elsewhere; without ``verbose`` nothing
is shown.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bayesieve.compiling import COMPILE_TIME

Progress = Callable[[int, int, float], Any]
"""Function called with the steps done, the number of all steps and the best criterion so far; a true result ends a
greedy search.
"""

_SECONDS_BETWEEN_LINES = 5.0
_PATIENCE = 1.0  # seconds before a stage shows a clock
_MOST_SECONDS_BETWEEN_LINES = 60.0
_SECONDS_BETWEEN_UPDATES = 0.5  # of the line in a notebook
_line_of_cell: tuple[int, Any] = 0, None
"""Number of the notebook cell that shows a progress line, and the display of the line."""


@contextmanager
def stage(title: str, verbose: int) -> Iterator[Callable[[str], None]]:
    """Show a title with a running clock on the error stream during the ``with`` block; yield a function that changes
    the title.

    If ``verbose`` is 0, nothing is shown. If the error stream is not a terminal, lines are written from time to time.
    The clock is hidden while another progress display is shown.
    """
    if not verbose:
        yield lambda title: None
        return
    clock = _RunningClock(title)
    _clocks.append(clock)
    try:
        yield clock.rename
    finally:
        _clocks.remove(clock)
        clock.stop()


class _RunningClock:
    """Thread that shows a title with the elapsed time, from the first second on."""

    def __init__(self, title: str) -> None:
        self._title, self._began = title, time.perf_counter()
        self._ended, self._hidden = threading.Event(), 0
        self._bar: Any = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Show the clock from time to time until it is stopped; this is the function of the thread."""
        wait, most = _PATIENCE if sys.stderr.isatty() else _pause(), 1.0 if _notebook() else _MOST_SECONDS_BETWEEN_LINES
        while not self._ended.wait(wait):
            with self._lock:
                if not self._hidden:
                    self._show()
            wait = min(2 * wait, most)

    def _show(self) -> None:
        """Write a line with the elapsed time, or open the display of a terminal, which updates itself."""
        if not sys.stderr.isatty():
            write_line(f"{self._title}: {elapsed(self._began)}")
        elif self._bar is None:
            from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

            title = TextColumn("{task.description}", markup=False)
            self._bar = _rich_bar(SpinnerColumn(), title, TimeElapsedColumn())
            task = self._bar.add_task(self._title, total=None)
            self._bar.tasks[0].start_time = self._bar.get_time() - (time.perf_counter() - self._began)
            self._bar.update(task)

    def rename(self, title: str) -> None:
        """Change the title. Without a terminal, it is shown from the next line on."""
        with self._lock:
            self._title = title
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], description=title)

    def hide(self) -> None:
        """Hide the clock until `show_again` is called as often as `hide`."""
        with self._lock:
            self._hidden += 1
            self._close()

    def show_again(self) -> None:
        """Undo one call of `hide`."""
        with self._lock:
            self._hidden -= 1

    def stop(self) -> None:
        """End the thread and remove the display."""
        self._ended.set()
        self._thread.join()
        self._close()

    def _close(self) -> None:
        """Remove the display of a terminal."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


_clocks: list[_RunningClock] = []


def elapsed(began: float) -> str:
    """Return the time since ``began``, a value of `time.perf_counter`, as text.

    Examples
    --------
    >>> import time
    >>> elapsed(time.perf_counter() - 3725.0)
    '1:02:05'
    """
    minutes, seconds = divmod(int(time.perf_counter() - began), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


class Clock:
    """Time limit of a search, which decides whether the search must end early. Compilation does not count as time.

    A search ends early if its time is over, the progress function returns True, or Ctrl-C is pressed within ``with
    clock:``. It then returns its best result so far, also after Ctrl-C, which raises no KeyboardInterrupt.

    Attributes
    ----------
    complete : bool
        Whether the search was not ended early so far.
    interrupted : bool
        Whether the progress function or Ctrl-C ended it.
    """

    def __init__(self, max_seconds: float | None, progress: Progress | None = None) -> None:
        self._begin = time.perf_counter() - COMPILE_TIME.seconds
        self._max_seconds = max_seconds
        self._progress = progress
        self.complete = True
        self.interrupted = False

    @property
    def seconds(self) -> float:
        """Seconds since the clock was created, without the time of compilation."""
        return max(0.0, time.perf_counter() - COMPILE_TIME.seconds - self._begin)

    @property
    def is_up(self) -> bool:
        """Whether the time limit is over, or the progress function or Ctrl-C ended the search."""
        return self.interrupted or (self._max_seconds is not None and self.seconds >= self._max_seconds)

    def stops(self) -> bool:
        """Return whether the search must end now, and record that it was ended early if so."""
        self.complete = self.complete and not self.is_up
        return not self.complete

    def show(self, done: int, total: int, best: float) -> None:
        """Call the progress function; if it returns True, the search ends.

        ``done`` of ``total`` steps are complete, and ``best`` is the best value of the criterion so far.
        """
        if self._progress is not None and self._progress(done, total, best):
            self.interrupted, self.complete = True, False

    def __enter__(self) -> Clock:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        ended = kind is not None and issubclass(kind, KeyboardInterrupt)
        if ended:
            self.interrupted, self.complete = True, False
        return ended

    @contextmanager
    def ended_by_interrupt(self) -> Iterator[None]:
        """Treat the first Ctrl-C in the ``with`` block like the end of the time limit; the running code stops at its
        next check.
        """
        default = signal.default_int_handler
        if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not default:
            yield
            return

        def end(*_: Any) -> None:
            """Handle Ctrl-C: record that the search was ended, and restore the usual handler."""
            self.interrupted, self.complete = True, False
            signal.signal(signal.SIGINT, default)

        signal.signal(signal.SIGINT, end)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, default)


@contextmanager
def search_progress(
    title: str, verbose: int, criterion: str | Callable[[float], str] | None = None
) -> Iterator[SearchProgress | None]:
    """Yield a `SearchProgress`, which shows the progress of a search on the error stream; None if ``verbose`` is 0.

    ``criterion`` is the name of the criterion or a function that formats its value; None for a cost in nats.
    """
    if not verbose:
        yield None
        return
    progress = SearchProgress(title, criterion)
    try:
        yield progress
    finally:
        progress.close()


class SearchProgress:
    """Display of the progress of a search on the error stream.

    Parameters
    ----------
    title : text before the numbers.
    criterion : name of the criterion, or function that formats its value; None for a cost in nats.
    noun : plural noun for the steps that are counted, such as " rows", with the space before it.
    """

    def __init__(self, title: str, criterion: str | Callable[[float], str] | None = None, noun: str = "") -> None:
        self._title, self._noun = title, noun
        self._criterion = criterion
        self._bar: Any = None
        self._task: Any = None
        self._began = self._written = time.perf_counter()
        self._hiding: list[_RunningClock] = []

    def close(self) -> None:
        """Remove the display, and show the clocks that it had hidden again."""
        if self._bar is not None:
            self._bar.stop()
        for clock in self._hiding:
            clock.show_again()
        self._hiding = []

    def __call__(self, done: int, total: int, best: float) -> None:
        if not self._hiding:
            self._hide_clocks()
        if sys.stderr.isatty():
            self._open(total)
            self._bar.update(self._task, completed=done, best=self._in_words(best))
        elif time.perf_counter() - self._written >= _pause():
            self._written = time.perf_counter()
            since = f", after {elapsed(self._began)}" if self._written - self._began >= 1.0 else ""
            write_line(f"{self._title}: {done:,} of {total:,}{self._noun}, {self._in_words(best)}{since}")

    def doing(self, total: int, now: str) -> None:
        """Show ``now``, the name of the current task, beside the bar, on terminals only; ``total`` is the number of
        steps.
        """
        if sys.stderr.isatty():
            self._open(total)
            self._bar.update(self._task, now=now)

    def _hide_clocks(self) -> None:
        """Hide all running clocks, because two displays would overwrite each other."""
        self._hiding = list(_clocks)
        for clock in self._hiding:
            clock.hide()

    def _open(self, total: int) -> None:
        """Open the bar of a terminal, unless it is open; ``total`` is the number of steps."""
        if self._bar is not None:
            return
        if not self._hiding:
            self._hide_clocks()
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        texts = (TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("best", "now"))
        self._bar = _rich_bar(*columns, *texts)
        self._task = self._bar.add_task(self._title, total=total, best="", now="")

    def _in_words(self, best: float) -> str:
        """Return the best value of the criterion so far as text."""
        if self._criterion is None:
            return f"best cost {best:.2f} nats"
        if callable(self._criterion):
            return self._criterion(best)
        return f"{self._criterion.replace('_', ' ')} {best:.4g}"


class RowProgress:
    """Display of the progress of reading rows on the error stream, with the time left.

    Parameters
    ----------
    title : str
        Text before the numbers.
    n_rows, n_bytes : int
        Number of rows and bytes in total.
    verbose : int
        0 shows nothing.
    """

    def __init__(self, title: str, n_rows: int, n_bytes: int, verbose: int) -> None:
        self._n_rows, self._verbose, self._done = n_rows, verbose, 0
        self._display = SearchProgress(title, bytes_and_time_left(n_bytes), " rows")

    def __enter__(self) -> RowProgress:
        return self

    def __exit__(self, *error: Any) -> None:
        self._display.close()

    def __call__(self, n_rows: int) -> None:
        """Count ``n_rows`` further rows as read, and update the display."""
        self._done += n_rows
        if self._verbose:
            self._display(self._done, self._n_rows, self._done / max(1, self._n_rows))


def bytes_and_time_left(n_bytes: int) -> Callable[[float], str]:
    """Return a function that converts the share of work done to text: megabytes done of ``n_bytes``, and time left."""
    began = time.perf_counter()

    def words(share: float) -> str:
        """Return the megabytes done and the time left as text; ``share`` is the share of work done."""
        left = (time.perf_counter() - began) * (1.0 - share) / max(share, 1e-9)
        return f"{share * n_bytes / 1e6:,.0f} of {n_bytes / 1e6:,.0f} MB, {left:,.0f} s left"

    return words


def _rich_bar(*columns: Any) -> Any:
    """Return a started progress bar of the package rich with the given columns, shown on the error stream."""
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar


def _notebook() -> Any:
    """Return the shell of the notebook kernel that runs this code, or None."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell if hasattr(shell, "kernel") else None


def _pause() -> float:
    """Return the seconds between two lines of progress: fewer in notebooks, where a single line is updated."""
    return _SECONDS_BETWEEN_UPDATES if _notebook() else _SECONDS_BETWEEN_LINES


def write_line(line: str) -> None:
    """Write a line on the error stream, or update the line of the running notebook cell."""
    global _line_of_cell
    if shell := _notebook():
        from IPython.display import display

        if _line_of_cell[0] != shell.execution_count:
            _line_of_cell = shell.execution_count, display({}, raw=True, display_id=True)
        _line_of_cell[1].update({"text/plain": line}, raw=True)
        return
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
