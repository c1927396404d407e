"""Registry of selectors by name."""

from __future__ import annotations

from sklearn.base import clone

from bayesieve.parts import Registry
from bayesieve.selection.averaging import AllFeatures, BayesianAveraging, CompressionAveraging, MAPSelector
from bayesieve.selection.base import CodedSelector
from bayesieve.selection.boosted import BoostedSelector
from bayesieve.selection.cfs import CFSSelector
from bayesieve.selection.clusters import DependenceClusterSelector
from bayesieve.selection.filters import ImpreciseInformationGainSelector, InformationGainSelector, MRMRSelector
from bayesieve.selection.wrapper import AccuracySelector, AUCSelector, WrapperSelector
from bayesieve.words import did_you_mean

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
    """Return a new selector for a registered name, or a clone of a selector object. Raise ValueError for an unknown
    name.
    """
    if isinstance(selector, CodedSelector):
        return clone(selector)
    if isinstance(selector, str) and selector in SELECTORS:
        return SELECTORS[selector]()
    hint = did_you_mean(selector, SELECTORS) if isinstance(selector, str) else ""
    message = f"selector must be one of {', '.join(map(repr, SELECTORS))} or a selector object, got {selector!r}"
    raise ValueError(f"{message}; {hint}" if hint else f"{message}.")
