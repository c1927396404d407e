"""Rows in files, read and written through memory maps; a folder that keeps those of a table for the next fit; and how
much memory this may take.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import mmap
import os
import re
import secrets
import tempfile
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from pathlib import Path
from typing import IO, Any

import numpy as np

from bayesieve.engine.base import OF_CODES, Engine, InMemory
from bayesieve.table.derived_levels import features_from_json, features_to_json
from bayesieve.table.levels import TableLevels
from bayesieve.table.reading import checked_path
from bayesieve.table.writing import lock, write_atomically
from bayesieve.version import __version__

_IN_MEMORY_BYTES = 1 << 20  # arrays up to this size are not worth a file
_ZEROS = bytes(1 << 20)
SCRATCH = ".bayesieve-rows-"
"""Beginning of the names of files, for the moment that they have one on systems without unnamed files."""
MANIFEST = "bayesieve-cache.json"
_FORMAT = "bayesieve cache 3"
_CODES = re.compile(r"codes-[0-9a-f]{16}\.bin")
_NOTES = re.compile(r"search-[0-9a-f]{16}\.bin")
_ROWS = r"rows-[0-9a-f]{16}-[0-9a-f]{16}\.bin"  # of former versions
_WHOLE = rf"{re.escape(MANIFEST)}|{_NOTES.pattern}"
_OWN = re.compile(rf"{_CODES.pattern}|{_ROWS}|{_WHOLE}|\.({_WHOLE})\.[0-9a-f]+\.tmp|{re.escape(SCRATCH)}\w+\.tmp")
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_LEAST = 512 << 20  # Python, NumPy, polars and compiled code take most of it
_DEFAULT = 4 << 30
_LEAST_READING = 64 << 20


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
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        if n_bytes <= _IN_MEMORY_BYTES:
            return np.empty(shape, dtype)
        if np.dtype(dtype).kind == "f" and self._take_memory(n_bytes):
            array = np.empty(shape, dtype)
            weakref.finalize(array, self._take_memory, -n_bytes)
            return array
        try:
            with tempfile.TemporaryFile(dir=self.folder, prefix=SCRATCH, suffix=".tmp") as file:
                return self.map(file, shape, dtype)
        except OSError as error:
            raise self._unwritable(error) from error

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


class Cache(Mapped):
    """A `Mapped` engine whose folder keeps the coded columns of one table.

    ``codes-*.bin`` holds the codes, one run of all rows per feature, in the order of the rows; the manifest holds the
    levels, a checksum of each run, a digest of the data and the options that they came from, and one of itself. The
    manifest is written last, and replaced as a whole: codes that it does not name do not count. ``search-*.bin`` holds
    the finished starts of a search of these codes, which goes on from there after its process was ended; while a
    scanned table is read, the counts of its values so far, which go when the codes are complete.

    One fit at a time writes codes: it locks the folder. Others use codes that are complete, or make theirs without
    keeping them.

    Parameters
    ----------
    folder : str or path
        Made unless it is there.
    options
        As of `Mapped`.

    Raises
    ------
    ValueError
        If the folder holds anything else, symbolic links included, or cannot be made or written.
    """

    def __init__(self, folder: str | os.PathLike[str], **options: int) -> None:
        path = checked_path(folder)
        try:
            path.mkdir(parents=True, exist_ok=True)
            others = [file.name for file in path.iterdir() if file.is_symlink() or not _OWN.fullmatch(file.name)]
        except (FileExistsError, NotADirectoryError):
            raise ValueError(f"{folder} is not a folder; give a new or an empty folder as the cache.") from None
        except OSError as error:
            raise ValueError(
                f"{folder} cannot be used as a cache ({error.strerror}); give a folder that can be written."
            ) from None
        if others:
            raise ValueError(
                f"{folder} holds other files than a cache of bayesieve ({min(others)}); give a new or an empty folder."
            )
        super().__init__(path, **options)
        self._use(None)

    def _use(self, digest: str | None) -> None:
        """Note what belongs to the codes with this digest; None: nothing, as for a fit that has no lock."""
        self._digest, self.keeps_notes = digest, digest is not None

    def remembered(
        self, facts: Callable[[], Iterable[Any]], make: Callable[[], tuple[TableLevels, np.ndarray]]
    ) -> tuple[TableLevels, np.ndarray]:
        digest = hashlib.sha256(__version__.encode())
        for fact in facts():
            digest.update(hashlib.sha256(fact).digest())
        key = digest.hexdigest()
        kept = self._read(key)
        if kept is None:
            with self._locked() as locked:
                kept = self._make(key, make, locked)
                if locked is False:
                    return kept
        self._use(key)
        return kept

    @contextlib.contextmanager
    def _locked(self) -> Iterator[bool | None]:
        """Lock the folder; False if another fit has, None if the system cannot."""
        descriptor: int | None = None
        locked: bool | None = None
        try:
            descriptor = os.open(self.folder, os.O_RDONLY)
            locked = lock(descriptor) or None
        except BlockingIOError:
            locked = False
        except OSError:  # Windows opens no folders, some file systems have no locks
            pass
        try:
            yield locked
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _make(
        self, key: str, make: Callable[[], tuple[TableLevels, np.ndarray]], locked: bool | None
    ) -> tuple[TableLevels, np.ndarray]:
        """Make the codes, and keep them unless another fit has the folder. Notes of how far counting has come are for
        the only process that writes them.
        """
        self._use(key if locked else None)
        made = make()
        if locked is not False:
            self._use(key)
            self._keep(key, *made)
        return made

    def _note_of(self, key: str) -> Path:
        return self.folder / f"search-{self._sealed(key, b'').hex()[:16]}.bin"

    def _sealed(self, key: str, state: bytes) -> bytes:
        """A digest of a note, what it is about included."""
        return hashlib.sha256(f"{self._digest} {key}\0".encode() + state).digest()

    def note(self, key: str, state: bytes) -> None:
        if self._digest is not None:
            try:
                write_atomically(self._note_of(key), self._sealed(key, state) + state)
            except OSError as error:
                raise self._unwritable(error) from error

    def noted(self, key: str) -> bytes | None:
        if self._digest is None:
            return None
        try:
            data = self._note_of(key).read_bytes()
        except OSError:
            return None
        return data[32:] if self._sealed(key, data[32:]) == data[:32] else None

    def _read(self, key: str) -> tuple[TableLevels, np.ndarray] | None:
        """The columns with this digest; or None if they are not here, or not whole."""
        try:
            manifest = json.loads((self.folder / MANIFEST).read_bytes())
            whole = manifest.pop("sha256") == hashlib.sha256(json.dumps(manifest).encode()).hexdigest()
            if not whole or (manifest["format"], manifest["digest"]) != (_FORMAT, key):
                return None
            levels = TableLevels.of(features_from_json(manifest["levels"]))
            levels.n_constant, levels.doubtful = manifest["n_constant"], np.array(manifest["doubtful"], dtype=np.int64)
            shape, dtype = tuple(manifest["shape"]), np.dtype(manifest["dtype"])
            with open(self.folder / manifest["codes"], "rb") as file:
                codes = self.map(file, shape, dtype, read=True)
            return (levels, codes) if self._checksums(codes) == manifest["checksums"] else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):  # damage to the files
            return None

    def _keep(self, key: str, levels: TableLevels, codes: np.ndarray) -> None:
        """Write the codes, then the manifest that makes them valid; other codes go."""
        name = f"codes-{secrets.token_hex(8)}.bin"
        try:
            with open(self.folder / name, "xb") as file:
                for run in codes:
                    file.write(memoryview(run))
                    self.visited(run.nbytes)
                file.flush()
                os.fsync(file.fileno())
            manifest: dict[str, Any] = {
                "format": _FORMAT,
                "digest": key,
                "codes": name,
                "shape": codes.shape,
                "dtype": codes.dtype.str,
                "checksums": self._checksums(codes),
                "levels": features_to_json(levels),
                "n_constant": levels.n_constant,
                "doubtful": levels.doubtful.tolist(),
            }
            manifest["sha256"] = hashlib.sha256(json.dumps(manifest).encode()).hexdigest()
            write_atomically(self.folder / MANIFEST, json.dumps(manifest))
        except BaseException as error:
            with contextlib.suppress(OSError):
                (self.folder / name).unlink()
            if isinstance(error, OSError):
                raise self._unwritable(error) from error
            raise
        ended = re.compile(rf"{_CODES.pattern}|{_NOTES.pattern}|{_ROWS}")
        stay = (name, self._note_of(OF_CODES).name)
        self._forget(lambda other: ended.fullmatch(other) and other not in stay)

    def _forget(self, goes: Callable[[str], Any]) -> None:
        for name in filter(goes, os.listdir(self.folder)):
            with contextlib.suppress(OSError):  # another fit may have been faster
                Path(self.folder / name).unlink()

    def _checksums(self, codes: np.ndarray) -> list[int]:
        sums = []
        for run in codes:
            sums.append(zlib.crc32(memoryview(run)))
            self.visited(run.nbytes)
        return sums


def bytes_of(memory_limit: Any) -> int:
    """``memory_limit`` in bytes: a number, or text such as ``"4GiB"``; None is 4 GiB, or half the memory of the machine
    if that is less.

    ValueError for anything else, and for less than 512 MiB.
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
    """Options of a `Mapped` engine that keeps a fit within the limit."""
    limit = bytes_of(memory_limit)
    free = max(0, limit - _LEAST)
    reading = max(_LEAST_READING, free // 3)  # for values, blocks, and what is left over
    return {"resident_bytes": limit // 8, "memory_bytes": free // 2, "reading_bytes": reading}
