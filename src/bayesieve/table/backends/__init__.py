"""How each dataframe library gives up its columns: one file per library, also of other packages."""

from __future__ import annotations

from functools import cache

from bayesieve.parts import Registry
from bayesieve.table.backends.arrays import ArraysBackend
from bayesieve.table.backends.base import Backend
from bayesieve.table.backends.pandas import PandasBackend
from bayesieve.table.backends.polars import PolarsBackend
from bayesieve.table.backends.pyarrow import ArrowBackend
from bayesieve.table.backends.sparse import SparseBackend

__all__ = ["BACKENDS", "Backend", "backend"]

BACKENDS: Registry[type[Backend]] = Registry(
    "bayesieve.backends", Backend, ArraysBackend, PolarsBackend, ArrowBackend, SparseBackend, PandasBackend
)


@cache
def backend(name: str) -> Backend:
    """The backend of this name."""
    return BACKENDS[name]()
