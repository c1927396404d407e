"""Coded rows, their counts by level and class, and log probabilities from counts."""

from bayesieve.counts.coded import CodedTable
from bayesieve.counts.contingency import ContingencyCounts, Smoothing, check_smoothing, log_probabilities
from bayesieve.counts.dependence import (
    Dependence,
    EntropyDependence,
    MutualInformation,
    PearsonCorrelation,
    SpearmanCorrelation,
    SymmetricalUncertainty,
    ValueDependence,
)

__all__ = [
    "CodedTable",
    "ContingencyCounts",
    "Dependence",
    "EntropyDependence",
    "MutualInformation",
    "PearsonCorrelation",
    "Smoothing",
    "SpearmanCorrelation",
    "SymmetricalUncertainty",
    "ValueDependence",
    "check_smoothing",
    "log_probabilities",
]
