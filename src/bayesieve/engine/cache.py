"""A folder that keeps the coded columns of a table for the next fit."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve.engine.base import OF_CODES
from bayesieve.engine.mapped import SCRATCH, Mapped
from bayesieve.table.derived_levels import features_from_json, features_to_json
from bayesieve.table.levels import TableLevels
from bayesieve.table.reading import checked_path
from bayesieve.table.writing import lock, write_atomically
from bayesieve.version import __version__

MANIFEST = "bayesieve-cache.json"
_FORMAT = "bayesieve cache 2"
_CODES = re.compile(r"codes-[0-9a-f]{16}\.bin")
_NOTES = re.compile(r"search-[0-9a-f]{16}\.bin")
_ROWS = r"rows-[0-9a-f]{16}-[0-9a-f]{16}\.bin"  # of former versions
_WHOLE = rf"{re.escape(MANIFEST)}|{_NOTES.pattern}"
_OWN = re.compile(rf"{_CODES.pattern}|{_ROWS}|{_WHOLE}|\.({_WHOLE})\.[0-9a-f]+\.tmp|{re.escape(SCRATCH)}\w+\.tmp")


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
