"""Thresholds of scores: given, or learnt as quantiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

_MOST_QUANTILES = 1_000_000


def thresholds_of(thresholds: Any, scores: Sequence[str], groups: Sequence[str]) -> list[np.ndarray | int]:
    """For each score, its ascending thresholds or the number of thresholds to learn.

    Parameters
    ----------
    thresholds : int, sequence of numbers, or mapping from the name of a score, or of its group, to either
    scores : names of the scores
    groups : the parametric score that each score belongs to, otherwise its own name

    Raises
    ------
    ValueError
        If a mapping leaves a score out or names an unknown one, or a threshold is not a finite number.
    """
    if not isinstance(thresholds, Mapping):
        return [_one(thresholds, "thresholds")] * len(scores)
    known = {*scores, *groups}
    for name in thresholds:
        if name not in known:
            raise ValueError(f"thresholds has no score {name!r}; known scores: {_listed(scores)}.")
    settings = []
    for score, group in zip(scores, groups, strict=True):
        name = score if score in thresholds else group
        if name not in thresholds:
            raise ValueError(f"thresholds lacks the score {score!r}; add its thresholds, or drop the score from X.")
        settings.append(_one(thresholds[name], f"thresholds[{name!r}]"))
    return settings


def quantile_thresholds(values: np.ndarray, weights: np.ndarray, n: int, score: str) -> np.ndarray:
    """Up to ``n`` distinct values of the score that cut the rows with a finite one into parts of about equal size.

    Threshold i is the smallest value that at least i / (n + 1) of the rows do not exceed. The largest value is no
    threshold (every row would meet it) unless there is no other.

    Parameters
    ----------
    values : float array, shape (n_rows,), NaN = missing
    weights : float array, shape (n_rows,), or empty when every row counts once
    n : number of thresholds to learn
    score : its name, for the message

    Raises
    ------
    ValueError
        If no value is finite.
    """
    finite = np.isfinite(values)
    if not finite.any():
        raise ValueError(
            f"Score {score!r} has no finite value to learn thresholds from; give its thresholds, or leave it out."
        )
    order = np.argsort(values[finite], kind="stable")
    ascending = values[finite][order]
    cumulated = np.cumsum(weights[finite][order]) if weights.size else np.arange(1.0, order.size + 1.0)
    targets = cumulated[-1] * np.arange(1, n + 1) / (n + 1)
    quantiles = np.unique(ascending[np.minimum(np.searchsorted(cumulated, targets), order.size - 1)])
    below = quantiles[quantiles < ascending[-1]]
    return below if below.size else ascending[-1:]


def _one(setting: Any, what: str) -> np.ndarray | int:
    if isinstance(setting, Integral) and not isinstance(setting, bool):
        if setting < 1:
            raise ValueError(f"{what} must be at least 1, the number of thresholds to learn, got {setting!r}.")
        if int(setting) > _MOST_QUANTILES:
            raise ValueError(f"{what} must be at most {_MOST_QUANTILES:,}, got {setting!r}; list thresholds for more.")
        return int(setting)
    numbers = np.asarray(list(setting) if isinstance(setting, Iterable) and not isinstance(setting, str) else setting)
    if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind not in "iuf":
        raise ValueError(
            f"{what} must be a sequence of numbers, or a whole number of thresholds to learn, got {setting!r}."
        )
    if not np.isfinite(numbers).all():
        raise ValueError(f"{what} holds {numbers[~np.isfinite(numbers)][0]}; thresholds must be finite numbers.")
    return np.unique(numbers.astype(np.float64))


def _listed(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(map(repr, names[:most])) + (", ..." if len(names) > most else "")
