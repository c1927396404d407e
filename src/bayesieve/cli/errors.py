"""Every error as one line on the error stream and an exit status, never a traceback."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import typer
from typer.core import TyperGroup

from bayesieve.words import sentence

BAD_INPUT = 2
INTERNAL = 1
INTERRUPTED = 130  # 128 + SIGINT, as shells say it
BROKEN_PIPE = 141  # 128 + SIGPIPE

NO_STUDIES = "{} needs the studies; run pip install bayesieve-studies, or pip install ./studies in the repository"

_UsageError: type[Any] = typer.BadParameter.__bases__[0]  # typer carries a copy of click or depends on it, by version


class CommandError(Exception):
    """An error that the user can correct; its text is the line shown."""


class Interrupted(BaseException):
    """Ctrl-C that ends the command, not only a search that returns its best subset so far."""


@contextmanager
def interruptible(consequence: str | Callable[[], str]) -> Iterator[None]:
    """Let Ctrl-C end the block and the command, saying what that leaves behind at that moment."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are none of this thread's business
        return

    def interrupt(*_: Any) -> None:
        signal.signal(signal.SIGINT, lambda *_: None)  # a second Ctrl-C would end in a traceback
        raise Interrupted(consequence if isinstance(consequence, str) else consequence())

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Commands(TyperGroup):
    """The commands, which end in one line for every error, and in an exit status."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, *_: Any, **__: Any) -> Any:
        """Run a command and exit with its status."""
        given = list(sys.argv[1:] if args is None else args)
        status = 0
        try:
            with _warnings_as_lines(), self.make_context(prog_name, list(given)) as context:
                self.invoke(context)
                sys.stdout.flush()
        except BaseException as error:
            message, status = _explained(error)
            if message:
                if "--debug" in given:
                    traceback.print_exception(error)
                typer.echo(f"error: {sentence(message)}", err=True)
        sys.exit(status)


def _explained(error: BaseException) -> tuple[str, int]:
    """The message for an exception, empty if there is nothing to say, and the exit status."""
    if isinstance(error, typer.Exit):
        return "", error.exit_code
    if isinstance(error, _UsageError):
        return _usage(error), BAD_INPUT
    if isinstance(error, BrokenPipeError):
        _silence_stdout()
        return "", BROKEN_PIPE
    interruption = _interruption(error)
    if interruption is not None:
        return f"Interrupted: {interruption}" if str(interruption) else "Interrupted", INTERRUPTED
    if isinstance(error, CommandError):
        return str(error), BAD_INPUT
    if isinstance(error, ValueError) and _raised_by_bayesieve(error):
        return _PARAMETER.sub(_its_option, str(error)), BAD_INPUT
    if isinstance(error, FileNotFoundError) and error.errno is not None and error.filename is None:
        return "The working folder does not exist any more; change to another one", BAD_INPUT
    if isinstance(error, OSError):  # the system's have a number, the library's a sentence
        place = "Standard output" if error.filename is None else error.filename
        return str(error) if error.errno is None else f"{place}: {error.strerror}", BAD_INPUT
    if isinstance(error, MemoryError):
        return f"Not enough memory{f' ({error})' if str(error) else ''}; use fewer rows or columns", INTERNAL
    what = "".join(traceback.format_exception_only(error)).strip().splitlines()[0]
    return f"Internal error ({what[:200]}); please report it with what --debug shows", INTERNAL


def _usage(error: Any) -> str:
    if "embedded null byte" in str(error):
        return "An argument holds a null character, which no name of a file or column can; leave it out"
    hint = f" (see {error.ctx.command_path} --help)" if error.ctx is not None else ""
    return f"{error.format_message().removesuffix('.')}{hint}"


def _interruption(error: BaseException | None) -> BaseException | None:
    """Ctrl-C, perhaps while compiled code was called, which turns it into a SystemError."""
    while isinstance(error, SystemError):
        error = error.__cause__ or error.__context__
    return error if isinstance(error, (KeyboardInterrupt, Interrupted)) else None


# Parameters of the library that begin a sentence, or are row weights, and options that have other names.
_OPTIONS = {"random_state": "seed", "sample_weight": "weight", "n_features": "sums"}
_KNOWN = r"n_\w+|random_state|seed|max_seconds|memory_limit|engine|pairs|monotone|prior|calibrate|repetitions"
_PARAMETER = re.compile(rf"^({_KNOWN})(?= (must|names|needs) )|(?<![\w'])sample_weight(?![\w'])")


def _its_option(match: re.Match[str]) -> str:
    name = match[0]
    return "--" + _OPTIONS.get(name, name.removeprefix("n_")).replace("_", "-")


def _raised_by_bayesieve(error: Exception) -> bool:
    """Whether the library itself raised the error, not code that it calls."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return str(frames[-1].f_globals.get("__name__", "")).startswith(("bayesieve.", "bayesieve_studies."))


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Show user warnings as lines on the error stream, and hide warnings for programmers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda text, *_, **__: typer.echo(f"warning: {sentence(str(text))}", err=True)
        yield


def _silence_stdout() -> None:
    """Prevent a second error in the flush at exit after the reader of our output has gone."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
