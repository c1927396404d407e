"""`Mapped`, an engine that keeps arrays in memory-mapped files, and its options for a memory limit."""

from __future__ import annotations

import math
import mmap
import os
import re
import tempfile
import threading
import weakref
from collections.abc import Callable
from numbers import Integral
from pathlib import Path
from typing import IO, Any

import numpy as np

from bayesieve.engine.base import Engine

_IN_MEMORY_BYTES = 1 << 20  # smaller arrays are not worth a file
_ZEROS = bytes(1 << 20)
_SCRATCH = ".bayesieve-rows-"
"""Prefix of the names of files, which exist only briefly, on systems without unnamed files."""
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_LEAST = 512 << 20  # most of it is used by Python, NumPy, polars and compiled code
_DEFAULT = 4 << 30
_LEAST_READING = 64 << 20


class Mapped(Engine):
    """Engine that keeps arrays in memory-mapped files, so that tables larger than memory can be fitted.

    The files have no names; they disappear when the arrays are no longer used, or when the process ends in any way.

    Parameters
    ----------
    folder : str or path
        Existing folder for the files.
    block_rows : int, default=262144
        Number of rows in a block.
    resident_bytes : int, default=256 MiB
        Number of bytes read or written after which the process releases the pages of all files. The operating system
        still caches them while it has free memory.
    memory_bytes : int, default=0
        Limit on the bytes of floating-point arrays that are kept in memory instead of files, because searches write
        them at every step.
    reading_bytes : int or None, default=None
        Limit on the bytes of the distinct values of a scanned table while they are counted, and of the blocks of rows
        that are read; None for no limit.

    Examples
    --------
    >>> import tempfile
    >>> from bayesieve import TableEncoder, WrapperSelector
    >>> from bayesieve.discretize.coding_options import CodingOptions
    >>> from bayesieve.engine import Mapped
    >>> from sklearn.datasets import load_breast_cancer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X, y = load_breast_cancer(return_X_y=True)
    ...     coded = TableEncoder().fit_transform_coded(X, y, coding=CodingOptions(Mapped(folder)))
    ...     selected = WrapperSelector("log_loss").fit_coded(coded).support_.sum()
    >>> int(selected)
    7
    """

    most_state_bytes = 1 << 62  # in files

    def __init__(
        self,
        folder: str | os.PathLike[str],
        block_rows: int = 1 << 18,
        resident_bytes: int = 256 << 20,
        memory_bytes: int = 0,
        reading_bytes: int | None = None,
    ) -> None:
        super().__init__(block_rows)
        self.folder = Path(folder)
        self.resident_bytes = resident_bytes
        self.reading_bytes = reading_bytes
        self._memory_left = memory_bytes
        self._visited = 0
        self._maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Engine, ()  # a table that is pickled takes its codes along

    def array(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return a new uninitialised array: in memory if it is small or the reserve suffices, otherwise in a file."""
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        if n_bytes <= _IN_MEMORY_BYTES:
            return np.empty(shape, dtype)
        if np.dtype(dtype).kind == "f" and self._take_memory(n_bytes):
            array = np.empty(shape, dtype)
            weakref.finalize(array, self._take_memory, -n_bytes)
            return array
        try:
            with tempfile.TemporaryFile(dir=self.folder, prefix=_SCRATCH, suffix=".tmp") as file:
                return self._map(file, shape, dtype)
        except OSError as error:
            raise self._unwritable(error) from error

    def _take_memory(self, n_bytes: int) -> bool:
        """Reserve ``n_bytes`` of the memory for floating-point arrays; return False if not enough is left.

        A negative number returns memory to the reserve.
        """
        with self._lock:
            fits = n_bytes <= self._memory_left
            self._memory_left -= n_bytes if fits else 0
            return fits

    def _unwritable(self, error: OSError) -> OSError:
        """Return an error that names the folder, to raise instead of ``error``."""
        return OSError(f"{self.folder} cannot be written ({error.strerror}); check its permissions and free space.")

    def _map(self, file: IO[bytes], shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an array of the given shape and type that is mapped to ``file``, which is open and empty."""
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        _allocate(file, n_bytes)  # a full disk must not end the process when a page is written
        mapped = mmap.mmap(file.fileno(), n_bytes, access=mmap.ACCESS_WRITE)
        with self._lock:
            self._maps.add(mapped)
        return np.frombuffer(mapped, dtype).reshape(shape)

    def release(self, n_bytes: int) -> None:
        """Count ``n_bytes`` as read or written; from ``resident_bytes`` on, drop the pages of all files from memory."""
        with self._lock:
            self._visited += n_bytes
            if self._visited < self.resident_bytes:
                return
            self._visited = 0
            maps = list(self._maps)
        for mapped in maps if hasattr(mmap, "MADV_DONTNEED") else []:
            mapped.madvise(mmap.MADV_DONTNEED)

    def take(self, array: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the columns ``rows`` (positions) of an array (n, n_rows) as a new array (n, n_taken) of this
        engine.
        """
        taken = self.array((len(array), len(rows)), array.dtype)
        for from_, to in zip(array, taken, strict=True):
            to[:] = from_[rows]
            self.release(from_.nbytes + to.nbytes)
        return taken


def _allocate(file: IO[bytes], n_bytes: int) -> None:
    """Reserve disk space for ``n_bytes`` of an open file, so that a full disk raises an error now."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, n_bytes)
        return
    for at in range(0, n_bytes, len(_ZEROS)):
        file.write(_ZEROS[: n_bytes - at])
    file.flush()


def bytes_of(memory_limit: Any) -> int:
    """Convert the option ``memory_limit`` to bytes.

    It is a number, a text such as ``"4GiB"``, or None for the smaller of 4 GiB and half of the machine's memory, but at
    least 512 MiB. Raise ValueError for any other value, and for less than 512 MiB.
    """
    if memory_limit is None:
        has = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2 * _DEFAULT
        return max(_LEAST, min(_DEFAULT, has // 2))
    size = 0
    if isinstance(memory_limit, Integral) and not isinstance(memory_limit, bool):
        size = int(memory_limit)
    elif isinstance(memory_limit, str) and (
        match := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*?)b?\s*", memory_limit.lower())
    ):
        size = int(float(match[1]) * _UNITS.get(match[2], 0))
    if size < _LEAST:
        raise ValueError(
            "memory_limit must be a number of bytes or text such as '4GiB', at least 512 MiB, got "
            f"{memory_limit!r:.60}."
        )
    return size


def mapped_options(memory_limit: Any) -> dict[str, int]:
    """Return the keyword arguments of a `Mapped` engine that keeps a fit within the option ``memory_limit``, by
    name.
    """
    limit = bytes_of(memory_limit)
    free = max(0, limit - _LEAST)
    reading = max(_LEAST_READING, free // 3)  # for values, blocks, and what is left over
    return {"resident_bytes": limit // 8, "memory_bytes": free // 2, "reading_bytes": reading}
