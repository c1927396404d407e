"""The record of a search: every subset evaluated, from which the best subset and all averages are read."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayesieve.short_repr import ShortRepr
from bayesieve.table.frames import polars_frame


@dataclass(frozen=True)
class Moves:
    """Moves in the order they were tried: one entry of every array per move."""

    feature: np.ndarray
    adding: np.ndarray
    cost: np.ndarray
    accepted: np.ndarray
    key: np.ndarray
    """A number for the subset that the move leads to; 0 for the empty one."""
    seconds: np.ndarray
    validation: np.ndarray
    violation: np.ndarray
    again: np.ndarray
    """Whether a feature is chosen that the subset holds already, as boosting may do."""

    @property
    def sign(self) -> np.ndarray:
        """What each move adds to the size of the subset."""
        return np.where(self.again, 0, np.where(self.adding, 1, -1))

    def at(self, moves: Any) -> Moves:
        """These moves only: positions, a slice or a mask."""
        return Moves(*(array[moves] for array in vars(self).values()))


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
    parts: list[tuple[Any, ...]] = field(default_factory=list)

    def record(
        self,
        features: np.ndarray,
        adding: np.ndarray,
        costs: np.ndarray,
        accepted: np.ndarray,
        keys: np.ndarray,
        seconds: float,
        validation: float = float("nan"),
        violation: float = 0.0,
        again: bool = False,
    ) -> None:
        """Moves evaluated from one subset; an accepted one is the last that starts from it, and has the value
        ``validation`` on the validation rows; ``violation`` says how far it is from the constraints, ``again`` that the
        subset holds the feature already.
        """
        self.parts.append((features, adding, costs, accepted, keys, seconds, validation, violation, again))


def walks_to_bytes(walks: list[TraceRecorder], known: Mapping[int, float]) -> bytes:
    """Walks, and costs of subsets by key, exact to the last bit."""
    arrays: dict[str, np.ndarray] = {
        "known": np.array(list(known), dtype=np.uint64),
        "costs": np.array(list(known.values()), dtype=float),
    }
    for number, walk in enumerate(walks):
        *runs, seconds, validation, violation, again = zip(*walk.parts, strict=True)
        start = np.array([walk.null_cost, walk.start_validation, walk.start_violation])
        arrays |= {f"{number}.start": start, f"{number}.initial": walk.initial}
        arrays |= {f"{number}.{at}": np.concatenate(run) for at, run in enumerate(runs)}
        facts = np.array([list(map(len, runs[0])), seconds, validation, violation, again], dtype=float)
        arrays[f"{number}.facts"] = facts
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def walks_from_bytes(state: bytes) -> tuple[list[TraceRecorder], dict[int, float]]:
    """What `walks_to_bytes` was given."""
    with np.load(io.BytesIO(state), allow_pickle=False) as arrays:
        known = dict(zip(arrays["known"].tolist(), arrays["costs"].tolist(), strict=True))
        walks: list[TraceRecorder] = []
        while f"{len(walks)}.start" in arrays:
            number = len(walks)
            null_cost, validation, violation = arrays[f"{number}.start"].tolist()
            walk = TraceRecorder(null_cost, arrays[f"{number}.initial"], validation, violation)
            lengths, *facts = arrays[f"{number}.facts"].tolist()
            ends = np.cumsum(lengths).astype(int)[:-1]
            runs = [np.split(arrays[f"{number}.{at}"], ends) for at in range(5)]
            parts = zip(*runs, *facts[:-1], np.array(facts[-1], dtype=bool).tolist(), strict=True)
            walk.parts += list(parts)
            walks.append(walk)
    return walks, known


def joined(walks: list[TraceRecorder]) -> tuple[Moves, np.ndarray]:
    """The moves of all walks, and the walk of each."""
    nothing = 0, *(np.zeros(0, kind) for kind in (np.int64, bool, float, bool, np.uint64)), 0.0, 0.0, 0.0, False
    parts = [(number, *part) for number, walk in enumerate(walks) for part in walk.parts] or [nothing]
    number, *arrays, seconds, validation, violation, again = zip(*parts, strict=True)
    features, adding, costs, accepted, keys = map(np.concatenate, arrays)
    lengths = list(map(len, arrays[0]))
    walk_of, *facts = (np.repeat(each, lengths) for each in (number, seconds, validation, violation, again))
    moves = Moves(features, adding, costs, accepted, keys, *facts)
    moves.validation[~accepted] = np.nan
    return moves, walk_of


@dataclass(frozen=True)
class Point:
    """A subset on a walk, by its value (lower is better), its size and its distance from the constraints."""

    value: float
    size: int
    violation: float = 0.0

    def beats(self, other: Point) -> bool:
        """Whether it is nearer to satisfying the constraints, or as near and its value is lower, or the same (within
        1e-12) for fewer features.
        """
        if abs(self.violation - other.violation) > 1e-12 or (self.violation > 0.0) != (other.violation > 0.0):
            return self.violation < other.violation
        tie = 1e-12 * max(1.0, abs(other.value))
        return self.value < other.value - tie or (self.value <= other.value + tie and self.size < other.size)


@dataclass(frozen=True)
class WalkStart:
    """The subset that a walk starts from: its features, and its criterion on the fitting and the validation rows."""

    features: np.ndarray
    criterion: float
    validation: float = float("nan")
    violation: float = 0.0


@dataclass(repr=False, eq=False)
class SearchTrace(ShortRepr):
    """Every subset of features that a search evaluated.

    A subset is stored as the move that leads to it from the walk's current subset, so that a record costs the same
    however many features there are. A walk ("start") of a multi-start search begins with the empty subset, a phase of a
    greedy one with the best subset of the phase before.

    Attributes
    ----------
    names : feature names.
    criterion_name : such as "map" (nats) or "error_probability".
    lower_is_better : whether low values of the criterion are the good ones.
    validation_name, validation_lower_is_better : the same for the criterion on the validation rows; None without.
    validation_total : number (or weight) of the validation rows, or None.
    evaluation : where the criterion was measured: "train", "holdout", "loo", or a number of folds such as "10 folds";
        None where there is only one way, on the training rows.
    recoded : whether levels were learnt again without the rows that are scored; None where they do not depend on the
        classes, or all rows are training rows.
    null_criterion : criterion of the empty subset.
    best_criterion : best criterion met.
    n_starts, n_models : walks, and distinct subsets evaluated (the empty one included).
    complete : False when the search was stopped by ``max_seconds`` or by the user.
    seconds : duration of the search.
    chosen : (n_features,) bool, the subset that the search chose; None where a ranking or an average takes no subset.
    ended : the reason for which the search ended, in words, where it may end for several.
    """

    names: tuple[str, ...]
    moves: Moves
    walk_of: np.ndarray
    distinct: np.ndarray
    starts: list[WalkStart]
    null_criterion: float
    best_criterion: float
    n_models: int
    complete: bool
    seconds: float
    criterion_name: str = "map"
    lower_is_better: bool = True
    validation_name: str | None = None
    validation_lower_is_better: bool = True
    validation_total: float | None = None
    evaluation: str | None = None
    recoded: bool | None = None
    chosen: np.ndarray | None = None
    ended: str | None = None

    @classmethod
    def of(
        cls,
        names: tuple[str, ...],
        walks: list[TraceRecorder],
        *,
        complete: bool,
        seconds: float,
        null_criterion: float | None = None,
        n_models: int | None = None,
        lower_is_better: bool = True,
        **words: Any,
    ) -> SearchTrace:
        """The trace of one walk or several, in the order of their starts.

        ``null_criterion`` is needed where the first walk does not start from the empty subset; ``n_models`` where not
        every subset evaluated was recorded. ``words`` are further attributes of the trace.
        """
        moves, walk_of = joined(walks)
        # A subset counts once however often it is met: at its first record, in the order of the starts. Key 0 is the
        # empty subset.
        distinct = np.zeros(moves.key.size, dtype=bool)
        distinct[np.unique(moves.key, return_index=True)[1]] = True
        distinct &= moves.key != 0
        if null_criterion is None:
            null_criterion = walks[0].null_cost
        best = min if lower_is_better else max
        return cls(
            names,
            moves,
            walk_of,
            distinct=distinct,
            null_criterion=null_criterion,
            best_criterion=best([null_criterion, *(walk.null_cost for walk in walks), *moves.cost.tolist()]),
            n_models=1 + int(distinct.sum()) if n_models is None else n_models,
            complete=complete,
            seconds=seconds,
            starts=[
                WalkStart(walk.initial, walk.null_cost, walk.start_validation, walk.start_violation) for walk in walks
            ],
            lower_is_better=lower_is_better,
            **words,
        )

    def _facts(self) -> dict[str, Any]:
        names = ("n_features", "n_starts", "n_models", "criterion_name", "null_criterion", "best_criterion")
        return {name: getattr(self, name) for name in (*names, "validation_name", "complete", "seconds")}

    @property
    def n_features(self) -> int:
        return len(self.names)

    @property
    def n_starts(self) -> int:
        return len(self.starts)

    def walk(self, start: int) -> slice:
        """Where the moves of one walk stand."""
        return slice(*np.searchsorted(self.walk_of, [start, start + 1]))

    @property
    def measured(self) -> str | None:
        """Where the criterion was measured, in words; None where the selector knows of the training rows only."""
        if self.evaluation is None:
            return None
        where = _EVALUATIONS.get(self.evaluation, f"on {self.evaluation}")
        others = (
            "the fitted rows only" if self.evaluation in ("holdout", "validation") else "the rows of the other folds"
        )
        return (
            where if self.recoded is None else f"{where}, levels learnt from {others if self.recoded else 'these rows'}"
        )

    def was_interrupted(self, max_seconds: float | None) -> bool:
        """Whether something else than this limit of time ended the search early: the user, or a callback."""
        return not self.complete and (max_seconds is None or self.seconds < max_seconds)

    def best_subset(self) -> np.ndarray:
        """(n_features,) bool: the subset of best criterion among all that were evaluated, the first met on ties.

        For multi-start searches; `best_on_path` is for greedy ones.
        """
        moves, selected = self.moves, np.zeros(self.n_features, dtype=int)
        sign = 1.0 if self.lower_is_better else -1.0
        costs, at_starts = sign * moves.cost, sign * np.array([start.criterion for start in self.starts])
        first = int(at_starts.argmin())
        if not (costs.size and costs.min() < at_starts[first]):
            selected[self.starts[first].features] = 1
        else:
            best = int(costs.argmin())
            selected[self.starts[self.walk_of[best]].features] = 1
            before = (self.walk_of[:best] == self.walk_of[best]) & moves.accepted[:best]
            steps = np.append(np.flatnonzero(before), best)
            np.add.at(selected, moves.feature[steps], moves.sign[steps])
        return selected > 0

    def best_on_path(self, most_features: int | None = None) -> np.ndarray:
        """(n_features,) bool: the best subset that a walk went through.

        The lowest value on the validation rows counts, where there are any, or else the best criterion; among equals
        (within 1e-12) the smallest subset, then the first met. ``most_features`` leaves larger subsets out.
        """
        best: Point | None = None
        subset = np.zeros(self.n_features, dtype=bool)
        for start in range(self.n_starts):
            moves = self.walk_moves(start)
            points = self.points(start)
            eligible = [i for i, point in enumerate(points) if most_features is None or point.size <= most_features]
            for i in eligible:
                if best is None or points[i].beats(best):
                    best = points[i]
                    subset[:] = False
                    subset[self.starts[start].features] = True
                    subset[moves.feature[:i]] = moves.adding[:i]
        return subset

    def points(self, start: int) -> list[Point]:
        """The subsets that one walk went through, its first one included."""
        first = self.starts[start]
        moves = self.walk_moves(start)
        sizes = first.features.size + np.concatenate([[0], np.cumsum(moves.sign)])
        sign = 1.0 if self.lower_is_better else -1.0
        values = np.concatenate([[sign * first.criterion], sign * moves.cost])
        if self.validation_name is not None:
            sign = 1.0 if self.validation_lower_is_better else -1.0
            values = sign * np.concatenate([[first.validation], moves.validation])
        violations = [first.violation, *moves.violation.tolist()]
        return [Point(*of_one) for of_one in zip(values.tolist(), sizes.tolist(), violations, strict=True)]

    def walk_moves(self, start: int) -> Moves:
        """The accepted moves of one walk."""
        moves = self.moves.at(self.walk(start))
        return moves.at(moves.accepted)

    def average(self, weigh: Callable[[np.ndarray], np.ndarray], *, distinct: bool = True) -> np.ndarray:
        """(n_features,) share of the models' weight that goes to models with each feature.

        ``weigh`` turns criteria of models into their weights. Each model counts once or, unless ``distinct``, as often
        as the search evaluated it; the empty one as often as walks start from it.
        """
        moves = self.moves
        weight = weigh(moves.cost)
        if distinct:
            weight = np.where(self.distinct, weight, 0.0)
        starts = np.array([self.null_criterion] if distinct else [start.criterion for start in self.starts])
        total = weigh(starts).sum() + weight.sum()
        if total <= 0.0:
            return np.zeros(self.n_features)
        # A rejected move counts for its own subset only; an accepted one for all that follow in its walk.
        following = weight.copy()
        for start in range(self.n_starts):
            walk = self.walk(start)
            suffix = np.cumsum(weight[walk][::-1])[::-1]
            following[walk] = np.where(moves.accepted[walk], suffix, weight[walk])
        sums = np.zeros(self.n_features)
        np.add.at(sums, moves.feature, moves.sign * following)
        return np.clip(sums / total, 0.0, 1.0)

    def path(self, *, evaluated: bool = False) -> dict[str, list[Any]]:
        """Columns of the trace, one entry per accepted move (``evaluated=True``: per evaluated move) and per start."""
        columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        for start in range(self.n_starts):
            for name, values in self._walk_path(start, evaluated).items():
                columns[name] += values
        return columns

    def _walk_path(self, start: int, evaluated: bool) -> dict[str, list[Any]]:
        moves, first = self.moves.at(self.walk(start)), self.starts[start]
        accepted, sign = moves.accepted, moves.sign
        size = first.features.size + np.cumsum(sign * accepted) - sign * accepted + sign
        step = np.cumsum(accepted) + ~accepted
        if not evaluated:
            moves, size, step = moves.at(accepted), size[accepted], step[accepted]
        seconds = moves.seconds.tolist()
        return {
            "start": [start] * (1 + size.size),
            "step": [0, *step.tolist()],
            "move": ["start", *np.select([moves.again, moves.adding], ["again", "add"], "drop").tolist()],
            "feature": [None, *(self.names[f] for f in moves.feature)],
            "n_features": [first.features.size, *size.tolist()],
            "criterion": [first.criterion, *moves.cost.tolist()],
            "validation": [or_none(v) for v in (first.validation, *moves.validation.tolist())],
            "seconds": [seconds[0] if seconds else 0.0, *seconds],
            "accepted": [True, *moves.accepted.tolist()],
        }

    def to_json(self) -> dict[str, Any]:
        """The accepted moves and the totals, as plain values."""
        from bayesieve.search.trace_json import trace_to_json

        return trace_to_json(self)

    @classmethod
    def from_json(cls, data: dict[str, Any], names: tuple[str, ...]) -> SearchTrace:
        """What ``to_json`` wrote: the walks, without the subsets they passed by; ValueError otherwise."""
        from bayesieve.search.trace_json import trace_from_json

        return trace_from_json(data, names)

    def to_frame(self, *, evaluated: bool = False) -> Any:
        """The walk as a polars dataframe.

        One row per accepted move (``evaluated=True``: per evaluated move): ``start``, ``step``, ``move`` ("start",
        "add", "drop", or "again" for a feature that is in already), ``feature``, ``n_features``, ``criterion`` (on the
        rows that guide the search), ``validation`` (on the rows that choose the size; null where there are none),
        ``seconds`` since the search began, and, with ``evaluated=True``, ``accepted``.
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
        return polars_frame({name: columns[name] for name in names}, schema_overrides=schema)


_EVALUATIONS = {
    "train": "on training rows",
    "holdout": "on fitted and held-out rows",
    "validation": "on held-out rows",
    "loo": "by leave-one-out",
}
_COLUMNS = ("start", "step", "move", "feature", "n_features", "criterion", "validation", "seconds", "accepted")


def or_none(value: float) -> float | None:
    """A value as plain data: NaN, which stands for none, as None."""
    return None if np.isnan(value) else value
