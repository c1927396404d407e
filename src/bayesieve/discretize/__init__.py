"""Discretization: levels of raw columns (intervals of numbers, groups of categories), and integer codes of rows by
level.
"""

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
