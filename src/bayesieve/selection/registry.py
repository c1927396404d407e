"""Selectors by the names that `SelectiveNB` and the command line use."""

from __future__ import annotations

from sklearn.base import clone

from bayesieve.parts import Registry
from bayesieve.selection.all_features import AllFeatures
from bayesieve.selection.averaging import BayesianAveraging, CompressionAveraging
from bayesieve.selection.base import CodedSelector
from bayesieve.selection.boosted import BoostedSelector
from bayesieve.selection.cfs import CFSSelector
from bayesieve.selection.clusters import DependenceClusterSelector
from bayesieve.selection.imprecise_information_gain import ImpreciseInformationGainSelector
from bayesieve.selection.information_gain import InformationGainSelector
from bayesieve.selection.map import MAPSelector
from bayesieve.selection.mrmr import MRMRSelector
from bayesieve.selection.snb import AccuracySelector, AUCSelector
from bayesieve.selection.wrapper import WrapperSelector

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
        return clone(selector)
    if isinstance(selector, str) and selector in SELECTORS:
        return SELECTORS[selector]()
    raise ValueError(
        f"selector must be one of {', '.join(map(repr, SELECTORS))} or a selector object, got {selector!r}."
    )
