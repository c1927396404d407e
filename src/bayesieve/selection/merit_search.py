"""Searches for the subset of largest merit: best first, forward and backward."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bayesieve.search import TraceRecorder
from bayesieve.search.trace import Clock

_WAITING = 5  # subsets that wait to be extended
_STALE = 5  # extensions in a row without a better subset
_BETTER = 1e-5


class Merits(Protocol):
    """What the searches ask; correlations of features with all others, and with the class."""

    class_correlations: np.ndarray

    @property
    def n_features(self) -> int: ...

    def of(self, selected: np.ndarray) -> float:
        """Merit of a subset."""

    def after(self, selected: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """Merits of the subsets that differ from this one by each of ``moves``."""

    def correlations(self, features: np.ndarray) -> np.ndarray:
        """(features, n_features) correlations of these features with all."""


class MeritSearch:
    """Searches as Weka makes them (Hall et al. 2009), and the record of what they evaluated.

    Attributes
    ----------
    walks : list of TraceRecorder
    """

    def __init__(self, merits: Merits, clock: Clock) -> None:
        self._merits, self._clock = merits, clock
        self._keys = np.random.default_rng(0).integers(1, 2**63, size=merits.n_features, dtype=np.uint64)
        self.walks: list[TraceRecorder] = []

    def forward(self) -> np.ndarray:
        """(n_features,) bool: features added one by one while the merit rises; the first of equals."""
        return self._greedy(np.zeros(self._merits.n_features, dtype=bool), adding=True)

    def backward(self) -> np.ndarray:
        """(n_features,) bool: features dropped one by one while the merit does not fall; the last of equals."""
        return self._greedy(np.ones(self._merits.n_features, dtype=bool), adding=False)

    def best_first(self) -> np.ndarray:
        """(n_features,) bool: the best subset met when extensions of the best that wait bring nothing better."""
        best = np.zeros(self._merits.n_features, dtype=bool)
        best_merit = self._merits.of(best)
        waiting = [(best_merit, best)]
        stale = 0
        while stale < _STALE and waiting:
            _, subset = waiting.pop(0)
            moves = np.flatnonzero(~subset)
            merits = self._merits.after(subset, moves)
            at = -1
            for i, merit in enumerate(merits.tolist()):
                if merit - best_merit > _BETTER:
                    best_merit, at = merit, i
                if len(waiting) < _WAITING or merit > waiting[-1][0]:
                    _insert(waiting, merit, _moved(subset, int(moves[i])))
            self._record(self._begin(subset), subset, moves, merits, at)
            if at >= 0:
                best, stale = _moved(subset, int(moves[at])), 0
            else:
                stale += 1
        return best

    def add_locally_predictive(self, selected: np.ndarray) -> np.ndarray:
        """The subset, with features added that no selected one is more correlated with than the class is.

        Features come in the order of their correlation with the class; one that has none is never added.
        """
        merits, subset = self._merits, selected.copy()
        walk = self._begin(subset)
        with_class = merits.class_correlations
        most = merits.correlations(np.flatnonzero(subset)).max(axis=0, initial=0.0)
        for feature in np.argsort(-np.round(with_class, 12), kind="stable").tolist():
            if not subset[feature] and with_class[feature] > 0 and most[feature] <= with_class[feature]:
                move = np.array([feature])
                self._record(walk, subset, move, merits.after(subset, move), 0)
                subset[feature] = True
                most = np.maximum(most, merits.correlations(move)[0])
        return subset

    def _greedy(self, subset: np.ndarray, *, adding: bool) -> np.ndarray:
        walk = self._begin(subset)
        merit = self._merits.of(subset)
        while True:
            moves = np.flatnonzero(subset != adding)
            if not moves.size:
                return subset
            merits = self._merits.after(subset, moves)
            at = int(np.argmax(merits)) if adding else moves.size - 1 - int(np.argmax(merits[::-1]))
            better = merits[at] > merit if adding else merits[at] >= merit
            self._record(walk, subset, moves, merits, at if better else -1)
            if not better:
                return subset
            subset, merit = _moved(subset, int(moves[at])), float(merits[at])

    def _begin(self, subset: np.ndarray) -> TraceRecorder:
        self.walks.append(TraceRecorder(self._merits.of(subset), np.flatnonzero(subset)))
        return self.walks[-1]

    def _record(self, walk: TraceRecorder, subset: np.ndarray, moves: np.ndarray, merits: np.ndarray, at: int) -> None:
        """All moves evaluated from a subset; the one that was made, if any, comes last."""
        order = np.arange(moves.size)
        accepted = order == at
        if at >= 0:
            order = np.append(np.delete(order, at), at)
        key = np.bitwise_xor.reduce(self._keys[subset], initial=np.uint64(0))
        walk.record(
            moves[order],
            ~subset[moves[order]],
            merits[order],
            accepted[order],
            key ^ self._keys[moves[order]],
            self._clock.seconds,
        )


def _insert(waiting: list[tuple[float, np.ndarray]], merit: float, subset: np.ndarray) -> None:
    """Put a subset behind those of at least its merit; the last one goes when there are too many."""
    place = next((i for i, (other, _) in enumerate(waiting) if merit > other), len(waiting))
    waiting.insert(place, (merit, subset))
    del waiting[_WAITING:]


def _moved(subset: np.ndarray, feature: int) -> np.ndarray:
    moved = subset.copy()
    moved[feature] = not moved[feature]
    return moved
