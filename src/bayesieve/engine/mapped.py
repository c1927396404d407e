"""Rows in files, read and written through memory maps."""

from __future__ import annotations

import math
import mmap
import os
import tempfile
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from bayesieve.engine.base import Engine, InMemory

_IN_MEMORY_BYTES = 1 << 20  # arrays up to this size are not worth a file
_ZEROS = bytes(1 << 20)
SCRATCH = ".bayesieve-rows-"
"""Beginning of the names of files, for the moment that they have one on systems without unnamed files."""


class Mapped(InMemory):
    """Rows in files of a folder, read and written through memory maps, a block at a time.

    Arrays are unnamed files that vanish when they are no longer needed, or when the process ends in any way.

    Parameters
    ----------
    folder : str or path
        Where the files are; it must exist.
    block_rows : int, default=262144
        Rows of a block.
    resident_bytes : int, default=256 MiB
        Bytes read or written after which the pages of all files may leave the memory of the process. The system keeps
        them for as long as it has memory to spare.
    memory_bytes : int, default=0
        Bytes of floating-point arrays, which searches write at every step, that stay in memory all the same.
    reading_bytes : int or None, default=None
        Bytes that the distinct values of a scanned table may take while they are counted, and blocks of its rows as
        many; None: no limit.

    Examples
    --------
    >>> import tempfile
    >>> from bayesieve import TableEncoder, WrapperSelector
    >>> from bayesieve.engine import Mapped
    >>> from sklearn.datasets import load_breast_cancer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X, y = load_breast_cancer(return_X_y=True)
    ...     coded = TableEncoder().fit_transform_coded(X, y, engine=Mapped(folder))
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
        return InMemory, ()  # a table that is pickled takes its codes along

    def array(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        if self._is_small(shape, dtype):
            return np.empty(shape, dtype)
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        if np.dtype(dtype).kind == "f" and self._take_memory(n_bytes):
            array = np.empty(shape, dtype)
            weakref.finalize(array, self._take_memory, -n_bytes)
            return array
        try:
            with tempfile.TemporaryFile(dir=self.folder, prefix=SCRATCH, suffix=".tmp") as file:
                return self.map(file, shape, dtype)
        except OSError as error:
            raise self._unwritable(error) from error

    def _is_small(self, shape: tuple[int, ...], dtype: Any) -> bool:
        return math.prod(shape) * np.dtype(dtype).itemsize <= _IN_MEMORY_BYTES

    def _take_memory(self, n_bytes: int) -> bool:
        """Take ``n_bytes`` of memory; whether they were left."""
        with self._lock:
            fits = n_bytes <= self._memory_left
            self._memory_left -= n_bytes if fits else 0
            return fits

    def _unwritable(self, error: OSError) -> OSError:
        return OSError(f"{self.folder} cannot be written ({error.strerror}); check its rights and space.")

    def map(self, file: IO[bytes], shape: tuple[int, ...], dtype: Any, *, read: bool = False) -> np.ndarray:
        """An array in a file: a new one of the size of the array or, with ``read``, one that has its values."""
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        if not read and os.fstat(file.fileno()).st_size != n_bytes:
            _allocate(file, n_bytes)  # a full disk must not end the process when a page is written
        # A private copy of what is read: kernels are compiled for arrays that may be written.
        mapped = mmap.mmap(file.fileno(), n_bytes, access=mmap.ACCESS_COPY if read else mmap.ACCESS_WRITE)
        with self._lock:
            self._maps.add(mapped)
        return np.frombuffer(mapped, dtype).reshape(shape)

    def visited(self, n_bytes: int) -> None:
        with self._lock:
            self._visited += n_bytes
            if self._visited < self.resident_bytes:
                return
            self._visited = 0
            maps = list(self._maps)
        for mapped in maps if hasattr(mmap, "MADV_DONTNEED") else []:
            mapped.madvise(mmap.MADV_DONTNEED)

    def take(self, array: np.ndarray, rows: Any) -> np.ndarray:
        return Engine.take(self, array, rows)


def _allocate(file: IO[bytes], n_bytes: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, n_bytes)
        return
    for at in range(0, n_bytes, len(_ZEROS)):
        file.write(_ZEROS[: n_bytes - at])
    file.flush()
