"""Selectors: encode, search, set the weights."""

from bayesieve.parts import Score
from bayesieve.selection.all_features import AllFeatures
from bayesieve.selection.averaging import BayesianAveraging, CompressionAveraging
from bayesieve.selection.base import CodedSelector
from bayesieve.selection.boosted import BoostedSelector
from bayesieve.selection.cfs import CFSSelector
from bayesieve.selection.clusters import DependenceClusterSelector
from bayesieve.selection.filters import FilterSelector
from bayesieve.selection.imprecise_information_gain import ImpreciseInformationGainSelector
from bayesieve.selection.information_gain import InformationGainSelector
from bayesieve.selection.map import MAPSelector
from bayesieve.selection.mrmr import MRMRSelector
from bayesieve.selection.pair_statistics import pair_statistics
from bayesieve.selection.registry import SELECTORS, make_selector
from bayesieve.selection.snb import AccuracySelector, AUCSelector
from bayesieve.selection.wrapper import WrapperSelector

__all__ = [
    "SELECTORS",
    "AUCSelector",
    "AccuracySelector",
    "AllFeatures",
    "BayesianAveraging",
    "BoostedSelector",
    "CFSSelector",
    "CodedSelector",
    "CompressionAveraging",
    "DependenceClusterSelector",
    "FilterSelector",
    "ImpreciseInformationGainSelector",
    "InformationGainSelector",
    "MAPSelector",
    "MRMRSelector",
    "Score",
    "WrapperSelector",
    "make_selector",
    "pair_statistics",
]
