"""Reproductions of papers, one folder each, with the data sets and the other classifiers that they compare with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesieve_lab.registry import PAPERS, make_study
    from bayesieve_lab.study import Options, Report, Study

__all__ = ["PAPERS", "Options", "Report", "Study", "make_study"]


def __getattr__(name: str) -> Any:
    """Import public names when they are first used: the command line lists `reproduce` without loading a study."""
    if name not in __all__:
        raise AttributeError(f"module 'bayesieve_lab' has no attribute {name!r}")
    from bayesieve_lab import registry

    return getattr(registry, name)
