"""Where rows live: three verbs - reduce, update, collect - are all that searches know of them."""

from bayesieve.engine.memory import InMemory
from bayesieve.engine.parallel import effective_jobs, in_abandonable_threads, map_in_threads

__all__ = ["InMemory", "effective_jobs", "in_abandonable_threads", "map_in_threads"]
