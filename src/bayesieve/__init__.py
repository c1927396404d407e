"""Selective naive Bayes: a raw table -> a small, accurate, calibrated and explainable classifier."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bayesieve.version import __version__

if TYPE_CHECKING:
    from bayesieve.classifier import SelectiveNB, load
    from bayesieve.counts import CodedTable
    from bayesieve.decision import (
        BenefitClassifier,
        ThresholdTuner,
        calibration_summary,
        gains_curve,
        profit_curve,
        total_benefit,
    )
    from bayesieve.discretize import (
        EqualFrequencyDiscretizer,
        EqualWidthDiscretizer,
        IndicatorEncoder,
        MDLPDiscretizer,
        MODLDiscretizer,
        MODLGrouper,
        ParametricScore,
        RandomSums,
        TableEncoder,
    )
    from bayesieve.evaluation import RepeatedFolds, compare, selection_stability
    from bayesieve.naive_bayes import DiscreteNB
    from bayesieve.report import gains_figure, path_figure, profit_figure, reliability_figure, stability_figure
    from bayesieve.selection import (
        AccuracySelector,
        AllFeatures,
        AUCSelector,
        BayesianAveraging,
        BoostedSelector,
        CFSSelector,
        CompressionAveraging,
        DependenceClusterSelector,
        ImpreciseInformationGainSelector,
        InformationGainSelector,
        MAPSelector,
        MRMRSelector,
        WrapperSelector,
        pair_statistics,
    )
    from bayesieve.table import FeatureLevels
    from bayesieve.table.sources import scan

# Names are imported when they are first used, so that importing the package costs next to nothing.
_HOMES = {
    "AUCSelector": "bayesieve.selection",
    "AccuracySelector": "bayesieve.selection",
    "AllFeatures": "bayesieve.selection",
    "BayesianAveraging": "bayesieve.selection",
    "BenefitClassifier": "bayesieve.decision",
    "BoostedSelector": "bayesieve.selection",
    "CFSSelector": "bayesieve.selection",
    "CodedTable": "bayesieve.counts",
    "CompressionAveraging": "bayesieve.selection",
    "DependenceClusterSelector": "bayesieve.selection",
    "DiscreteNB": "bayesieve.naive_bayes",
    "EqualFrequencyDiscretizer": "bayesieve.discretize",
    "EqualWidthDiscretizer": "bayesieve.discretize",
    "FeatureLevels": "bayesieve.table",
    "ImpreciseInformationGainSelector": "bayesieve.selection",
    "IndicatorEncoder": "bayesieve.discretize",
    "InformationGainSelector": "bayesieve.selection",
    "MAPSelector": "bayesieve.selection",
    "MDLPDiscretizer": "bayesieve.discretize",
    "MODLDiscretizer": "bayesieve.discretize",
    "MODLGrouper": "bayesieve.discretize",
    "MRMRSelector": "bayesieve.selection",
    "ParametricScore": "bayesieve.discretize",
    "RandomSums": "bayesieve.discretize",
    "RepeatedFolds": "bayesieve.evaluation",
    "SelectiveNB": "bayesieve.classifier",
    "TableEncoder": "bayesieve.discretize",
    "ThresholdTuner": "bayesieve.decision",
    "WrapperSelector": "bayesieve.selection",
    "calibration_summary": "bayesieve.decision",
    "compare": "bayesieve.evaluation",
    "gains_curve": "bayesieve.decision",
    "gains_figure": "bayesieve.report",
    "load": "bayesieve.classifier",
    "pair_statistics": "bayesieve.selection",
    "path_figure": "bayesieve.report",
    "profit_curve": "bayesieve.decision",
    "profit_figure": "bayesieve.report",
    "reliability_figure": "bayesieve.report",
    "scan": "bayesieve.table.sources",
    "selection_stability": "bayesieve.evaluation",
    "stability_figure": "bayesieve.report",
    "total_benefit": "bayesieve.decision",
}

__all__ = [
    "AUCSelector",
    "AccuracySelector",
    "AllFeatures",
    "BayesianAveraging",
    "BenefitClassifier",
    "BoostedSelector",
    "CFSSelector",
    "CodedTable",
    "CompressionAveraging",
    "DependenceClusterSelector",
    "DiscreteNB",
    "EqualFrequencyDiscretizer",
    "EqualWidthDiscretizer",
    "FeatureLevels",
    "ImpreciseInformationGainSelector",
    "IndicatorEncoder",
    "InformationGainSelector",
    "MAPSelector",
    "MDLPDiscretizer",
    "MODLDiscretizer",
    "MODLGrouper",
    "MRMRSelector",
    "ParametricScore",
    "RandomSums",
    "RepeatedFolds",
    "SelectiveNB",
    "TableEncoder",
    "ThresholdTuner",
    "WrapperSelector",
    "__version__",
    "calibration_summary",
    "compare",
    "gains_curve",
    "gains_figure",
    "load",
    "pair_statistics",
    "path_figure",
    "profit_curve",
    "profit_figure",
    "reliability_figure",
    "scan",
    "selection_stability",
    "stability_figure",
    "total_benefit",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bayesieve' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
