"""Where a `SelectiveNB` keeps the rows while it fits: in memory, in files, or with the workers of a cluster."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bayesieve.engine import IN_MEMORY, Cache, Cluster, Engine, Mapped
from bayesieve.engine.memory_limit import mapped_options
from bayesieve.table.choices import is_choice

if TYPE_CHECKING:
    from bayesieve.classifier.selective import SelectiveNB

MEMORY, DISK = "memory", "disk"
_SCHEMES = ("dask://", "tcp://", "tls://", "ucx://", "inproc://")


@contextmanager
def opened_engine(model: SelectiveNB, scanned: bool) -> Iterator[Engine]:
    """Where ``fit`` keeps the rows, those of a scan in files; a cluster forgets them at the end, whatever ends it."""
    in_files = scanned or model.memory_limit is not None or is_choice(model.engine, (DISK,))
    limits = mapped_options(model.memory_limit) if in_files else {}
    if model.cache is not None:
        yield model.cache if isinstance(model.cache, Engine) else Cache(model.cache, **limits)
    elif is_cluster(model.engine):
        with Cluster(model.engine) as engine:
            yield engine
    elif isinstance(model.engine, Engine):
        yield model.engine
    else:
        yield Mapped(tempfile.gettempdir(), **limits) if limits else IN_MEMORY


def is_cluster(engine: Any) -> bool:
    """Whether this names a Dask cluster: the address of a scheduler, or a client."""
    if isinstance(engine, str):
        return engine.startswith(_SCHEMES)
    kinds = type(engine).__mro__
    return any(kind.__module__.startswith("distributed.") and kind.__name__ == "Client" for kind in kinds)


def check_engine(model: SelectiveNB) -> None:
    """Raise ValueError unless ``engine`` is one, and the only place to keep rows."""
    engine = model.engine
    if not (isinstance(engine, Engine) or is_choice(engine, (MEMORY, DISK)) or is_cluster(engine)):
        raise ValueError(
            "engine must be 'memory', 'disk', a Dask client, the address of its scheduler such as 'dask://host:8786', "
            f"or an Engine, got {engine!r:.80}."
        )
    if model.cache is not None and not is_choice(engine, (MEMORY, DISK)):
        raise ValueError("engine and cache are two places to keep the rows; give one of them only.")
