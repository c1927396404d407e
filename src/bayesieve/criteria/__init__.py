"""The value of a subset of features: each criterion scores all candidates of a block of rows in one pass."""

from bayesieve.criteria.auc import AUC
from bayesieve.criteria.base import Criterion
from bayesieve.criteria.benefit import Benefit
from bayesieve.criteria.class_block import ClassBlock
from bayesieve.criteria.decisions import (
    Accuracy,
    BalancedAccuracy,
    BalancedError,
    Error,
    ExpectedCost,
    Precision,
    Recall,
)
from bayesieve.criteria.losses import Brier, ErrorProbability, LogLoss, RowLoss
from bayesieve.criteria.map_cost import MAPCost
from bayesieve.criteria.ratio_tables import RatioTables
from bayesieve.criteria.row_ratios import RowRatios
from bayesieve.criteria.scorer import Scorer

__all__ = [
    "AUC",
    "Accuracy",
    "BalancedAccuracy",
    "BalancedError",
    "Benefit",
    "Brier",
    "ClassBlock",
    "Criterion",
    "Error",
    "ErrorProbability",
    "ExpectedCost",
    "LogLoss",
    "MAPCost",
    "Precision",
    "RatioTables",
    "Recall",
    "RowLoss",
    "RowRatios",
    "Scorer",
]
