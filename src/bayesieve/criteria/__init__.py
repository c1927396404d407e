"""Criteria: measures of a subset of features, computed for many candidate subsets in one pass over the rows."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from bayesieve.criteria.auc import AUC
from bayesieve.criteria.base import Criterion, LogLoss, MAPCost, RowRatios
from bayesieve.criteria.decisions import (
    Accuracy,
    BalancedAccuracy,
    BalancedError,
    Benefit,
    Error,
    ExpectedCost,
    Precision,
    Recall,
)
from bayesieve.criteria.losses import Brier, ErrorProbability, RowLoss, Scorer
from bayesieve.criteria.scored_rows import ClassBlock, RatioTables, ScoredRows
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
    "ScoredRows",
    "Scorer",
    "check_criterion",
    "make_criterion",
]

CRITERIA: Registry[type[Criterion]] = Registry(
    "bayesieve.criteria",
    Criterion,
    *(Error, Accuracy, ErrorProbability, Brier, LogLoss, AUC, BalancedError, BalancedAccuracy, MAPCost),
    *(Recall, Precision, ExpectedCost, Benefit, Scorer),
)
"""Criteria by the names that selectors use."""


_OF_CLASS = {"recall": Recall, "precision": Precision}


def make_criterion(
    criterion: str | Criterion | Callable[..., float], n_features: int, classes: Any, option: str = "criterion"
) -> Criterion:
    """Return a criterion for a table of ``n_features`` features and a target with labels ``classes``.

    ``criterion`` is a name such as ``"log_loss"``, ``"recall:LABEL"``, ``"precision:LABEL"``, the name of a scorer of
    scikit-learn, a function ``(estimator, X, y)``, or a `Criterion`, which is copied.

    Raises
    ------
    ValueError
        For any other object, or a criterion that does not fit the classes; the message names the ``option``.
    """
    check_criterion(criterion, option)
    result: Criterion
    if isinstance(criterion, Criterion):
        result = copy.copy(criterion)
    elif isinstance(criterion, str) and ":" in criterion:
        kind, label = criterion.split(":", 1)
        labels = [] if classes is None else np.asarray(classes).tolist()
        same = [name for name in labels if str(name) == label]
        if not same:
            raise ValueError(
                f"{option}: {criterion!r} must be 'recall:' or 'precision:' and one of the classes "
                f"{', '.join(map(repr, labels))}."
            )
        result = _OF_CLASS[kind](same[0])
    elif isinstance(criterion, str) and criterion in CRITERIA:
        result = CRITERIA[criterion].by_default(n_features)
    else:
        result = Scorer(criterion)
    result.check(classes)
    if getattr(result, "n_features", n_features) < n_features:
        raise ValueError(
            f"{type(result).__name__}({result.n_features}) is for {result.n_features} features, but the table has "  # type: ignore[attr-defined]
            f"{n_features}; pass {result.name!r} instead."
        )
    return result


def check_criterion(criterion: object, option: str = "criterion") -> None:
    """Raise ValueError for objects that `make_criterion` never accepts; used before the classes are known.

    The message names the ``option`` through which the user passed the criterion.
    """
    if isinstance(criterion, Criterion) or (callable(criterion) and not isinstance(criterion, type)):
        return
    if isinstance(criterion, str):
        if criterion in CRITERIA and not CRITERIA[criterion].needs_options:
            return
        if ":" in criterion and criterion.split(":")[0] in _OF_CLASS:
            return
        from sklearn.metrics import get_scorer_names

        if criterion in get_scorer_names() and criterion not in CRITERIA:
            return
    by_name = [name for name, cls in CRITERIA.items() if not cls.needs_options]
    raise ValueError(
        f"{option}: {criterion!r} must be one of {', '.join(map(repr, by_name))}, 'recall:CLASS', 'precision:CLASS', "
        "a Criterion object such as Recall('yes') or a scorer of scikit-learn."
    )
