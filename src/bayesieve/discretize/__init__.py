"""Raw columns -> levels -> codes."""

from bayesieve.discretize.binning import EqualFrequencyDiscretizer, EqualWidthDiscretizer
from bayesieve.discretize.encoder import TableEncoder
from bayesieve.discretize.modl import MODLDiscretizer, MODLGrouper

__all__ = ["EqualFrequencyDiscretizer", "EqualWidthDiscretizer", "MODLDiscretizer", "MODLGrouper", "TableEncoder"]
