"""Selectors: encode, search, set the weights."""

from bayesieve.selection.all_features import AllFeatures
from bayesieve.selection.averaging import BayesianAveraging, CompressionAveraging
from bayesieve.selection.base import CodedSelector
from bayesieve.selection.imprecise_information_gain import ImpreciseInformationGainSelector
from bayesieve.selection.information_gain import InformationGainSelector
from bayesieve.selection.map import MAPSelector
from bayesieve.selection.registry import SELECTORS, make_selector
from bayesieve.selection.snb import AccuracySelector, AUCSelector
from bayesieve.selection.wrapper import WrapperSelector

__all__ = [
    "SELECTORS",
    "AUCSelector",
    "AccuracySelector",
    "AllFeatures",
    "BayesianAveraging",
    "CodedSelector",
    "CompressionAveraging",
    "ImpreciseInformationGainSelector",
    "InformationGainSelector",
    "MAPSelector",
    "WrapperSelector",
    "make_selector",
]
