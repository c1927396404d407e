"""Storage of rows in memory or in files, threads, and block-wise reading for counts and searches."""

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
