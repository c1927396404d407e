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
from contextlib import contextmanager
from types import TracebackType
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
    """The commands, with all errors shown in the same way."""

    _debug = False
    _shown = False

    def main(self, args: Sequence[str] | None = None, *others: Any, **extra: Any) -> Any:
        """Run a command and exit with its status."""
        self._debug = "--debug" in (sys.argv[1:] if args is None else args)
        self._shown = False
        if not extra.get("standalone_mode", True):
            return super().main(args, *others, **extra)
        try:
            status = super().main(args, *others, **extra | {"standalone_mode": False})
        except _UsageError as error:
            status = self._end(error, _usage(error), BAD_INPUT)
        except typer.Abort as error:
            status = self._end(error, "Interrupted", INTERRUPTED)
        if status == INTERRUPTED and not self._shown:  # typer caught Ctrl-C before the command began
            self._end(KeyboardInterrupt(), "Interrupted", INTERRUPTED)
        sys.exit(status if isinstance(status, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run the command named in the context, and turn errors into exit statuses."""
        try:
            with _warnings_as_lines():
                result = super().invoke(ctx)
            sys.stdout.flush()
        except (typer.Exit, typer.Abort, _UsageError):
            raise
        except BrokenPipeError as error:
            _silence_stdout()
            raise typer.Exit(BROKEN_PIPE) from error
        except (KeyboardInterrupt, Interrupted) as error:
            what = f"Interrupted: {error}" if str(error) else "Interrupted"
            raise typer.Exit(self._end(error, what, INTERRUPTED)) from error
        except Exception as error:
            if _is_interrupt(error):
                raise typer.Exit(self._end(error, "Interrupted", INTERRUPTED)) from error
            raise typer.Exit(self._end(error, *_explained(error))) from error
        return result

    def _end(self, error: BaseException, message: str, status: int) -> int:
        if self._debug:
            traceback.print_exception(error)
        typer.echo(f"error: {sentence(message)}", err=True)
        self._shown = True
        return status


def _usage(error: Any) -> str:
    if "embedded null byte" in str(error):
        return "An argument holds a null character, which no name of a file or column can; leave it out"
    context = error.ctx
    hint = f" (see {context.command_path} --help)" if context is not None else ""
    return f"{error.format_message().removesuffix('.')}{hint}"


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C came while compiled code was called, which turns it into a SystemError."""
    while isinstance(error, SystemError):
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


def _explained(error: Exception) -> tuple[str, int]:
    """The message for an exception, and the exit status."""
    if isinstance(error, CommandError):
        return str(error), BAD_INPUT
    if isinstance(error, ValueError) and _raised_by_bayesieve(error.__traceback__):
        return _PARAMETER.sub(_its_option, str(error)), BAD_INPUT
    if isinstance(error, FileNotFoundError) and error.errno is not None and error.filename is None:
        return "The working folder does not exist any more; change to another one", BAD_INPUT
    if isinstance(error, OSError):  # the system's have a number, the library's a sentence
        return str(error) if error.errno is None else f"{_named(error.filename)}: {error.strerror}", BAD_INPUT
    if isinstance(error, MemoryError):
        return f"Not enough memory{f' ({error})' if str(error) else ''}; use fewer rows or columns", INTERNAL
    what = "".join(traceback.format_exception_only(error)).strip().splitlines()[0]
    return f"Internal error ({what[:200]}); please report it with what --debug shows", INTERNAL


# Parameters of the library that begin a sentence, or are row weights, and options that have other names.
_OPTIONS = {"random_state": "seed", "sample_weight": "weight", "n_features": "sums"}
_KNOWN = r"n_\w+|random_state|seed|max_seconds|memory_limit|engine|pairs|monotone|prior|calibrate|repetitions"
_PARAMETER = re.compile(rf"^({_KNOWN})(?= (must|names|needs) )|(?<![\w'])sample_weight(?![\w'])")


def _its_option(match: re.Match[str]) -> str:
    name = match[0]
    return "--" + _OPTIONS.get(name, name.removeprefix("n_")).replace("_", "-")


def _named(filename: object) -> str:
    return "Standard output" if filename is None else str(filename)


def _raised_by_bayesieve(trace: TracebackType | None) -> bool:
    """Whether the library itself raised the error, not code that it calls."""
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return str(trace.tb_frame.f_globals.get("__name__", "")).startswith(("bayesieve.", "bayesieve_studies."))


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Show user warnings as lines on the error stream, and hide warnings for programmers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _show_warning
        yield


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"warning: {sentence(str(message))}", err=True)


def _silence_stdout() -> None:
    """Prevent a second error in the flush at exit after the reader of our output has gone."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
