"""Coded tables, counts of rows by level and class, log probabilities from counts, and dependence between features.

A *level* is an interval of numbers or a group of categories of a feature; its *code* is an integer from 0. A larger
code, or one equal to the number of levels, is *unseen*: the value has no level.
"""

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
