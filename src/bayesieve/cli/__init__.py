"""The command line: `bayesieve fit | predict | explain | info`."""

from __future__ import annotations

import contextlib
import sys


def main() -> None:
    """Run the command line on the arguments of this process and exit."""
    from bayesieve.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        # A terminal without Unicode shows \N escapes where it would otherwise end the program.
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    app(prog_name="bayesieve")
