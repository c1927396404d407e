"""Coded rows, additive summaries of them, and the log probabilities they give."""

from bayesieve.counts.coded import CodedTable, Recoder
from bayesieve.counts.contingency import ContingencyCounts
from bayesieve.counts.dependence import EntropyDependence
from bayesieve.counts.dependence_base import Dependence
from bayesieve.counts.probabilities import Smoothing, check_smoothing, log_probabilities
from bayesieve.counts.value_dependence import ValueDependence

__all__ = [
    "CodedTable",
    "ContingencyCounts",
    "Dependence",
    "EntropyDependence",
    "Recoder",
    "Smoothing",
    "ValueDependence",
    "check_smoothing",
    "log_probabilities",
]
