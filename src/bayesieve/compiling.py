"""Decorators and tools for Numba kernels: compile on the first call, save the machine code, release the interpreter
lock.

Division by zero follows NumPy: it gives infinity or NaN instead of an exception, which lets loops vectorise.
"""

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

# The wrapper for calls from C takes time to compile, and nothing calls kernels from C.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def jit(function: Callable[..., Any]) -> Any:
    """Return ``function`` compiled by Numba when it is first called; the machine code is saved on disk if a folder is
    writable.

    Otherwise (a read-only installation without a home folder) every process compiles the kernel again, and a warning
    says how to change that.
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


def read_only(array: Any) -> Any:
    """Return a read-only view of an array, to be passed to a kernel.

    Numba compiles a kernel anew for read-only arrays. Some libraries provide read-only arrays and others do not; with
    these views, a kernel is compiled once for both.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def jit_inner(function: Callable[..., Any]) -> Any:
    """Return ``function`` compiled for calls from other kernels only; its code becomes part of theirs.

    It is neither saved by itself nor callable from Python, which saves compile time.
    """
    return _inner(function)


def jit_sum(function: Callable[..., Any]) -> Any:
    """Return ``function``, a loop that ends in a sum, compiled for calls from other kernels only.

    The compiler may add terms in any order and fuse multiplications with additions, without which it cannot vectorise
    such loops. Infinities and NaN keep their meaning. Sums may differ by rounding between kinds of processors, never
    between runs or numbers of threads.
    """
    return _inner(function, fastmath={"reassoc", "contract"})


def _inner(function: Callable[..., Any], **options: Any) -> Any:
    """Compile ``function`` for calls from other kernels only, with further ``options`` of Numba."""
    from numba import njit

    options = {**_OPTIONS, "no_cpython_wrapper": True, **options}
    return njit(**options)(function)


class _Timer:
    """Stopwatch for compilation: time during which at least one of the timed functions runs, in any thread.

    Garbage collection is off meanwhile. The compiler creates so many long-lived objects that scanning them repeatedly
    takes a sixth of its time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spent, self._began, self._depth, self._collects = 0.0, 0.0, 0, False

    @property
    def seconds(self) -> float:
        """Seconds spent in timed functions so far."""
        with self._lock:
            return self._spent + (time.perf_counter() - self._began if self._depth else 0.0)

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that calls ``function`` with the stopwatch running and garbage collection off."""

        @wraps(function)
        def run(*arguments: Any, **options: Any) -> Any:
            """Call the function, and add the time to the stopwatch unless another call is running."""
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
    """Return pairs of the name and the hash of this file, which holds the compiler options, and of each file of
    kernels.

    Saved machine code is valid only if all hashes are unchanged.
    """
    own = Path(__file__)
    return (own.name, _hash(own.read_text(encoding="utf-8"))), *hashed_kernels(own.parent)


def hashed_kernels(package: Path) -> tuple[tuple[str, str], ...]:
    """Return pairs of the name and the hash of each file of kernels in ``package``, the folder of a package.

    Compiled code contains the values of imported constants, so the hash includes the lines that define them in other
    files.
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


def _hash(text: str) -> str:
    """Return the SHA-256 hash of a text as hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


_IMPORTED = re.compile(r"^from bayesieve\.(\S+) import ([^(\n]+|\([^)]*\))", re.MULTILINE)
_CONSTANT = re.compile(r"\b[A-Z][A-Z0-9_]*\b")


@cache
def warn_once() -> None:
    """Warn that compiled code could not be saved, so that the next process compiles again."""
    warnings.warn(
        "Compiled code cannot be saved: neither the folder of bayesieve nor the user's cache folder is writable, so "
        "every process compiles it again. Set NUMBA_CACHE_DIR to a writable folder.",
        RuntimeWarning,
        stacklevel=2,
    )


ALONE = "BAYESIEVE_COMPILE_ALONE"
"""Environment variable: 1 in processes that compile for others, or where no such processes are wanted."""


@cache
def _folder() -> Path | None:
    """Return the folder for compiled code, or None if none is writable."""
    folder = getattr(jit(_nothing).stats, "cache_path", None)
    return None if folder is None else Path(folder)


def _nothing() -> None:
    """Do nothing. This kernel is never called; its compiled signature reveals the processor that Numba compiles for."""


@cache
def processors() -> tuple[str, ...]:
    """Return the names of processors whose compiled code this machine can run, the fastest first.

    The first is this machine's own processor (or NUMBA_CPU_NAME). "x86-64-v3" follows if it has 256-bit vectors, which
    wrapper searches need, and "generic", any processor of this architecture, is last.
    """
    from llvmlite.binding import get_host_cpu_name
    from numba.core.codegen import get_host_cpu_features

    own = os.environ.get("NUMBA_CPU_NAME") or get_host_cpu_name()
    wide = own != "generic" and _WIDE.issubset(get_host_cpu_features().split(","))
    return own, *(["x86-64-v3"] if wide else []), "generic"


def stamp(family: str) -> Path | None:
    """Return the path of a marker file that exists if the group of kernels ``family`` has been compiled and saved.

    ``family`` is a name of ``bayesieve compile``. The name of the file depends on the versions of kernels, Numba and
    Python, and on the processor. Return the first existing file in the order of `processors`; if none exists, the one
    for this processor. Return None if compiled code cannot be saved.
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
    """Compile groups of kernels in other processes while the ``with`` block runs, unless they are saved on disk
    already.

    ``families`` are names of groups, as for ``bayesieve compile``. Numba compiles one kernel at a time in a process, so
    several processes are faster. Kernels that are not in these groups are compiled by this process.
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
    """Start and return a process that compiles the group of kernels ``family`` (``bayesieve compile FAMILY``)."""
    command = [sys.executable, "-m", "bayesieve", "compile", family, "--quiet"]
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, env={**os.environ, ALONE: "1"})
