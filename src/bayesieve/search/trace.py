"""The record of a search: every subset evaluated, from which the best subset and all averages are read."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class TraceRecorder:
    """Collects the moves of one walk that starts from the empty subset."""

    null_cost: float
    features: list[np.ndarray] = field(default_factory=list)
    adding: list[np.ndarray] = field(default_factory=list)
    costs: list[np.ndarray] = field(default_factory=list)
    accepted: list[np.ndarray] = field(default_factory=list)
    keys: list[np.ndarray] = field(default_factory=list)
    seconds: list[np.ndarray] = field(default_factory=list)

    def record(
        self, features: np.ndarray, adding: np.ndarray, costs: np.ndarray, accepted: np.ndarray, keys: np.ndarray, seconds: float
    ) -> None:
        """Moves evaluated from one subset; an accepted one is the last that starts from it."""
        self.features.append(features)
        self.adding.append(adding)
        self.costs.append(costs)
        self.accepted.append(accepted)
        self.keys.append(keys)
        self.seconds.append(np.full(features.size, seconds))


class SearchTrace:
    """Every subset of features that a search evaluated.

    A subset is stored as the move that leads to it from the walk's current subset, so that a record costs the same however many
    features there are. Each walk ("start") begins with the empty subset.

    Attributes
    ----------
    names : feature names.
    null_criterion : criterion of the empty subset, in nats.
    best_criterion : lowest criterion met, in nats.
    n_starts, n_models : walks, and distinct subsets evaluated (the empty one included).
    complete : False when the search was stopped by ``max_seconds`` or by the user.
    seconds : duration of the search.
    """

    def __init__(self, names: tuple[str, ...], walks: list[TraceRecorder], *, complete: bool, seconds: float, empty_key: int = 0) -> None:
        self.names = names
        self.complete = complete
        self.seconds = seconds
        self.null_criterion = walks[0].null_cost
        self.n_starts = len(walks)
        self._start = np.repeat(np.arange(len(walks)), [sum(f.size for f in walk.features) for walk in walks])
        self._feature = _join([f for w in walks for f in w.features], np.int64)
        self._adding = _join([f for w in walks for f in w.adding], bool)
        self._cost = _join([f for w in walks for f in w.costs], float)
        self._accepted = _join([f for w in walks for f in w.accepted], bool)
        self._seconds = _join([f for w in walks for f in w.seconds], float)
        keys = _join([f for w in walks for f in w.keys], np.uint64)
        # A subset counts once however often it is met: at its first record, in the order of the starts.
        self._distinct = np.zeros(keys.size, dtype=bool)
        self._distinct[np.unique(keys, return_index=True)[1]] = True
        self._distinct &= keys != np.uint64(empty_key)
        self._sign = np.where(self._adding, 1, -1)
        self.n_models = 1 + int(self._distinct.sum())
        self.best_criterion = min(self.null_criterion, float(self._cost.min(initial=np.inf)))

    @property
    def n_features(self) -> int:
        return len(self.names)

    def best_subset(self) -> np.ndarray:
        """(n_features,) bool: the subset of lowest criterion, the first met on ties."""
        selected = np.zeros(self.n_features, dtype=bool)
        if self._cost.size == 0 or self._cost.min() >= self.null_criterion:
            return selected
        best = int(self._cost.argmin())
        before = (self._start[:best] == self._start[best]) & self._accepted[:best]
        moves = np.append(np.flatnonzero(before), best)
        np.add.at(counts := np.zeros(self.n_features, dtype=int), self._feature[moves], self._sign[moves])
        return counts > 0

    def average(self, null_weight: float, weights: np.ndarray) -> np.ndarray:
        """(n_features,) share of the models' weight that goes to models with each feature.

        ``weights`` holds one weight for every record of ``model_costs()``, ``null_weight`` that of the empty subset.
        """
        weight = np.zeros(self._cost.size)
        weight[self._distinct] = weights
        total = null_weight + weight.sum()
        if total <= 0.0:
            return np.zeros(self.n_features)
        # A rejected move counts for its own subset only; an accepted one for all that follow in its walk.
        following = weight.copy()
        for start in range(self.n_starts):
            first, stop = np.searchsorted(self._start, [start, start + 1])
            suffix = np.cumsum(weight[first:stop][::-1])[::-1]
            following[first:stop] = np.where(self._accepted[first:stop], suffix, weight[first:stop])
        sums = np.zeros(self.n_features)
        np.add.at(sums, self._feature, self._sign * following)
        return np.clip(sums / total, 0.0, 1.0)

    def model_costs(self) -> np.ndarray:
        """(n_models - 1,) criterion in nats of the distinct subsets evaluated, the empty one left out."""
        return self._cost[self._distinct]

    def moves(self, *, evaluated: bool = False) -> dict[str, np.ndarray | list[Any]]:
        """Columns of the trace: the accepted moves of every start, or all evaluated ones."""
        size = np.zeros(self._cost.size, dtype=np.int64)
        step = np.zeros(self._cost.size, dtype=np.int64)
        for start in range(self.n_starts):
            first, stop = np.searchsorted(self._start, [start, start + 1])
            moved = self._accepted[first:stop]
            sign = self._sign[first:stop]
            before = np.cumsum(sign * moved) - sign * moved
            size[first:stop] = before + sign
            step[first:stop] = np.cumsum(moved) + ~moved
        kept = np.arange(self._cost.size) if evaluated else np.flatnonzero(self._accepted)
        rows: dict[str, list[Any]] = {key: [] for key in ("start", "step", "move", "feature", "n_features", "criterion", "seconds", "accepted")}
        for start in range(self.n_starts):
            mine = kept[self._start[kept] == start]
            rows["start"] += [start] * (1 + mine.size)
            rows["step"] += [0, *step[mine].tolist()]
            rows["move"] += ["start", *("add" if add else "drop" for add in self._adding[mine])]
            rows["feature"] += [None, *(self.names[f] for f in self._feature[mine])]
            rows["n_features"] += [0, *size[mine].tolist()]
            rows["criterion"] += [self.null_criterion, *self._cost[mine].tolist()]
            rows["seconds"] += [float(self._seconds[mine[0]]) if mine.size else 0.0, *self._seconds[mine].tolist()]
            rows["accepted"] += [True, *self._accepted[mine].tolist()]
        rows["validation"] = [None] * len(rows["start"])
        return rows

    def to_frame(self, *, evaluated: bool = False) -> Any:
        """The walk as a polars dataframe.

        One row per accepted move (``evaluated=True``: per evaluated move): ``start``, ``step``, ``move`` ("start", "add", "drop"),
        ``feature``, ``n_features``, ``criterion`` (nats, on the fitting rows), ``validation`` (null: none is used here), ``seconds``
        since the search began, and, with ``evaluated=True``, ``accepted``.
        """
        import polars as pl

        columns = self.moves(evaluated=evaluated)
        names = ["start", "step", "move", "feature", "n_features", "criterion", "validation", "seconds"]
        schema = {"move": pl.String, "feature": pl.String, "validation": pl.Float64, "criterion": pl.Float64, "seconds": pl.Float64}
        return pl.DataFrame({name: columns[name] for name in names + ["accepted"] * evaluated}, schema_overrides=schema)


class Clock:
    """Seconds since a search began, and whether its time is up."""

    def __init__(self, max_seconds: float | None) -> None:
        self._begin = time.perf_counter()
        self._max_seconds = max_seconds

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._begin

    @property
    def is_up(self) -> bool:
        return self._max_seconds is not None and self.seconds >= self._max_seconds


def _join(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype=dtype)
