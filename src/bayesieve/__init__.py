"""Selective naive Bayes: a raw table -> a small, accurate, calibrated and explainable classifier."""

import lazy_loader

import bayesieve.forking  # noqa: F401  it must be loaded before any fork

# Public names are listed in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
