"""How kernels are compiled: machine code saved on disk, the interpreter lock released, divisions as NumPy's."""

from __future__ import annotations

import gc
import hashlib
import os
import platform
import re
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, wraps
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

SHIPPED = Path(__file__).parent / "machine_code"
"""Where wheels for one platform and version of Python bring compiled code, as below NUMBA_CACHE_DIR."""

_WIDE = {"+avx2", "+bmi", "+bmi2", "+f16c", "+fma", "+lzcnt", "+movbe"}

# No wrapper for calls from C, which nobody makes: it takes time to compile.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def jit(function: Callable[..., Any]) -> Any:
    """Compile ``function`` when it is first called, and save the machine code where a folder can be written.

    Where there is none (a read-only installation without a home folder), every process compiles the kernel again, and a
    warning says how to change that.
    """
    from numba import njit

    from bayesieve.saved_code import SavedCode

    compiled: Any = njit(**_OPTIONS)(function)
    try:
        compiled._cache = SavedCode(function)
    except RuntimeError:  # of Numba, which finds no folder
        warn_once()
    compiled.compile = COMPILE_TIME.timed(compiled.compile)  # called once for each combination of types
    return compiled


def jit_inner(function: Callable[..., Any]) -> Any:
    """Compile a kernel that only other kernels call: its code becomes part of theirs, so that it needs neither a place
    on disk nor a way in from Python, which would take time to compile. Python must not call it.
    """
    return _inner(function)


def jit_sum(function: Callable[..., Any]) -> Any:
    """Compile like `jit_inner`, for loops that end in a sum: terms may be added in any order and products added in one
    operation, without which no compiler makes vectors of it. Infinities and NaN keep their meaning. Sums then differ by
    rounding between kinds of processors, never between runs or numbers of threads.
    """
    return _inner(function, fastmath={"reassoc", "contract"})


def _inner(function: Callable[..., Any], **options: Any) -> Any:
    from numba import njit

    options = {**_OPTIONS, "no_cpython_wrapper": True, **options}
    return njit(**options)(function)


class _Timer:
    """Seconds during which any of the functions timed runs, in whatever thread; they may call each other.

    Garbage is not collected meanwhile: the compiler makes so many objects that live on that looking through them again
    and again takes a sixth of its time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spent, self._began, self._depth, self._collects = 0.0, 0.0, 0, False

    @property
    def seconds(self) -> float:
        with self._lock:
            return self._spent + (time.perf_counter() - self._began if self._depth else 0.0)

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*arguments: Any, **options: Any) -> Any:
            with self._lock:
                if not self._depth:
                    self._began, self._collects = time.perf_counter(), gc.isenabled()
                    gc.disable()
                self._depth += 1
            try:
                return function(*arguments, **options)
            finally:
                with self._lock:
                    self._depth -= 1
                    if not self._depth:
                        self._spent += time.perf_counter() - self._began
                        if self._collects:
                            gc.enable()

        return run


COMPILE_TIME = _Timer()
"""Time that this process has spent so far on compiling kernels, or on loading them from disk."""


@cache
def kernel_sources() -> tuple[tuple[str, str], ...]:
    """Name and hash of this file, which holds the options of kernels, and of every file of kernels."""
    own = Path(__file__)
    return (own.name, _hash(own.read_text(encoding="utf-8"))), *hashed_kernels(own.parent)


def hashed_kernels(package: Path) -> tuple[tuple[str, str], ...]:
    """Name and hash of every file of kernels in a package. Compiled code holds the values of the constants that a file
    imports from other files: the lines that define these count as its own.
    """
    hashes = []
    for path in sorted(package.glob("*/_*kernels.py")):
        lines = [path.read_text(encoding="utf-8")]
        for module, names in _IMPORTED.findall(lines[0]):
            file = package.joinpath(*module.split(".")).with_suffix(".py")
            others = file.read_text(encoding="utf-8").splitlines()
            for name in _CONSTANT.findall(names):
                lines += [line for line in others if re.match(rf"[^=(]*\b{name}\b[^=(]*=", line)] or others
        hashes.append((path.relative_to(package).as_posix(), _hash("\n".join(lines))))
    return tuple(hashes)


_IMPORTED = re.compile(r"^from bayesieve\.(\S+) import ([^(\n]+|\([^)]*\))", re.MULTILINE)
_CONSTANT = re.compile(r"\b[A-Z][A-Z0-9_]*\b")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def warn_once() -> None:
    """Tell that a kernel was compiled whose code nobody can find again."""
    warnings.warn(
        "Compiled code cannot be saved, as neither the folder of bayesieve nor a cache folder of the user can be "
        "written: every start compiles again; set NUMBA_CACHE_DIR to a folder that can be written.",
        RuntimeWarning,
        stacklevel=2,
    )


ALONE = "BAYESIEVE_COMPILE_ALONE"
"""Environment variable: 1 in processes that compile for others, or where no such processes are wanted."""


@cache
def _folder() -> Path | None:
    """Return the folder of compiled code, or None if none is writable."""
    folder = getattr(jit(_nothing).stats, "cache_path", None)
    return None if folder is None else Path(folder)


def _nothing() -> None:
    """Do nothing: a kernel whose compiled signature is read, and which is never called."""


@cache
def processors() -> tuple[str, ...]:
    """Return the processors whose code runs on this one, the fastest first: itself, any with vectors of 256 bits
    (x86-64-v3), which wrapper searches need, and any of its kind.
    """
    from llvmlite.binding import get_host_cpu_name
    from numba.core.codegen import get_host_cpu_features

    own = os.environ.get("NUMBA_CPU_NAME") or get_host_cpu_name()
    wide = own != "generic" and _WIDE.issubset(get_host_cpu_features().split(","))
    return own, *(["x86-64-v3"] if wide else []), "generic"


def stamp(family: str) -> Path | None:
    """Return the file that tells that a family of kernels is on disk, compiled by these versions for one of the
    `processors`; None if nothing can be saved.
    """
    import numba

    own = _folder()
    if own is None:
        return None
    files = []
    for processor in processors():
        versions = (kernel_sources(), numba.__version__, sys.version_info[:2], platform.machine(), processor)
        name = f"compiled-{family}-{_hash(repr(versions))[:16]}"
        files += [own / name, *SHIPPED.glob(f"*/{name}")]
    return next((file for file in files if file.exists()), files[0])


@contextmanager
def compiling_elsewhere(families: Sequence[str]) -> Iterator[None]:
    """Compile families of kernels that are not on disk yet in other processes while the block runs, because Numba
    compiles one kernel at a time in a process. This process compiles the remaining ones.
    """
    started: list[subprocess.Popen[bytes]] = []
    wanted = bool(families and sys.executable) and os.environ.get(ALONE) != "1"
    if wanted and (os.cpu_count() or 1) > 1 and parent_process() is None:
        missing = [family for family in families if (file := stamp(family)) is not None and not file.exists()]
        with suppress(OSError):
            started = [start(family) for family in missing]
    try:
        yield
    except BaseException:
        for process in started:
            process.terminate()
        raise
    finally:
        for process in started:
            process.wait()


def start(family: str) -> subprocess.Popen[bytes]:
    """Return a process that compiles a family."""
    command = [sys.executable, "-m", "bayesieve", "compile", family, "--quiet"]
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, env={**os.environ, ALONE: "1"})
