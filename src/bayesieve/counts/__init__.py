"""Coded rows, additive summaries of them, and the log probabilities they give."""

from bayesieve.counts.coded import CodedTable, Recoder
from bayesieve.counts.contingency import ContingencyCounts
from bayesieve.counts.dependence import Dependence, EntropyDependence
from bayesieve.counts.probabilities import Smoothing, check_smoothing, log_probabilities

__all__ = [
    "CodedTable",
    "ContingencyCounts",
    "Dependence",
    "EntropyDependence",
    "Recoder",
    "Smoothing",
    "check_smoothing",
    "log_probabilities",
]
