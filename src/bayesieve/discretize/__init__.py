"""Discretization: from raw columns to levels, and from levels to codes."""

from bayesieve.discretize.binning import EqualFrequencyDiscretizer, EqualWidthDiscretizer, MDLPDiscretizer
from bayesieve.discretize.column_coders import MODLDiscretizer, MODLGrouper
from bayesieve.discretize.encoder import TableEncoder
from bayesieve.discretize.indicators import IndicatorEncoder

__all__ = [
    "EqualFrequencyDiscretizer",
    "EqualWidthDiscretizer",
    "IndicatorEncoder",
    "MDLPDiscretizer",
    "MODLDiscretizer",
    "MODLGrouper",
    "TableEncoder",
]
