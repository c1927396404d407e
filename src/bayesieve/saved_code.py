"""Numba cache whose keys are the contents of the sources, so that copies and reinstallations reuse compiled code."""

from __future__ import annotations

import hashlib
import inspect
import os
from functools import cache
from pathlib import Path
from typing import Any

import numba.core.config
from numba.core import caching

from bayesieve import compiling


def _public(name: str) -> Any:
    """Return a class of Numba by its public name or, in older versions, its private one."""
    return getattr(caching, name, None) or getattr(caching, f"_{name}")


class _ByContent(_public("UserProvidedCacheLocator")):  # type: ignore[misc]
    """Locator of a cache folder below NUMBA_CACHE_DIR, named after the package instead of the path of the sources."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Return the name of the folder for the kernels of a source file, from the hash of its contents."""
        digest = hashlib.sha256(repr(_stamp(py_file)).encode()).hexdigest()
        return f"kernels_{digest[:16]}"


class _Shipped(_public("InTreeCacheLocator")):  # type: ignore[misc]
    """Locator of a cache folder beside the sources, which may be read-only."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """Return a locator for the source file ``py_file``; None if it does not exist. Called by Numba."""
        return cls(py_func, py_file) if os.path.isfile(py_file) else None


class _Code(caching.CompileResultCacheImpl):
    """Numba's storage of compiled code, with the folders that this package searches."""

    _locator_classes = (_ByContent, *caching.CompileResultCacheImpl._locator_classes, _Shipped)  # type: ignore[assignment]


class _Index(caching.IndexDataCacheFile):
    """Numba's index of compiled code; empty if another version saved it in a form that this one cannot read."""

    def _load_index(self) -> Any:
        """Return the index from disk, or an empty one if it cannot be read."""
        try:
            return super()._load_index()
        except (AttributeError, ImportError, OSError):  # saved by another version, with types that this one lacks
            return {}


class SavedCode(caching.FunctionCache):
    """Compiled code of a kernel on disk, keyed by the contents of all files of kernels, because kernels include code of
    others.

    Code is searched for below NUMBA_CACHE_DIR, in the folder that wheels fill, and beside the sources (in container
    images). Code for another processor that this machine can run is accepted as well, such as that for "generic" (see
    NUMBA_CPU_NAME).
    """

    _impl_class = _Code

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        file = inspect.getfile(function)
        folders = [Path(self._cache_path)]
        if os.path.isfile(file):
            by_content = _ByContent.get_suitable_cache_subpath(file)
            caches = (getattr(numba.core.config, "CACHE_DIR", ""), compiling.SHIPPED)
            folders += [Path(cache) / by_content for cache in caches if cache]
            folders.append(Path(file).parent / "__pycache__")
            self._cache_file._source_stamp = _stamp(file)
        stamp = self._cache_file._source_stamp
        self._indices = [_Index(str(folder), self._impl.filename_base, stamp) for folder in dict.fromkeys(folders)]
        self._cache_file = self._indices[0]

    @property
    def cache_path(self) -> str | None:
        """Folder of saved code, or None if nothing can be saved."""
        return None if isinstance(self._impl.locator, _Shipped) else str(self._cache_path)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for the argument types ``sig`` and Numba's compiler context, from the first folder
        that has it, if necessary for a compatible processor; None if no folder has it.
        """
        own = self._index_key(sig, target_context.codegen())
        for key in (own, *((own[0], (own[1][0], name, ""), *own[2:]) for name in compiling.processors()[1:])):
            for index in self._indices:
                data = index.load(key)
                if data is not None:
                    return self._impl.rebuild(target_context, data)
        return None

    def _save_overload(self, sig: Any, data: Any) -> None:
        """Save ``data``, the compiled code for the argument types ``sig``; warn once if the folder cannot
        be written.
        """
        try:
            super()._save_overload(sig, data)
        except OSError:
            compiling.warn_once()


def _stamp(file: str) -> tuple[Any, ...]:
    """Return the hashes of a source file and of all files of kernels. Code saved with other hashes is out of date."""
    return _hash(file), compiling.kernel_sources()


@cache
def _hash(file: str) -> str:
    """Return the SHA-256 hash of a file's contents as hexadecimal digits."""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()
