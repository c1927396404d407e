"""Selectors: encode, search, set the weights; by the names that `SelectiveNB` and the command line use."""

from __future__ import annotations

from bayesieve.parts import Registry, Score
from bayesieve.selection.averaging import AllFeatures, BayesianAveraging, CompressionAveraging, MAPSelector
from bayesieve.selection.base import CodedSelector
from bayesieve.selection.boosted import BoostedSelector
from bayesieve.selection.cfs import CFSSelector
from bayesieve.selection.clusters import DependenceClusterSelector
from bayesieve.selection.filters import FilterSelector, ImpreciseInformationGainSelector, InformationGainSelector
from bayesieve.selection.mrmr import MRMRSelector
from bayesieve.selection.pair_statistics import pair_statistics
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

SELECTORS: Registry[type[CodedSelector]] = Registry(
    "bayesieve.selectors",
    CodedSelector,
    AllFeatures,
    MAPSelector,
    BayesianAveraging,
    CompressionAveraging,
    WrapperSelector,
    BoostedSelector,
    DependenceClusterSelector,
    AccuracySelector,
    AUCSelector,
    InformationGainSelector,
    ImpreciseInformationGainSelector,
    MRMRSelector,
    CFSSelector,
)


def make_selector(selector: str | CodedSelector) -> CodedSelector:
    """A fresh selector from its name, or a clone of the one given; ValueError for a name that does not exist."""
    if isinstance(selector, CodedSelector):
        from sklearn.base import clone  # before the modules above, it would make the start slower

        return clone(selector)
    if isinstance(selector, str) and selector in SELECTORS:
        return SELECTORS[selector]()
    raise ValueError(
        f"selector must be one of {', '.join(map(repr, SELECTORS))} or a selector object, got {selector!r}."
    )
