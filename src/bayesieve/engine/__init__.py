"""Where rows live: searches and counts walk them block by block, wherever they are."""

from bayesieve.engine.base import (
    IN_MEMORY,
    Engine,
    InMemory,
    Parts,
    effective_jobs,
    map_in_abandonable_threads,
    map_in_threads,
)
from bayesieve.engine.cluster import Cluster
from bayesieve.engine.files import Cache, Mapped

__all__ = [
    "IN_MEMORY",
    "Cache",
    "Cluster",
    "Engine",
    "InMemory",
    "Mapped",
    "Parts",
    "effective_jobs",
    "map_in_abandonable_threads",
    "map_in_threads",
]
