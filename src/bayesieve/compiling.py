"""How kernels are compiled: machine code kept on disk, the interpreter lock released, divisions as NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

# No wrapper for calls from C, which nobody makes: it takes time to compile.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def jit(function: Callable[..., Any]) -> Any:
    """Compile ``function`` when it is first called, and keep the machine code on disk where a folder can be written.

    Where there is none (a read-only installation without a home folder) the kernel is compiled anew by every process,
    and a warning tells once how to change that.
    """
    return _compiled(function)


def jit_inner(function: Callable[..., Any]) -> Any:
    """Compile a kernel that only other kernels call: its code becomes part of theirs, so that it needs neither a place
    on disk nor a way in from Python, which would take time to compile. Python must not call it.
    """
    return _inner(function)


def jit_sum(function: Callable[..., Any]) -> Any:
    """As `jit_inner`, for loops that end in a sum: its terms may be added in any order and products added in one
    operation, without which no compiler makes vectors of it. Infinities and NaN keep their meaning. Sums then differ by
    rounding between kinds of processors, never between runs or numbers of threads.
    """
    return _inner(function, fastmath={"reassoc", "contract"})


def _inner(function: Callable[..., Any], **options: Any) -> Any:
    from numba import njit

    options = {**_OPTIONS, "no_cpython_wrapper": True, **options}
    return njit(**options)(function)


def _compiled(function: Callable[..., Any]) -> Any:
    from numba import njit

    try:
        compiled: Any = njit(cache=True, **_OPTIONS)(function)
        _depend_on_all_kernels(compiled)
        return compiled
    except RuntimeError:
        _tell_once()
        return njit(**_OPTIONS)(function)


def _depend_on_all_kernels(compiled: Any) -> None:
    """Numba forgets what it keeps on disk when the file of the kernel changes, but not when that of another kernel does
    which this one calls, and whose code is part of it: that would go on with old code, and say nothing.
    """
    kept: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(kept, "_source_stamp"):
        kept._source_stamp = (kept._source_stamp, kernel_sources())


@cache
def kernel_sources() -> tuple[tuple[str, int, int], ...]:
    """Name, time of the last change and size of every file of kernels."""
    folder = Path(__file__).parent
    found = [(path, path.stat()) for path in sorted(folder.glob("*/_*kernels.py"))]
    return tuple((path.relative_to(folder).as_posix(), stat.st_mtime_ns, stat.st_size) for path, stat in found)


@cache
def _tell_once() -> None:
    warnings.warn(
        "Compiled code cannot be kept, as neither the folder of bayesieve nor a cache folder of the user can be "
        "written: every start compiles anew; set NUMBA_CACHE_DIR to a folder that can be written.",
        RuntimeWarning,
        stacklevel=2,
    )
