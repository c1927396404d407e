"""A folder that keeps the coded columns of a table for the next fit."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import secrets
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bayesieve.engine.mapped import Mapped
from bayesieve.table.pair_levels import features_from_json, features_to_json
from bayesieve.table.table_levels import TableLevels
from bayesieve.table.writing import checked_path, write_atomically
from bayesieve.version import __version__

MANIFEST = "bayesieve-cache.json"
_FORMAT = "bayesieve cache 1"
_CODES = re.compile(r"codes-[0-9a-f]{16}\.bin")
_NOTES = re.compile(r"search-[0-9a-f]{16}\.bin")
_ROWS = re.compile(r"rows-[0-9a-f]{16}-[0-9a-f]{16}\.bin")
_WHOLE = rf"{re.escape(MANIFEST)}|{_NOTES.pattern}"
_OWN = re.compile(rf"{_CODES.pattern}|{_ROWS.pattern}|{_WHOLE}|\.({_WHOLE})\.[0-9a-f]+\.tmp")


class Cache(Mapped):
    """A `Mapped` engine whose folder keeps the coded columns of one table.

    ``codes-*.bin`` holds the codes, one run of all rows per feature, in the order of the rows; the manifest holds the
    levels, a checksum of each run, and a digest of the data and the options that they came from. The manifest is
    written last, and replaced as a whole: codes that it does not name do not count. ``search-*.bin`` holds the finished
    starts of a search of these codes, which goes on from there after its process was ended. While a scanned table is
    read, ``rows-*.bin`` holds the numbers of its values; they go when the codes are complete.

    Parameters
    ----------
    folder : str or path
        Made unless it is there.
    options
        As of `Mapped`.

    Raises
    ------
    ValueError
        If the folder holds anything else, or cannot be made or written.
    """

    keeps_notes = True

    def __init__(self, folder: str | os.PathLike[str], **options: int) -> None:
        path = checked_path(folder)
        try:
            path.mkdir(parents=True, exist_ok=True)
            others = [file.name for file in path.iterdir() if not _OWN.fullmatch(file.name)]
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
        self._digest: str | None = None  # of the codes in use

    def remembered(
        self, facts: Callable[[], Iterable[Any]], make: Callable[[], tuple[TableLevels, np.ndarray]]
    ) -> tuple[TableLevels, np.ndarray]:
        digest = hashlib.sha256(__version__.encode())
        for fact in facts():
            digest.update(hashlib.sha256(fact).digest())
        key = self._digest = digest.hexdigest()
        kept = self._read(key)
        if kept is None:
            self._forget(lambda name: _ROWS.fullmatch(name) and not name.startswith(f"rows-{key[:16]}"))
            kept = make()
            self._keep(key, *kept)
        return kept

    def _note_of(self, key: str) -> Path:
        digest = hashlib.sha256(f"{self._digest} {key}".encode()).hexdigest()
        return self.folder / f"search-{digest[:16]}.bin"

    def kept_array(self, key: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray | None:
        if self._digest is None or self._is_small(shape, dtype):
            return None
        name = f"rows-{self._digest[:16]}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.bin"
        try:
            with open(self.folder / name, "a+b") as file:
                if os.fstat(file.fileno()).st_size != math.prod(shape) * np.dtype(dtype).itemsize:
                    file.truncate(0)
                return self.map(file, shape, dtype)
        except OSError as error:
            raise self._unwritable(error) from error

    def note(self, key: str, state: bytes) -> None:
        if self._digest is not None:
            try:
                write_atomically(self._note_of(key), hashlib.sha256(state).digest() + state)
            except OSError as error:
                raise self._unwritable(error) from error

    def noted(self, key: str) -> bytes | None:
        try:
            data = self._note_of(key).read_bytes()
        except OSError:
            return None
        return data[32:] if self._digest is not None and hashlib.sha256(data[32:]).digest() == data[:32] else None

    def _read(self, key: str) -> tuple[TableLevels, np.ndarray] | None:
        """The columns with this digest; None where they are not here, or are not whole."""
        try:
            manifest = json.loads((self.folder / MANIFEST).read_bytes())
            if (manifest["format"], manifest["digest"]) != (_FORMAT, key):
                return None
            levels = TableLevels.of(features_from_json(manifest["levels"]))
            shape, dtype = tuple(manifest["shape"]), np.dtype(manifest["dtype"])
            with open(self.folder / manifest["codes"], "rb") as file:
                codes = self.map(file, shape, dtype, read=True)
            return (levels, codes) if self._checksums(codes) == manifest["checksums"] else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):  # whatever damage to the files leads to
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
            write_atomically(self.folder / MANIFEST, json.dumps(manifest))
        except BaseException as error:
            with contextlib.suppress(OSError):
                (self.folder / name).unlink()
            if isinstance(error, OSError):
                raise self._unwritable(error) from error
            raise
        ended = re.compile(rf"{_CODES.pattern}|{_NOTES.pattern}|{_ROWS.pattern}")
        self._forget(lambda other: ended.fullmatch(other) and other != name)

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
