"""Naive Bayes on integer codes with feature weights, and explanations of its predictions."""

from bayesieve.evidence.discrete import DiscreteNB, check_weights
from bayesieve.evidence.explanation import Explanation

__all__ = ["DiscreteNB", "Explanation", "check_weights"]
