"""Engines: where the arrays of a fit are stored (memory or files), and how rows are read in blocks, threads and
executors.
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
