"""A search trace to plain values for JSON, and back."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import numpy as np

from bayesieve.plain_values import Count, Damaged, Number, converted, number, number_to_json
from bayesieve.search.trace import Moves, SearchTrace, WalkStart, or_none

Positions = list[Annotated[int, msgspec.Meta(ge=0, lt=2**31)]]
Seconds = Annotated[float, msgspec.Meta(ge=0.0, le=1e300)]
Starts = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]  # more are a sign of damage, and each takes a row of the path


class _Walks(msgspec.Struct):
    """The totals and the accepted moves. Walks start from the empty subset, and their criterion is "map", unless
    `_Guided` says otherwise; ``again`` and ``chosen`` are positions of moves and features.
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


class _Guided(msgspec.Struct):
    """What guided the walks, and where each starts: its features, their criterion and its validation."""

    criterion: str
    lower_is_better: bool
    validation: str | None
    validation_lower_is_better: bool
    validation_total: Number
    evaluation: str | None
    recoded: bool | None
    starts: list[tuple[Positions, Number, Number]]
    move_validation: list[Number]


def trace_to_json(trace: SearchTrace) -> dict[str, Any]:
    """The accepted moves and the totals, as plain values."""
    accepted = trace.moves.accepted
    moves = trace.moves.at(accepted)
    walks = _Walks(
        null_criterion=number_to_json(trace.null_criterion),
        best_criterion=number_to_json(trace.best_criterion),
        n_starts=trace.n_starts,
        n_models=int(trace.n_models),
        complete=bool(trace.complete),
        seconds=trace.seconds,
        start=trace.walk_of[accepted].tolist(),
        feature=moves.feature.tolist(),
        adding=moves.adding.tolist(),
        cost=list(map(number_to_json, moves.cost.tolist())),
        move_seconds=moves.seconds.tolist(),
        again=np.flatnonzero(moves.again).tolist() or msgspec.UNSET,
        ended=msgspec.UNSET if trace.ended is None else trace.ended,
        chosen=msgspec.UNSET if trace.chosen is None else np.flatnonzero(trace.chosen).tolist(),
    )
    if _is_plain(trace):
        return msgspec.to_builtins(walks)
    guided = _Guided(
        criterion=trace.criterion_name,
        lower_is_better=trace.lower_is_better,
        validation=trace.validation_name,
        validation_lower_is_better=trace.validation_lower_is_better,
        validation_total=trace.validation_total,
        evaluation=trace.evaluation,
        recoded=trace.recoded,
        starts=[(s.features.tolist(), number_to_json(s.criterion), number_to_json(s.validation)) for s in trace.starts],
        move_validation=list(map(number_to_json, moves.validation.tolist())),
    )
    return msgspec.to_builtins(walks) | msgspec.to_builtins(guided)


def _is_plain(trace: SearchTrace) -> bool:
    from_empty = all(s.features.size == 0 and s.criterion == trace.null_criterion for s in trace.starts)
    return from_empty and trace.criterion_name == "map" and trace.validation_name is None


def trace_from_json(data: dict[str, Any], names: tuple[str, ...]) -> SearchTrace:
    """What ``trace_to_json`` wrote; ValueError with one sentence otherwise."""
    walks = converted(data, _Walks, "search")
    if "criterion" in data:
        guided = converted(data, _Guided, "search")
    else:
        empty: tuple[list[int], Number, Number] = ([], walks.null_criterion, None)
        starts = [empty] * walks.n_starts
        guided = _Guided("map", True, None, True, None, None, None, starts, [None] * len(walks.feature))
    n_moves = len(walks.feature)
    columns: list[list[Any]] = [walks.start, walks.adding, walks.cost, walks.move_seconds, guided.move_validation]
    if {n_moves} != set(map(len, columns)) or len(guided.starts) != walks.n_starts:
        raise Damaged("the moves of the search do not fit together")
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
        raise Damaged("the moves of the search do not fit together")
    return SearchTrace(
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
        criterion_name=guided.criterion,
        lower_is_better=guided.lower_is_better,
        validation_name=guided.validation,
        validation_lower_is_better=guided.validation_lower_is_better,
        validation_total=or_none(number(guided.validation_total)),
        evaluation=guided.evaluation,
        recoded=guided.recoded,
        chosen=None if walks.chosen is msgspec.UNSET else _marked(walks.chosen, len(names)),
        ended=None if walks.ended is msgspec.UNSET else walks.ended,
    )


def _marked(positions: list[int], size: int) -> np.ndarray:
    """(size,) bool: the entries at these positions."""
    if len(set(positions)) != len(positions) or max(positions, default=-1) >= size:
        raise Damaged("the search holds features or moves that are not there")
    return np.bincount(np.array(positions, dtype=np.int64), minlength=size) > 0


def _are_walks(moves: Moves, walk_of: np.ndarray, starts: list[WalkStart]) -> bool:
    """Whether moves stand walk after walk, and each adds a feature that is absent, or drops or repeats one that is
    there.
    """
    order = np.lexsort((moves.feature, walk_of))
    feature, walk, adding = moves.feature[order], walk_of[order], moves.adding[order]
    same = (np.diff(feature) == 0) & (np.diff(walk) == 0)
    first = np.concatenate([[True], ~same])[: adding.size]
    at_start = {(s, f) for s, start in enumerate(starts) for f in start.features.tolist()}
    held = np.roll(adding, 1)  # before the move
    held[first] = [pair in at_start for pair in zip(walk[first].tolist(), feature[first].tolist(), strict=True)]
    fit = np.where(moves.again[order], held & adding, held != adding)
    return bool(np.all(fit) and np.all(np.diff(walk_of) >= 0))
