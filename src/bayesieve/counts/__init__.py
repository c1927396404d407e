"""Additive summaries of coded rows, and the log probabilities they give."""

from bayesieve.counts.contingency import ContingencyCounts
from bayesieve.counts.probabilities import Smoothing, check_smoothing, log_probabilities

__all__ = ["ContingencyCounts", "Smoothing", "check_smoothing", "log_probabilities"]
