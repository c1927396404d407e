"""Discretization: levels (intervals and groups) of raw columns, and the codes of rows by these levels."""

from bayesieve.discretize.binning import EqualFrequencyDiscretizer, EqualWidthDiscretizer, MDLPDiscretizer
from bayesieve.discretize.column_coders import MODLDiscretizer, MODLGrouper
from bayesieve.discretize.encoder import TableEncoder
from bayesieve.discretize.indicators import IndicatorEncoder
from bayesieve.discretize.refitting import LevelRefitter

__all__ = [
    "EqualFrequencyDiscretizer",
    "EqualWidthDiscretizer",
    "IndicatorEncoder",
    "LevelRefitter",
    "MDLPDiscretizer",
    "MODLDiscretizer",
    "MODLGrouper",
    "TableEncoder",
]
