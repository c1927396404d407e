"""`Scorecard`: a fitted model as a frozen record. Each feature has a table of contributions; predictions look them up
and add them.
"""

from bayesieve.scorecard.explanation import Explanation
from bayesieve.scorecard.record import Feature, Scorecard

__all__ = ["Explanation", "Feature", "Scorecard"]
