"""The lab of bayesieve: comparisons of methods, reproductions of papers, data sets, simulations, other classifiers."""

import lazy_loader

# Public names are listed in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
