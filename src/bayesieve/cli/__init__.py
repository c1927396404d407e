"""The command line: `bayesieve fit | predict | explain | info`."""

from __future__ import annotations

import contextlib
import os
import sys


def main() -> None:
    """Run the command line on the arguments of this process and exit."""
    _make_streams_usable()
    try:
        from bayesieve.cli.app import app
    except KeyboardInterrupt:
        sys.stderr.write("error: Interrupted.\n")
        sys.exit(130)
    app(prog_name="bayesieve")


def _make_streams_usable() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
            continue
        # A terminal without Unicode shows escapes where it would otherwise end the program.
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")
