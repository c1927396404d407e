"""Tables as estimators take them: scikit-learn's rules on feature names and numbers, for any dataframe."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesieve.table.frames import as_table
from bayesieve.table.raw_table import Table


def fit_table(estimator: Any, X: Any, *, kinds: Mapping[str, str] | None = None) -> Table:
    """Read ``X`` and remember its feature names and number on ``estimator`` (``feature_names_in_``,
    ``n_features_in_``).
    """
    table = as_table(X, kinds=kinds)
    remember_features(estimator, table)
    return table


def remember_features(estimator: Any, table: Table) -> None:
    """Set ``n_features_in_`` and, where the data came with names, ``feature_names_in_``."""
    _remember(estimator, table.n_columns, np.asarray(table.names, dtype=object) if table.named else None)


def copy_features(estimator: Any, fitted: Any) -> None:
    """Take over the feature names and number that ``fitted``, a part of ``estimator``, was fitted on."""
    _remember(estimator, fitted.n_features_in_, getattr(fitted, "feature_names_in_", None))


def _remember(estimator: Any, n_features: int, names: Any) -> None:
    estimator.n_features_in_ = n_features
    if names is not None:
        estimator.feature_names_in_ = names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def new_table(estimator: Any, X: Any) -> Table:
    """Read ``X`` and check it against what ``estimator`` was fitted on.

    ValueError if columns are missing, new, or in another order.
    """
    fitted_names = getattr(estimator, "feature_names_in_", None)
    table = as_table(X)
    owner = type(estimator).__name__
    if fitted_names is not None and table.named:
        _check_names(list(fitted_names), list(table.names))
    elif fitted_names is not None:
        warnings.warn(
            f"X does not have valid feature names, but {owner} was fitted with feature names", UserWarning, stacklevel=3
        )
    elif table.named:
        warnings.warn(f"X has feature names, but {owner} was fitted without feature names", UserWarning, stacklevel=3)
    if table.n_columns != estimator.n_features_in_:
        raise ValueError(
            f"X has {table.n_columns} features, but {owner} is expecting {estimator.n_features_in_} features as input."
        )
    return table


def _check_names(fitted: list[str], given: list[str]) -> None:
    if fitted == given:
        return
    message = "The feature names should match those that were passed during fit.\n"
    unexpected = sorted(set(given) - set(fitted))
    missing = sorted(set(fitted) - set(given))
    if unexpected:
        message += "Feature names unseen at fit time:\n" + _listed(unexpected)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
    if not unexpected and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(message)


def _listed(names: list[str], most: int = 5) -> str:
    lines = [f"- {name}\n" for name in names[:most]]
    return "".join(lines) + ("- ...\n" if len(names) > most else "")
