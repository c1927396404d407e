"""What a search notes while it runs: its moves and its time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from bayesieve.compiling import compile_seconds


class Clock:
    """Seconds since a search began, without those in which kernels were compiled, and whether its time is up."""

    def __init__(self, max_seconds: float | None) -> None:
        self._begin = time.perf_counter() - compile_seconds()
        self._max_seconds = max_seconds

    @property
    def seconds(self) -> float:
        return max(0.0, time.perf_counter() - compile_seconds() - self._begin)

    @property
    def is_up(self) -> bool:
        return self._max_seconds is not None and self.seconds >= self._max_seconds


@dataclass
class TraceRecorder:
    """Collects the moves of one walk, which starts from the empty subset by default.

    ``null_cost`` is the criterion of the subset that the walk starts from, ``start_validation`` its value on the
    validation rows and ``initial`` the features it holds.
    """

    null_cost: float
    initial: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    start_validation: float = float("nan")
    start_violation: float = 0.0
    features: list[np.ndarray] = field(default_factory=list)
    adding: list[np.ndarray] = field(default_factory=list)
    costs: list[np.ndarray] = field(default_factory=list)
    accepted: list[np.ndarray] = field(default_factory=list)
    keys: list[np.ndarray] = field(default_factory=list)
    seconds: list[np.ndarray] = field(default_factory=list)
    validation: list[np.ndarray] = field(default_factory=list)
    violation: list[np.ndarray] = field(default_factory=list)

    def record(
        self,
        features: np.ndarray,
        adding: np.ndarray,
        costs: np.ndarray,
        accepted: np.ndarray,
        keys: np.ndarray,
        seconds: float,
        validation: float | np.ndarray = float("nan"),
        violation: float = 0.0,
    ) -> None:
        """Moves evaluated from one subset; an accepted one is the last that starts from it, and has the value
        ``validation`` on the validation rows; ``violation`` says how far it is from the constraints.
        """
        self.features.append(features)
        self.adding.append(adding)
        self.costs.append(costs)
        self.accepted.append(accepted)
        self.keys.append(keys)
        self.seconds.append(np.full(features.size, seconds))
        self.validation.append(np.where(accepted, validation, np.nan))
        self.violation.append(np.full(features.size, violation))
