"""`SearchTrace`, the record of all subsets that a search evaluated, from which the best one and averages are computed.

A *move* adds or drops one feature of the current subset. Moves are scored, and some of them accepted; a *walk* is the
sequence of accepted moves from one starting subset, the *start*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from bayesieve.plain_values import Count, Damaged, Finite, Number, converted, number, number_to_json
from bayesieve.table.frames import results_frame
from bayesieve.words import ShortRepr

if TYPE_CHECKING:
    from bayesieve.search.problem import SubsetProblem

Positions = list[Annotated[int, msgspec.Meta(ge=0, lt=2**31)]]
Seconds = Annotated[float, msgspec.Meta(ge=0.0, le=1e300)]
Starts = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]  # more are a sign of damage, and each takes a row of the path


class _Walks(msgspec.Struct):
    """Saved form of a trace: its totals, and its accepted moves.

    ``start`` (number of the walk), ``feature`` (position), ``adding``, ``cost`` and ``move_seconds`` have one entry for
    each move. Unless a `_Guided` is saved as well, walks start from the empty subset, and the criterion is "map".
    """

    null_criterion: Number
    best_criterion: Number
    n_starts: Starts
    n_models: Count
    complete: bool
    seconds: Seconds
    start: Positions
    feature: Positions
    adding: list[bool]
    cost: list[Number]
    move_seconds: list[Seconds]
    again: Positions | msgspec.UnsetType = msgspec.UNSET
    ended: str | msgspec.UnsetType = msgspec.UNSET
    chosen: Positions | msgspec.UnsetType = msgspec.UNSET


class _Guided(msgspec.Struct, kw_only=True):
    """Saved form of the criteria of a trace, and of the starts of its walks.

    A start has positions of features, the criterion, and its value on the validation rows (None without such rows).
    """

    criterion_name: str = msgspec.field(name="criterion")
    lower_is_better: bool
    validation_name: str | None = msgspec.field(name="validation")
    validation_lower_is_better: bool
    validation_total: Finite | None
    evaluation: str | None
    recoded: bool | None
    starts: list[tuple[Positions, Number, Number]]
    move_validation: list[Number]


_GUIDE = _Guided.__struct_fields__[:-2]
"""Attributes of a trace that are saved as they are."""
_MAX_SAVED = 100_000  # largest number of moves of a walk in a model file


@dataclass(frozen=True)
class Moves:
    """Moves in the order in which they were tried: features added to a subset, or dropped. All arrays have shape
    (n_moves,).

    Attributes
    ----------
    feature : position of the feature.
    adding : whether the move adds the feature.
    cost : value of the criterion for the resulting subset.
    accepted : whether the search made the move.
    key : 64-bit number that identifies the resulting subset; 0 for the empty one.
    seconds : time since the search began.
    validation : criterion of the resulting subset on the validation rows; NaN if it was not measured.
    violation : distance of the resulting subset from the constraints; 0 if it satisfies them.
    again : whether the move chooses a feature that the subset contains already, as boosting may do.
    """

    feature: np.ndarray
    adding: np.ndarray
    cost: np.ndarray
    accepted: np.ndarray
    key: np.ndarray
    seconds: np.ndarray
    validation: np.ndarray
    violation: np.ndarray
    again: np.ndarray

    @property
    def sign(self) -> np.ndarray:
        """Change of the subset's size by each move: 1, -1, or 0 if the feature is in the subset already."""
        return np.where(self.again, 0, np.where(self.adding, 1, -1))

    def at(self, moves: Any) -> Moves:
        """Return only some of the moves; ``moves`` are positions, a slice or a mask."""
        return Moves(*(getattr(self, one.name)[moves] for one in fields(self)))


@dataclass(frozen=True)
class WalkStart:
    """Subset from which a walk starts.

    Attributes
    ----------
    features : (n_selected,) positions of the features in the subset.
    criterion : value of the criterion.
    validation : value of the criterion on the validation rows; NaN without such rows.
    violation : distance from the constraints; 0 if the subset satisfies them.
    """

    features: np.ndarray
    criterion: float
    validation: float = float("nan")
    violation: float = 0.0

    @classmethod
    def empty(cls, criterion: float, validation: float = float("nan")) -> WalkStart:
        """Return the start of a walk from the empty subset, given its criterion on the guiding and on the validation
        rows.
        """
        return cls(np.zeros(0, dtype=np.int64), criterion, validation)


@dataclass
class TraceRecorder:
    """Recorder of one walk: its start, and the moves evaluated from each of its subsets."""

    start: WalkStart
    steps: list[Moves] = field(default_factory=list)

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
        again: bool = False,
    ) -> None:
        """Record the moves evaluated from one subset; if a move was accepted, it must be the last one.

        Parameters
        ----------
        features : (n,) positions of the features added or dropped.
        adding, accepted : (n,) masks of the moves that add a feature, and of the accepted move.
        costs, keys : (n,) criterion and identifying number of the resulting subsets.
        seconds : time since the search began.
        validation : criterion on the validation rows of the subset after the accepted move.
        violation : distance of this subset from the constraints.
        again : whether the feature was in the subset already.
        """
        n = len(features)
        moves = Moves(
            feature=features,
            adding=adding,
            cost=costs,
            accepted=accepted,
            key=keys,
            seconds=np.full(n, seconds),
            validation=np.where(accepted, validation, np.nan),
            violation=np.full(n, violation),
            again=np.full(n, again),
        )
        self.steps.append(moves)

    def record_one(self, feature: int, adding: bool, cost: float, seconds: float, **more: Any) -> None:
        """Record one accepted move without an identifying key.

        ``feature`` is the position of the feature, which is dropped if ``adding`` is False, and ``cost`` is the
        criterion of the resulting subset. ``seconds`` and ``more`` are further arguments of `record`.
        """
        accepted, no_key = np.ones(1, dtype=bool), np.zeros(1, dtype=np.uint64)
        self.record(np.array([feature]), np.array([adding]), np.array([cost]), accepted, no_key, seconds, **more)


class StepRecorder:
    """Recorder of greedy steps: the accepted move from a subset and, with ``every_move``, all other moves scored
    there.
    """

    def __init__(self, problem: SubsetProblem, every_move: bool = True) -> None:
        self._sign, self._every_move = problem.objective.sign, every_move
        self._keys = np.random.default_rng(0).integers(1, 2**63, size=len(problem.names), dtype=np.uint64)

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
        """Add to ``walk`` the moves that were scored from a subset.

        Parameters
        ----------
        walk : record of the walk.
        subset : (n_features,) mask of the subset before the move.
        moves : (n,) positions of the features scored for adding or dropping.
        costs : (n,) costs of the resulting subsets; lower is better.
        at : position of the accepted move among ``moves``, -1 if none was accepted.
        seconds, validation, violation : see `TraceRecorder.record`; the last two are those after the move.
        """
        if not self._every_move:
            if at >= 0:
                feature, cost = int(moves[at]), self._sign * float(costs[at])
                walk.record_one(feature, not subset[feature], cost, seconds, validation=validation, violation=violation)
            return
        order = np.arange(moves.size)
        accepted = order == at
        if at >= 0:
            order = np.append(np.delete(order, at), at)
        moves = moves[order]
        key = np.bitwise_xor.reduce(self._keys[subset], initial=np.uint64(0)) ^ self._keys[moves]
        signed = self._sign * costs[order]
        walk.record(moves, ~subset[moves], signed, accepted[order], key, seconds, validation, violation)


@dataclass(frozen=True)
class Point:
    """Quality of one subset on a walk: its value (lower is better), its size, and its distance from the constraints."""

    value: float
    size: int
    violation: float = 0.0

    def beats(self, other: Point) -> bool:
        """Return whether this subset is better than another.

        The violation of constraints is compared first, then the value (within 1e-12), then the number of features.
        """
        if abs(self.violation - other.violation) > 1e-12 or (self.violation > 0.0) != (other.violation > 0.0):
            return self.violation < other.violation
        tie = 1e-12 * max(1.0, abs(other.value))
        return self.value < other.value - tie or (self.value <= other.value + tie and self.size < other.size)


@dataclass(repr=False, eq=False)
class SearchTrace(ShortRepr):
    """Record of every subset of features that a search evaluated.

    A subset is stored as the move that leads to it from the current subset of a walk, so the memory per subset does not
    depend on the number of features. A walk is one start of a multi-start search, which begins with the empty subset,
    or one phase of a greedy search, which begins with the best subset of the previous phase.

    Attributes
    ----------
    names : feature names.
    moves : evaluated moves of all walks, in order.
    walk_of : (n_moves,) number of the walk of each move.
    distinct : (n_moves,) bool, whether the subset of each move is evaluated for the first time.
    starts : start of each walk.
    criterion_name : name of the criterion, such as "map" (nats) or "error_probability".
    lower_is_better : whether lower values of the criterion are better.
    validation_name, validation_lower_is_better : name and direction of the criterion on the validation rows; None
        without such rows.
    validation_total : number (or weight) of the validation rows, or None.
    evaluation : where the criterion was measured: "train", "holdout", "loo", or a number of folds such as "10 folds";
        None if it can only be the training rows.
    recoded : whether levels were refitted without the rows that evaluate subsets; None if levels do not depend on the
        classes, or subsets are evaluated on the training rows.
    null_criterion : criterion of the empty subset.
    best_criterion : best value of the criterion of all evaluated subsets.
    n_starts, n_models : number of walks, and of distinct subsets evaluated (the empty one included).
    complete : False if the search was ended early by ``max_seconds``, a callback or the user.
    seconds : duration of the search.
    chosen : (n_features,) bool, the subset that the search chose; None for rankings and averages.
    ended : reason why the search ended, as text, if there are several possible ones.
    library : dataframe library of `to_frame`: that of the training rows; polars after loading.
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
    library: str = "polars"

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
        """Return the trace of one or several walks, in the order of their starts.

        ``null_criterion``, the criterion of the empty subset, is required if the first walk does not start from that
        subset, and ``n_models``, the number of evaluated subsets, if not all of them were recorded. ``words`` are
        further attributes of the trace, such as ``criterion_name``.
        """
        kinds = (int, bool, float, bool, np.uint64, float, float, float, bool)
        nothing = Moves(*(np.zeros(0, kind) for kind in kinds))
        steps = [nothing, *(step for walk in walks for step in walk.steps)]
        moves = Moves(*(np.concatenate([getattr(step, one.name) for step in steps]) for one in fields(Moves)))
        walk_of = np.repeat(np.arange(len(walks)), [sum(step.cost.size for step in walk.steps) for walk in walks])
        # Count each subset once, at its first record in the order of the starts. Key 0 is the empty subset.
        distinct = np.zeros(moves.key.size, dtype=bool)
        distinct[np.unique(moves.key, return_index=True)[1]] = True
        distinct &= moves.key != 0
        if null_criterion is None:
            null_criterion = walks[0].start.criterion
        best = min if lower_is_better else max
        return cls(
            names,
            moves,
            walk_of,
            distinct=distinct,
            null_criterion=null_criterion,
            best_criterion=best([null_criterion, *(walk.start.criterion for walk in walks), *moves.cost.tolist()]),
            n_models=1 + int(distinct.sum()) if n_models is None else n_models,
            complete=complete,
            seconds=seconds,
            starts=[walk.start for walk in walks],
            lower_is_better=lower_is_better,
            **words,
        )

    def _facts(self) -> dict[str, Any]:
        """Return the fields that the ``repr`` shows, by name."""
        names = ("n_features", "n_starts", "n_models", "criterion_name", "null_criterion", "best_criterion")
        facts = {name: getattr(self, name) for name in (*names, "validation_name", "complete", "seconds")}
        chosen = [] if self.chosen is None else np.flatnonzero(self.chosen)[:100].tolist()
        return facts | ({"chosen": [self.names[k] for k in chosen]} if chosen else {})

    def _head(self) -> dict[str, Any]:
        """Return the first ten accepted moves for the ``repr``, as columns by name."""
        moves = self.moves.at(slice(1000))
        moves = moves.at(np.flatnonzero(moves.accepted)[:10])
        return {
            "feature": [self.names[k] for k in moves.feature],
            "move": np.where(moves.adding, "add", "drop"),
            self.criterion_name: moves.cost,
            "seconds": moves.seconds,
        }

    def plot(self, *, title: str | None = None) -> Any:
        """Draw the path of the search as a `Figure`: criterion and validation by the number of features.

        For several searches in one figure, use `path_figure`.

        Examples
        --------
        >>> from bayesieve import WrapperSelector
        >>> from sklearn.datasets import load_iris
        >>> selector = WrapperSelector(direction="forward").fit(*load_iris(return_X_y=True))
        >>> selector.trace_.plot().data["features"].to_list()[:2]
        [0, 1]
        """
        from bayesieve import path_figure

        return path_figure(self, title=title)

    @property
    def n_features(self) -> int:
        """Number of all features, chosen or not."""
        return len(self.names)

    @property
    def n_starts(self) -> int:
        """Number of walks."""
        return len(self.starts)

    def walk(self, start: int) -> slice:
        """Return the slice of ``moves`` that belongs to walk number ``start``."""
        return slice(*np.searchsorted(self.walk_of, [start, start + 1]))

    @property
    def measured(self) -> str | None:
        """Description of the rows on which the criterion was measured; None for selectors that always use the training
        rows.
        """
        if self.evaluation is None:
            return None
        where = _EVALUATIONS.get(self.evaluation, f"on {self.evaluation}")
        if self.recoded is None:
            return where
        held_out = self.evaluation in ("holdout", "validation")
        others = "the fitted rows only" if held_out else "the rows of the other folds"
        return f"{where}, levels learnt from {others if self.recoded else 'these rows'}"

    def was_interrupted(self, max_seconds: float | None) -> bool:
        """Return whether the user or a callback ended the search early, rather than the time limit ``max_seconds``."""
        return not self.complete and (max_seconds is None or self.seconds < max_seconds)

    def best_subset(self) -> np.ndarray:
        """Return a mask, (n_features,), of the best subset among all that were evaluated, the first one on ties.

        Use it for multi-start searches; `best_on_path` is for greedy ones.
        """
        moves, selected = self.moves, np.zeros(len(self.names), dtype=int)
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

    def best_on_path(self, max_features: int | None = None) -> np.ndarray:
        """Return a mask, (n_features,), of the best subset on the walks, that is, without subsets of rejected moves.

        Subsets are compared by the criterion on the validation rows, or on the guiding rows if there are none. Of equal
        ones (within 1e-12), the smallest is best, and then the first. Subsets larger than ``max_features`` are ignored.
        """
        best: Point | None = None
        subset = np.zeros(len(self.names), dtype=bool)
        for start in range(self.n_starts):
            moves = self.walk_moves(start)
            points = self.points(start)
            eligible = [i for i, point in enumerate(points) if max_features is None or point.size <= max_features]
            for i in eligible:
                if best is None or points[i].beats(best):
                    best = points[i]
                    subset[:] = False
                    subset[self.starts[start].features] = True
                    subset[moves.feature[:i]] = moves.adding[:i]
        return subset

    def points(self, start: int) -> list[Point]:
        """Return the quality of each subset on walk number ``start``, from its start to its end."""
        first = self.starts[start]
        moves = self.walk_moves(start)
        sizes = first.features.size + np.concatenate([[0], np.cumsum(moves.sign)])
        sign = 1.0 if self.lower_is_better else -1.0
        values = np.concatenate([[sign * first.criterion], sign * moves.cost])
        if self.validation_name is not None:
            sign = 1.0 if self.validation_lower_is_better else -1.0
            values = sign * np.concatenate([[first.validation], moves.validation])
        violations = [first.violation, *moves.violation.tolist()]
        subsets = zip(values.tolist(), sizes.tolist(), violations, strict=True)
        return [Point(value, size, violation) for value, size, violation in subsets]

    def walk_moves(self, start: int) -> Moves:
        """Return the accepted moves of walk number ``start``."""
        moves = self.moves.at(self.walk(start))
        return moves.at(moves.accepted)

    def average(self, weigh: Callable[[np.ndarray], np.ndarray], *, distinct: bool = True) -> np.ndarray:
        """Return the weighted share of the evaluated subsets that contain each feature, shape (n_features,).

        ``weigh`` is a function from criteria to weights of subsets, both (n,). Each subset counts once or, with
        ``distinct=False``, as often as the search evaluated it; the empty subset then counts as often as walks start
        from it.
        """
        moves = self.moves
        weight = weigh(moves.cost)
        if distinct:
            weight = np.where(self.distinct, weight, 0.0)
        starts = np.array([self.null_criterion] if distinct else [start.criterion for start in self.starts])
        total = weigh(starts).sum() + weight.sum()
        if total <= 0.0:
            return np.zeros(len(self.names))
        # The weight of a rejected move is that of its subset; an accepted move is also part of all later subsets of its
        # walk.
        following = weight.copy()
        ends = np.searchsorted(self.walk_of, np.arange(len(self.starts) + 1)).tolist()
        for walk in map(slice, ends, ends[1:]):
            suffix = np.cumsum(weight[walk][::-1])[::-1]
            following[walk] = np.where(moves.accepted[walk], suffix, weight[walk])
        sums = np.zeros(len(self.names))
        np.add.at(sums, moves.feature, moves.sign * following)
        return np.clip(sums / total, 0.0, 1.0)

    def path(self, *, evaluated: bool = False) -> dict[str, list[Any]]:
        """Return the columns of `to_frame` as lists, by name.

        They have one entry for each start and accepted move or, with ``evaluated``, for each start and evaluated move.
        """
        columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        for start, first in enumerate(self.starts):
            moves = self.moves.at(self.walk(start))
            accepted, sign = moves.accepted, moves.sign
            # A rejected move has the step and the size that it would have led to.
            size = first.features.size + np.cumsum(sign * accepted) - sign * accepted + sign
            step = np.cumsum(accepted) + ~accepted
            if not evaluated:
                moves, size, step = moves.at(accepted), size[accepted], step[accepted]
            seconds = moves.seconds.tolist()
            columns["start"] += [start] * (1 + size.size)
            columns["step"] += [0, *step.tolist()]
            columns["move"] += ["start", *np.select([moves.again, moves.adding], ["again", "add"], "drop").tolist()]
            columns["feature"] += [None, *(self.names[f] for f in moves.feature)]
            columns["n_features"] += [first.features.size, *size.tolist()]
            columns["criterion"] += [first.criterion, *moves.cost.tolist()]
            columns["validation"] += [or_none(v) for v in (first.validation, *moves.validation.tolist())]
            columns["seconds"] += [seconds[0] if seconds else 0.0, *seconds]
            columns["accepted"] += [True, *moves.accepted.tolist()]
        return columns

    def to_json(self) -> dict[str, Any]:
        """Return totals and accepted moves as values that JSON supports; the moves of exhaustive searches are
        omitted.
        """
        accepted = self.moves.accepted & (np.bincount(self.walk_of) <= _MAX_SAVED)[self.walk_of]
        moves = self.moves.at(accepted)
        walks = _Walks(
            null_criterion=number_to_json(self.null_criterion),
            best_criterion=number_to_json(self.best_criterion),
            n_starts=self.n_starts,
            n_models=int(self.n_models),
            complete=bool(self.complete),
            seconds=self.seconds,
            start=self.walk_of[accepted].tolist(),
            feature=moves.feature.tolist(),
            adding=moves.adding.tolist(),
            cost=list(map(number_to_json, moves.cost.tolist())),
            move_seconds=moves.seconds.tolist(),
            again=np.flatnonzero(moves.again).tolist() or msgspec.UNSET,
            ended=msgspec.UNSET if self.ended is None else self.ended,
            chosen=msgspec.UNSET if self.chosen is None else np.flatnonzero(self.chosen).tolist(),
        )
        # A search by "map" from empty subsets needs no more.
        from_empty = all(s.features.size == 0 and s.criterion == self.null_criterion for s in self.starts)
        if from_empty and self.criterion_name == "map" and self.validation_name is None:
            return msgspec.to_builtins(walks)
        facts = [(s.features.tolist(), *map(number_to_json, (s.criterion, s.validation))) for s in self.starts]
        validations = list(map(number_to_json, moves.validation.tolist()))
        guide = {name: getattr(self, name) for name in _GUIDE}
        guided = _Guided(**guide, starts=facts, move_validation=validations)
        return msgspec.to_builtins(walks) | msgspec.to_builtins(guided)

    @classmethod
    def from_json(cls, data: dict[str, Any], names: tuple[str, ...]) -> SearchTrace:
        """Return a trace from the result of `to_json`, which has no rejected moves.

        ``names`` are the feature names. Raise `Damaged`, a ValueError, if the data are inconsistent.
        """
        walks = converted(data, _Walks, "search")
        if "criterion" in data:
            guided = converted(data, _Guided, "search")
        else:
            empty: tuple[list[int], Number, Number] = ([], walks.null_criterion, None)
            starts = [empty] * walks.n_starts
            guide = {name: getattr(cls, name) for name in _GUIDE}  # the defaults
            guided = _Guided(**guide, starts=starts, move_validation=[None] * len(walks.feature))
        n_moves = len(walks.feature)
        columns: list[list[Any]] = [walks.start, walks.adding, walks.cost, walks.move_seconds, guided.move_validation]
        if {n_moves} != set(map(len, columns)) or len(guided.starts) != walks.n_starts:
            raise Damaged("its search trace contradicts itself")
        moves = Moves(
            feature=np.array(walks.feature, dtype=np.int64),
            adding=np.array(walks.adding, dtype=bool),
            cost=np.array(list(map(number, walks.cost)), dtype=np.float64),
            accepted=np.ones(n_moves, dtype=bool),
            key=np.zeros(n_moves, dtype=np.uint64),
            seconds=np.array(walks.move_seconds, dtype=np.float64),
            validation=np.array(list(map(number, guided.move_validation)), dtype=np.float64),
            violation=np.zeros(n_moves),
            again=_marked([] if walks.again is msgspec.UNSET else walks.again, n_moves),
        )
        walk_of = np.array(walks.start, dtype=np.int64)
        for features, *_ in guided.starts:
            _marked(features, len(names))
        walk_starts = [WalkStart(np.array(f, dtype=np.int64), number(c), number(v)) for f, c, v in guided.starts]
        inside = moves.feature.max(initial=0) < len(names) and walk_of.max(initial=0) < walks.n_starts
        if not (inside and _are_walks(moves, walk_of, walk_starts)):
            raise Damaged("its search trace contradicts itself")
        return cls(
            names,
            moves,
            walk_of=walk_of,
            distinct=moves.accepted,
            null_criterion=number(walks.null_criterion),
            best_criterion=number(walks.best_criterion),
            n_models=walks.n_models,
            complete=walks.complete,
            seconds=walks.seconds,
            starts=walk_starts,
            **{name: getattr(guided, name) for name in _GUIDE},
            chosen=None if walks.chosen is msgspec.UNSET else _marked(walks.chosen, len(names)),
            ended=None if walks.ended is msgspec.UNSET else walks.ended,
        )

    def to_frame(self, *, evaluated: bool = False) -> Any:
        """Return the walks as a dataframe.

        There is one row per start and accepted move or, with ``evaluated=True``, per evaluated move: ``start``,
        ``step``, ``move`` ("start", "add", "drop", or "again" for a feature that is in already), ``feature``,
        ``n_features``, ``criterion`` (on the rows that guide the search), ``validation`` (on the rows that choose the
        size; null without such rows), ``seconds`` since the search began and, with ``evaluated=True``, ``accepted``.
        """
        import polars as pl

        columns = self.path(evaluated=evaluated)
        names = _COLUMNS if evaluated else _COLUMNS[:-1]
        texts = dict.fromkeys(("move", "feature"), pl.String)
        schema = texts | dict.fromkeys(("validation", "criterion", "seconds"), pl.Float64)
        return results_frame({name: columns[name] for name in names}, self.library, schema_overrides=schema)


_EVALUATIONS = {
    "train": "on training rows",
    "holdout": "on fitted and held-out rows",
    "validation": "on held-out rows",
    "loo": "by leave-one-out",
}
_COLUMNS = ("start", "step", "move", "feature", "n_features", "criterion", "validation", "seconds", "accepted")


def or_none(value: float) -> float | None:
    """Return ``value``, or None if it is NaN, which JSON does not support."""
    return None if np.isnan(value) else value


def _marked(positions: list[int], size: int) -> np.ndarray:
    """Return a mask of the given size that is True at ``positions``; raise `Damaged` for invalid positions."""
    if len(set(positions)) != len(positions) or max(positions, default=-1) >= size:
        raise Damaged("its search names a feature or move that does not exist, or the same one twice")
    return np.bincount(np.array(positions, dtype=np.int64), minlength=size) > 0


def _are_walks(moves: Moves, walk_of: np.ndarray, starts: list[WalkStart]) -> bool:
    """Return whether moves form valid walks: each adds an absent feature, or drops or repeats a present one.

    ``walk_of`` (n_moves,) has the number of each move's walk, and ``starts`` the start of each walk.
    """
    order = np.lexsort((moves.feature, walk_of))
    feature, walk, adding = moves.feature[order], walk_of[order], moves.adding[order]
    same = (np.diff(feature) == 0) & (np.diff(walk) == 0)
    first = np.concatenate([[True], ~same])[: adding.size]
    at_start = {(s, f) for s, start in enumerate(starts) for f in start.features.tolist()}
    present = np.roll(adding, 1)  # before the move
    present[first] = [pair in at_start for pair in zip(walk[first].tolist(), feature[first].tolist(), strict=True)]
    valid = np.where(moves.again[order], present & adding, present != adding)
    return bool(np.all(valid) and np.all(np.diff(walk_of) >= 0))
