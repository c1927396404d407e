"""The value of a subset of features: each criterion scores all candidates of a block of rows in one pass."""

from __future__ import annotations

import copy
from typing import Any

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
from bayesieve.parts import Registry

__all__ = [
    "AUC",
    "CRITERIA",
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
    "make_criterion",
]

CRITERIA: Registry[type[Criterion]] = Registry(
    "bayesieve.criteria",
    Criterion,
    *(Error, Accuracy, ErrorProbability, Brier, LogLoss, AUC, BalancedError, BalancedAccuracy, MAPCost),
    *(Recall, Precision, ExpectedCost, Benefit, Scorer),
)
"""Criteria by the names that selectors use."""


def make_criterion(criterion: str | Criterion, n_features: int, classes: Any) -> Criterion:
    """A criterion by its name, or a copy of the one given, ready for a target with these classes.

    Raises
    ------
    ValueError
        For a name that does not exist, something that is no criterion, or one that does not fit the classes.
    """
    if isinstance(criterion, Criterion):
        made = copy.copy(criterion)
    elif isinstance(criterion, str) and criterion in CRITERIA and not CRITERIA[criterion].needs_options:
        made = CRITERIA[criterion].by_default(n_features)
    else:
        names = ", ".join(repr(name) for name, part in CRITERIA.items() if not part.needs_options)
        raise ValueError(
            f"criterion must be one of {names} or a Criterion object such as Recall('yes'), got {criterion!r}."
        )
    made.check(classes)
    if getattr(made, "n_features", n_features) < n_features:
        raise ValueError(
            f"{type(made).__name__}({made.n_features}) is for {made.n_features} features, but the table has "  # type: ignore[attr-defined]
            f"{n_features}; pass {made.name!r} instead."
        )
    return made
