"""Access to rows: searches only *reduce* a function over blocks of rows or *update* the state of each block."""

from bayesieve.engine.memory import InMemory
from bayesieve.engine.parallel import effective_jobs, in_abandonable_threads, map_in_threads

__all__ = ["InMemory", "effective_jobs", "in_abandonable_threads", "map_in_threads"]
