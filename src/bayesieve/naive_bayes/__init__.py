"""Naive Bayes on integer codes with feature weights, and explanations of its predictions."""

from bayesieve.naive_bayes.discrete import DiscreteNB, check_weights
from bayesieve.naive_bayes.explanation import Explanation

__all__ = ["DiscreteNB", "Explanation", "check_weights"]
