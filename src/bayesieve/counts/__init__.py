"""Coded tables, counts of rows by level and class, log probabilities from counts, and dependence between features."""

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
