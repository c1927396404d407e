"""Every feature, with weight 1: the classic naive Bayes."""

from __future__ import annotations

import numpy as np

from bayesieve.counts import CodedTable
from bayesieve.search import SearchState, SearchTrace, SubsetProblem, TraceRecorder
from bayesieve.search.recorder import Clock
from bayesieve.selection.base import CodedSelector

_ADDED_AT_ONCE = 1000  # features added between two readings of the clock


class AllFeatures(CodedSelector):
    """Weight 1 for every feature with at least two levels.

    Examples
    --------
    >>> from bayesieve import AllFeatures
    >>> from sklearn.datasets import load_iris
    >>> AllFeatures().fit(*load_iris(return_X_y=True)).weights_.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    name = "all"
    title = "every feature"
    sentence = "Every feature that says something about the target has weight 1 (classic naive Bayes)."
    chooses_on_path = False

    def _search(self, coded: CodedTable) -> np.ndarray:
        clock = Clock(None)
        problem = SubsetProblem.of(coded, self.smoothing)
        state = SearchState(problem)
        recorder = TraceRecorder(state.cost)
        added = problem.candidates
        for first in range(0, added.size, _ADDED_AT_ONCE):
            moved = added[first : first + _ADDED_AT_ONCE]
            costs = state.add_all(moved)
            every = np.ones(moved.size, dtype=bool)
            keys = np.arange(first + 1, first + 1 + moved.size, dtype=np.uint64)
            recorder.record(moved, every, costs, every, keys, clock.seconds)
        self.trace_ = SearchTrace.of(coded.names, [recorder], complete=True, seconds=clock.seconds)
        return state.selected.astype(float)
