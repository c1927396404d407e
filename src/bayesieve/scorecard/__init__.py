"""A fitted model as a frozen record: one table of contributions per feature, to be looked up and added."""

from bayesieve.scorecard.explanation import Explanation
from bayesieve.scorecard.record import Feature, Scorecard

__all__ = ["Explanation", "Feature", "Scorecard"]
