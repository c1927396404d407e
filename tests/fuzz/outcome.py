"""The rule that every step is judged by: it works, or says in one clear sentence of its own why not."""

from __future__ import annotations

import contextlib
import dis
import os
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

import sklearn

OURS = tuple(
    Path(spec.origin).parent
    for name in ("bayesieve", "bayesieve_lab")  # the lab may be missing
    if (spec := find_spec(name)) is not None and spec.origin is not None
)
CHECKS = Path(sklearn.__file__).parent
_FUZZ = Path(__file__).parent
_RAISE = dis.opmap["RAISE_VARARGS"]

FOREIGN = re.compile(
    "|".join(
        (
            r"object has no attribute|object is not|object does not|object of type|unhashable|NoneType' object",
            r"must be real number|sequence item|embedded null|NotImplemented",
            r"could not (be )?broadcast|shape mismatch|cannot reshape|zero-size|non-empty|inhomogeneous",
            r"out of bounds|index out of range|list index|list indices|not subscriptable|not iterable|truth value",
            r"not supported between|unsupported operand|invalid literal|could not convert|cannot convert|can't convert",
            r"positional argument|keyword argument|\(\) argument must|takes no|expected (str|string|bytes)",
            r"can't (decode|encode)|codec can|surrogates not allowed|not JSON serializable|Out of range float",
            r"must be str\b|int too large|too large to convert|too many values|not enough values|cannot unpack",
            r"division by zero|math range|ConversionSyntax|maximum recursion|year -?\d+ is out of|day is out",
            r"Arrow[A-Z]|polars\.exceptions|numpy\.core|numpy\._core|ufunc|array is too big",
        )
    )
)
"""How Python, NumPy, Arrow and polars speak of what went wrong inside."""


def complaint(error: BaseException) -> str | None:
    """What is wrong with an exception as an answer to a user; None for a refusal in the library's own words."""
    if not isinstance(error, (ValueError, TypeError, FileNotFoundError)):
        return "exception"
    if isinstance(error, UnicodeError) or not _on_purpose(error.__traceback__):
        return "exception"
    return unclear(str(error))


def unclear(message: str) -> str | None:
    """What is wrong with the words of a refusal."""
    if not message.strip():
        return "empty message"
    foreign = FOREIGN.search(message)
    if foreign is not None:
        return f"message of another library ({foreign[0]})"
    return "endless message" if len(message) > 1500 else None


def _on_purpose(trace: TracebackType | None) -> bool:
    """Whether a ``raise`` of bayesieve, or of scikit-learn's checks, began it."""
    last = _frames(trace)[-1]
    code = last.tb_frame.f_code
    path = Path(code.co_filename)
    return any(map(path.is_relative_to, (*OURS, CHECKS))) and code.co_code[last.tb_lasti] == _RAISE


def _frames(trace: TracebackType | None) -> list[TracebackType]:
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    return frames


def place(error: BaseException) -> str:
    """File and function of bayesieve in which it happened, and where below that."""
    places = []
    for frame in _frames(error.__traceback__):
        code = frame.tb_frame.f_code
        path = Path(code.co_filename)
        if not path.is_relative_to(_FUZZ):
            folder = next(filter(path.is_relative_to, OURS), None)
            name = "/".join(path.parts[-2:]) if folder is None else path.relative_to(folder).as_posix()
            places.append((folder is not None, f"{name}:{code.co_name}"))
    ours = [name for is_ours, name in places if is_ours]
    where = ours[-1] if ours else "outside bayesieve"
    return where if not places or places[-1][0] else f"{where} -> {places[-1][1]}"


def text_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-6000:]


def foreign_warning(message: warnings.WarningMessage) -> bool:
    """Whether a warning was not meant for users, or not written for them."""
    return not issubclass(message.category, UserWarning) or FOREIGN.search(str(message.message)) is not None


class Output:
    """What arrives on standard output and the error stream of this process, also from threads and other languages."""

    def __init__(self) -> None:
        self.text = ""

    @contextlib.contextmanager
    def captured(self) -> Iterator[Output]:
        sys.stdout.flush()
        sys.stderr.flush()
        with (
            tempfile.TemporaryFile() as file,
            open(os.dup(file.fileno()), "w", encoding="utf-8", errors="backslashreplace", buffering=1) as stream,
            contextlib.redirect_stdout(stream),
            contextlib.redirect_stderr(stream),
        ):
            before = [os.dup(1), os.dup(2)]
            try:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
                yield self
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                for number, kept in zip((1, 2), before, strict=True):
                    os.dup2(kept, number)
                    os.close(kept)
                file.seek(0)
                self.text = file.read().decode("utf-8", "replace")
