"""The base of the filters: features are scored one by one, from counts, without a model."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.parts import Score
from bayesieve.search.recorder import Clock
from bayesieve.selection.ranked_path import RankedSelector, ranking_trace

_DIGITS = 12  # of scores that are compared: rounding must not decide between copies of a feature, nor keep one of 0


class FilterSelector(RankedSelector):
    """Base of the selectors that score every feature alone.

    Attributes
    ----------
    scores_ : float array, shape (n_features,)
        In nats; higher is better.
    ranking_ : int array, shape (n_features,)
        Positions of the features, the highest score first; the lower column on ties.
    weights_, support_, trace_
        As for every selector; the trace adds all features in the order of the ranking, its criterion is their score.

    Notes
    -----
    A filter defines `score_features` and, unless it selects the features of positive score, `weigh`.
    """

    scores = (Score("score", of="feature"),)

    def score_features(self, coded: CodedTable) -> np.ndarray:
        """(n_features,) scores of the features of a coded table with classes, higher is better."""
        raise NotImplementedError(f"{type(self).__name__} must define score_features().")

    def weigh(self, scores: np.ndarray, ranking: np.ndarray) -> np.ndarray:
        """(n_features,) weights, from the scores and the positions of the features, the highest score first."""
        return above(scores, 0.0)

    def _search(self, coded: CodedTable) -> np.ndarray:
        clock = Clock(None)
        scores = self.score_features(coded)
        ranking = rank(scores)
        self.trace_ = ranking_trace(coded.names, ranking, scores[ranking], self.scores[0], clock.seconds)
        return self.weigh(scores, ranking)


def rank(scores: np.ndarray) -> np.ndarray:
    """Positions of the features, the highest score first; the lower column on ties (within rounding)."""
    return np.argsort(-np.round(scores, _DIGITS), kind="stable")


def above(scores: np.ndarray, threshold: float) -> np.ndarray:
    """(n_features,) 1.0 for scores above the threshold by more than rounding: the first ones of their ranking."""
    return (np.round(scores, _DIGITS) > threshold).astype(float)


def check_number(name: str, value: Any, meaning: str, low: float = -np.inf, high: float = np.inf) -> None:
    """Raise ValueError unless ``value`` is a finite number from ``low`` to ``high``."""
    good = isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and np.isfinite(float(value))
    if not (good and low <= float(value) <= high):
        raise ValueError(f"{name} must be {meaning}, got {value!r}.")
