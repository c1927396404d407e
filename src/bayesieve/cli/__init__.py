"""Command line `bayesieve`: fit, predict, explain, report and further commands."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading


def main() -> None:
    """Run the command line on the arguments of this process and exit."""
    _make_streams_usable()
    try:
        from bayesieve.cli.app import app

        app(prog_name="bayesieve")
    except KeyboardInterrupt:  # before the application handles Ctrl-C itself
        sys.stderr.write("error: Interrupted.\n")
        sys.exit(130)
    except SystemExit as end:
        _leave_threads_behind(end.code)
        raise


def _leave_threads_behind(status: object) -> None:
    """End the process at once if Ctrl-C interrupted it (status 130). A normal exit would wait for the threads of the
    abandoned fit.
    """
    if status != 130 or threading.active_count() == 1:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(130)


def _make_streams_usable() -> None:
    """Open missing standard streams as the null device, and write characters that a stream cannot encode as escapes."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the parent process closed the stream
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
            continue
        # Print escapes for characters that the terminal cannot show, instead of failing.
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")
