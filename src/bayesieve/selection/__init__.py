"""Selectors: encode, search, set the weights."""

from bayesieve.selection.all_features import AllFeatures
from bayesieve.selection.averaging import BayesianAveraging, CompressionAveraging
from bayesieve.selection.base import CodedSelector
from bayesieve.selection.map import MAPSelector
from bayesieve.selection.registry import SELECTORS, make_selector

__all__ = [
    "SELECTORS",
    "AllFeatures",
    "BayesianAveraging",
    "CodedSelector",
    "CompressionAveraging",
    "MAPSelector",
    "make_selector",
]
