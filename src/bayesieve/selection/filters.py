"""The frame of the filters: features are scored one by one, from counts, without a model."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from bayesieve.counts import ContingencyCounts
from bayesieve.search import SearchTrace, TraceRecorder
from bayesieve.search.trace import Clock
from bayesieve.selection.base import CodedSelector
from bayesieve.table import CodedTable

_DIGITS = 12  # of scores that are compared: rounding must not decide between copies of a feature, nor keep one of 0


class FilterSelector(CodedSelector):
    """Base of the selectors that score every feature alone. Subclasses say what it scores, and which scores are kept.

    Attributes
    ----------
    scores_ : float array, shape (n_features,)
        In nats; higher is better.
    ranking_ : int array, shape (n_features,)
        Positions of the features, the highest score first; the lower column on ties.
    weights_, support_, trace_
        As for every selector; the trace adds all features in the order of the ranking, its criterion is their score.
    """

    _criterion: ClassVar[str]

    def _search(self, coded: CodedTable) -> np.ndarray:
        clock = Clock(None)
        scores = self._score(ContingencyCounts.of(coded))
        ranking = rank(scores)
        recorder = TraceRecorder(0.0)
        every = np.ones(coded.n_features, dtype=bool)
        keys = np.arange(1, coded.n_features + 1, dtype=np.uint64)
        recorder.record(ranking, every, scores[ranking], every, keys, clock.seconds)
        self.trace_ = SearchTrace.of(
            coded.names,
            [recorder],
            complete=True,
            seconds=clock.seconds,
            criterion_name=self._criterion,
            lower_is_better=False,
        )
        return self._kept(coded).astype(float)

    @property
    def ranking_(self) -> np.ndarray:
        ranking: np.ndarray = self.trace_.walk_moves(0).feature
        return ranking

    @property
    def scores_(self) -> np.ndarray:
        # Read from the trace, which models that were saved and loaded have too.
        added = self.trace_.walk_moves(0)
        scores = np.empty(added.cost.size)
        scores[added.feature] = added.cost
        return scores

    @abstractmethod
    def _score(self, counts: ContingencyCounts) -> np.ndarray:
        """(n_features,) scores; higher is better."""

    @abstractmethod
    def _kept(self, coded: CodedTable) -> np.ndarray:
        """(n_features,) bool: the first features of ``ranking_`` that are kept."""

    def _above(self, threshold: float) -> np.ndarray:
        """(n_features,) bool: scores above the threshold by more than rounding."""
        above: np.ndarray = np.round(self.scores_, _DIGITS) > threshold
        return above


def rank(scores: np.ndarray) -> np.ndarray:
    """Positions of the features, the highest score first; the lower column on ties (within rounding)."""
    return np.argsort(-np.round(scores, _DIGITS), kind="stable")


def check_number(name: str, value: Any, meaning: str, low: float = -np.inf, high: float = np.inf) -> None:
    """Raise ValueError unless ``value`` is a finite number from ``low`` to ``high``."""
    good = isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and np.isfinite(float(value))
    if not (good and low <= float(value) <= high):
        raise ValueError(f"{name} must be {meaning}, got {value!r}.")
