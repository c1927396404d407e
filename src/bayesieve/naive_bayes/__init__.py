"""The single predictor: naive Bayes on codes with feature weights, and the explanation of its decisions."""

from bayesieve.naive_bayes.discrete import DiscreteNB, check_weights
from bayesieve.naive_bayes.explanation import Explanation

__all__ = ["DiscreteNB", "Explanation", "check_weights"]
