"""What a subset of features costs: each criterion scores all candidates of a block of rows in one pass."""

from bayesieve.criteria.map_cost import MAPCost
from bayesieve.criteria.row_ratios import ClassBlock, RatioTables, RowRatios

__all__ = ["ClassBlock", "MAPCost", "RatioTables", "RowRatios"]
