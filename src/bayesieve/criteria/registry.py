"""Criteria by the names that selectors use."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from bayesieve.criteria.auc import AUC
from bayesieve.criteria.base import Criterion
from bayesieve.criteria.brier import Brier
from bayesieve.criteria.decisions import BalancedError, Error
from bayesieve.criteria.error_probability import ErrorProbability
from bayesieve.criteria.log_loss import LogLoss
from bayesieve.criteria.map_cost import MAPCost

_CRITERIA: dict[str, Callable[[], Criterion]] = {
    "error": Error,
    "error_probability": ErrorProbability,
    "brier": Brier,
    "log_loss": LogLoss,
    "auc": AUC,
    "balanced_error": BalancedError,
}

CRITERIA = (*_CRITERIA, "map")
"""Names of the criteria that need no options."""


def make_criterion(criterion: str | Criterion, n_features: int, classes: Any) -> Criterion:
    """A criterion by its name, or a copy of the one given, ready for a target with these classes.

    Raises
    ------
    ValueError
        For a name that does not exist, something that is no criterion, or one that does not fit the classes.
    """
    if isinstance(criterion, Criterion):
        made = copy.copy(criterion)
    elif isinstance(criterion, str) and criterion == MAPCost.name:
        made = MAPCost(n_features)
    elif isinstance(criterion, str) and criterion in _CRITERIA:
        made = _CRITERIA[criterion]()
    else:
        raise ValueError(
            f"criterion must be one of {', '.join(map(repr, CRITERIA))} or a Criterion object such as Recall('yes'), "
            f"got {criterion!r}."
        )
    made.check(classes)
    return made
