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
        self,
        features: np.ndarray,
        adding: np.ndarray,
        costs: np.ndarray,
        accepted: np.ndarray,
        keys: np.ndarray,
        seconds: float,
    ) -> None:
        """Moves evaluated from one subset; an accepted one is the last that starts from it."""
        self.features.append(features)
        self.adding.append(adding)
        self.costs.append(costs)
        self.accepted.append(accepted)
        self.keys.append(keys)
        self.seconds.append(np.full(features.size, seconds))


@dataclass(frozen=True)
class Moves:
    """Moves in the order they were tried, walk after walk: one entry of every array per move."""

    start: np.ndarray
    feature: np.ndarray
    adding: np.ndarray
    cost: np.ndarray
    accepted: np.ndarray
    distinct: np.ndarray
    seconds: np.ndarray

    @property
    def sign(self) -> np.ndarray:
        return np.where(self.adding, 1, -1)

    def walk(self, start: int) -> slice:
        """Where the moves of one walk stand."""
        return slice(*np.searchsorted(self.start, [start, start + 1]))


class SearchTrace:
    """Every subset of features that a search evaluated.

    A subset is stored as the move that leads to it from the walk's current subset, so that a record costs the same
    however many features there are. Each walk ("start") begins with the empty subset.

    Attributes
    ----------
    names : feature names.
    null_criterion : criterion of the empty subset, in nats.
    best_criterion : lowest criterion met, in nats.
    n_starts, n_models : walks, and distinct subsets evaluated (the empty one included).
    complete : False when the search was stopped by ``max_seconds`` or by the user.
    seconds : duration of the search.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        moves: Moves,
        *,
        null_criterion: float,
        best_criterion: float,
        n_starts: int,
        n_models: int,
        complete: bool,
        seconds: float,
    ) -> None:
        self.names = names
        self.null_criterion = null_criterion
        self.best_criterion = best_criterion
        self.n_starts = n_starts
        self.n_models = n_models
        self.complete = complete
        self.seconds = seconds
        self._moves = moves

    @classmethod
    def of(cls, names: tuple[str, ...], walks: list[TraceRecorder], *, complete: bool, seconds: float) -> SearchTrace:
        """The trace of one walk or several, in the order of their starts."""
        keys = _join([part for walk in walks for part in walk.keys], np.uint64)
        # A subset counts once however often it is met: at its first record, in the order of the starts. Key 0 is the
        # empty subset.
        distinct = np.zeros(keys.size, dtype=bool)
        distinct[np.unique(keys, return_index=True)[1]] = True
        distinct &= keys != 0
        moves = Moves(
            start=np.repeat(np.arange(len(walks)), [sum(part.size for part in walk.features) for walk in walks]),
            feature=_join([part for walk in walks for part in walk.features], np.int64),
            adding=_join([part for walk in walks for part in walk.adding], bool),
            cost=_join([part for walk in walks for part in walk.costs], float),
            accepted=_join([part for walk in walks for part in walk.accepted], bool),
            distinct=distinct,
            seconds=_join([part for walk in walks for part in walk.seconds], float),
        )
        null_cost = walks[0].null_cost
        return cls(
            names,
            moves,
            null_criterion=null_cost,
            best_criterion=min(null_cost, float(moves.cost.min(initial=np.inf))),
            n_starts=len(walks),
            n_models=1 + int(distinct.sum()),
            complete=complete,
            seconds=seconds,
        )

    @property
    def n_features(self) -> int:
        return len(self.names)

    def best_subset(self) -> np.ndarray:
        """(n_features,) bool: the subset of lowest criterion, the first met on ties."""
        moves, selected = self._moves, np.zeros(self.n_features, dtype=int)
        if moves.cost.size and moves.cost.min() < self.null_criterion:
            best = int(moves.cost.argmin())
            before = (moves.start[:best] == moves.start[best]) & moves.accepted[:best]
            made = np.append(np.flatnonzero(before), best)
            np.add.at(selected, moves.feature[made], moves.sign[made])
        return selected > 0

    def average(self, null_weight: float, weights: np.ndarray) -> np.ndarray:
        """(n_features,) share of the models' weight that goes to models with each feature.

        ``weights`` holds one weight for every entry of ``model_costs()``, ``null_weight`` that of the empty subset.
        """
        moves = self._moves
        weight = np.zeros(moves.cost.size)
        weight[moves.distinct] = weights
        total = null_weight + weight.sum()
        if total <= 0.0:
            return np.zeros(self.n_features)
        # A rejected move counts for its own subset only; an accepted one for all that follow in its walk.
        following = weight.copy()
        for start in range(self.n_starts):
            walk = moves.walk(start)
            suffix = np.cumsum(weight[walk][::-1])[::-1]
            following[walk] = np.where(moves.accepted[walk], suffix, weight[walk])
        sums = np.zeros(self.n_features)
        np.add.at(sums, moves.feature, moves.sign * following)
        return np.clip(sums / total, 0.0, 1.0)

    def model_costs(self) -> np.ndarray:
        """(n_models - 1,) criterion in nats of the distinct subsets evaluated, the empty one left out."""
        return self._moves.cost[self._moves.distinct]

    def path(self, *, evaluated: bool = False) -> dict[str, list[Any]]:
        """Columns of the trace, one entry per accepted move (``evaluated=True``: per evaluated move) and per start."""
        columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        for start in range(self.n_starts):
            for name, values in self._walk_path(start, evaluated).items():
                columns[name] += values
        return columns

    def _walk_path(self, start: int, evaluated: bool) -> dict[str, list[Any]]:
        moves = self._moves
        walk = moves.walk(start)
        accepted, sign = moves.accepted[walk], moves.sign[walk]
        size = np.cumsum(sign * accepted) - sign * accepted + sign
        step = np.cumsum(accepted) + ~accepted
        kept = slice(None) if evaluated else accepted
        adding, seconds = moves.adding[walk][kept], moves.seconds[walk][kept].tolist()
        return {
            "start": [start] * (1 + adding.size),
            "step": [0, *step[kept].tolist()],
            "move": ["start", *("add" if add else "drop" for add in adding)],
            "feature": [None, *(self.names[f] for f in moves.feature[walk][kept])],
            "n_features": [0, *size[kept].tolist()],
            "criterion": [self.null_criterion, *moves.cost[walk][kept].tolist()],
            "validation": [None] * (1 + adding.size),
            "seconds": [seconds[0] if seconds else 0.0, *seconds],
            "accepted": [True, *accepted[kept].tolist()],
        }

    def to_json(self) -> dict[str, Any]:
        """The accepted moves and the totals, as plain values."""
        kept = self._moves.accepted
        return {
            "null_criterion": self.null_criterion,
            "best_criterion": self.best_criterion,
            "n_starts": self.n_starts,
            "n_models": self.n_models,
            "complete": self.complete,
            "seconds": self.seconds,
            "start": self._moves.start[kept].tolist(),
            "feature": self._moves.feature[kept].tolist(),
            "adding": self._moves.adding[kept].tolist(),
            "cost": self._moves.cost[kept].tolist(),
            "move_seconds": self._moves.seconds[kept].tolist(),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], names: tuple[str, ...]) -> SearchTrace:
        """What ``to_json`` wrote: the walks, without the subsets they passed by. KeyError, TypeError or ValueError
        otherwise.
        """
        feature, start = _read(data["feature"], "i", np.int64), _read(data["start"], "i", np.int64)
        moves = Moves(
            start=start,
            feature=feature,
            adding=_read(data["adding"], "b", bool),
            cost=_read(data["cost"], "if", float),
            accepted=np.ones(feature.size, dtype=bool),
            distinct=np.ones(feature.size, dtype=bool),
            seconds=_read(data["move_seconds"], "if", float),
        )
        null_criterion, best_criterion, seconds = _read(
            [data[name] for name in ("null_criterion", "best_criterion", "seconds")], "if", float
        ).tolist()
        n_starts, n_models = _read([data["n_starts"], data["n_models"]], "i", np.int64).tolist()
        sizes = {part.size for part in (feature, start, moves.adding, moves.cost, moves.seconds)}
        fit = len(sizes) == 1 and feature.min(initial=0) >= 0 and feature.max(initial=0) < len(names)
        fit = fit and start.min(initial=0) >= 0 and start.max(initial=0) < n_starts
        if not (fit and _are_walks(moves) and 1 <= n_starts <= _MOST_STARTS and n_models >= 1):
            raise ValueError("the moves of the search do not fit together")
        return cls(
            names,
            moves,
            null_criterion=null_criterion,
            best_criterion=best_criterion,
            n_starts=n_starts,
            n_models=n_models,
            complete=data["complete"] is True,
            seconds=seconds,
        )

    def to_frame(self, *, evaluated: bool = False) -> Any:
        """The walk as a polars dataframe.

        One row per accepted move (``evaluated=True``: per evaluated move): ``start``, ``step``, ``move`` ("start",
        "add", "drop"), ``feature``, ``n_features``, ``criterion`` (nats, on the fitting rows), ``validation`` (null:
        none is used here), ``seconds`` since the search began, and, with ``evaluated=True``, ``accepted``.
        """
        import polars as pl

        columns = self.path(evaluated=evaluated)
        names = _COLUMNS if evaluated else _COLUMNS[:-1]
        schema = {
            "move": pl.String,
            "feature": pl.String,
            "validation": pl.Float64,
            "criterion": pl.Float64,
            "seconds": pl.Float64,
        }
        return pl.DataFrame({name: columns[name] for name in names}, schema_overrides=schema)


_MOST_STARTS = 1_000_000  # in a file; more are a sign of damage, and each takes a row of the path

_COLUMNS = ("start", "step", "move", "feature", "n_features", "criterion", "validation", "seconds", "accepted")


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


def _read(values: Any, kinds: str, dtype: type) -> np.ndarray:
    """A list of finite numbers or booleans of these NumPy kinds; ValueError otherwise."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and (array.dtype.kind not in kinds or not np.all(np.isfinite(array)))):
        raise ValueError("the moves of the search are not lists of numbers")
    return array.astype(dtype)


def _are_walks(moves: Moves) -> bool:
    """Whether moves stand walk after walk, and each adds a feature that is absent or drops one that is there."""
    order = np.lexsort((moves.feature, moves.start))
    same = (np.diff(moves.feature[order]) == 0) & (np.diff(moves.start[order]) == 0)
    adding = moves.adding[order]
    firsts = np.concatenate([[True], ~same])[: adding.size]
    alternate = np.all(adding[1:] != adding[:-1], where=same)
    return bool(alternate and adding[firsts].all() and np.all(np.diff(moves.start) >= 0))
