"""What every search works with: a problem, the states of its subsets, and the record of the moves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from bayesieve.engine.progress import Progress
from bayesieve.search.recorder import TraceRecorder
from bayesieve.search.trace import SearchTrace


class State(ABC):
    """A subset of features with its cost, from which moves are scored and made.

    Costs are lower for better subsets, whatever the criterion: the values of the criterion, or their negatives.

    Attributes
    ----------
    problem : Problem
    selected : (n_features,) bool, the current subset; n_selected : its size; cost : what it costs.
    """

    problem: Problem
    selected: np.ndarray
    n_selected: int
    cost: float

    @abstractmethod
    def reset(self, selected: np.ndarray | None = None) -> None:
        """Back to the empty subset, or to any other one."""

    @abstractmethod
    def go_to(self, selected: np.ndarray) -> None:
        """To another subset, by the features that differ where they are few."""

    @abstractmethod
    def candidates(self, features: np.ndarray) -> np.ndarray:
        """Costs of the subsets that differ from the current one by each of ``features`` (added if absent, else
        dropped).
        """

    @abstractmethod
    def flip(self, feature: int, cost: float | None = None) -> None:
        """Add ``feature`` if absent, drop it otherwise; ``cost`` is that of the new subset where known."""

    @property
    def rank(self) -> float:
        """What a search compares: the cost, plus a large multiple of how far the subset is from its constraints."""
        return self.cost

    def ranks(self, features: np.ndarray, costs: np.ndarray) -> np.ndarray:
        """Ranks of the subsets whose ``costs`` `candidates` returned for ``features``."""
        return costs

    def validation(self) -> float:
        """The value of the current subset on the validation rows; NaN where there are none."""
        return float("nan")

    def violation(self) -> float:
        """How far the current subset is from its constraints, on the rows that choose the subset; 0 where it satisfies
        them.
        """
        return 0.0


class Problem(ABC):
    """What subsets are chosen from, and what they are worth.

    Attributes
    ----------
    names : of all features; candidates : positions of those worth trying.
    sign : what turns costs into values of the criterion, 1 or -1.
    criterion_name : of the criterion; best : the value that no subset exceeds, where there is one.
    validated : whether other rows choose among the subsets met; constrained : whether they have to keep bounds.
    """

    names: tuple[str, ...]
    candidates: np.ndarray
    sign: float
    criterion_name: str
    best: float | None = None
    validated: bool = False
    constrained: bool = False

    @property
    def n_features(self) -> int:
        """Features in all, candidates or not."""
        return len(self.names)

    @abstractmethod
    def state(self, *, leave_out: bool = False, n_jobs: int | None = None) -> State:
        """The empty subset; ``leave_out``: rows that no move can change may leave the scan."""

    @abstractmethod
    def in_words(self) -> dict[str, Any]:
        """What a trace says about the criteria."""

    def trace(self, walks: list[TraceRecorder], chosen: np.ndarray | None = None, **facts: Any) -> SearchTrace:
        """The trace of a search; ``facts`` as `SearchTrace.of` takes them.

        ``chosen`` (n_features,) bool is the subset that the search chose; unless given, the best one that it met.
        """
        if not walks:  # interrupted before the first step
            walks = [first_record(self.state())]
        trace = SearchTrace.of(self.names, walks, **facts, **self.in_words())
        if chosen is None:
            chosen = trace.best_on_path() if self.validated or self.constrained else trace.best_subset()
        trace.chosen = chosen
        return trace


class Search(ABC):
    """A way through the subsets of a problem; its options are its attributes."""

    @abstractmethod
    def run(self, problem: Any, progress: Progress | None = None) -> SearchTrace:
        """Search; the trace names the subset chosen (``trace.chosen``). Ctrl-C keeps the best so far."""


def first_record(state: State) -> TraceRecorder:
    """The record of a walk that starts from the current subset."""
    start = np.flatnonzero(state.selected)
    return TraceRecorder(state.problem.sign * state.cost, start, state.validation(), state.violation())


class StepRecorder:
    """Records all moves scored from a subset; the one that was made, if any, comes last."""

    def __init__(self, problem: Problem) -> None:
        self._sign = problem.sign
        self._keys = np.random.default_rng(0).integers(1, 2**63, size=problem.n_features, dtype=np.uint64)

    def record(
        self,
        walk: TraceRecorder,
        subset: np.ndarray,
        moves: np.ndarray,
        costs: np.ndarray,
        at: int,
        seconds: float,
        validation: float = float("nan"),
        violation: float = 0.0,
    ) -> None:
        """``subset`` : before the move; ``at`` : position among ``moves`` of the one made, or -1; ``validation`` and
        ``violation`` : after the move.
        """
        order = np.arange(moves.size)
        accepted = order == at
        if at >= 0:
            order = np.append(np.delete(order, at), at)
        moves = moves[order]
        key = np.bitwise_xor.reduce(self._keys[subset], initial=np.uint64(0)) ^ self._keys[moves]
        walk.record(
            moves, ~subset[moves], self._sign * costs[order], accepted[order], key, seconds, validation, violation
        )
