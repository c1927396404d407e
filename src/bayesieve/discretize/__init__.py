"""Raw columns -> levels -> codes."""

from bayesieve.discretize.binning import EqualFrequencyDiscretizer, EqualWidthDiscretizer, MDLPDiscretizer
from bayesieve.discretize.encoder import TableEncoder
from bayesieve.discretize.indicators import IndicatorEncoder
from bayesieve.discretize.modl import MODLDiscretizer, MODLGrouper

__all__ = [
    "EqualFrequencyDiscretizer",
    "EqualWidthDiscretizer",
    "IndicatorEncoder",
    "MDLPDiscretizer",
    "MODLDiscretizer",
    "MODLGrouper",
    "TableEncoder",
]
