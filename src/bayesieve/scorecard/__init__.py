"""`Scorecard`: a fitted model as a frozen record, with one table of contributions per feature to look up and add."""

from bayesieve.scorecard.explanation import Explanation
from bayesieve.scorecard.record import Feature, Scorecard

__all__ = ["Explanation", "Feature", "Scorecard"]
