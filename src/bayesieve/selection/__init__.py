"""Selectors: estimators that code a table, search for good feature subsets, and give each feature a weight."""

from __future__ import annotations

from bayesieve.parts import Score
from bayesieve.selection.averaging import AllFeatures, BayesianAveraging, CompressionAveraging, MAPSelector
from bayesieve.selection.base import CodedSelector
from bayesieve.selection.boosted import BoostedSelector
from bayesieve.selection.cfs import CFSSelector
from bayesieve.selection.clusters import DependenceClusterSelector, pair_statistics
from bayesieve.selection.filters import (
    FilterSelector,
    ImpreciseInformationGainSelector,
    InformationGainSelector,
    MRMRSelector,
)
from bayesieve.selection.registry import SELECTORS, make_selector
from bayesieve.selection.wrapper import AccuracySelector, AUCSelector, WrapperSelector

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
