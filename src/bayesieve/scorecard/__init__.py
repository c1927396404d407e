"""`Scorecard`: a fitted model as a frozen record. Each feature (a column, an indicator "x <= threshold" or a pair of
columns) has a table of contributions, in nats, to the log joint probability of each class. A prediction looks up the
row's cell of each feature and adds the contributions to the intercept. A level is an interval or a group of values of a
feature; a cell is a level or a piece of one, and has one contribution for each class.
"""

from bayesieve.scorecard.explanation import Explanation
from bayesieve.scorecard.record import Feature, Scorecard

__all__ = ["Explanation", "Feature", "Scorecard"]
