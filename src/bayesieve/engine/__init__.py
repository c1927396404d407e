"""Engines: storage of the arrays of a fit in memory or files, and execution of work in threads or by executors.

An *engine* allocates arrays and divides rows into *blocks* that are processed one after another, so that memory is
limited. An *executor* runs functions in other processes or on other machines.
"""

from bayesieve.engine.base import IN_MEMORY, Engine, effective_jobs, map_in_abandonable_threads, map_in_threads
from bayesieve.engine.files import Mapped

__all__ = [
    "IN_MEMORY",
    "Engine",
    "Mapped",
    "effective_jobs",
    "map_in_abandonable_threads",
    "map_in_threads",
]
